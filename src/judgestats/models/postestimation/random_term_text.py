"""Random terms as they are written in a formula, and as advice would write them."""

from __future__ import annotations

from judgestats.models.fitted_models import Fitted


def written(fit: Fitted, t: int) -> str:
    """Random term number t as it was written, with ``||`` and ``/`` expanded."""
    formula = fit.design.formula
    part = formula.random[t]
    short = f"({part.expression.removeprefix('1 + ')}|{part.factor})"
    return short if short.replace(" ", "") in formula.source.replace(" ", "") else str(part)


def left_out(fit: Fitted, t: int, column: int) -> str:
    """Advice on how to drop one column of a random term: ``Write (1|item) in place of (x|item)``."""
    names = fit.design.terms[t].names
    if len(names) == 1:
        return f"Leave {written(fit, t)} out"
    rest = [n for k, n in enumerate(names) if k != column]
    if not _plain(fit, t):
        return f"Leave {names[column]} of {written(fit, t)} out"
    return f"Write {_spelled(rest, fit.design.terms[t].factor)} in place of {written(fit, t)}"


def uncorrelated(fit: Fitted, t: int) -> str:
    """A random term without its correlations, ``(x||item)``; of one of categories ``(1|item) + (1|item:strategy)``."""
    term = fit.design.terms[t]
    if not _plain(fit, t):
        return " + ".join([f"(1|{term.factor})", *(f"(1|{term.factor}:{c})" for c in term.coder.factors)])
    return _spelled(list(term.names), term.factor, "||")


def _plain(fit: Fitted, t: int) -> bool:
    """Whether every column of a random term is a term of its formula by that name."""
    left = fit.design.terms[t].coder
    return not left.factors and all(place.stop - place.start == 1 for place in left.terms.values())


def _spelled(names: list[str], factor: str, bar: str = "|") -> str:
    slopes = " + ".join(n for n in names if n != "Intercept")
    if "Intercept" not in names:
        return f"(0 + {slopes}{bar}{factor})"
    return f"({slopes or '1'}{bar}{factor})"
