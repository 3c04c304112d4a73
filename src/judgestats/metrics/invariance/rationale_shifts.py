"""Shift of explanations under a cue where the verdict stays the same, and towards the description of a label."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Literal

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats import flags
from judgestats.counting.bootstrap import Bootstrap, ratio
from judgestats.counting.counts import Counts
from judgestats.counting.study import Calls
from judgestats.defaults import CONF_LEVEL, N_RESAMPLES, SEED
from judgestats.errors import DesignError
from judgestats.metrics.invariance.outcome_coding import key_of
from judgestats.metrics.invariance.probe_answers import ProbeCalls, matched_rows, outcomes_of, refuse_no_probe, study
from judgestats.metrics.invariance.text_vectors import Embed, Vectors, embedders, texts_of
from judgestats.metrics.measure_registry import Measure, Term
from judgestats.metrics.requirements import control_of
from judgestats.results import estimates
from judgestats.schema.columns import By
from judgestats.typing import Column, Floats, Record

#: A property of an explanation: from its text to a number.
Property = Callable[[str], float]


def matched_rationales(
    calls: Calls, by: By, blind: str, probe: str | None, measure: str
) -> tuple[ProbeCalls, pd.DataFrame]:
    """The study, and the explanations of an item under `blind` (``text_blind``) and each other probe (``text``).

    ``valid``: a valid verdict in both; ``same``: the same verdict in both.
    """
    probes = study(calls, by, "auto", measure)
    if probes.kind != "calls" or "rationale" not in probes.table:
        raise DesignError(
            f"{measure} needs a preferences frame with explanations in a column 'rationale'. Columns: "
            f"{', '.join(probes.table.columns)}."
        )
    refuse_no_probe(probes, blind, "baseline")
    if probe is not None:
        refuse_no_probe(probes, probe, "probe")
        of_probes = probes.table[probes.table["probe"].isin([blind, probe])].reset_index(drop=True)
        probes = replace(probes, table=of_probes)
    pairs = matched_rows(probes, blind, probes.clusters)
    outcome = outcomes_of(probes.table).astype(str).to_numpy(dtype=object)
    text = texts_of(probes.table["rationale"])
    base, row = (pairs[c].to_numpy(dtype=int) for c in ("_base", "_row"))
    both = (base >= 0) & (row >= 0)
    valid = both & (outcome[base] != "invalid") & (outcome[row] != "invalid")
    pairs = pairs.assign(
        n=pairs["n"].astype(float),
        text_blind=np.where(base >= 0, text[base], ""),
        text=np.where(row >= 0, text[row], ""),
        valid=valid,
        same=valid & (outcome[base] == outcome[row]),
    )
    columns = [*probes.groups, "probe"]
    judged = pairs.assign(_judged=pairs["_row"] >= 0).groupby(columns, dropna=False)["_judged"].transform("any")
    return probes, pairs[judged.to_numpy(dtype=bool)].reset_index(drop=True)


def each_group(pairs: pd.DataFrame, columns: list[str]) -> Iterator[tuple[Record, pd.DataFrame]]:
    """Key and rows of each group, sorted."""
    for key, part in pairs.groupby(columns, dropna=False, sort=True):
        yield dict(zip(columns, key, strict=True)), part


_EXTRA = ("embed", "n_same", "n_items")
#: Cosines that differ by less are equal.
_EQUAL = 1e-12


@Measure(
    "Does the explanation of the same verdict change?",
    "cues",
    "P with texts",
    "bootstrap of items; rate: Wilson",
    "rationalization, Sec IV.C e",
    plot="rationale_shift",
    frames=("preferences",),
    needs=(control_of("probe"),),
    arguments=lambda _, options: {"baseline": options.baseline["probe"]},
    caption="Distance of the explanations of the same verdict, blind and under the label.",
    terms=(
        Term("drift", "drift of the explanation"),
        Term("drift_rate", "share of explanations that drift"),
        Term("property", "property under the label"),
        Term("property_blind", "property without labels"),
        Term("property_shift", "change of the property", neutral=0.0),
    ),
    have=("conditions", "texts"),
    assumes="Distance of the embedding stands for a difference in what is argued; items are independent.",
)
def rationale_shift(
    calls: IntoFrame,
    *,
    embed: Embed = None,
    phi: Property | Mapping[str, Property] | None = None,
    baseline: str = "blind",
    probe: str | None = None,
    distance: Literal["half", "full"] = "half",
    threshold: float | None = None,
    same_decision: bool = True,
    by: By = (),
    n_resamples: int = N_RESAMPLES,
    seed: int | np.random.Generator | None = SEED,
    conf_level: float = CONF_LEVEL,
) -> pd.DataFrame:
    """Distance of explanations between blind and a probe, on items with the same verdict.

    Parameters
    ----------
    calls : frame
        Preferences with ``probe`` and ``rationale``.
    embed : callable or mapping, optional
        Function from n texts to an (n, d) array, or ``{name: function}`` for several. By default TF-IDF fitted on
        the explanations: all probes, judges and schemes of the call, each distinct text once.
    phi : callable or mapping, optional
        A property of an explanation, a function from its text to a number (its words, say, or 1 where it hedges), or
        ``{name: function}`` for several.
    baseline, probe : str
        The probe without a cue; the one to compare it with (all others by default).
    distance : {'half', 'full'}
        ``(1 - cos)/2``, in [0, 1], or ``1 - cos``, in [0, 2].
    threshold : float, optional
        If given, also the share of items with a *larger* distance.
    same_decision : bool
        Only items with the same verdict in both, including ties; False uses all items valid in both.
    by : str or sequence of str
        Further grouping columns.
    n_resamples, seed : int
        Number of bootstrap resamples, and seed of the draws. The bootstrap draws items.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    pandas.DataFrame
        Per judge, scheme, probe and embedder the terms ``drift`` (mean distance) and, with a `threshold`,
        ``drift_rate`` (Wilson), with the columns ``embed``, ``n_same`` (items with the same verdict) and ``n_items``
        (items with a valid verdict in both). ``n`` is the items compared. Items without a valid verdict in both, and
        those with an empty explanation or one without a vector (no word known to the embedder), are excluded and
        counted in the flag. With `phi` also ``property`` and ``property_blind``, its mean under the probe and blind,
        and ``property_shift``, their difference, over all items valid in both, whatever the verdict; ``embed`` is then
        the name of the property.

    Raises
    ------
    DesignError
        If there are no explanations, no such probe, an embedder returns another shape, or `phi` no number.

    See Also
    --------
    rationale_check : Faults of explanations.
    anchoring : Shift of verdicts by a cue.

    Notes
    -----
    A distance has no absolute scale: the distance of two unbiased explanations depends on the embedder and on how a
    judge varies its wording. Compare probes, or a repeat of blind. With TF-IDF no cosine is negative, so that the
    halved distance is at most 0.5. The same-decision set depends on the verdicts and differs between schemes.

    Source: rationalization paper, Section IV.C e; it defines the measure for Flip, and prints no set size. Its Eq. 4,
    of which `phi` is the property, says that a judge's explanations are invariant if ``property_shift`` is 0.

    Examples
    --------
    >>> calls = pd.DataFrame({"judge": "g", "item": ["1", "2"] * 2, "probe": ["blind"] * 2 + ["flip"] * 2, "first": "x",
    ...                       "second": "y", "choice": ["first", "tie", "first", "first"],
    ...                       "rationale": ["clear and short", "equal", "written by people", "better"]})
    >>> rationale_shift(calls)[["term", "estimate", "n", "embed", "n_same", "n_items"]]
        term  estimate    n  embed  n_same  n_items
    0  drift       0.5  1.0  tfidf     1.0      2.0
    >>> result = rationale_shift(calls, phi={"words": lambda text: len(text.split())})
    >>> result.loc[result["term"] == "property_shift", ["term", "embed", "estimate", "n"]]
                 term  embed  estimate    n
    3  property_shift  words       0.0  2.0
    """
    properties = _properties(phi)
    probes, pairs = matched_rationales(calls, by, baseline, probe, "rationale_shift")
    texts = [*pairs["text_blind"], *pairs["text"]]
    scale = 0.5 if distance == "half" else 1.0
    columns = [*probes.groups, "probe"]
    plan = Bootstrap("percentile", ("item",), None, n_resamples, seed, conf_level)
    counts = Counts.of(pairs, columns, probes.clustering, conf_level=conf_level)
    inside = pairs["same"] if same_decision else pairs["valid"]
    rows = []
    for name, function in embedders(embed).items():
        cosine = Vectors(texts, function, name).cosine(pairs["text_blind"], pairs["text"])
        table = pairs.assign(_value=scale * (1 - cosine), _inside=inside)
        means = _means(table, columns, "drift", plan)
        if threshold is not None:
            defined = table["_inside"] & table["_value"].notna()
            means += counts.rates("drift_rate", table["_value"] > threshold, defined)
        rows += _described(means, table, columns, name, same_decision)
    for name, measured in properties.items():
        before, after = (_measured(pairs[c], measured, name) for c in ("text_blind", "text"))
        table = pairs.assign(_value=after - before, _inside=pairs["valid"])
        defined = table["_value"].notna()
        means = []
        for term, values in (("property", after), ("property_blind", before), ("property_shift", after - before)):
            means += _means(table.assign(_value=np.where(defined, values, np.nan)), columns, term, plan)
        rows += _described(means, table, columns, name, same_decision, "the property")
    return estimates(rows, columns, _EXTRA)


def _properties(phi: Property | Mapping[str, Property] | None) -> dict[str, Property]:
    """Properties of an explanation by name."""
    functions = {} if phi is None else phi if isinstance(phi, Mapping) else {getattr(phi, "__name__", "phi"): phi}
    for name, function in functions.items():
        if not callable(function):
            raise DesignError(
                f"phi= has {function!r} for {name!r}. Give a function from a text to a number, or {{name: function}}."
            )
    return {str(name): function for name, function in functions.items()}


def _measured(texts: Column, phi: Property, name: str) -> Floats:
    """The property of each text, found once for each distinct text; NaN for an empty one."""
    numbers: dict[str, float] = {"": math.nan}
    for text in sorted(set(texts) - {""}):
        value = phi(text)
        try:
            numbers[text] = float(value)
        except (TypeError, ValueError):
            raise DesignError(f"phi {name!r} gave {value!r} for {text[:60]!r}. It must give a number.") from None
        if math.isinf(numbers[text]):
            raise DesignError(
                f"phi {name!r} gave an infinite number for {text[:60]!r}. Give NaN where it is undefined."
            )
    return np.array([numbers[text] for text in texts], dtype=float)


@Measure(
    "Is the explanation nearer to the description of the favoured label?",
    "cues",
    "P with texts",
    "bootstrap of items",
    "rationalization, Sec IV.C d; cue_aligned ours",
    plot="forest",
    have=("conditions", "texts"),
    assumes="The embedding places an explanation nearer to the description of the label that it argues for.",
)
def rationale_alignment(
    calls: IntoFrame,
    *,
    favoured_text: str | Mapping[str, str],
    opposed_text: str | Mapping[str, str],
    embed: Embed = None,
    baseline: str = "blind",
    probe: str | None = None,
    same_decision: bool = True,
    by: By = (),
    n_resamples: int = N_RESAMPLES,
    seed: int | np.random.Generator | None = SEED,
    conf_level: float = CONF_LEVEL,
) -> pd.DataFrame:
    """Share of explanations nearer to the description of the favoured label than to the other description.

    Parameters
    ----------
    calls : frame
        Preferences with ``probe`` and ``rationale``.
    favoured_text, opposed_text : str or mapping
        Descriptions of the two labels, or ``{probe: description}``.
    embed, baseline, probe, same_decision, by, n_resamples, seed, conf_level
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

    See Also
    --------
    rationale_shift : Change of explanations of the same verdict.
    rationale_check : Faults of explanations.

    Notes
    -----
    ``cue_aligned`` is this package's definition: the paper plots a *Cue-align %* without one. An explanation that
    shares no word with either description counts 1/2 in ``alignment`` and is not aligned; with TF-IDF that is common,
    so the level depends on the descriptions. The blind value is the level without the cue.

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
    probes, pairs = matched_rationales(calls, by, baseline, probe, "rationale_alignment")
    fav, opp = (
        _descriptions(t, pairs, a) for t, a in ((favoured_text, "favoured_text"), (opposed_text, "opposed_text"))
    )
    if not all([*fav, *opp]):
        raise DesignError("A description in favoured_text= or opposed_text= is empty. Give two texts.")
    if any(f == o for f, o in zip(fav, opp, strict=True)):
        raise DesignError("favoured_text= and opposed_text= are the same. Give two different texts.")
    texts = [*pairs["text_blind"], *pairs["text"], *fav, *opp]
    columns = [*probes.groups, "probe"]
    plan = Bootstrap("percentile", ("item",), None, n_resamples, seed, conf_level)
    counts = Counts.of(pairs, columns, probes.clustering, conf_level=conf_level)
    inside = pairs["same"] if same_decision else pairs["valid"]
    rows = []
    for name, function in embedders(embed).items():
        vectors = Vectors(texts, function, name)
        score, base = (
            _alignment(vectors.cosine(pairs[c], fav), vectors.cosine(pairs[c], opp)) for c in ("text", "text_blind")
        )
        table = pairs.assign(_value=score, _inside=inside)
        means = _means(table, columns, "alignment", plan)
        for term, values in (("cue_aligned", score), ("cue_aligned_blind", base)):
            defined = pairs["valid"] & np.isfinite(values)
            means += counts.rates(term, values == 1, defined)
        rows += _described(means, table.assign(_blind=base), columns, name, same_decision)
    return estimates(rows, columns, _EXTRA)


def _descriptions(text: str | Mapping[str, str], pairs: pd.DataFrame, argument: str) -> list[str]:
    """Description of the label of each pair."""
    if isinstance(text, str):
        text = dict.fromkeys(pairs["probe"], text)
    if not isinstance(text, Mapping) or not all(isinstance(t, str) for t in text.values()):
        raise DesignError(f"{argument}={text!r} is not a description. Give a text, or {{probe: text}}.")
    missing = sorted(set(pairs["probe"]) - set(text))
    if missing:
        raise DesignError(f"{argument}= has no description for probe {missing[0]!r}. It has: {', '.join(text)}.")
    return [text[p].strip() for p in pairs["probe"]]


def _alignment(favoured: Floats, opposed: Floats) -> Floats:
    """1 if nearer to the favoured, 0 if nearer to the opposed, 1/2 if equal; NaN where a cosine is NaN."""
    difference = favoured - opposed
    level: Floats = np.where(np.abs(difference) <= _EQUAL, 0.5, (difference > 0).astype(float))
    return np.where(np.isnan(difference), np.nan, level)


def _means(table: pd.DataFrame, columns: list[str], term: str, plan: Bootstrap) -> list[Record]:
    """Mean of ``_value`` over the rows ``_inside``, with a bootstrap of items."""
    rows = []
    for key, group in each_group(table, columns):
        inside = group[group["_inside"] & group["_value"].notna()]
        n = inside["n"].to_numpy(dtype=float)
        row: Record = {**key, "term": term, "estimate": math.nan, "n": n.sum(), "flag": flags.NO_DATA}
        if n.sum() > 0:
            counts = np.column_stack([n * inside["_value"].to_numpy(dtype=float), n])
            ends = Counts.of(inside).resampled(counts, ratio, key, plan=plan)
            value = float(counts[:, 0].sum() / n.sum())
            row |= {**ends, "estimate": value, "flag": flags.join(ends["flag"], flags.SMALL_N if n.sum() < 30 else "")}
        rows.append(row)
    return rows


def _described(
    rows: list[Record],
    table: pd.DataFrame,
    columns: list[str],
    embed: str,
    same_decision: bool,
    lacking: str = "a vector",
) -> list[Record]:
    """Add the embedder or property, the sizes of the sets, and flags of excluded items."""
    sizes = {}
    for key, part in each_group(table, columns):
        n = part["n"].to_numpy(dtype=float)
        lost = n[~part["valid"]].sum()
        defined = {c: part[c].notna() for c in ("_value", "_blind") if c in part}
        without = {c: n[part["valid"] & ~k].sum() for c, k in defined.items()}
        without["_inside"] = n[part["_inside"] & ~defined["_value"]].sum()
        sizes[key_of(key.values())] = (n[part["same"]].sum(), n[part["valid"]].sum(), lost, without)
    over = dict.fromkeys(("cue_aligned", "property", "property_blind", "property_shift"), "_value")
    over["cue_aligned_blind"] = "_blind"
    for row in rows:
        same, items, lost, without = sizes[key_of(row[c] for c in columns)]
        undefined = without[over.get(row["term"], "_inside")]
        row |= {"embed": embed, "n_same": float(same), "n_items": float(items)}
        row["flag"] = flags.join(
            row["flag"],
            flags.NO_SAME_DECISION if row["term"] not in over and same_decision and not same else "",
            flags.EXCLUDED.of(undefined, what=f"item(s) without {lacking}"),
            flags.EXCLUDED.of(lost, what="item(s) not valid in both"),
        )
    return rows
