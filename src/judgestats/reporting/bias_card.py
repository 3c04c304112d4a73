"""The card on the judges that are biased."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from judgestats.estimate import NOTHING
from judgestats.metrics.measure_registry import MeasureOptions
from judgestats.metrics.standings import FEWEST
from judgestats.reporting.card_questions import BiasWords, FirstScreen
from judgestats.reporting.cards import interval_label
from judgestats.reporting.formatting import noun, number, signed
from judgestats.reporting.page_claims import Claim
from judgestats.reporting.summary_parts import Card, listed
from judgestats.typing import Record


def bias_card(
    screen: FirstScreen, rows: pd.DataFrame, judges: Iterable[str], options: MeasureOptions, numbers: pd.DataFrame
) -> Card:
    """Judges whose simultaneous interval lies beyond the smallest bias of interest, the largest bias first.

    Without such judges the card says that no interval excludes 0, or what the data cannot tell; and who has a larger
    bias in another table of the page, whose `numbers` are given.
    """
    bias = screen.said
    assert bias is not None
    cells = next((c.cells for c in screen.columns if c.term == bias.term), {})
    records: list[Record] = [{str(k): v for k, v in row.items()} for row in rows.to_dict("records")]
    if len(records) == 1 and (cell := cells.get(records[0]["judge"])) is not None:  # nothing is selected
        records = [{**records[0], **{k: float(cell[k]) for k in ("estimate", "conf_low", "conf_high")}}]
    words = _CardWords(bias, cells, interval_label(options.conf_level, len(records)))
    method = f"simultaneous over the judges: {bias.method}; over {bias.units}"
    if clear := [r for r in records if r["conf_low"] > 0 or r["conf_high"] < 0]:
        head, claim, parts = _clear_of_zero(clear, bias, words)
    else:
        head, (claim, parts) = bias.head, _none_clear(records, list(judges), bias, words)
    if bias.unit and any(words.differs(r) for r in records):
        parts.append("of pairs shown in both orders")
    beyond = [r for r in records if bias.side(r["conf_low"], r["conf_high"])]
    of = beyond or records[:1]
    of_term = numbers[(numbers["term"] == bias.term) & numbers["value"].notna()]
    others = of_term[of_term["value"].abs() > abs(of[0]["estimate"]) + NOTHING]
    others = others[~others["judge"].isin([str(r["judge"]) for r in of])].drop_duplicates("judge")
    if not beyond:
        parts += [
            f"of all calls: {j}, {words.number(v)}{bias.unit}"
            for j, v in zip(others["judge"], others["value"], strict=True)
        ]
        wide = [j for j, c in cells.items() if bias.side(float(c["conf_low"]), float(c["conf_high"]))]
        alone = f"the interval{'' if len(wide) == 1 else 's'} of {listed(wide)} alone"
        parts += [f"{alone} {'is' if len(wide) == 1 else 'are'} beyond {words.smallest}"] if wide else []
    says = Claim(
        "",
        "card",
        "biased",
        bias.term,
        (*(str(r["judge"]) for r in of), *(() if beyond else others["judge"])),
        "beyond" if beyond else "not beyond",
        tuple(float(r["estimate"]) for r in of),
        tuple(sorted(judges)),
        (
            "bias" if len(rows) > 1 or not cells else "comparison",
            *(t for t in of_term["table"].unique() if t != "bias"),
        ),
        bias.units,
    )
    return Card("biased", head, claim, "; ".join(parts), method, (says,))


@dataclass(frozen=True)
class _CardWords:
    """The numbers of a card as its sentences say them."""

    bias: BiasWords
    cells: Mapping[str, Mapping[str, object]]  # judge -> its row in the table
    label: str  # of the intervals

    def number(self, value: float) -> str:
        return signed(value) if self.bias.form == "score" else signed(100 * value, 0)

    def estimate(self, row: Record) -> str:
        return f"{row['judge']}, {self.number(row['estimate'])}{self.bias.unit}"

    def differs(self, row: Record) -> bool:
        """Whether the table, which is of all calls, has another number."""
        cell = self.cells.get(row["judge"])
        return cell is not None and self.number(float(str(cell["estimate"]))) != self.number(row["estimate"])

    def interval(self, row: Record) -> str:
        return f"{self.label} {self.number(row['conf_low'])} to {self.number(row['conf_high'])}"

    @property
    def smallest(self) -> str:
        size = self.bias.smallest
        return f"{number(size, 2) if self.bias.form == 'score' else f'{100 * size:g}'}{self.bias.unit}"


def _clear_of_zero(clear: Sequence[Record], bias: BiasWords, words: _CardWords) -> tuple[str, str, list[str]]:
    """Head, claim and details where the intervals of some judges exclude 0."""
    above, below, within = ([r for r in clear if bias.side(r["conf_low"], r["conf_high"]) == k] for k in (1, -1, 0))
    if above and below:
        who = [str(len(side)) if len(side) > 1 else side[0]["judge"] for side in (above, below)]
        verb = bias.verbs[int(len(above) > 1)]
        head, claim = bias.head, f"{who[0]} {verb} by more than {words.smallest}, {who[1]} {bias.opposite}"
        parts = [f"{words.estimate(side[0])} ({words.interval(side[0])})" for side in (above, below)]
    elif side := above or below:
        head, claim = bias.heads[int(side is below)], words.estimate(side[0])
        parts = [words.interval(side[0])]
        parts += [f"by more than {words.smallest}, too: {listed(r['judge'] for r in side[1:])}"] if side[1:] else []
    else:
        head, claim = bias.head, f"None shown to be above {words.smallest}"
        parts, within = [f"largest: {words.estimate(clear[0])} ({words.interval(clear[0])})"], within[1:]
    near = listed(r["judge"] for r in within)
    return head, claim, [*parts, *([f"clear of 0, but not of {words.smallest}: {near}"] if near else [])]


def _none_clear(
    records: Sequence[Record], judges: Sequence[str], bias: BiasWords, words: _CardWords
) -> tuple[str, list[str]]:
    """Claim and details where no interval excludes 0 for all judges at once: none, or of whom that cannot be said."""
    measured = [r for r in records if not math.isnan(r["conf_low"]) or (r["estimate"] == 0 and r["clusters"] >= FEWEST)]
    lacking = [r for r in records if r not in measured]
    ends = {j: (float(str(c["conf_low"])), float(str(c["conf_high"]))) for j, c in words.cells.items()}
    alone = [j for j in judges if j in ends and (ends[j][0] > 0 or ends[j][1] < 0)]
    parts = []
    if measured:
        largest = f"largest: {words.estimate(measured[0])} ({words.interval(measured[0])})"
        parts.append(largest if math.isfinite(measured[0]["conf_low"]) else "every estimate is 0")
    if lacking:
        few = all(r["clusters"] < FEWEST for r in lacking)
        lone = f"no interval for {listed(r['judge'] for r in lacking)}"
        parts.append(f"fewer than {FEWEST} {bias.units}" if few else lone)
    if alone:
        one = len(alone) == 1
        parts.append(f"the interval{'' if one else 's'} of {listed(sorted(alone))} alone exclude{'s' if one else ''} 0")
    if lacking:
        return f"Cannot be said of {listed(r['judge'] for r in lacking)}" if measured else "Cannot be said", parts
    return bias.none if not alone else f"None that holds for {noun(len(records), 'judge')} at once", parts
