# ---
# jupyter:
#   kernelspec: {name: python3, language: python, display_name: Python 3}
# ---

# %% [markdown]
# # From plan to datasheet: what kind of instrument is a judge?
#
# A datasheet of a judge says how it behaves where the right answer is known by construction: on empty answers, on pairs
# of equal quality, and on pairs of which one is better by a known number of steps. This notebook makes one from the
# beginning: it plans the calls, checks and exports them, reads the answers back with every call accounted for, and
# ends with the page and with the power of the plan. The package calls no model; here a simulated judge with known
# properties answers. For a judge of your own, send the exported file with any runner, and put its answers in place of
# the simulated ones.

# %%
import json
import os
import tempfile
from pathlib import Path

import appearance
import matplotlib.pyplot as plt
import pandas as pd
from IPython.display import Markdown, display

import judgestats as js

appearance.set_up()

# %matplotlib inline
pd.set_option("display.max_colwidth", 110)
DRAWS = int(os.environ.get("JUDGESTATS_NOTEBOOK_DRAWS", "1000"))
STUDIES = max(DRAWS // 10, 20)
temporary = tempfile.TemporaryDirectory()
FOLDER = Path(temporary.name)

# %% tags=["remove-input"]
if DRAWS < 500:
    display(Markdown(f"**Run with few draws ({STUDIES} simulated studies for each power): the power is rough.**"))

# %% [markdown]
# ## The plan: a row for each call
# `design.dark_current` plans the study of the dark_current paper: true vacuum, pairs of equal quality, a ladder of
# known differences, and controls, each pair in both orders. `strict=True` asks some pairs once more with a prompt
# that insists on ties. Each call has an id, a digest of all that it depends on.

# %%
plan = js.design.dark_current("my-model", strict=True)
cells = plan.summary(prices={"my-model": (1.0, 4.0)})
display(cells.groupby(["prompt", "stimulus"])[["calls", "items", "tokens", "cost"]].sum().round(3))

# %% tags=["remove-input"]
total = cells["cost"].sum()
display(Markdown(f"{len(plan)} calls; at the prices given they cost {total:.2f} in all."))

# %% [markdown]
# ## The check: is the plan balanced, and does no prompt give its condition away?

# %%
found = plan.check()
display(found if len(found) else Markdown("Nothing was found."))

steps = plan.calls[plan.calls["stimulus"] == "ladder"]
message = {call: user for call, _, user in plan.messages()}[steps["call"].iloc[0]]
print(message)

# %% [markdown]
# *The message of one call on the ladder. The judge sees the question and both answers; which of them is better is in
# the plan alone.*

# %% [markdown]
# ## The export: one line for each call, in the format of your runner
# The plan is written beside it, with its texts, prompts and a manifest, so that the answers can be read in another
# session.

# %%
plan.write(FOLDER / "plan")
(file,) = js.design.export(plan, FOLDER / "plan", "openai")
line = json.loads(file.read_text().splitlines()[0])
print(file.name)
print(line["custom_id"], list(line["body"]))

# %% [markdown]
# ## The answers, some of which are none
# The simulated judge prefers one of two empty answers now and then, has a weak position bias, and sees differences
# of one step less surely than larger ones. A few calls fail, a few are refused, a few replies cannot be read, and some
# never come back.

# %%
judge = js.design.Judge(
    "my-model",
    dark_current=0.15,
    sensitivity=1.2,
    tie_criterion=0.8,
    slot_bias=0.4,
    stable_preference=0.6,
    under={"prompt": {"pairwise_strict": {"tie_criterion": 2.2}}},
)
replies = js.design.simulate_replies(plan, judge, error=0.02, refused=0.01, unreadable=0.01)
replies = replies.iloc[:-5]
replies.to_json(FOLDER / "answers.jsonl", orient="records", lines=True)
display(replies.head(3))

# %% [markdown]
# ## The collection: every call is accounted for

# %%
calls = js.design.collect(FOLDER / "plan", FOLDER / "answers.jsonl")
display(calls["status"].value_counts().to_frame().T)
display(js.check(calls)[["level", "what", "n", "where", "remedy"]])
left = js.design.remaining(FOLDER / "plan", FOLDER / "answers.jsonl")

# %% tags=["remove-input"]
display(
    Markdown(
        f"Of {len(plan)} calls {len(replies)} came back, {(calls['status'] == 'ok').sum()} of them with a verdict. "
        f"{len(left)} failed or never came back: `left` is their plan, to be sent again."
    )
)

# %% [markdown]
# ## The datasheet
# Each row is one number with its interval, its denominator, the direction that is worse, and cautions.

# %%
sheet = js.datasheet(calls)
base = sheet[sheet["prompt"].isin(["pairwise", ""])]
shown = ["section", "term", "detail", "estimate", "conf_low", "conf_high", "n", "flag"]
wanted = ["dark current", "Δ0", "ladder", "threshold"]
display(base.loc[base["section"].isin(wanted), shown].round(2).reset_index(drop=True))
display(js.profile(base))

# %%
first = calls[calls["prompt"] == "pairwise"]
display(js.plot.decomposition(js.delta0(first)).figure)
display(js.plot.psychometric_curves(js.target_sensitivity(first)).figure)

# %% [markdown]
# *Above: what the false preferences on pairs of equal quality consist of. Below: how often the better answer is chosen,
# by the difference in steps.*

# %% [markdown]
# ## The price of a stricter prompt
# It saves false preferences and loses signals. Which prompt is better depends on the use: an exploratory ranking
# tolerates false preferences, a claim about two systems does not. The costs are ours, of a false preference in units of
# a missed signal.

# %%
moved = js.criterion_shift(calls, "pairwise", "pairwise_strict", uses={"ranking": 0.5, "adjudication": 5})
gain = moved[moved["term"].isin(["false_preference_saved", "target_signal_lost", "net_gain"])]
display(gain[["stimulus", "delta", "term", "use", "estimate", "conf_low", "conf_high", "n"]].round(2))

# %% [markdown]
# ## The page

# %%
page = js.report(calls, FOLDER / "report.html", n_resamples=200)

# %% tags=["remove-input"]
text = page.read_text(encoding="utf-8")
display(
    Markdown(
        f"`report` wrote one file of {len(text) / 1000:.0f} kB, which needs nothing else: what was read, the "
        "datasheet, pictures, what was not measured and why, and what a datasheet does not claim."
    )
)

# %% [markdown]
# ## Would more calls have shown more?
# Power by simulation: how often would the interval of the dark current exclude a value that you would tolerate, for
# judges of several dark currents and plans of several sizes?

# %%
TOLERATED = 0.05
sizes, values = (60, 120, 240), (0.1, 0.15, 0.2)
rows = []
for size in sizes:
    asked = js.design.vacuum("my-model", calls=size)
    for value in values:
        study = js.design.power(
            asked,
            js.design.Judge("my-model", dark_current=value),
            js.dark_current,
            null=TOLERATED,
            replications=STUDIES,
        )
        pooled = study[study["vacuum_kind"] == "all"].iloc[0]
        rows.append({"calls": size, "dark current": value, "power": pooled["estimate"]})
power = pd.DataFrame(rows).pivot(index="dark current", columns="calls", values="power")
display(power.round(2))
axes = power.plot(marker="o", figsize=(5, 3), ylim=(0, 1.03), ylabel="power", xlabel="true dark current")
axes.axhline(0.8, color="0.6", lw=0.8)
plt.show()

# %% tags=["remove-input"]
enough = power.ge(0.8)
told = [f"{v:g} with {enough.columns[enough.loc[v]][0]} calls" for v in values if enough.loc[v].any()]
never = [f"{v:g}" for v in values if not enough.loc[v].any()]
display(
    Markdown(
        f"A tolerated dark current of {TOLERATED:g} is excluded in four of five studies where the true one is "
        + ("; ".join(told) or "larger than these")
        + (f". With these plans it is not for {', '.join(never)}." if never else ".")
    )
)

# %% [markdown]
# ## What this does not show
# - The stimuli are made of checklists: a clean datasheet is no proof that the judge is good on your texts.
# - The judge here is simulated. Its numbers only show that the measures find what was planted.
# - The power is that of a judge that behaves as stated, with independent calls.

# %% tags=["remove-input"]
temporary.cleanup()
