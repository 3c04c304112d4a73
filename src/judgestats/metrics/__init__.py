"""Tidy frame or tally -> tidy estimates, a module per question.

May import verdicts, schema, results, kernels and errors; never ingest, models or reporting.
"""
