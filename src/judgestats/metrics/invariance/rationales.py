"""Do explanations change, and lean to the label, where the verdict does not?"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import pandas as pd

from judgestats.errors import DesignError, choose
from judgestats.metrics.invariance.embeddings import Embed, Floats, Vectors, each_group, embedders, matched_rationales
from judgestats.metrics.invariance.sides import key_of
from judgestats.metrics.rates import rates
from judgestats.metrics.resampled import Bootstrap, ratio, resampled
from judgestats.results import NO_DATA, SMALL_N, estimates, flags
from judgestats.schema.clustering import column_of
from judgestats.schema.columns import By

NO_SAME = "no item with the same decision"
_EXTRA = ("embed", "n_same", "n_items")
#: Cosines that differ by less are equal.
_EQUAL = 1e-12


def rationale_shift(
    calls: Any,
    *,
    embed: Embed = None,
    blind: str = "blind",
    probe: str | None = None,
    distance: Literal["half", "full"] = "half",
    threshold: float | None = None,
    same_decision: bool = True,
    by: By = (),
    n_resamples: int = 2000,
    seed: int | np.random.Generator | None = 0,
    conf_level: float = 0.95,
) -> pd.DataFrame:
    """How far explanations move from blind to a probe on items whose verdict stays.

    Parameters
    ----------
    calls : frame
        Preferences with ``probe`` and ``rationale``.
    embed : callable or mapping, optional
        Function from n texts to an (n, d) array, or ``{name: function}`` for several side by side. By default TF-IDF
        fitted on the explanations at hand: all probes, judges and schemes of the call, each distinct text once.
    blind, probe : str
        The probe without a cue; the one to compare it with (all others by default).
    distance : {'half', 'full'}
        ``(1 - cos)/2``, in [0, 1], or ``1 - cos``, in [0, 2].
    threshold : float, optional
        Also the share of items that moved by *more* than this.
    same_decision : bool
        Only items with the same verdict in both, ties among them; False takes all items valid in both.
    by : str or sequence of str
        Further grouping columns.
    n_resamples, seed, conf_level
        Of the bootstrap of items, and coverage.

    Returns
    -------
    pandas.DataFrame
        Per judge, scheme, probe and embedder the terms ``drift`` (mean distance) and, with a `threshold`,
        ``drift_rate`` (Wilson), with the columns ``embed``, ``n_same`` (items with the same verdict) and ``n_items``
        (items with a valid verdict in both). ``n`` is the items compared. Items without a valid verdict in both, and
        those with an empty explanation or one without a vector (no word that the embedder knows), are set aside and
        counted in the flag.

    Raises
    ------
    DesignError
        If there are no explanations, no such probe, or an embedder returns another shape.

    Notes
    -----
    A distance has no scale of its own: what an unmoved explanation looks like depends on the embedder and on how
    a judge words the same twice. Compare probes, or a repeat of blind. With TF-IDF no cosine is negative, so that the
    halved distance is at most 0.5. The same-decision set is chosen by the verdicts and differs between schemes.

    Source: rationalization paper, Section IV.C e; it defines the measure for Flip, and prints no set size.

    Examples
    --------
    >>> calls = pd.DataFrame({"judge": "g", "item": ["1", "2"] * 2, "probe": ["blind"] * 2 + ["flip"] * 2, "first": "x",
    ...                       "second": "y", "choice": ["first", "tie", "first", "first"],
    ...                       "rationale": ["clear and short", "equal", "written by people", "better"]})
    >>> rationale_shift(calls)[["term", "estimate", "n", "embed", "n_same", "n_items"]]
        term  estimate    n  embed  n_same  n_items
    0  drift       0.5  1.0  tfidf     1.0      2.0
    """
    choose(distance, ("half", "full"), "distance")
    found, pairs = matched_rationales(calls, by, blind, probe, "rationale_shift")
    texts = [*pairs["text_blind"], *pairs["text"]]
    scale = 0.5 if distance == "half" else 1.0
    columns = [*found.groups, "probe"]
    plan = Bootstrap("percentile", ("item",), None, n_resamples, seed, conf_level)
    options: dict[str, Any] = {"conf_level": conf_level, "cluster": column_of(pairs)}
    inside = pairs["same"] if same_decision else pairs["valid"]
    rows = []
    for name, function in embedders(embed).items():
        cosine = Vectors(texts, function, name).cosine(pairs["text_blind"], pairs["text"])
        table = pairs.assign(_value=scale * (1 - cosine), _inside=inside)
        means = _means(table, columns, "drift", plan)
        if threshold is not None:
            known = table["_inside"] & table["_value"].notna()
            means += rates(table, columns, "drift_rate", table["_value"] > threshold, known, **options)
        rows += _described(means, table, columns, name, same_decision)
    return estimates(rows, columns, _EXTRA)


def rationale_alignment(
    calls: Any,
    *,
    favoured_text: str | Mapping[str, str],
    opposed_text: str | Mapping[str, str],
    embed: Embed = None,
    blind: str = "blind",
    probe: str | None = None,
    same_decision: bool = True,
    by: By = (),
    n_resamples: int = 2000,
    seed: int | np.random.Generator | None = 0,
    conf_level: float = 0.95,
) -> pd.DataFrame:
    """How often explanations are nearer to the favoured label's description than to the other's.

    Parameters
    ----------
    calls : frame
        Preferences with ``probe`` and ``rationale``.
    favoured_text, opposed_text : str or mapping
        Descriptions of the two labels, or ``{probe: description}``.
    embed, blind, probe, same_decision, by, n_resamples, seed, conf_level
        As in :func:`rationale_shift`. The default embedder is fitted on explanations and descriptions together.

    Returns
    -------
    pandas.DataFrame
        Per judge, scheme, probe and embedder ``alignment``: the mean, over items with the same verdict, of 1 where the
        explanation under the probe is nearer to `favoured_text`, 0 where it is nearer to `opposed_text`, 1/2 where
        neither is. And, over all items valid in both, ``cue_aligned``: the share that is strictly nearer to
        `favoured_text`, with ``cue_aligned_blind``, the same of the blind explanations. Columns as in
        :func:`rationale_shift`.

    Raises
    ------
    DesignError
        If there are no explanations, a probe has no description, or both descriptions are the same.

    Notes
    -----
    ``cue_aligned`` is this package's definition: the paper plots a *Cue-align %* and defines none. An explanation that
    shares no word with either description counts 1/2 in ``alignment`` and is not aligned; with TF-IDF that is common,
    so that the level follows the descriptions chosen. The blind value says what the level would be without the cue.

    Source: rationalization paper, Section IV.C d (LAI), defined for Flip.

    Examples
    --------
    >>> calls = pd.DataFrame({"judge": "g", "item": ["1", "2"] * 2, "probe": ["blind"] * 2 + ["flip"] * 2, "first": "x",
    ...                       "second": "y", "choice": "first",
    ...                       "rationale": ["short", "clear", "a fluent language model", "clear"]})
    >>> result = rationale_alignment(calls, favoured_text="language model", opposed_text="extractive system")
    >>> result[["term", "estimate", "n", "n_same"]]
                    term  estimate    n  n_same
    0          alignment      0.75  2.0     2.0
    1        cue_aligned      0.50  2.0     2.0
    2  cue_aligned_blind      0.00  2.0     2.0
    """
    found, pairs = matched_rationales(calls, by, blind, probe, "rationale_alignment")
    fav, opp = (
        _described_by(t, pairs, a) for t, a in ((favoured_text, "favoured_text"), (opposed_text, "opposed_text"))
    )
    if not all([*fav, *opp]):
        raise DesignError("A description in favoured_text= or opposed_text= is empty: nothing can be near to it.")
    if any(f == o for f, o in zip(fav, opp, strict=True)):
        raise DesignError("favoured_text= and opposed_text= are the same: no explanation is nearer to one.")
    texts = [*pairs["text_blind"], *pairs["text"], *fav, *opp]
    columns = [*found.groups, "probe"]
    plan = Bootstrap("percentile", ("item",), None, n_resamples, seed, conf_level)
    options: dict[str, Any] = {"conf_level": conf_level, "cluster": column_of(pairs)}
    inside = pairs["same"] if same_decision else pairs["valid"]
    rows = []
    for name, function in embedders(embed).items():
        vectors = Vectors(texts, function, name)
        score, base = (
            _alignment(vectors.cosine(pairs[c], fav), vectors.cosine(pairs[c], opp)) for c in ("text", "text_blind")
        )
        table = pairs.assign(_value=score, _inside=inside)
        here = _means(table, columns, "alignment", plan)
        for term, values in (("cue_aligned", score), ("cue_aligned_blind", base)):
            known = pairs["valid"] & np.isfinite(values)
            here += rates(table, columns, term, values == 1, known, **options)
        rows += _described(here, table.assign(_blind=base), columns, name, same_decision)
    return estimates(rows, columns, _EXTRA)


def _described_by(text: str | Mapping[str, str], pairs: pd.DataFrame, argument: str) -> list[str]:
    if isinstance(text, str):
        text = dict.fromkeys(pairs["probe"], text)
    if not isinstance(text, Mapping) or not all(isinstance(t, str) for t in text.values()):
        raise DesignError(f"{argument}={text!r} is no description. Give a text, or {{probe: text}}.")
    missing = sorted(set(pairs["probe"]) - set(text))
    if missing:
        raise DesignError(f"{argument}= has no description for probe {missing[0]!r}. It has: {', '.join(text)}.")
    return [text[p].strip() for p in pairs["probe"]]


def _alignment(favoured: Floats, opposed: Floats) -> Floats:
    """1 nearer to the favoured, 0 to the opposed, 1/2 as near; NaN where a cosine is."""
    difference = favoured - opposed
    level: Floats = np.where(np.abs(difference) <= _EQUAL, 0.5, (difference > 0).astype(float))
    return np.where(np.isnan(difference), np.nan, level)


def _means(table: pd.DataFrame, columns: list[str], term: str, plan: Bootstrap) -> list[dict[str, Any]]:
    """Mean of ``_value`` over the rows ``_inside``, with a bootstrap of items."""
    rows = []
    for key, group in each_group(table, columns):
        here = group[group["_inside"] & group["_value"].notna()]
        n = here["n"].to_numpy(dtype=float)
        row: dict[str, Any] = {**key, "term": term, "estimate": math.nan, "n": n.sum(), "flag": NO_DATA}
        if n.sum() > 0:
            counts = np.column_stack([n * here["_value"].to_numpy(dtype=float), n])
            drawn = resampled(here, counts, ratio, plan, key)
            value = float(counts[:, 0].sum() / n.sum())
            row |= {**drawn, "estimate": value, "flag": flags(drawn["flag"], SMALL_N if n.sum() < 30 else "")}
        rows.append(row)
    return rows


def _described(
    rows: list[dict[str, Any]], table: pd.DataFrame, columns: list[str], embed: str, same_decision: bool
) -> list[dict[str, Any]]:
    """Add the embedder, the sizes of the sets, and what was set aside."""
    sizes = {}
    for key, here in each_group(table, columns):
        n = here["n"].to_numpy(dtype=float)
        lost = n[~here["valid"]].sum()
        known = {c: here[c].notna() for c in ("_value", "_blind") if c in here}
        without = {c: n[here["valid"] & ~k].sum() for c, k in known.items()}
        without["_inside"] = n[here["_inside"] & ~known["_value"]].sum()
        sizes[key_of(key.values())] = (n[here["same"]].sum(), n[here["valid"]].sum(), lost, without)
    over = {"cue_aligned": "_value", "cue_aligned_blind": "_blind"}
    for row in rows:
        same, items, lost, without = sizes[key_of(row[c] for c in columns)]
        undefined = without[over.get(row["term"], "_inside")]
        row |= {"embed": embed, "n_same": float(same), "n_items": float(items)}
        row["flag"] = flags(
            row["flag"],
            NO_SAME if row["term"] not in over and same_decision and not same else "",
            f"{undefined:,.0f} items without a vector" if undefined else "",
            f"{lost:,.0f} items not valid in both" if lost else "",
        )
    return rows
