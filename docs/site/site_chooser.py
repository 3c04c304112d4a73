"""The page "Which function for my data?", from the records of the measures."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from site_reference import record, top_level

from judgestats.metrics.measure_registry import HAVE, SECTIONS, Measure

HEAD = """# Which function for my data?

Tick what you have, and the table keeps the functions that need no more. On a data set of your own,
[`js.available_measures(data)`](reference/available_measures.rst) tries each measure and says what is missing.
Written from the [records of the measures](measures.md); what is no measure (models, plans, audits) is
[below](#other-questions).
"""
FRAMES = {
    "preferences": "pairs: one answer preferred to another",
    "ratings": "scores, or right and wrong",
    "counts": "counts, or a printed table",
    "marks": "marks of errors in texts",
}
#: Section -> frames, what is had, question, function and assumption of what is no measure and answers its question.
MODELS = {
    "bias": (
        ["preferences", "ratings"],
        "; judges that are among the candidates or systems",
        "Does it prefer its own answers, given their quality?",
        "models.self_preference",
        "Quality is what all judges see in common.",
    )
}
OTHERS = """
## Other questions

| what you have | what you want to know | what to call | what it assumes |
|---|---|---|---|
| a file of unknown shape | what it is, and what can be measured | [`js.check`](reference/check.rst), `judgestats check FILE` | nothing |
| any file of verdicts | everything about each judge, on one page | [`js.report`](reference/report.rst), [`js.datasheet`](reference/datasheet.rst) | what each of its measures assumes |
| replies as text | the verdicts in them | [`js.parse_verdicts`](reference/parse_verdicts.rst) | one answer per reply; `sentences=True` reads free sentences, in English |
| verdicts and a file of people's labels | both in one table | [`js.join_labels`](reference/join_labels.rst) | columns that match |
| several calls per pair, several criteria | one verdict, one score | [`js.aggregate`](reference/aggregate.rst), [`js.composite`](reference/composite.rst) | the rule is stated |
| accuracy, scores or choices by item and condition | effects beyond the items and judges at hand | [`js.fit`](reference/fit.rst), [models](models.md) | random effects are normal; [few levels are flagged](coverage.md#mixed-models) |
| the same, with few data or prior knowledge | posterior intervals, probabilities | [`js.hierarchical`](reference/module-hierarchical.md) | the priors, which are stated and checked |
| somebody's printed table | which numbers follow from the others | [`js.audit`](reference/audit.rst), [audit](audit.md) | the rules that you write |
| no verdicts yet | what to ask, how often, with what power | [`js.design`](reference/module-design.md), [planning](studies.md) | judges answer as simulated |
"""


def frames_of(m: Measure) -> list[str]:
    """Kinds of data that a measure takes."""
    words = m.input.replace(",", " ").split()
    signs = {"preferences": {"P"}, "ratings": {"R"}, "counts": {"counts", "table"}, "marks": {"marks"}}
    return [kind for kind, sign in signs.items() if sign & {*words}]


def page() -> str:
    """The page."""
    boxes = "".join(
        f'<label><input type="checkbox" value="{escape(key)}"> {escape(text)}</label>'
        for key, text in (FRAMES | HAVE).items()
    )
    parts = [
        HEAD,
        "```{raw} html",
        f'<fieldset id="have"><legend>I have</legend>{boxes}</fieldset>',
        '<p id="kept" role="status"></p>',
        "```",
        "",
    ]
    sections = {title: section for section, title in SECTIONS.items()}
    groups = {title: names for title, names in top_level().items() if title in sections}
    for title, names in groups.items():
        rows = []
        for name in names:
            m = record(name)
            assert m is not None, name
            had = "".join(f"; {HAVE[h]}" for h in m.have)
            rows.append(_row(frames_of(m), m.have, had, m.question, name, m.assumes))
        frames, had, *rest = MODELS.get(sections[title], ([], ""))
        rows += [_row(frames, (), had, *rest)] if rest else []
        head = (
            "<tr><th>what you have</th><th>what you want to know</th><th>what to call</th><th>what it assumes</th></tr>"
        )
        table = f'<div class="pst-scrollable-table-container"><table class="table chooser"><thead>{head}</thead><tbody>{"".join(rows)}</tbody></table></div>'
        parts += [f"## {title}", "", "```{raw} html", table, "```", ""]
    return "\n".join(parts) + OTHERS + '\n```{raw} html\n<script src="_static/chooser.js"></script>\n```\n'


def _row(frames: list[str], have: Sequence[str], had: str, question: str, name: str, assumes: str) -> str:
    """A row of the table of a section."""
    data = " or ".join(FRAMES[f].partition(":")[0] for f in frames) + had
    return (
        f'<tr data-frames="{escape("|".join(frames))}" data-have="{escape("|".join(have))}"><td>{escape(data)}</td>'
        f"<td>{escape(question)}</td>"
        f'<td><a href="reference/{name}.html"><code>js.{name}</code></a></td><td>{_prose(assumes)}</td></tr>'
    )


def _prose(text: str) -> str:
    """Text with spans of code, as HTML."""
    pieces = escape(text).split("`")
    return "".join(f"<code>{p}</code>" if i % 2 else p for i, p in enumerate(pieces))
