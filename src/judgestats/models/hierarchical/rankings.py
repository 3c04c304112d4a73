"""Effects of strategies on each judge, the best one and its probability, and the power of tests: :func:`strategies`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, get_args

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame
from numpy.typing import NDArray
from scipy.special import expit, gammaln, ndtr, ndtri

from judgestats import flags
from judgestats.counting.patterns import CHANGED, InvalidVerdict, TiesOfVerdicts
from judgestats.counting.tallies import refuse_further
from judgestats.defaults import CONF_LEVEL
from judgestats.errors import DesignError, SchemaError, choose, confidence, suggestion
from judgestats.models.bayes.draws import Draws, Sampling, beside, likely, pymc, sample_each, sampling_options
from judgestats.models.bias_models.calls import joined, scored
from judgestats.models.coding.model_frames import columns
from judgestats.models.coding.row_counts import first_row
from judgestats.models.hierarchical.leanings import chance
from judgestats.models.hierarchical.posteriors import (
    Posterior,
    conflicts,
    convergence,
    finding,
    predictive,
    prior_table,
    row,
    scales,
    tabled,
    with_tops,
)
from judgestats.schema.columns import COUNTS, By, N, names
from judgestats.typing import Floats, Ints, Mask

# ---- Correct calls of each judge under each strategy: from calls, tallies and printed tables -------------------------


#: Columns of a printed table, in addition to n.
PRINTED = ("k", "baseline_only", "strategy_only")


@dataclass(frozen=True, eq=False)
class Arms:
    """Correct calls of each judge under each strategy, the baseline first."""

    judges: tuple[str, ...]
    strategies: tuple[str, ...]
    n: Floats  # (J, S): calls, or pairs scored together with the baseline; NaN if the judge was not asked
    k: Floats  # (J, S): correct calls; NaN if not known
    b: Floats  # b, c (J, S): items correct only under the baseline, and only under the strategy; NaN if not known
    c: Floats
    # (P, S): with items, patterns of correct answers (1, 0, NaN if not judged); `owner` (P,) is the judge
    answers: Floats | None = None
    owner: Ints | None = None
    count: Floats | None = None  # (P,): items with each pattern
    law: str = "independent"  # assumed joint distribution
    excluded: dict[str, str] = field(default_factory=dict)  # judge -> flag of excluded calls

    @property
    def there(self) -> Mask:
        """Strategies under which each judge was asked, (J, S); always true for the baseline."""
        found: Mask = np.isfinite(self.n)
        found[:, 0] = True
        return found

    @property
    def partial(self) -> bool:
        """Whether some judges lack comparisons that others have."""
        known = np.isfinite(self.b)[:, 1:]
        return bool(not self.there.all() or (known.any() and not known.all()))

    @property
    def shared(self) -> Floats:
        """Correct baseline calls among the pairs of each comparison, or the expected number."""
        with np.errstate(invalid="ignore", divide="ignore"):
            expected = np.round(self.k[:, :1] * self.n / self.n[:, :1])
        exact = self.k - self.c + self.b
        result: Floats = np.where(np.isfinite(exact) & np.isfinite(expected), exact, expected)
        return result


def read(data: Any, baseline: str, judge: str, strategy: str, item: By, ties: str, invalid: str) -> Arms:
    """Counts from calls, a tally or a printed table; arguments as in :func:`strategies`."""
    present = columns(data)
    for name in (judge, strategy):
        if name not in present:
            raise SchemaError(f"There is no column {name!r}. Columns: {', '.join(present)}.{suggestion(name, present)}")
    if {"baseline", "outcome", "n"} <= {*present}:
        refuse_further(present, "compare_strategies", [judge, strategy])
        return _of_changes(data, baseline, judge, strategy, ties, invalid)
    if {*PRINTED, "b", "c"} & {*present} and not {*names(item)} & {*present}:
        return _of_print(data, baseline, judge, strategy)
    if "n" in present and not {"correct", "outcome", "gold"} & {*present}:
        raise SchemaError(
            "The table has the calls 'n' and no count of correct ones. Give 'k' (correct calls), or 'baseline_only' "
            "and 'strategy_only' (discordant pairs); if you have a share, k is the share times n, rounded to a whole "
            f"number. Columns: {', '.join(present)}."
        )
    items = [] if {N, COUNTS} & {*present} and not {*names(item)} & {*present} else names(item)
    found = scored(data, "correct", [judge, strategy, *items], judge, "strategies", ties, invalid)
    table = found.table.assign(_judge=joined(found.table, [judge]), _strategy=joined(found.table, [strategy]))
    excluded = {j: found.flag(j) for j in sorted({*table["_judge"]})}
    return replace(_of_calls(table, baseline, items), excluded=excluded)


def _levels(table: pd.DataFrame, baseline: str, *, add: bool = False) -> tuple[tuple[str, ...], tuple[str, ...]]:
    judges, known = tuple(sorted({*table["_judge"]})), sorted({*table["_strategy"]})
    if baseline not in known and not add:
        raise DesignError(f"baseline={baseline!r} is not a strategy. Strategies: {', '.join(known)}.")
    others = [s for s in known if s != baseline]
    if not others:
        raise DesignError(f"{baseline!r} is the only strategy. Add the calls of at least one other strategy.")
    return judges, (baseline, *others)


def _of_calls(table: pd.DataFrame, baseline: str, items: list[str]) -> Arms:
    judges, kinds = _levels(table, baseline)
    at = (pd.Categorical(table["_judge"], judges).codes, pd.Categorical(table["_strategy"], kinds).codes)
    n, k = np.zeros((2, len(judges), len(kinds)))
    weight = table["n"].to_numpy(dtype=float)
    np.add.at(n, at, weight)
    np.add.at(k, at, weight * table["correct"].to_numpy(dtype=float))
    n, k, none = np.where(n > 0, n, np.nan), np.where(n > 0, k, np.nan), np.full(n.shape, np.nan)
    _refuse(n, k, none, none, judges, kinds)
    if not items:
        return Arms(judges, kinds, n, k, none, none)
    if (weight != 1).any() or table.duplicated([*items, "_judge", "_strategy"]).any():
        raise DesignError("An item was judged twice by one judge under one strategy. aggregate() it to one verdict.")
    wide = table.pivot_table(index=["_judge", *items], columns="_strategy", values="correct")[list(kinds)]
    owner = pd.Categorical(wide.index.get_level_values(0), judges).codes
    found = pd.DataFrame(wide.to_numpy(dtype=float)).assign(owner=owner)
    found = found.groupby([*found.columns], dropna=False).size().reset_index(name="count")
    patterns, counts = found[[*range(len(kinds))]].to_numpy(dtype=float), found["count"].to_numpy(dtype=float)
    owners = found["owner"].to_numpy(dtype=np.int64)
    _, _, b, c = crossed(patterns, owners, counts, len(judges))
    return Arms(judges, kinds, n, k, b, c, patterns, owners, counts)


def crossed(answers: Floats, owner: Ints, count: Floats, judges: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Pairs with the baseline; those correct under each strategy, only under the baseline, only under the strategy."""
    base = answers[:, :1]
    both = np.isfinite(answers) & np.isfinite(base)
    parts = (both, answers == 1, (base == 1) & (answers == 0), (base == 0) & (answers == 1))
    made = np.zeros((4, judges, answers.shape[1]))
    for grid, mark in zip(made, parts, strict=True):
        np.add.at(grid, owner, count[:, None] * (mark & both))
    made[:, made[0] == 0] = np.nan
    made[2:, :, 0] = np.nan
    return made[0], made[1], made[2], made[3]


def paired(arms: Arms) -> Arms:
    """The same data as pairs with the baseline, without items."""
    if arms.answers is None or arms.owner is None or arms.count is None:
        return arms
    n, k, b, c = crossed(arms.answers, arms.owner, arms.count, len(arms.judges))
    return replace(arms, n=n, k=k, b=b, c=c, answers=None, owner=None, count=None)


def _of_changes(data: Any, baseline: str, judge: str, strategy: str, ties: str, invalid: str) -> Arms:
    choose(ties, get_args(TiesOfVerdicts), "ties")
    choose(invalid, get_args(InvalidVerdict), "invalid")
    table = nw.from_native(data).lazy().collect(backend="pandas").to_native()
    answers = table[["baseline", "outcome"]].astype(str).to_numpy(dtype=object)
    if unknown := sorted({*answers.ravel()} - {*CHANGED}):
        raise SchemaError(f"'baseline' or 'outcome' has {unknown[0]!r}. Allowed: {', '.join(CHANGED)}.")
    out = {"missing", *(["invalid"] if invalid == "drop" else []), *(["tie"] if ties == "drop" else [])}
    kept = ~np.isin(answers, list(out)).any(axis=1)
    right = answers == "correct"
    calls = _numbers(table["n"], "n", table[[judge, strategy]])
    weight = np.where(kept, calls, 0.0)
    if not np.isfinite(weight).all():
        raise SchemaError("'n' is missing in a row. Give the number of pairs.")
    pairs = _numbers(table["pairs"], "pairs", table[[judge, strategy]]) if "pairs" in table else np.nan
    parts = {"all": kept, "base": right[:, 0], "own": right[:, 1], "b": right[:, 0] & ~right[:, 1]}
    made = table[[judge, strategy]].assign(**{k: weight * v for k, v in parts.items()}, pairs=pairs)
    made = made.groupby([judge, strategy]).agg({**dict.fromkeys(parts, "sum"), "pairs": "max"}).reset_index()
    b, c = made["b"], made["own"] - made["base"] + made["b"]
    whole = (made["all"] > b + c) | made["pairs"].isna()
    if (made["all"] == b + c).all() and made["pairs"].isna().any():
        raise SchemaError("The table has discordant pairs only. Give the number of all pairs in a column 'pairs'.")
    wide = pd.DataFrame(
        {
            judge: made[judge], strategy: made[strategy], "n": made["all"].where(whole, made["pairs"]),
            "k": made["own"].where(whole), "baseline_only": b, "strategy_only": c, "_base": made["base"].where(whole),
        }
    )  # fmt: skip
    found = _of_print(wide, baseline, judge, strategy, add=True)
    same = wide.groupby(judge).agg({"n": ["nunique", "first"], "_base": ["nunique", "first"]})
    for j, name in enumerate(found.judges):  # the baseline's own count, where all comparisons have the same pairs
        r = same.loc[next(i for i in same.index if str(i) == name)]
        if r["n", "nunique"] == 1 and r["_base", "nunique"] == 1:
            found.n[j, 0], found.k[j, 0] = r["n", "first"], r["_base", "first"]
    lost = table.assign(_lost=np.where(kept, 0.0, calls)).groupby(judge)["_lost"].sum()
    return replace(found, excluded={str(j): flags.EXCLUDED.of(v, what="pair(s)") for j, v in lost.items()})


def _of_print(data: Any, baseline: str, judge: str, strategy: str, *, add: bool = False) -> Arms:
    table = nw.from_native(data).lazy().collect(backend="pandas").to_native()
    table = table.rename(columns={"b": PRINTED[1], "c": PRINTED[2]})
    if "n" not in table:
        raise SchemaError("The table has no column 'n'. Give the number of calls, or of pairs, in each row.")
    table = table.assign(_judge=joined(table, [judge]), _strategy=joined(table, [strategy]))
    if table.duplicated(["_judge", "_strategy"]).any():
        raise SchemaError("A judge and a strategy have two rows. Give one row for each.")
    judges, kinds = _levels(table, baseline, add=add or "k" not in table)
    at = (pd.Categorical(table["_judge"], judges).codes, pd.Categorical(table["_strategy"], kinds).codes)
    grids = []
    for name in ("n", *PRINTED):
        grid = np.full((len(judges), len(kinds)), np.nan)
        grid[at] = _numbers(table[name], name, table[[judge, strategy]]) if name in table else np.nan
        grids.append(grid)
    n, k, b, c = grids
    _refuse(n, k, b, c, judges, kinds)
    return Arms(judges, kinds, n, k, b, c)


def _numbers(values: pd.Series[Any], name: str, keys: pd.DataFrame) -> Floats:
    """A column of counts, NaN where missing; `keys` identify the row in messages."""
    found: Floats = pd.to_numeric(values, errors="coerce").to_numpy(dtype=float)
    wrong = values.notna().to_numpy() & ~((found >= 0) & (found == np.round(found)))
    if wrong.any():
        row = first_row(keys.assign(**{name: values.to_numpy(dtype=object)}), wrong)
        raise SchemaError(
            f"{name!r} is not a count in {wrong.sum():,} of {len(wrong):,} rows (first: {row}). Give whole "
            "numbers, 0 or more; leave the cell empty where a count is not known."
        )
    return found


def _refuse(n: Floats, k: Floats, b: Floats, c: Floats, judges: tuple[str, ...], kinds: tuple[str, ...]) -> None:
    """Raise if counts contradict each other, or are missing."""
    known = np.isfinite(k) | (np.isfinite(b) & np.isfinite(c))
    inconsistent = k[:, :1] - b + c != k
    inconsistent &= np.isfinite(k[:, :1] - b + c + k) & (n == n[:, :1])
    for bad, words in (
        (known & (n == 0), "has n = 0: leave the row out"),
        (known & ~(n >= 0), "has counts and no 'n'"), (k > n, "has more correct calls than calls"),
        (b + c > n, "has more discordant pairs than pairs"), (np.isfinite(b) != np.isfinite(c), "has b without c"),
        (np.isfinite(n) & ~known & (np.arange(n.shape[1]) > 0), "has 'n' and no counts"),
        (inconsistent, "has k, b and c that contradict k of the baseline"),
    ):  # fmt: skip
        if bad.any():
            j, s = np.argwhere(bad)[0]
            raise SchemaError(f"{judges[j]}, {kinds[s]} {words}. Correct the table.")
    lone = ~np.isfinite(n[:, 1:]).any(axis=1) | (~np.isfinite(k[:, 0]) & ~np.isfinite(b[:, 1:]).any(axis=1))
    if lone.any():
        raise DesignError(f"{judges[int(np.argmax(lone))]} has no comparison with the baseline. Leave it out.")


# ---- The joint distribution of correct calls under several strategies: model, likelihood, simulation -----------------

#: Scales of the priors, on the log-odds scale.
PRIORS = {
    "baseline": 1.5,
    "effect": 0.5,
    "sd_effect": 0.5,
    "association": 1.5,
    "sd_association": 1.0,
    "link": 1.0,
    "sd_link": 0.5,
}
#: Prior means other than 0.
CENTRES = {"association": 3.0, "link": -0.5}
#: Joint distributions with a fixed log odds ratio; 10 and -10 approximate the extremes.
FIXED = {"independent": 0.0, "extreme positive": 10.0, "extreme negative": -10.0}
#: Log weight of an impossible table, and the smallest probability in a logarithm.
NEVER, TINY = -1e9, 1e-12
#: Difference between consecutive two-by-two tables with the same margins.
STEP = (-1.0, 1.0, 1.0, -1.0)
_nodes, _weights = np.polynomial.legendre.leggauss(48)
#: Quadrature over quantiles of the item effect.
NODES, WEIGHTS = (_nodes + 1) / 2, _weights / 2


def observed(arms: Arms) -> dict[str, NDArray[Any]]:
    """Data of the model, by name."""
    if arms.law == "items" and arms.answers is not None and arms.owner is not None and arms.count is not None:
        sign = np.where(np.isnan(arms.answers), 0.0, 2 * arms.answers - 1)
        return {"sign": sign, "owner": arms.owner, "count": arms.count}
    single = np.isfinite(arms.k)
    if arms.law != "independent":
        single &= (np.arange(arms.k.shape[1]) == 0) | ~np.isfinite(arms.k[:, :1])
        single &= ~np.isfinite(arms.b)
    k, n = (np.where(single, a, 0.0) for a in (arms.k, arms.n))
    tables = _tables(arms)
    if arms.law == "discordant":
        return {"k": k, "n": n, **tables}
    start = tables["start"] * (arms.law != "independent")
    return {"k": k, "n": n, "start": start, "given": tables["given"], "odds": np.array(FIXED[arms.law])}


def _tables(arms: Arms) -> dict[str, Floats]:
    """The first two-by-two table consistent with each comparison, and log weights of it and of the following tables.

    ``start`` is (J, S - 1, 4): correct under both, only under the baseline, only under the strategy, under neither;
    each following table has one less, one more, one more, one less. If the baseline is not known (`given` is 0), the
    first column has all concordant pairs, and the last is 0.
    """
    n, k, b, c, base = (a[:, 1:] for a in (arms.n, arms.k, arms.b, arms.c, arms.shared))
    paired, given = np.isfinite(b), np.isfinite(base)
    some = np.isfinite(n) & (given | paired)
    base = np.where(given & paired, np.clip(base, b, n - c), base)
    first = np.where(paired, b, np.maximum(base - k, 0))
    second = np.where(paired, c, k - base + first)
    start = np.stack([np.where(given, base, n - second) - first, first, second, n - base - second], axis=-1)
    start[..., 3] = np.where(given, start[..., 3], 0.0)
    start = np.where(some[..., None], start, 0.0)
    most = np.where(some & ~paired, np.minimum(start[..., 0], start[..., 3]), 0.0)
    step = np.arange(int(most.max(initial=0.0)) + 1)
    cells = start[..., None, :] + step[:, None] * np.array(STEP)
    weight = -gammaln(np.maximum(cells, 0) + 1).sum(axis=-1)
    weight = np.where(step <= most[..., None], weight, NEVER)
    return {"start": start, "weight": weight, "given": given.astype(float), "step": step.astype(float)}


def model(arms: Arms, priors: Mapping[str, float]) -> Any:
    """The PyMC model of the counts under their joint distribution."""
    pm = pymc()
    J, S = arms.n.shape
    with pm.Model() as made:
        given = {name: pm.Data(name, value) for name, value in observed(arms).items()}
        alpha = pm.Normal("baseline", 0, priors["baseline"], shape=J)[:, None]
        effect = pm.Normal("effect", 0, priors["effect"], shape=S - 1)
        beta = effect[None, :] + np.zeros((J, 1))
        if J > 1:
            spread = pm.HalfNormal("sd_effect", priors["sd_effect"], shape=S - 1)
            beta = beta + spread * pm.Normal("raw_effect", shape=(J, S - 1))
        logit = pm.Deterministic("logit", pm.math.concatenate([alpha, alpha + beta], axis=1))
        if arms.law == "items":
            likely(pm, _items_log_likelihood(pm, given, logit, _varying(pm, "link", -0.5, (J, S), priors)))
        else:
            soft = pm.math.log1pexp
            parts = [-(given["k"] * soft(-logit) + (given["n"] - given["k"]) * soft(logit)).sum()]
            odds = given.get("odds")
            if odds is None:
                odds = _varying(pm, "association", 3.0, (J, S - 1), priors)
                # all tables with the same margins, relative to the first; constant if the odds ratio is fixed
                weights = given["weight"] - pm.math.stack([odds], axis=-1) * given["step"]
                parts.append(pm.math.logsumexp(weights, axis=-1).sum())
            parts.append(_tables_log_likelihood(pm, given, pm.math.sigmoid(logit), pm.math.exp(odds)))
            likely(pm, sum(parts))
    return made


def _varying(pm: Any, name: str, centre: float, shape: tuple[int, int], priors: Mapping[str, float]) -> Any:
    """A parameter that varies over judges and strategies around a mean."""
    mean = pm.Normal(name, centre, priors[name])
    raw = pm.Normal(f"raw_{name}", shape=shape)
    return pm.Deterministic(f"each_{name}", mean + pm.HalfNormal(f"sd_{name}", priors[f"sd_{name}"]) * raw)


def _items_log_likelihood(pm: Any, given: Mapping[str, Any], logit: Any, link: Any) -> Any:
    """Log likelihood of the answer patterns, with item effects integrated out."""
    phi = pm.math.sigmoid(link)[:, :, None]
    shift = pm.math.log(pm.math.sin(phi * np.pi * NODES) / pm.math.sin(phi * np.pi * (1 - NODES)))
    at = (logit[:, :, None] + shift) / phi
    each = given["sign"][:, :, None] * at[given["owner"]]
    each = -(pm.math.log1pexp(-each) * pm.math.abs(given["sign"])[:, :, None]).sum(axis=1)
    return (given["count"] * pm.math.logsumexp(each + np.log(WEIGHTS), axis=-1).flatten()).sum()


def _tables_log_likelihood(pm: Any, given: Mapping[str, Any], p: Any, ratio: Any) -> Any:
    """Log likelihood of the first two-by-two tables, given the count of the baseline if that is known."""
    base, other = p[:, :1], p[:, 1:]
    both = plackett(base, other, ratio, pm.math.sqrt)
    clip = pm.math.clip
    in_both, in_first, in_second = (clip(x, TINY, 1 - TINY) for x in (both, base - both, other - both))
    neither = clip(1 - base - other + both, TINY, 1 - TINY)
    known = given["given"]
    first = known * pm.math.log(base)
    second = known * pm.math.log(1 - base)
    alike = known * pm.math.log(in_both) + (1 - known) * pm.math.log(in_both + neither)
    terms = (alike - first, pm.math.log(in_first) - first, pm.math.log(in_second) - second)
    logp = (*terms, pm.math.log(neither) - second)
    return sum((given["start"][:, :, i] * part).sum() for i, part in enumerate(logp))


def plackett(p: Any, q: Any, ratio: Any, root: Any = np.sqrt) -> Any:
    """P(both) of two events with probabilities p and q and odds ratio `ratio` (Plackett's distribution)."""
    a = 1 + (p + q) * (ratio - 1)
    return 2 * ratio * p * q / (a + root(a**2 - 4 * ratio * (ratio - 1) * p * q))


def bridge(share: Floats, phi: Floats) -> Floats:
    """Quantiles of the bridge distribution: averaged over it, a logistic curve stays logistic, `phi` times as steep."""
    result: Floats = np.log(np.sin(phi * np.pi * share) / np.sin(phi * np.pi * (1 - share))) / phi
    return result


def labels(arms: Arms) -> dict[str, tuple[tuple[str, ...], ...]]:
    """Variables whose draws are kept, with their labels."""
    J, S = arms.judges, arms.strategies
    kept: dict[str, tuple[tuple[str, ...], ...]] = {"baseline": (J,), "effect": (S[1:],), "logit": (J, S)}
    if len(J) > 1:
        kept |= {"sd_effect": (S[1:],)}
    for name, law, others in (("association", "discordant", S[1:]), ("link", "items", S)):
        if arms.law == law:
            kept |= {name: (), f"sd_{name}": (), f"each_{name}": (J, others)}
    return kept


def joint(arms: Arms, values: Mapping[str, Floats]) -> tuple[Floats, Floats]:
    """Accuracy under each strategy, and P(correct under it and under the baseline), (..., J, S)."""
    p: Floats = expit(values["logit"])
    if arms.law == "independent":
        return p, p * p[..., :1]
    if arms.law == "items":
        phi = expit(values["each_link"])
        both, base = np.zeros(p.shape), values["logit"] / phi
        for node, weight in zip(NODES, WEIGHTS, strict=True):
            at = expit(base + bridge(node, phi))
            both += weight * at * at[..., :1]
        return p, both
    if arms.law == "discordant":
        odds = values["each_association"]
    else:
        odds = np.full((*p.shape[:-1], p.shape[-1] - 1), FIXED[arms.law])
    both = plackett(p[..., :1], p[..., 1:], np.exp(odds))
    return p, np.concatenate([p[..., :1], both], axis=-1)


def prior_draw(arms: Arms, priors: Mapping[str, float], rng: np.random.Generator) -> tuple[dict[str, Any], Arms]:
    """Parameters drawn from the prior, and the same design with counts drawn under them."""
    J, S = arms.n.shape
    drawn: dict[str, Any] = {
        "baseline": rng.normal(0, priors["baseline"], J),
        "effect": rng.normal(0, priors["effect"], S - 1),
    }
    alpha, beta = drawn["baseline"][:, None], np.tile(drawn["effect"], (J, 1))
    if J > 1:
        drawn["sd_effect"] = np.abs(rng.normal(0, priors["sd_effect"], S - 1))
        beta = beta + drawn["sd_effect"] * rng.standard_normal((J, S - 1))
    drawn["logit"] = np.concatenate([alpha, alpha + beta], axis=1)
    for name, law, centre, width in (("association", "discordant", 3.0, S - 1), ("link", "items", -0.5, S)):
        if arms.law == law:
            drawn |= {name: rng.normal(centre, priors[name]), f"sd_{name}": abs(rng.normal(0, priors[f"sd_{name}"]))}
            drawn[f"each_{name}"] = drawn[name] + drawn[f"sd_{name}"] * rng.standard_normal((J, width))
    return drawn, simulated(arms, drawn, rng)


def simulated(arms: Arms, values: Mapping[str, Any], rng: np.random.Generator) -> Arms:
    """The same design with counts drawn under these parameters."""
    if arms.law == "items":
        return _simulated_items(arms, values, rng)
    p, both = joint(arms, values)
    n = np.nan_to_num(arms.n, nan=0.0).astype(int)
    if arms.law == "independent":
        return replace(arms, k=np.where(np.isfinite(arms.k), rng.binomial(n, p), np.nan))
    k, b, c = (np.full(p.shape, np.nan) for _ in range(3))
    known = np.isfinite(arms.k[:, 0])
    k[:, 0] = np.where(known, rng.binomial(n[:, 0], p[:, 0]), np.nan)
    made = replace(arms, k=k)
    base = np.where(np.isfinite(made.shared), made.shared, rng.binomial(n, p[:, :1])).astype(int)
    b[:, 1:] = rng.binomial(base, np.clip(1 - both / p[:, :1], 0, 1))[:, 1:]
    c[:, 1:] = rng.binomial(n - base, np.clip((p - both) / (1 - p[:, :1]), 0, 1))[:, 1:]
    k[:, 1:] = (base - b + c)[:, 1:]
    k, b, c = (np.where(np.isfinite(a), v, np.nan) for a, v in ((arms.k, k), (arms.b, b), (arms.c, c)))
    return replace(arms, k=k, b=b, c=c)


def _simulated_items(arms: Arms, values: Mapping[str, Any], rng: np.random.Generator) -> Arms:
    if arms.answers is None or arms.owner is None or arms.count is None:
        raise DesignError("The law 'items' needs calls with items.")
    times = arms.count.astype(int)
    owner, there = np.repeat(arms.owner, times), np.repeat(np.isfinite(arms.answers), times, axis=0)
    phi = expit(values["each_link"])[owner]
    share = rng.uniform(1e-12, 1 - 1e-12, (len(owner), 1))
    p = expit(np.asarray(values["logit"])[owner] / phi + bridge(share, phi))
    answers = np.where(there, (rng.random(p.shape) < p).astype(float), np.nan)
    found = pd.DataFrame(answers).assign(owner=owner)
    found = found.groupby([*found.columns], dropna=False).size().reset_index(name="count")
    k = np.full(arms.n.shape, np.nan)
    for j in range(len(k)):
        k[j] = np.where(np.isfinite(arms.n[j]), np.nansum(answers[owner == j], axis=0), np.nan)
    patterns = found[[*range(answers.shape[1])]].to_numpy(dtype=float)
    _, _, b, c = crossed(answers, owner, np.ones(len(owner)), len(k))
    owners, count = found["owner"].to_numpy(dtype=np.int64), found["count"].to_numpy(dtype=float)
    return replace(arms, answers=patterns, owner=owners, count=count, k=k, b=b, c=c)


# ---- The best strategy, the loss from choosing another, and the effects that a test would miss -----------------------

ALL = "all judges"


def ranked(accuracy: Floats) -> tuple[Floats, Floats]:
    """Whether each strategy is the best, ties split, and the loss from choosing it; arguments and results (..., S)."""
    top = accuracy.max(axis=-1, keepdims=True)
    first = (accuracy == top).astype(float)
    return first / first.sum(axis=-1, keepdims=True), top - accuracy


def missed(effect: Floats, discordance: Floats, n: float, level: float = 0.05) -> Floats:
    """Probability that McNemar's test of `n` pairs is not significant (normal approximation, uncorrected, two-sided).

    `effect`, `discordance`: P(correct only under the strategy) minus, and plus, P(correct only under the baseline).
    """
    z = -ndtri(level / 2)
    spread = np.sqrt(np.maximum(discordance - effect**2, 1e-12))
    reach, middle = z * np.sqrt(discordance), np.sqrt(n) * effect
    result: Floats = ndtr((reach - middle) / spread) - ndtr((-reach - middle) / spread)
    return result


def choice_rows(
    arms: Arms, drawn: Draws, priors: Mapping[str, float], margin: float, level: float, conf_level: float, flag: str
) -> list[dict[str, Any]]:
    """Rows under one joint distribution: effects by judge and strategy, the best one, and the same over all judges."""
    accuracy, both = joint(arms, drawn.values)
    odds, there = drawn.values["logit"], arms.there
    rows: list[dict[str, Any]] = []
    shared = {"conf_level": conf_level, "dependence": arms.law, "draws": drawn}
    for j, name in enumerate(arms.judges):
        asked = np.flatnonzero(there[j])
        whole = flags.join(flag, arms.excluded.get(name), flags.SMALL_N if np.nanmax(arms.n[j, asked]) < 30 else "")
        more = [{**shared, "judge": name, "strategy": arms.strategies[s], "n": float(arms.n[j, s])} for s in asked]
        for s, m in zip(asked, more, strict=True):
            if s:
                effect = accuracy[..., j, s] - accuracy[..., j, 0]
                discordance = accuracy[..., j, s] + accuracy[..., j, 0] - 2 * both[..., j, s]
                pairs = float(np.nanmin([arms.n[j, s], arms.n[j, 0]]))
                not_seen = missed(effect, discordance, pairs, level)
                rows += _effect(effect, odds[..., j, s] - odds[..., j, 0], not_seen, margin, m, whole)
        rows += _choice(accuracy[..., j, asked], more, whole)
    if len(arms.judges) > 1:
        rows += _pooled(arms, drawn, accuracy, priors, shared, flag)
    return rows


def _effect(
    effect: Floats, odds: Floats, not_seen: Floats, margin: float, more: dict[str, Any], flag: str
) -> list[dict[str, Any]]:
    real = (100 * np.abs(effect) > margin).astype(float)
    share = real.mean()
    probability = {**more, "scale": "probability"}
    hidden = chance(
        "missed if real", real * not_seen, flag=flag if share else flags.join(flag, flags.NO_DATA), **probability
    )
    hidden.update(estimate=hidden["estimate"] / share if share else math.nan, std_error=math.nan)
    return [
        row("effect", 100 * effect, flag=flag, scale="percentage points", **more),
        row("effect", odds, flag=flag, scale="log-odds", **more),
        chance("real", real, flag=flag, **probability),
        chance("real and missed", real * not_seen, flag=flag, **probability),
        hidden,
    ]


def _choice(accuracy: Floats, more: list[dict[str, Any]], flag: str) -> list[dict[str, Any]]:
    best, loss = ranked(accuracy)
    rows = [chance("best", best[..., i], flag=flag, scale="probability", **m) for i, m in enumerate(more)]
    points: dict[str, Any] = {"flag": flag, "scale": "percentage points"}
    return rows + [row("loss", 100 * loss[..., i], **points, **m) for i, m in enumerate(more)]


def _pooled(
    arms: Arms, drawn: Draws, accuracy: Floats, priors: Mapping[str, float], shared: dict[str, Any], flag: str
) -> list[dict[str, Any]]:
    rows, there = [], arms.there
    more = [{**shared, "strategy": s, "n": float(np.nansum(arms.n[:, i]))} for i, s in enumerate(arms.strategies)]
    for s in range(1, len(arms.strategies)):
        asked = there[:, s]
        some = "" if asked.all() else flags.CELLS_OF.of(asked.sum(), total=len(asked), what="judges")
        effect = 100 * (accuracy[..., asked, s] - accuracy[..., asked, 0]).mean(axis=-1)
        rows.append(row("effect", effect, flag=flags.join(flag, some), scale="percentage points", judge=ALL, **more[s]))
        mean = drawn.values["effect"][..., s - 1]
        population = {**more[s], "scale": "log-odds", "judge": "population"}
        driven = flags.PRIOR_DRIVEN if mean.std() > 0.7 * priors["effect"] else ""
        rows.append(row("effect", mean, flag=flags.join(flag, driven), **population))
        spread = drawn.values["sd_effect"][..., s - 1]
        driven = flags.PRIOR_DRIVEN if spread.std() > 0.7 * priors["sd_effect"] * math.sqrt(1 - 2 / math.pi) else ""
        rows.append(row("sd_effect", spread, flag=flags.join(flag, driven), **population))
    if there.all():
        rows += _choice(accuracy.mean(axis=-2), [{**m, "judge": ALL} for m in more], flag)
    return rows


# ---- The function ----------------------------------------------------------------------------------------------------

#: Assumptions on the joint distribution of answers under two strategies.
DEPENDENCE = ("unknown", "independent", "discordant")
#: Joint distributions that bound the truth if only margins are known.
BOUNDS = ("independent", "extreme positive", "extreme negative")
#: Outcome -> its counts in :class:`Arms`.
COUNTED = {"right calls": "k", "right under the baseline alone": "b", "under the strategy alone": "c"}


def strategies(
    data: IntoFrame,
    *,
    baseline: str,
    dependence: str = "unknown",
    judge: str = "judge",
    strategy: str = "strategy",
    item: By = "item",
    margin: float = 2.0,
    significance_level: float = 0.05,
    selected: bool | None = None,
    ties: str = "exact",
    invalid: str = "drop",
    priors: Mapping[str, float] | None = None,
    sampling: Sampling | None = None,
    conf_level: float = CONF_LEVEL,
) -> Posterior:
    """Effect of each strategy on the accuracy of each judge, partially pooled, and the probability that it is best.

    Parameters
    ----------
    data : frame
        Calls with `item` and a column ``correct`` of 0 and 1, or ``outcome``, or preferences with ``gold``. Or counts:
        a tally of outcomes without items (margins); a tally of changes (``baseline``, ``outcome``, ``n``, and
        ``pairs`` if it has discordant pairs only); a printed table with ``n`` and ``k`` (correct calls) or
        ``baseline_only`` and ``strategy_only`` (``b`` and ``c``), or all of them, empty where not printed.
    baseline : str
        The strategy that the others are compared with.
    dependence : {'unknown', 'independent', 'discordant'}
        Dependence of a judge's answers under two strategies. ``unknown``: estimated if the data allow it; margins do
        not, and are analysed under independence and under both extremes. ``independent``: different items.
        ``discordant``: from the discordant counts, which are required; comparisons without them are assumed to be like
        the others.
    judge, strategy : str
        Columns.
    item : str or sequence of str
        What is judged; calls without it are margins.
    margin : float
        Percentage points that a real effect exceeds.
    significance_level : float
        Level of McNemar's test, which may miss an effect; divide it by the number of tests for a Bonferroni bound.
    selected : bool, optional
        Whether the table has selected comparisons only. None: true if some judge lacks a strategy, or discordant
        counts, that another judge has.
    ties, invalid : str
        As in ``strategy_effects``: a tie is ``exact`` (wrong if the gold is a candidate) or dropped; an invalid call
        is dropped or ``wrong``.
    priors : mapping of str to float, optional
        Scales on the log-odds scale: ``baseline``, ``effect``, ``association``, ``link`` (normal), ``sd_effect``,
        ``sd_association``, ``sd_link`` (half-normal).
    sampling : mapping, optional
        Any of ``draws``, ``tune``, ``chains``, ``seed``, ``target_accept``, ``progress``, as for
        :func:`judgestats.fit`.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    Posterior
        For each ``dependence``, judge and strategy: ``effect`` (percentage points, and log-odds), ``best`` (probability
        of being best; the baseline is included, ties are split), ``loss`` (points lost by choosing it), ``real``
        (probability that the effect exceeds `margin` in either direction), ``real and missed`` (and that a McNemar test
        with as many pairs is not significant) and ``missed if real``. ``all judges`` is the mean of these judges,
        ``population`` the mean of their population, and ``sd_effect`` the sd of effects between judges, on log-odds. A
        probability has no interval; its standard error is the Monte Carlo error. ``draws`` belong to the first
        dependence.

    Raises
    ------
    SchemaError
        If ``n`` is missing or a count is impossible.
    DesignError
        If the data have no comparison, or lack the counts that `dependence` needs.
    FitError
        If PyMC is missing or the sampler fails.

    See Also
    --------
    judgestats.compare_strategies : Accuracy of strategies on the same pairs.
    judgestats.models.strategy_effects : Strategies, per judge and pooled.

    Notes
    -----
    The log-odds of the *marginal* accuracy are a baseline, separate for each judge, plus an effect, which varies over
    judges around the mean effect of the strategy with a separate sd for each strategy. With items, the answers of a
    judge to one item share a random intercept with the bridge distribution (Wang and Louis 2003), attenuated separately
    for each strategy, so that the margins stay logistic; the likelihood is that of the counts of answer patterns. With
    pairs against the baseline, each two-by-two table has an odds ratio (Plackett) that is pooled over judges and
    strategies. Two strategies are then independent given the answer under the baseline, which overstates the
    uncertainty of their difference if they are also associated otherwise. With margins, ``extreme`` is an odds ratio of
    exp(10) or exp(-10).

    Source: debiasing paper, Section 3.5 and Appendix D, Tables 1 and 4.

    Examples
    --------
    >>> strategies(calls, baseline="B0", sampling={"draws": 2000, "seed": 1}).tidy()  # doctest: +SKIP
    """
    choose(dependence, DEPENDENCE, "dependence")
    confidence(conf_level)
    if not 0 <= margin < 100:
        raise DesignError(f"margin={margin!r} is not valid. Allowed: percentage points from 0 to below 100, such as 2.")
    level = significance_level
    if not 0 < level < 1:
        raise DesignError(f"significance_level={level!r} is not allowed. It must be between 0 and 1, for example 0.05.")
    chosen = scales(PRIORS, priors)
    found = read(data, baseline, judge, strategy, item, ties, invalid)
    laws, why = _laws(found, dependence)
    partial = found.partial if selected is None else selected
    stated = _stated(replace(found, law=laws[0]), chosen)
    rows: list[dict[str, Any]] = []
    checks: list[dict[str, Any]] = []
    predicted: list[pd.DataFrame] = []
    options = sampling_options(sampling)
    designs = [replace(paired(found) if law == "discordant" else found, law=law) for law in laws]
    data_sets = [observed(arms) for arms in designs]
    drawn = sample_each(model(designs[0], chosen), labels(designs[0]), data_sets, **options)
    drawn = [with_tops(d, chosen, CENTRES) for d in drawn]
    for law, arms, draws in zip(laws, designs, drawn, strict=True):
        flag = flags.join(why, flags.SELECTED if partial else "")
        rows += choice_rows(arms, draws, chosen, margin, level, conf_level, flag)
        again, before = _replicated(arms, draws, chosen, options["seed"])
        predicted.append(_beside(arms, again, before, draws.method))
        each = [*convergence(draws, stated), *conflicts(draws), *_predicted(arms, again)]
        checks += [{**c, "what": f"{c['what']} ({law})" if len(laws) > 1 else c["what"]} for c in each]
    if partial:
        checks.append(finding("comparisons", math.nan, flags.SELECTED))
    if why:
        checks.append(finding("joint law", math.nan, why))
    table = tabled(rows, ["dependence", "judge", "strategy"], ("scale",))
    question = f"Which strategy is best for which judge? Effects against {baseline}"
    whole = pd.concat(predicted, ignore_index=True)
    return Posterior(question, table, stated, pd.DataFrame(checks), drawn[0], whole)


def _laws(arms: Arms, dependence: str) -> tuple[tuple[str, ...], str]:
    """Joint distributions under which the data are analysed, and a flag."""
    discordant = bool(np.isfinite(arms.b).any())
    if dependence == "discordant" and not discordant:
        raise DesignError(
            "dependence='discordant' needs the columns baseline_only and strategy_only (b and c), or calls with items. "
            "The table has margins only: use 'unknown' for bounds, or 'independent'."
        )
    if dependence == "independent":
        if not np.isfinite(arms.k).any():
            raise DesignError("dependence='independent' needs k, the correct calls of each strategy; use 'discordant'.")
        return ("independent",), ""
    if arms.answers is not None and dependence == "unknown":
        return ("items",), ""
    if discordant:
        return ("discordant",), flags.HUB if len(arms.strategies) > 2 else ""
    return BOUNDS, flags.UNKNOWN_JOINT


def _replicated(arms: Arms, drawn: Draws, priors: Mapping[str, float], seed: int) -> tuple[list[Arms], list[Arms]]:
    """The same design with counts drawn from the posterior, and from the prior."""
    values = {k: drawn.flat(k) for k in drawn.values}
    some = {k: v[:: max(1, len(v) // 400)] for k, v in values.items()}
    rng = np.random.default_rng(seed)
    again = [simulated(arms, {k: v[i] for k, v in some.items()}, rng) for i in range(len(some["logit"]))]
    return again, [prior_draw(arms, priors, rng)[1] for _ in range(200)]


def _predicted(arms: Arms, again: list[Arms]) -> list[dict[str, Any]]:
    checks: list[dict[str, Any]] = []
    for what, name in COUNTED.items():
        seen = getattr(arms, name)
        here = np.isfinite(seen)
        if here.any():
            checks += predictive(what, seen[here], np.array([getattr(a, name)[here] for a in again]))
    return checks


def _beside(arms: Arms, again: list[Arms], before: list[Arms], draws: str) -> pd.DataFrame:
    """Every known count with its predictive intervals."""
    rows, seen, n = [], [], []
    made: tuple[list[Floats], list[Floats]] = [], []
    for what, name in COUNTED.items():
        observed_ = getattr(arms, name)
        here = np.isfinite(observed_)
        rows += [(arms.law, arms.judges[j], arms.strategies[s], what) for j, s in np.argwhere(here)]
        seen.append(observed_[here])
        n.append(np.nan_to_num(arms.n[here]))
        for side, some in zip(made, (again, before), strict=True):
            side.append(np.array([getattr(a, name)[here] for a in some]))
    cells = pd.DataFrame(rows, columns=["dependence", "judge", "strategy", "outcome"])
    after, first = (np.concatenate(side, axis=1) for side in made)
    return beside(cells, np.concatenate(seen), after, first, np.concatenate(n), draws=draws)


def _stated(arms: Arms, priors: Mapping[str, float]) -> pd.DataFrame:
    laws = {
        "baseline": (f"normal(0, {priors['baseline']:g})", "log-odds of a correct call under the baseline"),
        "effect": (f"normal(0, {priors['effect']:g})", "effect of a strategy on the log-odds, mean of judges"),
        "sd_effect": (f"half-normal({priors['sd_effect']:g})", "sd of an effect between judges"),
    }
    if arms.law == "discordant":
        laws["association"] = (f"normal(3, {priors['association']:g})", "log odds ratio of strategy and baseline")
        laws["sd_association"] = (f"half-normal({priors['sd_association']:g})", "its sd between judges and strategies")
    if arms.law == "items":
        laws["link"] = (f"normal(-0.5, {priors['link']:g})", "logit of the attenuation by the item effect")
        laws["sd_link"] = (f"half-normal({priors['sd_link']:g})", "its sd between judges and strategies")
    return prior_table(laws)
