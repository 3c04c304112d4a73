"""The tables of the five planned studies, recomputed with plain pandas from their calls."""

import numpy as np
import pandas as pd
from scipy import stats

Expected = dict[str, pd.Series]


def winner(rows):
    """The candidate that each row prefers, or the answer that names none."""
    names = rows["first"].where(rows["choice"] == "first", rows["second"]).astype(str)
    return names.where(rows["choice"].isin(["first", "second"]), rows["choice"].astype(str))


def pair_of(rows):
    """Item and both candidates of each row, in whichever order they were shown."""
    low = rows[["first", "second"]].astype(str).min(axis=1)
    return rows["item"].astype(str) + "|" + low + "|" + rows[["first", "second"]].astype(str).max(axis=1)


def valid(rows):
    return rows[rows["choice"].isin(["first", "second", "tie"])]


def threshold(shares, n, level=0.75):
    """Where an isotonic fit of shares by step, weighted by n, reaches the level."""
    fit = [
        max(
            min(np.average(shares[i : j + 1], weights=n[i : j + 1]) for j in range(k, len(shares)))
            for i in range(k + 1)
        )
        for k in range(len(shares))
    ]
    if max(fit) < level:
        return np.nan
    return float(np.interp(level, fit, np.arange(1, len(fit) + 1)))


def dark_current(calls):
    """Column -> judge and prompt -> value, and the shifts of the strict prompt."""
    by = ["judge", "prompt"]
    answered = valid(calls)
    preferred = answered["choice"].ne("tie")
    expected: Expected = {"valid": calls["choice"].ne("invalid").groupby([calls[c] for c in by]).mean()}
    vacuum = answered["stimulus"] == "vacuum"
    expected["dark current"] = preferred[vacuum].groupby([answered[c] for c in by]).mean()
    equal = answered[answered["stimulus"] == "same_subset"]
    equal = equal.assign(pair=pair_of(equal), winner=winner(equal), commits=equal["choice"].ne("tie"))
    both = equal.groupby([*by, "pair"]).agg(
        n=("first", "nunique"), winners=("winner", "nunique"), slots=("choice", "nunique"), commits=("commits", "sum")
    )
    both = both[both["n"] == 2]
    committed = both["commits"] == 2
    of_pairs = {
        "RFP₀": both["commits"] / 2, "SCS": committed & (both["winners"] == 1), "PFP": committed & (both["slots"] == 1),
        "OSC": both["commits"] == 1,
    }  # fmt: skip
    expected |= {name: values.groupby(level=by).mean() for name, values in of_pairs.items()}
    ladder = answered[answered["stimulus"] == "ladder"]
    right = winner(ladder).eq(ladder["better"].astype(str))
    steps = right.groupby([*(ladder[c] for c in by), ladder["delta"]]).agg(["mean", "size"])
    for delta, part in steps.groupby(level="delta"):
        expected[f"correct Δ = {delta:g}"] = part["mean"].droplevel("delta")
    whole = {key: part for key, part in steps.groupby(level=by) if len(part) == 5}
    expected["threshold"] = pd.Series({k: threshold(p["mean"].tolist(), p["size"].tolist()) for k, p in whole.items()})
    keys = ["judge", "stimulus", "delta", "item", "first", "second"]
    ties = answered.assign(tie=~preferred, delta=answered["delta"].fillna(0.0))
    two = ties.pivot_table("tie", keys, "prompt", aggfunc="mean").dropna()
    shift = two["pairwise_strict"].astype(float) - two["pairwise"].astype(float)
    expected["criterion shift"] = (
        shift[shift.index.get_level_values("stimulus").isin(["ladder", "same_subset"])]
        .groupby(level=["judge", "stimulus", "delta"])
        .mean()
    )
    return expected


def merged(calls):
    """One verdict a judge, pair and strategy: of one call, of both orders, or of three calls."""
    keys = ["judge", "strategy", "item", "bias", "bias_type"]
    rows = calls.assign(winner=winner(calls), bias=calls["bias"].fillna(""), bias_type=calls["bias_type"].fillna(""))

    def verdict(said):
        if (said == "invalid").any():
            return "invalid"
        counts = said.value_counts()
        if len(said) == 2:
            return said.iloc[0] if len(counts) == 1 else "tie"
        return counts.index[0] if len(counts) == 1 or counts.iloc[0] > counts.iloc[1] else "tie"

    groups = rows.groupby(keys, sort=False)
    first = groups.first().drop(columns=["winner", "choice"])
    return first.assign(winner=groups["winner"].agg(verdict), calls=groups.size()).reset_index()


def debiasing(calls):
    """Column -> judge and strategy -> value."""
    by = ["judge", "strategy"]
    verdicts = merged(calls)
    answered = verdicts[verdicts["winner"] != "invalid"]
    natural = answered[answered["bias"] == ""]
    right = natural["winner"].eq(natural["gold"].astype(str))
    keys = [natural[c] for c in by]
    expected: Expected = {"accuracy": right.groupby(keys).mean()}
    all_natural = verdicts[verdicts["bias"] == ""]
    missed = all_natural["winner"].eq("tie") & all_natural["gold"].ne("tie")
    expected["wrong ties"] = missed.groupby([all_natural[c] for c in by]).mean()
    expected["kappa"] = natural.groupby(by)[["winner", "gold"]].apply(kappa)
    wide = natural.assign(right=right).pivot_table("right", ["judge", "item"], "strategy", aggfunc="first")
    differences, p_values = {}, {}
    for judge, part in wide.groupby(level="judge"):
        for strategy in wide.columns.drop("B0"):
            two = part[["B0", strategy]].dropna().astype(bool)
            differences[judge, strategy] = two[strategy].mean() - two["B0"].mean()
            lost, won = int((two["B0"] & ~two[strategy]).sum()), int((~two["B0"] & two[strategy]).sum())
            statistic = max(abs(won - lost) - 1, 0) ** 2 / max(won + lost, 1)
            p_values[judge, strategy] = stats.chi2.sf(statistic, 1)
    expected["minus B0"], expected["p, McNemar"] = pd.Series(differences), pd.Series(p_values)
    expected["p, Holm"] = holm(expected["p, McNemar"])

    def signed(rows, target):
        values = rows["winner"].eq(target).astype(float) - (rows["winner"].ne(target) & rows["winner"].ne("tie"))
        return values.groupby([rows[c] for c in by]).mean()

    in_order = answered["calls"] == 1
    single = answered["strategy"].isin(["B0", "S4", "S5"])
    raw = valid(calls[(calls["bias"] == "position") & calls["strategy"].isin(["B0", "S4", "S5"])])
    slot = raw["choice"].eq("first").astype(float) - raw["choice"].eq("second")
    expected["position"] = slot.groupby([raw[c] for c in by]).mean()
    of = {name: answered[answered["bias"] == name] for name in ("expansion", "truncation", "style", "model_origin")}
    expected["verbosity"] = signed(of["expansion"], of["expansion"]["target"].astype(str))
    cut = of["truncation"]
    expected["truncation right"] = cut["winner"].eq(cut["target"].astype(str)).groupby([cut[c] for c in by]).mean()
    style = of["style"]
    halves = style.assign(slot=(style["target"] == style["first"]).where(single & in_order, other=True))
    target = halves["target"].astype(str)
    values = halves["winner"].eq(target).astype(float) - (halves["winner"].ne(target) & halves["winner"].ne("tie"))
    expected["style"] = values.groupby([*(halves[c] for c in by), halves["slot"]]).mean().groupby(level=by).mean()
    own = of["model_origin"]
    mine = own["first"].where(own["family_first"] == own["judge"], own["second"]).astype(str)
    one = (own["family_first"] == own["judge"]) != (own["family_second"] == own["judge"])
    expected["own model"] = signed(own[one], mine[one])
    if "rater_type" in calls and (calls["rater_type"] == "human").any():
        rates, gaps = beyond_people(calls, style)
        expected |= {"formatted from people": pd.Series(rates), "beyond people from people": pd.Series(gaps)}
    return expected


def of_people(calls):
    """Votes of people on pairs of style, with whether each is for the formatted answer."""
    votes = valid(calls[calls["rater_type"] == "human"])
    return votes.assign(hit=winner(votes).eq(votes["target"].astype(str)))


def shared_with_people(calls, verdicts):
    """A judge's verdicts on pairs that people saw, and the mean share of people for the formatted answer of each."""
    theirs = of_people(calls).groupby("item")["hit"].mean().rename("theirs")
    both = verdicts.merge(theirs.reset_index(), on="item")
    return both.assign(hit=both["winner"].eq(both["target"].astype(str)))


def beyond_people(calls, style):
    """(Judge, strategy) -> share for the formatted answer, and that minus people's on the same pairs; people alone."""
    both = shared_with_people(calls, style).groupby(["judge", "strategy"])[["hit", "theirs"]].mean()
    votes = of_people(calls)
    alone = {(who, ""): share for who, share in votes.groupby("judge")["hit"].mean().items()}
    return (
        {**both["hit"].to_dict(), ("people", ""): votes["hit"].mean(), **alone},
        (both["hit"] - both["theirs"]).to_dict(),
    )


def kappa(rows):
    """Cohen's kappa of two columns of labels."""
    one, other = rows.iloc[:, 0].astype(str), rows.iloc[:, 1].astype(str)
    chance = sum((one == label).mean() * (other == label).mean() for label in {*one, *other})
    return ((one == other).mean() - chance) / (1 - chance)


def holm(p):
    """Holm's adjusted p-values."""
    order = p.sort_values()
    factors = np.arange(len(order), 0, -1)
    return (order * factors).cummax().clip(upper=1.0)


def rubric(calls):
    """Column -> judge (and system) -> value; of the arms with names shown and hidden."""
    people = calls["rater_type"] == "human"
    cell = ["system", "item", "criterion"]
    expected: Expected = {}
    judges = calls["judge"][~people].unique()
    middle = calls[people].groupby([*cell, "judge"])["score"].mean().groupby(level=cell).mean()
    for arm in ("attributed", "anonymized"):
        of_arm = calls[~people & (calls["condition"] == arm)]
        table = of_arm.groupby([*cell, "judge"])["score"].mean().unstack("judge")
        deviations = pd.DataFrame({j: table[j] - table[[k for k in judges if k != j]].mean(axis=1) for j in judges})
        by_system = deviations.groupby(level="system").mean().unstack()
        expected[arm] = by_system
        own = pd.Series({j: by_system[j, j] for j in judges})
        others = pd.Series({j: by_system[j].drop(j).mean() for j in judges})
        expected[f"{arm}, others"], expected[f"{arm}, own beyond others"] = others, own - others
        from_people = table.sub(middle, axis=0)
        expected[f"{arm} from people"] = from_people.groupby(level="system").mean().unstack()
    own = {a: pd.Series({(j, j): expected[a][j, j] for j in judges}) for a in ("attributed", "anonymized")}
    shrinks = 100 * (own["attributed"].abs() - own["anonymized"].abs()) / own["attributed"].abs()
    expected["attenuation, %"] = pd.concat([shrinks, pd.Series({("mean", ""): shrinks.mean()})])
    return expected


def cues(calls):
    """Column -> judge, scheme (and probe) -> value."""
    answered = valid(calls)
    answered = answered.assign(winner=winner(answered))
    keys = ["judge", "scheme", "item"]
    blind = answered[answered["probe"] == "blind"].set_index(keys)
    favoured_under = {p: rows.set_index(keys)["favoured"] for p, rows in calls.groupby("probe")}

    def side_shares(rows, favoured):
        rows = rows[["winner"]].join(favoured.rename("for")).dropna(subset="for")
        favours = rows["winner"].eq(rows["for"]).mean()
        tie = rows["winner"].eq("tie").mean()
        return pd.Series({"favoured": favours, "opposed": 1 - favours - tie, "tie": tie})

    columns = {name: {} for name in ("shift", "LDS", "OLS", "TS", "LAO")}
    expected: Expected = {}
    for (judge, scheme, probe), rows in answered[answered["probe"] != "blind"].groupby(["judge", "scheme", "probe"]):
        after, before = rows.set_index(keys), blind.loc[[judge]].xs(scheme, level="scheme", drop_level=False)
        moves = side_shares(after, favoured_under[probe]) - side_shares(before, favoured_under[probe])
        gains = {side: max(move, 0.0) for side, move in moves.items()}
        at = (judge, scheme, probe)
        columns["shift"][at] = moves["favoured"]
        columns["LDS"][at], columns["OLS"][at], columns["TS"][at] = gains["favoured"], gains["opposed"], gains["tie"]
        columns["LAO"][at] = gains["favoured"] / sum(gains.values()) if sum(gains.values()) else np.nan
    expected |= {name: pd.Series(values) for name, values in columns.items()}
    flip, reveal = (answered[answered["probe"] == p].set_index(keys) for p in ("flip", "reveal"))
    two = pd.concat([flip["winner"].rename("before"), reveal["winner"], reveal["favoured"]], axis=1).dropna()
    rank = {c: np.where(two[c].eq("tie"), 1, np.where(two[c].eq(two["favoured"]), 2, 0)) for c in ("before", "winner")}
    step = pd.Series(rank["winner"] - rank["before"], index=two.index)
    for name, hit in (("revised", step != 0), ("towards", step > 0), ("away", step < 0)):
        expected[name] = hit.groupby(level=["judge", "scheme"]).mean()
    by = ["judge", "scheme"]
    expected["EDR"] = blind["winner"].eq("tie").groupby(level=by).mean()
    of_each = [blind["winner"].eq(candidate).groupby(level=by).mean() for candidate in ("u", "v")]
    expected["neutrality deviation"] = (of_each[0] - of_each[1]).abs()
    return expected


def merg(calls):
    """Column -> condition -> value."""
    weighted = calls.dropna(subset="score").assign(part=lambda d: d["score"] * d["weight"])
    expected: Expected = {}
    keys = ["condition", "judge", "system", "item"]
    complete = calls.groupby(keys)["score"].apply(lambda s: s.notna().all())
    sums = weighted.groupby(keys)[["part", "weight"]].sum()
    scores = (sums["part"] / sums["weight"])[complete]
    rho, r, single, sd = {}, {}, {}, {}
    for condition, part in scores.groupby(level="condition"):
        table = part.droplevel("condition").unstack("judge")
        of_system = table.groupby(level="system").mean()
        upper = np.triu_indices(table.shape[1], 1)
        rho[condition] = of_system.corr("spearman").to_numpy()[upper].mean()
        r[condition] = np.mean([t.corr().to_numpy()[upper].mean() for _, t in table.groupby(level="system")])
        single[condition] = np.mean([icc(t.dropna().to_numpy()) for _, t in table.groupby(level="system")])
        sd[condition] = of_system.mean().std()
    base = "baseline-score"
    expected["ρ of systems"], expected["r of samples"] = pd.Series(rho), pd.Series(r)
    expected["ICC(2,1)"], expected["sd of judges' means"] = pd.Series(single), pd.Series(sd)
    expected[f"r minus {base}"] = (expected["r of samples"] - r[base]).drop(base)
    return expected


def icc(table):
    """ICC(2,1) of a table of things by judges."""
    n, k = table.shape
    mean = table.mean()
    rows, columns = k * ((table.mean(1) - mean) ** 2).sum(), n * ((table.mean(0) - mean) ** 2).sum()
    rest = ((table - mean) ** 2).sum() - rows - columns
    msr, msc, mse = rows / (n - 1), columns / (k - 1), rest / ((n - 1) * (k - 1))
    return (msr - mse) / (msr + (k - 1) * mse + k * (msc - mse) / n)


STUDIES = {"dark-current": dark_current, "debiasing": debiasing, "rubric": rubric, "merg": merg, "cues": cues}
