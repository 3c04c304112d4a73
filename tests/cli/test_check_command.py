"""``judgestats check``: what a newcomer types first."""

import json
import re
import shlex
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import judgestats as js
from command_line import run, words
from judgestats.cli import app


def test_check_says_design_account_and_measures(canonical):
    result = run.invoke(app, ["check", str(canonical)])
    assert result.exit_code == 0
    text = words(result)
    assert "6 rows: 5 used, 1 excluded" in text
    assert "both orders every pair" in text
    assert "choice is invalid (status parse)" in text
    supported, missing = text.split("Measures not available, and what is missing")
    assert "consistency" in supported
    assert "gold_agreement needs a column 'gold'" in missing


def test_check_of_an_unknown_shape_proposes_and_computes_nothing(unknown):
    result = run.invoke(app, ["check", str(unknown)])
    assert result.exit_code == 2
    text = words(result)
    assert "Nothing was computed" in text
    assert "judge=evaluator" in text
    assert "A=first" in text
    assert "rows in" not in text
    assert "score" not in text.split("Its first rows")[0].replace("score_", "")
    assert text.count(" g 1 ") == 2  # three mapped rows are shown, two of them of item 1


def test_the_proposed_options_work_as_printed(unknown):
    proposed = words(run.invoke(app, ["check", str(unknown)]))
    options = re.search(r"Next: judgestats check \S+ (--map .+?) ?$", proposed).group(1)

    result = run.invoke(app, ["check", str(unknown), *shlex.split(options)])
    assert result.exit_code == 0, result.output
    assert "4 rows: 4 used, 0 excluded" in words(result)


def test_the_next_command_is_quoted_and_on_one_line(unknown, tmp_path):

    table = pd.read_csv(unknown).rename(columns={"question_id": "question id", "model_a": "response model a"})
    path = tmp_path / ("a folder with spaces and a long name " * 3).strip() / "my table.csv"
    path.parent.mkdir()
    table.rename(columns={"response model a": "model_a"}).assign(**{"question_id": table["question id"]}).to_csv(
        path, index=False, encoding="utf-16"
    )
    result = run.invoke(app, ["check", str(path), "--encoding", "utf-16"])
    (line,) = [row for row in result.output.splitlines() if row.startswith("Next: ")]
    (said,) = [row for row in result.output.splitlines() if "If this is right: " in row]
    words = shlex.split(line.removeprefix("Next: "))
    assert words[:3] == ["judgestats", "check", str(path)]
    assert words[-2:] == ["--encoding", "utf-16"]
    assert shlex.split(said.partition("If this is right: ")[2]) == words[3:-2]
    again = run.invoke(app, words[1:])
    assert again.exit_code == 0, again.output


def test_check_for_programs(tmp_path):
    path = tmp_path / "t.csv"
    rows = [f"{judge},{item},x,y,{answer}" for item in range(4) for judge, answer in (("Ann", "first"), ("g", "tie"))]
    path.write_text("\n".join(["judge,item,first,second,choice", *rows]))
    result = run.invoke(app, ["check", str(path), "--humans", "Ann", "--json"])
    assert result.exit_code == 0, result.output
    found = json.loads(result.output)
    assert {r["what"]: r["n"] for r in found["rows"]}["rows used"] == 8
    assert "position_bias" in {m["measure"] for m in found["measures"] if m["supported"]}
    assert {code for row in found["agreement"] for code in row["codes"]} <= {flag["code"] for flag in found["flags"]}
    assert "small_n" in {flag["code"] for flag in found["flags"]}
    assert all(flag["explanation"] for flag in found["flags"])


@pytest.mark.parametrize("columns", [60, 100])
def test_what_is_not_supported_is_a_line_each_and_nothing_is_wider_than_columns(canonical, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    text = run.invoke(app, ["check", str(canonical)]).output
    rows = [row for row in text.splitlines() if not row.startswith("Next: ")]  # a command is copied as a whole
    assert max(map(len, rows)) <= columns
    missing = text.split("what is missing\n")[1].split("\nArguments")[0].splitlines()
    assert len(missing) > 5
    assert all(re.match(r"[a-z_0-9]+", line) for line in missing)


def test_check_shows_a_number_beside_what_is_supported_and_the_judges_side_by_side(canonical):
    text = words(run.invoke(app, ["check", str(canonical)]))
    assert "same verdict in both orders 100 %" in text
    assert "Rows are counted from 0, without a header; lines from 1, as in an editor." in text
    judges = text.partition("Judges (95 % intervals, of each alone)")[2].partition("Measures available")[0]
    rows = js.consistency(pd.read_csv(canonical, dtype={"item": str}))
    row = rows[rows["term"] == "consistency"].iloc[0]
    assert f"{100 * row['estimate']:.0f} % [{100 * row['conf_low']:.0f}, {100 * row['conf_high']:.0f}] %" in judges
    for flag in row["flag"].split("; "):
        assert re.search(rf"- {re.escape(flag)} \([^)]*same verdict in both orders", judges)


def test_check_resamples_ranks_and_refits_nothing(tmp_path, monkeypatch):
    """No bootstrap of more than the one draw that a measure without an interval of its own makes, and no page."""
    from judgestats.counting import bootstrap

    drawn = []
    real = bootstrap.Bootstrap.__post_init__
    monkeypatch.setattr(bootstrap.Bootstrap, "__post_init__", lambda self: drawn.append(self.n_resamples) or real(self))
    path = tmp_path / "ratings.csv"
    rng = np.random.default_rng(3)
    rows = [(j, s, i, rng.integers(1, 6)) for j in "abc" for s in "xyz" for i in range(12)]
    pd.DataFrame(rows, columns=["judge", "system", "item", "score"]).to_csv(path, index=False)
    assert run.invoke(app, ["check", str(path)]).exit_code == 0
    assert max(drawn, default=1) == 1
    code = f"import sys; from judgestats.cli import app; app(['check', {str(path)!r}], standalone_mode=False)"
    code += "; print('judgestats.reporting.pages' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("False")


def test_check_measures_the_agreement_with_people_once(tmp_path, monkeypatch):
    import registry
    from judgestats.metrics.agreement import human_agreement

    registry.people().to_csv(tmp_path / "calls.csv", index=False)
    seen, original = [], human_agreement.count_raters
    monkeypatch.setattr(human_agreement, "count_raters", lambda *a, **k: seen.append(1) or original(*a, **k))
    result = run.invoke(app, ["check", str(tmp_path / "calls.csv"), "--humans", "ann,bob"])
    assert result.exit_code == 0, result.output
    assert "people with each other" in words(result)
    assert len(seen) == 2  # among people, and of judges with people


@pytest.mark.parametrize("answer", ["score", "correct", "choice"])
def test_people_who_share_no_item_with_the_judges_are_said_and_the_rest_is_shown(answer, tmp_path):
    rows = [(j, f"{'k' if j == 'Ann' else 'i'}{i}", i % 3) for j in ("a", "b", "Ann") for i in range(12)]
    table = pd.DataFrame(rows, columns=["judge", "item", "value"])
    if answer == "choice":
        table = table.assign(
            first="x", second="y", choice=table["value"].map(dict(enumerate(["first", "second", "tie"])))
        )
    else:
        table[answer] = table["value"] > 0 if answer == "correct" else table["value"] + 1.0
        table["system"] = "s"
    path = tmp_path / "calls.csv"
    table.drop(columns="value").to_csv(path, index=False)
    for command in (["check"], ["report", "--out", str(tmp_path / "page.html")]):
        result = run.invoke(app, [command[0], str(path), *command[1:], "--humans", "Ann"])
        assert result.exit_code == 0, result.output
        assert "people and judges have no item in common" in result.output
        assert "Reference has no mean" not in result.output
    as_json = run.invoke(app, ["check", str(path), "--humans", "Ann", "--json"])
    assert json.loads(as_json.output)["agreement"] == []


def test_a_mapping_that_would_be_refused_is_not_proposed_as_a_command(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("rater,id,score\ng,1,3\ng,1,4\ng,2,4\n")
    told = words(run.invoke(app, ["check", str(path)]))
    assert "With this mapping the table would still be refused: 1 fault in ratings" in told
    assert "Next:" not in told
    path.write_text("rater,id,score\ng,1,3\ng,3,4\ng,2,4\n")
    told = words(run.invoke(app, ["check", str(path), "--humans", "g", "--no-counts", "--option", "judge=g"]))
    assert "--option judge=g" not in told  # an option that is refused: so is the command
    told = words(run.invoke(app, ["check", str(path), "--humans", "g", "--no-counts"]))
    assert re.search(r"Next: judgestats check \S+ --map judge=rater,item=id --no-counts --humans g", told)


def test_check_ends_with_the_report_that_is_next(tmp_path, canonical):
    result = run.invoke(app, ["check", str(canonical), "--cluster", "item"])
    assert result.exit_code == 0, result.output
    (line,) = [row for row in result.output.splitlines() if row.startswith("Next: ")]
    typed = shlex.split(line.removeprefix("Next: "))
    assert typed == ["judgestats", "report", str(canonical), "--cluster", "item"]
    page = tmp_path / "page.html"
    assert run.invoke(app, [*typed[1:], "--out", str(page)]).exit_code == 0
    assert page.exists()
    assert "Next: " not in run.invoke(app, ["check", str(canonical), "--json"]).output


@pytest.mark.parametrize("ids", [{}, {"judge": "rater", "item": "qid"}])
@pytest.mark.parametrize("columns", [[], ["gold_at"], ["answer"], ["gold_at", "answer"]])
def test_places_of_options_lead_to_their_position_bias_by_what_check_says_next(tmp_path, monkeypatch, columns, ids):
    rng = np.random.default_rng(4)
    table = pd.DataFrame({"judge": "g", "item": range(400), "shown_at": rng.choice([1, 1, 1, 2, 3, 4], 400)})
    table["gold_at"], table["answer"] = rng.integers(1, 5, 400), rng.choice(["red", "blue"], 400)
    table[["judge", "item", "shown_at", *columns]].rename(columns=ids).to_csv(tmp_path / "places.csv", index=False)
    monkeypatch.chdir(tmp_path)
    command, told = "check places.csv", ""
    for _ in range(3):
        result = run.invoke(app, shlex.split(command))
        told = result.output
        (line,) = [row for row in told.splitlines() if row.startswith("Next: judgestats ")]
        command = line.removeprefix("Next: judgestats ")
        if command.startswith("report"):
            break
        assert "option_position_bias" not in told.split("Measures not available")[0]
        command = command.replace("NUMBER", "4")
    assert "wide" not in told
    assert "option_position_bias" in told.split("Measures not available")[0]
    how = {"columns": {**ids, "n_options": "=4"}}
    found = js.position_bias(js.read(tmp_path / "places.csv", **how))
    first = found[(found["term"] == "position_bias") & (found["shown_at"] == 1)].iloc[0]
    assert first["conf_low"] > 0.1
    assert "n_options==4" in command


@pytest.mark.parametrize(
    "command",
    [
        ["check", "calls.csv"],
        ["report", "calls.csv", "--overwrite"],
        ["audit"],
        ["formats"],
        ["prompts"],
        ["audit", "no"],
    ],
)
def test_no_word_is_broken_at_80_columns(tmp_path, monkeypatch, command):
    """Every word of the narrow output stands in the wide one."""
    monkeypatch.chdir(tmp_path)
    rows = [(f"a-judge-of-name-{k}", i, "x", "y", "first" if i % 7 else "bad") for k in range(3) for i in range(20)]
    pd.DataFrame(rows, columns=["judge", "item", "first", "second", "choice"]).to_csv("calls.csv", index=False)
    narrow, wide = [], []
    for width, printed in ((80, narrow), (400, wide)):
        monkeypatch.setenv("COLUMNS", str(width))
        lines = run.invoke(app, command).output.splitlines()
        printed += [word for line in lines if not line.endswith("…") for word in line.split()]
    assert len(narrow) > 10
    assert {*narrow} <= {*wide}


@pytest.mark.parametrize(
    ("answers", "gold", "named"),
    [(["yes", "no"], False, "said to be right"), (["1", "0"], False, "scores of 1"), (["1", "0"], True, "accuracy")],
)
def test_accuracy_is_said_of_what_has_right_answers(tmp_path, answers, gold, named):
    column = "score" if answers[0] == "1" else "correct"
    table = pd.DataFrame({"judge": "g", "item": range(40), column: answers * 20}).assign(
        **({"gold": "1"} if gold else {})
    )
    table.to_csv(tmp_path / "t.csv", index=False)
    text = words(run.invoke(app, ["check", str(tmp_path / "t.csv")]))
    judges = text.partition("of each alone)")[2].partition("Measures available")[0]
    assert named in judges
    assert ("accuracy" in judges) == gold
