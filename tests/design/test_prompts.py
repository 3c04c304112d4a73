"""Prompts: placeholders are checked, templates run in a sandbox, a change gives another digest."""

from __future__ import annotations

import json

import pytest

from judgestats.design import Prompt, prompt, prompts
from judgestats.design.prompts import digest
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
        ("{{ first }} {{ second }} {% for x in range(10**9) %}x{% endfor %}", "cannot be filled in|Range too big"),
        ("{{ first.__class__.__mro__ }} {{ second }}", "cannot be filled in"),
    ],
)
def test_a_faulty_template_is_refused(user, message):
    with pytest.raises((DesignError, OverflowError), match=message):
        Prompt("mine", user).render(first="a", second="b")


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
