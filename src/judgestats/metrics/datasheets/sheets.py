"""The datasheet of a judge: every measure its data support, in one table; and two of them side by side."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from scipy.sparse import csr_array

from judgestats.errors import DesignError
from judgestats.metrics.bias import accuracy, answer_rates, consistency, gold_agreement, slot_lean
from judgestats.metrics.consensus import consensus_deviation
from judgestats.metrics.datasheets.glossary import GLOSSARY
from judgestats.metrics.datasheets.ratings import score_rows
from judgestats.metrics.psychometrics.ladder import d_prime, target_sensitivity
from judgestats.metrics.psychometrics.operating_point import criterion_shift
from judgestats.metrics.psychometrics.surface import delta0, filler_preference
from judgestats.metrics.psychometrics.threshold import detection_threshold
from judgestats.metrics.psychometrics.vacuum import dark_current, validity_gates
from judgestats.metrics.references import Baseline, Humans, controls_of, labels, references
from judgestats.results import COLUMNS, NOTHING_IN_COMMON, flags
from judgestats.schema.clustering import Cluster
from judgestats.schema.columns import By, answer_column, grouping, kind_of
from judgestats.schema.splitting import KEYS, splits_of

#: Columns of a datasheet between the grouping columns and the estimate's, and after them.
BEFORE, AFTER = ("section", "detail"), ("symbol", "level", "denominator", "bad_direction", "meaning")
#: Ways of asking, each of whose values is an instrument of its own; with more values than MOST_ARMS they are pooled.
WAYS, MOST_ARMS = ("prompt", "strategy", "probe"), 12
#: Renames of terms that mean something else in a datasheet than in their own measure.
_GOLD_TERMS = {"tie": "gold_tie", "wrong": "gold_wrong"}


def datasheet(
    data: Any,
    *,
    by: By = (),
    cluster: Cluster = "auto",
    identity: dict[str, str] | None = None,
    humans: Humans | None = None,
    gold: str | None = None,
    baseline: Baseline | None = None,
    n_resamples: int = 2000,
    seed: int = 0,
    conf_level: float = 0.95,
) -> pd.DataFrame:
    """Measure everything about each judge that the data support.

    Parameters
    ----------
    data : frame
        Preferences or ratings. Preferences with a column ``stimulus`` get the dark_current paper's datasheet; without
        it, swap consistency, slot lean, ties, invalid and repeat rates, and accuracy where there is gold.
    by : str or sequence of str
        Further grouping columns. ``prompt``, ``strategy`` and ``probe`` of preferences always are where they have
        several values (up to 12): another way of asking is another instrument; pooling the two describes neither. In
        ratings so is every column that splits them: rows equal in judge, system, item, criterion and replicate differ
        in it.
    cluster : "auto", str or False
        What calls share: by default the column that they are seen to share (``item``, say), which ``method`` names; or
        a column; False takes all calls as independent, and is flagged where they are not.
    identity : dict, optional
        For ratings: which system is which judge.
    humans : str, sequence of str, or mapping, optional
        Judges that are people: names, or ``{column: value}``. They get no datasheet; ratings are held against theirs.
    gold : str, optional
        Where right answers come from: a column, a judge (who is then not measured), or a candidate.
    baseline : str or mapping, optional
        The control condition, or ``{column: value}``. Without it no shift between prompts is computed: they stand side
        by side.
    n_resamples, seed : int
        For the bootstrap intervals.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    pandas.DataFrame
        ``judge``, the `by` columns, ``section``, ``detail`` (step, kind of vacuum, system), the columns of every
        estimate, then ``symbol``, ``level``, ``denominator``, ``bad_direction``, ``meaning``. A section whose data are
        not there is absent: :func:`judgestats.supported` says why. A judge that shares no item with another one is
        flagged in every row: their numbers are about different items.

    Raises
    ------
    SchemaError
        If `data` is neither canonical frame.
    DesignError
        If a name in `humans`, `gold` or `baseline` does not occur.

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
    known = references(data, humans, gold, baseline) if (humans, gold, baseline) != (None, None, None) else None
    control: Mapping[str, str] = known.baseline if known else controls_of(data)
    data = known.models if known else data
    people = known.people if known and known.humans else None
    present = list(nw.from_native(data).collect_schema().names())
    asked = list(dict.fromkeys(["judge", *grouping(by, present)]))
    if kind_of(present) == "ratings":
        groups = list(dict.fromkeys([*asked, *(s.column for s in splits_of(data, [*KEYS, *asked]))]))
        parts = _ratings_sections(data, groups, identity, people, conf_level)
    else:
        ways = [way for way in WAYS if way in present and 1 < len(labels(data, way)) <= MOST_ARMS]
        groups = list(dict.fromkeys([*asked, *ways]))
        parts = _preference_sections(data, groups, present, cluster, n_resamples, seed, conf_level)
        if "prompt" in ways and "stimulus" in present and groups == ["judge", "prompt"] and "prompt" in control:
            parts = chain(parts, _criterion_sections(data, control["prompt"], cluster, conf_level))
    sheets = [_labelled(section, table, groups) for section, table in parts if len(table)]
    if not sheets:
        raise DesignError("There is nothing to measure: the frame has no rows.")
    sheet = pd.concat(sheets, ignore_index=True).sort_values(groups, kind="stable", ignore_index=True)
    alone = judges_apart(data)
    if alone:
        told = sheet["judge"].isin(alone)
        sheet["flag"] = [flags(f, NOTHING_IN_COMMON if t else "") for f, t in zip(sheet["flag"], told, strict=True)]
    return sheet[[*groups, *BEFORE, *COLUMNS, *AFTER]]


def _preference_sections(
    data: Any,
    groups: list[str],
    present: list[str],
    cluster: Cluster,
    n_resamples: int,
    seed: int,
    conf_level: float,
) -> Iterator[tuple[str, pd.DataFrame]]:
    by = [g for g in groups if g != "judge"]
    level: dict[str, Any] = {"by": by, "conf_level": conf_level}
    clustered: dict[str, Any] = {**level, "cluster": cluster}
    yield "validity", _failed_gates(validity_gates(data, **clustered))
    if "stimulus" in present:
        yield from _instrument_sections(data, present, level, clustered, n_resamples, seed)
    else:
        yield from _if_possible("swap", lambda: consistency(data, **clustered))
        slots = list(_if_possible("slots", lambda: slot_lean(data, **clustered)))
        yield from slots or [("answers", answer_rates(data, **clustered))]
    if "replicate" in present:
        yield from _if_possible("repeats", lambda: consistency(data, over="replicate", **clustered))
    if "gold" in present:
        yield from _if_possible("gold", lambda: gold_agreement(data, **clustered).replace({"term": _GOLD_TERMS}))


def judges_apart(data: Any) -> set[Any]:
    """Judges that share no item with some other judge, so that the two stand side by side without being comparable."""
    frame = nw.from_native(data)
    if not {"judge", "item"} <= set(frame.collect_schema().names()):
        return set()
    seen = frame.lazy().select("judge", "item").unique().collect(backend="pandas").to_native()
    judge, names = pd.factorize(seen["judge"], use_na_sentinel=False)
    item = pd.factorize(seen["item"], use_na_sentinel=False)[0]
    there = csr_array((np.ones(len(seen)), (judge, item)))
    shared = (there @ there.T).toarray() > 0
    return {name for name, row in zip(names, shared, strict=True) if not row.all()}


def _failed_gates(gates: pd.DataFrame) -> pd.DataFrame:
    """Only the gates that some call failed: one that all passed may never have been checked."""
    failed = gates.loc[gates["estimate"] < 1, "term"].unique()
    return gates[gates["term"].isin([*failed, "valid"])]


def _instrument_sections(
    data: Any, present: list[str], level: dict[str, Any], clustered: dict[str, Any], n_resamples: int, seed: int
) -> Iterator[tuple[str, pd.DataFrame]]:
    yield from _if_possible("dark current", lambda: dark_current(data, **clustered))
    yield from _if_possible("Δ0", lambda: delta0(data, **clustered))
    yield from _if_possible("Δ0, different subset", lambda: delta0(data, stimulus="different_subset", **clustered))
    if {"better", "delta"} <= set(present):
        yield from _if_possible("ladder", lambda: target_sensitivity(data, **clustered))
        named: dict[str, Any] = {} if clustered["cluster"] == "auto" else {"cluster": clustered["cluster"] or None}
        yield from _if_possible(
            "threshold", lambda: detection_threshold(data, n_resamples=n_resamples, seed=seed, **(level | named))
        )
        yield from _if_possible("d'", lambda: d_prime(data, **clustered))
    if "target" in present:
        yield from _if_possible("filler", lambda: filler_preference(data, **clustered))


def _criterion_sections(
    data: Any, base: str, cluster: Cluster, conf_level: float
) -> Iterator[tuple[str, pd.DataFrame]]:
    for other in labels(data, "prompt"):
        if other != base:

            def measure(other: str = other) -> pd.DataFrame:
                table = criterion_shift(data, base, other, cluster=cluster, conf_level=conf_level)
                return table.assign(prompt=f"{base} to {other}")

            yield from _if_possible(f"criterion, {base} to {other}", measure)


def _if_possible(section: str, measure: Callable[[], pd.DataFrame]) -> Iterator[tuple[str, pd.DataFrame]]:
    """The section, unless the design does not support it; `supported` tells the reason."""
    try:
        yield section, measure()
    except DesignError:
        return


def _ratings_sections(
    data: Any, groups: list[str], identity: dict[str, str] | None, people: Any, conf_level: float
) -> Iterator[tuple[str, pd.DataFrame]]:
    by = [g for g in groups if g != "judge"]
    scores = score_rows(data, groups, conf_level)
    present = nw.from_native(data).collect_schema().names()
    if answer_column(present) == "correct":
        right = accuracy(data, by=by, conf_level=conf_level).query("term == 'accuracy'")
        yield "verdicts", right if "gold" in present else right.assign(term="right")
        scores = scores[scores["term"] != "mean_score"]
    yield "scores", scores
    judges = nw.from_native(data).lazy().select("judge").unique().collect(backend="pandas")
    if len(judges) > 1 or people is not None:
        reference = "peers" if people is None else people
        deviations = consensus_deviation(data, reference=reference, by=by, identity=identity, conf_level=conf_level)
        deviations = deviations[deviations["judge"].astype(str) != ""]
        deviations = deviations[deviations["term"] != "deviation"]
        yield (
            "consensus" if people is None else "people",
            deviations[~(deviations["term"].isin(["mean_own", "self_excess"]) & deviations["estimate"].isna())],
        )


def _labelled(section: str, table: pd.DataFrame, groups: list[str]) -> pd.DataFrame:
    """Section, detail and glossary beside each row."""
    conditions = [c for c in ("vacuum_kind", "stimulus", "delta", "system") if c in table.columns and c not in groups]
    rows = (
        table[conditions].to_dict("records") if conditions else [{}] * len(table)
    )  # pandas 3.0 has no rows of no columns
    table = table.assign(section=section, detail=[_detail(r) for r in rows])
    table["term"] = table["term"].where(
        ~((section == "repeats") & (table["term"] == "consistency")), "repeat_consistency"
    )
    for column, attribute in zip(AFTER, ("symbol", "level", "denominator", "bad", "meaning"), strict=True):
        table[column] = [getattr(GLOSSARY[t], attribute) if t in GLOSSARY else "" for t in table["term"]]
    if section == "people":
        table["meaning"] = table["meaning"].str.replace("its peers", "people").str.replace("the other judges", "people")
    return table


def _detail(row: dict[str, Any]) -> str:
    told = []
    for name, value in row.items():
        if value is None or value == "" or (isinstance(value, float) and math.isnan(value)):
            continue
        told.append(f"Δ = {value:g}" if name == "delta" else "Δ0" if value == "same_subset" else str(value))
    return ", ".join(t for t in told if t != "ladder" or len(told) == 1)
