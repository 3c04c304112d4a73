# ---
# jupyter:
#   kernelspec: {name: python3, language: python, display_name: Python 3}
# ---

# %% [markdown]
# # May a judge replace a person?
#
# The question is asked of two sets. In PandaLM's test set three people and two judges compared the same pairs of
# answers. In HANNA three workers and five judges scored the same stories on six criteria. The alternative annotator
# test leaves each person out in turn and asks whether the judge is as close to the other people as the one left out. It
# gives opposite answers in the two sets. We ask why.

# %%
import appearance
import pandas as pd
from IPython.display import Markdown

import judgestats as js

sampling = appearance.set_up()
PEOPLE = "rater_type=human"
EPSILON = (
    0.15  # by how much a judge may be worse: the value that the authors of the test suggest for skilled annotators
)

# %% [markdown]
# ## The data

# %%
pairs, stories = js.datasets.load("pandalm"), js.datasets.load("hanna")
sets = js.datasets.names()
sets[sets["name"].isin(["pandalm", "hanna"])][["name", "title", "rows", "judges", "people", "licence"]]

# %%
checked = pd.concat({"pandalm": js.check(pairs), "hanna": js.check(stories)}, names=["set", "row"]).reset_index()
checked[checked["level"] != "rows"][["set", "level", "what", "n"]].reset_index(drop=True)

# %% [markdown]
# ## PandaLM: do judges agree with people as people agree with each other?
#
# The authors print the kappas of their three annotators; they are these.

# %%
js.kappa(pairs[pairs["rater_type"] == "human"])[["judge", "other", "estimate", "conf_low", "conf_high", "n"]]

# %%
agreement = js.judge_against_people(pairs, humans=PEOPLE)
js.plot.people_agreement(agreement)

# %% tags=["remove-input"]
shares = agreement[agreement["term"] == "agreement"].set_index("role")["estimate"]
gaps = agreement[agreement["term"] == "agreement_difference"].set_index("judge")
rate = agreement[agreement["term"] == "constant_answer"].iloc[0]
Markdown(
    f"Two people give the same answer to {shares['people']:.0%} of the pairs. "
    + " ".join(
        f"{judge} and a person do so {100 * abs(row['estimate']):.0f} points less often "
        f"[{100 * -row['conf_high']:.0f}, {100 * -row['conf_low']:.0f}]."
        for judge, row in gaps.iterrows()
    )
    + f" A judge that always answered '{rate['answer']}' would agree with {rate['estimate']:.0%}."
)

# %%
test = js.alternative_annotator_test(pairs, humans=PEOPLE, epsilon=EPSILON)
each = test[test["term"] == "difference"]
each[["judge", "annotator", "estimate", "conf_low", "conf_high", "p_adjusted", "passed"]]

# %% tags=["remove-input"]
need = each.groupby("judge")["conf_high"].max()
Markdown(
    "The estimate is how often the person is at least as close to the others as the judge, less the reverse. "
    f"{each['passed'].astype(bool).sum()} of {len(each)} comparisons are passed: neither judge may replace any of "
    f"these people. It is not close. To pass against every person, one would have to accept a judge that is worse by "
    + " or ".join(f"{100 * value:.0f} points ({judge})" for judge, value in need.items())
    + "."
)

# %% [markdown]
# ## HANNA: the same test, criterion by criterion
#
# Scores go from one to five; closeness is the root of the mean squared difference from the other people.

# %%
scored = js.alternative_annotator_test(stories, humans=PEOPLE, epsilon=EPSILON, by="criterion")
chance = scored[scored["annotator"].isna() & (scored["term"] == "advantage_probability")]
won = scored[scored["term"] == "winning_rate"]
won.pivot(index="judge", columns="criterion", values="estimate")

# %% tags=["remove-input"]
passed = won["passed"].astype(bool)
whole = passed.groupby(won["judge"]).all()
Markdown(
    "*The share of the three workers whom a judge may replace.* "
    f"{passed.sum()} of {len(won)} cells are one half or more, the mark of the test. "
    f"Judges that pass on every criterion: {', '.join(whole.index[whole])}."
)

# %%
panels = chance.assign(term=chance["criterion"].astype(str))
js.plot.forest(panels[["judge", "term", "estimate", "conf_low", "conf_high"]], order="given")

# %% [markdown]
# Are these judges better than PandaLM's, or are these people worse company? How well two workers agree on a story, in
# Lin's concordance, next to how well a judge and a worker do:

# %%
close = js.judge_against_people(stories, humans=PEOPLE, by="criterion").query("term == 'concordance'")
people = close[close["role"] == "people"].set_index("criterion")[["estimate", "conf_low", "conf_high"]]
judges = close[close["role"] == "judge"].pivot(index="criterion", columns="judge", values="estimate")
pd.concat({"two workers": people, "a judge and a worker": judges}, axis=1)

# %% tags=["remove-input"]
Markdown(
    f"The concordance of two workers is {people['estimate'].min():.2f} to {people['estimate'].max():.2f}, and on "
    f"{(judges.max(axis=1) > people['estimate']).sum()} of {len(people)} criteria some judge is closer to a worker "
    "than another worker is. A worker is an easy mark where workers do not agree."
)

# %% [markdown]
# ## How little does it take to pass?
#
# We add a judge that reads nothing. It gives every story the mean score of the criterion.

# %%
mean = stories[stories["rater_type"] == "human"].groupby("criterion", observed=True)["score"].mean()
blind = stories[stories["judge"] == "ChatGPT"].assign(judge="reads nothing")
blind = blind.assign(score=blind["criterion"].astype(str).map(mean))
blinded = js.alternative_annotator_test(pd.concat([stories, blind]), humans=PEOPLE, epsilon=EPSILON, by="criterion")
nothing = blinded[blinded["judge"] == "reads nothing"]
nothing = nothing[nothing["annotator"].isna()].pivot(index="criterion", columns="term", values="estimate")
nothing.assign(**{"two workers": people["estimate"]})

# %% tags=["remove-input"]
Markdown(
    f"A judge that reads nothing passes on {(nothing['winning_rate'] >= 0.5).sum()} of {len(nothing)} criteria, and is "
    f"at least as close to the others as a worker is for {nothing['advantage_probability'].min():.0%} to "
    f"{nothing['advantage_probability'].max():.0%} of the stories. A mean is close to everybody. So passing here "
    "shows that the workers disagree, and nothing about the judge."
)

# %% [markdown]
# ## Who orders the writers as people do?
#
# Closeness to single workers is not the only use of a judge. Eleven writers were scored; does a judge order them as the
# mean of the workers does?

# %%
by_writer = stories.groupby(["rater_type", "judge", "system"], observed=True)["score"].mean().unstack("system")
target = by_writer.loc["human"].mean()
order = by_writer.loc["llm"].T.corrwith(target, method="spearman").sort_values(ascending=False)
order.rename("Spearman's correlation with the workers").to_frame().rename_axis("judge")

# %%
workers = stories[stories["rater_type"] == "human"]
reliability = js.hierarchical.agreement(workers, subjects="system", facets="criterion")
coefficients = reliability.tidy().query("term.str.startswith('ICC')")
coefficients[["term", "estimate", "conf_low", "conf_high"]]

# %% tags=["remove-input"]
best = order.index[0]
pooled = coefficients.set_index("term").loc["ICC(2,k)"]
Markdown(
    f"{best} orders the writers best, with a correlation of {order.iloc[0]:.2f}; the least is {order.iloc[-1]:.2f} "
    f"({order.index[-1]}). Averaged over stories the workers themselves are reliable: the posterior mean of the "
    f"reliability of their mean score of a writer is {pooled['estimate']:.2f} [{pooled['conf_low']:.2f}, "
    f"{pooled['conf_high']:.2f}]. For ranking writers, judges and workers say much the same. For the score of one "
    "story, neither does."
)

# %% [markdown]
# ## What these data cannot show
#
# - *Persons.* HANNA's workers are the first, second and third worker of a story, not three persons. The test treats
#   them as three.
# - *Position.* PandaLM's pairs were shown in one order, and the order is not recorded.
# - *Scores off the scale.* Some scores of HANNA's judges were outside one to five. They are missing here, and counted
#   above; nobody says what they mean.
# - *Whether people are right.* There is no gold label. A judge that differs from people may be the better one.

# %% tags=["remove-input"]
appearance.last_line()
