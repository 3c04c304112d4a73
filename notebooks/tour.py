# ---
# jupyter:
#   kernelspec: {name: python3, language: python, display_name: Python 3}
# ---

# %% [markdown]
# # A tour: how good are four judges, compared with their peers, with people and with known outcomes?
#
# We read and check a file of verdicts, then ask three questions about each judge that are easily confused. Does it
# agree with the other judges? Does it agree with people? Is it right? Before that comes a question that needs no
# reference: does the judge give the same verdict when the two outputs change places?

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
DATA = Path(os.environ.get("JUDGESTATS_REAL_DATA", "")) / "llmbar"
REAL = "JUDGESTATS_REAL_DATA" in os.environ and DATA.is_dir()
SETS = ["people", "outcome", "outcome, adversarial"]

# %% tags=["remove-input"]
display(
    Markdown(
        "**Real verdicts:** LLMBar (`princeton-nlp/LLMBar`). Four LLM judges were asked which of two outputs is "
        "better, every pair in both orders, no ties. Three kinds of pairs: *people*, pairs of FairEval, LLMEval² and "
        "MT-Bench labelled by people's preference (ties excluded); *outcome*, pairs of which one output follows "
        "the instruction and the other does not; and *outcome, adversarial*, of which the worse output was also chosen "
        "or made to look better."
        if REAL
        else "**Simulated judges:** `JUDGESTATS_REAL_DATA` names no folder with LLMBar's verdicts, so four judges with "
        "known properties answer, every pair in both orders, no ties. Three kinds of pairs: *people*, whose label is "
        "the majority of three simulated people; *outcome*, whose better output is known; and *outcome, adversarial*, "
        "of which the worse output is the longer one. Two of the judges prefer longer outputs, and two have a "
        "position bias."
    )
)


# %% tags=["remove-input"]
def simulated():
    """Verdicts of four judges whose properties are known."""
    rng = np.random.default_rng(7)
    plan = pd.DataFrame({"set": np.repeat(SETS, [250, 100, 200])}).reset_index(names="item")
    plan["item"] = plan["item"].map("pair {:03d}".format)
    plan["better"] = rng.choice(["1", "2"], len(plan))
    longer = rng.normal(np.where(plan["set"] == SETS[2], -1.0, 0.2), 0.5)  # log of the better's length over the other's
    lengths = {k: np.round(500 * np.exp(np.where(plan["better"] == k, longer, 0))) for k in "12"}
    order = {
        x: plan.assign(first=x, second=y, length_first=lengths[x], length_second=lengths[y]) for x, y in ("12", "21")
    }
    people = [js.design.Judge(f"person {i}", sensitivity=1.5, length_preference=0.5) for i in range(3)]
    asked = js.design.simulate(order["1"], people, seed=7)
    voted = js.aggregate(asked, how="majority", over="judge").set_index("item")["choice"].map({"first": "1"})
    voted = voted.astype(object).fillna("2")
    common = {"stable_preference": 0.5, "item_difficulty": 0.5, "invalid": 0.005}
    judges = [
        js.design.Judge("careful", sensitivity=2.5, **common),
        js.design.Judge("position-biased", sensitivity=1.2, slot_bias=0.9, **common),
        js.design.Judge("long-winded", sensitivity=1.0, length_preference=3.0, **common),
        js.design.Judge("verbose and position-biased", sensitivity=1.0, length_preference=3.0, slot_bias=0.7, **common),
    ]
    calls = js.design.simulate(pd.concat(order.values(), ignore_index=True), judges, seed=8)
    gold = calls["better"].where(calls["set"] != "people", calls["item"].map(voted))
    return calls.assign(gold=gold).drop(columns="better")


# %% [markdown]
# ## Reading
# Columns are mapped explicitly, not guessed: here `winner` names the output that won and `swapped`
# the order in which they were shown.


# %%
def read_llmbar():
    """The judges that judged every set, under the plainest prompt."""
    columns = {"judge": "evaluator", "item": "subset+item", "first": "=1", "second": "=2"}
    columns |= {"winner": "winner", "swapped": "swapped", "gold": "label"}
    read = js.read(DATA / "verdicts.csv.gz", columns=columns)
    read = read[(read["strategy"] == "Vanilla_NoRules") & read["judge"].isin(["ChatGPT", "GPT-4", "LLaMA2", "PaLM2"])]
    items = pd.read_csv(DATA / "items.csv", dtype={"item": str})
    items["item"] = items["subset"] + " / " + items["item"]
    items["set"] = np.select([items["subset"].str.contains(k) for k in ("Processed", "Natural")], SETS[:2], SETS[2])
    read = read.merge(items[["item", "set", "chars_output_1", "chars_output_2"]], on="item", validate="many_to_one")
    one, two = read["chars_output_1"], read["chars_output_2"]
    shown = read["first"] == "1"
    read = read.assign(length_first=one.where(shown, two), length_second=two.where(shown, one))
    return read[
        ["judge", "item", "set", "first", "second", "choice", "gold", "length_first", "length_second", "status"]
    ]


calls = read_llmbar() if REAL else simulated()
calls["set"] = pd.Categorical(calls["set"], SETS)
display(js.check(calls).set_index("what")[["level", "n", "remedy"]])
display(js.describe(calls).set_index("property"))

# %% [markdown]
# Measures that these data support, and what is missing for the others:

# %%
measures = js.available_measures(calls).set_index("measure")
display(measures.loc[measures["supported"], ["question"]])
display(measures.loc[~measures["supported"], ["question", "missing"]].head(4))

# %% [markdown]
# ## Is each judge consistent?
# Every pair was shown in both orders. A judge is consistent if it prefers the same output twice; `first_twice` is the
# share of pairs in which it preferred the first position both times.

# %%
swap = js.consistency(calls)
lean = js.position_bias(calls, cluster="item")
kept = pd.concat(
    [swap[swap["term"].isin(["consistency", "first_twice", "second_twice"])], lean[lean["term"] == "position_bias"]]
)
ax = js.plot.forest(kept)
display(ax[0].figure)
plt.close("all")

# %% tags=["remove-input"]
JUDGES = sorted(calls["judge"].unique())
same = swap[swap["term"] == "consistency"].set_index("judge")
leans = lean[lean["term"] == "position_bias"].set_index("judge")
away = leans[(leans["conf_low"] > 0) | (leans["conf_high"] < 0)]
worst, best = same["estimate"].idxmin(), same["estimate"].idxmax()
display(
    Markdown(
        f"*95 % intervals, with pairs as the independent units.* {best} is the most consistent "
        f"({same.loc[best, 'estimate']:.2f}), {worst} the least ({same.loc[worst, 'estimate']:.2f} "
        f"[{same.loc[worst, 'conf_low']:.2f}, {same.loc[worst, 'conf_high']:.2f}]). Position bias is "
        f"significant for {len(away)} of {len(leans)} judges" + (f": {', '.join(away.index)}." if len(away) else ".")
    )
)

# %% [markdown]
# ## A model that separates position, length and content
# The raw position bias depends on how close the pairs are: a judge that sees a clear winner in every pair cannot show a
# bias. The mixed model gives each pair a content effect that changes sign with the order, and estimates position and
# length effects beside it. Length is per standard deviation of the difference.

# %%
model = js.models.position_bias_model(calls, attribute="length")
logs = model.table[model.table["scale"] == "log-odds"].set_index("judge")
wide = logs.pivot(columns="term", values="estimate")
display(wide.loc[JUDGES, ["first slot", "length, per sd", "sd(content)"]].round(2) + 0.0)
drawn = logs[logs["term"].isin(["first slot", "length, per sd"])].reset_index()
axes = js.plot.forest(drawn[["judge", "term", "estimate", "conf_low", "conf_high"]])
display(axes[0].figure)
plt.close("all")

# %% tags=["remove-input"]
slots, lengths = (logs[logs["term"] == t].loc[JUDGES] for t in ("first slot", "length, per sd"))
fond = lengths[lengths["conf_low"] > 0].index
points = model.table[model.table["scale"] == "percentage points"].set_index("judge").loc[JUDGES]
most = slots["estimate"].abs().idxmax()
differ = model.tests[(model.tests["judge"] == "all judges") & (model.tests["question"] == "judges differ")]
display(
    Markdown(
        f"*Log-odds with 95 % intervals; positive values favour the first position, or the longer output.* The "
        f"strongest position bias is that of {most}: {slots.loc[most, 'estimate']:.2f} log-odds between equals, "
        f"{points.loc[most, 'estimate']:.0f} percentage points over these pairs. For "
        f"{len(fond)} of {len(JUDGES)} judges the interval shows a preference for longer outputs"
        + (f" ({', '.join(fond)})" if len(fond) else "")
        + f". The test of equal position bias has {appearance.p_words(differ['p_value'].iloc[0])}; the pooled row "
        f"rests on {len(JUDGES)} judges and says little about a fifth."
    )
)

# %% [markdown]
# ## Peers, people and outcomes, side by side
# Cohen's kappa puts all three on one scale: with each other judge, and with the label, which is people's
# preference in one set and the known outcome in the other two. Whole pairs are resampled, so that the two orders of a
# pair do not count as independent.

# %%
drawing = {"by": "set", "interval": "percentile", "cluster": "item", "n_resamples": 500}
peers = js.kappa(calls, **drawing)
label = js.kappa(calls, reference="gold", **drawing)
both = pd.concat([peers, peers.rename(columns={"judge": "other", "other": "judge"})])
means = {"with the label": label, "mean with peers": both}
means = {k: t.groupby(["judge", "set"], observed=True)["estimate"].mean().unstack() for k, t in means.items()}
shown = pd.concat(means, axis=1)
display(shown.round(2) + 0.0)

# %% tags=["remove-input"]
display(js.plot.judges_and_people(peers, label, label="the label"))

# %% tags=["remove-input"]
liked = shown["with the label"]["people"]
pairs = peers[peers["set"] == SETS[2]].set_index(["judge", "other"])
top = pairs["estimate"].idxmax()
truths = label[label["set"] == SETS[2]].set_index("judge")
against = truths[truths["conf_high"] < 0].index
fooled = [j for j in top if j in against]
two = calls[(calls["set"] == SETS[2]) & (calls["choice"] != "invalid")].astype({"choice": str})
two = [two.loc[two["judge"] == j, ["item", "first", "second", "choice", "gold"]] for j in top]
agreed = two[0].merge(two[1])  # same pair, same order, same answer
shared = (agreed["first"].where(agreed["choice"] == "first", agreed["second"]) != agreed["gold"]).mean()
ranks = {s: shown["with the label"][s].rank(ascending=False) for s in SETS}
first = {s: r.idxmin() for s, r in ranks.items()}
display(
    Markdown(
        "*Grey: with each of the other judges. Diamonds: with the label. Bootstrap intervals of 95 %, of pairs.*\n\n"
        f"The two judges that agree most on the adversarial pairs are {top[0]} and {top[1]} (kappa "
        f"{pairs.loc[top, 'estimate']:.2f} [{pairs.loc[top, 'conf_low']:.2f}, {pairs.loc[top, 'conf_high']:.2f}]). "
        f"With the known outcomes their kappa is {truths.loc[top[0], 'estimate']:.2f} and "
        f"{truths.loc[top[1], 'estimate']:.2f}: "
        + ("they make the same errors" if len(fooled) == 2 else "agreement does not measure accuracy")
        + f", and of the {len(agreed)} calls on which the two agree, {100 * shared:.0f} % are wrong. With people the "
        f"judges' kappas lie between {liked.min():.2f} and {liked.max():.2f}. "
        f"{first['people']} is closest to people, and {first[SETS[2]]} to the adversarial outcomes."
    )
)

# %%
ax = js.plot.kappa_matrix(peers[peers["set"] == SETS[2]], title="agreement of judges, adversarial pairs")
display(ax.figure)
plt.close("all")

# %% [markdown]
# ## Would the peers' majority help?
# Both orders of a pair are combined into one verdict (a tie if they differ), and the judges' verdicts into that of a
# panel. A tie counts as half right.

# %%
verdicts = js.aggregate(calls, how="swap", over="order")
panel = js.aggregate(verdicts, how="majority", over="judge", missing="ignore")
right = js.gold_agreement(pd.concat([verdicts, panel]), by="set", ties="half")
right = right[right["term"] == "accuracy"]
display(right.pivot(index="judge", columns="set", values="estimate")[SETS].map("{:.3f}".format))

# %% tags=["remove-input"]
table = right.set_index(["judge", "set"])
parts = []
for name in SETS:
    one = table.loc[JUDGES].xs(name, level="set")["estimate"]
    two = table.loc[("panel", name)]
    parts.append(
        f"*{name}*: panel {two['estimate']:.3f} [{two['conf_low']:.3f}, {two['conf_high']:.3f}], best judge "
        f"{one.max():.3f} ({one.idxmax()})"
    )
wins = sum(table.loc[("panel", s), "estimate"] > table.loc[JUDGES].xs(s, level="set")["estimate"].max() for s in SETS)
display(
    Markdown(
        f"{'; '.join(parts)}. The panel beats its best member in {wins} of {len(SETS)} sets; a majority cannot "
        "correct an error that most of its members share."
    )
)

# %% [markdown]
# ## The datasheet of one judge
# Every measure that the data support, in one table; `js.report(calls, "report.html")` writes it
# for all judges, with pictures.

# %%
sheet = js.datasheet(calls[calls["judge"] == worst], cluster="item", n_resamples=500)
sheet = sheet[~sheet["term"].isin(["invalid", "tie", "both_tie", "one_sided"])]
display(sheet.set_index(["section", "term"])[["estimate", "conf_low", "conf_high", "n", "meaning"]].head(12).round(3))

# %% [markdown]
# ## What these data cannot show
# - *Whether people or outcomes are the harder test.* No pair has both labels, so sets differ in their pairs too.
# - *How far people agree with each other.* With one label per pair there is no ceiling to compare a judge's kappa with.
# - *Whether length is the cause.* In an adversarial pair much else differs with length. The model estimates the
#   direction, not the reason; pairs that differ only in length would show it.
# - *Other prompts and repeats.* There is one prompt per judge, and one call per order.
