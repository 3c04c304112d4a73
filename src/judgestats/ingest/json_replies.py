"""Answers in the JSON objects of a reply."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from judgestats.ingest.explicit_forms import preferred
from judgestats.ingest.reply_context import spoiled
from judgestats.ingest.reply_keys import ANSWER_KEY, ANSWER_KEY_ONLY
from judgestats.ingest.reply_meaning import DIGITS, LISTING, Meaning, Passage

_OWN_LEAD = re.compile(r"\b(?:my|final) (?:\w{1,12} ){0,2}is$", re.I)
_OBJECT = re.compile(r"\{\s{0,20}[\"}]")
_DECODER = json.JSONDecoder(strict=False, object_pairs_hook=list)
_LOOSE = re.compile(
    rf"[\"']{ANSWER_KEY}[\"']\s{{0,9}}:\s{{0,9}}(?:\"(?P<two>[^\"\n]{{0,100}})\"|'(?P<one>[^'\n]{{0,100}})'|(?P<bare>-?{DIGITS}))"
    r"\s{0,9}(?=[,}\n\"])",
    re.I,
)

#: Longest unsound object that is read as a literal of Python.
_LONGEST_LITERAL = 20_000


def json_objects(text: str) -> Iterator[tuple[int, int, Any, bool]]:
    """JSON objects in a text: start, end, pairs, whether in one that is damaged. After 100 failures no more is read."""
    at = failures = damaged = 0
    while failures < 100 and (match := _OBJECT.search(text, at)):
        start = match.start()
        try:
            value, at = _DECODER.raw_decode(text, start)
        except ValueError as error:  # no JSON, or a number of thousands of digits
            at, damaged = start + 1, max(damaged, getattr(error, "pos", start + 1))
            failures += 1
        except RecursionError:
            return
        else:
            yield start, at, value, start < damaged


def _keyed(pairs: Any, depth: int = 0) -> list[tuple[bool, Any]]:
    """Values of the keys of an answer, at the shallowest depth where there are any: (whether a score, value)."""
    if not isinstance(pairs, list) or not all(isinstance(p, tuple) for p in pairs):
        return []
    own_values: list[tuple[bool, Any]] = []
    values = dict(pairs)
    for key, value in pairs:
        match = ANSWER_KEY_ONLY.fullmatch(key.strip())
        if match and isinstance(value, list) and LISTING.fullmatch(str(value)):
            value = str(value)
        if match and not isinstance(value, list):
            own_values.append((bool(match["score"]), value))
        elif match and not (value and isinstance(value[0], tuple)):
            own_values.append((bool(match["score"]), "a list"))
        elif key in ("ordered_models", "ranking") and (first := _ranked_first(value)):
            own_values.append((False, first))
    spread = next((values[k] for k in ("sd", "std", "sigma") if k in values), None)
    if "mean" in values and spread is not None:
        own_values.append((True, f"{values['mean']} ± {spread}"))
    if own_values or depth == 3:
        return own_values
    return [pair for _, value in pairs for pair in _keyed(value, depth + 1)]


def _is_own(text: str, start: int, end: int) -> bool:
    """Whether an object is set off from the prose around it, as an answer is, and not spoiled by it."""
    lead = text[max(0, start - 60) : start].rsplit("\n", 1)[-1].rstrip(" `*")
    apart = not lead or lead.lower() == "json" or lead.endswith((":", "=", ">", "[", "]", "}", "},"))
    return (apart or _OWN_LEAD.search(lead) is not None) and not spoiled(text, start, end)


def _ranked_first(ranking: object) -> str:
    """The candidate of rank 1 in a list of objects with a model and a rank."""
    entries = ranking if isinstance(ranking, list) else []
    entries = [dict(e) for e in entries if isinstance(e, list) and all(isinstance(pair, tuple) for pair in e)]
    first = [e["model"] for e in entries if e.get("rank") == 1 and isinstance(e.get("model"), str)]
    return first[0] if len(first) == 1 else ""


class JsonPart(NamedTuple):
    """A JSON object in a reply, and whether it may be the answer."""

    start: int
    end: int
    value: list[tuple[str, object]]
    damaged: bool
    keyed: list[tuple[bool, object]]  # values of the keys of an answer
    alone: bool  # the reply is nothing else
    own: bool  # set off from the prose around it


def json_parts(text: str) -> Iterator[JsonPart]:
    """The JSON objects of a reply."""
    head, tail = len(text) - len(text.lstrip(" \n\r\t`json")), len(text.rstrip(" \n\r\t`"))
    own, last = False, 0
    for start, end, value, damaged in json_objects(text):
        own = _is_own(text, start, end) or (own and text[last:start].strip(" \n,") in ("or", "and"))
        last = end
        yield JsonPart(start, end, value, damaged, _keyed(value), start == head and end == tail, own)


def _loose_end(text: str) -> int:
    """Where the last object of a reply ends whose objects are all unsound; 0 where none may be its answer."""
    opened, closed = text.find("{"), text.rfind("}") + 1
    balanced = closed and text.count("{") <= text.count("}")
    return closed if balanced and _is_own(text, opened, closed) else 0


def answered_json(text: str) -> Iterator[tuple[object, bool]]:
    """What a JSON schema sees of a reply: each object, array of objects or unsound object (None where it cannot be
    read), and whether it has an answer; objects within are lists of pairs.
    """
    sound, last = False, 0
    for part in json_parts(text):
        sound |= not part.damaged
        if part.start < last:
            continue
        opened = len(text[: part.start].rstrip()) - 1
        value: object = part.value
        last = part.end
        if opened >= 0 and text[opened] == "[":
            with suppress(ValueError, RecursionError):
                value, last = _DECODER.raw_decode(text, opened)
        yield value, bool(part.alone or (part.own and part.keyed))
    if not sound and (end := _loose_end(text)) and _LOOSE.search(text, 0, end):
        value = None
        if end < _LONGEST_LITERAL:
            with suppress(ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
                value = _DECODER.decode(json.dumps(ast.literal_eval(text[text.find("{") : end])))
        yield value, True


def json_answers(meaning: Meaning, text: str, loose: bool) -> tuple[list[tuple[str, Passage]], str, str]:
    """Answers in objects, the text without them, and what is wrong with a reply of one; `loose`: unsound ones too."""
    passages: list[tuple[str, Passage]] = []
    rest, last, problem, sound = [], 0, "", False
    for part in json_parts(text):
        sound |= not part.damaged
        if part.keyed or part.alone:
            rest.append(text[last : part.start])
            last = part.end
        if part.alone or part.own:
            passages += [("json", f._replace(sure=not part.damaged)) for f in preferred(meaning, part.keyed)]
        if part.alone and not part.keyed:
            keys = [str(p[0]) for p in part.value]
            failed = {"error": "error", "refusal": "refused"}
            problem = next((failed[k] for k, v in part.value if k in failed and v), "")
            problem = problem or f"no key of an answer: {', '.join(keys[:8]) or 'no keys'}"
    if loose and not sound and (end := _loose_end(text)):
        matches = _LOOSE.finditer(text, 0, end)
        values = ((bool(m["score"]), m["two"] or m["one"] or m["bare"] or "") for m in matches)
        passages += [("loose json", f) for f in preferred(meaning, values)]
    return passages, "\n".join([*rest, text[last:]]), problem
