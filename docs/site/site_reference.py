"""Reference pages: one for each public name, from its docstring and the record of its measure; one for each command."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import judgestats as js
from judgestats import results
from judgestats.errors import JudgestatsError
from judgestats.metrics.measure_registry import SECTIONS, Measure, measures

#: Public module -> title of its page, and what it holds.
MODULES = {
    "judgestats": "Reading, measuring, reporting",
    "judgestats.models": "Models",
    "judgestats.hierarchical": "Hierarchical models",
    "judgestats.design": "Planning and simulating",
    "judgestats.published": "Published tables",
    "judgestats.plot": "Plots",
    "judgestats.results": "Flags of a result",
    "judgestats.errors": "Errors",
}
#: Groups of the functions of the top level that are no measures.
GROUPS = {
    "Read and shape": [
        "read", "formats", "detect_format", "suggest_mapping", "parse_verdicts", "join_labels", "preferences",
        "ratings", "check", "describe", "tally", "aggregate", "composite", "compare_scores",
    ],
    "All measures at once": ["available_measures", "datasheet", "compare_datasheets", "profile", "report"],
    "Decide and compare": ["pareto_front", "recommend"],
    "Models and audits": ["fit", "anova", "audit"],
}  # fmt: skip
#: The kinds of intervals that have no sampling distribution behind them.
NO_INTERVAL = ("none",)
INTERVALS = " (:doc:`how intervals are made </intervals>`, :doc:`how often they cover </coverage>`)"


def module(name: str) -> Any:
    """A public module."""
    return {"judgestats": js, "judgestats.results": results}.get(name) or getattr(js, name.rpartition(".")[2])


def names_of(name: str) -> list[str]:
    """Public names of a module, each in one module only."""
    room = module(name)
    if name == "judgestats":
        return [
            n
            for n in js.__all__
            if n != "__version__" and not inspect.ismodule(getattr(js, n)) and n != "JudgestatsError"
        ]
    if name == "judgestats.results":
        return ["explain", "flag_codes"]
    if name == "judgestats.errors":
        return sorted(n for n, v in vars(room).items() if inspect.isclass(v) and issubclass(v, JudgestatsError))
    return [n for n in sorted(room.__all__) if not hasattr(js, n) or getattr(js, n) is not getattr(room, n)]


def public() -> dict[str, Any]:
    """Full public name -> object."""
    return {f"{m}.{n}": getattr(module(m), n) for m in MODULES for n in names_of(m)}


def summary(thing: Any) -> str:
    """First sentence of a docstring, as Markdown."""
    if not callable(thing):
        return "A table of the package's own strategies."
    text = " ".join((inspect.getdoc(thing) or "").partition("\n\n")[0].split())
    text = re.sub(r":\w+:`~?(?:judgestats\.)?([^`]+)`", r"`\1`", text).replace("``", "`")
    return text.replace("|", r"\|").replace("<", r"\<")


def record(name: str) -> Measure | None:
    """Record of a measure, by the public name of its function."""
    found = measures().get(name)
    return found if found and found.function.__name__ == name else None


def facts(m: Measure) -> str:
    """What the record of a measure says, as reStructuredText."""
    plots = [p for p in re.findall(r"\w+", m.plot) if p in js.plot.__all__]
    rows = [
        ("Question", m.question),
        ("Data", m.input.replace("P", "preferences", 1).replace("R", "ratings", 1)),
        ("Interval", m.interval + ("" if m.interval in NO_INTERVAL else INTERVALS)),
        ("Source", m.source),
    ]
    lines = [f":{key}: {value}" for key, value in rows if value]
    if plots:
        lines.append(":Picture: " + ", ".join(f":ref:`plot.{p} <gallery-{p.replace('_', '-')}>`" for p in plots))
    return "\n".join(lines)


def page(full: str, thing: Any) -> str:
    """Page of one name."""
    inside, _, name = full.rpartition(".")
    title = full.removeprefix("judgestats.")
    parts = [title, "=" * len(title), "", f".. currentmodule:: {inside}", ""]
    m = record(name) if inside == "judgestats" else None
    if m is not None:
        parts += [facts(m), ""]
    if inside == "judgestats.plot":
        parts += [f":Picture: :ref:`in the gallery <gallery-{name.replace('_', '-')}>`", ""]
    if inspect.isclass(thing):
        parts += [f".. autoclass:: {full}", "   :members:"]
        if issubclass(thing, Exception):
            parts += ["   :show-inheritance:"]
    elif callable(thing):
        parts += [f".. autofunction:: {full}"]
    else:
        parts += [f".. py:data:: {full}", "", f"   {', '.join(map(str, thing))}: see :doc:`/studies`."]
    return "\n".join(parts) + "\n"


def table(inside: str, names: list[str]) -> list[str]:
    """Names with their summaries, linked."""
    begin = folder(inside)
    rows = [f"| [`{n}`]({begin}{n}.rst) | {summary(getattr(module(inside), n))} |" for n in names]
    return ["| name | what it does |", "|---|---|", *rows, ""]


def page_of(inside: str) -> str:
    """Name of the page of a module."""
    return "measures" if inside == "judgestats" else f"module-{inside.rpartition('.')[2]}"


def folder(inside: str) -> str:
    """Beginning of the names of the pages of a module's names."""
    return "" if inside == "judgestats" else inside.partition(".")[2] + "."


def top_level() -> dict[str, list[str]]:
    """Groups of the names of the top level, measures by the section of their record."""
    names = names_of("judgestats")
    groups = {title: list(known) for title, known in GROUPS.items()}
    for key, title in SECTIONS.items():
        groups[title] = [n for n in names if (m := record(n)) and m.section == key]
    shown = {n for group in groups.values() for n in group}
    if rest := [n for n in names if n not in shown]:
        groups["More"] = rest
    return groups


def overview(inside: str) -> str:
    """Page of a module."""
    lines = [f"# {MODULES[inside]}", ""]
    if inside == "judgestats":
        lines += ["`import judgestats as js`: what `js.` offers, by the question it answers.", ""]
        for title, names in top_level().items():
            lines += [f"## {title}", "", *table(inside, names)]
        listed = [n for names in top_level().values() for n in names]
    else:
        called = inside.replace("judgestats", "js") if inside != "judgestats.results" else inside
        lines += [f"In `{called}`.", "", *table(inside, names_of(inside))]
        listed = names_of(inside)
    begin = folder(inside)
    lines += ["```{toctree}", ":hidden:", "", *(f"{begin}{n}" for n in listed), "```"]
    return "\n".join(lines) + "\n"


def commands() -> str:
    """Page of the command line, from the commands themselves."""
    import typer

    from judgestats.cli import app

    group: Any = typer.main.get_command(app)
    lines = [
        "# The command line",
        "",
        "`judgestats COMMAND --help` shows the same in a terminal. Written from the commands themselves.",
        "",
    ]
    for name, command in group.commands.items():
        context = command.make_context(name, [], resilient_parsing=True)
        usage = " ".join(command.collect_usage_pieces(context))
        lines += [
            f"## judgestats {name}",
            "",
            f"```text\njudgestats {name} {usage}\n```",
            "",
            _prose(command.help or ""),
            "",
        ]
        rows = list(_options(command, context))
        if rows:
            lines += ["| option | what it does | default |", "|---|---|---|", *rows, ""]
    return "\n".join(lines)


def _options(command: Any, context: Any) -> Iterator[str]:
    for parameter in command.params:
        if getattr(parameter, "hidden", False) or parameter.name == "help":
            continue
        if parameter.param_type_name == "argument":
            called = parameter.metavar or parameter.name.upper()
        else:
            called = ", ".join([*parameter.opts, *parameter.secondary_opts])
        default = parameter.default
        shown = "" if default in (None, False, "", (), []) or callable(default) else f"`{default}`"
        if parameter.required:
            shown = "required"
        text = _prose(getattr(parameter, "help", "") or "").replace("\n", " ").replace("|", r"\|")
        yield f"| `{called}` | {text} | {shown} |"


def _prose(text: str) -> str:
    """Help of a command as Markdown."""
    text = inspect.cleandoc(text).replace("\b", "").replace("\f", "")
    return re.sub(r"(?<![`\w])<(\w+)>", r"`<\1>`", text)


def pages() -> dict[str, str]:
    """Path in the site -> page."""
    made = {
        f"reference/{folder(f.rpartition('.')[0])}{f.rpartition('.')[2]}.rst": page(f, t) for f, t in public().items()
    }
    made |= {f"reference/{page_of(m)}.md": overview(m) for m in MODULES}
    return made | {"reference/commands.md": commands()}
