"""Arrays in, arrays out: the numerical core.

May import numpy, numba, scipy.special and scipy.linalg only. Kernels do not raise; they return NaN to the frame
layer, which knows the column names. Every jitted kernel has a plain NumPy twin in ``tests/twins.py``.
"""
