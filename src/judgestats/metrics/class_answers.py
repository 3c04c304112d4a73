"""Verdicts that are classes, given to a measure of numbers."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar, cast

from judgestats.counting.repeats import ORDER
from judgestats.counting.study import Study
from judgestats.errors import DesignError
from judgestats.schema.columns import answer_column, required

F = TypeVar("F", bound=Callable[..., object])


def without_classes(function: F, name: str) -> F:
    """Wrap a measure so that it refuses verdicts that are classes: it needs numbers."""

    @wraps(function)
    def checked(*args: object, **options: object) -> object:
        if args and _are_classes(args[0]):
            raise DesignError(
                f"{name} needs numbers, and the verdicts are classes. {ORDER} Measures of classes: classification, "
                "confusion, kappa, alpha, ac1, disagreement, judge_against_people.",
                problem="the verdicts are classes, not numbers",
            )
        return function(*args, **options)

    return cast(F, checked)


def _are_classes(data: object) -> bool:
    """Whether a frame of ratings holds classes only."""
    study = Study.of_any(data)
    present = [] if study is None else study.names
    if answer_column(present) != "answer" or "answer" not in present:
        return False
    return "item" in present and not {*required("preferences")} <= {*present} and "n" not in present
