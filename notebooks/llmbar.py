# ---
# jupyter:
#   kernelspec: {name: python3, language: python, display_name: Python 3}
# ---

# %% [markdown]
# # Which strategy of prompting helps which judge?
#
# Six judges were asked which of two outputs follows an instruction, under up to fifteen strategies of prompting. Every
# pair was shown in both orders, and one output is known to be better. We compare each strategy with the plain prompt
# of the authors (`Vanilla`) for each judge, ask which strategy is best with what probability, and whether a choice made
# on one kind of pairs holds for another.

# %%
import appearance
import pandas as pd
from IPython.display import Markdown

import judgestats as js

sampling = appearance.set_up()
BASELINE = "Vanilla"
ALL = ["Vanilla", "Vanilla_NoRules", "CoT", "Swap", "Swap_CoT", "Metrics", "Reference", "Metrics_Reference"]

# %% [markdown]
# ## The data
#
# Eight strategies were run with all six judges on LLMBar's own pairs; those are compared. The others ask for scores, or
# show examples, and were run with some judges only.

# %%
calls = js.datasets.load("llmbar").astype({"subset": str, "strategy": str})
own = calls[calls["strategy"].isin(ALL) & calls["subset"].str.startswith("LLMBar")]
js.check(own)[["level", "what", "n"]]

# %% [markdown]
# ## How often is a judge right?
#
# The share of right verdicts over both orders. An invalid answer is left out here, and counted above.

# %%
right = js.gold_agreement(own, by="strategy").query("term == 'accuracy'")
right.pivot(index="judge", columns="strategy", values="estimate")[ALL]

# %% [markdown]
# Chance is one half, and pairs made to mislead push judges below it. But a judge that always takes the first position
# is right half of the time as well. So from here on a verdict counts as right if it is right in *both* orders:
# `aggregate` makes one verdict of two, and a tie where they differ.

# %%
verdicts = js.aggregate(own, how="swap", over="order")
gains = js.compare_strategies(verdicts, baseline=BASELINE, invalid="wrong")
both = gains.pivot(index="judge", columns="strategy", values="accuracy_strategy")
both.insert(0, BASELINE, gains.groupby("judge")["accuracy_baseline"].first())
both[ALL]

# %% [markdown]
# ## Which gains pass a test?

# %%
js.plot.strategies(gains)

# %% tags=["remove-input"]
kept = gains[gains["survives"]]
up, down = (kept[sign * kept["estimate"] > 0] for sign in (1, -1))
named = [", ".join(f"{r.judge} under {r.strategy}" for r in part.itertuples()) for part in (up, down)]
Markdown(
    f"Of {len(gains)} comparisons {len(kept)} pass McNemar's test after Holm's correction: {len(up)} gains "
    f"({named[0]}) and {len(down)} losses ({named[1]})."
)

# %% [markdown]
# ## Which strategy is best, and how sure is that?
#
# A test that is not passed does not say which strategy to take. One model of all counts does: a judge's log-odds of a
# right verdict are those of its baseline plus an effect of the strategy, and the effects of a strategy on the judges
# are normal around a mean. The discordant pairs say how dependent the answers of a judge are.

# %%
table = gains[["judge", "strategy", "n", "baseline_only", "strategy_only"]]
table = table.assign(k=(gains["accuracy_strategy"] * gains["n"]).round())
base = gains.groupby("judge", as_index=False).first()
base = base[["judge", "n"]].assign(strategy=BASELINE, k=(base["accuracy_baseline"] * base["n"]).round())
counts = pd.concat([base, table], ignore_index=True)
counts.head(3)

# %% tags=["sampled"]
fit = js.hierarchical.strategies(counts, baseline=BASELINE, sampling=sampling)
fit.check()[["what", "value", "flag"]].head(7)

# %% tags=["sampled"]
tidy = fit.tidy()
judges = sorted(gains["judge"].unique())
grids = {
    term: tidy[(tidy["term"] == term) & tidy["judge"].isin(judges)].pivot(
        index="judge", columns="strategy", values="estimate"
    )[ALL]
    for term in ("best", "loss")
}
grids["best"].round(2)

# %% [markdown]
# *The probability that a strategy is the best of the eight for this judge.* Below: how many percentage points a judge
# loses on average by this strategy, against its best one.

# %% tags=["sampled"]
grids["loss"].round(1)

# %% tags=["sampled"]
effects = tidy[(tidy["term"] == "effect") & (tidy["scale"] == "percentage points") & tidy["judge"].isin(judges)]
panels = effects.assign(term=effects["strategy"])[["judge", "term", "estimate", "conf_low", "conf_high"]]
js.plot.forest(panels, labels={s: s.replace("_", " ") for s in ALL}, order="given")

# %% tags=["remove-input", "sampled"]
best, loss = grids["best"], grids["loss"]
Markdown(
    "*Effects against the plain prompt, percentage points of pairs right in both orders, with intervals of 95 %.*\n\n"
    + "\n".join(
        f"- **{judge}**: {best.loc[judge].idxmax()} is best with probability {best.loc[judge].max():.2f}; staying with "
        f"{BASELINE} loses {loss.loc[judge, BASELINE]:.1f} points."
        for judge in judges
    )
    + f"\n\n{best.idxmax(axis=1).nunique()} different strategies are the best choice of the {len(judges)} judges. "
    f"If one strategy has to serve all, {loss.mean().idxmin()} loses least, {loss.mean().min():.1f} points on average."
)

# %% [markdown]
# ## Does the choice hold for other pairs?
#
# LLMBar has natural pairs, and adversarial ones, whose worse output is made to look better. The effect of each strategy
# in both kinds:

# %%
kinds = verdicts.assign(kind=verdicts["subset"].str.contains("Natural").map({True: "natural", False: "adversarial"}))
parts = {k: js.compare_strategies(part, baseline=BASELINE, invalid="wrong") for k, part in kinds.groupby("kind")}
by_kind = pd.concat(parts, names=["kind", "row"]).reset_index()
gain = by_kind.pivot_table(index="judge", columns=["kind", "strategy"], values="estimate") * 100
gain.mean().unstack("kind").loc[ALL[1:]].round(1).reset_index()

# %% tags=["remove-input"]
choice, hard = {k: gain[k].idxmax(axis=1) for k in ("natural", "adversarial")}, gain["adversarial"]
same = (choice["natural"] == choice["adversarial"]).sum()
lost = pd.Series({judge: hard.loc[judge].max() - hard.loc[judge, choice["natural"][judge]] for judge in hard.index})
Markdown(
    "*Mean gain over the judges, percentage points.* "
    f"The strategy that gains most on natural pairs is also the one that gains most on adversarial pairs for {same} of "
    f"{len(gain)} judges. A judge whose strategy was chosen on natural pairs forgoes {lost.mean():.1f} points on "
    "adversarial ones, on average. Both are estimates from few pairs, so part of this is chance."
)

# %% [markdown]
# ## What these data cannot show
#
# - *Cost.* Some strategies make several calls. Tokens and prices are not recorded.
# - *Repeats.* Each call was made once; how much of a change is noise of the judge is not known.
# - *New judges.* The six are of one time. The model says how strategies differ among judges like these.
# - *Pairs under several strategies.* The counts link strategies through the baseline only, and the model says so
#   in its flags.

# %% tags=["remove-input"]
appearance.last_line(fit)
