"""Arguments are what their annotations say: a word of a few, a name, number, list or mapping; a level of confidence."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, wraps
from inspect import signature
from numbers import Number, Real
from types import UnionType
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from judgestats.errors import DesignError, JudgestatsError, choose, confidence

F = TypeVar("F", bound=Callable[..., Any])


def checked_arguments(function: F) -> F:
    """The function, which checks `conf_level`, words and names before anything else.

    A word is an argument annotated as a ``Literal``. None passes where the annotation allows it; an annotation that
    allows other values too is not checked. A word that another argument takes is answered with that one. A list is no
    name. If the function raises an error that is not the package's own, the arguments are compared with their
    annotations, and one of another form (a name, number, list or mapping) is named as the cause.

    Examples
    --------
    >>> @checked_arguments
    ... def rate(invalid: Literal["drop", "wrong"] = "drop", weights: Mapping[str, float] | None = None) -> list[str]:
    ...     return [*(weights or {}).keys()]
    >>> rate(invalid="skip")
    Traceback (most recent call last):
        ...
    judgestats.errors.DesignError: invalid='skip' is not known. Allowed: 'drop', 'wrong'.
    >>> rate(weights="style")
    Traceback (most recent call last):
        ...
    judgestats.errors.DesignError: weights='style' must be a mapping, such as {'NAME': 0.5}, or None.
    """
    parameters = signature(function).parameters.values()
    names = [p.name for p in parameters if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]
    further = next((p.name for p in parameters if p.kind is p.VAR_KEYWORD), "")

    @cache
    def hints() -> dict[str, object]:
        return hints_of(function)

    @cache
    def forms(name: str) -> tuple[_Form, ...]:
        return _forms(hints().get(name if name in names else further))

    @cache
    def words() -> dict[str, tuple[Any, ...]]:
        return {name: allowed for name in names if (allowed := words_of(hints().get(name)))}

    @wraps(function)
    def checked(*args: Any, **options: Any) -> Any:
        values = {**dict(zip(names, args, strict=False)), **options}
        for name, allowed in words().items():
            if name in values and not (values[name] is None and None in allowed):
                value = values[name]
                others = [n for n, of_other in words().items() if isinstance(value, str) and value in of_other]
                remedy = f" Pass {others[0]}={value!r}." if others else ""
                choose(value, [word for word in allowed if word is not None], name, remedy)
        if "conf_level" in values:
            confidence(values["conf_level"])
        for name, value in values.items():
            if _listlike(value) and _NAME in forms(name):
                _refuse_form(name, value, forms(name))
        try:
            return function(*args, **options)
        except JudgestatsError:
            raise
        except Exception as error:
            for name, value in values.items():
                _refuse_form(name, value, forms(name), error)
            raise

    return cast(F, checked)


def hints_of(function: Callable[..., Any]) -> dict[str, object]:
    """The annotations of a function; a name that only type checkers import may be anything."""
    anything: dict[str, object] = {}
    while True:
        try:
            return get_type_hints(function, localns=anything)
        except NameError as error:
            anything[str(error.name)] = object


def words_of(hint: object) -> tuple[Any, ...]:
    """The values that an annotation allows; none if it allows others than words and None."""
    if hint is type(None):
        return (None,)
    if get_origin(hint) is Literal:
        return get_args(hint)
    parts = [words_of(part) for part in get_args(hint)] if get_origin(hint) in (Union, UnionType) else []
    return sum(parts, ()) if all(parts) and any(word is not None for part in parts for word in part) else ()


@dataclass(frozen=True)
class _Form:
    """A form that an argument may have, in words."""

    words: str
    holds: Callable[[object], bool]


def _numeric(value: object) -> bool:
    return isinstance(value, Number)


def _listlike(value: object) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)


_NOTHING = _Form("None", lambda value: value is None)
_NUMBER = _Form("a number", _numeric)
_WHOLE = _Form("a whole number", lambda value: isinstance(value, Real) and float(value).is_integer())
_NAME = _Form("a name", lambda value: isinstance(value, str | Number))
_TABLE = _Form(
    "a pandas.DataFrame",
    lambda value: type(value).__name__ == "DataFrame" and type(value).__module__.startswith("pandas"),
)
_LIST = _Form("a list of names", _listlike)
_NUMBERS = _Form(
    "a list of numbers", lambda value: isinstance(value, Iterable) and _listlike(value) and all(map(_numeric, value))
)
_MAPPING = _Form("a mapping, such as {'NAME': 'VALUE'}", lambda value: isinstance(value, Mapping))
_WEIGHTS = _Form(
    "a mapping, such as {'NAME': 0.5}",
    lambda value: isinstance(value, Mapping) and all(map(_numeric, value.values())),
)


def _forms(hint: object) -> tuple[_Form, ...]:
    """The forms that an annotation allows; none if it allows further types, which are not checked."""
    if hint in (int, float):
        return (_WHOLE if hint is int else _NUMBER,)
    if hint is str:
        return (_NAME,)
    if hint is type(None):
        return (_NOTHING,)
    if getattr(hint, "__name__", "") == "DataFrame":  # without an import of pandas
        return (_TABLE,)
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Mapping, dict):
        return (_WEIGHTS if parts[1] in (int, float) else _MAPPING,)
    if origin in (Sequence, Iterable, tuple):
        return (_NUMBERS if parts[0] in (int, float) else _LIST,)
    if origin not in (Union, UnionType):
        return ()
    each = [_forms(part) for part in parts]
    return tuple(dict.fromkeys(form for forms in each for form in forms)) if all(each) else ()


def _refuse_form(name: str, value: object, forms: tuple[_Form, ...], error: Exception | None = None) -> None:
    """Refuse an argument that has none of the forms that it may have."""
    if forms and not any(form.holds(value) for form in forms):
        raise DesignError(f"{name}={_value_quoted(value)} must be {', or '.join(f.words for f in forms)}.") from error


def _value_quoted(value: object) -> str:
    """A value as errors quote it: a table by its type."""
    text = repr(value)
    return text if len(text) <= 60 and "\n" not in text else f"a {type(value).__name__}"
