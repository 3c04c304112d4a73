"""The Bayesian tests of one file share fitted models: they run on one worker."""

import pytest

FOLDERS = {"bayes", "hierarchical"}
FILES = {"test_bayes_pymc", "test_posterior_summaries"}


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.parent.name in FOLDERS or item.path.stem in FILES:
            item.add_marker(pytest.mark.xdist_group(item.path.stem))
