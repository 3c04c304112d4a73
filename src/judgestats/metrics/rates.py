"""TEMPORARY."""

each_group = interval_of = rates = share_differences = hits_and_trials = no_trials = None
