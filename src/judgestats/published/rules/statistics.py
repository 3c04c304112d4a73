"""Rules about the statistics of a row: intervals, p-values, kappa, GRIM and GRIMMER."""

from __future__ import annotations

import math
from collections.abc import Iterator

from judgestats.errors import AuditError, choose
from judgestats.published.printed import Printed, parse
from judgestats.published.rules.registry import Asked, rule
from judgestats.published.statements import Statement

METHODS = ("wilson", "wald", "exact", "agresti-coull")


@rule("interval", "low", "high", "n", takes=("estimate", "count", "method", "conf_level", "unit"))
def _interval(asked: Asked) -> Iterator[Statement]:
    """The ends of an interval follow from the count and n; a share that no whole count gives is said so."""
    method = choose(str(asked.given.get("method", "wilson")), METHODS, "method")
    level, n = asked.within("conf_level", 0.95, 0, 1), f"({asked.expression('n')})"
    if not {"estimate", "count"} & set(asked.given):
        raise AuditError("it needs estimate= or count=.")
    for row in asked.rows():
        k = f"({asked.given['count']})" if "count" in asked.given else _count(asked, row, n)
        if str(asked.given.get("estimate")) in asked.book.table(asked.table):
            estimate, scale = asked.expression("estimate"), _scale(asked, "estimate", row)
            whole = f"{estimate} is a whole count of n"
            yield asked.statement(row, whole, f"{scale}{k} / {n}", estimate, estimate)
        for end in ("low", "high"):
            made = f"{_scale(asked, end, row)}({_end(method, end, k, n, level)})"
            yield asked.statement(row, f"{method} interval, {end}", made, asked.columns(end)[0], end)


def _scale(asked: Asked, name: str, row: int) -> str:
    return "100 * " if asked.percent(name, row) else ""


def _count(asked: Asked, row: int, n: str) -> str:
    """The whole count that is nearest to the estimate."""
    share = f"({asked.expression('estimate')})" + (" / 100" if asked.percent("estimate", row) else "")
    return f"whole({share} * {n})"


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
def _standard_error(asked: Asked) -> Iterator[Statement]:
    """The standard error of a share is that of share and n; without n, it is 0 at a share of 0 or 1 and only there."""
    if not {"share", "count"} & set(asked.given) or ("count" in asked.given and "n" not in asked.given):
        raise AuditError("it needs share=, or count= and n=.")
    n = f"({asked.expression('n')})" if "n" in asked.given else ""
    for row in asked.rows():
        scale = _scale(asked, "se", row)
        if "count" in asked.given:
            p = f"({asked.expression('count')}) / {n}"
        else:
            p = f"({asked.expression('share')}){' / 100' if scale or asked.percent('share', row) else ''}"
        if n:
            made, other = (f"{scale}sqrt(larger(0, {p} * (1 - {p})) / ({n}{less}))" for less in ("", " - 1"))
            others = {"the divisor n - 1": other, **asked.given.get("otherwise", {})}
            yield asked.statement(row, "standard error of a share", made, asked.columns("se")[0], otherwise=others)
        else:
            se, p = asked.expression("se"), f"as_printed({p})"
            made = f"({p} <= 0 or {p} >= 1) and {se} <= 0 or ({p} > 0 and {p} < 1) and {se} > 0"
            what = "a standard error of 0 at 0 and 100 %, and only there"
            yield asked.statement(row, what, made, about=asked.about(row, "se"), hint=_CERTAIN)


_CERTAIN = "0 is what the formula gives at 0 and 100 %; it is no certainty, see Wilson's interval"


@rule("grim", "mean", "n", takes=("items", "step", "low", "unit"))
def _grim(asked: Asked) -> Iterator[Statement]:
    """n answers on the scale's steps can have the printed mean (GRIM)."""
    options = asked.options("items", "step", "low")
    for row in asked.rows():
        scale = " / 100" if asked.percent("mean", row) else ""
        made = f"grim(({asked.expression('mean')}){scale}, {asked.expression('n')}{options})"
        what = f"{asked.given['mean']} is a mean of {asked.given['n']} answers"
        yield asked.statement(row, what, made, about=asked.about(row, "mean"), hint=_nearest(asked, row))


def _nearest(asked: Asked, row: int) -> str:
    """The possible mean that is nearest; empty where the mean or n is no single cell."""
    read = [_single(asked, name, row) for name in ("mean", "n")]
    (mean, n), percent = read, asked.percent("mean", row)
    if mean is None or n is None:
        return ""
    items, step, low = (float(asked.given.get(k, v)) for k, v in (("items", 1), ("step", 1), ("low", 0)))
    size, scale = n.value * items, 100.0 if percent else 1.0
    if not (math.isfinite(size) and size > 0 and step > 0 and math.isfinite(mean.value)):
        return ""
    total = low * size + step * round((mean.value / scale - low) * size / step)
    return f"nearest: {total:.10g}/{size:.10g} = {mean.shown(scale * total / size)}{'%' if percent else ''}"


def _single(asked: Asked, name: str, row: int) -> Printed | None:
    """The number of a parameter that names a column, or is one."""
    told = asked.expression(name)
    if told in asked.book.table(asked.table):
        return asked.book.printed((asked.table, row, told))
    found = parse(told)
    return found if found.readable else None


@rule("grimmer", "mean", "sd", "n", takes=("items", "step", "low", "high", "ddof"))
def _grimmer(asked: Asked) -> Iterator[Statement]:
    """n answers on the scale's steps can have the printed mean and sd (GRIMMER)."""
    for row in asked.rows():
        options = asked.options("items", "step", "low", "high", "ddof")
        made = f"grimmer({asked.expression('mean')}, {asked.expression('sd')}, {asked.expression('n')}{options})"
        about = asked.about(row, "mean", "sd")
        yield asked.statement(row, f"mean and sd of {asked.given['n']} answers", made, about=about)


@rule("sd_divisor", "mean", "sd", "n", takes=("step", "items", "by", "low", "high"))
def _sd_divisor(asked: Asked) -> Iterator[Statement]:
    """The printed sds of a group have the divisor n - 1; or n, and then the verdict depends on it."""
    options = asked.options("items", "step", "low", "high")
    for key, rows in asked.groups():
        here = [[asked.cells(asked.columns(c)[0], rows), asked.given[c]] for c in ("mean", "sd")]
        n = asked.expression("n")
        n = asked.cells(n, rows) if n in asked.book.table(asked.table) else n
        made = f"all(grimmer({here[0][0]}, {here[1][0]}, {n}{options}, ddof="
        other = {"the divisor n": f"{made}0))", **asked.given.get("otherwise", {})}
        yield asked.grouped(key, "sds with divisor n - 1", f"{made}1))", rows[0], otherwise=other)


@rule("mcnemar", "b", "c", takes=("chi2", "p", "corrected"))
def _mcnemar(asked: Asked) -> Iterator[Statement]:
    """McNemar's statistic and p follow from the discordant counts."""
    if not {"chi2", "p"} & set(asked.given):
        raise AuditError("it needs chi2= or p=.")
    b, c, corrected = asked.expression("b"), asked.expression("c"), int(asked.within("corrected", True, -1, 2))
    for row in asked.rows():
        for name, function in (("chi2", "mcnemar"), ("p", "mcnemar_p")):
            if name in asked.given:
                made = f"{function}({b}, {c}, corrected={corrected})"
                others = {**_corrections(name, b, c), **asked.given.get("otherwise", {})}
                told = {} if "corrected" in asked.given else {"otherwise": others}
                yield asked.statement(row, f"McNemar's {name}", made, asked.columns(name)[0], name, **told)


def _corrections(name: str, b: str, c: str) -> dict[str, str]:
    """Other ways with the continuity correction, where the rule does not say which."""
    always = f"(abs(({b}) - ({c})) - 1) ** 2 / (({b}) + ({c}))"  # 1 / (b + c) where b = c; R has 0 there
    if name == "p":
        always = f"chi2_p({always}, 1)"
    function = "mcnemar" if name == "chi2" else "mcnemar_p"
    without = f"{function}({b}, {c}, corrected=0)"
    return {"without the continuity correction": without, "corrected where b = c too": always}


@rule("p_value", "p", "kind", takes=("statistic", "df", "df2", "n", "sides"))
def _p_value(asked: Asked) -> Iterator[Statement]:
    """A p-value follows from its statistic."""
    arguments = {"z": ("statistic",), "t": ("statistic", "df"), "chi2": ("statistic", "df")}
    arguments |= {"f": ("statistic", "df", "df2"), "r": ("statistic", "n")}
    kind = choose(str(asked.given["kind"]), tuple(arguments), "kind")
    missing = [a for a in arguments[kind] if a not in asked.given]
    if missing:
        raise AuditError(f"kind={kind!r} needs {', '.join(missing)}.")
    function = "correlation_p" if kind == "r" else f"{kind}_p"
    options = asked.options("sides") if kind in ("z", "t", "r") else ""
    made = f"{function}({', '.join(asked.expression(a) for a in arguments[kind])}{options})"
    for row in asked.rows():
        yield asked.statement(row, "p-value", made, asked.columns("p")[0])


@rule("kappa", "kappa", "agreement", takes=("margin_a", "margin_b", "chance"))
def _kappa(asked: Asked) -> Iterator[Statement]:
    """Kappa follows from agreement and margins, or from agreement and a stated chance agreement."""
    if "chance" in asked.given:
        chance = asked.expression("chance")
    elif {"margin_a", "margin_b"} <= set(asked.given):
        one, two = asked.columns("margin_a"), asked.columns("margin_b")
        if len(one) != len(two):
            raise AuditError(f"margin_a has {len(one)} columns and margin_b {len(two)}. Give one a category.")
        pairs = list(zip(one, two, strict=True))
        ones, twos = (" + ".join(m[i] for m in pairs) for i in (0, 1))
        chance = f"({' + '.join(f'({a}) * ({b})' for a, b in pairs)}) / (({ones}) * ({twos}))"
    else:
        raise AuditError("it needs chance=, or margin_a= and margin_b=.")
    for row in asked.rows():
        made = f"kappa({asked.expression('agreement')}, {chance})"
        yield asked.statement(row, "kappa", made, asked.columns("kappa")[0])
