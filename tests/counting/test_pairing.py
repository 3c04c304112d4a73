"""Both orders of a pair, matched: what an error about repeated calls names."""

import pandas as pd
import pytest

import judgestats as js
from judgestats.errors import DesignError


def test_the_reason_names_the_column_in_which_repeated_calls_differ():
    """The short reason of `check` and of a page, as the whole message does."""
    answers = ["first", "tie", "second", "first", "tie", "tie"]
    calls = pd.DataFrame({"judge": "g", "item": [*"112233"], "first": "x", "second": "y", "choice": answers})
    calls["bin"] = ["short", "long"] * 3
    for measure in (js.consistency, js.alpha):
        with pytest.raises(DesignError) as error:
            measure(pd.concat([calls, calls.assign(judge="h")], ignore_index=True))
        assert "They differ in 'bin'." in error.value.problem
    with pytest.raises(DesignError) as error:
        js.consistency(calls.drop(columns="bin"))
    assert error.value.problem == "Some calls repeat a pair in the same order."
