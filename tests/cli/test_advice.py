"""Errors of the library say their advice in options of the command line."""

import pandas as pd
import pytest

import judgestats as js
from command_line import run, words
from judgestats.cli import app
from judgestats.cli.advice import OPTION_OF_ARGUMENT
from judgestats.errors import SchemaError

MEANINGS = "(or what else each means: first, second, tie, abstain, invalid)"
SCORES = pd.DataFrame({"judge": ["g"], "system": ["a"], "item": ["1"], "score": [9]})


PAIR = pd.concat([SCORES, SCORES.assign(judge="h")])


def test_the_notes_of_a_proposal_are_said_as_options(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("rater,model,item,score\ng,x,1,3\ng,y,1,4\n")
    text = words(run.invoke(app, ["check", str(path)]))
    assert "On the command line: --off-scale missing; --scale LOW,HIGH" in text


@pytest.mark.parametrize(
    ("argument", "value", "option"),
    [
        ("encoding", "cp1252", "--encoding cp1252"),
        ("decimal", ",", "--decimal ,"),
        ("off_scale", "missing", "--off-scale missing"),
        ("scale", None, "--scale LOW,HIGH"),
        ("columns", "delta", "--map delta="),
        ("labels", "B", f"--labels B=second {MEANINGS}"),
        ("labels", "frist", f"--labels frist=first {MEANINGS}"),
        ("labels", "Second ", f"--labels 'Second =second' {MEANINGS}"),
        ("labels", "abstian", f"--labels abstian=abstain {MEANINGS}"),
        ("labels", "good", f"--labels good=... {MEANINGS}"),
        ("labels", "valid", f"--labels valid=... {MEANINGS}"),
        ("labels", "not first", f"--labels 'not first=...' {MEANINGS}"),
        ("either", ("no=0", "no=1"), "--labels no=0 or --labels no=1"),
        ("counts", "n", "--counts n"),
        ("counts", False, "--no-counts"),
        ("max_unpacked", None, "--max-unpacked BYTES"),
        ("identity", None, "--identity SYSTEM=JUDGE,..."),
        ("humans", None, "--humans NAME,... or COLUMN=VALUE"),
        ("baseline", None, "--baseline VALUE"),
    ],
)
def test_advice_comes_from_the_fields_of_an_error(monkeypatch, canonical, argument, value, option):
    """Whatever the message says: no prose is searched for options."""

    def refuse(*_, **__):
        raise SchemaError("Something like counts='k' or scale=(low, high).", advice=((argument, value),))

    monkeypatch.setattr("judgestats.ingest.read", refuse)
    result = run.invoke(app, ["check", str(canonical)])
    assert result.exit_code == 2
    assert words(result).split("On the command line: ")[1].strip() == option
    assert argument in OPTION_OF_ARGUMENT


@pytest.mark.parametrize(
    ("make", "advice"),
    [
        (lambda c: js.preferences(c.assign(n=3)), (("counts", "n"), ("counts", False))),
        (lambda c: js.preferences(c.assign(choice="B")), (("labels", "B"),)),
        (lambda c: js.preferences(c.assign(delta="many")), (("columns", "delta"),)),
        (lambda c: js.preferences(c.assign(gold="z")), (("columns", "gold"),)),
        (lambda c: js.available_measures(js.preferences(c), humans="nobody"), (("humans", None),)),
        (lambda c: js.ratings(SCORES, scale=(1, 5)), (("off_scale", "missing"),)),
        (lambda c: js.consensus_deviation(js.ratings(PAIR), identity={"z": "g"}), (("identity", None),)),
    ],
)
def test_errors_carry_their_advice(make, advice):
    calls = pd.DataFrame({"judge": ["g"], "item": ["1"], "first": ["x"], "second": ["y"], "choice": ["tie"]})
    with pytest.raises(js.errors.JudgestatsError) as caught:
        make(calls)
    assert caught.value.advice == advice


def test_a_table_without_a_judge_is_told_how_to_name_one(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("prompt_id,judge_score,text\n1,0.5,a\n2,0.7,b\n")
    mapping = "item=prompt_id,score=judge_score"
    for options in ([], ["--map", mapping]):
        text = words(run.invoke(app, ["check", str(path), *options]))
        assert "If one judge gave all, name it: read(..., columns={'judge': '=NAME'})" in text
        assert "--map judge==NAME" in text
        assert "judge='judge_score'" not in text
    assert run.invoke(app, ["check", str(path), "--map", f"{mapping},judge==NAME"]).exit_code == 0
