"""Answers of simulated judges to a plan, and their true probabilities."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from numbers import Real
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit, logit, ndtr

from judgestats.defaults import SEED
from judgestats.design.judges import EFFECTS, Judge, changed, named_judges
from judgestats.errors import DesignError, SchemaError, suggestion
from judgestats.kernels.resampling import generator
from judgestats.schema.coding import Coded, compact, joint, ranked_codes
from judgestats.schema.columns import CHOICES, Kind, key_columns
from judgestats.schema.validation import raise_faults
from judgestats.typing import Floats, Seed

# ---- A plan as arrays: the order of its rows, its pairs, its groups, and which judge answers which row ---------------

RowIndex = NDArray[np.intp]
#: Columns that only an answer has.
_ANSWERS: dict[Kind, tuple[str, ...]] = {
    "preferences": ("choice", "strength"),
    "ratings": ("score", "mean", "sd", "runs"),
}
_NEEDED: dict[Kind, tuple[str, ...]] = {"preferences": ("item", "first", "second"), "ratings": ("item", "system")}


class Questions:
    """Calls to be made, without answers: a row each in `table`."""

    def __init__(self, table: pd.DataFrame, kind: Kind) -> None:
        self.table, self.kind = table, kind
        self._codes: dict[tuple[str, ...], tuple[NDArray[np.int32], int]] = {}
        self._columns: dict[str, Coded] = {}

    def __len__(self) -> int:
        return len(self.table)

    def __contains__(self, column: str) -> bool:
        return column in self.table.columns

    def text(self, column: str) -> NDArray[Any]:
        """Values of a column as objects, None where missing; all None without the column."""
        if column not in self.table.columns:
            return np.full(len(self), None, dtype=object)
        values = self.table[column].astype(object)
        return np.asarray(values.where(values.notna(), None), dtype=object)

    def number(self, column: str) -> Floats:
        """Values of a numeric column, NaN where missing or without the column."""
        if column not in self.table.columns:
            return np.full(len(self), np.nan)
        try:
            result: Floats = pd.to_numeric(self.table[column]).to_numpy(dtype=float, na_value=np.nan)
        except (ValueError, TypeError) as error:
            raise SchemaError(f"{column!r} of the plan holds text where a number belongs: {error}.") from None
        return result

    def groups(self, *columns: str) -> tuple[NDArray[np.int32], int]:
        """Group of each row by those columns that exist, in the order of their labels, and the number of groups."""
        if columns not in self._codes:
            known = [c for c in columns if c in self.table.columns]
            for column in set(known) - set(self._columns):
                code, labels = ranked_codes(self.table[column])
                self._columns[column] = code, len(labels)
            number, codes = compact(*joint([self._columns[c] for c in known], len(self)))
            self._codes[columns] = number, codes.size
        return self._codes[columns]

    @cached_property
    def pair(self) -> tuple[NDArray[np.int32], int, Floats]:
        """Unordered pair of each row, their number, and the slot of the lower name: 1 first, -1 second, 0 both."""
        shown = pd.concat([self.table["first"], self.table["second"]], ignore_index=True).astype(object)
        code, labels = ranked_codes(shown)
        one, two = code[: len(self)].astype(np.int64), code[len(self) :].astype(np.int64)
        item, items = self.groups("task", "item")
        names = len(labels)
        number, codes = compact(
            *joint([(item, items), (np.minimum(one, two), names), (np.maximum(one, two), names)], len(self))
        )
        return number, codes.size, np.sign(two - one).astype(float)

    def named(self, column: str) -> Floats:
        """1 where the candidate named in a column is shown first, -1 second, 0 where none is named."""
        if column not in self.table.columns:
            return np.zeros(len(self))
        who = self.text(column)
        known = np.array([w is not None and w != "" for w in who], dtype=bool)
        first, second = who == self.text("first"), who == self.text("second")
        lost = known & ~first & ~second & (who != "tie")
        if lost.any():
            raise SchemaError(
                f"{column!r} of the plan is neither candidate in {int(lost.sum()):,} rows, first {who[lost][0]!r}. "
                "Give the id of a candidate, or leave the cell empty."
            )
        return np.where(known, first.astype(float) - second, 0.0)

    @cached_property
    def order(self) -> RowIndex:
        """Rows in the order of their keys, so that draws do not depend on the order of the table."""
        keys = [k for k in key_columns(self.kind, self.table.columns) if k != "judge"]
        number, size = self.groups(*keys)
        if size < len(self):
            number, _ = self.groups(
                *keys, *(c for c in sorted(map(str, self.table.columns)) if c not in {"judge", *keys})
            )
        return np.argsort(number, kind="stable")

    def cases(self, judge: Judge, rows: RowIndex) -> Iterable[tuple[Judge, RowIndex]]:
        """The judge as it is under each condition that changes it, and the rows it then answers."""
        columns = [c for c in judge.under if c in self.table.columns]
        code, _ = self.groups(*columns)
        here = code[rows]
        for case in np.unique(here):
            chosen = rows[here == case]
            changes: dict[str, Any] = {}
            for column in columns:
                value = self.table[column].iloc[chosen[0]]
                cases = judge.under[column]
                changes |= cases.get(value, {}) if not pd.isna(value) else {}
            yield (changed(judge, changes, f"Judge {judge.name!r}") if changes else judge), chosen


def questions(plan: Any, judges: Mapping[str, Judge], replicates: int = 1) -> tuple[Questions, dict[str, Any]]:
    """The questions of a plan, and the rows that each judge answers, in the order of their keys."""
    table = nw.from_native(plan).lazy().collect(backend="pandas").to_native().reset_index(drop=True)
    kind = _kind(list(table.columns))
    table = _repeated(table, replicates)
    asked = Questions(table, kind)
    if "judge" not in table.columns:
        return asked, dict.fromkeys(judges, asked.order)
    who = asked.text("judge")
    planned = set(who)
    for name in sorted(planned - set(judges), key=str):
        near = suggestion(name, judges) if isinstance(name, str) else " Names of judges are text."
        raise DesignError(f"The plan asks judge {name!r}, which is not in judges=.{near}")
    for name in sorted(set(judges) - planned):
        raise DesignError(
            f"judges= has {name!r}, which the plan never asks. Leave it out, or drop the plan's column 'judge' "
            "to have every judge answer every row."
        )
    ordered = who[asked.order]
    return asked, {name: asked.order[ordered == name] for name in judges}


def _kind(columns: list[str]) -> Kind:
    kinds: tuple[Kind, ...] = ("preferences", "ratings")
    for kind in kinds:
        if not set(_NEEDED[kind]) <= set(columns):
            continue
        answered = [c for c in _ANSWERS[kind] if c in columns]
        if answered:
            raise DesignError(
                f"The plan has answers already: {', '.join(map(repr, answered))}. A plan is a frame without them; drop "
                "the column to ask again."
            )
        if "n" in columns:
            raise DesignError("The plan counts rows in 'n'. Give one row per call, or use replicates=.")
        return kind
    raise SchemaError(
        f"This is not a plan. Columns: {', '.join(map(str, columns)) or 'none'}. A plan of preferences needs item, "
        "first and second; a plan of ratings needs system and item."
    )


def _repeated(table: pd.DataFrame, replicates: int) -> pd.DataFrame:
    if not isinstance(replicates, int | np.integer) or replicates < 1:
        raise DesignError(f"replicates={replicates!r} is not a number of repeats. Allowed: 1 or more.")
    if replicates == 1:
        return table
    if "replicate" in table.columns:
        raise DesignError("The plan numbers its own repeats in 'replicate'. Drop the column, or leave replicates= out.")
    rows = np.tile(np.arange(len(table)), replicates)
    return table.iloc[rows].reset_index(drop=True).assign(replicate=np.repeat(np.arange(replicates), len(table)))


# ---- Answers of a simulated judge to a pair: the signal, and the probability of each answer --------------------------

_COLUMN = {name: i for i, name in enumerate(CHOICES)}
#: Effect that all judges share -> columns whose levels it is drawn for, and the key of the draw.
_DIFFICULTY = {"item_difficulty": (("task", "item"), ("item",)), "task_difficulty": (("task",), ("task",))}


class Pairs:
    """Signals of a plan of preferences, signed in favour of the candidate shown first; `quality`: of each candidate."""

    def __init__(self, asked: Questions, quality: Mapping[str, float] | float) -> None:
        self.asked, self.quality = asked, quality if isinstance(quality, Mapping) else None
        self.vacuum = asked.text("stimulus") == "vacuum"
        if any(isinstance(x, str) for x in asked.text("ties_allowed")):
            raise SchemaError("'ties_allowed' of the plan holds text. Give true or false.")
        self.forced = np.array([x is not None and not x for x in asked.text("ties_allowed")], dtype=bool)

    @cached_property
    def better(self) -> Floats:
        """Side of the better candidate, of the gold one where none is named better."""
        better = self.asked.named("better")
        return np.where(better != 0, better, self.asked.named("gold"))

    @cached_property
    def target(self) -> Floats:
        """Side of the candidate that carries the attribute under test."""
        return self.asked.named("target")

    @cached_property
    def step(self) -> Floats:
        """Difference of quality."""
        delta = self.asked.number("delta")
        step = self.better * np.where(np.isnan(delta), 1.0, delta)
        if self.quality is not None:
            one, two = (qualities(self.asked.text(c), self.quality) for c in ("first", "second"))
        else:
            one, two = (self.asked.number(c) for c in ("quality_first", "quality_second"))
        known = one - two
        return np.asarray(np.where(np.isnan(known), step, known))

    @cached_property
    def longer(self) -> Floats:
        """Logarithm of the ratio of lengths, 0 where a length is not known."""
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.log(self.asked.number("length_first") / self.asked.number("length_second"))
        return np.asarray(np.where(np.isfinite(ratio), ratio, 0.0))

    def valued(self, attribute: str, value: Mapping[Any, float]) -> Floats:
        """Worth of an attribute of the first candidate minus that of the second."""
        sides = [self.asked.text(f"{attribute}_{slot}") for slot in ("first", "second")]
        one, two = (np.array([value.get(v, 0.0) for v in side], dtype=float) for side in sides)
        return np.asarray(one - two)

    def own(self, judge: Judge) -> Floats:
        """Side of the judge's family."""
        column = "family_first" in self.asked and "family_second" in self.asked
        sides = [self.asked.text(f"family_{s}" if column else s) == judge.own for s in ("first", "second")]
        return np.asarray(sides[0].astype(float) - sides[1])

    @cached_property
    def towards(self) -> Floats:
        """Side that an effect of the content goes to."""
        return np.where(self.better != 0, self.better, self.asked.pair[2])


def qualities(names: NDArray[Any], quality: Mapping[str, float]) -> Floats:
    """Quality of each name; a DesignError if a name has none."""
    for name in sorted({str(n) for n in names} - {str(q) for q in quality}):
        raise DesignError(f"quality= does not have {name!r}.{suggestion(name, map(str, quality))}")
    try:
        by_name = {str(k): float(v) for k, v in quality.items()}
    except (ValueError, TypeError):
        raise DesignError(
            f"quality={dict(quality)!r} holds a value that is not a number. Give a number for each name."
        ) from None
    return np.array([by_name[str(n)] for n in names], dtype=float)


def fixed_signal(pairs: Pairs, judge: Judge) -> Floats:
    """Sum of the fixed shifts of a judge, without random effects."""
    content = judge.sensitivity * pairs.step
    if judge.target_preference:
        content += judge.target_preference * pairs.target
    if judge.length_preference:
        content += judge.length_preference * pairs.longer
    if judge.self_preference:
        content += judge.self_preference * pairs.own(judge)
    if judge.label_susceptibility:
        content += judge.label_susceptibility * pairs.valued("label", {judge.favoured_label: 1.0})
    for attribute, value in judge.style.items():
        content += pairs.valued(attribute, value)
    return np.where(pairs.vacuum, 0.0, content) + judge.slot_bias


def signal_effects(pairs: Pairs, name: str, seed: Seed, judges: Iterable[Judge]) -> dict[str, Floats]:
    """Standard normal effects of each row, by the property of some `judges` that scales them; 0 without content."""
    asked = pairs.asked
    signed = np.where(pairs.vacuum, 0.0, 1.0)
    several = list(judges)
    planted = {effect for effect in ("stable_preference", *_DIFFICULTY) if any(getattr(j, effect) for j in several)}
    effects = {}
    if "stable_preference" in planted:
        pair, n_pairs, side = asked.pair
        effects["stable_preference"] = generator(seed, ("stable", name)).standard_normal(n_pairs)[pair] * side * signed
    for effect, (columns, key) in _DIFFICULTY.items():
        if effect in planted:
            level, size = asked.groups(*columns)
            effects[effect] = generator(seed, key).standard_normal(size)[level] * pairs.towards * signed
    return effects


def chances(pairs: Pairs, judge: Judge, rows: RowIndex, effects: Mapping[str, Floats] | None = None) -> Floats:
    """(R, 5) probability of each answer to `rows` (R,), in the order of CHOICES, for a judge under one condition.

    Without `effects` (:func:`signal_effects`) it is averaged over the random effects.
    """
    signal = fixed_signal(pairs, judge)[rows]
    there = np.where(pairs.vacuum[rows], 0.0, 1.0)
    spread = np.zeros(rows.size)
    if effects is None:
        stable = judge.stable_preference * pairs.asked.pair[2][rows]
        shared = np.hypot(judge.item_difficulty, judge.task_difficulty) * pairs.towards[rows]
        spread = np.hypot(stable, shared) * there
    else:
        for name, values in effects.items():
            signal = signal + getattr(judge, name) * values[rows]
    band = np.where(pairs.forced[rows], 0.0, judge.tie_criterion)
    result = np.zeros((rows.size, len(CHOICES)))
    for slot, value in (("first", signal - band), ("second", -signal - band)):
        side = _above(value, judge, spread)
        side[(value == 0) & (band > 0) & (spread == 0) & (judge.noise == 0)] = 0.0  # at the criterion, not beyond it
        result[:, _COLUMN[slot]] = (1 - judge.lapse) * side + judge.lapse / 2
    if judge.dark_current is not None:
        vacuum = pairs.vacuum[rows] & ~pairs.forced[rows]
        first = judge.dark_current * _above(np.array([judge.slot_bias]), judge, np.zeros(1))[0]
        result[vacuum, 0], result[vacuum, 1] = first, judge.dark_current - first
    result[:, _COLUMN["tie"]] = np.maximum(1 - result[:, 0] - result[:, 1], 0.0)
    result *= 1 - judge.invalid
    result[:, _COLUMN["invalid"]] = judge.invalid
    return _exact(pairs, judge, rows, result)


def _exact(pairs: Pairs, judge: Judge, rows: RowIndex, result: Floats) -> Floats:
    """Replace the probabilities by exact ones where they were given."""
    if not judge.choice_probabilities:
        return result
    stimulus = pairs.asked.text("stimulus")[rows]
    for which in dict.fromkeys(stimulus):
        given = judge.choice_probabilities.get(which, judge.choice_probabilities.get("all"))
        if given is None:
            continue
        here = np.flatnonzero(stimulus == which) if which is not None else np.flatnonzero(stimulus == None)  # noqa: E711
        result[here] = 0.0
        for answer, p in given.items():
            if answer in _COLUMN:
                result[here, _COLUMN[answer]] += p
                continue
            side = (pairs.target if answer in ("target", "other") else pairs.better)[rows[here]]
            if (side == 0).any():
                what = "target" if answer in ("target", "other") else "better, or gold,"
                raise DesignError(
                    f"choice_probabilities of judge {judge.name!r} give {answer!r} a probability, and "
                    f"{int((side == 0).sum()):,} rows (stimulus {which!r}) have no {what} candidate."
                )
            for_first = (side > 0) == (answer in ("correct", "target"))
            result[here, np.where(for_first, 0, 1)] += p
    return result


def _above(value: Floats, judge: Judge, spread: Floats) -> Floats:
    """Probability that value, plus noise, plus a normal with the sd `spread`, exceeds 0."""
    if judge.link == "probit" or judge.noise == 0:
        sd = np.hypot(judge.noise, spread)
        with np.errstate(divide="ignore", invalid="ignore"):
            z = np.where(sd > 0, value / sd, np.where(value == 0, 0.0, np.copysign(np.inf, value)))
        return np.asarray(ndtr(z))
    result: Floats = expit(value / judge.noise)
    for sd in np.unique(spread[spread > 0]):
        here = spread == sd
        if sd <= 4 * judge.noise:
            nodes, weights = np.polynomial.hermite_e.hermegauss(60)
            terms = (w * expit((value[here] + sd * x) / judge.noise) for x, w in zip(nodes, weights, strict=True))
            result[here] = sum(terms) / weights.sum()
        else:  # little noise beside the spread: the sum runs over the noise
            nodes = judge.noise * logit((np.arange(400) + 0.5) / 400)
            result[here] = sum(ndtr((value[here] + x) / sd) for x in nodes) / nodes.size
    return result


# ---- Scores of a simulated judge: means, draws on its scale, and their expected mean and sd --------------------------

#: Columns whose levels an effect is drawn for, and whether all judges share it.
_EFFECTS = {
    "item_difficulty": (("task", "item"), True),
    "task_difficulty": (("task",), True),
    "interaction": (("system",), False),
    "item_interaction": (("task", "item"), False),
    "stable_preference": (("system", "task", "item", "criterion"), False),
}


def system_quality(asked: Questions, quality: Mapping[str, float] | float, seed: Seed) -> tuple[Floats, float]:
    """Quality of the system of each row, and the sd of what is still to be drawn (0 unless ``seed=None``)."""
    if "quality" in asked:
        return asked.number("quality"), 0.0
    if isinstance(quality, Mapping):
        return qualities(asked.text("system"), quality), 0.0
    given: Any = quality
    if not isinstance(given, Real) or not 0 <= float(given) < np.inf:
        raise DesignError(f"quality={quality!r} is not possible. Give {{system: quality}}, or the sd of those drawn.")
    if seed is None:
        return np.zeros(len(asked)), float(quality)
    system, size = asked.groups("system")
    return float(quality) * generator(seed, ("quality",)).standard_normal(size)[system], 0.0


def score_effects(asked: Questions, name: str, seed: Seed) -> dict[str, Floats]:
    """Standard normal effects of each row, by the property that scales them."""
    effects = {}
    for effect, (columns, shared) in _EFFECTS.items():
        level, size = asked.groups(*columns)
        effects[effect] = generator(seed, (effect,) if shared else (effect, name)).standard_normal(size)[level]
    return effects


def means(
    asked: Questions, judge: Judge, rows: RowIndex, quality: Floats, effects: Mapping[str, Floats] | None = None
) -> Floats:
    """Mean of the score before noise and rounding, averaged over the random effects where no `effects` are given."""
    middle = sum(judge.scale) / 2 if judge.scale is not None else 0.0
    own = asked.text("family" if "family" in asked else "system")[rows] == judge.own
    result = middle + judge.leniency + judge.discrimination * quality[rows] + judge.self_preference * own
    if judge.criterion_effects and "criterion" in asked:
        criteria = asked.text("criterion")[rows]
        result = result + np.array([judge.criterion_effects.get(c, 0.0) for c in criteria], dtype=float)
    for name, values in (effects or {}).items():
        result = result + getattr(judge, name) * values[rows]
    return np.asarray(result, dtype=float)


def effect_sd(judge: Judge, quality_sd: float) -> float:
    """Standard deviation of all random effects, without the noise."""
    drawn = [getattr(judge, name) for name in EFFECTS]
    return float(np.sqrt(sum(x * x for x in drawn) + (judge.discrimination * quality_sd) ** 2))


def on_scale(judge: Judge, values: Floats) -> Floats:
    """Values rounded to the judge's scale."""
    low, high = _ends(judge)
    origin = low if np.isfinite(low) else 0.0
    if judge.step is not None:
        values = origin + judge.step * np.floor((values - origin) / judge.step + 0.5)
    return np.clip(values, low, high)


def expected(judge: Judge, mean: Floats, sd: float) -> tuple[Floats, Floats]:
    """Mean and sd of the score on the scale, of a normal with `mean` and `sd` before rounding."""
    low, high = _ends(judge)
    if sd == 0:
        return on_scale(judge, mean), np.zeros(mean.size)
    if judge.step is None:
        return _clipped(mean, sd, low, high)
    first, last = (float(x) for x in on_scale(judge, np.array([mean.min() - 9 * sd, mean.max() + 9 * sd])))
    steps = np.arange(1, int(np.ceil((last - first) / judge.step - 1e-9)) + 1)
    total, squares = np.full(mean.size, first), np.full(mean.size, first**2)
    below = first
    for k in steps:
        value = min(first + k * judge.step, last)
        above = ndtr((mean - (first + (k - 0.5) * judge.step)) / sd)
        total += (value - below) * above
        squares += (value**2 - below**2) * above
        below = value
    return total, np.sqrt(np.maximum(squares - total**2, 0.0))


def _ends(judge: Judge) -> tuple[float, float]:
    low, high = judge.scale if judge.scale is not None else (-np.inf, np.inf)
    return low, high if judge.ceiling is None else min(high, judge.ceiling)


def _clipped(mean: Floats, sd: float, low: float, high: float) -> tuple[Floats, Floats]:
    a, b = (low - mean) / sd, (high - mean) / sd
    inside = ndtr(b) - ndtr(a)
    end_a, end_b = np.where(np.isfinite(a), a, 0.0), np.where(np.isfinite(b), b, 0.0)
    da, db = (np.exp(-x * x / 2) / np.sqrt(2 * np.pi) for x in (a, b))
    ends = [(low if np.isfinite(low) else 0.0, ndtr(a)), (high if np.isfinite(high) else 0.0, ndtr(-b))]
    first = mean * inside + sd * (da - db)
    second = (mean**2 + sd**2) * inside + 2 * mean * sd * (da - db) + sd**2 * (end_a * da - end_b * db)
    total = first + sum(v * p for v, p in ends)
    squares = second + sum(v * v * p for v, p in ends)
    return total, np.sqrt(np.maximum(squares - total**2, 0.0))


#: Judges, in each way they may be given.
Judges = Judge | Sequence[Judge] | Mapping[str, Judge | Mapping[str, Any]]
#: Quality of candidates or systems, or the sd of those drawn.
Quality = Mapping[str, float] | float


def simulate(
    plan: Any, judges: Judges, seed: int | np.random.Generator = SEED, *, replicates: int = 1, quality: Quality = 1.0
) -> pd.DataFrame:
    """Let judges with planted properties answer a plan.

    Parameters
    ----------
    plan : frame
        A canonical frame without answers, in any engine. Preferences: ``item``, ``first``, ``second``; ratings:
        ``item``, ``system``; and any further column, whether or not :class:`Judge` uses it. With a column ``judge``
        each judge answers its own rows, without one every judge answers every row.
    judges : Judge, list of Judge, or mapping
        ``[Judge("g", dark_current=0.2)]``, or ``{"g": {"dark_current": 0.2}}``.
    seed : int or numpy.random.Generator
        The same seed gives the same answers, whatever the order of the rows and of the judges, and whichever other
        judges there are.
    replicates : int
        Ask each row so often; the repeats are numbered in ``replicate``.
    quality : mapping of str to float, or float
        Quality of each candidate, or system. A plan of ratings may have it in a column ``quality``, one of preferences
        in ``quality_first`` and ``quality_second``. A float is the sd of qualities that are drawn for the systems of
        ratings; candidates of preferences have none then.

    Returns
    -------
    pandas.DataFrame
        The plan with ``judge`` and ``choice`` (or ``score``): a valid canonical frame. Judges are in the order of their
        names, and rows in the order of the plan; a plan with a column ``judge`` keeps its order.

    Raises
    ------
    DesignError
        If the plan has answers already, a property is unknown, or plan and judges name different judges.
    SchemaError
        If this is not a plan, or has faults.

    See Also
    --------
    answer_probabilities : The probabilities that the answers are drawn from.

    Examples
    --------
    >>> plan = pd.DataFrame({"item": ["1", "1"], "first": ["a", "b"], "second": ["b", "a"], "better": "a"})
    >>> simulate(plan, [Judge("g", sensitivity=9.0), Judge("h", sensitivity=0.0, slot_bias=9.0)])
      judge item first second better  choice
    0     g    1     a      b      a   first
    1     g    1     b      a      a  second
    2     h    1     a      b      a   first
    3     h    1     b      a      a   first
    >>> simulate(plan, {"g": {"slot_bais": 1.0}})
    Traceback (most recent call last):
    judgestats.errors.DesignError: Judge 'g' names 'slot_bais', ... Did you mean 'slot_bias'?
    """
    known = named_judges(judges)
    asked, rows_of = questions(plan, known, replicates)
    seed = _number(seed)
    if asked.kind == "preferences":
        result = _assembled(asked, known, rows_of, partial(_choices, Pairs(asked, quality), seed))
        codes = result.pop("choice").to_numpy(dtype=np.int8)
        result["choice"] = pd.Categorical.from_codes(codes, categories=list(CHOICES))
    else:
        by_row, _ = system_quality(asked, quality, seed)
        result = _assembled(asked, known, rows_of, partial(_scores, asked, by_row, seed))
    raise_faults(nw.from_native(result), asked.kind)
    return result


def answer_probabilities(
    plan: Any, judges: Judges, *, seed: int | None = None, replicates: int = 1, quality: Quality = 1.0
) -> pd.DataFrame:
    """Give the true probability of each answer, from which the true value of a measure can be computed.

    Parameters
    ----------
    plan, judges, replicates, quality
        As for :func:`simulate`.
    seed : int or None
        None: probabilities averaged over everything that is drawn (numerical integration), as for a new sample of
        items. They are those of one call: two calls of one item share what was drawn for it, and are not independent.
        An int: probabilities given the effects that ``simulate(..., seed)`` draws. Calls are then independent, so that
        a pair is in a class with the product of two of them.

    Returns
    -------
    pandas.DataFrame
        Rows as :func:`simulate` gives them. For preferences ``p_first``, ``p_second``, ``p_tie``, ``p_abstain`` and
        ``p_invalid``, which sum to 1. For ratings ``mean`` and ``sd`` of a score that is there, on the scale with its
        rounding and limits, and ``p_missing``.

    Raises
    ------
    DesignError, SchemaError
        As :func:`simulate`.

    See Also
    --------
    simulate : Judges with planted properties.

    Examples
    --------
    >>> plan = pd.DataFrame({"item": ["1", "2"], "first": ["a", "b"], "second": ["b", "a"], "better": "a"})
    >>> g = Judge("g", sensitivity=2.0, slot_bias=0.5, tie_criterion=1.0)
    >>> answer_probabilities(plan, g)[["first", "p_first", "p_second", "p_tie"]].round(4)
      first  p_first  p_second   p_tie
    0     a   0.8176    0.0293  0.1531
    1     b   0.0759    0.6225  0.3017
    """
    known = named_judges(judges)
    seed = None if seed is None else _number(seed)
    asked, rows_of = questions(plan, known, replicates)
    if asked.kind == "ratings":
        by_row = system_quality(asked, quality, seed)
        return _assembled(asked, known, rows_of, partial(_expected_scores, asked, by_row, seed))
    return _assembled(asked, known, rows_of, partial(_probabilities, Pairs(asked, quality), seed))


def _number(seed: int | np.random.Generator | None) -> int:
    """The seed as an integer, shared by all draws of one call."""
    if seed is None or isinstance(seed, np.random.Generator):
        return int(np.random.default_rng(seed).integers(2**63))
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise DesignError(f"seed={seed!r} is not possible. Give a whole number, 0 or more, or a numpy Generator.")
    return int(seed)


def _chances(pairs: Pairs, judge: Judge, rows: RowIndex, seed: int | None) -> Floats:
    """Probabilities of the answers to `rows`, in their order."""
    cases = list(pairs.asked.cases(judge, rows))
    effects = None if seed is None else signal_effects(pairs, judge.name, seed, [case for case, _ in cases])
    place = np.empty(len(pairs.asked), dtype=np.intp)
    place[rows] = np.arange(rows.size)
    result = np.empty((rows.size, len(CHOICES)))
    for case, chosen in cases:
        result[place[chosen]] = chances(pairs, case, chosen, effects)
    return result


def _probabilities(pairs: Pairs, seed: int | None, judge: Judge, rows: RowIndex) -> dict[str, Any]:
    table = _chances(pairs, judge, rows, seed)
    return {f"p_{choice}": table[:, i] for i, choice in enumerate(CHOICES)}


def _choices(pairs: Pairs, seed: int, judge: Judge, rows: RowIndex) -> dict[str, Any]:
    u = generator(seed, ("answers", judge.name)).random(rows.size)
    upto = np.cumsum(_chances(pairs, judge, rows, seed), axis=1)[:, :-1]
    return {"choice": (u[:, None] >= upto).sum(axis=1)}


def _scores(asked: Questions, by_row: Floats, seed: int, judge: Judge, rows: RowIndex) -> dict[str, Any]:
    rng = generator(seed, ("answers", judge.name))
    values, noise, lost = (np.empty(len(asked)) for _ in range(3))
    noise[rows], lost[rows] = rng.standard_normal(rows.size), rng.random(rows.size)
    effects = score_effects(asked, judge.name, seed)
    for case, chosen in asked.cases(judge, rows):
        mean = means(asked, case, chosen, by_row, effects)
        given = on_scale(case, mean + case.noise * noise[chosen])
        values[chosen] = np.where(lost[chosen] < case.invalid, np.nan, given)
    return {"score": values[rows]}


def _expected_scores(
    asked: Questions, quality: tuple[Floats, float], seed: int | None, judge: Judge, rows: RowIndex
) -> dict[str, Any]:
    by_row, unknown = quality
    mean, sd, missing = (np.empty(len(asked)) for _ in range(3))
    effects = None if seed is None else score_effects(asked, judge.name, seed)
    for case, chosen in asked.cases(judge, rows):
        drawn = effect_sd(case, unknown) if seed is None else 0.0
        before = means(asked, case, chosen, by_row, effects)
        mean[chosen], sd[chosen] = expected(case, before, float(np.hypot(case.noise, drawn)))
        missing[chosen] = case.invalid
    return {"mean": mean[rows], "sd": sd[rows], "p_missing": missing[rows]}


def _assembled(
    asked: Questions,
    judges: Mapping[str, Judge],
    rows_of: Mapping[str, RowIndex],
    answer: Callable[[Judge, RowIndex], Mapping[str, Any]],
) -> pd.DataFrame:
    """The plan and its answers side by side, a block per judge where the plan names none."""
    n, blocks = len(asked), 1 if "judge" in asked else len(judges)
    columns: dict[str, NDArray[Any]] = {}
    for i, (name, judge) in enumerate(judges.items()):
        for column, values in answer(judge, rows_of[name]).items():
            place = rows_of[name] + n * (i if blocks > 1 else 0)
            columns.setdefault(column, np.empty(n * blocks, dtype=values.dtype))[place] = values
    table = pd.concat([asked.table] * blocks, ignore_index=True)
    if "judge" not in asked:
        names = pd.Categorical.from_codes(np.repeat(np.arange(blocks), n), list(judges))
        table.insert(0, "judge", names.astype("str"))
    return table.assign(**columns)
