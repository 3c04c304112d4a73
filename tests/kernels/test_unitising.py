"""Krippendorff's unitised alpha: his printed example, and his sums section by section and place by place."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judgestats.kernels.unitising import MarkedTexts, Spans, disagreements, sums_of

#: Krippendorff 1995, page 57: start and length of the units of two observers on a continuum of 24.
PRINTED = {
    "A": [[(2, 8), (14, 6)], [(4, 4), (15, 2)]],
    "B": [[(0, 18)], [(0, 2), (2, 1), (3, 1), (4, 1), (5, 1), (6, 3), (9, 1)]],
    "C": [[(2, 6), (10, 2), (14, 4), (20, 2)], [(0, 2), (4, 4), (10, 4), (16, 2), (20, 2)]],
    "D": [[(0, 2), (2, 8), (10, 4), (14, 6), (20, 4)], [(0, 4), (4, 4), (8, 7), (15, 2), (17, 7)]],
}


def arrays(texts):
    """Spans and texts of nested lists: of each text its length and, judge by judge, (start, length) of spans."""
    rows = [(d, j, b, b + n) for d, (_, judges) in enumerate(texts) for j, own in enumerate(judges) for b, n in own]
    text, judge, start, end = (np.array(c) for c in zip(*rows, strict=True)) if rows else [np.zeros(0, int)] * 4
    read = [(d, j) for d, (_, judges) in enumerate(texts) for j in range(len(judges))]
    readers = MarkedTexts(*(np.array(c) for c in zip(*read, strict=True)), np.array([float(n) for n, _ in texts]))
    return Spans(text, judge, start.astype(float), end.astype(float)), readers


def both(texts, weight=None):
    spans, read = arrays(texts)
    one = np.ones((1, len(texts))) if weight is None else weight
    return disagreements(sums_of(spans, read), read, one)


def sections(own, length):
    """Units and gaps of a judge in their order, as (begin, length, whether it is a unit)."""
    parts, place = [], 0
    for begin, n in [*sorted(own), (length, 0)]:
        parts += [(place, begin - place, False)] * (begin > place) + [(begin, n, True)] * (n > 0)
        place = begin + n
    return parts


def difference(one, other):
    (b, n, v), (c, k, w) = one, other
    if v and w and -n < b - c < k:
        return (b - c) ** 2 + (b + n - c - k) ** 2
    if v and not w and k - n >= b - c >= 0:
        return n**2
    if w and not v and k - n <= b - c <= 0:
        return k**2
    return 0


def twin(texts):
    """Observed disagreement by all pairs of sections, expected by all places at which units may fall."""
    total, length = sum(len(judges) * n for n, judges in texts), sum(n for n, _ in texts)
    observed, units, gaps, alike = 0.0, [], [], 0
    for n, judges in texts:
        parts = [sections(own, n) for own in judges]
        pairs = [difference(g, h) for one, two in itertools.permutations(parts, 2) for g in one for h in two]
        observed += sum(pairs) / (len(judges) - 1)
        units += [k for own in parts for _, k, v in own if v]
        gaps += [k for own in parts for _, k, v in own if not v]
    expected, seams = 0.0, []
    for n, judges in texts:
        for own in judges:  # what is free at the end of a text and at its beginning, put together
            free = [True] * n
            for b, k in own:
                free[b : b + k] = [False] * k
            seams.append((free, n))
    for k in units:
        across = sum(
            all(free[n - before :]) and all(free[: k - before])
            for free, n in seams
            for before in range(max(k - n, 1), min(k - 1, n) + 1)
        )
        expected += k**2 * across * (len(texts) - 1) / len(texts)
        shifts = sum(2 * s**2 for s in range(-k + 1, k))  # of a unit over another of its length
        expected += (len(units) - 1) * shifts / 2 + k**2 * sum(len(range(gap - k + 1)) for gap in gaps)
        alike += k * (k - 1)
    return observed / (total * length), 2 * expected / length / (total * (total - 1) - alike)


def test_the_observed_disagreements_are_those_printed():
    wanted = {"A": 0.03125, "B": 2.26736, "C": 0.02777, "D": 0.38715}
    for category, judges in PRINTED.items():
        assert both([(24, judges)])[0][0] == pytest.approx(wanted[category], abs=1e-5)


@pytest.mark.parametrize(
    ("category", "stretch", "expected", "alpha"),
    [("A", 50_000, 0.06990, 0.553), ("D", 50_000, 0.41445, 0.066), ("C", 0.5, 0.05494, 0.494)],
)
def test_the_expected_disagreements_and_alphas_are_those_printed(category, stretch, expected, alpha):
    """In places so fine that the continuum has no grain; C with 12 places. (The printed ones of B, 1.17731, and of finer
    places of C, 0.08642, do not follow from the printed formula: 1.17578 and 0.09050.)"""
    judges = [[(int(b * stretch), int(n * stretch)) for b, n in own] for own in PRINTED[category]]
    observed, chance = both([(24 * stretch, judges)])
    assert chance[0] == pytest.approx(expected, abs=1e-5)
    assert 1 - observed[0] / chance[0] == pytest.approx(alpha, abs=5e-4)


@st.composite
def cut(draw):
    length = draw(st.integers(2, 12))
    judges = []
    for _ in range(draw(st.integers(2, 3))):
        ends = sorted(draw(st.sets(st.integers(0, length), max_size=6)))
        pairs = [*itertools.pairwise(ends)]
        judges.append([(b, e - b) for b, e in pairs if draw(st.booleans())])
    return length, judges


@settings(max_examples=200)
@given(st.lists(cut(), min_size=1, max_size=4))
def test_it_is_the_definition(texts):
    observed, expected = both(texts)
    wanted = twin(texts)
    if any(own for _, judges in texts for own in judges):
        np.testing.assert_allclose((observed[0], expected[0]), wanted, rtol=1e-10, atol=1e-13)
    else:
        assert (observed[0], expected[0]) == (0, 0)


@settings(max_examples=60)
@given(st.lists(cut(), min_size=1, max_size=3), st.data())
def test_a_weight_is_a_repetition(texts, data):
    times = data.draw(st.lists(st.integers(0, 3), min_size=len(texts), max_size=len(texts)).filter(any))
    repeated = [text for text, n in zip(texts, times, strict=True) for _ in range(n)]
    np.testing.assert_allclose(both(texts, np.array([times], float)), both(repeated), rtol=1e-10, atol=1e-13)
