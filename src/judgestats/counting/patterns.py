"""The one table that says, for each measure, what is counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from judgestats.schema.columns import CHOICES, UNIT_COLUMNS, Kind, grouping

#: An invalid call in a rate is excluded, not what was asked for, or no preference; among right and wrong verdicts, and
#: where a call has a direction, one of them is no answer.
Invalid = Literal["drop", "wrong", "tie"]
InvalidVerdict = Literal["drop", "wrong"]
InvalidDirection = Literal["drop", "tie"]
#: A tie is right only where the right answer is one, is excluded, or is half right; half a win for each of two.
Ties = Literal["exact", "drop", "half"]
TiesOfVerdicts = Literal["exact", "drop"]
#: A tie in a model of positions: half a vote for each, excluded, or an answer of its own.
TiesOfPositions = Literal["half", "drop", "model"]
#: What a slot answers in one order of a pair; ``missing`` is an order that was not judged.
SLOT_ANSWERS = ("first", "second", "tie", "invalid", "missing")
#: What a call says about a known target.
OUTCOMES = ("correct", "wrong", "tie", "invalid")
#: The same under one of two conditions; ``missing`` where the pair was not judged under it.
CHANGED = (*OUTCOMES, "missing")
#: A verdict that is yes or no, and the label that people gave beside it, if any.
VERDICTS = ("yes", "no", "invalid")
LABELS = ("yes", "no", "none")
#: What a call is to one of its two candidates.
SIDES = ("win", "loss", "tie", "invalid")


@dataclass(frozen=True)
class Pattern:
    """What a measure counts; a table of its `columns`, ``n`` and what ``refuse_further`` lets pass is a tally."""

    frame: Kind  # the canonical frame it is counted from
    unit: Literal["call", "side", "pair", "change", "cell", "raters"]  # what one count is
    columns: Mapping[str, tuple[str, ...] | None]  # the pattern columns and their allowed values (None: any)
    stimulus: tuple[str, ...] = ()  # the stimuli it is about; empty for all, or a frame without such a column
    needs: tuple[str, ...] = ()  # further columns of the frame that the pattern columns are made from
    optional: tuple[str, ...] = field(default=())  # columns that join the pattern where the frame has them
    beside: tuple[str, ...] = ()  # columns made from the frame, counted beside the pattern; a tally may lack them
    annotations: tuple[str, ...] = ()  # columns that a printed tally may have, and that split no count
    ordered: bool = False  # whether it needs the order in which the candidates were shown
    against: tuple[str, str, str] | None = None  # a candidate's column, what answers for and against it are called
    across: str = ""  # unit ``change``: the column whose values are compared with a baseline
    pooled: tuple[str, ...] = ()  # columns that it also averages over: calls that differ in them may share something


_BOTH_ORDERS: Mapping[str, tuple[str, ...] | None] = {"judge": None, "forward": SLOT_ANSWERS, "reverse": SLOT_ANSWERS}
_LADDER: Mapping[str, tuple[str, ...] | None] = {"judge": None, "delta": None, "outcome": OUTCOMES}
_RIGHT = ("better", "correct", "wrong")

#: Measure -> what it counts. A table of a pattern's columns and ``n`` is taken in place of the frame.
PATTERNS: dict[str, Pattern] = {
    "dark_current": Pattern(
        "preferences", "call", {"judge": None, "choice": CHOICES}, ("vacuum",), optional=("vacuum_kind",)
    ),
    "delta0": Pattern("preferences", "pair", _BOTH_ORDERS, ("same_subset",)),
    "consistency": Pattern("preferences", "pair", _BOTH_ORDERS),
    "position_bias": Pattern("preferences", "call", {"judge": None, "choice": CHOICES}, ordered=True),
    "option_position_bias": Pattern(
        "ratings", "call", {"judge": None, "shown_at": None}, optional=("n_options", "gold_at")
    ),
    "answer_rates": Pattern("preferences", "call", {"judge": None, "choice": CHOICES}),
    "target_sensitivity": Pattern("preferences", "call", _LADDER, ("ladder",), needs=("better",), against=_RIGHT),
    "detection_threshold": Pattern("preferences", "call", _LADDER, ("ladder",), needs=("better",), against=_RIGHT),
    "d_prime": Pattern(
        "preferences",
        "call",
        {"judge": None, "delta": None, "target_slot": ("first", "second"), "choice": CHOICES},
        ("ladder",),
        needs=("better",),
        ordered=True,
    ),
    "criterion_shift": Pattern(
        "preferences",
        "call",
        {"judge": None, "prompt": None, "stimulus": None, "outcome": (*OUTCOMES, "preference")},
        optional=("delta",),
    ),
    "gold_agreement": Pattern(
        "preferences",
        "call",
        {"judge": None, "outcome": OUTCOMES},
        needs=("gold",),
        beside=("answer", "gold_answer"),
        against=("gold", "correct", "wrong"),
    ),
    "rank_systems": Pattern(
        "preferences", "call", {"system": None, "opponent": None, "outcome": SIDES}, annotations=("judge",)
    ),
    "preference_rate": Pattern("preferences", "side", {"judge": None, "candidate": None, "outcome": SIDES}),
    "bias_score": Pattern(
        "preferences",
        "call",
        {"judge": None, "outcome": ("target", "other", "tie", "invalid")},
        needs=("target",),
        optional=("bias",),
        against=("target", "target", "other"),
    ),
    "bias_change": Pattern(
        "preferences",
        "change",
        {
            "judge": None,
            "strategy": None,
            "baseline": ("target", "other", "tie", "invalid", "missing"),
            "outcome": ("target", "other", "tie", "invalid", "missing"),
        },
        needs=("target",),
        optional=("bias",),
        against=("target", "target", "other"),
        across="strategy",
        pooled=("judge",),
    ),
    "compare_strategies": Pattern(
        "preferences",
        "change",
        {"judge": None, "strategy": None, "baseline": CHANGED, "outcome": CHANGED},
        needs=("gold",),
        annotations=("pairs",),
        against=("gold", "correct", "wrong"),
        across="strategy",
    ),
    "anchoring": Pattern(
        "preferences",
        "call",
        {"judge": None, "probe": None, "outcome": None},
        optional=("scheme",),
        annotations=("favoured", "items"),
    ),
    "revision": Pattern(
        "preferences",
        "change",
        {"judge": None, "probe": None, "baseline": None, "outcome": None},
        optional=("scheme",),
        annotations=("favoured", "items"),
        across="probe",
    ),
    "filler_preference": Pattern(
        "preferences",
        "call",
        {"judge": None, "outcome": ("filler", "clean", "tie", "invalid")},
        ("filler",),
        needs=("target",),
        against=("target", "filler", "clean"),
    ),
    "accuracy": Pattern("ratings", "call", {"judge": None, "outcome": ("correct", "wrong", "invalid")}),
    "corrected_rate": Pattern("ratings", "call", {"judge": None, "verdict": VERDICTS, "label": LABELS}),
    "corrected_difference": Pattern(
        "ratings", "call", {"judge": None, "system": None, "verdict": VERDICTS, "label": LABELS}
    ),
    "kappa": Pattern("preferences", "raters", {"judge": None, "other": None, "answer": None, "other_answer": None}),
    "consensus_deviation": Pattern(
        "ratings", "cell", {"judge": None, "system": None, "mean": None}, optional=("item", "criterion", "sd", "runs")
    ),
    "icc": Pattern(
        "ratings", "cell", {"judge": None, "system": None, "mean": None}, optional=("item", "criterion", "sd", "runs")
    ),
}


class Query(NamedTuple):
    """What is counted: the arguments of :func:`judgestats.counting.tallies.count`, which a study answers once."""

    measure: str
    by: tuple[str, ...]
    cluster: tuple[str, ...] | None
    beside: tuple[str, ...]
    stimulus: str | None

    @property
    def pattern(self) -> Pattern:
        """What the measure counts."""
        return PATTERNS[self.measure]

    @property
    def split(self) -> list[str]:
        """Columns named besides the pattern."""
        return [*self.by, *self.beside]

    def keys(self, present: Sequence[str]) -> list[str]:
        """Columns that distinguish two estimates: calls in different ones need not be independent."""
        own = [c for c in self.pattern.columns if c in (*UNIT_COLUMNS, "candidate", "other")]
        own += [c for c in self.pattern.optional if c == "scheme" and c in present]  # never pooled
        judge = ["judge"] if "judge" in self.pattern.columns else []  # else pooled
        return list(dict.fromkeys([*(c for c in self.by if c in present), *judge, *own]))

    def groups(
        self, present: Sequence[str], split: Sequence[str], cluster: Sequence[str], what: str = "frame"
    ) -> list[str]:
        """Columns that split the counts."""
        columns = grouping([*split, *cluster], present, what)
        judge = ["judge"] if "judge" in self.pattern.columns else []
        return list(dict.fromkeys([*columns, *(c for c in self.pattern.optional if c in present), *judge]))
