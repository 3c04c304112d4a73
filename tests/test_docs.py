"""The pages of docs: every measure and model has a row, every name in it exists, the examples run, R's output is R's."""

import doctest
import inspect
import re
from pathlib import Path

import pytest

import judgestats as js
import paper_items
from judgestats.counting.patterns import PATTERNS

DOCS = Path(__file__).parents[1] / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
#: Rooms whose public functions measure or shape.
ROOMS = (
    "judgestats.metrics.",
    "judgestats.verdicts.",
    "judgestats.design.simulation",
    "judgestats.design.detectable_effects",
)
HEAD = ["function", "what it answers", "input", "interval", "source", "picture"]
MODELS_HEAD = ["function", "what it answers", "input", "interval", "source"]
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w.])")
CONSOLE = Path(__file__).parent / "reference" / "models"


def tables(text: str) -> list[list[str]]:
    """Cells of each row of the tables of measures, without heads and rules."""
    rows = [[c.strip() for c in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("| ")]
    return [r for r in rows if r != HEAD]


def functions(rooms: str | tuple[str, ...]) -> set[str]:
    """Public functions of some rooms."""
    named = [*((js, n) for n in js.__all__), *((js.models, n) for n in js.models.__all__)]
    named += [(js.design, n) for n in js.design.__all__ if n not in ("answer_probabilities", "detectable", "power")]
    things = [(name, getattr(room, name)) for room, name in named]
    return {n for n, t in things if inspect.isfunction(t) and t.__module__.startswith(rooms)}


def measures() -> set[str]:
    """Public functions that measure or shape."""
    return functions(ROOMS)


def unit(number: str) -> float:
    """What the last digit of a number stands for."""
    mantissa, _, exponent = number.partition("e")
    return float(10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2])))


def same(want: str, got: str) -> bool:
    """Whether two outputs differ by no more than one in the last digit of numbers that have three digits or more."""
    if NUMBER.sub("#", want).split() != NUMBER.sub("#", got).split():
        return False
    for a, b in zip(NUMBER.findall(want), NUMBER.findall(got), strict=True):
        digits = max(len(re.sub(r"e.*|\D", "", x).lstrip("0")) for x in (a, b))
        rounded = digits >= 3 and ("." in a or "." in b or "e" in a)
        if a != b and not (rounded and abs(float(a) - float(b)) <= 1.001 * max(unit(a), unit(b))):
            return False
    return True


class Checker(doctest.OutputChecker):
    """Takes outputs that differ in the last digit: it depends on the machine."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        return super().check_output(want, got, optionflags) or same(want.replace("<BLANKLINE>", ""), got)


def run(path: Path) -> doctest.TestResults:
    text = path.read_text(encoding="utf-8")
    test = doctest.DocTestParser().get_doctest(text, {"__name__": "__main__"}, path.name, str(path), 0)
    return doctest.DocTestRunner(Checker(), optionflags=OPTIONS).run(test)


@pytest.fixture(scope="module")
def page() -> str:
    return (DOCS / "measures.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def rows(page: str) -> list[list[str]]:
    return tables(page)


def test_every_measure_has_one_row_and_every_row_a_measure(rows):
    named = [re.fullmatch(r"`(\w+)`", r[0]).group(1) for r in rows]
    assert len(named) == len(set(named))
    assert set(named) == measures()
    assert {"bias_score", "aggregate", "simulate", "calibrate", "available_measures"} <= measures()


def test_the_page_of_studies_names_every_function_that_plans():
    """docs/studies.md; simulated answers and the detectable effect are on the page of measures."""
    text = (DOCS / "studies.md").read_text(encoding="utf-8")
    planning = functions("judgestats.design.") - measures()
    assert {"build", "collect", "ladder"} <= planning
    assert [name for name in sorted(planning) if f"design.{name}" not in text] == []


def test_the_tables_and_the_public_names_are_those_of_the_records(page):
    import measures_page

    again = "run python benchmarks/measures_page.py: docs/measures.md or __init__.pyi is older than the records"
    assert page == measures_page.page(page), again
    names = measures_page.STUB.read_text(encoding="utf-8")
    assert names == measures_page.stub(names), again


def test_no_cell_is_empty(rows):
    assert {len(r) for r in rows} == {len(HEAD)}
    assert all(cell for r in rows for cell in r)


def test_every_picture_exists_and_every_picture_is_named(rows, page):
    named = set(re.findall(r"`plot\.(\w+)`", page))
    assert named == set(js.plot.__all__), "name it in plot= of a measure's record, then benchmarks/measures_page.py"
    assert all("`plot." in r[-1] or r[-1] == "none" for r in rows)


def test_a_row_that_takes_counts_is_of_a_measure_that_says_so(rows):
    taking = {r[0].strip("`") for r in rows if "counts" in r[2]}
    assert set(PATTERNS) <= taking
    for name in taking - set(PATTERNS):
        assert re.search(r"\btally\b|Counts give", getattr(js, name).__doc__), name


def test_the_columns_of_a_result_are_told(page):
    from judgestats.results import COLUMNS

    assert all(f"`{c}`" in page for c in COLUMNS)


@pytest.mark.parametrize("name", ["js.available_measures", "js.tally", "js.preferences", "js.ratings"])
def test_the_first_paragraph_names_where_to_begin(page, name):
    assert name in page.partition("```")[0]
    assert hasattr(js, name.removeprefix("js."))


@pytest.mark.slow
@pytest.mark.parametrize("path", PAGES, ids=lambda p: p.relative_to(DOCS).as_posix())
def test_the_examples_run(path):
    done = run(path)
    assert done.failed == 0
    assert done.attempted > 0 or ">>>" not in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("want", "got", "equal"),
    [
        ("x 0.2325 1.79e-09", "x  0.2326 1.78e-09", True),
        ("x 0.2325", "x 0.2327", False),
        ("x 0.247", "x 0.2468", True),
        ("x 0.247", "x 0.2492", False),
        ("-1.398", "1.398", False),
        ("sd(x|item) 0.5184", "sd(x|judge) 0.5184", False),
        ("0.5", "0.6", False),
        ("180", "181", False),
        ("period[2] 1.211", "period[3] 1.211", False),
        ("1.27e-11", "1.27e-12", False),
        ("[0.1983, 2.0]", "[0.1984, 2.0]", True),
    ],
)
def test_only_the_last_digit_may_differ(want, got, equal):
    assert same(want, got) is equal


@pytest.mark.parametrize(("name", "least"), [("measures.md", 5), ("models.md", 20), ("for-r-users.md", 80)])
def test_the_pages_have_examples(name, least):
    text = (DOCS / name).read_text(encoding="utf-8")
    assert len(doctest.DocTestParser().get_examples(text)) >= least


def test_what_the_page_says_that_r_prints_is_what_r_printed():
    printed = {line.rstrip() for path in CONSOLE.glob("console_*.txt") for line in path.read_text("utf-8").splitlines()}
    page = (DOCS / "for-r-users.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```r\n(.*?)^```$", page, re.S | re.M)
    lines = [line.rstrip() for block in blocks for line in block.splitlines() if line.strip()]
    assert len(blocks) >= 15
    assert sum(line.startswith("> ") for line in lines) >= len(blocks)
    assert [line for line in lines if line not in printed] == []


@pytest.fixture(scope="module")
def models() -> list[list[str]]:
    """Rows of the table of functions in the page of models."""
    text = (DOCS / "models.md").read_text(encoding="utf-8")
    table = re.search(re.escape(f"| {' | '.join(MODELS_HEAD)} |") + r"\n((?:\|.*\n)+)", text)
    return [[c.strip() for c in re.split(r"(?<!\\)\|", row.strip("|"))] for row in table.group(1).splitlines()[1:]]


def test_every_public_function_of_models_has_one_row_and_every_row_a_function(models):
    named = [re.fullmatch(r"`(\w+)`", row[0]).group(1) for row in models]
    assert len(named) == len(set(named))
    assert set(named) == functions("judgestats.models.")
    assert {"fit", "anova", "strategy_effects", "tie_model"} <= set(named)
    assert {len(row) for row in models} == {len(MODELS_HEAD)}
    assert all(cell for row in models for cell in row)


def test_the_verbs_of_a_fit_are_told():
    page = (DOCS / "models.md").read_text(encoding="utf-8")
    verbs = [n for n, f in vars(js.models.Fit).items() if inspect.isfunction(f) and not n.startswith("_")]
    assert len(verbs) >= 13
    assert [v for v in verbs if f"`{v}()`" not in page] == []


def test_decisions_are_numbered_without_a_gap():
    numbers = [int(p.name[:4]) for p in PAGES if p.parent.name == "decisions"]
    assert numbers == list(range(1, len(numbers) + 1))
    for p in PAGES:
        if p.parent.name == "decisions":
            assert p.read_text(encoding="utf-8").startswith(f"# {int(p.name[:4])}. "), p.name


@pytest.mark.parametrize("path", [p for p in PAGES if p.parent.name == "decisions"], ids=lambda p: p.name[:4])
def test_a_decision_has_a_date_and_a_status(path):
    head = path.read_text(encoding="utf-8").split("\n")[2]
    assert re.match(r"Date: \d{4}-\d{2}-\d{2}\. Status: (accepted|superseded by \[\d+\])", head), head


def test_every_function_of_expressions_is_on_the_page_of_the_audit():
    from judgestats.published.expression_functions import EACH, OVER, SPECIAL, WITHIN

    page = (DOCS / "audit.md").read_text(encoding="utf-8").partition("## Expressions")[2].partition("\n## ")[0]
    named = set(re.findall(r"`(\w+)", page))
    known = {*EACH, *OVER, *WITHIN, *SPECIAL}
    assert known - named == set()
    assert {n for row in re.findall(r"^\| \w.*", page, re.M) for n in re.findall(r"`(\w+)", row)} == known


def test_every_rule_of_the_audit_has_one_row_with_what_it_needs_and_takes():
    from judgestats.published.rules import RULES

    page = (DOCS / "audit.md").read_text(encoding="utf-8")
    rows = {r[0].strip("`"): r for r in tables(page) if len(r) == 4}
    assert set(rows) - {"rule"} == set(RULES)
    for name, rule in RULES.items():
        needs, takes = (set(re.findall(r"`(\w+)`", rows[name][i])) for i in (2, 3))
        assert needs == set(rule.needs), name
        assert takes == set(rule.takes), name


def test_the_head_of_the_coverage_of_the_papers_counts_its_rows():
    """Every item of the list is a row, with one of four states; what is not a yes has its reason."""
    head, *papers, _ = re.split(r"(?m)^## ", (DOCS / "coverage_of_papers.md").read_text(encoding="utf-8"))
    states, rows, counts = ["yes", "partly", "no", "out of reach"], [], {}
    for paper in papers:
        name, _, table = paper.partition("\n")
        found = [
            [c.strip() for c in re.split(r"(?<!\\)\|", line)[1:-1]] for line in re.findall(r"(?m)^\| \d+ .*$", table)
        ]
        rows += found
        counts[name.strip()] = [sum(r[2] == state for r in found) for state in states]
    assert [int(r[0]) for r in rows] == list(range(1, 220))
    assert {len(r) for r in rows} == {5}
    assert [r[0] for r in rows if r[2] in ("partly", "no") and not r[4]] == []
    counts["**all**"] = [sum(column) for column in zip(*counts.values(), strict=True)]
    told = {n: [int(k) for k in k.split("|")] for n, k in re.findall(r"(?m)^\| (\S+) \| (\d.*\d) \|$", head)}
    assert told == counts


def test_what_the_coverage_of_the_papers_names_exists():
    """Every call in it has a function that takes its keywords; templates, files and tests are there."""
    templates = set(js.design.prompts()["name"])
    wrong = []
    for number, (_, where) in paper_items.rows().items():
        for name, _, keywords in paper_items.calls(where):
            wrong += [(number, name, k) for k in paper_items.takes(paper_items.named(name), keywords)]
        for name in re.findall(r"`(design\.\w+|plot\.\w+|Plan\.\w+)", where):
            wrong += [(number, name)] if paper_items.named(name) is None else []
        if where.startswith("template"):
            known = set(re.findall(r"`([a-z_]+)`", where.partition(";")[0]))
            wrong += [(number, n) for n in known - templates if not hasattr(js, n)]
        for name in re.findall(r"(?<![\w/])(?:data|tests)/[\w/]+(?:\.\w+)?", where):
            folder = DOCS.parent / name
            wrong += (
                [(number, name)] if not folder.exists() and not list(folder.parent.glob(f"{folder.name[:5]}*")) else []
            )
    assert wrong == []


def test_each_item_of_the_papers_in_scope_names_a_test_that_is_there():
    items = paper_items.rows()
    assert sorted(items) == list(range(1, 220))
    assert set(paper_items.tests()) == {number for number, (state, _) in items.items() if state != "out of reach"}
    gone = [
        (number, name)
        for number, (path, name) in paper_items.tests().items()
        if not path.exists() or f"\ndef {name}(" not in path.read_text(encoding="utf-8")
    ]
    assert gone == []


RUNS = [
    (number, *call)
    for number, (_, where) in paper_items.rows().items()
    for call in paper_items.calls(where)
    if (number, call[0]) in paper_items.ON
]


def test_the_calls_that_run_are_those_whose_arguments_the_coverage_gives():
    complete = {
        (number, name)
        for number, (_, where) in paper_items.rows().items()
        for name, arguments, keywords in paper_items.calls(where)
        if ... not in [*arguments, *keywords.values()]
        and not (name.startswith(("fit", "Plan")) or name == "design.export")
    }
    elsewhere = {(215, "pareto_front"), (75, "strategy_effects"), (218, "read")}  # tests/metrics, models, ingest
    assert complete - set(paper_items.ON) - elsewhere == set()
    assert set(paper_items.ON) <= complete


@pytest.mark.parametrize(
    ("number", "name", "arguments", "keywords"), RUNS, ids=lambda x: str(x) if isinstance(x, int | str) else ""
)
def test_what_the_coverage_of_the_papers_names_runs(number, name, arguments, keywords):
    on = [paper_items.data()[key] for key in paper_items.ON[number, name]]
    more = {"humans": ["Ann", "Bob"], "attribute": "format", "value": "markdown"} if name == "preference_gap" else {}
    if name == "bias_score" and "target" not in keywords and "attribute" not in keywords:
        more = {"attribute": "format", "value": "markdown"} if "format_first" in on[0] else {}
    if name == "agreement_shift":
        arguments = [("attributed", "anonymized"), *arguments]
    result = paper_items.named(name)(*on, *arguments, **keywords, **more)
    assert len(result) > 0
