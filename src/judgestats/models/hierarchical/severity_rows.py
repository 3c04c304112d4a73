"""Estimates of :func:`judgestats.models.hierarchical.severity`, row by row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgestats.models.bayes.draws import Draws
from judgestats.models.bayes.scales import Prior
from judgestats.models.hierarchical.crossed import Panel, weight_flags
from judgestats.models.hierarchical.doubts import FEW_OWN, ONE_SCORE, PRIOR_DRIVEN
from judgestats.models.hierarchical.posteriors import row
from judgestats.results import UNBOUNDED, flags

Floats = NDArray[np.float64]


class Rows:
    """The estimates."""

    def __init__(self, data: Panel, made: Draws, conf_level: float, doubts: list[str]) -> None:
        self.data, self.made, self.level, self.doubts = data, made, conf_level, doubts
        self.tail = (1 - conf_level) / 2
        self.chains = bool(np.isnan(made.pareto_k))

    def _row(self, term: str, values: Floats, n: float, flag: str = "", **more: str) -> dict[str, Any]:
        told = flags(*self.doubts, flag, *weight_flags(self.made))
        keys = {"condition": "", "judge": "", "system": "", **more}
        made = row(
            term,
            values,
            conf_level=self.level,
            n=n,
            method=self.made.method,
            flag=told,
            chains=np.isnan(self.made.pareto_k),
            draws=self.made,
            **keys,
        )
        return {**made, "probability": float((values > 0).mean())}

    def _scores(self, **where: int) -> int:
        """Scores with these codes."""
        return int(np.logical_and.reduce([getattr(self.data, k) == v for k, v in where.items()]).sum())

    def severities(self) -> list[dict[str, Any]]:
        """By condition and judge."""
        rows = []
        for term in ("severity", "severity_to_reference"):
            if term not in self.made.values:
                continue
            for c, where in enumerate(self.data.conditions):
                for j, judge in enumerate(self.made.labels[term][1]):
                    n = self._scores(condition=c, judge=j)
                    flag = ONE_SCORE if n == 1 else "no data" if n == 0 else ""
                    rows.append(
                        self._row(term, self.made.values[term][..., c, j], n, flag, condition=where, judge=judge)
                    )
        return rows

    def qualities(self) -> list[dict[str, Any]]:
        """By condition and system."""
        rows = []
        for c, where in enumerate(self.data.conditions):
            for s, system in enumerate(self.data.systems):
                n = self._scores(condition=c, system=s)
                flag = ONE_SCORE if n == 1 else "no data" if n == 0 else ""
                rows.append(
                    self._row(
                        "quality", self.made.values["quality"][..., c, s], n, flag, condition=where, system=system
                    )
                )
        return rows

    def selves(self) -> list[dict[str, Any]]:
        """Self-preference and excess by condition and judge, and the mean over judges to come."""
        if "self_preference" not in self.made.values:
            return []
        rows, who = [], self.made.labels["self_preference"][1]
        few = FEW_OWN if len(who) < 3 else ""
        for term in ("self_preference", "own_excess"):
            for c, where in enumerate(self.data.conditions):
                for j, judge in enumerate(who):
                    n = self._scores(condition=c, judge=self.data.judges.index(judge), own=1)
                    told = "no data" if n == 0 else few
                    rows.append(
                        self._row(term, self.made.values[term][..., c, j], n, told, condition=where, judge=judge)
                    )
        for c, where in enumerate(self.data.conditions):
            value = self.made.values["mean_self_preference"][..., c]
            rows.append(self._row("mean_self_preference", value, len(who), few, condition=where))
        return rows

    def attenuations(self, base: int, against: int) -> list[dict[str, Any]]:
        """Per judge and on average."""
        if "self_preference" not in self.made.values:
            return []
        rows, who = [], self.made.labels["self_preference"][1]
        for source, term, ratio in (
            ("self_preference", "attenuation", "attenuation_ratio"),
            ("own_excess", "excess_attenuation", "excess_ratio"),
        ):
            a, b = (self.made.values[source][..., c, :] for c in (base, against))
            change = np.abs(a) - np.abs(b)
            rows += [self._row(term, change[..., j], 1, judge=judge) for j, judge in enumerate(who)]
            rows += [self._ratio(ratio, a[..., j], b[..., j], judge) for j, judge in enumerate(who)]
            rows.append(self._row(f"mean_{term}", change.mean(axis=-1), len(who)))
        return rows

    def _ratio(self, term: str, a: Floats, b: Floats, judge: str) -> dict[str, Any]:
        value = np.abs(b) / np.abs(a)
        low, high = np.quantile(a, [self.tail, 1 - self.tail])
        found = self._row(term, value, 1, UNBOUNDED if low <= 0 <= high else "", judge=judge)
        return {
            **found,
            "estimate": float(np.median(value)),
            "std_error": np.nan,
            "probability": float((value < 1).mean()),
        }

    def spreads(self, priors: Mapping[str, Prior]) -> list[dict[str, Any]]:
        """The sds."""
        rows = []
        for name in self.data.sds:
            values = self.made.values[name]
            flag = PRIOR_DRIVEN if priors[name].decides(values) else ""
            rows.append({**self._row(f"sd_{name}", values, len(self.data.y), flag), "probability": np.nan})
        return rows
