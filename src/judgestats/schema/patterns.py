"""The one table that says, for each measure, what is counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from judgestats.schema.columns import CHOICES, Kind

#: What an invalid call is to a rate: set aside, not what was asked for, or no preference.
Invalid = Literal["drop", "wrong", "tie"]
#: What a slot answers in one order of a pair; ``missing`` is an order that was not judged.
SLOT_ANSWERS = ("first", "second", "tie", "invalid", "missing")
#: What a call says about a known target.
OUTCOMES = ("correct", "wrong", "tie", "invalid")


@dataclass(frozen=True)
class Pattern:
    """What a measure counts.

    Attributes
    ----------
    frame : {'preferences', 'ratings'}
        The canonical frame it is counted from.
    unit : {'call', 'pair', 'cell'}
        What one count is: a judge call, the two orders of one pair, or a judge's runs on one thing rated.
    columns : mapping of str to tuple of str or None
        The pattern columns and their allowed values (None: any). A table with these columns and ``n`` is a tally.
    cluster : str
        Default cluster of a resampling interval.
    stimulus : tuple of str
        The stimuli it is about; empty for all. A frame without a ``stimulus`` column is refused when this is not empty.
    needs : tuple of str
        Further columns of the frame that the pattern columns are made from.
    optional : tuple of str
        Columns that join the pattern where the frame has them.
    ordered : bool
        Whether it needs the order in which the candidates were shown.
    """

    frame: Kind
    unit: Literal["call", "pair", "cell"]
    columns: Mapping[str, tuple[str, ...] | None]
    cluster: str = "item"
    stimulus: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    optional: tuple[str, ...] = field(default=())
    ordered: bool = False


_BOTH_ORDERS: Mapping[str, tuple[str, ...] | None] = {"judge": None, "forward": SLOT_ANSWERS, "reverse": SLOT_ANSWERS}
_LADDER: Mapping[str, tuple[str, ...] | None] = {"judge": None, "delta": None, "outcome": OUTCOMES}

#: Measure -> what it counts. A table with exactly a pattern's columns and ``n`` is taken in place of the frame.
PATTERNS: dict[str, Pattern] = {
    "dark_current": Pattern(
        "preferences", "call", {"judge": None, "choice": CHOICES}, "task", ("vacuum",), optional=("vacuum_kind",)
    ),
    "delta0": Pattern("preferences", "pair", _BOTH_ORDERS, "task", ("same_subset",)),
    "consistency": Pattern("preferences", "pair", _BOTH_ORDERS, "item"),
    "slot_lean": Pattern("preferences", "call", {"judge": None, "choice": CHOICES}, "item", ordered=True),
    "answer_rates": Pattern("preferences", "call", {"judge": None, "choice": CHOICES}, "item"),
    "target_sensitivity": Pattern("preferences", "call", _LADDER, "task", ("ladder",), needs=("better",)),
    "detection_threshold": Pattern("preferences", "call", _LADDER, "task", ("ladder",), needs=("better",)),
    "d_prime": Pattern(
        "preferences",
        "call",
        {"judge": None, "delta": None, "target_slot": ("first", "second"), "choice": CHOICES},
        "task",
        ("ladder",),
        needs=("better",),
        ordered=True,
    ),
    "criterion_shift": Pattern(
        "preferences",
        "call",
        {"judge": None, "prompt": None, "stimulus": None, "outcome": (*OUTCOMES, "preference")},
        "task",
        optional=("delta",),
    ),
    "gold_agreement": Pattern("preferences", "call", {"judge": None, "outcome": OUTCOMES}, "item", needs=("gold",)),
    "filler_preference": Pattern(
        "preferences",
        "call",
        {"judge": None, "outcome": ("filler", "clean", "tie", "invalid")},
        "task",
        ("filler",),
        needs=("target",),
    ),
    "consensus_deviation": Pattern(
        "ratings", "cell", {"judge": None, "system": None, "mean": None}, optional=("item", "criterion", "sd", "runs")
    ),
}

#: Measures of whole score vectors or texts: they have no reduction to counts.
UNIT_LEVEL: tuple[str, ...] = ("score_matrix", "rank_correlation", "attenuation")
