"""Texts of controlled pairs that a model has to write: :func:`questions`, :func:`generations`."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from functools import reduce
from importlib.resources import files
from operator import add
from pathlib import Path

import pandas as pd

from judgestats.design.plans import Plan, build, opened_table
from judgestats.errors import DesignError
from judgestats.outputs import text_read
from judgestats.typing import Record

#: What a text is for, and the prompt that asks for it.
ROLES = {
    "base": "write_short",
    "expanded": "rewrite_longer",
    "markdown": "write_markdown",
    "prose": "rewrite_plain",
    "complete": "write_long",
    "answer": "write_answer",
}
#: Roles that rewrite a text, and the role of that text.
REWRITTEN = {"expanded": "base", "prose": "markdown"}


def questions(path: str | Path | None = None) -> pd.DataFrame:
    """Read the questions of controlled pairs.

    Parameters
    ----------
    path : path, optional
        TOML file with the tables ``[pairs]`` and ``[long]``, each topic -> list of questions; by default the package's:
        50 questions on five topics, and 25 more for long answers that are cut off.

    Returns
    -------
    pandas.DataFrame
        ``item``, ``topic``, ``long`` and ``task_text``.

    Raises
    ------
    DesignError
        If the file cannot be read.

    See Also
    --------
    generations : Texts that a model has to write.

    Examples
    --------
    >>> questions().groupby("long")["topic"].agg(["size", "nunique"]).to_numpy().tolist()
    [[50, 5], [25, 5]]
    """
    own = files("judgestats.design") / "stimuli" / "questions.toml"
    try:
        document = tomllib.loads(own.read_text(encoding="utf-8") if path is None else text_read(path))
        rows = [
            (f"{'long' if long else 'q'}{i:03d}", topic, long, question)
            for long, part in ((False, document["pairs"]), (True, document.get("long", {})))
            for i, (topic, question) in enumerate((t, q) for t, several in part.items() for q in several)
        ]
    except (OSError, ValueError, RecursionError, KeyError, AttributeError, TypeError) as problem:
        raise DesignError(
            f"The questions of {path} cannot be read ({problem}). A file has tables [pairs] and [long] with a list of "
            "questions for each topic."
        ) from None
    return pd.DataFrame(rows, columns=["item", "topic", "long", "task_text"])


def generations(
    generator: str | Sequence[str],
    *,
    models: Sequence[str] = (),
    written: pd.DataFrame | str | Path | None = None,
    style: bool = False,
    asked: pd.DataFrame | None = None,
    temperature: float = 0.7,
) -> Plan:
    """Plan the texts of controlled pairs that a model has to write.

    They come in two steps: answers to the questions; then, with `written`, longer versions of the short answers (and
    plain versions of the formatted ones, if asked for). :func:`collect` reads each step, and
    :func:`controlled_pairs` takes both.

    Parameters
    ----------
    generator : str
        Model that writes the texts that are compared with their own changes. It should be none of the judges. One only.
    models : sequence of str
        Models whose answers are compared with each other (model origin): each answers every question. The first two
        are the pair of the original design; each further one meets both of them in the round robin.
    written : pandas.DataFrame or path, optional
        What :func:`collect` returned for the first step, or a file with it.
    style : bool
        Second step: have the formatted answers rewritten as plain prose by the model, as in the paper. By default
        :func:`controlled_pairs` takes the Markdown out itself, which keeps every word.
    asked : pandas.DataFrame, optional
        Questions as :func:`questions` returns them.
    temperature : float
        Of the calls.

    Returns
    -------
    Plan
        Of texts, with ``role``: ``base``, ``markdown``, ``complete`` (long questions) and ``answer``; in the second
        step ``expanded`` and ``prose``. The model that writes stands in ``judge``.

    Raises
    ------
    DesignError
        If a text to be rewritten is missing, or several models are to write them.

    See Also
    --------
    controlled_pairs : Pairs whose difference is known.

    Examples
    --------
    >>> plan = generations("writer", models=["gpt", "claude"])
    >>> plan.calls["role"].value_counts(sort=False).to_dict()
    {'base': 50, 'markdown': 50, 'complete': 25, 'answer': 100}
    """
    writers = [generator] if isinstance(generator, str) else list(generator)
    if len(writers) != 1:
        raise DesignError(f"One model writes the texts that are changed, not {writers}. Give others as models=.")
    options: Record = {"temperature": temperature}
    parts = []
    if written is not None:
        written = opened_table(written)
        for role in ("expanded", "prose") if style else ("expanded",):
            source = texts_of(written, REWRITTEN[role])
            stimuli = source[["item", "topic", "task_text"]].assign(role=role, response_text=source["text"].to_numpy())
            parts.append(build(stimuli, judges=writers, prompts=ROLES[role], **options))
        return reduce(add, parts)
    table = questions() if asked is None else asked
    for role in ("base", "markdown", "complete", "answer"):
        who, rows = list(models) if role == "answer" else writers, table["long"] == (role == "complete")
        if rows.any() and who:
            stimuli = table.loc[rows, ["item", "topic", "task_text"]].assign(role=role)
            about = {"generations": {"models": list(models)}}
            parts.append(build(stimuli, judges=who, prompts=ROLES[role], about=about, **options))
    if not parts:
        raise DesignError("asked= has no questions.")
    return reduce(add, parts)


def texts_of(responses: pd.DataFrame, role: str) -> pd.DataFrame:
    """The texts of a role; a DesignError if one is missing, or none has the role."""
    of_role = responses[responses["role"] == role].reset_index(drop=True)
    if not len(of_role):
        roles = ", ".join(map(str, responses["role"].unique()))
        raise DesignError(f"There are no texts with the role {role!r}. There are: {roles}. generations() plans them.")
    status = of_role["status"] if "status" in of_role else pd.Series("ok", index=of_role.index)
    if (lost := of_role["text"].isna() | (of_role["text"] == "") | (status != "ok")).any():
        raise DesignError(
            f"{int(lost.sum())} of {len(of_role)} texts with the role {role!r} are missing or incomplete, the first "
            f"for question {of_role.loc[lost, 'item'].iloc[0]!r}. Ask for them again (remaining() plans it), or "
            "drop these questions from all roles."
        )
    if (twice := of_role.duplicated(["item", "judge"]) if "judge" in of_role else of_role.duplicated("item")).any():
        raise DesignError(
            f"Question {of_role.loc[twice, 'item'].iloc[0]!r} has two texts with the role {role!r}. Keep one."
        )
    return of_role
