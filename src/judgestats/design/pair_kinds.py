"""Kinds of controlled pairs of texts: what differs between the two is known (:func:`controlled_pairs`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from judgestats.defaults import SEED
from judgestats.design.plans import need_columns
from judgestats.design.text_changes import truncated, without_markdown
from judgestats.design.text_generation import texts_of
from judgestats.errors import DesignError, suggestion
from judgestats.kernels.resampling import generator
from judgestats.typing import Record, Seed


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
EVERY_KIND = {**KINDS, **EXTENSION}
#: Of the words that truncation keeps.
SHARE = 0.4


def controlled_pairs(
    responses: pd.DataFrame,
    *,
    kinds: Sequence[str] = tuple(KINDS),
    extension: bool = False,
    pairings: Sequence[tuple[str, str]] | None = None,
    families: Mapping[str, str] | None = None,
    share: float = SHARE,
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
    if not kinds or not set(kinds) <= set(EVERY_KIND):
        raise DesignError(f"kinds={list(kinds)} are not kinds of pairs. Allowed: {', '.join(EVERY_KIND)}.")
    need_columns(responses, ("item", "task_text", "role", "text"), "table of texts")
    wanted = list(dict.fromkeys([*kinds, *(EXTENSION if extension else ())]))
    roles = {role for kind in wanted for role in EVERY_KIND[kind].roles}
    roles -= {"prose"} - set(responses["role"])  # a model may have written it
    texts = {role: texts_of(responses, role) for role in roles}
    rows: list[Record] = []
    for kind in wanted:
        rows += _origin(texts["answer"], kind, pairings, seed) if "origin" in kind else _pairs(texts, kind, share)
    return described(pd.DataFrame(rows), families or {})


def possible_pairs(responses: pd.DataFrame, kinds: Sequence[str]) -> tuple[pd.DataFrame, list[str]]:
    """The pairs of which both texts are there, as if all were; and what is wrong with the other texts."""
    texts = {str(role): part.reset_index(drop=True) for role, part in responses.groupby("role", sort=False)}
    lost = responses[responses["text"].isna()]
    faults = [f"{row.item} ({row.role}, {row.judge})" for row in lost.itertuples()]
    if "expanded" in texts:  # in the order of the questions, whenever each came
        longer = texts["base"]["item"].map(texts["expanded"].set_index("item")["text"]).astype(object)
        texts["expanded"] = texts["base"].assign(text=longer.where(longer.notna(), None))
    rows: list[Record] = []
    for kind in kinds:
        if "origin" in kind:
            rows += _origin(texts["answer"], kind, None, SEED)
        elif kind != "length" or "expanded" in texts:
            rows += _pairs(texts, kind, SHARE, faults)
    return described(pd.DataFrame(rows), {}) if rows else pd.DataFrame(), list(dict.fromkeys(faults))


def _pairs(
    texts: Mapping[str, pd.DataFrame], kind: str, share: float, faults: list[str] | None = None
) -> Iterator[Record]:
    """Pairs of one text and its change; a text that cannot be changed is an error, or else among the faults."""
    form = EVERY_KIND[kind]
    source, other = form.roles[0], form.roles[-1]
    second = texts[other].set_index("item")["text"] if other != source and other in texts else None
    for i, row in enumerate(texts[source].to_dict("records")):
        if second is not None and row["item"] not in second:
            raise DesignError(f"Question {row['item']!r} has a text with the role {source!r} and none with {other!r}.")
        one = row["text"]
        try:
            two = second[row["item"]] if second is not None else form.change(one, share) if one else None
        except DesignError:
            if faults is None:
                raise
            faults.append(f"{row['item']} ({source}, {row['judge']})")
            two = None
        if not (one and two):
            continue
        note = form.note
        if kind == "style_ba":
            one, two, note = two, one, f"{note}; mirror of style_{i:03d}"
        yield _row(row, f"{kind}_{i:03d}", kind, note=note, first_text=one, second_text=two)


def _row(question: Mapping[str, object], name: str, kind: str, **columns: str) -> Record:
    """A pair of a question: its texts, the note and the models that wrote them."""
    names = {"item": name, "task": question["item"], "topic": question.get("topic"), "bias_type": kind}
    head = {**names, "expected_verdict": EVERY_KIND[kind].expected, "task_text": question["task_text"]}
    return {**head, "model_a": None, "model_b": None, **columns}


def _origin(
    answers: pd.DataFrame, kind: str, pairings: Sequence[tuple[str, str]] | None, seed: Seed
) -> Iterator[Record]:
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
            texts = {f"{slot}_text": by_model[m].loc[item, "text"] for slot, m in (("first", a), ("second", b))}
            if all(texts.values()):
                yield _row(question, name, kind, note=note, model_a=a, model_b=b, **texts)


def described(table: pd.DataFrame, families: Mapping[str, str]) -> pd.DataFrame:
    """Add the candidates, the target and the attributes of both texts."""
    models = [m for c in ("model_a", "model_b") for m in table[c].dropna().unique()]
    strangers = [m for m in families if m not in models]
    if strangers and models:
        raise DesignError(
            f"families= names {strangers[0]!r}, which is no model here.{suggestion(strangers[0], models)}"
        )
    kind = table["bias_type"]
    mirrored = kind == "style_ba"
    styled = mirrored | (kind == "style")
    one, two = table["model_a"].fillna("a"), table["model_b"].fillna("b")
    attributes = {}
    for slot, model in (("first", "model_a"), ("second", "model_b")):
        form = np.where(mirrored == (slot == "second"), "markdown", "prose")
        attributes[f"length_{slot}"] = table[f"{slot}_text"].str.split().str.len()
        attributes[f"format_{slot}"] = pd.Series(form, table.index, object).where(styled)
        attributes[f"family_{slot}"] = table[model].map(lambda m: families.get(m, m))
    gap = attributes["length_first"] - attributes["length_second"]
    longer = one.where(gap > 0, two).mask(gap == 0)
    target = longer.where(kind == "length").mask(kind == "length_truncated", one)
    expected = table["expected_verdict"]
    gold = one.where(expected == "A", two.where(expected == "B", "tie"))
    attributes |= {"first": one, "second": two, "gold": gold, "better": gold.where(gold != "tie")}
    attributes["bias"] = kind.map({name: k.bias for name, k in EVERY_KIND.items()})
    described = table.assign(**attributes, target=target.mask(styled, one.where(kind == "style", two)))
    columns = ["item", "task", "first", "second", "bias_type", "bias", "topic", "gold", "better", "target"]
    columns += [f"{x}_{slot}" for x in ("length", "format", "family") for slot in ("first", "second")]
    return described[[*columns, "note", "task_text", "first_text", "second_text"]]
