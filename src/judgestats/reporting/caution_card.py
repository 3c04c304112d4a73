"""The card that says what to read with care."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from judgestats.metrics.measure_registry import Options
from judgestats.reporting.card_questions import rows_by_judge
from judgestats.reporting.formatting import count, noun
from judgestats.reporting.summary_parts import Card, Column, listed, printed
from judgestats.schema.columns import Kind
from judgestats.schema.factors import Factors

#: Share of calls without a readable answer, or of rows excluded, from which a card says so.
MANY_LOST = 0.05
#: Fewer pairs or items than this are few.
FEW = 30


def caution_card(
    data: pd.DataFrame,
    met: Factors,
    kind: Kind,
    sheet: pd.DataFrame,
    columns: Sequence[Column],
    ranked: Sequence[Sequence[str]],
    findings: pd.DataFrame,
    without_people: str,
    apart_scales: str,
    options: Options,
) -> Card | None:
    """The first caution that applies, and how many more."""
    thing = "pairs" if kind == "preferences" else "items"
    said: list[tuple[str, str]] = []
    if apart_scales:
        said.append(("Scores on different scales are not compared", apart_scales))
    if without_people:
        said.append(("Not compared with people", without_people))
    apart = [j for judges in ranked[1:] for j in judges]
    if apart:
        why = f"It shares too few {thing} with the rest, and stands apart"
        why = why if len(apart) == 1 else f"They share too few {thing} with the rest, and stand apart"
        said.append((f"{listed(apart, 2)} judged other {thing}", why))
    lost = {j: 1 - float(r["estimate"]) for j, r in rows_by_judge(sheet, "valid", ["validity"]).items()}
    lost |= {j: float(r["estimate"]) for j, r in rows_by_judge(sheet, "missing").items()}
    many = sorted((j for j, share in lost.items() if share >= MANY_LOST), key=lambda j: (-lost[j], j))
    if many:
        why = f"{printed(lost[many[0]], 'share')} of calls gave no readable answer"
        said.append((f"{listed(many, 2)}: answers missing", why))
    top = columns[0] if columns else None
    if top is not None and math.isfinite(top.reference) and top.term in ("accuracy", "agreement", "distance"):
        end = "conf_high" if top.lower_is_better else "conf_low"
        sign = -1 if top.lower_is_better else 1
        weak = [j for j, c in top.cells.items() if sign * float(c[end]) <= sign * top.reference]
        if weak:
            line = top.line.removeprefix("dashed: ")
            said.append((f"{listed(weak, 2)}: no better than a constant answer", f"not distinguishable from {line}"))
    most = int(np.bincount(met["judge"].code).max(initial=0))
    if 0 < most < FEW:
        said.append((f"Only {noun(most, 'item')}", "intervals are wide, and rough below 10"))
    rows = findings[findings["level"] == "rows"].set_index("what")["n"]
    excluded, total = int(rows.get("rows excluded", 0)), max(int(rows.get("rows in", 1)), 1)
    if excluded / total >= MANY_LOST:
        share = printed(excluded / total, "share")
        said.append((f"{share} of the rows excluded", f"{count(excluded)} of {count(total)}; see data and method"))
    alone = len(met.labels("judge")) == 1 and options.people is None and "gold" not in data.columns
    if alone and "stimulus" not in data.columns:
        said.append(("One judge, no reference", "add right answers (gold=), people (humans=) or a second judge"))
    if not said:
        return None
    claim, detail = said[0]
    more = f"; also: {'; '.join(c[0].lower() + c[1:] if c.startswith(('Only', 'One')) else c for c, _ in said[1:3])}"
    return Card("care", "Read with care", claim, detail + (more if len(said) > 1 else ""))
