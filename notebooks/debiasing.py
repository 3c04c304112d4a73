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
# This page first recomputes the paper's figures, then fits one model to all its printed counts and estimates for each
# judge the probability that each strategy is the best, the cost of a wrong choice, and the probability of missing a
# real effect.

# %%
import os

import appearance
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from IPython.display import Markdown, display

import judgestats as js

appearance.set_up()

# %matplotlib inline
pd.set_option("display.max_colwidth", None)
DRAWS = int(os.environ.get("JUDGESTATS_NOTEBOOK_DRAWS", "1000"))
SAMPLER = {"draws": DRAWS, "tune": max(DRAWS, 200), "chains": 4 if DRAWS >= 500 else 2, "progress": False}
BASELINE = "B0"
MARGIN = 2.0  # percentage points from which on an effect counts as real
LEVEL = 0.05
PAIRS, PLANNED = 400, 20  # pairs of MT-Bench; tests planned on them: five judges, four strategies

# %% tags=["remove-input"]
if DRAWS < 500:
    display(Markdown(f"**Sampled with few draws ({DRAWS} per chain): the results only show that the notebook runs.**"))

# %% [markdown]
# ## What follows from the printed tables

# %%
reproduced = js.published.reproduce("debiasing")
astray = reproduced[reproduced["verdict"] == "does not follow"]
same = astray.groupby(["quantity", "printed", "shown"], sort=False)["place"].agg("; ".join)
shown = same.head(12).reset_index()
display(shown.set_index("place")[["quantity", "printed", "shown"]])

# %% tags=["remove-input"]
counted = ", ".join(f"{k} {v}" for k, v in reproduced["verdict"].value_counts().items())
display(
    Markdown(
        f"{len(reproduced)} printed numbers by verdict: {counted}. Those that do not follow are {len(same)} different "
        f"claims, of which {len(shown)} are above; `js.published.reproduce` has them all, with their arithmetic."
    )
)

# %% [markdown]
# The counts behind the tests are those of the discordant pairs: right under the baseline alone, or under the strategy
# alone (Table 4). They give the test statistics and the gains.

# %%
table3 = js.published.load("debiasing/table3").set_index(["judge", "strategy"])[["a", "b", "tie"]]
verdicts = table3.astype(int).sum(axis=1)  # GPT-4o gave none on some pairs
table4 = js.published.load("debiasing/table4").set_index(["judge", "strategy"])
changes = [
    {"judge": j, "strategy": s, "baseline": old, "outcome": new, "n": int(n), "pairs": verdicts[j, s]}
    for (j, s), row in table4.iterrows()
    for old, new, n in (("correct", "wrong", row["baseline_only"]), ("wrong", "correct", row["strategy_only"]))
]
tests = js.compare_strategies(pd.DataFrame(changes), n_tests=PLANNED, pairs="pairs")
beside = table4[["baseline_only", "strategy_only", "chi2", "p"]].rename(
    columns={"chi2": "χ², printed", "p": "p, printed"}
)
here = tests.set_index(["judge", "strategy"])[["statistic", "p_value", "p_adjusted", "estimate"]]
display(beside.join(here.assign(gain=100 * here.pop("estimate")).round(4)))

# %% tags=["remove-input"]
ax = js.plot.strategies(tests)
display(ax.figure)
left = [f"{r.judge} under {r.strategy}" for r in tests.itertuples() if r.survives]
display(
    Markdown(
        f"*Gains over {BASELINE} with 95 % intervals; filled if significant after Holm's correction for {PLANNED} "
        "tests.* "
        f"By these tests {len(left)} comparisons survive: {', '.join(left)}. Table 4 prints {len(tests)} of the "
        f"{PLANNED} comparisons."
    )
)

# %% [markdown]
# How small an effect could such a test detect? The paper states a smallest detectable effect for the number of
# discordant pairs that it assumes; Table 4 shows how many there were.

# %%
seen = tests["baseline_only"] + tests["strategy_only"]
reach = pd.DataFrame(
    {
        name: 100 * js.design.minimum_detectable_effect(tests["n"], discordant=seen, alpha=alpha)["estimate"].to_numpy()
        for name, alpha in (("one test", LEVEL), ("corrected", LEVEL / PLANNED))
    },
    index=pd.MultiIndex.from_frame(tests[["judge", "strategy"]]),
).assign(discordant=seen.to_numpy(), gain=100 * tests["estimate"].to_numpy())
ranges = js.published.load("debiasing/ranges").set_index("quantity").loc["minimum detectable effect, pp"].iloc[0]

# %% tags=["remove-input"]
counts = np.arange(20, 110)
figure, ax = plt.subplots(figsize=(7, 3.4), layout="constrained")
for name, alpha, style in (("one test", LEVEL, "-"), ("corrected for all planned tests", LEVEL / PLANNED, "--")):
    curve = js.design.minimum_detectable_effect(PAIRS, discordant=counts, alpha=alpha)["estimate"]
    ax.plot(counts, 100 * curve, style, color="C0", label=f"smallest detectable, {name}")
ax.axhspan(float(ranges["low"]), float(ranges["high"]), color="C1", alpha=0.25, label="smallest detectable, as printed")
ax.plot(reach["discordant"], reach["gain"].abs(), "o", color="C3", label="gains of Table 4")
ax.set(xlabel="discordant pairs", ylabel="percentage points", ylim=(0, None))
ax.legend(fontsize=8, loc="upper left")
plt.show()
display(
    Markdown(
        f"*Effects that a test of {PAIRS} pairs detects with a power of 80 %.* Printed: "
        f"{float(ranges['low']):.0f} to {float(ranges['high']):.0f} points. With the discordant pairs of Table 4 it is "
        f"{reach['one test'].min():.1f} to {reach['one test'].max():.1f} points for one test, and "
        f"{reach['corrected'].min():.1f} to {reach['corrected'].max():.1f} where the first of {PLANNED} must pass "
        f"the correction. {(reach['gain'].abs() < reach['one test']).sum()} of the {len(reach)} printed gains are "
        "below the reach of their own test."
    )
)

# %% [markdown]
# ## One model of all printed counts
#
# Table 1 gives the right verdicts of every judge under every strategy, Table 4 the discordant pairs of some of them.
# Both go into one table; what is not printed stays missing.

# %%
table = js.published.load("debiasing/table1")[["judge", "strategy", "agreement"]]
table["n"] = verdicts.loc[pd.MultiIndex.from_frame(table[["judge", "strategy"]])].to_numpy()
table["k"] = (table.pop("agreement").astype(float) * table["n"]).round().astype(int)
pairs = table4[["baseline_only", "strategy_only"]].astype(int)
table = table.merge(pairs.reset_index(), how="left", on=["judge", "strategy"])
fit = js.hierarchical.strategies(table, baseline=BASELINE, margin=MARGIN, significance_level=LEVEL, sampling=SAMPLER)
display(fit.priors.set_index("parameter"))
checks = fit.check().set_index("what")[["value", "flag"]].round(3).astype(object)
display(checks.where(checks.notna(), ""))

# %% [markdown]
# A judge's log-odds of a right verdict are those of its baseline plus an effect of the strategy; the effects of a
# strategy on the judges are normal around a mean, with a spread that is estimated. So judges are partially pooled.
# The answers under strategy and baseline are associated by an odds ratio that Table 4 informs; the comparisons that it
# omits are assumed to be like those that it prints, hence the flag `selected comparisons`.
#
# ## Which strategy is best, with what probability, and what does a wrong choice cost?

# %%
tidy = fit.tidy()
judges = list(table["judge"].unique())
arms = sorted(table["strategy"].unique())


def grid(term, found=tidy, columns=tuple(arms)):
    """One term as a table of judges and strategies."""
    rows = found[(found["term"] == term) & found["judge"].isin(judges)]
    return rows.pivot(index="judge", columns="strategy", values="estimate").loc[judges, list(columns)]


best, loss = grid("best"), grid("loss")


# %% tags=["remove-input"]
def heat(ax, values, title, digits, cmap):
    """A table as colours, with its numbers."""
    ax.imshow(values.to_numpy(dtype=float), cmap=cmap, aspect="auto")
    middle = (np.nanmin(values) + np.nanmax(values)) / 2
    for (i, j), v in np.ndenumerate(values.to_numpy(dtype=float)):
        ax.text(j, i, f"{v:.{digits}f}", ha="center", va="center", color="white" if v > middle else "black")
    ax.set_xticks(range(values.shape[1]), values.columns)
    ax.set_yticks(range(len(values)), values.index)
    ax.set_title(title, fontsize=10)


figure, axes = plt.subplots(1, 2, figsize=(9.5, 3), sharey=True, layout="constrained")
heat(axes[0], best, "probability of being the best", 2, "Blues")
heat(axes[1], loss, "expected loss of choosing it, points", 1, "Oranges")
plt.show()


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
display(Markdown("*Posterior probability and expected loss, by judge and strategy.*\n\n" + "\n".join(lines)))

# %% [markdown]
# Table 4 prints some comparisons only. If they were chosen for being large, the pairing estimated from them may
# be wrong for the others. The same without Table 4, with all answers independent:

# %%
apart = js.hierarchical.strategies(
    table.drop(columns=["baseline_only", "strategy_only"]),
    baseline=BASELINE,
    dependence="independent",
    sampling=SAMPLER,
)
unpaired = grid("best", apart.tidy())
display(
    pd.concat({"Tables 1 and 4": best.max(axis=1), "Table 1 alone": unpaired.max(axis=1)}, axis=1)
    .round(2)
    .assign(**{"best by both": best.idxmax(axis=1), "best by Table 1": unpaired.idxmax(axis=1)})
)

# %% tags=["remove-input"]
agree = best.idxmax(axis=1) == unpaired.idxmax(axis=1)
moved = (best - unpaired).abs().to_numpy().max()
display(
    Markdown(
        f"Both readings name the same best strategy for {agree.sum()} of {len(agree)} judges"
        + (f" (not for {', '.join(agree.index[~agree])})" if not agree.all() else "")
        + f"; no probability moves by more than {moved:.2f}."
    )
)

# %% [markdown]
# ## What was the chance of missing an effect?
#
# For each comparison the posterior gives the probability that the effect is real, that is beyond the margin set above
# in either direction, and the probability that McNemar's test of as many pairs would miss it.

# %%
others = [arm for arm in arms if arm != BASELINE]
real, unseen = grid("real", columns=others), grid("missed if real", columns=others)
missed = grid("real and missed", columns=others)

# %% tags=["remove-input"]
figure, axes = plt.subplots(1, 2, figsize=(9.5, 3), sharey=True, layout="constrained")
heat(axes[0], real, f"probability of an effect beyond {MARGIN:.0f} points", 2, "Greens")
heat(axes[1], unseen, "chance that a test misses it, if real", 2, "Reds")
plt.show()
gap = (unseen.stack() > 0.5).sum()
display(
    Markdown(
        f"*Without correction for several tests (level {LEVEL}); with it more is missed.* Of the {real.size} "
        f"comparisons {real.to_numpy().sum():.1f} are expected to be real by more than {MARGIN:.0f} points, and a "
        f"repetition of the study would miss {missed.to_numpy().sum():.1f} of these. In {gap} comparisons a "
        "real effect is more likely missed than seen: a non-significant result there is not evidence of no effect."
    )
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
