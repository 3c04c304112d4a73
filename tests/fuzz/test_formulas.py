"""Random formulas, sound and broken: each ends in a design or a fit, or in an error of ours, and none hangs.

``JUDGESTATS_FUZZ`` is how many there are; each has a seed, and a failure names it.
"""

from __future__ import annotations

import os
import random
import re
import warnings

import numpy as np
import pandas as pd
import pytest

import judgestats as js
from fuzz.limits import within
from judgestats.models.designs import design

MANY = int(os.environ.get("JUDGESTATS_FUZZ", "300"))
#: A fit for one formula in so many; a design for the others.
FITTED = 10
FAMILIES = ("binomial", "gaussian", "poisson", "cumulative")
COLUMNS = ("x", "z", "f", "c", "b", "k", "w", "`a b`", "_u", "Δ", "day", "const", "gap", "ids")
GROUPS = ("g", "h", "f", "ids", "`a b`", "x")
ANSWERS = ("y", "s", "m", "choice[first]", "choice['tie']", "choice", "cbind(k, m)", "cbind(y, 1 - y)", "log(s)", "I(y == 1)",
           "I(m > 2)", "y * 1", "f[p]", "offset(y)", "9**9**9")  # fmt: skip
FUNCTIONS = ("exp", "center", "scale", "poly", "bs", "I", "C", "offset", "log", "sqrt", "np.log1p", "np.mean", "np.power", "np.where", "np.left_shift", "np.divmod", "np.modf",
             "standardize", "cr", "cc", "tp", "S", "T", "cbind",
             "prop", "np.linalg.inv", "eval", "__import__", "B")  # fmt: skip
NUMBERS = ("0", "1", "2", "3", "-1", "0.5", "1e9", "1e400", "100000", "9**9**9**9", "007", "٣", "9" * 5000, ".5", "2.")
WORDS = ("True", "None", "'a'", '"p"', "Sum", "Treatment", "Helmert", "Poly", "df", "nan", "class", "lambda")
BROKEN = ("~", "(", ")", "[", "]", "{", "}", "|", "||", "+", "-", "*", "**", "/", ":", ",", "=", "==", "<", "'", '"', "`", "^",
          "%in%", ".", "\\", "\n", "\0", "\ud800", "é", "\u200b", "@", ";", "#", "$", " ")  # fmt: skip


def columns_of_all_kinds(rows: int = 48) -> pd.DataFrame:
    """Every kind of column that a formula may name."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"y": rng.integers(0, 2, rows), "s": rng.normal(size=rows), "m": rng.poisson(3, rows)})
    frame["k"] = rng.integers(-3, 2**40, rows)
    frame[["x", "z", "a b", "_u", "Δ"]] = rng.normal(size=(rows, 5))
    frame["w"] = rng.choice([0.0, np.inf, 1e300, -1e-300, 1.0], rows)
    frame["gap"] = rng.choice([np.nan, 1.0, 2.0], rows)
    frame["f"], frame["c"] = rng.choice([*"pqr"], rows), pd.Categorical(rng.choice(["lo", "hi"], rows))
    frame["b"], frame["const"] = rng.random(rows) < 0.5, "same"
    frame["day"], frame["ids"] = pd.Timestamp("2024-01-01"), [f"i{i}" for i in range(rows)]
    frame["choice"] = pd.Categorical(
        rng.choice(["first", "tie", "second"], rows), ["first", "tie", "second"], ordered=True
    )
    frame["g"], frame["h"] = np.arange(rows) % 8, rng.choice([*"ABCDEF"], rows)
    return frame


def column(rng: random.Random) -> str:
    return rng.choice(COLUMNS[:5] if rng.random() < 0.7 else COLUMNS)


def value(rng: random.Random, deep: int) -> str:
    """Arithmetic inside a call."""
    at = rng.random()
    if deep <= 0 or at < 0.4:
        return column(rng)
    if at < 0.6:
        return rng.choice(NUMBERS)
    if at < 0.65:
        return rng.choice(WORDS)
    if at < 0.75:
        return f"({value(rng, deep - 1)})"
    if at < 0.85:
        return call(rng, deep - 1)
    return f"{value(rng, deep - 1)} {rng.choice(['+', '-', '*', '/', '**', '==', '<'])} {value(rng, deep - 1)}"


def call(rng: random.Random, deep: int) -> str:
    name = rng.choice(FUNCTIONS[:8] if rng.random() < 0.8 else FUNCTIONS)
    inner = [value(rng, deep) for _ in range(rng.choice([1, 1, 1, 2, 2, 3, 0]))]
    if rng.random() < 0.3:
        inner.append(f"{rng.choice(['df', 'degree', 'contrast', 'knots', 'raw', 'x', 'out'])}={value(rng, 1)}")
    return f"{name}({', '.join(inner)})"


def term(rng: random.Random, deep: int) -> str:
    at = rng.random()
    if deep <= 0 or at < 0.4:
        return column(rng)
    if at < 0.43:
        return rng.choice(["0", "1", "-1", *NUMBERS])
    if at < 0.6:
        return call(rng, 2)
    if at < 0.75:
        inner = " + ".join(term(rng, deep - 1) for _ in range(rng.choice([1, 2, 3, 30])))
        return f"({inner}){rng.choice(['', '**2', '**3', '**0', '**99', '**x'])}"
    return f"{term(rng, deep - 1)}{rng.choice([':', '*', ' * ', '/', ' - ', ' + '])}{term(rng, deep - 1)}"


def bars(rng: random.Random) -> str:
    if rng.random() < 0.7:
        return rng.choice(["(1|g)", "(x|g)", "(1|h)", "(x||g)", "(0 + x|g:h)", "(1|h/g)", "(z|`a b`)"])
    factor = rng.choice(["{}", "{}", "{}", "{}:{}", "{}/{}", "({})", "{} + {}", "1"])
    factor = re.sub(r"\{\}", lambda _: rng.choice(GROUPS), factor)
    return f"({rng.choice(['1', '1', 'x', '0 + x', '0', 'f', term(rng, 2)])} {rng.choice(['|', '|', '||'])} {factor})"


def formula(rng: random.Random) -> str:
    """A formula: mostly sound, then broken in one of three."""
    terms = [
        term(rng, rng.choice([0, 0, 0, 1, 3])) if rng.random() < 0.8 else bars(rng)
        for _ in range(rng.choice([1, 2, 3, 5]))
    ]
    text = f"{rng.choice(ANSWERS if rng.random() < 0.5 else ANSWERS[:3])} ~ {' + '.join(terms)}"
    if rng.random() < 0.03:
        text = f"y ~ {rng.choice(['+', ':', '*', '**', '-', '/']).join(rng.choices(COLUMNS, k=rng.choice([60, 700])))}"
    if rng.random() < 0.02:
        text = text.replace("~", "~" + "(" * 2000) + ")" * rng.choice([0, 2000])
    for _ in range(rng.choice([0, 0, 0, 0, 0, 0, 1, 3])):
        at = rng.randrange(len(text) + 1)
        cut = rng.choice([0, 0, 1, 4])
        text = text[:at] + rng.choice([*BROKEN, *WORDS, *NUMBERS, call(rng, 1), bars(rng), ""]) + text[at + cut :]
    return text


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_a_formula_is_fitted_or_refused(part: int) -> None:
    data, ends = columns_of_all_kinds(), {"design": 0, "fit": 0, "refused": 0}
    for seed in range(part, MANY, 10):
        rng = random.Random(seed)
        text, family = formula(rng), rng.choice(FAMILIES)
        try:
            with within(60, f"seed {seed}: {text[:300]!r}"), warnings.catch_warnings():
                warnings.simplefilter("error")
                if seed // 10 % FITTED:
                    coded = design(text, data, family=family)
                    assert coded.count.sum() > 0, seed
                    ends["design"] += 1
                else:
                    assert js.fit(text, data, family=family).tidy().shape[1] > 5, seed
                    ends["fit"] += 1
        except js.errors.JudgestatsError:
            ends["refused"] += 1
        except Exception as error:
            raise AssertionError(f"seed {seed}, family {family}: {text[:300]!r} ended in {error!r}") from error
    assert min(ends["refused"], ends["design"]) > 0 or MANY < 300


def test_a_sum_of_600_terms_fits() -> None:
    rng = np.random.default_rng(0)
    data = pd.DataFrame(rng.normal(size=(650, 600)), columns=[f"x{i}" for i in range(600)])
    data["y"] = rng.normal(size=650)
    fit = js.fit("y ~ " + " + ".join(data.columns[:-1]), data, family="gaussian")
    found = fit.tidy().query("group == 'fixed'")
    closed = np.linalg.lstsq(np.column_stack([np.ones(650), data.iloc[:, :600]]), data["y"], rcond=None)[0]
    assert found["term"].tolist() == ["Intercept", *data.columns[:-1]]
    np.testing.assert_allclose(found["estimate"], closed, atol=1e-9)
