"""Options by which verdicts are read, of ``check`` and ``report``."""

import json
import re
import shlex

import pandas as pd
import pytest

import judgestats as js
from command_line import run, words
from judgestats.cli import app
from judgestats.ingest import parse_labels

MAP = "judge=rater,item=q,score=points"


@pytest.mark.slow
@pytest.mark.parametrize("command", ["check", "report"])
def test_counts_are_declared_on_the_command_line(tmp_path, command):
    path = tmp_path / "calls.csv"
    rows = [f"g,{i},{one},{two},first,{27_000 if i == 1 else 26}" for i in range(1, 8) for one, two in ("xy", "yx")]
    path.write_text("\n".join(["judge,item,first,second,choice,n", *rows]))
    out = ["--out", str(tmp_path / "page.html")] if command == "report" else []
    counted = run.invoke(app, [command, str(path), "--counts", "n", *out])
    assert counted.exit_code == 0, counted.output
    assert "column n: counts, 54 312 calls in 14 rows" in words(counted)
    if out:
        assert "column n: counts, 54\u202f312 calls in 14 rows" in (tmp_path / "page.html").read_text(encoding="utf-8")
    plainly = run.invoke(app, [command, str(path), "--no-counts", *out])
    assert plainly.exit_code == 0, plainly.output
    assert "counts," not in words(plainly)
    both = run.invoke(app, [command, str(path), "--no-counts", "--counts", "n", *out])
    assert both.exit_code == 2
    assert "contradict each other" in words(both)


def test_a_file_that_is_not_there_names_those_that_are(canonical):
    result = run.invoke(app, ["check", str(canonical.with_name("cals.csv"))])
    assert result.exit_code == 2
    assert "calls.csv" in result.output


def test_a_folder_of_calls_is_mapped_by_its_paths(tmp_path):
    for item in ("q1", "q2"):
        for order, (first, second, answer) in {"ab": ("x", "y", "A"), "ba": ("y", "x", "B")}.items():
            path = tmp_path / "runs" / item / f"{order}.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps({"model": "g", "left": first, "right": second, "verdict": answer}))
    options = [
        "--map",
        "judge=model,item=path_1,first=left,second=right,choice=verdict",
        "--labels",
        "A=first,B=second",
    ]
    result = run.invoke(app, ["check", str(tmp_path / "runs"), *options])
    assert result.exit_code == 0, result.output
    assert "both orders every pair" in words(result)


def test_the_remedies_can_be_typed(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b'judge,system,item,score,runs\nJos\xe9,s,1,"3,5",many\nJos\xe9,t,1,9,few\n')
    cured = ["check", str(path), "--encoding", "cp1252", "--decimal", ","]
    for setting in ("runs=", "runs=None"):
        result = run.invoke(app, [*cured, "--map", setting])
        assert result.exit_code == 0, result.output
        assert "2 rows: 2 used, 0 excluded" in words(result)
    result = run.invoke(app, [*cured, "--map", "runs=", "--scale", "1,5"])
    assert result.exit_code == 2
    assert "off the scale 1 to 5 in 1 row" in words(result)
    assert "On the command line: --off-scale missing" in words(result)
    result = run.invoke(app, [*cured, "--map", "runs=", "--scale", "1,5", "--off-scale", "missing"])
    assert result.exit_code == 0, result.output
    assert "2 rows: 1 used, 1 excluded" in words(result)


def test_options_that_do_not_fit_are_one_message(canonical):
    for options, told in (
        (["--scale", "5"], "--scale '5' is not LOW,HIGH"),
        (["--scale", "1,5"], "scale are for ratings"),
        (["--off-scale", "drop"], "off_scale are for ratings"),
        (["--decimal", ";"], "decimal=';' is not known"),
    ):
        result = run.invoke(app, ["check", str(canonical), *options])
        assert result.exit_code == 2
        assert told in words(result)
        assert "Traceback" not in result.output


@pytest.mark.slow
def test_check_and_report_say_what_a_folder_leaves_unread(canonical, tmp_path):
    folder = tmp_path / "mixdir"
    folder.mkdir()
    canonical.rename(folder / "a.csv")
    (folder / "b.csv.bak").write_text("x")
    told = "1 of 2 files read; not read: b.csv.bak (unknown format)"
    out = tmp_path / "o.html"
    for command in (
        ["check", str(folder)],
        ["check", str(folder), "--format", "csv"],
        ["check", str(folder), "--map", "judge=judge"],
        ["report", str(folder), "--out", str(out)],
    ):
        result = run.invoke(app, command)
        assert result.exit_code == 0, result.output
        assert result.output.splitlines().count(told) == 1
    assert "b.csv.bak" in out.read_text(encoding="utf-8")


def test_the_page_says_how_the_table_was_read(unknown, tmp_path):
    out = tmp_path / "o.html"
    mapping = "judge=evaluator,item=question_id,first=model_a,second=model_b,choice=verdict,replicate=repetition"
    result = run.invoke(
        app, ["report", str(unknown), "--out", str(out), "--map", mapping, "--labels", "A=first,B=second,C=tie"]
    )
    assert result.exit_code == 0, result.output
    page = out.read_text(encoding="utf-8")
    for told in ("<dt>format</dt><dd>csv</dd>", mapping, "A=first,B=second,C=tie", "table.csv"):
        assert told in page


def test_a_column_of_replies_is_parsed(tmp_path):
    replies = ["[[A]]", "Winner: B", "[[A]] or [[B]]", '{"winner": "tie"}']
    calls = pd.DataFrame({"judge": "g", "item": [*"1122"], "first": [*"xyxy"], "second": [*"yxyx"], "reply": replies})
    calls.to_csv(path := tmp_path / "replies.csv", index=False)
    unread = run.invoke(app, ["check", str(path), "--map", "choice=reply"])
    assert unread.exit_code == 2
    assert "'choice' has replies as text, such as '[[A]]' in 2 rows" in words(unread)
    assert "--parse auto" in words(unread)
    arguments = [str(path), "--map", "choice=reply", "--parse"]
    seen = run.invoke(app, ["check", *arguments, "auto"])
    assert seen.exit_code == 0, seen.output
    assert "4 rows: 3 used, 1 excluded" in seen.output
    assert "3 used" not in run.invoke(app, ["check", *arguments, "brackets"]).output
    page = run.invoke(app, ["report", *arguments, "auto", "--out", str(tmp_path / "page.html")])
    assert page.exit_code == 0, page.output
    wrong = run.invoke(app, ["check", *arguments, "bracket"])
    assert wrong.exit_code == 2
    assert "Did you mean 'brackets'" in words(wrong)
    calls.rename(columns={"reply": "verdict", "judge": "evaluator"}).to_csv(path, index=False)
    assert "If they are replies as text, map choice=verdict and parse them" in words(
        run.invoke(app, ["check", str(path)])
    )
    grades = pd.DataFrame({"judge": "g", "item": [*"12"], "score": ["GRADE: C", "GRADE: I"]})
    grades.to_csv(path, index=False)
    seen = run.invoke(app, ["check", str(path), "--parse", "auto", "--labels", "C=1,I=0"])
    assert "2 rows: 2 used, 0 excluded" in seen.output, seen.output


def test_labels_of_people_are_joined_and_are_the_reference(labelled, tmp_path):
    calls, options = labelled
    said = run.invoke(app, ["check", calls, *options]).output
    assert "8 rows: 7 used, 1 excluded" in said
    assert "label without a verdict: no such" in said
    assert "Agreement with people" in said
    page = tmp_path / "page.html"
    result = run.invoke(app, ["report", calls, *options, "--out", str(page)])
    assert result.exit_code == 0, result.output
    text = page.read_text()
    assert "2 people are the reference (Ann, Bob" in text
    assert "labels.csv" in text


def test_labels_are_on_the_scale_of_the_verdicts(tmp_path):
    (tmp_path / "scores.csv").write_text("judge,item,score\ng,1,3\ng,2,4\n")
    (tmp_path / "labels.csv").write_text("judge,item,score\nAnn,1,3\nAnn,2,40\n")
    both = ["check", str(tmp_path / "scores.csv"), "--labels-file", str(tmp_path / "labels.csv")]
    assert run.invoke(app, both).exit_code == 0
    result = run.invoke(app, [*both, "--scale", "1,5"])
    assert result.exit_code == 2
    assert "the labels: " in result.output
    assert "labels.csv, line 3" in result.output
    assert "1 excluded" in run.invoke(app, [*both, "--scale", "1,5", "--off-scale", "missing"]).output


def test_options_about_labels_need_their_file_and_say_the_id(labelled):
    calls, options = labelled
    result = run.invoke(app, ["check", calls, "--on", "item=q"])
    assert result.exit_code == 2
    assert "--labels-file FILE" in result.output
    result = run.invoke(app, ["check", calls, *options[:2]])
    assert result.exit_code == 2
    assert "On the command line: --on item=..." in result.output


def test_several_files_and_options_of_a_format(tmp_path):
    """As a shell expands *.jsonl; the judge that the records do not name is an option."""
    record = {"generator_1": "a", "generator_2": "b", "output_1": "", "output_2": "", "preference": 1}
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "annotations.json").write_text(json.dumps([{**record, "dataset": name}]))
    files = [str(tmp_path / name / "annotations.json") for name in ("one", "two")]
    missing = run.invoke(app, ["check", *files])
    assert missing.exit_code == 2
    assert "names no annotator. Pass judge='...'" in words(missing)
    done = run.invoke(app, ["check", *files, "--option", "judge=gpt-4"])
    assert done.exit_code == 0, done.output
    assert "2 files: alpaca_eval" in done.output
    assert "2 rows: 2 used" in done.output
    wrong = run.invoke(app, ["check", *files, "--option", "judge"])
    assert "has no '='" in words(wrong)
    page = tmp_path / "page.html"
    assert run.invoke(app, ["report", *files, "--option", "judge=gpt-4", "--out", str(page)]).exit_code == 0
    assert "judge=gpt-4" in page.read_text()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--map", "judge=rater", "--map", "judge=q"], "--map gives 'judge' twice: judge=rater and judge=q"),
        (["--scale", "1,5", "--scale=1,7"], "--scale is given 2 times"),
        (["--map", MAP, "--option", "scale=1,5"], "scale is not an option of a format. Give it as --scale"),
        (["--map", MAP, "--option", "columns=judge"], "columns is not an option of a format. Give it as --map"),
        (["--map", MAP, "--option", "connection=db"], "connection is not an option of a format. Leave it out"),
        (["--map", "judge=rater"], "the mapping is not complete"),
        (["--map", "judge=ratr"], "Did you mean 'rater'?"),
    ],
)
def test_no_option_is_lost_or_taken_for_another(tmp_path, options, said):
    rows = {"rater": ["a", "b"] * 3, "q": [*"112233"], "points": [1, 2, 3, 4, 5, 5]}
    path = tmp_path / "scores.csv"
    pd.DataFrame(rows).to_csv(path, index=False)
    found = run.invoke(app, ["check", str(path), *options])
    assert found.exit_code == 2
    assert said in words(found)
    assert "Traceback" not in found.output


def test_a_mapping_given_as_a_file_is_told_its_option_and_the_near_name(tmp_path):
    path = tmp_path / "calls.csv"
    pd.DataFrame({"model": ["g"], "question_id": ["1"], "answer_a": ["x"], "winner": ["x"]}).to_csv(path, index=False)
    result = run.invoke(app, ["check", str(path), "judge=modle"])
    assert result.exit_code == 2
    text = words(result)
    assert "'judge=modle' is no file. Give it as --map judge=modle." in text
    assert "Did you mean 'model'?" in text
    assert "Did you mean" not in words(run.invoke(app, ["check", str(path), "judge=model"]))


def labels_offered(path, answers):
    rows = [{"judge": "g", "item": i, "first": "x", "second": "y", "choice": a} for i, a in enumerate(answers * 2)]
    pd.DataFrame(rows).to_csv(path, index=False)
    told = words(run.invoke(app, ["check", str(path)]))
    (option,) = re.findall(r"On the command line: (--labels .+) \(or what else each means", told)
    return shlex.split(option)


@pytest.mark.parametrize(
    ("answers", "meant"),
    [
        (["A", "B", "C"], ["first", "second", "tie"]),
        (["first", "B"], ["first", "second"]),
        (["1", "2", "0"], ["first", "second", "tie"]),
        (["first", "frist", "Second "], ["first", "first", "second"]),
    ],
)
def test_the_option_for_labels_with_a_usual_meaning_is_accepted_as_it_stands(tmp_path, answers, meant):
    path = tmp_path / "t.csv"
    option = labels_offered(path, answers)
    result = run.invoke(app, ["check", str(path), *option])
    assert result.exit_code == 0, result.output
    assert js.read(path, labels=parse_labels(option[1]))["choice"].tolist() == meant * 2


@pytest.mark.parametrize("answers", [["x>y, surely", "y>x"], ["model a", "no"], ["first", "worst"]])
def test_an_option_for_labels_that_nobody_knows_is_refused_until_it_is_filled_in(tmp_path, answers):
    path = tmp_path / "t.csv"
    option = labels_offered(path, answers)
    assert option[1].endswith(("=...", '=..."'))
    result = run.invoke(app, ["check", str(path), *option])
    assert result.exit_code == 2
    assert "labels='...' is not known. Allowed: 'first', 'second', 'tie', 'abstain', 'invalid'." in words(result)


def test_check_groups_and_clusters_as_report_does(tmp_path):
    path = tmp_path / "t.csv"
    calls = pd.DataFrame([(i, p, t) for i in range(12) for p in "xy" for t in "uv"], columns=["item", "p", "topic"])
    calls = calls.assign(judge="g", first=calls["p"], second="z", choice=["first", "second", "first"] * 16)
    calls.loc[::3, ["first", "second"]] = calls.loc[::3, ["second", "first"]].to_numpy()
    calls.drop(columns="p").to_csv(path, index=False)
    outputs = [
        run.invoke(app, ["check", str(path), *options])
        for options in ([], ["--by", "topic"], ["--cluster", "topic"], ["--no-cluster"])
    ]
    assert [r.exit_code for r in outputs] == [0] * 4, outputs
    assert len({r.output for r in outputs}) > 2
    wrong = words(run.invoke(app, ["check", str(path), "--by", "nothing"]))
    assert "'nothing'" in wrong
    told = run.invoke(app, ["check", str(path), "--by", "topic", "--json"])
    assert told.exit_code == 0, told.output


@pytest.mark.parametrize("command", ["check", "report"])
def test_brackets_of_a_help_text_are_no_markup(command):
    shown = words(run.invoke(app, [command, "--help"], env={"COLUMNS": "200"}))
    assert "judge[item]=gpt opens lists" in shown
    assert "\\[" not in shown
