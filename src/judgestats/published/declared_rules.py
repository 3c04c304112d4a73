"""Declared rules, as in a rules file, checked and turned into statements."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeGuard

from judgestats.errors import AuditError, DesignError, refuse_unknown
from judgestats.outputs import text_read
from judgestats.published.printed_tables import Book
from judgestats.published.rule_specs import SUMMED, Declaration, RuleSpec, as_list
from judgestats.published.rules import RULES, AuditRule
from judgestats.published.statements import Statement

#: Parameters that every rule takes.
_COMMON = ("rule", "table", "where", "why", "otherwise", "rounded", "place", "claim", "fault", "cut")
#: Parameters that name one or several columns or tables, and those that are only shown.
_NAMES, _SHOWN = ("by", "values", "rounded", "table", "column"), ("why", "place", "claim")
_MAPPINGS = ("where", "row", "otherwise")


def statements(book: Book, declared: Sequence[Declaration]) -> list[Statement]:
    """The statements that declared rules make: each a mapping with ``rule`` and its parameters, as in a rules file."""
    several: list[Statement] = []
    for i, stated in enumerate(declared):
        number = i + 1 if len(declared) > 1 else 0
        try:
            several += [replace(s, number=number) for s in _statements_of(book, stated)]
        except (AuditError, DesignError) as error:
            raise type(error)(f"{_rule_label(number, stated)}: {error}") from error
    return several


def _statements_of(book: Book, stated: Declaration) -> Iterator[Statement]:
    rule, params = _checked_rule(stated), _respelled(stated, book.spelled)
    tables = params["table"] if "table" in params else [""] if rule.name == "check" else _only_table(book)
    for table in as_list(tables):
        for column in as_list(params.get("rounded", ())):
            book.column(table, column)
        spec = RuleSpec(book, rule.name, table, params)
        caution = "; ".join(_contradictions(spec))
        yield from (replace(s, notes=replace(s.notes, caution=caution)) for s in rule.make(spec))


def _contradictions(spec: RuleSpec) -> Iterator[str]:
    """Options that cannot all describe the printed numbers, each pair in a sentence."""
    numbers = {k: v for k, v in spec.params.items() if isinstance(v, int | float) and not isinstance(v, bool)}
    low, high, step = numbers.get("low"), numbers.get("high"), numbers.get("step")
    if low is not None and high is not None:
        if low >= high:
            yield f"low = {low:g} is not below high = {high:g}"
        elif step and not math.isclose((high - low) / step, round((high - low) / step), abs_tol=1e-9):
            yield f"steps of step = {step:g} do not lead from low = {low:g} to high = {high:g}"
    if "finer" in numbers and numbers["finer"] >= numbers.get("step", 1):
        yield f"finer = {numbers['finer']:g} is not below step = {numbers.get('step', 1):g}"
    column = next((str(spec.params[n]) for n in ("share", "estimate", "mean", "se") if n in spec.params), "")
    if "unit" not in RULES[spec.rule].takes or column not in spec.book.table(spec.table):
        return
    printed = [p for row in spec.rows() if (p := spec.book.printed((spec.table, row, column))).readable]
    signed = any(p.unit == "%" for p in printed)
    if spec.params.get("unit") == "proportion" and signed:
        yield f"unit = 'proportion', but {column} is printed with %, which counts"
    if spec.params.get("unit") != "percent" and not signed:
        return
    if not signed and printed and max(abs(p.value) for p in printed) <= 1:
        yield f"unit = 'percent', but no {column} is above 1; leave unit out for proportions"
    for name in ("step", "low") if spec.rule == "grim" else ():
        if numbers.get(name, 0) > 1:
            yield (
                f"percent are read as shares of 1, of which {name} = {numbers[name]:g} is none; leave it out for "
                "answers of yes or no, and give scores of 0 to 100 without unit and %"
            )


def _rule_label(number: int, stated: object) -> str:
    """Which rule: its place among several, and its name."""
    name = stated.get("rule") if isinstance(stated, Mapping) else None
    return "Rule " + (", ".join(str(p) for p in (number, name if isinstance(name, str) else "") if p) or "1")


def _respelled(value: Any, spelled: Mapping[str, str]) -> Any:
    """Parameters with column names as in expressions; texts that select rows stay as they are."""
    if isinstance(value, str):
        return spelled.get(value, value)
    if isinstance(value, list | tuple):
        return [_respelled(v, spelled) for v in value]
    if not isinstance(value, Mapping):
        return value
    keyed = {k: {spelled.get(c, c): v for c, v in value[k].items()} for k in ("where", "row") if k in value}
    keyed |= {"fault": value["fault"]} if "fault" in value else {}
    return {k: keyed[k] if k in keyed else _respelled(v, spelled) for k, v in value.items()}


def _only_table(book: Book) -> list[str]:
    names = [t for t in book.columns if t != "claims"]
    if len(names) != 1:
        raise AuditError(f"it names no table. Give table=: {', '.join(names)}.")
    return names


def _checked_rule(stated: object) -> AuditRule:
    if not isinstance(stated, Mapping):
        example = {"rule": "sum", "parts": ["a", "b"], "total": "n"}
        raise AuditError(f"A rule is {stated!r}. Allowed: a mapping, as {example}.")
    name = stated.get("rule")
    refuse_unknown(name, [*RULES], f"There is no rule {name!r}", "Rules", error=AuditError)
    rule = RULES[str(name)]
    if missing := [n for n in rule.needs if n not in stated]:
        raise AuditError(f"it needs {', '.join(missing)}. Got: {', '.join(stated)}.")
    allowed = (*rule.needs, *rule.takes, *_COMMON)
    odd = [k for k in stated if k not in allowed]
    if odd:
        refuse_unknown(odd[0], allowed, f"it does not take {', '.join(map(repr, odd))}", error=AuditError)
    for key, value in stated.items():
        _check_parameter(key, value)
        try:
            str(value).encode()
        except UnicodeEncodeError as problem:
            raise AuditError(
                f"{key} = {value!r} is not valid text: half a character at {problem.start}. Correct it."
            ) from None
    return rule


def _check_parameter(key: str, value: object) -> None:
    """Raise if a parameter is of the wrong kind for its name."""
    if key in _MAPPINGS:
        good, allowed = isinstance(value, Mapping), 'a mapping, as { column = "text" } or { name = "expression" }'
    elif key == "fault":
        good = _is_name(value) or (isinstance(value, Mapping) and all(isinstance(v, Mapping) for v in value.values()))
        allowed = 'a name, or several with the rows of each, as { "name" = { column = "text" } }'
    elif key in _NAMES:
        good, allowed = _is_name(value) or (_is_list(value) and all(map(_is_name, value))), "a name, or a list of names"
    elif key in SUMMED and isinstance(value, list | tuple):
        good, allowed = _is_list(value) and all(map(_is_scalar, value)), "columns or numbers, one at least"
    elif key == "cut":
        good, allowed = isinstance(value, bool), "true or false"
    else:
        good, allowed = _is_scalar(value) or (key in _SHOWN and value == ""), "a text or a number"
    if not good:
        raise AuditError(f"{key} is {value!r}. Allowed: {allowed}.")


def _is_list(value: object) -> TypeGuard[Sequence[object]]:
    return isinstance(value, list | tuple) and len(value) > 0


def _is_name(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_scalar(value: object) -> bool:
    return _is_name(value) or isinstance(value, int | float)


def declared(rules: str | Path | Sequence[Declaration] | None) -> Sequence[Declaration]:
    """The rules of a file with ``[[rule]]`` tables, or those given."""
    if rules is None:
        return []
    if isinstance(rules, list | tuple):
        return rules
    if not isinstance(rules, str | Path):
        raise AuditError(
            f"rules is a {type(rules).__name__}. Allowed: a TOML file, or a list of mappings, one per rule."
        )
    path = Path(rules)
    if not path.is_file():
        raise AuditError(f"There is no rules file {str(rules)!r}.")
    read = _toml(path)
    if set(read) - {"rule"} or not isinstance(read.get("rule", []), list):
        raise AuditError(f"{path.name} has {', '.join(read)}. Allowed: [[rule]] tables.")
    if not read:
        raise AuditError(f"{path.name} has no rule. Write [[rule]] tables.")
    return list(read["rule"])


def _toml(path: Path) -> dict[str, list[Declaration]]:
    try:
        text = text_read(path)
    except UnicodeDecodeError as error:
        raise AuditError(f"{path.name} is not in UTF-8 ({error.reason}). Save it so.") from error
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise AuditError(f"{path.name} is nested too deeply for a rules file. Write [[rule]] tables.") from None
    except ValueError as error:  # of the parser; of Python, where a number has thousands of digits
        at = re.search(r"at line (\d+)", str(error))
        rule = sum(line.strip().startswith("[[rule") for line in text.splitlines()[: int(at[1]) if at else None])
        where = f", in rule {rule}" if rule else ""
        raise AuditError(f"{path.name} is not valid TOML{where}: {error}.") from error
