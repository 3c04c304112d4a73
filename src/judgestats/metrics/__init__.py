"""Tidy frame or tally -> tidy estimates, a module per question.

May import the packages verdicts, counting, schema and kernels; never ingest, models or reporting.
"""
