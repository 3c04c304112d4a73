"""Number of resamples, confidence level and seed stand once, and one check refuses what is no confidence level."""

from __future__ import annotations

import ast
import inspect
import math
from pathlib import Path

import pandas as pd
import pytest

import judgestats as js
from judgestats import defaults
from judgestats.errors import DesignError
from judgestats.models.bayes.draws import Draws
from judgestats.models.fits import Fit

SHARED = {"conf_level": defaults.CONF_LEVEL, "n_resamples": defaults.N_RESAMPLES, "seed": defaults.SEED}
PUBLIC = [name for name in dir(js) if inspect.isfunction(getattr(js, name))]
#: Every public function and method with a confidence level, by its name.
LEVELLED = {
    f"{home.__name__}.{name}": function
    for home in (js, js.models, js.hierarchical, Fit, Draws)
    for name in dir(home)
    if not name.startswith("_")
    for function in [getattr(home, name)]
    if inspect.isfunction(function) and "conf_level" in inspect.signature(function).parameters
}


@pytest.fixture(scope="module")
def fitted() -> Fit:
    return js.fit("y ~ x", pd.DataFrame({"y": [0.0, 1.0, 3.0, 2.0], "x": [0.0, 1.0, 2.0, 3.0]}), family="gaussian")


@pytest.mark.parametrize("name", LEVELLED)
def test_what_is_no_confidence_level_is_refused_in_the_same_words(name: str, fitted: Fit) -> None:
    """Before anything else is looked at: the other arguments are nothing that could be used."""
    required = [p for p in inspect.signature(LEVELLED[name]).parameters.values() if p.default is p.empty]
    values = {p.name: fitted if p.name == "self" else object() for p in required}
    for level in (95, 100, 1, 1.0, 0, -1, math.nan, math.inf, "0.95", None, True, [0.9, 0.95]):
        with pytest.raises(DesignError, match="must be between 0 and 1") as refused:
            LEVELLED[name](**values, conf_level=level)
        assert str(refused.value).startswith(f"conf_level={level!r} ")
        assert ("Did you mean 0.95?" in str(refused.value)) == (level == 95)


@pytest.mark.parametrize("name", PUBLIC)
def test_public_functions_have_the_shared_defaults(name: str) -> None:
    for option, parameter in inspect.signature(getattr(js, name)).parameters.items():
        if option in SHARED and parameter.default is not inspect.Parameter.empty:
            assert parameter.default in (SHARED[option], None), option


@pytest.fixture(scope="module")
def nodes() -> list[tuple[Path, ast.AST]]:
    """Every node of every module, with its file."""
    return [(path, n) for path in sorted(Path("src").rglob("*.py")) for n in ast.walk(ast.parse(path.read_text()))]


def test_no_signature_and_no_field_repeats_a_default(nodes: list[tuple[Path, ast.AST]]) -> None:
    found = []
    for path, node in nodes:
        if isinstance(node, ast.FunctionDef):
            at = node.args
            named = [*at.posonlyargs, *at.args]
            pairs = [*zip(named[len(named) - len(at.defaults) :], at.defaults, strict=True)]
            pairs += zip(at.kwonlyargs, at.kw_defaults, strict=True)
            found += [(path, node.name, a.arg) for a, d in pairs if a.arg in SHARED and _number(d)]
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found += [(path, "field", node.target.id)] if node.target.id in SHARED and _number(node.value) else []
    assert not found


def _number(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


def test_what_ties_and_invalid_may_be_stands_in_one_place(nodes: list[tuple[Path, ast.AST]]) -> None:
    """In judgestats.counting.patterns: no signature spells them again, and no check lists them."""
    found = []
    for path, node in nodes:
        if isinstance(node, ast.arg) and node.arg in {"ties", "invalid"} and node.annotation is not None:
            found += [(path, node.lineno)] if "Literal" in ast.unparse(node.annotation) else []
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "choose":
            about = ast.unparse(node.args[2]).strip("'")
            again = about in {"ties", "invalid"} and isinstance(node.args[1], ast.Tuple)
            found += [(path, node.lineno)] if again else []
    assert not found
