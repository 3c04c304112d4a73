"""Any frame -> a canonical frame, and everything that can be wrong with one."""

from pathlib import Path

import duckdb
import narwhals.stable.v2 as nw
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import judgestats as js
from judgestats.counting.tallies import tally
from judgestats.errors import DesignError, SchemaError
from judgestats.schema import check, kind_of, preferences, ratings
from refusals import refused


@pytest.fixture
def calls():
    return pd.DataFrame(
        {
            "judge": "g",
            "item": ["1", "1", "2", "2"],
            "first": ["x", "y", "x", "y"],
            "second": ["y", "x", "y", "x"],
            "choice": ["first", "second", "tie", "invalid"],
        }
    )


@pytest.fixture
def scores():
    return pd.DataFrame(
        {"judge": ["a", "b"] * 2, "system": ["s", "s", "t", "t"], "item": "1", "score": [1.0, 2.0, 3.0, 4.0]}
    )


# ---------------------------------------------------------------- mapping


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table], ids=["pandas", "polars", "arrow"])
def test_a_frame_of_any_kind_comes_back_in_its_kind(make):
    raw = make({"evaluator": ["g", "g"], "q": [1, 1], "l": ["x", "y"], "r": ["y", "x"], "v": ["A", "C"]})
    got = preferences(
        raw,
        judge="evaluator",
        item="q",
        first="l",
        second="r",
        choice="v",
        labels={"A": "first", "B": "second", "C": "tie"},
    )
    assert type(got) is type(raw)
    table = nw.from_native(got, eager_only=True).to_pandas()
    assert list(table["choice"].astype(str)) == ["first", "tie"]
    assert list(table["item"].astype(str)) == ["1", "1"]


@pytest.mark.parametrize("make", [lambda t: pl.from_pandas(t).lazy(), duckdb.from_df], ids=["polars", "duckdb"])
def test_a_lazy_frame_stays_lazy_until_it_is_counted(calls, make):
    lazy = make(calls)
    mapped = preferences(lazy)
    assert isinstance(nw.from_native(mapped), nw.LazyFrame)
    pd.testing.assert_frame_equal(
        tally(mapped, "consistency"), tally(preferences(calls), "consistency"), check_dtype=False
    )


def test_a_winner_in_item_frame_is_flipped_exactly_once():
    table = pd.DataFrame({"judge": "g", "item": "1", "first": ["x", "y"], "second": ["y", "x"], "won": ["x", "x"]})
    assert list(preferences(table, winner="won")["choice"]) == ["first", "second"]
    tied = preferences(table.assign(won=["=", "x"]), winner="won", labels={"=": "tie"})
    assert list(tied["choice"]) == ["tie", "second"]


def test_no_answer_is_an_invalid_one_with_a_reason(calls):
    got = preferences(calls.assign(choice=["first", None, "", "tie"]))
    assert list(got["choice"]) == ["first", "invalid", "invalid", "tie"]
    assert list(got["status"]) == ["ok", "parse", "parse", "ok"]


def test_a_call_that_failed_a_gate_has_no_valid_answer(calls):
    got = preferences(calls.assign(status=["ok", "leak", "", None]))
    assert list(got["choice"]) == ["first", "invalid", "tie", "invalid"]
    assert list(got["status"]) == ["ok", "leak", "ok", "parse"]


def test_a_column_that_bears_our_name_can_be_set_aside(calls):
    got = preferences(calls.assign(strength="some text"), strength=None)
    assert "strength" not in got.columns
    assert set(got["strength_source"]) == {"some text"}


def test_ids_are_text_and_a_whole_float_is_a_whole_number(calls):
    got = preferences(calls.assign(item=[81.0, 81.0, 82.0, 82.0]))
    assert list(got["item"]) == ["81", "81", "82", "82"]


def test_a_missing_id_does_not_spoil_the_others(calls):
    got = preferences(calls.assign(better=[1.0, None, 2.0, 2.5], target=[1.0, None, 2.0, 3.0]))
    assert [None if pd.isna(g) else g for g in got["better"]] == ["1.0", None, "2.0", "2.5"]
    assert [None if pd.isna(g) else g for g in got["target"]] == ["1", None, "2", "3"]


@pytest.mark.parametrize("known", [[True, None, True, True], ["true", "", "1", "True"], [1.0, None, 1.0, 1.0]])
def test_an_order_that_is_not_said_to_be_unknown_is_known(calls, known):
    assert tally(preferences(calls.assign(order_known=known)), "consistency")["n"].sum() == 2


def test_a_conflicting_column_is_kept_under_another_name(calls):
    got = preferences(calls.assign(evaluator="other"), judge="evaluator")
    assert set(got["judge"]) == {"other"}
    assert set(got["judge_source"]) == {"g"}


def test_numbers_that_arrive_as_text_are_numbers(calls):
    got = preferences(calls.assign(delta=["1", "1", "2", ""], replicate=["0", "0", "1", "1"]))
    assert got["delta"].dtype == "float64"
    assert got["replicate"].max() == 1


@pytest.mark.parametrize("scale", ["1,5", (5, 1), 5, ("1", "5"), (1, 3, 5)])
@pytest.mark.parametrize("off_scale", ["error", "missing"])
def test_a_scale_is_two_numbers(scale, off_scale, scores):
    for call in (
        lambda: ratings(scores, scale=scale, off_scale=off_scale),
        lambda: check(scores, scale=scale),
        lambda: js.parse_verdicts(["Score: 3"], scale=scale),
    ):
        with pytest.raises(SchemaError, match="must be the lowest and the highest score"):
            call()


def test_ratings_get_a_criterion_and_off_scale_scores_go_where_they_are_told(scores):
    got = ratings(scores)
    assert set(got["criterion"]) == {"overall"}
    with pytest.raises(SchemaError, match="off the scale 2 to 5"):
        ratings(scores, scale=(2, 5))
    aside = ratings(scores, scale=(2, 5), off_scale="missing")
    assert aside["score"].isna().sum() == 1
    assert list(aside["status"]).count("off scale") == 1


# ---------------------------------------------------------------- faults, all at once


def test_all_faults_come_at_once_with_rows_and_remedies(calls):
    bad = calls.assign(choice=["C", "first", "C", "tie"], item=["1", None, "2", "2"], replicate=["a", "b", "c", "d"])
    with pytest.raises(SchemaError) as error:
        preferences(bad)
    faults = error.value.faults
    assert list(faults["column"]) == ["item", "choice", "replicate"]
    assert list(faults["n"]) == [1, 2, 4]
    assert list(faults["rows"]) == [(1,), (0, 2), (0, 1, 2, 3)]
    assert (faults["remedy"] != "").all()
    assert str(error.value).startswith("3 faults in preferences (4 rows): ")


MESSAGES = {
    "missing column": (
        lambda t: preferences(t.rename(columns={"judge": "judge_model"})),
        "The table lacks judge for a preferences frame. Columns: judge_model, item, first, second, choice. Name the "
        "columns that hold them, as in preferences(frame, judge='judge_model'). If one judge gave all, name it: "
        "read(..., columns={'judge': '=NAME'}), or frame.assign(judge='NAME').",
    ),
    "a judge is no number": (
        lambda t: ratings(
            pd.DataFrame({"prompt_id": [1], "judge_score": [0.5]}), item="prompt_id", score="judge_score"
        ),
        "The table lacks judge for a ratings frame. Columns: prompt_id, judge_score. Name the columns that hold them, as "
        "in ratings(frame, judge='...'). If one judge gave all, name it: read(..., columns={'judge': '=NAME'}), or "
        "frame.assign(judge='NAME').",
    ),
    "column not in the table": (
        lambda t: preferences(t, judge="modle"),
        "judge column 'modle' is not in the table. Columns: judge, item, first, second, choice.",
    ),
    "not one of our columns": (
        lambda t: preferences(t, jugde="judge"),
        "'jugde' is not a column of a preferences frame. Did you mean 'judge'?",
    ),
    "unknown label": (
        lambda t: preferences(t.assign(choice="A")),
        "1 fault in preferences (4 rows): 'choice' has 'A' in 4 rows (rows 0, 1, 2, ... of the data, from 0). Allowed: first, second, tie, "
        "abstain, invalid. Pass labels={'A': ...} to say what it means.",
    ),
    "duplicate": (
        lambda t: preferences(pd.concat([t, t.head(1)], ignore_index=True)),
        "1 fault in preferences (5 rows): the same call occurs more than once in 2 rows (rows 0, 4 of the data, from 0). "
        "The first is judge=g, item=1, first=x, second=y. They are equal in every column: if they are copies, keep one of "
        "each, frame.drop_duplicates(). Number repeats in 'replicate', count identical rows (counts=\"n\"), or name the "
        "condition that distinguishes them.",
    ),
    "contradiction": (
        lambda t: preferences(pd.concat([t, t.head(1).assign(choice="second")], ignore_index=True)),
        "1 fault in preferences (5 rows): the same call occurs more than once in 2 rows (rows 0, 4 of the data, from 0). "
        "The first is judge=g, item=1, first=x, second=y. 2 of them contradict each other: the same call has different "
        "answers. Number repeats in 'replicate', or name the condition that distinguishes them.",
    ),
    "no rows": (
        lambda t: preferences(t.head(0)),
        "The preferences table has no rows. Give a table with at least one call.",
    ),
    "unknown label target": (
        lambda t: preferences(t, labels={"A": "frist"}),
        "labels='frist' is not known. Allowed: 'first', 'second', 'tie', 'abstain', 'invalid'. Did you mean 'first'?",
    ),
}


@pytest.mark.parametrize("case", MESSAGES)
def test_the_message_says_what_was_got_what_is_allowed_and_what_to_do(calls, case):
    act, message = MESSAGES[case]
    with pytest.raises((SchemaError, DesignError)) as error:
        act(calls)
    assert str(error.value) == message


def identical_pairs() -> pd.DataFrame:
    """A test of position: one candidate against itself, among pairs of two; the judge takes the first slot."""
    two = pd.DataFrame({"judge": "g", "item": list("aabb"), "first": list("xyxy"), "second": list("yxyx")})
    one = pd.DataFrame({"judge": "g", "item": list("cdef"), "first": "x", "second": "x"})
    table = pd.concat([two, one], ignore_index=True).assign(choice=["first", "second"] * 2 + ["first"] * 4)
    return table.assign(gold=["x", "x", "x", "x", "x", "tie", "x", None])


def test_identical_candidates_are_a_test_of_position():
    """Allowed without a stimulus: position counts them, preference between candidates does not, and check() says so."""
    raw = identical_pairs()
    calls = preferences(raw)
    pairs = calls.iloc[:4]
    found = check(calls).set_index("what")
    assert found.loc["'first' and 'second' are the same candidate", ["level", "n"]].tolist() == ["counted", 4]
    assert found.loc["rows used", "n"] == 8
    lean = js.position_bias(calls).set_index("term")
    assert lean.loc["first", ["estimate", "n"]].tolist() == [6 / 8, 8]
    assert js.answer_rates(calls)["n"].tolist() == [8, 8]
    assert js.consistency(calls).loc[0, ["estimate", "n"]].tolist() == [1.0, 2]
    pd.testing.assert_frame_equal(js.preference_rate(calls), js.preference_rate(pairs))
    rows = js.gold_agreement(calls).set_index("term")
    assert rows.loc["accuracy", ["estimate", "n"]].tolist() == [4 / 5, 5]  # where the right answer is a tie, it counts
    two = pd.concat([calls, calls.assign(judge="h")], ignore_index=True)
    assert js.kappa(two)["n"].tolist() == [4]
    graded = calls.assign(strength=[0.1, 0.9] * 2 + [0.0] * 4)
    rate = js.preference_rate(graded, graded=True)
    pd.testing.assert_frame_equal(rate, js.preference_rate(graded.iloc[:4], graded=True))
    bias = js.bias_score(calls.assign(target="x")).set_index("term")
    assert bias.loc["bias", "n"] == 4
    again = calls.assign(replicate=0)
    assert len(preferences(pd.concat([again, again.assign(replicate=1)]))) == 16


# ---------------------------------------------------------------- check


def test_rows_in_are_rows_used_and_rows_set_aside(calls):
    sums = check(calls)
    sums = sums[sums["level"] == "rows"].set_index("what")["n"]
    assert sums["rows in"] == sums["rows used"] + sums["rows excluded"] == 4
    assert sums["rows excluded"] == 1


def test_check_names_a_lone_order_and_an_abstention(calls):
    got = check(calls.assign(choice="abstain").head(3))
    counted = got[got["level"] == "counted"].set_index("what")["rows"].to_dict()
    assert counted == {"choice is abstain": (0, 1, 2), "only one order of the pair": (2,)}


def test_check_lists_rows_that_no_stimulus_measure_can_use(calls):
    design = calls.assign(
        stimulus=["ladder", "ladder", None, "vacuum"], delta=[1.0, None, None, None], better="x", choice="tie"
    )
    got = check(design)
    aside = got[got["level"] == "excluded"].set_index("what")["rows"].to_dict()
    assert aside == {"no stimulus": (2,), "ladder call without a step": (1,)}
    assert got[got["what"] == "rows used"]["n"].item() == 2


def test_check_lists_a_missing_score_and_why(scores):
    got = check(ratings(scores, scale=(2, 5), off_scale="missing"))
    row = got[got["level"] == "excluded"].iloc[0]
    assert (row["what"], row["rows"]) == ("score is missing (off scale)", (0,))


def test_check_reports_faults_instead_of_raising(calls):
    got = check(calls.assign(choice="C"))
    assert got.loc[got["level"] == "fault", "n"].item() == 4


def test_check_of_a_lazy_frame_is_that_of_the_frame(calls):
    pd.testing.assert_frame_equal(check(pl.from_pandas(calls).lazy()), check(calls))


@pytest.mark.parametrize(
    ("gold", "want"),
    [
        (["A", "B", "C"], ["x", "x", "tie"]),  # labels of the answers
        (["first", "second", "tie"], ["x", "x", "tie"]),
        (["left", "right", None], ["x", "x", None]),  # names of the columns of the candidates
        (["x", "y", ""], ["x", "y", ""]),
    ],
)
def test_gold_may_be_said_as_a_slot(gold, want):
    table = pd.DataFrame({"judge": "g", "item": ["1", "2", "3"], "left": ["x", "y", "x"], "right": ["y", "x", "y"]})
    table = table.assign(answer=["A", "B", "C"], truth=gold)
    columns = {"first": "left", "second": "right", "choice": "answer", "gold": "truth"}
    found = preferences(table, labels={"A": "first", "B": "second", "C": "tie"}, **columns)
    assert [None if pd.isna(g) else g for g in found["gold"]] == want


def test_frames_that_cannot_be_read_are_refused(calls):
    table = pd.DataFrame({"judge": "g", "item": ["1"], "first": ["x"], "second": ["y"], "choice": ["first"]})
    refused(
        SchemaError,
        (lambda: tally(preferences(pl.from_pandas(calls.assign(choice="C")).lazy()), "consistency"), "'C'"),
        (lambda: kind_of(["a", "b"]), "neither canonical frame"),
        (
            lambda: preferences(table.assign(gold="human")),
            "'gold' is neither of the two candidates, nor a tie in 1 row",
        ),
    )


def test_blanks_around_an_answer_do_not_count():
    table = pd.DataFrame({"judge": "g", "item": [*"12345"], "first": "x", "second": "y"})
    labels, answers = {"A": "first", "B": "second"}, ["first", "first", "second", "tie", "invalid"]
    for blank in (" ", "\u2028", "\x1c", "\xa0\t"):
        table["choice"] = ["A", f"A{blank}", f"{blank}B", f"tie{blank}", blank * 2]
        assert preferences(table, labels=labels)["choice"].tolist() == answers
        for lazy in (duckdb.from_df(table), pl.from_pandas(table).lazy()):
            calls = nw.from_native(preferences(lazy, labels=labels)).lazy().collect("pandas").to_native()
            assert calls.sort_values("item")["choice"].tolist() == answers
    table["choice"] = ["A", "A ", " B", "tie ", "  "]
    apart = preferences(table.iloc[:2], labels={"A": "first", "A ": "second"})["choice"]
    assert apart.tolist() == ["first", "second"], "a label with a blank of its own"


def test_ratings_have_a_task():
    table = pd.DataFrame({"judge": "g", "item": [*"12"], "subset": ["maths", "prose"], "score": [1.0, 2.0]})
    assert ratings(table, task="subset")["task"].tolist() == ["maths", "prose"]


@pytest.mark.parametrize("names", [("A", "B"), ("x", "B"), ("A", "y"), ("x", "y"), ("B", "A")])
def test_letters_of_gold_have_one_reading(names):
    """The letters are places; where both candidates have such names, and the readings differ, they are refused."""
    (one, two), turned = names, [False, True, False, True]
    table = pd.DataFrame({"judge": "g", "item": list("1122"), "choice": list("ABBA"), "gold": list("ABBA")})
    table["first"], table["second"] = ([two if t else one for t in turned], [one if t else two for t in turned])
    labels = {"A": "first", "B": "second"}
    for frame in (table, pl.from_pandas(table), pl.from_pandas(table).lazy()):
        if {*names} == {"A", "B"}:
            with pytest.raises(SchemaError, match="which labels= calls a place and which is the name of a candidate"):
                preferences(frame, labels=labels)
            continue
        calls = preferences(frame, labels=labels)
        accuracy = js.gold_agreement(calls).query("term == 'accuracy'")["estimate"]
        assert accuracy.tolist() == [1.0]


def test_letters_of_gold_whose_readings_agree_are_taken():
    table = pd.DataFrame({"judge": "g", "item": list("12"), "first": "A", "second": "B", "choice": list("AB")})
    calls = preferences(table.assign(gold=list("AB")), labels={"A": "first", "B": "second"})
    assert calls["gold"].tolist() == ["A", "B"]
    third = pd.DataFrame(
        {"judge": "g", "item": list("12"), "first": ["B", "C"], "second": ["A", "B"], "choice": list("AB")}
    )
    calls = preferences(third.assign(gold=["B", "C"]), labels={"A": "first", "B": "second"})
    assert calls["gold"].tolist() == ["B", "C"]  # C is no label: the column holds names


@pytest.mark.parametrize(("number", "answer"), [(float("inf"), "inf"), (float("-inf"), "-inf"), (float("nan"), None)])
@pytest.mark.parametrize("width", ["float32", "float64"])
def test_an_infinite_answer_is_an_unknown_one_and_not_a_missing_one(tmp_path, number, answer, width):
    """In every engine and file, eagerly and lazily: NaN is missing, what is infinite is a label as any other."""
    numbers = pa.array([1.0, number, 2.0], pa.float32() if width == "float32" else pa.float64())
    table = pa.table(
        {"judge": ["g"] * 3, "item": list("abc"), "first": ["x"] * 3, "second": ["y"] * 3, "choice": numbers}
    )
    (tmp_path / "t.csv").write_text(
        f"judge,item,first,second,choice\ng,a,x,y,1.0\ng,b,x,y,{answer or ''}\ng,c,x,y,2.0\n"
    )
    pq.write_table(table, tmp_path / "t.parquet")
    labels = {"1.0": "first", "2.0": "second", "1": "first", "2": "second"}
    polars = pl.from_arrow(table)
    relation = duckdb.from_arrow(table)
    for source in (
        table,
        table.to_pandas(),
        polars,
        polars.lazy(),
        relation,
        tmp_path / "t.csv",
        tmp_path / "t.parquet",
    ):
        for lazy in (False, True):
            if lazy and not isinstance(source, Path):
                continue
            if answer is None:
                checked = check(js.read(source, labels=labels, lazy=lazy)).set_index("what")["n"]
                assert checked["rows excluded"] == 1
                continue
            with pytest.raises(SchemaError, match=f"'choice' has '{answer}'"):
                tally(js.read(source, labels=labels, lazy=lazy), "position_bias")
            frame = (
                nw.from_native(js.read(source, labels={**labels, answer: "tie"}, lazy=lazy)).lazy().collect("pandas")
            )
            assert sorted(frame["choice"].to_list()) == ["first", "second", "tie"]
