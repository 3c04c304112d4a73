"""Inspect AI: every scorer of every epoch is a row or is excluded, and the judge is the model that graded."""

from __future__ import annotations

import json
import math
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import judgestats as js
from inspect_logs import DEFLATE, STORED, ZSTD, head, sample, score, zipped, zipped_log
from judgestats.errors import SchemaError
from judgestats.ingest import detect_format, read, source_info
from judgestats.ingest.archives import Archive
from judgestats.schema.account import account_of
from refusals import refused

Write = Callable[..., Path]
QA = "model_graded_qa"


def log(
    write: Write, samples: list[dict[str, Any]], header: dict[str, Any] | None = None, name: str = "log.eval"
) -> Path:
    """A log, zipped or as JSON by its name."""
    header = head() if header is None else header
    if name.endswith(".eval"):
        return write(name, zipped_log(samples, header))
    return write(name, json.dumps({**header, "samples": samples}))


def excluded(frame: Any) -> list[tuple[str, str]]:
    return [(e.place, e.reason) for e in account_of(frame).excluded]


# ---- Who, what, how often --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["log.eval", "log.json", "a log of an experiment"])
def test_epochs_scorers_and_conditions(write: Write, name: str) -> None:
    header = head([{"name": QA, "options": {"model": "acme/judge-1"}}, {"name": "inspect_ai/match", "options": {}}])
    samples = [
        sample(
            "q/1",
            {QA: score(v, f"reason {e}"), "match": score("I", None)},
            e,
            metadata={"topic": "doors", "tags": ["x"]},
        )
        for e, v in ((1, "C"), (2, "I"))
    ]
    path = log(write, samples, header, name)
    assert detect_format(path).format == "inspect_ai"
    got = read(path)
    assert got.drop(columns=["label"], errors="ignore").to_dict("list") == {
        "judge": ["acme/judge-1", "match"] * 2,
        "system": ["acme/writer-1"] * 4,
        "item": ["q/1"] * 4,
        "criterion": [QA, "match"] * 2,
        "correct": [True, False, False, False],
        "replicate": [1, 1, 2, 2],
        "status": ["ok"] * 4,
        "rationale": ["reason 1", got["rationale"][1], "reason 2", got["rationale"][3]],
        "rater_type": ["model", "code"] * 2,
        "task": ["riddles"] * 4,
        "eval_id": ["e1"] * 4,
        "task_arg_hard": [True] * 4,
        "metadata_topic": ["doors"] * 4,
    }
    assert got["rationale"].isna().tolist() == [False, True] * 2
    account = account_of(got)
    assert (account.records, account.excluded, account.places[3]) == (2, (), f"{name}, sample q/1, epoch 2")
    assert source_info(path)["rows"].tolist() == [2 if name.endswith(".eval") else 1]


@pytest.mark.parametrize(
    ("scorer", "changed", "judge", "kind"),
    [
        ({"name": QA, "options": {"model": "a/j"}}, {"model_roles": {"grader": {"model": "a/other"}}}, "a/j", "model"),
        ({"name": QA, "options": {"model": {"model": "a/j", "config": {}}}}, {}, "a/j", "model"),
        ({"name": QA, "options": {"model": ["a/j", "b/j"]}}, {}, "a/j + b/j", "model"),
        ({"name": QA, "options": {}}, {"model_roles": {"grader": {"model": "a/j"}}}, "a/j", "model"),
        ({"name": QA, "options": {"model_role": "critic"}}, {"model_roles": {"critic": {"model": "a/j"}}}, "a/j", "model"),
        ({"name": QA, "options": {"model_role": {"name": "critic"}}}, {"model_roles": {"critic": {"model": "a/j"}}}, "a/j", "model"),
        ({"name": QA, "options": {}}, {}, "acme/writer-1", "model"),  # Inspect asks the model itself
        ({"name": "evals/simpleqa", "options": {"grader_model": {"model": "a/j"}}}, {}, "a/j", "model"),
        ({"name": "inspect_ai/includes", "options": {"ignore_case": True}}, {}, "includes", "code"),
        ({"name": "mine", "options": {"threshold": 3}}, {}, "mine", "unknown"),
    ],
)  # fmt: skip
def test_the_judge_is_the_model_that_graded(write: Write, scorer: Any, changed: Any, judge: str, kind: str) -> None:
    key = scorer["name"].rpartition("/")[2]
    got = read(log(write, [sample(1, {key: score("C")})], head([scorer], **changed)))
    assert got[["judge", "rater_type", "criterion"]].values.tolist() == [[judge, kind, key]]


def test_older_logs_name_the_scorers_in_the_results(write: Write) -> None:
    header = head()
    del header["eval"]["scorers"]
    header["results"] = {"scores": [{"name": "mine", "scorer": "pkg/mine", "params": {"judge": "a/j"}}]}
    got = read(log(write, [sample(1, {"mine": score(3)})], header))
    assert got[["judge", "criterion"]].values.tolist() == [["a/j", "mine"]]


def test_a_grader_known_only_by_its_reply_and_one_that_the_user_names(write: Write) -> None:
    grading = [{"role": "user", "content": "?"}, {"role": "assistant", "content": "GRADE: C", "model": "j-2026"}]
    path = log(write, [sample(1, {"mine": score(1, metadata={"grading": grading}), "yours": score(2)})], head([]))
    assert read(path)["judge"].tolist() == ["j-2026", "yours"]
    assert read(path, graders={"yours": "a/j"})[["judge", "rater_type"]].values.tolist() == [
        ["j-2026", "model"],
        ["a/j", "model"],
    ]
    with pytest.raises(SchemaError, match=r"graders='a/j' should be a dict such as \{'scorer': 'model'\}"):
        read(path, graders="a/j")


def test_two_graders_of_one_question_are_judges_of_one_criterion(write: Write) -> None:
    """Inspect numbers scorers of one name; the criterion is the same, unless one model is asked twice."""
    two = head([{"name": QA, "options": {"model": "a/j"}}, {"name": QA, "options": {"model": "b/j"}}])
    one = head([{"name": QA, "options": {"model": "a/j", "template": t}} for t in "xy"])
    samples = [sample(1, {QA: score("C"), f"{QA}1": score("I")})]
    assert read(log(write, samples, two))[["judge", "criterion"]].values.tolist() == [["a/j", QA], ["b/j", QA]]
    assert read(log(write, samples, one))[["judge", "criterion"]].values.tolist() == [["a/j", QA], ["a/j", f"{QA}1"]]


# ---- Values ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "column", "expected"),
    [
        (["C", "I", "N"], "correct", [True, False, False]),
        ([True, False], "correct", [True, False]),
        (["yes", "No", "CORRECT"], "correct", [True, False, True]),
        (["C", "P", "I"], "score", [1.0, 0.5, 0.0]),
        ([True, 0.25], "score", [1.0, 0.25]),
        ([3, 4.5, "2"], "score", [3.0, 4.5, 2.0]),
    ],
)
def test_values(write: Write, values: list[Any], column: str, expected: list[Any]) -> None:
    """As Inspect's own metrics take them; an answer that was none keeps its label."""
    got = read(log(write, [sample(i, {QA: score(v)}) for i, v in enumerate(values)]))
    assert got[column].tolist() == expected
    labels = got["label"].tolist() if "label" in got else [None] * len(values)
    assert [v if isinstance(v, str) else None for v in labels] == ["N" if v == "N" else None for v in values]


def test_each_key_of_a_dict_and_each_place_of_a_list_is_a_criterion(write: Write) -> None:
    scores = {QA: score({"style": 3, "truth": 5, "tone": None}), "pair": score([1, 0])}
    got = read(log(write, [sample(1, scores)]))
    assert got[["criterion", "score"]].values.tolist() == [
        [f"{QA}/style", 3.0],
        [f"{QA}/truth", 5.0],
        ["pair/1", 1.0],
        ["pair/2", 0.0],
    ]
    assert excluded(got) == [("log.eval, sample 1, epoch 1, scorer model_graded_qa, tone", "unscored")]


def test_a_scorer_of_classes_is_left_out_with_the_mapping_that_reads_it(write: Write) -> None:
    path = log(write, [sample(i, {"safety": score(v), QA: score("C")}) for i, v in enumerate(["safe", "unsafe"])])
    got = read(path)
    assert got["criterion"].unique().tolist() == [QA]
    (entry,) = account_of(got).excluded
    assert (entry.reason, entry.n) == (
        "scorer safety is left out: its values do not all say right or wrong: 'safe' (1), 'unsafe' (1)",
        2,
    )
    assert entry.remedy == (
        "values= gives each a number, True, False or None: values={'safety': {'safe': ..., 'unsafe': ...}}, on the "
        "command line --option 'values=safety=safe:...;unsafe:...'; answer='safety' reads them as classes, without the "
        "other criteria"
    )
    classes = read(path, answer="safety")
    assert classes[["criterion", "answer"]].values.tolist() == [["safety", "safe"], ["safety", "unsafe"]]
    assert js.check(got).set_index("what").loc[["rows used", "rows excluded"], "n"].tolist() == [2, 2]
    got = read(path, values={"safety": {"safe": 1, "unsafe": 0}})
    assert got["score"].tolist() == [1.0, 1.0, 0.0, 1.0]
    assert got["label"].tolist()[::2] == ["safe", "unsafe"]
    assert read(path, **js.ingest.parse_options(["values=safety=safe:true;unsafe:false"]))["correct"].tolist() == [
        True, True, False, True,
    ]  # fmt: skip
    refused(
        SchemaError,
        ({"safety": {"safe": True}}, r"the value of scorer safety is 'unsafe'\. Allowed: safe, as values= says"),
        ({"safe": 1}, "should be a dict such as"),
        of=lambda values: read(path, values=values),
    )


def test_grades_from_a_to_f_are_not_taken_for_inspects_letters(write: Write) -> None:
    path = log(write, [sample(i, {QA: score(v)}) for i, v in enumerate("CABF")])
    with pytest.raises(SchemaError, match=r"none of its 4 records .*scorer model_graded_qa is left out: .*'C' \(1\)"):
        read(path)
    assert read(path, values={QA: dict(zip("ABCDF", (4, 3, 2, 1, 0), strict=True))})["score"].tolist() == [2, 4, 3, 0]


ACCURACY = [{"name": "inspect_ai/accuracy", "options": {}}, {"name": "inspect_ai/stderr", "options": {}}]
OWN = [{"name": "inspect_ai/accuracy", "options": {"to_float": "to_float"}}]


@pytest.mark.parametrize(
    ("values", "metrics", "correct"),
    [
        (["left", "right", "both"], OWN, None),
        (["left", "right", "both"], ACCURACY, None),
        (["right", "right"], ACCURACY, None),  # left may not have occurred
        (["right", "wrong"], OWN, [True, False]),
        (["Pass", "fail"], ACCURACY, [True, False]),
        (["Y", "N"], None, [True, False]),
        (["F", "F"], None, None),
        (["P", "N"], None, None),  # positive and negative?
        (["N", "N"], ACCURACY, [False, False]),
        (["C", "I"], OWN, [True, False]),
        (["C", "unclear"], ACCURACY, None),
        (["", "yes"], None, [True]),
    ],
)
def test_right_and_wrong_are_what_all_values_of_a_scorer_say(
    write: Write, values: list[str], metrics: Any, correct: list[bool] | None
) -> None:
    samples = [sample(i, {"mine": score(v), "points": score(3)}) for i, v in enumerate(values)]
    got = read(log(write, samples, head([{"name": "mine", "options": {}, "metrics": metrics}])))
    mine = got[got["criterion"] == "mine"]
    assert mine["score"].tolist() == [float(v) for v in correct or []]
    assert (correct is None) == any("scorer mine is left out" in reason for _, reason in excluded(got))


@pytest.mark.parametrize(
    ("metrics", "by"),
    [
        (ACCURACY, "as its metric accuracy takes them"),
        ([{"name": "accuracy", "options": {}}], "as its metric accuracy takes them"),
        ({"*": ACCURACY}, "as its metric accuracy takes them"),
        ([{"a": ACCURACY}], "as its metric accuracy takes them"),
        (OWN, "by its values in all files"),
        ([{"name": "pkg/accuracy", "options": {}}], "by its values in all files"),
        (None, "by its values in all files"),
    ],
)
def test_check_says_what_right_and_wrong_rest_on(write: Write, metrics: Any, by: str) -> None:
    samples = [sample(i, {"mine": score(v)}) for i, v in enumerate("CIP")]
    data = read(log(write, samples, head([{"name": "mine", "options": {}, "metrics": metrics}])))
    assert data["score"].tolist() == [1.0, 0.0, 0.5]
    notes = js.check(data).set_index("what")
    assert notes.loc[f"scorer mine: C is right, I is wrong, P is 0.5, {by}", ["level", "n"]].tolist() == ["counted", 3]


def test_one_more_file_changes_the_coding_of_the_others_only_with_a_note(write: Write) -> None:
    def one(name: str, values: list[str]) -> None:
        samples = [sample(f"{name}{i}", {"mine": score(v), QA: score("C")}) for i, v in enumerate(values)]
        log(write, samples, head([{"name": "mine", "options": {}}]), f"logs/{name}.json")

    one("a", ["right", "wrong"])
    folder = write("logs/note.txt", "").parent
    assert "scorer mine: right is right, wrong is wrong, by its values in all files" in set(
        js.check(read(folder))["what"]
    )
    one("b", ["left"])
    got = read(folder)
    assert set(got["criterion"]) == {QA}
    assert [(e.reason, e.n) for e in account_of(got).excluded] == [
        ("scorer mine is left out: its values do not all say right or wrong: 'right' (1), 'wrong' (1), 'left' (1)", 3)
    ]


def test_nan_is_unscored_and_a_reply_without_a_grade_is_a_failed_call(write: Write) -> None:
    """Before Inspect left such replies unscored, it called them incorrect."""
    lost = "Grade not found in model output: I cannot say."
    samples = [
        sample(1, {QA: score("C")}),
        sample(2, {QA: score(math.nan)}),
        sample(3, {QA: score(None)}),
        sample(4, {QA: score(math.nan, lost, metadata={"unscored_reason": "grade_parse_failure"})}),
        sample(5, {QA: score("I", lost)}),
        sample(6, {QA: score(math.nan, metadata={"unscored_reason": "grader refused"})}),
        sample(7, {"match": score("I", lost)}),
    ]
    got = read(log(write, samples))
    assert got[["item", "status"]].values.tolist() == [
        ["1", "ok"],
        ["4", "parse"],
        ["5", "parse"],
        ["6", "refused"],
        ["7", "ok"],
    ]
    assert got["correct"].isna().tolist() == [False, True, True, True, False]
    assert excluded(got) == [(f"log.eval, sample {i}, epoch 1, scorer {QA}", "unscored") for i in (2, 3)]


def test_people_who_edit_a_score_are_raters_of_their_own(write: Write) -> None:
    def edit(value: Any, author: str, **more: Any) -> dict[str, Any]:
        return {"value": value, "provenance": {"author": author, "timestamp": "2026-05-02T10:00:00+00:00"}, **more}

    first = {"value": "C", "answer": "a", "explanation": "the judge's reason", "metadata": {}}
    edited = score(
        "I", "now", history=[first, edit("P", "ann"), edit("I", "ann", explanation="no"), edit("UNCHANGED", "bob")]
    )
    added = score("C", history=[edit("C", "bob", explanation="UNCHANGED")])
    got = read(log(write, [sample(1, {QA: edited, "tone": added})]))
    assert got[["judge", "criterion", "correct", "rater_type"]].values.tolist() == [
        ["acme/writer-1", QA, True, "model"],
        ["ann", QA, False, "human"],
        ["bob", "tone", True, "human"],
    ]
    assert got["rationale"].tolist()[:2] == ["the judge's reason", "no"]


# ---- What is no verdict ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["log.eval", "log.json"])
def test_samples_without_a_verdict_are_excluded_with_the_reason(write: Write, name: str) -> None:
    samples = [
        sample(1, {QA: score("C")}),
        sample(2, {}),
        sample(3, None, error={"message": "out of memory"}),
        sample(4, {QA: score("C")}, invalidation={"author": "ann"}),
        sample(5, {QA: score([])}),
    ]
    got = read(log(write, samples, {**head(), "invalidated": True}, name))
    assert got["item"].tolist() == ["1"]
    assert excluded(got) == [
        (f"{name}, sample 2, epoch 1", "the sample was not scored"),
        (f"{name}, sample 3, epoch 1", "the sample failed, so it was not scored"),
        (f"{name}, sample 4, epoch 1", "the sample was invalidated by hand"),
        (f"{name}, sample 5, epoch 1, scorer {QA}", "an empty list or dict of values"),
    ]
    assert js.check(got).set_index("what").loc[["rows in", "rows used", "rows excluded"], "n"].tolist() == [5, 1, 4]


@pytest.mark.parametrize("content", [json.dumps({**head(), "samples": []}), json.dumps(head()), zipped_log([])])
def test_a_log_without_samples_is_refused(write: Write, content: Any) -> None:
    with pytest.raises(
        SchemaError, match=r"^log: a log of Inspect without samples \(status 'success'\), only a header"
    ):
        read(write("log", content))


def test_a_folder_of_logs_in_both_forms(write: Write) -> None:
    """A log without samples among them is left, whatever its form."""
    for i, name in enumerate(("a.eval", "b.json", "c.json")):
        log(write, [sample(i, {QA: score("C")})], name=f"logs/{name}")
    log(write, [], name="logs/d.eval")
    folder = write("logs/e.json", json.dumps(head())).parent
    for given in (None, "inspect_ai"):
        got = read(folder, format=given)
        assert got["item"].tolist() == ["0", "1", "2"]
        assert account_of(got).unread.startswith(
            "3 of 5 files read; not read: d.eval (a log of Inspect without samples"
        )
    with pytest.raises(SchemaError, match=r"without samples"):
        read(folder, strict=True)


def test_a_log_that_has_not_ended(write: Write) -> None:
    path = write("log.eval", zipped_log([sample(1, {QA: score("C")})], ended=False))
    assert read(path)["judge"].tolist() == ["acme/writer-1"]


def test_a_sample_that_was_run_again_replaces_the_first(write: Write) -> None:
    got = read(log(write, [sample(1, {QA: score("I")}), sample(1, {QA: score("C")})]))
    assert got["correct"].tolist() == [True]
    assert excluded(got) == [
        (
            "log.eval, sample 1, epoch 1, an earlier record",
            "a later record of the sample in the same archive replaces it",
        )
    ]


def test_a_sample_in_several_members(write: Write) -> None:
    """Inspect splits long samples: the scores stand in sample.json, the metadata apart."""
    shell = {k: v for k, v in sample(1, {QA: score("C")}).items() if k not in ("metadata", "events", "messages")}
    members = {
        "header.json": head(), "samples/1_epoch_1/sample.json": shell, "samples/1_epoch_1/metadata.json": {"topic": "doors"},
        "samples/1_epoch_1/messages/0.json": [], "samples/1_epoch_1/events/stats.json": {},
    }  # fmt: skip
    got = read(write("log.eval", zipped({n: json.dumps(c).encode() for n, c in members.items()})))
    assert got[["item", "metadata_topic"]].values.tolist() == [["1", "doors"]]


# ---- Shapes ----------------------------------------------------------------------------------------------------------


def test_an_unknown_field_of_a_newer_version_is_no_obstacle(write: Write) -> None:
    header = {**head(confidence={"x": [1]}), "version": 3, "novelty": []}
    got = read(log(write, [sample(1, {QA: score("C", certainty={"sd": 1})}, novelty={"a": [1]})], header))
    assert got["correct"].tolist() == [True]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"scores": [1]}, r"log\.eval, sample 1, epoch 1: scores is '\[1\]'\. Allowed: an object"),
        ({"scores": {QA: "C"}}, f"scores.{QA} is 'C'. Allowed: an object"),
        ({"scores": {QA: {"answer": "x"}}}, "the record lacks 'value'. It has: answer"),
        ({"scores": {QA: score({"a": {"b": 1}})}}, "the value of scorer model_graded_qa, a is "),
        ({"scores": {QA: score(math.inf)}}, "the value of scorer model_graded_qa is 'inf'. Allowed: a finite number"),
        ({"scores": {QA: score("C", metadata=[1])}}, "scores.model_graded_qa.metadata is"),
        ({"scores": {QA: score("C", history={"a": 1})}}, "scores.model_graded_qa.history is"),
        ({"scores": {QA: score("C")}, "epoch": "1"}, "epoch is '1'. Allowed: a whole number"),
        ({"scores": {QA: score("C")}, "id": None}, "id is 'None'. Allowed: a text or a whole number"),
        ({"scores": {QA: score("C")}, "metadata": "x"}, "metadata is 'x'. Allowed: an object"),
    ],
)
def test_an_unknown_shape_of_a_known_field_is_an_error_with_its_place(write: Write, changed: Any, message: str) -> None:
    for name in ("log.eval", "log.json"):
        with pytest.raises(SchemaError, match=message.replace(r"log\.eval", name.replace(".", r"\."))):
            read(log(write, [{**sample(1, {}), "epoch": 1, **changed}], name=name))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"model": None}, "its head: model is 'None'. Allowed: a text"),
        ({"scorers": ["x"]}, "eval.scorers is 'x'. Allowed: an object"),
        ({"task_args": 3}, "eval.task_args is '3'. Allowed: an object"),
        ({"scorers": [{"options": {}}]}, "the record lacks 'name'"),
        ({"model_roles": ["x"]}, "eval.model_roles is"),
    ],
)
def test_an_unknown_shape_of_the_head(write: Write, changed: Any, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        read(log(write, [sample(1, {QA: score("C")})], head(**changed)))


@pytest.mark.parametrize("broken", [b"[1]", b"{", b'{"id": 1, "id": 2}', b'{"a": "\xff"}', b"", b"[" * 100_000])
def test_a_broken_member_is_named(write: Write, broken: bytes) -> None:
    members = {"header.json": json.dumps(head()).encode(), "samples/1_epoch_1.json": broken}
    with pytest.raises(SchemaError, match=r"^log\.eval, member 'samples/1_epoch_1\.json': "):
        read(write("log.eval", zipped(members)))


@pytest.mark.parametrize(
    "layout", [{"indent": 2}, {"separators": (",", ":")}, {"sort_keys": True}, {"indent": "\t\r\n"}]
)
def test_the_layout_of_a_member_does_not_matter(write: Write, layout: Any) -> None:
    """A sample is parsed as far as needed: the same as the whole, wherever the fields stand and whatever is inside."""
    trap = {"scores": {"no": {"value": 1}}, '"scores":': '{"scores": {"', "}": "\\", "\ud83d": "\u2028"}
    content = sample(
        1, {QA: score("C", 'say "no", \\ or }\n,"metadata":{}')}, metadata={"t": "x"}, output=trap, input=[trap, "\\"]
    )
    members = {"header.json": head(), "samples/1_epoch_1.json": content}
    got = read(write("log.eval", zipped({n: json.dumps(c, **layout).encode() for n, c in members.items()})))
    assert got[["correct", "rationale", "metadata_t"]].values.tolist() == [
        [True, 'say "no", \\ or }\n,"metadata":{}', "x"]
    ]


def test_archives_that_are_no_log(write: Write) -> None:
    samples = [sample(1, {QA: score("C")})]
    refused(
        SchemaError,
        (lambda: read(write("log.eval", "judge,item\n")), "is named as an Inspect log but is no zip archive"),
        (lambda: read(log(write, samples), columns={"judge": "a"}), "a log of Inspect is no table"),
        (lambda: read(log(write, samples), wide="judge=a,b"), "a log of Inspect is no table"),
        (lambda: read(log(write, samples), format="jsonl"), "a log of Inspect is no table"),
        (lambda: read(log(write, samples), max_unpacked=100), "unpacks to"),
        (lambda: read(write("log.eval", zipped_log([sample(1, {})])[:-40])), "truncated or damaged"),
    )


def test_logs_of_a_folder(write: Write) -> None:
    for i, method in enumerate((STORED, DEFLATE, ZSTD)):
        write(f"logs/{i}.eval", zipped_log([sample(1, {QA: score("C")})], head(eval_id=f"e{i}"), method))
    got = read(write("logs/.hidden", "x").parent)
    assert got["eval_id"].tolist() == ["e0", "e1", "e2"]
    for i in range(2):
        path = log(write, [sample(1, {QA: score("C")})], head(eval_id=f"e{i}"), f"json/{i}.json")
    got = read(path.parent)
    assert got["eval_id"].tolist() == ["e0", "e1"]
    assert list(account_of(got).places) == [f"{i}.json, sample 1, epoch 1" for i in range(2)]


# ---- The frame of samples_df -----------------------------------------------------------------------------------------

FRAME = {
    "sample_id": ["a", "b", "c"], "eval_id": ["e1", "e1", "e2"], "id": ["1", "1", "2"], "epoch": [1, 2, 1], "input": ["?"] * 3,
    "target": ["door"] * 3, "metadata_topic": ["doors", "doors", None], "status": ["success"] * 3,
    "score_match": ["C", "I", None], "score_quality": ['{"style": 3}', '{"style": 4}', '{"style": 5}'],
    "score_quality_explanation": ["good", "bad", None],
    "score_quality_metadata": ['{"grading": [{"role": "assistant", "model": "j-1"}]}'] * 3,
    "score_match_accuracy": [0.5] * 3, "score_headline_name": ["match"] * 3, "score_headline_value": [0.5] * 3,
}  # fmt: skip


@pytest.mark.parametrize("kind", ["frame", "csv", "parquet"])
def test_samples_df(tmp_path: Path, kind: str) -> None:
    table = pd.DataFrame(FRAME)
    source: Any = table
    if kind != "frame":
        source = tmp_path / f"t.{kind}"
        table.to_csv(source, index=False) if kind == "csv" else table.to_parquet(source)
    assert kind == "frame" or detect_format(source).format == "inspect_ai_samples"
    got = read(source)
    assert got[["judge", "system", "item", "criterion", "score", "replicate", "rater_type"]].values.tolist() == [
        ["match", "e1", "1", "match", 1.0, 1, "code"],
        ["j-1", "e1", "1", "quality/style", 3.0, 1, "model"],
        ["match", "e1", "1", "match", 0.0, 2, "code"],
        ["j-1", "e1", "1", "quality/style", 4.0, 2, "model"],
        ["j-1", "e2", "2", "quality/style", 5.0, 1, "model"],
    ]
    assert got["rationale"].tolist()[1::2] == ["good", "bad"]
    assert {"metadata_topic", "status_source", "target_source"} <= set(got)
    assert "score_match_accuracy" not in got
    assert [reason for _, reason in excluded(got)] == ["the sample was not scored"]
    with_model = read(table.assign(model="acme/writer-1"))
    assert set(with_model["system"]) == {"acme/writer-1"}
    assert set(with_model["eval_id"]) == {"e1", "e2"}


def test_samples_df_of_a_scorer_whose_name_continues_anothers() -> None:
    """Without the columns of the log's metrics, score_match_exact is a scorer."""
    columns = {k: FRAME[k] for k in ("sample_id", "eval_id", "id", "epoch", "score_match")}
    got = read(pd.DataFrame({**columns, "score_match_exact": ["C"] * 3}), graders={"match_exact": "a/j"})
    assert got["judge"].value_counts().to_dict() == {"a/j": 3, "match": 2}


@pytest.mark.parametrize(
    ("column", "value", "message"), [("epoch", "x", "row 0: epoch is 'x'"), ("id", None, "row 0: id is ''")]
)
def test_samples_df_with_an_odd_cell(column: str, value: Any, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        read(pd.DataFrame({**FRAME, column: [value] * 3}))


# ---- Public logs -----------------------------------------------------------------------------------------------------


@pytest.mark.real
@pytest.mark.parametrize(
    ("name", "rows", "right", "kind"),
    [
        ("inspect_ai/input-task_model_graded_fact.eval", 1, 1, "model"),
        ("inspect_ai/popularity_10_samples.eval", 10, 8, "code"),
        ("inspect_ai/popularity_2_epochs.eval", 4, 3, "code"),
        ("inspect_ai/popularity_match.json", 3, 2, "code"),
        ("inspect_ai/security-guide_model_graded_fact.json", 3, 3, "model"),
        ("inspect_ai_recent/security-guide_zstd.eval", 16, 11, "model"),
    ],
)
def test_real_logs(real_data: Path, name: str, rows: int, right: int, kind: str) -> None:
    """Rows by hand; the share of right verdicts is the accuracy that the log's own head reports."""
    path = real_data / name
    got = read(path)
    assert (len(got), set(got["rater_type"])) == (rows, {kind})
    assert set(got["judge"]) == ({"match"} if kind == "code" else set(got["system"]))
    if name.endswith(".json"):
        header = json.loads(path.read_text())
    else:
        with Archive(path, 10**8) as archive:
            header = json.loads(archive.read("header.json")) if "header.json" in archive.names() else {}
    reported = [s["metrics"]["accuracy"]["value"] for s in header["results"]["scores"]]
    assert reported == [pytest.approx(got["correct"].mean())]
    assert got["correct"].sum() == right
    assert account_of(got).excluded == ()
    if kind == "model":
        assert got["rationale"].str.contains("GRADE: ").all()


@pytest.mark.real
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("inspect_ai/no-samples.json", "without samples \\(status 'cancelled'\\)"),
        ("inspect_ai_recent/simpleqa_llm_scoring.json", "without samples \\(status 'success'\\)"),
        (
            "inspect_ai/popularity_10_samples_unscored.eval",
            "none of its 10 records holds a verdict \\(the sample was not scored\\)",
        ),
    ],
)
def test_real_logs_without_a_verdict(real_data: Path, name: str, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        read(real_data / name)


@pytest.mark.real
def test_a_real_log_in_zstd_gives_what_it_gives_deflated(real_data: Path, tmp_path: Path) -> None:
    path = real_data / "inspect_ai_recent" / "security-guide_zstd.eval"
    deflated = tmp_path / path.name
    with Archive(path, 10**8) as archive, zipfile.ZipFile(deflated, "w", zipfile.ZIP_DEFLATED) as out:
        for name in archive.names():
            out.writestr(name, archive.read(name))
    assert {m.compress_type for m in zipfile.ZipFile(path).infolist()} == {93}
    assert {m.compress_type for m in zipfile.ZipFile(deflated).infolist()} == {8}
    one, two = read(path), read(deflated)
    pd.testing.assert_frame_equal(one, two)
    assert account_of(one).places == account_of(two).places
