"""What can be asked of a fit: a module per question, whose functions take a `Fitted`.

May import the likelihood, coding and grammar; never fits or estimation.
"""
