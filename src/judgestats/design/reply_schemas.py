"""Whether a reply has the form that its prompt asks for: the JSON schema of the prompt decides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from judgestats.design.reply_contents import contents
from judgestats.design.rubric_dimensions import plain
from judgestats.errors import DesignError
from judgestats.ingest.explicit_forms import ANSWER_KEY_ONLY
from judgestats.ingest.reply_meaning import NUMBER
from judgestats.typing import JsonSchema, Record

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator, ValidationError

#: Key of what is wrong with a whole reply, beside the names of criteria.
WHOLE = ""


def schema_faults(schema: JsonSchema, text: str) -> dict[str, str]:
    """What is wrong with the JSON of a reply: of it all under ``WHOLE``, of a criterion under its plain name; of
    several objects the last counts, unless one is as it should be.
    """
    from jsonschema import Draft202012Validator
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    parts = schema.get("properties", {})
    answers = [each for each in contents(text) if parts.keys() & each.keys()] if schema else []
    validator = Draft202012Validator(dict(schema), registry=Registry())
    faults: dict[str, str] = {}
    for answer in answers:
        faults = {}
        try:
            for criterion, fault in _faults(validator, answer):
                faults.setdefault(criterion, fault)
        except (Unresolvable, RecursionError) as problem:
            raise DesignError(f"The schema of a prompt refers to a part that it does not have: {problem}.") from None
        if not faults:
            break
    return faults


def _faults(validator: Draft202012Validator, answer: Record) -> Iterator[tuple[str, str]]:
    for error in sorted(validator.iter_errors(answer), key=lambda e: len(e.absolute_path)):
        path = list(error.absolute_path)
        value = error.instance
        if error.validator == "type" and isinstance(value, str) and NUMBER.fullmatch(value.strip()):
            continue  # a number as text, or with its spread
        if path and len(path) == 1 and error.validator in ("enum", "type") and ANSWER_KEY_ONLY.fullmatch(str(path[0])):
            continue  # the answer itself: the reader says whether it is known
        where = ".".join(map(str, path))
        said = f"{where}: {error.message}" if where else error.message
        for criterion in _criteria(error, path, answer):
            yield criterion, said[:200]


def _criteria(error: ValidationError, path: Sequence[str | int], answer: Record) -> list[str]:
    """The criteria that an error is about; ``WHOLE`` where it is about the reply."""
    if not path or path[0] not in ("scores", "reasons"):
        return [WHOLE]
    part = answer[path[0]]
    if len(path) == 1:
        absent = [*(set(error.validator_value) - {*part})] if error.validator == "required" else []
        return [plain(c) for c in absent] or [WHOLE]
    if isinstance(part, list):
        entry = part[int(path[1])]
        return [plain(str(entry.get("dimension", "")))] if isinstance(entry, dict) else [WHOLE]
    return [plain(str(path[1]))]
