"""Verdicts of any kind as ratings with a score: of classes and preferences whether they are right."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from judgestats.counting.cells import ABOUT, cells
from judgestats.counting.study import Study
from judgestats.errors import DesignError
from judgestats.metrics.correctness.gold_labels import labelled_calls, labelled_verdicts
from judgestats.schema.columns import NO, YES, By, answer_column, kind_of
from judgestats.typing import Column


def mean_scores(study: Study, groups: Sequence[str], cluster: str, measure: str) -> tuple[pd.DataFrame, bool]:
    """Mean scores of each judge on each thing, by group and with the cluster; and whether they are right or wrong."""
    by = [name for name in groups if name not in ("judge", *ABOUT)]
    table, share = _scored(study, by, measure)
    means = cells(table, by=list(dict.fromkeys([*by, *({cluster} - {"", "judge", *ABOUT})])))
    if means.duplicated(["judge", *ABOUT, *by]).any():
        raise DesignError(f"cluster={cluster!r} differs within an item. Name a column that items are nested in.")
    return means, share


def _scored(study: Study, by: By, measure: str) -> tuple[pd.DataFrame, bool]:
    """Ratings with a score each, and whether that is right or wrong; verdicts on pairs are right where gold says so."""
    kind = kind_of(study.names)
    if kind == "ratings":
        answer = answer_column(study.names)
        if answer not in ("answer", "correct") or (answer == "correct" and "gold" not in study.names):
            table: pd.DataFrame = study.data.to_native()
            return table, answer == "correct"
        if "gold" not in study.names:
            raise DesignError("Classes count by how often they are right: give the right ones in 'gold'.")
        table = labelled_verdicts(study, by, measure)[0].data.to_native()
        there = table[answer].notna()
        said, gold = (_comparable(table[name], answer) for name in (answer, "gold"))
        right = (said == gold).astype(float).where(there)
        return table.drop(columns=[answer, "gold"]).assign(score=right), True
    if "gold" not in study.names:
        raise DesignError(
            "Preferences count by how often they are right: give the right candidate in a column 'gold'. "
            "rank_systems() compares the candidates."
        )
    table = labelled_calls(study, by, measure)[0].data.to_native()
    first, second, choice = (table[c].astype(str) for c in ("first", "second", "choice"))
    picked = first.where(choice == "first", second.where(choice == "second", choice))
    right = (picked == table["gold"].astype(str)).astype(float).where((choice != "invalid") & table["choice"].notna())
    pair = [" ".join(sorted(p)) for p in zip(first, second, strict=True)]
    about = table["item"].astype(str) + ": " + pd.Series(pair, index=table.index)
    rest = table.drop(columns=[c for c in ("first", "second", "choice", "gold") if c in table])
    return rest.assign(score=right, system=about), True


def _comparable(values: Column, answer: str) -> Column:
    """Classes as text; right and wrong as 1 and 0, however they are written."""
    texts = values.astype(str).str.strip().str.lower()
    if answer == "answer":
        return values.astype(str)
    truth = texts.map({**dict.fromkeys(YES, 1.0), **dict.fromkeys(NO, 0.0)})
    if (truth.isna() & values.notna() & (texts != "")).any():
        raise DesignError("'correct' and 'gold' are not both right or wrong. Leave the gold out, or give answers.")
    return truth
