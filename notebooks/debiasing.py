# ---
# jupyter:
#   kernelspec: {name: python3, language: python, display_name: Python 3}
# ---

# %% [markdown]
# # Which debiasing strategy is best for which judge, and which effects were missed?
#
# Five judges answered the same pairs of MT-Bench under a baseline and four strategies. The paper tests strategies
# against the baseline one at a time and reports which tests survive a correction. A test that does not survive says
# neither that the strategy is useless nor which strategy a user of that judge should take.
#
# This page first shows which of the paper's figures follow from each other. Then it fits one model to all printed
# counts and estimates for each judge the probability that each strategy is the best, the cost of a wrong choice, and
# the probability of missing a real effect.

# %%
import appearance
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from IPython.display import Markdown

import judgestats as js
from judgestats.reporting import printed_layout

sampling = appearance.set_up()
BASELINE = "B0"
MARGIN = 2.0  # percentage points from which on an effect counts as real
LEVEL = 0.05
PAIRS, PLANNED = 400, 20  # pairs of MT-Bench; tests planned on them: five judges, four strategies

# %% [markdown]
# ## The paper's main tables
#
# Agreement with the labels of MT-Bench, by judge and strategy:

# %%
printed_layout("debiasing/table1", rows="judge", columns="strategy", values=["agreement", "conf_low", "conf_high"])

# %% [markdown]
# The same on LLMBar:

# %%
printed_layout("debiasing/table2", rows="judge", columns="strategy", values="agreement")

# %% [markdown]
# The tests: pairs right under the baseline alone, and under the strategy alone.

# %%
printed_layout("debiasing/table4", rows=["judge", "strategy"], values=["baseline_only", "strategy_only", "chi2", "p"])

# %% [markdown]
# What does not follow, in tables and text; a claim that is repeated stands once.

# %%
reproduced = js.published.reproduce("debiasing")
astray = reproduced[reproduced["verdict"] == "does not follow"]
same = astray.groupby(["quantity", "printed", "shown"], sort=False)["place"].agg("; ".join).reset_index()
same[["place", "quantity", "printed", "shown"]].rename(columns={"shown": "recomputed"}).head(12)

# %% tags=["remove-input"]
counted = ", ".join(f"{k} {v}" for k, v in reproduced["verdict"].value_counts().items())
Markdown(
    f"{len(reproduced)} printed numbers by verdict: {counted}. Those that do not follow are {len(same)} different "
    f"claims, of which {min(12, len(same))} are above; `js.published.reproduce` has them all, with their arithmetic."
)

# %% [markdown]
# ## How small an effect could these tests detect?
#
# The counts of Table 4 give the test statistics and the gains again.

# %%
table3 = js.published.load("debiasing/table3").set_index(["judge", "strategy"])[["a", "b", "tie"]]
verdicts = table3.astype(int).sum(axis=1)  # GPT-4o gave none on some pairs
table4 = js.published.load("debiasing/table4").set_index(["judge", "strategy"])
changes = [
    {"judge": j, "strategy": s, "baseline": old, "outcome": new, "n": int(n), "pairs": verdicts[j, s]}
    for (j, s), row in table4.iterrows()
    for old, new, n in (("correct", "wrong", row["baseline_only"]), ("wrong", "correct", row["strategy_only"]))
]
tests = js.compare_strategies(pd.DataFrame(changes), n_tests=PLANNED, pairs="pairs", baseline="B0")
js.plot.strategies(tests)

# %% tags=["remove-input"]
left = [f"{r.judge} under {r.strategy}" for r in tests.itertuples() if r.survives]
Markdown(
    f"*Gains over {BASELINE} with 95 % intervals; filled if significant after Holm's correction for {PLANNED} tests.* "
    f"{len(left)} comparisons survive: {', '.join(left)}. Table 4 prints {len(tests)} of the {PLANNED} comparisons."
)

# %% [markdown]
# The paper states a smallest detectable effect for the number of discordant pairs that it assumes. Table 4 shows how
# many there were.

# %%
discordant = tests["baseline_only"] + tests["strategy_only"]
levels = {"one test": LEVEL, "corrected": LEVEL / PLANNED}
reach = tests[["judge", "strategy"]].assign(discordant=discordant.astype(int), gain=100 * tests["estimate"])
for name, alpha in levels.items():
    smallest = js.design.minimum_detectable_effect(tests["n"], discordant=discordant, alpha=alpha)["estimate"]
    reach[name] = 100 * smallest.to_numpy()
reach.round(1)

# %%
ranges = js.published.load("debiasing/ranges").set_index("quantity").loc["minimum detectable effect, pp"].iloc[0]
counts = np.arange(20, 110)
figure, ax = plt.subplots(figsize=(7, 3.4), layout="constrained")
for (name, alpha), style in zip(levels.items(), ("-", "--"), strict=True):
    curve = js.design.minimum_detectable_effect(PAIRS, discordant=counts, alpha=alpha)["estimate"]
    ax.plot(counts, 100 * curve, style, color="C0", label=f"smallest detectable, {name}")
ax.axhspan(float(ranges["low"]), float(ranges["high"]), color="C1", alpha=0.25, label="smallest detectable, as printed")
ax.plot(reach["discordant"], reach["gain"].abs(), "o", color="C3", label="gains of Table 4")
ax.set(xlabel="discordant pairs", ylabel="percentage points", ylim=(0, None))
_ = ax.legend(loc="upper left")
# %% tags=["remove-input"]
Markdown(
    f"*Effects that a test of {PAIRS} pairs detects with a power of 80 %.* Printed: {float(ranges['low']):.0f} to "
    f"{float(ranges['high']):.0f} points. With the discordant pairs of Table 4 it is {reach['one test'].min():.1f} to "
    f"{reach['one test'].max():.1f} points for one test, and {reach['corrected'].min():.1f} to "
    f"{reach['corrected'].max():.1f} where the first of {PLANNED} must pass the correction. "
    f"{(reach['gain'].abs() < reach['one test']).sum()} of the {len(reach)} printed gains are below the reach of their "
    "own test."
)

# %% [markdown]
# ## One model of all printed counts
#
# Table 1 gives the right verdicts of every judge under every strategy, Table 4 the discordant pairs of some of them.
# Both go into one table; what is not printed stays missing. A judge's log-odds of a right verdict are those of its
# baseline plus an effect of the strategy; the effects of a strategy on the judges are normal around a mean, with a
# spread that is estimated. The answers under strategy and baseline are associated by an odds ratio that Table 4
# informs; the comparisons that it omits are assumed to be like those that it prints.

# %% tags=["sampled"]
table = js.published.load("debiasing/table1")[["judge", "strategy", "agreement"]]
table["n"] = verdicts.loc[pd.MultiIndex.from_frame(table[["judge", "strategy"]])].to_numpy()
table["k"] = (table.pop("agreement").astype(float) * table["n"]).round().astype(int)
pairs = table4[["baseline_only", "strategy_only"]].astype(int)
table = table.merge(pairs.reset_index(), how="left", on=["judge", "strategy"])
fit = js.hierarchical.strategies(table, baseline=BASELINE, margin=MARGIN, significance_level=LEVEL, sampling=sampling)
fit.check()[["what", "value", "flag"]]

# %%
fit.priors.head(12)

# %% [markdown]
# ## Which strategy is best, and what does a wrong choice cost?


# %% tags=["sampled"]
def grid(term, model=fit):
    """One term as a table of judges and strategies."""
    tidy = model.tidy()
    rows = tidy[(tidy["term"] == term) & tidy["judge"].isin(judges)]
    return rows.pivot(index="judge", columns="strategy", values="estimate").loc[judges]


judges = list(table["judge"].unique())
best, loss = grid("best"), grid("loss")
pd.concat({"probability of being best": best.round(2), "points lost by choosing it": loss.round(1)}, axis=1)

# %% tags=["sampled"]
effects = fit.tidy().query("term == 'effect' and scale == 'percentage points' and judge in @judges")
panels = effects.assign(term=effects["strategy"])[["judge", "term", "estimate", "conf_low", "conf_high"]]
js.plot.forest(panels, order="given")


# %% tags=["remove-input", "sampled"]
def sure(p):
    """A probability in words."""
    steps = ((0.9, "all but settled"), (0.7, "likely"), (0.5, "more likely than not"))
    return next((word for least, word in steps if p >= least), "open")


lines = []
for judge in judges:
    first, second = best.loc[judge].nlargest(2).index
    lines.append(
        f"- **{judge}**: {sure(best.loc[judge, first])}. {first} is the best with probability "
        f"{best.loc[judge, first]:.2f}, {second} with {best.loc[judge, second]:.2f}; choosing "
        f"{loss.loc[judge].idxmin()} loses {loss.loc[judge].min():.1f} points on average, staying with {BASELINE} "
        f"{loss.loc[judge, BASELINE]:.1f}."
    )
Markdown("*Effects against the baseline, percentage points, with intervals of 95 %.*\n\n" + "\n".join(lines))

# %% [markdown]
# Table 4 prints some comparisons only. If they were chosen for being large, the pairing estimated from them may be
# wrong for the others. The same without Table 4, with all answers independent:

# %% tags=["sampled"]
alone = table.drop(columns=["baseline_only", "strategy_only"])
apart = js.hierarchical.strategies(alone, baseline=BASELINE, dependence="independent", sampling=sampling)
unpaired = grid("best", apart)
both = {"Tables 1 and 4": best, "Table 1 alone": unpaired}
pd.concat(
    {k: pd.DataFrame({"best": g.idxmax(axis=1), "probability": g.max(axis=1).round(2)}) for k, g in both.items()},
    axis=1,
)

# %% tags=["remove-input", "sampled"]
agree = best.idxmax(axis=1) == unpaired.idxmax(axis=1)
moved = (best - unpaired).abs().to_numpy().max()
Markdown(
    f"Both readings name the same best strategy for {agree.sum()} of {len(agree)} judges"
    + (f" (not for {', '.join(agree.index[~agree])})" if not agree.all() else "")
    + f"; no probability moves by more than {moved:.2f}."
)

# %% [markdown]
# ## What was the chance of missing an effect?
#
# For each comparison the posterior gives the probability that the effect is real, that is beyond the margin set above
# in either direction, and the probability that McNemar's test of as many pairs would miss it.

# %% tags=["sampled"]
real, unseen, missed = (grid(term) for term in ("real", "missed if real", "real and missed"))
pd.concat({"probability of a real effect": real.round(2), "chance of missing it, if real": unseen.round(2)}, axis=1)

# %% tags=["remove-input", "sampled"]
gap = (unseen.stack() > 0.5).sum()
Markdown(
    f"*Without correction for several tests (level {LEVEL}); with it more is missed.* Of the {real.size} comparisons "
    f"{real.to_numpy().sum():.1f} are expected to be real by more than {MARGIN:.0f} points, and a repetition of the "
    f"study would miss {missed.to_numpy().sum():.1f} of these. In {gap} comparisons a real effect is more likely "
    "missed than seen: a non-significant result there is not evidence of no effect."
)

# %% [markdown]
# ## What these data cannot show
#
# - The answers under two strategies other than the baseline are known through the baseline only (flagged). If they are
#   associated beyond that, the differences between strategies are more certain than shown here.
# - Which comparisons were printed may depend on their results. The second reading drops them, and loses the pairing.
# - Five judges say little about other judges.
# - Only agreement with the labels is modelled. A strategy that gains agreement may add ties, cost or style bias.
# - MT-Bench only: Table 2 (LLMBar) prints no discordant pairs, and a strategy that helps here may hurt there.

# %% tags=["remove-input"]
appearance.last_line(fit, apart)
