"""Profile of a judge by rules whose thresholds are arguments: :func:`profile`."""

from __future__ import annotations

import pandas as pd

from judgestats.arguments import checked_arguments
from judgestats.errors import SchemaError


@checked_arguments
def profile(estimates: pd.DataFrame, *, dark: float = 0.05, high: float = 0.5, dominant: float = 0.9) -> pd.DataFrame:
    """Describe each judge by its dark current and its Δ0 mechanisms.

    The dark_current paper prints such profiles without thresholds; these rules reproduce its three labels from its
    numbers.

    Parameters
    ----------
    estimates : pandas.DataFrame
        Rows of :func:`dark_current` and :func:`delta0`, stacked, or a :func:`datasheet`.
    dark : float
        Largest dark current of a clean judge.
    high : float
        Smallest raw false preference that counts as high.
    dominant : float
        Smallest dominant share: of one-sided pairs among those with a preference, or of one mechanism among pairs with
        preferences in both orders.

    Returns
    -------
    pandas.DataFrame
        ``judge`` (and ``prompt``, where the rows have it), ``profile`` and ``because``: its numbers. A judge without
        both measurements is ``not determined``.

    See Also
    --------
    datasheet : Everything about each judge.
    delta0 : Parts of false preference between equals.

    Examples
    --------
    >>> rows = pd.DataFrame({"judge": "Llama8B", "estimate": [0.6667, 1.0, 0.0333, 0.9667], "term": ["dark_current",
    ...     "raw_false_preference", "stable_cross_sensitivity", "positional_false_preference"]})
    >>> profile(rows)["profile"].item()
    'Class B / Presentation-conflicted'
    """
    if not {"judge", "term", "estimate"} <= {*estimates.columns}:
        raise SchemaError(
            "profile describes estimates: rows with judge, term and estimate. Columns: "
            f"{', '.join(map(str, estimates.columns))}. Give the result of datasheet(calls), or those of "
            "dark_current(calls) and delta0(calls), stacked."
        )
    pooled = estimates
    if "section" in pooled.columns:
        pooled = pooled[pooled["section"].isin(["dark current", "Δ0"])]
    for kind in {"vacuum_kind", "detail"} & set(pooled.columns):
        pooled = pooled[(pooled["term"] != "dark_current") | pooled[kind].isin(["all", ""]) | pooled[kind].isna()]
    rows = []
    groups = ["judge", *(["prompt"] if "prompt" in pooled.columns else [])]
    for judge, of_judge in pooled.groupby(groups, sort=True, dropna=False):
        value = of_judge.drop_duplicates("term").set_index("term")["estimate"]
        needed = ("dark_current", "raw_false_preference", "stable_cross_sensitivity", "positional_false_preference")
        if not set(needed) <= set(value.index) or value[list(needed)].isna().any():
            missing = ", ".join(t for t in needed if t not in value.index or pd.isna(value[t]))
            rows.append((*judge, "not determined", f"not measured: {missing}"))
            continue
        dc, raw, stable, positional = (float(value[t]) for t in needed)
        because = f"DC = {dc:.3f}, RFP0 = {raw:.3f}, SCS = {stable:.3f}, PFP = {positional:.3f}"
        rows.append((*judge, _sketch(dc, raw, stable, positional, dark, high, dominant), because))
    others = sorted({*estimates["judge"].dropna().astype(str)} - {*pooled["judge"].astype(str)})
    rows += [(*[judge, None][: len(groups)], "not determined", "neither was measured") for judge in others]
    return pd.DataFrame(rows, columns=[*groups, "profile", "because"])


def _sketch(dc: float, raw: float, stable: float, positional: float, dark: float, high: float, dominant: float) -> str:
    clean = dc <= dark
    if raw < high:
        return "Clean Class A" if clean else "Class B"
    one_sided = 2 * (raw - stable - positional)  # by the identity
    both = stable + positional
    if one_sided >= dominant * (both + one_sided):
        mechanism = "One-sided"
    elif positional >= dominant * both:
        mechanism = "Presentation-conflicted"
    elif stable >= dominant * both:
        mechanism = "Stable cross-sensitive"
    else:
        mechanism = "Mixed stable-positional"
    return f"{'Class A-delta0' if clean else 'Class B'} / {mechanism}"
