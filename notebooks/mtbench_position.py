# ---
# jupyter:
#   kernelspec: {name: python3, language: python, display_name: Python 3}
# ---

# %% [markdown]
# # Which of nine judges prefers a position, and how steady is it?
#
# Nine judges compared the answers of four models with those of `vicuna-13b-v1.3` to questions of MT-Bench. Every pair
# was shown in both orders, three times, and ties were allowed. The authors of the data printed how often a judge says
# the same in both orders. We recompute their numbers, then ask which position a judge prefers, how much the question
# matters, and what we may expect of a tenth judge.

# %%
import appearance
import numpy as np
import pandas as pd
from IPython.display import Markdown

import judgestats as js

sampling = appearance.set_up()

# %% [markdown]
# ## The data

# %%
calls = js.datasets.load("mtbench_position")
js.check(calls)[["level", "what", "n"]]

# %% [markdown]
# ## The published consistencies
#
# The authors count a verdict whose partner is missing as consistent, and count calls, not pairs:
# `missing="agrees", unit="call"`. Their logs say how many of how many verdicts are consistent, in each of three runs.

# %%
PUBLISHED = """
claude-3-haiku-20240307   128/192 129/191 116/192
claude-3-opus-20240229    148/192 146/192 154/192
claude-3-sonnet-20240229  138/192 137/191 142/192
gemini-pro                116/190 126/192 136/192
gpt-3.5-turbo-0125        161/187 146/182 155/185
gpt-3.5-turbo-1106        153/191 156/192 165/191
gpt-4-0125-preview        168/192 168/192 164/192
gpt-4-0613                170/192 166/192 166/192
gpt-4-1106-preview        156/192 156/192 154/192
"""
published = pd.DataFrame([line.split() for line in PUBLISHED.split("\n") if line], columns=["judge", "1", "2", "3"])
ours = js.consistency(calls, by="replicate", missing="agrees", unit="call").query("term == 'consistency'")
counted = (ours["estimate"] * ours["n"]).round().astype(int).astype(str) + "/" + ours["n"].astype(int).astype(str)
counted = ours.assign(text=counted).pivot(index="judge", columns="replicate", values="text").add_prefix("run ")
both = {"printed": published.set_index("judge").add_prefix("run "), "recomputed": counted}
pd.concat(both, axis=1)

# %% tags=["remove-input"]
same = (both["printed"].to_numpy() == both["recomputed"].to_numpy()).sum()
Markdown(f"{same} of {published.iloc[:, 1:].size} printed counts are recomputed.")

# %% [markdown]
# ## How steady is a judge?
#
# A pair needs both verdicts here. Runs of a pair and pairs of a question are not independent, so the interval is
# clustered by question (item).
# `first_twice` and `second_twice` are pairs in which the judge chose one position both times, whatever stood there.

# %%
swap = js.consistency(calls)
js.plot.forest(swap[swap["term"].isin(["consistency", "first_twice", "second_twice"])])

# %% [markdown]
# Some of this is noise: asked the same thing again, in the same order, a judge does not always repeat itself.

# %%
again = js.consistency(calls, over="replicate")
steady = swap[swap["term"] == "consistency"]
side = pd.concat({"both orders": steady.set_index("judge"), "same order again": again.set_index("judge")}, axis=1)
side = side.sort_values(("both orders", "estimate"))
side.loc[:, pd.IndexSlice[:, ["estimate", "conf_low", "conf_high"]]]

# %% tags=["remove-input"]
gap = side["same order again"]["estimate"] - side["both orders"]["estimate"]
worst, best = side.index[0], side.index[-1]
Markdown(
    f"{best} is the steadiest: {side.loc[best, ('both orders', 'estimate')]:.0%} of its pairs keep their verdict when "
    f"the answers change places. {worst} keeps {side.loc[worst, ('both orders', 'estimate')]:.0%}. Asked again in the "
    f"same order, the judges repeat themselves in {side['same order again']['estimate'].min():.0%} to "
    f"{side['same order again']['estimate'].max():.0%}. So order, not noise, accounts for "
    f"{100 * gap.min():.0f} to {100 * gap.max():.0f} points."
)

# %% [markdown]
# ## Which position does it prefer?

# %%
lean = js.position_bias(calls).query("term == 'position_bias'")
js.plot.forest(lean)

# %% tags=["remove-input"]
second, first = lean[lean["conf_high"] < 0], lean[lean["conf_low"] > 0]
Markdown(
    f"The share of calls for the first position less that for the second, with intervals of 95 %. "
    f"{len(second)} of {len(lean)} judges prefer the second position beyond chance: {', '.join(second['judge'])}. "
    f"{'No judge prefers' if first.empty else ', '.join(first['judge']) + ' prefer'} the first."
)

# %% [markdown]
# A share understates the preference of a judge that sees clear winners: where one answer is far better, position has
# no say. The model below separates the two. A pair has a content, which changes sides with the order; each judge sees
# it in its own way; and judge and question each add a preference for the first position.

# %%
decided = calls[calls["choice"].isin(["first", "second"])].astype({"first": str, "second": str, "item": str})
other = decided["first"].where(decided["first"] != "vicuna-13b-v1.3", decided["second"])
decided = decided.assign(
    chosen_first=(decided["choice"] == "first").astype(int),
    order=np.where(decided["first"] < decided["second"], 1, -1),
    pair=decided["item"] + " " + other,
)
FORMULA = "chosen_first ~ 1 + (1|judge) + (1|item) + (0 + order|pair) + (0 + order|judge:pair)"
likely = js.fit(FORMULA, decided, family="binomial")
print(likely.summary())

# %% [markdown]
# The same model, Bayesian. Nine judges say little about how judges differ; the prior helps, and the interval of a tenth
# judge takes that uncertainty along.

# %% tags=["sampled"]
believed = js.fit(FORMULA, decided, family="binomial", engine="pymc", sampling=sampling)
columns = ["term", "estimate", "conf_low", "conf_high"]
beside = {"likelihood": likely.tidy()[columns], "posterior": believed.tidy()[columns]}
pd.concat({k: t.set_index("term") for k, t in beside.items()}, axis=1)

# %% tags=["sampled"]
believed.check()[["level", "column", "what"]].head(4)

# %% tags=["sampled"]
effects = pd.concat(
    f.random_effects().query("group == 'judge'").assign(term=name, judge=lambda t: t["level"])
    for name, f in (("likelihood", likely), ("posterior", believed))
)
fixed = {"likelihood": likely.tidy()["estimate"].iloc[0], "posterior": believed.tidy()["estimate"].iloc[0]}
level = effects["term"].map(fixed)
js.plot.forest(effects.assign(**{c: effects[c] + level for c in columns[1:]})[["judge", *columns]])

# %% tags=["remove-input", "sampled"]
draws = believed.draws()
tenth = draws["Intercept"] + np.random.default_rng(0).normal(size=len(draws)) * draws["sd(Intercept|judge)"]
spread = {t: draws[f"sd(Intercept|{t})"].mean() for t in ("judge", "item")}
Markdown(
    "Log-odds of the first position where both answers are equally good; below zero the second is preferred. "
    f"Between judges these log-odds have a standard deviation of {spread['judge']:.2f}, between questions of "
    f"{spread['item']:.2f}; the contents of the pairs have {draws['sd(order|pair)'].mean():.1f}. So whether position "
    "matters is decided by how close a pair is, and the question matters about as much as the judge. "
    f"The probability that judges of this kind prefer the second position on average is "
    f"{(draws['Intercept'] < 0).mean():.3f}. For a tenth judge it is {(tenth < 0).mean():.2f}: its log-odds are "
    f"between {tenth.quantile(0.025):.1f} and {tenth.quantile(0.975):.1f}."
)

# %% [markdown]
# ## Which questions make judges unsteady?
#
# Here the outcome is whether a pair keeps its verdict, in a model with `(1|judge)` and `(1|item)`.

# %%
pairs = js.aggregate(calls, how="swap", over="order")
pairs = pairs.assign(steady=(pairs["tie_kind"] != "disagreement").astype(int))
keeps = js.fit("steady ~ 1 + (1|judge) + (1|item)", pairs, family="binomial")
keeps.variance_components()[["group", "term", "sd", "sd_low", "sd_high"]].dropna()

# %%
by_item = pairs.groupby(["item", "category"], observed=True)["steady"].mean().reset_index()
by_item = by_item.sort_values("steady").rename(columns={"steady": "share steady"})
pd.concat([by_item.head(3), by_item.tail(3)]).reset_index(drop=True)

# %% tags=["sampled"]
asked = {**sampling, "target_accept": 0.95}
kept = js.fit("steady ~ 1 + (1|judge) + (1|item)", pairs, family="binomial", engine="pymc", sampling=asked)
js.plot.posterior_intervals(kept, variables=["sd(Intercept|judge)", "sd(Intercept|item)"])

# %% tags=["sampled"]
kept.check()[["level", "column", "what"]].head(3)

# %% tags=["remove-input", "sampled"]
more = (kept.draws()["sd(Intercept|judge)"] > kept.draws()["sd(Intercept|item)"]).mean()
Markdown(
    f"Which question is asked matters about as much as which judge is asked: the probability that judges differ more "
    f"is {more:.2f}. A consistency is a property of judge and questions together, not of the judge alone."
)

# %% [markdown]
# ## What these data cannot show
#
# - *Whether a verdict is right.* There is no gold label: a steady judge may be steadily wrong.
# - *Other contests.* All pairs have one opponent, and how close a pair is decides how much position matters.
# - *Whether judges of one maker are alike.* The nine come from three makers and are taken as exchangeable.
# - *Ties.* The position model leaves them out; some judges hardly tie, and some tie often.

# %% tags=["remove-input"]
appearance.last_line(believed, kept)
