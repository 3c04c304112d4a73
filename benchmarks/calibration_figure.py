"""Figure of the calibration study: ECDF of the ranks less that of uniform ones, and the band of 95 %."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from calibration_study import band


def drawn(table: pd.DataFrame, out: Path) -> None:
    """Draw a panel for each model, a line for each quantity, and write it.

    Parameters
    ----------
    table : pandas.DataFrame
        As in docs/calibration.csv.
    out : pathlib.Path
    """
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    models = list(dict.fromkeys(table["model"]))
    columns = min(3, len(models))
    lines = -(-len(models) // columns)
    figure, panels = plt.subplots(
        lines, columns, figsize=(3.6 * columns, 2.5 * lines), sharex=True, sharey=True, squeeze=False
    )
    for panel, model in zip(panels.ravel(), models, strict=False):
        _panel(panel, table[table["model"] == model], model)
    for panel in panels.ravel()[len(models) :]:
        panel.axis("off")
    for panel in panels[:, 0]:
        panel.set_ylabel("ECDF minus uniform")
    for place, panel in enumerate(panels.ravel()[: len(models)]):
        if place + columns >= len(models):
            panel.set_xlabel("rank, as a share")
            panel.tick_params(labelbottom=True)
    figure.tight_layout()
    figure.savefig(out, dpi=110)
    plt.close(figure)


def _panel(panel, rows: pd.DataFrame, title: str) -> None:  # type: ignore[no-untyped-def]
    fits, draws = int(rows["fits"].iloc[0]), int(rows["draws"].iloc[0])
    where = band(fits, draws)
    at = np.concatenate([[0.0], where.at, [1.0]])
    low, high = (np.concatenate([[0.0], edge - where.at, [0.0]]) for edge in (where.low, where.high))
    panel.fill_between(at, low, high, color="#d9e2ec", linewidth=0)
    panel.axhline(0.0, color="#829ab1", linewidth=0.6)
    for counts, inside in zip(rows["counts"], rows["inside"], strict=True):
        share = np.concatenate([[0.0], np.cumsum([int(c) for c in counts.split()]) / fits])
        panel.plot(at, share - at, linewidth=0.7 if inside else 1.2, color="#486581" if inside else "#c0392b",
                   alpha=0.6 if inside else 0.9, zorder=2 if inside else 3)  # fmt: skip
    outside = int((~rows["inside"]).sum())
    panel.set_title(f"{title}\n{fits} fits, {outside} of {len(rows)} quantities outside", fontsize=8)
    panel.tick_params(labelsize=7)
