"""The site: every page, name, plot, command and measure is on it, and its links are followed. ``.ci/docs`` builds it."""

import inspect
import re
import shutil
import subprocess
from pathlib import Path

import pandas as pd
import pytest
import site_build
import site_chooser
import site_gallery
import site_notebooks
import site_reference
from typer.testing import CliRunner

import judgestats as js
from judgestats.metrics.measure_registry import HAVE, measures
from refusals import refused

DOCS = Path(__file__).parents[1] / "docs"
PUBLIC = site_reference.public()
FUNCTIONS = {n: f for n, f in PUBLIC.items() if inspect.isfunction(f)}


@pytest.fixture(scope="module")
def chooser():
    return site_chooser.page()


@pytest.mark.parametrize("path", sorted(DOCS.glob("*.md")), ids=lambda p: p.name)
def test_every_page_of_docs_is_in_a_chapter(path):
    assert site_build.listed().count(f"docs/{path.name}") == 1


def test_links_of_every_page_lead_to_a_page_of_the_site_or_a_file_of_the_repository():
    places = site_build.sources()
    pages = [p for p in places if p.endswith(".md")]
    assert len(pages) > 60
    for path in pages:
        text = site_build.linked((site_build.ROOT / path).read_text(encoding="utf-8"), path, places)
        assert "](../src" not in text, path


@pytest.mark.parametrize(
    ("link", "turned"),
    [
        ("[x](formats.md#a)", "[x](formats.md#a)"),
        ("[x](../ARCHITECTURE.md)", "[x](architecture.md)"),
        ("[x](decisions)", "[x](decisions/index.md)"),
        ("[x](../notebooks/llmbar.py)", "[x](notebooks/llmbar.ipynb)"),
        ("[x](coverage.csv)", f"[x]({site_build.REPOSITORY}docs/coverage.csv)"),
        ("[x](site/reference/kappa.rst)", "[x](reference/kappa.rst)"),
        ("[x](https://example.org/a.md)", "[x](https://example.org/a.md)"),
        ("`[x](nowhere.md)`", "`[x](nowhere.md)`"),
        ("[x](models.md#bayesian-models)", "[x](bayesian_models.md#bayesian-models)"),
        ("[x](models.md#few-judges)", "[x](models.md#few-judges)"),
        ("![x](start.svg)", "![x](start.svg)"),
    ],
)
def test_a_link_is_turned(link, turned):
    assert site_build.linked(link, "docs/audit.md", site_build.sources()) == turned


def test_the_index_of_decisions_is_a_page_of_the_chapter_on_explanations():
    assert site_build.sources()["docs/decisions/README.md"] == "decisions/index"
    assert "docs/decisions/README.md" in site_build.CHAPTERS["explanation"][2]


def test_the_search_of_the_site_leaves_decisions_out():
    text = "# 5. Title\n\nWords.\n"
    texts = {"decisions/index": "# Decisions\n", "decisions/0089-a-label": text, "intervals": text}
    shown = site_build.not_searched(texts)
    assert shown["decisions/0089-a-label"] == f"---\nnosearch: true\n---\n\n{text}"
    assert {k: v for k, v in shown.items() if k != "decisions/0089-a-label"} == {
        "decisions/index": "# Decisions\n",
        "intervals": text,
    }


def test_a_section_may_be_a_page_of_its_own():
    text = "# All\n\nWords.\n\n## The study (alpha)\n\nSteps.\n\n### Deep\n\n## The rest\n\nMore.\n"
    found = site_build.divided(text, {"alpha": "study"})
    assert found["study"] == "# The study (alpha)\n\nSteps.\n\n## Deep\n\n"
    assert "Steps" not in found[""]
    assert "## The study (alpha)\n\n[A page of its own](study.md)." in found[""]
    assert found[""].endswith("## The rest\n\nMore.\n")
    with pytest.raises(SystemExit, match="No section of the page is absent"):
        site_build.divided(text, {"beta": "absent"})


def test_pictures_stand_at_the_top_of_the_site():
    places = site_build.sources()
    assert site_build.linked("![x](../first_screen.png)", "docs/site/index.md", places) == "![x](first_screen.png)"


def test_links_inside_a_divided_page_lead_to_its_parts():
    text = "[x](#bayesian-models), [y](#few-judges), `[z](#few-judges)`"
    turned = "[x](bayesian_models.md#bayesian-models), [y](models.md#few-judges), `[z](#few-judges)`"
    assert site_build.linked(text, "docs/models.md", site_build.sources()) == turned


def test_every_paper_has_a_page_on_repeating_its_study():
    pages = {p for parts in site_build.PARTS.values() for p in parts.values() if p.startswith("repeat_")}
    assert pages == {f"repeat_{p.name}" for p in (DOCS.parent / "data").iterdir() if (p / "claims.csv").is_file()}


GUIDES = (
    "start inspect_and_people choose mapping formats reading_a_report models bayesian_models for-r-users audit studies "
    "scale reference/commands flags intervals coverage limitations alternatives glossary generalising agents citing"
)


def test_what_a_reader_looks_for_is_in_a_chapter_that_the_index_links_to():
    chapters = {k: {site_build.home(p) for p in pages} for k, (_, _, pages) in site_build.CHAPTERS.items()}
    listed = set().union(*chapters.values())
    assert set(GUIDES.split()) <= listed
    assert {p for parts in site_build.PARTS.values() for p in parts.values()} <= listed
    index = (DOCS / "site" / "index.md").read_text(encoding="utf-8")
    linked = set(re.findall(r"\((?:\.\./)*([\w/-]+)\.md\)", index))
    assert [k for k, pages in chapters.items() if not {k, *pages, "notebooks/README"} & linked] == []
    assert "llms.txt" in (DOCS / "agents.md").read_text(encoding="utf-8")


def test_programs_find_every_page_and_name():
    texts = {site_build.home(p): "# Title\n\nWords.\n" for _, _, pages in site_build.CHAPTERS.values() for p in pages}
    text = site_build.for_programs(texts)
    assert [p for p in texts if f"({p}.html)" not in text] == []
    assert [n for n in PUBLIC if f"[{n}](reference/" not in text] == []


def test_every_measure_with_an_interval_links_to_how_it_is_made_and_how_often_it_covers():
    pages = site_reference.pages()
    shown = [
        n for n, m in measures().items() if site_reference.record(n) and m.interval not in site_reference.NO_INTERVAL
    ]
    assert len(shown) > 40
    assert [
        n
        for n in shown
        if not {"</intervals>", "</coverage>"} <= set(re.findall(r"<\S+>", pages[f"reference/{n}.rst"]))
    ] == []


def test_the_page_of_a_notebook_is_the_executed_file(tmp_path):
    site_notebooks.write(site_build.notebooks(), tmp_path)
    assert sorted(p.stem for p in tmp_path.iterdir()) == sorted(p.stem for p in site_build.notebooks())
    stored = DOCS.parent / "notebooks" / "mtbench_position.ipynb"
    assert (tmp_path / stored.name).read_bytes() == stored.read_bytes()


def test_every_public_name_is_in_the_reference():
    pages = site_reference.pages()
    known = {id(thing) for thing in PUBLIC.values()}
    rooms = [
        js,
        *(site_reference.module(m) for m in site_reference.MODULES if hasattr(site_reference.module(m), "__all__")),
    ]
    public = {n: getattr(room, n) for room in rooms for n in room.__all__ if n != "__version__"}
    assert [n for n, t in public.items() if not inspect.ismodule(t) and id(t) not in known] == []
    for name in PUBLIC:
        room, _, last = name.rpartition(".")
        page = pages[f"reference/{site_reference.folder(room)}{last}.rst"]
        overview = pages[f"reference/{site_reference.page_of(room)}.md"]
        assert f":: {name}" in page
        assert f"[`{last}`]" in overview
    assert set(FUNCTIONS) >= {"judgestats.kappa", "judgestats.design.collect", "judgestats.plot.forest"}


def is_public(name):
    """Whether this is a public name, or a method of a public class."""
    inside, _, last = name.rpartition(".")
    return name in PUBLIC or (inspect.isclass(PUBLIC.get(inside)) and hasattr(PUBLIC[inside], last))


@pytest.mark.parametrize("name", [n for n, thing in PUBLIC.items() if callable(thing)])
def test_a_public_name_has_an_example_and_says_what_to_see_also_and_that_is_public(name):
    text = inspect.getdoc(PUBLIC[name])
    assert re.search(r"(?m)^>>> ", text.partition("\nExamples\n---")[2]), f"{name}: add a section Examples"
    section = re.search(r"\nSee Also\n-+\n(.*?)(?:\n\n|$)", text, re.S)
    assert section, f"{name}: add a section See Also"
    listed = re.findall(r"(?m)^(\S[^:\n]*?)(?: : .*)?$", section.group(1))
    inside, _, last = name.rpartition(".")
    for other in ", ".join(listed).split(", "):
        assert any(map(is_public, (other, f"judgestats.{other}", f"{inside}.{other}"))), (
            f"{name}: {other} is not public"
        )
        assert other != last, f"{name} refers to itself"


def test_every_command_and_option_is_on_the_page_of_the_command_line():
    from judgestats.cli import app

    page = site_reference.commands()
    shown = CliRunner().invoke(app, ["--help"], terminal_width=200).output
    named = re.findall(r"(?m)^## judgestats (\S+)", page)
    assert {"check", "report", "audit", "plan", "collect"} <= set(named)
    assert all(re.search(rf"(?m)^\W*{name}\b", shown) for name in named)
    assert "`--labels-file`" in page


def test_every_measure_is_in_the_table_of_functions_with_what_it_needs_and_assumes(chooser):
    for name, m in measures().items():
        if name == m.function.__name__ and name in js.__all__:
            assert f'href="reference/{name}.html"' in chooser
            assert m.assumes, f"{name}: its record does not say what it assumes"
            assert set(m.have) <= set(HAVE)
            assert site_chooser.frames_of(m), f"{name}: the kind of data in {m.input!r} is not known"


@pytest.mark.parametrize(
    ("need", "have"),
    [
        ("gold_column", {"gold"}),
        ("people_named", {"people"}),
        ("pairs_of_judges", {"judges"}),
        ("several_judges", {"judges"}),
    ],
)
def test_what_a_record_needs_is_what_it_says_one_must_have(need, have):
    found = [(n, m) for n, m in measures().items() if need in {f.__name__ for f in m.needs} and m.assumes]
    assert found
    assert [n for n, m in found if not have <= set(m.have)] == []


def test_what_is_ticked_is_in_the_page(chooser):
    ticked = set(re.findall(r'<input type="checkbox" value="([^"]+)"', chooser))
    assert ticked == {*site_chooser.FRAMES, *HAVE}
    for frames, have in re.findall(r'data-frames="([^"]*)" data-have="([^"]*)"', chooser):
        assert set(filter(None, [*frames.split("|"), *have.split("|")])) <= ticked


def test_every_plot_has_a_cell_in_the_gallery_and_every_cell_a_plot():
    known = site_gallery.cells()
    assert sorted(site_gallery.plots(known)) == sorted(js.plot.__all__)
    for name in js.plot.__all__:
        compile(known[name], name, "exec")
        assert f"picture = js.plot.{name}(" in known[name]
    lines = [line for code in known.values() for line in code.splitlines() if re.search(r"\w\(", line)]
    assert [line for line in set(lines) if lines.count(line) > 1] == []  # what two cells need is data of both


def test_links_and_plots_without_their_place_fail():
    known = {name: code for name, code in site_gallery.cells().items() if name != "pareto"}
    refused(
        SystemExit,
        (
            lambda: site_build.linked("[x](nowhere.md)", "docs/audit.md", site_build.sources()),
            r"there is no docs/nowhere\.md",
        ),
        (lambda: site_gallery.plots(known), site_gallery.MissingExampleError, r"plot\.pareto has no picture"),
    )


def test_the_gallery_has_each_picture_with_its_code_and_data(tmp_path, monkeypatch):
    script = tmp_path / "gallery.py"
    script.write_text(
        "# %% data: rates\nimport pandas as pd\nimport judgestats as js\n"
        "rates = pd.DataFrame({'judge': ['a', 'b'], 'term': 'consistency', 'estimate': [0.8, 0.6]})\n"
        "# %% forest\npicture = js.plot.forest(rates)\n"
    )
    monkeypatch.setattr(site_gallery, "SCRIPT", script)
    monkeypatch.setattr(js.plot, "__all__", ["forest"])
    page = site_gallery.write(tmp_path, tmp_path)
    assert "![forest](forest.svg)" in page
    assert "picture = js.plot.forest(rates)" in page
    assert "rates = pd.DataFrame" in page.partition("## Data")[2]
    assert "<svg" in (tmp_path / "forest.svg").read_text()
    assert pd.read_csv(tmp_path / "forest.csv")["estimate"].tolist() == [0.8, 0.6]


def test_broken_links_are_found(tmp_path):
    (tmp_path / "a.html").write_text(
        '<p id="here"><a href="b.html#there"></a><a href="b.html#gone"></a><a href="#here"></a><a href="c.html"></a>'
        '<a href="https://example.org"></a><script src="https://cdn.example.org/x.js"></script>'
    )
    (tmp_path / "b.html").write_text('<h2 id="there"></h2><img src="data:image/png;base64,AA">')
    assert list(site_build.broken(tmp_path)) == [
        "a.html: b.html#gone has no such place",
        "a.html: c.html leads nowhere",
        "a.html: https://cdn.example.org/x.js is loaded from elsewhere",
    ]


@pytest.mark.slow
@pytest.mark.browser
def test_ticking_keeps_the_functions_that_need_no_more(chooser, tmp_path):
    """The page in a browser, with and without what is ticked."""
    blocks = re.findall(r"```\{raw\} html\n(.*?)```", chooser, re.S)
    script = (DOCS / "site" / "_static" / "chooser.js").read_text(encoding="utf-8")
    ticks = (
        "for (const v of ['preferences', 'orders']) { const b = document.querySelector(`[value='${v}']`); b.click(); }"
    )
    html = "".join(b for b in blocks if "<script" not in b) + f"<script>{script}\n{ticks}</script>"
    page = tmp_path / "page.html"
    page.write_text(f"<!doctype html><meta charset=utf-8><section>{html}</section>", encoding="utf-8")
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("no Chromium is installed")
    command = [
        chromium,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={tmp_path / 'user'}",
        "--dump-dom",
    ]
    dom = subprocess.run([*command, page.as_uri()], capture_output=True, text=True, timeout=120, check=True).stdout
    rows = re.findall(r"<tr (data-frames.*?)</tr>", dom, re.S)
    shown = {re.search(r"js\.([\w.]+)</code>", row).group(1) for row in rows if " hidden" not in row.partition(">")[0]}
    assert {"consistency", "position_bias", "preference_rate"} <= shown
    assert not {"gold_agreement", "kappa", "icc", "delta0", "preference_gap"} & shown
    assert f">{len(shown)} of {len(rows)} functions<" in dom
