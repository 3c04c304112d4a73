"""The card that says how far people agree among themselves, beside the judge closest to them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

from judgestats.reporting.formatting import PERCENT, Form, number, printed
from judgestats.reporting.page_claims import Claim
from judgestats.reporting.people_columns import PeopleAgreement
from judgestats.reporting.summary_parts import Card, SummaryColumn


def people_card(
    people: PeopleAgreement, columns: Sequence[SummaryColumn], ranked: Sequence[Sequence[str]]
) -> Card | None:
    """How far people agree with each other: what a judge can reach; None of one person, or of none."""
    beside = people.answers
    if beside is None:
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
    cells, of_shared = people.cells(*terms), {}
    of_people = partial(Claim, where="card", question="people", relation="is")
    says = [of_people("", term=row["term"], judges=("people",), values=(float(row["estimate"]),), tables=("people",))]
    for judge in (j for group in ranked for j in group if j in cells):
        own, among = beside.on_shared(judge, scores=not shares)
        if math.isfinite(own):
            of_shared[judge] = own, among
    if of_shared:
        best = max(of_shared, key=lambda j: (of_shared[j][0], j))
        with_them, they = (f"{'in ' * shares}{printed(x, form)}" for x in of_shared[best])
        same = math.isclose(of_shared[best][1], row["estimate"])
        text = f"{best} agrees with people {with_them} on what two of them or more answered."
        judges = (best, "people")
        says.append(of_people(text, term=row["term"], judges=judges, values=of_shared[best], scope=tuple(of_shared)))
        there = "" if same else f"on what {best} answered they agree {they}, "
        parts.append(f"{there}{best} with them {with_them}")
    if shares:
        answer, share = beside.constant_of_shared
        parts.append(f"always “{answer}” in {number(100 * share, 0)}{PERCENT}")
        text = f"Always “{answer}” agrees with people in {number(100 * share, 0)}{PERCENT}."
        says.append(of_people(text, term="constant", values=(share,)))
    if any(not math.isclose(own, float(cells[j]["estimate"])) for j, (own, _) in of_shared.items()):
        parts.append("all on what two of them or more answered")
    return Card("people", "People among themselves", claim, "; ".join(parts), "", tuple(says))
