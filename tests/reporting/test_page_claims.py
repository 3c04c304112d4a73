"""What the sentences of a page claim, recomputed from the calls by pandas alone; and claims that are altered."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import judgestats as js
from judgestats.reporting.page_claims import Claim, Report
from judgestats.reporting.page_data import PageArguments, measure_all
from judgestats.schema import preferences, ratings

LOWER = {"distance", "run_sd"}


def pairs_by_hand(calls, humans=()):
    """Term -> the value of each judge, from calls on pairs."""
    text = calls.astype(dict.fromkeys(("judge", "item", "first", "second", "choice"), str))
    winner = text["first"].where(text["choice"] == "first", text["second"]).mask(text["choice"] == "tie", "tie")
    text = text.assign(winner=winner.where(text["choice"] != "invalid"))
    text["pair"] = (
        text["item"] + "|" + text[["first", "second"]].min(axis=1) + "|" + text[["first", "second"]].max(axis=1)
    )
    judges, people = text[~text["judge"].isin(humans)], text[text["judge"].isin(humans)]
    valid = judges.dropna(subset=["winner"])
    values = {}
    if "gold" in text:
        right = (valid["winner"] == valid["gold"].astype(str)).where(valid["gold"].notna())
        values["accuracy"] = right.dropna().astype(float).groupby(valid["judge"]).mean()
    if len(people):
        both = valid.merge(people.dropna(subset=["winner"]), on="pair", suffixes=("", "_person"))
        values["agreement"] = (both["winner"] == both["winner_person"]).groupby(both["judge"]).mean()
    keys = ["judge", "pair", *(c for c in ("replicate", "task") if c in text)]
    orders = valid.assign(order=valid["first"] < valid["second"]).groupby([*keys, "order"])["winner"].first().unstack()
    if orders.shape[1] == 2 and len(whole := orders.dropna()):
        same = (whole.iloc[:, 0] == whole.iloc[:, 1]).astype(float)
        values["consistency"] = same.groupby(level="judge").mean()
        every = judges.assign(order=judges["first"] < judges["second"]).groupby([*keys, "order"]).size().unstack()
        twice = valid.set_index(keys).index.isin(every.dropna().index)
        side = ((valid["choice"] == "first") * 1.0 - (valid["choice"] == "second"))[twice]
        values["position_bias"] = side.groupby(valid["judge"][twice]).mean()
    return values


def scores_by_hand(calls):
    error = calls["score"] - calls["gold"]
    judge = calls["judge"].astype(str)
    return {"distance": error.abs().groupby(judge).mean(), "leniency": error.groupby(judge).mean()}


def contradiction(claim: Claim, values) -> str:
    """How numbers that are computed by hand contradict a claim; empty where they do not."""
    if claim.term not in values or claim.relation not in (
        "best",
        "best here",
        "may be best",
        "alone",
        "beyond",
        "not beyond",
    ):
        return ""
    own = values[claim.term]
    if not claim.judges:
        return "of nobody"
    named = own.reindex(list(claim.judges[: len(claim.values)]))
    if not np.allclose(named, claim.values, atol=1e-9):
        return f"{claim.term}: {claim.values} for {named.tolist()}"
    if not set(claim.judges) <= set(claim.scope):
        return "a judge out of its scope"
    among = own.reindex(list(claim.scope)).dropna()
    if claim.where.startswith("card: biased") or claim.term in ("position_bias", "leniency"):
        if (
            claim.relation == "not beyond"
            and claim.where != "verdict"
            and among.abs().max() > abs(claim.values[0]) + 1e-9
        ):
            return "another is larger"
        if claim.relation == "beyond" and min(map(abs, claim.values)) < 0.1:
            return "not beyond"
        return ""
    extreme = among.min() if claim.term in LOWER else among.max()
    return "" if np.isclose(claim.values[0], extreme, atol=1e-9) else "another is better"


def tables():
    """Calls, arguments of the page, and the values by hand."""
    llmbar = js.datasets.load("llmbar")
    vanilla = llmbar[llmbar["strategy"] == "Vanilla"].drop(columns=["strategy", "subset"])
    yield "llmbar", vanilla, {}, pairs_by_hand(vanilla)
    people = ["annotator1", "annotator2", "annotator3"]
    pandalm = js.datasets.load("pandalm")
    yield "pandalm", pandalm, {"humans": people}, pairs_by_hand(pandalm, people)
    mtbench = js.datasets.load("mtbench_position")
    yield "mtbench", mtbench, {}, pairs_by_hand(mtbench)
    rng = np.random.default_rng(0)
    for k in range(12):
        judges = [f"j{i}" for i in range(int(rng.integers(1, 7)))]
        n, ties, slant = int(rng.integers(12, 120)), rng.random() < 0.5, rng.random(len(judges)) * 0.6
        rows = [
            (j, f"q{i}", a, b, rng.choice(["first", "second", "tie"], p=_shares(a, s, ties)), "x")
            for j, s in zip(judges, slant, strict=True)
            for i in range(n)
            if rng.random() > 0.03
            for a, b in (("x", "y"), ("y", "x"))
        ]
        calls = preferences(pd.DataFrame(rows, columns=["judge", "item", "first", "second", "choice", "gold"]))
        yield f"pairs {k}", calls, {}, pairs_by_hand(calls)
    for k in range(6):
        judges = [f"j{i}" for i in range(int(rng.integers(2, 8)))]
        gold = rng.integers(1, 6, int(rng.integers(15, 90))).astype(float)
        rows = [
            (j, "s", f"i{i}", float(np.clip(g + rng.choice([-1, 0, 1, 2]), 1, 5)), g)
            for j in judges
            for i, g in enumerate(gold)
        ]
        calls = ratings(pd.DataFrame(rows, columns=["judge", "system", "item", "score", "gold"]))
        yield f"scores {k}", calls, {}, scores_by_hand(calls)


def _shares(first, slant, ties):
    right = 0.8 if first == "x" else 0.2
    tie = 0.1 if ties else 0.0
    p = (1 - slant) * right + slant
    return [p * (1 - tie), (1 - p) * (1 - tie), tie]


@pytest.fixture(scope="module")
def pages():
    """Name, first screen and values by hand: of the pairs that all judged, where the page says so."""
    screens = []
    for name, calls, options, values in tables():
        summary = measure_all(calls, PageArguments(n_resamples=20, **options)).summary
        if any(c.term == "own" for c in summary.columns):
            judges = calls["judge"].nunique() - len(options.get("humans", ()))
            by_all = calls.groupby("item", observed=True)["judge"].transform("nunique") >= judges
            values = pairs_by_hand(calls[by_all], **options)
        screens.append((name, summary, values))
    return screens


def test_no_claim_is_contradicted_by_the_calls(pages):
    checked = 0
    for name, summary, values in pages:
        for claim in summary.claims:
            assert contradiction(claim, values) == "", (name, claim)
            checked += claim.term in values and bool(claim.judges)
    assert checked > 60


def test_claims_that_are_altered_are_noticed(pages):
    """Another judge, a value of another judge, one left out of the scope, a value of half of the calls, another term."""
    altered = noticed = 0
    for _, summary, values in pages:
        for claim in summary.claims:
            own = values.get(claim.term)
            if (
                own is None
                or not claim.judges
                or claim.relation not in ("best", "may be best", "alone", "not beyond", "beyond")
            ):
                continue
            others = [j for j in own.index if j not in claim.judges and abs(abs(own[j]) - abs(claim.values[0])) > 1e-6]
            mutants = [replace(claim, values=(claim.values[0] + 0.01, *claim.values[1:]))]
            mutants += [replace(claim, scope=tuple(j for j in claim.scope if j != claim.judges[0]))]
            if others and claim.relation != "beyond":
                worse = others[0]
                mutants += [replace(claim, judges=(worse, *claim.judges[1:]))]
                mutants += [
                    replace(claim, judges=(worse, *claim.judges[1:]), values=(float(own[worse]), *claim.values[1:]))
                ]
            for mutant in mutants:
                altered += 1
                noticed += contradiction(mutant, values) != ""
    assert altered > 150
    assert noticed == altered


def test_the_verdict_is_its_sentences_and_a_report_knows_them(tmp_path):
    _, calls, _, values = next(tables())
    page = js.report(calls, tmp_path / "page.html", n_resamples=20)
    assert isinstance(page, Report)
    assert page == tmp_path / "page.html"
    said = page.statements
    assert list(said.columns) == [
        "sentence", "where", "question", "term", "judges", "relation", "values", "scope", "tables", "units", "readings"
    ]  # fmt: skip
    verdict = said[said["where"] == "verdict"]
    assert " ".join(verdict["sentence"]) in page.read_text(encoding="utf-8")
    first = verdict.iloc[0]
    assert (first["relation"], first["term"], first["readings"]) == ("best", "accuracy", 5)
    assert first["judges"] == ("GPT-4", "PaLM2")
    assert first["values"][0] == pytest.approx(values["accuracy"]["GPT-4"])
    assert set(first["scope"]) == set(calls["judge"].astype(str))


CRITERIA = {"form": (0.0, 2.0), "sense": (2.0, 0.0), "tone": (0.5, 0.5)}


def rated_by_criterion(seed=0, items=60):
    """g is right on form and far off in sense, h the reverse: pooled they are alike."""
    rng = np.random.default_rng(seed)
    rows = [
        (judge, "s", f"i{i}", criterion, float(np.clip(gold + rng.choice([0, 1]) * off[k], 1, 9)), gold)
        for k, judge in enumerate("gh")
        for criterion, off in CRITERIA.items()
        for i in range(items)
        for gold in [float(rng.integers(2, 6))]
    ]
    return ratings(pd.DataFrame(rows, columns=["judge", "system", "item", "criterion", "score", "gold"]))


def test_judges_of_one_criterion_are_not_compared_with_those_of_another():
    calls = rated_by_criterion()
    summary = measure_all(calls, PageArguments(n_resamples=20, by="criterion")).summary
    error = (calls["score"] - calls["gold"]).abs()
    by_hand = error.groupby([calls["judge"].astype(str), calls["criterion"].astype(str)]).mean()
    assert len(summary.groups) == len(CRITERIA)
    said = [c for c in summary.sentences if c.relation in ("best", "may be best", "constant")]
    assert len(said) == len(CRITERIA)
    for claim, group in zip(said, summary.groups, strict=True):
        criterion = claim.sentence.partition(":")[0]
        own = by_hand.xs(criterion, level=1)
        assert group.about.startswith(f"criterion = {criterion}: 2 judges, ")
        assert set(claim.scope) == set(group.judges) == {f"{j} · criterion = {criterion}" for j in "gh"}
        assert claim.values[0] == pytest.approx(own.min())
        assert " · criterion" not in claim.sentence
        if claim.relation == "best":
            assert claim.judges[0] == f"{own.idxmin()} · criterion = {criterion}"
    (card,) = [c for c in summary.cards if c.kind == "right"]
    assert card.claim.startswith("form: g, ")
    assert "; sense: h, " in card.claim
    assert {frozenset(c.scope) for c in card.claims} == {frozenset(g.judges) for g in summary.groups}


def test_judges_are_compared_under_the_ways_in_which_all_were_asked():
    """g was asked at three temperatures, h at two of them; at the third g is always right, so better on the whole."""
    rng = np.random.default_rng(1)
    skill = {"g": {0.0: 0.5, 0.5: 0.5, 1.0: 1.0}, "h": {0.0: 0.62, 0.5: 0.62}}
    rows = [
        (judge, f"q{i}", *order, "first" if (order[0] == "x") == (rng.random() < p) else "second", "x", way)
        for judge, ways in skill.items()
        for way, p in ways.items()
        for i in range(150)
        for order in ("xy", "yx")
    ]
    names = ["judge", "item", "first", "second", "choice", "gold", "temperature"]
    calls = preferences(pd.DataFrame(rows, columns=names))
    summary = measure_all(calls, PageArguments(n_resamples=20)).summary
    right = (calls["choice"] == "first") == (calls["first"].astype(str) == "x")
    whole = right.groupby(calls["judge"].astype(str)).mean()
    shared = right[calls["temperature"] < 1].groupby(calls["judge"].astype(str)).mean()
    assert whole["g"] > whole["h"]
    cells = next(c for c in summary.columns if c.term == "accuracy").cells
    assert {j: c["estimate"] for j, c in cells.items()} == pytest.approx(dict(shared))
    (claim,) = [c for c in summary.sentences if c.relation in ("best", "may be best")]
    assert claim.judges[0] == "h"
    assert summary.groups[0].about == "2 judges, 150 pairs judged by all of them, 2 temperatures pooled"
