"""How often tests of one cell of a table of judges by something are significant, where there is nothing but tastes.

python benchmarks/size_under_tastes.py --tables 200              # of each model; measures have twice as many
python benchmarks/size_under_tastes.py --tables 200 --measures   # these alone; rows of models stay

It writes docs/size_under_tastes.csv and prints its rows as docs/models.md has them.

Judges differ in what they like, at random and independently of what is tested: no judge favours its own on average, no
strategy moves the position bias of an average judge. A test at 5 % should be significant in 5 % of the tables. Power is
the share that is significant where each judge favours its own by 1, a point or a unit of log-odds.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import expit

import judgestats as js
from judgestats.models import position_bias_model, self_preference, strategy_effects

TABLE = Path(__file__).parents[1] / "docs" / "size_under_tastes.csv"
COLUMNS = ("of", "design", "asked", "tables", "size", "mc_error", "power")
LEVEL, FAVOUR = 0.05, 1.0


def crossed(*sizes: int) -> tuple[np.ndarray, ...]:
    """Codes of all combinations."""
    return tuple(c.ravel() for c in np.meshgrid(*map(np.arange, sizes), indexing="ij"))


def names(codes: np.ndarray) -> np.ndarray:
    """Names of judges that are systems."""
    return np.array([f"m{k}" for k in codes], dtype=object)


def ratings(seed: int, judges: int = 5, items: int = 15, taste: float = 0.3, own: float = 0.0) -> pd.DataFrame:
    """Scores by judges that are the systems, with a residual of sd 0.7; `own`: what each gives itself."""
    rng = np.random.default_rng(seed)
    judge, system, item = crossed(judges, judges, items)
    score = 5 + rng.normal(0, 0.5, items)[item] + rng.normal(0, 0.5, judges)[judge] + rng.normal(0, 0.5, judges)[system]
    score += (
        rng.normal(0, 0.5, (judges, items))[system, item] + taste * rng.normal(size=(judges, judges))[judge, system]
    )
    score += 0.7 * rng.normal(size=len(judge)) + own * (judge == system)
    return pd.DataFrame({"judge": names(judge), "system": names(system), "item": item.astype(str), "score": score})


def preferences(
    seed: int, judges: int = 5, items: int = 15, taste: float = 0.4, own: float = 0.0, again: int = 0
) -> pd.DataFrame:
    """Each pair of the judges' own responses, in one order, by every judge; `own`: log-odds that each gives itself.

    `again`: other answers under the same tastes.
    """
    rng = np.random.default_rng(seed)
    one, other = np.triu_indices(judges, 1)
    item, pair, judge = crossed(items, len(one), judges)
    turned = rng.random(len(item)) < 0.5
    first, second = np.where(turned, other[pair], one[pair]), np.where(turned, one[pair], other[pair])
    quality, worth = rng.normal(0, 0.5, judges), rng.normal(0, 0.5, (judges, items))
    liked = taste * rng.normal(size=(judges, judges)) + quality
    eta = 0.2 + rng.normal(0, 0.3, judges)[judge] + liked[judge, first] - liked[judge, second]
    eta += worth[first, item] - worth[second, item] + own * ((first == judge) * 1.0 - (second == judge))
    rng = np.random.default_rng([seed, again]) if again else rng
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


def family_bias(seed: int, judges: int, own: float = 0.0) -> dict[str, list[bool]]:
    """Bias of each judge for its own system, and what of it the other judges do not share."""
    families = {f"m{k}": f"f{k}" for k in range(judges)}
    rows = js.bias_score(preferences(seed, judges, own=own), family=families, cluster="item")
    return {f"{term}, each judge": excluded(rows[rows["term"] == term]) for term in ("bias", "self_excess")}


def bias_changes(seed: int) -> dict[str, list[bool]]:
    """Change of that bias by a strategy that moves nothing: other answers under the same tastes."""
    both = [preferences(seed, again=k).assign(strategy=name) for k, name in enumerate(("B0", "S1"))]
    calls = pd.concat(both, ignore_index=True)
    rows = js.bias_change(calls, baseline="B0", family={f"m{k}": f"f{k}" for k in range(5)}, cluster="item")
    return {"change, each judge": excluded(rows[(rows["term"] == "change") & rows["judge"].notna()])}


def deviations(seed: int, judges: int, own: float = 0.0) -> dict[str, list[bool]]:
    """Excess of each judge on its own system."""
    rows = js.consensus_deviation(ratings(seed, judges, own=own))
    return {"self_excess, each judge": excluded(rows[rows["term"] == "self_excess"])}


def deviations_from_people(seed: int, own: float = 0.0) -> dict[str, list[bool]]:
    """The same against people, who have tastes of their own and do not share those of the judges."""
    people = ratings(seed + 10**6).assign(judge=lambda t: "person " + t["judge"])
    rows = js.consensus_deviation(ratings(seed, own=own), people)
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
    favoured: Callable[[int], dict[str, list[bool]]] | None = None  # the same where judges favour their own

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
        *(Design("bias_score(family=)", f"preferences, {j} judges, tastes .4", partial(family_bias, judges=j),
                 partial(family_bias, judges=j, own=FAVOUR)) for j in (3, 4, 5, 8)),
        Design("bias_change(family=)", "preferences, 5 judges, tastes .4, the same under both", bias_changes),
        *(Design("consensus_deviation", f"scores, {j} judges, tastes .3", partial(deviations, judges=j),
                 partial(deviations, judges=j, own=FAVOUR)) for j in (3, 4, 5, 8)),
        Design("consensus_deviation", "scores, 5 judges, tastes .3, from people", deviations_from_people,
               partial(deviations_from_people, own=FAVOUR)),
        Design("blinding_effect", "scores, 5 judges, tastes .3, the same in both conditions", blinding),
    ]  # fmt: skip


def sizes(design: Design, tables: int) -> Iterator[dict[str, object]]:
    """Rows of a design: shares of significant results, with the Monte Carlo error of the tables."""
    answers = [design.ask(seed) for seed in range(tables)]
    favoured = [design.favoured(seed) for seed in range(tables // 2)] if design.favoured else []
    for question in answers[0]:
        shares = np.array([np.mean(a[question]) for a in answers])
        error = max(float(shares.std(ddof=1)), (LEVEL * (1 - LEVEL)) ** 0.5 / len(answers[0][question])) / tables**0.5
        power = np.mean([np.mean(a[question]) for a in favoured]) if favoured else np.nan
        cells = (design.of, design.name, question, tables, shares.mean(), error, power)
        yield dict(zip(COLUMNS, cells, strict=True))


def page_lines(table: pd.DataFrame) -> list[str]:
    """Rows of the table in docs/models.md."""
    return [
        f"| `{r.of}` | {r.design} | {r.asked} | {100 * r.size:.1f} % ± {100 * r.mc_error:.1f} | {r.tables} | "
        f"{'' if np.isnan(r.power) else f'{100 * r.power:.0f} %'} |".replace("|  |", "| |")
        for r in table.itertuples()
    ]


def main() -> None:
    """Simulate the designs and write the table."""
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--tables", type=int, default=200)
    options.add_argument("--measures", action="store_true")
    chosen = options.parse_args()
    rows: list[dict[str, object]] = []
    if chosen.measures:
        before = pd.read_csv(TABLE)
        rows = before[before["of"].isin({d.of for d in designs() if d.is_model})].to_dict("records")
    for design in designs():
        if design.is_model and chosen.measures:
            continue
        rows += sizes(design, chosen.tables if design.is_model else 2 * chosen.tables)
        table = pd.DataFrame(rows, columns=COLUMNS).round(4)
        table.to_csv(TABLE, index=False)
        print(page_lines(table)[-1], flush=True)
    print("\n".join(page_lines(table)))


if __name__ == "__main__":
    main()
