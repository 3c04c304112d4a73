"""The page of a data set: what it says, that it adds up, stands alone, and takes no file's place until it is complete."""

import base64
import gzip
import html
import inspect
import io
import itertools
import json
import math
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from functools import wraps
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import polars as pl
import pytest
from markupsafe import escape
from typer.testing import CliRunner

import judgestats as js
import registry
from judgestats.cli import app
from judgestats.errors import DesignError, JudgestatsError, SchemaError
from judgestats.flags import NOT_INDEPENDENT, UNEQUAL_CRITERIA, explain
from judgestats.ingest import read, source_info
from judgestats.metrics import consensus
from judgestats.metrics.bias import consistency, position_bias
from judgestats.metrics.datasheets import datasheet
from judgestats.metrics.measure_registry import MeasureOptions, measures, measures_of
from judgestats.metrics.supported_measures import attempts
from judgestats.published import audited, paper_tables
from judgestats.reporting import audit_page, plots, report
from judgestats.reporting.comparison_tables import comparison
from judgestats.reporting.estimate_tables import estimates_table
from judgestats.reporting.formatting import in_words, with_interval
from judgestats.reporting.markdown_pages import as_markdown
from judgestats.reporting.markup import environment
from judgestats.reporting.page_chapters import MOST, chapters
from judgestats.reporting.page_data import PageArguments, measure_all
from judgestats.reporting.source_tables import row_sums
from judgestats.schema import check, preferences, ratings
from reporting.designs import dark_current_design, mapped, plain_verdicts, self_ratings
from reporting.drawing import scored
from reporting.test_class_panels import verdicts
from reporting.test_unnamed_columns import answers

HOSTILE = [
    "<script>document.title='pwned'</script>",
    '"><img src=x onerror="document.title=\'pwned\'">',
    "</svg></title><b>x</b>",
    "$\\frac{a}{b}$",
]


class Page(HTMLParser):
    """Elements and visible text of a page."""

    def __init__(self, source):
        super().__init__(convert_charrefs=True)
        self.elements, self.text, self._open = [], "", []
        self.feed(source)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self._open.append(tag)

    def handle_endtag(self, tag):
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data):
        if not {"style", "script", "template"} & set(self._open):
            self.text += data + "\n"

    def names(self):
        return {t for t, _ in self.elements}


def made(data, tmp_path, **options):
    page = report(data, tmp_path / "deep" / "report.html", n_resamples=options.pop("n_resamples", 100), **options)
    return page.read_text(encoding="utf-8")


def sums(page):
    """Rows in, used and excluded, as they are printed."""
    told = re.search(r'class="sum">(.*?)</p>', page).group(1)
    return [int(n.replace("\u202f", "")) for n in re.findall(r"<b>(.*?)</b>", told)]


@pytest.fixture(scope="module")
def instrument(tmp_path_factory):
    return made(dark_current_design(), tmp_path_factory.mktemp("report"), title="Three judges")


@pytest.mark.slow
@pytest.mark.parametrize(
    "data",
    [dark_current_design(), plain_verdicts(["a", "b"], repeats=2), self_ratings()],
    ids=["instrument", "plain", "ratings"],
)
def test_every_estimate_of_the_datasheet_is_on_the_page(data, tmp_path):
    page = Page(made(data, tmp_path)).text
    sheet = datasheet(data, n_resamples=100)
    for r in sheet.to_dict("records"):
        assert in_words(r["term"]) in page
        assert r["meaning"] in page
        if pd.notna(r["conf_low"]) and abs(r["conf_low"]) != float("inf"):
            assert with_interval(r, last=5.0)[1] in page, r


@pytest.mark.parametrize("invalid", [0.0, 0.1, 1.0])
def test_the_account_adds_up(invalid, tmp_path):
    calls = plain_verdicts(["a"], invalid=invalid)
    total, used, aside = sums(made(calls, tmp_path))
    assert (total, aside) == (len(calls), int((calls["choice"] == "invalid").sum()))
    assert total == used + aside


def test_the_account_names_reasons_rows_and_remedies(tmp_path):
    calls = plain_verdicts(["a"], invalid=0.2)
    page = made(calls, tmp_path)
    reason = check(calls).query("level == 'excluded'").iloc[0]
    read = Page(page).text
    assert reason["what"] in read
    assert reason["remedy"] in read
    assert ", ".join(str(r) for r in reason["rows"][:3]) in read


def test_account_of_a_check():
    calls = plain_verdicts(["a"], invalid=0.3)
    found = row_sums(check(calls))
    assert found["rows in"] == found["rows used"] + found["rows excluded"] == len(calls)


@pytest.mark.slow
def test_the_page_stands_alone(instrument):
    page = Page(instrument)
    assert not page.names() & {"link", "iframe", "object", "embed", "base", "img", "form"}
    assert [a for t, a in page.elements if t == "script"] == [{}]  # ours, which the policy names by its hash
    for name, attributes in page.elements:
        for key, value in attributes.items():
            assert not key.startswith("on"), (name, key)
            if key in ("src", "href", "xlink:href"):
                assert value.startswith("#"), (name, key, value)
    assert not re.findall(r"url\((?!#)", instrument)
    assert "@import" not in instrument


def test_links_and_references_lead_somewhere_and_ids_are_unique(instrument):
    page = Page(instrument)
    ids = [a["id"] for _, a in page.elements if "id" in a]
    assert len(ids) == len(set(ids))
    wanted = {a["href"][1:] for _, a in page.elements if "href" in a} | set(re.findall(r"url\(#([^)]*)\)", instrument))
    assert wanted <= set(ids)


@pytest.mark.slow
def test_pictures_are_those_that_the_data_support(tmp_path):
    def captions(data, **options):
        page = made(data, tmp_path, **options)
        titles = re.findall(r"<figcaption><b>(.*?)\. ?</b>", page)
        return [t for t in titles if not any(m.question.rstrip("?") == t for m in measures().values())]

    whole = captions(dark_current_design())
    assert whole == [
        "Metrology map",
        "Psychometric curves",
        "What false preference between equals is made of",
        "Positional against stable",
        "Which judges agree",
    ]
    without = dark_current_design()
    assert captions(without[without["stimulus"] == "ladder"]) == ["Psychometric curves", "Which judges agree"]
    two = dark_current_design(["Qwen32B"], prompts=("base", "strict"))
    assert "Operating point, base to strict" in captions(two, baseline="base")
    assert not any(
        "Operating point" in title for title in captions(two)
    )  # which prompt is the baseline is never guessed
    assert captions(plain_verdicts(["a"])) == ["What the judges answer"]
    assert captions(self_ratings()) == ["Which judges agree", "Score matrix", "Deviation from peers"]
    alone = self_ratings()
    assert captions(alone[alone["judge"] == "alpha"]) == ["Score matrix"]


def test_data_without_a_known_order_get_a_page(tmp_path):
    page = made(plain_verdicts(["a"]).assign(order_known=False), tmp_path)
    assert "The order shown is not known." in page
    assert "Accuracy" in Page(page).text  # it is there all the same
    assert "Same verdict in both orders" not in Page(page).text


@pytest.mark.slow
def test_the_sketch_is_a_description_with_its_thresholds(instrument):
    assert "Class B / Presentation-conflicted" in instrument
    assert "up to 0.05 is clean" in instrument


def test_the_comparison_has_a_row_a_judge_sorted_by_its_first_column(tmp_path):
    page = made(plain_verdicts(["a", "b", "c"]), tmp_path)
    rows = re.findall(r'<tr><th scope="row">(\w)</th><td data-v="([\d.]+)"', page.partition("<nav")[0])
    assert sorted(j for j, _ in rows) == ["a", "b", "c"]
    assert [float(v) for _, v in rows] == sorted((float(v) for _, v in rows), reverse=True)


def test_by_gives_a_datasheet_for_each_group(tmp_path):
    calls = pd.concat(
        [plain_verdicts(["a"], seed=s).assign(strategy=n) for s, n in enumerate(("CoT", "plain"))], ignore_index=True
    )
    page = Page(made(calls, tmp_path, by="strategy"))
    assert sum(t == "details" and a.get("class") == "judge" for t, a in page.elements) == 2
    assert {"a · strategy = CoT", "a · strategy = plain"} <= set(page.text.split("\n"))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["condition", "section", "detail"])
def test_by_may_name_a_column_of_the_datasheet(name, tmp_path):
    data = pd.concat(
        [self_ratings(seed=s, n_items=3).assign(**{name: n}) for s, n in enumerate("AB")], ignore_index=True
    )
    page = Page(made(data, tmp_path, by=name))
    assert {"alpha · A", "alpha · B"} <= set(page.text.split("\n"))


@pytest.mark.slow
def test_censored_and_missing_numbers_are_said_in_words(tmp_path):
    page = Page(made(dark_current_design(), tmp_path)).text
    assert "≤ 1" in page
    ties = plain_verdicts(["a"], invalid=1.0)
    told = Page(made(ties, tmp_path)).text
    assert "n/a" in told
    assert "no data" in told


def test_each_heading_of_sections_stands_once(instrument, tmp_path):
    people = shared_verdicts().assign(rater_type=lambda d: np.where(d["judge"] == d["judge"].iloc[0], "human", "llm"))
    for text in (instrument, made(people, tmp_path)):
        headings = re.findall(r"<h[23][^>]*>(.*?)</h[23]>", text)
        assert len(headings) > 8
        assert len(headings) == len({*headings})


def test_rows_without_a_number_are_lines_that_say_why(tmp_path):
    calls = pd.DataFrame(
        {"judge": [*"gggghhhh"], "item": [*"12341234"], "first": "u", "second": "v", "gold": [*"uuvv"] * 2,
         "choice": ["first", "second", "second", "first", *["invalid"] * 4]}
    )  # fmt: skip
    text = made(calls, tmp_path)
    sheets = re.findall(r'<table class="sheet sortable">.*?</table>', text, re.S)
    assert sheets
    assert not [row for sheet in sheets for row in re.findall(r"<tr>.*?</tr>", sheet, re.S) if ">n/a<" in row]
    assert re.search(r'<p class="small">No number: [^<]*\(?h\b[^<]*: [^<]+\.</p>', text)
    comparison = re.search(r'<section aria-label="Comparison".*?</section>', text, re.S)[0]
    of_h = re.search(r'<th scope="row">h</th>.*?</tr>', comparison, re.S)[0]
    titles = re.findall(r'title="([^"]+)"><span class="v">—', of_h)
    assert titles
    assert all(re.search(rf"No number: [^<]* of h: {re.escape(why)}\.", comparison) for why in titles)


def test_what_is_not_shown_is_named_with_what_is_missing(tmp_path):
    page = Page(made(plain_verdicts(["a"], gold=False), tmp_path)).text
    after = page.split("What this page does not show")[-1]
    assert "gold_agreement" in after
    assert "dark_current" in after


def test_every_flag_on_the_page_is_explained(instrument):
    flags = set(re.findall(r'class="flag[^"]*"[^>]*>(.*?)</span>', instrument))
    glossary = instrument.split("Cautions flagged on this page")[-1]
    assert flags
    told = explain(html.unescape(f) for f in flags).drop_duplicates("code")["flag"].tolist()
    assert "n < 30" in told
    assert all(f"<dt>{escape(f)}</dt>" in glossary for f in told)


@pytest.mark.slow
def test_sources_and_settings_are_on_the_page(tmp_path):
    files = pd.DataFrame({"name": ["calls.jsonl"], "bytes": [1234], "sha256": ["f" * 64], "rows": [80]})
    page = Page(
        made(
            plain_verdicts(["a"]),
            tmp_path,
            source={"format": "plain", "files": files},
            seed=7,
            conf_level=0.9,
            cluster="item",
        )
    ).text
    for told in ("calls.jsonl", "1\u202f234", "f" * 64, "plain", "90\u202f% interval", "seed=7", "cluster='item'"):
        assert told in page


def test_many_files_are_cut_and_counted(tmp_path):
    files = pd.DataFrame(
        {
            "name": [f"call_{i}.json" for i in range(50)],
            "bytes": pd.array([None] * 50, dtype="Int64"),
            "sha256": "",
            "rows": 1,
        }
    )
    page = Page(made(plain_verdicts(["a"]), tmp_path, source=files)).text
    assert "call_19.json" in page
    assert "call_20.json" not in page
    assert "30 files more" in page


def test_same_input_same_bytes(tmp_path):
    one, two = (made(dark_current_design(), tmp_path / n, seed=3) for n in "ab")
    assert one == two


@pytest.mark.slow
def test_row_order_does_not_matter_to_the_estimates(tmp_path):
    calls = plain_verdicts(["a", "b"])
    one, two = (
        Page(made(c, tmp_path / n)).text.split("Data and method")[0]
        for n, c in (("a", calls), ("b", calls.sample(frac=1, random_state=1)))
    )
    assert one == two


@pytest.mark.slow
def test_other_engines_give_the_same_page(tmp_path):
    calls = plain_verdicts(["a", "b"])
    assert made(pl.from_pandas(calls), tmp_path) == made(calls, tmp_path)
    assert made(pl.from_pandas(calls).lazy(), tmp_path) == made(calls, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_names_from_the_data_are_text_everywhere(name, tmp_path):
    plain = plain_verdicts(["judge"]).assign(judge=name, strategy=name)
    scored = self_ratings().replace({"judge": {"alpha": name}, "system": {"alpha": name}})
    instrument = mapped(dark_current_design(prompts=("base", "strict")), {"Llama8B": name})
    files = pd.DataFrame({"name": [name], "bytes": [1], "sha256": [name], "rows": [1]})
    for data in (plain, scored, instrument):
        page = Page(made(data, tmp_path, title=name, source={name: name, "files": files}))
        assert "img" not in page.names()
        assert sum(t == "script" for t, _ in page.elements) == 1
        assert not any(k.startswith("on") for _, a in page.elements for k in a)
        assert page.text.count(name) > 3
        assert sum(t == "title" for t, _ in page.elements) == 1


def test_pictures_have_names_from_the_data_as_text(tmp_path):
    calls = plain_verdicts(["<b>bold</b> & co"])
    page = made(calls, tmp_path)
    pictures = "".join(re.findall(r"<svg role.*?</svg>", page, flags=re.DOTALL))
    assert "&lt;b&gt;bold&lt;/b&gt; &amp; co" in pictures
    assert "<b>" not in pictures


def test_faults_are_refused(tmp_path):
    twice = pd.concat([plain_verdicts(["a"])] * 2, ignore_index=True)
    with pytest.raises(SchemaError, match="more than once"):
        report(twice, tmp_path / "report.html")
    assert not (tmp_path / "report.html").exists()


@pytest.mark.slow
def test_pooling_is_said_and_strategies_are_not_pooled(tmp_path):
    calls = pd.concat([plain_verdicts(["a"]).assign(strategy=s) for s in ("swap", "plain")], ignore_index=True)
    assert "Each datasheet pools" not in Page(made(calls, tmp_path)).text
    warm = calls.drop(columns="strategy").assign(temperature=(calls["strategy"] == "swap") * 1.0)
    assert "Each datasheet pools over temperature (2 levels)" in Page(made(warm, tmp_path)).text
    assert "Each datasheet pools" not in Page(made(warm, tmp_path, by="temperature")).text
    prompts = dark_current_design(["Qwen32B"], prompts=("base", "strict"))  # never pooled
    assert "Each datasheet pools" not in Page(made(prompts, tmp_path)).text
    assert "Each datasheet pools" not in Page(made(plain_verdicts(["a"]), tmp_path)).text


@pytest.mark.slow
def test_people_are_a_reference_on_the_page(tmp_path):
    from registry import people

    calls = people().replace({"judge": {"ann": "Ann"}})
    plain = Page(made(calls, tmp_path)).text
    text = Page(made(calls, tmp_path, humans=["Ann", "bob"])).text
    assert "2 people are the reference (Ann, bob; 80 answers), and not measured." in text
    assert "Do the judges agree with people?" in text
    assert "Do the judges agree with people?" not in plain
    sheets = made(calls, tmp_path, humans=["Ann", "bob"]).partition('id="judge-cards"')[2].partition("</section>")[0]
    assert "<summary>g" in sheets
    assert "<summary>Ann" not in sheets


@pytest.mark.slow
def test_people_are_never_called_harsh(tmp_path):
    from registry import scores

    page = Page(made(scores(), tmp_path, humans=["a", "b"])).text
    assert "Deviation from people" in page
    assert "Deviation from peers" not in page
    together = page.partition("What would bring the judges together?")[2].partition("Against the truth")[0]
    assert "or from people, if they are the reference" in together
    assert not re.search(r"\ba\b constant added", together)


@pytest.mark.slow
def test_one_judge_alone_is_told_what_to_add(tmp_path):
    calls = plain_verdicts(["a"]).drop(columns="gold", errors="ignore")
    lead = "There is one judge and no reference to compare it with"
    assert lead in Page(made(calls, tmp_path)).text
    assert lead not in Page(made(plain_verdicts(["a", "b"]), tmp_path)).text


def test_nothing_to_estimate_is_said_in_one_sentence(tmp_path):
    ratings = pd.DataFrame(
        {"judge": "g", "system": "s", "item": ["1", "2"], "criterion": "overall", "score": [None, None]}
    )
    assert "No number can be estimated from these data" in Page(made(ratings.astype({"score": float}), tmp_path)).text


def shared_verdicts():
    """Two judges on three pairs of each of 40 items, in both orders and twice, with gold."""
    rows = [
        (j, f"i{i}", a, b, r, ("first", "second", "tie", "first")[(i * 7 + p * (3 + len(a)) + r * i + ord(j)) % 4])
        for j in "gh"
        for i in range(40)
        for p in range(3)
        for a, b in ((f"x{p}", f"y{p}"), (f"y{p}", f"x{p}"))
        for r in range(2)
    ]
    table = pd.DataFrame(rows, columns=["judge", "item", "first", "second", "replicate", "choice"])
    return table.assign(gold=table[["first", "second"]].min(axis=1), topic="t" + table["item"].str[-1])


@pytest.mark.slow
@pytest.mark.parametrize("cluster", ["auto", "topic"])
def test_the_cluster_reaches_every_row(cluster, tmp_path):
    data = shared_verdicts()
    sheet = datasheet(data, cluster=cluster, n_resamples=50)
    assert {"validity", "swap", "slots", "repeats", "gold"} <= set(sheet["section"])
    asked = sheet[sheet["n"] > 0]
    assert asked["method"].str.contains("clustered by topic").all(), asked[["section", "term", "method"]].to_string()
    apart = datasheet(data, cluster=False, n_resamples=50)
    assert not apart["method"].str.contains("clustered").any()
    assert apart["flag"].str.contains("calls not independent").all()
    pd.testing.assert_series_equal(apart["estimate"], sheet["estimate"])
    pages = [
        report(data, tmp_path / f"{c}.html", cluster=c, n_resamples=20).read_text("utf-8") for c in (cluster, False)
    ]
    assert [p.count("clustered by topic") > 10 for p in pages] == [True, False]


def test_repeats_of_a_call_make_no_interval_narrower():
    data = shared_verdicts().query("replicate == 0").drop(columns="topic")  # each topic has the same verdicts
    again = pd.concat([data.assign(replicate=r) for r in range(5)])
    one, five = (datasheet(t, n_resamples=50).query("section != 'repeats'") for t in (data, again))
    kept = one.merge(five, on=["judge", "section", "term"], suffixes=("_1", "_5")).query(
        "estimate_1 < 1 and estimate_1 > 0"
    )
    widths = [(kept[f"conf_high_{k}"] - kept[f"conf_low_{k}"]).to_numpy() for k in (1, 5)]
    assert len(kept) > 15
    assert (widths[1] > 0.97 * widths[0]).all()


@pytest.mark.slow
def test_a_page_of_judges_without_an_item_in_common_says_so(tmp_path):
    data = shared_verdicts()
    apart = data.assign(item=data["item"].where(data["judge"] == "g", "other " + data["item"]))
    page = report(apart, tmp_path / "apart.html", n_resamples=20).read_text("utf-8")
    assert "some judges share no item with it" in page
    assert "none of the same items" in page
    assert "no item shared" not in report(data, tmp_path / "same.html", n_resamples=20).read_text("utf-8")


NOT_SHOWN = "What this page does not show"


def twice(column, values=("swap", "plain")):
    """Each call twice, told apart by a column of no known meaning."""
    return pd.concat([plain_verdicts(["a"], seed=i).assign(**{column: v}) for i, v in enumerate(values)])


# ---------------------------------------------------------------- judges of whom some are systems


@pytest.mark.slow
@pytest.mark.parametrize("identity", [None, {"g": "g"}, {"y": "h"}])
def test_a_page_of_judges_of_whom_some_are_systems(identity, tmp_path):
    page = made(scored(), tmp_path, identity=identity)
    assert {"Leniency", "Self-preference"} <= set(Page(page).text.split("\n"))


# ---------------------------------------------------------------- refusals that can be read


#: Pictures of two tables, or of a model.
OF_OTHERS = {"fit_diagnostics", "judges_and_people", "posterior_intervals", "scaled_residuals", "specifications"}


@pytest.mark.parametrize("name", [p for p in plots.__all__ if p not in OF_OTHERS])
@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"judge": ["a"], "estimate": [0.5]}),
        pd.DataFrame({"judge": ["a"], "term": ["target_sensitivity"]}),
        pd.DataFrame({"term": ["position_bias"], "estimate": [0.5], "note": ["x"]}),
        pd.DataFrame(),
        [1, 2],
        None,
    ],
    ids=["no term", "no estimate", "no judge", "empty", "list", "none"],
)
def test_every_picture_names_the_columns_that_it_needs(name, frame):
    with pytest.raises(JudgestatsError) as caught:
        getattr(plots, name)(frame, *(["criterion"] if name == "by_condition" else []))
    if name != "score_matrix":
        assert isinstance(caught.value, DesignError)
        assert re.search(r"picture needs|draws", str(caught.value))
        assert re.search(r"\b(term|terms|cost|mean_score|outcome|threshold)\b", str(caught.value), re.IGNORECASE)


def test_a_folder_is_refused_and_so_is_what_cannot_be_written(tmp_path):
    with pytest.raises(DesignError, match="is a folder; name a file"):
        report(plain_verdicts(["a"]), tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(DesignError, match="cannot be written") as caught:
        report(plain_verdicts(["a"]), tmp_path / "file" / "report.html", n_resamples=10)
    assert caught.value.__suppress_context__


# ---------------------------------------------------------------- repeats


@pytest.mark.slow
def test_repeats_without_a_number_are_said(tmp_path):
    calls = twice("note")
    page = Page(made(calls, tmp_path)).text
    assert "Some calls repeat others without a number in replicate." in page
    assert "no call is repeated" not in page.lower()
    assert "No call is repeated." in Page(made(plain_verdicts(["a"]), tmp_path)).text
    assert "Up to 2 repeats of a call." in Page(made(plain_verdicts(["a"], repeats=2), tmp_path)).text


@pytest.mark.slow
def test_repeats_that_only_by_tells_apart_are_said(tmp_path):
    page = Page(made(twice("note"), tmp_path, by="note")).text
    assert "Some calls repeat others, and differ only in note." in page
    assert "No call is repeated" not in page


def test_rows_that_stand_for_several_calls_are_no_single_calls(tmp_path):
    page = Page(made(plain_verdicts(["a"]).assign(n_identical=2), tmp_path)).text
    assert "Some rows stand for several identical calls." in page
    assert "No call is repeated." not in page


@pytest.mark.slow
def test_what_the_page_shows_is_not_listed_as_not_shown(tmp_path):
    calls = twice("note")
    told = Page(made(calls, tmp_path, by="note")).text
    assert "same verdict in both orders" in told.split(NOT_SHOWN)[0]
    rows = told.split(NOT_SHOWN)[-1].split("Limits")[0].split("\n")
    assert "consistency" not in rows
    assert "consistency, over repeats" in rows  # what is not shown is still there
    pooled = Page(made(calls, tmp_path)).text
    assert "consistency" in pooled.split(NOT_SHOWN)[-1].split("\n")


def test_a_measure_shown_without_a_number_is_listed(tmp_path):
    calls = plain_verdicts(["a"])
    one_order = calls[calls["first"] == "x"]
    assert consistency(one_order)["estimate"].isna().all()
    rows = Page(made(one_order, tmp_path)).text.split(NOT_SHOWN)[-1].split("\n")
    assert "consistency" in rows
    assert "position_bias" not in rows


# ---------------------------------------------------------------- doubts in words


def test_the_legend_of_dependent_calls_takes_no_side(tmp_path):
    page = Page(made(plain_verdicts(["a"]), tmp_path, cluster=False)).text
    assert "likely too narrow" not in page
    assert "wide for a difference of positions when both orders" in NOT_INDEPENDENT.explanation
    assert NOT_INDEPENDENT.explanation in page.split(NOT_SHOWN)[-1]


def test_both_orders_make_the_plain_interval_of_a_lean_too_wide():
    """The direction that the legend states: a judge that goes by content alone has no lean in any pair."""
    rows = [
        {
            "judge": "a",
            "item": str(i),
            "first": f,
            "second": s,
            "choice": "first" if (f == "x") == (i % 2 == 0) else "second",
        }
        for i in range(40)
        for f, s in ("xy", "yx")
    ]
    plain, own = (
        position_bias(preferences(pd.DataFrame(rows)), cluster=c).query("term == 'position_bias'").iloc[0]
        for c in (False, "auto")
    )
    assert plain["estimate"] == own["estimate"] == 0
    assert plain["conf_high"] - plain["conf_low"] > 0.3  # and yet every pair gives exactly 0
    assert 0 < own["conf_high"] - own["conf_low"] < 0.2


@pytest.mark.slow
def test_flags_of_the_score_matrix_and_of_mean_scores_are_on_the_page(tmp_path):
    data = scored(criteria=("style", "sense"))
    gone = (
        (data["judge"] == "g") & (data["system"] == "y") & (data["criterion"] == "style") & (data["item"] == "item 1")
    )
    page = made(data[~gone], tmp_path)
    caption = page.split("Score matrix.</b>")[-1].split("</figcaption>")[0]
    assert "Flagged “unequal criteria” (1 of 6 cells): " + UNEQUAL_CRITERIA.explanation in caption
    mean = datasheet(data[~gone]).query("term == 'mean_score'")
    assert mean["flag"].all()
    assert all(f in page for cell in mean["flag"] for f in cell.split("; "))
    assert "unequal criteria" not in made(data, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("ratings", [scored().iloc[3:], scored(criteria=("style", "final"))], ids=["uneven", "final"])
def test_the_mean_score_is_the_mean_of_its_row_and_the_page_says_so(ratings, tmp_path):
    assert "A judge's mean score is the mean of its row." in Page(made(ratings, tmp_path)).text
    matrix = consensus.score_matrix(ratings).groupby("judge")["estimate"].mean()
    means = datasheet(ratings).query("term == 'mean_score'").set_index("judge")["estimate"]
    np.testing.assert_allclose(means, matrix.loc[means.index])


# ---------------------------------------------------------------- how the data were read


@pytest.mark.slow
def test_how_the_data_were_read_is_on_the_page(tmp_path):
    table = tmp_path / "scores.csv"
    self_ratings(n_items=2).rename(columns={"judge": "rater"}).to_csv(table, index=False)
    mapping = {"judge": "rater", "system": "system", "item": "item", "score": "score", "replicate": "replicate"}
    source = {
        "format": "csv",
        "mapping": mapping,
        "labels": {"A": "first", "<i>": "second"},
        "files": pd.DataFrame({"name": ["scores.csv"], "rows": [54]}),
        "<b>asked</b>": ["<script>", 3],
    }
    page = made(read(table, columns=mapping), tmp_path, source=source)
    read_as = Page(page)
    assert "i" not in read_as.names()
    assert page.count("<script") == 1
    assert "<b>asked" not in page
    lead, made_of = page.split("<h3>Design</h3>")[1].split("</p>")[0], page.split("<h3>How it was made</h3>")[1]
    for told in ("csv", "judge = rater", "A = first", "&lt;i&gt; = second"):
        assert told in lead
        assert told in made_of
    assert "Read as csv; mapping: judge = rater" in lead
    assert "&lt;script&gt;, 3" in made_of
    assert "scores.csv" in read_as.text


def test_a_source_without_a_format_says_nothing_of_it(tmp_path):
    page = Page(made(plain_verdicts(["a"]), tmp_path, source={"rows": 80, "labels": None})).text
    assert "Read as" not in page
    assert "mapping" not in page


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    made = {}

    def of(name):
        if name not in made:
            named = {"baseline": "B0"} if name == "strategies" else {}
            path = js.report(getattr(registry, name)(), folder / f"{name}.html", n_resamples=50, **named)
            made[name] = path.read_text("utf-8")
        return made[name]

    return of


def test_a_picture_of_a_section_is_the_plot_of_its_record_and_says_how_to_read_it():
    drawn = {m: record.plot.partition(",")[0] for m, record in measures().items() if record.caption}
    assert {"kappa", "icc", "calibrate"} & set(drawn) == {"kappa", "calibrate"}
    assert set(drawn.values()) <= set(js.plot.__all__)


def plain(value):
    """What tells an argument from another: frames by their kind, the rest by value."""
    if isinstance(value, dict | list | tuple):
        return tuple(map(plain, value.items() if isinstance(value, dict) else value))
    return value if value is None or isinstance(value, str | int | float) else type(value).__name__


@pytest.fixture
def counted(monkeypatch):
    """How often each measure, and tally, is called with the same arguments; calls among measures are left out."""
    found, inside = Counter(), []

    def watched(function):
        @wraps(function)
        def call(*args, **kwargs):
            bound = inspect.signature(function).bind(*args, **kwargs)
            bound.apply_defaults()
            of_its_own = any(
                f.__name__ == "compare_versions" for f in inside
            )  # it tallies a table of its own for each judge
            if not inside or (function is js.tally and not of_its_own):
                found[function.__name__, plain(bound.arguments)] += 1
            inside.append(function)
            try:
                return function(*args, **kwargs)
            finally:
                inside.pop()

        return call

    records = measures().values()
    stands_for = {f: watched(f) for f in {js.tally, *(m.function for m in records)}}
    for module in [m for name, m in sys.modules.items() if name.startswith("judgestats.")]:
        for name, value in list(vars(module).items()):
            if inspect.isfunction(value) and value in stands_for:
                monkeypatch.setattr(module, name, stands_for[value])
    originals = [(m, m.function) for m in records]
    for record, function in originals:
        object.__setattr__(record, "function", stands_for[function])
    yield found
    for record, function in originals:
        object.__setattr__(record, "function", function)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param("calls", {"delta0", "target_sensitivity", "criterion_shift", "tally"}, marks=pytest.mark.slow),
        ("people", {"consistency", "position_bias", "preference_rate", "kappa", "tally"}),
        ("people, named", {"judge_against_people", "kappa"}),
        ("single_scores", {"score_matrix", "consensus_deviation", "variance_components", "calibrate"}),
    ],
)
def test_a_page_computes_each_measure_and_each_tally_once(data, expected, counted, tmp_path):
    data, _, people = data.partition(",")
    named = {"baseline": "base"} if data == "calls" else {"humans": ["ann", "bob"]} if people else {}
    js.report(getattr(registry, data)(), tmp_path / "page.html", n_resamples=20, **named)
    assert expected <= {name for name, _ in counted}
    assert [call for call, times in counted.items() if times > 1] == []


@pytest.mark.slow
def test_strategies_have_their_section_with_its_numbers(page):
    text = page("strategies")
    want = js.compare_strategies(registry.strategies(), baseline="B0")
    assert f"{100 * want['estimate'].iloc[0]:+.0f} points".replace("-", "−") in text
    assert re.search(r"<h2[^>]*>Does another way of asking help\?</h2>", text)


@pytest.mark.slow
def test_ratings_have_agreement_and_variance(page):
    text = page("scores")
    icc = js.icc(registry.scores(), subjects=["system", "item"]).set_index("term").loc["ICC(2,1)", "estimate"]
    assert f">{icc:.2f}<" in text
    for title in (
        "Do the judges agree with each other?",
        "Where does the variance come from?",
        "How are the scores distributed?",
    ):
        assert title in text


@pytest.mark.slow
def test_what_cannot_be_measured_says_what_it_needs(page):
    text = page("scores")
    missing = text[text.index("What this page does not show") :]
    assert "three values in a column" in missing  # agreement over temperature
    assert "<td>score_matrix</td>" not in missing


@pytest.mark.slow
def test_a_measure_is_shown_or_absent_never_both(page):
    for name in ("strategies", "scores", "probes"):
        text = page(name)
        before, after = text.split('id="what-this-page-does-not-show"')
        shown = set(re.findall(r"<h4>[^<]*<code>(\w+)</code>", before))
        absent = set(re.findall(r"<tr><td>(\w+)</td>", after.split("<h3>Limits</h3>")[0]))
        assert absent, name
        assert shown, name
        assert not shown & absent, name


def test_a_long_table_is_cut_and_says_so():
    rows = pd.DataFrame(
        {
            "judge": [f"j{i}" for i in range(MOST + 5)],
            "candidate": "x",
            "term": "win_rate",
            "estimate": np.linspace(0.2, 0.8, MOST + 5),
            "std_error": 0.1,
            "conf_low": 0.4,
            "conf_high": 0.6,
            "n": 10.0,
            "method": "Wilson",
            "flag": "",
        }
    )
    (section,) = chapters({"preference_rate": rows}, 0.95)
    assert (section["title"], section["where"]) == ("Is it biased?", "Is it biased?")
    (part,) = section["parts"]
    assert len(part["table"]["rows"]) == MOST
    shown = [r["value"] for r in part["table"]["rows"]]
    assert {"20\u202f%", "80\u202f%"} <= set(shown)
    assert shown == sorted(shown)  # in their order, without the middle
    assert "50\u202f%" not in shown
    assert part["more"].startswith("5 rows between the highest and the lowest")


def test_a_ranking_of_many_systems_shows_the_first_and_the_last_and_says_which_not():
    rows = [
        {"system": f"s{k:02d}", "term": term, "estimate": value, "n": 10.0, "method": "sandwich", "flag": ""}
        for term, of in (("strength", lambda k: 3 - 0.1 * k), ("rank", lambda k: k + 1.0))
        for k, value in ((k, of(k)) for k in range(59))
    ]  # fmt: skip
    table = pd.DataFrame(rows).assign(std_error=0.1, conf_low=math.nan, conf_high=math.nan)
    (section,) = chapters({"rank_systems": table}, 0.95)
    (part,) = section["parts"]
    shown = [r["labels"][0] for r in part["table"]["rows"]]
    ends = [f"s{k:02d}" for k in [*range(15), *range(44, 59)]]
    assert shown == [*ends, *ends]  # strengths, then ranks, in order of rank
    assert part["more"].startswith("29 systems of rank 16 to 44 are in")


def test_names_from_the_data_are_escaped():
    table = js.preference_rate(registry.calls().assign(judge="<b>&g"))
    text = environment().get_template("macros.html.j2").module.estimates(estimates_table(table, 0.95))
    assert "&lt;b&gt;&amp;g" in text
    assert "<b>&g" not in text


def test_an_attempt_is_estimates_or_a_reason():
    taken = attempts(registry.calls(), MeasureOptions(n_resamples=10))
    assert set(taken) == set(measures_of(registry.calls()))
    assert isinstance(taken["kappa"], pd.DataFrame)
    assert "probe" in taken["anchoring"]


@pytest.mark.slow
def test_labels_say_what_the_numbers_are(page):
    """A threshold stands in its label, whole numbers are whole, and a shift of scores is no shift of a correlation."""
    text = page("scores")
    assert "share with a spread above 2<" in text
    assert "judges needed, to rank the systems" in text
    needed = text.partition("judges needed, to rank the systems")[2][:200]
    assert re.search(r'class="value">(\d+|n/a)<', needed)
    together = text.partition("What would bring the judges together?")[2]
    assert "constant added to the scores" in together
    assert "shift of the mean correlation" not in together


CALLS = "judge,item,first,second,choice\ng,1,x,y,first\ng,1,y,x,second\n"

TABLE, RULES = "model,a,b,total\nm,1,2,3\n", '[[rule]]\nrule = "sum"\nparts = ["a", "b"]\ntotal = "total"\n'


@pytest.fixture
def files(tmp_path):
    for name in ("in.csv", "second.csv"):
        (tmp_path / name).write_text(CALLS.replace("g,", f"{name[0]},"))
    (tmp_path / "table.csv").write_text(TABLE)
    (tmp_path / "rules.toml").write_text(RULES)
    (tmp_path / "link.html").symlink_to(tmp_path / "in.csv")
    os.link(tmp_path / "in.csv", tmp_path / "hard.html")
    return tmp_path


@pytest.mark.parametrize(
    ("command", "kept"),
    [
        (["report", "{}/in.csv", "--out", "{}/in.csv"], "in.csv"),
        (["report", "{}/in.csv", "--out", "{}/link.html"], "in.csv"),
        (["report", "{}/in.csv", "--out", "{}/hard.html"], "hard.html"),
        (["report", "{}/*n*.csv", "--out", "{}/./second.csv"], "second.csv"),
        (["audit", "{}/table.csv", "--rules", "{}/rules.toml", "--out", "{}/table.csv"], "table.csv"),
        (["audit", "{}/table.csv", "--rules", "{}/rules.toml", "--out", "{}/rules.toml"], "rules.toml"),
    ],
)
def test_no_command_writes_over_what_it_reads(files, command, kept):
    before = (files / kept).read_text()
    result = CliRunner().invoke(app, [part.format(files) for part in command])
    assert result.exit_code == 2
    assert "is a file that was read" in result.output
    assert (files / kept).read_text() == before


def test_the_functions_refuse_it_where_they_know_the_path(files):
    data = js.read(files / "in.csv")
    paper, source = audited("dark_current"), source_info(files / "in.csv")
    for attempt in (
        lambda: js.report(data, files / "link.html", source=source),
        lambda: js.report(data, files / "link.html", source={"files": source}),
        lambda: audit_page(audited(files / "table.csv", rules=files / "rules.toml"), files / "table.csv"),
        lambda: audit_page(paper, paper[0].files[0]),
    ):
        with pytest.raises(DesignError, match="is a file that was read"):
            attempt()
    assert (files / "in.csv").read_text() == CALLS.replace("g,", "i,")


def test_a_page_is_of_what_was_read(files):
    page = js.report(js.read(files / "in.csv"), files / "page.html", source=source_info(files / "in.csv"))
    assert "in.csv" in page.read_text(encoding="utf-8")
    assert str(files) not in page.read_text(encoding="utf-8")
    assert isinstance(source_info(files / "in.csv"), pd.DataFrame)


SCRIPT = "<script>document.title='pwned'</script>"

IMAGE = '"><img src=x onerror="document.title=\'pwned\'">'

SVG = "</text></svg><svg onload=\"document.title='pwned'\">"

POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>')


def escaped(name):
    """Text as a browser writes it in its dump."""
    return name.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def unguarded(page):
    """Take the policy that forbids scripts out of a page, so that only the escaping protects it."""
    source = page.read_text(encoding="utf-8")
    assert len(POLICY.findall(source)) == 1
    page.write_text(POLICY.sub("", source), encoding="utf-8")
    return page


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize("attack", [SCRIPT, f'<p title="{IMAGE}">', SVG], ids=["script", "image", "svg"])
def test_the_browser_runs_what_is_not_escaped(attack, rendered, tmp_path):
    page = tmp_path / "page.html"
    page.write_text(
        f"<!DOCTYPE html><html><head><title>calm</title></head><body>{attack}</body></html>", encoding="utf-8"
    )
    assert "<title>pwned</title>" in rendered(page)


@pytest.mark.browser
@pytest.mark.slow
def test_the_policy_forbids_what_slips_through(rendered, tmp_path):
    page = report(plain_verdicts(["a"]), tmp_path / "report.html", title="calm", n_resamples=50)
    page.write_text(page.read_text(encoding="utf-8").replace("</body>", f"{SCRIPT}</body>"), encoding="utf-8")
    assert "sha256-" in POLICY.search(page.read_text(encoding="utf-8")).group()
    assert "<title>calm</title>" in rendered(page)


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize("attack", [SCRIPT, IMAGE, SVG], ids=["script", "image", "svg"])
@pytest.mark.parametrize("kind", ["plain", "instrument", "ratings"])
def test_hostile_names_do_not_run_and_are_read_as_text(attack, kind, rendered, tmp_path):
    data = {
        "plain": lambda: plain_verdicts(["judge"], n_items=8).assign(judge=attack, strategy=attack),
        "instrument": lambda: mapped(dark_current_design(["Llama8B"]), {"Llama8B": attack}),
        "ratings": lambda: self_ratings(n_items=3).replace({"judge": {"alpha": attack}, "system": {"alpha": attack}}),
    }[kind]()
    source = {attack: attack, "file": f"{attack}.jsonl"}
    dom = rendered(
        unguarded(report(data, tmp_path / "report.html", source=source, title=f"calm {attack}", n_resamples=50))
    )
    assert f"<title>calm {escaped(attack)}</title>" in dom
    assert dom.count("<script") == 1
    assert "<img" not in dom
    assert dom.count(escaped(attack)) >= 4
    shown = re.findall(r"<text[^>]*>([^<]*)</text>", dom)
    assert any(t.startswith(escaped(attack)[:8]) for t in shown)


def test_the_page_says_what_a_datasheet_does_not_claim(instrument):
    """Table 5 of the dark_current paper, in other words: one for each, folded, at the end of the datasheets."""
    page = html.unescape(instrument)
    printed = js.published.load("dark_current/table5")
    folded = page.partition("What a datasheet does not claim")[2].partition("</details>")[0]
    claims = re.findall(r"<li><b>(.+?\.)</b> (.+?\.)</li>", folded)
    assert len(claims) == len(printed) == 5
    assert (
        "Another judge, however strong, is no ground truth.",
        "It is a comparator, or an estimate of what can be reached.",
    ) in claims
    assert page.count("What a datasheet does not claim") == 1


def test_a_ranking_is_on_the_page_with_its_picture_and_whole_ranks(tmp_path):
    rng = np.random.default_rng(3)
    systems = ["a", "b", "c"]
    rows = []
    for item in range(40):
        for one, two in (("a", "b"), ("b", "c"), ("c", "a")):
            choice = "first" if rng.random() < 0.5 + 0.2 * (systems.index(two) - systems.index(one)) / 2 else "second"
            rows.append(("g", f"i{item}", one, two, choice))
    calls = pd.DataFrame(rows, columns=["judge", "item", "first", "second", "choice"])
    text = js.report(calls, tmp_path / "page.html", n_resamples=20).read_text(encoding="utf-8")
    sections = dict(re.findall(r"<section id=[^>]*><h2>(.*?)</h2>(.*?)</section>", text, re.S))
    ranking = sections["Which system is better?"]
    assert "rank, 1 is the best" in ranking
    assert "rank_systems" in ranking
    assert "rank_systems" not in sections["Is it right?"]
    assert "No right answer is known" in sections["Is it right?"]
    assert re.search(r"\[[123], [123]\]", text)
    assert "stability over items" in text


@pytest.mark.parametrize("gold", [True, False])
def test_the_page_says_where_nothing_shows_whether_a_verdict_is_right(gold, tmp_path):
    text = Page(made(plain_verdicts(["a", "b"], gold=gold), tmp_path, n_resamples=20)).text
    assert ("nothing here says whether a verdict is right" in text) is not gold


def test_verdicts_on_answers_are_named_for_what_they_are_without_gold(tmp_path):
    rows = [{"judge": j, "item": f"i{i}", "correct": (i + k) % 3 > 0} for k, j in enumerate("ab") for i in range(40)]
    text = Page(made(js.ratings(pd.DataFrame(rows)), tmp_path, n_resamples=20)).text
    assert "verdicts “correct”" in text
    assert "right verdicts" not in text
    assert "The judge says “correct”; without gold nothing says whether that is so." in text


def labels_of_regions(path):
    return re.findall(r'role="region" aria-label="([^"]*)"', path.read_text(encoding="utf-8"))


def test_regions_of_a_page_have_different_labels(tmp_path):
    """Two models, two groups of judges of the same size, two stricter prompts."""
    table = pd.DataFrame({"judge": [*"ab"] * 60, "item": np.repeat(range(30), 4), "correct": [0, 1, 1, 0, 1] * 24})
    fits = {name: js.fit("correct ~ judge + (1|item)", table) for name in ("one", "two")}
    apart = [plain_verdicts(js_, n_items=12, seed=k) for k, js_ in enumerate((["a", "b"], ["c", "d"]))]
    apart[1]["item"] = "other " + apart[1]["item"].astype(str)
    page = report(pd.concat(apart, ignore_index=True), tmp_path / "groups.html", models=fits, n_resamples=20)
    found = labels_of_regions(page)
    assert len(found) == len(set(found)) > 10
    assert {"Does the model fit: one", "Does the model fit: two"} <= set(found)


def test_a_known_difference_is_a_right_answer(instrument):
    assert "The right answer is known in 900 rows." in instrument.replace("\u202f", "")


def test_scores_without_gold_are_called_scores(tmp_path):
    assert "nothing here says whether a score is right" in Page(made(self_ratings(), tmp_path, n_resamples=20)).text


def test_rank_correlations_have_their_own_names():
    assert in_words("spearman", "rank_correlation") == "Spearman ρ"
    assert in_words("kendall", "rank_correlation") == "Kendall τ"


def study_calls():
    """Calls of a study of two strategies."""
    pairs = pd.DataFrame({"judge": "g", "item": [*map(str, range(30))], "first": "u", "second": "v", "gold": "u"})
    said = {"B0": ["first", "second", "tie"], "S4": ["first", "first", "invalid"]}
    return pd.concat([pairs.assign(strategy=s, choice=c * 10) for s, c in said.items()], ignore_index=True)


def printed_means():
    means = paper_tables.scores()
    means = means[(means["condition"] == "attributed") & means["judge"].isin(means["judge"].unique()[:2])]
    return means.drop(columns="condition")


def test_printed_means_get_a_page(tmp_path):
    page = Page(made(printed_means(), tmp_path, n_resamples=20)).text
    assert "needs single verdicts, and these are means over runs" in page
    assert "Leniency" in page


# ---------------------------------------------------------------- in a browser

#: Violations of axe-core, with the first element of each.
AXE = """
const found = await axe.run(document, { resultTypes: ["violations"] });
return found.violations.map((v) => [v.id, v.nodes.length, v.nodes[0].html.slice(0, 200)]);
"""
PAGES = {
    "plain": lambda path: report(plain_verdicts(["a", "b", "c"]), path, n_resamples=50),
    "instrument": lambda path: report(dark_current_design(), path, n_resamples=50),
    "ratings": lambda path: report(self_ratings(), path, n_resamples=50),
    "means": lambda path: report(printed_means(), path, n_resamples=20),
    "audit": lambda path: audit_page(audited("dark_current"), path),
    "classes": lambda path: report(ratings(verdicts(("a", "b", "c"), True, 3)), path, n_resamples=20),
    "two classes": lambda path: report(ratings(verdicts(("safe", "unsafe"), False, 3)), path, n_resamples=20),
    "study": lambda path: report(study_calls(), path, study=True, n_resamples=20),
    "unnamed column": lambda path: report(answers("score"), path, n_resamples=20),
}
SCHEMES = {"light": (), "dark": ("--blink-settings=preferredColorScheme=0",)}


def violations(page, axe, probed, scheme):
    opened = "document.querySelectorAll('details').forEach((d) => (d.open = true));"
    is_dark = probed(page, "return matchMedia('(prefers-color-scheme: dark)').matches", *SCHEMES[scheme])
    assert is_dark == (scheme == "dark")
    return probed(page, f"{axe}; {opened} {AXE}", *SCHEMES[scheme])


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_axe_finds_nothing(name, axe, probed, tmp_path):
    page = PAGES[name](tmp_path / "page.html")
    assert [violations(page, axe, probed, scheme) for scheme in SCHEMES] == [[], []]


@pytest.mark.real
@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "options"),
    [
        ("judgebench/dataset*.jsonl.gz", {}),
        (
            "llmjudge_trec_dl23/labels_wide.csv.gz",
            {"wide": "judge=*,-qid,-docid,-gold", "columns": {"item": "qid+docid"}, "scale": (0, 3),
             "off_scale": "missing"},
        ),
    ],
)  # fmt: skip
def test_axe_finds_nothing_on_real_pages(path, options, real_data, axe, probed, tmp_path):
    calls = js.read(str(real_data / path), **options)
    page = report(calls, tmp_path / "page.html", n_resamples=20)
    assert violations(page, axe, probed, "dark") == []
    assert page.stat().st_size < 3e6


@pytest.mark.browser
@pytest.mark.slow
def test_the_script_of_a_page_runs_under_its_policy_and_asks_no_network(rendered, probed, tmp_path):
    page = PAGES["plain"](tmp_path / "page.html")
    assert "copy as Markdown" in rendered(page)
    asked = "return performance.getEntriesByType('resource').map((e) => e.name).filter((n) => !n.startsWith('blob:'));"
    assert probed(page, asked) == []


@pytest.mark.browser
@pytest.mark.slow
def test_tables_are_sorted_filtered_and_copied(probed, tmp_path):
    page = report(
        plain_verdicts([f"judge {i:02d}" for i in range(14)], n_items=12), tmp_path / "p.html", n_resamples=50
    )
    script = """
    const table = document.querySelector("table.compare");
    const read = (k) => [...table.tBodies[0].rows].map((r) => k ? Number(r.cells[k].dataset.v) : r.cells[0].textContent);
    const click = (k) => table.tHead.rows[0].cells[k].querySelector("button").click();
    click(2); const down = read(2); click(2); const up = read(2); click(0); const names = read(0);
    const filter = document.getElementById("filter");
    filter.value = "judge 07"; filter.dispatchEvent(new Event("input"));
    const left = [...table.tBodies[0].rows].filter((r) => !r.hidden).length;
    const buttons = table.parentElement.nextElementSibling.querySelectorAll("button");
    buttons.forEach((b) => b.click());
    document.getElementById("csv").click();
    await new Promise((done) => setTimeout(done, 800));
    return { down, up, names, left, copied: [...buttons].map((b) => b.dataset.copied),
             csv: Number(document.getElementById("csv").dataset.size) };
    """
    found = probed(page, script)
    assert found["down"] == sorted(found["down"], reverse=True)
    assert found["up"] == sorted(found["up"])
    assert found["names"] == sorted(found["names"])
    assert found["left"] == 1
    markdown, latex = found["copied"]
    assert markdown.splitlines()[1].startswith("| --- |")
    assert markdown.splitlines()[2].startswith("| judge 07 |")
    assert "\\toprule" in latex
    assert "judge 07 & " in latex
    assert found["csv"] > 1000


@pytest.mark.browser
@pytest.mark.slow
def test_pictures_fit_a_phone_where_they_stay_legible(rendered, tmp_path):
    """A frame of 400 pixels: those of up to 580 shrink to it, none below 0.62 of its size."""
    page = PAGES["instrument"](tmp_path / "page.html")
    script = """
    const f = document.querySelector("iframe").contentDocument;
    const r = [...f.querySelectorAll(".drawn")].map((d) => [parseFloat(d.firstElementChild.style.width),
      d.firstElementChild.getBoundingClientRect().width, d.scrollWidth - d.clientWidth]);
    document.body.innerHTML = "<pre>" + JSON.stringify(r) + "</pre>";
    """
    source = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page.read_text(encoding="utf-8"))
    frame = tmp_path / "frame.html"
    frame.write_text(
        f'<body style="margin:0"><iframe style="width:400px;height:3000px;border:0" srcdoc="{html.escape(source)}">'
        f"</iframe><script>onload = () => {{ {script} }}</script>",
        encoding="utf-8",
    )
    found = json.loads(re.search(r"<pre>(.*?)</pre>", rendered(frame), re.DOTALL).group(1))
    assert len(found) > 3
    for natural, shown, beyond in found:
        assert shown >= 0.61 * natural
        assert beyond <= 1 or natural > 580, natural


@pytest.mark.browser
@pytest.mark.slow
def test_cautions_have_room_in_print(chromium, tmp_path):
    if shutil.which("pdftotext") is None:
        pytest.skip("no pdftotext is installed")
    page = PAGES["instrument"](tmp_path / "page.html")
    command = [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer",
               f"--user-data-dir={tmp_path / 'chromium'}", f"--print-to-pdf={tmp_path / 'page.pdf'}", page.as_uri()]  # fmt: skip
    subprocess.run(command, capture_output=True, timeout=120, check=True)
    subprocess.run(["pdftotext", "-bbox", tmp_path / "page.pdf", tmp_path / "words.html"], check=True)
    text = (tmp_path / "words.html").read_text(encoding="utf-8")
    word = r'<word xMin="[\d.]+" yMin="([\d.]+)" xMax="([\d.]+)" yMax="([\d.]+)">(pairs|independent)</word>'
    found = [(float(top), float(end), float(foot), text) for top, end, foot, text in re.findall(word, text)]
    cautions = [(one, two) for one, two in itertools.pairwise(found) if (one[3], two[3]) == ("pairs", "independent")]
    width = float(re.search(r'<page width="([\d.]+)"', text).group(1))
    assert len(cautions) >= 5  # folds stay closed in print
    assert max(two[1] for _, two in cautions) < width - 20
    lines = [(two[0] - one[0]) / (one[2] - one[0]) for one, two in cautions]
    assert max(lines) < 2, "a caution of five words takes more than two lines"


@pytest.mark.slow
def test_a_page_of_33_judges_is_small_and_holds_every_estimate(tmp_path):
    rng = np.random.default_rng(0)
    rows = [
        {"judge": f"judge {j:02d}", "system": f"system {k:02d}", "item": f"item {i}", "score": float(rng.integers(0, 4))}
        for j in range(33) for k in range(60) for i in range(3)
    ]  # fmt: skip
    path = report(ratings(pd.DataFrame(rows)), tmp_path / "page.html", n_resamples=50)
    text = path.read_text(encoding="utf-8")
    assert path.stat().st_size < 3_000_000
    packed = re.search(r'<template id="estimates"[^>]*>(.*?)</template>', text).group(1)
    table = pd.read_csv(io.BytesIO(gzip.decompress(base64.b64decode(packed))), low_memory=False)
    sheet = datasheet(ratings(pd.DataFrame(rows)), n_resamples=50)
    kept = table[table["measure"] == "datasheet"]
    np.testing.assert_allclose(kept["estimate"], sheet["estimate"], rtol=1e-7)
    assert "the 20 highest and lowest of 60 systems" in text


def test_markdown_has_the_tables_of_the_measures():
    page = measure_all(plain_verdicts(["a", "b"]), PageArguments(n_resamples=20))
    text = as_markdown(page)
    for name, rows in page.beyond_sheet.items():
        about = text.partition(f"## {measures()[name].question}\n\n`{name}`\n\n")[2]
        assert about.startswith(("| ", "No number: ")), name
        assert len(rows)


def test_n_stands_once_where_it_is_one_number_of_the_table_and_else_in_the_head_of_its_column():
    even = measure_all(plain_verdicts(["a", "b"], invalid=0), PageArguments(n_resamples=20))
    table = comparison(even.summary)
    sizes = [c.size for c in even.summary.columns]
    assert len(set(sizes)) > 1
    assert all(c["note"].endswith(size) for c, size in zip(table["columns"], sizes, strict=True))
    assert "n\u00a0=" not in table["note"]
    first = comparison(replace(even.summary, columns=even.summary.columns[:1]))
    assert first["note"].startswith(f"n\u00a0=\u00a0{len(even.measured) // 2}. ")
    assert "n\u00a0=" not in first["columns"][0]["note"]
    data = plain_verdicts(["a", "b"], invalid=0)
    fewer = comparison(measure_all(data.drop(index=data.index[:1]), PageArguments(n_resamples=20)).summary)
    assert fewer["columns"][0]["note"].endswith("n\u00a0=\u00a079 to 80")
    assert {r["cells"][0]["hover"].partition(";")[0] for r in fewer["groups"][0]["rows"]} == {"n = 79", "n = 80"}


def test_no_page_holds_what_a_terminal_obeys_or_what_turns_a_text(tmp_path):
    name = "g\x1b[31m\x07\u202e\u2066\x9bh"
    calls = plain_verdicts(["a"]).assign(judge=name)
    for ending in ("md", "html"):
        page = js.report(calls, tmp_path / f"page.{ending}", title=f"T{name}").read_text(encoding="utf-8")
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]", page)
        assert "[31m" in page
