"""From a table to arrays: distinct rows, levels, responses.

May import the grammar and the packages below models.
"""
