"""The grammar of formulas: scanned, read and spelled; no data here.

May import no other package of models.
"""
