"""Tables that tests of several measures share, and what they read off a result."""

from __future__ import annotations

import itertools
import math
import tracemalloc

import numpy as np
import pandas as pd
import pytest

from judgestats.flags import CLUSTERING_UNKNOWN, join

# forward, reverse by slot; None: not asked
PAIRS = [
    ("first", "second"),
    ("first", "second"),
    ("second", "first"),  # the content stays: 3
    ("first", "first"),
    ("first", "first"),
    ("second", "second"),  # the slot stays: 2 + 1
    ("tie", "tie"),
    ("abstain", "tie"),  # both tie: 2
    ("tie", "first"),  # one-sided: 1
    ("first", "invalid"),
    ("tie", None),  # one answer: 2
    ("invalid", "invalid"),
    ("invalid", None),  # none: 2
]


#: The paper spells its models in three ways.
SPELLINGS = {
    "Gemini-2.5 Pro": "Gemini 2.5 Pro",
    "Gemini-2.5": "Gemini 2.5 Pro",
    "Grok-4": "Grok 4",
    "Claude-4.5 Sonnet": "Claude 4.5 Sonnet",
    "Claude-4.5": "Claude 4.5 Sonnet",
}


def anchored_calls(n=50, judges=("a", "b"), seed=1, probes=("blind", "truth", "flip"), invalid=0.04, stick=0.5):
    """Answers about llm and ml, shown in random order; an item keeps its blind answer with probability `stick`."""
    rng = np.random.default_rng(seed)
    rows = []
    for judge in judges:
        for i in range(n):
            kept = rng.choice(["llm", "ml", "tie"], p=[0.4, 0.3, 0.3])
            for probe in probes:
                answer = kept if rng.random() < stick else rng.choice(["llm", "ml", "tie"])
                first, second = ("llm", "ml") if rng.random() < 0.5 else ("ml", "llm")
                choice = "tie" if answer == "tie" else "first" if answer == first else "second"
                choice = "invalid" if rng.random() < invalid else choice
                label = {"llm": "LLM", "ml": "ML"} if probe != "flip" else {"llm": "ML", "ml": "LLM"}
                shown = ("", "") if probe == "blind" else (label[first], label[second])
                rows.append((judge, f"i{i}", probe, first, second, choice, *shown))
    return pd.DataFrame(
        rows, columns=["judge", "item", "probe", "first", "second", "choice", "label_first", "label_second"]
    )


def as_counts(table: pd.DataFrame, n: int, value: str) -> pd.DataFrame:
    """Counts with a printed b: no ties, or one where b n is odd in n."""
    rows = []
    for row in table.to_dict("records"):
        net = round(float(row[value]) * n)
        assert net / n == pytest.approx(float(row[value]))
        tie = (n - net) % 2
        for outcome, k in (("target", (n - tie + net) // 2), ("other", (n - tie - net) // 2), ("tie", tie)):
            rows.append({**{c: row[c] for c in table.columns if c != value}, "outcome": outcome, "n": k})
    return pd.DataFrame(rows)


def both_orders(pairs: int, unstable: int = 0) -> pd.DataFrame:
    """A judge with one verdict in both orders of every pair, but for some, where it takes the first slot twice."""
    one = pd.DataFrame({"judge": "g", "item": [f"i{k}" for k in range(pairs)], "first": "x", "second": "y"})
    one["choice"] = np.where(np.arange(pairs) % 2, "second", "first")
    two = one.assign(first="y", second="x", choice=one["choice"].map({"first": "second", "second": "first"}))
    for table in (one, two):
        table.loc[table.index[:unstable], "choice"] = "first"
    return pd.concat([one, two], ignore_index=True)


def calls() -> pd.DataFrame:
    """Four calls with gold and two without; one of each has no topic."""
    return pd.DataFrame(
        {
            "judge": "g",
            "item": list("123456"),
            "first": "x",
            "second": "y",
            "choice": ["first", "second", "first", "first", "second", "first"],
            "gold": ["x", "x", "y", "x", None, None],
            "topic": ["a", "a", "a", None, "a", None],
        }
    )


def calls_of(pairs=PAIRS, **columns) -> pd.DataFrame:
    rows = [
        {"judge": "g", "item": str(item), "first": a, "second": b, "choice": choice}
        for item, answers in enumerate(pairs)
        for (a, b), choice in zip(("xy", "yx"), answers, strict=True)
        if choice is not None
    ]
    return pd.DataFrame(rows).assign(**columns)


def cell(result, term, **where):
    here = result[result["term"] == term]
    for column, value in where.items():
        here = here[here[column] == value]
    assert len(here) == 1, f"{len(here)} rows of {term}"
    return here.iloc[0]


def counts(**shares):
    """A tally of one judge: the scheme and probe of each keyword to its counts of a, b and tie."""
    parts = [
        pd.DataFrame(
            {"judge": "g", "scheme": k.split("_")[0], "probe": k.split("_")[1], "outcome": ["a", "b", "tie"], "n": v}
        )
        for k, v in shares.items()
    ]
    return pd.concat(parts, ignore_index=True)


def gold_calls() -> pd.DataFrame:
    rows = [
        ("first", "x"),
        ("first", "x"),
        ("second", "x"),
        ("tie", "x"),
        ("invalid", "x"),
        ("tie", "tie"),
        ("first", "tie"),
        ("abstain", "tie"),
        ("second", "y"),
        ("abstain", "y"),
    ]
    calls = pd.DataFrame(rows, columns=["choice", "gold"])
    return calls.assign(judge="g", item=[str(i) for i in range(len(rows))], first="x", second="y")[
        ["judge", "item", "first", "second", "choice", "gold"]
    ]


def ladder(*shares, n=40):
    rows = [
        ("g", d, o, k)
        for d, p in enumerate(shares, 1)
        for o, k in (("correct", round(p * n)), ("wrong", n - round(p * n)))
    ]
    return pd.DataFrame(rows, columns=["judge", "delta", "outcome", "n"])


def margins(blind, probe, judge="g", name="truth"):
    return pd.DataFrame(
        {
            "judge": judge,
            "probe": ["blind"] * 3 + [name] * 3,
            "outcome": ["llm", "ml", "tie"] * 2,
            "n": [*blind, *probe],
        }
    )


def outcome_of(choice: str, first: str) -> float:
    return (
        math.nan
        if choice == "invalid"
        else 0.0
        if choice in ("tie", "abstain")
        else 1.0
        if (choice == "first") == (first == "x")
        else -1.0
    )


def panel_of_two_conditions(items=12, systems=3, seed=0):
    rng = np.random.default_rng(seed)
    rows = [
        {"judge": j, "system": f"s{s}", "item": str(i), "condition": c, "temperature": t, "score": rng.normal()}
        for j in "abc"
        for s in range(systems)
        for i in range(items)
        for c in ("old", "new")
        for t in (0.0, 1.0)
    ]
    return pd.DataFrame(rows)


def panel_of_whole_scores(items, seed=0):
    """Two judges, two systems, whole scores."""
    rng = np.random.default_rng(seed)
    size = (items, 2, 2)
    score = np.clip(np.round(3 + rng.normal(size=(items, 1, 1)) + [[0.0], [0.5]] + rng.normal(size=size)), 1, 5)
    item, system, judge = (i.ravel() for i in np.indices(size))
    return pd.DataFrame(
        {
            "judge": np.array(["a", "b"])[judge],
            "system": np.array(["x", "y"])[system],
            "item": item.astype(str),
            "score": score.ravel(),
        }
    )


def panel_scores(systems=("s", "t"), items=12):
    rng = np.random.default_rng(0)
    keys = pd.MultiIndex.from_product([["ann", "bob", "cy"], systems, range(items)], names=["judge", "system", "item"])
    table = keys.to_frame(index=False)
    quality = rng.normal(0, 2, (len(systems), items))
    at = table["system"].map({s: i for i, s in enumerate(systems)})
    return table.assign(score=quality[at, table["item"]] + rng.normal(0, 1, len(table)))


def peak(call):
    """Result of a call, and its peak of memory in MB."""
    tracemalloc.start()
    try:
        return call(), tracemalloc.get_traced_memory()[1] / 2**20
    finally:
        tracemalloc.stop()


def but_for_clustering(result: pd.DataFrame) -> pd.DataFrame:
    """Estimates from counts without the flag that says that nothing is known of what their calls share."""
    assert result["flag"].str.contains(CLUSTERING_UNKNOWN).any(), "the counts have a column that says it"
    flags = [join(*(f for f in flag.split("; ") if f != CLUSTERING_UNKNOWN)) for flag in result["flag"]]
    return result.assign(flag=pd.Series(flags, index=result.index, dtype=result["flag"].dtype))


def pick(result: pd.DataFrame, term: str = "bias", column: str = "estimate") -> dict[object, float]:
    rows = result[result["term"] == term]
    return dict(zip(rows["judge"], rows[column], strict=True))


def probed_calls(n=40, probes=("blind", "truth"), schemes=("Baseline",), seed=0, **columns):
    """Answers at random of one judge to pairs of a and b."""
    rng = np.random.default_rng(seed)
    rows = [
        {"judge": "g", "scheme": s, "probe": p, "item": f"i{i:02d}", "first": "a", "second": "b", "rationale": "so so"}
        for s, p, i in itertools.product(schemes, probes, range(n))
    ]
    return pd.DataFrame(rows).assign(**{"choice": rng.choice(["first", "second", "tie"], len(rows))} | columns)


def random_calls(n: int = 40, judges: str = "gh", seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    table = pd.DataFrame([(j, f"i{i}") for j in judges for i in range(n)], columns=["judge", "item"])
    size = len(table)
    return table.assign(
        first="x",
        second="y",
        choice=rng.choice(["first", "second", "tie", "invalid"], size, p=[0.4, 0.3, 0.2, 0.1]),
        target="x",
        topic=[f"t{i % 3}" for i in range(size)],
        length_first=rng.integers(1, 9, size).astype(float),
        length_second=rng.integers(1, 9, size).astype(float),
        strength=rng.random(size),
    )


def ratings(seed=0, noise=1.0, items=40, systems="AB", judges="xyz", domain="law", prefix="i", truth=None):
    rng = np.random.default_rng(seed)
    truth = np.random.default_rng(99).normal(size=(len(systems), items)) if truth is None else truth
    rows = [
        (j, s, f"{prefix}{i:03}", domain, truth[k, i] + noise * rng.normal())
        for k, s in enumerate(systems)
        for i in range(items)
        for j in judges
    ]
    return pd.DataFrame(rows, columns=["judge", "system", "item", "domain", "score"])


def read(folder, name):
    return pd.read_csv(folder / "merchant_risk" / f"{name}.csv", dtype=str)


def rows(result, *terms):
    return result.set_index("term").loc[list(terms)]


def scored_responses(n: int = 12) -> pd.DataFrame:
    rng = np.random.default_rng(2)
    rows = [(j, f"i{i}", s) for j in "gh" for i in range(n) for s in "abc"]
    table = pd.DataFrame(rows, columns=["judge", "item", "system"])
    right = np.tile(rng.random(3 * n), 2)
    return table.assign(criterion="c", score=rng.random(len(table)), gold="a", right=right)


def signed_calls(
    items: int = 24, seed: int = 0, judges: str = "gh", strategies: tuple[str, ...] = ("B0",)
) -> pd.DataFrame:
    """Both orders of x against y; x is longer but for every sixth item, where the lengths are equal."""
    rng = np.random.default_rng(seed)
    rows = []
    for judge in judges:
        for strategy in strategies:
            for item in range(items):
                length = {"x": 9, "y": 9 if item % 6 == 0 else 5 + 7 * (item % 4 == 1)}
                kind = {"x": "markdown", "y": "markdown" if item % 8 == 0 else "plain"}
                for first, second in ("xy", "yx"):
                    rows.append(
                        {
                            "judge": judge,
                            "strategy": strategy,
                            "item": str(item),
                            "topic": f"t{item % 3}",
                            "first": first,
                            "second": second,
                            "choice": rng.choice(
                                ["first", "second", "tie", "abstain", "invalid"], p=[0.45, 0.25, 0.1, 0.1, 0.1]
                            ),
                            "target": "x",
                            "length_first": length[first],
                            "length_second": length[second],
                            "format_first": kind[first],
                            "format_second": kind[second],
                        }
                    )
    return pd.DataFrame(rows)


def terms(result, judge="g"):
    return result[result["judge"] == judge].set_index("term")


def value(table, term, **where):
    for column, wanted in where.items():
        table = table[table[column] == wanted]
    (number,) = table.loc[table["term"] == term, "estimate"]
    return number


def whole_scores(judges: str = "abc", items: int = 8, systems: str = "stuvw") -> pd.DataFrame:
    rng = np.random.default_rng(5)
    rows = [(j, f"i{i}", s) for j in judges for i in range(items) for s in systems]
    table = pd.DataFrame(rows, columns=["judge", "item", "system"])
    return table.assign(criterion="c", score=rng.integers(1, 10, len(table)).astype(float), gold=5.0)


#: irrCAC, cac.raw4raters; Krippendorff's four observers.
FOUR = np.array([
    [1, 2, 3, 3, 2, 1, 4, 1, 2, np.nan, np.nan, np.nan],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, np.nan, 3],
    [np.nan, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, np.nan],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, np.nan],
])  # fmt: skip


def scores_of(matrix, **columns):
    """Ratings of judges (rows) on items."""
    matrix = np.asarray(matrix, dtype=float)
    judge, item = np.indices(matrix.shape)
    names = np.array([f"judge {chr(97 + j)}" for j in range(len(matrix))])
    items = np.array([f"item {i:03d}" for i in range(matrix.shape[1])])
    table = {"judge": names[judge.ravel()], "system": "s", "item": items[item.ravel()], "score": matrix.ravel()}
    return pd.DataFrame({**table, **columns})


def noisy(judges=3, units=120, points=5, missing=0.1, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.integers(1, points + 1, units)
    said = np.clip(truth + rng.integers(-1, 2, (judges, units)), 1, points).astype(float)
    said[rng.random(said.shape) < missing] = np.nan
    return said


def panel_of_criteria(
    seed=0, systems="AB", items=25, judges="xyz", criteria=("c1", "c2"), temperatures=(0.0,), noise=1.0
):
    rng = np.random.default_rng(seed)
    rows = []
    for s, quality in zip(systems, range(len(systems)), strict=True):
        for i in range(items):
            for c in criteria:
                truth = quality + rng.normal()
                for t in temperatures:
                    for j, judge in enumerate(judges):
                        score = truth + noise * rng.normal() + 0.5 * j
                        rows.append((judge, s, f"i{i:03}", c, t, score))
    return pd.DataFrame(rows, columns=["judge", "system", "item", "criterion", "temperature", "score"])


def panel_of_skewed_scores(seed=0, systems="AB", items=30, judges="xyz", criteria=("c1", "c2")):
    rng = np.random.default_rng(seed)
    rows = [
        (j, s, f"i{i:02}", c, float(np.clip(rng.integers(1, 9) + 2 * (j == "z"), 1, 10)))
        for s in systems
        for i in range(items)
        for c in criteria
        for j in judges
    ]
    return pd.DataFrame(rows, columns=["judge", "system", "item", "criterion", "score"])
