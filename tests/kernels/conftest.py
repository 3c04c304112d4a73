"""Kernels in both of their forms."""

import math

import pytest

from judgestats.kernels import compiling


@pytest.fixture(scope="class", params=["NumPy", "compiled"])
def form(request):
    """Each kernel of two forms in one of them, however few the rows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiling, "COMPILED_FROM", 0 if request.param == "compiled" else math.inf)
        yield request.param
