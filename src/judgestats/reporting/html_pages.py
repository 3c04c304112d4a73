"""The page of a data set as HTML."""

from __future__ import annotations

import gzip
from base64 import b64encode

import pandas as pd

from judgestats.csv_files import as_csv
from judgestats.metrics.measure_registry import measures
from judgestats.metrics.references import only_people
from judgestats.reporting.cards_by_judge import judge_cards
from judgestats.reporting.comparison_tables import axes_of, comparison
from judgestats.reporting.design_sentences import design, next_step, pooled, references_in_words, shown_separately
from judgestats.reporting.estimate_tables import estimates_table
from judgestats.reporting.formatting import noun, spaced
from judgestats.reporting.markup import anchor, page
from judgestats.reporting.page_chapters import OPEN_ROWS, PARTS, chapters
from judgestats.reporting.page_data import PageData
from judgestats.reporting.page_head import page_head, page_title
from judgestats.reporting.page_method import CITE, cautions, limits_of, method_facts
from judgestats.reporting.pictures import beside_people, between_judges, pictures
from judgestats.reporting.sheets import flag_marks, ladder_bounds
from judgestats.reporting.source_tables import how_read, rows_section, sources
from judgestats.schema.columns import INSTRUMENTS, VERDICTS, answer_column
from judgestats.typing import Record


def as_html(data: PageData, source: object = None, command: str = "") -> str:
    """The page as HTML."""
    level, summary, estimates = data.settings.conf_level, data.summary, data.beyond_sheet
    models = data.estimates.models
    sheet = data.of_shown(data.estimates.sheet)
    parts = chapters(estimates, level, data.of_shown, summary.left_out)
    drawn_here = {
        "Do they agree?": [
            *between_judges(data.rows.study, data.rows.kind, data.estimates.taken, data.settings),
            *beside_people(data.estimates.taken, data.estimates.peers, data.settings),
        ]
    }
    where = "Do they agree?" if data.rows.kind == "ratings" else "Is it biased?"
    drawn_here[where] = [
        *drawn_here.get(where, []),
        *pictures(data.rows.study, data.rows.kind, sheet, data.settings, summary.left_out),
    ]
    axes = axes_of(data)
    sections: list[Record] = []
    for title in PARTS:
        section = {
            "title": title,
            "id": anchor(title),
            "kind": "chapters",
            "axes": axes.get(title, []),
            "pictures": drawn_here.get(title, []),
            "chapters": [p for p in parts if p["where"] == title],
        }
        shows = section["axes"] or section["pictures"] or section["chapters"]
        section["note"] = _nothing_known(data) if title == "Is it right?" and not shows else ""
        if shows or section["note"]:
            sections.append(section)
    if models:
        shown_models = [{"model": m, "table": estimates_table(m.rows, level, m.name)} for m in models]
        sections.append({"title": "Models", "id": "models", "kind": "models", "models": shown_models})
    sections += [
        {"title": "Judge cards", "id": "judge-cards", "kind": "judges"},
        {"title": "Data and method", "id": "data-and-method", "kind": "data"},
    ]
    absent = {m: why for m, why in data.estimates.taken.items() if isinstance(why, str)}
    lead = (design(data), references_in_words(data.rows.reference, data.arguments.get("gold")), how_read(source))
    ways = [*data.rows.groups, *data.estimates.sheet.columns.intersection(INSTRUMENTS)]
    return page(
        "report.html.j2",
        title=page_title(summary, source, data.arguments.get("title")),
        head=page_head(summary),
        line=summary.line,
        readings=summary.readings,
        next_step="" if data.rows.unnamed else next_step(data.rows.reference, data.estimates.sheet, data.rows.kind),
        tables=_study_tables(data),
        table=comparison(summary),
        many=sum(len(g.judges) for g in summary.groups) > OPEN_ROWS,
        sections=sections,
        pooled=pooled(data.rows.reference.models, data.rows.kind, ways),
        separately=shown_separately(data.rows.splits),
        judges=judge_cards(sheet, level),
        left_out=summary.left_out,
        lead=" ".join(t for t in lead if t),
        read=sources(source),
        rows=rows_section(data.rows.findings),
        absent=[[m, measures()[m].question, spaced(why)] for m, why in absent.items()],
        absent_count=noun(len(absent), "measure"),
        limits=limits_of(data),
        cautions=cautions(data.flagged),
        made=method_facts(data, source, command),
        cite=CITE,
        csv=_estimates_csv(data),
    )


def _study_tables(data: PageData) -> list[Record]:
    """The main tables of a study as text."""
    tables: list[Record] = []
    for t in data.tables:
        heads, rows = t.wide(ladder_bounds(data.estimates.sheet))
        marks = [(flag_marks(flag), where) for flag, where in t.cautions().items()]
        facts: Record = {"title": t.title, "about": t.about, "absent": t.absent, "flags": marks}
        facts |= {"titles": t.no_numbers(), "blank": t.without_numbers()}
        tables.append({**facts, "heads": heads, "rows": rows, "numbers": range(len(t.labels), len(heads))})
    return tables


def _nothing_known(data: PageData) -> str:
    """A line on data that cannot show whether a verdict is right; empty where they can."""
    if data.summary.against or data.rows.unnamed or "gold_at" in data.measured.columns:
        return ""
    what = "verdict" if answer_column(data.measured.columns) in VERDICTS or data.rows.kind == "preferences" else "score"
    if data.rows.reference.humans:
        return (
            f"The judges are not compared with people ({data.summary.without_people}), and no right answer is known: "
            f"nothing here says whether a {what} is right."
        )
    if only_people(data.rows.study):
        return f"No right answer is known, and every rater is a person: nothing here says whether a {what} is right."
    return (
        f"No right answer is known, and no judge is named as a person: nothing here says whether a {what} is right. "
        "Add right answers (gold=) or people (humans=)."
    )


def _estimates_csv(data: PageData) -> dict[str, str]:
    """All estimates of the page as one CSV, compressed, for the button that saves it."""
    parts = [
        data.estimates.sheet.assign(measure="datasheet").drop(columns=["meaning", "denominator", "symbol", "level"])
    ]
    parts += [result.assign(measure=name) for name, result in data.beyond_sheet.items()]
    parts += [
        s.pairs.assign(measure=f"difference, {name}", method=s.method) for name, s in data.summary.differences.items()
    ]
    parts += [m.rows.assign(measure=f"model, {m.name}") for m in data.estimates.models]
    if data.estimates.peers is not None and "kappa" not in data.beyond_sheet:
        parts += [data.estimates.peers.assign(measure="concordance of judges")]
    table = pd.concat([p for p in parts if len(p)], ignore_index=True)
    table = table[["measure", *(c for c in table.columns if c != "measure")]]
    short = {c: [f"{v:.8g}" if v == v else None for v in table[c]] for c in table.select_dtypes("float")}
    packed = gzip.compress(as_csv(table.assign(**short)).encode("utf-8", "replace"), 9, mtime=0)
    return {"name": "estimates.csv", "size": noun(len(table), "estimate"), "packed": b64encode(packed).decode()}
