"""The design of a data set in sentences, and what to do where the data give little."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from judgestats.counting.pairing import REPEATED
from judgestats.counting.splitting import Split
from judgestats.counting.study import Study
from judgestats.counting.tallies import tally
from judgestats.errors import DesignError
from judgestats.metrics.data_description import answers_given, number_of_calls
from judgestats.metrics.references import References
from judgestats.reporting.formatting import PERCENT, count, noun, number, spaced
from judgestats.reporting.page_data import PageData
from judgestats.reporting.pooled_conditions import pooled_conditions, varying_conditions
from judgestats.schema.columns import CONDITIONS, COUNTS, VERDICTS, Kind, answer_column

#: People who are named in the head of a page.
_MOST_PEOPLE = 6


def design(page: PageData) -> str:
    """The design of a data set in a few sentences; calls that differ in the groups are not repeats."""
    data, kind = page.rows.reference.models, page.rows.kind
    text = _pairs_design(page) if kind == "preferences" else _ratings_design(data)
    varying = varying_conditions(data, kind)
    for heading, names in (
        ("Conditions that vary", [n for n in varying if n in CONDITIONS]),
        ("Further columns", [n for n in varying if n not in CONDITIONS]),
    ):
        listed = ", ".join(f"{name} ({noun(varying[name], 'level')})" for name in names)
        text += f" {heading}: {listed}." if listed else ""
    return text if varying else f"{text} No condition varies."


def references_in_words(reference: References, gold: str | None) -> str:
    """Who the people are, where right answers come from, and what the control conditions are."""
    parts = []
    if reference.humans:
        names = ", ".join(reference.humans[:_MOST_PEOPLE]) + (", …" if len(reference.humans) > _MOST_PEOPLE else "")
        answers = noun(len(reference.people), "answer")
        who = "person is" if len(reference.humans) == 1 else "people are"
        parts.append(f"{count(len(reference.humans))} {who} the reference ({names}; {answers}), and not measured.")
    if gold not in (None, "gold"):
        parts.append(f"Right answers are those of {gold}.")
    parts += [f"The control condition of {column} is “{value}”." for column, value in reference.baseline.items()]
    return " ".join(parts)


def next_step(reference: References, sheet: pd.DataFrame, kind: Kind) -> str:
    """One sentence on what to do where the data give little or nothing: one rater alone, or no number at all."""
    answered = sheet[(sheet["section"] != "validity") & ~sheet["term"].isin(["missing", "invalid"])]
    models = reference.models
    if kind == "preferences":
        rated = bool((models["choice"].astype(str) != "invalid").any())
    elif answer_column(models.columns) == "answer":
        rated = bool(models["answer"].notna().any())
    else:
        rated = bool(answered["estimate"].notna().any())
    if not rated:
        return (
            "No number can be estimated from these data: see the rows used and excluded below, and give the scores or "
            "choices as columns that can be read."
        )
    alone = models["judge"].nunique() == 1 and not reference.humans and not {"gold", "gold_at"} & {*models.columns}
    if not alone or (kind == "preferences" and "stimulus" in reference.models.columns):
        return ""
    what = "the same answers" if kind == "preferences" else "the same items"
    return (
        f"There is one judge and no reference to compare it with: add a second judge or people on {what} (humans=), "
        "right answers (gold=), or repeats, to learn more than how it answers."
    )


def pooled(data: pd.DataFrame, kind: Kind, groups: Sequence[str]) -> dict[str, str] | None:
    """A note on conditions that vary within a datasheet, if any."""
    varying = {n: k for n, k in pooled_conditions(data, kind).items() if n not in groups}
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


def _pairs_design(page: PageData) -> str:
    data, findings = page.rows.reference.models, page.rows.findings
    calls = float(pd.to_numeric(data[COUNTS]).sum()) if COUNTS in data.columns else float(len(data))
    judges, items = data["judge"].nunique(), data["item"].nunique()
    parts = [
        f"Pairwise verdicts: {noun(judges, 'judge')}, {noun(items, 'item')}, {noun(calls, 'call')}.",
        _orders_in_words(data, findings),
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
    parts.append(_repeats_in_words(page))
    gold = data[[c for c in ("gold", "better") if c in data.columns]].notna().any(axis=1).sum()
    parts.append(f"The right answer is known in {noun(int(gold), 'row')}." if gold else "No right answer is known.")
    if "stimulus" in data.columns:
        kinds = data["stimulus"].astype(object).value_counts(sort=False)
        parts.append(
            "Datasheet design: "
            + ", ".join(f"{k} ({count(v)})" for k, v in sorted(kinds.items(), key=lambda kv: str(kv[0])))
            + "."
        )
    return " ".join(parts)


def _repeats_in_words(page: PageData) -> str:
    """Repeated calls, as a tally of pairs counts them."""
    data = page.rows.reference.models
    numbered = data["replicate"].nunique() if "replicate" in data.columns else 1
    parts = [f"Up to {numbered} repeats of a call."] if numbered > 1 else []
    if _calls_repeat(page.rows.study):
        if page.rows.groups and not _calls_repeat(page.rows.study, page.settings.by):
            parts.append(f"Some calls repeat others, and differ only in {', '.join(page.rows.groups)}.")
        else:
            parts.append("Some calls repeat others without a number in replicate.")
    if COUNTS in data.columns and (pd.to_numeric(data[COUNTS]) > 1).any():
        parts.append("Some rows stand for several identical calls.")
    return " ".join(parts) or "No call is repeated."


def _calls_repeat(study: Study, by: Sequence[str] = ()) -> bool:
    """Whether pairs cannot be counted because calls repeat; a column `order_known` is ignored."""
    calls: Any = study.without("order_known") if "order_known" in study.names else study
    try:
        tally(calls, "consistency", by, cluster=False)
    except DesignError as error:
        return error.reason == REPEATED
    return False


def _orders_in_words(data: pd.DataFrame, findings: pd.DataFrame) -> str:
    in_order = len(data)
    if "order_known" in data.columns:
        in_order = int(data["order_known"].fillna(True).astype(bool).sum())
    if not in_order:
        return "The order shown is not known."
    lone = int(findings.loc[findings["what"] == "only one order of the pair", "n"].sum())
    if not lone:
        return "Each pair was shown in both orders."
    if lone >= in_order:
        return "Each pair was shown in one order only."
    return f"{number(100 * (1 - lone / in_order), 1)}{PERCENT} of the rows have their pair in both orders."


def _ratings_design(data: pd.DataFrame) -> str:
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
    if value in VERDICTS:
        most = data["replicate"].nunique() if "replicate" in data.columns else 1
        again = f"Up to {most} runs of a verdict." if most > 1 else "No verdict is repeated."
        verdicts = count(float(number_of_calls(data).sum()))
        shares = spaced(answers_given(data)[1].replace(" %", PERCENT))
        what = "verdicts" if value == "correct" else "verdicts of classes"
        return f"Verdicts on single answers: {', '.join(counts)}; {verdicts} {what}: {shares}. {again}"
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
