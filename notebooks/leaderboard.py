# ---
# jupyter:
#   kernelspec: {name: python3, language: python, display_name: Python 3}
# ---

# %% [markdown]
# # Auditing somebody else's leaderboard: do its printed numbers follow from each other?
#
# A leaderboard prints wins, draws, losses, rates and standard errors, row by row. The package does not know the board
# and has none of its verdicts. But some columns are functions of others, so a dozen lines of rules show which numbers
# follow, which do not, and what else could explain those.

# %%
import html
import os
import tempfile
from pathlib import Path

import appearance
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from IPython.display import HTML, Markdown, display
from matplotlib.colors import ListedColormap

import judgestats as js
from judgestats.reporting import audit_page

appearance.set_up()

# %matplotlib inline
pd.set_option("display.max_colwidth", None)
DATA = Path(os.environ.get("JUDGESTATS_REAL_DATA", "")) / "alpaca_eval"
REAL = "JUDGESTATS_REAL_DATA" in os.environ and DATA.is_dir()
RULES = Path("leaderboard.toml")

# %% tags=["remove-input"]
display(
    Markdown(
        "**Read from public data:** the four boards that AlpacaEval published (`tatsu-lab/alpaca_eval`). Each sets "
        "models against a baseline, by the verdicts of one LLM judge; the `weighted` judge grades its preferences, the "
        "others answer by win, draw or loss."
        if REAL
        else "**Simulated boards:** `JUDGESTATS_REAL_DATA` names no folder with AlpacaEval's boards, so two small ones "
        "are made from the answers of a simulated judge: one counts wins, draws and losses, one grades. A standard "
        "error of one and a rate of the other are wrong on purpose, and the second is not sorted by its win rate."
    )
)


# %% tags=["remove-input"]
def board_of(values):
    """A board as it would be printed, from values between 0 and 1: item in the rows, model in the columns."""
    wins, losses = (values > 0.5).sum(), (values < 0.5).sum()
    printed = {"win_rate": 100 * values.mean(), "standard_error": 100 * values.sem()}
    printed |= {"n_wins": wins, "n_wins_base": losses, "n_draws": len(values) - wins - losses, "n_total": len(values)}
    return pd.DataFrame(printed).assign(discrete_win_rate=lambda t: 100 * (t.n_wins + t.n_draws / 2) / t.n_total)


def simulated():
    """Two boards with a slip each, in a folder of their own; the graded verdicts; and that none is of another judge."""
    quality = {f"model-{c}": 1.5 - 0.4 * i for i, c in enumerate("abcdefgh")} | {"baseline": 0.0}
    plan = pd.MultiIndex.from_product([range(400), list(quality)[:-1]], names=["item", "first"]).to_frame(index=False)
    judge = js.design.Judge("judge", stable_preference=1.0, tie_criterion=0.02)
    asked = js.design.simulate(plan.assign(second="baseline"), judge, seed=6, replicates=5, quality=quality)
    asked["value"] = asked["choice"].map({"first": 1.0, "tie": 0.5, "second": 0.0}).astype(float)
    values = {
        "counted": asked[asked["replicate"] == 0].pivot(index="item", columns="first", values="value"),
        "graded": asked.pivot_table(index="item", columns="first", values="value"),
    }
    boards = {name: board_of(v) for name, v in values.items()}
    some = values["counted"]["model-c"]
    boards["counted"].loc["model-c", "standard_error"] = 100 * some.drop(some[some == 1].index[:4]).sem()
    boards["graded"].loc["model-d", "discrete_win_rate"] -= 100 * 70 / 400
    order = {"counted": "win_rate", "graded": "discrete_win_rate"}
    folder = Path(tempfile.mkdtemp())
    for name, board in boards.items():
        board.sort_values(order[name], ascending=False).to_csv(folder / f"{name}.csv", float_format="%.9f")
    return {name: folder / f"{name}.csv" for name in boards}, values["graded"], pd.Series(dtype=object)


def published():
    """AlpacaEval's boards; the graded verdicts of the models whose verdicts are here; and by whom each was judged."""
    paths = {p.stem.removeprefix("published_leaderboard_"): p for p in sorted(DATA.glob("published_leaderboard_*.csv"))}
    told = pd.read_csv(DATA / "preferences.csv.gz")
    judged = told.groupby("model")["annotator"].unique()
    told = told[told["annotator"] == "weighted_alpaca_eval_gpt4_turbo"]  # 1: the baseline's answer, 2: the model's
    told = told.assign(value=(told["preference"] - 1).where(told["preference"] != 0, 0.5))
    return paths, told.pivot(index="instruction_index", columns="model", values="value"), judged


paths, verdicts, judged = published() if REAL else simulated()
COUNTED, GRADED = ("alpaca_eval_gpt4", "weighted_gpt4_turbo") if REAL else ("counted", "graded")

# %%
boards = {name: pd.read_csv(path, index_col=0) for name, path in paths.items()}
display(pd.DataFrame({name: {"file": paths[name].name, "rows": len(b)} for name, b in boards.items()}).T)
display(boards[COUNTED].iloc[:4, :6].round(2))

# %% [markdown]
# ## The rules
# A rule states a condition on each row, or on the whole table, in terms of the columns. This is the whole file.

# %% tags=["remove-input"]
display(Markdown(f"```toml\n{RULES.read_text(encoding='utf-8')}```"))

# %%
audits = {name: js.published.audited(path, rules=RULES)[0] for name, path in paths.items()}
found = pd.concat({name: a.findings() for name, a in audits.items()}, names=["board"])  # what js.audit(path, ...) gives
found["about"] = found["claim"].str.split(": ").str[-1]
display(found.groupby(["board", "verdict"]).size().unstack(fill_value=0))

# %% tags=["remove-input"]
counts = found["verdict"].value_counts()
display(
    Markdown(
        f"{len(found)} checks: {', '.join(f'{n} {v}' for v, n in counts.items())}. A printed number represents "
        "all values that round to it, so `does not follow` means that rounding cannot explain "
        "the difference."
    )
)

# %% tags=["remove-input"]
CODES = {"nothing to check": "white", "only an input": "#e8e8e8", "follows": "#a8d5b0", "depends": "#f3d27a"}
CODES |= {"cannot be decided": "#b9c7dd", "does not follow": "#c0392b"}
COLUMNS = ["win_rate", "standard_error", "n_wins", "n_wins_base", "n_draws", "n_total", "discrete_win_rate"]


def cell_codes(audit, board):
    """A code per printed cell: the worst verdict on the cell itself, or that it is only used."""
    codes = np.zeros((len(board), len(COLUMNS)))
    for cell, decisions in audit.cells().items():
        _, row, column = cell
        if column in COLUMNS:
            own = [list(CODES).index(d.verdict) for d in decisions if d.statement.printed == cell]
            codes[row, COLUMNS.index(column)] = max(own, default=1)
    return codes


figure, axes = plt.subplots(1, len(paths), figsize=(10, 4.6), layout="constrained")
for ax, name in zip(axes, paths, strict=True):
    image = cell_codes(audits[name], boards[name])
    ax.imshow(image, aspect="auto", interpolation="nearest", cmap=ListedColormap(list(CODES.values())), vmin=0, vmax=5)
    ax.set_title(name, fontsize=9)
    ax.set_xticks(range(len(COLUMNS)), COLUMNS, rotation=90, fontsize=8)
    ax.tick_params(axis="y", labelsize=8)
axes[0].set_ylabel("row of the board")
handles = [plt.Rectangle((0, 0), 1, 1, fc=c, ec="0.7", label=v) for v, c in list(CODES.items())[1:]]
figure.legend(handles=handles, loc="outside lower center", ncol=5, frameon=False, fontsize=8)
plt.show()

# %% [markdown]
# *Every printed number of the boards, coloured by the verdict on it. A finding has the colour of the cell that was
# recomputed; it does not show which of the numbers in its sum is wrong.*

# %% [markdown]
# ## Finding 1: standard errors
# The rule counts wins as 1, draws as 1/2 and losses as 0.

# %%
ERROR, DISCRETE = "standard error of wins (1), draws (1/2) and losses (0)", "discrete win rate: wins and half the draws"
odd = found[found["verdict"] == "does not follow"]
errors = odd[odd["about"] == ERROR]
display(errors.groupby("board").size().rename("standard errors that do not follow").to_frame())
few = errors.loc[errors.index.get_level_values("board") == COUNTED]
few = few.assign(model=few["claim"].str.split(",|:").str[0]).set_index("model")
display(few[["printed", "recomputed", "comment"]])

# %% tags=["remove-input"]
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
for ax, name in ((left, COUNTED), (right, GRADED)):
    rows = found.loc[name][found.loc[name, "about"] == ERROR]
    printed, ours = rows["printed"].astype(float), rows["recomputed"].astype(float)
    kept = ours > 0
    astray = rows["verdict"].eq("does not follow") & kept
    rate = boards[name]["win_rate"].to_numpy()
    ax.axhline(1, color="0.6", lw=0.8)
    ax.plot(rate[kept & ~astray], (printed / ours)[kept & ~astray], ".", color="0.5", label="follows")
    ax.plot(rate[astray], (printed / ours)[astray], "o", ms=4, color="C3", mfc="none", label="does not follow")
    ax.set(title=name, xlabel="win rate (percent)", ylabel="standard error, printed over recomputed")
    ax.legend(frameon=False)
plt.show()

# %% [markdown]
# *Printed standard errors over those of the counts beside them. Left the board of wins, draws and losses; right the
# board of graded preferences. The scales differ.*

# %% [markdown]
# What could explain the few on the left? Two readings can be tried without any data. Graded preferences would have a
# *smaller* error: of all values between 0 and 1 with a given mean, zeros and ones have the largest variance. That
# upper bound is a rule too. And the error may have been computed while some answers were still missing: then a few
# wins, draws or losses fewer give it, to its last digit.

# %%
ceiling = {
    "rule": "constraint",
    "claim": "no larger than any answers with this mean can make it",
    "holds": "standard_error <= 100 * sqrt(win_rate / 100 * (1 - win_rate / 100) / (n_total - 1))",
}
above = {name: js.audit(path, rules=[ceiling]) for name, path in paths.items()}
display(pd.DataFrame({name: a["verdict"].value_counts() for name, a in above.items()}).fillna(0).astype(int))


def standard_error(wins, draws, losses):
    n = wins + draws + losses
    m = (wins + draws / 2) / n
    return 100 * np.sqrt((wins * (1 - m) ** 2 + draws * (0.5 - m) ** 2 + losses * m**2) / (n - 1) / n)


def answers_missing(row, printed, most=10):
    """Ways to leave out up to `most` answers that give the printed error to its last digit; and what was tried."""
    digits = len(printed.partition(".")[2])
    kept, tried = [], []
    for a in range(most + 1):
        for b in range(min(most - a, int(row["n_draws"])) + 1):
            for c in range(most - a - b + 1):
                value = standard_error(row["n_wins"] - a, row["n_draws"] - b, row["n_wins_base"] - c)
                tried.append(value)
                if f"{value:.{digits}f}" == printed:
                    kept.append({"wins fewer": a, "draws fewer": b, "losses fewer": c, "gives": f"{value:.{digits}f}"})
    chance = len(tried) * 10.0**-digits / np.ptp(tried)
    return pd.DataFrame(kept).assign(printed=printed, tried=len(tried), by_chance=f"{chance:.6f}")


missing = pd.concat({m: answers_missing(boards[COUNTED].loc[m], p) for m, p in few["printed"].items()}, names=["model"])
display(missing.droplevel(1).rename(columns={"by_chance": "matches expected by chance"}))

# %% tags=["remove-input"]
over = above[COUNTED]
over = over[over["verdict"] == "does not follow"]["claim"].str.split(",|:").str[0].tolist()
AGREED = "So errors and counts were most likely computed from two states of one file of answers."
apart_by = (few["printed"].astype(float) / few["recomputed"].astype(float) - 1).abs().max()
explained = missing.index.get_level_values("model").unique()
smaller = (few["recomputed"].astype(float) > few["printed"].astype(float)).sum()
display(
    Markdown(
        f"Odd errors of `{COUNTED}`: {len(few)}. Above the ceiling, so that no grading of the answers gives them with "
        f"the printed mean and number: {len(set(over) & set(few.index))}. To every printed digit the error of the same "
        f"counts with a few answers left out: {len(explained)}. "
        f"{AGREED if len(explained) == len(few) else 'The others stay unexplained.'} The differences are small: "
        f"at most {100 * apart_by:.2f} % of the error."
    )
)

# %% [markdown]
# On the right the rule is about something else: that board's win rates are means of graded preferences, and its wins
# and losses are only their signs. Available verdicts can decide.

# %%
graded = boards[GRADED].join(verdicts.agg(["mean", "sem"]).T, how="inner")
apart = (graded["standard_error"] - 100 * graded["sem"]).abs()
display(pd.DataFrame({"printed": graded["standard_error"], "of the verdicts": 100 * graded["sem"]}).head(5).round(6))

# %% tags=["remove-input"]
rows = found.loc[GRADED][found.loc[GRADED, "about"] == ERROR]
below = (rows["printed"].astype(float) < rows["recomputed"].astype(float)).sum()
within = above[GRADED]["verdict"].eq("follows").sum()
same = apart.max() < 1e-5
plain = rows.loc[rows["verdict"].eq("follows") & rows["printed"].astype(float).gt(0), "claim"].str.split(",|:").str[0]
alike = np.isclose(boards[GRADED].loc[plain, "win_rate"], boards[GRADED].loc[plain, "discrete_win_rate"])
display(
    Markdown(
        f"{below} of the {len(rows)} printed errors of `{GRADED}` are below those of its wins and losses, and {within} "
        f"keep the ceiling. For the {len(graded)} models whose graded verdicts are here, the standard error of the "
        f"verdicts differs from the printed one by {'less than 0.00001' if same else f'up to {apart.max():.4f}'}"
        f"{': there the column is right, and the rule was about another quantity' if same else ', which is no match'}. "
        "That is why a finding says that a number does not follow from others, and not that it is wrong."
        + "".join(
            f"\n\nThe other way round, the error of `{model}` does follow from its counts"
            + (", and its win rate is its discrete rate: it looks as if its verdicts had not been graded" if a else "")
            + (f" (those that are here are of `{', '.join(judged[model])}`)." if model in judged else ".")
            for model, a in zip(plain, alike, strict=True)
        )
    )
)

# %% [markdown]
# ## Finding 2: a rate that contradicts its counts

# %%
rates = odd[odd["about"].str.startswith(DISCRETE.split(": ")[-1])]
rates = rates.assign(model=rates["claim"].str.split(",|:").str[0]).reset_index("board").set_index("model")
display(rates[["board", "printed", "recomputed", "comment"]])

# %% tags=["remove-input"]
for model, row in rates.iterrows():
    board = boards[row["board"]]
    cells, gap = board.loc[model], board["win_rate"] - board["discrete_win_rate"]
    gap_if = cells["win_rate"] - float(row["recomputed"])
    wins = float(row["printed"]) * cells["n_total"] / 100 - cells["n_draws"] / 2
    others = gap.drop(model).abs()
    like = others.quantile(0.95)
    sums = found.loc[row["board"]].query("rule == 'sum'")
    added = sums.loc[sums["claim"].str.startswith(model), "verdict"].eq("follows").all()
    display(
        Markdown(
            f"**{model}.** {cells['n_wins']:.0f} wins and {cells['n_draws']:.0f} draws of {cells['n_total']:.0f} give "
            f"{float(row['recomputed']):.2f}, and {float(row['printed']):.2f} is printed. With these draws it would "
            f"take {wins:.3f} wins, {'a whole number' if abs(wins - round(wins)) < 1e-3 else 'no whole number'}, that "
            f"is {abs(cells['n_wins'] - wins):.0f} {'fewer' if wins < cells['n_wins'] else 'more'}. The counts "
            f"themselves {'add up' if added else 'do not add up'}. The win rate beside them, {cells['win_rate']:.2f}, "
            f"is a witness: in 95 % of the other rows it lies within {like:.1f} points of the discrete rate; here it "
            f"is {abs(gap[model]):.1f} away from the printed one and {abs(gap_if):.1f} from the one that the counts "
            "give. So the counts "
            f"{'agree with the win rate better' if abs(gap_if) < abs(gap[model]) else 'agree with it no better'} than "
            "the printed rate. An earlier run of the judge, or another way to break ties, could have given "
            "that rate; the board does not say."
        )
    )

# %% [markdown]
# ## Finding 3: the order, and a verdict that depends
# A claim about a definition may have defensible alternatives. `otherwise` names them: if the claim fails
# and one of them holds, the verdict is `depends`, and the comment says on what.

# %%
OTHERS = [c for c in ("length_controlled_winrate", "discrete_win_rate") if c in boards[GRADED]]
ordered = {
    "rule": "check",
    "claim": "sorted by win rate",
    "holds": "decreasing(table.win_rate)",
    "otherwise": {f"by {c}": f"decreasing(table.{c})" for c in OTHERS},
}
plain = odd.loc[odd["about"] == "sorted by win rate", ["claim", "verdict"]]
asked = js.audit(paths[GRADED], rules=[ordered])
asked["depends on"] = asked["comment"].str.extract(r"depends on: ([^:]*)", expand=False)
display(plain.droplevel(1).set_index("claim"), asked[["claim", "verdict", "depends on"]].set_index("claim"))

# %% tags=["remove-input"]
said = asked["depends on"].dropna()
display(
    Markdown(
        f"The rows of `{GRADED}` are {'' if plain.empty else 'not '}sorted by win rate. With the other readings named, "
        f"the verdict is `{asked['verdict'].iloc[0]}`{'' if said.empty else f': they are sorted {said.iloc[0]}'}."
    )
)

# %% [markdown]
# ## Your own rules
# *An expression* uses Python syntax, parsed and never executed: a bare name is the cell of the row, `table.n_wins` the
# whole column. Here is a rule that the file does not have: on a board without grades the win rate itself follows from
# the counts, also where the discrete rate is not printed.

# %%
own = {"rule": "formula", "column": "win_rate", "formula": "100 * (n_wins + n_draws / 2) / n_total"}
display(js.audit(paths[COUNTED], rules=[own])["verdict"].value_counts().to_frame("win rates"))

# %% [markdown]
# *Whole numbers* are exact counts. A table that prints whole percents needs `rounded`, the columns that are not
# counts; otherwise a sum that is off by rounding would be a finding.

# %%
few_rows = boards[COUNTED].iloc[:: max(len(boards[COUNTED]) // 40, 1)]
percent = (100 * few_rows[["n_wins", "n_draws", "n_wins_base"]]).div(few_rows["n_total"], axis=0)
percent = percent.round().astype(int).astype(str).rename_axis("model").reset_index()  # as a report might print it
adds = {"rule": "sum", "parts": ["n_wins", "n_draws", "n_wins_base"], "total": 100}
asked = {"taken as exact": adds, "rounded": {**adds, "rounded": adds["parts"]}}
told = {k: js.audit(percent, rules=[r])["verdict"].value_counts() for k, r in asked.items()}
display(pd.DataFrame(told).fillna(0).astype(int))

# %% [markdown]
# *A misspelt rule or column* is refused, and the message lists what there is.

# %%
try:
    js.audit(paths[COUNTED], rules=[{"rule": "sums", "parts": ["n_wins"], "total": "n_total"}])
except js.errors.AuditError as error:
    display(Markdown(f"> {error}"))

# %% [markdown]
# ## The same from the command line
#
#     judgestats audit published_leaderboard_alpaca_eval_gpt4.csv --rules leaderboard.toml --out page.html
#
# It prints the counts and the first findings, and writes a page: findings first, each with its arithmetic, then the
# table, cell by cell. Here is that page for the odd rows and their neighbours.

# %%
text = pd.read_csv(paths[COUNTED], dtype=str, keep_default_na=False)  # as text: 0.30 as a number has lost a digit
text.columns = ["model", *text.columns[1:]]
places = text.index[text["model"].isin(few.index)]
near = sorted({p + d for p in places for d in (-1, 0, 1) if 0 <= p + d < len(text)})
excerpt = js.published.audited(text.iloc[near].reset_index(drop=True), rules=RULES)
page = audit_page(excerpt, Path(tempfile.mkdtemp()) / "page.html").read_text(encoding="utf-8")
frame = f'<iframe srcdoc="{html.escape(page)}" style="width: 100%; height: 1150px; zoom: 0.75; border: 0"></iframe>'
display(HTML(f"<div>{frame}</div>"))

# %% [markdown]
# ## What these data cannot show
# - *Which number is off.* A sum that does not hold does not show which part is wrong. That needs further evidence:
#   another column, or the verdicts.
# - *Whether the board is right.* Numbers that follow from each other can still come from a judge that prefers length,
#   from a wrong file, or from a model that games the judge. Other pages are about that.
# - *What was not printed.* A column without a rule, and a cell that is empty, cannot be decided.
# - *Why.* Missing answers, a second run, a second definition: the readings above fit the digits. Only those who made
#   the board know.
