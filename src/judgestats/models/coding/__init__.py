"""From a table to arrays: distinct rows, levels, responses.

May import the package grammar of models.
"""
