"""Few tasks behind many items: intervals hold for these, and ``method`` says so."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import TypeVar, cast

import pandas as pd

from judgestats.counting.clustering import CANDIDATES, fixed_levels
from judgestats.counting.study import Study
from judgestats.methods import method_of
from judgestats.wording import Method

F = TypeVar("F", bound=Callable[..., object])


def with_fixed_levels(function: F, *, studies: bool) -> F:
    """Wrap a measure so that ``method`` says for which few tasks, topics or items an interval holds.

    Where ``cluster="auto"`` is taken. `studies`: whether the measure takes a study in place of a frame.
    """
    parameters = signature(function).parameters
    if "cluster" not in parameters:
        return function
    default, frame = parameters["cluster"].default, next(iter(parameters))

    @wraps(function)
    def checked(*args: object, **options: object) -> object:
        calls = args[0] if args else options.get(frame)
        study = Study.of_any(calls) if options.get("cluster", default) == "auto" else None
        if study is None or not {*study.names} & {*CANDIDATES}:
            return function(*args, **options)
        if studies:
            args, options = (study, *args[1:]), {name: x for name, x in options.items() if name != frame}
        result = function(*args, **options)
        if not isinstance(result, pd.DataFrame) or not {"method", "conf_low"} <= {*result}:
            return result
        texts = result["method"].where(result["conf_low"].notna(), "")
        groups = [c for c in CANDIDATES if c in result]
        said = {text: _for_levels(method_of(text), study, groups) for text in {*texts} if text}
        return result.assign(method=[said.get(text, old) for text, old in zip(texts, result["method"], strict=True)])

    return cast(F, checked)


def _for_levels(method: Method, study: Study, groups: list[str]) -> Method:
    """The method, which says for which levels its ends hold, if these are few."""
    column = method.clusters.column if method.clusters else method.draws.units if method.draws else ""
    levels = fixed_levels(study, groups, column.removesuffix("s"))
    return method if levels is None else method.holding_for(*levels)
