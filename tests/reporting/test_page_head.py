"""The head of a page, and what the first screen of a browser shows of it: measured in pixels."""

import html
import json
import re

import pandas as pd
import pytest

import judgestats as js
from judgestats.metrics.measure_registry import measures
from judgestats.reporting import page_data
from judgestats.reporting.comparison_tables import row_names
from judgestats.reporting.html_pages import as_html
from judgestats.reporting.page_claims import Claim
from judgestats.reporting.page_data import SUMMARISED, PageArguments, measure_all
from judgestats.reporting.page_head import MOST_LINES, page_head, page_title
from judgestats.reporting.summary_parts import Card, JudgeGroup, Summary, SummaryColumn
from reporting.designs import dark_current_design, plain_verdicts, self_ratings

#: What a page looks like in a frame: pixels.
LOOK = """
const d = document.querySelector("iframe").contentDocument, w = d.defaultView;
const all = (q, at) => [...(at || d).querySelectorAll(q)];
const box = (e) => e.getBoundingClientRect();
const rows = all("#comparison .compare tbody tr:not(.group)");
const tracks = all("#comparison td svg.sketch");
const apart = (a, b) => !a || !b || !box(a).width || !box(b).width || box(a).right <= box(b).left + 0.5
  || box(a).bottom <= box(b).top + 1 || box(b).bottom <= box(a).top + 1;
const parts = [...d.querySelector("header").children].map(box).filter((b) => b.height);
const found = {
  rows: rows.length, above: rows.filter((r) => box(r).bottom <= w.innerHeight).length,
  tracks: [...new Set(tracks.map((s) => Math.round(box(s.querySelector(".track")).width)))],
  unseen: tracks.filter((s) => s.querySelector(".whisker")
    && box(s.querySelector(".whisker")).height < box(s.querySelector(".dot")).height + 3).length,
  overlaps: all("#comparison tbody td").filter((c) => {
    const [v, s, i] = [".v", "svg", "small"].map((q) => c.querySelector(q));
    return !(apart(v, s) && apart(s, i) && apart(v, i) && apart(i, c.nextElementSibling));
  }).length + parts.filter((b, k) => k && b.top < parts[k - 1].bottom - 0.5).length,
  beyond: d.documentElement.scrollWidth - w.innerWidth,
  beyond_table: Math.max(0, ...all("#comparison > .scroll").map((s) => s.scrollWidth - s.clientWidth)),
  title: Math.round(box(d.querySelector("h1")).height / parseFloat(w.getComputedStyle(d.querySelector("h1")).lineHeight)),
  lines: all(".answers li").length, strips: all(".strip").length, axes: all("#comparison thead .ends").length,
};
document.body.innerHTML = "<pre>" + JSON.stringify(found) + "</pre>";
"""


@pytest.fixture
def look(rendered, tmp_path):
    """Return a function: a page, width and height of a frame -> what is seen of it there."""

    def seen(text, width, height=800):
        source, n = re.subn(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text)
        assert n == 1
        frame = tmp_path / f"frame{width}.html"
        frame.write_text(
            f'<body style="margin:0"><iframe style="width:{width}px;height:{height}px;border:0" '
            f'srcdoc="{html.escape(source)}"></iframe><script>onload = () => {{ {LOOK} }}</script>',
            encoding="utf-8",
        )
        return json.loads(re.search(r"<pre>(.*?)</pre>", rendered(frame), re.DOTALL).group(1))

    return seen


@pytest.fixture
def page_of(monkeypatch):
    """Return a function: verdicts and arguments -> their page, without the measures that its head does not show."""
    few = [measures()[name] for name in ("alpha", "effective_judges", *SUMMARISED)]
    monkeypatch.setattr(
        page_data, "attempts", lambda data, options, *_: {m.name: m.attempt(data, options) for m in few}
    )
    return lambda calls, **options: as_html(measure_all(calls, PageArguments(n_resamples=50, **options)))


def check(seen, phone, at_least):
    """Rows above the fold, tracks of 150 pixels, ends of intervals that are seen, nothing one over another."""
    assert seen["above"] >= min(seen["rows"], at_least)
    assert seen["tracks"] in ([150], [])
    assert [seen["title"], seen["unseen"], seen["overlaps"], seen["beyond_table"]] == [1, 0, 0, 0]
    assert seen["beyond"] <= 0
    assert seen["lines"] <= MOST_LINES
    assert seen["strips"] <= 1
    assert phone["above"] >= 1
    assert phone["beyond"] <= 0
    assert phone["overlaps"] == 0


JUDGES = [f"organisation/model-{size}b-instruct" for size in (1, 3, 7, 8, 13, 32, 70, 405)]


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize(
    ("calls", "at_least"),
    [
        (plain_verdicts(JUDGES), 8),
        (plain_verdicts(["judge"]), 1),
        (plain_verdicts([*"ab"], n_items=1), 2),
        (plain_verdicts([f"{'long' * 19}{k}" for k in range(3)]), 3),
        (plain_verdicts(["קלוד", "שופט", "g"]), 3),
        (plain_verdicts([f"judge {k}" for k in range(33)], n_items=12), 5),
        (self_ratings(), 3),
        (dark_current_design(), 3),
    ],
    ids=["eight", "one", "one item", "long names", "right to left", "33", "ratings", "four columns"],
)  # fmt: skip
def test_the_table_stands_on_the_first_screen(calls, at_least, page_of, look):
    text = page_of(calls)
    check(look(text, 1280), look(text, 400), at_least)


#: Public sets, how they are read, and how many rows of the table stand on the first screen.
SETS = {
    "llmjudge_trec_dl23/labels_wide.csv.gz": (
        {
            "wide": "judge=*,-qid,-docid,-gold",
            "columns": {"item": "qid+docid"},
            "scale": (0, 3),
            "off_scale": "missing",
        },
        10,
    ),
    "judgebench/dataset*.jsonl.gz": ({}, 8),
}


@pytest.mark.real
@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize("name", [*SETS, "llmbar", "hanna", "mtbench_position"])
def test_the_tables_of_public_sets_stand_on_the_first_screen(name, page_of, look, request):
    if name in SETS:
        options, at_least = SETS[name]
        calls = js.read(str(request.getfixturevalue("real_data") / name), **options)
    else:
        calls, at_least = js.datasets.load(name), 8
    text = page_of(calls)
    check(look(text, 1280), look(text, 400), at_least)


def test_a_title_names_the_data_unless_it_is_given():
    summary = Summary("Which of 7 judges can be trusted?", "", (), (), (), "")
    files = pd.DataFrame({"name": ["runs/labels_wide.v2.csv.gz"]})
    asked_of = "which of 7 judges can be trusted?"
    assert page_title(summary, {"format": "csv", "files": files}, None) == f"labels_wide: {asked_of}"
    assert page_title(summary, files, None) == f"labels_wide: {asked_of}"
    assert page_title(summary, {"format": "judgebench", "files": files}, None) == f"judgebench: {asked_of}"
    assert page_title(summary, {"format": "csv", "files": pd.concat([files, files])}, None) == summary.title
    assert page_title(summary, None, None) == summary.title
    assert page_title(summary, files, "Which of 7 judges can be trusted?") == summary.title


def test_a_caution_and_that_intervals_are_simultaneous_are_said_once():
    few = Claim("f and g: few of the pairs answered: f answered 4 of 9.", "card", "care", relation="few")
    worse = Claim("g: worse than a constant answer: compared with chance.", "card", "care", relation="worse")
    detail = "4 points above g (simultaneous 95\u202f% interval 1 to 7)"
    cards = [Card(k, f"head {k}", "f", detail) for k in ("right", "steady", "biased", "panel", "people")]
    said = [
        Claim("Not all was answered by all.", "verdict", relation="apart"),
        Claim("Use f.", "verdict", relation="best"),
        Claim("About 9 more items would separate f from g.", "verdict", relation="separated by more"),
        Claim("All of this pools 3 prompts.", "verdict", relation="pooled"),
    ]
    care = Card("care", "Read with care", "f and g: few of the pairs answered", "...", says=(few, worse))
    head = page_head(Summary("", "", (*cards, care), (), (), "", sentences=tuple(said)))
    assert head["verdict"] == "Use f."
    assert head["further"] == said[2].sentence
    assert head["cautions"] == [said[0].sentence, worse.sentence, said[3].sentence]
    assert [line["detail"] for line in head["lines"]] == [detail, *["4 points above g (interval 1 to 7)"] * 3]
    assert head["cards"] == cards
    assert all(detail in line["hover"] for line in head["lines"])


def test_rows_leave_out_what_all_names_share_and_what_their_heading_says():
    names, remark = row_names([JudgeGroup(tuple(JUDGES), "8 judges")])
    assert [*names.values()][:2] == ["…1b…", "…3b…"]
    assert remark == "… is “organisation/model-” before and “-instruct” after."
    levels = [JudgeGroup((f"g · prompt = {p}", f"h · prompt = {p}"), f"prompt = {p}: 2 judges") for p in "ab"]
    assert [*row_names(levels)[0].values()] == [*"ghgh"]


def test_numbers_of_one_column_have_one_format():
    cells = {j: {"estimate": v, "conf_low": v - w, "conf_high": v + w, "n": 9} for j, v, w in (("a", 0.6, 0.1), ("b", 0.9, 0.004))}  # fmt: skip
    column = SummaryColumn("accuracy", "", "", "share", cells)
    assert column.text("a") == ("60.0\u202f%", "50.0 to 70.0\u202f%")
    assert column.text("b") == ("90.0\u202f%", "89.6 to 90.4\u202f%")


def test_scores_stand_on_their_scale():
    page = measure_all(self_ratings(), PageArguments(n_resamples=20, scale=(1, 5)))
    column = next(c for c in page.summary.columns if c.term == "mean_score")
    assert column.scale == (1, 5)
    low, high = column.ends
    assert 1 <= low < high <= 5


def test_the_reason_of_several_cautions_is_said_once():
    """Two groups of judges are compared with the same constant answer."""
    summary = measure_all(js.datasets.load("hanna"), PageArguments(humans={"rater_type": "human"})).summary
    strip = page_head(summary)["cautions"]
    assert strip == [
        "Mistral-7B, Beluga-13B and 2 more: worse than a constant answer: compared with always the median of the means of people.",
        "OrcaPlatypus: not shown to beat a constant answer.",
    ]
