"""The rubrics that judges wrote in a chain: :func:`generated_rubrics`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from judgestats.design.collection import matched
from judgestats.design.plans import CALL, TEXTS, Plan, opened
from judgestats.design.prompts import REPLIES
from judgestats.design.rubric_dimensions import Dimensions, read_dimensions
from judgestats.design.runner_replies import Answers
from judgestats.errors import DesignError
from judgestats.typing import Record

_LOST = "no usable reply: it failed, was refused, empty, cut off or never came"


def generated_rubrics(plan: Plan | str | Path, answers: Answers) -> pd.DataFrame:
    """Read the rubrics that judges wrote in a chain.

    Parameters
    ----------
    plan : Plan or path
        The plan of the stages up to the rubric, or of all: ``plan + second + third``.
    answers
        As for :func:`judgestats.design.collect`.

    Returns
    -------
    pandas.DataFrame
        A row for each dimension of a rubric: ``call``, ``judge``, ``item``, ``prompt``, ``temperature``, ``replicate``,
        the design columns of the item, ``criterion`` (its name), ``weight`` (they sum to 1), ``about``, ``anchor_2``,
        ``anchor_5``, ``anchor_8``, ``anchor_10``, and ``flag``: weights that did not sum to 1 and were divided by their
        sum, anchors that are missing. A rubric that cannot be used is one row without a criterion, with the reason in
        ``fault``: no JSON, another number of dimensions, one without a name or two of the same, a weight that is
        missing or negative, other names than were asked for. :func:`next_stage` plans no scores by it.

    Raises
    ------
    DesignError
        If the plan has no stage that asks for a rubric, or it has not been asked yet.

    See Also
    --------
    merg : Scores by a rubric of the judge's own.
    rubric_similarity : Similarity of two judges' rubrics.

    Examples
    --------
    >>> from judgestats.design import Judge, merg, next_stage, simulate_replies
    >>> texts = pd.DataFrame({"item": "1", "system": ["s", "t"], "task_text": "Write a poem.",
    ...                       "response_text": ["a", "b"]})
    >>> plan = stage = merg("g", texts)
    >>> answers = simulate_replies(plan, Judge("g")).to_dict("records")
    >>> for _ in range(2):
    ...     stage = next_stage(stage, answers)
    ...     plan, answers = plan + stage, answers + simulate_replies(stage, Judge("g")).to_dict("records")
    >>> rubrics = generated_rubrics(plan, answers)
    >>> len(rubrics), round(float(rubrics["weight"].sum()), 6)
    (5, 1.0)
    """
    plan = opened(plan)
    places = {REPLIES.index(p.criteria_in) + 1 for p in plan.prompts.values() if p.criteria_in in REPLIES}
    if not places:
        raise DesignError("The plan has no stage that asks for a rubric. merg() makes one: variant='original-4-stage'.")
    texts = [n for n, p in plan.prompts.items() if p.frame == "texts"]
    calls = plan.calls[plan.calls["stage"].isin(places) & plan.calls["prompt"].isin(texts)]
    if not len(calls):
        raise DesignError(
            "The calls that ask for a rubric are not in the plan. Add their stage: plan + next_stage(...)."
        )
    replies = matched(plan, answers).usable(plan)
    dropped = [*TEXTS.values(), "planned", "after", "stage", "chain", "condition", "system"]
    columns = calls.drop(columns=dropped, errors="ignore").dropna(axis="columns", how="all")
    rows: list[Record] = []
    for row in columns.to_dict("records"):
        lost = row[CALL] not in replies
        dimensions = Dimensions() if lost else read_dimensions(replies[row[CALL]], plan.prompts[row["prompt"]])
        row |= {"flag": dimensions.flag, "fault": _LOST if lost else dimensions.fault}
        for d in dimensions.criteria:
            anchors = {f"anchor_{k}": text for k, text in d.anchors.items()}
            rows.append({**row, "criterion": d.name, "weight": d.weight, "about": d.about, **anchors})
        rows += [] if dimensions.criteria else [row]
    table = pd.DataFrame(rows)
    last = ["criterion", "weight", "about", *sorted((c for c in table if c.startswith("anchor_")), key=_number)]
    return table.reindex(columns=[*columns, *last, "flag", "fault"])


def _number(column: str) -> float:
    """The score of an anchor, for the order of its column."""
    digits = column.removeprefix("anchor_")
    return float(digits) if digits.replace(".", "", 1).isdigit() else np.inf
