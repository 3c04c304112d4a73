"""The page of a data set: what it says, that it adds up, and that it stands alone."""

import html
import re
from html.parser import HTMLParser

import pandas as pd
import polars as pl
import pytest

from judgestats.errors import SchemaError
from judgestats.metrics.datasheets import datasheet
from judgestats.reporting import report
from judgestats.reporting.formatting import in_words, interval
from judgestats.reporting.pages import account
from judgestats.results import explain
from judgestats.schema import check
from reporting.designs import dark_current_design, mapped, plain_verdicts, self_ratings

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
        if "style" not in self._open:
            self.text += data + "\n"

    def names(self):
        return {t for t, _ in self.elements}


def made(data, tmp_path, **options):
    page = report(data, tmp_path / "deep" / "report.html", n_resamples=options.pop("n_resamples", 100), **options)
    return page.read_text(encoding="utf-8")


def sums(page):
    """Rows in, used and set aside, as they are printed."""
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
            assert interval(r["conf_low"], r["conf_high"], last=5.0) in page, r


@pytest.mark.parametrize("invalid", [0.0, 0.1, 1.0])
def test_the_account_adds_up(invalid, tmp_path):
    calls = plain_verdicts(["a"], invalid=invalid)
    total, used, aside = sums(made(calls, tmp_path))
    assert (total, aside) == (len(calls), int((calls["choice"] == "invalid").sum()))
    assert total == used + aside


def test_the_account_names_reasons_rows_and_cures(tmp_path):
    calls = plain_verdicts(["a"], invalid=0.2)
    page = made(calls, tmp_path)
    reason = check(calls).query("level == 'set aside'").iloc[0]
    read = Page(page).text
    assert reason["what"] in read
    assert reason["cure"] in read
    assert ", ".join(str(r) for r in reason["rows"][:3]) in read


def test_account_of_a_check():
    calls = plain_verdicts(["a"], invalid=0.3)
    found = account(check(calls))
    assert found["rows in"] == found["rows used"] + found["rows set aside"] == len(calls)


@pytest.mark.slow
def test_the_page_stands_alone(instrument):
    page = Page(instrument)
    assert not page.names() & {"script", "link", "iframe", "object", "embed", "base", "img", "form"}
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
        pictures = made(data, tmp_path, **options).partition('id="pictures"')[2].partition("</section>")[0]
        return re.findall(r"<figcaption><b>(.*?)\. ?</b>", pictures)

    whole = captions(dark_current_design())
    assert whole == [
        "Metrology map",
        "Psychometric curves",
        "What false preference between equals is made of",
        "Positional against stable",
    ]
    without = dark_current_design()
    assert captions(without[without["stimulus"] == "ladder"]) == ["Psychometric curves"]
    two = dark_current_design(["Qwen32B"], prompts=("base", "strict"))
    assert "Operating point" in captions(two, baseline="base")
    assert "Operating point" not in captions(two)  # which prompt is the baseline is never guessed
    assert captions(plain_verdicts(["a"])) == ["Judges side by side", "What the judges answer"]
    assert captions(self_ratings()) == ["Score matrix", "Deviation from peers", "Severity and self-excess"]
    alone = self_ratings()
    assert captions(alone[alone["judge"] == "alpha"]) == ["Score matrix"]


def test_data_without_a_known_order_get_a_page(tmp_path):
    page = made(plain_verdicts(["a"]).assign(order_known=False), tmp_path)
    assert "The order shown is not known." in page
    assert "Judges side by side" in page  # accuracy is there all the same
    assert "same verdict in both orders" not in Page(page).text.split("What this page does not show")[0]


@pytest.mark.slow
def test_the_sketch_is_a_description_with_its_thresholds(instrument):
    assert "Class B / Presentation-conflicted" in instrument
    assert "up to 0.05 is clean" in instrument


def test_several_judges_get_an_overview_and_one_does_not(tmp_path):
    assert "At a glance" in made(plain_verdicts(["a", "b"]), tmp_path)
    assert "At a glance" not in made(plain_verdicts(["a"]), tmp_path)


def test_by_gives_a_datasheet_for_each_group(tmp_path):
    calls = pd.concat(
        [plain_verdicts(["a"], seed=s).assign(strategy=n) for s, n in enumerate(("CoT", "plain"))], ignore_index=True
    )
    page = Page(made(calls, tmp_path, by="strategy"))
    assert sum(t == "details" for t, _ in page.elements) == 2
    assert {"a · CoT", "a · plain"} <= set(page.text.split("\n"))


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
    assert all(f"<dt>{html.escape(f)}</dt>" in glossary for f in told)


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
    for told in ("calls.jsonl", "1\u202f234", "f" * 64, "plain", "90 % interval", "seed=7", "cluster='item'"):
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
        Page(made(c, tmp_path / n)).text.split("At a glance")[2].split("Pictures")[0]
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
        assert not page.names() & {"script", "img"}
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
    sheets = made(calls, tmp_path, humans=["Ann", "bob"]).partition('id="datasheets"')[2].partition("</section>")[0]
    assert "<summary>g" in sheets
    assert "<summary>Ann" not in sheets


@pytest.mark.slow
def test_people_are_never_called_harsh(tmp_path):
    from registry import scores

    page = Page(made(scores(), tmp_path, humans=["a", "b"])).text
    assert "Deviation from people" in page
    assert "Deviation from peers" not in page
    together = page.partition("What would bring the judges together?")[2].partition("Against the truth")[0]
    assert "from people, where they are the reference" in together
    assert not re.search(r"\ba\b constant added", together)


@pytest.mark.slow
def test_one_judge_alone_is_told_what_to_add(tmp_path):
    calls = plain_verdicts(["a"]).drop(columns="gold", errors="ignore")
    lead = "There is one judge and nothing to hold it against"
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
    named = "item" if cluster == "auto" else "topic"
    asked = sheet[sheet["n"] > 0]
    assert asked["method"].str.contains(f"clustered by {named}").all(), asked[["section", "term", "method"]].to_string()
    apart = datasheet(data, cluster=False, n_resamples=50)
    assert not apart["method"].str.contains("clustered").any()
    assert apart["flag"].str.contains("calls not independent").all()
    pd.testing.assert_series_equal(apart["estimate"], sheet["estimate"])
    pages = [
        report(data, tmp_path / f"{c}.html", cluster=c, n_resamples=20).read_text("utf-8") for c in (cluster, False)
    ]
    assert [p.count(f"clustered by {named}") > 10 for p in pages] == [True, False]


def test_repeats_of_a_call_make_no_interval_narrower():
    data = shared_verdicts().query("replicate == 0")
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
    assert "no item shared with another judge" in page
    assert "none of the same items" in page
    assert "no item shared" not in report(data, tmp_path / "same.html", n_resamples=20).read_text("utf-8")
