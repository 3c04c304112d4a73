"""Values of the scorers of Inspect: numbers, true and false, letters, and words that ``values=`` gives a number."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType

from judgestats.errors import SchemaError
from judgestats.ingest.json_values import Fields, Row
from judgestats.ingest.readers import Place
from judgestats.ingest.word_scores import Word

#: What Inspect's own metrics take its letters and words for; N is "no answer".
LETTERS: Mapping[str, float | bool] = {"C": True, "I": False, "P": 0.5, "N": False}


def by_scorer(option: object, name: str, kind: type) -> Fields:
    """An option that says something of each scorer, checked; the command line writes ``scorer=safe:1;unsafe:0``."""
    if kind is dict and isinstance(option, Mapping):
        option = {k: _classes(v) if isinstance(v, str) and ":" in v else v for k, v in option.items()}
    if option is not None and not (isinstance(option, Mapping) and all(isinstance(v, kind) for v in option.values())):
        example = "{'scorer': 'model'}" if kind is str else "{'scorer': {'safe': 1, 'unsafe': 0}}"
        raise SchemaError(f"{name}={option!r} should be a dict such as {example}.")
    return option or {}


def _classes(text: str) -> Row:
    """Numbers of classes, as the command line writes them."""
    pairs = (pair.rpartition(":")[::2] for pair in text.split(";") if pair)
    plain: Row = {"true": True, "false": False, "none": None}
    return {k.strip(): plain.get(v.strip().lower(), number_of(v.strip())) for k, v in pairs}


def rating(
    value: object,
    scorer: str,
    part: str,
    values: Fields,
    place: Place,
    letters: Mapping[str, float | bool] = MappingProxyType({}),
) -> tuple[float | bool | Word | None, str | None]:
    """Read a value (true or false, a number, a :class:`Word`) and its label if it is more; neither if unscored."""
    if value is None or isinstance(value, bool):
        return value, None
    if isinstance(value, int | float):
        if math.isinf(value):
            raise place.wrong(f"the value of {part}", value, "a finite number, or NaN for unscored")
        return (None, None) if math.isnan(value) else (float(value), None)
    if not isinstance(value, str):
        raise place.wrong(f"the value of {part}", value, "a number, true, false, a text, or a list or object of these")
    if values:
        return _mapped(value, part, values, place), value
    number = number_of(value)
    if number is not None:
        return (None, None) if math.isnan(number) else (number, None)
    if not value:
        return None, None
    return Word(value, part, partial(_by_values, scorer), letters), "N" if letters and value == "N" else None


def _by_values(scorer: str, texts: Sequence[str]) -> str:
    """How ``values=`` gives the texts of a scorer a number."""
    return (
        f"values= gives each a number, True, False or None: values={{{scorer!r}: "
        f"{{{', '.join(f'{t!r}: ...' for t in texts)}}}}}, on the command line "
        f"--option 'values={scorer}={';'.join(f'{t}:...' for t in texts)}'"
    )


def number_of(text: str) -> float | None:
    """A finite number or NaN, written as a text; None for anything else."""
    try:
        number = float(text) if text.strip() == text and "_" not in text else None
    except ValueError:
        return None
    return None if number is None or math.isinf(number) else number


def _mapped(value: str, part: str, values: Fields, place: Place) -> float | bool | None:
    if value not in values:
        raise place.wrong(f"the value of {part}", value, f"{', '.join(map(str, values))}, as values= says")
    number = values[value]
    if number is None or isinstance(number, bool):
        return number
    if not isinstance(number, int | float) or not math.isfinite(number):
        raise place.wrong(f"values= for {value!r}", number, "a number, True, False, or None for none")
    return float(number)
