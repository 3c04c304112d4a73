"""A card of each judge, at the end of a page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from judgestats.metrics.datasheets.judge_profiles import profile
from judgestats.reporting.estimate_rows import whose
from judgestats.reporting.estimate_tables import estimates_table
from judgestats.reporting.formatting import noun
from judgestats.reporting.sheets import datasheet_rows, headline_rows
from judgestats.results import COLUMNS
from judgestats.typing import Record

#: With more judges than this, their cards are folded.
OPEN = 3


def judge_cards(sheet: pd.DataFrame, conf_level: float) -> list[Record]:
    """A card of each judge: its headline rows, and all rows folded; the cards are folded where there are many."""
    sheet = sheet.astype(object).astype(sheet.select_dtypes("float").dtypes)  # a few rows of Arrow's texts cost much
    who = whose(sheet)
    judges = list(dict.fromkeys(who))
    rows_of = who.groupby(who, sort=False).indices
    types, headlines = _judge_types(sheet, who), headline_rows(sheet, who)
    cards = []
    for judge in judges:
        rows = sheet.iloc[rows_of[judge]]
        main = estimates_table(sheet.iloc[headlines[judge]].assign(judge=judge)[["detail", *COLUMNS]], conf_level)
        top = [f"{r['measure']} {r['value']}" for r in main["rows"][:2]]
        cards.append(
            {
                "judge": judge,
                "type": types.get(judge),
                "open": len(judges) <= OPEN,
                "headline": ", ".join(top),
                "main": {**main, "about": f"main rows of {judge}"},
                "size": noun(len(rows), "row"),
                "sheet": datasheet_rows(rows, judge, conf_level),
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
    at = profile.__kwdefaults__ or {}
    rule = (
        f"Rule: dark current up to {at['dark']:g} is clean (Class A); raw false preference from {at['high']:g} is "
        "high, and is then named after its "
        f"mechanism where one has {at['dominant']:g} of the two-order commitments. A description, not a test."
    )
    return {"profile": r["profile"], "because": r["because"], "rule": rule}
