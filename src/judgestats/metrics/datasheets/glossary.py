"""Symbol, level, denominator and bad direction of each row of a datasheet, and what it means in one sentence."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    """How to read one term.

    Attributes
    ----------
    symbol : str
        Symbol in the paper, or a short one.
    level : str
        ``call``, ``pair``, ``ladder fit``, ``condition`` or ``score``.
    denominator : str
        What `n` counts.
    bad : str
        The direction that should worry.
    meaning : str
        One plain sentence.
    """

    symbol: str
    level: str
    denominator: str
    bad: str
    meaning: str


GLOSSARY: dict[str, Entry] = {
    "answered": Entry("—", "call", "calls", "lower", "The judge answered at all: no error and no refusal."),
    "parse": Entry("—", "call", "calls answered", "lower", "The answer could be read."),
    "schema": Entry("—", "call", "calls parsed", "lower", "The answer had the form that was asked for."),
    "semantic": Entry("—", "call", "calls with valid form", "lower", "The answer made sense in its own terms."),
    "hidden_metadata": Entry(
        "—", "call", "calls that made sense", "lower", "No hidden information leaked into the answer."
    ),
    "valid": Entry("—", "call", "calls", "lower", "The call passed every gate and counts."),
    "dark_current": Entry(
        "DC", "call", "vacuum calls", "higher", "The judge prefers one of two candidates that do not differ at all."
    ),
    "raw_false_preference": Entry(
        "RFP₀",
        "call",
        "both-order calls on equal pairs",
        "higher",
        "The judge refuses to call a tie between candidates of equal quality. A mixture, not a mechanism.",
    ),
    "tie_rate": Entry(
        "C_J",
        "call",
        "both-order calls on equal pairs",
        "no universal direction",
        "The judge calls equal candidates equal.",
    ),
    "stable_cross_sensitivity": Entry(
        "SCS",
        "pair",
        "equal pairs, both orders valid",
        "construct-dependent",
        "The judge picks the same content in both orders: it responds to surface.",
    ),
    "positional_false_preference": Entry(
        "PFP",
        "pair",
        "equal pairs, both orders valid",
        "higher",
        "The judge picks the same slot in both orders: the preference is the position's.",
    ),
    "one_sided_commit": Entry(
        "OSC",
        "pair",
        "equal pairs, both orders valid",
        "higher",
        "The judge commits in one order and calls a tie in the other.",
    ),
    "other_conflict": Entry(
        "Other", "pair", "equal pairs, both orders valid", "higher", "What the named classes leave over."
    ),
    "no_preference": Entry(
        "NP", "pair", "equal pairs, both orders valid", "construct-dependent", "The judge calls a tie in both orders."
    ),
    "target_sensitivity": Entry(
        "P_correct",
        "call",
        "ladder calls of this step",
        "lower",
        "The judge picks the better candidate; a tie is a miss.",
    ),
    "non_tie_accuracy": Entry(
        "P_correct|non-tie",
        "call",
        "ladder calls of this step that are not ties",
        "lower",
        "When the judge commits, it picks the better candidate.",
    ),
    "wrong_choice_rate": Entry(
        "—", "call", "ladder calls of this step", "higher", "The judge picks the worse candidate."
    ),
    "miss_by_tie": Entry(
        "MBT",
        "call",
        "ladder calls of this step",
        "higher when the signal should be detected",
        "There is a better candidate and the judge calls a tie.",
    ),
    "detection_threshold": Entry(
        "Δ75*",
        "ladder fit",
        "ladder calls",
        "higher",
        "The smallest difference that the judge finds in three of four calls.",
    ),
    "d_prime": Entry(
        "d'", "call", "ladder calls of this step", "lower", "How far apart signal and no signal are for the judge."
    ),
    "slot_criterion": Entry(
        "c", "call", "ladder calls of this step", "far from 0", "Lean towards the first slot (negative) or the second."
    ),
    "filler_preference": Entry(
        "—",
        "call",
        "filler calls",
        "far from 0",
        "The judge rewards (above 0) or punishes (below 0) words that say nothing.",
    ),
    "criterion_base": Entry(
        "C_J(base)",
        "condition",
        "calls of this condition",
        "no universal direction",
        "Tie rate under the baseline prompt.",
    ),
    "criterion_strict": Entry(
        "C_J(strict)",
        "condition",
        "calls of this condition",
        "no universal direction",
        "Tie rate under the other prompt.",
    ),
    "criterion_shift": Entry(
        "ΔC", "condition", "calls of this condition", "no universal direction", "How far the prompt moves the tie rate."
    ),
    "false_preference_saved": Entry(
        "—", "condition", "calls of this condition", "lower", "False preferences that the prompt turns into ties."
    ),
    "target_signal_lost": Entry(
        "—", "condition", "calls of this condition", "higher", "Right answers that the prompt costs."
    ),
    "saved_per_lost": Entry(
        "—", "condition", "calls of this step", "lower", "False preferences saved for each right answer lost."
    ),
    "consistency": Entry("—", "pair", "pairs", "lower", "The judge gives the same verdict in both orders."),
    "first_twice": Entry("—", "pair", "pairs", "higher", "The judge picks the first slot in both orders."),
    "second_twice": Entry("—", "pair", "pairs", "higher", "The judge picks the second slot in both orders."),
    "both_tie": Entry("—", "pair", "pairs", "no universal direction", "The judge calls a tie in both orders."),
    "one_sided": Entry("—", "pair", "pairs", "higher", "The judge commits in one order and calls a tie in the other."),
    "repeat_consistency": Entry(
        "—", "pair", "pairs of repeats", "lower", "The judge repeats its answer when asked again."
    ),
    "first": Entry("—", "call", "calls", "no universal direction", "The judge picks the candidate shown first."),
    "second": Entry("—", "call", "calls", "no universal direction", "The judge picks the candidate shown second."),
    "tie": Entry("—", "call", "calls", "no universal direction", "The judge calls a tie."),
    "invalid": Entry("—", "call", "calls", "higher", "No verdict could be read."),
    "lean": Entry(
        "—", "call", "valid calls", "far from 0", "First minus second: above 0 the judge leans to the first slot."
    ),
    "first_share_nontie": Entry(
        "—", "call", "valid calls that are not ties", "far from 0.5", "The first slot's share of the decided calls."
    ),
    "accuracy": Entry("—", "call", "valid calls with a gold answer", "lower", "The judge gives the gold answer."),
    "right": Entry("—", "verdict", "valid verdicts", "no universal direction", "The verdict is right."),
    "gold_tie": Entry(
        "—", "call", "calls with a gold answer", "higher", "The judge calls a tie where there is a gold answer."
    ),
    "gold_wrong": Entry(
        "—", "call", "calls with a gold answer", "higher", "The judge gives another answer than the gold one."
    ),
    "mean_score": Entry(
        "—", "score", "systems x items scored", "no universal direction", "The judge's mean score; systems weigh alike."
    ),
    "missing": Entry("—", "score", "scores asked for", "higher", "No score could be read."),
    "run_sd": Entry(
        "σ", "score", "scores with repeats", "higher", "Standard deviation of the judge's repeats of one rating."
    ),
    "mean_own": Entry("—", "score", "systems", "far from 0", "Deviation from its peers when the judge scores itself."),
    "mean_others": Entry(
        "—", "score", "systems", "far from 0", "Deviation from its peers when the judge scores others: severity."
    ),
    "mean_deviation": Entry(
        "—", "score", "cells", "far from 0", "Deviation from the other judges, over all it scored: severity."
    ),
    "self_excess": Entry(
        "—", "score", "systems", "above 0", "Own deviation beyond the judge's severity: self-preference."
    ),
}
