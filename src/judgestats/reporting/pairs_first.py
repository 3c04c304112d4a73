"""The first screen of a page of pairs."""

from __future__ import annotations

import pandas as pd

from judgestats import flags
from judgestats.counting.study import Study
from judgestats.metrics.marks import order_marks, right_marks, steady_marks
from judgestats.metrics.measure_registry import Options
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
from judgestats.reporting.summary_parts import CHANCE, Column


def pairs_first_screen(
    calls: Study, sheet: pd.DataFrame, people: PeopleAgreement, conditions: list[str], options: Options
) -> FirstScreen:
    """Columns, questions and bias of pairwise verdicts."""
    questions: dict[str, CardQuestion] = {}
    columns: list[Column] = []
    data, against = calls.data.to_native(), ""
    if right := rows_by_judge(sheet, "accuracy", ["gold"]):
        against = "gold"
        level, line = _best_constant(data)
        note = "share of valid verdicts that match gold"
        columns.append(Column("accuracy", "Accuracy", note, "share", right, False, level, line))
        cluster = cluster_of_intervals(data, right)
        questions["right"] = CardQuestion(
            "Most often right",
            right_marks(calls, conditions, cluster),
            "share",
            "accuracy",
            cluster_plural(cluster, "calls"),
            alone="Right on gold",
            again=lambda frame, by: right_marks(frame, conditions, by),
        )
    if people.columns:
        columns += people.columns
        if not against:
            against = "people"
            questions["right"] = people_question(data, people, conditions, options)
    if steady := rows_by_judge(sheet, "consistency", ["swap"]):
        columns.append(Column("consistency", "Same verdict in both orders", "share of pairs", "share", steady))
        cluster = cluster_of_intervals(data, steady)
        marks = steady_marks(calls, conditions, cluster)
        head = "Steady when the order is swapped"
        questions["steady"] = CardQuestion(head, marks, "share", "consistency", cluster_plural(cluster, "pairs"))
    slots = {
        j: r
        for j, r in rows_by_judge(sheet, "position_bias", ["slots"]).items()
        if flags.ORDER_CONFOUNDED not in r["flag"] and "bias" not in data.columns
    }
    if slots:
        head, note = "First-position preference", "points, first minus second"
        columns.append(Column("position_bias", head, note, "points", slots, False, 0.0, "dashed: none"))
    if again := rows_by_judge(sheet, "repeat_consistency", ["repeats"]):
        columns.append(Column("repeat_consistency", "Same verdict when asked again", "share", "share", again))
    columns += graded_columns(calls, options)
    cluster = cluster_of_intervals(data, slots)
    marks = order_marks(calls, conditions, cluster or "pair") if slots else pd.DataFrame()
    bias = biased(marks, conf_level=options.conf_level, seed=options.seed) if len(marks) else None
    return FirstScreen(columns, questions, against, bias, order_bias_words(cluster_plural(cluster, "pairs"), options))


def _best_constant(data: pd.DataFrame) -> tuple[float, str]:
    """Accuracy of the best constant answer, or of chance where two answers are forced; and its name."""
    labelled = data[data["gold"].notna()]
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
