"""The rules of an audit: each turns a few declared columns of a table into statements about printed cells."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from judgestats.errors import AuditError, choose
from judgestats.published.expressions import Reading
from judgestats.published.grim_tests import grimmer
from judgestats.published.printed import Printed, parse
from judgestats.published.printed_values import Numbers
from judgestats.published.rule_specs import RuleSpec, StatementOptions
from judgestats.published.statements import Statement

Maker = Callable[[RuleSpec], Iterator[Statement]]


@dataclass(frozen=True)
class AuditRule:
    """A rule of the registry: what it needs, what it takes, and how it makes statements."""

    name: str
    about: str
    needs: tuple[str, ...]
    takes: tuple[str, ...]
    make: Maker


RULES: dict[str, AuditRule] = {}


def rule(name: str, *needs: str, takes: Sequence[str] = ()) -> Callable[[Maker], Maker]:
    """Register a rule, with the parameters that it needs and takes; its docstring says what it is about."""

    def register(make: Maker) -> Maker:
        RULES[name] = AuditRule(name, (make.__doc__ or "").strip().split("\n")[0], needs, tuple(takes), make)
        return make

    return register


@rule("formula", "column", "formula")
def _formula(spec: RuleSpec) -> Iterator[Statement]:
    """A printed column equals an expression of its row."""
    column = spec.columns("column")[0]
    return spec.each(column, spec.expression("formula"), column)


@rule("constraint", "holds")
def _constraint(spec: RuleSpec) -> Iterator[Statement]:
    """A comparison holds in every row."""
    return spec.each(spec.expression("holds"), spec.expression("holds"))


@rule("check", "holds")
def _check(spec: RuleSpec) -> Iterator[Statement]:
    """A comparison holds, not about a particular row."""
    yield spec.said(spec.claim("", spec.expression("holds")), spec.expression("holds"))


@rule("sum", "total", takes=("parts", "column", "by"))
def _sum(spec: RuleSpec) -> Iterator[Statement]:
    """Parts add up to a total: columns of a row, or a column over rows."""
    total = spec.expression("total")
    column = total if total in spec.book.table(spec.table) else None
    if "parts" in spec.params:
        added = " + ".join(spec.columns("parts"))
        what = f"{added} is {total}"
        if column:
            yield from spec.each(what, added, column)
        else:
            yield from spec.each(what, f"{added} == {total}", otherwise=_totals(spec, added))
        return
    if "column" not in spec.params:
        raise AuditError("it needs parts= (columns of a row) or column= (over rows).")
    name = spec.columns("column")[0]
    for key, rows in spec.groups():
        cells = spec.cells(name, rows)
        formula, other = f"sum({cells}) == {total}", _totals(spec, f"sum({cells})")
        yield spec.grouped(key, f"sum of {name} is {total}", formula, rows[0], otherwise=other)


def _totals(spec: RuleSpec, added: str) -> dict[str, str]:
    return {k: f"{added} == {v}" for k, v in spec.params.get("otherwise", {}).items()}


@rule("share", "share", "count", "of", takes=("unit",))
def _share(spec: RuleSpec) -> Iterator[Statement]:
    """A share is its count over the total, in percent or as a proportion."""
    total, count = " + ".join(spec.columns("of")), spec.expression("count")
    for row in spec.rows():
        formula = f"{_scale(spec, 'share', row)}({count}) / ({total})"
        yield spec.statement(row, f"share of {count}", formula, spec.columns("share")[0])


@rule("difference", "column", "minuend", "subtrahend", takes=("scale",))
def _difference(spec: RuleSpec) -> Iterator[Statement]:
    """A difference is its first part less its second."""
    scale, column = spec.params.get("scale", 1), spec.columns("column")[0]
    formula = f"({spec.expression('minuend')}) - ({spec.expression('subtrahend')})"
    return spec.each(f"{column}, a difference", formula if scale == 1 else f"{scale} * ({formula})", column)


@rule("mean", "column", takes=("of", "by", "row"))
def _mean(spec: RuleSpec) -> Iterator[Statement]:
    """A printed mean is the mean of its parts: columns of the row, or the other rows of its group."""
    column = spec.columns("column")[0]
    if "of" in spec.params:
        parts = ", ".join(spec.columns("of"))
        yield from spec.each(f"{column} is the mean of {parts}", f"mean([{parts}])", column)
        return
    if "row" not in spec.params:
        raise AuditError("it needs of= (columns) or row= (the keys of the row that holds the mean).")
    if not (whole := set(spec.book.rows(spec.table, spec.params["row"]))):
        raise AuditError(f"row= is {dict(spec.params['row'])}, which matches no row. Name the row that holds the mean.")
    for key, rows in spec.groups():
        averaged, means = [r for r in rows if r not in whole], [r for r in rows if r in whole]
        for row in means if averaged else []:
            what = f"{column}, mean of {len(averaged)} rows{' of ' + key if key else ''}"
            yield spec.statement(row, what, f"mean({spec.cells(column, averaged)})", column)


@rule("bounds", "column", takes=("low", "high"))
def _bounds(spec: RuleSpec) -> Iterator[Statement]:
    """Printed numbers lie within stated bounds."""
    low = f"{spec.params['low']} <= " if "low" in spec.params else ""
    high = f" <= {spec.params['high']}" if "high" in spec.params else ""
    if not low and not high:
        raise AuditError("it needs low= or high=.")
    columns = spec.columns("column")
    for column in columns:
        part = column if len(columns) > 1 else ""
        for row in spec.rows():
            if not parse(spec.book.column(spec.table, column)[row]).missing:
                formula, about = f"{low}{column}{high}", ((spec.table, row, column),)
                yield spec.statement(row, f"{column} within its bounds", formula, part=part, about=about)


@rule("same", "left", "right", takes=("scale",))
def _same(spec: RuleSpec) -> Iterator[Statement]:
    """One quantity printed in two places has one value."""
    scale, left, right = spec.params.get("scale", 1), spec.columns("left")[0], spec.expression("right")
    return spec.each(f"{left}, printed twice", right if scale == 1 else f"{scale} * ({right})", left)


@rule("zero_sum", "column", takes=("by",))
def _zero_sum(spec: RuleSpec) -> Iterator[Statement]:
    """The rows of a group sum to zero."""
    column = spec.columns("column")[0]
    for key, rows in spec.groups():
        yield spec.grouped(key, f"{column} sums to zero", f"sum({spec.cells(column, rows)}) == 0", rows[0])


@rule("ranks", "rank", "value", takes=("order", "by"))
def _ranks(spec: RuleSpec) -> Iterator[Statement]:
    """The printed ranks are those of the values; equal printed values may be in either order."""
    order = choose(str(spec.params.get("order", "descending")), ("descending", "ascending"), "order")
    value = spec.columns("value")[0]
    for key, rows in spec.groups():
        group = f" ({key})" if key else ""
        cells = spec.cells(value, rows)
        for row in rows:
            cell, rank = spec.cells(value, [row]), spec.cells(spec.columns("rank")[0], [row])
            # "not <=" and not ">": of equal prints neither is better
            worse, level = ("<=", ">=") if order == "descending" else (">=", "<=")
            formula = f"count(not {cells} {worse} {cell}) + 1 <= {rank} and {rank} <= count({cells} {level} {cell})"
            yield spec.statement(row, f"rank by {value}{group}", formula, about=spec.about(row, "rank"))


@rule("holm", "p", "survives", takes=("m", "alpha", "mark", "by"))
def _holm(spec: RuleSpec) -> Iterator[Statement]:
    """What is marked as surviving is what survives Holm's correction."""
    mark, alpha = str(spec.params.get("mark", "yes")), spec.within("alpha", 0.05, 0, 1)
    for key, rows in spec.groups():
        m = spec.params.get("m", len(rows))
        if isinstance(m, int | float) and m < len(rows):
            raise AuditError(f"m is {m}, but {len(rows)} rows have a p-value. Give the size of the family, or where=.")
        alive = f"holm_survives({spec.cells(spec.columns('p')[0], rows)}, m={m}, alpha={alpha})"
        marks = [mark in spec.book.column(spec.table, spec.columns("survives")[0])[r] for r in rows]
        for i, row in enumerate(rows):
            others = ", ".join("1" if j == i else "0" for j in range(len(rows)))
            sign = "> 0.5" if marks[i] else "< 0.5"  # 1 or 0; an order leaves open what digits leave open
            what = f"{'survives' if marks[i] else 'does not survive'} Holm over {m} tests{' of ' + key if key else ''}"
            formula = f"sum(where([{others}], {alive}, 0)) {sign}"
            yield spec.statement(row, what, formula, about=spec.about(row, "p"))


@rule("pareto", "cost", "value", "on", takes=("by",))
def _pareto(spec: RuleSpec) -> Iterator[Statement]:
    """A row is marked as on the frontier if no other is as good in cost and value and better in one of them."""
    cost, value = spec.columns("cost")[0], spec.columns("value")[0]
    for key, rows in spec.groups():
        for row in rows:
            others = [r for r in rows if r != row]
            marked = spec.book.column(spec.table, spec.columns("on")[0])[row].strip().lower() in _YES
            if not others:
                continue
            c, v = (spec.cells(n, others) for n in (cost, value))
            beaten = f"any({c} <= {cost} and {v} >= {value} and ({c} < {cost} or {v} > {value}))"
            what = f"{'on' if marked else 'not on'} the frontier{' of ' + key if key else ''}"
            about = spec.about(row, "cost", "value")
            yield spec.statement(row, what, f"not {beaten}" if marked else beaten, about=about)


_YES = frozenset({"yes", "true", "1", "✓", "x", "on"})


@rule("duplicates", "by", "values", takes=("least",))
def _duplicates(spec: RuleSpec) -> Iterator[Statement]:
    """No two groups print the same list of values."""
    values = spec.columns("values")
    groups = list(spec.groups())
    least = spec.within("least", 2, 0, math.inf)
    width = len(groups[0][1]) if groups else 0
    if any(len(rows) != width for _, rows in groups) or width * len(values) < least:
        raise AuditError(f"the groups are of unequal size, or print fewer than {least} values.")
    texts = [spec.book.column(spec.table, c) for c in values]
    printed = {key: [column[r] for column in texts for r in rows] for key, rows in groups}
    cells = ", ".join(spec.cells(c, [r for _, rows in groups for r in rows]) for c in values)
    for i, (key, rows) in enumerate(groups):
        twins = [other for other in printed if other != key and printed[other] == printed[key]]
        alike = f", as {' and '.join(twins)} do" if twins else ""
        what, formula = f"values unlike those of the other groups{alike}", f"repeats({i}, {width}, {cells}) == 0"
        yield spec.grouped(key, what, formula, rows[0])


METHODS = ("wilson", "wald", "exact", "agresti-coull")


@rule("interval", "low", "high", "n", takes=("estimate", "count", "method", "conf_level", "unit"))
def _interval(spec: RuleSpec) -> Iterator[Statement]:
    """The ends of an interval follow from the count and n; a share that no whole count gives is reported."""
    method = choose(str(spec.params.get("method", "wilson")), METHODS, "method")
    level, n = spec.within("conf_level", 0.95, 0, 1), f"({spec.expression('n')})"
    if not {"estimate", "count"} & set(spec.params):
        raise AuditError("it needs estimate= or count=.")
    for row in spec.rows():
        if "count" in spec.params:
            k = f"({spec.params['count']})"
        else:  # the whole count nearest to the estimate
            share = f"({spec.expression('estimate')})" + (" / 100" if spec.percent("estimate", row) else "")
            k = f"whole({share} * {n})"
        if str(spec.params.get("estimate")) in spec.book.table(spec.table):
            estimate, scale = spec.expression("estimate"), _scale(spec, "estimate", row)
            whole = f"{estimate} is a whole count of n"
            yield spec.statement(row, whole, f"{scale}{k} / {n}", estimate, estimate)
        for end in ("low", "high"):
            formula = f"{_scale(spec, end, row)}({_end(method, end, k, n, level)})"
            yield spec.statement(row, f"{method} interval, {end}", formula, spec.columns(end)[0], end)


def _scale(spec: RuleSpec, name: str, row: int) -> str:
    return "100 * " if spec.percent(name, row) else ""


def _end(method: str, end: str, k: str, n: str, level: float) -> str:
    sign = "-" if end == "low" else "+"
    if method == "wald":
        return f"{k} / {n} {sign} wald_half({k} / {n}, {n}, conf_level={level})"
    if method == "agresti-coull":
        z2 = f"(probit({0.5 + level / 2}) ** 2)"
        p = f"(({k} + {z2} / 2) / ({n} + {z2}))"
        return f"{p} {sign} wald_half({p}, {n} + {z2}, conf_level={level})"
    return f"{method}_{end}({k}, {n}, conf_level={level})"


@rule("standard_error", "se", takes=("share", "count", "n", "unit"))
def _standard_error(spec: RuleSpec) -> Iterator[Statement]:
    """The standard error of a share is that of share and n; without n, it is 0 at a share of 0 or 1 and only there."""
    if not {"share", "count"} & set(spec.params) or ("count" in spec.params and "n" not in spec.params):
        raise AuditError("it needs share=, or count= and n=.")
    n = f"({spec.expression('n')})" if "n" in spec.params else ""
    for row in spec.rows():
        scale = _scale(spec, "se", row)
        if "count" in spec.params:
            p = f"({spec.expression('count')}) / {n}"
        else:
            p = f"({spec.expression('share')}){' / 100' if scale or spec.percent('share', row) else ''}"
        if n:
            formula, other = (f"{scale}sqrt(larger(0, {p} * (1 - {p})) / ({n}{less}))" for less in ("", " - 1"))
            others = {"the divisor n - 1": other, **spec.params.get("otherwise", {})}
            yield spec.statement(row, "standard error of a share", formula, spec.columns("se")[0], otherwise=others)
        else:
            se, p = spec.expression("se"), f"as_printed({p})"
            formula = f"({p} <= 0 or {p} >= 1) and {se} <= 0 or ({p} > 0 and {p} < 1) and {se} > 0"
            what = "a standard error of 0 at 0 and 100 %, and only there"
            yield spec.statement(row, what, formula, about=spec.about(row, "se"), hint=_CERTAIN)


_CERTAIN = "0 is what the formula gives at 0 and 100 %; it does not mean certainty, see Wilson's interval"


@rule("grim", "mean", "n", takes=("items", "step", "low", "unit"))
def _grim(spec: RuleSpec) -> Iterator[Statement]:
    """n answers on the scale's steps can have the printed mean (GRIM)."""
    options = spec.options("items", "step", "low")
    for row in spec.rows():
        scale = " / 100" if spec.percent("mean", row) else ""
        formula = f"grim(({spec.expression('mean')}){scale}, {spec.expression('n')}{options})"
        what = f"{spec.params['mean']} is a mean of {_answers(spec, row)}"
        yield spec.statement(row, what, formula, about=spec.about(row, "mean"), hint=_nearest(spec, row))


def _nearest(spec: RuleSpec, row: int) -> str:
    """The nearest possible mean; empty where the mean or n is not one number."""
    read = [_number_of(spec, name, row) for name in ("mean", "n")]
    (mean, n), percent = read, spec.percent("mean", row)
    if mean is None or n is None:
        return ""
    items, step, low = (float(spec.params.get(k, v)) for k, v in (("items", 1), ("step", 1), ("low", 0)))
    size, scale = n.value * items, 100.0 if percent else 1.0
    if not (math.isfinite(size) and size > 0 and step > 0 and math.isfinite(mean.value)):
        return ""
    total = low * size + step * round((mean.value / scale - low) * size / step)
    return f"nearest: {total:.10g}/{size:.10g} = {mean.shown(scale * total / size)}{'%' if percent else ''}"


def _answers(spec: RuleSpec, row: int) -> str:
    """How many answers n says: the number, with its expression if it is one."""
    expression, n = spec.expression("n"), _number_of(spec, "n", row)
    if n is None or expression in spec.book.table(spec.table) or parse(expression).readable:
        return f"{expression} answers"
    return f"{n.value:.10g} answers ({expression})"


def _number_of(spec: RuleSpec, name: str, row: int) -> Printed | None:
    """The number given by a parameter: of a column, the parameter itself, or the value of an expression."""
    expression = spec.expression(name)
    if expression in spec.book.table(spec.table):
        return spec.book.printed((spec.table, row, expression))
    printed = parse(expression)
    if printed.readable:
        return printed
    try:
        value = Reading(spec.book, expression, spec.table, row).value()
    except AuditError:  # it is reported where the statement is decided
        return None
    return Printed(expression, float(value.values[0, 0])) if isinstance(value, Numbers) and len(value) == 1 else None


@rule("grimmer", "mean", "sd", "n", takes=("items", "step", "low", "high", "ddof"))
def _grimmer(spec: RuleSpec) -> Iterator[Statement]:
    """n answers on the scale's steps can have the printed mean and sd (GRIMMER)."""
    options = spec.options("items", "step", "low", "high", "ddof")
    for row in spec.rows():
        formula = f"grimmer({spec.expression('mean')}, {spec.expression('sd')}, {spec.expression('n')}{options})"
        about = spec.about(row, "mean", "sd")
        yield spec.statement(row, f"mean and sd of {_answers(spec, row)}", formula, about=about)


@rule("sd_divisor", "mean", "sd", "n", takes=("step", "finer", "items", "by", "low", "high"))
def _sd_divisor(spec: RuleSpec) -> Iterator[Statement]:
    """The printed sds of a group have the divisor n - 1; or n, and then the verdict depends on it."""
    n = spec.expression("n")
    for key, rows in spec.groups():
        parts = [spec.cells(spec.columns(c)[0], rows) for c in ("mean", "sd")]
        parts.append(spec.cells(n, rows) if n in spec.book.table(spec.table) else n)
        pairs, ends = ", ".join(parts), spec.options("items", "low", "high")
        coarse = spec.options("step") + ends
        formula = f"all(grimmer({pairs}{coarse}, ddof="
        other = {"the divisor n": f"{formula}0))"}
        if "finer" in spec.params:
            finer = spec.within("finer", 1, 0, math.inf)
            fine = f"all(grimmer({pairs}, step={finer}{ends}, ddof=1))"
            other[f"scores in steps of {finer:g}"] = f"not lines_up({pairs}{coarse}) and {fine}"
        other |= spec.params.get("otherwise", {})
        hint = _divisors(spec, rows)
        yield spec.grouped(key, "sds with divisor n - 1", f"{formula}1))", rows[0], otherwise=other, hint=hint)


def _divisors(spec: RuleSpec, rows: Sequence[int]) -> str:
    """How many pairs of a mean and an sd fit which divisor."""
    options = {name: float(spec.params[name]) for name in ("items", "step", "low", "high") if name in spec.params}
    fits = []
    for row in rows:
        read = [_number_of(spec, name, row) for name in ("mean", "sd", "n")]
        ends = [(p.value - p.half, p.value + p.half) for p in read if p is not None and p.readable]
        if len(ends) < len(read):
            return ""
        fits.append(tuple(grimmer(ends[0], ends[1], ends[2], ddof=d, **options) for d in (0, 1)))
    kinds = {"fit the divisor n only": (True, False), "n - 1 only": (False, True), "both": (True, True)}
    counts = [f"{fits.count(kind)} {what}" for what, kind in {**kinds, "neither": (False, False)}.items()]
    return f"of {len(fits)} pairs {', '.join(counts)}, in steps of {options.get('step', 1):g}"


@rule("mcnemar", "b", "c", takes=("chi2", "p", "corrected"))
def _mcnemar(spec: RuleSpec) -> Iterator[Statement]:
    """McNemar's statistic and p follow from the discordant counts."""
    if not {"chi2", "p"} & set(spec.params):
        raise AuditError("it needs chi2= or p=.")
    b, c, corrected = spec.expression("b"), spec.expression("c"), int(spec.within("corrected", True, -1, 2))
    for row in spec.rows():
        for name, function in (("chi2", "mcnemar"), ("p", "mcnemar_p")):
            if name in spec.params:
                formula = f"{function}({b}, {c}, corrected={corrected})"
                others = {**_corrections(function, b, c), **spec.params.get("otherwise", {})}
                other: StatementOptions = {} if "corrected" in spec.params else {"otherwise": others}
                yield spec.statement(row, f"McNemar's {name}", formula, spec.columns(name)[0], name, **other)


def _corrections(function: str, b: str, c: str) -> dict[str, str]:
    """Other forms of the continuity correction, where the rule does not specify one."""
    always = f"(abs(({b}) - ({c})) - 1) ** 2 / (({b}) + ({c}))"  # 1 / (b + c) where b = c; R has 0 there
    always = f"chi2_p({always}, 1)" if function == "mcnemar_p" else always
    without = f"{function}({b}, {c}, corrected=0)"
    return {"without the continuity correction": without, "corrected where b = c too": always}


@rule("p_value", "p", "kind", takes=("statistic", "df", "df2", "n", "sides"))
def _p_value(spec: RuleSpec) -> Iterator[Statement]:
    """A p-value follows from its statistic."""
    arguments = {"z": ("statistic",), "t": ("statistic", "df"), "chi2": ("statistic", "df")}
    arguments |= {"f": ("statistic", "df", "df2"), "r": ("statistic", "n")}
    kind = choose(str(spec.params["kind"]), tuple(arguments), "kind")
    if missing := [a for a in arguments[kind] if a not in spec.params]:
        raise AuditError(f"kind={kind!r} needs {', '.join(missing)}.")
    function = "correlation_p" if kind == "r" else f"{kind}_p"
    options = spec.options("sides") if kind in ("z", "t", "r") else ""
    formula = f"{function}({', '.join(spec.expression(a) for a in arguments[kind])}{options})"
    return spec.each("p-value", formula, spec.columns("p")[0])


@rule("kappa", "kappa", "agreement", takes=("margin_a", "margin_b", "chance"))
def _kappa(spec: RuleSpec) -> Iterator[Statement]:
    """Kappa follows from agreement and margins, or from agreement and a stated chance agreement."""
    if "chance" in spec.params:
        chance = spec.expression("chance")
    elif {"margin_a", "margin_b"} <= set(spec.params):
        one, two = spec.columns("margin_a"), spec.columns("margin_b")
        if len(one) != len(two):
            raise AuditError(f"margin_a has {len(one)} columns and margin_b {len(two)}. Give one a category.")
        pairs = list(zip(one, two, strict=True))
        ones, twos = (" + ".join(m[i] for m in pairs) for i in (0, 1))
        chance = f"({' + '.join(f'({a}) * ({b})' for a, b in pairs)}) / (({ones}) * ({twos}))"
    else:
        raise AuditError("it needs chance=, or margin_a= and margin_b=.")
    return spec.each("kappa", f"kappa({spec.expression('agreement')}, {chance})", spec.columns("kappa")[0])
