"""How often tests of one cell of a table of judges by something are significant, where there is nothing but tastes.

python benchmarks/size_under_tastes.py 200      # tables of each model; measures have three times as many

It writes docs/size_under_tastes.csv and prints its rows as docs/models.md has them.

Judges differ in what they like, at random and independently of what is tested: no judge favours its own on average, no
strategy moves the position bias of an average judge. A test at 5 % should be significant in 5 % of the tables.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import expit

import judgestats as js
from judgestats.models import position_bias_model, self_preference, strategy_effects

TABLE = Path(__file__).parents[1] / "docs" / "size_under_tastes.csv"
COLUMNS = ("of", "design", "asked", "tables", "size", "mc_error")
LEVEL = 0.05


def crossed(*sizes: int) -> tuple[np.ndarray, ...]:
    """Codes of all combinations."""
    return tuple(c.ravel() for c in np.meshgrid(*map(np.arange, sizes), indexing="ij"))


def names(codes: np.ndarray) -> np.ndarray:
    """Names of judges that are systems."""
    return np.array([f"m{k}" for k in codes], dtype=object)


def ratings(seed: int, judges: int = 5, items: int = 15, taste: float = 0.3) -> pd.DataFrame:
    """Scores by judges that are the systems, with a residual of sd 0.7."""
    rng = np.random.default_rng(seed)
    judge, system, item = crossed(judges, judges, items)
    score = 5 + rng.normal(0, 0.5, items)[item] + rng.normal(0, 0.5, judges)[judge] + rng.normal(0, 0.5, judges)[system]
    score += (
        rng.normal(0, 0.5, (judges, items))[system, item] + taste * rng.normal(size=(judges, judges))[judge, system]
    )
    score += 0.7 * rng.normal(size=len(judge))
    return pd.DataFrame({"judge": names(judge), "system": names(system), "item": item.astype(str), "score": score})


def preferences(seed: int, judges: int = 5, items: int = 15, taste: float = 0.4) -> pd.DataFrame:
    """Each pair of the judges' own responses, in one order, by every judge."""
    rng = np.random.default_rng(seed)
    one, other = np.triu_indices(judges, 1)
    item, pair, judge = crossed(items, len(one), judges)
    turned = rng.random(len(item)) < 0.5
    first, second = np.where(turned, other[pair], one[pair]), np.where(turned, one[pair], other[pair])
    quality, worth = rng.normal(0, 0.5, judges), rng.normal(0, 0.5, (judges, items))
    liked = taste * rng.normal(size=(judges, judges)) + quality
    eta = 0.2 + rng.normal(0, 0.3, judges)[judge] + liked[judge, first] - liked[judge, second]
    eta += worth[first, item] - worth[second, item]
    choice = np.where(rng.random(len(item)) < expit(eta), "first", "second")
    columns = {"judge": names(judge), "item": item.astype(str), "first": names(first), "second": names(second)}
    return pd.DataFrame({**columns, "choice": choice})


def positions(seed: int, shift: float = 0.0, slope: float = 0.0, judges: int = 6, items: int = 20) -> pd.DataFrame:
    """Pairs in both orders under two strategies; judges differ in shifts between these, and in slopes on length."""
    rng = np.random.default_rng(seed)
    judge, item, turned, strategy = crossed(judges, items, 2, 2 if shift else 1)
    order, length = 1 - 2 * turned, rng.normal(size=(items, 2))
    ahead = np.where(turned, length[item, 1] - length[item, 0], length[item, 0] - length[item, 1])
    eta = 0.2 + rng.normal(0, 0.3, judges)[judge] + order * rng.normal(0, 0.8, items)[item]
    eta += order * rng.normal(0, 0.4, (judges, items))[judge, item] + shift * rng.normal(size=judges)[judge] * strategy
    eta += slope * rng.normal(size=judges)[judge] * ahead / 2**0.5
    sides = {"first": np.where(turned, "y", "x"), "second": np.where(turned, "x", "y")}
    lengths = {"length_first": length[item, turned], "length_second": length[item, 1 - turned]}
    choice = np.where(rng.random(len(judge)) < expit(eta), "first", "second")
    about = {"judge": names(judge), "item": item.astype(str), "strategy": np.where(strategy, "S", "B")}
    return pd.DataFrame({**about, **sides, **lengths, "choice": choice})


def strategies(seed: int, judges: int = 6, items: int = 30, shift: float = 0.6) -> pd.DataFrame:
    """Right and wrong answers under two strategies, whose difference varies between judges."""
    rng = np.random.default_rng(seed)
    judge, item, strategy = crossed(judges, items, 2)
    eta = 0.8 + rng.normal(0, 0.5, judges)[judge] + rng.normal(0, 1, items)[item]
    correct = rng.random(len(judge)) < expit(eta + shift * rng.normal(size=judges)[judge] * strategy)
    columns = {"judge": names(judge), "item": item.astype(str), "strategy": np.where(strategy, "S8", "B0")}
    return pd.DataFrame({**columns, "correct": correct.astype(int)})


def blinded(seed: int) -> pd.DataFrame:
    """Ratings with names shown and hidden, under the same tastes."""
    shown = ratings(seed)
    rng = np.random.default_rng([seed, 1])
    hidden = shown.assign(score=shown["score"] + rng.normal(size=len(shown)))
    return pd.concat([shown.assign(condition="attributed"), hidden.assign(condition="anonymized")], ignore_index=True)


def excluded(rows: pd.DataFrame) -> list[bool]:
    """Whether the intervals of rows exclude 0."""
    return list((rows["conf_low"] > 0) | (rows["conf_high"] < 0))


def asked(tests: pd.DataFrame, question: str) -> list[bool]:
    """Whether the test of a question is significant, over all judges where there are tests of each."""
    rows = tests[tests["question"] == question]
    rows = rows[rows["judge"] == "all judges"] if "judge" in rows else rows.head(1)
    return list(rows["p_value"] < LEVEL)


def own_questions(calls: pd.DataFrame) -> dict[str, list[bool]]:
    """Intervals and tests of self-preference."""
    model = self_preference(calls)
    own = model.table[(model.table["term"] == "own") & (model.table["model"] == "with system:item")]
    own = own[own["scale"].isin(["score", "log-odds"])]
    whole = own["judge"] == "all judges"
    favoured, differ = (asked(model.tests, q) for q in ("own responses are favoured", "judges differ"))
    return {"own, all judges": excluded(own[whole]), "own, each judge": excluded(own[~whole]),
            "own responses are favoured": favoured, "judges differ": differ}  # fmt: skip


def family_bias(seed: int) -> dict[str, list[bool]]:
    """Bias of each judge for its own system."""
    rows = js.bias_score(preferences(seed), family={f"m{k}": f"f{k}" for k in range(5)}, cluster="item")
    return {"bias, each judge": excluded(rows[rows["term"] == "bias"])}


def deviations(seed: int) -> dict[str, list[bool]]:
    """Excess of each judge on its own system."""
    rows = js.consensus_deviation(ratings(seed))
    return {"self_excess, each judge": excluded(rows[rows["term"] == "self_excess"])}


def blinding(seed: int) -> dict[str, list[bool]]:
    """Change of the own deviation by hiding names."""
    rows = js.blinding_effect(blinded(seed))
    return {"attenuation, each judge": excluded(rows[rows["term"] == "attenuation"])}


class Design(NamedTuple):
    """Tables without an effect, and what is asked of one."""

    of: str
    name: str
    ask: Callable[[int], dict[str, list[bool]]]

    @property
    def is_model(self) -> bool:
        """Whether it fits models, and takes seconds."""
        return self.of in ("self_preference", "position_bias_model", "strategy_effects")


def designs() -> list[Design]:
    """Every design of the study."""
    length = {"attribute": "length"}
    shifts = "slot bias differs by strategy"
    return [
        Design("self_preference", "scores, 5 judges, tastes .3", lambda s: own_questions(ratings(s))),
        Design("self_preference", "scores, 3 judges, tastes .3", lambda s: own_questions(ratings(s, judges=3))),
        Design("self_preference", "preferences, 5 judges, tastes .4", lambda s: own_questions(preferences(s))),
        Design("position_bias_model", "6 judges, shifts .7",
               lambda s: {shifts: asked(position_bias_model(positions(s, shift=0.7), by="strategy").tests, shifts)}),
        Design("position_bias_model", "6 judges, slopes .7",
               lambda s: {"length matters": asked(position_bias_model(positions(s, slope=0.7), **length).tests,
                                                  "length matters")}),
        Design("strategy_effects", "6 judges, shifts .6",
               lambda s: {"strategies matter on average": asked(
                   strategy_effects(strategies(s), baseline="B0").tests, "strategies matter on average")}),
        Design("bias_score(family=)", "preferences, 5 judges, tastes .4", family_bias),
        Design("consensus_deviation", "scores, 5 judges, tastes .3", deviations),
        Design("blinding_effect", "scores, 5 judges, tastes .3, the same in both conditions", blinding),
    ]  # fmt: skip


def sizes(design: Design, tables: int) -> Iterator[dict[str, object]]:
    """Rows of a design: shares of significant results, with the Monte Carlo error of the tables."""
    answers = [design.ask(seed) for seed in range(tables)]
    for question in answers[0]:
        shares = np.array([np.mean(a[question]) for a in answers])
        error = max(float(shares.std(ddof=1)), (LEVEL * (1 - LEVEL)) ** 0.5 / len(answers[0][question])) / tables**0.5
        yield dict(zip(COLUMNS, (design.of, design.name, question, tables, shares.mean(), error), strict=True))


def page_lines(table: pd.DataFrame) -> list[str]:
    """Rows of the table in docs/models.md."""
    return [
        f"| `{r.of}` | {r.design} | {r.asked} | {100 * r.size:.1f} % ± {100 * r.mc_error:.1f} | {r.tables} |"
        for r in table.itertuples()
    ]


def main(tables: int) -> None:
    """Simulate all designs and write the table."""
    rows: list[dict[str, object]] = []
    for design in designs():
        rows += sizes(design, tables if design.is_model else 3 * tables)
        table = pd.DataFrame(rows).round(4)
        table.to_csv(TABLE, index=False)
        print(page_lines(table)[-1], flush=True)
    print("\n".join(page_lines(table)))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
