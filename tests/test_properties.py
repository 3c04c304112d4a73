"""Every measure is held to every property, or says why not."""

import inspect
import re
from contextlib import suppress
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pytest

import judgestats as js
import registry
from judgestats.counting.patterns import PATTERNS
from judgestats.counting.tallies import tally
from judgestats.errors import JudgestatsError
from judgestats.flags import explain, flag_codes
from judgestats.metrics.measure_registry import measures
from judgestats.reporting.page_data import PageArguments, measure_all

MEASURES = registry.registry()
#: Public names of the metrics room that are no measures: they plan, choose, describe, or hold several measures.
NOT_MEASURES = {
    "datasheet": "several measures side by side; each is here",
    "compare_datasheets": "two datasheets side by side",
    "agreement_bands": "words for the coefficients of other results",
    "gains_and_costs": "the shift of another result beside a cost; tested in test_shift_costs",
    "side_by_side": "results about the same judges in one table",
    "profile": "words for the numbers of a datasheet",
    "available_measures": "says which measures can be taken",
    "describe": "describes the data",
    "pareto_front": "compares configurations, and has no estimates of its own; tested in test_frontier",
    "roc_curve": "the points of a curve; tested in test_detection",
    "specifications": "one quantity by several readings; tested in test_multiverse",
    "recommend": "picks a comparison; test_frontier permutes the names of judges and strategies",
}
#: Cells that are no label of the data: text, numbers, bytes, a list, a pair, a time, 400 digits, a complex number.
ODD_CELLS = ("foo", 7, b"x", ["a"], (1, 2), pd.Timestamp("2020-01-01"), True, 10**400, 1 + 2j)
NUMBERS = ["estimate", "std_error", "conf_low", "conf_high", "n"]


def asked(prop):
    """Measures that are held to a property."""
    return [name for name, m in MEASURES.items() if prop not in m.exempt]


@cache
def of_the_data(name):
    data = MEASURES[name].data()
    return data, MEASURES[name].call(data)


def same(got, want):
    """The two results hold the same rows, in whatever order, to rounding."""
    keys = [c for c in want.columns if not pd.api.types.is_float_dtype(want[c])]
    assert list(got.columns) == list(want.columns)
    ordered = [
        t.assign(**{k: t[k].astype(str) for k in keys}).sort_values(keys, kind="stable", ignore_index=True)
        for t in (got, want)
    ]
    pd.testing.assert_frame_equal(*ordered, check_dtype=False, rtol=1e-9, atol=1e-9)


def reversed_names(labels):
    """Other names in the opposite order."""
    known = sorted({str(x) for x in labels if not pd.isna(x)})
    return {x: f"n{len(known) - i:03d}" for i, x in enumerate(known)}


def with_pairs_in_order(result):
    """Which of two judges is named first is a matter of their names."""
    if not {"judge", "other"} <= set(result.columns):
        return result
    pair = np.sort(result[["judge", "other"]].astype(str).to_numpy(), axis=1)
    return result.assign(judge=pair[:, 0], other=pair[:, 1])


def renamed(table, names, columns):
    return table.assign(
        **{
            c: table[c].map(lambda x: names.get(str(x), x) if not pd.isna(x) else x)
            for c in columns
            if c in table.columns
        }
    )


def of_estimates(result):
    """What does not depend on random draws: point estimates and n, with what names them."""
    drawn = result["method"].str.contains("bootstrap") & ~result["method"].str.contains("closed form")
    result = result.copy()
    result.loc[drawn, ["std_error", "conf_low", "conf_high"]] = np.nan
    result.loc[drawn, ["method", "flag"]] = ""
    return result


def test_every_public_function_of_the_metrics_has_a_record_or_is_no_measure():
    """A measure without a record has no properties that hold it to anything."""
    homes = {n for n, (module, _) in js._HOMES.items() if module.startswith("judgestats.metrics")}
    functions = {n for n in homes if inspect.isfunction(getattr(js, n))}
    recorded = {name for name, m in measures().items() if name == m.function.__name__}
    assert functions - set(NOT_MEASURES) == recorded
    assert recorded - {name.partition(",")[0] for name in MEASURES} == {
        "correlate_over_judges",
        "pair_tests",
        "shift_tests",
        "unitised_alpha",
    }, (
        "they take results or marks, not verdicts; tested in test_validity, test_pairs, test_shifts and test_marked_spans"
    )


def test_every_case_is_of_a_measure_and_says_no_more_than_its_record():
    assert set(registry.CASES) <= set(MEASURES)
    for name, case in registry.CASES.items():
        implied = registry.of_record(measures()[name.partition(",")[0]], MEASURES[name].data)
        assert not set(case.exempt) & set(implied), name


def test_an_exemption_names_a_property_and_gives_a_reason():
    for name, measure in MEASURES.items():
        assert set(measure.exempt) <= set(registry.PROPERTIES), name
        assert all(len(why) > 15 for why in measure.exempt.values()), name


def test_every_pattern_has_its_measure():
    assert set(PATTERNS) == {
        measures()[n.partition(",")[0]].counted_as for n, m in MEASURES.items() if "tally" not in m.exempt
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", MEASURES)
def test_the_data_exercise_the_measure(name):
    _, result = of_the_data(name)
    assert result["estimate"].notna().any()
    assert (explain(result)["code"] != "").all()


@pytest.mark.parametrize("name", asked("rows"))
def test_row_order_does_not_matter(name):
    data, result = of_the_data(name)
    mixed = data.sample(frac=1, random_state=3).reset_index(drop=True)
    pd.testing.assert_frame_equal(MEASURES[name].call(mixed), result, rtol=1e-12, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("name", asked("again"))
def test_the_same_arguments_give_the_same_numbers(name):
    data, result = of_the_data(name)
    pd.testing.assert_frame_equal(MEASURES[name].call(data), result)


@pytest.mark.slow
@pytest.mark.parametrize("name", asked("untouched"))
def test_the_input_is_not_changed(name):
    data = MEASURES[name].data()
    before = data.copy(deep=True)
    MEASURES[name].call(data)
    pd.testing.assert_frame_equal(data, before)


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n in MEASURES if n != "level_progression"])  # its case averages scores itself
def test_a_cell_of_another_type_is_a_label_or_is_refused(name):
    data = MEASURES[name].data().head(400).astype(object)
    for place, column in enumerate(data):
        cells = data[column].to_list()
        cells[3] = ODD_CELLS[(place + len(name)) % len(ODD_CELLS)]
        other = data.assign(**{column: pd.Series(cells, data.index, dtype=object)})
        with suppress(JudgestatsError):
            assert isinstance(MEASURES[name].call(other), pd.DataFrame)


@pytest.mark.slow
@pytest.mark.parametrize("name", asked("judges"))
def test_judges_are_names(name):
    data, result = of_the_data(name)
    columns = ["judge", "system", "gold"] if "system" in data.columns else ["judge"]  # a judge may be a system too
    names = reversed_names(pd.concat([data[c] for c in columns[:2]]))
    got = MEASURES[name].call(renamed(data, names, columns))
    want = renamed(result, names, [*columns, "other"])
    same(with_pairs_in_order(of_estimates(got)), with_pairs_in_order(of_estimates(want)))


@pytest.mark.slow
@pytest.mark.parametrize("name", asked("items"))
def test_items_are_names(name):
    data, result = of_the_data(name)
    names = reversed_names(data["item"])
    got = MEASURES[name].call(renamed(data, names, ["item"]))
    same(of_estimates(got), of_estimates(renamed(result, names, ["item"])))


@pytest.mark.slow
@pytest.mark.parametrize("name", asked("candidates"))
def test_candidates_are_names(name):
    data, result = of_the_data(name)
    columns = [
        c
        for c in ("first", "second", "better", "target", "gold", "system", "candidate", "favoured")
        if c in data.columns
    ]
    names = reversed_names(pd.concat([data[c] for c in columns if c != "gold"]))
    if "system" in columns:  # judges that are systems keep their own
        columns, names = [*columns, "judge"], reversed_names(pd.concat([data["system"], data["judge"]]))
    got = MEASURES[name].call(renamed(data, names, columns))
    want = renamed(result, names, [*columns, "candidate", "system", "other", "favoured", "answer"])
    same(with_pairs_in_order(of_estimates(got)), with_pairs_in_order(of_estimates(want)))


@pytest.mark.slow
@pytest.mark.parametrize("name", asked("slots"))
def test_the_other_way_round(name):
    measure = MEASURES[name]
    data, result = of_the_data(name)
    attributes = [c.removesuffix("_first") for c in data.columns if c.endswith("_first")]
    pairs = [("first", "second"), *((f"{a}_first", f"{a}_second") for a in attributes)]
    turned = data.copy()
    for one, two in pairs:
        turned[one], turned[two] = data[two], data[one]
    turned["choice"] = data["choice"].map(lambda c: {"first": "second", "second": "first"}.get(c, c))
    if "strength" in data.columns:
        turned["strength"] = 1 - data["strength"]
    got, want = of_estimates(measure.call(turned)), of_estimates(result)
    flip = got["term"].isin(measure.flips)
    got.loc[flip, "estimate"] = -got.loc[flip, "estimate"]
    low, high = -got.loc[flip, "conf_high"], -got.loc[flip, "conf_low"]
    got.loc[flip, "conf_low"], got.loc[flip, "conf_high"] = low, high
    places = {a: b for pair in measure.swaps for a, b in (pair, pair[::-1])}
    got["term"] = got["term"].map(lambda t: places.get(t, t))
    same(got, want)


@pytest.mark.slow
@pytest.mark.parametrize("name", asked("engine"))
@pytest.mark.parametrize("lazy", [False, True], ids=["eager", "lazy"])
def test_polars_gives_what_pandas_gives(name, lazy):
    data, result = of_the_data(name)
    table = pl.from_pandas(data)
    got = MEASURES[name].call(table.lazy() if lazy else table)
    pd.testing.assert_frame_equal(got, result, check_dtype=False)


@pytest.mark.slow
@pytest.mark.parametrize("name", asked("count"))
def test_a_row_may_carry_a_count(name):
    data, result = of_the_data(name)
    thrice = MEASURES[name].call(data.assign(n_identical=3))
    np.testing.assert_allclose(thrice["estimate"], result["estimate"], rtol=1e-9, atol=1e-12)
    counted = result["n"] > 0
    assert (thrice.loc[counted, "n"] >= result.loc[counted, "n"]).all()
    assert (thrice.loc[counted, "n"] > result.loc[counted, "n"]).any()


@pytest.mark.parametrize("name", asked("tally"))
def test_the_tally_gives_what_the_frame_gives(name):
    measure = MEASURES[name]
    data, result = of_the_data(name)
    counted = measure.call(tally(data, measures()[name.partition(",")[0]].counted_as, baseline=measure.baseline))
    loose = [c for c in NUMBERS if c in measure.loose]
    assert list(counted["term"]) == list(result["term"])
    columns = [c for c in NUMBERS if c not in loose]
    np.testing.assert_allclose(
        of_estimates(counted)[columns].to_numpy(float),
        of_estimates(result)[columns].to_numpy(float),
        rtol=1e-12,
        atol=1e-12,
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("column", ["prompt", "task"])
def test_a_column_of_one_value_is_no_cluster(name, column):
    data, result = of_the_data(name)
    if column not in data:
        pd.testing.assert_frame_equal(MEASURES[name].call(data.assign(**{column: "only"})), result)


CLUSTERED_ALONE = [n for n, m in measures().items() if n in MEASURES and MEASURES[n].call is m.function
                   and "cluster" in inspect.signature(m.function).parameters]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", CLUSTERED_ALONE)
def test_one_cluster_gives_no_interval_and_a_flag(name):
    result = MEASURES[name].call(MEASURES[name].data().assign(source="only"), cluster="source")
    result = result[result["term"] != "self_excess"]  # over systems
    assert result["conf_low"].isna().all()
    known = result[result["estimate"].notna() & ~result["flag"].str.contains("structural zero|perfect correlation")]
    assert known["flag"].str.contains("one unit").all()


_PAIRED = "n counts stimuli that both sides answered: the flag has those shared of all, and the invalid calls"
_AGREED = "n counts units with two answers: one answer fewer leaves the unit where others answered it"
_MEANS = "n counts items, systems or cells, which are means over scores, and the flag counts the missing scores"
_PEOPLE = "n counts pairs of a judge and a person: the flag has the calls that are invalid, and the units of people"
_SPLIT = "n counts what remains after labels, steps or bins, and the flag counts the invalid calls of all of them"
#: Measures whose n is no number of calls, pairs or items of one answer each -> what n is, or what the flag lacks.
UNACCOUNTED = {
    **dict.fromkeys(
        ["compare_versions", "compare_versions, of ratings", "criterion_shift", "protocol_difference", "anchoring",
         "preference_gap", "rationale_shift", "rationale_alignment", "revision"],
        _PAIRED,
    ),
    **dict.fromkeys(["scott_pi", "disagreement"], _AGREED),
    **dict.fromkeys(["score_distribution", "run_sd", "run_sd, ratios", "level_progression", "decision_study",
                     "paired_differences"], _MEANS),
    **dict.fromkeys(
        ["judge_against_people", "alternative_annotator_test", "alternative_annotator_test, of ratings"], _PEOPLE
    ),
    **dict.fromkeys(
        ["corrected_rate", "corrected_rate, random", "corrected_difference", "confidence_calibration",
         "abstention_threshold", "rank_systems"],
        _SPLIT,
    ),
    "classification": "precision and F1 count calls answered with a class; the flag has all invalid ones",
    "delta0": "two of its terms count calls, and the flag the pairs without two valid answers",
    "validity_gates": "what is invalid is what it measures: each gate counts the calls that reached it",
    "rationale_check": "one term counts all calls with a rationale, the others those whose answer can be checked",
}  # fmt: skip


def damaged(data):
    """The data with every answer valid, and the same with 8 % of them invalid."""
    name = next(c for c in ("choice", "correct", "score", "answer") if c in data.columns)
    rng, whole = np.random.default_rng(5), data.copy()
    valid = whole[name].notna() & (whole[name].astype(str) != "invalid")
    whole.loc[~valid, name] = rng.choice(whole.loc[valid, name].to_numpy(), (~valid).sum())
    lost = rng.random(len(whole)) < 0.08
    answer = whole[name] if name == "score" else whole[name].astype(object)
    return whole, whole.assign(**{name: answer.mask(lost, "invalid" if name == "choice" else None)})


def accounted(result):
    """What each row has in n and in its flag as excluded, by what names the row."""
    keys = [c for c in result.columns if c not in (*NUMBERS, "method", "flag")]
    keys = [c for c in keys if c == "delta" or not pd.api.types.is_float_dtype(result[c])]
    excluded = [
        sum(float(m.replace(",", "")) for m in re.findall(r"([\d,]+) [^;]*? excluded", flag)) for flag in result["flag"]
    ]
    noted = result["flag"].str.contains("excluded|missing|not rated by all|stimuli shared|counted as not answered")
    rows = zip(result["n"] + excluded, result["estimate"].round(9), noted, strict=True)
    return dict(zip(map(tuple, result[keys].astype(str).to_numpy()), rows, strict=True))


#: Measures whose shares are of all calls: an invalid answer is one of the answers.
INVALID_IS_AN_ANSWER = [
    "bias_score", "preference_rate", "position_bias", "answer_rates", "gold_agreement", "accuracy", "validity_gates",
]  # fmt: skip


@cache
def unaccounted(name):
    """Rows whose numbers do not add up, and rows whose estimate is without some answers and no flag says so."""
    whole, part = damaged(MEASURES[name].data())
    offered, found = accounted(MEASURES[name].call(whole)), accounted(MEASURES[name].call(part))
    both = offered.keys() & found.keys()
    assert both
    moved = [key for key in both if not np.array_equal(found[key][1], offered[key][1], equal_nan=True)]
    return [key for key in both if found[key][0] != offered[key][0]], [key for key in moved if not found[key][2]]


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n in MEASURES if n not in UNACCOUNTED])
def test_n_and_what_is_excluded_add_up_to_what_was_offered(name):
    assert unaccounted(name)[0] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", UNACCOUNTED)
def test_a_measure_that_adds_up_is_not_named_as_one_that_does_not(name):
    assert unaccounted(name)[0]


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n in MEASURES if n not in INVALID_IS_AN_ANSWER])
def test_a_number_that_lacks_some_answers_says_how_many(name):
    assert unaccounted(name)[1] == []


#: Measures with `cluster=` that are not clustered by the tasks that the items share.
NOT_BY_TASK = {
    "ordering_accuracy": "systems are drawn, not items",
    "protocol_difference": "its default is the item",
    "rationale_shift": "its default is the item",
    "quality_agreement": "it correlates systems",
    "rank_correlation": "it correlates systems, and these are too few",
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [n for n in MEASURES if "cluster" in inspect.signature(measures()[n.partition(",")[0]].function).parameters]
)
def test_every_interval_by_few_unequal_clusters_has_a_flag(name):
    """Two of 30 clusters have 64 % of the calls: they are worth 5 of equal size."""
    result = MEASURES[name].call(registry.unequal(MEASURES[name].data()))
    by_task = result[result["conf_low"].notna() & result["method"].str.contains("task|G = 30")]
    assert by_task.empty == (name in NOT_BY_TASK)
    assert by_task["flag"].str.contains("clusters of unequal size, worth|fewer than 10 clusters").all()
    # rows that rest on the same clusters have the same flag, whether they have an interval or not
    about = {"few_clusters", "unequal_clusters", "one_unit"}
    noted = result[result["method"].str.contains(r"\(G = ")]
    codes = [(n, about & set(flag_codes(f))) for n, f in zip(noted["method"], noted["flag"], strict=True)]
    by_note = {}
    for method, found in codes:
        by_note.setdefault(re.search(r"\(G = [^)]*\)", method)[0], []).append(found)
    assert all(found == each[0] for each in by_note.values() for found in each)


#: Measures whose rows name no column: they correlate systems, or each judge has one call on an item in a condition.
OF_SYSTEMS = {"ordering_accuracy", "quality_agreement", "rank_correlation", "run_sd", "run_sd, ratios"}
UNCLUSTERED = {
    registry.few_tasks_of_one_judge: OF_SYSTEMS,
    registry.one_call_of_one_judge: OF_SYSTEMS
    | {
        "alternative_annotator_test",
        "alternative_annotator_test, of ratings",
        "best_of_accuracy",
        "confidence_calibration",
        "paired_differences",
        "rationale_check",
        "revision",
        "verbosity_bias",
    },
}


def columns_named(result):
    """Columns by which the intervals of a result are clustered."""
    named = re.compile(r"\b(?:by|of|over) (pair|item|task|prompt)s?\b")
    return {column for method in result.get("method", ()) for column in named.findall(method)}


@pytest.mark.slow
@pytest.mark.parametrize("design", UNCLUSTERED)
@pytest.mark.parametrize(
    "name", [n for n in MEASURES if "cluster" in inspect.signature(measures()[n.partition(",")[0]].function).parameters]
)
def test_all_parts_of_a_study_are_clustered_by_one_column(name, design):
    """Each judge, each area (where one judge has few tasks, or one call on an item), and all of them together."""
    data = MEASURES[name].data()
    if not {"judge", "item"} <= set(data) or (name, design) == ("detection_threshold", registry.one_call_of_one_judge):
        pytest.skip("a table of results, or without the tasks that it clusters by")
    study, call = design(data), MEASURES[name].call
    named = columns_named(call(study))
    if "by" in inspect.signature(measures()[name.partition(",")[0]].function).parameters:
        named |= columns_named(call(study, by=["criterion", "area"] if name == "best_of_accuracy" else "area"))
    assert len(named) <= 1
    assert bool(named) != (name in UNCLUSTERED[design])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("data", "options", "column"),
    [
        (registry.people, {"humans": ["ann", "bob"]}, "task"),
        (registry.single_scores, {"by": ["area"]}, "task"),
    ],
)
def test_every_section_of_a_page_is_clustered_by_one_column(data, options, column):
    page = measure_all(registry.few_tasks_of_one_judge(data()), PageArguments(n_resamples=20, **options))
    results = [page.estimates.sheet, *(t for t in page.estimates.taken.values() if isinstance(t, pd.DataFrame))]
    assert set().union(*map(columns_named, results)) == {column}
    assert sum(bool(columns_named(t)) for t in results) > 5
