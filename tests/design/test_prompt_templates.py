"""Prompts: placeholders are checked, templates run in a sandbox, a change gives another digest."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pandas as pd
import pytest

from judgestats.design import STRATEGIES, Judge, Plan, Prompt, build, collect, prompt, prompts, simulate_replies, vacuum
from judgestats.design.checklist_tasks import checklists
from judgestats.design.prompt_templates import digest
from judgestats.design.rubrics import Rubric
from judgestats.errors import DesignError
from refusals import refused

TABLE = prompts()


@pytest.mark.parametrize("name", TABLE["name"])
def test_each_prompt_shows_its_values_and_has_a_valid_schema(name):
    one = prompt(name)
    values = {p: f"<{p}>" for p in one.placeholders}
    text = one.render(**values)
    assert all(v in text for v in values.values())
    if one.frame == "texts":
        assert "verdict" not in one.schema.get("properties", {})
        return
    if one.frame in ("ratings", "rankings"):
        return
    answers = one.schema["properties"]["verdict"]["enum"]
    assert ("tie" in map(str.lower, answers)) is one.ties_allowed
    assert all(json.dumps(a) in text for a in answers)


@pytest.mark.parametrize("name", TABLE["name"])
def test_each_prompt_says_what_is_the_papers_and_what_is_ours(name):
    one, row = prompt(name), TABLE.set_index("name").loc[name]
    assert one.ours
    assert one.paper.startswith(
        ("merchant_risk", "debiasing", "dark_current", "consensus_illusion", "rationalization", "None")
    )
    assert (row["paper"], row["ours"]) == (one.paper, one.ours)
    columns = list(TABLE)
    assert columns.index("ours") == columns.index("paper") + 1  # side by side


def test_the_baselines_say_nothing_on_length_or_place_and_the_naive_one_asks_for_reasoning():
    naive, datasheet = prompt("minimal"), prompt("pairwise")
    assert {STRATEGIES[s].prompt for s in ("B0", "S1", "S2", "S3")} == {"minimal"}
    for one in (naive, datasheet):
        assert not re.search(
            r"\b(long|length|short|order|position|place|stand|first|bias)\b",
            f"{one.system}\n{one.user}".replace("{{ first }}", ""),
        )
    assert list(naive.schema["properties"]) == ["reasoning", "verdict"]
    assert naive.system == ""
    assert "may be equally good" in datasheet.user
    assert "tie is allowed" in datasheet.user
    assert list(datasheet.schema["properties"]) == ["verdict"]  # no reasoning
    strict = prompt("pairwise_strict")
    assert strict.system == datasheet.system  # only the criterion differs
    assert all(word in strict.user for word in ("wording", "style", "fluency", "length", "form"))


def test_the_expert_of_the_rubric_has_a_role_rules_and_six_steps():
    one = prompt("rubric_expert")
    assert "leading expert" in one.system
    assert re.findall(r"^Rule (\d)", one.system, re.M) == ["1", "2"]
    assert re.findall(r"^Step (\w)", one.system, re.M) == list("ABCDEF")


def test_a_plan_with_an_older_text_of_a_prompt_is_read_and_collected(tmp_path):
    """The folder holds its prompts: the digest is that of the text that was asked."""
    system = "You compare two responses to the same task. You judge what they say, not how long they are or where they stand."
    old = replace(prompt("pairwise"), system=system)
    plan = vacuum("m", calls=6, prompts=old)
    plan.write(tmp_path / "plan")
    again = Plan.read(tmp_path / "plan")
    assert again.prompts["pairwise"].digest == old.digest != prompt("pairwise").digest
    manifest = json.loads((tmp_path / "plan" / "prompts.json").read_text())
    for record in manifest if isinstance(manifest, list) else manifest.values():
        for field in ("paper", "ours", "by_scores"):  # of plans from before these fields
            record.pop(field)
    assert Prompt(**{**record, "schema": record["schema"]}).digest == old.digest
    answers = simulate_replies(again, Judge("m")).to_dict("records")
    assert (collect(tmp_path / "plan", answers)["status"] == "ok").all()
    with pytest.raises(DesignError, match="different prompts named 'pairwise'"):
        again + vacuum("m", calls=6)


def test_a_verdict_that_ranks_the_summaries_is_read_by_what_its_prompt_says():
    pairs = pd.DataFrame({"item": ["1", "2", "3"], "first": "llm", "second": "old", "task_text": "A document.",
                          "first_text": "One.", "second_text": "Two."})  # fmt: skip
    verdicts = ("[1,2]", "[2,1]", "Tie")
    for name in ("as_listed", "as_listed_criteria"):
        plan = build(pairs, judges="m", prompts=name)
        calls = plan.calls
        replies = [json.dumps({"verdict": v, "explanation": "x"}) for v in verdicts * 2]
        data = collect(plan, [{"call": c, "answer": r} for c, r in zip(calls["call"], replies, strict=True)])
        assert data["choice"].astype(str).tolist() == ["first", "second", "tie"] * 2
        assert set(data["status"]) == {"ok"}
    plan = build(pairs, judges="m", prompts="labelled", orders="as given")  # it shows A and B
    answers = [{"call": c, "answer": json.dumps({"verdict": "[1,2]", "explanation": "x"})} for c in plan.calls["call"]]
    assert set(collect(plan, answers)["choice"].astype(str)) == {"invalid"}
    assert set(collect(plan, answers, labels={"[1,2]": "first"})["choice"].astype(str)) == {"first"}


@pytest.mark.parametrize(
    ("user", "message"),
    [
        ("{{ first }}", "does not show {{ second }}"),
        ("{{ first }} {{ second }} {{ gold }}", "'gold', which a plan does not fill in"),
        ("{{ first }} {{ second", "not a valid template"),
        ("{{ first }}\n{% for x in range(10**9) %}x{% endfor %}{{ second }}", "line 2 .* uses For. Allowed"),
        ("{{ first.__class__.__mro__ }} {{ second }}", "uses Getattr"),
        ("{{ first }} {{ second }} {{ 1/0 }}", "uses Div"),
        ("{{ first }} {{ second }} {{ 'x' * 10**10 }}", "uses Mul"),
        ("{{ first }} {{ second }} {{ '%1000000000d' | format(1) }}", "uses Filter format"),
        ("{{ first }} {{ second }} {{ '{:1000000000}'.format(1) }}", "uses Call"),
        ("{{ first | center(1000000000) }} {{ second }}", "uses Filter center"),
        ("{{ first | tojson(1000000000) }} {{ second }}", "uses Filter tojson"),
        ("{{ first | tojson(indent=1000000000) }} {{ second }}", "uses Keyword"),
        ("{{ first | replace('', second) | replace('', second) }} {{ second }}", "uses Filter replace"),
        ("{{ first }} {{ second }} {{ lipsum(1000000) }}", "uses Call"),
        ("{% macro m() %}{{ m() }}{{ m() }}{% endmacro %}{{ first }} {{ second }} {{ m() }}", "uses Macro"),
        ("{% set a = first ~ first %}{{ a }} {{ second }}", "uses Assign"),
        ("{{ first }} {{ second }} " + "{% if note %}" * 3000 + "{% endif %}" * 3000, "nested too deeply"),
        ("{{ first }} {{ second }} {{ " + "(" * 5000 + "note" + ")" * 5000 + " }}", "nested too deeply"),
        (
            "{{ first }} {{ second }} " + "{% if note %}" * 150 + "{% endif %}" * 150,
            "cannot be filled in|valid template",
        ),
        ("{{ first }} {{ second }} {{ " + "9" * 5000 + " }}", "not a valid template"),
        ("{% include 'x' %}{{ first }} {{ second }}", "uses Include"),
        ("{{ first }} {{ second }} {{ cycler }}", "'cycler', which a plan does not fill in"),
        ("{{ first }} {{ second | tojson | trim | tojson }}", "uses Filter tojson"),
        ("{{ first }} {{ second }}" * 101, "names placeholders 202 times"),
        ("{{ first }} {{ second }} {% if first > 3 %}{% endif %}", "cannot be filled in"),
    ],
)
def test_a_faulty_template_is_refused(user, message):
    """Before it runs: a template that is allowed ends, and shows no more than it was given."""
    with pytest.raises(DesignError, match=message):
        Prompt("mine", user).render(first="a", second="b", note="n")


def test_what_a_template_may_do():
    user = "{% if note %}{{ note | trim | upper }}{% elif first == 'a' %}-{% endif %}{{ first if first is defined }}{{ second }}"
    assert Prompt("mine", user).render(first="a", second="b", note=" n ") == "Nab"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = " + "[" * 5000 + "]" * 5000, "nested too deeply"),
        ("user = '{{ first }}{{ second }}'\nschema = '" + "[" * 200000 + "'", "nested too deeply"),
        ("user = '{{ first }}{{ second }}'\nschema = 3", "cannot be read"),
        ("user = 3", "does not show"),
        ("user = '{{ first }}{{ second }}'\nframe = 'pairs'", "frame='pairs' is not known"),
        ("x = " + "9" * 5000, "cannot be read"),
        (b"user = '\xff'", "not in UTF-8"),
        ('user = "x"\nschema = {type = "object"}', "JSON in quotes"),
    ],
)
def test_a_file_that_holds_no_prompt(tmp_path, text, message):
    path = tmp_path / "mine.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(DesignError, match=message):
        prompt(path)
    for rubric in (Rubric.read, checklists):
        with pytest.raises(DesignError, match=r"mine\.toml"):
            rubric(path)


def test_a_template_of_ones_own_from_a_file(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('user = "{{ first }} or {{ second }}?"\nties_allowed = false\n')
    mine = prompt(path)
    assert (mine.name, mine.ties_allowed, mine.render(first="x", second="{{ y }}")) == ("mine", False, "x or {{ y }}?")
    path.write_text("user = 3\n")
    refused(
        DesignError,
        (path, "'mine'"),
        ("pairwse", r"no prompt 'pairwse'.*Did you mean 'pairwise'"),
        of=prompt,
    )


def test_digests_tell_texts_apart():
    assert digest("ab", "c") != digest("a", "bc")
    assert Prompt("p", "{{ first }}{{ second }}").digest != Prompt("p", "{{ first }} {{ second }}").digest
    assert Prompt("p", "{{ first }}{{ second }}").digest == Prompt("q", "{{ first }}{{ second }}").digest
