"""The defaults of options that many functions share; every signature reads them here."""

#: Coverage of an interval, number of bootstrap resamples, seed of everything random.
CONF_LEVEL = 0.95
N_RESAMPLES = 2000
SEED = 0
