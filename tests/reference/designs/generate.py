"""Random designs for the mixed models: the same id gives the same table everywhere.

``design(id)`` returns the table and its row of the index; ``python generate.py FOLDER`` writes one CSV per table to
FOLDER for ``fit.R`` and the index ``designs.csv`` beside this file. Only uniform doubles are drawn from
``default_rng(seed)``, and every number is rounded, so that streams do not hang on a version of numpy; the index keeps
a checksum of each table, which the test compares.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import expit, ndtr, ndtri

CLASSES = ("balanced", "unbalanced", "crossed", "nested", "slopes", "near_singular", "rare", "ordinal")
PER_CLASS = 30
KINDS = [
    "logit", "probit", "cbind", "logit", "reml", "logit", "poisson", "cbind", "logit", "ml",
    "logit", "offset", "logit", "probit", "cbind", "logit", "reml", "logit", "cbind", "probit",
    "poisson", "logit", "ml", "logit", "probit", "cbind_probit", "logit", "reml", "offset", "logit",
]  # fmt: skip
RARE_KINDS = [{"reml": "logit", "ml": "logit", "cbind_probit": "probit"}.get(kind, kind) for kind in KINDS]
FAMILIES = {
    "logit": ("binomial", "logit", "correct"),
    "probit": ("binomial", "probit", "correct"),
    "cbind": ("binomial", "logit", "cbind(wins, calls - wins)"),
    "cbind_probit": ("binomial", "probit", "cbind(wins, calls - wins)"),
    "poisson": ("poisson", "log", "count"),
    "offset": ("poisson", "log", "count"),
    "ml": ("gaussian", "identity", "score"),
    "reml": ("gaussian", "identity", "score"),
    "ordinal": ("cumulative", "logit", "score"),
    "ordinal_probit": ("cumulative", "probit", "score"),
}
FIXED = ("strategy", "x * strategy", "strategy + x", "1", "x", "strategy + x + length")


class Draws:
    """Draws that use nothing but uniform doubles."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)

    def uniform(self, *shape: int) -> np.ndarray:
        return self._rng.random(shape)

    def between(self, low: float, high: float) -> float:
        return round(low + (high - low) * float(self._rng.random()), 2)

    def whole(self, low: int, high: int) -> int:
        return low + int(self._rng.random() * (high - low + 1))

    def normal(self, *shape: int) -> np.ndarray:
        return ndtri(self._rng.random(shape))

    def poisson(self, mean: np.ndarray) -> np.ndarray:
        u = self._rng.random(mean.shape)
        count, mass = np.zeros(mean.shape, dtype=int), np.exp(-mean)
        below = mass.copy()
        for _ in range(10_000):
            more = u > below
            if not more.any():
                break
            count[more] += 1
            mass[more] *= (mean / np.maximum(count, 1))[more]
            below[more] += mass[more]
        return count


@dataclass(frozen=True)
class Term:
    """A random term: the columns that make its groups, its covariates and their standard deviations."""

    text: str
    groups: tuple[str, ...]
    sds: tuple[float, ...]
    covariates: tuple[str, ...] = ("1",)
    correlation: float = 0.0


@dataclass(frozen=True)
class Plan:
    """What one design is drawn from."""

    kind: str
    fixed: str
    random: str
    terms: tuple[Term, ...]
    judges: int
    items: int
    strategies: int
    runs: int = 1
    prompts: int = 0
    keep: float = 1.0
    skewed: bool = False
    covariate: str = "call"  # x varies by call, is binary, or is constant within an item
    base: float = 0.0
    nested: str = ""  # item labels "reused" by each judge or "unique"
    cut: tuple[float, ...] = ()
    labels: tuple[str, ...] = ()
    thresholds: str = ""
    extra: dict[str, str] = field(default_factory=dict)


def _labels(prefix: str, codes: np.ndarray) -> np.ndarray:
    width = len(str(int(codes.max()) + 1))
    names = [f"{prefix}{code + 1:0{width}d}" for code in range(int(codes.max()) + 1)]
    return np.array(names, dtype=object)[codes]


def _layout(plan: Plan, draws: Draws) -> pd.DataFrame:
    """Calls as integer codes: the grid, thinned and shuffled as the plan says."""
    grid = np.indices((plan.judges, plan.items, plan.strategies, plan.runs)).reshape(4, -1)
    if plan.skewed:  # each item, judge and strategy keeps a share of its own
        share = 1.0
        for codes, levels in zip(grid[:3], (plan.judges, plan.items, plan.strategies), strict=True):
            share = share * (0.15 + 0.85 * draws.uniform(levels))[codes]
        kept = draws.uniform(grid.shape[1]) < share / share.mean() * plan.keep
    elif plan.keep < 1:
        kept = draws.uniform(grid.shape[1]) < plan.keep
    else:
        kept = np.ones(grid.shape[1], dtype=bool)
    judge, item, strategy, run = grid[:, kept]
    codes = pd.DataFrame({"judge": judge, "item": item, "strategy": strategy, "run": run})
    if plan.prompts:
        codes["prompt"] = (draws.uniform(len(codes)) * plan.prompts).astype(int)
    order = np.argsort(draws.uniform(len(codes)), kind="stable")
    return codes.iloc[order].reset_index(drop=True)


def _columns(plan: Plan, codes: pd.DataFrame, draws: Draws) -> pd.DataFrame:
    item = codes["item"].to_numpy()
    if plan.nested == "unique":
        item = item + plan.items * codes["judge"].to_numpy()
    table = pd.DataFrame({"judge": _labels("j", codes["judge"].to_numpy()), "item": _labels("i", item)})
    table["strategy"] = np.array(list("abcdef"), dtype=object)[codes["strategy"]]
    if "prompt" in codes:
        table["prompt"] = _labels("p", codes["prompt"].to_numpy())
    x = draws.normal(len(codes))
    if plan.covariate == "binary":
        x = ((codes["run"] + codes["item"] + codes["judge"]) % 2).to_numpy(dtype=float)
    elif plan.covariate == "item":
        x = draws.normal(plan.items)[codes["item"]]
    table["x"] = np.round(x, 3)
    if "length" in plan.fixed or "length" in plan.random:
        table["length"] = np.round(0.6 * draws.normal(len(codes)), 2)
    if plan.kind.startswith("cbind") or plan.kind == "offset":
        table["calls"] = 1 + (draws.uniform(len(codes)) * 12).astype(int)
    if plan.kind == "offset":
        table["log_calls"] = np.round(np.log(table["calls"]), 6)
    if "call" in plan.random:
        table["call"] = _labels("c", np.arange(len(codes)))
    return table


def _predictor(plan: Plan, table: pd.DataFrame, draws: Draws) -> np.ndarray:
    """Linear predictor at drawn effects of strategy, x, and the random terms."""
    values = {"1": np.ones(len(table)), "x": table["x"].to_numpy()}
    values["treated"] = (table["strategy"] == "b").to_numpy(dtype=float)
    eta = np.full(len(table), plan.base)
    strategy = np.unique(table["strategy"].to_numpy(), return_inverse=True)[1]
    scale = 0.6 if plan.kind.endswith("probit") or plan.kind in ("poisson", "offset") else 1.0
    if "strategy" in plan.fixed:
        eta += (scale * np.r_[0.0, 0.6 * draws.normal(5)])[strategy]
    if "x" in plan.fixed.split():
        eta += scale * 0.4 * draws.normal(1) * values["x"]
    if "*" in plan.fixed:
        eta += (scale * np.r_[0.0, 0.3 * draws.normal(5)])[strategy] * values["x"]
    if "length" in table:
        values["length"] = table["length"].to_numpy()
        eta += scale * 0.3 * draws.normal(1) * values["length"]
    if "log_calls" in table:
        eta += table["log_calls"].to_numpy()
    for term in plan.terms:
        group = np.zeros(len(table), dtype=int)
        for column in term.groups:
            names, codes = np.unique(table[column].to_numpy(), return_inverse=True)
            group = np.unique(group * len(names) + codes, return_inverse=True)[1]
        z = draws.normal(group.max() + 1, len(term.sds))
        if len(term.sds) > 1 and term.correlation:
            z[:, 1] = term.correlation * z[:, 0] + np.sqrt(1 - term.correlation**2) * z[:, 1]
        for column, (covariate, sd) in enumerate(zip(term.covariates, term.sds, strict=True)):
            eta += sd * z[group, column] * values[covariate]
    return eta


def _respond(plan: Plan, table: pd.DataFrame, eta: np.ndarray, draws: Draws) -> None:
    """Add the response columns to the table."""
    inverse = ndtr if plan.kind.endswith("probit") else expit
    if plan.kind in ("logit", "probit"):
        table["correct"] = (draws.uniform(len(eta)) < inverse(eta)).astype(int)
    elif plan.kind.startswith("cbind"):
        hits = draws.uniform(len(eta), 12) < inverse(eta)[:, None]
        table["wins"] = (hits & (np.arange(12) < table["calls"].to_numpy()[:, None])).sum(axis=1)
    elif plan.kind in ("poisson", "offset"):
        table["count"] = draws.poisson(np.exp(eta))
    elif plan.kind in ("ml", "reml"):
        table["score"] = np.round(5 + eta + 0.8 * draws.normal(len(eta)), 4)
    else:
        below = inverse(np.asarray(plan.cut)[None, :] - eta[:, None])
        rank = (draws.uniform(len(eta))[:, None] > below).sum(axis=1)
        if plan.labels:
            table["verdict"] = np.array(plan.labels, dtype=object)[rank]
        else:
            table["score"] = rank + 1


def _usable(plan: Plan, table: pd.DataFrame) -> bool:
    """No strategy without successes or failures, no empty category, no group factor of one level."""
    if table["item"].nunique() < 2 or ("judge" in plan.random and table["judge"].nunique() < 2):
        return False
    if table["strategy"].nunique() < plan.strategies:
        return False
    if plan.cut:
        shown = table["verdict" if plan.labels else "score"].value_counts()
        return len(shown) == len(plan.cut) + 1 and shown.min() >= 4
    by = table["strategy"] if "strategy" in plan.fixed + plan.random else np.zeros(len(table))
    if "correct" in table:
        tally = table.groupby(by)["correct"].agg(["sum", "size"])
        return bool((tally["sum"] >= 4).all() and (tally["size"] - tally["sum"] >= 4).all())
    if "wins" in table:
        tally = table.groupby(by)[["wins", "calls"]].sum()
        return bool((tally["wins"] >= 4).all() and (tally["calls"] - tally["wins"] >= 4).all())
    return "count" not in table or bool((table.groupby(by)["count"].sum() >= 4).all())


def _one(group: str, sd: float) -> Term:
    return Term(f"(1|{group})", tuple(group.split(":")), (sd,))


def _scalar(k: int, kind: str, draws: Draws) -> Plan:
    """One scalar intercept, over items or over judges; counts may have an effect of each call."""
    group = "judge" if k % 4 == 3 else "item"
    term = _one(group, draws.between(0.4, 1.4))
    text, terms = term.text, (term,)
    if kind == "poisson":
        text, terms = f"{text} + (1|call)", (term, _one("call", draws.between(0.3, 0.6)))
    return Plan(
        kind=kind, fixed=FIXED[k % 6], random=text, terms=terms,
        judges=draws.whole(12, 24) if group == "judge" else draws.whole(2, 5),
        items=draws.whole(8, 20) if group == "judge" else draws.whole(20, 70),
        strategies=draws.whole(2, 4), runs=1 + k % 2,
        covariate=("call", "binary", "item")[k % 3] if group == "item" else "binary",
        base=draws.between(-0.8, 1.2),
    )  # fmt: skip


def _unbalanced(k: int, kind: str, draws: Draws) -> Plan:
    plan = _scalar(k + 1, kind, draws)
    return replace(plan, skewed=True, keep=draws.between(0.3, 0.7), runs=2 + k % 2)


def _crossed(k: int, kind: str, draws: Draws) -> Plan:
    terms = [_one("item", draws.between(0.5, 1.4)), _one("judge", draws.between(0.3, 1.0))]
    if k % 3 == 2:
        terms.append(_one("prompt", draws.between(0.3, 0.8)))
    if kind in ("poisson", "offset"):
        terms.append(_one("call", draws.between(0.3, 0.6)))
    if k % 2:
        terms[0], terms[1] = terms[1], terms[0]
    return Plan(
        kind=kind, fixed=FIXED[(k + 1) % 6], random=" + ".join(term.text for term in terms), terms=tuple(terms),
        judges=draws.whole(6, 16), items=draws.whole(20, 60), strategies=draws.whole(2, 4),
        prompts=draws.whole(8, 12) if k % 3 == 2 else 0, keep=(1.0, 0.5, 0.25)[k % 3], skewed=k % 6 == 5,
        covariate=("binary", "call", "item")[k % 3], base=draws.between(-0.8, 1.2),
    )  # fmt: skip


def _nested(k: int, kind: str, draws: Draws) -> Plan:
    terms = (_one("judge", draws.between(0.4, 1.0)), _one("judge:item", draws.between(0.4, 1.2)))
    return Plan(
        kind=kind, fixed=FIXED[(k + 2) % 6], random="(1|judge/item)", terms=terms,
        judges=draws.whole(8, 20), items=draws.whole(4, 12), strategies=draws.whole(2, 4), runs=2 + k % 3,
        keep=(1.0, 0.7)[k % 2], skewed=k % 4 == 3, covariate=("call", "binary")[k % 2],
        nested=("reused", "unique")[k // 2 % 2], base=draws.between(-0.8, 1.2),
    )  # fmt: skip


def _slopes(k: int, kind: str, draws: Draws) -> Plan:
    form, sds = k % 6, (draws.between(0.5, 1.2), draws.between(0.4, 0.9))
    correlation = draws.between(-0.6, 0.6)
    both, judge = ("1", "x"), _one("judge", draws.between(0.3, 0.8))
    fixed = "strategy" if form == 4 else ("x", "x * strategy", "strategy + x")[k % 3]
    term = {
        0: Term("(x|item)", ("item",), sds, both, correlation),
        1: Term("(0 + x|item)", ("item",), sds[1:], ("x",)),
        2: Term("(x||item)", ("item",), sds, both),
        3: Term("(x|item) + (1|judge)", ("item",), sds, both, correlation),
        4: Term("(strategy|item)", ("item",), sds, ("1", "treated"), correlation),
        5: Term("(1|item) + (0 + x|item) + (1|judge)", ("item",), sds, both),
    }[form]
    if k in (6, 18):
        term = Term("(x + length|item)", ("item",), (*sds, 0.5), ("1", "x", "length"), correlation)
        fixed = "x + length"
    return Plan(
        kind=kind, fixed=fixed,
        random=term.text, terms=(term, judge) if "judge" in term.text else (term,),
        judges=draws.whole(4, 8), items=draws.whole(20, 50), strategies=2 if form == 4 else draws.whole(2, 3),
        runs=2, keep=(1.0, 0.7)[k % 2], covariate=("call", "binary")[k // 6 % 2], base=draws.between(-0.5, 1.0),
    )  # fmt: skip


def _near_singular(k: int, kind: str, draws: Draws) -> Plan:
    form, both = k % 5, ("1", "x")
    item = _one("item", draws.between(0.5, 1.0))
    sign = -1 if k % 2 else 1
    text, terms = {
        0: ("(1|item)", (_one("item", (0.0, 0.08)[k % 2]),)),
        1: ("(1|item) + (1|judge)", (item, _one("judge", (0.0, 0.05)[k % 2]))),
        2: ("(x|item)", (Term("", ("item",), (0.8, 0.5), both, sign * 0.99),)),
        3: ("(x|item)", (Term("", ("item",), (0.8, 0.02), both, sign * 0.3),)),
        4: ("(1|judge/item)", (_one("judge", 0.04), _one("judge:item", 0.7))),
    }[form]
    return Plan(
        kind=kind, fixed=FIXED[k % 3], random=text, terms=terms,
        judges=draws.whole(4, 8), items=draws.whole(15, 45), strategies=draws.whole(2, 3), runs=1 + k % 2,
        nested="reused" if form == 4 else "", base=draws.between(-0.5, 1.0),
    )  # fmt: skip


def _rare(k: int, kind: str, draws: Draws) -> Plan:
    item, judge = _one("item", draws.between(0.6, 1.3)), _one("judge", draws.between(0.3, 0.8))
    terms = (item,) if k % 3 == 0 else (item, judge)
    share = 0.01 + 0.01 * (k % 5)
    base = float(ndtri(share)) * 1.3 if kind == "probit" else float(np.log(share)) - 0.3
    return Plan(
        kind=kind, fixed=("strategy", "strategy + x", "1", "x")[k % 4], random=" + ".join(t.text for t in terms),
        terms=terms if kind != "probit" else tuple(replace(t, sds=(t.sds[0] * 0.6,)) for t in terms),
        judges=draws.whole(6, 10), items=draws.whole(40, 80), strategies=draws.whole(2, 3), runs=1 + k % 2,
        covariate=("call", "binary")[k % 2], base=round(base, 3),
    )  # fmt: skip


def _ordinal(k: int, _: str, draws: Draws) -> Plan:
    link = k % 2
    categories = 3 + k % 8
    item, judge = _one("item", draws.between(0.5, 1.4)), _one("judge", draws.between(0.4, 0.9))
    if k in (9, 19, 27):
        item = _one("item", 0.0)
    terms = ((item,), (item, judge), (item,), (judge,), (judge, item))[k % 5]
    quantiles = np.arange(1, categories) / categories
    skew = 0.0 if k % 3 == 2 else draws.between(-0.8, 0.8)
    cut = np.round((1.3 if not link else 0.9) * np.log(quantiles / (1 - quantiles)) + skew, 3)
    labels = ("loses", "tie", "wins") if categories == 3 and k < 20 else ()
    return Plan(
        kind="ordinal_probit" if link else "ordinal", fixed=FIXED[(0, 1, 2, 4)[k % 4]],
        random=" + ".join(t.text for t in terms), terms=terms,
        judges=draws.whole(10, 14) if judge in terms else draws.whole(2, 4), items=draws.whole(15, 30),
        strategies=draws.whole(2, 3), runs=3 if len(terms) == 1 else 1, keep=(1.0, 0.6)[k % 2],
        covariate=("call", "binary", "item")[k % 3],
        cut=tuple(map(float, cut)), labels=labels, thresholds="symmetric" if k % 3 == 2 else "free",
    )  # fmt: skip


PLANNERS = {
    "balanced": _scalar, "unbalanced": _unbalanced, "crossed": _crossed, "nested": _nested,
    "slopes": _slopes, "near_singular": _near_singular, "rare": _rare, "ordinal": _ordinal,
}  # fmt: skip


def ids() -> Iterator[str]:
    """Every id of the index, in its order; `-q9` marks nine quadrature points."""
    for name in CLASSES:
        for k in range(PER_CLASS):
            yield (id := f"{name}-{k + 1:02d}")
            plan = _plan(id)[0]
            scalar = len(plan.terms) == 1 and len(plan.terms[0].sds) == 1
            counted = plan.kind in ("logit", "cbind", "offset", "poisson") and k % 2 == 1
            # lme4 weighs probit by the expected information: its quadrature is not comparable there
            if scalar and (counted or (plan.cut and k % 4 < 2)):
                yield f"{id}-q9"


def _plan(id: str) -> tuple[Plan, int, Draws]:
    name, number = id.removesuffix("-q9").rsplit("-", 1)
    k, seed = int(number) - 1, 1000 * (1 + CLASSES.index(name)) + int(number)
    draws = Draws(seed)
    return PLANNERS[name](k, (RARE_KINDS if name == "rare" else KINDS)[k], draws), seed, draws


def _row(id: str, plan: Plan, seed: int, table: pd.DataFrame) -> dict[str, object]:
    family, link, response = FAMILIES[plan.kind]
    response = "verdict" if plan.labels else response
    offset = " + offset(log_calls)" if plan.kind == "offset" else ""
    truth = "; ".join(
        f"{':'.join(t.groups)} sd {' '.join(f'{sd:g}' for sd in t.sds)}"
        + (f" cor {t.correlation:g}" if t.correlation else "")
        for t in plan.terms
    )
    text = table.to_csv(index=False, lineterminator="\n")
    return {
        "id": id, "class": id.split("-")[0], "seed": seed, "formula": f"{response} ~ {plan.fixed}{offset} + {plan.random}",
        "family": family, "link": link, "thresholds": plan.thresholds, "reml": plan.kind == "reml",
        "n_quadrature": 9 if id.endswith("-q9") else 1, "n_rows": len(table),
        "checksum": f"{zlib.crc32(text.encode()):08x}", "note": f"true {truth}; x by {plan.covariate}",
    }  # fmt: skip


def design(id: str) -> tuple[pd.DataFrame, dict[str, object]]:
    """Return the table of a design and its row of the index."""
    plan, seed, draws = _plan(id)
    for _ in range(200):
        table = _columns(plan, _layout(plan, draws), draws)
        _respond(plan, table, _predictor(plan, table, draws), draws)
        if _usable(plan, table):
            return table, _row(id, plan, seed, table)
    raise RuntimeError(f"{id}: no usable table in 200 draws")


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for id in ids():
        table, row = design(id)
        table.to_csv(folder / f"{id}.csv", index=False, lineterminator="\n")
        rows.append(row)
    pd.DataFrame(rows).to_csv(Path(__file__).with_name("designs.csv"), index=False, lineterminator="\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
