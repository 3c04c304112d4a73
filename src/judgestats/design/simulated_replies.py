"""Raw replies of simulated judges to a plan, with failures at planted rates: :func:`simulate_replies`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from judgestats.defaults import SEED
from judgestats.design.judges import Judge
from judgestats.design.plans import CALL, Plan
from judgestats.design.simulation import simulate
from judgestats.errors import DesignError
from judgestats.kernels.resampling import generator

_LABELS = {"first": "A", "second": "B", "tie": "tie"}
#: Replies that are no answer.
_UNREADABLE = ("Both have their merits, and it depends on the reader.", '{"verdict": ', "", "[[A]] or [[B]]")
_REFUSAL = "I'm sorry, but I can't help with that."


def simulate_replies(
    plan: Plan,
    judges: Judge | Sequence[Judge],
    *,
    error: float = 0.0,
    refused: float = 0.0,
    unreadable: float = 0.0,
    seed: int | np.random.Generator = SEED,
) -> pd.DataFrame:
    """Answer a plan in raw text, as a runner would bring it back.

    Parameters
    ----------
    plan : Plan
        Calls to answer.
    judges : Judge or sequence of Judge
        Those that the plan asks; see :func:`judgestats.design.simulate`.
    error, refused, unreadable : float
        Shares of calls that fail, are refused, or give a reply without one answer.
    seed : int or Generator
        Seed of the answers and failures.

    Returns
    -------
    pandas.DataFrame
        ``call``, ``answer`` (missing where the call failed) and ``error``, for :func:`judgestats.design.collect`.

    Raises
    ------
    DesignError
        If a share is not between 0 and 1, or they sum to more than 1.

    Examples
    --------
    >>> from judgestats.design import vacuum
    >>> simulate_replies(vacuum("m", calls=6), Judge("m", tie_criterion=9.0))["answer"].tolist()[:2]
    ['{"verdict": "tie"}', '{"verdict": "tie"}']
    """
    shares = (error, refused, unreadable)
    if min(shares) < 0 or sum(shares) > 1:
        raise DesignError(f"error={error}, refused={refused}, unreadable={unreadable} are not shares. Each is 0 to 1.")
    if plan.kind == "preferences":
        found = simulate(plan.calls, judges, seed=seed)
        choice = found["choice"].astype(str)
        text = [json.dumps({"verdict": _LABELS[c]}) if c in _LABELS else _UNREADABLE[0] for c in choice]
    else:
        found, text = _scores(plan, judges, seed)
    rng = generator(seed, ("failures",))
    u = rng.random(len(found))
    odd = rng.integers(len(_UNREADABLE), size=len(found))
    answer = np.array(text, dtype=object)
    answer[u < sum(shares)] = np.array(_UNREADABLE, dtype=object)[odd[u < sum(shares)]]
    answer[u < error + refused] = _REFUSAL
    answer[u < error] = None
    return pd.DataFrame(
        {
            CALL: found[CALL].to_numpy(),
            "answer": answer,
            "error": ["simulated failure" if x < error else None for x in u],
        }
    )


def _scores(
    plan: Plan, judges: Judge | Sequence[Judge], seed: int | np.random.Generator
) -> tuple[pd.DataFrame, list[str]]:
    """Scores of each call, and the reply that gives them: one number, or one for each criterion."""
    criteria: dict[str, list[Any]] = {n: list(p.criteria) or [None] for n, p in plan.prompts.items()}
    each = plan.calls["prompt"].map(criteria)
    asked = plan.calls.assign(criterion=each).explode("criterion", ignore_index=True)
    single = asked["criterion"].isna()
    found = simulate(asked.drop(columns="criterion") if single.all() else asked, judges, seed=seed)
    scores = found["score"].tolist()
    replies: dict[str, dict[str, float]] = {}
    names = ["score"] * len(found) if single.all() else found["criterion"].fillna("score").tolist()
    for call, name, score in zip(found[CALL], names, scores, strict=True):
        if score == score:
            replies.setdefault(call, {})[name] = score
    text = []
    for call in plan.calls[CALL]:
        given = replies.get(call, {})
        text.append(json.dumps(given if "score" in given else {"scores": given}) if given else _UNREADABLE[0])
    return plan.calls, text
