"""The grammar: what parses, how it is coded, and what the errors say."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest

from judgestats.errors import FormulaError
from judgestats.models.formula import coder, parse
from judgestats.models.grammar.expression_values import elementwise, evaluate
from judgestats.models.grammar.parse_trees import ARITHMETIC, TokenReader, fault, scan
from judgestats.models.grammar.syntax import read
from refusals import refused

FRAME = pd.DataFrame(
    {
        "s": ["B0", "S1", "S8", "B0", "S1", "S8"],
        "f": pd.Categorical(["z", "a", "z", "a", "z", "a"], categories=["z", "a", "unused"]),
        "x": [0.0, 1.0, 3.0, 5.0, 4.0, 2.0],
        "k": [1, 2, 3, 1, 2, 3],
        "b": [True, False, True, True, False, False],
        "_u": [1.0, 2.0, 4.0, 8.0, 16.0, 32.0],
        "my col": [6.0, 5.0, 4.0, 3.0, 2.0, 1.0],
        "Treatment": ["on", "off", "on", "off", "on", "off"],
    }
)


def indicator(column: str, level: object) -> np.ndarray:
    return (FRAME[column] == level).to_numpy(dtype=float)


@pytest.mark.parametrize(
    ("source", "response", "fixed", "random", "variables"),
    [
        ("y~1", "y", "1", [], ("y",)),
        ("y ~ 0 + x", "y", "0 + x", [], ("y", "x")),
        ("y ~ x - 1", "y", "0 + x", [], ("y", "x")),
        ("y ~ -1 + x", "y", "0 + x", [], ("y", "x")),
        ("y ~ a*b - a:b", "y", "1 + a*b - a:b", [], ("y", "a", "b")),
        ("y ~ s * x + offset(log(z))", "y", "1 + s * x + offset(log(z))", [], ("y", "s", "x", "z")),
        ("y ~ x + ( 1 | g )", "y", "1 + x", ["(1|g)"], ("y", "x", "g")),
        ("y ~ (x|g)", "y", "1", ["(1 + x|g)"], ("y", "x", "g")),
        ("y ~ (x||g)", "y", "1", ["(1|g)", "(0 + x|g)"], ("y", "x", "g")),
        ("y ~ (0 + x | g)", "y", "1", ["(0 + x|g)"], ("y", "x", "g")),
        ("y ~ (0 + x || g)", "y", "1", ["(0 + x|g)"], ("y", "x", "g")),
        ("y ~ (x - 1|g)", "y", "1", ["(0 + x|g)"], ("y", "x", "g")),
        ("y ~ (x*z||g)", "y", "1", ["(1|g)", "(0 + x|g)", "(0 + z|g)", "(0 + x:z|g)"], ("y", "x", "z", "g")),
        ("y ~ (1|a/b/c)", "y", "1", ["(1|a)", "(1|a:b)", "(1|a:b:c)"], ("y", "a", "b", "c")),
        ("y ~ (1|a:b)", "y", "1", ["(1|a:b)"], ("y", "a", "b")),
        ("y ~ (x||a/b)", "y", "1", ["(1|a)", "(0 + x|a)", "(1|a:b)", "(0 + x|a:b)"], ("y", "x", "a", "b")),
        ("y ~ 0 + (x + (1|g))", "y", "0 + x", ["(1|g)"], ("y", "x", "g")),
        ("cbind(k, n - k) ~ x", "cbind(k, n - k)", "1 + x", [], ("k", "n", "x")),
        ("choice[first] ~ 1", "choice[first]", "1", [], ("choice",)),
        ("choice['the first'] ~ 1", "choice['the first']", "1", [], ("choice",)),
        ("np.log(y) ~ x", "np.log(y)", "1 + x", [], ("y", "x")),
        ("y ~ C(s, Treatment('B0')) + C(f, Sum)", "y", "1 + C(s, Treatment('B0')) + C(f, Sum)", [], ("y", "s", "f")),
        ("y ~ _u + `my col` + a.b", "y", "1 + _u + `my col` + a.b", [], ("y", "_u", "my col", "a.b")),
        ("y ~ bs(x, df=4) + {x + 1}", "y", "1 + bs(x, df=4) + {x + 1}", [], ("y", "x")),
        ("y ~ x\n  + z", "y", "1 + x + z", [], ("y", "x", "z")),
    ],
)
def test_parsing(source, response, fixed, random, variables):
    formula = parse(source)
    assert formula.response == response
    assert formula.fixed == fixed
    assert [str(part) for part in formula.random] == random
    assert formula.variables == variables


def test_response_and_groups_are_told_apart():
    formula = parse("cbind(k, n - k) ~ x + (1|a/b)")
    assert formula.answers == ("k", "n")
    assert formula.predictors == ("x", "a", "b")
    assert formula.groups == ("a", "b")
    assert [part.columns for part in formula.random] == [("a",), ("a", "b")]


ERRORS = [
    ("y ~ x w + g", "Nothing joins 'x' and 'w'.", 6, 1),
    ("y ~ x (1|g)", "Nothing joins 'x' and the random term.", 6, 1),
    ("y ~", "The right side is empty.", 2, 1),
    ("~ x", "The left side is empty.", 0, 1),
    ("y + x", "There is no '~'.", 0, 5),
    ("y ~ x ~ z", "There is more than one '~'.", 6, 1),
    ("y ~ (x", "'(' is never closed.", 4, 1),
    ("y ~ log(x", "'(' is never closed.", 7, 1),
    ("y ~ x)", "')' closes nothing.", 5, 1),
    ("(1|g) ~ x", "A random term cannot be the response.", 0, 5),
    ("y ~ x + (g)", "(g) adds nothing to g.", 8, 3),
    ("y ~ y + x", "'y' is on both sides.", 4, 1),
    ("y ~ x + (1|y)", "'y' is on both sides.", 11, 1),
    ("y ~ x | g", "'|' stands outside brackets.", 6, 1),
    ("y ~ x || g", "'||' stands outside brackets.", 6, 2),
    ("y ~ (|g)", "Nothing stands before '|'.", 5, 1),
    ("y ~ (1|)", "Something is missing after '|'.", 6, 1),
    ("y ~ (0|g)", "Nothing is left to vary.", 5, 1),
    ("y ~ (1|g||h)", "A random term has one bar.", 8, 2),
    ("y ~ (1|g + h)", "This is no grouping factor.", 7, 5),
    ("y ~ (1|g*h)", "This is no grouping factor.", 7, 3),
    ("y ~ (1|log(g))", "This is no grouping factor.", 7, 6),
    ("y ~ (1|g) + (1|g)", "The random term (1|g) stands twice.", 12, 5),
    ("y ~ (1|g) + (x|g)", "Two terms give 'g' a random intercept.", 12, 5),
    ("y ~ x - (1|g)", "A random term cannot be taken away.", 8, 5),
    ("y ~ a:(1|g)", "A random term stands by itself.", 7, 3),
    ("y ~ (offset(x)|g)", "An offset has no random effect.", 5, 9),
    ("y ~ ((a + b)**2||g)", "'||' cannot split this into terms.", 5, 10),
    ("y ~ x ^ 2", "'^' is no part of the grammar.", 6, 1),
    ("y ~ .", "'.' is no part of the grammar.", 4, 1),
    ("y ~ 2*x", "'2' is no term.", 4, 1),
    ("y ~ x + 2", "'2' is no term.", 8, 1),
    ("y ~ x +", "Something is missing after '+'.", 6, 1),
    ("y ~ x * * z", "'*' stands where a column or a term is expected.", 8, 1),
    ("y ~ x**2", "'**' between terms means interactions, and one term has none.", 4, 4),
    ("y ~ 'x", "The quotation mark ' is never closed.", 4, 2),
    ("y ~ x, z", "',' cannot stand here.", 5, 1),
    ("y ~ x == z", "'==' cannot stand here.", 6, 2),
    ("choice[first ~ x", "'[' is never closed.", 6, 1),
    ("y ~ choice[first]", "A level is for the response.", 4, 13),
    ("y ~ lgo(x)", "lgo() is not known here.", 4, 3),
    ("y ~ np.mean(x)", "np.mean() does not work value by value.", 4, 7),
    ("y ~ x + offset(z):x", "An offset stands by itself.", 8, 9),
    ("p(k, n) ~ x", "p() is not known.", 0, 1),
    ("y ~ cbind(k, n)", "cbind() is for the response.", 4, 5),
    ("cbind(k) ~ x", "cbind() takes two arguments, and nothing else may be on that side.", 0, 8),
    ("1 ~ x", "The response names no column.", 0, 1),
]


@pytest.mark.parametrize(("source", "what", "start", "width"), ERRORS, ids=[e[0] for e in ERRORS])
def test_errors_underline_the_place(source, what, start, width):
    with pytest.raises(FormulaError) as caught:
        parse(source)
    lines = str(caught.value).splitlines()
    assert lines[0].startswith(what)
    assert lines[1] == "    " + source
    assert lines[2] == "    " + " " * start + "^" * width
    assert len(lines) == 4  # and what to do


def test_the_message_as_a_person_reads_it():
    with pytest.raises(FormulaError) as caught:
        parse("correct ~ strategy judge + (1|item)")
    assert str(caught.value) == (
        "Nothing joins 'strategy' and 'judge'.\n"
        "    correct ~ strategy judge + (1|item)\n"
        "                       ^^^^^\n"
        "Write one of + - * / : ** between them; a column name with a space stands in `backquotes`."
    )


@pytest.mark.parametrize("source", [None, 3, ["y ~ x"], "", "   "])
def test_what_is_no_formula(source):
    with pytest.raises(FormulaError, match="formula"):
        parse(source)


def matches(expression: str, expected: dict[str, object]) -> None:
    coded = coder(expression, FRAME)
    assert coded.names == tuple(expected)
    wanted = np.column_stack([np.broadcast_to(np.asarray(v, dtype=float), 6) for v in expected.values()])
    np.testing.assert_allclose(coded.matrix(FRAME), wanted, atol=1e-12)
    assert coded.matrix(FRAME).dtype == float
    covered = [k for place in coded.terms.values() for k in range(place.start, place.stop)]
    assert covered == list(range(len(coded.names)))


def test_treatment_coding_as_r():
    """model.matrix(~ s) in R: the first level is the reference; a factor keeps the order of its levels."""
    matches("1 + s", {"Intercept": 1, "s[S1]": indicator("s", "S1"), "s[S8]": indicator("s", "S8")})
    matches("1 + f", {"Intercept": 1, "f[a]": indicator("f", "a")})
    matches("0 + s", {"s[B0]": indicator("s", "B0"), "s[S1]": indicator("s", "S1"), "s[S8]": indicator("s", "S8")})
    name = '1 + C(s, Treatment("S1"))'
    matches(name, {"Intercept": 1, "s[B0]": indicator("s", "B0"), "s[S8]": indicator("s", "S8")})


def test_sum_coding_as_r():
    """contr.sum(3): rows (1, 0), (0, 1), (-1, -1)."""
    last = indicator("s", "S8")
    columns = {"Intercept": 1, "s[B0]": indicator("s", "B0") - last, "s[S1]": indicator("s", "S1") - last}
    matches("1 + C(s, Sum)", columns)
    matches("1 + S(s)", columns)


def test_interactions_as_r():
    s1, s8, x = indicator("s", "S1"), indicator("s", "S8"), FRAME["x"].to_numpy()
    main = {"Intercept": 1, "s[S1]": s1, "s[S8]": s8, "x": x}
    matches("1 + s*x", {**main, "s[S1]:x": s1 * x, "s[S8]:x": s8 * x})
    # model.matrix(~ f + f:x): a slope for each level
    z, a = indicator("f", "z"), indicator("f", "a")
    matches("1 + f + f:x", {"Intercept": 1, "f[a]": a, "f[z]:x": z * x, "f[a]:x": a * x})
    matches("1 + f/x", {"Intercept": 1, "f[a]": a, "f[z]:x": z * x, "f[a]:x": a * x})
    both = {"Intercept": 1, "f[a]": a, "b[True]": FRAME["b"], "f[a]:b[True]": a * FRAME["b"]}
    matches("1 + f*b", both)


def test_terms_stand_in_rs_order():
    """colnames(model.matrix(~ s * f * x)) of R 4.2.2, in our spelling; and a main effect written last comes first."""
    coded = coder("1 + s*f*x", FRAME)
    assert coded.names == (
        "Intercept", "s[S1]", "s[S8]", "f[a]", "x", "s[S1]:f[a]", "s[S8]:f[a]", "s[S1]:x", "s[S8]:x", "f[a]:x",
        "s[S1]:f[a]:x", "s[S8]:f[a]:x",
    )  # fmt: skip
    assert coder("1 + f:x + f + x", FRAME).names == ("Intercept", "f[a]", "x", "f[a]:x")


def test_an_interaction_alone_spans_what_it_spans_in_r():
    """R codes ~ s:f with one column too many and drops one; ours has full rank and the same span."""
    ours = coder("1 + s:f", FRAME).matrix(FRAME)
    cells = pd.get_dummies(FRAME["s"] + FRAME["f"].astype(str)).to_numpy(dtype=float)
    both = np.hstack([ours, cells])
    assert np.linalg.matrix_rank(ours) == np.linalg.matrix_rank(both) == ours.shape[1] == 6


def test_crossed_factors_span_all_cells():
    coded = coder("1 + f*C(k)", FRAME)
    assert coded.names == ("Intercept", "f[a]", "k[2]", "k[3]", "f[a]:k[2]", "f[a]:k[3]")
    assert coded.factors == {"f": ("z", "a"), "k": (1, 2, 3)}


def test_functions_of_columns():
    x = FRAME["x"].to_numpy()
    columns = {"Intercept": 1, "I(x ** 2)": x**2, "np.log1p(x)": np.log1p(x), "sqrt(x)": np.sqrt(x)}
    matches("1 + I(x**2) + np.log1p(x) + sqrt(x)", columns)
    matches("1 + I(-x**2)", {"Intercept": 1, "I(-x ** 2)": -(x**2)})
    coded = coder("0 + I((x + 1) / 5e-1)", FRAME)
    np.testing.assert_allclose(coded.matrix(FRAME)[:, 0], (x + 1) / 0.5)
    coded = coder("1 + I(s == 'S8') + {x > 2}", FRAME)
    np.testing.assert_allclose(coded.matrix(FRAME)[:, 1:], np.column_stack([indicator("s", "S8"), x > 2]))
    assert coded.factors == {"s": ("B0", "S1", "S8")}
    assert coded.numerics == ("x",)


def test_awkward_names():
    matches("1 + _u + `my col`", {"Intercept": 1, "_u": FRAME["_u"], "my col": FRAME["my col"]})
    matches("1 + Treatment", {"Intercept": 1, "Treatment[on]": indicator("Treatment", "on")})
    levels = FRAME.assign(s=["it's", 'a "b"', "c"] * 2)
    coded = coder("""1 + C(s, Treatment("it's"))""", levels)
    assert coded.names == ("Intercept", 's[a "b"]', "s[c]")


def test_offsets_are_no_columns():
    coded = coder("1 + x + offset(_u) + offset(log(k))", FRAME)
    assert coded.names == ("Intercept", "x")
    np.testing.assert_allclose(coded.offset(FRAME), FRAME["_u"] + np.log(FRAME["k"]))
    assert coded.columns == ("x", "_u", "k")
    assert coder("1 + offset(2)", FRAME).offset(FRAME).tolist() == [2.0] * 6
    assert coder("1", FRAME).offset(FRAME).tolist() == [0.0] * 6


def test_no_columns_at_all():
    assert coder("0", FRAME).matrix(FRAME).shape == (6, 0)
    assert coder("0 + offset(x)", FRAME).matrix(FRAME).shape == (6, 0)


def test_means_are_weighted_by_counts():
    counts = np.array([1.0, 2, 3, 4, 5, 6])
    coded = coder("1 + s*x", FRAME, counts=counts)
    assert coded.means == {"x": pytest.approx(np.average(FRAME["x"], weights=counts))}
    assert coded.numerics == ("x",)
    assert coded.factors == {"s": ("B0", "S1", "S8")}
    assert coded.terms == {"Intercept": slice(0, 1), "s": slice(1, 3), "x": slice(3, 4), "s:x": slice(4, 6)}


@pytest.mark.parametrize(
    "term", ["center(x)", "scale(x)", "poly(x, 2)", "bs(x, df=4)", "I(center(x)**2)", "s:center(x)"]
)
def test_transforms_of_all_rows_see_each_row_as_often_as_it_counts(term):
    counts = np.array([1.0, 4, 2, 3, 1, 5])
    raw = FRAME.iloc[np.repeat(np.arange(6), counts.astype(int))].reset_index(drop=True)
    one, many = coder(f"1 + {term}", FRAME, counts=counts), coder(f"1 + {term}", raw)
    np.testing.assert_allclose(one.matrix(FRAME), many.matrix(FRAME), atol=1e-10)
    assert not np.allclose(one.matrix(FRAME), coder(f"1 + {term}", FRAME).matrix(FRAME), atol=1e-6)


def test_new_rows_are_coded_as_the_old_ones():
    coded = coder("1 + C(s, Sum)*scale(x) + f + poly(x, 2) + C(k)", FRAME)
    whole = coded.matrix(FRAME)
    np.testing.assert_allclose(coded.matrix(FRAME.iloc[[4, 1]]), whole[[4, 1]])
    plain = FRAME.assign(f=FRAME["f"].astype(str))
    np.testing.assert_allclose(coded.matrix(plain), whole)
    np.testing.assert_allclose(pickle.loads(pickle.dumps(coded)).matrix(FRAME), whole)


def test_a_missing_value_in_new_rows_is_nan():
    coded = coder("1 + s + x", FRAME)
    rows = pd.DataFrame({"s": ["S1", None, "S8"], "x": [1.0, 1.0, np.nan]})
    np.testing.assert_array_equal(np.isnan(coded.matrix(rows)).any(axis=1), [False, True, True])
    rows = pd.DataFrame({"s": ["S1", "S8"], "x": [None, None]})
    assert np.isnan(coded.matrix(rows)).any(axis=1).all()


def test_unknown_functions_and_categories_are_named():
    coded = coder("1 + s", FRAME, "y ~ s")
    refused(
        FormulaError,
        (lambda: parse("y ~ sclae(x)"), r"Did you mean 'scale'\?"),
        (
            lambda: coded.matrix(pd.DataFrame({"s": ["S1", "S9"]})),
            r"'s' has 'S9', which 'y ~ s' was not coded with. Allowed: 'B0', 'S1', 'S8'",
        ),
        (lambda: coder("1 + C(k)", FRAME).matrix(pd.DataFrame({"k": [9, 1]})), r"'k' has 9"),
        (
            lambda: coded.matrix(pd.DataFrame({"ss": ["S1"]})),
            r"Column 's' of 'y ~ s' is not in the table. Columns: ss. Did you mean 'ss'\?",
        ),
        (lambda: coder("1 + x", FRAME).matrix(pd.DataFrame({"x": ["a"]})), "was a number"),
    )


def test_what_cannot_be_coded_is_a_formula_error(capsys):
    refused(
        FormulaError,
        (lambda: coder("1 + C(s, Treatment('B9'))", FRAME), "reference not in levels"),
        (lambda: coder("1 + bs(x, df=1)", FRAME), "cannot be coded"),
        (lambda: coder("1 + d", FRAME.assign(d=pd.Timestamp("2024-01-01"))), "dates"),
    )
    assert capsys.readouterr().out == ""


def test_brackets_tell_terms_apart():
    coded = coder("1 + I((x + k) / _u) + I(x + k / _u)", FRAME)
    assert coded.names == ("Intercept", "I((x + k) / _u)", "I(x + k / _u)")
    x, k, u = (FRAME[c].to_numpy(float) for c in ("x", "k", "_u"))
    np.testing.assert_allclose(coded.matrix(FRAME), np.column_stack([np.ones(6), (x + k) / u, x + k / u]))


@pytest.mark.parametrize(
    ("expression", "names"),
    [
        ("1 + I(x**2) + I(x ** 2)", ("Intercept", "I(x ** 2)")),  # colnames(model.matrix(~ I(x^2) + I(x^2)))
        ("1 + I(x**2)*I(x**2)", ("Intercept", "I(x ** 2)")),
        ("1 + I(x**2) - I(x**2)", ("Intercept",)),
        ("1 + x/(k + b)**2", ("Intercept", "x", "x:k", "x:b[True]", "x:k:b[True]")),  # and of R's ~ x/(k + b)^2
        ("1 + (x + k)/_u", ("Intercept", "x", "k", "x:k:_u")),
        ("1 + C(b) + b", ("Intercept", "b[True]")),
        ("1 + I(2)", ("Intercept", "I(2)")),
        ("0 + S(s)", ("s[mean]", "s[B0]", "s[S1]")),
    ],
)
def test_each_term_occurs_once_and_nests_as_in_r(expression, names):
    assert coder(expression, FRAME).names == names


def test_factors_of_computed_values():
    coded = coder("1 + C(I(k + 1)) + np.where(x > 2, 'high', 'low')", FRAME)
    assert coded.names == (
        "Intercept", "C(I(k + 1))[3]", "C(I(k + 1))[4]", 'np.where(x > 2, "high", "low")[low]',
    )  # fmt: skip
    np.testing.assert_array_equal(coded.matrix(FRAME.iloc[[4, 1]]), coded.matrix(FRAME)[[4, 1]])
    with pytest.raises(FormulaError, match=r"'C\(I\(k \+ 1\)\)' has 8"):
        coded.matrix(FRAME.iloc[:2].assign(k=7))


def test_some_columns_alone():
    coded = coder("1 + s*x", FRAME)
    part = coded.restricted([1, 3, 5])
    assert part.names == ("s[S1]", "x", "s[S8]:x")
    assert part.terms == {"s": slice(0, 1), "x": slice(1, 2), "s:x": slice(2, 3)}
    np.testing.assert_allclose(part.matrix(FRAME), coded.matrix(FRAME)[:, [1, 3, 5]])
    assert part.restricted([2]).names == ("s[S8]:x",)


# ---- booleans -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "names"),
    [
        ("1 + b", ("Intercept", "b[True]")),
        ("0 + b", ("b[False]", "b[True]")),
        ("0 + s:b", tuple(f"s[{s}]:b[{b}]" for s in ("B0", "S1", "S8") for b in (False, True))),
        ("1 + x:b", ("Intercept", "x:b[False]", "x:b[True]")),
        ("1 + b * x", ("Intercept", "b[True]", "x", "b[True]:x")),
        ("1 + I(b * x)", ("Intercept", "I(b * x)")),
    ],
)
def test_booleans_are_factors_as_in_r(expression, names):
    coded = coder(expression, FRAME)
    assert coded.names == names
    X = coded.matrix(FRAME)
    for k, name in enumerate(names):
        if name in ("b[True]", "b[False]"):
            np.testing.assert_array_equal(X[:, k], indicator("b", name == "b[True]"))
        if name == "I(b * x)":
            np.testing.assert_array_equal(X[:, k], FRAME["b"] * FRAME["x"])
        if name.startswith("s["):
            level, value = name[2:4], "b[True]" in name
            np.testing.assert_array_equal(X[:, k], indicator("s", level) * indicator("b", value))
    if "b[True]" in names:
        assert coded.factors["b"] == (False, True)


def test_a_boolean_with_a_name_that_needs_an_alias_and_in_new_rows():
    frame = FRAME.rename(columns={"b": "is ok"})
    coded = coder("0 + `is ok`", frame)
    assert coded.names == ("is ok[False]", "is ok[True]")
    for values in (["x"], ["True"]):
        with pytest.raises(FormulaError, match="Allowed: False, True"):
            coded.matrix(pd.DataFrame({"is ok": values}))
    for one in (True, np.bool_(True), 1):
        np.testing.assert_array_equal(coded.matrix(pd.DataFrame({"is ok": [one]})), [[0.0, 1.0]])
    nullable = pd.DataFrame({"is ok": pd.array([True, None], dtype="boolean")})
    np.testing.assert_array_equal(coded.matrix(nullable), [[0, 1], [np.nan, np.nan]])


# ---- scale ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("call", ["scale(x)", "standardize(x)", "I(2 * scale(x) / 2)"])
def test_scale_divides_by_n_minus_one(call):
    x = FRAME["x"]
    coded = coder(f"1 + {call}", FRAME)
    np.testing.assert_allclose(coded.matrix(FRAME)[:, 1], (x - x.mean()) / x.std(ddof=1))
    # of R 4.2.2: scale(c(0, 1, 3, 5, 4, 2))
    expected = [-1.3363062, -0.8017837, 0.2672612, 1.3363062, 0.8017837, -0.2672612]
    np.testing.assert_allclose(coded.matrix(FRAME)[:, 1], expected, atol=1e-7)
    new = coded.matrix(pd.DataFrame({"x": [10.0]}))
    assert new[0, 1] == pytest.approx((10 - x.mean()) / x.std(ddof=1))
    counts = np.array([1.0, 2, 3, 1, 1, 2])
    raw = np.repeat(x, counts.astype(int))
    by_count = coder(f"1 + {call}", FRAME, counts=counts).matrix(FRAME)[:, 1]
    np.testing.assert_allclose(by_count, (x - raw.mean()) / raw.std(ddof=1))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("y ~ I(9**9**9**9)", "cannot be coded"),
        ("y ~ x + I((99 * 99)**(9999 * 9999) * x)", "cannot be coded"),
        ("y ~ bs(x, df=1e9)", "cannot have so many columns"),
        ("y ~ bs(x, 4, degree=9**9**9)", "cannot have so many columns"),
        ("y ~ poly(x, 100000)", "cannot have so many columns"),
        ("y ~ poly(x, degree=x)", "cannot have so many columns"),
        ("y ~ (a + b)**99999999999", "whole number, 1 to 20"),
        (f"y ~ (a + b)**{'9' * 5000}", "whole number, 1 to 20"),
        ("y ~ (x)**2", "one term has none"),
        (f"y ~ {' * '.join('abcdefghijklmnopqrstuvwxz')}", "expands to 33,554,431 terms"),
        (f"y ~ ({' + '.join('abcdefghijklmnopqrstuvwxz')})**12", "expands to"),
        (f"y ~ {'(' * 10_000}x{')' * 10_000}", "nested more than 60 deep"),
        (f"y ~ {'-' * 3000}x", "nested more than 60 deep"),
        (f"y ~ I({' + '.join(['x'] * 700)})", "nested more than 60 deep"),
        (f"{'log(' * 800}y{')' * 800} ~ x", "nested more than 60 deep"),
        (f"y ~ x + (1|{'/'.join(['g'] * 900)})", "nested more than 60 deep"),
        ("y ~ scale(3)", "needs a column"),
    ],
)
def test_what_would_not_end_is_refused(text, told):
    frame = pd.DataFrame({"x": np.arange(9.0)}).assign(**dict.fromkeys("abcdefghijklmnopqrstuvwz", 1.0))
    with pytest.raises(FormulaError, match=told):
        coder(parse(text).fixed, frame)


def test_a_power_of_whole_numbers_is_a_real_one():
    frame = pd.DataFrame({"k": [10, 100, 1000]})  # 100**20 is 1e40; in 64 bits it would be 0
    assert coder("0 + I(k**20)", frame).matrix(frame)[:, 0] == pytest.approx([1e20, 1e40, 1e60])
    powers = coder("0 + I((k + 1)**(2 * 5 - 1))", frame).matrix(frame)[:, 0]
    np.testing.assert_allclose(powers, (frame["k"] + 1.0) ** 9)


def test_long_sums_are_coded_as_short_ones():
    frame = pd.DataFrame(np.eye(90), columns=[f"x{i}" for i in range(90)])
    coded = coder("1 + " + " + ".join(frame.columns) + " - x3 + x0:x1 + x3", frame)
    assert coded.names == ("Intercept", *[c for c in frame.columns if c != "x3"], "x3", "x0:x1")
    assert coded.matrix(frame).shape == (90, 92)


def test_a_fault_is_underlined():
    error = fault("y ~ x w", 6, 7, "Nothing joins 'x' and 'w'.", "Write + between them.")
    assert str(error) == "Nothing joins 'x' and 'w'.\n    y ~ x w\n          ^\nWrite + between them."


def test_a_nested_factor_is_two_random_terms():
    formula = read("correct ~ strategy + (1 | item/system)")
    assert formula.fixed == "1 + strategy"
    assert [str(part) for part in formula.random] == ["(1|item)", "(1|item:system)"]
    assert parse("cbind(k, n - k) ~ x + (x || item)").variables == ("k", "n", "x", "item")


def test_columns_of_a_factor_and_a_number():
    frame = pd.DataFrame({"strategy": ["B0", "S1", "S8"], "x": [0.0, 1.0, 3.0]})
    coded = coder("1 + strategy + x", frame)
    assert coded.names == ("Intercept", "strategy[S1]", "strategy[S8]", "x")
    assert coded.matrix(frame).tolist() == [[1, 0, 0, 0], [1, 1, 0, 1], [1, 0, 1, 3]]


def test_functions_whose_value_in_a_row_depends_on_that_row_alone():
    assert [elementwise(name) for name in ("log", "np.log", "np.mean")] == [True, True, False]


def test_an_arithmetic_tree_has_a_value_in_each_row():
    tree = TokenReader("n - k", scan("n - k")).expression(ARITHMETIC)
    assert evaluate(tree, pd.DataFrame({"n": [3, 5], "k": [1, 5]})).tolist() == [2.0, 0.0]
