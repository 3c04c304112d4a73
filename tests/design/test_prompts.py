"""Prompts: placeholders are checked, templates run in a sandbox, a change gives another digest."""

from __future__ import annotations

import json

import pytest

from judgestats.design import Prompt, prompt, prompts
from judgestats.design.checklists import checklists
from judgestats.design.prompts import digest
from judgestats.design.rubrics import Rubric
from judgestats.errors import DesignError


@pytest.mark.parametrize("name", prompts()["name"])
def test_each_prompt_shows_its_values_and_has_a_valid_schema(name):
    one = prompt(name)
    values = {p: f"<{p}>" for p in one.placeholders}
    text = one.render(**values)
    assert all(v in text for v in values.values())
    if one.frame == "texts":
        assert "verdict" not in one.schema.get("properties", {})
        return
    if one.frame == "ratings":
        return
    answers = one.schema["properties"]["verdict"]["enum"]
    assert ("tie" in answers) is one.ties_allowed
    assert all(json.dumps(a) in text for a in answers)


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
    with pytest.raises(DesignError, match="'mine'"):
        prompt(path)
    with pytest.raises(DesignError, match=r"no prompt 'pairwse'.*Did you mean 'pairwise'"):
        prompt("pairwse")


def test_digests_tell_texts_apart():
    assert digest("ab", "c") != digest("a", "bc")
    assert Prompt("p", "{{ first }}{{ second }}").digest != Prompt("p", "{{ first }} {{ second }}").digest
    assert Prompt("p", "{{ first }}{{ second }}").digest == Prompt("q", "{{ first }}{{ second }}").digest
