"""Columns that ``by=`` names: they are there, and hold something else than the verdicts."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import TypeVar, cast

from judgestats.counting.study import Study
from judgestats.schema.columns import By, grouping

F = TypeVar("F", bound=Callable[..., object])


def with_known_groups(function: F) -> F:
    """Wrap a measure to refuse a ``by=`` that names no column of its first frame, or the column of verdicts."""
    parameters = list(signature(function).parameters)
    if "by" not in parameters:
        return function
    place = parameters.index("by")

    @wraps(function)
    def checked(*args: object, **options: object) -> object:
        by = options.get("by", args[place] if len(args) > place else ())
        if args and by and (study := Study.of_any(args[0])) is not None:
            grouping(cast(By, by), study.names)
        return function(*args, **options)

    return cast(F, checked)
