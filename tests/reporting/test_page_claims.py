"""What the sentences of a page claim, recomputed from the calls by pandas alone; and claims that are altered."""

import html
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import judgestats as js
from judgestats.reporting.markdown_pages import as_markdown
from judgestats.reporting.page_claims import Report, contradiction
from judgestats.reporting.page_data import PageArguments, measure_all
from judgestats.schema import preferences, ratings
from reporting.claims_by_hand import PageByHand, by_hand
from reporting.sentences import random_study


def tables():
    """Calls, and arguments of the page: public sets, and 40 small ones."""
    llmbar = js.datasets.load("llmbar")
    yield "llmbar", llmbar[llmbar["strategy"] == "Vanilla"].drop(columns=["strategy", "subset"]), {}
    yield "pandalm", js.datasets.load("pandalm"), {"humans": ["annotator1", "annotator2", "annotator3"]}
    yield "mtbench", js.datasets.load("mtbench_position"), {}
    rng = np.random.default_rng(0)
    for k in range(28):
        judges = [f"j{i}" for i in range(int(rng.integers(1, 7)))]
        n, ties, slant = int(rng.integers(12, 120)), rng.random() < 0.5, rng.random(len(judges)) * 0.6
        rows = [
            (j, f"q{i}", a, b, rng.choice(["first", "second", "tie"], p=_shares(a, s, ties)), "x")
            for j, s in zip(judges, slant, strict=True)
            for i in range(n)
            if rng.random() > 0.03
            for a, b in (("x", "y"), ("y", "x"))
        ]
        yield (
            f"pairs {k}",
            preferences(pd.DataFrame(rows, columns=["judge", "item", "first", "second", "choice", "gold"])),
            {},
        )
    for k in range(12):
        judges = [f"j{i}" for i in range(int(rng.integers(2, 8)))]
        gold = rng.integers(1, 6, int(rng.integers(15, 90))).astype(float)
        rows = [
            (j, "s", f"i{i}", float(np.clip(g + rng.choice([-1, 0, 1, 2]), 1, 5)), g)
            for j in judges
            for i, g in enumerate(gold)
        ]
        yield f"scores {k}", ratings(pd.DataFrame(rows, columns=["judge", "system", "item", "score", "gold"])), {}


def _shares(first, slant, ties):
    right = 0.8 if first == "x" else 0.2
    tie = 0.1 if ties else 0.0
    p = (1 - slant) * right + slant
    return [p * (1 - tie), (1 - p) * (1 - tie), tie]


@pytest.fixture(scope="module")
def pages():
    """Name, page, and its numbers by hand."""
    screens = []
    for name, calls, options in tables():
        page = measure_all(calls, PageArguments(n_resamples=20, **options))
        screens.append((name, page, PageByHand(page)))
    return screens


def test_no_claim_is_contradicted_by_the_calls(pages):
    checked = 0
    for name, page, hand in pages:
        for claim in page.summary.claims:
            assert hand.contradiction(claim) == "", (name, claim)
            checked += hand.checked(claim)
    assert checked > 150


def mutants(claim, hand):
    """A claim with another value, a narrower scope, another judge, and values of part of the rows that it is of."""
    own = hand.of(claim)
    if (
        own is None
        or not claim.judges
        or claim.relation not in ("best", "may be best", "alone", "not beyond", "beyond")
    ):
        return
    first, value = claim.judges[0], claim.values[0]
    yield replace(claim, values=(value + 0.01, *claim.values[1:]))
    yield replace(claim, values=(-value if abs(value) > 1e-6 else 0.5, *claim.values[1:]))
    yield replace(claim, scope=tuple(j for j in claim.scope if j != first))
    others = [j for j in own.index if j not in claim.judges and abs(abs(own[j]) - abs(value)) > 1e-6]
    if others and claim.relation != "beyond":
        yield replace(claim, judges=(others[0], *claim.judges[1:]))
        yield replace(claim, judges=(others[0], *claim.judges[1:]), values=(float(own[others[0]]), *claim.values[1:]))
        yield replace(claim, scope=tuple(j for j in claim.scope if j != others[0]))
    for part in (
        hand.rows.iloc[: len(hand.rows) // 2],
        hand.rows[hand.rows["item"].isin(hand.rows["item"].unique()[::3])],
    ):
        values = by_hand(part, hand.page.settings.people)
        other = values.get(
            f"bias: {claim.term}" if f"bias: {claim.term}" in values else claim.term, pd.Series(dtype=float)
        )
        if first in other.index and abs(other[first] - value) > 1e-6:
            yield replace(claim, values=(float(other[first]), *claim.values[1:]))


def test_claims_that_are_altered_are_noticed_by_the_calls(pages):
    noticed = [
        hand.contradiction(m) != "" for _, page, hand in pages for c in page.summary.claims for m in mutants(c, hand)
    ]
    assert len(noticed) > 300
    assert all(noticed)


def test_claims_that_are_altered_are_noticed_when_a_page_is_built(pages):
    """By its own numbers alone: all but values of part of the rows in a claim whose table has no such number."""
    altered = 0
    for _, page, hand in pages:
        for claim in page.summary.claims:
            for mutant in mutants(claim, hand):
                if claim.tables and (claim.relation != "beyond" or mutant.values != claim.values):
                    altered += 1
                    assert contradiction(mutant, page.summary.numbers), mutant
    assert altered > 250


def test_what_is_said_is_claimed(pages):
    """Each sentence and caption of the head of a page is in the table of its statements."""
    for _, page, _ in pages[::4]:
        head = html.unescape(as_markdown(page).partition("## Datasheets")[0])
        texts = [line for line in head.splitlines()[1:] if line.strip() and not line.startswith("|")]
        said = " ".join(c.sentence for c in page.summary.claims)
        plain = re.sub(r"[\\*]", "", said)
        for line in texts:
            text = re.sub(r"[\\*]", "", line).removeprefix("- ").removeprefix("## ").strip()
            assert text.rstrip(".") in plain, text


@pytest.mark.parametrize(
    "seeds",
    [pytest.param(range(1000, 1030), id="30"), pytest.param(range(1000, 1500), id="500", marks=pytest.mark.full)],
)
def test_no_claim_is_contradicted_in_simulated_sets(seeds):
    """Judges of any number on items of any number: nested, unequal pools, one order, ties, gold, people, repeats."""
    checked = 0
    for seed in seeds:
        calls, options = random_study(seed)
        page = measure_all(calls, PageArguments(n_resamples=20, **options))
        hand = PageByHand(page)
        for claim in page.summary.claims:
            assert hand.contradiction(claim) == "", (seed, claim)
            checked += hand.checked(claim)
    assert checked > len(seeds)


def test_the_verdict_is_its_sentences_and_a_report_knows_them(tmp_path):
    _, calls, _ = next(tables())
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


def test_a_notebook_shows_where_the_page_is_and_its_first_screen(tmp_path):
    """In a frame without scripts; of Markdown, and of a page that is gone, the place alone."""
    calls = js.datasets.load("pandalm")
    page = js.report(calls, tmp_path / "a <page>.html")
    shown = page._repr_html_()
    assert html.escape(str(page)) in shown
    assert len(shown) < 100_000
    frame = html.unescape(re.search(r'<iframe sandbox title="[^"]*" srcdoc="([^"]*)"', shown)[1])
    assert page.statements["sentence"].iloc[0].split()[0] in frame
    assert 'id="comparison"' in frame
    assert "<script" not in frame
    assert frame == page.read_text(encoding="utf-8")[: len(frame)]
    page.unlink()
    assert "iframe" not in page._repr_html_()
    assert "iframe" not in js.report(calls, tmp_path / "page.md")._repr_html_()
