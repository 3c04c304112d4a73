"""Differences of judges in classes that both gave to the same things, beside the right ones."""

from __future__ import annotations

from collections.abc import Iterator

from narwhals.stable.v2.typing import IntoFrame

from judgestats.counting.clustering import Cluster
from judgestats.counting.judge_answers import ABOUT, FURTHER
from judgestats.counting.raters import RATERS
from judgestats.counting.selection import gathered
from judgestats.counting.study import Study
from judgestats.counting.tallies import count
from judgestats.errors import DesignError, suggestion
from judgestats.metrics.correctness.class_counts import (
    ALONE,
    BASELINE,
    ClassCounts,
    People,
    coded,
    renamed,
    with_labels,
)
from judgestats.metrics.references import Humans
from judgestats.schema.columns import By, answer_column, kind_of, names
from judgestats.typing import Record


def difference_rows(
    data: IntoFrame,
    baseline: str,
    positive: object,
    humans: Humans | None,
    gold: str | None,
    people: People,
    invalid: str,
    by: By,
    cluster: Cluster,
    conf_level: float,
) -> Iterator[Record]:
    """Shares of right answers of each judge less those of the baseline, over all calls and of each class."""
    counts = _paired(data, baseline, humans, gold, people, invalid, by, cluster, conf_level)
    assert counts.baseline is not None
    trial = counts.valid & (counts.baseline >= 0)
    for c in (None, *counts.chosen(positive)):
        if c is None:
            sides = {"accuracy": (True, counts.answer == counts.reference, counts.baseline == counts.reference)}
        else:
            of_class, one, other = (x == c for x in (counts.reference, counts.answer, counts.baseline))
            sides = {"sensitivity": (of_class, one, other), "specificity": (~of_class, ~one, ~other)}
        for share, (among, one, other) in sides.items():
            without = {what: mask & among for what, mask in counts.without.items()}
            rows = counts.counts.differences(
                f"{share}_difference", one & ~other, other & ~one, trial & among, left_out=without
            )
            for row in rows:
                method = row["method"].replace("two shares of one sample", "paired")
                yield {**row, "method": method, "class": "" if c is None else counts.classes[c]}


def _paired(
    data: IntoFrame,
    baseline: str,
    humans: Humans | None,
    gold: str | None,
    people: People,
    invalid: str,
    by: By,
    cluster: Cluster,
    conf_level: float,
) -> ClassCounts:
    """Counts of the other judges, with the class that the baseline gave to the same thing."""
    if set(RATERS) <= set(Study.of(data).names):
        raise DesignError(
            "baseline= pairs calls, and a table of counts does not say which are of one thing. Give calls."
        )
    if people == "each" and gold is None:
        raise DesignError("baseline= compares two judges with one reference. Leave people='each' out.")
    labelled, name = with_labels(data, humans, gold, by, cluster)
    table = gathered(labelled, names(by)).reset_index(drop=True)
    judges = sorted(map(str, table["judge"].unique()))
    if baseline not in judges:
        raise DesignError(
            f"baseline={baseline!r} is no judge. Judges: {', '.join(judges)}.{suggestion(baseline, judges)}"
        )
    kind = kind_of(table.columns)
    column = "choice" if kind == "preferences" else answer_column(table.columns)
    keys = [*names(by), *ABOUT[kind], "first", "second", *FURTHER[kind]]
    keys = [key for key in dict.fromkeys(keys) if key in table.columns]
    own = table["judge"].astype(str) == baseline
    theirs = table.loc[own, [*keys, column]].rename(columns={column: BASELINE})
    if theirs.duplicated(keys).any():
        raise DesignError(
            f"{baseline!r} answered several times on one thing, so that calls are not paired. Number repeats in "
            "'replicate', or aggregate() them to one verdict."
        )
    paired = table[~own].merge(theirs.assign(_both=True), on=keys, how="left")
    alone = ~paired.pop("_both").notna()
    said = paired[BASELINE].astype(object).replace({"abstain": "tie"})
    paired[BASELINE] = said.where(said != "", None).where(~alone, ALONE)
    counts = count(paired, "kappa", by, cluster=cluster, beside=BASELINE, baseline="gold")
    counts = counts if name == "gold" else renamed(counts, name)
    counts = counts.grouped([*dict.fromkeys(names(by)), "judge", "other"]).inferred(conf_level)
    return coded(counts, invalid, yes_no=column == "correct")
