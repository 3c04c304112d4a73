"""What the model of Dawid and Skene finds in the labels of a panel: :class:`DawidSkene`."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import expit, logit

from judgestats import flags
from judgestats.counting.panels import AnswerPanel
from judgestats.errors import DesignError
from judgestats.kernels.expectation_maximisation import LatentClasses, latent_classes, standard_errors
from judgestats.kernels.proportions import normal_quantile
from judgestats.kernels.resampling import generator
from judgestats.methods import EM, EM_INFORMED
from judgestats.results import estimates
from judgestats.typing import Floats, Integers, Ints, Record, Seed

DAWID_SKENE = "dawid_skene"
MOST_CLASSES = 12
#: Expected answers on the rarer side of a probability below which its interval is flagged.
ENOUGH_CONFUSED = 5
#: Two posterior probabilities nearer than this are equal.
_EQUAL = 1e-6


@dataclass(frozen=True)
class DawidSkene:
    """The model of Dawid and Skene, fitted: true classes, how frequent they are, and how each rater labels them.

    Attributes
    ----------
    classes : list
        The labels, each of which is a class: scores, candidates or ``tie``; ``candidate`` and ``tie`` where pairs
        have different candidates.
    loglik : float
        Log-likelihood, without multinomial coefficients; the sum over panels where there are several.
    """

    classes: list[Hashable]
    loglik: float
    _parameters: pd.DataFrame
    _fits: pd.DataFrame
    _posterior: pd.DataFrame

    def __repr__(self) -> str:
        """One line."""
        raters = self._parameters.loc[self._parameters["term"] == "confusion", "_rater"].nunique()
        units = self._fits["n"].sum()
        k = len(self.classes)
        return f"DawidSkene: {k} class{'es' * (k != 1)}, {raters} raters, {units:,.0f} units, loglik {self.loglik:.2f}"

    def tidy(self) -> pd.DataFrame:
        """Estimates of the parameters.

        Returns
        -------
        pandas.DataFrame
            Columns of every estimate, and ``true`` and ``answer``. Term ``prior``: share of the class ``true``.
            Term ``confusion``: probability that a rater (``judge``) answers ``answer`` where ``true`` is true. ``n``:
            the expected number of units, or of the rater's labels, in that class. A parameter at 0 or 1 has no standard
            error, and counts as known in those of the others.
        """
        return self._parameters.drop(columns="_rater")

    def glance(self) -> pd.DataFrame:
        """One row for each panel: ``loglik``, ``n``, ``n_labels``, ``n_starts``, ``n_best``, ``converged``, ``method``.

        ``n_best`` starts of ``n_starts`` reached the log-likelihood.
        """
        return self._fits.copy()

    def augment(self) -> pd.DataFrame:
        """One row for each unit: its columns, and ``p(class)``, the posterior probability of each class."""
        return self._posterior.copy()


def fit_panels(
    panel: AnswerPanel, n_starts: int, seed: Seed, conf_level: float
) -> tuple[Floats, list[Record], list[Record]]:
    """Fit the model to each panel: posterior of each unit (N, K), rows of the parameters, rows of the fits."""
    k = len(panel.answers)
    if k > MOST_CLASSES:
        first = ", ".join(map(str, panel.answers[:4]))
        raise DesignError(
            f"dawid_skene takes each different answer as a class, and there are {k} ({first}, ...). Allowed: up to "
            f"{MOST_CLASSES}. Round or bin the scores, or use how='mean'."
        )
    if not isinstance(n_starts, int | np.integer) or n_starts < 0:
        raise DesignError(f"n_starts={n_starts!r} is not a number of random starts. Allowed: 0 and above, e.g. 20.")
    posterior = np.full((len(panel.things), k), np.nan)
    parameters: list[Record] = []
    fits: list[Record] = []
    for key, things in panel.things.each_group(panel.things.names):
        pattern, tables, raters = _patterns(panel, things, key)
        labelled = tables.sum(axis=(1, 2)) > 0
        tables, weight = tables[labelled], np.bincount(pattern, panel.weight[things])[labelled]
        rng = generator(seed, tuple(map(str, key.values())))
        fit = latent_classes(tables, weight, rng, int(n_starts), panel.mirror)
        by_pattern = np.full((labelled.size, k), np.nan)
        by_pattern[labelled] = fit.posterior
        posterior[things] = by_pattern[pattern]
        errors = standard_errors(tables, weight, fit, panel.mirror)
        several = flags.SEVERAL_OPTIMA.of(fit.n_best, total=n_starts + 1) if 2 * fit.n_best < n_starts + 1 else ""
        note = flags.join(several, "" if fit.converged else flags.NOT_SETTLED)
        weighted = fit.posterior * weight[:, None]
        n = weighted.sum(axis=0), np.einsum("nk,nrl->rk", weighted, tables)  # units, labels of each rater
        mislabelled = _mislabelled(panel, tables, weight, fit)
        for row in _parameter_rows(panel, fit, errors, n, raters, conf_level):
            unlike = flags.NOT_ITS_LABEL if row["true"] in mislabelled else ""
            parameters.append({**key, **row, "flag": flags.join(row["flag"], unlike, note)})
        sizes = {"n": float(weight.sum()), "n_labels": float(weight @ tables.sum(axis=(1, 2)))}
        starts = {"n_starts": n_starts + 1, "n_best": fit.n_best, "converged": fit.converged}
        fits.append({**key, "loglik": fit.loglik, **sizes, **starts, "method": EM})
    return posterior, parameters, fits


def _patterns(panel: AnswerPanel, things: Integers, key: Record) -> tuple[Integers, Floats, list[Record]]:
    """Pattern of answers of each of these things, how often each rater gave each answer in it (P, R, K), and raters.

    Raises DesignError if nothing has answers of two raters.
    """
    k, place = len(panel.answers), np.full(len(panel.things), -1)
    place[things] = np.arange(things.size)
    rows = place[panel.thing] >= 0
    raters, rater = np.unique(panel.judge[rows], return_inverse=True)
    if raters.size < 2:
        protocol = ", ".join(f"{c}={v}" for c, v in key.items())
        who = f"{raters.size} rater{'s' * (raters.size != 1)} gave a valid answer"
        raise DesignError(
            f"dawid_skene compares raters, and {who}{f' under {protocol}' if protocol else ''}. Name what "
            "distinguishes them in over= ('judge', say), and give the answers of two or more, better three."
        )
    counts = np.zeros((things.size, raters.size * k))
    np.add.at(counts, (place[panel.thing[rows]], rater * k + panel.answer[rows]), 1.0)
    patterns, pattern = np.unique(counts, axis=0, return_inverse=True)
    tables = patterns.reshape(-1, raters.size, k)
    if not ((tables.sum(axis=2) > 0).sum(axis=1) > 1).any():
        raise DesignError(
            f"dawid_skene compares raters, and none of the {things.size:,} units has answers of two of them. Check "
            "that the raters name the units alike."
        )
    return pattern.reshape(-1), tables, _raters(panel).iloc[raters].to_dict("records")


def _raters(panel: AnswerPanel) -> pd.DataFrame:
    """The columns that tell raters apart."""
    assert isinstance(panel.judges, pd.MultiIndex)
    return panel.judges.to_frame(index=False)


def _mislabelled(panel: AnswerPanel, tables: Floats, weight: Floats, fit: LatentClasses) -> list[Hashable]:
    """Classes whose label is given more often where another class is true: they are something else than the label."""
    table = np.einsum("nk,nrl->kl", fit.posterior * weight[:, None], tables)
    total = table.sum(axis=1, keepdims=True)
    share = np.divide(table, total, out=np.zeros_like(table), where=total > 0)
    wrong = (np.diag(share) < share.max(axis=0) - 1e-9) & (total[:, 0] > 0)
    return [name for name, classes in _classes_by_name(panel).items() if wrong[list(classes)].any()]


def verdicts_of(panel: AnswerPanel, n_starts: int, seed: Seed, conf_level: float) -> tuple[Ints, Floats]:
    """:func:`chosen_classes` of the fit; DesignError where its classes are not the labels."""
    posterior, parameters, _ = fit_panels(panel, n_starts, seed, conf_level)
    if mislabelled := sorted({str(r["true"]) for r in parameters if flags.NOT_ITS_LABEL in r["flag"]}):
        raise DesignError(
            f"dawid_skene found no class for the answer {', '.join(mislabelled)}: raters give it more often where "
            "another class is true. The raters err together, or answers are of more kinds than labels. Use another "
            "rule ('majority', 'median'), or look at dawid_skene(calls).tidy()."
        )
    return chosen_classes(posterior)


def _parameter_rows(
    panel: AnswerPanel,
    fit: LatentClasses,
    errors: tuple[Floats, Floats],
    n: tuple[Floats, Floats],
    raters: list[Record],
    conf_level: float,
) -> list[Record]:
    """Rows of the parameters of one panel."""
    unknown = fit.unnamed.any() or not np.isfinite(np.concatenate([e.ravel() for e in errors])).any()
    k = len(panel.answers)
    merged = _classes_by_name(panel)

    def row(term: str, value: float, error: float, count: float) -> Record:
        inside = 0 < value < 1 - 1e-12
        flag = flags.NOT_IDENTIFIABLE if unknown else ""
        at_end = flags.join(flags.ON_BOUNDARY, flag if fit.unnamed.any() else "")
        flag = flags.NO_DATA if math.isnan(value) else flag if inside else at_end
        cells = {
            "term": term,
            "estimate": value,
            "n": count,
            "method": EM_INFORMED,
            "flag": flag,
        }
        if not inside or not np.isfinite(error):
            return cells
        if count * min(value, 1 - value) < ENOUGH_CONFUSED:
            cells["flag"] = flags.join(flag, flags.FEW_CONFUSED)
        half = normal_quantile(conf_level) * error / (value * (1 - value))
        low, high = expit(logit(value) - half), expit(logit(value) + half)
        return {**cells, "std_error": error, "conf_low": low, "conf_high": high}

    rows = []
    for true, classes in merged.items():  # equal by symmetry, so their errors add up
        share, error, count = (float(x[list(classes)].sum()) for x in (fit.priors, errors[0], n[0]))
        rows.append({"_rater": -1, "true": true, **row("prior", min(share, 1.0), error, count)})
    for r, who in enumerate(raters):
        for true, classes in merged.items():
            for answer, answers in _labels_by_answer(panel, true).items():
                value, error = (float(x[r, classes[0], list(answers)].sum()) for x in (fit.confusion, errors[1]))
                cells = row("confusion", value, error, float(n[1][r, list(classes)].sum()))
                rows.append({**who, "_rater": r, "true": true, "answer": answer, **cells})
    return rows if k > 1 else [{**r, "flag": flags.join(flags.ON_BOUNDARY)} for r in rows]


def _classes_by_name(panel: AnswerPanel) -> Mapping[Hashable, tuple[int, ...]]:
    """Class as it is shown -> its classes: the two candidates are one where only their names tell them apart."""
    if panel.mirror is None:
        return {label: (i,) for i, label in enumerate(panel.answers)}
    sides = tuple(i for i, other in enumerate(panel.mirror) if other != i)
    return {"candidate": sides} | {panel.answers[i]: (i,) for i, other in enumerate(panel.mirror) if other == i}


def _labels_by_answer(panel: AnswerPanel, true: Hashable) -> Mapping[Hashable, tuple[int, ...]]:
    """Answer as it is shown, where a class is true -> its labels."""
    merged = _classes_by_name(panel)
    if panel.mirror is None or true != "candidate":
        return merged
    one, two = merged["candidate"]
    others = {answer: classes for answer, classes in merged.items() if answer != "candidate"}
    return {"candidate": (one,), "other candidate": (two,), **others}


def chosen_classes(posterior: Floats) -> tuple[Ints, Floats]:
    """The likeliest class of each unit, -1 where two are equally likely and -2 without labels, and its probability."""
    labelled = np.isfinite(posterior[:, 0])
    filled = np.where(labelled[:, None], posterior, 0.0)
    best = filled.argmax(axis=1)
    top = filled.max(axis=1)
    tied = (filled >= (top - _EQUAL)[:, None]).sum(axis=1) > 1
    return np.where(labelled, np.where(tied, -1, best), -2), np.where(labelled, top, np.nan)


def fitted(panel: AnswerPanel, units: pd.DataFrame, n_starts: int, seed: Seed, conf_level: float) -> DawidSkene:
    """The fitted model; `units`: columns of each unit."""
    posterior, parameters, fits = fit_panels(panel, n_starts, seed, conf_level)
    if not fits:
        raise DesignError("dawid_skene compares raters, and there are no answers. Give those of two or more.")
    protocol = panel.things.names
    columns = [*protocol, *(c for c in _raters(panel).columns if c not in protocol)]
    rows = [{**dict.fromkeys([*columns, "answer"]), **row} for row in parameters]  # missing, not NaN, where none
    table = estimates(rows, columns, ["true", "answer", "_rater"], sort=False)
    front = [*columns, "term", "true", "answer"]
    table = table[[*front, *(c for c in table.columns if c not in front)]]
    panels = pd.DataFrame(fits)
    units = units.assign(**{f"p({label})": posterior[:, i] for i, label in enumerate(panel.answers)})
    return DawidSkene(list(_classes_by_name(panel)), float(panels["loglik"].sum()), table, panels, units)
