"""The card that says how far people agree among themselves, beside the judge closest to them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from judgestats.reporting.formatting import PERCENT, Form, number, printed
from judgestats.reporting.people_columns import PeopleAgreement
from judgestats.reporting.summary_parts import Card, Column


def people_card(people: PeopleAgreement, columns: Sequence[Column], ranked: Sequence[Sequence[str]]) -> Card | None:
    """How far people agree with each other: what a judge can reach; None of one person, or of none."""
    if not people.columns:
        return None
    of_people = people.rows[(people.rows["role"] == "people") & people.rows["estimate"].notna()]
    shares = any(c.term == "agreement" for c in columns)
    terms = ("agreement",) if shares else ("concordance", "kappa")
    rows = of_people[of_people["term"].isin(terms)]
    if len(rows) != 1:
        return None
    row = rows.iloc[0]
    form: Form = "share" if shares else "score"
    width = float(row["conf_high"] - row["conf_low"])
    value, low, high = (printed(float(row[k]), form, width) for k in ("estimate", "conf_low", "conf_high"))
    claim = f"agree in {value}" if shares else f"{row['term']} {value}"
    parts = [] if not math.isfinite(row["conf_low"]) else [f"interval {low.removesuffix(PERCENT)} to {high}"]
    cells = people.cells(*terms)
    judges = [j for group in ranked for j in group if j in cells]
    if judges:
        best = max(judges, key=lambda j: (float(cells[j]["estimate"]), j))
        own = printed(float(cells[best]["estimate"]), form)
        parts.append(f"{best} with them{' in' if shares else ''} {own}")
    if shares and len(constant := of_people[of_people["term"] == "constant_answer"]) == 1:
        answer, share = constant["answer"].iloc[0], float(constant["estimate"].iloc[0])
        parts.append(f"always “{answer}” in {number(100 * share, 0)}{PERCENT}")
    return Card("people", "People among themselves", claim, "; ".join(parts))
