"""Rubrics, and the plan of a study that rates responses by one (merchant_risk, Sec 3)."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from judgestats.design.plans import Plan, build, need_columns, opened_table
from judgestats.design.prompt_templates import Prompt, prompt
from judgestats.design.rubric_dimensions import Criterion, rubric_json
from judgestats.errors import DesignError, refuse_unknown
from judgestats.outputs import text_read
from judgestats.typing import Record

_FILE = files("judgestats.design") / "stimuli" / "rubrics.toml"
#: Arms of the study, and whose name stands over a response.
ARMS = ("attributed", "anonymized", "style-transferred")


@dataclass(frozen=True)
class Rubric:
    """Criteria with anchors, on one scale.

    Parameters
    ----------
    name : str
        Its name.
    criteria : sequence of Criterion
        At least one; their names are values of the column ``criterion``.
    scale : (float, float)
        Lowest and highest score.
    about : str
        One line.

    Raises
    ------
    DesignError
        If two criteria have one name, the scale is not one, or an anchor lies outside it.

    See Also
    --------
    Criterion : One of its criteria.
    rubric : Plan scores by a rubric, with and without names.

    Examples
    --------
    >>> print(Rubric("short", [Criterion("clarity", "Is it clear?", {"1": "no", "5": "yes"})], (1, 5)).text)
    clarity (1 to 5): Is it clear?
      1: no
      5: yes
    """

    name: str
    criteria: Sequence[Criterion]
    scale: tuple[float, float] = (0, 10)
    about: str = ""

    def __post_init__(self) -> None:
        names = [c.name for c in self.criteria]
        if not names or len(set(names)) < len(names):
            raise DesignError(f"Rubric {self.name!r} needs criteria with different names; it has {names}.")
        low, high = self.scale
        if not low < high:
            raise DesignError(f"Rubric {self.name!r}: the scale {self.scale} is not (lowest, highest).")
        for criterion in self.criteria:
            for anchor in criterion.anchors:
                ends = [float(x) for x in re.findall(r"\d+(?:\.\d+)?", anchor)]
                if not ends or min(ends) < low or max(ends) > high:
                    raise DesignError(
                        f"Rubric {self.name!r}, {criterion.name}: the anchor {anchor!r} is not a score from {low:g} to "
                        f"{high:g}, nor a range of them."
                    )

    @classmethod
    def read(cls, name: str | Path | Rubric) -> Rubric:
        """Return a rubric by its name, or read one of your own from a TOML file.

        Parameters
        ----------
        name : str, path or Rubric
            ``explanation`` (five criteria, 0 to 10), ``summary`` (three, 1 to 5) or ``writing`` (five, 1 to 10); a file
            with one table, whose ``criteria`` have ``about``, ``anchors`` and ``weight``; or a rubric, returned as it
            is.

        Returns
        -------
        Rubric

        Raises
        ------
        DesignError
            If there is none of this name, or it is faulty.

        Examples
        --------
        >>> [c.name for c in Rubric.read("summary").criteria]
        ['clarity', 'faithfulness', 'coverage']
        """
        if isinstance(name, Rubric):
            return name
        own = Path(name).suffix == ".toml"
        try:
            tables = tomllib.loads(text_read(name) if own else _FILE.read_text("utf-8"))
            chosen = next(iter(tables), "") if own else str(name)
            if own and len(tables) != 1:
                raise DesignError(f"{name} holds {len(tables)} tables; a file of a rubric holds one, with its name.")
            refuse_unknown(chosen, tables, f"There is no rubric {chosen!r}", "Rubrics", more="; or give a .toml file")
            table = tables[chosen]
            criteria = [Criterion(n, **c) for n, c in table["criteria"].items()]
            low, high = table.get("scale", (0, 10))
            return cls(chosen, criteria, (low, high), table.get("about", ""))
        except (OSError, ValueError, RecursionError, KeyError, TypeError, AttributeError) as problem:
            raise DesignError(f"The rubric {str(name)!r} cannot be read ({problem}).") from None

    @cached_property
    def text(self) -> str:
        """The rubric as the judge reads it."""
        low, high = self.scale
        lines = []
        for criterion in self.criteria:
            lines.append(f"{criterion.name} ({low:g} to {high:g}): {criterion.about}".rstrip(": "))
            lines += [f"  {anchor}: {meaning}" for anchor, meaning in criterion.anchors.items()]
        return "\n".join(lines)

    @cached_property
    def json(self) -> str:
        """The rubric as a judge writes one."""
        return rubric_json(self.criteria)

    @cached_property
    def schema(self) -> Record:
        """JSON schema of an answer."""
        names = [c.name for c in self.criteria]
        low, high = self.scale
        score = {"type": "number", "minimum": low, "maximum": high}
        several = {"type": "array", "items": {"type": "string"}}

        def each(value: Record) -> Record:
            properties = dict.fromkeys(names, value)
            return {"type": "object", "properties": properties, "required": names, "additionalProperties": False}

        parts = {"scores": each(score), "reasons": each({"type": "string"})}
        parts |= dict.fromkeys(("strengths", "weaknesses"), several)
        return {"type": "object", "properties": parts, "required": list(parts), "additionalProperties": False}


def points_score(points: Any, of: int = 25, top: float = 10.0) -> Any:
    """Score of a criterion that counts points: a share of `top`.

    Parameters
    ----------
    points : int or array of int
        Points given.
    of : int
        Points in all: five dimensions at five levels in the paper, so that a score moves in steps of 0.4.
    top : float
        Highest score.

    Returns
    -------
    float or numpy.ndarray

    Raises
    ------
    DesignError
        If points are negative, more than `of`, or not whole.

    See Also
    --------
    rubric : Ratings by a rubric.

    Notes
    -----
    merchant_risk, Sec 3.1: completeness = points / 25 x 10.

    Examples
    --------
    >>> points_score([0, 1, 25]).tolist()
    [0.0, 0.4, 10.0]
    """
    counts = np.asarray(points, dtype=float)
    if (counts < 0).any() or (counts > of).any() or (counts % 1 != 0).any():
        raise DesignError(f"points={points} are not whole numbers from 0 to {of}.")
    result = counts / of * top
    return result if result.ndim else float(result)


#: Prompts of a dialogue: of its first message, of those after it, and of the last, which sums up.
_EXPERT, _NEXT, _LAST = "rubric_expert", "rubric_expert_next", "rubric_synthesis"
#: Column of the text that an arm shows, if not ``response_text``.
_TEXT_OF = {"style-transferred": "restyled_text"}


def rubric(
    judges: str | Sequence[str],
    responses: pd.DataFrame | str | Path,
    *,
    by: str | Path | Rubric = "explanation",
    arms: Sequence[str] = ("attributed", "anonymized"),
    alias: Mapping[str, str] | None = None,
    replicates: int = 10,
    temperature: float | Sequence[float] = 0.7,
    prompts: str | Path | Prompt = "rubric",
) -> Plan:
    """Plan ratings of responses by a rubric: repeated, with and without the names of their authors.

    Parameters
    ----------
    judges : str or sequence of str
        Who rates. Systems may be among them.
    responses : pandas.DataFrame or path
        A table, or a file with one: ``item``, ``system``, ``task_text``, ``response_text``; ``restyled_text``, the
        response in another style, for the arm ``style-transferred``. Other columns are design columns.
    by : str, path or Rubric
        The rubric; see :meth:`Rubric.read`.
    arms : sequence of str
        ``attributed``: the system's name stands over the response. ``anonymized``: its alias does.
        ``style-transferred``: its alias, over the text in another style. The column ``condition``.
    alias : mapping, optional
        System -> alias, fixed over judges and runs; by default Expert 1, Expert 2, ... in the order of `responses`.
    replicates : int
        Runs of each call.
    temperature
        As in :func:`judgestats.design.build`.
    prompts : name, path or Prompt
        ``rubric``: each rating is a call. ``rubric_expert``: a dialogue of each judge, arm and run, as in the paper: a
        message for each system of an item, in the order of `responses`, and a last one with the table, the ranking and
        a synthesis. Of five systems, six messages.

    Returns
    -------
    Plan
        Of ratings; ``system`` is the true one in every arm, ``alias`` the name shown where one is. The later messages
        of a dialogue are in ``later``.

    Raises
    ------
    DesignError
        If a column is missing, an arm is not known, `alias` is not one-to-one, or an item lacks a system of a dialogue.

    See Also
    --------
    points_score : Score of counted points.
    judgestats.consensus_deviation : Distance from the other judges.

    Notes
    -----
    merchant_risk, Sec 3.1 and 3.2: five judges rate five systems' explanations in ten runs at temperature 0.7, in two
    arms, with Expert j standing for model j. The runs are calls of their own here; in the paper a judge reports the
    mean and sd of ten runs in one reply.

    Examples
    --------
    >>> models = ["GPT", "Gemini", "Grok", "Claude", "Sonar"]
    >>> texts = pd.DataFrame({"item": "risk", "system": models, "task_text": "Explain.", "response_text": "..."})
    >>> plan = rubric(models, texts)
    >>> len(plan)                                     # 5 judges x 5 systems x 10 runs x 2 arms
    500
    """
    if not len(arms) or not {*arms} <= {*ARMS}:
        raise DesignError(f"arms={list(arms)} are not known. Allowed: {', '.join(ARMS)}.")
    responses = opened_table(responses)
    texts = [_TEXT_OF.get(arm, "response_text") for arm in arms]
    need_columns(responses, ("item", "system", "task_text", *texts), "table of responses")
    systems = list(dict.fromkeys(responses["system"].astype(str)))
    aliases = dict(alias) if alias is not None else {s: f"Expert {i}" for i, s in enumerate(systems, start=1)}
    if absent := [s for s in systems if s not in aliases]:
        raise DesignError(f"alias= does not name {absent[0]!r}. Give each of {', '.join(systems)} an alias.")
    used = [aliases[s] for s in systems]
    if (twice := next((a for a in used if used.count(a) > 1), None)) is not None:
        raise DesignError(f"alias= gives {twice!r} to more than one system, so their answers would be mixed up.")
    chosen = Rubric.read(by)
    parts = []
    for arm in arms:
        author = responses["system"].astype(str)
        name = author if arm == "attributed" else author.map(aliases)
        text = responses[_TEXT_OF.get(arm, "response_text")]
        author_as = {"alias": None if arm == "attributed" else name, "note_text": "Written by: " + name}
        part = responses.assign(condition=arm, **author_as, response_text=text, rubric_text=chosen.text)
        parts.append(part.drop(columns=["restyled_text"], errors="ignore"))
    several = [prompt(name) for name in ([prompts, _NEXT, _LAST] if prompt(prompts).name == _EXPERT else [prompts])]
    criteria = tuple(c.name for c in chosen.criteria)
    templates = [replace(p, schema=chosen.schema, criteria=criteria, scale=chosen.scale) for p in several[:2]]
    table = pd.concat(parts, ignore_index=True)
    messages = [table[table["system"].astype(str) == s] for s in systems] if len(several) > 1 else [table]
    about = {"rubric": {"rubric": chosen.name, "arms": list(arms), "alias": aliases}, "shown": ["system", "alias"]}
    calls: Record = {"temperature": temperature, "replicates": replicates, "about": about}
    plan = build(messages[0], judges=judges, prompts=templates[0], **calls)
    for message in messages[1:]:
        plan = plan.then(templates[1], message.drop(columns=["task_text", "rubric_text"]), on=["item", "condition"])
    return plan.then(several[2]) if len(several) > 1 else plan
