"""Results of the bias models: fits, tidy estimates and tests."""

from __future__ import annotations

from dataclasses import dataclass, field

import pandas as pd

from judgestats import flags
from judgestats.models.fits import Fit
from judgestats.printed_results import SetText, ShownAsSummary


@dataclass(frozen=True, eq=False)
class VerdictModel(ShownAsSummary):
    """Result of a bias model.

    Attributes
    ----------
    question : str
        The question that the model answers.
    fits : dict of str to Fit
        Every fit behind the table, by name, with all methods of a fit.
    table : pandas.DataFrame
        Tidy estimates: grouping columns, the columns of :data:`judgestats.results.COLUMNS`, ``scale`` and others.
    tests : pandas.DataFrame
        One row per comparison: ``question``, ``compared`` (the two models), ``test`` (``LR``, ``Wald``, ``t`` or
        ``F``), ``statistic``, ``df``, ``df_error`` (of the denominator of F), ``p_value``, ``flag``.

    See Also
    --------
    Fit : Each of the fits.
    strategy_effects, position_bias_model, self_preference : Models that return it.

    Examples
    --------
    >>> import judgestats as js
    >>> counts = pd.DataFrame({"judge": "g", "strategy": ["B0", "B0", "S8", "S8"], "correct": [0, 1] * 2,
    ...                        "n": [40, 60, 20, 80]})
    >>> found = js.models.strategy_effects(counts, baseline="B0")
    >>> found.tidy()[["term", "scale", "estimate"]].round(2)
      term              scale  estimate
    0   S8           log-odds      0.98
    1   S8         odds ratio      2.67
    2   S8  percentage points     20.00
    """

    question: str
    fits: dict[str, Fit] = field(repr=False)
    table: pd.DataFrame
    tests: pd.DataFrame

    def tidy(self) -> pd.DataFrame:
        """Estimates, a row each.

        Returns
        -------
        pandas.DataFrame
            A copy of :attr:`table`.
        """
        return self.table.copy()

    def glance(self) -> pd.DataFrame:
        """Each fit in one row.

        Returns
        -------
        pandas.DataFrame
            ``fit`` (its name in :attr:`fits`) and the columns of :meth:`judgestats.models.Fit.glance`.
        """
        return self._each("glance")

    def check(self) -> pd.DataFrame:
        """Checks of the fits, with advice.

        Returns
        -------
        pandas.DataFrame
            ``fit`` (its name in :attr:`fits`) and the columns of :meth:`judgestats.models.Fit.check`.
        """
        return self._each("check")

    def _each(self, verb: str) -> pd.DataFrame:
        tables = {name: getattr(fit, verb)() for name, fit in self.fits.items()}
        return pd.concat([t.assign(fit=name)[["fit", *t.columns]] for name, t in tables.items()], ignore_index=True)

    def summary(self) -> str:
        """Question, estimates, comparisons and models as text.

        Returns
        -------
        str
        """
        return SetText(repr(self))

    def __repr__(self) -> str:
        """The question, the table and the tests as text; flags of every row are given once, below them."""
        estimates = self.table.drop(columns=[c for c in ("method",) if c in self.table]).dropna(axis=1, how="all")
        parts = [self.question, "", *_text_lines(estimates)]
        if len(self.tests):
            parts += ["", "Compared", *_text_lines(self.tests)]
        return "\n".join([*parts, "", "Models", *dict.fromkeys(_fit_line(f) for f in self.fits.values())])


def _fit_line(fit: Fit) -> str:
    """A fit in a line, with its notes."""
    return f"{fit.formula}  [{fit.family}, {fit.link}, {fit.method}]" + (
        f": {flags.join(*fit.notes)}" if fit.notes else ""
    )


def _text_lines(table: pd.DataFrame) -> list[str]:
    """A table as text, with the flags of all rows in a line below."""
    rows = [flags.flags_of(cell) for cell in table["flag"]]
    common = [f for f in (rows[0] if len(rows) > 1 else []) if all(f in row for row in rows)]
    printed = table.assign(flag=[str(flags.join(*(f for f in row if f not in common))) for row in rows])
    texts = printed.select_dtypes(exclude="number").columns
    printed[texts] = printed[texts].astype(object).where(printed[texts].notna(), "")
    printed = printed if printed["flag"].any() else printed.drop(columns="flag")
    return [printed.round(4).to_string(index=False), *([f"In every row: {flags.join(*common)}"] if common else [])]
