"""docs/public_surface.txt is the surface of the package, and CHANGELOG.md names what changed in it."""

from __future__ import annotations

from enum import IntEnum

import griffe
import public_surface
import pytest
import same_results
from public_surface import Fact

import judgestats as js
from judgestats import cli

PAGE = public_surface.PAGE.read_text(encoding="utf-8")
SAME, ADDED, GONE = public_surface.parts(PAGE)
AGAIN = "docs/public_surface.txt is not what the package has. Run python benchmarks/public_surface.py. What changed:"
TELL = "Give each a line in the newest section of CHANGELOG.md, with the names between backticks:"


def of_kinds(*kinds):
    return {fact for fact in SAME | ADDED if fact.kind in kinds}


def columns():
    """Columns of every result, as the file has them."""
    listed = {}
    for fact in of_kinds("column"):
        listed.setdefault(fact.where, []).append(fact.name)
    return listed


def assert_surface(columns):
    """Fail, with what changed, where the package is not what the file says."""
    changed = public_surface.changes(SAME | ADDED, public_surface.surface(columns))
    if changed:
        pytest.fail("\n".join([AGAIN, *changed]), pytrace=False)


def announced(changelog, before, now):
    return public_surface.unannounced(now - before, before - now, f"# Changelog\n\n## 0.1.0\n\n{changelog}\n")


@pytest.mark.slow
def test_the_file_is_the_surface():
    assert_surface(public_surface.columns_of_results())


@pytest.fixture(scope="module")
def in_python():
    """The facts of the package's own names, which neither columns nor the command line change."""
    return {*public_surface.of_python()}


def test_the_file_is_the_surface_but_for_columns_that_take_long(monkeypatch, in_python):
    monkeypatch.setattr(public_surface, "of_python", lambda: in_python)  # once for all tests here
    assert_surface(columns())


def fails_with(changed, columns):
    with pytest.raises(pytest.fail.Exception) as failed:
        assert_surface(columns)
    assert str(failed.value).splitlines()[1:] == changed


def test_a_planted_rename_of_a_parameter_fails(monkeypatch):
    alpha = public_surface.package()["metrics.agreement.krippendorff.alpha"]
    monkeypatch.setattr(alpha.parameters["conf_level"], "name", "level")
    fails_with(
        [
            "- parameter | judgestats.alpha | conf_level | = 0.95 (keyword-only)",
            "+ parameter | judgestats.alpha | level | = 0.95 (keyword-only)",
        ],
        columns(),
    )


def test_a_planted_rename_of_a_column_fails(monkeypatch, in_python):
    def renamed():
        yield "consistency", js.consistency(same_results.calls()).rename(columns={"conf_low": "lower"})

    monkeypatch.setattr(public_surface, "of_python", lambda: in_python)
    monkeypatch.setattr(same_results, "of_measures", renamed)
    monkeypatch.setattr(same_results, "of_models", lambda: iter(()))
    monkeypatch.setattr(same_results, "of_tables", lambda: iter(()))
    fails_with(
        ["- column | consistency | conf_low", "+ column | consistency | lower"],
        columns() | public_surface.columns_of_results(),
    )


def test_a_planted_exit_code_fails(monkeypatch, in_python):
    monkeypatch.setattr(public_surface, "of_python", lambda: in_python)
    monkeypatch.setattr(cli, "ExitCode", IntEnum("ExitCode", {"NOT_HELD": 1, "REFUSED": 3}))
    fails_with(["- exit code | judgestats | refused | 2", "+ exit code | judgestats | refused | 3"], columns())


def test_the_changelog_names_what_changed_since_the_release():
    missing = public_surface.unannounced(ADDED, GONE, public_surface.CHANGELOG.read_text(encoding="utf-8"))
    assert not missing, "\n".join([TELL, *missing])


def test_the_file_is_in_order_and_says_what_the_release_had():
    assert public_surface.page(SAME | ADDED, SAME | GONE) == PAGE


def test_every_kind_of_fact_is_there():
    kinds = {"function", "parameter", "class", "attribute", "column", "flag", "level", "reason", "format", "command"}
    kinds |= {"argument", "option", "exit code", "entry point", "extra", "requires"}
    assert kinds <= {fact.kind for fact in SAME | ADDED}


def test_defaults_are_values_not_names_of_constants():
    facts = set(
        public_surface.of_object(
            "judgestats", "alpha", public_surface.package()["metrics.agreement.krippendorff.alpha"]
        )
    )
    assert Fact("parameter", "judgestats.alpha", "conf_level", "= 0.95 (keyword-only)") in facts


def test_a_renamed_parameter_is_seen(tmp_path):
    def facts(code):
        return set(public_surface.of_object("judgestats", "kappa", griffe.visit("m", tmp_path / "m.py", code)["kappa"]))

    before, now = facts("def kappa(data, *, by=()): ..."), facts("def kappa(data, *, within=()): ...")
    lines = [
        "- parameter | judgestats.kappa | by | = () (keyword-only)",
        "+ parameter | judgestats.kappa | within | = () (keyword-only)",
    ]
    assert public_surface.changes(before, now) == lines
    assert announced("- `accuracy`: `by=` is `within=`.", before, now) == lines
    assert announced("- kappa: by is within.", before, now) == lines
    assert announced("- `kappa`: `by=` is\n  `within=`.", before, now) == []


def test_a_new_default_is_seen():
    before = of_kinds("parameter")
    old = next(fact for fact in before if fact.where == "judgestats.alpha" and fact.name == "conf_level")
    now = before - {old} | {old._replace(value="= 0.9 (keyword-only)")}
    assert len(announced("- `kappa`", before, now)) == 2
    assert announced("- `alpha(conf_level=0.9)` is the default", before, now) == []


def test_a_renamed_column_is_seen():
    before = of_kinds("column")
    (old,) = (fact for fact in before if fact.where == "consistency" and fact.name == "conf_low")
    now = before - {old} | {old._replace(name="lower")}
    assert public_surface.changes(before, now) == [
        "- column | consistency | conf_low",
        "+ column | consistency | lower",
    ]
    assert announced("- `consistency`: more", before, now) == public_surface.changes(before, now)
    everywhere = {fact._replace(name="lower") if fact.name == "conf_low" else fact for fact in before}
    assert announced("- The column `conf_low` is `lower`.", before, everywhere) == []


def test_another_exit_code_is_seen(monkeypatch):
    before = {fact for fact in public_surface.of_commands() if fact.kind == "exit code"}
    assert before == of_kinds("exit code")
    monkeypatch.setattr(cli, "ExitCode", IntEnum("ExitCode", {"NOT_HELD": 1, "REFUSED": 3}))
    now = {fact for fact in public_surface.of_commands() if fact.kind == "exit code"}
    changed = ["- exit code | judgestats | refused | 2", "+ exit code | judgestats | refused | 3"]
    assert public_surface.changes(before, now) == changed
    assert announced("- Other things", before, now) == changed
    assert announced("- Data that are not understood: exit code `3` in place of `2`", before, now) == []


def test_what_belongs_to_a_new_name_is_announced_with_it():
    now = {Fact("function", "judgestats", "omega"), Fact("parameter", "judgestats.omega", "data")}
    assert announced("- `omega` measures", set(), now) == []
    assert announced("- `alpha` measures", set(), now) == ["+ function | judgestats | omega"]


def test_a_change_that_was_announced_is_marked_until_the_release():
    old, new = Fact("flag", "note", "old"), Fact("flag", "note", "new")
    text = public_surface.page({new}, {old})
    assert text.splitlines()[2:] == ["+ flag | note | new", "- flag | note | old"]
    assert public_surface.parts(text) == (set(), {new}, {old})
