"""The study of rubrics that judges write themselves: MERG, its ablations and its baseline (consensus_illusion)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import linear_sum_assignment

from judgestats import flags
from judgestats.counting.bootstrap import Bootstrap, ratio
from judgestats.counting.counts import Counts
from judgestats.defaults import CONF_LEVEL, N_RESAMPLES, SEED
from judgestats.design.collecting import replied
from judgestats.design.plans import CALL, TEXTS, Plan, build, need_columns, opened, opened_table
from judgestats.design.prompts import REPLIES, Prompt, prompt
from judgestats.design.rubrics import Criterion, Dimensions, Rubric, read_dimensions, rubric_json
from judgestats.errors import DesignError, refuse_unknown
from judgestats.kernels.resampling import generator
from judgestats.metrics.invariance.rationales import Embed, Vectors, embedders
from judgestats.results import estimates
from judgestats.schema.columns import By, grouping

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
_LOST = "no usable reply: it failed, was refused, empty, cut off or never came"
#: Columns that say which rubric of an item one is.
_CALL = ("judge", "prompt", "temperature", "replicate")

# ---- The plan --------------------------------------------------------------------------------------------------------


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
    calls: dict[str, Any] = {"temperature": temperature, "replicates": replicates, "about": about}
    if not own:
        asked = prompt(chain[0])
        text = _given(rubrics if rubrics is not None else "writing", responses["item"], asked)
        table = responses.assign(rubric_text=responses["item"].map(text), condition=variant)
        return build(table, judges=several, prompts=asked, **calls)
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
    if (twice := responses.duplicated(["item", "system"])).any():
        row = responses.loc[twice, ["item", "system"]].iloc[0].to_dict()
        raise DesignError(f"There are two responses of one system to one item: {row}. Give each its own item.")
    return responses.reset_index(drop=True)


def _given(rubrics: str | Path | Rubric | pd.DataFrame, items: pd.Series[Any], asked: Prompt) -> dict[Any, str]:
    """The rubric of each item, in JSON."""
    if isinstance(rubrics, str | Path) and Path(rubrics).suffix not in ("", ".toml"):
        rubrics = opened_table(rubrics)
    if not isinstance(rubrics, pd.DataFrame):
        found = Rubric.read(rubrics)
        if asked.scale is not None and tuple(found.scale) != tuple(asked.scale):
            raise DesignError(
                f"Rubric {found.name!r} has the scale {found.scale[0]:g} to {found.scale[1]:g}, and prompt "
                f"{asked.name!r} asks for scores from {asked.scale[0]:g} to {asked.scale[1]:g}. Give one of that scale."
            )
        return dict.fromkeys(items.unique(), found.json)
    need_columns(rubrics, ("item", "criterion"), "table of rubrics")
    known = rubrics[rubrics["criterion"].notna() & (rubrics["criterion"] != "")]
    if "weight" in known:
        known = known.assign(weight=pd.to_numeric(known["weight"], errors="coerce"))
    several = known.groupby("item")[[c for c in _CALL if c in known]].nunique(dropna=False)
    for column in several:
        if (several[column] > 1).any():
            item = several.index[several[column] > 1][0]
            raise DesignError(
                f"Item {item!r} has rubrics of several {column}s. Choose one: rubrics[rubrics[{column!r}] == ...]."
            )
    if "weight" in known and (wrong := known["weight"].isna() | (known["weight"] < 0)).any():
        raise DesignError(f"Item {known.loc[wrong, 'item'].iloc[0]!r} has a weight that is missing or negative.")
    texts = {item: rubric_json(_criteria(part)) for item, part in known.groupby("item", sort=False)}
    for item in items.unique():
        if item not in texts:
            raise DesignError(f"Item {item!r} has no rubric. Give one, or leave its responses out.")
        if fault := read_dimensions(texts[item]).fault:
            raise DesignError(f"The rubric of item {item!r} cannot be used: {fault}.")
    return texts


def _criteria(rows: pd.DataFrame) -> list[Criterion]:
    """The criteria of one rubric in a table."""
    anchors = [c for c in rows if str(c).startswith("anchor_")]
    return [
        Criterion(
            str(r["criterion"]),
            str(r["about"]) if isinstance(r.get("about"), str) else "",
            {c.removeprefix("anchor_"): r[c] for c in anchors if isinstance(r[c], str)},
            float(r.get("weight", 1.0)),
        )
        for r in rows.to_dict("records")
    ]


# ---- The rubrics that came back --------------------------------------------------------------------------------------


def generated_rubrics(plan: Plan | str | Path, answers: Any) -> pd.DataFrame:
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
    >>> from judgestats.design import Judge, next_stage, simulate_replies
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
    asked = plan.calls[plan.calls["stage"].isin(places) & plan.calls["prompt"].isin(texts)]
    if not len(asked):
        raise DesignError(
            "The calls that ask for a rubric are not in the plan. Add their stage: plan + next_stage(...)."
        )
    replies = replied(plan, answers)
    dropped = [*TEXTS.values(), "planned", "after", "stage", "chain", "condition", "system"]
    kept = asked.drop(columns=dropped, errors="ignore").dropna(axis="columns", how="all")
    rows: list[dict[str, Any]] = []
    for row in kept.to_dict("records"):
        lost = row[CALL] not in replies
        found = Dimensions() if lost else read_dimensions(replies[row[CALL]], plan.prompts[row["prompt"]])
        row |= {"flag": found.flag, "fault": _LOST if lost else found.fault}
        for d in found.criteria:
            anchors = {f"anchor_{k}": text for k, text in d.anchors.items()}
            rows.append({**row, "criterion": d.name, "weight": d.weight, "about": d.about, **anchors})
        rows += [] if found.criteria else [row]
    table = pd.DataFrame(rows)
    last = ["criterion", "weight", "about", *sorted((c for c in table if c.startswith("anchor_")), key=_number)]
    return table.reindex(columns=[*kept, *last, "flag", "fault"])


def _number(column: str) -> float:
    """The score of an anchor, for the order of its column."""
    digits = column.removeprefix("anchor_")
    return float(digits) if digits.replace(".", "", 1).isdigit() else np.inf


# ---- How alike are the rubrics of two judges? ------------------------------------------------------------------------


def matched_dimensions(rubrics: pd.DataFrame, *, embed: Embed = None) -> pd.DataFrame:
    """Match the dimensions of the rubrics that two judges have for an item, one to one.

    Parameters
    ----------
    rubrics : pandas.DataFrame
        ``judge``, ``item``, ``criterion``, ``weight`` (divided by the sum in each rubric) and, where there are any,
        ``about``, ``anchor_2``, ..., as from :func:`generated_rubrics`; rows without a criterion are not read.
    embed : function or mapping, optional
        From texts to an (n, d) array, as in :func:`judgestats.rationale_shift`. By default TF-IDF, fitted on these
        texts; it knows words between blanks only: give another for Chinese, say.

    Returns
    -------
    pandas.DataFrame
        A row for each dimension of the pair: ``embed``, ``judge``, ``other``, ``item`` (``prompt``, ``temperature`` and
        ``replicate`` where rubrics have them), ``criterion`` and ``other_criterion``, their ``similarity`` (the cosine
        of name, description and anchors) and the weights ``weight`` and ``other_weight``. Where one rubric is longer,
        its other dimensions have no partner, similarity 0 and weight 0 on the other side.

    Raises
    ------
    DesignError
        If a column is missing, or no item has the rubrics of two judges.

    See Also
    --------
    rubric_similarity : Similarity of two judges' rubrics.

    Notes
    -----
    Of all one-to-one assignments it is the one with the largest sum of similarities.

    Examples
    --------
    >>> rubrics = pd.DataFrame({"judge": ["g", "g", "h", "h"], "item": "1", "weight": [0.7, 0.3, 0.5, 0.5],
    ...                         "criterion": ["fear of the dark", "rhythm", "strict rhythm", "dark mood"]})
    >>> matched_dimensions(rubrics)[["criterion", "other_criterion", "similarity", "weight", "other_weight"]].round(2)
              criterion other_criterion  similarity  weight  other_weight
    0  fear of the dark       dark mood        0.26     0.7           0.5
    1            rhythm   strict rhythm        0.62     0.3           0.5
    """
    known, keys = _known(rubrics)
    parts = []
    for name, function in embedders(embed).items():
        vectors = Vectors(known["_text"].tolist(), function, name)
        pairs = _pairs(known, keys)
        parts.append(_matches(pairs, vectors, keys).assign(embed=name))
    table = pd.concat(parts, ignore_index=True)
    return table[["embed", *(c for c in table if c != "embed")]]


def _known(rubrics: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """The dimensions that can be read, their texts, and the columns besides the judge that distinguish rubrics."""
    need_columns(rubrics, ("judge", "item", "criterion", "weight"), "table of rubrics")
    known = rubrics[rubrics["criterion"].notna()].reset_index(drop=True)
    shown = ["criterion", *(c for c in known if c == "about" or str(c).startswith("anchor_"))]
    texts = known[shown].fillna("").astype(str).agg(" ".join, axis="columns")
    keys = ["item", *(c for c in ("prompt", "temperature", "replicate") if c in known)]
    total = known.groupby(["judge", *keys], dropna=False)["weight"].transform("sum")
    return known.assign(_text=texts, weight=known["weight"] / total), keys


_Rubric = tuple[list[str], list[str], list[float]]
_Two = tuple[dict[str, Any], _Rubric, _Rubric]


def _pairs(known: pd.DataFrame, keys: list[str]) -> list[_Two]:
    """The rubrics of each two judges for the same item."""
    found = []
    for key, here in known.groupby(keys, sort=True, dropna=False):
        by_judge = {
            judge: (part["criterion"].tolist(), part["_text"].tolist(), part["weight"].astype(float).tolist())
            for judge, part in here.groupby("judge", sort=True)
        }
        for one, two in combinations(by_judge, 2):
            names = {"judge": one, "other": two, **dict(zip(keys, key, strict=True))}
            found.append((names, by_judge[one], by_judge[two]))
    if not found:
        raise DesignError("No item has rubrics of two judges. Give the rubrics of at least two for the same item.")
    return found


def _matches(pairs: list[_Two], vectors: Vectors, keys: list[str]) -> pd.DataFrame:
    """The matched dimensions of pairs of rubrics."""
    left = [a for _, one, two in pairs for a in one[1] for _ in two[1]]
    right = [b for _, one, two in pairs for _ in one[1] for b in two[1]]
    cosine = np.nan_to_num(vectors.cosine(left, right))
    rows: list[tuple[Any, ...]] = []
    at = 0
    for names, (criteria, _, weights), (others, _, other_weights) in pairs:
        size = len(criteria) * len(others)
        table = cosine[at : at + size].reshape(len(criteria), len(others))
        at += size
        key = tuple(names[c] for c in ("judge", "other", *keys))
        chosen = dict(zip(*map(np.ndarray.tolist, linear_sum_assignment(table, maximize=True)), strict=True))
        for i, criterion in enumerate(criteria):
            j = chosen.get(i)
            partner = (
                (None, 0.0, weights[i], 0.0) if j is None else (others[j], table[i, j], weights[i], other_weights[j])
            )
            rows.append((*key, criterion, *partner))
        rows += [
            (*key, None, others[j], 0.0, 0.0, other_weights[j]) for j in range(len(others)) if j not in chosen.values()
        ]
    columns = ["judge", "other", *keys, "criterion", "other_criterion", "similarity", "weight", "other_weight"]
    return pd.DataFrame(rows, columns=columns)


def rubric_similarity(
    rubrics: pd.DataFrame,
    *,
    embed: Embed = None,
    by: By = (),
    n_resamples: int = N_RESAMPLES,
    seed: int | np.random.Generator | None = SEED,
    conf_level: float = CONF_LEVEL,
) -> pd.DataFrame:
    """Similarity of the rubrics that two judges have for the same items.

    Parameters
    ----------
    rubrics, embed
        As in :func:`matched_dimensions`.
    by : str or sequence of str
        Further grouping columns, such as ``domain``; each has one value for an item.
    n_resamples, seed, conf_level
        Of the bootstrap of items, and coverage.

    Returns
    -------
    pandas.DataFrame
        Per pair of judges (``judge``, ``other``), embedder (``embed``) and ``prompt`` where there is one:
        ``similarity``, the mean cosine of matched dimensions; ``similarity_other_items``, the same of rubrics for
        different items (each with the next one, in random order), which is the level that has nothing to do with the
        task;
        ``weight_distance``, half the sum of absolute differences of the weights of matched dimensions: 0 the same
        weights, 1 none in common. ``n`` is the items with a rubric of both; others are counted in the flag.

    Raises
    ------
    DesignError
        If a column is missing, or no item has the rubrics of two judges.

    See Also
    --------
    matched_dimensions : Dimensions of two rubrics, matched.
    generated_rubrics : Rubrics that judges wrote.

    Notes
    -----
    A cosine has no absolute scale: compare with ``similarity_other_items``, and embedders with each other. The
    consensus_illusion paper (Sec 4) asks to control agreement for the similarity of rubrics, and defines none.

    Examples
    --------
    >>> rubrics = pd.DataFrame({"judge": ["g", "g", "h", "h"] * 2, "item": ["1"] * 4 + ["2"] * 4, "weight": 0.5,
    ...                         "criterion": ["dark mood", "rhythm", "rhythm", "dark mood",
    ...                                       "costs", "risks", "plain costs", "dates"]})
    >>> rubric_similarity(rubrics)[["judge", "other", "term", "estimate", "n"]].round(2)
      judge other                    term  estimate    n
    0     g     h              similarity      0.66  2.0
    1     g     h  similarity_other_items      0.00  2.0
    2     g     h         weight_distance      0.00  2.0
    """
    wanted = grouping(by, rubrics.columns, "table of rubrics")
    known, keys = _known(rubrics)
    several = known.groupby("item")[wanted].nunique(dropna=False) if wanted else pd.DataFrame()
    if len(several) and (several > 1).to_numpy().any():
        column = next(c for c in wanted if (several[c] > 1).any())
        raise DesignError(f"by={column!r} has several values for one item. Name a column that belongs to the item.")
    keys = list(dict.fromkeys([*keys, *wanted]))
    pairs = _pairs(known, keys)
    groups = ["judge", "other", *(["prompt"] if "prompt" in keys else []), *(c for c in wanted if c != "prompt")]
    shuffled = _of_other_items(
        pairs, [c for c in ("judge", "other", *keys) if c != "item"], generator(seed, ("rubrics",))
    )
    every = rubrics.assign(_all="").groupby(groups[2:] or ["_all"], dropna=False)
    total = {_key(key): part["item"].nunique() for key, part in every}
    plan = Bootstrap("percentile", ("item",), None, n_resamples, seed, conf_level)
    rows = []
    for name, function in embedders(embed).items():
        vectors = Vectors(known["_text"].tolist(), function, name)
        same = _of_pairs(_matches(pairs, vectors, keys), keys)
        others = _of_pairs(_matches(shuffled, vectors, keys), keys) if shuffled else same[:0]
        terms = {
            "similarity": (same, "similarity"),
            "similarity_other_items": (others, "similarity"),
            "weight_distance": (same, "distance"),
        }
        parts = {t: {_key(k): p for k, p in table.groupby(groups, dropna=False)} for t, (table, _) in terms.items()}
        for key, _ in same.groupby(groups, sort=True, dropna=False):
            names = dict(zip(groups, key, strict=True))
            for term, (table, column) in terms.items():
                here = parts[term].get(_key(key), table[:0])
                value = here[column].to_numpy(dtype=float)
                n = here["item"].nunique()
                counts = np.column_stack([value, np.ones(len(value))])
                row = {**names, "term": term, "embed": name}
                drawn = Counts.of(here.assign(n=1.0)).resampled(counts, ratio, row, plan=plan)
                alone = flags.EXCLUDED.of(total[_key(key[2:] or ("",))] - n, what="item(s) without a rubric of both")
                flag = flags.join(
                    drawn["flag"], flags.SMALL_N if 0 < n < 30 else "", alone if term == "similarity" else ""
                )
                mean = value.mean() if n else np.nan
                rows.append({**row, **drawn, "estimate": mean, "n": n, "flag": flag})
    return estimates(rows, ["embed", *groups])


def _key(key: Any) -> tuple[str, ...]:
    """A key of groups that is equal to itself where a value is missing."""
    return tuple(map(str, key)) if isinstance(key, tuple) else (str(key),)


def _of_pairs(matched: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Similarity and distance of weights of each pair of rubrics."""
    gap = (matched["weight"] - matched["other_weight"]).abs() / 2
    by_pair = matched.assign(_gap=gap).groupby(["judge", "other", *keys], sort=False, dropna=False)
    return by_pair.agg(similarity=("similarity", "mean"), distance=("_gap", "sum")).reset_index()


def _of_other_items(pairs: list[_Two], keys: list[str], rng: np.random.Generator) -> list[_Two]:
    """Each rubric of the first judge with that of the second for another item, of the same prompt and run."""
    groups: dict[tuple[Any, ...], list[int]] = {}
    for i, (names, _, _) in enumerate(pairs):
        groups.setdefault(tuple(str(names[k]) for k in keys), []).append(i)
    found = []
    for members in groups.values():
        order = [members[i] for i in rng.permutation(len(members))]
        following = [*order[1:], order[0]] if len(order) > 1 else []
        found += [(pairs[i][0], pairs[i][1], pairs[j][2]) for i, j in zip(order, following, strict=False)]
    return found
