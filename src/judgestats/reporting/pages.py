"""The page of a data set, section by section: :func:`report`."""

from __future__ import annotations

import math
import os
import secrets
import shutil
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, get_args

import narwhals.stable.v2 as nw
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats import __version__
from judgestats.defaults import CONF_LEVEL, N_RESAMPLES, SEED
from judgestats.errors import DesignError, choose
from judgestats.ingest.provenance import PATHS
from judgestats.metrics.bias.corrected import Sampling
from judgestats.metrics.datasheets.sheets import BEFORE, WAYS, profile, sheet_of
from judgestats.metrics.measure_registry import SECTIONS, Measure, Options, attempts, measures
from judgestats.metrics.references import CONTROLLED, Baseline, Humans, References, of_people, references
from judgestats.reporting import plots
from judgestats.reporting.formatting import NONE, count, estimate, in_words, interval, is_whole, noun, number
from judgestats.reporting.markup import Markup, anchor, document, facts, join, row, table, tag
from judgestats.reporting.pictures import drawing, pictures
from judgestats.reporting.plots.canvas import whose
from judgestats.reporting.sheets import datasheet_table, drawn, flag_marks, non_claims, overview, shown_measures
from judgestats.results import COLUMNS, explain
from judgestats.schema import check, kind_of, tally
from judgestats.schema.clustering import Cluster
from judgestats.schema.coding import yes_or_no
from judgestats.schema.columns import CONDITIONS, COUNTS, VOCABULARY, By, Kind, answer_column, grouping
from judgestats.schema.opening import opened
from judgestats.schema.pairing import REPEATED
from judgestats.schema.splitting import KEYS, Split, splits_of
from judgestats.schema.validation import raise_faults

# ---- What was read, the design of the data, rows used and excluded ---------------------------------------------------

#: Files listed one by one.
MOST_FILES = 20
#: Conditions over which pooling hides a difference between instruments.
_WAYS = (*CONTROLLED, "temperature")
#: People who are named in the head of a page.
_MOST_PEOPLE = 6
#: A further column with more values than this is an id, not a condition.
_MOST_LEVELS = 30


def sources(source: Any) -> Markup:
    """List what was read: a mapping of facts, a table of files, or both (tables among the values of the mapping)."""
    if source is None:
        return tag("p", "The data were given as a table in memory, not as a file.", class_="muted")
    pairs = dict(source) if isinstance(source, Mapping) else {"files": source}
    pairs_read = readings(source)
    tables = [v for v in pairs.values() if isinstance(v, pd.DataFrame)]
    return join([*([facts(pairs_read)] if pairs_read else []), *(_file_table(t) for t in tables)])


def readings(source: Any) -> dict[str, str]:
    """How the data were read, as far as `source` records it: text for each name, tables left out.

    >>> readings({"format": "csv", "mapping": {"judge": "rater"}, "labels": {"A": "first"}, "rows": 8})
    {'format': 'csv', 'mapping': 'judge = rater', 'labels': 'A = first', 'rows': '8'}
    """
    pairs = source if isinstance(source, Mapping) else {}
    return {str(k): _reading(v) for k, v in pairs.items() if not isinstance(v, pd.DataFrame)}


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


def _file_table(files: pd.DataFrame) -> Markup:
    columns = [str(c) for c in files.columns]
    whole = [i for i, c in enumerate(files.columns) if pd.api.types.is_numeric_dtype(files[c])]
    shown = files.head(MOST_FILES)
    rows = [
        row([_cell(columns[i], v, i in whole) for i, v in enumerate(values)], numbers=whole)
        for values in shown.itertuples(index=False, name=None)
    ]
    rest = len(files) - len(shown)
    more = tag("p", f"And {noun(rest, 'file')} more.", class_="muted small") if rest else ""
    return join([table(columns, rows, class_="files", numbers=whole), more])


def _cell(name: str, value: Any, is_number: bool) -> Any:
    if pd.isna(value) or value == "":
        return NONE
    if name == "sha256":
        return tag("span", value, class_="hash")
    return count(float(value)) if is_number else value


def row_sums(findings: pd.DataFrame) -> dict[str, int]:
    """Rows in, used and excluded, of a result of :func:`judgestats.check`.

    >>> from judgestats.schema import check
    >>> calls = pd.DataFrame({"judge": "g", "item": ["1", "2"], "first": "x", "second": "y",
    ...                       "choice": ["first", "invalid"]})
    >>> row_sums(check(calls))
    {'rows in': 2, 'rows used': 1, 'rows excluded': 1}
    """
    sums = findings[findings["level"] == "rows"]
    return {str(k): int(v) for k, v in zip(sums["what"], sums["n"], strict=True)}


def rows_section(findings: pd.DataFrame) -> Markup:
    """The sums, and a row for each reason with its first rows and its remedy."""
    n = row_sums(findings)
    total, used, excluded = n["rows in"], n["rows used"], n["rows excluded"]
    sums = [
        tag("b", count(total)),
        f" {_rows(total)} in = ",
        tag("b", count(used)),
        " used + ",
        tag("b", count(excluded)),
    ]
    parts = [tag("p", *sums, " excluded", class_="sum"), _bar(used, total)]
    reasons = findings[findings["level"].isin(["excluded", "counted"])]
    if reasons.empty:
        return join([*parts, tag("p", "No row was excluded.")])
    rows = [
        row([r["what"], r["level"], count(r["n"]), r["where"] or _first_rows(r["rows"]), r["cure"]], numbers=(2,))
        for r in reasons.to_dict("records")
    ]
    parts.append(table(["what", "", "rows", "first rows", "what it means"], rows, class_="findings", numbers=(2,)))
    note = "Row numbers are those of the table read, from 0." if (reasons["where"] == "").any() else ""
    if (reasons["level"] == "counted").any():
        note = "Rows that are “counted” are used; they are listed because some measures cannot use them. " + note
    return join([*parts, tag("p", note.strip(), class_="small")] if note else parts)


def _bar(used: int, total: int) -> Markup:
    if not total:
        return Markup("")
    share = 100 * used / total
    halves = [tag("span", class_=c, style=f"width:{w:.4f}%") for c, w in (("used", share), ("excluded", 100 - share))]
    return tag("div", *halves, class_="bar", role="img", aria_label=f"{share:.1f} percent of the rows used")


def _rows(n: int) -> str:
    return "row" if n == 1 else "rows"


def _first_rows(rows: tuple[int, ...], most: int = 3) -> str:
    return ", ".join(count(r) for r in rows[:most]) + (", …" if len(rows) > most else "")


def design(data: pd.DataFrame, kind: Kind, findings: pd.DataFrame, by: Sequence[str] = ()) -> str:
    """The design of a data set in a few sentences; calls that differ in `by` are not repeats."""
    text = _pairwise(data, findings, by) if kind == "preferences" else _scored(data)
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


def pooled(data: pd.DataFrame, kind: Kind, groups: Sequence[str]) -> Markup:
    """A note on conditions that vary within a datasheet, if any."""
    varying = {n: k for n, k in _varying(data, kind).items() if n in _WAYS and n not in groups}
    if not varying:
        return Markup("")
    listed = ", ".join(f"{name} ({noun(k, 'level')})" for name, k in varying.items())
    text = f"Each datasheet pools over {listed}, unless a row says otherwise. To separate them, pass "
    return tag("p", tag("b", "Pooled. "), text, tag("code", f"by={list(varying)!r}"), ".", class_="note")


def shown_separately(splits: Sequence[Split]) -> Markup:
    """A note on columns that split the datasheets though not named in `by`, if any."""
    if not splits:
        return Markup("")
    listed = "; ".join(
        f"{s.column} ({noun(len(s.values), 'value')}{', with ' * bool(s.alike)}{' and '.join(s.alike)})" for s in splits
    )
    text = f"One judge rated one thing under several values of {listed}: an average would describe none of them."
    return tag("p", tag("b", "Shown separately. "), text, class_="note")


def _pairwise(data: pd.DataFrame, findings: pd.DataFrame, by: Sequence[str]) -> str:
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
    parts.append(_repeats(data, by))
    known = int(data["gold"].notna().sum()) if "gold" in data.columns else 0
    parts.append(f"The right answer is known in {noun(known, 'row')}." if known else "No right answer is known.")
    if "stimulus" in data.columns:
        kinds = data["stimulus"].astype(object).value_counts(sort=False)
        parts.append(
            "Datasheet design: "
            + ", ".join(f"{k} ({count(v)})" for k, v in sorted(kinds.items(), key=lambda kv: str(kv[0])))
            + "."
        )
    return " ".join(parts)


def _repeats(data: pd.DataFrame, by: Sequence[str]) -> str:
    """Repeated calls, as a tally of pairs counts them."""
    numbered = data["replicate"].nunique() if "replicate" in data.columns else 1
    parts = [f"Up to {numbered} repeats of a call."] if numbered > 1 else []
    if _has_repeats(data):
        if by and not _has_repeats(data, by):
            parts.append(f"Some calls repeat others, and differ only in {', '.join(by)}.")
        else:
            parts.append("Some calls repeat others without a number in replicate.")
    if COUNTS in data.columns and (pd.to_numeric(data[COUNTS]) > 1).any():
        parts.append("Some rows stand for several identical calls.")
    return " ".join(parts) or "No call is repeated."


def _has_repeats(data: pd.DataFrame, by: Sequence[str] = ()) -> bool:
    """Whether pairs cannot be counted because calls repeat; a column `order_known` is ignored."""
    columns = [c for c in data.columns if c != "order_known"]
    try:
        tally(data[columns], "consistency", by=list(by), cluster=False)
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
        verdict = yes_or_no(data[value])
        most = data["replicate"].nunique() if "replicate" in data.columns else 1
        again = f"Up to {most} runs of a verdict." if most > 1 else "No verdict is repeated."
        shares = ", ".join(
            f"{number(100 * float(verdict.eq(answer).mean()), 1)} % {word}"
            for word, answer in (("right", True), ("wrong", False))
        )
        return f"Right or wrong: {', '.join(counts)}; {count(float(len(data)))} verdicts, {shares}. {again}"
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


def head(kind: str, title: str, lead: str) -> Markup:
    """Head of a page."""
    return join([tag("p", kind, class_="kicker"), tag("h1", title), tag("p", lead, class_="lead")])


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


def chapters(results: Mapping[str, pd.DataFrame], conf_level: float) -> dict[str, Markup]:
    """Title -> content of each section with estimates of a measure; `conf_level` is the coverage of their intervals."""
    shown = [(record, results[name]) for name, record in measures().items() if name in results]
    sections = {
        title: join(_part(record, result, conf_level) for record, result in shown if record.section == section)
        for section, title in SECTIONS.items()
    }
    return {title: content for title, content in sections.items() if content}


def _part(record: Measure, result: pd.DataFrame, conf_level: float) -> Markup:
    head = tag("h3", record.question, " ", tag("code", record.name))
    picture = Markup("")
    if record.caption:
        draw = partial(getattr(plots, record.plot.partition(",")[0]), result)
        title = record.question.rstrip("?")
        made = [*drawing(record.name.replace("_", "-"), title, record.caption, draw, wide=True)]
        picture = tag("div", *made, class_="figures") if made else picture
    rows = result[result["term"].isin(record.table)] if record.table else result
    return join([head, picture, _folded(rows, conf_level, record.name)])


def _folded(rows: pd.DataFrame, conf_level: float, measure: str) -> Markup:
    shown = estimates_table(rows.head(MOST), conf_level, measure)
    if len(rows) > MOST:
        rest = f"{noun(len(rows) - MOST, 'row')} more: "
        shown = join([shown, tag("p", rest, tag("code", f"judgestats.{measure}(data)"), class_="small")])
    if len(rows) <= OPEN_ROWS:
        return shown
    return tag("details", tag("summary", "The numbers ", tag("span", noun(len(rows), "row"), class_="muted")), shown)


def estimates_table(rows: pd.DataFrame, conf_level: float, measure: str = "") -> Markup:
    """Table of tidy estimates of any measure: labels of the row, the measure, the estimate with its interval, cautions.

    `rows`: tidy estimates. `conf_level`: coverage of their intervals. `measure`: what was measured: some terms
    differ between measures.
    """
    names = [c for c in rows.columns if c not in COLUMNS and c not in _BESIDE and _names_rows(rows[c])]
    beside = {c: head for c, head in _BESIDE.items() if c in rows.columns and rows[c].notna().any()}
    heads = [*(c.replace("_", " ") for c in names), "measure", "estimate", f"{100 * conf_level:g} % interval", "", "n"]
    body = []
    for r in rows.to_dict("records"):
        cells: list[object] = [_label(r[c]) for c in names]
        decimals = 0 if is_whole(r["term"]) else 3
        ends = [tag("span", interval(r["conf_low"], r["conf_high"], decimals=decimals), class_="interval")]
        ends += [tag("span", r["method"], class_="method")] if r["method"] else []
        value = tag("span", estimate(r["estimate"], r["flag"], decimals=decimals), class_="value")
        cells += [
            in_words(r["term"], measure, r.get("threshold", math.nan)),
            value,
            join(ends),
            drawn(r),
            count(r["n"]),
        ]
        cells += [_value(r[c]) for c in beside]
        body.append(row([*cells, flag_marks(r["flag"])], numbers=(len(names) + 1,)))
    return table([*heads, *beside.values(), "caution"], body, class_="sheet", numbers=(len(names) + 1,))


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
        return NONE if math.isnan(value) else "< 0.001" if 0 <= value < 0.001 else number(value, 3)
    return _label(value)


# ---- The page of a data set: :func:`report` --------------------------------------------------------------------------

#: With more judges than this, their datasheets are folded.
OPEN = 3
LIMITS = (
    "Intervals allow for calls that share an item or a task, unless a flag states otherwise.",
    "No number is corrected for the number of judges or measures compared.",
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
) -> Path:
    """Write one self-contained HTML page about a data set: what was read, and the datasheet of each judge.

    Parameters
    ----------
    data : frame
        A canonical frame, preferences or ratings, in any engine Narwhals knows.
    path : path
        File to write; its folder is made.
    by : str or sequence of str
        Further grouping columns: a datasheet for each judge and group. Columns that split ratings (rows that are equal
        in judge, system, item, criterion and replicate differ in them) are grouping columns in any case.
    title : str, optional
        Title of the page.
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

    Returns
    -------
    pathlib.Path
        The file. The same data and arguments give the same bytes: it contains no time of day.

    Raises
    ------
    SchemaError
        If `data` is not a canonical frame, or has faults.
    DesignError
        If `path` is a folder, one of the files in `source`, or cannot be written; if a name in `humans`,
        `gold` or `baseline` does not occur; if `sampling` is neither of the two.

    Examples
    --------
    >>> import tempfile
    >>> calls = pd.DataFrame({"judge": "g", "item": ["1", "1"], "first": ["x", "y"], "second": ["y", "x"],
    ...                       "choice": ["first", "second"]})
    >>> page = report(calls, Path(tempfile.mkdtemp()) / "report.html")
    >>> "same verdict in both orders" in page.read_text(encoding="utf-8")
    True
    """
    refuse_path(path, _files(source))
    if sampling is not None:
        choose(sampling, get_args(Sampling), "sampling")
    frame = opened(data).lazy().collect(backend="pandas").to_native()
    frame.attrs = dict(getattr(data, "attrs", {}))
    kind = kind_of(frame.columns)
    raise_faults(nw.from_native(frame, eager_only=True), kind)
    groups = [g for g in grouping(by, list(frame.columns)) if g != "judge"]
    splits = splits_of(frame, [*KEYS, *groups]) if kind == "ratings" else []
    groups += [s.column for s in splits]
    findings = check(frame)
    options: dict[str, Any] = {
        "by": groups,
        "cluster": cluster,
        "identity": dict(identity) if identity else None,
        "seed": seed,
        "conf_level": conf_level,
        "n_resamples": n_resamples,
    }
    asked = {"humans": humans, "gold": gold, "baseline": baseline, "sampling": sampling}
    known = references(frame, humans, gold, baseline)
    everybody, renamed = _renamed(pd.concat([known.models, known.people]), groups)
    measured, people = everybody.iloc[: len(known.models)], of_people(everybody.iloc[len(known.models) :])
    title = title or "Judge datasheet"
    settings = Options(
        tuple(renamed), identity or {}, cluster, n_resamples, seed, conf_level, people if known.humans else None,
        known.baseline, sampling or "",
    )  # fmt: skip
    sheet = sheet_of(measured, settings)
    taken = attempts(measured, settings, besides=shown_measures(sheet))
    shown = {m: r for m, r in taken.items() if isinstance(r, pd.DataFrame) and not measures()[m].sheet}
    sections = {
        "What was read": _read(source, findings),
        "At a glance": overview(sheet, conf_level) if whose(sheet).nunique() > 1 else Markup(""),
        "Pictures": pictures(measured, kind, sheet, settings),
        "Datasheets": join(
            [
                pooled(known.models, kind, [*groups, *sheet.columns.intersection(WAYS)]),
                shown_separately(splits),
                datasheets(sheet, conf_level),
            ]
        ),
        **chapters(shown, conf_level),
        "What this page does not show": _not_shown(measured, kind, sheet, taken, shown, bool(known.humans)),
        "How it was made": _made({**options, **{k: v for k, v in asked.items() if v}}, source),
    }
    sections = {k: v for k, v in sections.items() if v}
    lead = " ".join(
        t
        for t in (
            next_step(known, sheet, kind),
            design(known.models, kind, findings, groups),
            references_in_words(known, gold),
            how_read(source),
        )
        if t
    )
    top = head("judge datasheet", title, lead)
    return write(path, document(title, top, _contents(sections), _body(sections), foot()))


def _renamed(frame: pd.DataFrame, groups: list[str]) -> tuple[pd.DataFrame, list[str]]:
    """Frame and groups under names that a datasheet does not use for its own columns."""
    names = {g: f"{g} of the run" for g in groups if g in BEFORE}
    return frame.rename(columns=names), [names.get(g, g) for g in groups]


def write(path: str | os.PathLike[str], page: str) -> Path:
    """Write a page whole or not at all, and make its folder: what was there stays until the new page is complete."""
    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        target = path.resolve()  # a link stays a link
        if target.exists() and not target.is_file():  # /dev/stdout, a pipe
            path.write_text(page, encoding="utf-8")
            return path
        draft = target.with_name(f".{target.name[:200]}.{secrets.token_hex(4)}.tmp")
        try:
            with draft.open("x", encoding="utf-8") as file:
                file.write(page)
                file.flush()
                os.fsync(file.fileno())
            if target.exists():
                shutil.copymode(target, draft)
            draft.replace(target)
        finally:
            draft.unlink(missing_ok=True)
    except (OSError, RuntimeError) as error:
        why = getattr(error, "strerror", None) or error
        raise DesignError(f"path={str(path)!r} cannot be written: {why}. Name another.") from None
    return path


def refuse_path(path: str | os.PathLike[str], read: Iterable[str | os.PathLike[str]] = ()) -> None:
    """Refuse a folder in place of a file, and a file that was read, under any name, before anything is measured."""
    path = Path(path)
    if path.is_dir():
        raise DesignError(f"path={str(path)!r} is a folder; name a file, such as {str(path / 'report.html')!r}.")
    if any(path.exists() and os.path.exists(file) and path.samefile(file) for file in read):
        raise DesignError(
            f"path={str(path)!r} is a file that was read, and the page would take its place. Name another, such as "
            f"{str(path.with_name('report.html'))!r}."
        )


def _files(source: Any) -> list[str]:
    """Paths of the files in a `source` of :func:`report`."""
    table = source.get("files") if isinstance(source, Mapping) else source
    return list(getattr(table, "attrs", {}).get(PATHS, ()))


def _contents(sections: Mapping[str, Markup]) -> Markup:
    return tag("nav", tag("ul", *(tag("li", tag("a", name, href=f"#{anchor(name)}")) for name in sections)))


def _body(sections: Mapping[str, Markup]) -> Markup:
    return tag(
        "main", *(tag("section", tag("h2", name), content, id=anchor(name)) for name, content in sections.items())
    )


def foot() -> Markup:
    """Last line of a page."""
    return tag("footer", f"judgestats {__version__}. One file, no scripts, nothing loaded from elsewhere.")


def _read(source: Any, findings: pd.DataFrame) -> Markup:
    return join([sources(source), tag("h3", "Rows used and excluded"), rows_section(findings)])


def datasheets(sheet: pd.DataFrame, conf_level: float) -> Markup:
    """The datasheet of each judge, folded where there are many."""
    who = whose(sheet)
    judges = list(dict.fromkeys(who))
    types = _judge_types(sheet, who)
    parts = [
        tag(
            "p",
            "Each row is one number: what it measures, the estimate with its interval and its method, what it is a "
            "share of, which direction is worse, and cautions.",
            class_="muted",
        )
    ]
    for judge in judges:
        rows = sheet[who == judge]
        content = join([types.get(judge, ""), datasheet_table(rows, conf_level)])
        if len(judges) == 1:
            parts += [tag("h3", judge), content]
        else:
            size = tag("span", noun(len(rows), "row"), class_="muted")
            parts.append(tag("details", tag("summary", judge, size), content, open=len(judges) <= OPEN))
    return join([*parts, non_claims()])


def _judge_types(sheet: pd.DataFrame, who: pd.Series[Any]) -> dict[str, Markup]:
    """Type of each judge whose dark current and classes were measured."""
    if "dark current" not in set(sheet["section"]):
        return {}
    rows = sheet[sheet["section"].isin(["dark current", "Δ0"])]
    rows = rows.assign(judge=who.loc[rows.index], vacuum_kind=rows["detail"].where(rows["term"] == "dark_current", ""))
    return {r["judge"]: _judge_type(r) for r in profile(rows).to_dict("records")}


def _judge_type(r: Mapping[str, Any]) -> Markup:
    at = profile.__kwdefaults__ or {}
    rule = (
        f"Rule: dark current up to {at['dark']:g} is clean (Class A); raw false preference from {at['high']:g} is "
        "high, and is then named after its "
        f"mechanism where one has {at['dominant']:g} of the two-order commitments. A description, not a test."
    )
    return tag(
        "div",
        tag("p", "Judge type: ", tag("b", r["profile"]), "."),
        tag("p", r["because"], class_="small"),
        tag("p", rule, class_="small"),
        class_="profile",
    )


def _not_shown(
    frame: pd.DataFrame,
    kind: Kind,
    sheet: pd.DataFrame,
    taken: Mapping[str, pd.DataFrame | str],
    shown: Mapping[str, pd.DataFrame],
    people: bool,
) -> Markup:
    absent = {m: why for m, why in taken.items() if isinstance(why, str)}
    parts = []
    if absent:
        rows = [row([tag("code", measure), measures()[measure].question, why]) for measure, why in absent.items()]
        parts += [
            tag("p", f"{noun(len(absent), 'measure')} that these data do not support, and what each would need:"),
            table(["measure", "question", "what is missing"], rows),
        ]
    else:
        parts.append(tag("p", "Every measure of this kind of data is supported, or shown here."))
    limits = [
        *LIMITS,
        (_PEOPLE_LIMIT if people else _RATING_LIMIT)
        if kind == "ratings"
        else ("" if "stimulus" in frame.columns else _PREFERENCE_LIMIT),
    ]
    parts += [tag("h3", "Limits"), tag("ul", *(tag("li", t) for t in limits if t))]
    marked = [sheet["flag"], *(result["flag"] for result in shown.values())]
    used = explain(cell for flags in marked for cell in flags).drop_duplicates("code")
    if len(used):
        named = zip(used["flag"], used["explanation"], strict=True)
        entries = [join([tag("dt", flag), tag("dd", explanation)]) for flag, explanation in named]
        parts += [tag("h3", "Cautions flagged on this page"), tag("dl", *entries, class_="glossary")]
    return join(parts)


def _made(options: Mapping[str, Any], source: Any) -> Markup:
    shown = {
        **{f"read: {name}": text for name, text in readings(source).items()},
        "judgestats": __version__,
        "seed": str(options["seed"]),
        "interval": f"{100 * options['conf_level']:g} %",
        "resamples": count(options["n_resamples"]),
        "cluster": "none" if options["cluster"] is False else str(options["cluster"]),
    }
    given = ", ".join(f"{k}={v!r}" for k, v in options.items() if v not in (None, [], ()))
    return join([facts(shown), tag("pre", tag("code", f"judgestats.report(data, {given})"))])
