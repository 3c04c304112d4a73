"""A table of calls and of the reasons for which they are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


def refused(error: type[BaseException], *rows: tuple[Any, ...], of: Callable[[Any], object] | None = None) -> None:
    """Each row is refused with its reason; those that are not are named together.

    A row is a call, or what the call ``of`` takes, and the reason, a pattern; between them its error, if it is not ``error``.
    """
    __tracebackhide__ = True
    faults = []
    for case, *own, reason in rows:
        try:
            with pytest.raises(*(own or [error]), match=reason):
                of(case) if of else case()
        except (Exception, pytest.fail.Exception) as fault:
            faults.append(f"{reason!r}: {type(fault).__name__}: {fault}")
    assert not faults, "\n".join(faults)
