"""The first screens of the public sets and benchmarks, recomputed with plain pandas from their rows and files."""

import os
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import judgestats as js
import planned_studies
import study_intervals
from judgestats.design import collect
from judgestats.metrics.measure_registry import measures
from judgestats.reporting import page_data
from judgestats.reporting.page_claims import Claim
from judgestats.reporting.page_data import SUMMARISED, PageArguments, measure_all
from judgestats.schema.account import account_of
from planned_studies import pair_of
from studies.end_to_end import to_the_end
from studies.study_plans import STUDIES


def _first_screen(rows, **options):
    with pytest.MonkeyPatch.context() as patch:
        made = [measures()[name] for name in ("alpha", "effective_judges", *SUMMARISED)]
        patch.setattr(page_data, "attempts", lambda data, options, *_: {m.name: m.attempt(data, options) for m in made})
        return measure_all(rows, PageArguments(n_resamples=50, **options)).summary


@pytest.fixture(scope="module", params=js.datasets.names()["name"].tolist())
def screen(request):
    """Name, rows and first screen of a set; other measures than those of the first screen are not made."""
    rows = js.datasets.load(request.param)
    return request.param, pd.DataFrame(rows), _first_screen(rows)


@pytest.fixture(scope="module", params=planned_studies.STUDIES)
def study(request, tmp_path_factory):
    """A planned study, asked of simulated judges through the command line: its name, its calls and its page."""
    plan = next(s for s in STUDIES if s.name == request.param)
    folder, before = tmp_path_factory.mktemp("study"), Path.cwd()
    try:
        os.chdir(folder)
        to_the_end(plan.files(folder), plan.judges, folder)
    finally:
        os.chdir(before)
    calls = collect(folder / "plan", sorted(map(str, (folder / "answers").glob("*/*"))))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page_data, "attempts", lambda *_: {})
        draws = 2000 if request.param == "cues" else 200  # the tail of a ratio of few items takes many
        return request.param, calls, measure_all(calls, PageArguments(study=True, n_resamples=draws))


def column(summary, term):
    cells = next(c.cells for c in summary.columns if c.term == term)
    return pd.Series({judge: float(cell["estimate"]) for judge, cell in cells.items()}).sort_index()


def same(estimates, expected):
    pd.testing.assert_series_equal(
        estimates, expected.sort_index(), check_names=False, atol=1e-12, check_index_type=False
    )


def winner(rows):
    names = rows["first"].where(rows["choice"] == "first", rows["second"]).astype(str)
    return names.where(rows["choice"].isin(["first", "second"]), "tie")


def shared_rows(rows):
    """What all judges judged in the ways that all were asked in, and how many further pairs and ways each did."""
    rows = rows.assign(pair=pair_of(rows))
    of_all = []
    for column in ("pair", "strategy"):
        judges = rows.groupby(column)["judge"].nunique()
        of_all.append(rows[column].isin(judges.index[judges == rows["judge"].nunique()]))
    shared = of_all[0] & of_all[1]
    further = rows[~shared].drop_duplicates(["judge", "pair", "strategy"]).groupby("judge").size()
    return rows[shared], further.reindex(rows["judge"].unique(), fill_value=0).astype(float)


def position(rows):
    valid = rows[rows["choice"] != "invalid"]
    return (valid["choice"].eq("first").astype(float) - valid["choice"].eq("second")).groupby(valid["judge"]).mean()


def test_the_numbers_of_the_table_are_those_of_the_rows(screen):
    name, rows, summary = screen
    if name == "llmbar":
        rows, further = shared_rows(rows)
        valid = rows[rows["choice"] != "invalid"]
        same(column(summary, "own"), further)
        same(column(summary, "accuracy"), (winner(valid) == valid["gold"].astype(str)).groupby(valid["judge"]).mean())
        same(column(summary, "position_bias"), position(rows))
        assert list(summary.groups[0].judges) == ["GPT-4", "PaLM2", "Falcon", "ChatGPT-0301", "LLaMA2", "ChatGPT"]
    elif name in ("mtbench_position", "frontier_self_bias"):
        same(column(summary, "position_bias"), position(rows))
    elif name == "pandalm":
        valid = rows[rows["choice"] != "invalid"].assign(answer=lambda d: winner(d))
        people = valid[valid["rater_type"] == "human"][["item", "answer"]]
        both = valid[valid["rater_type"] != "human"].merge(people, on="item", suffixes=("", "_theirs"))
        same(column(summary, "agreement"), (both["answer"] == both["answer_theirs"]).groupby(both["judge"]).mean())
    elif name == "hanna":
        rows = rows[rows["score"].notna()]
        thing, person = ["item", "system", "criterion"], rows["rater_type"] == "human"
        middle = rows[person].groupby(thing)["score"].mean().rename("middle").reset_index()
        both = rows[~person].merge(middle, on=thing)
        same(column(summary, "distance"), (both["score"] - both["middle"]).abs().groupby(both["judge"]).mean())
        constant = (middle["middle"] - middle["middle"].median()).abs().mean()
        assert summary.columns[0].reference == pytest.approx(constant, abs=1e-12)
    else:
        valid = rows[rows["correct"].notna()]
        same(column(summary, "right"), valid["correct"].astype(float).groupby(valid["judge"]).mean())


def test_both_orders_are_compared_pair_by_pair(screen):
    name, rows, summary = screen
    if "consistency" not in {c.term for c in summary.columns}:
        pytest.skip("no pair was shown in both orders")
    rows = shared_rows(rows)[0] if name == "llmbar" else rows.assign(pair=pair_of(rows))
    rows = rows[rows["choice"] != "invalid"].assign(winner=lambda d: winner(d))
    keys = ["judge", "pair", *(c for c in ("strategy", "replicate") if c in rows)]
    orders = rows.groupby(keys, observed=True).agg(orders=("first", "nunique"), winners=("winner", "nunique"))
    steady = orders[orders["orders"] == 2]["winners"].eq(1)
    same(column(summary, "consistency"), steady.groupby("judge").mean())


def test_the_first_line_counts_the_rows(screen):
    _, rows, summary = screen
    answer = next(c for c in ("choice", "score", "correct") if c in rows)
    lost = rows[answer].eq("invalid") | rows[answer].isna()
    counted = int(re.match(r"[\d\u202f]+", summary.line)[0].replace("\u202f", ""))
    assert counted == len(rows) - int(lost.sum())
    left_out = re.search(r"([\d\u202f]+) rows? left out", summary.line)
    assert (int(left_out[1].replace("\u202f", "")) if left_out else 0) == int(lost.sum())
    people = rows.loc[rows["rater_type"] == "human", "judge"].nunique() if "rater_type" in rows else 0
    assert (f"{people} people as reference" in summary.line) is bool(people)


def test_the_advice_names_who_is_first_in_the_table(screen):
    name, _, summary = screen
    if name == "frontier_self_bias/rubric":
        assert not summary.verdict  # one verdict on each criterion: who is right or steady was not asked
        return
    first = summary.groups[0].judges[0]
    assert first in summary.verdict
    expected = {
        "llmbar": "Not all was answered by all: 419 of 884 pairs by ChatGPT-0301 and 419 of 884 pairs by Falcon. "
        "Use GPT-4, for these 5 groups of items: right in 84\u202f%, 15 points above the next, PaLM2.",
        "pandalm": "Use gpt_3_5_turbo: agreeing with people in 71\u202f%, 4 points above the next, pandalm_7b.",
        "hanna": "As scores, use none: the best, OrcaPlatypus, is not shown to be nearer than a constant answer (always the",
    }
    assert summary.verdict.startswith(expected.get(name, ""))
    assert ("No judge agrees with people as much as people do with each other (92\u202f%)" in summary.verdict) is (
        name == "pandalm"
    )


def test_biases_are_counted_from_a_tenth_of_the_scale(screen):
    name, _, summary = screen
    card = next((c for c in summary.cards if c.kind == "biased"), None)
    claims = {
        "llmbar": "Falcon, +67 points",
        "mtbench_position": "gemini-pro, −25 points",
        "hanna": "Llama-13B scores higher than people by more than 0.40, ChatGPT lower",
    }
    if name in claims:
        assert card.claim == claims[name]
    assert np.isfinite([c.reference for c in summary.columns if c.term == "position_bias"]).all()


@pytest.fixture(scope="module")
def trec(real_data):
    """The labels of TREC as a plain table, one row a judge and passage, and the first screen of their page."""
    path = real_data / "llmjudge_trec_dl23" / "labels_wide.csv.gz"
    raw = pd.read_csv(path)
    long = raw.melt(["qid", "docid", "gold"], var_name="judge", value_name="score")
    long = long[long["score"].between(0, 3)].assign(item=lambda d: d["qid"] + "+" + d["docid"])
    return long, _first_screen(
        js.read(path, wide="judge=*,-qid,-docid,-gold", columns={"item": "qid+docid", "gold": "gold"}, scale=(0, 3),
                off_scale="missing")
    )  # fmt: skip


@pytest.fixture(scope="module")
def judgebench(real_data):
    """The decisions of JudgeBench as a plain table, one row a call, and the first screen of their page for these 17 tasks."""
    files = sorted((real_data / "judgebench").glob("dataset*.jsonl.gz"))
    rows = []
    for file in files:
        judge = re.search(r"judge_model=(.*)\.jsonl", file.name)[1]
        for _, pair in pd.read_json(file, lines=True).iterrows():
            for turned, call in enumerate(pair["judgments"]):
                said = (call or {}).get("decision")
                said = {"A>B": "A", "B>A": "B", "A=B": "tie"}.get(said)
                place = {"A": "first", "B": "second"}.get(said, said)
                if turned and said in ("A", "B"):
                    said = "B" if said == "A" else "A"
                rows.append((judge, pair["pair_id"], pair["source"], pair["label"][0], turned, said, place))
    calls = pd.DataFrame(rows, columns=["judge", "pair", "task", "gold", "turned", "said", "place"])
    return calls, _first_screen(js.read(files), cluster="item")


@pytest.fixture(scope="module")
def judgebench_for_other_tasks(judgebench, real_data):
    """The same decisions, and the first screen of their page as it comes."""
    return judgebench[0], _first_screen(js.read(sorted((real_data / "judgebench").glob("dataset*.jsonl.gz"))))


def t_interval(values):
    half = stats.t.ppf(0.975, len(values) - 1) * values.std() / np.sqrt(len(values))
    return values.mean() - half, values.mean() + half


def skewed_interval(values):
    u = (values - values.mean()).to_numpy()
    return skewed_ends(values.mean(), values.std() / np.sqrt(len(u)), u)


def skewed_ends(mean, error, u):
    """Student's ends, with the degrees of freedom of the variance, and Hall's for the skewness of the influences."""
    n = len(u)
    squares = (u**2).sum()
    df = min(n - 1, 2 / ((u**4).sum() / squares**2 - 1 / n))
    t, skewness = stats.t.ppf(0.975, df), (u**3).sum() / squares**1.5
    ends = [3 / skewness * (np.cbrt(1 + skewness * (q - skewness / 6)) - 1) for q in (t, -t)]
    return tuple(mean - end * error for end in ends)


def spaced(n):
    return f"{n:,}".replace(",", "\u202f") if n >= 1000 else str(n)


def signed(value):
    return f"{value:+.2f}".replace("-", "−")


def check_trec(long, summary):
    """Every number and sentence of the first screen, from the labels; simultaneous intervals between 2 and 6 errors."""
    error = long["score"] - long["gold"]
    values = {"distance": error.abs(), "leniency": error, "mean_score": long["score"]}
    for term, value in values.items():
        same(column(summary, term), value.groupby(long["judge"]).mean())
        ends = value.groupby(long["judge"]).apply(t_interval if term == "mean_score" else skewed_interval)
        cells = next(c.cells for c in summary.columns if c.term == term)
        for judge, (low, high) in ends.items():
            assert (cells[judge]["conf_low"], cells[judge]["conf_high"]) == pytest.approx((low, high), abs=1e-9)
    gold = long.drop_duplicates("item")["gold"]
    constant = (gold - gold.median()).abs()
    assert summary.columns[0].reference == pytest.approx(constant.mean(), abs=1e-12)
    order = values["distance"].groupby(long["judge"]).mean().sort_values()
    judges, best, last = summary.judges, order.index[0], order.index[-1]
    assert [order[j] for j in judges] == pytest.approx(order.tolist())

    table = values["distance"].groupby([long["judge"], long["item"]]).mean().unstack(0)
    query = pd.factorize(table.index.str.partition("+").get_level_values(0))[0]
    tied = [best]
    pairs = summary.differences["right"].pairs
    assert len(pairs) == 33 * 32 // 2
    for row in pairs.itertuples():
        gap = (table[row.judge] - table[row.other]).dropna()
        assert row.estimate == pytest.approx(gap.mean(), abs=1e-9)
        by_query = np.bincount(query, (table[row.judge] - table[row.other] - gap.mean()).fillna(0))
        half, se = (row.conf_high - row.conf_low) / 2, gap.std() / np.sqrt(len(gap))
        wide = np.sqrt((by_query**2).sum()) / len(gap)  # queries are the wider clusters
        assert 1.96 * max(se, wide) <= half <= 6 * max(se, wide) + 0.02
        if best in (row.judge, row.other) and row.conf_low <= 0 <= row.conf_high:
            tied += [row.other if row.judge == best else row.judge]
    tied = sorted(tied, key=lambda j: (round(order[j], 9), j))

    cards = {c.kind: c for c in summary.cards}
    assert set(cards) == {"right", "biased", "panel", "care"}
    assert len(tied) == 26  # by item 3
    names = f"{', '.join(tied[:3])} and {len(tied) - 3} more"
    assert cards["right"].claim == f"{len(tied)} of 33 judges, {order[tied[0]]:.2f} to {order[tied[-1]]:.2f}"
    ends_of = {j: skewed_interval(values["distance"][long["judge"] == j]) for j in tied}
    alone = [j for j in tied if ends_of[j][0] > ends_of[best][1]]
    assert cards["right"].detail == (
        f"{names} are not distinguishable from the best, {best}; alone, the intervals of {best} and "
        f"{', '.join(alone[:3])} and {len(alone) - 3} more do not overlap; the last, {last}, has {order[last]:.2f}"
    )
    assert summary.verdict == (
        f"Use {names}: they are not distinguishable. More items will hardly separate {tied[0]} from {tied[1]}: they are "
        "too alike."
    )
    assert summary.title == "Which of 33 judges can be trusted?"
    raw = 33 * long["item"].nunique()
    assert summary.line == (
        f"{spaced(len(long))} scores of {spaced(long['item'].nunique())} items · gold labels · {raw - len(long)} rows left "
        "out (< 0.1\u202f%)"
    )
    by_all = long.groupby("item")["judge"].nunique().eq(33).sum()
    assert summary.groups[0].about == f"33 judges, {spaced(by_all)} items judged by all of them"

    lenient = error.groupby(long["judge"]).mean()
    se = error.groupby(long["judge"]).sem()
    found = re.fullmatch(r"(\d+) score higher than gold by more than 0\.30, (\d+) lower", cards["biased"].claim)
    assert found
    for sign, number in zip((1, -1), map(int, found.groups()), strict=True):
        assert (sign * lenient - 6 * se > 0.3).sum() <= number <= (sign * lenient - 1.96 * se > 0.3).sum()
    said = re.findall(
        r"([\w-]+), ([+−][\d.]+) \(simultaneous 95\u202f% interval ([+−][\d.]+) to ([+−][\d.]+)\)",
        cards["biased"].detail,
    )
    assert [(j, v) for j, v, *_ in said] == [(j, signed(lenient[j])) for j in (lenient.idxmax(), lenient.idxmin())]
    for judge, _, low, high in said:
        low, high = (float(v.replace("−", "-")) for v in (low, high))
        assert lenient[judge] - 6 * se[judge] - 0.005 <= low < lenient[judge] - 1.96 * se[judge]
        assert (low + high) / 2 == pytest.approx(lenient[judge], abs=0.01)
        assert lenient[judge] + 1.96 * se[judge] < high <= lenient[judge] + 6 * se[judge] + 0.005

    clear = re.search(r"; clear of 0, but not of 0\.30: (.*) and (\d+) more$", cards["biased"].detail)
    assert clear
    some = clear[1].split(", ")
    assert (lenient[some].abs() > 1.96 * se[some]).all()
    beyond = sum(map(int, found.groups()))
    assert (lenient.abs() > 6 * se).sum() - beyond <= len(some) + int(clear[2])
    assert len(some) + int(clear[2]) <= (lenient.abs() > 1.96 * se).sum() - beyond

    scores = long.pivot(index="item", columns="judge", values="score")
    for group, share in re.findall(
        r"([\w, -]+) are near copies, equal in ([\d.]+)\u202f% or more", cards["panel"].detail
    ):
        copies = re.split(r", | and ", group.strip())
        equal = min((scores[a] == scores[b]).mean() for a in copies for b in copies if a < b)
        assert share == f"{100 * equal:.1f}"
    residual = long.assign(e=error).pivot(index="item", columns="judge", values="e").corr().to_numpy()
    mean = residual[np.triu_indices(33, 1)].mean()
    worth = 33 / (1 + 32 * mean)
    said = re.fullmatch(r"33 judges are worth (\d\.\d\d) independent ones", cards["panel"].claim)
    assert said  # with two decimals: with one the ends of the interval are alike
    assert float(said[1]) == pytest.approx(worth, abs=0.006)  # three scores are missing
    ends = re.match(
        rf"interval ([\d.]+) to ([\d.]+); mean correlation of their errors {mean:.2f};", cards["panel"].detail
    )
    assert ends
    assert [float(end) for end in ends.groups()] == pytest.approx([worth] * 2, abs=0.04)  # of a bootstrap

    queries = long["item"].str.partition("+")[0]
    of_best = values["distance"][long["judge"] == best]
    by_query = of_best.groupby(queries)
    low, high = clustered_t(of_best, queries[of_best.index])
    assert cards["care"].claim == (
        f"{by_query.ngroups} groups of items (by the first part of the id) stand behind {spaced(long['item'].nunique())} items"
    )
    worse, alike = [], []
    wider = np.sqrt(2) * stats.norm.ppf(1 - 0.025 / len(judges)) / stats.norm.ppf(0.975)
    for judge in judges:
        ends = t_interval(values["distance"][long["judge"] == judge])
        clear = np.mean(ends) - wider * np.ptp(ends) / 2 > constant.mean()
        (worse if clear else alike if ends[1] >= constant.mean() else []).append(judge)
    ends, also = re.fullmatch(rf"by them the interval of {best} is (.*); also: (.*)", cards["care"].detail).groups()
    assert [float(v) for v in ends.split(" to ")] == pytest.approx(
        [low, high], abs=0.011
    )  # its error is for few levels
    assert also == (
        f"{', '.join(worse[:2])} and {len(worse) - 2} more: worse than a constant answer; "
        f"{', '.join(alike[:-1])} and {alike[-1]}: not shown to beat a constant answer"
    )


def clustered_t(values, clusters):
    """t interval of a mean over clusters of unequal size, linearised."""
    sums = (values - values.mean()).groupby(clusters).sum()
    g = len(sums)
    se = np.sqrt(g / (g - 1) * (sums**2).sum()) / len(values)
    return skewed_ends(values.mean(), se, sums.to_numpy())


def check_judgebench(calls, summary):
    """Every number and sentence of the first screen, from the decisions."""
    valid = calls[calls["said"].notna()]
    right = (valid["said"] == valid["gold"]).groupby(valid["judge"]).mean()
    position = (valid["place"].eq("first").astype(float) - valid["place"].eq("second")).groupby(valid["judge"]).mean()
    both = valid.groupby(["judge", "pair"])["said"].agg(["size", "nunique"])
    steady = both[both["size"] == 2]["nunique"].eq(1).groupby("judge").mean()
    for term, expected in (("accuracy", right), ("consistency", steady), ("position_bias", position)):
        got = column(summary, term)
        got.index = [judge.replace("/", "_") for judge in got.index]
        same(got.sort_index(), expected)
    cards = {c.kind: c for c in summary.cards}
    assert set(cards) == {"right", "steady", "biased", "care"}
    apart = "claude-3-haiku-20240307"
    name = {j.replace("/", "_"): j for j in summary.judges}
    order = right.drop(apart).sort_values(ascending=False)
    best, second = order.index[:2]
    assert [j.replace("/", "_") for j in summary.groups[0].judges] == order.index.tolist()
    assert summary.groups[1].judges == (apart,)
    pairs = calls.groupby("judge")["pair"].nunique()
    assert [g.about for g in summary.groups] == [
        f"6 judges, {pairs[best]} pairs judged by all of them", f"{apart}: {pairs[apart]} pairs"
    ]  # fmt: skip
    lost = len(calls) - len(valid)
    assert summary.title == "Which of 7 judges can be trusted?"
    assert summary.line == (
        f"{spaced(len(valid))} verdicts on {calls['pair'].nunique()} pairs · each shown in both orders · gold labels · "
        f"{lost} rows left out ({100 * lost / len(calls):.1f}\u202f%)"
    )
    gap = 100 * (right[best] - right[second])
    share = f"{100 * right[best]:.0f}\u202f%"
    items = (valid["said"] == valid["gold"]).groupby([valid["judge"], valid["pair"]]).mean().unstack(0)
    orders = valid.groupby(["judge", "pair"]).size().unstack(0)
    twice = (items == 1).where(orders == 2).mean().drop(apart)
    assert twice.idxmax() == second
    assert summary.verdict == (
        f"Which judge is best depends on how the data are read: {name[best]} is right in {share}, {gap:.0f} points above the "
        f"next, {name[second]}, but under “right in both orders” {name[second]} is first ({100 * twice[second]:.0f}\u202f%; "
        f"{name[best]} {100 * twice[best]:.0f}\u202f%)."
    )
    assert cards["right"].claim == f"{name[best]}, {share}"
    gaps = (items[best] - items[second]).dropna()
    ends = re.fullmatch(
        rf"{gap:.0f} points above {name[second]} \(simultaneous 95\u202f% interval ([\d.]+) to ([\d.]+)\)",
        cards["right"].detail,
    )
    low, high = float(ends[1]), float(ends[2])
    pairs = summary.differences["right"].pairs
    row = pairs[pairs["judge"].isin([name[best], name[second]]) & pairs["other"].isin([name[best], name[second]])].iloc[
        0
    ]
    stored = sorted(abs(row[["conf_low", "conf_high"]].astype(float)) * 100)
    assert (low, high) == pytest.approx((round(stored[0], 1), round(stored[1])), abs=1e-9)
    assert (stored[0] + stored[1]) / 2 == pytest.approx(gap, abs=0.5)
    assert 1.96 * gaps.sem() < (stored[1] - stored[0]) / 200 < 4 * gaps.sem()
    last = steady.drop(apart).idxmin()
    others = steady.drop([apart, last])
    least, most = (f"{100 * v:.1f}" for v in (others.min(), others.max()))
    assert cards["steady"].claim == f"All but {name[last]}, {least} to {most}\u202f%"
    firsts = [name[j] for j in others.index[others == others.max()]]
    assert cards["steady"].detail in [
        f"not distinguishable from the best, {j}; the last, {name[last]}, has {100 * steady[last]:.1f}\u202f%"
        for j in firsts
    ]
    largest = position.abs().idxmax()  # of all judges, with that whose pairs are others
    assert largest == apart
    assert cards["biased"].claim == "None shown to be above 10 points"
    ends = re.fullmatch(
        rf"largest: {name[largest]}, \{100 * position[largest]:+.0f} points "
        r"\(simultaneous 95\u202f% interval \+([\d.]+) to \+([\d.]+)\); "
        rf"clear of 0, but not of 10 points: {name[position.drop(apart).abs().idxmax()]}; "
        rf"the interval of {name[largest]} alone is beyond 10 points",
        cards["biased"].detail,
    )
    low, high = float(ends[1]), float(ends[2])
    assert 0 < low <= 10
    assert (low + high) / 2 == pytest.approx(100 * position[largest], abs=0.6)
    assert cards["care"].claim == f"{apart} judged other pairs"
    assert f"{apart}: worse than a constant answer" in cards["care"].detail
    assert right[apart] < 0.5 == summary.columns[0].reference


def check_judgebench_for_other_tasks(calls, summary):
    """The page as it comes: who is best is said of tasks like these 17, by which no two of the first five are apart."""
    valid = calls[calls["said"].notna()].assign(right=lambda d: (d["said"] == d["gold"]).astype(float))
    share = valid.groupby(valid["judge"].str.replace("_", "/", n=1))["right"].mean()
    judges = list(summary.groups[0].judges)
    same(column(summary, "accuracy").rename(lambda j: j.replace("_", "/", 1)).sort_index(), share.sort_index())
    assert judges == share[judges].sort_values(ascending=False, kind="stable").index.tolist()
    best, alike = judges[0], [judges[0]]
    by_call = valid.assign(name=valid["judge"].str.replace("_", "/", n=1)).pivot_table(
        index=["pair", "task", "turned"], columns="name", values="right"
    )
    for row in summary.differences["right"].pairs.itertuples():
        gap = (by_call[row.judge] - by_call[row.other]).dropna()
        sums = (gap - gap.mean()).groupby(level="task").sum()
        half, se = (row.conf_high - row.conf_low) / 2, np.sqrt(17 / 16 * (sums**2).sum()) / len(gap)
        assert row.clusters == len(sums) == 17
        assert 1.96 * se <= half <= 6 * se + 0.02
        assert row.estimate == pytest.approx(gap.mean(), abs=1e-9)
        if best in (row.judge, row.other) and row.conf_low < 0 < row.conf_high:
            alike.append(row.other if row.judge == best else row.judge)
    alike = [j for j in judges if j in alike]
    assert len(alike) == 5
    assert re.fullmatch(
        rf"Use {', '.join(alike[:3])} and 2 more: they are not distinguishable\. {best} is first as counted here, but under "
        rf"“right in both orders” {alike[1]} is first \(64\u202f%; {best} 58\u202f%\)\. About \d+ more tasks would separate {best} from {alike[1]}\.",
        summary.verdict,
    )
    cards = {c.kind: c for c in summary.cards}
    ends = f"{100 * share[judges].min():.0f} to {100 * share[judges].max():.0f}\u202f%"
    assert cards["right"].claim == f"All but {judges[-1]}, {ends}"


CHECKS = {
    "trec": check_trec,
    "judgebench": check_judgebench,
    "judgebench_for_other_tasks": check_judgebench_for_other_tasks,
}


@pytest.mark.real
@pytest.mark.slow
@pytest.mark.parametrize("name", CHECKS)
def test_every_sentence_of_a_public_benchmark_is_that_of_its_files(name, request):
    CHECKS[name](*request.getfixturevalue(name))


def altered(summary):
    """The summary with one number changed in each: of a text by five in its last digit, of a cell by 0.01."""
    for field in ("title", "line"):
        for text in _altered_texts(getattr(summary, field)):
            yield text, replace(summary, **{field: text})
    for text in _altered_texts(summary.verdict):
        yield text, replace(summary, sentences=(Claim(text, "verdict"),))
    for place, card in enumerate(summary.cards):
        for field in ("claim", "detail"):
            for text in _altered_texts(getattr(card, field)):
                cards = [*summary.cards]
                cards[place] = replace(card, **{field: text})
                yield text, replace(summary, cards=tuple(cards))
    for place, column in enumerate(summary.columns):
        for judge, cell in column.cells.items():
            changed = {**column.cells, judge: {**cell, "estimate": cell["estimate"] + 0.01}}
            columns = [*summary.columns]
            columns[place] = replace(column, cells=changed)
            yield f"{column.term} of {judge}", replace(summary, columns=tuple(columns))


def _altered_texts(text):
    for number in re.finditer(r"(?<![\w-])\d[\d\u202f.]*(?=[\s,;:)\u202f?]|$)", text):
        if "simultaneous 95" in text[: number.end()][-16:] or number[0].endswith("."):
            continue  # the level is that of the call
        digit = max(i for i in range(number.start(), number.end()) if text[i].isdigit())
        yield f"{text[:digit]}{(int(text[digit]) + 5) % 10}{text[digit + 1 :]}"


@pytest.mark.real
@pytest.mark.slow
@pytest.mark.parametrize("name", ["trec", "judgebench"])  # of which every sentence is checked
def test_a_number_that_is_altered_is_noticed(name, request):
    raw, summary = request.getfixturevalue(name)
    unnoticed, mutants = [], 0
    for what, mutant in altered(summary):
        mutants += 1
        try:
            CHECKS[name](raw, mutant)
        except (AssertionError, TypeError):
            continue
        unnoticed.append(what)
    assert mutants > 30
    assert not unnoticed


def krippendorff(units, values, ordinal):
    """Alpha by its table of coincidences; ordinal: squared numbers of answers between two (Krippendorff 2011)."""
    labels, code = np.unique(np.asarray(values), return_inverse=True)
    table = np.zeros((len(labels),) * 2)
    for rows in pd.Series(code).groupby(np.asarray(units)).agg(list):
        counts = np.bincount(rows, minlength=len(labels)).astype(float)
        if len(rows) > 1:
            table += (np.outer(counts, counts) - np.diag(counts)) / (len(rows) - 1)
    n = table.sum(axis=0)
    apart = 1 - np.eye(len(labels))
    if ordinal:
        up = np.cumsum(n) - n / 2
        apart = (up[:, None] - up) ** 2
    expected = (np.outer(n, n) * apart).sum() / (n.sum() - 1)
    return 1 - (table * apart).sum() / expected


@pytest.mark.real
@pytest.mark.slow
def test_a_held_out_panel_of_judges_that_score_each_other(real_data):
    """Three judges of each other's answers by five criteria: leniency, mean scores, and ordinal alpha, from the file."""
    path = real_data / "cross_eval_masaomi" / "evaluations.jsonl"
    raw = pd.read_json(path, lines=True)
    raw = raw[raw["error"].isna()].assign(item=lambda d: d["run"] + "|" + d["task_id"].astype(str))
    keys = ["evaluator_key", "evaluated_key", "item"]
    long = pd.concat([raw[keys], pd.json_normalize(raw["scores"]).set_axis(raw.index)], axis=1)
    long = long.melt(keys, var_name="criterion", value_name="score")
    summary = _first_screen(
        js.read(path, wide="scores.{criterion}",
                columns={"judge": "evaluator_key", "system": "evaluated_key", "item": "run+task_id", "failed": "error"})
    )  # fmt: skip
    assert summary.line.startswith(f"{len(long)} scores of 3 systems on {long['item'].nunique()} items by 5 criteria")
    table = long.set_index(["evaluated_key", "item", "criterion", "evaluator_key"])["score"].unstack()
    gaps = pd.DataFrame({j: table[j] - table.drop(columns=j).mean(axis=1) for j in table})
    same(column(summary, "leniency"), gaps.mean())
    same(column(summary, "mean_score"), table.groupby(level="evaluated_key").mean().mean())
    units = long["evaluated_key"] + long["item"]
    alphas = {c: krippendorff(units[r.index], r["score"], True) for c, r in long.groupby("criterion")}
    low, high = min(alphas, key=alphas.get), max(alphas, key=alphas.get)
    card = next(c for c in summary.cards if c.kind == "agreement")
    assert card.claim == f"α {alphas[low]:.2f} to {alphas[high]:.2f} by criterion"
    assert re.match(rf"lowest: {low}, {alphas[low]:.2f} \(.*; highest: {high}, {alphas[high]:.2f} \(", card.detail)
    assert "scores compared by their order" in card.detail
    bias = next(c for c in summary.cards if c.kind == "biased")
    worst = gaps.mean().abs().idxmax()
    assert bias.claim == "None shown to differ in leniency from the others"
    assert bias.detail.startswith(f"largest: {worst}, {signed(gaps[worst].mean())} (")


@pytest.mark.real
@pytest.mark.slow
def test_held_out_votes_of_people_lead_with_the_ranking(real_data):
    """Sixty-five people on six systems: who wins most, and how far they agree, from the file."""
    path = real_data / "mt_bench" / "human_judgments.csv.gz"
    raw = pd.read_csv(path)
    with pytest.MonkeyPatch.context() as patch:
        made = [measures()[name] for name in ("alpha", "rank_systems", *SUMMARISED)]
        patch.setattr(page_data, "attempts", lambda data, options, *_: {m.name: m.attempt(data, options) for m in made})
        votes = js.read(
            path, labels={"model_a": "first", "model_b": "second"},
            columns={"item": "question_id+turn", "first": "model_a", "second": "model_b", "choice": "winner",
                     "order_known": "=false"},
        )  # fmt: skip
        summary = measure_all(votes, PageArguments(n_resamples=50)).summary
    name = raw["model_a"].where(raw["winner"] == "model_a", raw["model_b"]).where(raw["winner"] != "tie", "tie")
    ends = raw[["model_a", "model_b"]].apply(sorted, axis=1).str.join("|")
    units = raw["question_id"].astype(str) + "|" + raw["turn"].astype(str) + "|" + ends
    assert summary.title == "Which system is preferred?"
    assert summary.line.startswith(
        f"{spaced(len(raw))} verdicts on {spaced(units.nunique())} pairs of "
        f"{raw[['question_id', 'turn']].drop_duplicates().shape[0]} items"
    )
    systems = np.unique(raw[["model_a", "model_b"]])
    met = pd.crosstab(raw["model_a"], raw["model_b"]).reindex(index=systems, columns=systems, fill_value=0)
    met = (met + met.T).to_numpy()
    wins = [
        ((name == s) + 0.5 * ((name == "tie") & (raw[["model_a", "model_b"]] == s).any(axis=1))).sum() for s in systems
    ]
    strength = np.ones(len(systems))
    for _ in range(500):  # Bradley and Terry's, a tie as half a win for each
        strength = wins / (met / np.add.outer(strength, strength)).sum(axis=1)
    first, second = systems[np.argsort(-strength)[:2]]
    ranking, agreement = summary.cards[:2]
    assert ranking.claim == first
    assert ranking.detail == f"first of {len(systems)}; next: {second}"
    once = ~raw.duplicated(["judge", "question_id", "turn", "model_a", "model_b"])
    as_listed = units + "|" + raw["model_a"]  # alpha keeps the two lists of a pair apart, though no order is known
    assert agreement.claim == f"α {krippendorff(as_listed[once], raw['winner'][once], False):.2f}"


def shown(value, row):
    """A number of a study as its page prints it, by what it is: written here, not taken from the package."""
    fine = int(0 < row["conf_high"] - row["conf_low"] < 0.02)
    head = row["column"]
    if head.endswith(", %"):
        return f"{value:.0f}".replace("-", "−")
    if head in SHARES or head.startswith("correct Δ"):
        return f"{100 * value:.{fine}f}\u202f%"
    if head in POINTS:
        text = f"{100 * value:+.{fine}f}".replace("-", "−")
        text = text if any(c in "123456789" for c in text) else text[1:]
        return f"{text} point{'s' * (text[1:] != '1')}"
    text = f"{value:.{2 + fine}f}".replace("-", "−")
    return text if any(c in "123456789" for c in text) else text.removeprefix("−")


SHARES = {
    "valid", "dark current", "RFP₀", "SCS", "PFP", "OSC", "accuracy", "wrong ties", "truncation right", "LAO", "revised",
    "towards", "away", "EDR", "formatted",
}  # fmt: skip
POINTS = {
    "criterion shift", "minus B0", "position", "verbosity", "style", "own model", "shift", "LDS", "OLS", "TS",
    "neutrality deviation", "beyond people",
}  # fmt: skip


def check_tables(expected, tables):
    """Every estimate of the tables, from the calls; its text; and an interval that holds it."""
    seen = set()
    for table in tables:
        heads, body = table.wide()
        printed = pd.DataFrame(body, columns=heads)
        assert len(printed) == len(table.rows[list(table.labels)].fillna("").astype(str).drop_duplicates())
        for head, rows in table.rows.groupby("column", sort=False):
            of_people = " from people" if "people" in table.title else ""
            values = expected[f"{head}{of_people}"].dropna()
            depth = values.index.nlevels
            labels = list(table.labels)[:depth]
            keys = [tuple(row) for row in rows[labels].fillna("").to_numpy()]
            there = rows["estimate"].notna().to_numpy()
            estimates = {k: v for k, v, ok in zip(keys, rows["estimate"], there, strict=True) if ok}
            assert estimates == pytest.approx(
                {k if isinstance(k, tuple) else (k,): v for k, v in values.items()}, abs=1e-9
            ), (table.title, head)
            seen.add(f"{head}{of_people}")
            for row in rows[rows["estimate"].notna()].to_dict("records"):
                said = {c: f"{row[c]:g}" if isinstance(row[c], float) else str(row[c]) for c in table.labels}
                at = np.logical_and.reduce([printed[c.replace("_", " ")] == ("" if pd.isna(row[c]) else said[c])
                                            for c in table.labels])  # fmt: skip
                text = printed.loc[at, head].item()
                if head.startswith("p, "):
                    p = row["estimate"]
                    assert text == ("< 0.001" if p < 0.001 else f"{p:.3f}")
                    continue
                assert text.split(" [")[0] == shown(row["estimate"], row), (head, text)
                if np.isfinite([row["conf_low"], row["conf_high"]]).all() and head not in ("LDS", "OLS", "TS"):
                    assert row["conf_low"] - 1e-9 <= row["estimate"] <= row["conf_high"] + 1e-9
                    ends = [shown(row[end], row) for end in ("conf_low", "conf_high")]
                    bare = [re.sub(r"\u202f%| points?$", "", end) for end in ends]
                    unit = "\u202f%" * ends[0].endswith("%")
                    assert text.split(" [")[1] == f"{bare[0]}, {bare[1]}]{unit}", (head, row)
    return seen


def check_study_cards(name, page, conf_level=0.95):
    """The cards of a study answer its questions by the rows of its tables: the largest, or the best, that is clear of 0."""
    cards = [c for c in page.summary.cards if c.kind != "care"]
    expected = []
    for head, columns, best, none in QUESTIONS.get(name, ()):
        for table in page.tables:
            rows = table.rows[table.rows["column"].isin(columns) & table.rows["estimate"].notna()]
            if "probe" in rows and "shift" in columns:
                rows = rows[rows["probe"].isin(["truth", "flip"])]
            if rows.empty:
                continue
            clear = rows[(rows["conf_low"] > 0) | (rows["conf_high"] < 0)]
            if head == "Does a strategy change accuracy?":
                small = table.rows[(table.rows["column"] == "p, Holm") & (table.rows["estimate"] <= 0.05)]
                keys = set(zip(small["judge"], small["strategy"], strict=True))
                clear = rows[[k in keys for k in zip(rows["judge"], rows["strategy"], strict=True)]]
            pool = rows if best or clear.empty else clear
            row = pool.loc[(pool["estimate"] if best else pool["estimate"].abs()).idxmax()]
            names = [*(row[c] for c in table.labels), *([row["column"]] if len(columns) > 1 else [])]
            who = " · ".join(str(n) for n in names if n not in ("", None))
            percent = row["column"].endswith(", %")
            text = f"{row['estimate']:.0f}\u202f%".replace("-", "−") if percent else shown(row["estimate"], row)
            if not best and row["estimate"] > 0 and not text.startswith("+"):
                text = f"+{text}"
            claim = f"{who}, {text}"
            if percent:
                ends = [f"{row[e]:.0f}".replace("-", "−") for e in ("conf_low", "conf_high")]
            else:
                ends = [re.sub(r"\u202f%| points?$", "", shown(row[e], row)) for e in ("conf_low", "conf_high")]
            unit = "\u202f%" if percent or row["column"] in SHARES else " points" * (row["column"] in POINTS)
            many = f"; the {'highest' if best else 'largest'} of {len(rows)} estimates, each interval alone"
            detail = f"95\u202f% interval {ends[0]} to {ends[1]}{unit}" + many * (len(rows) > 1)
            expected.append(
                (head, claim, detail) if best or len(clear) else (head, none, f"largest: {claim} ({detail})")
            )
    assert [(c.head, c.claim, c.detail) for c in cards] == expected


QUESTIONS = {
    "debiasing": [
        ("Which strategy agrees most with gold?", ["accuracy"], True, ""),
        ("Does a strategy change accuracy?", ["minus B0"], False, "No change from B0 survives correction"),
        ("Which bias is largest?", ["position", "verbosity", "style", "own model"], False, "No interval leaves out 0"),
        ("Is it biased by position?", ["position"], False, "No position bias on identical texts shown"),
        ("Does it prefer its own model?", ["own model"], False, "No preference for the own model shown"),
        ("Do people prefer as it does?", ["beyond people"], False, "No preference beyond that of people shown"),
    ],
    "rubric": [
        ("Does a judge favour its own system?", ["attributed, own beyond others"], False, "No self-preference shown"),
        ("Does hiding names help?", ["attenuation, %"], False, "No attenuation shown"),
    ],
    "merg": [("Does agreement survive?", ["r minus baseline-score"], False, "No change of agreement shown")],
    "cues": [
        ("Does a label move the verdict?", ["shift"], False, "No shift shown"),
        ("Is it revised when the labels are put right?", ["towards"], True, ""),
    ],
}


def check_study(name, calls, page):
    """The first screen of a planned study, from its calls."""
    recomputed = planned_studies.STUDIES[name](calls)
    assert check_tables(recomputed, page.tables) == set(recomputed)
    answer = calls["choice"].ne("invalid") if "choice" in calls else calls["score"].notna()
    lost = int((~answer).sum())
    said = f"{spaced(len(calls))} answers, {lost} of them missing or not readable"
    assert said in page.tables[0].about
    used, left_out = (
        re.search(rf"([\d\u202f]+) {what}", page.summary.line) for what in ("(?:verdicts|scores)", "rows left")
    )
    rows = [int(found[1].replace("\u202f", "")) for found in (used, left_out)]
    if name == "debiasing":
        natural = planned_studies.merged(calls[calls["bias"].isna()])
        bad = int(natural["winner"].eq("invalid").sum())
        assert "shown in one order" in page.summary.line
    elif name == "merg":
        complete = calls.groupby(["condition", "judge", "system", "item"])["score"].apply(lambda s: s.notna().all())
        natural, bad = complete, int((~complete).sum())
        assert f"by the rules of the design {len(complete)}." in page.tables[0].about
    else:
        twice = sum(e.n for e in account_of(calls).excluded)  # answers that came back again
        natural, bad = calls, lost + twice
    assert rows == [int(answer.sum()) if natural is calls else len(natural) - bad, bad]
    if name == "dark-current":
        prompt = [f"m · prompt = {p}" for p in ("pairwise", "pairwise_strict")]
        expected = planned_studies.dark_current(calls)
        first = column(page.summary, "target_sensitivity")
        assert first.index.tolist() == prompt
        shared = expected["correct Δ = 1"]
        assert page.summary.verdict.startswith(
            f"No judge is shown to be the best: {prompt[0]} is first, finding the smallest difference in "
            f"{100 * shared.iloc[0]:.0f}"
        )
        false = column(page.summary, "raw_false_preference")
        much = [j for j, v in false.items() if v >= 0.5]
        care = next(c for c in page.summary.cards if c.kind == "care")
        assert care.claim == f"{much[0]}: prefers one of two equals"
    else:
        assert page.summary.verdict == ""
        check_study_cards(name, page)


def check_intervals(expected, tables):
    """Every interval of the tables against that made from the calls; how many were compared, of each column."""
    compared = dict.fromkeys(expected, 0)
    for table in tables:
        rows = table.rows[table.rows["conf_low"].notna()]
        for row in rows.to_dict("records"):
            head = row["column"] + " from people" * ("people" in table.title)
            labels = [row[c] for c in table.labels if not pd.isna(row[c]) and row[c] != ""]
            if head == "criterion shift" and len(labels) < 3:
                labels.append(0.0)
            ends, own = (row["conf_low"], row["conf_high"]), expected[head][tuple(labels)]
            wide = own[1] - own[0]
            close = 0.6 * wide if head in study_intervals.RESAMPLED else 2e-4 if "own beyond" in head else 1e-7
            assert ends == pytest.approx(own, abs=close), (table.title, head, labels)
            if head in study_intervals.RESAMPLED:
                assert 0.6 * wide < ends[1] - ends[0] < 2 * wide, (head, labels)
            compared[head] += 1
    return compared


@pytest.mark.slow
def test_every_number_of_a_planned_study_is_that_of_its_calls(study):
    check_study(*study)


@pytest.mark.slow
def test_intervals_of_a_planned_study_are_made_again_and_altered_ones_are_noticed(study):
    name, calls, page = study
    expected = study_intervals.INTERVALS[name](calls)
    compared = check_intervals(expected, page.tables)
    assert all(compared.values()), [head for head, n in compared.items() if not n]
    unnoticed = []
    for table in page.tables:
        for row, column in table.rows.loc[table.rows["conf_low"].notna(), "column"].items():
            for end in ("conf_low", "conf_high"):
                rows = table.rows.copy()
                wide = rows.loc[row, "conf_high"] - rows.loc[row, "conf_low"]
                rows.loc[row, end] += wide if column in study_intervals.RESAMPLED else 0.001
                changed = [replace(table, rows=rows)]
                if _passes(lambda tables=changed: check_intervals(expected, tables)):
                    unnoticed.append((table.title, column, row, end))
    assert not unnoticed


@pytest.mark.slow
def test_a_number_of_a_planned_study_that_is_altered_is_noticed(study):
    name, calls, page = study
    mutants, unnoticed, recomputed = 0, [], planned_studies.STUDIES[name](calls)
    for table in page.tables:
        for row in table.rows.index[table.rows["estimate"].notna()]:
            rows = table.rows.copy()
            rows.loc[row, "estimate"] += 0.01
            mutants += 1
            changed = [replace(table, rows=rows)]
            if _passes(lambda tables=changed: check_tables(recomputed, tables)):
                unnoticed.append((table.title, row))
    for number, card in enumerate(page.summary.cards):
        for part in ("claim", "detail") if card.kind != "care" and name != "dark-current" else ():
            for text in _altered_texts(getattr(card, part)):
                cards = [*page.summary.cards]
                cards[number] = replace(card, **{part: text})
                changed = replace(page, summary=replace(page.summary, cards=tuple(cards)))
                mutants += 1
                if _passes(lambda p=changed: check_study_cards(name, p)):
                    unnoticed.append(text)
    assert mutants > 10
    assert not unnoticed


def _passes(check):
    try:
        check()
    except (AssertionError, TypeError):
        return False
    return True
