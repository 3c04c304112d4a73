"""Answers in the JSON objects of a reply."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from judgestats.ingest.explicit_forms import ANSWER_KEY, ANSWER_KEY_ONLY, preferred
from judgestats.ingest.reply_context import spoiled
from judgestats.ingest.reply_meaning import DIGITS, LISTING, Meaning, Passage

_OWN_LEAD = re.compile(r"\b(?:my|final) (?:\w{1,12} ){0,2}is$", re.I)
_OBJECT = re.compile(r"\{\s{0,20}[\"}]")
_DECODER = json.JSONDecoder(strict=False, object_pairs_hook=list)
_LOOSE = re.compile(
    rf"[\"']{ANSWER_KEY}[\"']\s{{0,9}}:\s{{0,9}}(?:\"(?P<two>[^\"\n]{{0,100}})\"|'(?P<one>[^'\n]{{0,100}})'|(?P<bare>-?{DIGITS}))"
    r"\s{0,9}(?=[,}\n\"])",
    re.I,
)


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


def json_answers(meaning: Meaning, text: str, loose: bool) -> tuple[list[tuple[str, Passage]], str, str]:
    """Answers in objects, the text without them, and what is wrong with a reply of one; `loose`: unsound ones too."""
    passages: list[tuple[str, Passage]] = []
    rest, last, problem, sound, own, last_end = [], 0, "", False, False, 0
    head, tail = len(text) - len(text.lstrip(" \n\r\t`json")), len(text.rstrip(" \n\r\t`"))
    for start, end, value, damaged in json_objects(text):
        sound |= not damaged
        keyed = _keyed(value)
        alone = start == head and end == tail
        if keyed or alone:
            rest.append(text[last:start])
            last = end
        own = _is_own(text, start, end) or (own and text[last_end:start].strip(" \n,") in ("or", "and"))
        last_end = end
        if alone or own:
            passages += [("json", f._replace(sure=not damaged)) for f in preferred(meaning, keyed)]
        if alone and not keyed:
            keys = [str(p[0]) for p in value]
            failed = {"error": "error", "refusal": "refused"}
            problem = next((failed[k] for k, v in value if k in failed and v), "")
            problem = problem or f"no key of an answer: {', '.join(keys[:8]) or 'no keys'}"
    closed = text.rfind("}") + 1
    opened = text.find("{")
    if loose and not sound and closed and text.count("{") <= text.count("}") and _is_own(text, opened, closed):
        matches = _LOOSE.finditer(text, 0, closed)
        values = ((bool(m["score"]), m["two"] or m["one"] or m["bare"] or "") for m in matches)
        passages += [("loose json", f) for f in preferred(meaning, values)]
    return passages, "\n".join([*rest, text[last:]]), problem
