"""Scores of judges beside labels that are yes or no, for measures of detection."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats import flags
from judgestats.counting.clustering import Cluster
from judgestats.counting.judge_answers import ABOUT
from judgestats.counting.study import Study
from judgestats.counting.tallies import clustered
from judgestats.errors import DesignError, SchemaError, refuse_unknown, suggestion
from judgestats.metrics.correctness.class_counts import as_class, with_labels
from judgestats.metrics.references import Humans
from judgestats.schema.classes import has_answer
from judgestats.schema.coding import refuse_infinite
from judgestats.schema.columns import COUNTS, NO, YES, By, answer_column, grouping, kind_of
from judgestats.schema.factors import Factors
from judgestats.typing import Floats, Integers, Mask, Record


@dataclass(frozen=True)
class Detection:
    """Scores of one judge, with what is to be detected."""

    key: Record  # `by` columns, ``judge``, ``other`` and ``class``
    score: Floats  # (N,): a higher one says more strongly that it is there
    positive: Mask  # (N,): whether it is
    weight: Floats  # (N,): identical calls
    unit: Integers | None  # (N,): cluster; None where calls are independent
    column: str  # by which they are clustered; empty for none
    flag: str  # what is left out
    thing: Integers  # (N,): what was judged, the same number for all judges


def detections(
    data: IntoFrame,
    humans: Humans | None,
    gold: str | None,
    value: str | None,
    positive: object,
    by: By,
    cluster: Cluster,
) -> Iterator[Detection]:
    """Scores and labels of each judge and level of the `by` columns."""
    present = Study.of(data).names
    if kind_of(present) != "ratings":
        raise SchemaError("Scores are ratings: a frame with judge, item and score. This one holds preferences.")
    if value is not None:
        refuse_unknown(value, present, f"value={value!r} is not a column of the frame", "Columns", error=SchemaError)
    labelled, name = with_labels(data, humans, gold, by, cluster)
    study = Study.of(labelled)
    if "gold" not in study.names:
        raise DesignError(
            "Detection needs labels beside the scores, and there is no column 'gold'. Columns: "
            f"{', '.join(present)}. Name the column, or the judge, that has them in gold=, or people in humans=."
        )
    groups = [*dict.fromkeys(["judge", *grouping(by, study.names)])]
    study, clusters = clustered(study, groups, cluster)
    table = study.data.lazy().collect(backend="pandas").to_native().reset_index(drop=True)
    score = _numbers(table, value or answer_column(table.columns))
    factors = Factors(table)
    label = factors["gold"]
    classes = [as_class(x) if there else None for x, there in zip(label.labels, has_answer(label.labels), strict=True)]
    word = _positive({c for c in (classes[i] for i in np.unique(label.code)) if c is not None}, positive)
    there = np.array([c is not None for c in classes], dtype=bool)[label.code]
    is_positive = np.array([c == word for c in classes], dtype=bool)[label.code]
    weight = table[COUNTS].to_numpy(dtype=float) if COUNTS in table else np.ones(len(table))
    thing = factors.ranked([c for c in (*ABOUT["ratings"], "replicate") if c in table.columns]).code
    column, used = clusters.column or "", there & ~np.isnan(score) & (weight > 0)
    for key, rows in table.groupby(groups, dropna=False, sort=True, observed=True).indices.items():
        chosen = rows[used[rows]]
        chosen = chosen[np.argsort(thing[chosen], kind="stable")]  # a bootstrap draws them in this order
        unit = factors.take(chosen).ranked([column]).code if column else None
        lost = (float(weight[rows][~there[rows]].sum()), float(weight[rows][there[rows] & np.isnan(score[rows])].sum()))
        what = ("call(s) without a label", "call(s) without a score")
        excluded = (flags.EXCLUDED.of(n, what=w) for n, w in zip(lost, what, strict=True))
        labels = dict(zip(groups, key if isinstance(key, tuple) else (key,), strict=True))
        yield Detection(
            {**labels, "other": name, "class": word},
            score[chosen],
            is_positive[chosen],
            weight[chosen],
            unit,
            column,
            flags.join(clusters.flag, *excluded),
            thing[chosen],
        )


def _numbers(table: pd.DataFrame, column: str) -> Floats:
    """A column of scores as numbers."""
    values = table[column]
    numbers: Floats = pd.to_numeric(values, errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    text = np.isnan(numbers) & values.notna().to_numpy()
    if text.any():
        raise SchemaError(
            f"{column!r} holds {values[text].iloc[0]!r}, which is no score. Name a column of numbers in value=; for "
            "classes there is classification()."
        )
    refuse_infinite(column, int(np.isinf(numbers).sum()))
    return numbers


def _positive(classes: set[str], positive: object) -> str:
    """The class that is to be detected: the one that is named, or yes."""
    if positive is None:
        if not classes:
            raise DesignError("No verdict has a label. Check gold=, or humans= and the ids of the items.")
        yes, no = ({c for c in classes if c.lower() in words} for words in (YES, NO))
        if yes | no == classes and len(yes) < 2 and len(no) < 2:
            return next(iter(yes), "1" if no == {"0"} else "yes")
        raise DesignError(
            f"The labels are {', '.join(sorted(classes)[:8])}: nothing says which is to be detected. Name it in "
            "positive=."
        )
    word = as_class(positive)
    if word not in classes and word.strip().lower() in YES and "yes" in classes:
        word = "yes"
    if word not in classes:
        listed = ", ".join(sorted(classes)[:8]) or "none"
        raise DesignError(f"positive={positive!r} is no label. Labels: {listed}.{suggestion(word, sorted(classes))}")
    return word
