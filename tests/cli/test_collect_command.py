"""``judgestats collect`` and ``judgestats next``."""

import pandas as pd
import pytest

from command_line import run, words
from judgestats.cli import app


def test_answers_and_folders_are_read_once(tmp_path, monkeypatch):
    from judgestats.design import Judge, Plan, simulate_replies
    from judgestats.ingest import (
        reading,  # noqa: F401  what it has of sniffing is there before that is changed
        sources,
    )

    monkeypatch.chdir(tmp_path)
    run.invoke(app, ["plan", "vacuum", "--judge", "m"])
    simulate_replies(Plan.read("plan"), Judge("m")).to_json("answers.jsonl", orient="records", lines=True)
    opened = []
    resolve = sources.resolve
    monkeypatch.setattr(sources, "resolve", lambda *a, **k: opened.append(a) or resolve(*a, **k))
    assert run.invoke(app, ["collect", "plan", "answers.jsonl"]).exit_code == 0
    assert len(opened) == 1
    (tmp_path / "found").mkdir()
    pd.read_csv("verdicts.csv").to_csv("found/verdicts.csv", index=False)
    (tmp_path / "found" / "readme.txt").write_text("Not verdicts.")
    monkeypatch.setattr("judgestats.ingest.sniffing.find_files", lambda *a, **k: pytest.fail("looked for files again"))
    found = run.invoke(app, ["check", "found"])
    assert found.exit_code == 0, found.output
    assert "1 of 2 files read; not read: readme.txt" in words(found)


def test_texts_that_a_model_wrote_are_collected(tmp_path, monkeypatch):
    from judgestats.design import Judge, generations, simulate_replies

    monkeypatch.chdir(tmp_path)
    plan = generations("writer")
    plan.write("plan")
    simulate_replies(plan, Judge("any"), error=0.1).to_json("answers.jsonl", orient="records", lines=True)
    done = run.invoke(app, ["collect", "plan", "answers.jsonl", "--out", "texts.csv"])
    assert done.exit_code == 0, done.output
    written = pd.read_csv("texts.csv")
    assert f"{(written['status'] == 'ok').sum()} of 125 complete" in done.output


def test_a_study_is_planned_asked_and_collected(tmp_path, monkeypatch):
    """The commands that a stranger types; the runner is a simulated judge that fails sometimes."""
    from judgestats.design import Judge, Plan, simulate_replies

    monkeypatch.chdir(tmp_path)
    made = run.invoke(app, ["plan", "vacuum", "--judge", "m", "--out", "plan", "--format", "jsonl"])
    assert made.exit_code == 0, made.output
    assert "120 calls" in made.output
    assert "Then: judgestats collect plan ANSWERS" in made.output
    replies = simulate_replies(Plan.read("plan"), Judge("m", dark_current=0.5), error=0.1, seed=3)
    replies.iloc[:100].to_json("answers.jsonl", orient="records", lines=True)
    asked = ["collect", "plan", "answers.jsonl", "--report", "page.html", "--left", "rest"]
    done = run.invoke(app, asked)
    assert done.exit_code == 0, done.output
    failed = int(replies["answer"].iloc[:100].isna().sum())
    assert f"120 rows: {100 - failed} used, {20 + failed} excluded" in done.output
    assert f"{20 + failed} calls failed or never came back: rest" in done.output
    assert len(Plan.read("rest")) == 20 + failed
    assert done.output.splitlines()[-1] == "Send them, then: judgestats collect plan ANSWERS"
    simulate_replies(Plan.read("rest"), Judge("m", dark_current=0.5), seed=4).to_json(
        "more.jsonl", orient="records", lines=True
    )
    whole = run.invoke(app, ["collect", "plan", "more.jsonl"]).output.splitlines()[-1]
    assert whole == "Next: judgestats collect plan more.jsonl --out verdicts.csv --report report.html"
    assert (
        run.invoke(app, whole.removeprefix("Next: judgestats ").split()).output.splitlines()[-1]
        == "Report: report.html"
    )
    assert "dark current" in (tmp_path / "page.html").read_text().lower()
    seen = run.invoke(app, ["check", "verdicts.csv"])
    assert seen.exit_code == 0, seen.output
    assert "dark_current" in seen.output
    wrong = run.invoke(app, ["plan", "vacum", "--judge", "m"])
    assert wrong.exit_code == 2
    assert "Did you mean 'vacuum'" in words(wrong)
    shown = run.invoke(app, ["prompts", "pairwise"])
    assert "{{ first }}" in shown.output
    assert "pairwise_strict" in run.invoke(app, ["prompts"]).output


def test_explanations_become_responses_for_a_rubric(tmp_path, monkeypatch):
    """The first step of the merchant study, from its categories to the plan of the ratings; a fault is named."""
    from judgestats.design import Plan

    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"code": [5000, 5001, 5002, 5003, 5004, 5005], "name": list("abcdef")}).to_csv(
        "codes.csv", index=False
    )
    asked = [
        "plan",
        "explanations",
        "--judge",
        "GPT",
        "--judge",
        "Grok",
        "--categories",
        "codes.csv",
        "--levels",
        "low,high",
    ]
    made = run.invoke(app, asked)
    assert made.exit_code == 0, made.output
    text = '[{"level": "low", "explanation": "Calm.", "categories": ["5000", "5001", "5002"]}, '
    text += '{"level": "high", "explanation": "Not calm.", "categories": ["5003", "5004", "5005"]}]'
    calls = Plan.read("plan").calls
    answers = pd.DataFrame({"call": calls["call"], "answer": [text, text.replace("Calm", "5 times calm")]})
    answers.to_json("answers.jsonl", orient="records", lines=True)
    done = run.invoke(app, ["collect", "plan", "answers.jsonl", "--out", "texts.csv"])
    assert done.exit_code == 0, done.output
    assert f"{calls['judge'].iloc[1]}: a figure in a text" in words(done)
    step = "Next: judgestats plan rubric --responses texts.responses.csv --judge JUDGE"
    assert done.output.splitlines()[-1] == step
    assert pd.read_csv("texts.picks.csv")["score"].tolist() == [1, 1, 1, 2, 2, 2] * 2
    rated = ["plan", "rubric", "--responses", "texts.responses.csv", "--judge", "m", "--runs", "1", "--out", "rated"]
    made = run.invoke(app, rated)
    assert made.exit_code == 0, made.output
    assert sorted(Plan.read("rated").calls["system"]) == ["GPT", "GPT", "Grok", "Grok"]


def test_what_else_the_replies_say_is_a_second_table(tmp_path, monkeypatch):
    """Strengths and weaknesses of a rubric; nothing is written where a prompt asks for the verdict alone."""
    from judgestats.design import Judge, Plan, simulate_replies

    monkeypatch.chdir(tmp_path)
    texts = pd.DataFrame({"item": "1", "system": ["s", "t"], "task_text": "Explain.", "response_text": ["u", "v"]})
    texts.to_csv("responses.csv", index=False)
    made = run.invoke(app, ["plan", "rubric", "--responses", "responses.csv", "--judge", "m", "--runs", "2"])
    assert made.exit_code == 0, made.output
    simulate_replies(Plan.read("plan"), Judge("m", scale=(0, 10))).to_json(
        "answers.jsonl", orient="records", lines=True
    )
    done = run.invoke(app, ["collect", "plan", "answers.jsonl"])
    assert done.exit_code == 0, done.output
    assert "What else the replies say: verdicts.parts.csv" in done.output
    parts = pd.read_csv("verdicts.parts.csv")
    assert parts.groupby("part").size().to_dict() == {"reasons": 40, "scores": 40, "strengths": 8, "weaknesses": 8}
    assert run.invoke(app, ["collect", "plan", "answers.jsonl"]).exit_code == 0  # it may be written again
    bare = run.invoke(app, ["plan", "vacuum", "--judge", "m", "--out", "bare"])
    assert bare.exit_code == 0, bare.output
    simulate_replies(Plan.read("bare"), Judge("m")).to_json("bare.jsonl", orient="records", lines=True)
    assert "What else" not in run.invoke(app, ["collect", "bare", "bare.jsonl", "--out", "other.csv"]).output


def test_what_a_refused_text_costs_is_said_and_nothing_is_sent_twice(tmp_path, monkeypatch):
    """A refused reply to a stage is an answer: it is named, what comes after it is left out, and no rest asks it again."""
    from judgestats.design import Judge, Plan, simulate_replies

    monkeypatch.chdir(tmp_path)
    both = pd.DataFrame({"item": ["1", "1", "2", "2"], "system": ["u", "v"] * 2, "task_text": "Say hello."})
    both.assign(response_text="Hello " + both.index.astype(str)).to_csv("responses.csv", index=False)
    made = run.invoke(app, ["plan", "merg", "--responses", "responses.csv", "--judge", "g"])
    assert made.exit_code == 0, made.output
    said = simulate_replies(Plan.read("plan"), Judge("g"))
    knowledge = Plan.read("plan").calls.query("stage == 1 and prompt == 'merg_knowledge'")
    refused = knowledge.loc[knowledge["item"] == "1", "call"].item()
    said.loc[said["call"] == refused, "answer"] = "I'm sorry, but I can't help with that."
    other = pd.DataFrame({"call": ["c0123456789abcdef"], "answer": ["7"]})
    pd.concat([said, said.head(2), other]).to_json("one.jsonl", orient="records", lines=True)
    done = run.invoke(app, ["collect", "plan", "one.jsonl", "--report", "page.html"])
    assert done.exit_code == 0, done.output
    assert "What comes after 1 reply is left out: 1 (g, refused)" in done.output
    assert "3 records not used (the call was answered before: 2; the call is not of this plan: 1)" in done.output
    assert "Next: 1 call of stage 2: plan/stage2/calls.jsonl" in done.output
    again = run.invoke(app, ["collect", "plan", "one.jsonl"])  # before anything of stage 2 is back
    assert again.exit_code == 0, again.output
    assert "1 call not back yet: plan/stage2" in again.output
    for stage in (2, 3, 4):
        simulate_replies(Plan.read(f"plan/stage{stage}"), Judge("g")).to_json(
            f"stage{stage}.jsonl", orient="records", lines=True
        )
        done = run.invoke(app, ["collect", "plan", f"stage{stage}.jsonl", "--report", "page.html"])
        assert done.exit_code == 0, done.output
        assert "What comes after 1 reply is left out: 1 (g, refused)" in done.output
    assert "Report: page.html" in done.output
    rows = pd.read_csv("verdicts.csv").query("condition == 'original-4-stage'")
    assert rows.groupby("item")["status"].unique().map(list).to_dict() == {1: ["refused"], 2: ["ok"]}
    assert not list((tmp_path / "plan").glob("rest*"))


@pytest.mark.parametrize("study", [["vacuum"], ["merg", "--responses", "responses.csv"]])
def test_answers_of_another_plan_alone_are_refused(study, tmp_path, monkeypatch):
    """Of a plan with stages, too."""
    monkeypatch.chdir(tmp_path)
    texts = pd.DataFrame({"item": "1", "system": ["u", "v"], "task_text": "Hello.", "response_text": ["a", "b"]})
    texts.to_csv("responses.csv", index=False)
    assert run.invoke(app, ["plan", *study, "--judge", "g"]).exit_code == 0
    pd.DataFrame({"call": ["c0123456789abcdef"], "answer": ["7"]}).to_json("x.jsonl", orient="records", lines=True)
    done = run.invoke(app, ["collect", "plan", "x.jsonl"])
    assert done.exit_code == 2
    assert "None of the 1 answers belongs to a call of the plan" in words(done)
    assert "x.jsonl" not in (tmp_path / "plan" / "manifest.json").read_text()


def test_a_study_in_stages_is_planned_asked_and_collected(tmp_path, monkeypatch):
    """Each stage is written into the plan's folder, and all answers are collected together."""
    from judgestats.design import Judge, Plan, simulate_replies

    monkeypatch.chdir(tmp_path)
    pairs = pd.DataFrame({"item": ["07", "08"], "first": "u", "second": "v", "task_text": "Sum up: ..."})
    pairs.assign(first_text="It rose by 3 %.", second_text=["By 3 % it rose.", ""]).to_csv("pairs.csv", index=False)
    made = run.invoke(app, ["plan", "cues", "--pairs", "pairs.csv", "--judge", "m", "--out", "plan"])
    assert made.exit_code == 0, made.output
    assert "24 calls, and 22 that come after them" in made.output
    assert set(Plan.read("plan").calls["item"]) == {"07", "08"}
    asked = Plan.read("plan")
    for stage, n in ((1, 24), (2, 12), (3, 8), (4, 2)):
        assert len(asked) == n
        simulate_replies(asked, Judge("m")).to_json(f"answers{stage}.jsonl", orient="records", lines=True)
        if stage < 4:
            assert f"Then: judgestats {'next' if stage > 1 else 'collect'} plan ANSWERS" in made.output
            made = run.invoke(app, ["next", "plan", "answers*.jsonl"])
            assert made.exit_code == 0, made.output
            asked = Plan.read(f"plan/stage{stage + 1}")
    assert "Then: judgestats collect plan ANSWERS" in made.output
    done = run.invoke(app, ["collect", "plan", "answers*.jsonl"])
    assert done.exit_code == 0, done.output
    assert "30 rows: 30 used, 0 excluded" in done.output
    found = pd.read_csv("verdicts.csv")
    assert found.groupby(["scheme", "probe"]).size().tolist() == [2] * 15
    more = run.invoke(app, ["next", "plan", "answers*.jsonl"])
    assert "no later stage" in words(more)
    lacking = run.invoke(app, ["plan", "cues", "--judge", "m"])
    assert "needs --pairs FILE" in words(lacking)
    too_much = run.invoke(app, ["plan", "vacuum", "--judge", "m", "--pairs", "pairs.csv"])
    assert "--pairs is not an option of the study" in words(too_much)


def test_rubrics_of_the_judges_are_planned_in_stages(tmp_path, monkeypatch):
    """MERG by its variants; a rubric written by one judge is given to another from a file."""
    from judgestats.design import Judge, Plan, generated_rubrics, simulate_replies

    monkeypatch.chdir(tmp_path)
    texts = pd.DataFrame({"item": ["07", "07", "08"], "system": ["1", "2", "1"], "response_text": ["a", "", "c"]})
    texts.assign(task_text="Write on " + texts["item"] + ".").to_csv("responses.csv", index=False)
    command = ["plan", "merg", "--responses", "responses.csv", "--judge", "m", "--out", "plan"]
    made = run.invoke(app, [*command, "--variant", "shared-stages", "--rubric-judge", "k"])
    assert made.exit_code == 0, made.output
    assert "2 calls, and 7 that come after them" in made.output
    asked = Plan.read("plan")
    for stage, n in ((1, 2), (2, 2), (3, 2), (4, 3)):
        assert len(asked) == n
        assert set(asked.calls["judge"]) == {"m" if stage == 4 else "k"}
        judge = Judge("m" if stage == 4 else "k")
        simulate_replies(asked, judge).to_json(f"answers{stage}.jsonl", orient="records", lines=True)
        if stage < 4:
            made = run.invoke(app, ["next", "plan", "answers*.jsonl"])
            assert made.exit_code == 0, made.output
            asked = Plan.read(f"plan/stage{stage + 1}")
    done = run.invoke(app, ["collect", "plan", "answers*.jsonl"])
    assert done.exit_code == 0, done.output
    found = pd.read_csv("verdicts.csv", dtype={"item": str})
    assert found.groupby(["item", "system"]).size().tolist() == [5, 5, 5]
    assert found["weight"].sum() == pytest.approx(3)
    rubrics = generated_rubrics("plan", "answers*.jsonl")
    rubrics.to_csv("rubrics.csv", index=False)
    given = ["plan", "merg", "--responses", "responses.csv", "--judge", "j", "--variant", "universal-rubric"]
    made = run.invoke(app, [*given, "--rubrics", "rubrics.csv", "--out", "given"])
    assert made.exit_code == 0, made.output
    shown = [user for *_, user in Plan.read("given").messages()]
    assert [rubrics.loc[0, "criterion"] in text for text in shown[:2]] == [True, True]
    made = run.invoke(app, [*given[:-1], "baseline-score", "--rubrics", "writing", "--out", "baseline"])
    assert made.exit_code == 0, made.output
    assert "needs --responses FILE" in words(run.invoke(app, ["plan", "merg", "--judge", "m"]))
    wrong = run.invoke(app, ["plan", "vacuum", "--judge", "m", "--variant", "5-dim-per-dim"])
    assert "--variant is not an option of the study 'vacuum'" in words(wrong)
    wrong = run.invoke(app, [*command, "--prompt", "merg_scores"])
    assert "--prompt is not an option of the study 'merg'" in words(wrong)


@pytest.mark.parametrize("which", ["verdicts.csv", "verdicts.estimates.csv", "page.html", "rest", "rest/form.html"])
def test_whatever_stands_in_the_way_is_said_before_anything_is_written(tmp_path, monkeypatch, which):
    from judgestats.design import Judge, Plan, simulate_replies, vacuum

    monkeypatch.chdir(tmp_path)
    run.invoke(app, ["plan", "vacuum", "--judge", "m"])
    simulate_replies(Plan.read("plan"), Judge("m"), error=0.1).to_json("a.jsonl", orient="records", lines=True)
    if which == "rest":
        vacuum("other", calls=6).write("rest")
    else:
        (tmp_path / which).parent.mkdir(exist_ok=True)
        (tmp_path / which).write_text("mine")
    before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    page = "rest/form.html" if "/" in which else "page.html"
    refused = run.invoke(app, ["collect", "plan", "a.jsonl", "--report", page, "--left", "rest"])
    assert refused.exit_code == 2
    assert which in words(refused)
    after = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file() and "plan/" not in str(p)}
    assert after == {p: content for p, content in before.items() if "plan/" not in str(p)}


@pytest.mark.parametrize(
    "page", ["verdicts.csv", "verdicts.estimates.csv", "a.jsonl", "plan/calls.jsonl", "plan/texts.jsonl"]
)
def test_the_page_goes_over_no_table_and_no_file_of_the_plan(tmp_path, monkeypatch, page):
    from judgestats.design import Judge, Plan, simulate_replies

    monkeypatch.chdir(tmp_path)
    run.invoke(app, ["plan", "vacuum", "--judge", "m"])
    simulate_replies(Plan.read("plan"), Judge("m")).to_json("a.jsonl", orient="records", lines=True)
    before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    refused = run.invoke(app, ["collect", "plan", "a.jsonl", "--report", page, "--overwrite"])
    assert refused.exit_code == 2
    assert "is a file that was read" in words(refused)
    assert {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()} == before


@pytest.mark.parametrize(
    "options",
    [
        ["--report", "rest/calls.jsonl", "--left", "rest"],
        ["--report", "rest/manifest.json", "--left", "rest"],
        ["--report", "plan/rest/calls.jsonl"],
        ["--out", "rest/calls.jsonl", "--left", "rest"],
        ["--out", "plan/rest/texts.jsonl"],
        ["--out", "x/calls.csv", "--report", "x/page.html", "--left", "x/calls.estimates.csv"],
    ],
)
def test_nothing_goes_over_the_calls_left_and_nothing_is_written_then(tmp_path, monkeypatch, options):
    from judgestats.design import Judge, Plan, simulate_replies

    monkeypatch.chdir(tmp_path)
    run.invoke(app, ["plan", "vacuum", "--judge", "m", "--format", "jsonl"])
    simulate_replies(Plan.read("plan"), Judge("m"), error=0.1).to_json("a.jsonl", orient="records", lines=True)
    before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    refused = run.invoke(app, ["collect", "plan", "a.jsonl", "--overwrite", *options])
    assert refused.exit_code == 2, refused.output
    assert {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()} == before
