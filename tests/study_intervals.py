"""The intervals of the tables of the five planned studies, by another hand: from their calls, with numpy and scipy."""

from collections.abc import Callable

import numpy as np
import pandas as pd
from scipy import stats
from scipy.optimize import isotonic_regression
from statsmodels.stats.inter_rater import cohens_kappa

import planned_studies
import twins
from planned_studies import pair_of, valid, winner

Ends = tuple[float, float]
#: Column -> the row's labels -> the ends of its interval.
Expected = dict[str, dict[tuple, Ends]]
LEVEL = 0.95


def normal(level):
    return stats.norm.ppf((1 + level) / 2)


def wilson(hits, level=LEVEL, n=None, quantile=None):
    """Wilson's interval of hits and misses; `n`: how many calls they are worth."""
    p, n = float(np.mean(hits)), len(hits) if n is None else n
    low, high = twins.wilson([p], [n], [normal(level) if quantile is None else quantile])
    return low[0], high[0]


def robust(parts, weights=(1.0,)):
    """Weighted sum of the means of parts, (values, clusters) each, its CR2 variance and Satterthwaite's df.

    Bell and McCaffrey (2002), of a model with a mean for each part and independent errors.
    """
    labels = np.unique(np.concatenate([np.asarray(c) for _, c in parts]))
    estimate, scores, products = 0.0, np.zeros(len(labels)), np.zeros((len(labels),) * 2)
    for (values, clusters), weight in zip(parts, weights, strict=True):
        values, code = np.asarray(values, float), np.searchsorted(labels, np.asarray(clusters))
        size = np.bincount(code, minlength=len(labels)).astype(float)
        total, mean = size.sum(), values.mean()
        a = 1 / np.sqrt(1 - size / total)
        estimate += weight * mean
        scores += weight * a * np.bincount(code, values - mean, minlength=len(labels)) / total
        products += (weight / total) ** 2 * np.outer(a, a) * (np.diag(size) - np.outer(size, size) / total)
    return estimate, scores @ scores, np.trace(products) ** 2 / (products**2).sum()


def clustered_t(*parts, weights=(1.0,), level=LEVEL):
    mean, variance, df = robust(parts, weights)
    half = stats.t.ppf((1 + level) / 2, df) * variance**0.5
    return mean - half, mean + half


def worth(sizes):
    """How many clusters of equal size these are worth."""
    return sizes.sum() ** 2 / (sizes**2).sum()


def clustered_wilson(hits, clusters, level=LEVEL):
    """Wilson's interval of the n that the clusters are worth, with t on their df (decision 81)."""
    hits = np.asarray(hits, float)
    table = pd.Series(hits).groupby(np.asarray(clusters)).agg(["sum", "size"])
    p, variance, df = robust([(hits, clusters)])
    n, size = len(hits), table["size"].astype(float)
    if p in (0, 1):
        return wilson(hits, n=worth(size), quantile=stats.t.ppf((1 + level) / 2, df))
    one_answer = size.nunique() == 1 and table["sum"].isin([0, size.iloc[0]]).all()
    if n > 3 * len(table) and not one_answer:
        df = min(df, 2 + min(worth(size[table["sum"] > 0]), worth(size[table["sum"] < size])))
    effective = p * (1 - p) / variance if variance > 0 else n
    unlike = len(table) - (table["sum"] / size).round(12).value_counts().max()
    if unlike < 10:
        effective = min(effective, n)
    return wilson(hits, n=effective, quantile=stats.t.ppf((1 + level) / 2, df))


def square_and_add(one, other, phi):
    """Newcombe's interval of a difference of two shares, each with its ends, and their correlation."""
    (p, (low, high)), (q, (least, most)) = one, other
    below = (p - low) ** 2 - 2 * phi * (p - low) * (most - q) + (most - q) ** 2
    above = (high - p) ** 2 - 2 * phi * (high - p) * (q - least) + (q - least) ** 2
    return p - q - below**0.5, p - q + above**0.5


def paired(one, other, level=LEVEL):
    """Newcombe's paired interval (1998, method 10)."""
    one, other = np.asarray(one, bool), np.asarray(other, bool)
    n, cross = (
        len(one),
        float((one & other).sum() * (~one & ~other).sum()) - float((one & ~other).sum() * (~one & other).sum()),
    )
    margins = float(np.prod([one.sum(), (~one).sum(), other.sum(), (~other).sum()], dtype=float))
    phi = (max(cross - n / 2, 0.0) if cross > 0 else cross) / margins**0.5 if margins else 0.0
    return square_and_add((one.mean(), wilson(one, level)), (other.mean(), wilson(other, level)), phi)


def partly_paired(after, before):
    """The same of hits of two samples, by item, that share some of their items."""
    both = pd.concat([after.rename("a"), before.rename("b")], axis=1, join="inner").astype(float)
    if len(both) == len(after) == len(before):
        return paired(both["a"], both["b"])
    p, q = after.mean(), before.mean()
    spread = (len(after) * p * (1 - p) * len(before) * q * (1 - q)) ** 0.5
    phi = float(((both["a"] - p) * (both["b"] - q)).sum() / spread) if spread else 0.0
    return square_and_add((p, wilson(after)), (q, wilson(before)), phi)


def signs(values, level=LEVEL):
    """Share of +1 minus share of -1 of one sample, by Newcombe."""
    values = np.asarray(values)
    return paired(values > 0, values < 0, level)


def clustered_tango(values, clusters, *, net):
    """Tango's interval of the n that the clusters are worth, with t (Rao and Scott 1992); `net`: within a cluster."""
    values = np.asarray(values, float)
    mean, variance, df = robust([(values, clusters)])
    steps = pd.Series(values).groupby(np.asarray(clusters)).sum() if net else values
    b, c, n = float(np.clip(steps, 0, None).sum()), float(np.clip(-steps, 0, None).sum()), len(values)
    scale = ((b + c) / n - mean**2) / n / variance
    return twins.tango(b * scale, c * scale, n * scale, stats.t.ppf((1 + LEVEL) / 2, df))


def each(rows, by, ends: Callable):
    """The ends of the rows of each group."""
    return {key if isinstance(key, tuple) else (key,): ends(part) for key, part in rows.groupby(by)}


def signed(rows, target):
    return rows["winner"].eq(target).astype(float) - (rows["winner"].ne(target) & rows["winner"].ne("tie"))


def resampled(sums, statistic, seed=7, draws=2000):
    """Expanded percentile interval (Hesterberg 2015) of clusters drawn whole: `sums` (G, ...) of each."""
    g, rng = len(sums), np.random.default_rng(seed)
    values = np.array([statistic(sums[rng.integers(0, g, g)].sum(axis=0)) for _ in range(draws)])
    tail = stats.norm.cdf(stats.t.ppf((1 - LEVEL) / 2, g - 1) * (g / (g - 1)) ** 0.5)
    return tuple(np.quantile(values[~np.isnan(values)], [tail, 1 - tail], method="inverted_cdf"))


def threshold(rows):
    """Where an isotonic fit reaches .75; infinite ends are censored."""
    steps = np.sort(rows["delta"].unique())
    sums = np.stack([
        [[part["right"].sum(), len(part)] for part in (task[task["delta"] == s] for s in steps)]
        for _, task in rows.groupby("task")
    ]).astype(float)  # fmt: skip

    def crossing(total):
        hits, n = total.T
        fit = isotonic_regression(hits / n, weights=n).x
        reached = np.flatnonzero(fit >= 0.75 - 1e-12)
        return np.inf if not len(reached) else -np.inf if reached[0] == 0 else float(np.interp(0.75, fit, steps))

    return resampled(sums, crossing)


def dark_current(calls) -> Expected:
    by = ["judge", "prompt"]
    rows = calls.assign(ok=calls["choice"].ne("invalid"))
    expected = {"valid": each(rows, by, lambda r: clustered_wilson(r["ok"], r["task"]))}
    answered = valid(calls).assign(commits=lambda d: d["choice"].ne("tie"))
    vacuum, equal, ladder = (answered[answered["stimulus"] == s] for s in ("vacuum", "same_subset", "ladder"))
    expected["dark current"] = each(vacuum, by, lambda r: clustered_wilson(r["commits"], r["task"]))
    equal = equal.assign(pair=pair_of(equal), winner=winner(equal))
    pairs = equal.groupby([*by, "pair"]).agg(
        n=("first", "nunique"), winners=("winner", "nunique"), slots=("choice", "nunique"), commits=("commits", "sum"),
        task=("task", "first"),
    )  # fmt: skip
    pairs = pairs[pairs["n"] == 2]
    two = pairs["commits"] == 2
    classes = {"SCS": two & (pairs["winners"] == 1), "PFP": two & (pairs["slots"] == 1), "OSC": pairs["commits"] == 1}
    for name, hits in classes.items():
        expected[name] = each(
            pairs.assign(hit=hits), by, lambda r: clustered_wilson(r["hit"], r["task"], 1 - (1 - LEVEL) / 4)
        )
    whole = equal.merge(pairs.reset_index()[[*by, "pair"]], on=[*by, "pair"])
    expected["RFP₀"] = each(whole, by, lambda r: clustered_wilson(r["commits"], r["task"]))
    ladder = ladder.assign(right=winner(ladder).eq(ladder["better"].astype(str)))
    for delta, rows in ladder.groupby("delta"):
        expected[f"correct Δ = {delta:g}"] = each(rows, by, lambda r: clustered_wilson(r["right"], r["task"]))
    whole = ladder.groupby(by)["delta"].transform("nunique") == 5
    expected["threshold"] = each(ladder[whole], by, threshold)
    ties = answered.assign(tie=~answered["commits"], delta=answered["delta"].fillna(0.0))
    keys = ["judge", "stimulus", "delta", "task", "item", "first", "second"]
    both = ties.pivot_table("tie", keys, "prompt", aggfunc="mean").dropna().astype(float)
    steps = (both["pairwise_strict"] - both["pairwise"]).reset_index(name="step")
    expected["criterion shift"] = each(
        steps, ["judge", "stimulus", "delta"], lambda r: clustered_tango(r["step"], r["task"], net=False)
    )
    return expected


def debiasing(calls) -> Expected:
    by = ["judge", "strategy"]
    verdicts = planned_studies.merged(calls)
    answered = verdicts[verdicts["winner"] != "invalid"]
    natural = answered[answered["bias"] == ""].assign(right=lambda d: d["winner"].eq(d["gold"].astype(str)))
    expected = {"accuracy": each(natural, by, lambda r: wilson(r["right"])), "kappa": each(natural, by, kappa)}
    asked = verdicts[verdicts["bias"] == ""]
    expected["wrong ties"] = each(asked, by, lambda r: wilson(r["winner"].eq("tie") & r["gold"].ne("tie")))
    wide = natural.pivot_table("right", ["judge", "item"], "strategy", aggfunc="first")
    expected["minus B0"] = {
        (judge, strategy): paired(*part[[strategy, "B0"]].dropna().astype(bool).to_numpy().T)
        for judge, part in wide.groupby(level="judge")
        for strategy in wide.columns.drop("B0")
    }
    raw = valid(calls[(calls["bias"] == "position") & calls["strategy"].isin(["B0", "S4", "S5"])])
    raw = raw.assign(slot=raw["choice"].eq("first").astype(float) - raw["choice"].eq("second"))
    expected["position"] = each(raw, by, lambda r: signs(r["slot"]))
    of = {name: answered[answered["bias"] == name] for name in ("expansion", "truncation", "style", "model_origin")}
    both_lengths = 1 - (1 - LEVEL) / 2
    expected["verbosity"] = each(of["expansion"], by, lambda r: signs(signed(r, r["target"].astype(str)), both_lengths))
    expected["truncation right"] = each(
        of["truncation"], by, lambda r: wilson(r["winner"].eq(r["target"].astype(str)), both_lengths)
    )
    expected["style"] = each(of["style"], by, style)
    expected["own model"] = each(of["model_origin"], by, own_model)
    both = planned_studies.shared_with_people(calls, of["style"])
    votes = planned_studies.of_people(calls)
    expected["formatted from people"] = {
        **each(both, by, lambda r: clustered_wilson(r["hit"], r["task"])),
        **each(votes, "judge", lambda r: clustered_wilson(r["hit"], r["task"])),
        ("people",): clustered_wilson(votes["hit"], votes["task"]),
    }
    expected["beyond people from people"] = each(both, by, lambda r: beyond(r, votes[votes["item"].isin(r["item"])]))
    return expected


def own_model(rows):
    """Tango's interval by task, or that of the spread of the other families' net scores where it is wider."""
    mixed = rows[(rows["family_first"] == rows["judge"]) != (rows["family_second"] == rows["judge"])]
    mine = mixed["first"].where(mixed["family_first"] == mixed["judge"], mixed["second"]).astype(str)
    step = signed(mixed, mine)
    of_calls = clustered_tango(step, mixed["task"], net=True)
    sides = [rows[f"family_{slot}"].astype(str) for slot in ("first", "second")]
    families = sorted({*sides[0], *sides[1]})
    design = np.array([[(a == f) - (b == f) for f in families] for a, b in zip(*sides, strict=True)], dtype=float)
    first = rows["winner"].eq(rows["first"].astype(str)).astype(float) - rows["winner"].eq(rows["second"].astype(str))
    net = np.linalg.lstsq(design, first, rcond=None)[0]
    is_own = np.array([f == rows["judge"].iloc[0] for f in families])
    if len(families) == 2:
        return np.nan, np.nan
    others = net[~is_own]
    df = len(others) - 1
    sides = [mixed[f"family_{slot}"].astype(str) for slot in ("first", "second")]
    share = np.array([sum(side.eq(f).sum() for side in sides) for f in families]) / len(mixed)
    half = stats.t.ppf((1 + LEVEL) / 2, df) * (((others - others.mean()) ** 2).sum() / df * (share @ share)) ** 0.5
    wide = max(step.mean() - half, -1.0), min(step.mean() + half, 1.0)
    return wide if wide[1] - wide[0] > of_calls[1] - of_calls[0] else of_calls


def beyond(rows, votes):
    """Share of a judge minus that of people on the same pairs: t by task, and by person beyond the tasks of each."""
    value, variance, df = robust(
        [(rows["hit"].astype(float), rows["task"]), (votes["hit"].astype(float), votes["task"])], [1.0, -1.0]
    )
    part = (votes["hit"] - votes["hit"].mean()) / len(votes)
    of_person, size = part.groupby(votes["judge"]).sum(), votes["judge"].value_counts().sort_index()
    among = (of_person**2 / (1 - size / len(votes))).sum()
    within = (part.groupby([votes["task"], votes["judge"]]).sum() ** 2).sum()
    _, _, persons = robust([(votes["hit"].astype(float), votes["judge"])])
    half = stats.t.ppf((1 + LEVEL) / 2, min(df, persons)) * (variance + max(among - within, 0.0)) ** 0.5
    return max(value - half, -1.0), min(value + half, 1.0)


def kappa(rows):
    levels = sorted({*rows["winner"], *rows["gold"].astype(str)})
    table = pd.crosstab(rows["winner"], rows["gold"].astype(str)).reindex(index=levels, columns=levels, fill_value=0)
    result = cohens_kappa(table.to_numpy())
    return result.kappa_low, result.kappa_upp


def style(rows):
    """Of calls in one order the mean of both places of the formatted answer (MOVER), else of all."""
    step = signed(rows, rows["target"].astype(str))
    if rows["calls"].iloc[0] > 1:
        return clustered_tango(step, rows["task"], net=True)
    halves = [(part.mean(), *signs(part)) for _, part in step.groupby(rows["target"] == rows["first"])]
    middle = np.mean([h[0] for h in halves])
    below, above = (sum((h[0] - h[end]) ** 2 for h in halves) ** 0.5 / len(halves) for end in (1, 2))
    return middle - below, middle + above


def rubric(calls) -> Expected:
    people = calls["rater_type"] == "human"
    cell = ["system", "item", "criterion"]
    judges = calls["judge"][~people].unique()
    middle = calls[people].groupby([*cell, "judge"])["score"].mean().groupby(level=cell).mean()
    expected: Expected = {}
    own = {}
    for arm in ("attributed", "anonymized"):
        of_arm = calls[~people & (calls["condition"] == arm)]
        table = of_arm.groupby([*cell, "judge"])["score"].mean().unstack("judge")
        peers = pd.DataFrame({j: table[j] - table[[k for k in judges if k != j]].mean(axis=1) for j in judges})
        for name, gaps in ((arm, peers), (f"{arm} from people", table.sub(middle, axis=0))):
            parts = {
                (j, s): (rows.to_numpy(), rows.index.get_level_values("item"))
                for j in judges
                for s, rows in gaps[j].dropna().groupby(level="system")
            }
            expected[name] = {key: clustered_t(part) for key, part in parts.items()}
            if name != arm:
                continue
            own |= {(arm, j): parts[j, j] for j in judges}
            others = {j: [parts[j, s] for s in judges if s != j] for j in judges}
            few = [1 / (len(judges) - 1)] * (len(judges) - 1)
            expected[f"{arm}, others"] = {(j,): clustered_t(*others[j], weights=few) for j in judges}
            expected[f"{arm}, own beyond others"] = own_beyond_others(parts, list(judges))
    expected["attenuation, %"] = {(j, j): attenuation(own["attributed", j], own["anonymized", j]) for j in judges}
    return expected


def own_beyond_others(parts, judges):
    """t of the residuals of the cells of judges by systems after judges, systems and what is each judge's own."""
    size = len(judges)
    gaps = np.array([[parts[j, s][0].mean() for s in judges] for j in judges])  # from peers
    cells = gaps * (1 - 1 / size)  # from all judges
    eye = np.eye(size)
    effects = np.array([[*eye[j], *eye[s], *(eye[j] * (j == s))] for j in range(size) for s in range(size)])
    at, _, rank, _ = np.linalg.lstsq(effects, cells.ravel(), rcond=None)
    df = size**2 - rank
    variance = ((cells.ravel() - effects @ at) ** 2).sum() / df
    expected = {}
    for j, name in enumerate(judges):
        beside = np.where(eye[j][:, None] > 0, 1.0, -1 / (size - 1))  # a judge less the mean of its peers
        weight = beside * np.where(eye[j][None] > 0, 1.0, -1 / (size - 1))
        value, half = (
            gaps[j, j] - np.delete(gaps[j], j).mean(),
            stats.t.ppf((1 + LEVEL) / 2, df) * (variance * (weight**2).sum()) ** 0.5,
        )
        expected[name,] = value - half, value + half
    return expected


def attenuation(base, blinded):
    """Percent by which a mean shrinks: Fieller's interval of the ratio, folded; by the items of both."""
    (bottom, base_variance, df), (top, variance, other_df) = robust([base]), robust([blinded])
    both = robust([base, blinded], [1.0, 1.0])[1]  # the covariance from the variance of the sum
    covariance, q = (both - base_variance - variance) / 2, stats.t.ppf((1 + LEVEL) / 2, min(df, other_df))
    g, middle = bottom**2 - q**2 * base_variance, top * bottom - q**2 * covariance
    root = middle**2 - g * (top**2 - q**2 * variance)
    if g <= 0 or root <= 0:
        return np.nan, np.nan
    low, high = folded((middle - root**0.5) / g, (middle + root**0.5) / g)
    return 100 * (1 - high), 100 * (1 - low)


def cues(calls) -> Expected:
    answered = valid(calls)
    answered = answered.assign(winner=winner(answered))
    keys, by = ["judge", "scheme", "item"], ["judge", "scheme"]
    blind = answered[answered["probe"] == "blind"].set_index(keys)["winner"]
    favoured = {p: rows.set_index(keys)["favoured"] for p, rows in calls.groupby("probe")}
    expected: Expected = {name: {} for name in ("shift", "LDS", "OLS", "TS", "LAO")}
    for (judge, scheme, probe), rows in answered[answered["probe"] != "blind"].groupby([*by, "probe"]):
        sides = []
        for said in (rows.set_index(keys)["winner"], blind.loc[[judge]].xs(scheme, level="scheme", drop_level=False)):
            both = pd.concat([said, favoured[probe].rename("for")], axis=1, join="inner").dropna()
            sides.append(both.assign(to=both["winner"].eq(both["for"]), tie=both["winner"].eq("tie")))
        at = (judge, scheme, probe)
        for name, hit in {
            "shift": lambda d: d["to"], "OLS": lambda d: ~d["to"] & ~d["tie"], "TS": lambda d: d["tie"]
        }.items():  # fmt: skip
            expected[name][at] = partly_paired(*map(hit, sides))
        expected["LDS"][at] = expected["shift"][at]
        expected["LAO"][at] = label_agreement(*sides)
    for name in ("LDS", "OLS", "TS"):
        expected[name] = {at: (max(low, 0.0), high) for at, (low, high) in expected[name].items() if high > 0}
    flip, reveal = (answered[answered["probe"] == p].set_index(keys) for p in ("flip", "reveal"))
    two = pd.concat([flip["winner"].rename("before"), reveal["winner"], reveal["favoured"]], axis=1).dropna()
    rank = {c: np.where(two[c].eq("tie"), 1, np.where(two[c].eq(two["favoured"]), 2, 0)) for c in ("before", "winner")}
    step = pd.Series(rank["winner"] - rank["before"], index=two.index, name="step").reset_index()
    for name, hit in (("revised", np.not_equal), ("towards", np.greater), ("away", np.less)):
        expected[name] = each(step, by, lambda r, hit=hit: wilson(hit(r["step"], 0)))
    blind = blind.reset_index()
    expected["EDR"] = each(blind, by, lambda r: wilson(r["winner"].eq("tie")))
    sides = blind["winner"].map({"u": 1, "v": -1}).fillna(0)
    expected["neutrality deviation"] = each(blind.assign(side=sides), by, lambda r: folded(*signs(r["side"])))
    return expected


def label_agreement(after, before):
    """Share of the movement that goes to the labelled side, over draws of the items of both."""
    items = sorted({*after.index, *before.index})
    sums = np.zeros((len(items), 2, 3))
    for side, rows in enumerate((after, before)):
        place = np.where(rows["to"], 0, np.where(rows["tie"], 2, 1))
        sums[[items.index(i) for i in rows.index], side, place] = 1

    def statistic(total):
        gains = np.clip(np.subtract(*(total / total.sum(axis=1, keepdims=True))), 0, None)
        return gains[0] / gains.sum() if gains.sum() > 1e-12 else np.nan

    return resampled(sums, statistic)


def folded(low, high):
    return (0.0 if low <= 0 <= high else min(abs(low), abs(high))), max(abs(low), abs(high))


def merg(calls) -> Expected:
    """Of agreement by variant, resampled by item within each."""
    keys = ["condition", "judge", "system", "item"]
    weighted = calls.assign(part=calls["score"] * calls["weight"])
    complete = weighted.groupby(keys)["score"].apply(lambda s: s.notna().all())
    sums = weighted.groupby(keys)[["part", "weight"]].sum()
    scores = (sums["part"] / sums["weight"])[complete]
    names = {"ρ of systems": "rho", "r of samples": "r", "ICC(2,1)": "icc", "sd of judges' means": "sd"}
    expected: Expected = {name: {} for name in names}
    tables = {}
    for condition, part in scores.groupby(level="condition"):
        table = part.droplevel("condition").unstack(["system", "judge"]).sort_index(axis=1)
        systems = table.columns.get_level_values("system").unique()
        cube = np.stack([table[s].to_numpy() for s in systems], axis=1)  # items, systems, judges
        upper = np.triu_indices(cube.shape[2], 1)
        tables[condition] = table

        def correlations(rows, upper=upper):
            return pd.DataFrame(rows).corr().to_numpy()[upper].mean()

        def statistic(draw, cube=cube, upper=upper):
            some = cube[draw]
            means = np.nanmean(some, axis=0)
            each_system = [some[:, s] for s in range(some.shape[1])]
            icc = [planned_studies.icc(x[~np.isnan(x).any(axis=1)]) for x in each_system]
            return {
                "rho": pd.DataFrame(means).corr("spearman").to_numpy()[upper].mean(),
                "r": np.mean([correlations(x) for x in each_system]),
                "icc": np.mean(icc),
                "sd": means.mean(axis=0).std(ddof=1),
            }

        rng = np.random.default_rng(7)
        drawn = pd.DataFrame([statistic(rng.integers(0, len(cube), len(cube))) for _ in range(200)])
        for name, term in names.items():
            expected[name][condition,] = tuple(np.nanpercentile(drawn[term], [2.5, 97.5]))
    return expected | {"r minus baseline-score": shifts(tables, "baseline-score")}


def shifts(tables, base):
    """Mean correlation of judges within a system, minus that of a base, over draws of the items of both."""
    rng, expected = np.random.default_rng(8), {}
    for condition in tables.keys() - {base}:
        items = tables[condition].index.intersection(tables[base].index)
        both = [tables[c].loc[items] for c in (condition, base)]

        def correlation(table, draw):
            systems = table.columns.get_level_values("system").unique()
            each_system = [table.iloc[draw][s].corr().to_numpy() for s in systems]
            return np.mean([r[np.triu_indices(len(r), 1)].mean() for r in each_system])

        draws = [rng.integers(0, len(items), len(items)) for _ in range(200)]
        moved = [np.subtract(*(correlation(t, draw) for t in both)) for draw in draws]
        expected[condition,] = tuple(np.nanpercentile(moved, [2.5, 97.5]))
    return expected


INTERVALS = {"dark-current": dark_current, "debiasing": debiasing, "rubric": rubric, "cues": cues, "merg": merg}
#: Columns whose intervals are of a bootstrap: here percentiles of other draws, near those of the package and about as wide.
RESAMPLED = {
    "ρ of systems",
    "r of samples",
    "ICC(2,1)",
    "sd of judges' means",
    "r minus baseline-score",
    "LAO",
    "threshold",
}
