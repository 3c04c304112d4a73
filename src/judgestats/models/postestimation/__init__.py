"""What can be asked of a fit: a module per question, each function takes a :class:`judgestats.models.fitted.Fitted`.

May import the likelihood, coding and grammar; never fits or fitting.
"""
