"""The pages of docs: every measure and model has a row, every name in it exists, the examples run, R's output is R's."""

import doctest
import inspect
import re
from pathlib import Path

import pytest
import site_reference

import judgestats as js
import paper_items
from judgestats.counting.patterns import PATTERNS

DOCS = Path(__file__).parents[1] / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
SOURCE = DOCS.parent / "src" / "judgestats"
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
    assert {f.name for f in measures_page.GROUPS} <= {*js.__all__}
    for folder in measures_page.GROUPS:
        assert (folder / "__init__.pyi").read_text(encoding="utf-8") == measures_page.group_stub(folder), again


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


#: Number -> pages in docs/decisions that have it.
DECISIONS: dict[int, list[Path]] = {}
for _path in PAGES:
    if _path.parent.name == "decisions" and _path.name != "README.md":
        DECISIONS.setdefault(int(_path.name[:4]), []).append(_path)
#: A decision by its number, in prose or as a link: "decision 29", "[decision\n55](...)", "docs/decisions/0047".
DECISION = re.compile(r"(?i)\bdecision[\s#]+0*(\d+)|decisions/(\d{4})|\]\((\d{4})-[\w-]+\.md\)")


def test_no_two_decisions_have_one_number():
    assert [[p.name for p in paths] for paths in DECISIONS.values() if len(paths) > 1] == []
    for number, (path,) in DECISIONS.items():
        assert path.read_text(encoding="utf-8").startswith(f"# {number}. "), path.name


def test_the_index_of_decisions_has_each_once_with_its_title():
    index = (DOCS / "decisions" / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"(?m)^- \[(\d+)\]\((\S+)\) (.+)$", index)
    titles = {n: path.read_text(encoding="utf-8").partition("\n")[0] for n, (path,) in DECISIONS.items()}
    rows = sorted((int(number), name, f"# {number}. {title}") for number, name, title in listed)
    again = "docs/decisions/README.md lists each page once, under its topic: - [number](file) title"
    assert rows == [(n, DECISIONS[n][0].name, titles[n]) for n in sorted(DECISIONS)], again


def test_no_text_refers_to_a_decision_that_is_not_there():
    root = DOCS.parent
    texts = [*PAGES, *root.glob("*.md"), *root.glob("*.toml"), *(root / "tests" / "reference").glob("*")]
    texts += [p for folder in ("src", "tests", "benchmarks", "docs/site") for p in (root / folder).rglob("*.py")]
    dead = []
    for path in {p for p in texts if p.is_file() and p != Path(__file__)}:
        for match in DECISION.finditer(path.read_bytes().decode("utf-8", "replace")):
            number = int(next(filter(None, match.groups())))
            dead += [] if number in DECISIONS else [(path.relative_to(root).as_posix(), number)]
    assert dead == []
    assert [int(m.group(1)) for m in DECISION.finditer("see decision\n29")] == [29]


@pytest.mark.parametrize("path", [p for paths in DECISIONS.values() for p in paths], ids=lambda p: p.name[:4])
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
        for name, _, keywords in paper_items.calls_in(where):
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
    for call in paper_items.calls_in(where)
    if (number, call[0]) in paper_items.ON
]


def test_the_calls_that_run_are_those_whose_arguments_the_coverage_gives():
    complete = {
        (number, name)
        for number, (_, where) in paper_items.rows().items()
        for name, arguments, keywords in paper_items.calls_in(where)
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


NAMED_FILES = [
    (page, name)
    for page in ("ARCHITECTURE.md", "CONTRIBUTING.md")
    for name in sorted(
        set(re.findall(r"`([\w.]+/[\w./*<>]*|\w+\.py)`", (DOCS.parent / page).read_text(encoding="utf-8")))
    )
    if not name.endswith(">.py")
]


@pytest.mark.parametrize(("page", "name"), NAMED_FILES)
def test_a_file_that_the_guides_name_is_there(page, name):
    """From the root or from src/judgestats; a module of a package may be named without its ending."""
    parts = re.sub(r"<\w+>", "*", name).rstrip("/")
    places = [
        found for folder in (DOCS.parent, SOURCE) for ending in ("", ".py") for found in folder.glob(parts + ending)
    ]
    assert places, f"{page} names {name}"


def test_a_file_that_a_page_names_is_there():
    """Of tests, benchmarks, notebooks and sources; a test may be named without its folder."""
    root = DOCS.parent
    name = re.compile(r"`((?:tests|benchmarks|notebooks|src|docs|\.ci)/[\w./]+\.\w+|test_\w+\.py)`")
    pages = [*PAGES, *root.glob("*.md"), root / "notebooks" / "README.md"]
    named = {(page.name, found) for page in pages for found in name.findall(page.read_text(encoding="utf-8"))}
    assert len(named) > 40
    assert sorted((p, n) for p, n in named if not (root / n).exists() and not list(root.glob(f"tests/**/{n}"))) == []


OF_FILE = re.compile(r"`(\w+)`(?: and `(\w+)`)? (?:of|in) `([\w/]+\.py)`")


def test_a_name_that_the_guide_places_in_a_file_stands_there():
    """`NAME` of `path.py`: the first word of the table of jobs that a reader searches for."""
    text = (DOCS.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    placed = [(name, path) for *names, path in OF_FILE.findall(text) for name in names if name]
    assert len(placed) >= 15
    root = DOCS.parent
    gone = [
        (name, path)
        for name, path in placed
        if not re.search(
            rf"\b{name}\b", next(p for p in (root / path, SOURCE / path) if p.is_file()).read_text("utf-8")
        )
    ]
    assert gone == []


CLUSTER = (
    r"Column that (calls|pairs|verdicts|items|things|units|subjects|responses) share, by which intervals are clustered\. "
    r'``"auto"`` detects it \(``(item|task)``, say\) and names it in ``method``\. '
    r"False treats all \1 as independent, with a flag where they are not\."
)
#: What a public docstring says of a parameter that many functions have; further sentences may follow.
WORDING = {
    "by": r"Further grouping columns\.",
    "cluster": CLUSTER,
    "conf_level": r"Coverage of the intervals\.",
    "seed": r"(Number of bootstrap resamples, and seed of the draws\.|Seed of [a-z])",
    "n_resamples": r"Number of bootstrap resamples, and seed of the draws\.",
}
#: As another function has it.
AS_THERE = re.compile(r"(``how='dawid_skene'``: a|A)s (in|for) :(func|meth):`")
#: Functions in which the parameter is something else.
OTHERWISE = {
    "by": "aggregate composite dawid_skene gains_and_costs specifications weighted_index models.Fit.margins models.Fit.means "
    "models.Fit.contrasts models.Fit.predictive models.Fit.scaled_residuals models.position_bias_model models.tie_model hierarchical.bias "
    "hierarchical.psychometric design.rubric plot.pareto",
    "cluster": "alternative_annotator_test calibrate compare_datasheets compare_versions consensus_deviation "
    "corrected_difference correlation detection_threshold fit judge_against_people ordering_accuracy "
    "quality_agreement rank_correlation rank_systems report run_sd score_matrix tally",
    "conf_level": "label_plan design.power",
    "seed": "compare_versions decision_study design.answer_probabilities",
    "n_resamples": "compare_versions decision_study models.Fit.confint",
}


def parameters(text: str) -> list[tuple[list[str], str]]:
    """Names and text of each entry in the section Parameters of a docstring."""
    section = re.search(r"\nParameters\n-+\n(.*?)(?=\n\n[A-Z][\w ]+\n-+\n|\Z)", text, re.S)
    entries = re.split(r"\n+(?=\S)", section.group(1)) if section else []
    parts = [entry.partition("\n")[::2] for entry in entries]
    return [(head.partition(" :")[0].split(", "), " ".join(body.split())) for head, body in parts]


def documented() -> dict[str, object]:
    """Public functions, classes and their methods, by name."""
    things = {name.removeprefix("judgestats."): thing for name, thing in site_reference.public().items()}
    methods = {
        f"{name}.{n}": f
        for name, thing in things.items()
        if inspect.isclass(thing)
        for n, f in vars(thing).items()
        if inspect.isfunction(f) and not n.startswith("_")
    }
    return things | methods


@pytest.mark.parametrize("parameter", WORDING)
def test_a_parameter_of_many_functions_has_one_wording(parameter):
    """``by``, ``cluster`` ...: the one wording, a reference to another function, or a function that is listed."""
    texts = {
        name: text
        for name, thing in documented().items()
        for names, text in parameters(inspect.getdoc(thing) or "")
        if parameter in names
    }
    assert len(texts) >= 30
    others = {n for n, t in texts.items() if not (re.match(WORDING[parameter], t) or AS_THERE.match(t))}
    assert others == set(OTHERWISE[parameter].split()), "use the wording of WORDING, or list the function in OTHERWISE"
