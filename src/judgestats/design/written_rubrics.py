"""The study of rubrics that judges write themselves: MERG, its ablations, its baseline, and the rubrics written
(consensus_illusion).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from judgestats.arguments import checked_arguments
from judgestats.design.collection import matched
from judgestats.design.plans import CALL, TEXTS, Plan, build, need_columns, opened, opened_table
from judgestats.design.prompt_templates import REPLIES, Prompt, prompt
from judgestats.design.rubric_dimensions import Criterion, Dimensions, read_dimensions, rubric_json
from judgestats.design.rubrics import Rubric
from judgestats.design.runner_replies import Answers
from judgestats.errors import DesignError, refuse_unknown
from judgestats.typing import Record

#: Variant -> its prompts, a stage each.
VARIANTS: dict[str, tuple[str | Path | Prompt, ...]] = {
    "baseline-score": ("merg_baseline",),
    "original-4-stage": ("merg_knowledge", "merg_biases", "merg_rubric", "merg_scores"),
    "5-dim-per-dim": ("merg_knowledge", "merg_biases", "merg_rubric_five", "merg_scores"),
    "shared-stages": ("merg_knowledge", "merg_biases", "merg_rubric", "merg_scores"),
    "universal-rubric": ("merg_scores_universal",),
}
_NEEDED = ("item", "system", "task_text", "response_text")
#: Columns that are the plan's own.
_TAKEN = ("judge", "condition", "prompt", "temperature", "replicate", "stage", "rubric_text")
#: Columns that say which rubric of an item one is.
_CALL = ("judge", "prompt", "temperature", "replicate")


@checked_arguments
def merg(
    judges: str | Sequence[str],
    responses: pd.DataFrame | str | Path,
    *,
    variant: str = "original-4-stage",
    rubric_judge: str | None = None,
    rubrics: str | Path | Rubric | pd.DataFrame | None = None,
    temperature: float | Sequence[float] = 0.0,
    replicates: int = 1,
    prompts: Sequence[str | Path | Prompt] | None = None,
) -> Plan:
    """Plan scores by a rubric that the judge writes for the task (MERG), by an ablation of it, or by its baseline.

    Parameters
    ----------
    judges : str or sequence of str
        Who scores.
    responses : pandas.DataFrame or path
        A table, or a file with one: ``item``, ``system``, ``task_text`` (one for each item), ``response_text``. Other
        columns are design columns.
    variant : str
        ``original-4-stage``: each judge notes its knowledge about the task, then its biases, writes a rubric of five
        dimensions with weights and anchors, and scores each response by it. ``5-dim-per-dim``: the same, and the
        dimensions are called Content, Style, Structure, Language and Creativity. ``shared-stages``: all score by the
        rubric of `rubric_judge`. ``universal-rubric``: all score by `rubrics`. ``baseline-score``: scores from 1 to 10
        on five criteria, without stages.
    rubric_judge : str, optional
        ``shared-stages``: whose rubric is used; one of `judges`, or another.
    rubrics : str, path, Rubric or pandas.DataFrame, optional
        ``universal-rubric`` (needed) and ``baseline-score`` (by default ``writing``): one rubric for all items, as in
        :meth:`Rubric.read`; or a table with one for each item, with ``item``, ``criterion`` and, where there are any,
        ``weight``, ``about`` and ``anchor_2``, ...: the part of :func:`generated_rubrics` that is by one judge, say.
    temperature, replicates
        As in :func:`judgestats.design.build`; each run writes its own rubric.
    prompts : sequence of str, path or Prompt, optional
        Templates of your own, one for each stage.

    Returns
    -------
    Plan
        Of ratings, with the variant in ``condition``. The stages before the scores depend on the judge and the item
        alone: they are planned once, the scores of all systems come after them (:func:`next_stage`), and variants
        joined by ``+`` share them. :func:`collect` gives a row for each dimension, with its ``weight``:
        ``js.composite(scores, scores)`` is the weighted mean, ``js.composite(scores, scores.assign(weight=1))`` the
        plain one, and ``stated_overall`` what the judge itself gave.

    Raises
    ------
    DesignError
        If a column is missing, an item has two tasks, a variant or its rubric is not known.

    See Also
    --------
    rubric : Ratings by a rubric.
    generated_rubrics : Rubrics that judges wrote.

    Notes
    -----
    consensus_illusion, Sec 2.2, Sec 3.3 and App A. Sec 2.2 takes the plain mean over dimensions, the prompt in App A
    asks for the weighted one. The paper does not say whether judges who score by another's rubric see its notes on
    biases; here they do, so that the last stage is the same. It calls the source of the universal rubrics *averaged*
    and does not say how. Its baseline scores by the criteria that WritingBench has for each task: give them in
    `rubrics`.

    Examples
    --------
    >>> texts = pd.DataFrame({"item": ["1", "1", "2", "2"], "system": ["s", "t"] * 2, "response_text": list("abcd"),
    ...                       "task_text": ["Write a poem."] * 2 + ["Write a plan."] * 2})
    >>> plan = merg(["g", "h", "k"], texts)
    >>> plan.summary().groupby("stage")["calls"].sum().to_dict()     # 3 judges x 2 items; then x 2 systems
    {1: 6, 2: 6, 3: 6, 4: 12}
    >>> len(plan + merg(["g", "h", "k"], texts, variant="shared-stages", rubric_judge="g"))      # the first stage
    6
    """
    refuse_unknown(variant, VARIANTS, f"variant={variant!r} is not known")
    own = len(VARIANTS[variant]) > 1
    if (rubric_judge is not None) != (variant == "shared-stages"):
        raise DesignError(
            "variant='shared-stages' needs rubric_judge=, whose rubric is used."
            if rubric_judge is None
            else f"rubric_judge= is of variant='shared-stages', not of {variant!r}. Leave it out."
        )
    if own and rubrics is not None:
        raise DesignError(f"In variant={variant!r} the judges write the rubrics. Leave rubrics= out.")
    if variant == "universal-rubric" and rubrics is None:
        raise DesignError("variant='universal-rubric' needs rubrics=, one for all items or a table with one for each.")
    chain = VARIANTS[variant] if prompts is None else tuple(prompts)
    if len(chain) != len(VARIANTS[variant]):
        raise DesignError(f"prompts= has {len(chain)} of the {len(VARIANTS[variant])} stages of {variant!r}.")
    responses = _checked(opened_table(responses))
    several = [judges] if isinstance(judges, str) else list(judges)
    about = {"merg": {"variant": variant, "rubric_judge": rubric_judge}}
    calls: Record = {"temperature": temperature, "replicates": replicates, "about": about}
    if not own:
        template = prompt(chain[0])
        text = _given(rubrics if rubrics is not None else "writing", responses["item"], template)
        table = responses.assign(rubric_text=responses["item"].map(text), condition=variant)
        return build(table, judges=several, prompts=template, **calls)
    each = responses.groupby("item", sort=False)
    shared = [c for c in responses if c not in _NEEDED and (each[c].nunique(dropna=False) == 1).all()]
    items = responses.drop_duplicates("item")[["item", "task_text", *shared]]
    plan = build(items, judges=several if rubric_judge is None else rubric_judge, prompts=chain[0], **calls)
    for stage in chain[1:-1]:
        plan = plan.then(stage)
    if rubric_judge is not None:
        responses = responses.merge(pd.DataFrame({"judge": several}), how="cross")
    return plan.then(chain[-1], responses, condition=variant)


def _checked(responses: pd.DataFrame) -> pd.DataFrame:
    """The responses, if they have all columns and one task for each item."""
    need_columns(responses, _NEEDED, "table of responses")
    if taken := [c for c in _TAKEN if c in responses]:
        raise DesignError(f"The table of responses has a column {taken[0]!r}, which the plan fills in. Rename it.")
    if not len(responses):
        raise DesignError("The table of responses has no rows. Give at least one.")
    tasks = responses.groupby("item", sort=False)["task_text"].nunique(dropna=False)
    if (tasks > 1).any():
        raise DesignError(
            f"Item {tasks.index[tasks > 1][0]!r} has {tasks.max()} different tasks. Give each its own item."
        )
    for row in responses.loc[responses.duplicated(["item", "system"]), ["item", "system"]].to_dict("records"):
        raise DesignError(f"There are two responses of one system to one item: {row}. Give each its own item.")
    return responses.reset_index(drop=True)


def _given(rubrics: str | Path | Rubric | pd.DataFrame, items: pd.Series, template: Prompt) -> dict[str, str]:
    """The rubric of each item, in JSON."""
    if isinstance(rubrics, str | Path) and Path(rubrics).suffix not in ("", ".toml"):
        rubrics = opened_table(rubrics)
    if not isinstance(rubrics, pd.DataFrame):
        rubric = Rubric.read(rubrics)
        if template.scale is not None and tuple(rubric.scale) != tuple(template.scale):
            raise DesignError(
                f"Rubric {rubric.name!r} has the scale {rubric.scale[0]:g} to {rubric.scale[1]:g}, and prompt "
                f"{template.name!r} asks for scores from {template.scale[0]:g} to {template.scale[1]:g}. Give one of "
                "that scale."
            )
        return dict.fromkeys(items.unique(), rubric.json)
    need_columns(rubrics, ("item", "criterion"), "table of rubrics")
    criteria = rubrics[rubrics["criterion"].notna() & (rubrics["criterion"] != "")]
    if "weight" in criteria:
        criteria = criteria.assign(weight=pd.to_numeric(criteria["weight"], errors="coerce"))
    several = criteria.groupby("item")[[c for c in _CALL if c in criteria]].nunique(dropna=False)
    for column in several:
        if (several[column] > 1).any():
            item = several.index[several[column] > 1][0]
            raise DesignError(
                f"Item {item!r} has rubrics of several {column}s. Choose one: rubrics[rubrics[{column!r}] == ...]."
            )
    if "weight" in criteria and (wrong := criteria["weight"].isna() | (criteria["weight"] < 0)).any():
        raise DesignError(f"Item {criteria.loc[wrong, 'item'].iloc[0]!r} has a weight that is missing or negative.")
    texts = {item: rubric_json(_criteria(part)) for item, part in criteria.groupby("item", sort=False)}
    for item in items.unique():
        if item not in texts:
            raise DesignError(f"Item {item!r} has no rubric. Give one, or leave its responses out.")
        if fault := read_dimensions(texts[item]).fault:
            raise DesignError(f"The rubric of item {item!r} cannot be used: {fault}.")
    return texts


def _criteria(rows: pd.DataFrame) -> list[Criterion]:
    """The criteria of one rubric in a table."""
    criteria = []
    for r in rows.to_dict("records"):
        texts = {str(c): text for c, text in r.items() if isinstance(text, str)}
        anchors = {c.removeprefix("anchor_"): text for c, text in texts.items() if c.startswith("anchor_")}
        criteria.append(Criterion(str(r["criterion"]), texts.get("about", ""), anchors, float(r.get("weight", 1.0))))
    return criteria


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
    if not (places := {REPLIES.index(p.criteria_in) + 1 for p in plan.prompts.values() if p.criteria_in in REPLIES}):
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
