"""What ``judgestats check`` shows of the measures: a number beside each, and the judges side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from judgestats.methods import resampled
from judgestats.metrics.measure_registry import measures
from judgestats.reporting.formatting import count, estimate, form_of, in_words, spaced, with_interval

#: Sections whose numbers stand in the table of the judges, and most judges and columns there.
SECTIONS = ("accuracy", "bias", "agreement", "people")
MOST_JUDGES, MOST_COLUMNS = 20, 4


def headlines(tried: Mapping[str, pd.DataFrame | str]) -> pd.DataFrame:
    """``measure, question, headline`` of each measure with estimates: its first term, over the judges."""
    rows = []
    for name, estimates in tried.items():
        if isinstance(estimates, str):
            continue
        estimable = estimates[estimates["estimate"].notna()]
        term = str(estimable["term"].iloc[0])
        same = estimable[estimable["term"] == term]
        form = form_of(same.iloc[0].to_dict(), name)
        ends = [estimate(v, form=form) for v in (same["estimate"].min(), same["estimate"].max())]
        span = ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"
        rows.append((name, measures()[name].question, f"{in_words(term, name)} {span}"))
    return pd.DataFrame(rows, columns=["measure", "question", "headline"])


def by_judge(tried: Mapping[str, pd.DataFrame | str], groups: list[str]) -> tuple[pd.DataFrame, str]:
    """Shares and agreements of each judge (and of `groups`) in closed form, with intervals; and what is not shown."""
    columns: dict[str, pd.Series[Any]] = {}
    flagged: dict[str, pd.Series[Any]] = {}
    for name, estimates in tried.items():
        record = measures()[name]
        if isinstance(estimates, str) or record.pattern is None or record.section not in SECTIONS:
            continue
        estimable = estimates[estimates["estimate"].notna() & estimates["conf_low"].notna()]
        estimable = estimable[[not resampled(method) for method in estimable["method"]]]
        of_pairs = {"other", "candidate"} & set(estimable.columns)
        if estimable.empty or of_pairs or not {"judge", *groups} <= set(estimable.columns):
            continue
        term = str(estimable["term"].iloc[0])
        rows = estimable[estimable["term"] == term].set_index(["judge", *groups])
        if rows.index.has_duplicates:
            continue
        texts = [" ".join(with_interval({**r, "term": term}, name)) for _, r in rows.iterrows()]
        label = in_words(term, name)
        columns[label], flagged[label] = pd.Series(texts, index=rows.index), rows["flag"].astype(str).map(spaced)
    left = max(len(columns) - MOST_COLUMNS, 0)
    labels = list(columns)[:MOST_COLUMNS]
    table = pd.DataFrame({label: columns[label] for label in labels}).fillna("")
    notes = pd.DataFrame({label: flagged[label] for label in labels}).fillna("")
    notes = notes.apply(lambda row: "; ".join(f"{label}: {flag}" for label, flag in row.items() if flag), axis=1)
    if len(notes) and (notes != "").any():
        table["flag"] = notes
    more = max(len(table) - MOST_JUDGES, 0)
    unseen = [f"{count(more)} more rows" * (more > 0), f"{left} more measures" * (left > 0)]
    note = " and ".join(filter(None, unseen))
    return table.head(MOST_JUDGES).reset_index(), f"Not shown: {note}. judgestats report shows them." if note else ""
