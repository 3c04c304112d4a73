# ---
# jupyter:
#   kernelspec: {name: python3, language: python, display_name: Python 3}
# ---

# %% [markdown]
# # Are two judges self-critical, and does hiding the names help?
#
# Five models rated the merchant-risk rationales of the same five models, once with the authors named and once with the
# names hidden. The paper compares each judge's score of its own rationale with the mean of the other judges' scores of
# it: two judges come out below their peers, which it reads as self-criticism, and the distance shrinks when the names
# are hidden, which it reads as attenuation.
#
# A judge that is stricter with everybody is also below its peers on its own work. This page first recomputes the
# paper's figures, then separates severity from self-preference, and quantifies the uncertainty of both readings.

# %%
import itertools

import appearance
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from IPython.display import Markdown

import judgestats as js
from judgestats.published.paper_tables import MODELS, panel, scores
from judgestats.reporting import printed_layout

sampling = appearance.set_up()

MODEL_OF = {name: model for model, others in MODELS.items() for name in (model, *others)}
BASE, AGAINST = "attributed", "anonymized"

# %% [markdown]
# ## The paper's main tables
#
# Tables 1 to 10 are alike: the scores that one judge gave, under one condition. Tables 1 to 5, with the authors named:
# GPT-5.1, Gemini 2.5 Pro, Grok 4, Claude 4.5 Sonnet and Perplexity Sonar.

# %%
SCORES = {"rows": "system", "columns": "criterion", "values": ["mean", "sd"]}
printed_layout("merchant_risk/table1", **SCORES)

# %%
printed_layout("merchant_risk/table2", **SCORES)

# %%
printed_layout("merchant_risk/table3", **SCORES)

# %%
printed_layout("merchant_risk/table4", **SCORES)

# %%
printed_layout("merchant_risk/table5", **SCORES)

# %% [markdown]
# Tables 6 to 10, of the same judges with the names hidden:

# %%
printed_layout("merchant_risk/table6", **SCORES)

# %%
printed_layout("merchant_risk/table7", **SCORES)

# %%
printed_layout("merchant_risk/table8", **SCORES)

# %%
printed_layout("merchant_risk/table9", **SCORES)

# %%
printed_layout("merchant_risk/table10", **SCORES)

# %% [markdown]
# The deviations of each judge's score of its own rationale from its peers' mean, and how much smaller they are when the
# names are hidden:

# %%
printed_layout("merchant_risk/self_bias", rows="system", columns="condition", values="bias")

# %%
printed_layout("merchant_risk/attenuation", rows="system", values="attenuation_percent")

# %% [markdown]
# What does not follow, in all tables and the text:

# %%
reproduced = js.published.reproduce("merchant_risk")
astray = reproduced[reproduced["verdict"] == "does not follow"]
astray[["place", "quantity", "printed", "shown"]].rename(columns={"shown": "recomputed"}).reset_index(drop=True)

# %% tags=["remove-input"]
counted = ", ".join(f"{k} {v}" for k, v in reproduced["verdict"].value_counts().items())
Markdown(
    f"{len(reproduced)} printed numbers by verdict: {counted}. Those that do not follow are above; the final "
    "scores among them are used below as they are printed."
)

# %% [markdown]
# The two figures that the paper rests on are each judge's deviation on its own rationale, and how much smaller it is
# when the names are hidden. Both follow from the final scores.

# %%
table = scores()  # Tables 1 to 10: mean and sd of ten runs per judge, system and condition
deviations = js.consensus_deviation(table, by="condition")
own = deviations[(deviations["term"] == "deviation") & deviations["own"].eq(True)]
printed = js.published.load("merchant_risk/self_bias")
printed = printed.assign(judge=printed["system"].map(MODEL_OF)).pivot(index="judge", columns="condition", values="bias")
recomputed = own.pivot(index="judge", columns="condition", values="estimate")
faded = js.published.load("merchant_risk/attenuation").set_index("system")["attenuation_percent"]
rounded, unrounded = (js.blinding_effect(table, round_first=digits) for digits in (2, None))
each = [t[t["term"] == "attenuation"].set_index("judge")["estimate"] for t in (rounded, unrounded)]
beside = pd.concat(
    [printed[BASE], recomputed[BASE], printed[AGAINST], recomputed[AGAINST], faded.rename(MODEL_OF), *each],
    axis=1,
    keys=[
        *itertools.product((BASE, AGAINST), ("printed", "here")),
        *itertools.product(["attenuation, %"], ("printed", "rounded first", "unrounded")),
    ],
).loc[list(MODELS)]
beside.round({c: 1 for c in beside if c[0].endswith("%")})

# %% tags=["remove-input"]
overall = unrounded.set_index("term").loc["mean_attenuation"]
critical = printed.index[(printed < 0).all(axis=1)].tolist()
Markdown(
    f"The printed mean attenuation of {faded['mean']:z.1f} % comes from deviations "
    f"rounded to two decimals; without the rounding it is {overall['estimate']:z.1f} %, and with nothing but the "
    f"spread of the ten runs taken into account its interval is {overall['conf_low']:z.0f} % to "
    f"{overall['conf_high']:z.0f} %. Below their peers under both conditions: {' and '.join(critical)}."
)

# %% [markdown]
# ## Separating leniency, by subtraction
#
# A judge's scores for others show how lenient it is. Its deviation on its own work minus its mean deviation on the
# others' (its leniency, `mean_others`) is its *self-excess*; it needs no model.

# %%
parts = deviations[deviations["term"].isin(["mean_own", "mean_others", "self_excess"])]
parts = parts.pivot_table(index="judge", columns=["condition", "term"], values="estimate", sort=False)
parts = parts.reindex(columns=pd.MultiIndex.from_product([[BASE, AGAINST], ["mean_own", "mean_others", "self_excess"]]))
parts.round(2) + 0.0

# %% tags=["remove-input"]
figure, axes = plt.subplots(1, 2, figsize=(9, 3), sharey=True, layout="constrained")
for ax, term, title in zip(
    axes,
    ("mean_own", "self_excess"),
    ("own work against peers (the paper)", "the same, leniency subtracted"),
    strict=True,
):
    ax.axvline(0, color="0.7", lw=1)
    for height, judge in enumerate(parts.index):
        a, b = parts.loc[judge, (BASE, term)], parts.loc[judge, (AGAINST, term)]
        ax.annotate("", (b, height), (a, height), arrowprops={"arrowstyle": "->", "color": "0.5"})
        ax.plot(a, height, "o", color="C0", label="names shown" if height == 0 else None)
        ax.plot(b, height, "o", mfc="white", color="C0", label="names hidden" if height == 0 else None)
    ax.set(title=title, xlabel="score points", yticks=range(len(parts)), yticklabels=parts.index)
_ = axes[0].legend(loc="lower right", fontsize=8)

# %% tags=["remove-input"]
size = parts.abs().mean()
grown = [
    j for j in parts.index if abs(parts.loc[j, (AGAINST, "self_excess")]) > abs(parts.loc[j, (BASE, "self_excess")])
]
size_own, size_excess = ([size[(c, term)] for c in (BASE, AGAINST)] for term in ("mean_own", "self_excess"))
Markdown(
    f"*From named (filled) to hidden (open).* The mean size of the deviation goes from {size_own[0]:z.2f} to "
    f"{size_own[1]:z.2f} score points; that of the self-excess from {size_excess[0]:z.2f} to {size_excess[1]:z.2f}."
    f" With leniency subtracted it is larger with the names hidden for {len(grown)} of {len(parts)} judges "
    f"({', '.join(grown)}): part of what looks like attenuation is judges that became more or less strict with "
    "everybody."
)

# %% [markdown]
# The scores of *other* models' work moved, too. Had any five pairs been singled out, one per judge and one per system,
# would their deviations have shrunk as much as the five own ones did?

# %%
pairs = deviations[deviations["term"] == "deviation"]
moved = pairs.pivot_table(index=["judge", "system"], columns="condition", values="estimate")
shrunk = (moved[BASE].abs() - moved[AGAINST].abs()).unstack()
shrunk = shrunk[shrunk.index]  # a judge and its own work on the diagonal
others = [shrunk.to_numpy()[range(5), order].mean() for order in itertools.permutations(range(5))]
observed = float(np.trace(shrunk) / 5)

# %% tags=["remove-input"]
change = (moved[AGAINST] - moved[BASE]).reset_index(name="change").assign(own=lambda t: t["judge"] == t["system"])
root = (change["change"] ** 2).groupby(change["own"]).mean() ** 0.5
share = np.mean(np.array(others) >= observed - 1e-12)
Markdown(
    f"The five own deviations shrank by {observed:z.2f} points on average. Of the {len(others)} ways to pair each "
    f"judge with one system, {100 * share:z.0f} % shrank by as much or more. Hiding the names moved the deviations "
    f"on others' work by {root[False]:z.2f} points (root mean square), on own work by {root[True]:z.2f}."
)

# %% [markdown]
# ## Separating severity, by a model
#
# A mean score is taken as the sum of an overall level, the judge's leniency, the system's quality, the judge's *taste*
# for this very system, self-preference, and noise known from the runs. Each part may change with the condition. The
# panel of people enters as one more judge that has no system of its own. The names of judges and systems agree here;
# where they do not, `identity=` maps them.
#
# Taste is necessary: judges differ by more than noise on systems that are not theirs, so part of the difference
# on their own is taste as well.

# %% tags=["sampled"]
fit = js.hierarchical.severity(table, reference=panel(), sampling=sampling)
fit.check()[["what", "value", "flag"]].head(12)

# %%
fit.priors.head(20)

# %% [markdown]
# Two quantities answer two questions. `own_excess` is what the judge gave its own rationale beyond its severity and the
# rationale's quality, taste included: what it *did*. `self_preference` excludes taste: what it would do with
# *another* rationale of its own. With one own rationale per judge the second is known much less well.
#
# ## Is a judge self-critical, and how certain is that?

# %% tags=["sampled"]
tidy = fit.tidy().assign(below=lambda t: 1 - t["probability"])
selves = tidy[tidy["term"].isin(["own_excess", "self_preference"])]
below = selves.pivot_table(index="judge", columns=["term", "condition"], values="below")
below = below.loc[list(MODELS), list(itertools.product(("own_excess", "self_preference"), (BASE, AGAINST)))]
below.round(2)

# %% tags=["remove-input", "sampled"]
figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True, layout="constrained")
judges = list(MODELS)
for ax, term in zip(axes, ("own_excess", "self_preference"), strict=True):
    ax.axvline(0, color="0.7", lw=1)
    for shift, condition, face in ((0.12, BASE, "C0"), (-0.12, AGAINST, "white")):
        rows = selves[(selves["term"] == term) & (selves["condition"] == condition)].set_index("judge").loc[judges]
        height = np.arange(len(judges)) + shift
        ax.hlines(height, rows["conf_low"], rows["conf_high"], color="C0")
        ax.plot(rows["estimate"], height, "o", mfc=face, color="C0", label=f"posterior, {condition}")
        if term == "own_excess":
            raw = own[own["condition"] == condition].set_index("judge").loc[judges, "estimate"]
            ax.plot(raw, height, "x", color="C3", label="deviation of the paper" if condition == BASE else None)
    ax.set(title=term, xlabel="score points", yticks=range(len(judges)), yticklabels=judges)
_ = axes[0].legend(fontsize=7, loc="lower right")


# %% tags=["remove-input", "sampled"]
def chance(term, judge, condition):
    """Posterior probability of a value below zero."""
    return float(selves.set_index(["term", "judge", "condition"]).loc[(term, judge, condition), "below"])


def words(p):
    """A probability in words."""
    steps = ((0.95, "all but sure"), (0.8, "likely"), (0.6, "somewhat more likely than not"), (0.4, "open"))
    return next((word for least, word in steps if p >= least), "unlikely")


told = [
    f"**{j}**: what it did, {words(chance('own_excess', j, BASE))} to be below zero with names shown "
    f"({chance('own_excess', j, BASE):z.2f}; hidden {chance('own_excess', j, AGAINST):z.2f}); what it would do again, "
    f"{words(chance('self_preference', j, BASE))} ({chance('self_preference', j, BASE):z.2f}; hidden "
    f"{chance('self_preference', j, AGAINST):z.2f})."
    for j in critical
]
sure = [j for j in judges if max(chance("own_excess", j, c) for c in (BASE, AGAINST)) < 0.025]
Markdown(
    "*Posterior means with 95 % intervals; crosses are the paper's deviations, which include severity.*\n\n"
    "Probability of self-criticism, given severity:\n\n"
    + "\n".join(f"- {line}" for line in told)
    + f"\n\nThe other direction: {' and '.join(sure) or 'no judge'} gave the own work more than severity and "
    "quality explain, under both conditions, almost certainly."
)

# %% [markdown]
# ## Does hiding the names attenuate?
#
# Attenuation here is the size of a judge's value with names shown minus its size with names hidden, in score points;
# nothing is clipped at zero. It depends on one assumption. If tastes may change between conditions, then a change on
# own work may be such a change of taste. If tastes are held fixed, every change on own work counts as a change of
# self-preference. The paper's reading needs the second; the data show which is closer to the truth, because most pairs
# are not own pairs.

# %% tags=["sampled"]
fixed = js.hierarchical.severity(table, reference=panel(), priors={"taste_shift": 0.001}, sampling=sampling)
readings = {"tastes may change": fit, "tastes held fixed": fixed}
means = pd.concat(
    {
        name: found.tidy().set_index("term").loc[["mean_excess_attenuation", "mean_attenuation"]]
        for name, found in readings.items()
    },
    names=["reading"],
)[["estimate", "conf_low", "conf_high", "probability"]]

# %% tags=["remove-input", "sampled"]
figure, ax = plt.subplots(figsize=(7, 3), layout="constrained")
for (name, found), style in zip(readings.items(), ("-", "--"), strict=True):
    values = found.posterior.flat("own_excess")
    at = {c: found.posterior.labels["own_excess"][0].index(c) for c in (BASE, AGAINST)}
    mean = (np.abs(values[:, at[BASE]]) - np.abs(values[:, at[AGAINST]])).mean(axis=1)
    ax.hist(mean, bins=np.linspace(-0.3, 0.3, 61), density=True, histtype="step", ls=style, label=name)
ax.axvline(0, color="0.7", lw=1)
ax.axvline(observed, color="C3", label="of the paper's deviations")
ax.set(xlabel="mean attenuation of the own excess, score points", ylabel="posterior density")
_ = ax.legend(fontsize=8)

# %% tags=["remove-input", "sampled"]
spread = fit.tidy().set_index("term").loc["sd_taste_shift"]
covers = (means["conf_low"] < 0) & (means["conf_high"] > 0)
noise = float(np.sqrt((table["sd"] ** 2 / table["runs"]).mean()))


def said(reading, term):
    """Estimate, interval and the probability of attenuation."""
    r = means.loc[(reading, term)]
    return f"{r['estimate']:z.2f} ({r['conf_low']:z.2f} to {r['conf_high']:z.2f}), probability {r['probability']:z.2f}"


Markdown(
    "*Posterior of the mean attenuation under both readings; the line is what the paper's deviations give.*\n\n"
    "| | tastes may change | tastes held fixed |\n|---|---|---|\n"
    + "\n".join(
        f"| {what} | {said('tastes may change', term)} | {said('tastes held fixed', term)} |"
        for what, term in (
            ("of what the judges did", "mean_excess_attenuation"),
            ("of what they would do again", "mean_attenuation"),
        )
    )
    + f"\n\nThe sd of the change of tastes is {spread['estimate']:z.2f} ({spread['conf_low']:z.2f} to "
    f"{spread['conf_high']:z.2f}), against {noise:z.2f} points of noise in a mean score. "
    + ("All intervals above include zero" if covers.all() else "Not every interval above includes zero")
    + f", and {(means['conf_high'] > observed).sum()} of {len(means)} reach the {observed:z.2f} points by which "
    "the paper's deviations shrank: "
    + ("attenuation is neither shown nor ruled out" if covers.all() else "the reading decides")
    + (". Holding tastes fixed does not bring it back" if covers["tastes held fixed"].all() else "")
    + "."
)

# %% [markdown]
# ## Sensitivity to the prior
#
# Five judges say little about the sd of self-preference, so the analysis is repeated with all its priors, and those of
# taste, doubled and halved.

# %% tags=["sampled"]
names = ("taste", "taste_shift", "self", "self_shift", "mean_self", "mean_self_shift")
scale = fit.priors.set_index("parameter")["prior"].str.extract(r"\(([\d.]+)\)")[0].astype(float)
answers = {"default": tidy}
for label, factor in (("doubled", 2.0), ("halved", 0.5)):
    wider = {name: factor * scale[name] for name in names}
    answers[label] = js.hierarchical.severity(table, reference=panel(), priors=wider, sampling=sampling).tidy()
rows = {}
for label, found in answers.items():
    excess = found[(found["term"] == "own_excess") & (found["condition"] == BASE)].set_index("judge")["probability"]
    mean = found.set_index("term").loc["mean_excess_attenuation"]
    rows[label] = {
        **{f"P({j} below 0, named)": 1 - excess[j] for j in critical},
        "mean attenuation": mean["estimate"],
        "from": mean["conf_low"],
        "to": mean["conf_high"],
    }
pd.DataFrame(rows).T.round(2) + 0.0

# %% [markdown]
# ## What these data cannot show
#
# - Each judge has one text of its own, a set of rationales, rated under both conditions. Taste for that text and
#   preference for oneself are separated only by the prior and by the other pairs; with many own texts per judge the
#   data would separate them.
# - The noise is that of repeated runs on the same text. How the scores would vary over other merchants is not printed.
# - Self-excess is relative to five models that may share a taste. The panel of people is one more judge in the model;
#   its means are printed without a condition.
# - The posterior predictive check draws new tastes, so it cannot distinguish fixed from changing tastes: the sd of
#   their change does.
# - That attenuation is not shown does not mean that there is none: five judges with one item each are little evidence.

# %% tags=["remove-input"]
appearance.last_line(fit, fixed)
