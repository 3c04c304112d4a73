"""Labels joined to verdicts: every row of both is accounted for, and the join is that of a plain merge."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import judgestats as js
from judgestats.errors import SchemaError
from judgestats.ingest import parse_on
from judgestats.schema.account import account_of
from refusals import refused


def pairs(*rows: tuple[str, str, str, str], judge: str = "g") -> pd.DataFrame:
    """Preferences from (item, first, second, choice)."""
    return pd.DataFrame(rows, columns=["item", "first", "second", "choice"]).assign(judge=judge)


def scores_under_conditions(seed: int = 0) -> pd.DataFrame:
    """Ratings of 6 items, 2 systems and 2 criteria by one judge, under two conditions."""
    rng = np.random.default_rng(seed)
    rows = [
        ("g", s, str(i), c, k, int(rng.integers(1, 6)))
        for i in range(6) for s in "st" for c in ("style", "truth") for k in ("mild", "strict")
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=["judge", "system", "item", "criterion", "condition", "score"])


def counted(joined: pd.DataFrame) -> dict[str, int]:
    """What check() says, by name."""
    return js.check(joined).set_index("what")["n"].to_dict()


def adds_up(joined: pd.DataFrame, verdicts: int, labels: int) -> None:
    """Every row of both sides is used or excluded."""
    found = counted(joined)
    assert found["rows in"] == found["rows used"] + found["rows excluded"] == verdicts + labels


BOTH_ORDERS = pairs(
    ("1", "x", "y", "first"), ("1", "y", "x", "first"), ("2", "x", "y", "second"), ("3", "x", "y", "tie")
)


@pytest.mark.parametrize(
    ("labels", "columns"),
    [
        (pd.DataFrame({"item": ["1", "2"], "first": ["y", "y"], "second": ["x", "x"], "choice": ["second", "first"]}), {}),
        (pd.DataFrame({"item": ["1", "2"], "first": ["x", "y"], "second": ["y", "x"], "won": ["x", "y"]}), {"winner": "won"}),
        (pd.DataFrame({"item": [1, 2], "won": ["x", "y"]}), {"winner": "won"}),
    ],
)  # fmt: skip
def test_answers_as_slots_of_the_labels_order_or_as_winners(labels: pd.DataFrame, columns: dict[str, str]) -> None:
    """People say x of item 1 and y of item 2, in whatever form and order."""
    joined = js.join_labels(BOTH_ORDERS, labels, columns={**columns, "judge": "=Ann"})
    people = joined[joined["rater_type"] == "human"]
    won = np.where(people["choice"].astype(str) == "first", people["first"], people["second"])
    assert dict(zip(people["item"], won, strict=True)) == {"1": "x", "2": "y"}
    agreed = js.judge_against_people(joined, humans="rater_type=human").set_index("term")
    assert agreed.loc["agreement", "estimate"] == pytest.approx(2 / 3)  # item 1 in both orders, item 2
    adds_up(joined, 4, 2)


def test_a_slot_without_its_order_is_not_guessed() -> None:
    labels = pd.DataFrame({"item": ["1", "2", "3"], "choice": ["first", "first", "tie"]})
    joined = js.join_labels(BOTH_ORDERS, labels)
    assert joined.loc[joined["rater_type"] == "human", "item"].tolist() == ["2", "3"]
    excluded = account_of(joined).excluded
    assert [(e.place, e.reason) for e in excluded] == [
        ("DataFrame, row 0", "label names a slot, and its pair was judged in both orders")
    ]
    adds_up(joined, 4, 3)


def test_labels_that_fit_two_verdicts_or_none_are_listed() -> None:
    verdicts = pd.concat([BOTH_ORDERS, pairs(("1", "x", "z", "first"))])
    labels = pd.DataFrame({"qid": ["1", "2", "9", None], "won": ["x", "y", "x", "x"], "who": list("abcd")})
    joined = js.join_labels(verdicts, labels, on={"item": "qid"}, columns={"judge": "who", "winner": "won"})
    assert joined.loc[joined["rater_type"] == "human", "judge"].tolist() == ["b"]
    assert [e.reason for e in account_of(joined).excluded] == [
        "label fits several verdicts", "label without a verdict: no such 'item'", "label without 'item'",
    ]  # fmt: skip
    assert "first and second" in account_of(joined).excluded[0].remedy
    found = counted(joined)
    assert [found[w] for w in ("label matched with a verdict", "verdict with a label", "verdict without a label")] == [
        1, 1, 4,
    ]  # fmt: skip
    adds_up(joined, 5, 4)


def test_another_pair_of_a_known_item_is_only_labelled() -> None:
    labels = pd.DataFrame({"item": ["1", "2"], "first": ["x", "x"], "second": ["z", "y"], "choice": ["first", "tie"]})
    joined = js.join_labels(BOTH_ORDERS, labels)
    assert [e.reason for e in account_of(joined).excluded] == [
        "label without a verdict: the item was judged, with other candidates"
    ]


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"on": "itm"}, "on='itm' is not a column of the verdicts.*Did you mean 'item'"),
        ({"on": {"item": "quid"}}, "'quid' is not a column of the labels.*Did you mean 'qid'"),
        ({}, r"no column 'item' to match by. Columns: qid, who, won.*on=\{'item': 'qid'\}"),
        ({"on": {"item": "qid"}, "columns": {"item": "qid"}}, "on= and columns= both name 'item'"),
        ({"on": {"item": "qid"}, "columns": {"judge": "who", "winner": "won"}}, "'g' is the name of a judge and of an"),
        ({"on": {"item": "qid"}, "scal": (1, 5)}, "'scal' is not an option for labels"),
    ],
)
def test_one_clear_error(kwargs: dict[str, Any], message: str) -> None:
    labels = pd.DataFrame({"qid": ["1"], "who": ["g"], "won": ["x"]})
    with pytest.raises(SchemaError, match=message):
        js.join_labels(BOTH_ORDERS, labels, **kwargs)


def test_ids_are_text() -> None:
    verdicts = pairs(("007", "x", "y", "first"), ("7", "x", "y", "second"))
    for ids, matched in ((["007"], ["007"]), ([7.0], ["7"])):
        joined = js.join_labels(verdicts, pd.DataFrame({"item": ids, "won": ["x"]}), columns={"winner": "won"})
        assert joined.loc[joined["rater_type"] == "human", "item"].tolist() == matched


def test_ratings_by_system_item_and_criterion() -> None:
    """Against a plain merge, label by label; conditions of the judge are not the people's."""
    rng = np.random.default_rng(1)
    labels = pd.DataFrame(
        [(w, i, s, c, int(rng.integers(1, 6))) for w in ("Ann", "Bob") for i in range(8) for s in "st" for c in ("style", "truth")],
        columns=["who", "q", "model", "aspect", "points"],
    ).sample(frac=0.7, random_state=2)  # fmt: skip
    verdicts = js.ratings(scores_under_conditions())
    joined = js.join_labels(
        verdicts, labels, on={"item": "q", "system": "model", "criterion": "aspect"},
        columns={"judge": "who", "score": "points"}, scale=(1, 5),
    )  # fmt: skip
    plain = labels.assign(q=labels["q"].astype(str)).merge(
        verdicts, left_on=["q", "model", "aspect"], right_on=["item", "system", "criterion"]
    )
    people = joined[joined["rater_type"] == "human"]
    assert len(people) == plain.drop_duplicates(["who", "q", "model", "aspect"]).shape[0]
    assert people["condition"].isna().all()
    adds_up(joined, len(verdicts), len(labels))
    found = js.judge_against_people(joined, humans="rater_type=human", by="condition")
    agreement = found[(found["term"] == "agreement") & (found["role"] == "judge")].set_index("condition")["estimate"]
    expected = plain.assign(same=plain["points"] == plain["score"]).groupby("condition")["same"].mean()
    pd.testing.assert_series_equal(agreement.astype(float), expected, check_names=False)
    with pytest.raises(SchemaError, match=r"the labels: .*off the scale 1 to 3"):
        js.join_labels(
            verdicts, labels, on={"item": "q", "system": "model", "criterion": "aspect"},
            columns={"judge": "who", "score": "points"}, scale=(1, 3),
        )  # fmt: skip


def test_right_and_wrong_fit_the_verdicts() -> None:
    verdicts = pd.DataFrame({"judge": "g", "item": ["1", "2"], "correct": [True, False]})
    joined = js.join_labels(js.ratings(verdicts), pd.DataFrame({"item": ["1", "2"], "score": [0, 1]}))
    assert joined["correct"].tolist() == [True, False, False, True]
    numbers = pd.DataFrame({"judge": "g", "item": ["1", "2"], "score": [1, 0]})
    joined = js.join_labels(js.ratings(numbers), pd.DataFrame({"item": ["1", "2"], "score": ["no", "yes"]}))
    assert joined["score"].tolist() == [1.0, 0.0, 0.0, 1.0]


def test_further_columns_match_and_facts_about_the_item_are_copied() -> None:
    verdicts = pd.concat([
        pairs(("1", "x", "y", "first")).assign(turn=1, task="maths", prompt="p", length_first=3, length_second=9),
        pairs(("1", "x", "y", "second")).assign(turn=2, task="maths", prompt="p", length_first=4, length_second=8),
    ])  # fmt: skip
    labels = pd.DataFrame(
        {"item": "1", "first": "y", "second": "x", "choice": ["first", "second"], "round": ["1", "2"]}
    )
    joined = js.join_labels(verdicts, labels, on={"turn": "round"})
    people = joined[joined["rater_type"] == "human"]
    assert people[["turn", "task", "length_first", "length_second"]].to_numpy().tolist() == [
        [1, "maths", 9, 3],
        [2, "maths", 8, 4],
    ]
    assert people["prompt"].isna().all()
    assert "round" not in joined


def test_labels_in_a_file_and_wide(write: Any) -> None:
    path = write("labels.csv", "id,ann,bob\n1,A,B\n2,tie,B\n7,A,A\n")
    joined = js.join_labels(
        BOTH_ORDERS.drop(index=1), path, on={"item": "id"}, columns={"choice": "verdict"},
        answers={"A": "first", "B": "second"}, wide="judge=ann,bob",
    )  # fmt: skip
    people = joined[joined["rater_type"] == "human"]
    assert people[["judge", "item", "choice"]].astype(str).to_numpy().tolist() == [
        ["ann", "1", "first"], ["ann", "2", "tie"], ["bob", "1", "second"], ["bob", "2", "second"],
    ]  # fmt: skip
    assert [e.place for e in account_of(joined).excluded] == ["labels.csv, line 4", "labels.csv, line 4"]
    assert (
        js.check(joined)
        .set_index("what")
        .loc["label matched with a verdict", "where"]
        .startswith("labels.csv, lines 2, 3")
    )


def test_a_list_of_labels_per_item(write: Any) -> None:
    """In a file and in memory; an item without labels is accounted for."""
    ann, bob = {"who": "ann", "won": "x"}, {"who": "bob", "won": "tie"}
    records = [{"qid": "2", "labels": [ann, bob]}, {"qid": "3", "labels": []}, {"qid": "9", "labels": [ann]}]
    path, frame = write("labels.json", records), pd.DataFrame(records)
    for source, at in (
        (path, ["labels.json, record 2", "labels.json, record 3"]),
        (frame, ["DataFrame, row 1", "DataFrame, row 2"]),
    ):
        joined = js.join_labels(
            BOTH_ORDERS, source, on={"item": "qid"}, columns={"judge": "who", "winner": "won"}, explode="labels"
        )
        people = joined[joined["rater_type"] == "human"]
        assert people[["judge", "item", "choice"]].astype(str).to_numpy().tolist() == [
            ["ann", "2", "first"], ["bob", "2", "tie"],
        ]  # fmt: skip
        assert [(e.place, e.reason) for e in account_of(joined).excluded] == [
            (f"{at[0]}, labels", "an empty list"), (at[1], "label without a verdict: no such 'item'"),
        ]  # fmt: skip
        adds_up(joined, 4, 4)


def test_other_engines() -> None:
    pl = pytest.importorskip("polars")
    labels = pl.DataFrame({"item": [1, 2], "won": ["x", "y"]})
    joined = js.join_labels(pl.from_pandas(BOTH_ORDERS), labels, columns={"winner": "won"})
    assert joined["rater_type"].tolist() == ["model"] * 4 + ["human"] * 2


def test_the_option_on() -> None:
    assert parse_on("item=question_id,turn") == {"item": "question_id", "turn": "turn"}
    assert parse_on("") == {}


# ---- Public verdicts and labels --------------------------------------------------------------------------------------


@pytest.mark.real
def test_pandalm(real_data: Path) -> None:
    """Two judges and three people on 999 pairs: the people's kappas average 0.864, and agreement is the plain count."""
    path = real_data / "pandalm" / "verdicts.csv"
    meaning = {"1": "first", "2": "second", "0": "tie", "Tie": "tie", "garbage": "invalid"}
    ids = {"item": "idx", "first": "model_1", "second": "model_2"}
    verdicts = js.read(
        path, wide="judge=gpt_3_5_turbo,pandalm_7b", columns={**ids, "choice": "verdict"}, labels=meaning
    )
    joined = js.join_labels(
        verdicts, path, on=ids, columns={"choice": "verdict"}, answers=meaning, wide="judge=annotator*"
    )
    adds_up(joined, 2 * 999, 3 * 999)
    found = js.judge_against_people(joined, humans="rater_type=human")
    found = found.set_index(["role", "judge", "term"])["estimate"]
    assert found["people"].xs("kappa", level="term").iloc[0] == pytest.approx((0.852 + 0.879 + 0.862) / 3, abs=2e-3)
    table = pd.read_csv(path)
    same = np.mean([table["pandalm_7b"] == table[f"annotator{i}"] for i in (1, 2, 3)])
    assert found["judge", "pandalm_7b", "agreement"] == pytest.approx(same, abs=1e-12)


@pytest.mark.real
def test_cje_arena_sample(real_data: Path) -> None:
    """A judge and an oracle on the same responses; the means are the known ones."""
    table = pd.read_csv(real_data / "cje_arena_sample" / "arena_sample.csv.gz")
    ids = {"item": "prompt_id", "system": "policy", "part": "part"}
    verdicts = js.ratings(
        table.drop(columns="oracle_label").assign(judge="j"), item="prompt_id", system="policy", score="judge_score"
    )
    labels = table.loc[table["oracle_label"].notna(), [*ids.values(), "oracle_label"]]
    joined = js.join_labels(verdicts, labels, on=ids, columns={"score": "oracle_label"}, scale=(0, 1))
    assert counted(joined)["label matched with a verdict"] == len(labels) == 480 + 3 * 50
    means = joined.groupby(["rater_type", "part", "system"])["score"].agg(["mean", "size"])
    assert means.loc[("model", "sample", "base")].tolist() == [pytest.approx(0.8413, abs=1e-4), 1000]
    assert means.loc[("human", "sample", "base")].tolist() == [pytest.approx(0.754062, abs=1e-6), 480]
    for system, judge, oracle in (
        ("clone", 0.866, 0.779),
        ("parallel_universe_prompt", 0.850, 0.786),
        ("unhelpful", 0.292, 0.159),
    ):
        assert means.loc[("model", "probe", system), "mean"] == pytest.approx(judge, abs=6e-4)
        assert means.loc[("human", "probe", system), "mean"] == pytest.approx(oracle, abs=6e-4)


@pytest.mark.real
def test_people_who_saw_a_pair_in_either_order(real_data: Path) -> None:
    """Votes of the authors as verdicts and of the experts as labels: agreement pair by pair is that of a plain merge."""
    path = real_data / "mt_bench" / "human_judgments.csv.gz"
    votes = pd.read_csv(path)
    mapping = {
        "item": "question_id",
        "first": "model_a",
        "second": "model_b",
        "judge": "judge",
        "winner": "winner",
        "order_known": "=false",
    }
    sides = {"model_a": "first", "model_b": "second"}
    author = votes["judge"].str.startswith("author")
    verdicts = js.read(votes[author], columns=mapping, labels=sides)
    joined = js.join_labels(
        verdicts, votes[~author], on={"item": "question_id", "first": "model_a", "second": "model_b", "turn": "turn"},
        columns={"winner": "winner", "order_known": "=false"}, answers=sides,
    )  # fmt: skip
    adds_up(joined, int(author.sum()), int((~author).sum()))
    swap = votes["model_a"] > votes["model_b"]
    won = votes["winner"].where(
        votes["winner"] == "tie", votes["model_a"].where(votes["winner"] == "model_a", votes["model_b"])
    )
    plain = votes.assign(
        low=votes["model_a"].where(~swap, votes["model_b"]),
        high=votes["model_b"].where(~swap, votes["model_a"]),
        won=won,
    )
    keys = ["question_id", "turn", "low", "high"]
    met = plain[author].merge(plain[~author], on=keys, suffixes=("", "_of_expert"))
    assert swap[author].any() or swap[~author].any()
    assert counted(joined)["label matched with a verdict"] == len(
        plain[~author].merge(plain.loc[author, keys].drop_duplicates(), on=keys)
    )
    found = js.judge_against_people(joined, humans={"rater_type": "human"}, by="turn")
    found = found[(found["term"] == "agreement") & (found["role"] == "judge") & found["n"].gt(0)].set_index(
        ["turn", "judge"]
    )["estimate"]
    expected = met.assign(same=met["won"] == met["won_of_expert"]).groupby(["turn", "judge"])["same"].mean()
    pd.testing.assert_series_equal(
        found.astype(float).sort_index(), expected.sort_index(), check_names=False, check_index_type=False
    )


@pytest.mark.real
def test_labels_of_transcripts_by_id(real_data: Path) -> None:
    """Inspect Scout's validation tables: a label, or a column per label, and nothing but the id."""
    folder = real_data / "inspect_scout"
    labels = pd.read_csv(folder / "labels-validation.csv")
    names = ["label_safety", "label_accuracy", "label_toxicity"]
    verdicts = (
        labels.melt("id", names, "criterion", "correct")
        .assign(judge="scanner", item=lambda t: t["id"])
        .drop(columns="id")
    )
    joined = js.join_labels(
        js.ratings(verdicts), folder / "labels-validation.csv", on={"item": "id"}, wide="criterion=label_*"
    )
    people, judge = (joined[joined["rater_type"] == k].sort_values(["item", "criterion"]) for k in ("human", "model"))
    assert people["correct"].tolist() == judge["correct"].tolist()
    assert len(people) == 15
    single = verdicts[verdicts["criterion"] == "label_safety"].drop(columns="criterion")
    joined = js.join_labels(
        js.ratings(single), folder / "eval-awareness.csv", on={"item": "id"}, columns={"correct": "target"}
    )
    found = counted(joined)
    assert found["label matched with a verdict"] == 5
    assert found["label without a verdict: no such 'item'"] == 3


def test_the_join_of_files_and_frames_is_one(write: Any) -> None:
    """A JSONL of labels gives what the same frame gives."""
    labels = pd.DataFrame({"item": ["1", "2"], "won": ["x", "y"], "judge": ["Ann", "Bob"]})
    path = write("labels.jsonl", json.loads(labels.to_json(orient="records")))
    one = js.join_labels(BOTH_ORDERS, path, columns={"winner": "won"})
    two = js.join_labels(BOTH_ORDERS, labels, columns={"winner": "won"})
    pd.testing.assert_frame_equal(pd.DataFrame(one), pd.DataFrame(two), check_dtype=False)


def test_the_export_of_a_labelling_tool_is_joined() -> None:
    """Read before, or by its path; what the tool has of a model stays a model's."""
    export = Path(__file__).parent / "data" / "label_studio.json"
    rows = [("gpt-4o", i, c, 3.0) for i in ("007", "008") for c in ("quality", "correct")]
    verdicts = js.ratings(pd.DataFrame(rows, columns=["judge", "item", "criterion", "score"]))
    joined = js.join_labels(verdicts, js.read(export, item="qid"))
    again = js.join_labels(verdicts, export, on={"item": "qid"})
    for found in (joined, again):
        assert found.groupby("rater_type")["judge"].unique().map(sorted).to_dict() == {
            "human": ["ann@example.org", "bob@example.org"], "model": ["gpt-4", "gpt-4o"],
        }  # fmt: skip
        assert len(found) == 4 + 6
        assert [e.reason for e in account_of(found).excluded] == [
            "no grade: a result of type textarea", "skipped by the annotator",
        ]  # fmt: skip
        assert set(account_of(found).places[4:]) == {f"label_studio.json, record {i}" for i in (1, 2)}
        assert counted(found)["rows in"] == 12
    people = js.judge_against_people(joined, humans="rater_type=human")
    assert people.loc[people["role"] == "judge", "judge"].unique().tolist() == ["gpt-4", "gpt-4o"]


def test_labels_that_do_not_fit_are_refused() -> None:
    labels = js.ratings(pd.DataFrame({"judge": ["Ann"], "item": ["2"], "score": [4]}))
    refused(
        SchemaError,
        (
            lambda: js.join_labels(
                BOTH_ORDERS, pd.DataFrame({"item": ["q7"], "won": ["x"]}), columns={"winner": "won"}
            ),
            r"No label fits exactly one verdict .*'item' of the labels: 'q7'.*verdicts: '1'",
        ),
        (
            lambda: js.join_labels(
                scores_under_conditions(), pd.DataFrame({"item": ["1"], "criterion": ["style"], "score": [3]})
            ),
            r"No label fits exactly one verdict .*differ in 'system'",
        ),
        (
            lambda: js.join_labels(
                BOTH_ORDERS, pd.DataFrame({"item": ["9", "1", "1"], "won": ["x", "x", "y"]}), columns={"winner": "won"}
            ),
            r"the same call .*DataFrame, row 1\. The labels name no annotator",
        ),
        (lambda: js.join_labels(BOTH_ORDERS, labels), "the labels: The table lacks choice for a preferences frame"),
    )
