"""Stimuli of a datasheet: true vacuum, the ladder of quality and its controls (dark_current, Sec 3 and 4)."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from judgestats.defaults import SEED
from judgestats.design.checklist_tasks import CHANGES, Checklist, changed, checklists, filled_to
from judgestats.design.plans import Plan, build, seed_noted
from judgestats.design.prompt_templates import Prompt
from judgestats.errors import DesignError
from judgestats.kernels.resampling import generator
from judgestats.typing import Record

Prompts = str | Path | Prompt | Iterable[str | Path | Prompt]
#: Kinds of vacuum: two texts without a difference.
VACUUM = ("empty", "whitespace", "identical")
_WHITESPACE = " \n\t\n "


def vacuum(
    judges: str | Sequence[str],
    *,
    calls: int = 120,
    kinds: Sequence[str] = VACUUM,
    tasks: str | Path | Sequence[Checklist] | None = None,
    prompts: Prompts = "pairwise",
    temperature: float | Sequence[float] = 0.0,
) -> Plan:
    """Plan calls whose candidates do not differ: any preference is dark current.

    Parameters
    ----------
    judges : str or sequence of str
        Who is asked.
    calls : int
        Calls of each judge under each prompt, spread evenly over tasks, kinds and the two orders, with repeats where
        there are more calls than these.
    kinds : sequence of str
        ``empty`` (two empty texts), ``whitespace``, ``identical`` (the same complete response twice).
    tasks : path or sequence of Checklist, optional
        Tasks whose questions are shown; by default the ten of the package.
    prompts, temperature
        As in :func:`judgestats.design.build`. The prompt must allow ties.

    Returns
    -------
    Plan
        With ``stimulus`` = ``vacuum`` and ``vacuum_kind``.

    Raises
    ------
    DesignError
        If a kind is not known, a prompt allows no ties, or `calls` is not a multiple of twice the number of kinds.

    See Also
    --------
    judgestats.dark_current : Preference between candidates that do not differ.
    ladder : Pairs of known steps of quality.

    Notes
    -----
    dark_current, Eq. 1 and Sec 4.1. The paper prints 120 calls and not how they are split; equal shares are our
    reading.

    Examples
    --------
    >>> plan = vacuum("my-model")
    >>> plan.calls["vacuum_kind"].value_counts().to_dict()
    {'empty': 40, 'whitespace': 40, 'identical': 40}
    """
    if not kinds or not {*kinds} <= {*VACUUM}:
        raise DesignError(f"kinds={list(kinds)} are not kinds of vacuum. Allowed: {', '.join(VACUUM)}.")
    chosen = _tasks(tasks)[0]
    step = 2 * len(kinds)
    if calls < step or calls % step:
        raise DesignError(
            f"calls={calls} is not a multiple of {step}, two orders of {len(kinds)} kinds. Use such a number."
        )
    rows = []
    for kind in kinds:
        for round_, task in itertools.islice(itertools.product(range(calls), chosen), calls // step):
            text = {"empty": "", "whitespace": _WHITESPACE, "identical": task.response(range(len(task.elements)))}[kind]
            rows.append(_pair(task, f"{kind}/{round_}", "vacuum", text, text, vacuum_kind=kind))
    about = {"vacuum": {"calls": calls, "kinds": list(kinds), "tasks": [t.name for t in chosen]}}
    plan = build(pd.DataFrame(rows), judges=judges, prompts=prompts, temperature=temperature, about=about)
    if forced := [n for n, p in plan.prompts.items() if not p.ties_allowed]:
        raise DesignError(f"Prompt {forced[0]!r} allows no tie, and dark current is defined where a tie is allowed.")
    return plan


def ladder(
    judges: str | Sequence[str],
    *,
    tasks: str | Path | Sequence[Checklist] | None = None,
    same_subset: int = 60,
    different_subset: int = 40,
    filler: int = 20,
    changes: Sequence[str] = CHANGES,
    tolerance: float = 0.05,
    prompts: Prompts = "pairwise",
    temperature: float | Sequence[float] = 0.0,
    replicates: int = 1,
    seed: int | np.random.Generator | None = SEED,
) -> Plan:
    """Plan the ladder of quality: pairs of nested checklists, and pairs of equal quality as controls.

    A response of level q has the first q required elements of its task, so a higher level has all that a lower has, and
    more. Neutral sentences fill the shorter responses up to the length of the complete one.

    Parameters
    ----------
    judges : str or sequence of str
        Who is asked.
    tasks : path or sequence of Checklist, optional
        By default the ten of the package, five elements each: 50, 40, 30, 20 and 10 pairs one to five steps apart.
    same_subset : int
        Pairs of one response and a change of its surface (Δ0), spread over tasks and levels.
    different_subset : int
        Pairs with as many elements and not the same ones.
    filler : int
        Pairs of one response with and without neutral sentences; ``target`` is the longer.
    changes : sequence of str
        ``reorder``, ``restyle``, ``rename``, used in turn.
    tolerance : float
        Largest difference of length within a task, as a share.
    prompts, temperature, replicates
        As in :func:`judgestats.design.build`.
    seed : int, Generator or None
        Seed of fillers and orders.

    Returns
    -------
    Plan
        With ``stimulus`` (``ladder``, ``same_subset``, ``different_subset``, ``filler``), ``delta``, ``better``,
        ``target`` and ``length_first``, ``length_second``; every pair in both orders.

    Raises
    ------
    DesignError
        If a task has one element, elements overlap, or responses cannot be filled up within `tolerance`.

    See Also
    --------
    vacuum : Candidates that do not differ.
    judgestats.target_sensitivity : Detection of known differences.

    Notes
    -----
    dark_current, Sec 4.2 and Algorithm 1, steps 3 to 5. That a higher level dominates is checked for each pair.

    Examples
    --------
    >>> plan = ladder("my-model", different_subset=0, filler=0)
    >>> (plan.calls.groupby("delta")["item"].nunique()).to_dict()
    {0.0: 60, 1.0: 50, 2.0: 40, 3.0: 30, 4.0: 20, 5.0: 10}
    """
    if not 0 <= tolerance < 1:
        raise DesignError(
            f"tolerance={tolerance} is not a share of the length. Allowed: 0 up to, but not including, 1."
        )
    chosen, neutral = _tasks(tasks)
    rng = generator(seed, ("ladder",))
    rows: list[Record] = []
    same = [(t, level) for level in range(max(len(t.elements) for t in chosen), -1, -1) for t in chosen]
    same = [(t, level) for t, level in same if level <= len(t.elements)]
    for task in chosen:
        rows += _steps(task, neutral, rng, tolerance)
    for i, (task, level) in enumerate(itertools.islice(itertools.cycle(same), same_subset)):
        text = _level(task, level, neutral, rng, tolerance)
        other = _change(task, text, changes, i, rng)
        rows.append(_pair(task, f"same/{level}/{i}", "same_subset", text, other, **_EQUAL))
    rows += itertools.islice(_different(chosen, neutral, rng, tolerance), different_subset)
    for i, task in enumerate(itertools.islice(itertools.cycle(chosen), filler)):
        level = i // len(chosen) % len(task.elements) + 1
        bare = task.response(range(level))
        longer = filled_to(bare, len(task.response(range(len(task.elements)))) * 5 // 4, neutral, rng, 0.1)
        rows.append(_pair(task, f"filler/{level}/{i}", "filler", bare, longer, **_EQUAL | {"target": "v"}))
    table = pd.DataFrame(rows)
    lengths = {f"length_{slot}": table[f"{slot}_text"].str.len() for slot in ("first", "second")}
    sizes = {"same_subset": same_subset, "different_subset": different_subset, "filler": filler}
    told = {"tasks": [t.name for t in chosen], **sizes, "changes": list(changes), "tolerance": tolerance}
    about = {"ladder": {**told, "seed": seed_noted(seed)}}
    calls: Record = {"judges": judges, "prompts": prompts, "temperature": temperature, "replicates": replicates}
    return build(table.assign(**lengths), about=about, **calls)


def dark_current(
    judges: str | Sequence[str],
    *,
    strict: bool = False,
    tasks: str | Path | Sequence[Checklist] | None = None,
    prompts: Prompts = "pairwise",
    temperature: float | Sequence[float] = 0.0,
    seed: int | np.random.Generator | None = SEED,
) -> Plan:
    """Plan the calls of a whole datasheet: :func:`vacuum` and :func:`ladder` with the paper's sizes.

    Parameters
    ----------
    judges : str or sequence of str
        Who is asked.
    strict : bool
        The Δ0 pairs of one subset, and those one and five steps apart, once more under ``pairwise_strict``: the shift
        of criterion.
    tasks, prompts, temperature, seed
        As in :func:`ladder`.

    Returns
    -------
    Plan

    See Also
    --------
    vacuum : Candidates that do not differ.
    ladder : Pairs of known steps of quality.
    judgestats.datasheet : Everything about each judge.

    Notes
    -----
    dark_current, Algorithm 1 and Sec 4: 120 calls of vacuum, 60 pairs Δ0 and 150 of the ladder in both orders, and
    controls.

    Examples
    --------
    >>> plan = dark_current("my-model")
    >>> plan.calls["stimulus"].value_counts().to_dict()
    {'ladder': 300, 'vacuum': 120, 'same_subset': 120, 'different_subset': 80, 'filler': 40}
    """
    steps = ladder(judges, tasks=tasks, prompts=prompts, temperature=temperature, seed=seed)
    plan = vacuum(judges, tasks=tasks, prompts=prompts, temperature=temperature) + steps
    if not strict:
        return plan
    again = ladder(judges, tasks=tasks, prompts="pairwise_strict", temperature=temperature, seed=seed)
    stimulus, far = again.calls["stimulus"], again.calls["delta"].isin([1.0, 5.0])
    return plan + again.rows((stimulus == "same_subset") | ((stimulus == "ladder") & far))


def _tasks(source: str | Path | Sequence[Checklist] | None) -> tuple[list[Checklist], list[str]]:
    if source is None or isinstance(source, str | Path):
        return checklists(source)
    if not (tasks := list(source)):
        raise DesignError("tasks= is empty. Give at least one.")
    return tasks, checklists()[1]


def _level(task: Checklist, level: int, neutral: Sequence[str], rng: np.random.Generator, tolerance: float) -> str:
    """The response of a level, as long as the complete one."""
    full = len(task.response(range(len(task.elements))))
    return filled_to(task.response(range(level)), full, neutral, rng, tolerance / 2)


#: Columns of a pair of the ladder whose texts are of one quality.
_EQUAL = {"delta": 0.0, "better": None, "target": None}


def _pair(task: Checklist, item: str, stimulus: str, one: str, two: str, **more: object) -> Record:
    names = {"item": f"{task.name}/{item}", "first": "u", "second": "v", "task": task.name, "stimulus": stimulus}
    return {**names, **more, "task_text": task.question, "first_text": one, "second_text": two}


def _steps(task: Checklist, neutral: Sequence[str], rng: np.random.Generator, tolerance: float) -> Iterator[Record]:
    """All pairs of levels of one task; the higher has the elements of the lower, and more."""
    levels = [_level(task, q, neutral, rng, tolerance) for q in range(len(task.elements) + 1)]
    for low, high in itertools.combinations(range(len(levels)), 2):
        if not task.elements_in(levels[low]) < task.elements_in(levels[high]):
            raise DesignError(
                f"Task {task.name!r}: level {high} does not have all elements of level {low}. Reword them."
            )
        step = _EQUAL | {"delta": float(high - low), "better": "v"}
        yield _pair(task, f"ladder/{low}-{high}", "ladder", levels[low], levels[high], **step)


def _change(task: Checklist, text: str, changes: Sequence[str], i: int, rng: np.random.Generator) -> str:
    """The first change, from the i-th on, that does something to this text."""
    for k in range(len(changes)):
        name = changes[(i + k) % len(changes)]
        if name not in CHANGES:
            raise DesignError(f"{name!r} is not a change of surface. Allowed: {', '.join(CHANGES)}.")
        try:
            return changed(task, text, name, rng)
        except DesignError:
            continue
    raise DesignError(f"Task {task.name!r}: none of the changes {', '.join(changes)} alters {text[:60]!r}.")


def _different(
    tasks: Sequence[Checklist], neutral: Sequence[str], rng: np.random.Generator, tolerance: float
) -> Iterator[Record]:
    """Pairs with as many elements, and not the same ones: task by task, over the numbers of elements."""
    for i in itertools.count():
        for task in tasks:
            n = len(task.elements)
            size = 1 + i % (n - 1)
            one, two = (sorted(rng.permutation(n)[:size].tolist()) for _ in range(2))
            while one == two:
                two = sorted(rng.permutation(n)[:size].tolist())
            full = len(task.response(range(n)))
            u, v = (filled_to(task.response(c), full, neutral, rng, tolerance / 2) for c in (one, two))
            yield _pair(task, f"different/{size}/{i}", "different_subset", u, v, **_EQUAL)
