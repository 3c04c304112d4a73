"""Controlled pairs for position, length, style and model origin (debiasing, Sec 3.4 and App A): :func:`controlled`."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from importlib.resources import files
from operator import add
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from judgestats.csv_files import as_csv
from judgestats.defaults import SEED
from judgestats.design.plans import Plan, build, need_columns, opened_table, swapped
from judgestats.design.strategies import TEMPERATURE
from judgestats.design.strategies import strategies as plan_strategies
from judgestats.errors import DesignError, suggestion
from judgestats.ingest.sources import resolve
from judgestats.kernels.resampling import generator
from judgestats.outputs import Outputs
from judgestats.typing import Seed

# ---- Changes of a text that keep its words, or cut it off ------------------------------------------------------------

_FENCE = re.compile(r"^[ \t]*(?:```|~~~).*$", re.M)
_NUMBERED = re.compile(r"^([ \t>]*(?:#{1,6}[ \t]+)?(?:[-*+][ \t]+)?(?:\*\*|__)?)\d{1,3}[.)][ \t]+", re.M)
_SENTENCE_END = re.compile(r"[.!?][\"')\]*_”’]*(?=\s|$)")
_ABBREVIATION = re.compile(r"(?:^|[\s(])(?:e\.g|i\.e|cf|vs|etc|Dr|Mr|Mrs|Ms|Prof|St|No|Fig|\d{1,2})\.$")


def truncated(text: str, share: float = 0.4) -> str:
    """Cut a text off at the end of a sentence, as close to a share of its words as possible.

    Parameters
    ----------
    text : str
        At least two sentences.
    share : float
        Of the words; between 0 and 1.

    Returns
    -------
    str
        The first sentences of the text, as they are: at least one, and not all.

    Raises
    ------
    DesignError
        If there are no two sentences, or the share is not between 0 and 1.

    See Also
    --------
    without_markdown : Markdown taken out.
    controlled_pairs : Pairs whose difference is known.

    Notes
    -----
    debiasing, App A. Blocks of code are not cut.

    Examples
    --------
    >>> truncated("One two. Three four. Five six seven eight.")
    'One two. Three four.'
    """
    if not 0 < share < 1:
        raise DesignError(f"share={share} is not between 0 and 1. It is the part of the text that is kept.")
    text = text.strip()
    fences = [m.start() for m in _FENCE.finditer(text)]
    ends = [
        m.end()
        for m in _SENTENCE_END.finditer(text)
        if sum(f < m.start() for f in fences) % 2 == 0 and not _ABBREVIATION.search(text[: m.start() + 1][-8:])
    ]
    ends = [e for e in ends if text[e:].strip()]
    if not ends:
        raise DesignError(f"{text[:60]!r} has no two sentences, so it cannot be cut off at the end of one.")
    wanted = share * len(text.split())
    return text[: min(ends, key=lambda e: abs(len(text[:e].split()) - wanted))]


def without_markdown(text: str) -> str:
    """Take the Markdown out of a text and keep its words: headings and list items become sentences of a paragraph.

    Parameters
    ----------
    text : str
        With headings, lists, emphasis, tables, links or code.

    Returns
    -------
    str
        Paragraphs. The numbers of a numbered list, the language of a code block and the addresses of links are gone.

    Raises
    ------
    DesignError
        If there is no Markdown in the text, or a word would be lost or changed.

    See Also
    --------
    with_markdown : Markdown put into a text.

    Examples
    --------
    >>> without_markdown("## Tea\\n\\n1. Boil **water**.\\n2. Add the leaves")
    'Tea.\\n\\nBoil water. Add the leaves.'
    """
    blocks: list[str] = []
    for i, part in enumerate(re.split(r"^[ \t]*(?:```|~~~).*\n?", text, flags=re.M)):
        blocks += [part.strip("\n")] if i % 2 else [_paragraph(b) for b in re.split(r"\n\s*\n", part)]
    result = "\n\n".join(b for b in blocks if b.strip())
    if result == text.strip():
        raise DesignError(f"There is no Markdown in {text[:60]!r}, so a pair would have two equal texts.")
    _require_words(text, result, "Taking the Markdown out")
    return result


def with_markdown(text: str) -> str:
    """Put Markdown into plain text and keep its words: the first sentence in bold, the others as a list.

    Parameters
    ----------
    text : str
        At least two sentences.

    Returns
    -------
    str

    Raises
    ------
    DesignError
        If there is one sentence only, or a word would be lost or changed.

    See Also
    --------
    without_markdown : Markdown taken out.

    Examples
    --------
    >>> with_markdown("Tea is simple. Boil water. Add the leaves.")
    '**Tea is simple.**\\n\\n- Boil water.\\n- Add the leaves.'
    """
    first, *rest = re.split(r"(?<=[.!?])\s+", text.strip())
    if not rest:
        raise DesignError(f"{text[:60]!r} is one sentence. A list takes two or more.")
    result = "\n".join([f"**{first}**", "", *(f"- {s}" for s in rest)])
    _require_words(text, result, "Putting Markdown in")
    return result


def _paragraph(block: str) -> str:
    """The lines of a block as sentences of one paragraph."""
    lines = []
    for line in block.split("\n"):
        if re.fullmatch(r"\s*(?:[-*_]\s*){3,}|\s*\|?[\s:|-]*-[\s:|-]*\|?\s*", line):
            continue  # a rule, or the line under the head of a table
        plain = re.sub(r"^\s*(?:>\s?|#{1,6}\s+|[-*+]\s+)*", "", _NUMBERED.sub(r"\1", line))
        marked = plain != line.lstrip()
        line = plain
        if "|" in line.strip()[1:-1] and line.strip().startswith("|"):
            line, marked = ", ".join(c.strip() for c in line.strip().strip("|").split("|")), True
        line = re.sub(r"!?\[([^\]]*)\]\([^)\s]*\)", r"\1", line)
        line = re.sub(r"(?<![\w*])(\*\*\*?)(?=\S)(.+?)(?<=\S)\1(?!\*)", r"\2", line)
        line = re.sub(r"(?<![\w*])\*(?=\S)(.+?)(?<=\S)\*(?![\w*])", r"\1", line)
        line = re.sub(r"(?<!\w)(__|_)(?=\S)(.+?)(?<=\S)\1(?!\w)", r"\2", line)
        line = re.sub(r"`+([^`]+)`+", r"\1", line).strip()
        ended = not marked or not line or line[-1] in ".!?:;,"
        lines.append(line if ended else f"{line}.")
    return " ".join(filter(None, lines))


def _words(text: str) -> list[str]:
    """The words of a text, whatever its format."""
    plain = re.sub(r"(\]\()[^)\s]*\)", "] ", _NUMBERED.sub(r"\1", _FENCE.sub("", text)))
    return re.findall(r"[^\W_]+", re.sub(r"[*`]", "", plain))


def _require_words(before: str, after: str, what: str) -> None:
    one, two = _words(before), _words(after)
    if one != two:
        at = next((i for i, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))
        near = " ".join(one[max(at - 2, 0) : at + 3])
        raise DesignError(f"{what} would change the words near {near!r}. Give a text of the other format yourself.")


# ---- Texts to be written by a model ----------------------------------------------------------------------------------

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
    source = files("judgestats.design") / "stimuli" / "questions.toml" if path is None else Path(path)
    try:
        found = tomllib.loads(source.read_text(encoding="utf-8"))
        rows = [
            (f"{'long' if long else 'q'}{i:03d}", topic, long, question)
            for long, part in ((False, found["pairs"]), (True, found.get("long", {})))
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
    options: dict[str, Any] = {"temperature": temperature}
    parts = []
    if written is not None:
        written = opened_table(written)
        for role in ("expanded", "prose") if style else ("expanded",):
            source = _texts_of(written, REWRITTEN[role])
            shown = source[["item", "topic", "task_text"]].assign(role=role, response_text=source["text"].to_numpy())
            parts.append(build(shown, judges=writers, prompts=ROLES[role], **options))
        return reduce(add, parts)
    table = questions() if asked is None else asked
    for role, who, here in (
        ("base", writers, ~table["long"]),
        ("markdown", writers, ~table["long"]),
        ("complete", writers, table["long"]),
        ("answer", list(models), ~table["long"]),
    ):
        if here.any() and who:
            shown = table.loc[here, ["item", "topic", "task_text"]].assign(role=role)
            about = {"generations": {"models": list(models)}}
            parts.append(build(shown, judges=who, prompts=ROLES[role], about=about, **options))
    if not parts:
        raise DesignError("asked= has no questions.")
    return reduce(add, parts)


def _texts_of(responses: pd.DataFrame, role: str) -> pd.DataFrame:
    """The texts of a role; a DesignError if one is missing, or none has the role."""
    found = responses[responses["role"] == role].reset_index(drop=True)
    if not len(found):
        known = ", ".join(map(str, responses["role"].unique()))
        raise DesignError(f"There are no texts with the role {role!r}. There are: {known}. generations() plans them.")
    status = found["status"] if "status" in found else pd.Series("ok", index=found.index)
    lost = found["text"].isna() | (found["text"] == "") | (status != "ok")
    if lost.any():
        raise DesignError(
            f"{int(lost.sum())} of {len(found)} texts with the role {role!r} are missing or incomplete, the first for "
            f"question {found.loc[lost, 'item'].iloc[0]!r}. Ask for them again (remaining() plans it), or drop these "
            "questions from all roles."
        )
    twice = found.duplicated(["item", "judge"]) if "judge" in found else found.duplicated("item")
    if twice.any():
        raise DesignError(
            f"Question {found.loc[twice, 'item'].iloc[0]!r} has two texts with the role {role!r}. Keep one."
        )
    return found


# ---- Pairs of texts --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Kind:
    """A kind of pairs: the tested bias, the roles of both texts, or a change that makes the second of the first."""

    bias: str
    roles: tuple[str, ...]
    note: str = ""
    change: Callable[[str, float], str] = lambda text, _: text
    expected: str = "tie"


def _plain(text: str, _: float) -> str:
    return without_markdown(text)


#: The kinds of pairs of the paper's first 225, and those that make them 375.
KINDS = {
    "length": _Kind("expansion", ("expanded", "base"), "response_a is an expansion of response_b"),
    "position": _Kind("position", ("markdown",), "response_a and response_b are identical"),
    "style": _Kind("style", ("markdown", "prose"), "response_a is Markdown, response_b is plain prose", _plain),
    "model_origin": _Kind("model_origin", ("answer",)),
    "length_truncated": _Kind(
        "truncation", ("complete",), "response_b is response_a cut off at the end of a sentence", truncated, "A"
    ),
}
EXTENSION = {
    "style_ba": _Kind("style", ("markdown", "prose"), "response_a is plain prose, response_b is Markdown", _plain),
    "model_origin_rr": _Kind("model_origin", ("answer",)),
}
_EVERY = {**KINDS, **EXTENSION}


def controlled_pairs(
    responses: pd.DataFrame,
    *,
    kinds: Sequence[str] = tuple(KINDS),
    extension: bool = False,
    pairings: Sequence[tuple[str, str]] | None = None,
    families: Mapping[str, str] | None = None,
    share: float = 0.4,
    seed: int | np.random.Generator | None = SEED,
) -> pd.DataFrame:
    """Make controlled pairs of texts: what differs between the two is known.

    Parameters
    ----------
    responses : pandas.DataFrame
        What :func:`collect` returned for both steps of :func:`generations`; or texts of your own with ``item`` (the
        question), ``topic``, ``task_text``, ``role``, ``text``, and ``judge`` (the model that wrote it).
    kinds : sequence of str
        - ``length``: a ``base`` text and its ``expanded`` version, which is shown first;
        - ``position``: the ``markdown`` text twice;
        - ``style``: the ``markdown`` text first, then its ``prose``, or else the same words without Markdown;
        - ``model_origin``: an ``answer`` of the first model, then one of the second;
        - ``length_truncated``: a ``complete`` text first, then the part of it that is left by :func:`truncated`.
    extension : bool
        Add ``style_ba``, the style pairs in the other order, and ``model_origin_rr``, a round robin: for each pairing
        every other question, the order drawn at random.
    pairings : sequence of (str, str), optional
        Models of the round robin; by default each further model with each of the first two, in the order in which they
        occur.
    families : mapping, optional
        Model -> its family; by default each is its own.
    share : float
        Of the words that truncation keeps.
    seed : int, Generator or None
        Seed of the orders in the round robin.

    Returns
    -------
    pandas.DataFrame
        For :func:`controlled`, :func:`strategies` and :func:`write_controlled`: ``item`` (the pair), ``task`` (the
        question, by which intervals are clustered), ``first``, ``second`` (``a`` and ``b``, or the models),
        ``bias_type``, ``bias``, ``topic``, ``gold`` (the expected verdict), ``better`` (of a truncation), ``target``
        (the longer, complete or formatted text; none where the target is a slot or a family), ``length_first``,
        ``length_second`` (words), ``format_first``, ``format_second`` (of style), ``family_first``, ``family_second``,
        ``note``, and the texts. With 50 and 25 questions there are 225 pairs; with four models and the extension 375.

    Raises
    ------
    DesignError
        If texts or models are missing, or a text cannot be changed.

    See Also
    --------
    controlled : Calls on controlled pairs.
    generations : Texts that a model has to write.

    Notes
    -----
    debiasing, Sec 3.4 and App A. A truncated text is a part of the complete one, and both versions of a style pair have
    the same words (unless a model wrote the ``prose``): checked. Two texts of equal length have no longer one.

    Examples
    --------
    >>> texts = pd.DataFrame({"item": ["q1"], "topic": "food", "task_text": "How is tea made?", "role": "complete",
    ...                       "text": ["Boil water. Add the leaves. Wait for five minutes."]})
    >>> pairs = controlled_pairs(texts, kinds=["length_truncated"])
    >>> pairs[["bias", "better", "length_first", "length_second"]]
             bias better  length_first  length_second
    0  truncation      a             9              5
    """
    if not kinds or not set(kinds) <= set(_EVERY):
        raise DesignError(f"kinds={list(kinds)} are not kinds of pairs. Allowed: {', '.join(_EVERY)}.")
    need_columns(responses, ("item", "task_text", "role", "text"), "table of texts")
    wanted = list(dict.fromkeys([*kinds, *(EXTENSION if extension else ())]))
    roles = {role for kind in wanted for role in _EVERY[kind].roles}
    roles -= {"prose"} - set(responses["role"])  # a model may have written it
    texts = {role: _texts_of(responses, role) for role in roles}
    rows: list[dict[str, Any]] = []
    for kind in wanted:
        rows += _origin(texts["answer"], kind, pairings, seed) if "origin" in kind else _pairs(texts, kind, share)
    return _described(pd.DataFrame(rows), families or {})


def _pairs(texts: Mapping[str, pd.DataFrame], kind: str, share: float) -> Iterator[dict[str, Any]]:
    """Pairs of one text and its change."""
    form = _EVERY[kind]
    source, other = form.roles[0], form.roles[-1]
    second = texts[other].set_index("item")["text"] if other != source and other in texts else None
    for i, row in enumerate(texts[source].to_dict("records")):
        if second is not None and row["item"] not in second:
            raise DesignError(f"Question {row['item']!r} has a text with the role {source!r} and none with {other!r}.")
        one = row["text"]
        two = form.change(one, share) if second is None else second[row["item"]]
        note = form.note
        if kind == "style_ba":
            one, two, note = two, one, f"{note}; mirror of style_{i:03d}"
        yield _row(row, f"{kind}_{i:03d}", kind, note=note, first_text=one, second_text=two)


def _row(question: Mapping[str, Any], name: str, kind: str, **columns: str) -> dict[str, Any]:
    """A pair of a question: its texts, the note and the models that wrote them."""
    return {
        "item": name,
        "task": question["item"],
        "topic": question.get("topic"),
        "bias_type": kind,
        "expected_verdict": _EVERY[kind].expected,
        "task_text": question["task_text"],
        **{"model_a": None, "model_b": None, **columns},
    }


def _origin(
    answers: pd.DataFrame, kind: str, pairings: Sequence[tuple[str, str]] | None, seed: Seed
) -> Iterator[dict[str, Any]]:
    """Pairs of two models' answers to one question."""
    if "judge" not in answers:
        raise DesignError("The answers have no column 'judge' that names the model that wrote them.")
    models = list(dict.fromkeys(answers["judge"]))
    if len(models) < 2:
        raise DesignError(f"Model origin takes answers of two models, and there are those of {', '.join(models)}.")
    robin = kind == "model_origin_rr"
    chosen = [(models[0], models[1])]
    if robin:
        chosen = [(m, old) for m in models[2:] for old in models[:2]] if pairings is None else list(pairings)
    if not chosen:
        raise DesignError("A round robin takes a third model. Give its answers, or pairings=.")
    for name in dict.fromkeys(m for pair in chosen for m in pair):
        if name not in models:
            raise DesignError(f"pairings= names {name!r}, of which there are no answers.{suggestion(name, models)}")
    by_model = {m: part.set_index("item") for m, part in answers.groupby("judge", sort=False)}
    rng = generator(seed, ("origin",))
    for number, (one, two) in enumerate(chosen):
        common = [i for i in by_model[one].index if i in by_model[two].index]
        for i, item in enumerate(common):
            if robin and i % 2 != number % 2:
                continue
            exchanged = robin and rng.random() < 0.5
            a, b = (two, one) if exchanged else (one, two)
            name = f"model_origin_rr_{one}_{two}_{i:03d}" if robin else f"model_origin_{i:03d}"
            note = f"response_a from {a}, response_b from {b}" + ("; order drawn at random" if robin else "")
            question = {"item": item, **by_model[a].loc[item].to_dict()}
            texts = {f"{slot}_text": str(by_model[m].loc[item, "text"]) for slot, m in (("first", a), ("second", b))}
            yield _row(question, name, kind, note=note, model_a=a, model_b=b, **texts)


def _described(table: pd.DataFrame, families: Mapping[str, str]) -> pd.DataFrame:
    """Add the candidates, the target and the attributes of both texts."""
    known = [m for c in ("model_a", "model_b") for m in table[c].dropna().unique()]
    strangers = [m for m in families if m not in known]
    if strangers and known:
        raise DesignError(f"families= names {strangers[0]!r}, which is no model here.{suggestion(strangers[0], known)}")
    kind = table["bias_type"]
    mirrored = kind == "style_ba"
    styled = mirrored | (kind == "style")
    one, two = table["model_a"].fillna("a"), table["model_b"].fillna("b")
    length = {slot: table[f"{slot}_text"].str.split().str.len() for slot in ("first", "second")}
    longer = one.where(length["first"] > length["second"], two).mask(length["first"] == length["second"])
    target = longer.where(kind == "length").mask(kind == "length_truncated", one)
    formats = {
        f"format_{slot}": pd.Series(np.where(mirrored == (slot == "second"), "markdown", "prose"), table.index, object)
        for slot in ("first", "second")
    }
    expected = table["expected_verdict"]
    gold = one.where(expected == "A", two.where(expected == "B", "tie"))
    described = table.assign(
        first=one,
        second=two,
        bias=kind.map({name: form.bias for name, form in _EVERY.items()}),
        gold=gold,
        better=gold.where(gold != "tie"),
        target=target.mask(styled, one.where(kind == "style", two)),
        **{f"length_{slot}": n for slot, n in length.items()},
        **{name: f.where(styled) for name, f in formats.items()},
        family_first=table["model_a"].map(lambda m: families.get(m, m)),
        family_second=table["model_b"].map(lambda m: families.get(m, m)),
    )
    columns = ["item", "task", "first", "second", "bias_type", "bias", "topic", "gold", "better", "target"]
    columns += [f"{x}_{slot}" for x in ("length", "format", "family") for slot in ("first", "second")]
    return described[[*columns, "note", "task_text", "first_text", "second_text"]]


# ---- The format of the released data ---------------------------------------------------------------------------------

#: Column of the pairs as they are written -> its field in a file, and another name that the field may have.
_FIELDS = {
    "item": ("id", "item"),
    "task_text": ("prompt", "question"),
    "first_text": ("response_a",),
    "second_text": ("response_b",),
    "expected_verdict": ("expected_verdict",),
    "bias_type": ("bias_type",),
    "note": ("construction_notes", "manipulation"),
    "topic": ("category", "topic"),
    "task": ("task",),
    "model_a": ("model_a",),
    "model_b": ("model_b",),
}
#: Columns that no pair of a file may lack.
_NEEDED = ("task_text", "first_text", "second_text", "expected_verdict", "bias_type")
_VERDICTS = {"a": "A", "b": "B", "tie": "tie"}


def read_controlled(path: str | Path, *, families: Mapping[str, str] | None = None) -> pd.DataFrame:
    """Read controlled pairs from a file in the format of the debiasing paper (App A).

    Parameters
    ----------
    path : path
        JSONL, JSON or CSV with ``prompt`` (or ``question``), ``response_a``, ``response_b``, ``expected_verdict`` (A, B
        or tie), ``bias_type`` and ``construction_notes`` (or ``manipulation``); ``id``, ``category``, ``model_a``,
        ``model_b`` where there are, also inside an object ``metadata``, as in the authors' release.
    families : mapping, optional
        Model -> its family; by default each is its own.

    Returns
    -------
    pandas.DataFrame
        As :func:`controlled_pairs` returns it. Pairs with the same prompt have one ``task``.

    Raises
    ------
    DesignError
        If a field is missing or has a value that is not allowed, the texts of a position pair differ, or a mirrored
        pair is not the mirror of its style pair.

    See Also
    --------
    write_controlled : Controlled pairs to a file.

    Examples
    --------
    >>> import tempfile
    >>> texts = pd.DataFrame({"item": ["q1"], "topic": "food", "task_text": "How is tea made?", "role": "complete",
    ...                       "text": ["Boil water. Add the leaves. Wait for five minutes."]})
    >>> pairs = controlled_pairs(texts, kinds=["length_truncated"])
    >>> file = write_controlled(pairs, Path(tempfile.mkdtemp()) / "pairs.jsonl")
    >>> read_controlled(file)["second_text"].tolist()
    ['Boil water. Add the leaves.']
    """
    rows = []
    numbers: dict[str, int] = {}
    for file in resolve(path).files:
        for place, record in file.records_for(None):
            rows.append(_pair_of(dict(record), f"{file.path.name}, {place}", numbers))
    if not rows:
        raise DesignError(f"{path} has no pairs.")
    table = pd.DataFrame(rows)
    _refuse_untrue(table)
    return _described(table, families or {})


def _pair_of(record: dict[str, Any], place: str, numbers: dict[str, int]) -> dict[str, Any]:
    inside = record.get("metadata")
    if isinstance(inside, str) and inside.startswith("{"):
        inside = json.loads(inside)
    record = {**(inside if isinstance(inside, dict) else {}), **record}
    found: dict[str, Any] = {}
    for column, fields in _FIELDS.items():
        value = next((record[n] for n in fields if n in record and record[n] is not None), None)
        if value is None and column in _NEEDED:
            needed = ", ".join(_FIELDS[c][0] for c in _NEEDED)
            raise DesignError(f"{place}: {fields[0]!r} is missing. A pair has: {needed}, construction_notes.")
        absent = value is None or value != value or (value == "" and column not in _NEEDED)
        found[column] = None if absent else str(value)
    kind = found["bias_type"].strip().lower().replace("-", "_")
    verdict = _VERDICTS.get(found["expected_verdict"].strip().lower())
    for column, value, allowed in (("bias_type", kind, _EVERY), ("expected_verdict", verdict, ("A", "B", "tie"))):
        if value not in allowed:
            given = kind if column == "bias_type" else found[column]
            raise DesignError(f"{place}: {column!r} is {given!r}. Allowed: {', '.join(allowed)}.")
        found[column] = value
    if "origin" in kind and not (found["model_a"] and found["model_b"]):
        raise DesignError(
            f"{place}: a pair of model origin needs 'model_a' and 'model_b', the models that wrote the two."
        )
    number = numbers.setdefault(found["task_text"], len(numbers))
    names = {"item": f"{kind}_{number:03d}", "task": f"q{number:03d}"}
    return {**found, **{c: found[c] or name for c, name in names.items()}}


def _refuse_untrue(table: pd.DataFrame) -> None:
    """Raise where a pair is not what its kind says."""
    differ = (table["bias_type"] == "position") & (table["first_text"] != table["second_text"])
    if differ.any():
        name = table.loc[differ, "item"].iloc[0]
        raise DesignError(
            f"The texts of {int(differ.sum())} position pairs differ, first {name!r}. They must be identical."
        )
    twice = table.duplicated("item")
    if twice.any():
        raise DesignError(f"Two pairs have the id {table.loc[twice, 'item'].iloc[0]!r}. Give each its own.")
    originals = table[table["bias_type"] == "style"].drop_duplicates("task").set_index("task")
    mirrors = table[(table["bias_type"] == "style_ba") & table["task"].isin(originals.index)]
    for row in mirrors.itertuples():
        of = originals.loc[row.task]
        if (row.first_text, row.second_text) != (of["second_text"], of["first_text"]):
            raise DesignError(f"{row.item!r} is not the mirror of {of['item']!r}: the texts are others.")


#: Where pairs with their columns come from.
_MADE = " controlled_pairs() makes such a table, read_controlled() reads one."


def write_controlled(pairs: pd.DataFrame, path: str | Path, *, overwrite: bool = False) -> Path:
    """Write controlled pairs in the format of the debiasing paper (App A).

    Parameters
    ----------
    pairs : pandas.DataFrame
        As :func:`controlled_pairs` returns them.
    path : path
        ``.jsonl`` or ``.csv``.
    overwrite : bool
        Whether a file with other pairs may be replaced.

    Returns
    -------
    pathlib.Path
        A file with ``id``, the six fields ``prompt``, ``response_a``, ``response_b``, ``expected_verdict``,
        ``bias_type`` and ``construction_notes``, and ``category``, ``task``, ``model_a``, ``model_b``.

    Raises
    ------
    DesignError
        If the name has another ending, or the file exists.

    See Also
    --------
    read_controlled : Controlled pairs from a file.

    Examples
    --------
    >>> import tempfile
    >>> texts = pd.DataFrame({"item": ["q1"], "topic": "food", "task_text": "How is tea made?", "role": "complete",
    ...                       "text": ["Boil water. Add the leaves. Wait for five minutes."]})
    >>> pairs = controlled_pairs(texts, kinds=["length_truncated"])
    >>> file = write_controlled(pairs, Path(tempfile.mkdtemp()) / "pairs.csv")
    >>> pd.read_csv(file)["expected_verdict"].tolist()
    ['A']
    """
    path = Path(path)
    own = [c for c in _FIELDS if c not in ("expected_verdict", "model_a", "model_b")]
    need_columns(pairs, ("first", "second", "gold", *own), "table of pairs", _MADE)
    first, gold, origin = pairs["first"], pairs["gold"], pairs["bias_type"].str.contains("origin")
    verdict = np.where(gold == "tie", "tie", np.where(gold == first, "A", "B"))
    models = {"model_a": first.where(origin, None), "model_b": pairs["second"].where(origin, None)}
    table = pairs.assign(expected_verdict=verdict, **models)[list(_FIELDS)]
    table = table.rename(columns={column: fields[0] for column, fields in _FIELDS.items()})
    if path.suffix not in (".csv", ".jsonl"):
        raise DesignError(f"{path.name!r} is not the name of a .jsonl or .csv file.")
    lines = path.suffix == ".jsonl"
    with Outputs(overwrite=overwrite) as outputs, outputs.open(path) as out:
        out.write(table.to_json(orient="records", lines=True, force_ascii=False) if lines else as_csv(table))
    return path


# ---- Calls -----------------------------------------------------------------------------------------------------------


def controlled(
    judges: str | Sequence[str],
    pairs: pd.DataFrame | str | Path,
    *,
    strategies: Sequence[str] = ("B0",),
    panel: Sequence[str] = (),
    temperature: float = TEMPERATURE,
) -> Plan:
    """Plan the calls on controlled pairs: which biases a judge has, under one strategy or several.

    Parameters
    ----------
    judges : str or sequence of str
        Who is asked.
    pairs : pandas.DataFrame or path
        As :func:`controlled_pairs` or :func:`read_controlled` returns them, or a file for the latter.
    strategies, panel, temperature
        As in :func:`strategies`.

    Returns
    -------
    Plan
        With ``bias``, ``target`` and the attributes of :func:`controlled_pairs`, for the measures of bias:

        - ``bias_score(calls)``: expansion, style (with `average` ``"position"`` where mirrored), and truncation;
        - ``verbosity_bias(calls)``: expansion and truncation together;
        - ``bias_score(calls[calls["bias"] == "position"], target="first")``;
        - ``bias_score(calls[calls["bias"] == "model_origin"], family={judge: family})``.

    Raises
    ------
    DesignError
        As :func:`strategies`.

    See Also
    --------
    controlled_pairs : Pairs whose difference is known.
    judgestats.bias_score : Signed bias towards a target.

    Notes
    -----
    debiasing, App A: one order, as in the table. The original style and model pairs are in one order only, so that a
    preference for a slot is part of their scores; the extension corrects that, and ``Plan.check`` says so.

    Examples
    --------
    >>> texts = pd.DataFrame({"item": ["q1"], "topic": "food", "task_text": "How is tea made?", "role": "complete",
    ...                       "text": ["Boil water. Add the leaves. Wait for five minutes."]})
    >>> pairs = controlled_pairs(texts, kinds=["length_truncated"])
    >>> plan = controlled("g", pairs, strategies=["B0", "S1"])                     # S1 asks in both orders
    >>> plan.calls[["strategy", "first", "second"]].to_dict("split")["data"]
    [['B0', 'a', 'b'], ['S1', 'a', 'b'], ['S1', 'b', 'a']]
    """
    table = read_controlled(pairs) if isinstance(pairs, str | Path) else pairs
    need_columns(table, ("bias_type", "bias", "first", "second", "first_text"), "table of pairs", _MADE)
    table = table.drop(columns=["note"], errors="ignore")
    return plan_strategies(judges, table, strategies=strategies, panel=panel, temperature=temperature)


def annotation_form(
    annotators: Sequence[str],
    pairs: pd.DataFrame,
    *,
    n: int = 30,
    bias_type: str = "style",
    seed: int = SEED,
) -> Plan:
    """Plan a blinded form for people: do they share the preference of the judges?

    Parameters
    ----------
    annotators : sequence of str
        Who is asked; all see the same pairs.
    pairs : pandas.DataFrame
        As :func:`controlled_pairs` returns them.
    n : int
        Number of pairs, drawn at random, spread over the topics.
    bias_type : str
        Their kind.
    seed : int
        Of the draw; with the annotator's name, of the slots and of the order of the pairs, for each on its own.

    Returns
    -------
    Plan
        With ``rater_type`` = ``human``. ``export(plan, folder, "csv")`` writes the form; a column ``answer`` with A or
        B is added to it, and :func:`collect` reads it. Joined to the calls of judges, it gives
        ``preference_gap(calls, humans="rater_type=human")``.

    Raises
    ------
    DesignError
        If there are fewer pairs, or two annotators have one name.

    See Also
    --------
    controlled : Calls on controlled pairs.
    judgestats.preference_gap : Preference beyond that of people.

    Notes
    -----
    debiasing, App G: 30 style pairs, slots and order drawn for each annotator. The id of a call says nothing of the
    slot. The preference has no ties.

    Examples
    --------
    >>> texts = pd.DataFrame({"item": ["q1"], "topic": "food", "task_text": "How is tea made?", "role": "markdown",
    ...                       "text": ["**Tea is simple.**\\n\\n- Boil water.\\n- Add the leaves."]})
    >>> form = annotation_form(["Ann", "Bob"], controlled_pairs(texts, kinds=["style"]), n=1)
    >>> form.calls[["judge", "rater_type", "target"]].to_dict("split")["data"]
    [['Ann', 'human', 'a'], ['Bob', 'human', 'a']]
    """
    people = [annotators] if isinstance(annotators, str) else list(annotators)
    if not people or len(set(people)) != len(people):
        raise DesignError(f"annotators={people} are not different names. Give one or more.")
    need_columns(pairs, ("bias_type", "topic"), "table of pairs", _MADE)
    known = pairs[pairs["bias_type"] == bias_type]
    if not 1 <= n <= len(known):
        raise DesignError(f"n={n} pairs of kind {bias_type!r} cannot be drawn from {len(known)}.")
    rng = generator(seed, ("form",))
    shuffled = known.iloc[rng.permutation(len(known))]
    turn = shuffled.groupby("topic", sort=False, dropna=False).cumcount()
    drawn = shuffled.loc[turn.sort_values(kind="stable").index[:n]]
    drawn = drawn.drop(columns=["note", "gold", "better"], errors="ignore")
    plans = []
    for name in people:
        own = generator(seed, ("form", name))
        exchanged = own.random(n) < 0.5
        shown = pd.concat([drawn[~exchanged], swapped(drawn[exchanged])]).iloc[own.permutation(n)]
        table = shown.assign(rater_type="human")
        plans.append(build(table, judges=name, prompts="pairwise_people", orders="as given", about={"form": {"n": n}}))
    return reduce(add, plans)
