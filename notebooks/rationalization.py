# ---
# jupyter:
#   kernelspec: {name: python3, language: python, display_name: Python 3}
# ---

# %% [markdown]
# # Does a judging protocol protect every judge from labels, and does it do so by abstaining?
# The rationalization paper shows five judges two summaries of equal content, without labels (Blind) and with right
# (Truth), swapped (Flip) or meaningless ones (Placebo), under three protocols: a plain verdict (Baseline), criteria
# first (SCoT), and locked evidence first (PBP). It prints counts of verdicts, but no interval and no test. Here the
# counts get both, judge by judge, and the gain of PBP is split into what it owes to more ties and what it owes to
# other choices.

# %%
import appearance
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from IPython.display import Markdown

import judgestats as js
from judgestats.published.paper_tables import FAVOURED, outcomes
from judgestats.reporting import printed_layout

sampling = appearance.set_up()


# %% [markdown]
# ## The paper's main tables
# Tables II to V hold the counts of verdicts: for the text of the LLM, for the extractive one, and ties. Without
# labels:

# %%
COUNTS, MOVES = ["llm", "tradml", "tie"], ["lds", "ts", "ols"]
printed_layout("rationalization/table2", rows="judge", columns="scheme", values=COUNTS)

# %% [markdown]
# With right labels (Truth):

# %%
printed_layout("rationalization/table3", rows="judge", columns="scheme", values=COUNTS)

# %% [markdown]
# With the labels exchanged (Flip), and with labels that say nothing (Placebo):

# %%
printed_layout("rationalization/table4", rows="judge", columns="scheme", values=COUNTS)

# %%
printed_layout("rationalization/table5", rows="judge", columns="scheme", values=COUNTS)

# %% [markdown]
# Tables VI to VIII hold the movements that should follow from these counts: from Blind to Truth, Flip and Placebo.

# %%
printed_layout("rationalization/table6", rows="judge", columns="scheme", values=MOVES)

# %%
printed_layout("rationalization/table7", rows="judge", columns="scheme", values=MOVES)

# %%
printed_layout("rationalization/table8", rows="judge", columns="scheme", values=MOVES)

# %% tags=["remove-input"]
reproduced = js.published.reproduce("rationalization")
wrong = reproduced[reproduced["verdict"] == "does not follow"]
totals = outcomes().groupby(["judge", "scheme", "probe"])["n"].sum()
usual = totals.mode().iloc[0]
here = wrong["place"].str.fullmatch("Table VI|Table VII|Table VIII")
Markdown(
    f"{len(wrong)} of {len(reproduced)} printed numbers do not follow from the counts, {here.sum()} of them "
    f"movements in Tables VI to VIII, and {(totals != usual).sum()} rows of counts add up to {totals.max():.0f} "
    f"in place of {usual:.0f}. The captions of these tables are about candidates from one LLM, so there may be "
    "counts that were not printed. The analysis below uses the counts."
)

# %%
counts = outcomes()
moved = js.anchoring(counts, favoured=FAVOURED, n_resamples=200)
printed = js.published.load("rationalization/table6").set_index(["judge", "scheme"])["lds"]
lds = moved[(moved["term"] == "lds") & (moved["probe"] == "truth")].set_index(["judge", "scheme"])
beside = lds[["estimate", "conf_low", "conf_high"]].assign(printed=printed).drop("SCoT", level="scheme")
beside.round(3)

# %% [markdown]
# *LDS under Truth, the movement of verdicts towards the labelled favourite, with Newcombe's interval and the figure
# of Table VI. Under Flip the paper defines the favoured side in two ways: in the formulas it is the candidate that now
# has the LLM's label, in the captions the candidate that is the LLM's. All further figures show signed movement, so
# that each reading can be seen.*

# %% [markdown]
# ## A model of the counts
# Each judge under each protocol and probe has three shares: LLM, extractive, tie. Their log-odds are a Blind level
# plus what the probe adds; both vary between judges around the mean of the protocol, so that five judges inform each
# other.

# %% tags=["sampled"]
fit = js.hierarchical.susceptibility(counts, favoured=FAVOURED, sampling=sampling)
fit.check()[["what", "value", "flag"]]

# %%
fit.priors.head(20)

# %% [markdown]
# ## Does PBP help every judge?

# %% tags=["sampled"]
shares = fit.posterior.values["shares"]
judges, schemes, probes, sides = fit.posterior.labels["shares"]
PROBES, COLOURS = ("truth", "flip", "placebo"), {"Baseline": "C0", "SCoT": "C1", "PBP": "C2"}


def share(scheme, probe, side):
    """Draws of a share: chains, draws, judges."""
    return shares[:, :, :, schemes.index(scheme), probes.index(probe), sides.index(side)]


def towards_llm(scheme, probe):
    """Draws of the change from Blind in the share of verdicts for the LLM's summary."""
    return share(scheme, probe, "llm") - share(scheme, "blind", "llm")


def ends(draws):
    """Posterior mean and 95 % interval over chains and draws."""
    return draws.mean((0, 1)), *np.quantile(draws, [0.025, 0.975], axis=(0, 1))


def drawn(ax, draws, place, **style):
    """Points with intervals, one a judge."""
    mean, low, high = ends(draws)
    ax.errorbar(mean, place, xerr=[mean - low, high - mean], fmt="o", ms=4, lw=1.5, **style)


figure, axes = plt.subplots(1, 3, figsize=(10, 3.7), sharey=True, sharex=True, layout="constrained")
for ax, probe in zip(axes, PROBES, strict=True):
    for k, (scheme, colour) in enumerate(COLOURS.items()):
        drawn(ax, towards_llm(scheme, probe), np.arange(len(judges)) + 0.22 * (k - 1), color=colour, label=scheme)
    ax.axvline(0, color="0.6", lw=0.8)
    ax.set(title=probe.capitalize(), yticks=range(len(judges)), yticklabels=judges)
axes[0].invert_yaxis()
axes[1].set_xlabel("change from Blind in the share of verdicts for the LLM's summary (95 % interval)")
_ = figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3, frameon=False)

# %% [markdown]
# *Signed movement. To the right: towards the candidate labelled as the LLM's under Truth and Placebo. Under Flip the
# formulas of the paper count movement to the left as following the label, the captions movement to the right.*


# %% tags=["sampled"]
def helps(probe, sign=1):
    """Posterior probability, judge by judge, that PBP has the smaller LDS than the Baseline."""
    pbp, base = (np.maximum(sign * towards_llm(s, probe), 0) for s in ("PBP", "Baseline"))
    return (pbp < base).mean((0, 1))


def total(scheme, probe):
    """Draws of the total variation between Blind and a probe."""
    return sum(np.abs(share(scheme, probe, o) - share(scheme, "blind", o)) for o in sides) / 2


helped = pd.DataFrame(
    {
        "Truth": helps("truth"),
        "Placebo": helps("placebo"),
        "Flip, captions": helps("flip"),
        "Flip, formulas": helps("flip", -1),
        **{f"{p.capitalize()}, in total": (total("PBP", p) < total("Baseline", p)).mean((0, 1)) for p in PROBES},
    },
    index=list(judges),
)
helped.round(3)

# %% [markdown]
# *Posterior probability that PBP has the smaller LDS than the Baseline, with both readings of Flip; "in total": that
# it moves less whatever the direction (total variation).*


# %% tags=["remove-input", "sampled"]
def sure(p):
    """A probability as words."""
    return "more than 0.99" if p > 0.99 else f"{p:.2f}"


table = fit.tidy()
pbp = table[(table["scheme"] == "PBP") & (table["against"] == "Baseline") & (table["probe"] == "truth")]
pbp = pbp.set_index(["judge", "term"])
all_of_them = pbp.loc[("mean of judges", "probability_helps_all"), "estimate"]
mean, other = (pbp.loc[(j, "lds difference")] for j in ("mean of judges", "another judge"))
another = pbp.loc[("another judge", "probability_helps"), "estimate"]
few = ", ".join(helped.index[helped["Placebo"] < 0.9]) or "no judge"
least = helped.filter(like="in total").to_numpy().min()
scot = table[(table["scheme"] == "SCoT") & (table["against"] == "Baseline") & (table["probe"] == "truth")]
worse = scot.set_index(["judge", "term"])
more = sum(worse.loc[(j, "lds difference"), "conf_low"] > 0 for j in judges)
truth, flip = (towards_llm("Baseline", p).mean() for p in ("truth", "flip"))
same = int(np.all([ends(towards_llm("Baseline", p))[1] > 0 for p in ("truth", "flip")], axis=0).sum())
Markdown(
    f"Under Truth, PBP lowers LDS for every one of the five judges with probability {sure(all_of_them)}; on "
    f"average by {-mean['estimate']:.2f} [{-mean['conf_high']:.2f}, {-mean['conf_low']:.2f}]. For another judge "
    f"from the same population the probability is {another:.2f}: its difference is between "
    f"{other['conf_low']:.2f} and {other['conf_high']:.2f}, because five judges say little about their variance. "
    f"Under Placebo the exception is {few}: where the Baseline judge moves away from the badge, its LDS is zero "
    "and nothing can be smaller. In total movement, whatever its direction, the smallest probability is "
    f"{sure(least)}. SCoT does not share this: its LDS is above the Baseline's for {more} of {len(judges)} "
    "judges, with intervals that exclude zero.\n\n"
    "Flip is a separate puzzle. Its labels are swapped, so a judge that follows labels should mirror Truth. "
    f"Yet the Baseline moves {same} of {len(judges)} judges to the same side under both, by {truth:.2f} and "
    f"{flip:.2f} on average. Either the captions say what was shown, or it is not the content of the label that "
    "moves these judges; the counts cannot tell. By the formulas the Baseline's LDS under Flip is zero "
    "throughout, and PBP has nothing to improve."
)

# %% [markdown]
# ## Is the gain due to abstaining?
# A tie cannot follow a label. So a protocol may lower LDS by *abstaining* (fewer verdicts take a side) or by
# *choosing* (those that take a side favour the label less). Each is tried alone: PBP's ties with the Baseline's
# choices, and the reverse.


# %% tags=["sampled"]
def sided(scheme, probe):
    """Draws of the share of verdicts that take a side."""
    return 1 - share(scheme, probe, "tie")


def shift(ties, choices, probe="truth"):
    """Movement towards the LLM with the ties of one protocol and the choices of another."""
    after, before = (sided(ties, p) * share(choices, p, "llm") / sided(choices, p) for p in (probe, "blind"))
    return after - before


tried = {
    "Baseline": ("Baseline", "Baseline"),
    "PBP's ties, Baseline's choosing": ("PBP", "Baseline"),
    "Baseline's ties, PBP's choosing": ("Baseline", "PBP"),
    "PBP": ("PBP", "PBP"),
}
figure, ax = plt.subplots(figsize=(7.5, 4), layout="constrained")
for k, (label, (ties, choices)) in enumerate(tried.items()):
    drawn(ax, shift(ties, choices), np.arange(len(judges)) + 0.18 * (k - 1.5), color=f"C{(0, 3, 4, 2)[k]}", label=label)
ax.axvline(0, color="0.6", lw=0.8)
ax.set(yticks=range(len(judges)), yticklabels=judges, xlabel="movement towards the label under Truth (95 % interval)")
ax.invert_yaxis()
_ = figure.legend(loc="outside upper center", ncols=2, frameon=False)

# %% tags=["remove-input", "sampled"]
only_ties, only_choices = ends(shift("PBP", "Baseline")), ends(shift("Baseline", "PBP"))
baseline = ends(shift("Baseline", "Baseline"))[0]
Markdown(
    f"*Of a Baseline movement of {baseline.min():.2f} to {baseline.max():.2f}, PBP's ties alone would leave "
    f"{only_ties[0].min():.2f} to {only_ties[0].max():.2f}. PBP's choosing alone would leave about "
    f"{only_choices[0].mean():.2f}, with intervals from {only_choices[1].min():.2f} to "
    f"{only_choices[2].max():.2f}: few verdicts take a side under PBP, so their direction is less certain.*"
)


# %% tags=["sampled"]
def cell(row):
    """An estimate with its interval, as text."""
    return f"{row['estimate']:.2f} [{row['conf_low']:.2f}, {row['conf_high']:.2f}]"


both = pd.concat([pbp, worse]).reset_index()
both = both[both["term"].isin(["by_abstaining", "by_choosing"])]
both = both.assign(text=both.apply(cell, axis=1)).pivot_table(
    index="judge", columns=["scheme", "term"], values="text", aggfunc="first", sort=False
)
both.head(6)

# %% tags=["remove-input", "sampled"]
part = {t: pbp.loc[("mean of judges", t)] for t in ("by_abstaining", "by_choosing")}
bought = pbp.loc[("mean of judges", "probability_bought"), "estimate"]
freed = worse.loc[("mean of judges", "by_abstaining")]
tie = {p: share("SCoT", p, "tie").mean() for p in ("blind", "truth")}
Markdown(
    "*What each protocol changes in the movement under Truth, against the Baseline, split into two parts that "
    "add up (averages over the order in which they are changed).*\n\n"
    "Either part alone would produce most of the gain. Split evenly between the orders, "
    f"abstaining makes {cell(part['by_abstaining'])} of the mean difference and choosing "
    f"{cell(part['by_choosing'])}; abstaining is the larger part with probability {bought:.2f}. Under SCoT it "
    f"works the other way: without labels {100 * tie['blind']:.0f} % of the verdicts are ties, with Truth labels "
    f"{100 * tie['truth']:.0f} %, so the label leads to choices instead of ties, and this part alone adds "
    f"{cell(freed)}."
)

# %% [markdown]
# ## What these data cannot show

# %% tags=["remove-input", "sampled"]
people = js.published.load("rationalization/human_check")
tied = " and ".join(f"{t} of {n}" for t, n in zip(people["tie"], people["items"], strict=True))
blind = {s: share(s, "blind", "tie").mean((0, 1)) for s in ("PBP", "Baseline")}
extractive = js.published.load("rationalization/table9")
Markdown(
    f"- *Whether abstaining is a price.* The pairs are of equal content: two annotators called {tied} sampled "
    f"pairs a tie, so PBP's {100 * blind['PBP'].min():.0f} to {100 * blind['PBP'].max():.0f} % of ties may be "
    "the right answer. It would be a price if PBP also tied where one text is better. The only unequal pairs, "
    f"LLM against extractive summaries (Table IX, {len(extractive)} rows), are printed without a tie column, "
    "probe or protocol.\n"
    "- *Whether PBP's verdicts that take a side resist labels on the same items.* They are few, and chosen: "
    "those on which PBP saw a difference. That they favour the label less may be due to the protocol or to the "
    "selection.\n"
    "- *Changes of single verdicts.* Only margins are printed: items that moved in opposite directions cancel. "
    "The model takes the counts of a probe and of Blind as independent although the items are the same, so the "
    "intervals are too wide rather than too narrow.\n"
    f"- *Other judges.* There are {len(judges)} small open judges; the prior on their variance affects 'another "
    "judge'.\n"
    "- *Ties of the Baseline.* None was counted; the estimate of their share depends on the prior (flagged "
    "`prior-driven`). Nothing above depends on it.\n"
    "- *Explanations.* Drift and alignment of rationales are printed without their denominators and are not "
    "modelled."
)

# %% tags=["remove-input"]
appearance.last_line(fit)
