"""Models: a formula and a table -> a fit; one grammar, several engines.

May import verdicts, schema, results, kernels and errors; never metrics, ingest, design, published or reporting.
"""
