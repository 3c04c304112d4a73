"""Whether judges kept to their evidence where they wrote it down before the verdict: :func:`evidence_lock`."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

import pandas as pd

from judgestats.design.checklist_tasks import spaced, words
from judgestats.design.collection import matched
from judgestats.design.plans import CALL, Plan, opened
from judgestats.design.reply_contents import SIDES, part_of, side_scores
from judgestats.design.runner_replies import Answers
from judgestats.errors import DesignError
from judgestats.ingest.replies import parse_verdicts
from judgestats.metrics.invariance.rationale_faults import stated_winner
from judgestats.typing import Record

_QUOTED = re.compile(r"[\"“«]([^\"“”«»]+)[\"”»]")
_KEPT = ("judge", "item", "first", "second", "scheme", "probe", "replicate", "temperature")


def evidence_lock(
    plan: Plan | str | Path,
    answers: Answers,
    *,
    weights: Mapping[str, float] | None = None,
    margin: float = 0.0,
    min_words: int = 4,
) -> pd.DataFrame:
    """Check the verdicts that were given in three turns: notes with quotations, scores from them, the verdict.

    Parameters
    ----------
    plan : Plan or path
        The plan of all stages, ``plan + next_stage(plan, answers) + ...``.
    answers
        To all stages, as for :func:`judgestats.design.collect`.
    weights : mapping, optional
        Criterion -> weight of its score; by default equal.
    margin : float
        Scores whose weighted means differ by no more are a tie.
    min_words : int
        Smallest number of words of a quotation within an explanation to look up.

    Returns
    -------
    pandas.DataFrame
        A row per dialogue with notes and a verdict: ``call`` (of the verdict), the judge, item, candidates, scheme and
        probe, and

        - ``early_verdict``: the notes state a winner, or give scores;
        - ``quotes``, ``quotes_absent``: quotations in the notes, and those that are in none of the texts shown;
        - ``notes_without_quote``;
        - ``scores_without_note``: scores of a candidate and criterion on which there is no note (missing if no scores
          can be read);
        - ``new_quotes``: quotations in the explanation of the verdict that are not in the notes;
        - ``score_first``, ``score_second``: weighted means of the scores;
        - ``score_conflict``: the verdict is not that of the scores (missing without both);
        - ``held``: none of these faults.

        Notes that cannot be read are not ``held``.

    Raises
    ------
    DesignError
        If the plan has no such dialogue with answers to all turns, or a criterion has no weight.

    See Also
    --------
    cues : A study of cues.
    judgestats.protocol_difference : Anchoring under two schemes.

    Notes
    -----
    rationalization, Sec IV.D and V.C. The paper asks the judge to keep to its notes, and does not check it; the checks
    are ours. Quotations are compared without case, blanks and punctuation. See also
    :func:`judgestats.rationale_check`, for explanations of any scheme.

    Examples
    --------
    >>> from judgestats.design import Judge, cues, next_stage, simulate_replies
    >>> pairs = pd.DataFrame({"item": ["1"], "first": "u", "second": "v", "task_text": "Sum up: sales rose.",
    ...                       "first_text": ["Sales rose."], "second_text": ["Sales went up."]})
    >>> plan, replies = cues("m", pairs, probes=["blind"], schemes=["PBP"]), []
    >>> stages = [plan]
    >>> for turn in range(3):
    ...     replies += simulate_replies(stages[-1], Judge("m")).to_dict("records")
    ...     stages += [next_stage(stages[-1], replies)] if turn < 2 else []
    >>> evidence_lock(stages[0] + stages[1] + stages[2], replies)[["quotes", "quotes_absent"]].values.tolist()
    [[8, 0]]
    """
    plan = opened(plan)
    replies = matched(plan, answers).usable(plan)
    checked = partial(_checked, weights=weights, margin=margin, min_words=min_words)
    if not (rows := list(_dialogues(plan, replies, checked))):
        raise DesignError(
            "No dialogue of the plan has notes, scores and a verdict with answers to all. Give the plan of all stages "
            "(plan + later) and all answers."
        )
    return pd.DataFrame(rows)


def _dialogues(plan: Plan, replies: Mapping[str, str], checked: Callable[..., Record]) -> Iterator[Record]:
    parts = {n: set(p.schema.get("properties", {})) for n, p in plan.prompts.items()}
    calls = {row[CALL]: row for row in plan.calls.to_dict("records")}
    for call, row in calls.items():
        before = calls.get(row.get("after"), {})
        start = calls.get(before.get("after"), {})
        turns = [start, before, row]
        wanted = zip(turns, ("notes", "scores", "verdict"), strict=True)
        if not all(t and t[CALL] in replies and part in parts[t["prompt"]] for t, part in wanted):
            continue
        texts = [plan.texts[start[c]] for c in ("task_text", "first_text", "second_text") if start.get(c) in plan.texts]
        keys = {CALL: call, **{c: row[c] for c in _KEPT if c in row}}
        yield {**keys, **checked(*(replies[t[CALL]] for t in turns), texts)}


def _checked(
    notes: str,
    scores: str,
    verdict: str,
    texts: list[str],
    weights: Mapping[str, float] | None,
    margin: float,
    min_words: int,
) -> Record:
    written = part_of(notes, "notes")
    written = [n for n in written if isinstance(n, dict)] if isinstance(written, list) else None
    quotes = [str(n.get("quotation") or "") for n in written or ()]
    quotations = [q for q in quotes if words(q)]
    sources = [spaced(t) for t in texts]
    noted = {(n.get("response"), n.get("criterion")) for n in written or ()}
    scored = side_scores(scores)
    scored_criteria = {(side, c) for side, each in scored.items() for c in each}
    means = {SIDES[side]: _mean(each, weights) for side, each in scored.items()}
    one, two = (means.get(side, math.nan) for side in ("first", "second"))
    choice = parse_verdicts([verdict], answer="choice")["choice"].iloc[0]
    both = math.isfinite(one) and math.isfinite(two) and choice in ("first", "second", "tie")
    by_score = "tie" if abs(one - two) <= margin + 1e-9 else "first" if one > two else "second"
    said = [str(n.get("note", "")) for n in written] if written is not None else [notes]
    early = any(map(stated_winner, said)) or any(part_of(notes, part) is not None for part in ("scores", "verdict"))
    explanation = [q for q in _QUOTED.findall(str(part_of(verdict, "explanation") or "")) if len(words(q)) >= min_words]
    locked = spaced(" ".join([*quotes, *said]))
    row = {
        "early_verdict": early,
        "quotes": len(quotations),
        "quotes_absent": sum(not any(spaced(q) in t for t in sources) for q in quotations),
        "notes_without_quote": len(quotes) - len(quotations),
        "scores_without_note": len(scored_criteria - noted) if scored_criteria else math.nan,
        "new_quotes": sum(spaced(q) not in locked for q in explanation),
        "score_first": one,
        "score_second": two,
        "score_conflict": by_score != choice if both else None,
    }
    faults = ("early_verdict", "quotes_absent", "notes_without_quote", "scores_without_note", "new_quotes")
    return {**row, "held": bool(written) and both and not row["score_conflict"] and not any(row[f] for f in faults)}


def _mean(scores: Mapping[str, float], weights: Mapping[str, float] | None) -> float:
    weights = dict.fromkeys(scores, 1.0) if weights is None else weights
    if unknown := sorted(set(scores) - set(weights)):
        raise DesignError(f"weights= has no weight of {unknown[0]!r}. It has: {', '.join(weights)}.")
    total = sum(float(weights[c]) for c in scores)
    return sum(float(weights[c]) * x for c, x in scores.items()) / total if total > 0 else math.nan
