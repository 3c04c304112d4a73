"""The options of a corrected rate."""

import judgestats as js
from judgestats.errors import DesignError
from metrics.labelled import frame
from refusals import refused


def test_the_way_of_drawing_must_be_stated():
    refused(
        DesignError,
        ({}, r"sampling='random'.*sampling='by class'.*label_probability="),
        ({"sampling": "random", "label_probability": "p"}, "two of them"),
        ({"sampling": "by classes"}, "Did you mean 'by class'"),
        of=lambda options: js.corrected_rate(frame(), **options),
    )
