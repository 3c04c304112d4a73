"""The items of docs/coverage_of_papers.md: what each names, as calls, and data on which a call of each can run."""

from __future__ import annotations

import ast
import functools
import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

import judgestats as js
from judgestats.design import Judge, collect, simulate_replies

PAGE = Path(__file__).parents[1] / "docs" / "coverage_of_papers.md"
#: A call in a cell: a dotted name with arguments in brackets.
_CALL = re.compile(r"(?<![\w.])((?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*)\(((?:[^()]|\([^()]*\))*)\)")
#: A keyword that is named without a value.
_BARE = re.compile(r"(\w+)=(?=\s*[,)]|$)")


def rows() -> dict[int, tuple[str, str]]:
    """Item -> its state and where it is."""
    lines = re.findall(
        r"(?m)^\| (\d+) \| .* \| (yes|partly|no|out of reach) \| (.*) \| .* \|$", PAGE.read_text("utf-8")
    )
    return {int(number): (state, where.replace(r"\|", "|")) for number, state, where in lines}


def tests() -> dict[int, tuple[Path, str]]:
    """Item -> file and name of the test that the page names."""
    lines = re.findall(r"(?m)^\| (\d+) \| `([\w/]+\.py)::(test_\w+)` \|$", PAGE.read_text("utf-8"))
    return {int(number): (Path(__file__).parent / path, name) for number, path, name in lines}


def named(name: str) -> Any:
    """A function, class or method of the package by the name that the page gives it; None if there is none."""
    for room in (js, js.design, js.plot, js.models):
        thing: Any = room
        for part in name.split("."):
            thing = getattr(thing, part, None)
        if thing is not None:
            return thing
    method = getattr(js.design.Plan, name.removeprefix("Plan."), None)
    return method if name.startswith("Plan.") else None


def calls_in(where: str) -> list[tuple[str, list[Any], dict[str, Any]]]:
    """The calls that a cell names: function, arguments, keywords; Ellipsis for a value that it leaves open."""
    result = []
    for name, inside in _CALL.findall(where):
        if not callable(named(name)):
            continue
        tree = ast.parse("f(" + _BARE.sub(r"\1=...", inside) + ")", mode="eval").body
        assert isinstance(tree, ast.Call)
        values = [*tree.args, *(k.value for k in tree.keywords)]
        literal = [_literal(v) for v in values]
        keywords = [str(k.arg) for k in tree.keywords]
        result.append((name, literal[: len(tree.args)], dict(zip(keywords, literal[len(tree.args) :], strict=True))))
    return result


def _literal(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except ValueError:
        return ...


def takes(function: Callable[..., Any], keywords: dict[str, Any]) -> list[str]:
    """Keywords that a function does not take."""
    parameters = inspect.signature(function).parameters
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return []
    return [k for k in keywords if k not in parameters]


@functools.cache
def data() -> dict[str, Any]:
    """Collected answers of simulated judges to small studies."""

    def answered(plan: Any, judges: Any) -> pd.DataFrame:
        return collect(plan, simulate_replies(plan, judges).to_dict("records"))

    sheet = answered(js.design.dark_current("m", strict=True), Judge("m", tie_criterion=1.0, sensitivity=1.5))
    gold = pd.Series(["u", "v", "tie"] * 12)
    pairs = pd.DataFrame({"item": gold.index.astype(str), "first": "u", "second": "v", "gold": gold})
    pairs = pairs.assign(task_text="Say hello.", first_text="Hello.", second_text="Good day.")
    judges = [Judge(j, tie_criterion=0.6) for j in ("g", "h", "k")]
    raw = answered(js.design.strategies(["g", "h", "k"], pairs), judges)
    merged = js.design.strategy_verdicts(raw)
    pair_texts = js.design.questions()
    written = pd.DataFrame(
        [(q.item, q.topic, role, j, q.task_text, f"**{j}** writes {n} words. " * n, "ok")
         for q in pair_texts.itertuples() for role, j, n in (("base", "w", 4), ("markdown", "w", 5), ("expanded", "w", 9),
                                                            ("complete", "w", 12), ("answer", "g", 6), ("answer", "h", 7),
                                                            ("answer", "k", 8))
         if (role == "complete") == q.long],
        columns=["item", "topic", "role", "judge", "task_text", "text", "status"],
    )  # fmt: skip
    controlled = js.design.controlled_pairs(written, extension=True)
    style = answered(js.design.controlled("g", controlled), Judge("g", style={"format": {"markdown": 1.0}}))
    texts = pd.DataFrame([(f"i{i}", s, t) for i in range(12) for s, t in (("g", "a"), ("h", "a"), ("x", "b"), ("y", "b"))],
                         columns=["item", "system", "tier"])  # fmt: skip
    texts = texts.assign(task_text="Explain.", response_text="Text " + texts["item"], domain=texts["tier"])
    raters = [Judge(j, scale=(0, 10), item_difficulty=1.0) for j in ("g", "h", "k")]
    scored = answered(js.design.rubric(["g", "h", "k"], texts, replicates=2), raters)
    overall = js.composite(scored)
    blind = scored["condition"] == "anonymized"
    probes = answered(
        js.design.cues("g", pairs.drop(columns="gold"), probes=["blind", "truth", "flip"], schemes=["Baseline"], replicates=2),
        Judge("g", label_susceptibility=1.0, tie_criterion=0.8),
    )  # fmt: skip
    people = style[style["bias"] == "style"].assign(judge="Ann")
    strategies = {name: raw[raw["strategy"] == name].drop(columns="strategy") for name in ("B0", "S1", "S2")}
    ladder = sheet[sheet["prompt"] == "pairwise"]
    return {
        **strategies,
        **{kind: style[style["bias"] == kind] for kind in ("position", "style")},
        "longer": merged.assign(length_first=30, length_second=20),
        "style pairs": style[style["bias"].isin(["style", "style_ba"])],
        "both": pd.concat([style[style["bias"] == "style"], people, people.assign(judge="Bob")]),
        "compared": js.compare_strategies(merged, baseline="B0"),
        "sheet": ladder, "ladder": ladder, "stronger": ladder.assign(judge="n"), "merged": merged, "raw": raw,
        "written": written, "judge": "g", "texts": texts, "restyled": texts.assign(restyled_text="Styled."),
        "scored": scored[blind], "overall": overall, "one": overall[overall["condition"] == "anonymized"], "probes": probes,
        "labelled": probes.assign(probe=probes["probe"].replace({"truth": "labels"})),
    }  # fmt: skip


#: Item and function -> data that a call of it is run on, in the order of its arguments.
ON: dict[tuple[int, str], tuple[str, ...]] = {
    (8, "score_matrix"): ("scored",),
    (15, "rank_correlation"): ("overall",),
    (22, "blinding_effect"): ("overall",),
    (43, "aggregate"): ("S1",),
    (44, "aggregate"): ("S2",),
    (46, "aggregate"): ("B0",),
    **{(n, "design.controlled_pairs"): ("written",) for n in (52, 53)},
    (55, "gold_agreement"): ("merged",),
    (59, "bias_score"): ("position",),
    (60, "bias_score"): ("longer",),
    **{(n, "bias_score"): ("style pairs",) for n in (61, 79)},
    (68, "answer_rates"): ("merged",),
    **{(n, "compare_strategies"): ("merged",) for n in (69, 70)},
    (82, "preference_gap"): ("both",),
    (86, "recommend"): ("compared",),
    (108, "delta0"): ("sheet",),
    (121, "detection_threshold"): ("ladder",),
    (131, "compare_datasheets"): ("ladder", "stronger"),
    **{(n, "correlation"): ("scored",) for n in (139, 140, 142, 154, 165)},
    **{(151, name): ("scored",) for name in ("agreement_levels", "icc")},
    (154, "disagreement"): ("one",),
    (169, "agreement_shift"): ("overall",),
    (170, "aggregate"): ("overall",),
    (209, "anchoring"): ("labelled",),
    (214, "anchoring"): ("probes",),
    (4, "design.rubric"): ("judge", "texts"),
    (7, "design.rubric"): ("judge", "texts"),
    (38, "design.rubric"): ("judge", "restyled"),
    (115, "design.dark_current"): ("judge",),
    (219, "check"): ("raw",),
}
