"""Drift and alignment of explanations where the verdict stays: known vectors, SciPy, bad input."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from judgestats.errors import DesignError
from judgestats.flags import NOT_INDEPENDENT
from judgestats.kernels.proportions import wilson
from judgestats.metrics.invariance import rationale_alignment, rationale_check, rationale_shift
from metrics.tables import cell, probed_calls, rows
from refusals import refused

#: Texts with a vector each, so that every cosine is known.
PLANE = {
    "east": (1, 0),
    "north": (0, 2),
    "west": (-3, 0),
    "north-east": (1, 1),
    "nowhere": (0, 0),
}


def plane(texts):
    return np.array([PLANE[t] for t in texts], dtype=float)


def reasons(rows, judge="g"):
    """Rows of item, blind choice, blind text, probe choice, probe text."""
    parts = []
    for item, choice, text, other, moved in rows:
        parts.append((judge, item, "blind", "x", "y", choice, text))
        parts.append((judge, item, "flip", "x", "y", other, moved))
    return pd.DataFrame(parts, columns=["judge", "item", "probe", "first", "second", "choice", "rationale"])


KNOWN = [
    ("1", "first", "east", "first", "east"),  # cosine 1
    ("2", "first", "east", "first", "north"),  # 0
    ("3", "tie", "east", "tie", "west"),  # -1
    ("4", "second", "east", "second", "north-east"),  # 1/sqrt(2)
    ("5", "first", "east", "second", "west"),  # another decision
    ("6", "first", "east", "invalid", "west"),  # not valid
]


def words(n=80, judges=("a", "b"), seed=0, probes=("blind", "truth", "flip")):
    rng = np.random.default_rng(seed)
    vocabulary = ["clear", "short", "fluent", "accurate", "model", "human", "better", "good", "text", "points"]
    rows = [
        (j, f"i{i}", p, "x", "y", rng.choice(["first", "second"], p=[0.8, 0.2]), " ".join(rng.choice(vocabulary, 6)))
        for j in judges
        for i in range(n)
        for p in probes
    ]
    return pd.DataFrame(rows, columns=["judge", "item", "probe", "first", "second", "choice", "rationale"])


# ---------------------------------------------------------------- a property of the user's own


def test_a_property_is_compared_item_by_item_whatever_the_verdict():
    """Lengths known by hand: items valid in both, another decision too; the interval is that of the differences."""
    result = rationale_shift(reasons(KNOWN), phi={"length": len}, embed=plane, n_resamples=2000)
    before, after = np.array([4, 4, 4, 4, 4]), np.array([4, 5, 4, 10, 4])
    shift = cell(result, "property_shift")
    assert shift["estimate"] == pytest.approx((after - before).mean())
    assert cell(result, "property")["estimate"] == pytest.approx(after.mean())
    assert cell(result, "property_blind")["estimate"] == pytest.approx(before.mean())
    assert (shift["n"], shift["n_items"], shift["embed"]) == (5, 5, "length")
    assert "1 item not valid in both excluded" in shift["flag"]
    assert "bootstrap of item" in shift["method"]
    assert len(result) == 4  # with the drift


def test_the_interval_of_a_property_is_that_of_its_mean_difference():
    frame = words(n=150, judges=("a",), probes=("blind", "flip"))
    frame.loc[frame["probe"] == "flip", "rationale"] += " human"
    row = cell(rationale_shift(frame, phi=lambda t: t.split().count("human")), "property_shift")
    wide = frame.assign(k=frame["rationale"].str.split().map(lambda w: w.count("human")))
    wide = wide.pivot(index="item", columns="probe", values="k")
    change = wide["flip"] - wide["blind"]
    error = change.std() / math.sqrt(len(change))
    assert row["estimate"] == pytest.approx(change.mean())
    assert row["std_error"] == pytest.approx(error, rel=0.1)
    assert row["conf_low"] == pytest.approx(change.mean() - 1.96 * error, abs=0.3 * error)
    assert row["conf_high"] == pytest.approx(change.mean() + 1.96 * error, abs=0.3 * error)
    assert row["embed"] == "<lambda>"


def test_an_undefined_property_is_excluded_and_counted():
    result = rationale_shift(reasons(KNOWN), phi=lambda t: math.nan if t == "north" else len(t), embed=plane)
    row = cell(result, "property_shift")
    assert row["n"] == cell(result, "property")["n"] == cell(result, "property_blind")["n"] == 4
    assert "1 item without the property excluded" in row["flag"]


@pytest.mark.parametrize(
    ("phi", "message"),
    [
        ("length", "phi= has 'length'"),
        ({"length": 3}, "phi= has 3 for 'length'"),
        (lambda t: None, "gave None"),
        (lambda t: math.inf, "infinite"),
    ],
)
def test_bad_property(phi, message):
    with pytest.raises(DesignError, match=message):
        rationale_shift(reasons(KNOWN), phi=phi, embed=plane)


# ---------------------------------------------------------------- drift


@pytest.mark.parametrize(("distance", "scale"), [("half", 0.5), ("full", 1.0)])
def test_drift_of_known_vectors(distance, scale):
    result = rationale_shift(reasons(KNOWN), embed=plane, distance=distance, threshold=scale, n_resamples=200)
    distances = scale * np.array([0, 1, 2, 1 - 1 / math.sqrt(2)])
    row = cell(result, "drift")
    assert row["estimate"] == pytest.approx(distances.mean())
    assert (row["n"], row["n_same"], row["n_items"], row["embed"]) == (4, 4, 5, "plane")
    rate = cell(result, "drift_rate")
    assert rate["estimate"] == 0.25  # strictly more: a distance of exactly the threshold does not count
    assert (rate["conf_low"], rate["conf_high"]) == tuple(float(x) for x in wilson(1, 4))
    below = rationale_shift(reasons(KNOWN), embed=plane, distance=distance, threshold=scale * 0.999, n_resamples=5)
    assert cell(below, "drift_rate")["estimate"] == 0.5


def test_all_valid_items_where_the_decision_may_differ():
    result = rationale_shift(reasons(KNOWN), embed=plane, same_decision=False, n_resamples=20)
    row = cell(result, "drift")
    assert row["estimate"] == pytest.approx(np.mean([0, 0.5, 1, (1 - 1 / math.sqrt(2)) / 2, 1]))
    assert (row["n"], row["n_same"], row["n_items"]) == (5, 4, 5)


def test_empty_explanations_and_zero_vectors_are_set_aside_and_counted():
    rows = [
        *KNOWN,
        ("7", "tie", "east", "tie", None),
        ("8", "tie", "  ", "tie", "east"),
        ("9", "tie", "nowhere", "tie", "east"),
    ]
    row = cell(rationale_shift(reasons(rows), embed=plane, n_resamples=20), "drift")
    assert (row["n"], row["n_same"], row["n_items"]) == (4, 7, 8)
    assert "3 items without a vector excluded" in row["flag"]
    same = cell(rationale_shift(reasons(KNOWN), embed=plane, n_resamples=20), "drift")
    assert row["estimate"] == same["estimate"]


def test_an_empty_set_is_nan_and_told():
    rows = [(str(i), "first", "east", "second", "north") for i in range(5)]
    result = rationale_shift(reasons(rows), embed=plane, threshold=0.1, n_resamples=20)
    assert result["estimate"].isna().all()
    assert (result["n"] == 0).all()
    assert result["flag"].str.contains("no item with the same decision").all()
    assert (result["n_items"] == 5).all()


def test_drift_that_does_not_vary_has_no_interval():
    rows = [(str(i), "first", "east", "first", "north") for i in range(12)]
    row = cell(rationale_shift(reasons(rows), embed=plane, n_resamples=50), "drift")
    assert row["estimate"] == 0.5
    assert math.isnan(row["conf_low"])
    assert "all resamples equal" in row["flag"]


def test_the_default_is_tfidf_of_the_texts_at_hand():
    frame = words()
    result = rationale_shift(frame, n_resamples=20)
    matrix = TfidfVectorizer().fit_transform(sorted(set(frame["rationale"])))
    row_of = {t: i for i, t in enumerate(sorted(set(frame["rationale"])))}
    for (judge, probe), got in result.set_index(["judge", "probe"])["estimate"].items():
        here = frame[frame["judge"] == judge].pivot(index="item", columns="probe", values=["choice", "rationale"])
        distances = [
            (1 - (matrix[row_of[r["rationale"]["blind"]]] @ matrix[row_of[r["rationale"][probe]]].T).toarray()[0, 0])
            / 2
            for _, r in here.iterrows()
            if r["choice"]["blind"] == r["choice"][probe]
        ]
        assert got == pytest.approx(np.mean(distances))


def test_texts_without_a_word_have_no_vector():
    rows = [(str(i), "first", "!?", "first", "...") for i in range(3)]
    row = cell(rationale_shift(reasons(rows), n_resamples=5), "drift")
    assert math.isnan(row["estimate"])
    assert "3 items without a vector excluded" in row["flag"]


def test_the_same_text_has_no_drift_with_any_embedder():
    rng = np.random.default_rng(0)
    rows = [(str(i), "first", f"text {i}", "first", f"text {i}") for i in range(20)]
    row = cell(rationale_shift(reasons(rows), embed=lambda t: rng.normal(size=(len(t), 7)), n_resamples=5), "drift")
    assert row["estimate"] == 0


def test_embedders_stand_side_by_side_and_see_each_text_once():
    seen = []

    def counting(texts):
        seen.append(list(texts))
        return plane(texts)

    result = rationale_shift(reasons(KNOWN), embed={"one": counting, "two": lambda t: plane(t) ** 2}, n_resamples=20)
    assert list(result["embed"]) == ["one", "two"]
    assert result["estimate"].nunique() == 2
    assert seen == [["east", "north", "north-east", "west"]]


def test_the_interval_is_that_of_a_mean_over_items():
    frame = words(n=300, judges=("a",), probes=("blind", "flip"))
    row = rationale_shift(frame, n_resamples=3000).iloc[0]
    vectors = {t: i for i, t in enumerate(sorted(set(frame["rationale"])))}
    matrix = TfidfVectorizer().fit_transform(list(vectors)).toarray()
    wide = frame.pivot(index="item", columns="probe", values=["choice", "rationale"])
    same = wide[wide["choice"]["blind"] == wide["choice"]["flip"]]["rationale"]
    distance = [
        (1 - matrix[vectors[b]] @ matrix[vectors[f]]) / 2 for b, f in zip(same["blind"], same["flip"], strict=True)
    ]
    assert row["n"] == len(distance)
    assert row["std_error"] == pytest.approx(np.std(distance) / math.sqrt(len(distance)), rel=0.06)
    assert row["conf_high"] - row["conf_low"] == pytest.approx(2 * 1.96 * row["std_error"], rel=0.06)


def test_row_order_engine_scheme_and_probe():
    frame = words()
    want = rationale_shift(frame, threshold=0.3, n_resamples=50)
    mixed = frame.sample(frac=1, random_state=4)
    pd.testing.assert_frame_equal(want, rationale_shift(mixed, threshold=0.3, n_resamples=50))
    pd.testing.assert_frame_equal(want, rationale_shift(pl.from_pandas(mixed), threshold=0.3, n_resamples=50))
    texts = set(frame.loc[frame["probe"] != "truth", "rationale"])
    flip = rationale_shift(frame, probe="flip", n_resamples=50)
    assert set(flip["probe"]) == {"flip"}
    alone = rationale_shift(frame[frame["rationale"].isin(texts) & (frame["probe"] != "truth")], n_resamples=50)
    pd.testing.assert_frame_equal(flip, alone)
    both = pd.concat([frame.assign(scheme="S"), frame.assign(scheme="P")])
    schemes = rationale_shift(both, threshold=0.3, n_resamples=50)
    got = schemes[schemes["scheme"] == "S"].reset_index(drop=True)
    np.testing.assert_allclose(got["estimate"], want["estimate"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"distance": "cosine"}, "distance="),
        ({"probe": "flop"}, "Did you mean 'flip'"),
        ({"baseline": "none"}, "baseline='none'"),
        ({"embed": lambda t: np.zeros((3, 2))}, r"shape \(3, 2\)"),
        ({"embed": lambda t: np.zeros(len(t))}, "one row a text"),
        ({"embed": {}}, "empty"),
        ({"embed": "minilm"}, "embed= is str"),
    ],
)
def test_what_cannot_be_asked_is_refused(change, message):
    with pytest.raises(DesignError, match=message):
        rationale_shift(words(n=5), **change)


# ---------------------------------------------------------------- alignment


def test_alignment_of_known_vectors():
    rows = [
        ("1", "first", "west", "first", "east"),  # nearer to the favoured: 1
        ("2", "tie", "east", "tie", "north"),  # nearer to the opposed: 0
        ("3", "first", "north", "first", "north-east"),  # as near: 1/2
        ("4", "first", "east", "second", "east"),  # another decision
        ("5", "first", "east", "first", "nowhere"),  # no vector
    ]
    result = rationale_alignment(
        reasons(rows), favoured_text="east", opposed_text="north", embed=plane, n_resamples=100
    )
    row = cell(result, "alignment")
    assert row["estimate"] == pytest.approx(0.5)
    assert (row["n"], row["n_same"], row["n_items"]) == (3, 4, 5)
    assert "1 item without a vector excluded" in row["flag"]
    aligned = cell(result, "cue_aligned")
    assert (aligned["estimate"], aligned["n"]) == (0.5, 4)  # items 1 and 4 of 1 to 4
    blind = cell(result, "cue_aligned_blind")
    assert (blind["estimate"], blind["n"]) == (3 / 5, 5)
    swapped = rationale_alignment(
        reasons(rows), favoured_text="north", opposed_text="east", embed=plane, n_resamples=100
    )
    assert cell(swapped, "alignment")["estimate"] == pytest.approx(1 - row["estimate"])
    assert cell(swapped, "cue_aligned")["estimate"] == 0.25


def test_as_near_is_half_in_floating_point_too():
    def tilted(texts):
        angle = {"a": 0.1, "b": 0.1 + 1.1, "between": 0.1 + 0.55}
        return np.array([(math.cos(angle[t]), math.sin(angle[t])) for t in texts]) * 0.3

    frame = reasons([("1", "first", "a", "first", "between"), ("2", "first", "a", "first", "between")])
    result = rationale_alignment(frame, favoured_text="a", opposed_text="b", embed=tilted, n_resamples=10)
    assert cell(result, "alignment")["estimate"] == 0.5
    assert cell(result, "cue_aligned")["estimate"] == 0


def test_each_probe_may_have_its_own_descriptions():
    frame = words()
    labels = {"truth": "model", "flip": "human"}
    other = {"truth": "human", "flip": "model"}
    result = rationale_alignment(frame, favoured_text=labels, opposed_text=other, n_resamples=20)
    for probe in labels:
        alone = rationale_alignment(frame, favoured_text=labels[probe], opposed_text=other[probe], n_resamples=20)
        pd.testing.assert_frame_equal(result[result["probe"] == probe], alone[alone["probe"] == probe])
    refused(
        DesignError,
        ({"favoured_text": {"flip": "human"}, "opposed_text": "model"}, "'truth'"),
        ({"favoured_text": "human", "opposed_text": " human"}, "the same"),
        of=lambda options: rationale_alignment(frame, **options),
    )


def test_alignment_without_the_same_decision_is_nan():
    rows = [(str(i), "first", "east", "second", "north") for i in range(4)]
    result = rationale_alignment(reasons(rows), favoured_text="east", opposed_text="west", embed=plane, n_resamples=5)
    assert math.isnan(cell(result, "alignment")["estimate"])
    assert "no item with the same decision" in cell(result, "alignment")["flag"]
    assert cell(result, "cue_aligned_blind")["estimate"] == 1


# rationales


def test_rates_of_explanations_to_one_pair_are_clustered():
    twice = pd.concat([probed_calls(40, replicate=r, choice="first") for r in (0, 1)])
    alone = probed_calls(40, choice="first")
    for measure in (
        lambda d: rows(rationale_shift(d, threshold=0.1, n_resamples=20), "drift_rate"),
        lambda d: rows(rationale_alignment(d, favoured_text="so", opposed_text="it", n_resamples=20), "cue_aligned"),
        lambda d: rows(rationale_check(d[d["probe"] == "blind"]), "label_mentioned"),
    ):
        assert "clustered by item" in measure(twice)["method"].iloc[0]
        assert measure(alone)["method"].iloc[0] == "Wilson"
        assert NOT_INDEPENDENT not in measure(twice)["flag"].iloc[0] + measure(alone)["flag"].iloc[0]


def test_explanations_set_aside_are_counted_for_every_term():
    data = probed_calls(40, choice="first")
    data.loc[(data["item"] < "i03") & (data["probe"] == "truth"), "rationale"] = ""
    data.loc[(data["item"] < "i02") & (data["probe"] == "blind"), "rationale"] = None
    data.loc[(data["item"] > "i35") & (data["probe"] == "truth"), "choice"] = "invalid"
    result = rationale_alignment(data, favoured_text="so", opposed_text="it", n_resamples=20)
    found = rows(result, "alignment", "cue_aligned", "cue_aligned_blind")
    assert found["n"].tolist() == [33, 33, 34]
    assert found["flag"].str.extract(r"(\d+) items without a vector")[0].tolist() == ["3", "3", "2"]
    assert found["flag"].str.contains("4 items not valid in both excluded").all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"favoured_text": ""}, "is empty"),
        ({"favoured_text": None}, "is not a description"),
        ({"favoured_text": {"truth": 3}}, "is not a description"),
        ({"embed": lambda texts: ["x" for _ in texts]}, "no array of numbers"),
        ({"embed": {"minilm": "all-MiniLM"}}, "that is not a function"),
    ],
)
def test_texts_that_cannot_be_embedded_are_refused(options, message):
    with pytest.raises(DesignError, match=message):
        rationale_alignment(probed_calls(), **({"favoured_text": "so", "opposed_text": "it"} | options))


def test_columns_that_are_needed_are_named():
    refused(
        DesignError,
        (lambda: rationale_shift(words().drop(columns="rationale")), "'rationale'"),
        (
            lambda: rationale_shift(probed_calls().drop(columns="choice")),
            "rationale_shift needs a preferences frame, and there is no choice",
        ),
    )
