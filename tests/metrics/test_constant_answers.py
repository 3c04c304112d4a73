"""Judges beside the best constant answer, on data where the truth is planted."""

import re

import numpy as np
import pandas as pd
import pytest

from judgestats.reporting.page_data import PageArguments, measure_all
from judgestats.reporting.summary_parts import CHANCE, SummaryColumn
from judgestats.schema import preferences, ratings
from reporting.sentences import of_many_studies

#: Shares of first, second and tie among the right answers.
MIXES = ((0.5, 0.5, 0.0), (0.62, 0.38, 0.0), (0.4, 0.2, 0.4))


def column(ends, line, lower_is_better=False):
    cells = {j: {"estimate": (a + b) / 2, "conf_low": a, "conf_high": b} for j, (a, b) in ends.items()}
    return SummaryColumn("accuracy", "Accuracy", "", "share", cells, lower_is_better, 0.5, line)


def test_worse_is_shown_for_all_judges_at_once_and_with_the_error_of_the_constant():
    ends = {"far": (0.2, 0.3), "near": (0.4, 0.49), "on": (0.45, 0.55), "above": (0.52, 0.6)}
    assert column(ends, CHANCE).beside_constant() == (["far"], ["near", "on"])
    assert column({"near": (0.4, 0.49)}, CHANCE).beside_constant() == (["near"], [])
    assert column({"near": (0.4, 0.49)}, "dashed: best constant answer").beside_constant() == ([], ["near"])
    turned = {j: (1 - b, 1 - a) for j, (a, b) in ends.items()}
    assert column(turned, "dashed: best constant answer", True).beside_constant() == (["far"], ["near", "on"])


def study(seed):
    """Judges as good as the best constant answer, better or worse by .15: calls, and by how much each is better."""
    rng = np.random.default_rng(seed)
    better = {f"j{i}": rng.choice([0.0, 0.0, -0.15, 0.15]) for i in range(int(rng.integers(1, 8)))}
    n, kind = int(rng.choice([40, 100, 300])), seed % 4
    if kind == 3:  # scores of 1 to 5: 3 is 1.2 away on average
        gold, away = rng.integers(1, 6, n), {j: 1.2 * (1 - 2 * gap) * (np.pi / 2) ** 0.5 for j, gap in better.items()}
        rows = [
            (j, "s", f"i{i}", g + rng.normal(0, sd), float(g)) for j, sd in away.items() for i, g in enumerate(gold)
        ]
        return ratings(pd.DataFrame(rows, columns=["judge", "system", "item", "score", "gold"])), better
    answers = np.array(["x", "y", "tie"][: 3 if MIXES[kind][2] else 2])
    gold = rng.choice(answers, n, p=MIXES[kind][: len(answers)])
    rows = []
    for j, gap in better.items():
        for i, right in enumerate(gold):
            knows = rng.random() < max(MIXES[kind]) + gap
            said = right if knows else rng.choice(answers[answers != right])
            rows.append((j, f"i{i}", "x", "y", {"x": "first", "y": "second", "tie": "tie"}[said], right))
    return preferences(pd.DataFrame(rows, columns=["judge", "item", "first", "second", "choice", "gold"])), better


def wrong_constants(seed):
    """Whether a judge is called worse than a constant answer, and whether one of them is not."""
    data, better = study(seed)
    worse, _ = measure_all(data, PageArguments(n_resamples=20)).summary.columns[0].beside_constant()
    return int(bool(worse)), int(any(better[j] >= 0 for j in worse))


@pytest.mark.usefixtures("_only_the_first_screen")
def test_worse_than_a_constant_answer_is_seldom_wrong():
    results = np.array([wrong_constants(seed) for seed in range(12)])
    assert results[:, 1].sum() <= 3  # P(X > 3 | n = 12, p = .05) = .002
    assert results[:, 0].sum() >= 2  # it does infer


@of_many_studies
@pytest.mark.usefixtures("_only_the_first_screen")
def test_worse_than_a_constant_answer_is_wrong_in_at_most_one_in_twenty_studies(seeds, most):
    assert sum(wrong_constants(seed)[1] for seed in seeds) <= most


@pytest.mark.usefixtures("_only_the_first_screen")
def test_intervals_of_the_first_table_are_of_what_is_possible():
    """Two or twelve items, judges without an error, and few tasks: shares, distances and leniency on a scale."""
    for items in (2, 12):
        rows = [(j, "s", f"i{i}", 1.0 + i % 5 + (j == "h" and i == 1), 1.0 + i % 5) for j in "gh" for i in range(items)]
        table = ratings(pd.DataFrame(rows, columns=["judge", "system", "item", "score", "gold"]))
        page = measure_all(table, PageArguments(n_resamples=20, scale=(1.0, 6.0))).summary
        for term, (lowest, highest) in {"distance": (0, 5), "leniency": (-5, 5), "mean_score": (1, 6)}.items():
            (column,) = (c for c in page.columns if c.term == term)
            for cell in column.cells.values():
                low, high = float(cell["conf_low"]), float(cell["conf_high"])
                assert np.isnan(low) or lowest <= low < high <= highest
        assert np.isnan(page.columns[0].cells["g"]["conf_low"])
        assert not any("do not overlap" in card.detail for card in page.cards)


@pytest.mark.usefixtures("_only_the_first_screen")
def test_the_interval_by_few_tasks_is_a_share():
    rows = [
        ("g", f"i{i}", "uv"[i >= 7], "a", "b", "first", "a" if i < 7 or i == 13 else "b") for i in range(14)
    ]  # fmt: skip
    calls = pd.DataFrame(rows, columns=["judge", "item", "task", "first", "second", "choice", "gold"])
    care = measure_all(preferences(calls), PageArguments(n_resamples=20)).summary.cards[-1]
    low, high = map(float, re.search(r"interval of g is ([\d.]+) to ([\d.]+)", care.detail).groups())
    assert 0 <= low < high <= 100
