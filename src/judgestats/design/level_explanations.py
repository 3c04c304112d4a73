"""Explanations of the levels of a scale, to be written by models and rated later (merchant_risk, Sec 2)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from judgestats.design.plans import Plan, build
from judgestats.design.prompt_templates import Prompt
from judgestats.errors import DesignError, SchemaError
from judgestats.typing import Record

#: Levels and dimensions of the paper, in its order.
LEVELS = ("Very Low Risk", "Low Risk", "Medium Risk", "High Risk", "Very High Risk")
DIMENSIONS = (
    "Business Model Stability",
    "Regulatory Exposure",
    "Fraud Exposure",
    "Return and Refund Patterns",
    "Chargeback Activity",
)


def explanations(
    models: str | Sequence[str],
    categories: Mapping[str, str],
    *,
    levels: Sequence[str] = LEVELS,
    dimensions: Sequence[str] = DIMENSIONS,
    picks: int = 3,
    temperature: float | Sequence[float] = 0.7,
    prompts: str | Path | Prompt = "explain_levels",
) -> Plan:
    """Plan the explanations that models write of the levels of a scale, each with example categories.

    :func:`collect` reads the answers, :func:`read_explanations` what they hold, and :func:`rubric` plans their rating.

    Parameters
    ----------
    models : str or sequence of str
        Who writes.
    categories : mapping of str to str
        Code -> name of the categories to choose from (merchant category codes, say).
    levels : sequence of str
        The levels, lowest first.
    dimensions : sequence of str
        What every explanation covers.
    picks : int
        Categories for each level.
    temperature, prompts
        As in :func:`judgestats.design.build`.

    Returns
    -------
    Plan
        Of texts, a call for each model; ``item`` is ``levels``.

    Raises
    ------
    DesignError
        If a level or dimension occurs twice, or there are too few categories.

    See Also
    --------
    read_explanations : Explanations read from a file.
    judgestats.rationale_shift : Change of explanations of the same verdict.

    Notes
    -----
    merchant_risk, Section 2.1 and Figure 1: five levels, five dimensions, three categories for each level, no figures
    and no jargon, a JSON array. The words of the prompt are ours.

    Examples
    --------
    >>> codes = {f"{5000 + i}": f"Shop {i}" for i in range(20)}
    >>> plan = explanations(["gpt", "claude"], codes)
    >>> len(plan), plan.kind
    (2, 'texts')
    """
    for name, values in (("levels", levels), ("dimensions", dimensions)):
        if isinstance(values, str) or not len(values) or len(set(values)) < len(values):
            raise DesignError(f"{name}={values!r} must be several different names.")
    if not isinstance(picks, int) or picks < 1 or len(categories) < picks * len(levels):
        raise DesignError(
            f"picks={picks!r} for each of {len(levels)} levels needs that many categories; there are {len(categories)}."
        )
    task = f"Levels, lowest first: {'; '.join(levels)}.\nDimensions: {'; '.join(dimensions)}.\n"
    task += f"Example categories for each level: {picks}."
    note = "\n".join(f"{code}: {name}" for code, name in categories.items())
    table = pd.DataFrame({"item": ["levels"], "task_text": [task], "note_text": [note]})
    about = {"explanations": {"levels": list(levels), "dimensions": list(dimensions), "picks": picks}}
    return build(table, judges=models, prompts=prompts, temperature=temperature, about=about)


def read_explanations(
    written: pd.DataFrame, categories: Mapping[str, str], *, levels: Sequence[str] = LEVELS, picks: int = 3
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Read the explanations that models wrote: texts to be rated, and the categories chosen for each level.

    Parameters
    ----------
    written : pandas.DataFrame
        What :func:`collect` returned for a plan of :func:`explanations`; or texts with the fields of those that the
        paper prints, ``risk_level_definition`` and ``rationale``, whose codes stand after "Representative".
    categories, levels, picks
        As in :func:`explanations`.

    Returns
    -------
    responses : pandas.DataFrame
        ``item``, ``system``, ``task_text``, ``response_text`` for :func:`rubric` (missing where there is no text, or
        its ``status`` is not ok), and ``fault``: what is wrong with it (the status; no array, a level or category
        missing or unknown, a figure in a text), empty if nothing is.
    picked : pandas.DataFrame
        Ratings: ``judge``, ``system``, ``item`` (the code), ``score`` (1 for the lowest level) and ``name``, of the
        answers that could be read.

    Raises
    ------
    SchemaError
        If a column is missing.

    See Also
    --------
    explanations : A study of explanations.

    Examples
    --------
    >>> text = '[{"level": "low", "explanation": "Calm.", "categories": ["1"]}]'
    >>> written = pd.DataFrame({"judge": ["gpt"], "item": "levels", "task_text": "Explain.", "text": [text]})
    >>> responses, picked = read_explanations(written, {"1": "Grocery"}, levels=["low"], picks=1)
    >>> picked[["judge", "item", "score", "name"]].to_dict("records")
    [{'judge': 'gpt', 'item': '1', 'score': 1, 'name': 'Grocery'}]
    """
    if absent := [c for c in ("judge", "item", "task_text", "text") if c not in written.columns]:
        raise SchemaError(
            f"The answers lack {', '.join(absent)}. Columns: {', '.join(written.columns)}. Give what collect() gave."
        )
    faults, rows = [], []
    status = written["status"] if "status" in written else pd.Series("ok", written.index)
    texts = written["text"].where(status == "ok", None)
    for judge, text, state in zip(written["judge"], texts, status, strict=True):
        level_codes, fault = _levels(text, categories, list(levels), picks)
        faults.append(fault if state == "ok" else state)
        for place, codes in enumerate(level_codes, start=1):
            rows += [(judge, "levels", code, place, categories.get(code, "")) for code in codes]
    columns = {"item": written["item"], "system": written["judge"], "task_text": written["task_text"]}
    responses = pd.DataFrame({**columns, "response_text": texts, "fault": faults})
    return responses, pd.DataFrame(rows, columns=["judge", "system", "item", "score", "name"])


def _levels(text: object, categories: Mapping[str, str], levels: list[str], picks: int) -> tuple[list[list[str]], str]:
    """Codes chosen for each level of one answer, none if it cannot be read, and what is wrong with it."""
    if not isinstance(text, str):
        return [], "no answer"
    try:
        array = json.loads(text[text.index("[") : text.rindex("]") + 1])
        several_parts = [_part(part) for part in array]
    except (ValueError, KeyError, TypeError):
        return [], "no JSON array of levels"
    names, codes, told = zip(*several_parts, strict=True) if several_parts else ((), (), ())
    if list(names) != [level.casefold() for level in levels]:
        return [], f"levels are not {', '.join(levels)}"
    several = [code for part in codes for code in part]
    unknown = [code for code in several if code not in categories]
    faults = [
        f"not {picks} categories at every level" if any(len(part) != picks for part in codes) else "",
        f"unknown category {unknown[0]}" if unknown else "",
        "a category at two levels" if len(set(several)) < len(several) else "",
        "a figure in a text" if re.search(r"\d", " ".join(told)) else "",
    ]
    return list(codes), "; ".join(filter(None, faults))


def _part(part: Record) -> tuple[str, list[str], str]:
    """Name, codes and text of a level: in our fields, or in those of the printed texts, which have codes at the end."""
    if "level" in part:
        codes = [str(code).strip() for code in part["categories"]]
        return str(part["level"]).strip().casefold(), codes, str(part["explanation"])
    name = re.sub(r"^\d+\s*[-–.:]\s*|\s*/\s*\w+(?= risk)", "", str(part["risk_level_definition"]).strip().casefold())
    text, _, picked = str(part["rationale"]).partition("Representative")
    return name, re.findall(r"\b(\w+) \(", picked), text
