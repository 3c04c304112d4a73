"""The page of a data set, section by section: :func:`report`."""

from __future__ import annotations

import gzip
import math
import os
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats import __version__, flags
from judgestats.counting.clustering import Cluster
from judgestats.counting.pairing import REPEATED
from judgestats.counting.splitting import KEYS, Split, splits_of
from judgestats.counting.study import Study
from judgestats.counting.tallies import tally
from judgestats.csv_files import as_csv
from judgestats.defaults import CONF_LEVEL, N_RESAMPLES, SEED
from judgestats.errors import DesignError, choose, confidence, masked
from judgestats.ingest.provenance import PATHS
from judgestats.metrics.correctness.corrections import Sampling
from judgestats.metrics.datasheets.sheets import BEFORE, WAYS, profile, sheet_of
from judgestats.metrics.measure_registry import (
    SECTIONS,
    Measure,
    Options,
    answers_given,
    attempts,
    measures,
    number_of_calls,
    quiet,
)
from judgestats.metrics.references import CONTROLLED, Baseline, Humans, References, of_people, references
from judgestats.outputs import MarkedOutputs
from judgestats.reporting import plots
from judgestats.reporting.estimate_rows import whose
from judgestats.reporting.formatting import NONE, count, estimate, in_words, interval, is_whole, noun, number
from judgestats.reporting.markup import anchor, bar, breakable, page, places, visible
from judgestats.reporting.pictures import PAIRS, Picture, beside_people, between_judges, concordances, drawing, pictures
from judgestats.reporting.sheets import (
    datasheet_rows,
    drawn,
    flag_marks,
    headline_rows,
    markdown_table,
    markdown_text,
    shown_measures,
    to_markdown,
)
from judgestats.reporting.summary import Column, Summary, summarise
from judgestats.results import COLUMNS
from judgestats.schema import kind_of
from judgestats.schema.columns import CONDITIONS, COUNTS, PLACES, VOCABULARY, By, Kind, answer_column, grouping
from judgestats.schema.opening import engine_errors
from judgestats.schema.validation import refuse

if TYPE_CHECKING:
    from judgestats.reporting.fitted import Model, Models

# ---- What was read, the design of the data, rows used and excluded ---------------------------------------------------

#: Files listed one by one.
MOST_FILES = 20
#: Conditions over which pooling hides a difference between instruments.
_WAYS = (*CONTROLLED, "temperature")
#: People who are named in the head of a page.
_MOST_PEOPLE = 6
#: A further column with more values than this is an id, not a condition.
_MOST_LEVELS = 30


def sources(source: Any) -> dict[str, Any]:
    """What was read: facts, and tables of files among the values of a mapping, or given by themselves."""
    pairs = dict(source) if isinstance(source, Mapping) else {} if source is None else {"files": source}
    tables = [v for v in pairs.values() if isinstance(v, pd.DataFrame)]
    return {"facts": readings(source), "files": [_file_table(t) for t in tables]}


def readings(source: Any) -> dict[str, str]:
    """How the data were read, as far as `source` records it: text for each name, tables left out.

    >>> readings({"format": "csv", "mapping": {"judge": "rater"}, "labels": {"A": "first"}, "rows": 8})
    {'format': 'csv', 'mapping': 'judge = rater', 'labels': 'A = first', 'rows': '8'}
    """
    pairs = source if isinstance(source, Mapping) else {}
    return {str(k): masked(_reading(v)) for k, v in pairs.items() if not isinstance(v, pd.DataFrame)}


def _reading(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{k} = {'not there' if v is None else v}" for k, v in value.items()) or NONE
    if isinstance(value, list | tuple):
        shown = ", ".join(map(str, value[:MOST_FILES]))
        return f"{shown}, and {count(len(value) - MOST_FILES)} more" if len(value) > MOST_FILES else shown or NONE
    return NONE if value is None or value == "" else str(value)


def how_read(source: Any) -> str:
    """One sentence about the format and the mapping; empty if `source` records neither."""
    known = {k: v for k, v in readings(source).items() if k in ("format", "mapping", "labels") and v != NONE}
    parts = [f"as {known['format']}"] if "format" in known else []
    parts += [f"{k}: {known[k]}" for k in ("mapping", "labels") if k in known]
    return f"Read {'; '.join(parts)}." if parts else ""


def _file_table(files: pd.DataFrame) -> dict[str, Any]:
    whole = [i for i, c in enumerate(files.columns) if pd.api.types.is_numeric_dtype(files[c])]
    shown = files.head(MOST_FILES)
    rows = [[_cell(v, i in whole) for i, v in enumerate(r)] for r in shown.itertuples(index=False, name=None)]
    rest = len(files) - len(shown)
    more = f"And {noun(rest, 'file')} more." if rest else ""
    return {"heads": [str(c) for c in files.columns], "rows": rows, "numbers": whole, "more": more}


def _cell(value: Any, is_number: bool) -> Any:
    if pd.isna(value) or value == "":
        return NONE
    return count(float(value)) if is_number else breakable(masked(str(value)))


def row_sums(findings: pd.DataFrame) -> dict[str, int]:
    """Rows in, used and excluded, of a result of :func:`judgestats.check`."""
    sums = findings[findings["level"] == "rows"]
    return {str(k): int(v) for k, v in zip(sums["what"], sums["n"], strict=True)}


def rows_section(findings: pd.DataFrame) -> dict[str, Any]:
    """The sums, and a row for each reason with its first rows and its remedy."""
    n = row_sums(findings)
    total, used = n["rows in"], n["rows used"]
    share = 100 * used / total if total else None
    reasons = findings[findings["level"].isin(["file", "excluded", "counted"])]
    note = PLACES if len(reasons) else ""
    if (reasons["level"] == "counted").any():
        note = f"Rows that are “counted” are used; they are listed because some measures cannot use them. {note}"
    return {
        "total": count(total), "used": count(used), "excluded": count(n["rows excluded"]),
        "noun": "row" if total == 1 else "rows",
        "share": None if share is None else f"{share:.4f}", "rest": f"{100 - (share or 0):.4f}",
        "said": f"{share or 0:.1f}", "note": note.strip(),
        "reasons": [
            [r["what"], r["level"], count(r["n"]), places(r["where"] or _first_rows(r["rows"])), r["remedy"]]
            for r in reasons.to_dict("records")
        ],
    }  # fmt: skip


def _first_rows(rows: tuple[int, ...], most: int = 3) -> str:
    return ", ".join(count(r) for r in rows[:most]) + (", …" if len(rows) > most else "")


def design(found: PageData) -> str:
    """The design of a data set in a few sentences; calls that differ in the groups are not repeats."""
    data, kind = found.known.models, found.kind
    text = _pairwise(found) if kind == "preferences" else _scored(data)
    varying = _varying(data, kind)
    for heading, names in (
        ("Conditions that vary", [n for n in varying if n in CONDITIONS]),
        ("Further columns", [n for n in varying if n not in CONDITIONS]),
    ):
        listed = ", ".join(f"{name} ({noun(varying[name], 'level')})" for name in names)
        text += f" {heading}: {listed}." if listed else ""
    return text if varying else f"{text} No condition varies."


def references_in_words(known: References, gold: str | None) -> str:
    """Who the people are, where right answers come from, and what the control conditions are."""
    parts = []
    if known.humans:
        names = ", ".join(known.humans[:_MOST_PEOPLE]) + (", …" if len(known.humans) > _MOST_PEOPLE else "")
        answers = noun(len(known.people), "answer")
        who = "person is" if len(known.humans) == 1 else "people are"
        parts.append(f"{count(len(known.humans))} {who} the reference ({names}; {answers}), and not measured.")
    if gold not in (None, "gold"):
        parts.append(f"Right answers are those of {gold}.")
    parts += [f"The control condition of {column} is “{value}”." for column, value in known.baseline.items()]
    return " ".join(parts)


def next_step(known: References, sheet: pd.DataFrame, kind: Kind) -> str:
    """One sentence on what to do where the data give little or nothing: one rater alone, or no number at all."""
    answered = sheet[(sheet["section"] != "validity") & ~sheet["term"].isin(["missing", "invalid"])]
    rated = (
        (known.models["choice"].astype(str) != "invalid").any()
        if kind == "preferences"
        else answered["estimate"].notna().any()
    )
    if not rated:
        return (
            "No number can be estimated from these data: see the rows used and excluded below, and give the scores or "
            "choices as columns that can be read."
        )
    alone = known.models["judge"].nunique() == 1 and not known.humans and "gold" not in known.models.columns
    if not alone or (kind == "preferences" and "stimulus" in known.models.columns):
        return ""
    what = "the same answers" if kind == "preferences" else "the same items"
    return (
        f"There is one judge and no reference to compare it with: add a second judge or people on {what} (humans=), "
        "right answers (gold=), or repeats, to learn more than how it answers."
    )


def pooled(data: pd.DataFrame, kind: Kind, groups: Sequence[str]) -> dict[str, str] | None:
    """A note on conditions that vary within a datasheet, if any."""
    varying = {n: k for n, k in _varying(data, kind).items() if n in _WAYS and n not in groups}
    varying = {n: k for n, k in varying.items() if data.groupby("judge")[n].nunique().max() > 1}
    if not varying:
        return None
    listed = ", ".join(f"{name} ({noun(k, 'level')})" for name, k in varying.items())
    text = f"Each datasheet pools over {listed}, unless a row says otherwise. To separate them, pass"
    return {"text": text, "code": f"by={list(varying)!r}"}


def shown_separately(splits: Sequence[Split]) -> str:
    """A note on columns that split the datasheets though not named in `by`, if any."""
    if not splits:
        return ""
    listed = "; ".join(
        f"{s.column} ({noun(len(s.values), 'value')}{', with ' * bool(s.alike)}{' and '.join(s.alike)})" for s in splits
    )
    return f"One judge rated one thing under several values of {listed}: an average would describe none of them."


def _pairwise(found: PageData) -> str:
    data, findings = found.known.models, found.findings
    calls = float(pd.to_numeric(data[COUNTS]).sum()) if COUNTS in data.columns else float(len(data))
    judges, items = data["judge"].nunique(), data["item"].nunique()
    parts = [
        f"Pairwise verdicts: {noun(judges, 'judge')}, {noun(items, 'item')}, {noun(calls, 'call')}.",
        _orders(data, findings),
    ]
    choice = data["choice"].astype(object)
    ties = int((choice == "tie").sum())
    forced = "ties_allowed" in data.columns and not data["ties_allowed"].fillna(True).astype(bool).any()
    parts.append(
        "Ties were not allowed."
        if forced
        else f"Ties were given in {noun(ties, 'row')}."
        if ties
        else "No judge called a tie."
    )
    parts.append(_repeats(found))
    known = data[[c for c in ("gold", "better") if c in data.columns]].notna().any(axis=1).sum()
    parts.append(f"The right answer is known in {noun(int(known), 'row')}." if known else "No right answer is known.")
    if "stimulus" in data.columns:
        kinds = data["stimulus"].astype(object).value_counts(sort=False)
        parts.append(
            "Datasheet design: "
            + ", ".join(f"{k} ({count(v)})" for k, v in sorted(kinds.items(), key=lambda kv: str(kv[0])))
            + "."
        )
    return " ".join(parts)


def _repeats(found: PageData) -> str:
    """Repeated calls, as a tally of pairs counts them."""
    data = found.known.models
    numbered = data["replicate"].nunique() if "replicate" in data.columns else 1
    parts = [f"Up to {numbered} repeats of a call."] if numbered > 1 else []
    if _has_repeats(found.study):
        if found.groups and not _has_repeats(found.study, found.settings.by):
            parts.append(f"Some calls repeat others, and differ only in {', '.join(found.groups)}.")
        else:
            parts.append("Some calls repeat others without a number in replicate.")
    if COUNTS in data.columns and (pd.to_numeric(data[COUNTS]) > 1).any():
        parts.append("Some rows stand for several identical calls.")
    return " ".join(parts) or "No call is repeated."


def _has_repeats(study: Study, by: Sequence[str] = ()) -> bool:
    """Whether pairs cannot be counted because calls repeat; a column `order_known` is ignored."""
    calls: Any = study.without("order_known") if "order_known" in study.names else study
    try:
        tally(calls, "consistency", by, cluster=False)
    except DesignError as error:
        return error.reason == REPEATED
    return False


def _orders(data: pd.DataFrame, findings: pd.DataFrame) -> str:
    if "order_known" in data.columns and not data["order_known"].fillna(True).astype(bool).any():
        return "The order shown is not known."
    lone = int(findings.loc[findings["what"] == "only one order of the pair", "n"].sum())
    if not lone:
        return "Each pair was shown in both orders."
    if lone >= len(data):
        return "Each pair was shown in one order only."
    return f"{number(100 * (1 - lone / len(data)), 1)} % of the rows have their pair in both orders."


def _scored(data: pd.DataFrame) -> str:
    value = answer_column(data.columns)
    counts = [
        noun(data[c].nunique(), one, many)
        for c, one, many in (
            ("judge", "judge", "judges"),
            ("system", "system", "systems"),
            ("item", "item", "items"),
            ("criterion", "criterion", "criteria"),
        )
        if c in data.columns
    ]
    if value == "correct":
        most = data["replicate"].nunique() if "replicate" in data.columns else 1
        again = f"Up to {most} runs of a verdict." if most > 1 else "No verdict is repeated."
        verdicts = count(float(number_of_calls(data).sum()))
        shares = answers_given(data)[1].replace(" %", "\u202f%")
        return f"Verdicts on single answers: {', '.join(counts)}; {verdicts} verdicts: {shares}. {again}"
    scores = data[value].astype(float)
    what = "scores" if value == "score" else "means over runs"
    span = (
        f"from {number(float(scores.min()), 2)} to {number(float(scores.max()), 2)}"
        if scores.notna().any()
        else "all missing"
    )
    repeats = data["replicate"].nunique() if "replicate" in data.columns else 1
    runs = f"Up to {repeats} runs of a rating." if repeats > 1 else ""
    if not runs and "runs" in data.columns:
        runs = (
            f"Each mean is over {number(float(data['runs'].min()), 0)} to {number(float(data['runs'].max()), 0)} runs."
        )
    return f"Ratings: {', '.join(counts)}; {count(float(len(data)))} {what}, {span}. {runs or 'No rating is repeated.'}"


def _varying(data: pd.DataFrame, kind: Kind) -> dict[str, int]:
    """Conditions with more than one level: known ones, and further columns with few values, except measurements."""
    known = {c.name for c in VOCABULARY[kind]}
    found = {}
    for name in data.columns:
        if name not in CONDITIONS and (name in known or pd.api.types.is_float_dtype(data[name])):
            continue
        try:
            levels = int(data[name].nunique())
        except TypeError:  # lists and dicts
            continue
        if levels > 1 and (name in CONDITIONS or levels <= _MOST_LEVELS):
            found[str(name)] = levels
    return found


# ---- Sections of a page beyond the datasheets: groups of judges, strategies, cues and systems -----------------------

#: Rows of a table that are shown at once, and at all.
OPEN_ROWS, MOST = 12, 60
#: Columns that are not shown if they have one value.
_QUIET = ("unit", "embed", "adjustment")
#: Columns of a result that are printed beside the estimate, and their heads.
_BESIDE = {
    "p_value": "p",
    "p_adjusted": "p, adjusted",
    "survives": "survives correction",
    "share": "share",
    "reading": "reading",
    "relative": "relative, %",
}


#: Sections of the page -> those of the records of measures that stand in them.
PARTS = {
    "Is it right?": ("accuracy",),
    "Is it fair?": ("bias", "psychometrics", "cues"),
    "Do they agree?": ("people", "agreement", "variance", "scores", "consensus", "calibration"),
    "Does another way of asking help?": ("strategies",),
    "Which system is better?": ("ranking",),
}
#: Where a new section of measures goes.
_ELSE = "Do they agree?"


def chapters(
    results: Mapping[str, pd.DataFrame],
    conf_level: float,
    of_shown: Callable[[pd.DataFrame], pd.DataFrame] = lambda rows: rows,
    left_out: str = "",
) -> list[dict[str, Any]]:
    """Each section with estimates of a measure: its title, the part of the page, and its measures."""
    shown = [(record, results[name]) for name, record in measures().items() if name in results]
    made = []
    for section, title in SECTIONS.items():
        parts = [
            _part(record, result, conf_level, of_shown(result), left_out)
            for record, result in shown
            if record.section == section
        ]
        where = next((p for p, sections in PARTS.items() if section in sections), _ELSE)
        made += [{"title": title, "where": where, "parts": parts}] if parts else []
    return made


def _part(
    record: Measure, result: pd.DataFrame, conf_level: float, in_picture: pd.DataFrame, left_out: str
) -> dict[str, Any]:
    found: list[Picture] = []
    if record.caption and record.name not in PAIRS.values():  # their matrix is at the head of the section
        draw = partial(getattr(plots, record.plot.partition(",")[0]), in_picture)
        caption = f"{record.caption} {left_out}" if len(in_picture) < len(result) else record.caption
        title = record.question.rstrip("?")
        found = [*drawing(record.name.replace("_", "-"), title, caption, draw, wide=True)]
    rows = result[result["term"].isin(record.table)] if record.table else result
    shown = _most_extreme(rows)
    return {
        "name": record.name,
        "question": record.question,
        "pictures": found,
        "table": estimates_table(shown, conf_level, record.name) if len(rows) else None,
        "folded": len(rows) > OPEN_ROWS,
        "size": noun(len(rows), "row"),
        "more": _left_out(rows.drop(index=shown.index)),
    }


def _most_extreme(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows that are shown: of very many the highest and the lowest of each term, in their order."""
    if len(rows) <= MOST:
        return rows
    sizes = rows["term"].value_counts()
    each = max(MOST // len(sizes), 2)
    few = sizes[sizes <= each]
    each = max((MOST - int(few.sum())) // max(len(sizes) - len(few), 1), 2)
    chosen: list[Any] = []
    for term, same in rows.groupby("term", sort=False)["estimate"]:
        order = same.sort_values(kind="stable", ascending=term == "rank", na_position="last").index
        chosen += [*order] if term in few.index else [*order[: each - each // 2], *order[len(order) - each // 2 :]]
    return rows[rows.index.isin(chosen)]


def _left_out(rows: pd.DataFrame) -> str:
    """What a table leaves out, and where it is; empty if nothing is."""
    if rows.empty:
        return ""
    ranks = rows.loc[rows["term"] == "rank", "estimate"]
    what = f"{noun(len(rows), 'row')} between the highest and the lowest"
    if len(ranks):
        what = f"{noun(len(ranks), 'system')} of rank {count(ranks.min())} to {count(ranks.max())}"
    return f"{what} {'is' if len(rows) == 1 or len(ranks) == 1 else 'are'} in the CSV at the end of the page, and in"


def estimates_table(rows: pd.DataFrame, conf_level: float, measure: str = "") -> dict[str, Any]:
    """Table of tidy estimates of a measure: labels of the row, the estimate with its interval, cautions."""
    names = [c for c in rows.columns if c not in COLUMNS and c not in _BESIDE and _names_rows(rows[c])]
    beside = {c: head for c, head in _BESIDE.items() if c in rows.columns and rows[c].notna().any()}
    body = [
        {
            "labels": [_label(r[c]) for c in names],
            "measure": in_words(r["term"], measure, r.get("threshold", math.nan)),
            "value": estimate(r["estimate"], r["flag"], decimals=0 if is_whole(r["term"]) else 3),
            "interval": interval(r["conf_low"], r["conf_high"], decimals=0 if is_whole(r["term"]) else 3),
            "method": r["method"],
            "bar": drawn(r),
            "n": count(r["n"]),
            "beside": [_value(r[c]) for c in beside],
            "flags": flag_marks(r["flag"]),
        }
        for r in rows.to_dict("records")
    ]
    return {
        "about": f"estimates of {measure}" if measure else "estimates",
        "labels": [c.replace("_", " ") for c in names],
        "level": f"{100 * conf_level:g}\u202f%",
        "beside": list(beside.values()),
        "rows": body,
    }


def _names_rows(values: pd.Series[Any]) -> bool:
    """Whether a column labels the rows (numbers that belong to an estimate are not printed)."""
    known = values[values.notna() & (values.astype(object) != "")]
    if values.name in _QUIET and known.nunique() < 2:
        return False
    return len(known) > 0 and not pd.api.types.is_float_dtype(values) and not pd.api.types.is_bool_dtype(values)


def _label(value: object) -> str:
    missing = value is None or value == "" or (isinstance(value, float) and math.isnan(value)) or value is pd.NA
    return NONE if missing else str(value)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return NONE if math.isnan(value) else "<\u00a00.001" if 0 <= value < 0.001 else number(value, 3)
    return _label(value)


# ---- The page of a data set: :func:`report` --------------------------------------------------------------------------

#: With more columns than this, the bars and intervals of a table stand below its numbers.
FEW_COLUMNS = 3
#: With more judges than this, their cards are folded.
OPEN = 3
CITE = (
    f"The judgestats developers. judgestats: statistics for the verdicts of LLM judges, version {__version__}. "
    "CITATION.cff in its repository has this as BibTeX and other forms. Cite the paper named with a measure, too."
)
LIMITS = (
    "Intervals allow for calls that share what their method names (the item, or a task where there are 30 or more); "
    "they do not generalise to other tasks where few were sampled.",
    "Differences between judges hold for all pairs of judges at once; no other number is corrected for the number of "
    "judges or measures compared.",
    "A judge is measured under the prompt, the model version and the items that were run, and nowhere else.",
    "A judge type (“Class A”, …) is a description by thresholds, not a test.",
)
_PREFERENCE_LIMIT = (
    "Without stimuli of known equality no disagreement between the two orders is called a false preference: the "
    "candidates may differ."
)
_RATING_LIMIT = (
    "Deviation from peers is relative: if one judge is above the others, the others are below it. It is not a distance "
    "from the truth."
)
_PEOPLE_LIMIT = "Deviation from people is from the mean of the people named. It is not a distance from the truth."


def report(
    data: IntoFrame,
    path: str | os.PathLike[str] = "report.html",
    *,
    by: By = (),
    title: str | None = None,
    source: Any = None,
    cluster: Cluster = "auto",
    identity: Mapping[str, str] | None = None,
    humans: Humans | None = None,
    gold: str | None = None,
    baseline: Baseline | None = None,
    sampling: Sampling | None = None,
    seed: int = SEED,
    conf_level: float = CONF_LEVEL,
    n_resamples: int = N_RESAMPLES,
    models: Models | None = None,
    overwrite: bool = False,
) -> Path:
    """Write one self-contained page about a data set: which judge to trust, the measures, and a card of each judge.

    Parameters
    ----------
    data : frame
        A canonical frame, preferences or ratings, in any engine Narwhals knows.
    path : path
        File to write; its folder is made. A name that ends in ``.md`` gives Markdown, any other HTML.
    by : str or sequence of str
        Further grouping columns: a datasheet for each judge and group. Columns that split ratings (rows that are equal
        in judge, system, item, criterion and replicate differ in them) are grouping columns in any case.
    title : str, optional
        Title of the page; by default a question that the data can answer.
    source : frame or mapping, optional
        What was read: a result of :func:`judgestats.ingest.source_info`, or a mapping of names to
        values: ``format``, ``mapping`` (canonical column -> column), ``labels`` and ``files`` (such a table), and
        anything else to be shown on the page.
    cluster : "auto", str or False
        What calls share, for every interval of the page that takes it: by default the column that they
        share; or a column; False takes all calls as independent.
    identity : mapping of str to str, optional
        For ratings, system -> judge.
    humans : str, sequence of str, or mapping, optional
        Judges that are people: names, or ``"column=value"``. Judges are then compared with people, beside the
        agreement of people with each other; people get no datasheet.
    gold : str, optional
        Where right answers come from: a column, a judge (who is then not measured), or a candidate.
    baseline : str or mapping, optional
        The control condition: a value of ``strategy``, ``prompt``, ``probe``, ``scheme`` or ``condition``, or
        ``{column: value}``. Without it the conditions stand side by side, and nothing is compared with a control.
    sampling : {'random', 'by class'}, optional
        How the items with a label in ``gold`` were drawn, where only some have one: the page then has rates corrected
        for the errors of the judges (:func:`judgestats.corrected_rate`).
    seed, n_resamples : int
        For the bootstrap intervals.
    conf_level : float
        Coverage of the intervals.
    models : Fit or mapping of str to Fit, optional
        Results of :func:`judgestats.fit`, or one, to be shown with their parameters and diagnostics:
        ``{"position": fit}``.
    overwrite : bool
        Whether another file may be replaced. A page of an earlier report that nobody has changed always is.

    Returns
    -------
    pathlib.Path
        The file. The same data and arguments give the same bytes: it contains no time of day.

    Raises
    ------
    SchemaError
        If `data` is not a canonical frame, or has faults.
    DesignError
        If `path` is a folder, one of the files in `source`, another file that exists, or cannot be written; if a name
        in `humans`, `gold` or `baseline` does not occur; if `sampling` is neither of the two; if one of `models` is no
        fit, or has no diagnostics.

    See Also
    --------
    datasheet : The rows of a judge's card.
    available_measures : What the data support.

    Examples
    --------
    >>> import tempfile
    >>> calls = pd.DataFrame({"judge": "g", "item": ["1", "1"], "first": ["x", "y"], "second": ["y", "x"],
    ...                       "choice": ["first", "second"]})
    >>> page = report(calls, Path(tempfile.mkdtemp()) / "report.html")
    >>> "same verdict in both orders" in page.read_text(encoding="utf-8")
    True
    """
    outputs = MarkedOutputs("report", files_read(source), overwrite=overwrite)
    outputs.check(path)
    found = measure_all(
        data, by=by, cluster=cluster, identity=identity, humans=humans, gold=gold, baseline=baseline,
        sampling=sampling, seed=seed, conf_level=conf_level, n_resamples=n_resamples, title=title,
        models=models,
    )  # fmt: skip
    return write_report(found, path, outputs, source)


@dataclass(frozen=True)
class PageData:
    """Everything about a data set that a page shows, measured once."""

    study: Study  # of the rows that are measured
    kind: Kind
    known: References
    findings: pd.DataFrame
    groups: list[str]
    splits: list[Split]
    settings: Options
    sheet: pd.DataFrame
    taken: Mapping[str, pd.DataFrame | str]  # estimates of each measure, or why there are none
    summary: Summary
    gold: str | None
    given: Mapping[str, Any]  # the arguments that make the page again
    models: tuple[Model, ...] = ()
    peers: pd.DataFrame | None = None  # pairs of judges, by the coefficient in which they are compared with people

    @property
    def measured(self) -> pd.DataFrame:
        """The rows that are measured."""
        rows: pd.DataFrame = self.study.data.to_native()
        return rows

    @property
    def shown(self) -> dict[str, pd.DataFrame]:
        """Estimates of the measures that a datasheet does not hold."""
        return {m: r for m, r in self.taken.items() if isinstance(r, pd.DataFrame) and not measures()[m].sheet}

    def of_shown(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Estimates without those of judges that the page leaves out."""
        if not self.summary.left_out or "judge" not in rows.columns:
            return rows
        judges = self.sheet.loc[whose(self.sheet).isin(self.summary.judges), "judge"].astype(str)
        return rows[rows["judge"].astype(str).isin(["", *judges.unique()])]


def _named_by_judge(sheet: pd.DataFrame, asked: Sequence[str]) -> pd.DataFrame:
    """A datasheet without the conditions of which each judge has one: they are no part of its name."""
    ways = [w for w in WAYS if w in sheet.columns and w not in asked]
    alone = [w for w in ways if (sheet.groupby("judge", dropna=False)[w].nunique(dropna=False) == 1).all()]
    return sheet.drop(columns=alone)


@engine_errors
def measure_all(
    data: IntoFrame,
    *,
    by: By = (),
    cluster: Cluster = "auto",
    identity: Mapping[str, str] | None = None,
    humans: Humans | None = None,
    gold: str | None = None,
    baseline: Baseline | None = None,
    sampling: Sampling | None = None,
    seed: int = SEED,
    conf_level: float = CONF_LEVEL,
    n_resamples: int = N_RESAMPLES,
    title: str | None = None,
    models: Models | None = None,
    say: Callable[[str], None] = quiet,
) -> PageData:
    """Measure everything that a page shows; the arguments are those of :func:`report`. `say`: called with each step."""
    say("Checking the rows")
    confidence(conf_level)
    fitted: tuple[Model, ...] = ()
    if models is not None:
        from judgestats.reporting.fitted import described  # loads all of judgestats.models

        fitted = described(models, conf_level)
    if sampling is not None:
        choose(sampling, get_args(Sampling), "sampling")
    whole = Study.whole(data)
    kind = kind_of(whole.names)
    refuse(whole.faults, whole.data, kind)
    groups = [g for g in grouping(by, whole.names) if g != "judge"]
    splits = splits_of(whole, [*KEYS, *groups]) if kind == "ratings" else []
    groups += [s.column for s in splits]
    findings = whole.check()
    options: dict[str, Any] = {
        "by": groups,
        "cluster": cluster,
        "identity": dict(identity) if identity else None,
        "seed": seed,
        "conf_level": conf_level,
        "n_resamples": n_resamples,
    }
    asked = {"humans": humans, "gold": gold, "baseline": baseline, "sampling": sampling, "title": title}
    known = references(whole, humans, gold, baseline)
    everybody, renamed = _renamed(pd.concat([known.models, known.people]) if known.humans else known.models, groups)
    measured, people = everybody.iloc[: len(known.models)], of_people(everybody.iloc[len(known.models) :])
    settings = Options(
        tuple(renamed), identity or {}, cluster, n_resamples, seed, conf_level, people if known.humans else None,
        known.baseline, sampling or "",
    )  # fmt: skip
    say("Datasheets")
    study = known.study if renamed == groups else Study.of(measured)
    sheet = _named_by_judge(sheet_of(study, settings), renamed)
    taken = attempts(study, settings, shown_measures(sheet), lambda name: say(f"Measures: {name}"))
    peers: Any = None
    if known.humans:
        peers = concordances(study, settings.by) if kind == "ratings" else taken.get("kappa")
    say("Comparing the judges")
    summary = summarise(study, kind, sheet, taken, findings, settings, title)
    return PageData(
        study, kind, known, findings, groups, splits, settings, sheet, taken, summary, gold,
        {**options, **{k: v for k, v in asked.items() if v}}, fitted,
        peers if isinstance(peers, pd.DataFrame) else None,
    )  # fmt: skip


def write_report(
    found: PageData,
    path: str | os.PathLike[str],
    outputs: MarkedOutputs,
    source: Any = None,
    say: Callable[[str], None] = quiet,
    *,
    to: str = "",
    command: str = "",
) -> Path:
    """Write a page as Markdown or HTML, by `to` or else by the ending; `command`: as typed in a shell, if so."""
    say("Writing the page")
    to = to or ("md" if Path(path).suffix.lower() == ".md" else "html")
    return outputs.write(path, as_markdown(found, command) if to == "md" else as_html(found, source, command))


def as_html(found: PageData, source: Any = None, command: str = "") -> str:
    """The page as HTML."""
    level, summary, shown = found.settings.conf_level, found.summary, found.shown
    sheet = found.of_shown(found.sheet)
    parts = chapters(shown, level, found.of_shown, summary.left_out)
    drawn_here = {"Do they agree?": [
        *between_judges(found.measured, found.kind, found.taken, found.settings),
        *beside_people(found.taken, found.peers, found.settings),
    ]}  # fmt: skip
    where = "Do they agree?" if found.kind == "ratings" else "Is it fair?"
    drawn_here[where] = [
        *drawn_here.get(where, []),
        *pictures(found.measured, found.kind, sheet, found.settings, summary.left_out),
    ]
    axes = _axes(found)
    sections: list[dict[str, Any]] = []
    for title in PARTS:
        here = {
            "title": title, "id": anchor(title), "kind": "chapters", "axes": axes.get(title, []),
            "pictures": drawn_here.get(title, []),
            "chapters": [p for p in parts if p["where"] == title],
        }  # fmt: skip
        shows = here["axes"] or here["pictures"] or here["chapters"]
        here["note"] = _nothing_known(found) if title == "Is it right?" and not shows else ""
        if shows or here["note"]:
            sections.append(here)
    if found.models:
        shown_models = [{"model": m, "table": estimates_table(m.rows, level, m.name)} for m in found.models]
        sections.append({"title": "Models", "id": "models", "kind": "models", "models": shown_models})
    sections += [
        {"title": "Judge cards", "id": "judge-cards", "kind": "judges"},
        {"title": "Data and method", "id": "data-and-method", "kind": "data"},
    ]
    absent = {m: why for m, why in found.taken.items() if isinstance(why, str)}
    lead = (
        design(found),
        references_in_words(found.known, found.gold),
        how_read(source),
    )
    ways = [*found.groups, *found.sheet.columns.intersection(WAYS)]
    return page(
        "report.html.j2",
        title=summary.title,
        line=summary.line,
        next_step=next_step(found.known, found.sheet, found.kind),
        cards=summary.cards,
        table=comparison(summary),
        many=sum(len(g.judges) for g in summary.groups) > OPEN_ROWS,
        sections=sections,
        pooled=pooled(found.known.models, found.kind, ways),
        separately=shown_separately(found.splits),
        judges=judge_cards(sheet, level),
        left_out=summary.left_out,
        lead=" ".join(t for t in lead if t),
        read=sources(source),
        rows=rows_section(found.findings),
        absent=[[m, measures()[m].question, why] for m, why in absent.items()],
        absent_count=noun(len(absent), "measure"),
        limits=_limits(found),
        cautions=_cautions([t["flag"] for t in (found.sheet, *shown.values(), *(m.rows for m in found.models))]),
        made=_made(found, source, command),
        cite=CITE,
        csv=_packed(found),
    )


def _nothing_known(found: PageData) -> str:
    """A line on data that cannot show whether a verdict is right; empty where they can."""
    if found.summary.against:
        return ""
    what = "verdict" if answer_column(found.measured.columns) == "correct" or found.kind == "preferences" else "score"
    if found.known.humans:
        return (
            f"The judges are not compared with people ({found.summary.without_people}), and no right answer is known: "
            f"nothing here says whether a {what} is right."
        )
    return (
        f"No right answer is known, and no judge is named as a person: nothing here says whether a {what} is right. "
        "Add right answers (gold=) or people (humans=)."
    )


def as_markdown(found: PageData, command: str = "") -> str:
    """The page as Markdown: the summary, the comparison, the datasheets, and what is not supported."""
    summary = found.summary
    lines = [f"# {markdown_text(summary.title)}", "", markdown_text(summary.line), ""]
    lines += [f"- **{c.head}**: {markdown_text(c.claim)}. {markdown_text(c.detail)}." for c in summary.cards]
    for g in summary.groups if summary.columns else ():
        lines += ["", f"## {markdown_text(g.about)}", "", markdown_table(*plain_comparison(summary, g.judges))]
    lines += ["", summary.note] if summary.note else []
    lines += ["", "## Datasheets", "", *([f"{markdown_text(summary.left_out)}", ""] if summary.left_out else [])]
    lines += [to_markdown(found.of_shown(found.sheet))]
    lines += ["", "## Models"] if found.models else []
    for m in found.models:
        heads, rows = _plain_estimates(m.rows, found.settings.conf_level)
        lines += ["", f"### {markdown_text(m.name)}", "", markdown_text(m.line), "", markdown_table(heads, rows)]
    absent = [(m, why) for m, why in found.taken.items() if isinstance(why, str)]
    if absent:
        lines += ["", "## Not supported by these data", "", *(f"- `{m}`: {markdown_text(why)}" for m, why in absent)]
    lines += ["", "## Method", "", *(f"- {t}" for t in _limits(found))]
    lines += ["", "## How to make it again", "", "~~~python", str(visible(_call(found))), "~~~"]
    lines += ["", "~~~sh", str(visible(command)), "~~~"] if command else []
    lines += [""]
    return "\n".join(lines)


def _plain_estimates(rows: pd.DataFrame, conf_level: float) -> tuple[list[str], list[list[str]]]:
    """Heads and rows of a table of estimates as text."""
    table = estimates_table(rows, conf_level)
    heads = [*table["labels"], "measure", "estimate", f"{table['level']} interval", "n", *table["beside"]]
    cells = [
        [*r["labels"], r["measure"], r["value"], r["interval"], r["n"], *r["beside"]] for r in table["rows"]
    ]  # fmt: skip
    return heads, cells


def plain_comparison(summary: Summary, judges: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """Heads and rows of the comparison as text."""
    rows = [
        [j, *(" (".join(filter(None, c.text(j))) + ")" * bool(c.text(j)[1]) for c in summary.columns)] for j in judges
    ]
    return ["judge", *(c.label for c in summary.columns)], rows


def comparison(summary: Summary) -> dict[str, Any]:
    """The table of all judges, by groups that judged the same things."""
    width = 120 if len(summary.columns) < 4 else 72
    groups = [
        {
            "about": g.about,
            "width": width,
            "rows": [{"judge": j, "cells": [_compared(c, j, width) for c in summary.columns]} for j in g.judges],
        }
        for g in summary.groups
    ]
    columns = [
        {
            "label": c.label, "note": c.note, "line": c.line,
            "sort": "none" if i else "ascending" if c.lower_is_better else "descending",
        }
        for i, c in enumerate(summary.columns)
    ]  # fmt: skip
    return {"groups": groups, "columns": columns, "note": summary.note}


def _compared(column: Column, judge: str, width: int = 120) -> dict[str, Any]:
    cell = column.cells.get(judge)
    value, ends = column.text(judge)
    if cell is None:
        return {"value": value, "interval": "", "bar": None, "sort": "", "hover": "not measured"}
    start, end = column.ends
    at = float(cell["estimate"])
    drawn_bar = bar(
        at, float(cell["conf_low"]), float(cell["conf_high"]), start=start, end=end,
        mark=column.reference if math.isfinite(column.reference) else None, width=width,
    )  # fmt: skip
    parts = [f"n = {count(float(cell['n']))}", str(cell.get("method", "")), str(cell.get("flag", ""))]
    hover = "; ".join(p for p in parts if p)
    return {"value": value, "interval": ends, "bar": drawn_bar, "sort": f"{at:.10g}", "hover": hover}


def _axes(found: PageData) -> dict[str, list[dict[str, Any]]]:
    """Panels of one axis each: paired differences and tasks under right, the biases under fair."""
    summary = found.summary
    made: dict[str, list[dict[str, Any]]] = {}
    right = summary.differences.get("right")
    if right is not None and len(right.means) > 1:
        form = next(
            (c.form for c in summary.columns if c.term in ("accuracy", "agreement", "target_sensitivity")), "score"
        )
        judges = {*summary.judges}
        others = [str(j) for j in right.means["judge"].iloc[1:] if j in judges]
        cells = {j: d for j in others if (d := right.difference(right.best, j)) is not None}
        cells = {j: {**d, "method": right.method, "flag": ""} for j, d in cells.items()}
        if cells:
            column = Column(
                "difference", f"{right.best} minus this judge", "on the things that both judged",
                "points" if form == "share" else "score", cells, reference=0.0,
            )  # fmt: skip
            note = f"Intervals hold for all {count(len(right.pairs))} pairs of judges at once: {right.method}."
            made.setdefault("Is it right?", []).append(
                _axis("Paired differences from the best", note, [column], others)
            )
    if summary.tasks:
        note = f"Intervals of each judge and task alone. {summary.left_out}".strip()
        made.setdefault("Is it right?", []).append(_axis("By task", note, list(summary.tasks), summary.judges))
    for label, note, column in summary.biases:
        known = [j for j in column.cells if not summary.left_out or j in summary.judges]
        ordered = sorted(known, key=lambda j, c=column: (-float(c.cells[j]["estimate"]), j))  # type: ignore[misc]
        made.setdefault("Is it fair?", []).append(_axis(label, f"{note} {summary.left_out}".strip(), [column], ordered))
    return made


def _axis(label: str, note: str, columns: Sequence[Column], judges: Sequence[str]) -> dict[str, Any]:
    width = 160 if len(columns) <= FEW_COLUMNS else 84
    rows = [{"judge": j, "cells": [_compared(c, j, width) for c in columns]} for j in judges]
    return {
        "label": label,
        "width": width,
        "note": note,
        "columns": [{"label": c.label, "note": c.note} for c in columns],
        "rows": rows,
    }


def _packed(found: PageData) -> dict[str, str]:
    """All estimates of the page as one CSV, compressed, for the button that saves it."""
    parts = [found.sheet.assign(measure="datasheet").drop(columns=["meaning", "denominator", "symbol", "level"])]
    parts += [result.assign(measure=name) for name, result in found.shown.items()]
    parts += [
        s.pairs.assign(measure=f"difference, {name}", method=s.method) for name, s in found.summary.differences.items()
    ]
    parts += [m.rows.assign(measure=f"model, {m.name}") for m in found.models]
    if found.peers is not None and "kappa" not in found.shown:
        parts += [found.peers.assign(measure="concordance of judges")]
    table = pd.concat([p for p in parts if len(p)], ignore_index=True)
    table = table[["measure", *(c for c in table.columns if c != "measure")]]
    short = {c: [f"{v:.8g}" if v == v else None for v in table[c]] for c in table.select_dtypes("float")}
    packed = gzip.compress(as_csv(table.assign(**short)).encode("utf-8", "replace"), 9, mtime=0)
    return {"name": "estimates.csv", "size": noun(len(table), "estimate"), "packed": b64encode(packed).decode()}


def _renamed(frame: pd.DataFrame, groups: list[str]) -> tuple[pd.DataFrame, list[str]]:
    """Frame and groups under names that a datasheet does not use for its own columns."""
    names = {g: f"{g} of the run" for g in groups if g in BEFORE}
    return frame.rename(columns=names), [names.get(g, g) for g in groups]


def files_read(source: Any) -> list[str]:
    """Paths of the files in a `source` of :func:`report`."""
    table = source.get("files") if isinstance(source, Mapping) else source
    return list(getattr(table, "attrs", {}).get(PATHS, ()))


def judge_cards(sheet: pd.DataFrame, conf_level: float) -> list[dict[str, Any]]:
    """A card of each judge: its headline rows, and all rows folded; the cards are folded where there are many."""
    who = whose(sheet)
    judges = list(dict.fromkeys(who))
    rows_of = who.groupby(who, sort=False).indices
    types = _judge_types(sheet, who)
    cards = []
    for judge in judges:
        rows = sheet.iloc[rows_of[judge]]
        main = estimates_table(headline_rows(rows).assign(judge=judge)[["detail", *COLUMNS]], conf_level)
        top = [f"{r['measure']} {r['value']}" for r in main["rows"][:2]]
        cards.append(
            {
                "judge": judge, "type": types.get(judge), "open": len(judges) <= OPEN, "headline": ", ".join(top),
                "main": {**main, "about": f"main rows of {judge}"}, "size": noun(len(rows), "row"),
                "sheet": datasheet_rows(rows, judge, conf_level),
            }
        )  # fmt: skip
    return cards


def _judge_types(sheet: pd.DataFrame, who: pd.Series[Any]) -> dict[str, dict[str, str]]:
    """Type of each judge whose dark current and classes were measured."""
    if "dark current" not in set(sheet["section"]):
        return {}
    rows = sheet[sheet["section"].isin(["dark current", "Δ0"])]
    rows = rows.assign(judge=who.loc[rows.index], vacuum_kind=rows["detail"].where(rows["term"] == "dark_current", ""))
    return {r["judge"]: _judge_type(r) for r in profile(rows).to_dict("records")}


def _judge_type(r: Mapping[str, Any]) -> dict[str, str]:
    at = profile.__kwdefaults__ or {}
    rule = (
        f"Rule: dark current up to {at['dark']:g} is clean (Class A); raw false preference from {at['high']:g} is "
        "high, and is then named after its "
        f"mechanism where one has {at['dominant']:g} of the two-order commitments. A description, not a test."
    )
    return {"profile": r["profile"], "because": r["because"], "rule": rule}


def _limits(found: PageData) -> list[str]:
    people = bool(found.known.humans)
    limits = [
        *LIMITS,
        (_PEOPLE_LIMIT if people else _RATING_LIMIT)
        if found.kind == "ratings"
        else ("" if "stimulus" in found.measured.columns else _PREFERENCE_LIMIT),
    ]
    return [t for t in limits if t]


def _cautions(marked: Iterable[Iterable[str]]) -> list[dict[str, str]]:
    used = flags.explain(cell for flagged in marked for cell in flagged).drop_duplicates("code")
    return [{"flag": f, "why": why} for f, why in zip(used["flag"], used["explanation"], strict=True)]


def _made(found: PageData, source: Any, command: str) -> dict[str, Any]:
    options = found.given
    shown = {
        **{f"read: {name}": text for name, text in readings(source).items()},
        "judgestats": __version__,
        "seed": str(options["seed"]),
        "interval": f"{100 * options['conf_level']:g} %",
        "resamples": count(options["n_resamples"]),
        "cluster": "none" if options["cluster"] is False else str(options["cluster"]),
    }
    return {"facts": shown, "call": _call(found), "command": command}


def _call(found: PageData) -> str:
    """The call that makes the page again; `data` is the table read, `table` the one that a model was fitted to."""
    given = [f"{k}={v!r}" for k, v in found.given.items() if v not in (None, [], ())]
    if found.models:
        given.append(f"models={{{', '.join(f'{m.name!r}: {m.call}' for m in found.models)}}}")
    return masked(f"judgestats.report(data, {', '.join(given)})")
