"""The first screen of a page of the dark-current design."""

from __future__ import annotations

import pandas as pd

from judgestats.counting.study import Study
from judgestats.metrics.marks import order_marks, preference_marks, right_marks
from judgestats.metrics.measure_registry import MeasureOptions
from judgestats.metrics.standings import biased
from judgestats.reporting.card_questions import (
    CardQuestion,
    FirstScreen,
    cluster_of_intervals,
    cluster_plural,
    order_bias_words,
    rows_by_judge,
)
from judgestats.reporting.people_columns import PeopleAgreement
from judgestats.reporting.summary_parts import SummaryColumn


def stimuli_columns(sheet: pd.DataFrame) -> list[SummaryColumn]:
    """Columns of the dark-current design: a known difference, nothing at all, and equals."""
    first_step = "right choices at the first step of the ladder; a tie is a miss"
    about = (
        ("target_sensitivity", "ladder", "Finds the smallest difference", first_step, False),
        ("dark_current", "dark current", "Dark current", "preferences where there is nothing to prefer", True),
        ("raw_false_preference", "Δ0", "False preference", "calls on equals that prefer one", True),
        ("stable_cross_sensitivity", "Δ0", "Holds on to one of two equals", "pairs of equals, in both orders", True),
    )
    return [
        SummaryColumn(term, label, f"share of {note}", "share", cells, lower)
        for term, section, label, note, lower in about
        if (cells := rows_by_judge(sheet, term, [section], at="first" if term == "target_sensitivity" else ""))
    ]


def stimuli_first_screen(
    calls: Study,
    sheet: pd.DataFrame,
    people: PeopleAgreement,  # noqa: ARG001  (as for the other kinds)
    conditions: list[str],
    options: MeasureOptions,
) -> FirstScreen:
    """Columns, questions and bias of the dark-current design."""
    data = calls.data.to_native()
    stimulus = data["stimulus"].astype(str)
    questions: dict[str, CardQuestion] = {}
    columns = stimuli_columns(sheet)
    of_term = {c.term: cluster_of_intervals(data, c.cells) for c in columns}
    if (cluster := of_term.get("target_sensitivity")) is not None:
        ladder = data[(stimulus == "ladder") & data["better"].notna()]
        ladder = ladder[pd.to_numeric(ladder["delta"]) == pd.to_numeric(ladder["delta"]).min()]
        marks = right_marks(ladder, conditions, cluster, "better")
        head = "Most often finds the smallest difference"
        units = cluster_plural(cluster, "calls")
        alone = "Finds the smallest difference"
        questions["right"] = CardQuestion(head, marks, "share", "target_sensitivity", units, alone=alone)
    if (cluster := of_term.get("dark_current")) is not None:
        marks = preference_marks(data[stimulus == "vacuum"], conditions, cluster)
        head = "Fewest preferences where nothing differs"
        questions["dark"] = CardQuestion(
            head,
            marks,
            "share",
            "dark_current",
            cluster_plural(cluster, "calls"),
            True,
            "below",
            "Preferences where nothing differs",
        )
    bias = None
    if len(marks := order_marks(calls, conditions)):
        bias = biased(marks, conf_level=options.conf_level, seed=options.seed)
    against = "known differences" if "right" in questions else ""
    return FirstScreen(columns, questions, against, bias, order_bias_words("items", options))
