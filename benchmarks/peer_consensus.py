"""Consensus deviation as a careful pandas user would write it: vectorised, readable, for complete designs."""

from __future__ import annotations

import numpy as np
import pandas as pd

CELL = ["system", "item", "criterion"]


def made_ratings(judges: int = 50, systems: int = 50, items: int = 400, *, categories: bool = False) -> pd.DataFrame:
    """Whole scores of every judge on every system and item, in random order; judges and systems are the same models."""
    rng = np.random.default_rng(20)
    judge, system, item = (a.ravel() for a in np.indices((judges, systems, items)))
    order = rng.permutation(judge.size)
    judge, system, item = judge[order], system[order], item[order]
    models = np.array([f"model-{i:02d}" for i in range(max(judges, systems))], dtype=object)
    prompts = np.array([f"prompt-{i:03d}" for i in range(items)], dtype=object)
    leniency = rng.normal(size=judges)[judge] + (judge == system) * 0.3
    score = np.clip(np.round(6 + leniency + rng.normal(size=judge.size)), 1, 10)
    frame = pd.DataFrame({"judge": models[judge], "system": models[system], "item": prompts[item], "score": score})
    frame.insert(3, "criterion", "overall")
    return frame.astype(dict.fromkeys(["judge", *CELL], "category")) if categories else frame


def consensus_deviation(ratings: pd.DataFrame) -> pd.DataFrame:
    """Estimate and standard error over items: deviation per judge x system, and the three terms per judge."""
    how = {"sort": False, "observed": True}
    cells = ratings.groupby(["judge", *CELL], **how)["score"].mean().reset_index()
    peers = cells.groupby(CELL, **how)["score"]
    total, judges = peers.transform("sum"), peers.transform("count")
    cells["deviation"] = cells["score"] - (total - cells["score"]) / (judges - 1)
    items = cells.groupby(["judge", "system", "item"], **how)["deviation"].mean().reset_index()
    pairs = items.groupby(["judge", "system"], **how)["deviation"].agg(estimate="mean", std_error="sem").reset_index()
    items["own"] = items["judge"].astype(str) == items["system"].astype(str)
    sides = items.groupby(["judge", "item", "own"], **how)["deviation"].mean().unstack("own")
    sides = sides.rename(columns={True: "mean_own", False: "mean_others"})
    sides["self_excess"] = sides["mean_own"] - sides["mean_others"]
    long = sides.stack().rename("deviation").rename_axis(["judge", "item", "term"]).reset_index()
    terms = long.groupby(["judge", "term"], **how)["deviation"].agg(estimate="mean", std_error="sem").reset_index()
    return pd.concat([pairs.assign(term="deviation"), terms.assign(system="")], ignore_index=True)
