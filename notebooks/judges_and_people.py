# ---
# jupyter:
#   kernelspec: {name: python3, language: python, display_name: Python 3}
# ---

# %% [markdown]
# # Judges and people: do they agree, may a judge replace a person, and what do its verdicts say about the systems?
#
# Two judges and three people compared the same pairs of answers. We put both into one frame, compare the judges'
# agreement with people with that among people, test whether a judge may replace a person, and ask what happens if one
# judge takes the place of the other. Then we use one judge: we rank the systems, correct a win rate for the judge's
# errors with the labels of a person on some pairs, and plan how many labels the next study needs.

# %%
import os
from pathlib import Path

import appearance
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from IPython.display import Markdown, display

import judgestats as js

appearance.set_up()

# %matplotlib inline
pd.set_option("display.max_colwidth", None)
DATA = Path(os.environ.get("JUDGESTATS_REAL_DATA", "")) / "pandalm"
REAL = "JUDGESTATS_REAL_DATA" in os.environ and DATA.is_dir()
PEOPLE = ["annotator1", "annotator2", "annotator3"]

# %% tags=["remove-input"]
display(
    Markdown(
        "**Real verdicts:** the test set of PandaLM (`WeOpenML/PandaLM`). Each pair of answers to an instruction was "
        "compared by three annotators and by two judges, gpt-3.5-turbo and PandaLM-7B, in one order; ties were allowed."
        if REAL
        else "**Simulated verdicts:** `JUDGESTATS_REAL_DATA` names no folder with PandaLM's verdicts, so three people "
        "and two judges with known properties compare pairs of answers; ties are allowed."
    )
)


# %% tags=["remove-input"]
def simulated():
    """Verdicts of two judges and three people whose properties are known: verdicts, and labels of people."""
    rng = np.random.default_rng(5)
    systems = ["bloom-7b", "llama-7b", "opt-7b", "pythia-6.9b"]
    plan = pd.DataFrame([rng.choice(4, 2, replace=False) for _ in range(400)], columns=["one", "two"])
    plan["item"] = [f"pair {i:03d}" for i in range(400)]
    plan["first"], plan["second"] = (np.array(systems)[plan.pop(c)] for c in ("one", "two"))
    worth = {"llama-7b": 0.9, "bloom-7b": 0.4, "pythia-6.9b": 0.0, "opt-7b": -0.4}
    gap = plan["first"].map(worth) - plan["second"].map(worth)
    plan["better"] = plan["first"].where(rng.random(400) < 1 / (1 + np.exp(-gap)), plan["second"])
    common = {"stable_preference": 0.3, "item_difficulty": 0.6, "tie_criterion": 0.3}
    everyone = [js.design.Judge(name, sensitivity=2.5, **common) for name in PEOPLE]
    everyone += [
        js.design.Judge("earlier judge", sensitivity=1.6, **common),
        js.design.Judge("later judge", sensitivity=1.6, **{**common, "tie_criterion": 0.8}),
    ]
    calls = js.design.simulate(plan, everyone, seed=6)
    calls = calls[["judge", "item", "first", "second", "choice"]]
    person = calls["judge"].isin(PEOPLE)
    return calls[~person], calls[person].rename(columns={"item": "pair", "judge": "who"})


def pandalm():
    """Verdicts of the two judges, and the labels of the people as a table of their own."""
    table = pd.read_csv(DATA / "verdicts.csv")
    words = {"1": "first", "2": "second", "0": "tie", "Tie": "tie"}
    sides = []
    for raters in (["gpt_3_5_turbo", "pandalm_7b"], PEOPLE):
        long = table.melt(["idx", "model_1", "model_2"], raters, var_name="judge", value_name="choice")
        choice = long["choice"].astype(str).map(words).fillna("invalid")
        sides.append(
            long.rename(columns={"model_1": "first", "model_2": "second"})
            .assign(item=long["idx"].astype(str), choice=choice)
            .drop(columns="idx")
        )
    return sides[0], sides[1].rename(columns={"item": "pair", "judge": "who"})


# %% [markdown]
# ## Joining labels
# The people's labels are in a table of their own. `join_labels` matches them with the verdicts by pair, marks them as
# human, and accounts for every row.

# %%
verdicts, labels = pandalm() if REAL else simulated()
calls = js.join_labels(
    js.preferences(verdicts), labels, on={"item": "pair"}, columns={"judge": "who", "choice": "choice"}
)
OLD, NEW = sorted(verdicts["judge"].unique())
account = js.check(calls).set_index("what")
display(account[["level", "n"]])

# %% [markdown]
# ## Do the judges agree with people as people agree with each other?
# The band is the agreement of people with each other; the dashed line is a judge that always gives the same answer.

# %%
agreement = js.judge_against_people(calls, humans="rater_type=human")
axes = js.plot.people_agreement(agreement)
display(axes[0].figure)
plt.close("all")
display(agreement.loc[agreement["term"] == "base_rate", ["answer", "estimate", "conf_low", "conf_high"]].round(3))

# %% tags=["remove-input"]
shares = agreement[agreement["term"] == "agreement"].set_index("role")["estimate"]
gaps = agreement[agreement["term"] == "agreement_difference"].set_index("judge")
below = gaps.index[gaps["conf_high"] < 0]
display(
    Markdown(
        f"*95 % intervals, clustered by pair.* Two people give the same answer in {shares['people']:.0%} of the pairs. "
        + " ".join(
            f"For {judge} and a person it is {abs(100 * row['estimate']):.0f} points "
            f"{'lower' if row['estimate'] < 0 else 'higher'} "
            f"[{100 * row['conf_low']:.0f}, {100 * row['conf_high']:.0f}]."
            for judge, row in gaps.iterrows()
        )
        + (
            f" Below the agreement of people: {', '.join(below)}."
            if len(below)
            else " Neither is shown to be below the agreement of people."
        )
    )
)

# %% [markdown]
# ## May a judge replace a person?
# The alternative annotator test leaves each person out in turn and compares judge and person by their agreement with
# the others. The judge may be worse by `epsilon`, which we have to choose; the value below is the
# one that its authors suggest for skilled annotators.

# %%
test = js.alternative_annotator_test(calls, humans="rater_type=human", epsilon=0.15)
whole = test[test["annotator"].isna()]
display(whole[["judge", "term", "estimate", "conf_low", "conf_high", "passed"]].round(3))
each = test[test["term"] == "difference"]
ax = js.plot.forest(each[["judge", "annotator", "term", "estimate", "conf_low", "conf_high"]])
display(ax.figure)
plt.close("all")
display(each[["judge", "annotator", "estimate", "conf_low", "conf_high", "p_adjusted", "passed"]].round(3))

# %% tags=["remove-input"]
rates = whole[whole["term"] == "winning_rate"].set_index("judge")
passing = [judge for judge, row in rates.iterrows() if row["passed"]]
display(
    Markdown(
        (f"{' and '.join(passing)} may replace a person by this test." if passing else "Neither judge passes.")
        + " A person is as close to the others as the judge more often than the judge is, by "
        f"{each['estimate'].min():.2f} to {each['estimate'].max():.2f}. A judge that does not pass may still be "
        "useful: as one vote among several, or to rank systems."
    )
)

# %% [markdown]
# ## What if one judge takes the place of the other?
# A new version, another prompt or another model: the question is the same. How many verdicts flip, does agreement with
# people change, and is a change one of the criterion (more or fewer ties) or of what the judge can see?

# %%
person = calls["rater_type"] == "human"
old, new = (calls[person | (calls["judge"] == judge)] for judge in (OLD, NEW))
change = js.compare_versions(old, new, humans="rater_type=human")
display(change[["term", "stimulus", "estimate", "conf_low", "conf_high", "flag"]].round(3))

# %% tags=["remove-input"]
rows = change.set_index(["term", "stimulus"])
flips, moved = rows.loc[("flips", "")], rows.loc[("agreement_change", "")]
ties = change[change["term"] == "criterion_shift"].set_index("stimulus")["estimate"]
sure = moved["conf_low"] > 0 or moved["conf_high"] < 0
display(
    Markdown(
        f"From {OLD} to {NEW} {flips['estimate']:.0%} of the verdicts flip. Nothing was asked twice, so we do not know "
        f"how much of this is noise. Agreement with people changes by {100 * moved['estimate']:+.1f} points "
        f"[{100 * moved['conf_low']:.1f}, {100 * moved['conf_high']:.1f}]"
        + (", a change beyond chance." if sure else ", which may be chance.")
        + " The tie rate shifts by "
        + ", ".join(f"{100 * value:+.0f} points where {name}" for name, value in ties.items())
        + "."
    )
)

# %% [markdown]
# ## Which system is better?
# Strengths of the systems by the Bradley-Terry model, from the verdicts of one judge. The ranks on the right hold for
# all systems at once: a system may have any rank on its line.

# %%
ranking = js.rank_systems(calls[calls["judge"] == NEW])
axes = js.plot.rank_sets(ranking)
display(axes[0].figure)
plt.close("all")
ranks = ranking[ranking["term"] == "rank"].set_index("system")
display(ranks[["estimate", "conf_low", "conf_high", "n"]])

# %% tags=["remove-input"]
BEST = ranks["estimate"].idxmin()
first = ranks.index[ranks["conf_low"] == 1]
display(
    Markdown(
        f"{BEST} has the first place. "
        + (
            "No other system may have it."
            if len(first) == 1
            else f"It is not certain: {', '.join(s for s in first if s != BEST)} may have it too."
        )
    )
)

# %% [markdown]
# ## How often does the best system win, by the standard of a person?
# The judge's win rate contains the judge's errors. Suppose we had the labels of one person on a random sample of the
# pairs only. `corrected_rate` combines all verdicts with these labels; how the pairs were drawn has to be stated. The
# first row is the corrected rate; below it are what the judge says and what the labels alone say.

# %%
person = calls[calls["judge"] == "annotator1"]
content = person["first"].where(person["choice"] == "first", person["second"])
labels_of = pd.Series(np.where(person["choice"] == "tie", "tie", content), person["item"])
drawn = np.random.default_rng(1).choice(sorted(labels_of.index), 150, replace=False)
pairs = calls[calls["judge"] == NEW]
pairs = pairs.assign(gold=pairs["item"].map(labels_of[labels_of.index.isin(drawn)]))
pairs = pairs[(pairs["first"] == BEST) | (pairs["second"] == BEST)]
corrected = js.corrected_rate(pairs, candidate=BEST, sampling="random")
display(corrected[["term", "estimate", "conf_low", "conf_high", "n", "n_labels", "flag"]].round(3))

# %% tags=["remove-input"]
by_term = corrected.set_index("term")
full = labels_of[pairs["item"]]
share = np.where(full == "tie", 0.5, full == BEST).mean()
row = by_term.loc["corrected_rate"]
display(
    Markdown(
        f"By the judge {BEST} wins {by_term.loc['apparent_rate', 'estimate']:.0%} of its pairs, corrected "
        f"{row['estimate']:.0%} [{row['conf_low']:.0%}, {row['conf_high']:.0%}] (a tie is half a win). Here we know "
        f"the answer: with this person's labels on all of these pairs it is {share:.0%}."
    )
)

# %% [markdown]
# ## How many labels does the next study need?
# The labels that we have are a pilot. With the prices of a verdict and of a label, and the half-width that we want
# (`precision`), `label_plan` returns the numbers of verdicts and labels that cost least.

# %%
needed = js.design.label_plan(
    pairs, candidate=BEST, sampling="random", precision=0.05, prices={"verdict": 0.01, "label": 1}
)
display(needed[["n", "m", "cost", "labels_alone", "predicted_half_width", "simulated_half_width", "flag"]].round(3))

# %% [markdown]
# ## What these data cannot show
# Each pair was shown in one order, so position bias is part of every number. No call was repeated: flips cannot be
# separated from noise. And the three people are taken as they are: another three might agree more, or less.
