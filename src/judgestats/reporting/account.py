"""What was read, what it is, and what became of every row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from judgestats.errors import DesignError
from judgestats.metrics.references import References
from judgestats.reporting.markup import Markup, facts, join, row, table, tag
from judgestats.reporting.words import NONE, count, noun, number
from judgestats.schema import tally
from judgestats.schema.coding import yes_or_no
from judgestats.schema.columns import COUNTS, VOCABULARY, Kind, answer_column
from judgestats.schema.pairing import REPEATED
from judgestats.schema.splitting import Split

#: Files listed one by one.
MOST_FILES = 20
#: Canonical columns that are conditions of a call when they vary.
_CONDITIONS = (
    "strategy",
    "scheme",
    "probe",
    "prompt",
    "bias",
    "task",
    "topic",
    "temperature",
    "condition",
    "tier",
    "domain",
)
#: Those that are ways of judging: pooled over, they hide a difference between instruments.
_WAYS = ("strategy", "scheme", "probe", "prompt", "temperature", "condition")
#: People who are named in the head of a page.
_MOST_PEOPLE = 6
#: A further column with more values than this is no condition but an id.
_MOST_LEVELS = 30


def sources(source: Any) -> Markup:
    """List what was read: a mapping of facts, a table of files, or both (tables among the values of the mapping)."""
    if source is None:
        return tag("p", "The data were given as a table in memory; nothing is known of a file.", class_="muted")
    pairs = dict(source) if isinstance(source, Mapping) else {"files": source}
    told = readings(source)
    tables = [v for v in pairs.values() if isinstance(v, pd.DataFrame)]
    return join([*([facts(told)] if told else []), *(_files(t) for t in tables)])


def readings(source: Any) -> dict[str, str]:
    """Say how the data were read, as far as `source` tells: text for each name, tables left out.

    Examples
    --------
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
    """One sentence about the format and the mapping; empty where `source` tells neither."""
    told = {k: v for k, v in readings(source).items() if k in ("format", "mapping", "labels") and v != NONE}
    parts = [f"as {told['format']}"] if "format" in told else []
    parts += [f"{k}: {told[k]}" for k in ("mapping", "labels") if k in told]
    return f"Read {'; '.join(parts)}." if parts else ""


def _files(files: pd.DataFrame) -> Markup:
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


def account(findings: pd.DataFrame) -> dict[str, int]:
    """Rows in, used and set aside, of a result of :func:`judgestats.check`.

    Examples
    --------
    >>> from judgestats.schema import check
    >>> calls = pd.DataFrame({"judge": "g", "item": ["1", "2"], "first": "x", "second": "y",
    ...                       "choice": ["first", "invalid"]})
    >>> account(check(calls))
    {'rows in': 2, 'rows used': 1, 'rows set aside': 1}
    """
    sums = findings[findings["level"] == "account"]
    return {str(k): int(v) for k, v in zip(sums["what"], sums["n"], strict=True)}


def account_section(findings: pd.DataFrame) -> Markup:
    """Show the sum, and a row for each reason with its first rows and its cure."""
    n = account(findings)
    total, used, aside = n["rows in"], n["rows used"], n["rows set aside"]
    told = [tag("b", count(total)), f" {_rows(total)} in = ", tag("b", count(used)), " used + ", tag("b", count(aside))]
    parts = [tag("p", *told, " set aside", class_="sum"), _bar(used, total)]
    reasons = findings[findings["level"].isin(["set aside", "counted"])]
    if reasons.empty:
        return join([*parts, tag("p", "No row was set aside.")])
    rows = [
        row([r["what"], r["level"], count(r["n"]), _first_rows(r["rows"]), r["cure"]], numbers=(2,))
        for r in reasons.to_dict("records")
    ]
    parts.append(table(["what", "", "rows", "first rows", "what it means"], rows, class_="account", numbers=(2,)))
    note = "Row numbers are those of the table read, from 0."
    if (reasons["level"] == "counted").any():
        note = "Rows that are “counted” are used; they are listed because some measures cannot use them. " + note
    return join([*parts, tag("p", note, class_="small")])


def _bar(used: int, total: int) -> Markup:
    if not total:
        return Markup("")
    share = 100 * used / total
    halves = [tag("span", class_=c, style=f"width:{w:.4f}%") for c, w in (("used", share), ("aside", 100 - share))]
    return tag("div", *halves, class_="bar", role="img", aria_label=f"{share:.1f} percent of the rows used")


def _rows(n: int) -> str:
    return "row" if n == 1 else "rows"


def _first_rows(rows: tuple[int, ...], most: int = 3) -> str:
    return ", ".join(count(r) for r in rows[:most]) + (", …" if len(rows) > most else "")


def design(data: pd.DataFrame, kind: Kind, findings: pd.DataFrame, by: Sequence[str] = ()) -> str:
    """Say the design of a data set in a few sentences; `by` tells calls apart that are else repeats."""
    told = _pairwise(data, findings, by) if kind == "preferences" else _scored(data)
    varying = _varying(data, kind)
    for said, names in (
        ("Conditions that vary", [n for n in varying if n in _CONDITIONS]),
        ("Further columns", [n for n in varying if n not in _CONDITIONS]),
    ):
        listed = ", ".join(f"{name} ({noun(varying[name], 'level')})" for name in names)
        told += f" {said}: {listed}." if listed else ""
    return told if varying else f"{told} No condition varies."


def held_against(known: References, gold: str | None) -> str:
    """Say who the people are, what is taken as right, and what the control conditions are."""
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
            "No number can be estimated from these data: see the account of the rows below, and give the scores or "
            "choices as columns that can be read."
        )
    alone = known.models["judge"].nunique() == 1 and not known.humans and "gold" not in known.models.columns
    if not alone or (kind == "preferences" and "stimulus" in known.models.columns):
        return ""
    what = "the same answers" if kind == "preferences" else "the same things"
    return (
        f"There is one judge and nothing to hold it against: add a second judge or people on {what} (humans=), right "
        "answers (gold=), or repeats, to learn more than how it answers."
    )


def pooled(data: pd.DataFrame, kind: Kind, groups: Sequence[str]) -> Markup:
    """Warn of ways of judging that vary within a datasheet; nothing where there are none."""
    varying = {n: k for n, k in _varying(data, kind).items() if n in _WAYS and n not in groups}
    if not varying:
        return Markup("")
    listed = ", ".join(f"{name} ({noun(k, 'level')})" for name, k in varying.items())
    text = f"Each datasheet pools over {listed}, but where a row says otherwise. To tell them apart, pass "
    return tag("p", tag("b", "Pooled. "), text, tag("code", f"by={list(varying)!r}"), ".", class_="note")


def shown_apart(splits: Sequence[Split]) -> Markup:
    """Say by which columns the datasheets are split though nobody asked; nothing where there are none."""
    if not splits:
        return Markup("")
    listed = "; ".join(
        f"{s.column} ({noun(len(s.values), 'value')}{', with ' * bool(s.alike)}{' and '.join(s.alike)})" for s in splits
    )
    text = f"One judge rated one thing under several values of {listed}: an average over them would describe none."
    return tag("p", tag("b", "Shown apart. "), text, class_="note")


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
    """Say what is repeated, as a tally of pairs sees it."""
    numbered = data["replicate"].nunique() if "replicate" in data.columns else 1
    told = [f"Up to {numbered} repeats of a call."] if numbered > 1 else []
    if _has_repeats(data):
        if by and not _has_repeats(data, by):
            told.append(f"Some calls repeat others, and only {', '.join(by)} tells them apart.")
        else:
            told.append("Some calls repeat others without a number in replicate.")
    if COUNTS in data.columns and (pd.to_numeric(data[COUNTS]) > 1).any():
        told.append("Some rows stand for several identical calls.")
    return " ".join(told) or "No call is repeated."


def _has_repeats(data: pd.DataFrame, by: Sequence[str] = ()) -> bool:
    """Whether pairs cannot be counted because calls repeat; an order that is not known is taken as it stands."""
    columns = [c for c in data.columns if c != "order_known"]
    try:
        tally(data[columns], "consistency", by=list(by), cluster=False)
    except DesignError as error:
        return REPEATED in str(error)
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
    """Conditions with more than one level: known ones, and further columns that have few, measurements apart."""
    known = {c.name for c in VOCABULARY[kind]}
    found = {}
    for name in data.columns:
        if name not in _CONDITIONS and (name in known or pd.api.types.is_float_dtype(data[name])):
            continue
        try:
            levels = int(data[name].nunique())
        except TypeError:  # lists and dicts
            continue
        if levels > 1 and (name in _CONDITIONS or levels <= _MOST_LEVELS):
            found[str(name)] = levels
    return found


def head(kind: str, title: str, told: str) -> Markup:
    """Head of a page."""
    return join([tag("p", kind, class_="kicker"), tag("h1", title), tag("p", told, class_="lead")])
