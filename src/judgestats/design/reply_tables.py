"""All that replies say besides the verdict, as a table: :func:`reply_parts`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from judgestats.design.collection import matched
from judgestats.design.plans import CALL, EARLIER, TEXTS, Plan, opened
from judgestats.design.reply_contents import SIDES, contents, line_marks
from judgestats.design.runner_replies import Answers

#: Names of fields that say what an entry of a list is about.
_ABOUT = ("criterion", "dimension", "name", "level")
#: A heading of strengths or weaknesses, and the points below it.
_POINTS = re.compile(
    r"^\W{0,8}(?:\d\.? ?)?\W{0,6}(?P<part>strengths|weaknesses)\b[^\n]{0,60}\n"
    r"(?P<points>(?:\s{0,6}[-*•] [^\n]{1,2000}\n?){1,20})",
    re.IGNORECASE | re.MULTILINE,
)


class ReplyPart(NamedTuple):
    """A number or a text of a reply, and where it stands."""

    part: str
    field: str = ""
    response: str = ""
    criterion: str = ""
    place: int = 0
    value: float = float("nan")
    text: str | None = None


def reply_parts(plan: Plan | str | Path, answers: Answers) -> pd.DataFrame:
    """Return all that replies say: scores, strengths, weaknesses, notes, quotations, reasons, rankings, confidence.

    Parameters
    ----------
    plan, answers
        As for :func:`collect`.

    Returns
    -------
    pandas.DataFrame
        A row for each number and text in the JSON of each reply, of all stages: ``call``, the design columns, and

        - ``part``: the field of the JSON object, ``scores`` also for ``scores_a`` and ``scores_b``;
        - ``field``: the field within an entry of a list, such as ``quotation``;
        - ``response``: the candidate that it is about, where it is about one;
        - ``criterion``: the criterion, dimension or name, where there is one;
        - ``place``: the place in a list, from 1; 0 outside of lists;
        - ``value``, a number, or ``text``.

        Of replies without JSON: the scores in lines of their own, and points below headings of strengths and
        weaknesses. What cannot be read so is in ``rationale`` of :func:`collect`, which has the verdicts.

    Raises
    ------
    SchemaError
        If a file cannot be read, or nothing in the source is an answer.

    See Also
    --------
    collect : The verdicts.
    evidence_lock : Whether notes and scores of a dialogue hold.

    Examples
    --------
    >>> from judgestats.design import build
    >>> pairs = pd.DataFrame({"item": ["1"], "first": ["u"], "second": ["v"], "first_text": ["Hello."],
    ...                       "second_text": ["Good day."], "task_text": ["Say hello."]})
    >>> plan = build(pairs, judges="m", prompts="labelled_criteria", orders="as given")
    >>> reply = '{"scores": {"A": {"fluency": 4}, "B": {"fluency": 5}}, "explanation": "Both greet.", "verdict": "B"}'
    >>> parts = reply_parts(plan, [{"call": plan.calls["call"][0], "answer": reply}])
    >>> parts[["part", "response", "criterion", "value"]].head(2).values.tolist()
    [['scores', 'u', 'fluency', 4.0], ['scores', 'v', 'fluency', 5.0]]
    """
    plan = opened(plan)
    return parts_of(plan, matched(plan, answers).texts)


def parts_of(plan: Plan, replies: Mapping[str, str]) -> pd.DataFrame:
    """The parts of replies that were read."""
    columns = [c for c in plan.calls if c not in {*TEXTS.values(), *EARLIER.values(), "planned", "after"}]
    rows = []
    for row in plan.calls[plan.calls[CALL].isin(set(replies))][columns].to_dict("records"):
        rows += [row | part._asdict() for part in _parts(replies[row[CALL]], row)]
    return pd.DataFrame(rows, columns=list(dict.fromkeys([*columns, *ReplyPart._fields]))).dropna(
        axis="columns", how="all"
    )


def _parts(text: str, row: Mapping[str, object]) -> Iterator[ReplyPart]:
    several = contents(text)
    for each in several:
        for name, value in each.items():
            side = name[-1].upper() if name.endswith(("_a", "_b")) else ""
            who = str(row.get(SIDES.get(side, ""), ""))
            yield from _leaves(value, ReplyPart(name[:-2] if side else name, response=who), row)
    if several:
        return
    for criterion, (score, reason) in line_marks(text).items():
        value = float(str(score).split("±")[0].split("+")[0])
        yield ReplyPart("scores", criterion=criterion, value=value, text=reason)
    for match in _POINTS.finditer(text):
        points = [line.strip(" \t-*•") for line in match["points"].splitlines() if line.strip()]
        yield from (ReplyPart(match["part"].lower(), place=i, text=point) for i, point in enumerate(points, start=1))


def _leaves(value: object, part: ReplyPart, row: Mapping[str, object]) -> Iterator[ReplyPart]:
    """The numbers and texts of a value in JSON."""
    if isinstance(value, dict):
        about = next((str(value[k]) for k in _ABOUT if isinstance(value.get(k), str)), part.criterion)
        side = SIDES.get(str(value.get("response")), "")
        inner = part._replace(criterion=about, response=str(row.get(side, part.response)))
        entry = part.place > 0
        for name, each in value.items():
            if entry and (name == "response" or (name in _ABOUT and value[name] == about)):
                continue
            if name in SIDES and not entry:
                yield from _leaves(each, inner._replace(response=str(row.get(SIDES[name], name))), row)
            elif entry or isinstance(each, dict | list):
                yield from _leaves(each, inner._replace(field=f"{part.field}.{name}".lstrip(".")), row)
            else:
                yield from _leaves(each, inner._replace(criterion=name), row)
    elif isinstance(value, list):
        for place, each in enumerate(value, start=1):
            yield from _leaves(each, part._replace(place=place), row)
    elif isinstance(value, bool) or value is None:
        yield part._replace(text=str(value).lower())
    elif isinstance(value, int | float):
        yield part._replace(value=float(value))
    else:
        yield part._replace(text=str(value))
