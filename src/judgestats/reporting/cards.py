"""The card on the judge that does best in one question."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import pandas as pd

from judgestats.metrics.standings import DECIMALS, FEWEST, Standing
from judgestats.reporting.card_questions import CardQuestion, FirstScreen
from judgestats.reporting.contenders import Contenders
from judgestats.reporting.formatting import FINE, PERCENT, noun, number, printed
from judgestats.reporting.page_claims import Claim
from judgestats.reporting.summary_parts import Card, listed


def best_card(
    name: str, q: CardQuestion, ranking: Standing, screen: FirstScreen, contenders: Contenders, conf_level: float
) -> Card:
    """The card on the judge that does best in one question, or why that cannot be said."""
    column = next((c for c in screen.columns if c.term == q.term), None)
    cells = column.cells if column is not None else {}  # the card says what the table says of a judge alone
    estimates = dict(ranking.means[["judge", "estimate"]].itertuples(index=False))
    means = pd.Series({j: float(cells[j]["estimate"]) if j in cells else float(v) for j, v in estimates.items()})
    texts = {j: column.text(j)[0] if column and j in cells else printed(v, q.form) for j, v in means.items()}
    method = f"{ranking.method}; over {listed([q.units, *q.wider])}{', the wider' if q.wider else ''}"
    best = ranking.best
    of_question = partial(Claim, "", "card", name, q.term, tables=("comparison",) if cells else (), units=q.units)
    if len(means) == 1:
        head = q.alone or q.head
        value, detail = column.text(best) if column and best in cells else (texts[best], "")
        detail = f"{100 * conf_level:g}{PERCENT} interval {detail}" if detail else "no interval"
        if column is not None and math.isfinite(level := column.reference_of(best)) and column.line:
            line = column.line.removeprefix("dashed: ")
            detail += f"; {line}" if PERCENT in line else f"; {line}: {printed(level, q.form)}"
        alone = of_question((best,), "alone", (float(means[best]),), (best,))
        return Card(name, head, f"{best}, {value}", detail, says=(alone,))
    scope = tuple(map(str, means.index))
    if ranking.ahead or ranking.uncompared:
        unknown = of_question((), "cannot be said", (), scope)
        return Card(name, q.head, "Cannot be said", _why_not_compared(q, ranking, texts), method, (unknown,))
    top = [best, *ranking.tied]
    following = str(means.index[1])
    row = ranking.difference(best, following)
    if ranking.winner and row is not None:
        gap = gap_in_words(abs(float(row["estimate"])), q.form)
        ends = sorted(abs(float(row[k])) for k in ("conf_low", "conf_high"))
        detail = (
            f"{gap} {q.better} {following}{_on_shared_items(ranking, row)} "
            f"({interval_label(conf_level, len(ranking.pairs))} "
            f"{_nonzero_end(ends[0], q.form)} to {_nonzero_end(ends[1], q.form)})"
        )
        says = of_question((best, following), "best", tuple(map(float, means[[best, following]])), scope)
        return Card(name, q.head, f"{best}, {texts[best]}", detail, method, (says,))
    low, high = (texts[str(j)] for j in (means[top].idxmin(), means[top].idxmax()))
    if q.form == "share" and "." in low + high:  # both with the decimals of the finer one
        low, high = (printed(v, "share", FINE / 2) for v in (means[top].min(), means[top].max()))
    between = low if low == high else f"{low.removesuffix(PERCENT)} to {high}"
    worst = str(means.index[-1])
    says = of_question(tuple(top), "may be best", tuple(map(float, means[top])), scope)
    if len(top) == len(means):
        claim = f"None of {contenders.said(means.index)} stands out"
        detail = f"{between}; no difference from {best} excludes 0{_apart_alone(cells, ranking)}"
        return Card(name, q.head, claim, detail, method, (says,))
    behind = [str(j) for j in means.index if j not in top]
    who = (
        listed(top)
        if len(top) <= 2
        else f"All but {listed(behind)}"
        if len(behind) <= 2
        else f"{len(top)} of {contenders.counted(means.index)}"
    )
    claim = f"{who}, {between}"
    some = f"{listed(top)} are not distinguishable" if who.startswith(str(len(top))) else "not distinguishable"
    detail = f"{some} from the best, {best}{_apart_alone(cells, ranking)}; the last, {worst}, has {texts[worst]}"
    method += f"; not distinguishable from the best: {', '.join(top)}"
    return Card(name, q.head, claim, detail, method, (says,))


def _why_not_compared(q: CardQuestion, ranking: Standing, texts: Mapping[str, str]) -> str:
    """Why the judge with the best value cannot be called best: judges it was not compared with, or one ahead of it."""
    means = ranking.means.set_index("judge")["estimate"].round(DECIMALS)
    equal = [str(j) for j in means.index[means == means.iloc[0]]]
    extreme = "lowest" if q.lower_is_better else "highest"
    parts = [f"{listed(equal)} {'has' if len(equal) == 1 else 'have'} the {extreme}, {texts[ranking.best]}"]
    if ranking.ahead:
        parts.append(
            f"on what both judged, {listed(ranking.ahead)} {'is' if len(ranking.ahead) == 1 else 'are'} better"
        )
    few = [j for j in ranking.uncompared if ranking.difference(ranking.best, j) is None]
    if few:
        parts.append(f"fewer than {FEWEST} {q.units} on which {ranking.best} can be compared with {listed(few)}")
    if rest := [j for j in ranking.uncompared if j not in few]:
        parts.append(f"no interval for the difference from {listed(rest)}, which does not vary")
    if ranking.tied:
        parts.append(f"not distinguishable from it: {listed(ranking.tied)}")
    return "; ".join(parts)


def _apart_alone(cells: Mapping[str, Mapping[str, Any]], ranking: Standing) -> str:
    """Judges not distinguishable from the best whose own intervals in the table nevertheless do not overlap it."""
    low, high = (float(cells.get(ranking.best, {}).get(end, math.nan)) for end in ("conf_low", "conf_high"))
    alone = [j for j in ranking.tied if j in cells and (cells[j]["conf_low"] > high or cells[j]["conf_high"] < low)]
    return f"; alone, the intervals of {ranking.best} and {listed(alone)} do not overlap" if alone else ""


def _on_shared_items(ranking: Standing, row: Mapping[str, Any]) -> str:
    """A remark where a difference covers only a part of what was judged."""
    units = ranking.means.set_index("judge")["n"]
    return "" if (units[[row["judge"], row["other"]]] == row["n"]).all() else " on what both judged"


def interval_label(conf_level: float, comparisons: int) -> str:
    """What an interval of a card is called: of several comparisons it holds for all at once."""
    return f"{'simultaneous ' if comparisons > 1 else ''}{100 * conf_level:g}{PERCENT} interval"


def _nonzero_end(value: float, form: str) -> str:
    """Print an end of an interval that excludes 0 with enough digits that it is not rounded to 0."""
    if form == "score":
        return number(value, 2 if value >= 0.005 else 4)
    return number(100 * value, 0 if value >= 0.005 else 1 if value >= 0.0005 else 3)


def gap_in_words(value: float, form: str) -> str:
    """How far apart two judges are: a difference of scores, or points."""
    return number(value, 2) if form == "score" else noun(round(100 * value), "point")
