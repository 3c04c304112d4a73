"""The options of a corrected rate."""

import pytest

import judgestats as js
from judgestats.errors import DesignError
from metrics.labelled import frame


def test_the_way_of_drawing_must_be_stated():
    with pytest.raises(DesignError, match=r"sampling='random'.*sampling='by class'.*label_probability="):
        js.corrected_rate(frame())
    with pytest.raises(DesignError, match="two of them"):
        js.corrected_rate(frame(), sampling="random", label_probability="p")
    with pytest.raises(DesignError, match="Did you mean 'by class'"):
        js.corrected_rate(frame(), sampling="by classes")
