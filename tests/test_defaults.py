"""Number of resamples, confidence level and seed stand once: in judgestats.defaults."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest

import judgestats as js
from judgestats import defaults

SHARED = {"conf_level": defaults.CONF_LEVEL, "n_resamples": defaults.N_RESAMPLES, "seed": defaults.SEED}
PUBLIC = [name for name in dir(js) if inspect.isfunction(getattr(js, name))]


@pytest.mark.parametrize("name", PUBLIC)
def test_public_functions_have_the_shared_defaults(name: str) -> None:
    for option, parameter in inspect.signature(getattr(js, name)).parameters.items():
        if option in SHARED and parameter.default is not inspect.Parameter.empty:
            assert parameter.default in (SHARED[option], None), option


@pytest.mark.parametrize("path", sorted(Path("src").rglob("*.py")), ids=lambda p: p.stem)
def test_no_signature_and_no_field_repeats_a_default(path: Path) -> None:
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef):
            at = node.args
            named = [*at.posonlyargs, *at.args]
            pairs = [*zip(named[len(named) - len(at.defaults) :], at.defaults, strict=True)]
            pairs += zip(at.kwonlyargs, at.kw_defaults, strict=True)
            found += [(node.name, a.arg) for a, d in pairs if a.arg in SHARED and _number(d)]
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found += [("field", node.target.id)] if node.target.id in SHARED and _number(node.value) else []
    assert not found


def _number(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


@pytest.mark.parametrize("path", sorted(Path("src").rglob("*.py")), ids=lambda p: p.stem)
def test_what_ties_and_invalid_may_be_stands_in_one_place(path: Path) -> None:
    """In judgestats.schema.patterns: no signature spells them again, and no check lists them."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.arg) and node.arg in {"ties", "invalid"} and node.annotation is not None:
            found += [node.lineno] if "Literal" in ast.unparse(node.annotation) else []
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "choose":
            about = ast.unparse(node.args[2]).strip("'")
            found += [node.lineno] if about in {"ties", "invalid"} and isinstance(node.args[1], ast.Tuple) else []
    assert not found
