"""Arguments are what their annotations say: one of a few words, or a level of confidence."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from inspect import signature
from typing import Any, Literal, TypeVar, cast, get_args, get_origin, get_type_hints

from judgestats.errors import choose, confidence

F = TypeVar("F", bound=Callable[..., Any])


def checked_arguments(function: F) -> F:
    """The function, which checks `conf_level` and each argument annotated as a ``Literal`` before anything else.

    None passes where the annotation allows it; an annotation that allows other values too is not checked.

    Examples
    --------
    >>> @checked_arguments
    ... def rate(invalid: Literal["drop", "wrong"] = "drop") -> str:
    ...     return invalid
    >>> rate(invalid="skip")
    Traceback (most recent call last):
        ...
    judgestats.errors.DesignError: invalid='skip' is not known. Allowed: 'drop', 'wrong'.
    """
    names = list(signature(function).parameters)

    @cache
    def words() -> dict[str, tuple[Any, ...]]:
        hints = get_type_hints(function)
        return {name: allowed for name in names if (allowed := _words(hints.get(name)))}

    @wraps(function)
    def checked(*args: Any, **options: Any) -> Any:
        values = {**dict(zip(names, args, strict=False)), **options}
        for name, allowed in words().items():
            if name in values and not (values[name] is None and None in allowed):
                choose(values[name], [word for word in allowed if word is not None], name)
        if "conf_level" in values:
            confidence(values["conf_level"])
        return function(*args, **options)

    return cast(F, checked)


def _words(hint: Any) -> tuple[Any, ...]:
    """The values that an annotation allows; none if it allows others than words and None."""
    if hint is type(None):
        return (None,)
    if get_origin(hint) is Literal:
        return get_args(hint)
    parts = [_words(part) for part in get_args(hint)]
    return sum(parts, ()) if all(parts) and any(word is not None for part in parts for word in part) else ()
