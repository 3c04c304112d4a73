"""A card of each judge, at the end of a page."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from typing import Any

import pandas as pd

from judgestats.metrics.datasheets.judge_profiles import profile
from judgestats.reporting.estimate_rows import whose
from judgestats.reporting.estimate_tables import table_of, without_number
from judgestats.reporting.formatting import noun
from judgestats.reporting.sheets import bounds_by_judge, datasheet_rows, headline_rows
from judgestats.typing import Record

#: With more judges than this, their cards are folded.
OPEN = 3


def judge_cards(sheet: pd.DataFrame, conf_level: float) -> list[Record]:
    """A card of each judge: its headline rows, and all rows folded; the cards are folded where there are many."""
    who = whose(sheet)
    records = [*zip(sheet.to_dict("records"), without_number(sheet), strict=True)]
    rows_of, bounds = who.groupby(who, sort=False).indices, bounds_by_judge(sheet, who)
    types, headlines = _judge_types(sheet, who), headline_rows(sheet, who)
    cards = []
    for judge, places in rows_of.items():
        headline = [records[i] for i in headlines[judge]]
        main = table_of(headline, ["detail"] if any(r["detail"] for r, _ in headline) else [], [], conf_level)
        top = [f"{r['measure']} {r['value']}" for r in main["rows"][:2]]
        cards.append(
            {
                "judge": judge,
                "type": types.get(judge),
                "open": len(rows_of) <= OPEN,
                "headline": ", ".join(top),
                "main": {**main, "about": f"main rows of {judge}"},
                "size": noun(len(places), "row"),
                "sheet": datasheet_rows([records[i][0] for i in places], bounds[judge], judge, conf_level),
            }
        )
    return cards


def _judge_types(sheet: pd.DataFrame, who: pd.Series) -> dict[str, dict[str, str]]:
    """Type of each judge whose dark current and classes were measured."""
    if "dark current" not in set(sheet["section"]):
        return {}
    rows = sheet[sheet["section"].isin(["dark current", "Δ0"])]
    rows = rows.assign(judge=who.loc[rows.index], vacuum_kind=rows["detail"].where(rows["term"] == "dark_current", ""))
    return {r["judge"]: _judge_type(r) for r in profile(rows).to_dict("records")}


def _judge_type(r: Mapping[str, Any]) -> dict[str, str]:
    at = {name: p.default for name, p in signature(profile).parameters.items()}
    rule = (
        f"Rule: dark current up to {at['dark']:g} is clean (Class A); raw false preference from {at['high']:g} is "
        "high, and is then named after its "
        f"mechanism where one has {at['dominant']:g} of the two-order commitments. A description, not a test."
    )
    return {"profile": r["profile"], "because": r["because"], "rule": rule}
