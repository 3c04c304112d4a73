"""Simulated judges with planted, hence known, properties: :class:`Judge`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from numbers import Real
from typing import Any, Literal

from judgestats.errors import DesignError, choose, refuse_unknown

#: Shares of calls.
_RATES = ("dark_current", "lapse", "invalid")
#: Standard deviations of effects that are drawn; with the widths of noise and of the band of ties, no number below 0.
EFFECTS = ("item_difficulty", "task_difficulty", "interaction", "item_interaction", "stable_preference")
_SIZES = ("noise", "tie_criterion", *EFFECTS)
#: Answers that exact probabilities may be given for: by slot, by the better candidate, by the target.
ANSWERS = ("first", "second", "correct", "wrong", "target", "other", "tie", "abstain", "invalid")


@dataclass(frozen=True)
class Judge:
    """Planted properties of a judge. A property that a plan does not exercise has no effect.

    A preference is a signal: the sum of the shifts below, in favour of the candidate shown first, plus noise. The judge
    answers *first* where it exceeds `tie_criterion`, *second* where it is below minus that, and *tie* between.

    A score is `leniency`, the middle of the scale, `discrimination` times the quality of the system, the effects below
    and normal noise; then it is rounded to the scale.

    Attributes
    ----------
    name : str
        Who judges.
    family : str or None
        Which candidates or systems are its own: by the columns ``family_first`` and ``family_second`` (``family`` for
        ratings) if they exist, else by their names. None: the judge's name.
    noise : float
        Scale of the noise of one call: logistic or normal for preferences (`link`), normal for scores. 0 is allowed.
    invalid : float
        Share of calls without an answer: ``invalid``, or a missing score.
    item_difficulty, task_difficulty : float
        Standard deviation of an effect of the item, and of the task, that all judges share. Of a preference, it goes to
        the better candidate where there is one, else to the one with the lower name; of a score, it is added.
    stable_preference : float
        Standard deviation of the judge's preference for a content: a pair of candidates (whatever their order), or a
        response. It is the same over orders, replicates and conditions.
    self_preference : float
        Shift towards candidates of the judge's family.
    under : mapping
        Properties that are others under a condition: ``{"prompt": {"strict": {"tie_criterion": 1.5}}}``. A later column
        overrides an earlier one.
    link : {'logit', 'probit'}
        Preferences: distribution of the noise.
    slot_bias : float
        Preferences: shift towards the slot ``first``.
    sensitivity : float
        Preferences: shift per step of quality, towards the better candidate. The step is the difference of the
        candidates' qualities where they are known, else ``delta``, else 1, in favour of ``better``, or of ``gold``.
    tie_criterion : float
        Preferences: half the width of the band of ties. 0 where ``ties_allowed`` is false.
    lapse : float
        Preferences: share of calls answered by a coin between the slots.
    dark_current : float or None
        Preferences: probability of a side where the stimulus is a vacuum; `slot_bias` says which side. None, or no ties
        allowed: a vacuum is two candidates without a difference.
    target_preference : float
        Preferences: shift towards the candidate named in ``target``.
    length_preference : float
        Preferences: shift per unit of ``log(length_first / length_second)``.
    style : mapping of str to mapping
        Preferences: attribute -> its values -> shift: ``{"format": {"markdown": 0.5}}`` with the columns
        ``format_first`` and ``format_second``.
    label_susceptibility : float
        Preferences: shift towards the candidate labelled `favoured_label` in ``label_first`` or ``label_second``.
    favoured_label : str
        Preferences: that label.
    choice_probabilities : mapping of str to mapping
        Preferences: exact probabilities in place of all of the above, by ``stimulus`` (``all``: any other, or no such
        column): ``{"vacuum": {"first": 0.1, "tie": 0.9}}``. The answers are those of a slot, or ``correct`` and
        ``wrong`` (by ``better``, else ``gold``), or ``target`` and ``other``. They sum to 1.
    leniency : float
        Scores: how much higher it scores; below 0 it is severe.
    discrimination : float
        Scores: slope on the quality of the system.
    interaction, item_interaction : float
        Scores: standard deviation of the judge's own effect of a system, and of an item.
    criterion_effects : mapping of str to float
        Scores: shift by criterion.
    scale : (float, float) or None
        Scores: lowest and highest. None: no limits, and the middle is 0.
    step : float or None
        Scores: rounding, from the lowest score. None: not rounded.
    ceiling : float or None
        Scores: the highest this judge gives.

    Raises
    ------
    DesignError
        If a property cannot be what is given.

    See Also
    --------
    simulate : Let judges answer a plan.
    answer_probabilities : The probabilities that the answers are drawn from.

    Examples
    --------
    >>> Judge("g", dark_current=0.2, under={"prompt": {"strict": {"dark_current": 0.05}}}).dark_current
    0.2
    """

    name: str
    family: str | None = None
    noise: float = 1.0
    invalid: float = 0.0
    item_difficulty: float = 0.0
    task_difficulty: float = 0.0
    stable_preference: float = 0.0
    self_preference: float = 0.0
    under: Mapping[str, Mapping[Any, Mapping[str, Any]]] = field(default_factory=dict)
    link: Literal["logit", "probit"] = "logit"
    slot_bias: float = 0.0
    sensitivity: float = 1.0
    tie_criterion: float = 0.0
    lapse: float = 0.0
    dark_current: float | None = None
    target_preference: float = 0.0
    length_preference: float = 0.0
    style: Mapping[str, Mapping[Any, float]] = field(default_factory=dict)
    label_susceptibility: float = 0.0
    favoured_label: str = "LLM"
    choice_probabilities: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    leniency: float = 0.0
    discrimination: float = 1.0
    interaction: float = 0.0
    item_interaction: float = 0.0
    criterion_effects: Mapping[str, float] = field(default_factory=dict)
    scale: tuple[float, float] | None = (1.0, 10.0)
    step: float | None = 1.0
    ceiling: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise DesignError(f"A judge is called {self.name!r}. Give it a name in text: Judge('g').")
        choose(self.link, ("logit", "probit"), "link")
        for name, depth in (("under", 2), ("style", 2), ("choice_probabilities", 2), ("criterion_effects", 1)):
            value = getattr(self, name)
            inside = value.values() if isinstance(value, Mapping) and depth > 1 else ()
            if not isinstance(value, Mapping) or not all(isinstance(v, Mapping) for v in inside):
                form = "{...: {...: ...}}" if depth > 1 else "{...: ...}"
                raise DesignError(
                    f"{name}={value!r} of judge {self.name!r} is not possible. Give {form}, as in help(Judge)."
                )
        for part in fields(self):
            if part.type == "float" or (part.name == "dark_current" and self.dark_current is not None):
                _require_number(self, part.name)
        for stimulus, chances in self.choice_probabilities.items():
            _require_chances(self.name, stimulus, chances)
        _require_scale(self)
        for column, cases in self.under.items():
            for value, changes in cases.items():
                where = f"under={{{column!r}: {{{value!r}: ...}}}} of judge {self.name!r}"
                changed(replace(self, under={}), changes, where)

    @property
    def own(self) -> str:
        """Name of its family, its own where it has none."""
        return self.name if self.family is None else self.family


PROPERTIES = tuple(f.name for f in fields(Judge) if f.name != "name")


def changed(judge: Judge, properties: Mapping[str, Any], where: str) -> Judge:
    """The judge with other properties; the DesignError of an unknown one says `where` it was given."""
    if not isinstance(properties, Mapping):
        raise DesignError(f"{where} is {properties!r}. Give properties: {{'noise': 0.5}}.")
    for name in properties:
        refuse_unknown(name, PROPERTIES, f"{where} names {name!r}, which is not a property of a judge")
    return replace(judge, **properties)


def named_judges(judges: Judge | Sequence[Judge] | Mapping[str, Judge | Mapping[str, Any]]) -> dict[str, Judge]:
    """Judges by name, in the order of their names; a mapping gives each name a judge or its properties."""
    if isinstance(judges, Mapping):
        several = [
            replace(said, name=str(name))
            if isinstance(said, Judge)
            else changed(Judge(str(name)), said, f"Judge {name!r}")
            for name, said in judges.items()
        ]
    else:
        several = [judges] if isinstance(judges, Judge) else list(judges)
    for judge in several:
        if not isinstance(judge, Judge):
            raise DesignError(f"judges= holds {judge!r}. Give Judge(name, ...), or a mapping {{name: properties}}.")
    if not several:
        raise DesignError("judges= is empty. Give a list of Judge(name, ...), or {name: properties}.")
    names = [j.name for j in several]
    if twice := sorted({n for n in names if names.count(n) > 1}):
        raise DesignError(f"Two judges are called {twice[0]!r}. Give each its own name.")
    return {j.name: j for j in sorted(several, key=lambda j: j.name)}


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _require_number(judge: Judge, name: str) -> None:
    value = getattr(judge, name)
    lowest, highest = 0.0 if name in (*_RATES, *_SIZES) else -math.inf, 1.0 if name in _RATES else math.inf
    if not _is_number(value) or not lowest <= value <= highest or math.isinf(value):
        allowed = "0 to 1" if highest == 1 else "0 or more" if lowest == 0 else "a number"
        raise DesignError(f"{name}={value!r} of judge {judge.name!r} is not possible. Allowed: {allowed}.")


def _require_chances(judge: str, stimulus: str, chances: Mapping[str, float]) -> None:
    where = f"choice_probabilities[{stimulus!r}] of judge {judge!r}"
    for answer in chances:
        choose(answer, ANSWERS, f"{where}: answer")
    if not all(_is_number(p) for p in chances.values()):
        raise DesignError(f"{where} holds {list(chances.values())!r}. Probabilities are numbers from 0 to 1.")
    total = float(sum(chances.values()))
    if abs(total - 1) > 1e-9 or min(chances.values()) < 0:
        raise DesignError(
            f"{where} sums to {total:g}. Probabilities are 0 or more and must sum to 1: give the remaining answers too."
        )


def _require_scale(judge: Judge) -> None:
    if judge.step is not None and not (_is_number(judge.step) and judge.step > 0):
        raise DesignError(f"step={judge.step!r} of judge {judge.name!r} is not possible. Allowed: above 0, or None.")
    if judge.scale is None:
        return
    pair = isinstance(judge.scale, tuple | list) and len(judge.scale) == 2 and all(map(_is_number, judge.scale))
    low, high = judge.scale if pair else (0.0, 0.0)
    if not low < high:
        raise DesignError(
            f"scale={judge.scale!r} of judge {judge.name!r} is empty, or not a scale. Give (lowest, highest)."
        )
    if judge.ceiling is not None and not (_is_number(judge.ceiling) and low <= judge.ceiling <= high):
        raise DesignError(f"ceiling={judge.ceiling!r} of judge {judge.name!r} is off its scale {low:g} to {high:g}.")
