"""What can be asked of a fit: a module per question, whose functions take a `Fitted`.

May import the packages bayes, likelihood, coding and grammar of models; never fits or estimation.
"""
