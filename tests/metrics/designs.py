"""Tables of complete designs that the tests of generalizability theory share."""

import numpy as np
import pandas as pd

SHROUT = np.array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], dtype=float)


NAMES = ("judge", "system", "item", "replicate")


TRUE = {
    "judge": 0.6,
    "system": 1.0,
    "item": 0.5,
    "judge:system": 0.3,
    "judge:item": 0.2,
    "system:item": 0.4,
    "judge:system:item": 0.25,
    "residual": 0.5,
}


def simulated(shape, seed=0, true=TRUE):
    """Scores of a crossed design with these variances; the last axis is runs."""
    rng = np.random.default_rng(seed)
    y = np.full(shape, 5.0)
    for term, variance in true.items():
        own = NAMES if term == "residual" else term.split(":")
        y = y + rng.normal(0, np.sqrt(variance), [n if a in own else 1 for a, n in zip(NAMES, shape, strict=True)])
    return y


def long(y):
    places = np.indices(y.shape).reshape(y.ndim, -1)
    frame = pd.DataFrame({a: places[i] for i, a in enumerate(NAMES)})
    text = {a: [f"{a}{x:02d}" for x in frame[a]] for a in NAMES[:3]}
    return frame.assign(**text, score=y.ravel())


def table_of(scores):
    return long(np.asarray(scores).T[:, None, :, None]).drop(columns="replicate")


def values(result):
    return dict(zip(result["term"], result["estimate"], strict=True))


def components(**terms):
    return pd.DataFrame({"term": [t.replace("_", ":") for t in terms], "estimate": list(terms.values())})


WHOLE = components(
    judge=0.6,
    system=1.0,
    item=0.5,
    judge_system=0.3,
    judge_item=0.2,
    system_item=0.4,
    judge_system_item=0.25,
    residual=0.5,
)
