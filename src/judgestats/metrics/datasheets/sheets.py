"""The datasheet of a judge, and a profile from it: :func:`datasheet` and :func:`profile`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame
from scipy.special import stdtrit

from judgestats import flags
from judgestats.counting.cells import cells
from judgestats.counting.clustering import Cluster
from judgestats.counting.counts import Counts
from judgestats.counting.splitting import KEYS, splits_of
from judgestats.counting.study import Study
from judgestats.defaults import CONF_LEVEL, N_RESAMPLES, SEED
from judgestats.errors import DesignError, confidence
from judgestats.metrics.bias import answer_rates, consistency, position_bias
from judgestats.metrics.consensus.deviations import consensus_deviation, reference_of
from judgestats.metrics.consensus.scores import score_matrix
from judgestats.metrics.consensus.stability import run_sd
from judgestats.metrics.correctness import accuracy, gold_agreement
from judgestats.metrics.measure_registry import Options, column_names, terms
from judgestats.metrics.psychometrics.ladder import d_prime, target_sensitivity
from judgestats.metrics.psychometrics.operating_point import criterion_shift
from judgestats.metrics.psychometrics.surface import delta0, filler_preference
from judgestats.metrics.psychometrics.threshold import cluster_of_steps, detection_threshold
from judgestats.metrics.psychometrics.vacuum import dark_current, validity_gates
from judgestats.metrics.references import Baseline, Humans, controls_of, labels, references
from judgestats.results import COLUMNS, estimates, with_interval
from judgestats.schema.coding import codes_of, rows_of_codes
from judgestats.schema.columns import By, answer_column, grouping, kind_of
from judgestats.schema.factors import Factors
from judgestats.schema.opening import engine_errors

# ---- Profile of a judge by rules whose thresholds are arguments: a description, not a test ---------------------------


def profile(
    estimates: pd.DataFrame,
    *,
    dark: float = 0.05,
    high: float = 0.5,
    dominant: float = 0.9,
) -> pd.DataFrame:
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
    pooled = estimates
    if "section" in pooled.columns:
        pooled = pooled[pooled["section"].isin(["dark current", "Δ0"])]
    for kind in {"vacuum_kind", "detail"} & set(pooled.columns):
        pooled = pooled[(pooled["term"] != "dark_current") | pooled[kind].isin(["all", ""]) | pooled[kind].isna()]
    rows = []
    groups = ["judge", *(["prompt"] if "prompt" in pooled.columns else [])]
    for judge, here in pooled.groupby(groups, sort=True, dropna=False):
        value = here.drop_duplicates("term").set_index("term")["estimate"]
        needed = ("dark_current", "raw_false_preference", "stable_cross_sensitivity", "positional_false_preference")
        if not set(needed) <= set(value.index) or value[list(needed)].isna().any():
            missing = ", ".join(t for t in needed if t not in value.index or pd.isna(value[t]))
            rows.append((*judge, "not determined", f"not measured: {missing}"))
            continue
        dc, raw, stable, positional = (float(value[t]) for t in needed)
        because = f"DC = {dc:.3f}, RFP0 = {raw:.3f}, SCS = {stable:.3f}, PFP = {positional:.3f}"
        rows.append((*judge, _sketch(dc, raw, stable, positional, dark, high, dominant), because))
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


# ---- Rows of a ratings datasheet on the scores themselves: mean, missing scores, spread over repeats -----------------


def score_rows(data: Any, groups: list[str], options: Options) -> pd.DataFrame:
    """Mean score (as of :func:`judgestats.score_matrix`), missing share and spread over repeats of each judge."""
    by = [g for g in groups if g != "judge"]
    present = Study.of(data).names
    table = cells(data, by)
    numbered = "replicate" in present or "score" not in present
    codes = codes_of(table, groups)
    rows: list[dict[str, Any]] = []
    rows_of_matrix = options.call(score_matrix, data).groupby(groups, dropna=False)["estimate"].mean().reset_index()
    means = table[groups].iloc[codes.first].merge(rows_of_matrix, on=groups, how="left")  # a missing group matches
    parts = rows_of_codes(codes.code, codes.size)
    for g, key in enumerate(means[groups].to_dict("records")):
        here = table.iloc[parts[g]]
        averaged = flags.SEVERAL_AVERAGED if not numbered and (here["runs"] > 1).any() else ""
        rows.append({**key, **mean_of_scores(here, float(means["estimate"].iloc[g]), options.conf_level, averaged)})
        counts = Counts.of(pd.DataFrame({"n": [float(here["runs"].sum()), float(here["n_missing"].sum())]}))
        (row,) = counts.inferred(options.conf_level).rates("missing", np.array([False, True]))
        rows.append({**key, **row})
    rows += options.call(run_sd, data, ratios=False).to_dict("records")
    return estimates(rows, groups)


def mean_of_scores(here: pd.DataFrame, value: float, conf_level: float, averaged: str = "") -> dict[str, Any]:
    """Cells of a mean over systems of means over items, whose value is known, with t clustered by item."""
    scored = (
        here.dropna(subset=["mean"]).groupby(["system", "item"], dropna=False, sort=False)["mean"].mean().reset_index()
    )
    row: dict[str, Any] = {"term": "mean_score", "n": len(scored), "method": "mean over systems, t clustered by item"}
    if scored.empty:
        return {**row, "estimate": math.nan, "flag": flags.NO_DATA}
    of_system = scored.groupby("system", dropna=False)["mean"]
    systems = scored["system"].nunique(dropna=False)
    weight = 1 / (systems * of_system.transform("size"))
    influence = (weight * (scored["mean"] - of_system.transform("mean"))).groupby(scored["item"], dropna=False).sum()
    clusters = len(influence)
    if clusters < 2:
        return {**row, "estimate": value, "flag": flags.join(flags.ONE_UNIT, averaged)}
    error = math.sqrt(clusters / (clusters - 1) * float((influence**2).sum()))
    half = float(stdtrit(clusters - 1, 0.5 + conf_level / 2)) * error
    flag = flags.join(flags.few_clusters(scored.groupby("item", dropna=False).size().to_numpy()), averaged)
    return row | with_interval(error, value - half, value + half, estimate=value, flag=flag)


# ---- The datasheet of a judge: all measures its data support, in one table -------------------------------------------

#: Columns of a datasheet between the grouping columns and the estimate's, and after them.
BEFORE, AFTER = ("section", "detail"), ("symbol", "level", "denominator", "bad_direction", "meaning")
#: Conditions whose values are separate instruments; with more values than MOST_ARMS they are pooled.
WAYS, MOST_ARMS = ("prompt", "strategy", "probe"), 12
#: New names of terms that have another meaning elsewhere in a datasheet.
_GOLD_TERMS = {"tie": "gold_tie", "wrong": "gold_wrong"}


@engine_errors
def datasheet(
    data: IntoFrame,
    *,
    by: By = (),
    cluster: Cluster = "auto",
    identity: dict[str, str] | None = None,
    humans: Humans | None = None,
    gold: str | None = None,
    baseline: Baseline | None = None,
    n_resamples: int = N_RESAMPLES,
    seed: int = SEED,
    conf_level: float = CONF_LEVEL,
) -> pd.DataFrame:
    """Measure everything about each judge that the data support.

    Parameters
    ----------
    data : frame
        Preferences or ratings. Preferences with a column ``stimulus`` get the dark_current paper's datasheet; without
        it, swap consistency, position bias, tie, invalid and repeat rates, and accuracy if there is a gold column.
    by : str or sequence of str
        Further grouping columns. ``prompt``, ``strategy`` and ``probe`` of preferences are always among them if they
        have several values (up to 12): each is a separate instrument, and pooling would describe none. So is every
        column that splits ratings: rows equal in judge, system, item, criterion and replicate differ in it.
    cluster : "auto", str or False
        Cluster column; ``"auto"`` uses the column that calls share (``item``, say), which ``method`` names. False
        treats calls as independent, with a flag where they are not.
    identity : dict, optional
        For ratings: system -> judge.
    humans : str, sequence of str, or mapping, optional
        Judges that are people: names, or ``"column=value"``. They get no datasheet; ratings are compared with theirs.
    gold : str, optional
        Source of the correct answers: a column, a judge (who is then not measured), or a candidate.
    baseline : str or mapping, optional
        The control condition, or ``{column: value}``. Without it no shift between prompts is computed.
    n_resamples, seed : int
        For the bootstrap intervals.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    pandas.DataFrame
        ``judge``, the `by` columns, ``section``, ``detail`` (step, kind of vacuum, system), the columns of every
        estimate, then ``symbol``, ``level``, ``denominator``, ``bad_direction``, ``meaning``. Sections without
        data are absent: see :func:`judgestats.available_measures` for the reasons. A judge that shares no item with
        some other judge is flagged in every row, because their numbers are about different items.

    Raises
    ------
    SchemaError
        If `data` is neither canonical frame.
    DesignError
        If a name in `humans`, `gold` or `baseline` does not occur.

    See Also
    --------
    compare_datasheets : Two datasheets, row by row.
    profile : What kind of judge it is.
    report : The page.

    Examples
    --------
    >>> import pandas as pd
    >>> calls = pd.DataFrame({"judge": "g", "item": ["1", "1", "2", "2"], "first": ["x", "y", "x", "y"],
    ...                       "second": ["y", "x", "y", "x"], "choice": ["first", "first", "first", "second"]})
    >>> sheet = datasheet(calls)
    >>> sheet.loc[sheet["term"] == "consistency", ["judge", "section", "term", "estimate", "n"]]
      judge section         term  estimate    n
    1     g    swap  consistency       0.5  2.0
    """
    confidence(conf_level)
    known = references(data, humans, gold, baseline) if (humans, gold, baseline) != (None, None, None) else None
    options = Options(
        tuple(grouping(by, column_names(data))),
        identity or {},
        cluster,
        n_resamples,
        seed,
        conf_level,
        known.people if known and known.humans else None,
        known.baseline if known else controls_of(data),
    )
    return sheet_of(known.study if known else Study.of(data), options)


def sheet_of(data: Any, options: Options) -> pd.DataFrame:
    """Datasheet of the judges in a data set without people, whose answers are in the options."""
    present = column_names(data)
    asked = list(dict.fromkeys(["judge", *options.by]))
    ratings = kind_of(present) == "ratings"
    if ratings:
        options = replace(options, cluster="auto")  # deviations of single runs have no interval without a cluster
        further = [s.column for s in splits_of(data, [*KEYS, *asked])]
    else:
        further = [way for way in WAYS if way in present and 1 < len(labels(data, way)) <= MOST_ARMS]
    groups = list(dict.fromkeys([*asked, *further]))
    options = replace(options, by=tuple(g for g in groups if g != "judge"))
    parts = _ratings_sections(data, present, groups, options) if ratings else _sections(data, present, options)
    if options.by == ("prompt",) and "prompt" in further and "stimulus" in present and "prompt" in options.baseline:
        parts = chain(parts, _criterion_sections(data, options))
    sheet = stacked(parts, groups)
    if sheet.empty:
        raise DesignError("There is nothing to measure: the frame has no rows. Give preferences or ratings.")
    alone = judges_apart(data)
    if alone:
        rows = sheet["judge"].isin(alone)
        sheet.loc[rows, "flag"] = [flags.join(f, flags.NOTHING_IN_COMMON) for f in sheet.loc[rows, "flag"]]
    return sheet


def stacked(parts: Iterable[tuple[str, pd.DataFrame]], groups: list[str]) -> pd.DataFrame:
    """One datasheet, sorted by `groups`, from (section, result of a measure) pairs."""
    sheets = [_labelled(section, table, groups) for section, table in parts if len(table)]
    columns = [*groups, *BEFORE, *COLUMNS, *AFTER]
    if not sheets:
        return pd.DataFrame(columns=columns)
    return pd.concat(sheets, ignore_index=True).sort_values(groups, kind="stable", ignore_index=True)[columns]


def _sections(data: Any, present: list[str], options: Options) -> Iterator[tuple[str, pd.DataFrame]]:
    """Sections of a datasheet of preferences that the design supports."""
    take = partial(_if_possible, data, options)
    gates = options.call(validity_gates, data)
    failed = gates.loc[gates["estimate"] < 1, "term"].unique()  # a gate that all passed may never have been checked
    yield "validity", gates[gates["term"].isin([*failed, "valid"])]
    if "stimulus" in present:
        yield from take("dark current", dark_current)
        yield from take("Δ0", delta0)
        yield from take("Δ0, different subset", delta0, stimulus="different_subset")
        if {"better", "delta"} <= set(present):
            yield from take("ladder", target_sensitivity)
            yield from take("threshold", detection_threshold, **cluster_of_steps(data, options))
            yield from take("d'", d_prime)
        if "target" in present:
            yield from take("filler", filler_preference)
    else:
        yield from take("swap", consistency)
        slots = list(take("slots", position_bias))
        yield from slots or [("answers", options.call(answer_rates, data))]
    if "replicate" in present:
        yield from take("repeats", consistency, over="replicate")
    if "gold" in present:
        for section, table in take("gold", gold_agreement):
            yield section, table.replace({"term": _GOLD_TERMS})


def judges_apart(data: Any) -> set[Any]:
    """Judges that share no item with some other judge, so that the two are not comparable."""
    from scipy.sparse import csr_array

    study = Study.of(data)
    if not {"judge", "item"} <= {*study.names}:
        return set()
    columns = study.columns
    if study.lazy:
        columns = Factors(study.data.select("judge", "item").unique().collect(backend="pandas").to_native())
    seen, _ = columns.counted(["judge", "item"])
    (judge, names), (item, items) = seen.of(["judge", "item"])
    there = csr_array((np.ones(len(seen)), (judge, item)), shape=(len(names), len(items)))
    shared = (there @ there.T).tocsr()
    known = np.bincount(judge, minlength=len(names)) > 0
    return {
        name for name, n, some in zip(names, np.diff(shared.indptr), known, strict=True) if some and n < known.sum()
    }


def _criterion_sections(data: Any, options: Options) -> Iterator[tuple[str, pd.DataFrame]]:
    base = options.baseline["prompt"]
    for other in labels(data, "prompt"):
        if other != base:
            for _, table in _if_possible(data, options, "criterion", criterion_shift, base, other):
                yield f"criterion, {base} to {other}", table.assign(prompt=f"{base} to {other}")


def _if_possible(
    data: Any, options: Options, section: str, measure: Callable[..., pd.DataFrame], *further: Any, **arguments: Any
) -> Iterator[tuple[str, pd.DataFrame]]:
    try:
        yield section, options.call(measure, data, *further, **arguments)
    except DesignError:
        return


def _ratings_sections(
    data: Any, present: list[str], groups: list[str], options: Options
) -> Iterator[tuple[str, pd.DataFrame]]:
    scores = score_rows(data, groups, options)
    if answer_column(present) == "correct":
        correct = options.call(accuracy, data).query("term == 'accuracy'")
        yield "verdicts", correct if "gold" in present else correct.assign(term="right")
        scores = scores[scores["term"] != "mean_score"]
    yield "scores", scores
    if len(labels(data, "judge")) > 1 or options.people is not None:
        section = "consensus" if options.people is None else "people"
        for _, deviations in _if_possible(data, options, section, consensus_deviation, **reference_of(options)):
            shown = deviations["judge"].astype(str).ne("") & deviations["term"].ne("deviation")
            no_own = deviations["term"].isin(["mean_own", "self_excess"]) & deviations["estimate"].isna()
            yield section, deviations[shown & ~no_own]


def _labelled(section: str, table: pd.DataFrame, groups: list[str]) -> pd.DataFrame:
    """Add section, detail and glossary to each row."""
    conditions = [c for c in ("vacuum_kind", "stimulus", "delta", "system") if c in table.columns and c not in groups]
    # pandas 3.0 has no rows of no columns
    rows = table[conditions].to_dict("records") if conditions else [{}] * len(table)
    table = table.assign(section=section, detail=[_detail(r) for r in rows])
    table["term"] = table["term"].where(
        ~((section == "repeats") & (table["term"] == "consistency")), "repeat_consistency"
    )
    known = [terms().get(("", t)) for t in table["term"]]
    for column, attribute in zip(AFTER, ("symbol", "level", "denominator", "bad", "meaning"), strict=True):
        table[column] = [getattr(term, attribute) if term and term.meaning else "" for term in known]
    if section == "people":
        table["meaning"] = table["meaning"].str.replace("its peers", "people").str.replace("the other judges", "people")
    return table


def _detail(row: dict[str, Any]) -> str:
    parts = []
    for name, value in row.items():
        if value is None or value == "" or (isinstance(value, float) and math.isnan(value)):
            continue
        parts.append(f"Δ = {value:g}" if name == "delta" else "Δ0" if value == "same_subset" else str(value))
    return ", ".join(p for p in parts if p != "ladder" or len(parts) == 1)
