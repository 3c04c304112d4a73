"""Replies of judges in the formats of runners: batches of OpenAI and Anthropic, Inspect, promptfoo, tables, forms."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from judgestats.design.plans import CALL
from judgestats.errors import printable
from judgestats.ingest.record_fields import absent, object_in, to_number

#: Output of a runner: a path, a glob, a folder, paths, or records.
Answers = str | Path | Sequence[str | Path | Mapping[str, object]]
#: Names of the column with the reply, in a plain table of answers.
REPLY_COLUMNS = ("answer", "verdict", "reply", "response", "completion", "output", "text", "content")
#: Why a reply ended, in the words of providers.
_FINISH = {
    **dict.fromkeys(("max_tokens", "max_output_tokens", "model_length"), "length"),
    **dict.fromkeys(("refusal", "safety"), "content_filter"),
}
#: What a record is that names a call without a sound reply to it.
_MALFORMED = "malformed record"
#: How the note of a call begins that was never asked.
_EARLIER = "stage "


@dataclass(frozen=True)
class Reply:
    """An answer that came back to a call: its text (None if the call failed), why it ended, and its `messages`.

    `finish`: ``length`` and ``content_filter`` stand for what providers name otherwise. `status`: of a call that has no
    text. `by_hand`: whether a person filled a form in, and `blank`: criteria left empty in it, beside others that are
    not. `tokens`: those read and those written, NaN if not known.
    """

    call: str
    text: str | None
    finish: str = ""
    messages: tuple[str, ...] | None = None
    error: str = ""
    status: str = "error"
    by_hand: bool = False
    blank: tuple[str, ...] = ()
    tokens: tuple[float, float] = (math.nan, math.nan)

    def __post_init__(self) -> None:
        object.__setattr__(self, "finish", _FINISH.get(self.finish, self.finish))
        for name in ("call", "text", "finish", "error"):  # a text of memory may hold half of a surrogate pair
            object.__setattr__(self, name, printable(value) if (value := getattr(self, name)) else value)

    @property
    def rank(self) -> int:
        """0: the call failed; 1: its reply is empty, or in part; 2: answered. A later one of higher rank counts."""
        empty = not (self.text or "").strip() and self.finish not in _FINISH.values()
        return 0 if self.text is None else 1 if empty or self.blank else 2

    @property
    def note(self) -> str:
        """What failed."""
        plain = self.status != "error" or self.error.startswith((_MALFORMED, _EARLIER))
        return self.error if plain else f"the call failed: {self.error}"


#: What a field says that reports no error.
_NO_ERROR = ("", "false", "0", "0.0", "none", "null", "nan", "[]", "{}")


def _text(value: object) -> str:
    """A value as text: JSON where it is none."""
    try:
        return value if isinstance(value, str) else json.dumps(value, default=_plain_value)
    except (TypeError, ValueError, RecursionError):  # keys that are no text, endless numbers, deep nesting
        return f"a {type(value).__name__} that cannot be written out"


def _plain_value(value: object) -> Any:
    return value.tolist() if hasattr(value, "tolist") else str(value)


def _failure(*errors: object) -> str:
    """What the first field that reports an error says; empty if none does."""
    said = (_text(e) for e in errors if not absent(e))
    return next((text[:200] for text in said if text.strip().lower() not in _NO_ERROR), "")


def _word(value: object) -> str:
    return value if isinstance(value, str) else ""


def _content(message: object) -> str | None:
    """The text of a message, in one piece or in parts; None if it has no sound content."""
    content = message.get("content") if isinstance(message, Mapping) else 0
    if content is None or isinstance(content, str):
        return content or ""
    texts = [_text_of_part(p) for p in content] if isinstance(content, list) else [None]
    return None if None in texts else "".join(t for t in texts if t)


def _text_of_part(piece: object) -> str | None:
    """The text of a part of a message, empty for a thought or a call of a tool; None if it is malformed."""
    if isinstance(piece, Mapping) and _word(piece.get("type")) not in ("", "text", "output_text"):
        return ""
    text = piece.get("text") if isinstance(piece, Mapping) else piece
    return text if isinstance(text, str) else None


def _tokens(usage: object) -> tuple[float, float]:
    """Tokens read and written, in the names of providers."""
    fields = usage if isinstance(usage, Mapping) else {}
    names = (("input_tokens", "prompt_tokens", "prompt"), ("output_tokens", "completion_tokens", "completion"))
    numbers = {n: float(x) if isinstance(x, str) and x.isdigit() else to_number(x) for n, x in fields.items()}
    read, written = (next((x for n in each if (x := numbers.get(n, -1)) >= 0), math.nan) for each in names)
    return read, written


def _choice(call: object, holder: Mapping[str, object], ended: str, *errors: object) -> Reply:
    """The reply in the first of the choices of a model's output; `ended`: the field that says why it ended."""
    failed, choices = _failure(*errors), holder.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    if failed or not first:
        return Reply(_text(call), None, error=failed or "no choices")
    if not isinstance(first, Mapping) or (text := _content(first.get("message"))) is None:
        return Reply(_text(call), None, error=f"{_MALFORMED}: {_text(first)[:200]}")
    refusal = _word(object_in(first, "message").get("refusal"))
    if not text and refusal:
        return Reply(_text(call), refusal, "refusal", tokens=_tokens(holder.get("usage")))
    return Reply(_text(call), text, _word(first.get(ended)), tokens=_tokens(holder.get("usage")))


def _plain(record: Mapping[str, object]) -> Reply | None:
    name = next((n for n in REPLY_COLUMNS if n in record), None)
    if CALL not in record or name is None:
        return None
    failed, user = _failure(record.get("error")), record.get("user")
    text = None if failed else "" if absent(record[name]) else _text(record[name])
    sent = (user,) if isinstance(user, str) else None
    return Reply(_text(record[CALL]), text, _word(record.get("finish")), sent, failed, tokens=_tokens(record))


def people_form(record: Mapping[str, object], criteria: Collection[str]) -> Reply | None:
    """A row of a form that people fill in: a column for each criterion, or for the answer."""
    scores = {c: record[c] for c in criteria if c in record and not absent(record[c])}
    if CALL not in record:
        return None
    if any(c in record for c in criteria):
        reason = record.get("comment")
        reasons = {} if absent(reason) else {"reasons": dict.fromkeys(scores, _text(reason))}
        blank = tuple(c for c in record if scores and c in criteria and c not in scores)
        text = _text({"scores": scores, **reasons}) if scores else ""
        return Reply(_text(record[CALL]), text, by_hand=True, blank=blank)
    name = next((n for n in REPLY_COLUMNS if n in record), None)
    if name is None or not {"label", "comment"} <= record.keys():
        return None
    return Reply(_text(record[CALL]), "" if absent(record[name]) else _text(record[name]), by_hand=True)


def _openai(record: Mapping[str, object]) -> Reply | None:
    if "custom_id" not in record or "response" not in record:
        return None
    response = record["response"]
    body = object_in(response, "body")
    odd = "" if body else _text(response)
    return _choice(record["custom_id"], body, "finish_reason", record.get("error"), body.get("error"), odd)


def _anthropic(record: Mapping[str, object]) -> Reply | None:
    if "custom_id" not in record or "result" not in record:
        return None
    result, call = object_in(record, "result"), _text(record["custom_id"])
    if result.get("type") != "succeeded":
        return Reply(call, None, error=_failure(result.get("error"), record["result"]) or "no result")
    text = _content(result.get("message"))
    if text is None:
        return Reply(call, None, error=f"{_MALFORMED}: {_text(result.get('message'))[:200]}")
    message = object_in(result, "message")
    return Reply(call, text, _word(message.get("stop_reason")), tokens=_tokens(message.get("usage")))


def _inspect(sample: Mapping[str, object]) -> Reply | None:
    if "id" not in sample or not isinstance(sample.get("output"), dict):
        return None
    return _choice(sample["id"], object_in(sample, "output"), "stop_reason", sample.get("error"))


def _promptfoo(result: Mapping[str, object]) -> Reply | None:
    variables = object_in(result, "vars")
    if CALL not in variables:
        return None
    call, text = _text(variables[CALL]), object_in(result, "response").get("output")
    messages = _messages(object_in(result, "prompt").get("raw"))
    if text is None:
        response = result.get("response")
        error = _failure(object_in(result, "response").get("error"), result.get("error"), response) or "no output"
        return Reply(call, None, messages=messages, error=error)
    return Reply(call, _text(text), messages=messages, tokens=_tokens(object_in(result, "response").get("tokenUsage")))


def _messages(raw: object) -> tuple[str, ...] | None:
    """The messages of a prompt as promptfoo sent it; None if it did not record them."""
    if not isinstance(raw, str) or raw in ("", "[prompt stripped]"):
        return None
    try:
        messages = json.loads(raw)
    except (ValueError, RecursionError):
        messages = None
    sound = isinstance(messages, list) and all(isinstance(m, dict) for m in messages)
    return tuple(_text(m.get("content")) for m in messages) if sound else (raw,)


#: A record of a runner's output as a reply; None where it is in another form.
Form = Callable[[Mapping[str, object]], Reply | None]
RUNNER_FORMS: tuple[Form, ...] = (_plain, _openai, _anthropic, _inspect, _promptfoo)


def malformed_reply(record: Mapping[str, object], calls: Collection[str]) -> Reply | None:
    """A call of the plan that a record names without a reply to it."""
    names = (record.get(name) for name in (CALL, "custom_id", "id"))
    call = next((n for n in names if isinstance(n, str) and n in calls), None)
    return None if call is None else Reply(call, None, error=f"{_MALFORMED}: {_text(dict(record))[:200]}")
