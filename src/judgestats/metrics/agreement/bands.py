"""Words for coefficients of agreement, by named bands: :func:`agreement_bands`."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import pandas as pd

from judgestats.arguments import checked_arguments
from judgestats.errors import DesignError, SchemaError, choose

Bands = Literal["landis_koch", "altman", "fleiss"]
#: Name -> source, and the words with the highest value of each, lowest first.
BANDS: dict[Bands, tuple[str, tuple[tuple[str, float], ...]]] = {
    "landis_koch": (
        "Landis and Koch 1977",
        (
            ("poor", -1e-12),
            ("slight", 0.2),
            ("fair", 0.4),
            ("moderate", 0.6),
            ("substantial", 0.8),
            ("almost perfect", 1),
        ),
    ),
    "altman": ("Altman 1991", (("poor", 0.2), ("fair", 0.4), ("moderate", 0.6), ("good", 0.8), ("very good", 1))),
    "fleiss": ("Fleiss 1981", (("poor", 0.39), ("fair to good", 0.75), ("excellent", 1))),
}
#: Terms that are coefficients of agreement beyond chance.
COEFFICIENTS = ("kappa", "pi", "ac1", "alpha")


@checked_arguments
def agreement_bands(
    estimates: pd.DataFrame, bands: Bands = "landis_koch", *, terms: tuple[str, ...] = COEFFICIENTS
) -> pd.DataFrame:
    """Add the usual words for a coefficient of agreement beyond chance, and for both ends of its interval.

    Parameters
    ----------
    estimates : pandas.DataFrame
        A result of :func:`kappa`, :func:`scott_pi`, :func:`ac1`, :func:`alpha` or :func:`gold_agreement`; or a printed
        table with a column of one of these names.
    bands : {'landis_koch', 'altman', 'fleiss'}
        Landis and Koch 1977 (as in the paper), Altman 1991, or Fleiss 1981.
    terms : tuple of str
        Terms that get words; rows of others are left without.

    Returns
    -------
    pandas.DataFrame
        The table with ``band``, ``band_low`` and ``band_high`` (of the ends of the interval, where there is one) and
        ``bands``, the source. NaN has no band.

    Raises
    ------
    SchemaError
        If there is neither an estimate nor a column of coefficients.
    DesignError
        If `bands` is not known, or a coefficient is above 1.

    See Also
    --------
    quality_agreement : Agreement against mean score.
    agreement_levels : Agreement on systems, items and scores.

    Notes
    -----
    Values are rounded to two decimals, as the limits of the bands are printed (0.21 to 0.40 is fair). The bands are
    conventions without a statistical basis, and kappa depends on how frequent the answers are: report the interval,
    whose ends are often in different bands.

    Source: debiasing paper, Table 6 (fair and moderate). Landis, J. R. and Koch, G. G. (1977). Biometrics 33, 159-174.

    Examples
    --------
    >>> rows = pd.DataFrame({"judge": ["g", "h"], "term": "kappa", "estimate": [0.35, 0.55], "conf_low": [0.2, 0.5],
    ...                      "conf_high": [0.5, 0.6]})
    >>> agreement_bands(rows)[["judge", "band", "band_low", "band_high", "bands"]]
      judge      band  band_low band_high                 bands
    0     g      fair    slight  moderate  Landis and Koch 1977
    1     h  moderate  moderate  moderate  Landis and Koch 1977
    """
    choose(bands, tuple(BANDS), "bands")
    source, limits = BANDS[bands]
    if "estimate" in estimates.columns:
        columns = {"band": "estimate", "band_low": "conf_low", "band_high": "conf_high"}
        rows = estimates["term"].isin(terms) if "term" in estimates.columns else pd.Series(True, index=estimates.index)
    else:
        coefficients = [c for c in terms if c in estimates.columns]
        if not coefficients:
            raise SchemaError(
                f"There is no coefficient of agreement. Columns: {', '.join(map(str, estimates.columns))}. Give a "
                f"result with 'estimate', or a column {', '.join(terms)}."
            )
        columns = {"band": coefficients[0]}
        rows = pd.Series(True, index=estimates.index)
    bands_of_ends = {
        name: [_word(float(v), limits) if yes else "" for v, yes in zip(estimates[column], rows, strict=True)]
        for name, column in columns.items()
        if column in estimates.columns
    }
    return estimates.assign(**bands_of_ends, bands=np.where(rows, source, ""))


def _word(value: float, limits: tuple[tuple[str, float], ...]) -> str:
    if math.isnan(value):
        return ""
    if value > 1 + 1e-9:
        raise DesignError(f"{value:g} is above 1, and no coefficient of agreement. Give kappas, not percentages.")
    rounded = value if value < 0 else math.floor(value * 100 + 0.5) / 100
    return next((word for word, top in limits if rounded <= top), limits[-1][0])
