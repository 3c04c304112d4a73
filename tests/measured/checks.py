"""A printed number beside its recomputed twin."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Check:
    """One printed value and what the other printed numbers make of it.

    Attributes
    ----------
    place : str
        Table or section.
    quantity : str
        What it is.
    printed : str
        As printed.
    recomputed : float or str
        Unrounded.
    comment : str
        What a reader should know.
    tolerance : float or None
        Largest difference that the printed precision of the *inputs* allows; None asks for the same printed text.
    """

    place: str
    quantity: str
    printed: str
    recomputed: float | str
    comment: str = ""
    tolerance: float | None = None

    @property
    def shown(self) -> str:
        """The recomputed value in the printed precision."""
        if isinstance(self.recomputed, str):
            return self.recomputed
        decimals = len(self.printed.partition(".")[2])
        sign = "+" if self.printed.startswith("+") else ""
        text = f"{self.recomputed:{sign}.{decimals}f}"
        return text.replace("-", "", 1) if float(text) == 0 else text

    @property
    def verdict(self) -> str:
        """``follows`` where the twin agrees, else ``does not follow``."""
        return "follows" if self._agrees() else "does not follow"

    def _agrees(self) -> bool:
        if isinstance(self.recomputed, str):
            return self.recomputed == self.printed
        if self.printed.startswith("<"):
            return self.recomputed < float(self.printed.lstrip("< "))
        if self.tolerance is not None:
            return abs(self.recomputed - float(self.printed)) <= self.tolerance + 1e-12
        return self.shown == self.printed
