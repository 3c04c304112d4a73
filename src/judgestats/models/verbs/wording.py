"""Random terms in the words of their formula."""

from __future__ import annotations

from judgestats.models.fitted import Fitted


def written(fit: Fitted, t: int) -> str:
    """Return a random term as it was written; one of ``||`` or ``/`` as what it stands for.

    Parameters
    ----------
    fit : Fitted
    t : int
        Number of the term.

    Returns
    -------
    str

    Examples
    --------
    >>> import pandas as pd
    >>> from judgestats.models.fitting import fit
    >>> calls = pd.DataFrame({"y": [1, 0, 1, 1] * 4, "x": range(16), "g": list("aabbccdd") * 2})
    >>> written(fit("y ~ x + (x | g)", calls), 0), written(fit("y ~ x + (x || g)", calls), 1)
    ('(x|g)', '(0 + x|g)')
    """
    formula = fit.design.formula
    part = formula.random[t]
    short = f"({part.expression.removeprefix('1 + ')}|{part.factor})"
    return short if short.replace(" ", "") in formula.source.replace(" ", "") else str(part)


def left_out(fit: Fitted, t: int, column: int) -> str:
    """Say how to write a model without a column of a random term.

    Parameters
    ----------
    fit : Fitted
    t, column : int

    Returns
    -------
    str
        ``Leave (1|item) out``, or ``Write (1|item) in place of (x|item)``.
    """
    names = fit.design.terms[t].names
    if len(names) == 1:
        return f"Leave {written(fit, t)} out"
    rest = [n for k, n in enumerate(names) if k != column]
    if not _plain(fit, t):
        return f"Leave {names[column]} of {written(fit, t)} out"
    return f"Write {_spelled(rest, fit.design.terms[t].factor)} in place of {written(fit, t)}"


def uncorrelated(fit: Fitted, t: int) -> str:
    """Write a random term without its correlations.

    Parameters
    ----------
    fit : Fitted
    t : int

    Returns
    -------
    str
        ``(x||item)``; of a term of categories ``(1|item) + (1|item:strategy)``.
    """
    term, left = fit.design.terms[t], fit.design.lefts[t]
    if not _plain(fit, t):
        return " + ".join([f"(1|{term.factor})", *(f"(1|{term.factor}:{c})" for c in left.factors)])
    return _spelled(list(term.names), term.factor, "||")


def _plain(fit: Fitted, t: int) -> bool:
    """Whether every column of a random term is a term of its formula by that name."""
    left = fit.design.lefts[t]
    return not left.factors and all(place.stop - place.start == 1 for place in left.terms.values())


def _spelled(names: list[str], factor: str, bar: str = "|") -> str:
    slopes = " + ".join(n for n in names if n != "Intercept")
    if "Intercept" not in names:
        return f"(0 + {slopes}{bar}{factor})"
    return f"({slopes or '1'}{bar}{factor})"
