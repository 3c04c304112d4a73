"""Whether a reply has the form that its prompt asks for: the JSON schema of the prompt decides."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from judgestats.design.reply_contents import nested
from judgestats.design.rubric_dimensions import plain
from judgestats.errors import DesignError
from judgestats.ingest.json_replies import answered_json
from judgestats.ingest.reply_meaning import NUMBER
from judgestats.ingest.reply_thoughts import without_thoughts
from judgestats.typing import JsonSchema

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator, ValidationError

#: Key of what is wrong with a whole reply, beside the names of criteria.
WHOLE = ""


def schema_faults(schema: JsonSchema, text: str, labels: Collection[str] = ()) -> dict[str, str]:
    """What is wrong with the JSON of a reply: of it all under ``WHOLE``, of a criterion under its plain name; of
    several values the last counts, unless one is as it should be. `labels`: answers that are allowed, too.
    """
    from jsonschema import Draft202012Validator
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    parts = schema.get("properties", {})
    validator = Draft202012Validator(dict(schema), registry=Registry())
    faults: dict[str, str] = {}
    for answer, counts in answered_json(without_thoughts(text)[0]) if schema else ():
        answer = nested(answer)
        if not counts and not (isinstance(answer, dict) and parts.keys() & answer.keys()):
            continue  # the JSON of a task
        faults = {WHOLE: "no valid JSON"}
        if answer is None:
            continue
        faults = {}
        try:
            for criterion, fault in _faults(validator, answer, labels):
                faults.setdefault(criterion, fault)
        except (Unresolvable, RecursionError) as problem:
            raise DesignError(f"The schema of a prompt refers to a part that it does not have: {problem}.") from None
        if not faults:
            break
    return faults


def _faults(validator: Draft202012Validator, answer: object, labels: Collection[str]) -> Iterator[tuple[str, str]]:
    for error in sorted(validator.iter_errors(answer), key=lambda e: len(e.absolute_path)):
        path = list(error.absolute_path)
        number = NUMBER.fullmatch(error.instance.strip()) if isinstance(error.instance, str) else None
        if number and validator.evolve(schema=error.schema).is_valid(float(number[1])):
            continue  # a number as text, or with its spread
        if error.validator in ("enum", "type") and isinstance(error.instance, str) and error.instance in labels:
            continue
        where = ".".join(map(str, path))
        said = f"{where}: {error.message}" if where else error.message
        for criterion in _criteria(error, path, answer):
            yield criterion, said[:200]


def _criteria(error: ValidationError, path: Sequence[str | int], answer: object) -> list[str]:
    """The criteria that an error is about; ``WHOLE`` where it is about the reply."""
    if not isinstance(answer, dict) or not path or path[0] not in ("scores", "reasons"):
        return [WHOLE]
    part = answer[path[0]]
    if len(path) == 1:
        absent = [*(set(error.validator_value) - {*part})] if error.validator == "required" else []
        return [plain(c) for c in absent] or [WHOLE]
    if isinstance(part, list):
        entry = part[int(path[1])]
        return [plain(str(entry.get("dimension", "")))] if isinstance(entry, dict) else [WHOLE]
    return [plain(str(path[1]))]
