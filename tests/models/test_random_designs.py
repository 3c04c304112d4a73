"""The engine against R on random designs: tests/reference/designs holds the generator, the R script and its results."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, gammaln

import judgestats as js
from reference.designs import generate

FOLDER = Path(__file__).parents[1] / "reference" / "designs"
INDEX = pd.read_csv(FOLDER / "designs.csv", dtype={"checksum": str}).set_index("id")
BOOKKEEPING = ("singular", "gradient", "std_error_gap", "converged", "package", "failed", "message")
BELOW, AGREES, ABOVE = 1e-5, 1e-4, 1e-3  # log-likelihood: allowed deficit, same optimum, and too good to be true
CUT = re.compile(r"\w+\|\w+")
IN_STD_ERRORS, STD_ERROR = 0.01, 0.02
# designs whose maximum in R is known to be a lesser one: id -> what was found
HIGHER_HERE: dict[str, str] = {}


@cache
def _results() -> dict[str, pd.DataFrame]:
    table = pd.read_csv(FOLDER / "results.csv", comment="#", keep_default_na=False)
    table[["estimate", "std_error"]] = table[["estimate", "std_error"]].apply(pd.to_numeric)
    return dict(tuple(table.groupby("id")))


def _canonical(term: str) -> str:
    """Name of a term whatever the order within an interaction, a nested group or a correlation."""

    def sort(name: str, by: str = ":") -> str:
        return by.join(sorted(name.split(by)))

    if match := re.fullmatch(r"(sd|cor)\((.+)\|(.+)\)", term):
        kind, covariates, group = match.groups()
        inside = ",".join(sorted(sort(name) for name in covariates.split(",")))
        return f"{kind}({inside}|{sort(group)})"
    return sort(term)


def _reference(id: str) -> tuple[pd.DataFrame, dict[str, float]]:
    """R's parameters by canonical name, and its single numbers."""
    rows = _results()[id]
    single = rows["term"].str.startswith("loglik") | rows["term"].isin(BOOKKEEPING)
    parameters = rows[~single].assign(term=rows["term"].map(_canonical)).set_index("term")[["estimate", "std_error"]]
    return parameters, rows[single].drop_duplicates("term").set_index("term")["estimate"].to_dict()


def _fit(id: str) -> object:
    table, row = generate.design(id)
    options = {"thresholds": row["thresholds"]} if row["family"] == "cumulative" else {}
    options |= {"reml": True} if row["reml"] else {}
    options |= {"n_quadrature": row["n_quadrature"]}
    return js.fit(row["formula"], table, family=row["family"], link=row["link"], **options)


def _complaints(id: str) -> list[str]:
    """What does not agree with R in one design."""
    theirs, numbers = _reference(id)
    fit = _fit(id)
    if "loglik" not in numbers:  # R failed: listed in its results
        return [] if np.isfinite(fit.loglik) else ["no finite log-likelihood (R failed too)"]
    gap = fit.loglik - numbers["loglik"]
    found = [] if fit.converged else ["not converged"]
    if not gap >= -BELOW:
        found.append(f"log-likelihood {-gap:.3g} below R's {numbers['loglik']:.6f}")
    if gap > ABOVE and id not in HIGHER_HERE:
        found.append(f"log-likelihood {gap:.3g} above R's {numbers['loglik']:.6f}")
    if numbers["singular"]:
        return found if any("singular" in note for note in fit.notes) else [*found, "singular and not flagged"]
    if abs(gap) > AGREES:
        return found
    tidy = fit.tidy()
    ours = tidy.assign(term=tidy["term"].map(_canonical)).set_index("term")
    if "midpoint" in theirs.index:  # symmetric thresholds are printed as a midpoint and half-widths
        theirs = theirs[[CUT.fullmatch(term) is None for term in theirs.index]]
    if missing := sorted(set(theirs.index) - set(ours.index)):
        return [*found, f"terms missing: {', '.join(missing)}"]
    for term, (estimate, std_error) in theirs.iterrows():
        scale = std_error if np.isfinite(std_error) else 0.1 * max(1.0, abs(estimate))
        if not abs(off := ours.loc[term, "estimate"] - estimate) < IN_STD_ERRORS * scale:
            found.append(f"{term} is {off / scale:+.3f} standard errors off {estimate:.6g}")
        random = term.startswith(("sd(", "cor("))
        if random or not np.isfinite(std_error):
            continue
        if not abs(ratio := ours.loc[term, "std_error"] / std_error - 1) < STD_ERROR:
            found.append(f"standard error of {term} is {100 * ratio:+.2f} % off {std_error:.6g}")
    return found


@pytest.mark.parametrize("name", generate.CLASSES)
def test_the_engine_agrees_with_r(name: str) -> None:
    ids = [id for id in generate.ids() if id.startswith(f"{name}-")]
    failures = []
    for id in ids:
        try:
            failures += [f"{id}: {text}" for text in _complaints(id)]
        except Exception as error:  # all designs are heard before the test fails
            failures.append(f"{id}: {type(error).__name__}: {error}")
    wrong = {text.split(":")[0] for text in failures}
    assert not failures, f"{len(wrong)} of {len(ids)} designs of class {name}\n" + "\n".join(failures)


@pytest.mark.slow
def test_the_tables_are_those_that_r_saw() -> None:
    wrong = []
    for id in generate.ids():
        row = pd.Series(generate.design(id)[1]).drop("id")
        stored = INDEX.loc[id].fillna("")
        wrong += [f"{id}: {key} {row[key]!r}, stored {stored[key]!r}" for key in row.index if row[key] != stored[key]]
    assert not wrong, "\n".join(wrong)
    assert list(INDEX.index) == list(generate.ids())


def test_every_class_is_full_and_every_design_has_a_result() -> None:
    first = INDEX[~INDEX.index.str.endswith("-q9")]
    assert first.groupby("class").size().to_dict() == dict.fromkeys(generate.CLASSES, generate.PER_CLASS)
    assert (INDEX["n_quadrature"] == 9).sum() >= 20
    assert set(_results()) == set(INDEX.index)
    for id, rows in _results().items():  # a design has an optimum, or says why not
        assert {"loglik", "package"} <= set(rows["term"]) or "failed" in set(rows["term"]), id


@pytest.mark.slow
@pytest.mark.parametrize("id", [id for id in generate.ids() if id.endswith("-q9")])
def test_the_log_likelihoods_of_quadrature_keep_every_constant(id: str) -> None:
    # the integral over each group on a fine grid, at R's estimates: lme4 leaves out the saturated model's part
    table, row = generate.design(id)
    theirs, numbers = _reference(id)
    beta = theirs["estimate"].to_dict()
    response, _, right = row["formula"].partition(" ~ ")
    covariate, group = re.search(r"\((1|0 \+ x) ?\| ?(\w+)\)", right).groups()
    sd = next(value for term, value in beta.items() if term.startswith("sd("))
    eta = np.zeros(len(table)) + table.get("log_calls", 0.0)
    for term, value in beta.items():
        if "|" in term or term.startswith(("midpoint", "half-width")):
            continue
        column = np.ones(len(table))
        for factor in term.split(":"):
            if factor.startswith("strategy["):
                column *= table["strategy"] == factor[9:-1]
            elif factor != "Intercept":
                column *= table[factor]
        eta = eta + value * column
    u = np.linspace(-9.0, 9.0, 1201)
    z = table["x"].to_numpy() if "x" in covariate else np.ones(len(table))
    cells = _log_density(row, table, beta, response, np.asarray(eta)[:, None] + sd * z[:, None] * u)
    sums = pd.DataFrame(cells).groupby(table[group].to_numpy()).sum().to_numpy() - u**2 / 2 - np.log(2 * np.pi) / 2
    top = sums.max(axis=1, keepdims=True)
    exact = float((top[:, 0] + np.log(np.exp(sums - top).sum(axis=1) * (u[1] - u[0]))).sum())
    assert numbers["loglik"] == pytest.approx(exact, abs=2e-3)
    if "loglik_own_quadrature" in numbers:  # written out in the R script: the same nine points
        assert numbers["loglik"] == pytest.approx(numbers["loglik_own_quadrature"], abs=1e-6)
        assert numbers["loglik_own_maximum"] - numbers["loglik"] < 1e-6


def _log_density(row: dict, table: pd.DataFrame, beta: dict, response: str, eta: np.ndarray) -> np.ndarray:
    if row["family"] == "poisson":
        count = table["count"].to_numpy()[:, None]
        return count * eta - np.exp(eta) - gammaln(count + 1)
    if row["family"] == "binomial":
        cbind = response.startswith("cbind")
        k = table["wins" if cbind else "correct"].to_numpy()[:, None]
        size = table["calls"].to_numpy()[:, None] if cbind else 1
        constant = gammaln(size + 1) - gammaln(k + 1) - gammaln(size - k + 1)
        return constant + k * eta - size * np.logaddexp(0, eta)
    cut = np.r_[-np.inf, sorted(value for term, value in beta.items() if CUT.fullmatch(term)), np.inf]
    rank = np.unique(table[response].to_numpy(), return_inverse=True)[1]
    inverse = expit if row["link"] == "logit" else generate.ndtr
    with np.errstate(divide="ignore"):
        return np.log(inverse(cut[rank + 1][:, None] - eta) - inverse(cut[rank][:, None] - eta))
