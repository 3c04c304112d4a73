"""The registry of flags: every flag that the package writes has a record, and the page of flags says what the records say."""

from __future__ import annotations

import ast
import gzip
import json
import math
import pickle
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import flags_page
import numpy as np
import pandas as pd
import pytest
import same_results
from scipy import stats

from judgestats import flags, methods
from judgestats.estimate import clustered_share
from judgestats.flags import FLAGS, Flag, explain, flag_codes, in_part, join
from judgestats.metrics.measure_registry import measures
from judgestats.results import estimates
from quantities import MEASURES, TERMS, quantity

SOURCES = [p for p in sorted(Path("src/judgestats").rglob("*.py")) if p.name != "flags.py"]
#: Calls whose arguments are flags, and keywords that hold them.
TAKES_FLAGS, HOLDS_FLAGS = {"join"}, {"flag", "notes"}


def _written(tree: ast.Module) -> Iterator[ast.expr]:
    """Expressions that become flags."""
    types = {id(a) for n in ast.walk(tree) if isinstance(n, ast.Call) for a in n.args if _called(n) == "astype"}
    for node in (n for n in ast.walk(tree) if id(n) not in types):
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute) and node.func.attr in TAKES_FLAGS and _of_flags(node.func.value):
                yield from node.args
            yield from (k.value for k in node.keywords if k.arg in HOLDS_FLAGS)
        elif isinstance(node, ast.Dict):
            yield from (
                v
                for k, v in zip(node.keys, node.values, strict=True)
                if isinstance(k, ast.Constant) and k.value == "flag"
            )
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                key = target.slice if isinstance(target, ast.Subscript) else None
                if isinstance(key, ast.Constant) and key.value == "flag":
                    yield node.value


def _of_flags(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "flags"


def _called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else ""


def _literals(node: ast.expr, texts: set[str]) -> Iterator[str]:
    """Texts of our own in an expression; what a record fills in, a comparison or a key is none."""
    if isinstance(node, ast.JoinedStr):
        yield ast.unparse(node)
    elif isinstance(node, ast.Constant):
        if isinstance(node.value, str) and node.value.strip():
            yield node.value
    elif isinstance(node, ast.Name):
        if node.id in texts:
            yield node.id
    elif isinstance(node, ast.Call):
        if isinstance(node.func, ast.Name) or (isinstance(node.func, ast.Attribute) and _of_flags(node.func.value)):
            for part in node.args:
                yield from _literals(part, texts)
    elif isinstance(node, ast.IfExp):
        yield from _literals(node.body, texts)
        yield from _literals(node.orelse, texts)
    elif isinstance(
        node, ast.BoolOp | ast.List | ast.Tuple | ast.Starred | ast.BinOp | ast.GeneratorExp | ast.ListComp
    ):
        for part in (c for c in ast.iter_child_nodes(node) if isinstance(c, ast.expr)):
            yield from _literals(part, texts)


def test_no_flag_is_written_beside_the_registry() -> None:
    found = []
    for path in SOURCES:
        tree = ast.parse(path.read_text())
        own = {
            t.id
            for n in tree.body
            if isinstance(n, ast.Assign) and isinstance(n.value, ast.Constant | ast.JoinedStr)
            for t in n.targets
            if isinstance(t, ast.Name)
        }
        found += [f"{path}:{e.lineno}: {text}" for e in _written(tree) for text in _literals(e, own)]
    assert not found


def test_codes_are_unique_and_named_as_their_constants() -> None:
    named = {name: flag for name, flag in vars(flags).items() if isinstance(flag, Flag)}
    assert {name.lower() for name in named} == {flag.code for flag in named.values()} == set(FLAGS)
    assert len({str(flag) for flag in named.values()}) == len(named)


@pytest.mark.parametrize("flag", FLAGS.values(), ids=lambda f: f.code)
def test_every_record_explains_itself_and_is_found_from_its_cell(flag: Flag) -> None:
    assert flag.explanation.endswith(".")
    assert len(flag.explanation) > 20
    assert flag.severity in {"note", "caution", "invalid"}
    assert "; " not in flag
    fields = {name: "some thing" for name in re.findall(r"{(\w+)}", flag) if name != "n"}
    for n in (1, 3, 1234, 2.5):
        assert flag_codes(flag.of(n, **fields)) == (flag.code,)
        assert flag_codes(in_part("label", flag.of(n, **fields))) == (flag.code,)


def test_no_flag_is_defined_twice() -> None:
    body = ast.parse(Path("src/judgestats/flags.py").read_text()).body
    names = [t.id for n in body if isinstance(n, ast.Assign) for t in n.targets if isinstance(t, ast.Name)]
    assert [name for name, times in Counter(names).items() if times > 1] == []


def test_the_kind_of_every_measure_is_known() -> None:
    assert set(measures()) <= set(MEASURES)
    assert set(TERMS) <= set(MEASURES)


def test_a_flag_stands_beside_numbers_of_which_it_may_be_said() -> None:
    wrong = set()
    for name, table in json.loads(gzip.decompress(same_results.STORED.read_bytes())).items():
        measure = name.partition(": ")[2] or name.partition(" | ")[0].partition(",")[0]
        if measure in MEASURES and {"term", "flag"} <= set(table["columns"]):
            term, cell = (table["columns"].index(c) for c in ("term", "flag"))
            for row in table["rows"]:
                kind = quantity(measure, row[term])
                said = (FLAGS[code] for code in flag_codes(row[cell]))
                wrong |= {(f.code, measure, row[term], kind) for f in said if f.said_of and kind not in f.said_of}
    assert not wrong


def test_a_flag_is_a_plain_text_in_a_result() -> None:
    row = {"term": "t", "method": methods.WILSON, "flag": join(flags.NO_DATA)}
    assert {type(cell) for cell in estimates([row]).loc[0, ["method", "flag"]]} == {str}
    assert type(pickle.loads(pickle.dumps(flags.NO_DATA))) is str
    assert join(flags.NO_DATA, None, "", "no data; n < 30") == "no data; n < 30"
    assert flags.NOT_FITTED.of(reason="a; b") == "not fitted: a, b"


def test_explain_takes_a_cell_a_column_and_a_result() -> None:
    table = pd.DataFrame({"flag": ["n < 30; ceiling", "", "n < 30", "of no record"]})
    for given in (table, table["flag"], "n < 30; ceiling; of no record"):
        told = explain(given)
        assert told["flag"].tolist() == ["n < 30", "ceiling", "of no record"]
        assert told["code"].tolist() == ["small_n", "ceiling", ""]
    assert explain("").empty
    assert flag_codes("") == ()


def test_the_page_of_flags_is_fresh() -> None:
    """docs/flags.md is written by benchmarks/flags_page.py."""
    assert Path("docs/flags.md").read_text(encoding="utf-8") == flags_page.page()


def test_cells_of_flags_are_joined_without_repeats():
    assert flags.join("n < 30", None, "", "ceiling; n < 30") == "n < 30; ceiling"
    assert flags.RATED_ONCE.of(0) == ""


def test_unequal_clusters_and_few_drawn_ones_are_flagged() -> None:
    sizes = np.array([100, 100, *[4] * 28])
    assert flags.few_clusters(sizes) == flags.few_clusters(sizes, resampled=True) == flags.UNEQUAL_CLUSTERS.of(5)
    assert flags.few_clusters(np.full(20, 7), resampled=True) == flags.FEW_DRAWN
    assert flags.few_clusters(sizes[2:11]) == flags.FEW_CLUSTERS
    assert flags.few_clusters(sizes[:1], alike=np.array([12.0])) == ""
    assert flags.few_clusters(np.array([5, 0, 0])) == flags.ONE_UNIT
    assert flags.few_clusters(np.zeros(3)) == flags.ONE_UNIT


def test_sizes_that_carry_information_are_flagged_by_the_mean_of_the_clusters():
    """The t of the difference of the two means, with deviations from the pooled share; no cluster counts twice."""
    rng = np.random.default_rng(2)
    n = np.arange(1.0, 25)
    k = rng.binomial(n.astype(int), np.linspace(0.8, 0.2, 24)).astype(float)
    apart = n / n.sum() - 1 / 24
    t = abs(apart @ (k / n)) / math.sqrt(apart**2 @ (k / n - k.sum() / n.sum()) ** 2 * 24 / 23)
    assert t > stats.t.ppf(0.975, 23)
    flag = flags.informative_sizes(k, n, "item")
    assert flag == f"large and small clusters differ: mean over items {(k / n).mean():.3f}"
    assert clustered_share(k, n, "item", 0.95).flag == flag
    assert flags.informative_sizes(n - k, n, "item") == flag.replace(
        f"{(k / n).mean():.3f}", f"{1 - (k / n).mean():.3f}"
    )
    twice = np.repeat([1.0, 2.0], 12)
    k2, n2 = np.repeat(k, twice.astype(int)), np.repeat(n, twice.astype(int))
    assert flags.informative_sizes(k, n, "item", twice) == flags.informative_sizes(k2, n2, "item")
    assert flags.informative_sizes(np.round(n / 2), n, "item") == ""
    assert clustered_share(k[:9], n[:9], "item", 0.95).flag == flags.FEW_CLUSTERS
    assert flags.informative_sizes(rng.binomial(5, 0.5, 40).astype(float), np.full(40, 5.0), "item") == ""


def test_a_few_large_errors_are_flagged_by_what_they_are_worth():
    """60 errors of one size are worth 60; with three ten times as large, (57 + 300)²/(57 + 30000)."""
    errors = np.where(np.arange(60) < 3, 10.0, 1.0)
    assert flags.few_large_errors(errors) == flags.FEW_LARGE_ERRORS.of(round(357**2 / 30057))
    assert flags.few_large_errors(-errors[:4], np.array([1.0, 1, 1, 57])) == flags.few_large_errors(errors)
    assert flags.few_large_errors(np.ones(60)) == flags.few_large_errors(np.zeros(60)) == ""
    assert flags.few_large_errors(np.ones(14)) == ""


def test_a_class_in_few_clusters_is_flagged():
    """Clusters with a class are counted, not calls; a class that does not occur is none."""
    few, many = np.zeros((40, 3)), np.ones((40, 3))
    few[:9, 0], few[:, 1] = 5.0, 2.0
    assert flags.few_of_class(few) == flags.FEW_RARE_CLUSTERS
    assert flags.few_of_class(few, 2.0) == ""
    assert flags.few_of_class(many) == ""
