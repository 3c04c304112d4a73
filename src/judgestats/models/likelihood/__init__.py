"""The likelihood engine in parts: compress, lay out, start, minimise, and what is known of the random effects.

May import the packages coding and grammar of models.
"""
