"""The datasheet of a judge: all measures its data support, in one table, :func:`datasheet`."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats import flags
from judgestats.arguments import checked_arguments
from judgestats.counting.clustering import Cluster
from judgestats.counting.connectedness import separate_designs
from judgestats.counting.split_studies import splits_by_name
from judgestats.counting.study import Calls, Study
from judgestats.defaults import CONF_LEVEL, N_RESAMPLES, SEED
from judgestats.errors import DesignError, confidence
from judgestats.metrics.bias import answer_rates, consistency, position_bias
from judgestats.metrics.consensus.deviations import consensus_deviation, reference_of
from judgestats.metrics.correctness import accuracy, classification, gold_agreement
from judgestats.metrics.datasheets.score_section import missing_rows, score_rows
from judgestats.metrics.measure_registry import MeasureOptions, column_names, terms
from judgestats.metrics.psychometrics.ladder import d_prime, target_sensitivity
from judgestats.metrics.psychometrics.operating_point import criterion_shift
from judgestats.metrics.psychometrics.surface import delta0, filler_preference
from judgestats.metrics.psychometrics.threshold import cluster_of_steps, detection_threshold
from judgestats.metrics.psychometrics.vacuum import dark_current, validity_gates
from judgestats.metrics.references import RATERS, Baseline, Humans, controls_of, labels, references
from judgestats.results import COLUMNS, in_order
from judgestats.schema.columns import INSTRUMENTS, By, answer_column, grouping, kind_of
from judgestats.schema.opening import engine_errors
from judgestats.typing import Record

#: Columns of a datasheet between the grouping columns and the estimate's, and after them.
BEFORE, AFTER = ("section", "detail"), ("symbol", "level", "denominator", "bad_direction", "meaning")
#: Instruments with more values than this are pooled.
MOST_ARMS = 12
#: New names of terms that have another meaning elsewhere in a datasheet.
_GOLD_TERMS = {"tie": "gold_tie", "wrong": "gold_wrong"}


@checked_arguments
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
        column with the name of a condition that splits ratings: rows equal in judge, system, item, criterion and
        replicate differ in it. Another column that distinguishes calls and is not named makes no rows: what would mix
        its values is left out, and the first row of each judge has a flag.
    cluster : "auto", str or False
        Column that calls share, by which intervals are clustered. ``"auto"`` detects it (``item``, say) and names it in
        ``method``. False treats all calls as independent, with a flag where they are not.
    identity : dict, optional
        For ratings: system -> judge.
    humans : str, sequence of str, or mapping, optional
        Judges that are people: names, or ``"column=value"``; by default those whose ``rater_type`` is ``human``, and
        ``()`` for none. They get no datasheet; ratings are compared with theirs.
    gold : str, optional
        Source of the correct answers: a column, a judge (who is then not measured), or a candidate.
    baseline : str or mapping, optional
        The control condition, or ``{column: value}``. Without it no shift between prompts is computed.
    n_resamples, seed : int
        Number of bootstrap resamples, and seed of the draws.
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
    said = (humans, gold, baseline) != (None, None, None) or RATERS in column_names(data)
    sources = references(data, humans, gold, baseline) if said else None
    study = sources.study if sources else Study.of(data)
    groups = grouping(by, column_names(data))
    kind = kind_of(study.names)
    conditions, unnamed = splits_by_name(study, kind, groups)
    groups += [s.column for s in conditions] if kind == "ratings" else []
    options = MeasureOptions(
        tuple(groups),
        identity or {},
        cluster,
        n_resamples,
        seed,
        conf_level,
        sources.people if sources and sources.humans else None,
        sources.baseline if sources else controls_of(data),
    )
    sheet = sheet_of(study, options)
    if unnamed:
        first = ~sheet[[*sheet.columns[: sheet.columns.get_loc("section")]]].duplicated()
        flag = flags.UNNAMED_COLUMN.of(what=" and ".join(s.column for s in unnamed))
        sheet.loc[first, "flag"] = [flags.join(flag, f) for f in sheet.loc[first, "flag"]]
    return sheet


def sheet_of(data: Calls, options: MeasureOptions, split: Sequence[str] = INSTRUMENTS) -> pd.DataFrame:
    """Datasheet of the judges in a data set without people, whose answers are in the options.

    `split`: conditions that split the datasheet of a judge, those of preferences with few levels.
    """
    present = column_names(data)
    columns = list(dict.fromkeys(["judge", *options.by]))
    ratings = kind_of(present) == "ratings"
    if ratings:
        options = replace(options, cluster="auto")  # deviations of single runs have no interval without a cluster
        further = []
    else:
        further = [column for column in split if column in present and 1 < len(labels(data, column)) <= MOST_ARMS]
    groups = list(dict.fromkeys([*columns, *further]))
    options = replace(options, by=tuple(g for g in groups if g != "judge"))
    parts = _ratings_sections(data, present, groups, options) if ratings else _sections(data, present, options)
    if options.by == ("prompt",) and "prompt" in further and "stimulus" in present and "prompt" in options.baseline:
        parts = chain(parts, _criterion_sections(data, options))
    sheet = stacked(parts, groups)
    if sheet.empty:
        raise DesignError("There is nothing to measure: the frame has no rows. Give preferences or ratings.")
    confounded = {judge for group in separate_designs(data) for judge in group.judges}
    for judges, flag in ((judges_apart(data), flags.NOTHING_IN_COMMON), (confounded, flags.SYSTEM_CONFOUNDED)):
        if judges:
            rows = sheet["judge"].isin(judges)
            sheet.loc[rows, "flag"] = [flags.join(f, flag) for f in sheet.loc[rows, "flag"]]
    return sheet


def stacked(parts: Iterable[tuple[str, pd.DataFrame]], groups: list[str]) -> pd.DataFrame:
    """One datasheet, sorted by `groups`, from (section, result of a measure) pairs."""
    sheets = [_labelled(section, table, groups) for section, table in parts if len(table)]
    columns = [*groups, *BEFORE, *COLUMNS, *AFTER]
    if not sheets:
        return pd.DataFrame(columns=columns)
    return in_order(pd.concat(sheets, ignore_index=True), groups)[columns]


def _sections(data: Calls, present: list[str], options: MeasureOptions) -> Iterator[tuple[str, pd.DataFrame]]:
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
        slots = list(_if_possible(_neutral_pairs(data, present), options, "slots", position_bias))
        yield from slots or [("answers", options.call(answer_rates, data))]
    if "replicate" in present:
        yield from take("repeats", consistency, over="replicate")
    if "gold" in present:
        for section, table in take("gold", gold_agreement):
            yield section, table.replace({"term": _GOLD_TERMS})


def judges_apart(data: Calls) -> set[Any]:
    """Judges that cannot be compared with some other judge: the two share no item."""
    from scipy.sparse import csr_array

    study = Study.of(data)
    if not {"judge", "item"} <= {*study.names}:
        return set()
    seen, _ = study.in_memory(["judge", "item"], distinct=True).columns.counted(["judge", "item"])
    (judge, names), (item, items) = seen.of(["judge", "item"])
    judged = csr_array((np.ones(len(seen)), (judge, item)), shape=(len(names), len(items)))
    shared = (judged @ judged.T).tocsr()
    has_items = np.bincount(judge, minlength=len(names)) > 0
    return {
        name
        for name, n, some in zip(names, np.diff(shared.indptr), has_items, strict=True)
        if some and n < has_items.sum()
    }


def _criterion_sections(data: Calls, options: MeasureOptions) -> Iterator[tuple[str, pd.DataFrame]]:
    base = options.baseline["prompt"]
    for other in labels(data, "prompt"):
        if other != base:
            for _, table in _if_possible(data, options, "criterion", criterion_shift, base, other):
                yield f"criterion, {base} to {other}", table.assign(prompt=f"{base} to {other}")


def _neutral_pairs(data: Calls, present: list[str]) -> Any:
    """Of pairs that are made to test biases, those of one text twice; in others the target may always stand first."""
    if "bias" not in present or "position" not in labels(data, "bias"):
        return data
    return Study.of(data).filtered(["bias"], nw.col("bias").cast(nw.String) == "position")


def _if_possible(
    data: Calls, options: MeasureOptions, section: str, measure: Callable[..., pd.DataFrame], *more: Any, **kwargs: Any
) -> Iterator[tuple[str, pd.DataFrame]]:
    try:
        yield section, options.call(measure, data, *more, **kwargs)
    except DesignError:
        return


def _ratings_sections(
    data: Calls, present: list[str], groups: list[str], options: MeasureOptions
) -> Iterator[tuple[str, pd.DataFrame]]:
    if answer_column(present) == "answer":
        yield "scores", missing_rows(data, groups, options.conf_level)
        yield from _class_sections(data, present, options)
        return
    try:
        scores = score_rows(data, groups, options)
    except DesignError:  # a column that nobody named splits the ratings
        scores = missing_rows(data, groups, options.conf_level)
    if answer_column(present) == "correct":
        correct = options.call(accuracy, data).query("term == 'accuracy'")
        yield "verdicts", correct if "gold" in present else correct.assign(term="right")
        scores = scores[scores["term"] != "mean_score"]
    yield "scores", scores
    if len(labels(data, "judge")) > 1 or options.people is not None:
        section = "consensus" if options.people is None else "people"
        for _, deviations in _if_possible(data, options, section, consensus_deviation, **reference_of(options)):
            of_judges = deviations["judge"].astype(str).ne("") & deviations["term"].ne("deviation")
            if "system" in options.by:  # a row of each system, not of all of them
                own = np.where(deviations["own"], "mean_own", "mean_others")
                deviations = deviations.assign(term=own).where(deviations["term"] == "deviation").dropna(how="all")
                of_judges = pd.Series(True, index=deviations.index)
            no_own = deviations["term"].isin(["mean_own", "self_excess"]) & deviations["estimate"].isna()
            yield section, deviations[of_judges & ~no_own]


def _class_sections(data: Calls, present: list[str], options: MeasureOptions) -> Iterator[tuple[str, pd.DataFrame]]:
    """How often classes are right, over all and each, and the same when asked again."""
    for _, table in _if_possible(data, options, "verdicts", classification) if "gold" in present else ():
        of_class = table["class"] != ""
        yield "verdicts", table[~of_class & (table["term"] == "accuracy")].drop(columns=["other", "class"])
        chosen = table[of_class & table["term"].isin(["sensitivity", "precision"])]
        yield "classes", chosen.drop(columns="other")
    if len(labels(data, "replicate")) > 1:
        yield from _if_possible(data, options, "repeats", consistency, over="replicate")


def _labelled(section: str, table: pd.DataFrame, groups: list[str]) -> pd.DataFrame:
    """Add section, detail and glossary to each row."""
    conditions = [c for c in ("vacuum_kind", "stimulus", "delta", "system") if c in table.columns and c not in groups]
    # pandas 3.0 has no rows of no columns
    rows = table[conditions].to_dict("records") if conditions else [{}] * len(table)
    table = table.assign(section=section, detail=[_detail(r) for r in rows])
    table["term"] = table["term"].where(
        ~((section == "repeats") & (table["term"] == "consistency")), "repeat_consistency"
    )
    meanings = [terms().get(("", t)) for t in table["term"]]
    for column, attribute in zip(AFTER, ("symbol", "level", "denominator", "bad", "meaning"), strict=True):
        table[column] = [getattr(term, attribute) if term and term.meaning else "" for term in meanings]
    if section == "people":
        table["meaning"] = table["meaning"].str.replace("its peers", "people").str.replace("the other judges", "people")
    return table


def _detail(row: Record) -> str:
    parts = []
    for name, value in row.items():
        if value is None or value == "" or (isinstance(value, float) and math.isnan(value)):
            continue
        parts.append(f"Δ = {value:g}" if name == "delta" else "Δ0" if value == "same_subset" else str(value))
    return ", ".join(p for p in parts if p != "ladder" or len(parts) == 1)
