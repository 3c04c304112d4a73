# ---
# jupyter:
#   kernelspec: {name: python3, language: python, display_name: Python 3}
# ---

# %% [markdown]
# # Do judges agree less on better systems, or only on systems of a better tier?
# The consensus_illusion paper finds that three judges agree less on systems with better answers, and interprets this
# as a difference between tiers (Base, Instruct, Thinking). It prints one correlation and three tier means. Here the
# relation is estimated within and across tiers, with its uncertainty, and compared with the effects of a bounded scale
# and a narrow range of quality alone.

# %%
import appearance
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from IPython.display import Markdown

import judgestats as js
from judgestats.reporting import printed_layout

sampling = appearance.set_up()


# %% [markdown]
# ## The paper's main tables
# Agreement of pairs of judges on single scores, before and after their rubrics are matched:

# %%
printed_layout("consensus_illusion/table3", rows=["pair", "temperature"], values=["baseline", "merg", "delta"])

# %% [markdown]
# The systems by their mean score, with the judges' agreement on each:

# %%
printed_layout("consensus_illusion/table9", rows="model", values=["rank", "tier", "mean_score", "r"])

# %% [markdown]
# What does not follow, in tables and text:

# %%
reproduced = js.published.reproduce("consensus_illusion")
wrong = reproduced[reproduced["verdict"] == "does not follow"]
wrong[["place", "quantity", "printed", "shown"]].rename(columns={"shown": "recomputed"}).reset_index(drop=True)

# %% tags=["remove-input"]
follow = (reproduced["verdict"] == "follows").sum()
Markdown(f"{follow} of {len(reproduced)} printed numbers follow from the others.")

# %%
systems = js.published.load("consensus_illusion/table9").rename(columns={"model": "system"})
TIERS, COLOURS = ["Base", "Instruct", "Thinking"], {"Base": "C2", "Instruct": "C0", "Thinking": "C3"}
order = js.ordering_accuracy(systems)
tiers = systems.groupby("tier").agg(
    systems=("r", "size"),
    score=("mean_score", "mean"),
    score_sd=("mean_score", "std"),
    r=("r", "mean"),
    r_sd=("r", "std"),
)
tiers.round(2)

# %%
floor = systems.loc[systems["mean_score"].idxmin(), "system"]
rest = systems[systems["system"] != floor]
ranks = pd.concat({n: js.quality_agreement(d, within="tier") for n, d in (("all", systems), ("without it", rest))})
ranks = ranks.droplevel(1).rename_axis("systems").assign(tier=ranks["tier"].replace("", "all tiers").to_numpy())
ranks.set_index("tier", append=True)[["estimate", "conf_low", "conf_high", "p_value", "n"]].round(3)

# %% tags=["remove-input"]
valid = js.published.load("consensus_illusion/validity", printed=True).drop_duplicates("quantity").set_index("quantity")
said, share = (valid.loc[q, "value"] for q in ("quality-agreement rho", "pairwise ordering accuracy percent"))
printed_d = js.published.load("consensus_illusion/tiers", printed=True).set_index("quantity").loc["Cohen's d", "value"]
scores = systems.groupby("tier")["mean_score"]
d = (scores.mean()["Thinking"] - scores.mean()["Base"]) / np.sqrt(scores.var(ddof=0)[["Base", "Thinking"]].mean())
whole = ranks.loc["all"].iloc[0]
own = ranks.loc["all"].iloc[1:].set_index("tier")
alone = own.index[(own["estimate"] < 0) & (own["p_value"] < 0.05)]
Markdown(
    "*Spearman's correlation of a system's mean score and of the judges' agreement on it, with Fisher's "
    f"interval; with and without {floor}.* The printed correlation of {said} comes out as "
    f"{whole['estimate']:.3f}, the ordering of tiers by score ({share} %) as "
    f"{100 * order['estimate'].iloc[0]:.1f} %, Cohen's d of Base and Thinking ({printed_d.iloc[0]}) as {d:.2f} "
    f"(its formula is not printed). Of the three tiers, {len(alone)} show a fall by themselves (p < 0.05): "
    f"{' and '.join(alone) or 'none'}."
)

# %% [markdown]
# ## Within tiers and across them
# A linear model: each tier has its own mean agreement, and its own slope on the centred score. The
# tiers are fixed effects; the residual variance is assumed equal, though it is
# smallest within Instruct; the correlations above do not assume that. The slope *across* is that of the three tier
# means on their scores.

# %% tags=["sampled"]
systems["within"] = systems["mean_score"] - systems.groupby("tier")["mean_score"].transform("mean")
FORMULA = "r ~ tier + within:tier"
fit = js.fit(FORMULA, systems, family="gaussian", engine="pymc", sampling=sampling)
without = js.fit(FORMULA, systems[systems["system"] != floor], family="gaussian", engine="pymc", sampling=sampling)
fit.check()[["level", "what"]]


# %% tags=["sampled"]
def within(fitted, data):
    """Draws of the slopes (agreement per point of score) of each tier, and of all tiers pooled."""
    draws, weight = fitted.draws(), data.groupby("tier")["within"].apply(lambda x: (x**2).sum())[TIERS]
    own = pd.DataFrame({t: draws[f"within:tier[{t}]"] for t in TIERS})
    return own.assign(**{"pooled within": own @ (weight / weight.sum())})


def across(fitted, data):
    """Draws of the slope of the tiers' mean agreement on their mean score."""
    draws = fitted.draws()
    size, score = (data.groupby("tier")["mean_score"].agg(f)[TIERS] for f in ("size", "mean"))
    level = np.column_stack([draws.get(f"tier[{t}]", 0 * draws["Intercept"]) for t in TIERS])
    lever = size * (score - np.average(score, weights=size))
    return level @ lever.to_numpy() / float(lever @ score)


def told(drawn):
    """Mean, interval and probability of being negative."""
    low, high = drawn.quantile(0.025), drawn.quantile(0.975)
    return pd.DataFrame({"mean": drawn.mean(), "low": low, "high": high, "P(below 0)": (drawn < 0).mean()})


models = (fit, systems), (without, systems[systems["system"] != floor])
drawn, again = (within(*m).assign(across=across(*m)) for m in models)
slope = pd.concat({"all": told(drawn), f"without {floor}": told(again)}, axis=1)
slope.round(3)

# %% tags=["sampled"]
figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4.2), layout="constrained", width_ratios=[3, 2])
post = fit.draws()
for tier, here in systems.groupby("tier"):
    left.plot(here["mean_score"], here["r"], "o", ms=4, color=COLOURS[tier], label=tier)
    x = np.linspace(here["within"].min(), here["within"].max(), 30)
    level = post["Intercept"] + post.get(f"tier[{tier}]", 0)
    line = level.to_numpy()[:, None] + post[f"within:tier[{tier}]"].to_numpy()[:, None] * x
    at = x + here["mean_score"].mean()
    left.plot(at, line.mean(0), color=COLOURS[tier])
    left.fill_between(at, *np.quantile(line, [0.025, 0.975], axis=0), color=COLOURS[tier], alpha=0.12, lw=0)
lowest = systems.set_index("system").loc[floor]
left.annotate(floor, (lowest["mean_score"], lowest["r"]), (6, -3), textcoords="offset points", fontsize=8)
left.set(xlabel="mean score of the system (1 to 10)", ylabel="agreement of the judges (mean r)")
left.legend(frameon=False)
for k, name in enumerate(drawn.columns):
    for shift, values, style in ((-0.12, drawn, "o"), (0.12, again, "s")):
        row = told(values).loc[name]
        bar = [[row["mean"] - row["low"]], [row["high"] - row["mean"]]]
        fill = {"color": COLOURS.get(name, "k"), "mfc": None if style == "o" else "white"}
        right.errorbar(row["mean"], k + shift, xerr=bar, fmt=style, ms=5, **fill)
right.axvline(0, color="0.6", lw=0.8)
right.set(yticks=range(drawn.shape[1]), yticklabels=drawn.columns, xlabel="slope: r per point of score (95 % interval)")
right.locator_params(axis="x", nbins=5)
right.invert_yaxis()


# %% tags=["remove-input", "sampled"]
def lean(p):
    """What a probability of a negative slope says."""
    steps = {0.975: "falls", 0.8: "probably falls", 0.2: "may go either way", 0.025: "probably rises", -1: "rises"}
    return next(words for end, words in steps.items() if p > end)


def cell(name, values):
    row = told(values).loc[name]
    return f"{row['mean']:.3f} [{row['low']:.3f}, {row['high']:.3f}]"


below = slope["all"]["P(below 0)"]
words = "; ".join(f"{t}: it {lean(below[t])} ({cell(t, drawn)}, P(below 0) = {below[t]:.2f})" for t in TIERS)
pooled, between = (slope.loc[n, "all"] for n in ("pooled within", "across"))
Markdown(
    "*Left: systems, and the line of each tier with its 95 % band. Right: slopes; open squares without "
    f"{floor}.*\n\n"
    f"Within tiers, agreement does this as the score rises. {words}. Without {floor}, the system with the lowest "
    f"score of all, the slope of Base is {cell('Base', again)}: it {lean(slope.iloc[0, -1])}.\n\n"
    f"Pooled within tiers the slope is {cell('pooled within', drawn)}, P(below 0) = {pooled['P(below 0)']:.2f}; "
    f"across tiers, from three points, {cell('across', drawn)}, P(below 0) = {between['P(below 0)']:.2f}. Without "
    f"{floor} they are {cell('pooled within', again)} and {cell('across', again)}. So it is not a matter of "
    "tiers: a better system of one tier loses "
    f"{'about as much' if abs(pooled['mean'] - between['mean']) < 0.01 else 'a different amount of'} agreement per "
    f"point as the better tier, and one system out of {len(systems)} decides how sure that is. The fall is "
    "clearest "
    f"within {below[TIERS].idxmax()}."
)

# %% [markdown]
# ## The range of quality
# A tier has a narrower range of quality than all systems together, which alone reduces a correlation. If the regression
# of a tier and its residual variance held over the whole range (Thorndike's case 2, hypothetical), the correlation
# would be the one on the right.

# %% tags=["sampled"]
sigma, every = post["sd(residual)"], systems["mean_score"].std()
rows = {}
for tier in TIERS:
    b, own = post[f"within:tier[{tier}]"], tiers.loc[tier, "score_sd"]
    for name, sd in (("as it is", own), ("over the whole range", every)):
        rho = b * sd / np.hypot(b * sd, sigma)
        rows[tier, name] = f"{rho.mean():.2f} [{rho.quantile(0.025):.2f}, {rho.quantile(0.975):.2f}]"
corrected = pd.Series(rows).unstack()[["as it is", "over the whole range"]]
corrected.assign(**{"sd of score": tiers["score_sd"].round(2), "sd of all": round(every, 2)})

# %% [markdown]
# ## The effect of a bounded scale alone
# Suppose the judges agree on every system to the same degree, and perceive quality on an unbounded scale; their scores
# are truncated at the ends of the printed scale. Each system is scored on as many prompts as in the paper.

# %%
design = js.published.load("consensus_illusion/design", printed=True).set_index("name")["value"]
PROMPTS, LOW, HIGH = (int(design[k]) for k in ("prompts", "score low end", "score high end"))
rng = np.random.default_rng(0)
agreed = float(systems["r"].median())


def scored(centre, spread, n):
    """Scores (3, n) of one system by judges who agree to the degree `agreed`, cut off at both ends."""
    noise = spread * np.sqrt(1 / agreed - 1)
    return np.clip(np.round(centre + spread * rng.normal(size=n) + noise * rng.normal(size=(3, n)), 1), LOW, HIGH)


def mean_r(scores):
    """Mean of the three correlations between judges."""
    return np.corrcoef(scores)[np.triu_indices(3, 1)].mean()


centres, spreads, alike = np.linspace(-1.5, 10, 47), (1.0, 1.5, 2.0, 2.5), {}
figure, ax = plt.subplots(figsize=(7.5, 4), layout="constrained")
for spread, grey in zip(spreads, ("0.75", "0.6", "0.4", "0.1"), strict=True):
    many = [scored(c, spread, 20_000) for c in centres]
    seen = [(s.mean(), mean_r(s)) for s in many if s.mean() > 1.1]
    alike[spread] = np.array(seen).T
    ax.plot(*alike[spread], color=grey, label=f"sd of quality over prompts {spread:g}")
band = [np.quantile([mean_r(scored(c, 2.0, PROMPTS)) for _ in range(200)], [0.025, 0.975]) for c in centres[2:]]
at = [scored(c, 2.0, 20_000).mean() for c in centres[2:]]
ax.fill_between(at, *np.transpose(band), color="0.4", alpha=0.15, lw=0, label="95 of 100 systems at sd 2")
for tier, here in systems.groupby("tier"):
    ax.plot(here["mean_score"], here["r"], "o", ms=4, color=COLOURS[tier])
ax.set(
    xlabel="mean score of the system (1 to 10)", ylabel="agreement of the judges (mean r)", xlim=(1, 8.5), ylim=(0.4, 1)
)
_ = ax.legend(frameon=False, loc="lower right", fontsize=8)

# %% tags=["remove-input", "sampled"]
plain = np.array([mean_r(scored(5.5, 1.0, PROMPTS)) for _ in range(2000)]).std()
part = (plain / sigma.mean()) ** 2


def odds(r):
    """Variance of quality over that of the judges' noise."""
    return r / (1 - r)


top, bottom = (systems[systems["tier"] == "Thinking"]["within"].agg(f) for f in ("max", "min"))
level = post["Intercept"] + post["tier[Thinking]"]
ends = [level + post["within:tier[Thinking]"] * e for e in (bottom, top)]
needed = np.sqrt(odds(ends[1].clip(0.01, 0.99)) / odds(ends[0].clip(0.01, 0.99)))
means = np.sqrt(odds(tiers.loc["Thinking", "r"]) / odds(tiers.loc["Base", "r"]))


def expected(score):
    """Agreement that the scale alone leaves at a mean score: lowest and highest of the grey lines."""
    found = [np.interp(score, *line) for line in alike.values()]
    return f"{min(found):.2f} to {max(found):.2f}"


chance = [np.interp(lowest["mean_score"], at, end) for end in np.transpose(band)]
best = systems.loc[systems["mean_score"].idxmax()]
Markdown(
    f"*Grey: judges with a constant agreement of {agreed:.2f}; points: the systems.*\n\n"
    f"- At the bottom the scale alone lowers r. {floor} has a mean score of {lowest['mean_score']:.2f} on a "
    f"scale that starts at {LOW}; by the scale alone its r would be {expected(lowest['mean_score'])}, with "
    f"chance {chance[0]:.2f} to {chance[1]:.2f}, and it is {lowest['r']:.3f}.\n"
    f"- At the top it does little: {best['system']}, with a mean score of {best['mean_score']:.2f}, would have "
    f"{expected(best['mean_score'])} and has {best['r']:.3f}. The fall within Thinking is not explained by the "
    "end of "
    "the scale unless quality varies far more over prompts than assumed.\n"
    f"- Chance in the prompts moves r of one system by about {plain:.3f} (sd; {PROMPTS} prompts), some "
    f"{100 * part:.0f} % of the variance around the lines.\n"
    "- A narrower range of quality *within* a system would do it, with judges of unchanged noise: for the tier "
    f"means of Base and Thinking the spread over prompts would have to be {means:.2f} times as large, from the "
    f"worst to the best Thinking system {needed.mean():.2f} times [{needed.quantile(0.025):.2f}, "
    f"{needed.quantile(0.975):.2f}]. The spread over prompts is not printed, so this alternative explanation "
    "cannot "
    "be ruled out."
)

# %% [markdown]
# ## What scores by prompt would show
# One correlation per system is printed. Scores by prompt would also show how much of it comes from the prompt and how
# much from the answer. Here three simulated judges score four systems of equal quality on the same prompts; a hard
# prompt is hard for every system. The ICC is per system; the repeated-measures correlation is between two judges over
# the answers to one prompt, with what all these answers have in common removed.

# %%
SYSTEMS, JUDGES, FEW = ["A", "B", "C", "D"], ["x", "y", "z"], 60
rng = np.random.default_rng(1)
prompt, answer = 1.5 * rng.normal(size=(1, FEW)), 0.75 * rng.normal(size=(len(SYSTEMS), FEW))
noise = np.sqrt((1.5**2 + 0.75**2) * (1 / agreed - 1)) * rng.normal(size=(len(JUDGES), len(SYSTEMS), FEW))
names = pd.MultiIndex.from_product([JUDGES, SYSTEMS, [f"prompt {i:02d}" for i in range(FEW)]])
by_prompt = names.to_frame(index=False, name=["judge", "system", "item"])
by_prompt["score"] = np.clip(5.5 + prompt + answer + noise, LOW, HIGH).ravel()

options = {"subjects": "item", "by": "system", "cluster": False}
opinions = {engine: js.icc(by_prompt, **options, engine=engine) for engine in ("judgestats", "pingouin")}
one = {engine: rows[rows["term"] == "ICC(2,1)"].set_index("system") for engine, rows in opinions.items()}
repeated = js.correlation(by_prompt, method="repeated")
over = js.correlation(by_prompt, pairs="each")
icc = pd.concat({engine: rows[["estimate", "conf_low", "conf_high"]] for engine, rows in one.items()}, axis=1)
icc.round(3)

# %%
repeated[["judge", "other", "estimate", "conf_low", "conf_high", "n"]].round(3)

# %% tags=["remove-input"]
apart = np.abs(one["judgestats"]["estimate"] - one["pingouin"]["estimate"]).max()
digits = int(-np.log10(max(apart, 1e-15)))
across_prompts, in_prompt = over["estimate"].mean(), repeated["estimate"].mean()
Markdown(
    f"*ICC(2,1) by two engines, which agree to {digits} decimals; repeated-measures correlations of two judges.* "
    f"Over prompts two judges correlate at {across_prompts:.2f} on average (the paper's median system: "
    f"{agreed:.2f}), over the answers to one prompt at {in_prompt:.2f}. "
    + (
        "Judges that agree on which prompts are hard reach such an r without distinguishing answers as well."
        if in_prompt < across_prompts
        else "Here the judges distinguish answers as well as prompts."
    )
)

# %% [markdown]
# ## What these data cannot show
# - *Why agreement falls.* Less spread of quality over prompts, harder judgements and shared heuristics that break all
#   give the same printed numbers. Scores by prompt would show it, as above.
# - *Quality.* It is the mean score by the same judges whose agreement is at stake, so both axes share their errors.
# - *Independence.* Systems of one family, and distilled ones, are related; all received the same prompts. The intervals
#   treat them as independent and are too narrow for claims about other systems.
# - *A curve.* Straight lines within tiers are a choice; with this few systems a curve cannot be distinguished from a
#   line and an outlier.
# - *Other temperatures.* Table 9 is for temperature zero.

# %% tags=["remove-input"]
appearance.last_line(fit, without)
