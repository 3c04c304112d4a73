"""The first screen of a page of pairs."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from judgestats import flags
from judgestats.counting.study import Study
from judgestats.metrics.marks import order_marks, right_marks, steady_marks
from judgestats.metrics.measure_registry import MeasureOptions
from judgestats.metrics.standings import biased
from judgestats.reporting.card_questions import (
    CardQuestion,
    FirstScreen,
    cluster_of_intervals,
    cluster_plural,
    order_bias_words,
    people_question,
    rows_by_judge,
)
from judgestats.reporting.graded_columns import graded_columns
from judgestats.reporting.people_columns import PeopleAgreement
from judgestats.reporting.summary_parts import CHANCE, SummaryColumn


def pairs_first_screen(
    calls: Study, sheet: pd.DataFrame, people: PeopleAgreement, conditions: list[str], options: MeasureOptions
) -> FirstScreen:
    """Columns, questions and bias of pairwise verdicts."""
    questions: dict[str, CardQuestion] = {}
    columns: list[SummaryColumn] = []
    data, against = calls.data.to_native(), ""
    if right := rows_by_judge(sheet, "accuracy", ["gold"]):
        against = "gold"
        note = "share of valid verdicts that match gold"
        columns.append(_beside_best_constant(SummaryColumn("accuracy", "Accuracy", note, "share", right), data))
        cluster = cluster_of_intervals(data, right)
        questions["right"] = CardQuestion(
            "Most often right",
            right_marks(calls, conditions, cluster),
            "share",
            "accuracy",
            cluster_plural(cluster, "calls"),
            alone="Right on gold",
        )
    if people.columns:
        columns += people.columns
        if not against:
            against = "people"
            questions["right"] = people_question(data, people, conditions, options)
    if steady := rows_by_judge(sheet, "consistency", ["swap"]):
        columns.append(SummaryColumn("consistency", "Same verdict in both orders", "share of pairs", "share", steady))
        cluster = cluster_of_intervals(data, steady)
        marks = steady_marks(calls, conditions, cluster)
        head = "Steady when the order is swapped"
        questions["steady"] = CardQuestion(head, marks, "share", "consistency", cluster_plural(cluster, "pairs"))
    slots = {
        j: r
        for j, r in rows_by_judge(sheet, "position_bias", ["slots"]).items()
        if not flags.has(r["flag"], flags.ORDER_CONFOUNDED) and "bias" not in data.columns
    }
    if slots:
        head, note = "First-position preference", "points, first minus second"
        columns.append(SummaryColumn("position_bias", head, note, "points", slots, False, 0.0, "dashed: none"))
    if again := rows_by_judge(sheet, "repeat_consistency", ["repeats"]):
        columns.append(SummaryColumn("repeat_consistency", "Same verdict when asked again", "share", "share", again))
    columns += graded_columns(calls, options)
    cluster = cluster_of_intervals(data, slots)
    marks = order_marks(calls, conditions, cluster or "pair") if slots else pd.DataFrame()
    bias = biased(marks, conf_level=options.conf_level, seed=options.seed) if len(marks) else None
    return FirstScreen(columns, questions, against, bias, order_bias_words(cluster_plural(cluster, "pairs"), options))


def _beside_best_constant(column: SummaryColumn, data: pd.DataFrame) -> SummaryColumn:
    """The column with the accuracy of the best constant answer to what each judge was asked."""
    rows = data[data["gold"].notna()]
    constants = {str(j): _best_constant(own) for j, own in rows.groupby("judge") if str(j) in column.cells}
    lines = {line for _, line in constants.values()}
    line = lines.pop() if len(lines) == 1 else "dashed: best constant answer"
    return replace(column, line=line).references_of({j: level for j, (level, _) in constants.items()})


def _best_constant(labelled: pd.DataFrame) -> tuple[float, str]:
    """Accuracy of the best constant answer, or of chance where two answers are forced; and its name."""
    gold, n = labelled["gold"].astype(str), max(len(labelled), 1)
    shares = {
        "first": float((gold == labelled["first"].astype(str)).sum()) / n,
        "second": float((gold == labelled["second"].astype(str)).sum()) / n,
        "tie": float((gold == "tie").sum()) / n,
    }
    answer = max(shares, key=lambda k: (round(shares[k], 12), k == "first"))
    forced = shares["tie"] == 0 and not labelled["choice"].astype(str).isin(["tie", "abstain"]).any()
    if forced and abs(shares["first"] - 0.5) < 0.005:
        return 0.5, CHANCE
    said = "a tie" if answer == "tie" else answer
    return shares[answer], f"dashed: best constant answer (always {said})"
