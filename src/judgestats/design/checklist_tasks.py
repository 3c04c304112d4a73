"""Checklist tasks: responses whose quality is the number of required elements that they have."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import permutations
from pathlib import Path
from typing import Literal

import numpy as np

from judgestats.errors import DesignError
from judgestats.outputs import text_read

Change = Literal["reorder", "restyle", "rename"]
CHANGES: tuple[Change, ...] = ("reorder", "restyle", "rename")
#: Sentences that do no part of any task.
_STIMULI = files("judgestats.design") / "stimuli" / "checklists.toml"


@dataclass(frozen=True)
class Checklist:
    """A task with required elements; a response has the opening and some of them.

    Parameters
    ----------
    name : str
        Id of the task.
    question : str
        What the response must do, shown to the judge.
    elements : sequence of str
        One sentence for each required element, in the order of the chain: level q has the first q of them.
    opening : str
        A sentence that every response begins with.
    names : sequence of (str, str)
        A name in the text, and another that may stand for it (:func:`changed`).

    Raises
    ------
    DesignError
        If there are fewer than two elements, one is contained in another, or a name stands for one that is there.

    See Also
    --------
    checklists : Tasks from a file.
    ladder : Pairs of known steps of quality.

    Examples
    --------
    >>> task = Checklist("tea", "Explain tea: water, leaves.", ["Boil water.", "Add the leaves."], "Tea is simple.")
    >>> task.response([0])
    'Tea is simple. Boil water.'
    """

    name: str
    question: str
    elements: Sequence[str]
    opening: str
    names: Sequence[Sequence[str]] = ()

    def __post_init__(self) -> None:
        if len(self.elements) < 2:
            raise DesignError(
                f"Task {self.name!r} has {len(self.elements)} element{'s' * (len(self.elements) != 1)}. A ladder needs "
                "two or more, for two levels that differ."
            )
        for name, other in self.names:
            if re.search(rf"\b{re.escape(other)}\b", " ".join([self.opening, *self.elements])):
                raise DesignError(
                    f"Task {self.name!r}: {other!r}, which may stand for {name!r}, is in the text already. Use another."
                )
        for (i, one), (j, two) in permutations(enumerate(self.elements, start=1), 2):
            if spaced(one) in spaced(two):
                raise DesignError(
                    f"Task {self.name!r}: element {i} ({one!r}) is contained in element {j} ({two!r}), so a response "
                    "cannot have one without the other. Reword one."
                )

    def response(self, chosen: Iterable[int], filler: Sequence[str] = ()) -> str:
        """The response with the chosen elements (from 0), in their order, and filler sentences at the end."""
        return " ".join([self.opening, *(self.elements[i] for i in sorted(chosen)), *filler])

    def elements_in(self, text: str) -> frozenset[int]:
        """Which elements a text has, whatever their order and format, with the names of this task."""
        for name, other in self.names:
            text = re.sub(rf"\b{re.escape(other)}\b", name, text)
        return frozenset(i for i, e in enumerate(self.elements) if spaced(e) in spaced(text))


def words(text: str) -> list[str]:
    """The words of a text, whatever its case and format."""
    return re.findall(r"\w+", text.lower())


def spaced(text: str) -> str:
    """The words of a text between blanks, in which a run of words can be looked up."""
    return f" {' '.join(words(text))} "


def checklists(path: str | Path | None = None) -> tuple[list[Checklist], list[str]]:
    """Read tasks, and neutral sentences that fill responses up, from a TOML file; by default ours.

    Raises DesignError if the file cannot be read.

    See Also
    --------
    ladder : Pairs of known steps of quality.

    Examples
    --------
    >>> tasks, neutral = checklists()
    >>> len(tasks), tasks[0].name
    (10, 'picnic')
    """
    try:
        text = text_read(path) if path is not None else _STIMULI.read_text(encoding="utf-8")
        document = tomllib.loads(text)
        tasks = [Checklist(**task) for task in document["task"]]
    except (OSError, ValueError, RecursionError, KeyError, TypeError) as problem:
        raise DesignError(
            f"The tasks of {path} cannot be read ({problem}). A file has [[task]] tables with name, question, opening "
            "and elements, and a list neutral of sentences."
        ) from None
    return tasks, list(document.get("neutral", []))


def filled_to(text: str, length: int, neutral: Sequence[str], rng: np.random.Generator, tolerance: float) -> str:
    """Fill a text up with neutral sentences, each used once, to a length within a tolerance (a share), or raise."""
    missing = length - len(text)
    if missing <= tolerance * length:
        return text
    sizes = np.array([len(s) + 1 for s in neutral])
    # all subsets: there are few sentences
    subsets = (np.arange(2 ** len(neutral))[:, None] >> np.arange(len(neutral))) & 1
    error = np.abs(subsets @ sizes - missing)
    if not len(neutral) or error.min() > tolerance * length:
        raise DesignError(
            f"A response of {len(text)} characters cannot be filled up to {length} within {tolerance:.0%} by the "
            f"{len(neutral)} neutral sentences. Give more of them, or a larger tolerance=."
        )
    close = np.flatnonzero(error <= max(error.min(), tolerance * length / 2))
    chosen = np.flatnonzero(subsets[rng.choice(close)])
    return " ".join([text, *(neutral[i] for i in rng.permutation(chosen))])


def changed(task: Checklist, text: str, change: Change, rng: np.random.Generator) -> str:
    """Change the surface of a response; a DesignError if that does nothing, or alters the elements of the task."""
    opening, *rest = re.split(r"(?<=[.!?])\s+", text)
    result = text
    if change == "reorder" and len(set(rest)) > 1:
        while result == text:
            result = " ".join([opening, *(rest[i] for i in rng.permutation(len(rest)))])
    elif change == "restyle" and rest:
        result = "\n".join([f"**{opening}**", "", *(f"- {s}" for s in rest)])
    elif change == "rename":
        for name, other in task.names:
            result = re.sub(rf"\b{re.escape(name)}\b", other, result)
    if result == text:
        raise DesignError(f"Task {task.name!r}: {change!r} changes nothing in {text[:60]!r}.")
    if task.elements_in(result) != task.elements_in(text):
        raise DesignError(f"Task {task.name!r}: {change!r} alters the elements that {text[:60]!r} has.")
    return result
