"""The rationalization paper: its outcome counts as a tally."""

from __future__ import annotations

import pandas as pd

from judgestats.published.catalogue import load

#: Tables of outcome counts, and the probe of each.
TABLES = {"table2": "blind", "table3": "truth", "table4": "flip", "table5": "placebo"}
#: Tables of movements, and the probe of each.
MOVEMENTS = {"table6": "truth", "table7": "flip", "table8": "placebo"}
#: The side that the cue favours: Section IV.C c for Truth and Flip, the caption of Table VIII for Placebo.
FAVOURED = {"truth": "llm", "flip": "tradml", "placebo": "llm"}
#: The same by the caption of Table VII and Appendix G.
FAVOURED_IN_CAPTIONS = {"truth": "llm", "flip": "llm", "placebo": "llm"}
#: Items per judge and scheme (caption of Table II).
N_ITEMS = 1000
_COUNTS = ("tie", "llm", "tradml")


def outcomes() -> pd.DataFrame:
    """Tables II to V as a tally: ``judge, scheme, probe, outcome, n``."""
    parts = [_long(load(f"rationalization/{name}")).assign(probe=probe) for name, probe in TABLES.items()]
    return pd.concat(parts, ignore_index=True)[["judge", "scheme", "probe", "outcome", "n"]]


def identical() -> pd.DataFrame:
    """Table X, one text twice under two labels, as a tally; the probe is called ``blind`` to have its tie rate read."""
    table = _long(load("rationalization/table10").assign(scheme=""))
    return table.assign(probe="blind")[["judge", "probe", "outcome", "n"]]


def _extractive() -> pd.DataFrame:
    """Table IX: each judge's choices between the LLM and each extractive system."""
    table = load("rationalization/table9")
    return table.melt(["judge", "baseline"], ["llm", "tradml"], "outcome", "n")


def _long(table: pd.DataFrame) -> pd.DataFrame:
    return table.melt(["judge", "scheme"], list(_COUNTS), "outcome", "n")
