"""Functions of expressions: what they give, and what the precision of their inputs leaves open."""

import pandas as pd
import pytest

from judgestats import published


@pytest.mark.parametrize(("formula", "verdict"), [("a / b", "follows"), ("as_printed(a / b)", "does not follow")])
def test_as_printed_takes_the_printed_digits_for_exact(formula, verdict):
    """0.3 / 0.7 is 0.4286; digits that are not printed would allow 0.44, from 0.305 / 0.69."""
    table = pd.DataFrame({"a": ["0.3"], "b": ["0.7"], "ratio": ["0.44"]})
    found = published.audit(table, rules=[{"rule": "formula", "column": "ratio", "formula": formula}])
    assert found["verdict"].item() == verdict


@pytest.mark.parametrize(("pairs", "verdict"), [("5", "follows"), ("4", "does not follow")])
def test_pairs_above_counts_pairs_and_no_ties(pairs, verdict):
    """Of 1, 3, 8 there are 1, 2 and 2 below 3, 5 and 7; the tie of 3 and 3 is none."""
    table = pd.DataFrame({"group": ["x"] * 3 + ["y"] * 3, "score": ["3", "5", "7", "1", "3", "8"], "pairs": pairs})
    formula = "pairs_above(table.score(group='x'), table.score(group='y'))"
    rule = {"rule": "formula", "column": "pairs", "formula": formula, "where": {"score": "7"}}
    assert published.audit(table, rules=[rule])["verdict"].item() == verdict


@pytest.mark.parametrize(("low", "high", "verdicts"), [
    (".6175", ".7100", ["follows", "follows"]),
    (".6200", ".7125", ["does not follow", "does not follow"]),
])  # fmt: skip
def test_percentile_ends_are_quantiles_of_a_binomial(low, high, verdicts):
    """Of Binomial(400, 266 / 400), the 2.5 % and 97.5 % quantiles are 247 and 284: .6175 and .71; a step on is another."""
    table = pd.DataFrame({"k": ["266"], "n": ["400"], "low": [low], "high": [high]})
    rules = [{"rule": "formula", "column": e, "formula": f"percentile_{e}(k, n)"} for e in ("low", "high")]
    assert published.audit(table, rules=rules)["verdict"].tolist() == verdicts
