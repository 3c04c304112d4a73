"""What the calls of a frame share, and which column an interval is clustered by for it."""

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

import judgestats as js
from judgestats.counting.clustering import Sharing, auto_cluster, fixed_levels
from judgestats.counting.study import Study
from judgestats.counting.tallies import count, tally
from judgestats.errors import DesignError

ENGINES = {
    "pandas": lambda t: t,
    "polars": pl.from_pandas,
    "lazy polars": lambda t: pl.from_pandas(t).lazy(),
    "duckdb": duckdb.from_df,
}


def frame(items=40, pairs=2, repeats=1, judges="g", **columns):
    """Calls of each judge on so many pairs of each item, repeated."""
    rows = [
        (j, f"i{i:03}", f"x{p}", "y", r, ("first", "second", "tie")[(i + p + r) % 3])
        for j in judges
        for i in range(items)
        for p in range(pairs)
        for r in range(repeats)
    ]
    table = pd.DataFrame(rows, columns=["judge", "item", "first", "second", "replicate", "choice"])
    number = table["item"].str[1:].astype(int)
    return table.assign(**{name: number.map(rule) for name, rule in columns.items()})


def clusters(data, measure, **options):
    """How the intervals of a measure are clustered."""
    return count(data, measure, **options).clusters


def found(table, groups=("judge",), n_units=None):
    return auto_cluster(Study.of(table), groups, len(table) if n_units is None else n_units)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("table", "want"),
    [
        pytest.param(frame(40, 1), "", id="every call is on its own"),
        pytest.param(frame(40, 2), "item", id="two pairs of an item"),
        pytest.param(frame(40, 1, 2), "item", id="a repeat: pair and item are one, and the item is named"),
        pytest.param(frame(10, 2, 2), "item", id="nested, 10 levels: the coarser"),
        pytest.param(frame(9, 2, 2), "pair", id="nested, 9 levels: the finer"),
        pytest.param(frame(4, 2), "item", id="no column of 10, and the finer is not shared"),
        pytest.param(frame(9, 2), "", id="nine items are conditions of 18 pairs"),
        pytest.param(frame(60, 2, task=lambda i: f"t{i % 10}"), "task", id="10 tasks"),
        pytest.param(frame(60, 1, 3, task=lambda i: f"t{i % 10}"), "task", id="10 tasks, and items with repeats"),
        pytest.param(frame(60, 2, task=lambda i: f"t{i % 9}"), "item", id="9 tasks"),
        pytest.param(frame(40, 2, prompt=lambda i: f"p{i % 10}"), "prompt", id="ten prompts that hold the items"),
        pytest.param(frame(40, 2, conversation=lambda i: i % 12), "conversation", id="twelve conversations"),
        pytest.param(frame(40, 2, topic=lambda i: i % 12, task=lambda i: i % 24), "topic", id="topics hold tasks"),
        pytest.param(frame(40, 2, topic=lambda i: i % 6, task=lambda i: i % 12), "task", id="six topics hold tasks"),
        pytest.param(frame(40, 2, gold=lambda i: f"c{i % 12}", words=lambda i: i % 12), "item", id="no ids"),
        pytest.param(frame(40, 1, task=lambda i: f"t{i % 10}"), "task", id="ten tasks, each item once"),
        pytest.param(frame(40, 1, task=lambda i: f"t{i % 9}"), "", id="nine tasks are conditions"),
        pytest.param(frame(40, 1, 2, task=lambda i: f"t{i}"), "item", id="one and the same: the item is named"),
        pytest.param(frame(40, 1, task=lambda i: "one"), "", id="a constant column"),
        pytest.param(frame(1, 40, 2), "pair", id="one item"),
    ],
)
def test_the_column_that_is_chosen(table, want, engine):
    assert found(ENGINES[engine](table), n_units=len(table)).column == want


@pytest.mark.parametrize("engine", ENGINES)
def test_of_crossed_columns_the_item(engine):
    table = frame(40, 1, 40).assign(task=lambda t: "t" + t["replicate"].astype(str))  # each item under each task
    for name in ("task", "prompt", "topic"):
        data = ENGINES[engine](table.rename(columns={"task": name}))
        assert found(data, n_units=len(table)).column == "item"
        assert fixed_levels(Study.of(data), ["judge"]) is None


@pytest.mark.parametrize("engine", ENGINES)
def test_the_few_levels_that_an_interval_holds_for(engine):
    """The finest of fewer than ten that is coarser than the cluster, or than the calls."""
    table = frame(60, 2, task=lambda i: f"t{i % 8}", topic=lambda i: i % 4, domain=lambda i: "one")
    study = Study.of(ENGINES[engine](table))
    assert fixed_levels(study, ["judge"], "item") == fixed_levels(study, ["judge"]) == ("task", 8)
    assert fixed_levels(study, ["judge", "task"], "item") == ("topic", 4)
    assert fixed_levels(study, ["judge"], "topic") is None
    few = Study.of(ENGINES[engine](frame(9, 2, 2)))
    assert (fixed_levels(few, [], "pair"), fixed_levels(few, [], "item")) == (("item", 9), None)


def test_what_by_names_is_never_chosen():
    assert found(frame(29, 2, 2), ("judge", "item")).column == "pair"
    assert found(frame(40, 2), ("judge", "item")).column == ""


def test_levels_are_those_of_the_whole_study():
    """Each of eight people has five of the 40 items: the items are no conditions of the study."""
    table = frame(40, 2, 2, "abcdefgh")
    table = table[table["item"].str[1:].astype(int) // 5 == table["judge"].map(ord) - ord("a")]
    assert found(table).column == "item"
    assert fixed_levels(Study.of(table), ["judge"], "pair") is None


def test_the_whole_study_decides_for_its_parts():
    """Of three judges one has 6 of the 32 tasks: it keeps the column, and its row says that these are few."""
    table = frame(64, 2, judges="abc", task=lambda i: f"t{i // 2:02}", area=lambda i: i % 4)
    table = table[(table["judge"] != "c") | (table["task"] < "t06")]
    study = Study.of(table)
    for part in (study, study.where((table["judge"] == "c").to_numpy()), study.without("area")):
        assert clusters(part, "answer_rates").columns == ("task",)
    assert clusters(table, "answer_rates", by="area").columns == ("task",)
    assert clusters(pl.from_pandas(table).lazy(), "answer_rates", by="area").columns == ("task",)
    rows = js.answer_rates(table)
    few = rows["judge"] == "c"
    assert rows["method"].str.contains("clustered by task").all()
    assert rows.loc[few, "flag"].str.contains("fewer than 10 clusters").all()
    assert not rows.loc[~few, "flag"].str.contains("10 clusters(?! with)", regex=True).any()


def test_a_judge_with_one_call_on_an_item_keeps_the_column_of_those_with_two():
    table = frame(40, 1, 2, "ab")
    table = table[(table["judge"] == "a") | (table["replicate"] == 0)]
    study = Study.of(table)
    assert clusters(study, "answer_rates").columns == ("item",)
    assert js.answer_rates(table)["method"].str.contains("clustered by item").all()
    # taken apart, its calls are independent, and no other column is named
    assert clusters(study.where((table["judge"] == "b").to_numpy()), "answer_rates").independent


def test_a_task_without_a_label_for_some_calls_is_no_cluster():
    """It cannot be: nothing says whether these calls share one. The item is known."""
    table = frame(60, 2, task=lambda i: f"t{i // 2}" if i < 58 else None)
    for engine in ENGINES.values():
        assert found(engine(table), n_units=len(table)).column == "item"
    once = frame(60, 1, task=lambda i: f"t{i // 2}" if i < 58 else None)
    for engine in ENGINES.values():
        assert clusters(engine(once), "answer_rates").flag == "calls not independent"


def test_one_item_of_many_calls_is_shared_and_no_cluster():
    assert found(frame(1, 1, 40)) == Sharing("", True)
    assert clusters(frame(1, 1, 40), "answer_rates").flag == "calls not independent"


def test_a_count_is_so_many_calls():
    once = frame(40, 1)
    assert clusters(once, "answer_rates").columns == ()
    for engine in ENGINES.values():
        assert clusters(engine(once.assign(n_identical=2)), "answer_rates").columns == ("item",)


def test_a_pair_in_two_orders_is_two_calls_and_one_pair():
    one = frame(40, 1)
    both = pd.concat([one, one.rename(columns={"first": "second", "second": "first"})])
    for engine in ENGINES.values():
        assert clusters(engine(both), "answer_rates").columns == ("item",)
        assert clusters(engine(both), "consistency").columns == ()
        assert clusters(engine(both), "preference_rate").columns == ("item",)
    assert clusters(both, "consistency").flag == ""


@pytest.mark.parametrize("engine", ENGINES)
def test_all_measures_of_a_frame_have_the_same_column(engine):
    """Ten tasks of 40 items, each pair once in both orders: the calls, the pairs and the sides."""

    def both(tasks):
        one = frame(40, 1, task=lambda i: f"t{i % tasks}").assign(stimulus="same_subset")
        return ENGINES[engine](pd.concat([one, one.rename(columns={"first": "second", "second": "first"})]))

    for measure in ("answer_rates", "consistency", "delta0", "preference_rate"):
        assert clusters(both(10), measure).columns == ("task",)
    assert clusters(both(9), "answer_rates").columns == ("item",)
    assert clusters(both(9), "delta0").columns == ()
    assert clusters(both(9), "delta0").flag == ""


def test_tasks_are_the_clusters_of_strategies():
    one = frame(40, 1, task=lambda i: f"t{i % 10}").assign(gold="y", strategy="B0")
    calls = pd.concat([one, one.assign(strategy="S8", choice="first")])
    assert clusters(calls, "compare_strategies", baseline="B0").columns == ("task",)


def test_sides_share_what_their_candidate_meets_again():
    assert clusters(frame(40, 1), "preference_rate").columns == ()
    league = frame(40, 2)  # y meets x0 and x1 in each item
    assert clusters(league, "preference_rate").columns == ("item",)


def test_strategies_share_the_item():
    one = frame(40, 2).assign(gold="y", strategy="B0")
    calls = pd.concat([one, one.assign(strategy="S8", choice="first")])
    assert clusters(calls, "compare_strategies", baseline="B0").columns == ("item",)
    assert clusters(calls[calls["first"] == "x0"], "compare_strategies", baseline="B0").columns == ()


@pytest.mark.parametrize("engine", ENGINES)
def test_the_pair_is_made_where_it_is_chosen(engine):
    data = ENGINES[engine](frame(9, 4, 2))
    assert clusters(data, "answer_rates").columns == ("pair",)
    got = tally(data, "answer_rates")
    assert got["pair"].nunique() == 36
    assert got["n"].sum() == 72


def test_none_is_refused():
    with pytest.raises(DesignError, match=r"cluster=None names no column.*\"auto\".*False"):
        tally(frame(), "answer_rates", cluster=None)


def test_a_tally_says_what_it_shares(tmp_path):
    """By its column, or else not: which of the two it is rides in no other place."""
    shared, apart = tally(frame(40, 2), "answer_rates"), tally(frame(40, 1), "answer_rates")
    for once, column, flag in ((shared, ("item",), ""), (apart, (), "clustering unknown")):
        once.to_parquet(tmp_path / "tally.parquet")
        again = pd.read_parquet(tmp_path / "tally.parquet")
        assert again.attrs == once.attrs == {}
        pd.testing.assert_frame_equal(tally(again, "answer_rates"), once)
        assert clusters(again, "answer_rates").columns == column
        assert clusters(again, "answer_rates").flag == flag


def test_a_tally_without_the_column_is_unknown():
    shared = tally(frame(40, 2), "answer_rates")
    printed = shared.groupby(["judge", "choice"], as_index=False)["n"].sum()
    assert clusters(printed, "answer_rates").flag == "clustering unknown"
    assert clusters(printed, "answer_rates", cluster=False).flag == ""
    assert clusters(shared.drop(columns="item"), "answer_rates").flag == "clustering unknown"
    split = tally(frame(40, 1, task=lambda i: f"t{i % 2}"), "answer_rates", by="task")
    assert clusters(split, "answer_rates", by="task").flag == "clustering unknown"
    assert clusters(split, "answer_rates").flag == "clustering unknown"


def test_false_counts_calls_and_flags_what_they_share():
    got = count(frame(40, 2), "answer_rates", cluster=False)
    assert got.clusters.columns == ()
    assert "item" not in got.columns
    assert got.clusters.flag == "calls not independent"
    assert clusters(frame(40, 1), "answer_rates", cluster=False).flag == ""


def test_a_named_column_is_taken():
    calls = frame(40, 2, topic=lambda i: i % 5)
    assert clusters(calls, "answer_rates", cluster="topic").column == "topic"
    assert clusters(calls, "answer_rates", cluster="topic").flag == ""
    both = clusters(calls, "answer_rates", cluster=["item", "topic"])
    with pytest.raises(DesignError, match="takes one cluster"):
        _ = both.column


def test_lazy_levels_equal_eager_ones():
    rng = np.random.default_rng(0)
    for _ in range(10):
        table = frame(int(rng.integers(5, 70)), int(rng.integers(1, 4)), int(rng.integers(1, 3)), "ab")
        size = int(rng.integers(2, 40))
        table = table.assign(task=table["item"].str[1:].astype(int) % size, prompt=rng.integers(0, size, len(table)))
        table = table.sample(frac=0.7, random_state=int(rng.integers(99)))
        want = found(table)
        assert found(pl.from_pandas(table).lazy(), n_units=len(table)) == want
