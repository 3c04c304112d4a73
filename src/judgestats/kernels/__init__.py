"""Arrays in, arrays out: the numerical core.

May import numpy and scipy.special; numba and the rest of scipy are loaded by the first call that needs them. Kernels
do not raise; they return NaN to the frame layer, which knows the column names. Every jitted kernel has a plain NumPy
twin in ``tests/twins.py``.
"""
