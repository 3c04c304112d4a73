"""Raw replies of simulated judges to a plan, with failures at planted rates: :func:`simulate_replies`."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import pandas as pd

from judgestats.defaults import SEED
from judgestats.design.checklists import checklists
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
    """Answer a plan in raw text, as a runner would bring it back; a plan of texts gets sentences to try it with.

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
    if plan.kind == "texts":
        found, text = plan.calls, _texts(plan)
    else:
        found, text = simulate(plan.calls, judges, seed=seed), []
    if plan.kind == "preferences":
        choice = found["choice"].astype(str)
        text = [json.dumps({"verdict": _LABELS[c]}) if c in _LABELS else _UNREADABLE[0] for c in choice]
    elif plan.kind == "ratings":
        text = [json.dumps({"score": s}) if s == s else _UNREADABLE[0] for s in found["score"].tolist()]
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


def _texts(plan: Plan) -> list[str]:
    """Neutral sentences as a list in Markdown; after the response, where the prompt shows one."""
    neutral = checklists()[1]
    texts = []
    for i, (_, _, user) in enumerate(plan.messages()):
        key = plan.calls["response_text"].iloc[i] if "response_text" in plan.calls else None
        chosen = [neutral[(len(user) + i + k) % len(neutral)] for k in range(6)]
        if isinstance(key, str):
            texts.append(" ".join([plan.texts[key], *chosen]))
        else:
            texts.append("\n".join([f"**Answer {i + 1}.** {chosen[0]}", "", *(f"- {s}" for s in chosen[1:])]))
    return texts
