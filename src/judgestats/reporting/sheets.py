"""Datasheets as tables of a page: a judge's rows, and all judges at a glance."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from functools import cache
from operator import itemgetter
from typing import Any

import pandas as pd

from judgestats import flags
from judgestats.errors import DesignError
from judgestats.methods import NEWCOMBE, method_of
from judgestats.metrics.measure_registry import measures
from judgestats.reporting.estimate_rows import step, whose
from judgestats.reporting.formatting import (
    NONE,
    PERCENT,
    THIN,
    bad_direction,
    count,
    estimate,
    form_of,
    in_words,
    interval,
    spaced,
    with_interval,
)
from judgestats.reporting.markup import bar
from judgestats.typing import Record

#: First and last step of a ladder.
_Bounds = tuple[float | None, float | None]
#: Sections of a datasheet, as they are headed.
SECTIONS = {
    "validity": "Did it answer at all?",
    "answers": "What does it answer?",
    "swap": "Does it say the same in both orders?",
    "slots": "Is it biased toward a slot?",
    "repeats": "Does it say the same when asked again?",
    "gold": "Is it right?",
    "dark current": "Nothing there: dark current",
    "Δ0": "Equal quality: what false preference is made of",
    "Δ0, different subset": "Equal quality, different content (a separate control)",
    "ladder": "A known difference: the quality ladder",
    "threshold": "How large must a difference be?",
    "d'": "Signal and no signal",
    "filler": "Words that say nothing",
    "verdicts": "How often is the verdict “correct” or, with gold, right?",
    "scores": "What it scores, and how steadily",
    "consensus": "Against its peers",
    "people": "Against people",
}
#: Terms of the table of all judges, where they are there: term, whether at the first, the last or no step.
OVERVIEW = (
    ("valid", ""),
    ("dark_current", ""),
    ("raw_false_preference", ""),
    ("stable_cross_sensitivity", ""),
    ("positional_false_preference", ""),
    ("one_sided_commit", ""),
    ("target_sensitivity", "first"),
    ("target_sensitivity", "last"),
    ("detection_threshold", ""),
    ("consistency", ""),
    ("first_twice", ""),
    ("second_twice", ""),
    ("position_bias", ""),
    ("tie", ""),
    ("repeat_consistency", ""),
    ("accuracy", ""),
    ("right", ""),
    ("mean_score", ""),
    ("missing", ""),
    ("run_sd", ""),
    ("mean_others", ""),
    ("mean_own", ""),
    ("self_excess", ""),
)


def shown_measures(sheet: pd.DataFrame) -> set[str]:
    """Measures of :func:`judgestats.available_measures` of which a datasheet shows some number, or some bound."""
    estimable = sheet[sheet["estimate"].notna() | flags.have(sheet["flag"], flags.RIGHT_CENSORED)]
    sections = estimable["section"].astype(str).str.replace("^criterion, .*", "criterion", regex=True)
    there = {*sections, *(f"{s}: {t}" for s, t in zip(sections, estimable["term"], strict=True))}
    return {name for name, record in measures().items() if there & set(record.sheet)}


def datasheet_rows(rows: Iterable[Record], bounds: _Bounds, judge: str, conf_level: float) -> Record:
    """All rows of one judge (and group) of a datasheet by section and term, as a page shows them."""
    of_section: dict[str, dict[str, list[Record]]] = {}
    for row in rows:
        of_section.setdefault(row["section"], {}).setdefault(row["term"], []).append(row)
    sections = [
        {
            "title": SECTIONS.get(section, section),
            "terms": [] if (none := _nothing(terms.values())) else [_term(same, bounds) for same in terms.values()],
            "none": none,
        }
        for section, terms in of_section.items()
    ]
    return {"judge": judge, "level": f"{100 * conf_level:g}{PERCENT}", "sections": sections}


def _nothing(terms: Iterable[list[Record]]) -> str:
    """Why a section has no number and no bound, in a line; empty where it has one."""
    rows = [row for same in terms for row in same]
    if any(math.isfinite(r["estimate"]) or flags.has(r["flag"], flags.RIGHT_CENSORED) for r in rows):
        return ""
    return f"No number: {spaced(reasons(r['flag'] for r in rows) or flags.NO_DATA)}."


#: Codes of the flags of what was left out.
_EXCLUDED = {flag.code for flag in (flags.INVALID_EXCLUDED, flags.SCORES_EXCLUDED, flags.N_SCORES_EXCLUDED)}
_EXCLUDED |= {flag.code for flag in (flags.ROWS_EXCLUDED, flags.JUDGES_EXCLUDED, flags.EXCLUDED)}
_EXCLUDED.add(flags.INCOMPLETE_SYSTEMS.code)


def reasons(flags_of_rows: Iterable[str]) -> str:
    """Why there is no number: what flags say, without what is missing, or was excluded beside another reason."""
    parts = [flag for flag in flags.texts_of(flags_of_rows) if flag.code != flags.MISSING.code]
    return ", ".join([flag for flag in parts if flag.code not in _EXCLUDED] or parts)


def _term(rows: list[Record], bounds: _Bounds) -> Record:
    """Rows of one term; what they share stands once."""
    first = rows[0]
    parts = [
        {
            "detail": r["detail"] or NONE,
            **dict(zip(("value", "interval"), with_interval(r, first=bounds[0], last=bounds[1]), strict=True)),
            "why": "" if math.isfinite(r["estimate"]) else spaced(reasons([r["flag"]])),
            "method": "" if i and r["method"] == rows[i - 1]["method"] else r["method"],
            "bar": drawn(r),
            "n": count(r["n"]),
            "denominator": "" if i else r["denominator"],
            "flags": flag_marks(r["flag"]),
        }
        for i, r in enumerate(rows)
    ]
    symbol = "" if first["symbol"] in ("", NONE) else first["symbol"]
    return {
        "label": in_words(first["term"]),
        "symbol": symbol,
        "meaning": first["meaning"],
        "level": first["level"],
        "bad": bad_direction(first["bad_direction"]),
        "rows": parts,
    }


def drawn(r: Record) -> dict[str, str | None] | None:
    """Small picture of a share, or of a difference of shares; None for what has no natural range."""
    value, low, high, method = r["estimate"], r["conf_low"], r["conf_high"], method_of(r["method"])
    if not math.isfinite(value):
        return None
    if method.parts.scale == "share":
        return bar(value, low, high)
    return bar(value, low, high, start=-1.0) if method.is_by(NEWCOMBE) else None


@cache
def flag_marks(flag: str) -> tuple[Record, ...]:
    """Flags as small marks, each explained where the pointer rests; the usual one is quiet."""
    return tuple(
        {"flag": spaced(f), "why": spaced(f.explanation), "quiet": f == flags.NOT_INDEPENDENT}
        for f in flags.flags_of(flag)
    )


def ladder_bounds(rows: pd.DataFrame) -> _Bounds:
    """First and last step of the ladder that these rows measure."""
    steps = step(rows[rows["term"] == "target_sensitivity"]).dropna()
    return (float(steps.min()), float(steps.max())) if len(steps) else (None, None)


def bounds_by_judge(sheet: pd.DataFrame, who: pd.Series) -> dict[str, _Bounds]:
    """First and last step of each judge's ladder; `who`: the judge of each row."""
    ladder = sheet[sheet["term"] == "target_sensitivity"]
    measured = {judge: ladder_bounds(rows) for judge, rows in ladder.groupby(who, sort=False)}
    return {judge: measured.get(judge, (None, None)) for judge in who}


def headline_rows(sheet: pd.DataFrame, who: pd.Series, most: int = 8) -> dict[str, list[int]]:
    """Positions of each judge's most important rows of a datasheet, about `most`, in the order of :data:`OVERVIEW`.

    `who`: the judge of each row. A judge without any of these has the first rows.
    """
    section, term = sheet["section"].astype(str), sheet["term"].astype(str)
    fits = ~section.str.match("criterion|Δ0, different")
    fits &= (term != "tie") | section.isin(["slots", "answers"])
    fits &= (term != "dark_current") | sheet["detail"].isin(["", "all"])
    fits &= sheet["estimate"].notna() | flags.have(sheet["flag"], flags.RIGHT_CENSORED)
    fits &= ~flags.have(sheet["flag"], flags.ORDER_CONFOUNDED)
    places: dict[str, list[int]] = {}
    of_term: dict[tuple[str, str], list[tuple[float, int]]] = {}
    for place, (judge, name, at, fit) in enumerate(zip(who, term, step(sheet), fits, strict=True)):
        places.setdefault(judge, []).append(place)
        if fit:
            of_term.setdefault((judge, name), []).append((at, place))
    for judge, rows in places.items():
        chosen: list[int] = []
        for name, which in OVERVIEW:
            same = of_term.get((judge, name), [])
            levels = [s for s in same if s[0] == s[0]] if which else []
            ends = (max if which == "last" else min)(levels, key=itemgetter(0)) if levels else next(iter(same), None)
            chosen += [ends[1]] if ends else []
        places[judge] = list(dict.fromkeys(chosen))[:most] or rows[:most]
    return places


def judges_side_by_side(sheet: pd.DataFrame) -> pd.DataFrame:
    """The terms of :data:`OVERVIEW` as text: a row per term and step, a column per judge, estimates with intervals."""
    rows = printed(sheet[sheet["term"].isin([term for term, _ in OVERVIEW])])
    rows["measure"] = [f"{m}, {d}" if d else m for m, d in zip(rows["measure"], rows["detail"], strict=True)]
    rows["cell"] = rows["estimate"] + " " + rows["interval"]
    wide = rows.pivot(index="measure", columns="judge", values="cell")
    order = [dict.fromkeys(rows[name]) for name in ("measure", "judge")]
    return wide.reindex(index=order[0], columns=order[1]).fillna(NONE).reset_index()


HEADS = ("judge", "section", "measure", "detail", "estimate", "interval", "n", "flag")


def printed(sheet: pd.DataFrame, *, decimals: int | None = 3) -> pd.DataFrame:
    """Round a datasheet, or other tidy estimates of judges, to the texts that a table prints.

    `decimals`: None rounds as a page does, shares in percent.
    """
    if not {"judge", "term", "estimate"} <= set(sheet.columns):
        raise DesignError(f"A table needs judge, term and estimate. Columns: {', '.join(map(str, sheet.columns))}.")
    who = whose(sheet)
    bounds = bounds_by_judge(sheet, who)
    rows = []
    for judge, r in zip(who, sheet.to_dict("records"), strict=True):
        ends: Record = dict(zip(("first", "last"), bounds[judge], strict=True))
        flag, low, high = str(r.get("flag", "")), r.get("conf_low", math.nan), r.get("conf_high", math.nan)
        form = form_of(r)
        rows.append(
            (
                judge,
                str(r.get("section", "")),
                in_words(r["term"]),
                str(r.get("detail", "")),
                estimate(r["estimate"], flag, form, width=high - low, decimals=decimals, **ends),
                interval(low, high, form, decimals=decimals, **ends),
                count(r.get("n", math.nan)),
                flag,
            )
        )
    return pd.DataFrame(rows, columns=list(HEADS))


def to_markdown(sheet: pd.DataFrame, *, decimals: int | None = 3) -> str:
    """Write a datasheet as a Markdown table; `decimals`: None rounds as a page does, shares in percent."""
    table = _filled(printed(sheet, decimals=decimals))
    text = table.apply(lambda c: c.map(_markdown_cell if c.name == "interval" else markdown_text))
    return str(text.to_markdown(index=False, disable_numparse=True, colalign=_aligned(table)))


def markdown_table(heads: list[str], rows: list[list[str]]) -> str:
    """A Markdown table of text; what comes from the data is neither markup nor a link."""
    body = [[markdown_text(c) for c in r] for r in (heads, *rows)]
    return "\n".join(f"| {' | '.join(r)} |" for r in [body[0], ["---"] * len(heads), *body[1:]])


def to_latex(sheet: pd.DataFrame, *, decimals: int = 3, caption: str | None = None) -> str:
    """Write a datasheet as a LaTeX table (booktabs); with a caption, in a table environment."""
    table = _filled(printed(sheet, decimals=decimals)).map(_latex_cell)
    first = table.columns[0]
    table[first] = table[first].map(_no_option)
    options = {"caption": _latex_cell(caption), "position_float": "centering"} if caption is not None else {}
    letters = "".join(side[0] for side in _aligned(table))
    return str(table.style.hide(axis="index").to_latex(hrules=True, column_format=letters, **options))


def to_great_table(sheet: pd.DataFrame, *, decimals: int = 3, title: str | None = None) -> Any:
    """Make a datasheet a ``great_tables.GT``, grouped by judge, which escapes what comes from the data."""
    from great_tables import GT

    table = _filled(printed(sheet, decimals=decimals))
    great_table = GT(table, rowname_col="measure", groupname_col="judge").cols_align("right", columns=["estimate", "n"])
    return great_table.tab_header(title=title) if title else great_table


def _filled(table: pd.DataFrame) -> pd.DataFrame:
    """Leave out columns that say nothing."""
    return table[
        [c for c in table.columns if c in ("judge", "measure", "estimate", "interval", "n") or (table[c] != "").any()]
    ]


def _aligned(table: pd.DataFrame) -> list[str]:
    """To which side each column is aligned."""
    return ["right" if c in ("estimate", "n") else "left" for c in table.columns]


def _markdown_cell(value: str) -> str:
    text = " ".join(str(value).split()) if THIN not in str(value) else str(value).replace("\n", " ")
    for mark in ("\\", "|", "`", "*", "<"):
        text = text.replace(mark, "\\" + mark)
    return text


def markdown_text(value: str) -> str:
    """What comes from the data is no link: neither in brackets nor by its address alone."""
    text = re.sub(r"([\[\]])", r"\\\1", _markdown_cell(value))
    return re.sub(r"(?i)(\bwww)\.", r"\1\.", text.replace("://", "\\://"))


_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "−": "$-$",
    "≤": r"$\leq$",
    ">": "$>$",
    "<": "$<$",
    "Δ": r"$\Delta$",
    "∞": r"$\infty$",
    "—": "---",
    "′": "'",
    THIN: r"\,",
    "₀": "$_0$",
}


def _no_option(value: str) -> str:
    """What a row begins with is no option of the command before it, as in ``\\\\[2cm]`` and ``\\\\*``."""
    value = value.lstrip()
    return f"{{{value[0]}}}{value[1:]}" if value[:1] in ("[", "*") else value


def _latex_cell(value: str) -> str:
    return "".join(_LATEX.get(c, c if c.isprintable() else " ") for c in str(value))
