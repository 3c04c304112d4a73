"""Which columns split a cell, that every measure of ratings goes by the same rule, and what is averaged over by name."""

from __future__ import annotations

import itertools

import duckdb
import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest

import judgestats as js
from judgestats.counting.cells import cells
from judgestats.counting.splitting import CONDITIONS, as_runs, splits_of
from judgestats.errors import DesignError, SchemaError
from refusals import refused

KEYS = ["judge", "system", "item", "criterion"]
SCALES = {"0-5": 5, "0-10": 10, "0-100": 100}


def scaled(items: int = 12, systems: str = "vwxyz", judges: str = "abc", seed: int = 0) -> pd.DataFrame:
    """Each thing rated by each judge on three scales, the third of which drowns the others in an average."""
    rng = np.random.default_rng(seed)
    rows = [
        {"judge": j, "system": s, "item": f"i{i:02}", "scale": name, "score": top * np.clip(quality, 0, 1)}
        for i, s, j, (name, top) in itertools.product(range(items), systems, judges, SCALES.items())
        for quality in [0.2 + 0.1 * systems.index(s) + 0.02 * (i % 7) + 0.1 * rng.normal()]
    ]
    return pd.DataFrame(rows)


def columns(splits: list) -> list[str]:
    return [s.column for s in splits]


# the rule


def repeated() -> pd.DataFrame:
    """Four calls of each cell that nothing numbers."""
    cell = pd.DataFrame(list(itertools.product("ab", "xy", [str(i) for i in range(10)])), columns=KEYS[:3])
    return cell.loc[cell.index.repeat(4)].reset_index(drop=True).assign(score=np.arange(160) % 7)


NEVER = {
    "status": lambda n: np.resize(["ok", "parse"], n),
    "cost": lambda n: np.resize([0.1, 0.2, 0.3], n),
    "latency_ms": lambda n: np.resize([100, 130, 170], n),
    "completionTokens": lambda n: np.resize([5, 6, 7], n),
    "time": lambda n: np.resize(["09:00", "10:00", "11:00"], n),
    "created_at": lambda n: np.resize([1700000000, 1700000001, 1700000002], n),
    "asked": lambda n: pd.to_datetime(np.resize([0, 1, 2], n), unit="s"),
    "rationale": lambda n: np.resize(["good", "bad", "so so"], n),
    "gold": lambda n: np.resize([1, 2, 3], n),
    "call": lambda n: np.arange(n),
    "confidence": lambda n: np.random.default_rng(0).random(n),
    "why": lambda n: [f"because of {i // 2}" for i in range(n)],
    "raw": lambda n: np.resize(
        [f"{i} " + "the answer is long and says a good deal about the text " * 2 for i in range(30)], n
    ),
    "parts": lambda n: [[i] for i in range(n)],
    "domain": lambda n: np.repeat(["art", "law"], n // 2),  # of the item, judge and system: it never differs in a cell
    "flat": lambda n: "same",
}


@pytest.mark.parametrize("name", NEVER)
def test_what_came_of_a_call_free_text_and_ids_never_split(name):
    table = repeated()
    table = table.assign(**{name: NEVER[name](len(table))})
    assert splits_of(table, KEYS) == []
    assert len(js.score_matrix(table)) == 4


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("scale", ["0-5", "0-10", "0-100"]),
        ("max_tokens", [128, 256]),
        ("temperature", [0.0, 1.0]),
        ("condition", ["plain", None]),
        ("cot", [True, False]),
        ("template", ["Say how good the text is, on the whole, from one to ten. " * 3, "Be strict. " * 20]),
    ],
)
def test_what_a_call_was_asked_under_splits(name, values):
    table = repeated()
    table = table.assign(**{name: pd.Series(values, dtype=object).to_numpy()[np.resize(range(len(values)), 160)]})
    found = splits_of(table, KEYS)
    assert columns(found) == [name]
    assert found[0].rows == 160
    assert len(found[0].values) == len(values)
    assert splits_of(table, [*KEYS, name]) == []
    if name != "cot":
        assert columns(splits_of(pl.from_pandas(table).lazy(), KEYS)) == [name]


@pytest.mark.parametrize("name", ["passed", "verdict", "metascore"])
def test_a_verdict_beside_the_score_does_not_split(name):
    """Repeats may differ in whether they passed a threshold, as they do in the score."""
    repeats = pd.DataFrame({"judge": "a", "system": "s", "item": [*"1122"], "criterion": "c", "score": [0, 1, 0, 1]})
    assert columns(splits_of(repeats.assign(**{name: [0, 1, 0, 1]}), KEYS)) == []
    assert columns(splits_of(repeats.assign(mode=[0, 1, 0, 1]), KEYS)) == ["mode"]


def test_only_rows_that_are_equal_in_every_key_count():
    table = repeated().assign(replicate=np.resize(range(4), 160))
    seeds = table.assign(seed=table["replicate"] + 40)  # a run has its seed
    assert splits_of(seeds, KEYS) == []
    assert columns(splits_of(seeds.drop(columns="replicate"), KEYS)) == ["seed"]
    within = table.assign(replicate=table["replicate"] // 2, prompt=np.resize(["p", "q"], 160))
    assert columns(splits_of(within, KEYS)) == ["prompt"]
    # a repeat under another temperature is no repeat, however it is numbered
    warm = table.assign(temperature=np.where(table["replicate"] < 2, 0.0, 1.0))
    assert columns(splits_of(warm, KEYS)) == ["temperature"]
    assert columns(splits_of(pl.from_pandas(warm).lazy(), KEYS)) == ["temperature"]
    assert set(CONDITIONS) == {"condition", "temperature"}


def test_one_pair_of_rows_among_many_is_found():
    table = repeated().drop_duplicates(KEYS[:3]).assign(prompt="p")
    again = table.iloc[[7, 30]].assign(prompt="q")
    found = splits_of(pd.concat([table, again]), KEYS)
    assert (columns(found), found[0].rows) == (["prompt"], 4)


def test_the_id_of_a_response_does_not_hide_the_condition_under_which_it_was_written():
    cell = pd.DataFrame(
        list(itertools.product("ab", "xy", [str(i) for i in range(10)], "pqrst", ["long", "short"])),
        columns=[*KEYS, "length"],
    )
    response = cell["system"] + cell["item"] + cell["length"]
    cell = cell.assign(
        request=cell["judge"] + response,
        response=response,
        certainty=np.arange(len(cell)) % 7,
        score=np.arange(len(cell)) % 2,
    )
    for frame in (cell, cell[cell.columns[::-1]]):
        (found,) = splits_of(frame, KEYS)
        assert found.column == "length"
        assert {"request", "response"} <= set(found.alike)
    able = js.available_measures(js.ratings(cell.rename(columns={"length": "condition"}))).set_index("measure")[
        "supported"
    ]
    assert able["consensus_deviation"], (
        "apart by length there are two judges of every cell; by the request there is one"
    )


def test_a_measured_number_does_not_split_what_names_tell_apart():
    """Counts found by the judge vary with the answer; of a cell's rows the names of answer and prompt tell each."""
    rng = np.random.default_rng(1)
    rows = [
        ("g", f"i{i}", answer, prompt, int(rng.integers(0, 5)), float(rng.integers(1, 6)))
        for i in range(30) for answer in "xyz" for prompt in "ab"
    ]  # fmt: skip
    data = pd.DataFrame(rows, columns=["judge", "item", "answer", "prompt", "n_faults", "score"])
    keys = ["judge", "item"]
    assert [(s.column, s.alike) for s in splits_of(data, keys)] == [("answer", ()), ("prompt", ())]
    # a number that names do not tell splits, as does one that goes with a name and has fewer values
    assert [s.column for s in splits_of(data.drop(columns="prompt"), keys)] == ["answer", "n_faults"]
    sized = data.assign(words=data["answer"].map({"x": 50, "y": 100, "z": 100})).drop(columns="n_faults")
    assert [s.column for s in splits_of(sized, keys)] == ["answer", "prompt"]


def test_columns_that_split_alike_are_told_together():
    table = scaled().assign(temperature=lambda t: np.resize([0.0, 1.0, 0.0, 0.5, 0.5, 0.0, 1.0], len(t)))
    table = table.assign(top=table["scale"].map(SCALES), wide=table["scale"] == "0-100")
    found = splits_of(table, KEYS)
    assert [(s.column, s.alike) for s in found] == [("scale", ("top", "wide")), ("temperature", ())]
    said = "'scale' (with 'top', 'wide', which go with it) and 'temperature' split ratings: 540 rows are equal in judge"
    with pytest.raises(DesignError) as error:
        js.score_matrix(table)
    assert str(error.value).startswith(said)
    assert "(0-10, 0-100, 0-5; 0.0, 0.5, 1.0)" in str(error.value)
    assert "average_over=" in str(error.value)
    twice = pd.concat([table, table.assign(temperature=2.0)])
    with pytest.raises(DesignError, match=r"^'temperature' splits ratings"):
        js.score_matrix(twice, by="scale")


@pytest.mark.parametrize("engine", ["pandas", "polars", "pyarrow", "lazy", "duckdb"])
def test_every_engine_refuses_with_the_same_words(engine):
    table = scaled().assign(prompt=lambda t: np.resize(["p", "q", "p", "q", "q"], len(t)), cost=range(540))
    frame = {
        "pandas": lambda: table,
        "polars": lambda: pl.from_pandas(table),
        "pyarrow": lambda: nw.from_native(pl.from_pandas(table)).to_arrow(),
        "lazy": lambda: pl.from_pandas(table).lazy(),
        "duckdb": lambda: duckdb.from_df(table),
    }
    said = []
    for data in (table, frame[engine]()):
        with pytest.raises(DesignError) as error:
            js.score_matrix(data)
        said.append(str(error.value))
    assert said[0] == said[1]
    averaged = js.score_matrix(frame[engine](), average_over=["scale", "prompt"])
    pd.testing.assert_frame_equal(averaged, js.score_matrix(table, average_over=["scale", "prompt"]), check_dtype=False)


def test_counts_of_a_lazy_frame_do_not_hide_what_splits():
    table = pl.from_pandas(scaled().assign(score=3.0, n_identical=2)).lazy()
    with pytest.raises(DesignError, match="'scale' splits ratings"):
        cells(table)


# every measure

MEASURES = {
    "score_matrix": {},
    "consensus_deviation": {},
    "rank_correlation": {},
    "ranks": {},
    "kendall_w": {},
    "calibrate": {},
    "icc": {},
    "kappa": {},
    "alpha": {"n_resamples": 20, "level_of_measurement": "interval"},
    "ac1": {"labels": range(101)},
    "correlation": {"n_resamples": 20},
    "agreement_levels": {"n_resamples": 20},
    "disagreement": {"n_resamples": 20},
    "score_distribution": {"scale": (0, 100), "n_resamples": 20},
    "variance_components": {},
    "decision_study": {},
    "quality_agreement": {},
    "ordering_accuracy": {"order": ("low", "high"), "n_resamples": 20},
    "best_of_accuracy": {"right": "z"},
    "blinding_effect": {"baseline": "attributed", "blinded": "anonymized"},
    "agreement_shift": {"after": ("attributed", "anonymized"), "n_resamples": 20},
    "agreement_slope": {"over": "temperature", "n_resamples": 20},
    "tally": {"measure": "icc"},
}
TWO_SIDED = ("blinding_effect", "agreement_shift")


def suited(measure: str) -> pd.DataFrame:
    table = scaled().round({"score": 0})
    table = table.assign(gold=np.resize([3.0], len(table)), tier=np.where(table["system"] < "x", "low", "high"))
    if measure in TWO_SIDED:
        sides = [
            table.assign(condition=c, score=table["score"] + k) for k, c in enumerate(("attributed", "anonymized"))
        ]
        return pd.concat(sides, ignore_index=True)
    if measure == "agreement_slope":
        return pd.concat([table.assign(temperature=t) for t in (0.0, 0.5, 1.0)], ignore_index=True)
    return table


@pytest.mark.slow
@pytest.mark.parametrize("measure", MEASURES)
def test_every_measure_refuses_by_name_and_takes_both_remedies(measure):
    take, options, table = getattr(js, measure), MEASURES[measure], suited(measure)
    refused(
        DesignError,
        (lambda: take(table, **options), r"'scale' splits ratings.*in by= .* or in average_over="),
        (lambda: take(pl.from_pandas(table).lazy(), **options), "'scale' splits ratings"),
        (lambda: take(table, average_over="scal", **options), SchemaError, "average_over='scal' is not a column"),
    )
    apart = take(table, by="scale", **options)
    assert set(apart["scale"]) == set(SCALES)
    one = take(table[table["scale"] == "0-5"].drop(columns="scale"), **options)
    same = apart[apart["scale"] == "0-5"].drop(columns="scale").reset_index(drop=True)
    assert len(same) == len(one)
    if "estimate" in one:
        np.testing.assert_allclose(same["estimate"], one["estimate"])
    averaged = take(table, average_over="scale", **options)
    assert "scale" not in averaged
    numbered = table.assign(replicate=table["scale"].map({s: i for i, s in enumerate(SCALES)})).drop(columns="scale")
    pd.testing.assert_frame_equal(averaged, take(numbered, **options))


def test_relative_shift_goes_by_the_rule():
    free, shared = scaled(seed=1), scaled(seed=2)
    with pytest.raises(DesignError, match="'scale' splits ratings"):
        js.agreement_shift(shared, free, relative=True)
    assert len(js.agreement_shift(shared, free, relative=True, by="scale", n_resamples=20)) == 3
    assert len(js.agreement_shift(shared, free, relative=True, average_over="scale", n_resamples=20)) == 1


def test_an_average_over_scales_is_no_score():
    table = pd.DataFrame(
        [
            {"judge": j, "system": "s", "item": i, "scale": scale, "score": x}
            for j in "ab"
            for i in "12"
            for scale, x in zip(SCALES, (3.0, 6.0, 48.0), strict=True)
        ]
    )
    with pytest.raises(DesignError, match="'scale' splits ratings: 12 rows"):
        js.score_matrix(table)
    asked = js.score_matrix(table[table["item"] == "1"], average_over="scale").iloc[0]
    assert (asked["runs"], round(asked["sd"])) == (3, 25)  # what was given without asking
    assert js.score_matrix(table, by="scale")["estimate"].tolist() == [6, 6, 48, 48, 3, 3]


def test_a_slope_is_of_one_scale():
    """The widest scale decides the correlation of averages: its slope is not that of any scale."""
    rng = np.random.default_rng(7)
    noise = {"0-5": 0.3, "0-10": 0.3, "0-100": 0.9}
    rows = [
        {"judge": j, "system": "s", "item": str(i), "temperature": t, "scale": scale}
        | {"score": top * (quality + noise[scale] * (1 - 0.5 * t) * rng.normal())}
        for i, quality in enumerate(rng.normal(size=300))
        for t in (0.0, 0.5, 1.0)
        for scale, top in SCALES.items()
        for j in "ab"
    ]
    table = pd.DataFrame(rows)
    with pytest.raises(DesignError, match="'scale' splits ratings"):
        js.agreement_slope(table)
    mixed = js.agreement_slope(table, average_over="scale", n_resamples=20)["estimate"].item()
    each = js.agreement_slope(table, by="scale", n_resamples=20).set_index("scale")["estimate"]
    assert each["0-5"] == pytest.approx(0.06, abs=0.02)
    assert mixed > 3 * each["0-5"]


# average_over=


def test_averaged_columns_become_part_of_the_replicate():
    table = scaled().assign(replicate=0)
    runs = as_runs(table, "scale")
    assert "scale" not in runs
    assert runs.groupby(KEYS[:3])["replicate"].nunique().eq(3).all()
    assert as_runs(table, ()) is table
    both = as_runs(pd.concat([table, table.assign(replicate=1)]), "scale")
    assert both.groupby(KEYS[:3])["replicate"].nunique().eq(6).all()
    lazy = as_runs(pl.from_pandas(table).lazy(), "scale").collect().to_pandas()
    assert lazy.groupby(KEYS[:3])["replicate"].nunique().eq(3).all()


@pytest.mark.parametrize("name", ["judge", "item", "score"])
def test_keys_and_answers_cannot_be_averaged_over(name):
    with pytest.raises(DesignError, match=f"average_over='{name}' cannot be"):
        as_runs(scaled().assign(replicate=0), name)


def test_means_have_one_row_a_cell():
    means = scaled().rename(columns={"score": "mean"})
    assert len(js.score_matrix(means, by="scale")) == 45
    refused(
        DesignError,
        (lambda: js.score_matrix(means), "'scale' splits ratings"),
        (lambda: js.score_matrix(means, average_over="scale"), "this table holds means"),
        (lambda: js.score_matrix(means.drop(columns="scale")), "several rows of one cell"),
    )


def test_a_reference_goes_by_the_rule_and_its_raters_do_not():
    ours, people = scaled(), scaled(judges="pq", seed=3)
    with pytest.raises(DesignError, match="'scale' splits ratings"):
        js.consensus_deviation(ours[ours["scale"] == "0-5"].drop(columns="scale"), people)
    both = js.consensus_deviation(ours, people, average_over="scale")
    assert both["estimate"].notna().any()
    raters = people[people["scale"] == "0-5"].drop(columns="scale").rename(columns={"judge": "annotator"})
    one = ours[ours["scale"] == "0-5"].drop(columns="scale")
    assert js.consensus_deviation(one, raters)["estimate"].notna().any()
    assert js.rank_correlation(one, raters)["estimate"].notna().any()


def test_kappa_beside_a_reference_goes_by_the_rule():
    table = scaled().round({"score": 0})
    for against in ("a", table[table["judge"] == "a"].drop(columns="judge")):
        with pytest.raises(DesignError, match="'scale' splits ratings"):
            js.kappa(table, reference=against)
    found = js.kappa(table, reference="a", weights="linear", average_over="scale")
    assert found["n"].eq(60).all()
    assert found["method"].str.endswith("single answers of repeats").all()


# preferences


def test_pairs_judged_twice_in_one_order_are_told_in_the_same_words():
    pairs = pd.DataFrame(list(itertools.product("gh", "12345", ["xy", "yx"], ["short", "long"])))
    pairs.columns = ["judge", "item", "order", "wording"]
    calls = pairs.assign(first=pairs["order"].str[0], second=pairs["order"].str[1], choice="first", cost=range(40))
    calls = calls.drop(columns="order")
    said = r"'wording' splits pairs: 40 calls are equal in judge, item, first, second but differ in it \(long, short\)"
    assert js.consistency(calls, by="wording")["n"].eq(5).all()
    again = calls.assign(choice=np.resize(["first", "first", "tie", "tie"], 40))
    assert js.kappa(again, average_over="wording")["n"].eq(10).all()
    refused(
        DesignError,
        (lambda: js.consistency(calls), said),
        (lambda: js.consistency(pl.from_pandas(calls)), said),
        (lambda: js.consistency(pl.from_pandas(calls).lazy()), said),
        (lambda: js.kappa(calls), "'wording' splits pairs"),
        (lambda: js.consistency(calls.drop(columns="wording")), "nothing but the answer"),
    )


# one thing judged, and pages


def test_system_is_optional_where_one_thing_is_judged():
    table = scaled(systems="v").drop(columns=["system", "scale"]).assign(replicate=np.resize([0, 1, 2], 36 * 3))
    table = pd.concat([table.assign(criterion=c, score=table["score"] + k) for k, c in enumerate(("style", "truth"))])
    ready = js.ratings(table)
    assert "system" not in ready
    for measure in ("score_matrix", "consensus_deviation", "icc", "alpha", "variance_components", "agreement_levels"):
        options = MEASURES[measure]
        one = getattr(js, measure)(ready, **options)["estimate"]
        named = getattr(js, measure)(ready.assign(system="s"), **options)["estimate"]
        np.testing.assert_allclose(one, named)
    assert js.describe(ready).set_index("property").loc["systems", "value"] == "one"
    assert js.available_measures(ready).set_index("measure").loc["score_matrix", "supported"]


@pytest.mark.slow
def test_sheets_and_pages_show_the_values_apart(tmp_path):
    table = scaled(items=4, systems="xy")
    sheet = js.datasheet(table)
    mean = sheet[sheet["term"] == "mean_score"].set_index(["judge", "scale"])["estimate"]
    truth = table.groupby(["judge", "scale"])["score"].mean()
    np.testing.assert_allclose(mean.sort_index(), truth.sort_index())
    assert not sheet["flag"].str.contains("averaged").any()
    page = js.report(table, tmp_path / "page.html", n_resamples=20).read_text(encoding="utf-8")
    assert "Shown separately." in page
    assert "One judge rated one thing under several values of scale (3 values)" in page
    assert "splits ratings" not in page
    supported = js.available_measures(table).set_index("measure")
    assert supported.loc["score_matrix", "supported"]
    assert not supported["missing"].str.contains("splits ratings").any()
    assert "Shown separately." not in js.report(table, tmp_path / "page.html", by="scale", n_resamples=20).read_text(
        "utf-8"
    )


def test_whole_numbers_that_a_gap_made_floats_tell_calls_apart():
    table = scaled(items=3).assign(prompt=lambda t: t["scale"].map({"0-5": 1.0, "0-10": 2.0}))
    assert len(js.ratings(table.drop(columns="scale"))) == len(table)
