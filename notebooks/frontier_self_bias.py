# ---
# jupyter:
#   kernelspec: {name: python3, language: python, display_name: Python 3}
# ---

# %% [markdown]
# # Do three judges prefer their own answers, and those of their family?
#
# Three models wrote answers to the same tasks, and each judged all pairs of answers, its own among them, in both orders
# and without names. Each also judged every single answer by a rubric of yes and no. Two of the three come from one
# maker. We separate four things that a preference mixes: position, the quality of the answer, ownership, and family.

# %%
import appearance
import numpy as np
import pandas as pd
from IPython.display import Markdown

import judgestats as js

sampling = appearance.set_up()

# %% [markdown]
# ## The data
#
# Some answers are empty. A verdict on an empty answer says nothing of taste, so those pairs are left out.

# %%
calls = js.datasets.load("frontier_self_bias").astype({"judge": str, "first": str, "second": str, "item": str})
family = js.datasets.names().set_index("name").loc["frontier_self_bias", "family"]
empty = (calls["chars_first"] == 0) | (calls["chars_second"] == 0)
full = calls[~empty]
full.groupby("judge")["choice"].value_counts().unstack(fill_value=0).reset_index().rename_axis(columns=None)

# %% tags=["remove-input"]
Markdown(f"{empty.sum()} of {len(calls)} verdicts have an empty answer on one side or both; {len(full)} are left.")

# %% [markdown]
# ## Position comes first
#
# A judge that prefers a position hides what else it prefers. Every pair was shown in both orders, so position averages
# out of what follows; but it makes such a judge less certain.

# %%
lean = js.position_bias(full).query("term == 'position_bias'")
js.plot.forest(lean)

# %% [markdown]
# ## Who wins, and before which judge?
#
# The share of comparisons that the row wins before each judge. On the diagonal of judge and candidate are its own.

# %%
wins = js.preference_rate(full).query("term == 'win'")
wins.pivot(index="candidate", columns="judge", values="estimate")

# %% tags=["remove-input"]
table = wins.pivot(index="candidate", columns="judge", values="estimate")
own = pd.Series(np.diag(table), table.index)
others = table.mean(axis=1) * 1.5 - own / 2
Markdown(
    "Every candidate does better before itself than before the others: "
    + "; ".join(
        f"{name} wins {own[name]:.0%} before itself and {others[name]:.0%} before the others" for name in own.index
    )
    + ". That is not yet self-preference: judges differ in how often they tie and in what they value."
)

# %% [markdown]
# ## Own and family, beyond quality
#
# A model of each decided verdict. The judge has a position; each candidate has a quality, common to all judges, and so
# has each single answer (`(0 + order|pair)`); `own` is the preference for the judge's own answer, `family` that for the
# answer of the other model of its maker. With three judges and three candidates all of these can be separated.


# %%
def side(test):
    """What holds of the first answer less what holds of the second."""
    return test("first").astype(int) - test("second").astype(int)


decided = full[full["choice"].isin(["first", "second"])].reset_index(drop=True)
judge, names = decided["judge"], decided[["first", "second"]]
kin = {c: decided[c].map(family) == judge.map(family) for c in ("first", "second")}
decided = decided.assign(
    chosen_first=(decided["choice"] == "first").astype(int),
    own=side(lambda c: decided[c] == judge),
    family=side(lambda c: kin[c] & (decided[c] != judge)),
    luna=side(lambda c: decided[c] == "gpt-5.6-luna"),
    mini=side(lambda c: decided[c] == "gpt-5-mini"),
    order=np.where(decided["first"] < decided["second"], 1, -1),
    pair=decided["item"]
    + " "
    + decided[["first", "second"]].min(axis=1)
    + " "
    + decided[["first", "second"]].max(axis=1),
)
FORMULA = "chosen_first ~ judge + luna + mini + own + family + (0 + order|pair)"
likely = js.fit(FORMULA, decided, family="binomial")
print(likely.summary())

# %% [markdown]
# The same model, Bayesian, with the default priors.

# %% tags=["sampled"]
believed = js.fit(FORMULA, decided, family="binomial", engine="pymc", sampling=sampling)
columns = ["term", "estimate", "conf_low", "conf_high"]
beside = {"likelihood": likely.tidy()[columns], "posterior": believed.tidy()[columns]}
pd.concat({k: t.set_index("term") for k, t in beside.items()}, axis=1)

# %% tags=["sampled"]
believed.check()[["level", "what"]].tail(5)

# %% tags=["sampled"]
js.plot.posterior_intervals(believed, variables=["own", "family", "luna", "mini"])

# %% tags=["remove-input", "sampled"]
draws = believed.draws()
chance = 1 / (1 + np.exp(-draws))
Markdown(
    f"Of two answers of equal quality a judge takes its own in {chance['own'].mean():.0%} of cases "
    f"[{chance['own'].quantile(0.025):.0%}, {chance['own'].quantile(0.975):.0%}], and that of its family, against a "
    f"stranger's, in {chance['family'].mean():.0%} [{chance['family'].quantile(0.025):.0%}, "
    f"{chance['family'].quantile(0.975):.0%}]. The probability that both are above one half is "
    f"{((draws['own'] > 0) & (draws['family'] > 0)).mean():.3f}, and that own counts for more than family "
    f"{(draws['own'] > draws['family']).mean():.3f}."
)

# %% [markdown]
# ## Does every judge do it?
#
# `self_preference` estimates the effect for each judge, with no term for family. A judge may like a system for other
# reasons than that it is its own; three judges leave one degree of freedom for such tastes, and wide intervals.

# %%
each = js.models.self_preference(full)
points = each.table.query("term == 'own' and scale == 'percentage points'")
js.plot.forest(points[["judge", *columns]].assign(term="own, percentage points"))

# %% tags=["remove-input"]
differ = each.tests.set_index("question").loc["judges differ"]
most, least = points.loc[points["estimate"].idxmax()], points.loc[points["estimate"].idxmin()]
differing = "They differ" if differ["p_value"] < 0.05 else "Three judges do not show that they differ"
Markdown(
    f"{differing} ({appearance.p_words(differ['p_value'])}). {most['judge']} favours its own most, by "
    f"{most['estimate']:.0f} points [{most['conf_low']:.0f}, {most['conf_high']:.0f}], {least['judge']} least, by "
    f"{least['estimate']:.0f} [{least['conf_low']:.0f}, {least['conf_high']:.0f}]. But a judge that is fond of its "
    "family as well as of itself looks less fond of itself here: the answers of its family are among the others."
)

# %% [markdown]
# ## Does a rubric cure it?
#
# The same judges said of each answer, criterion by criterion, whether it meets the rubric. `own` and `family` mean the
# same as above, now for single answers.

# %%
rubric = js.datasets.load("frontier_self_bias/rubric").astype({"judge": str, "system": str})
mine = rubric["judge"] == rubric["system"]
kin = (rubric["judge"].map(family) == rubric["system"].map(family)) & ~mine
rubric = rubric.assign(met=rubric["correct"].astype(int), own=mine.astype(int), family=kin.astype(int))
RUBRIC = "met ~ judge + system + own + family + (1|item:criterion)"
strict = js.fit(RUBRIC, rubric, family="binomial")
rubric.pivot_table(index="system", columns="judge", values="met")

# %% tags=["sampled"]
graded = js.fit(RUBRIC, rubric, family="binomial", engine="pymc", sampling=sampling)
both = {"pairs": believed.draws(), "rubric": graded.draws()}
each = {f"{t}, {k}": d[t] for k, d in both.items() for t in ("own", "family")}
js.plot.posterior_intervals(both["pairs"][["chain", "draw"]].assign(**each))

# %%
margins = strict.margins().query("variable in ['own', 'family']")
margins[["term", "estimate", "conf_low", "conf_high", "p_value"]]

# %% tags=["remove-input", "sampled"]
by_rubric = graded.draws()
own, kin = (strict.margins().set_index("term").loc[t] for t in ("own", "family"))
Markdown(
    "*Log-odds; the picture compares how a judge chooses with how it grades.* By the rubric a judge's own answer "
    f"meets a criterion {own['estimate']:+.1f} percentage points more often than it would elsewhere "
    f"[{own['conf_low']:.1f}, {own['conf_high']:.1f}], its family's {kin['estimate']:+.1f} [{kin['conf_low']:.1f}, "
    f"{kin['conf_high']:.1f}]. The probability that `own` is smaller by the rubric than in pairs is "
    f"{(by_rubric['own'].to_numpy() < draws['own'].to_numpy()).mean():.3f}. Asked which answer is better, these judges "
    "take their own; asked whether a criterion is met, they do not favour it."
)

# %% [markdown]
# ## What these data cannot show
#
# - *Why.* A judge may prefer its own because it recognises it, or because it writes what it values. Names were hidden;
#   style was not.
# - *Whether the common quality is quality.* It is what the three judges have in common. If all three share a taste, it
#   counts as quality.
# - *Family in general.* One maker has two models here, the other one. `family` is about two judges of one maker.
# - *Ties.* The pair model leaves them out, and one judge ties far more often than the others.
# - *Independence.* Answers of different lengths to one task share the task; the intervals do not know that.

# %% tags=["remove-input"]
appearance.last_line(believed, graded)
