"""The findings that README.md names are what the package returns, and every link on a page leads somewhere."""

import re
from pathlib import Path

import pytest

import judgestats as js
from judgestats.published import paper_tables

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    p for folder in (".", "docs", "docs/decisions", "notebooks", "data") for p in (ROOT / folder).glob("*.md")
)


@pytest.fixture(scope="module")
def findings():
    """The three findings, each as one line of text."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    section = text.partition("## What it finds")[2].partition("\n## ")[0]
    return [" ".join(item.split()) for item in section.split("\n- ")[1:]]


def row(frame, **where):
    for column, value in where.items():
        frame = frame[frame[column] == value]
    (found,) = frame.to_dict("records")
    return found


def test_equal_answers_are_told_apart_by_position(findings):
    counts = paper_tables
    known = row(js.target_sensitivity(counts.ladder_counts()), judge="Qwen14B", delta=1, term="target_sensitivity")
    equal = js.delta0(counts.delta0_counts())
    false = row(equal, judge="Qwen14B", term="raw_false_preference")
    slot = row(equal, judge="Qwen14B", term="positional_false_preference")
    assert f"in {known['estimate'] * known['n']:.0f} of {known['n']:.0f} calls" in findings[0]
    assert f"in {100 * false['estimate']:.1f} % of calls" in findings[0]
    percent = [round(100 * slot[name]) for name in ("estimate", "conf_low", "conf_high")]
    assert f"{percent[0]} % [{percent[1]}, {percent[2]}] of the pairs" in findings[0]


def test_a_stricter_prompt_costs_correct_answers(findings):
    shift = js.criterion_shift(paper_tables.criterion_counts(), "base", "strict")
    saved = row(shift, term="false_preference_saved")
    lost = row(shift, term="target_signal_lost", delta=1.0)
    assert f"false preferences, {100 * saved['estimate']:.1f} percentage points" in findings[1]
    low, high = 100 * lost["conf_low"], 100 * lost["conf_high"]
    assert f"{100 * lost['estimate']:.1f} points [{low:.1f}, {high:.1f}]" in findings[1]
    strict = js.delta0(paper_tables.delta0_counts()).query("judge == 'Qwen32B strict criterion'")
    assert row(strict, term="raw_false_preference")["estimate"] == 0  # all of them


def test_severity_is_not_modesty(findings):
    scores = js.consensus_deviation(paper_tables.scores(), by="condition")
    here = {"judge": "Claude 4.5 Sonnet", "condition": "attributed"}
    own, others, excess = (row(scores, term=t, **here) for t in ("mean_own", "mean_others", "self_excess"))
    assert f"{-own['estimate']:.2f} [{-own['conf_high']:.2f}, {-own['conf_low']:.2f}] below its peers" in findings[2]
    assert f"everybody else {-others['estimate']:.2f} below" in findings[2]
    rest = [-excess[name] for name in ("estimate", "conf_high", "conf_low")]
    assert f"{rest[0]:.2f} [{rest[1]:.2f}, {rest[2]:.2f}]" in findings[2]


def anchors(path):
    """What a link may point to on a page, as GitHub names headings."""
    heads = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", h.lower()).replace(" ", "-") for h in heads}


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page):
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if link.startswith(("http:", "https:")):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link
