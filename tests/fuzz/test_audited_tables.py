"""Mutated tables and rules: each audit ends in a frame of the four verdicts, or in an error of ours, and none hangs.

``JUDGESTATS_FUZZ`` is how many there are; each has a seed, and a failure names it.
"""

from __future__ import annotations

import json
import os
import random
import warnings
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import judgestats as js
from fuzz.limits import within
from published.test_rules import CASES

MANY = int(os.environ.get("JUDGESTATS_FUZZ", "300"))
VERDICTS = {"follows", "does not follow", "depends", "cannot be decided"}
KEYS = ("rule", "column", "by", "where", "row", "otherwise", "why", "of", "n", "formula", "holds", "places", "total", "parts",
        "left", "right", "tolerance", "rounded", "table", "claim", "extra", "total_row")  # fmt: skip
CELLS = ("", " ", "NaN", "nan", "None", "inf", "1e400", "-", "−", "±", "0", "-1", "9" * 400, "< 0.001", "<", "12,345", "1,2,3", "50 %",
         ".53", "1.5 ± 0.2", "[1, 2]", "(3)", "1/2", "1e-400", "A", "x\x1b[31m", "٣", "½", "0.1.2", "$5$", "1 2", "†0.04*")  # fmt: skip
TEXTS = ("a", "n", "nobody", "", "a + b", "9**9**9**9", "1/0", "a / 0", "(" * 3000, "a" + " + a" * 3000, "().__class__.__bases__",
         "__import__('os').system('true')", "lambda: 1", "[x for x in 9]", "table.a", "table", "max(", "mean([])", "a == 'A'",
         "sqrt(-1)", "log(0)", "0 * 1e400", "argmax(table.a, 'judge')", "~a", "a if b else c", "a @ b", "a << 10**9", "f'{a}'",
         "'a' * 10**10", "range(10**9)", "\0", "\ud800", "claims.printed(id='x')", "-" * 3000 + "a", "not a", "a in b")  # fmt: skip


def anything(rng: random.Random, columns: list[str], deep: int = 2) -> Any:
    at = rng.random()
    if at < 0.3 and columns:
        return rng.choice(columns)
    if at < 0.55:
        return rng.choice(TEXTS)
    if at < 0.75 or deep <= 0:
        return rng.choice([None, True, False, 0, 1, -1, 10**400, 1e308, float("nan"), float("inf"), 2.5, 3])
    if at < 0.88:
        return [anything(rng, columns, deep - 1) for _ in range(rng.choice([0, 1, 2]))]
    return {
        rng.choice([*columns, "not", "in", "x"]): anything(rng, columns, deep - 1) for _ in range(rng.choice([0, 1, 2]))
    }


def mutated(rng: random.Random) -> tuple[pd.DataFrame, list[Any]]:
    """A table and its rules, with one to four faults in them."""
    name = rng.choice(sorted(CASES))
    table, given, _ = CASES[name]
    table, rule = table.astype(object), {"rule": name, **given}
    for _ in range(rng.choice([1, 1, 2, 4])):
        at, columns = rng.random(), [str(c) for c in table.columns]
        if at < 0.4 and table.size:
            table.iloc[rng.randrange(len(table)), rng.randrange(len(columns))] = rng.choice(CELLS)
        elif at < 0.45 and len(columns):
            table = table.rename(columns={rng.choice([*table.columns]): rng.choice([*columns, "", "total", "a b"])})
        elif at < 0.5 and len(columns):
            table = table.drop(columns=rng.choice([*table.columns]))
        elif at < 0.53:
            table = table.iloc[: rng.choice([0, 1])]
        elif at < 0.56:
            table = pd.concat([table, table], axis=rng.choice([0, 1]))
        elif at < 0.6 and table.size:
            column = rng.randrange(len(columns))
            odd = rng.choice([None, 3.5, 7, pd.NA, float("inf"), [1], {"a": 1}, b"1", pd.Timestamp("2024-01-01")])
            table.isetitem(column, pd.Series([odd] * len(table), index=table.index, dtype=object))
        elif at < 0.63:
            table.columns = rng.choice([pd.MultiIndex.from_product([["u"], table.columns]), range(len(columns))])
        elif at < 0.85:
            rule[rng.choice([*rule, *KEYS])] = anything(rng, columns)
        elif at < 0.9:
            rule.pop(rng.choice([*rule]), None)
        else:
            rule["where" if rng.random() < 0.5 else "row"] = {rng.choice(columns or ["x"]): anything(rng, columns)}
    if rng.random() < 0.03:
        return table, rng.choice([[None], [1], [[]], [{}], [rule, "x"], [{"rule": rule}]])
    return table, [rule] * rng.choice([1, 1, 1, 2])


def toml(rules: list[dict[str, Any]]) -> str:
    def written(value: Any) -> str:
        if isinstance(value, dict):
            return "{" + ", ".join(f"{json.dumps(str(k))} = {written(v)}" for k, v in value.items()) + "}"
        if isinstance(value, list | tuple):
            return f"[{', '.join(map(written, value))}]"
        return json.dumps(value if isinstance(value, str | bool | int | float) else str(value))

    return "\n".join("[[rule]]\n" + "\n".join(f"{k} = {written(v)}" for k, v in rule.items()) for rule in rules)


def files(rng: random.Random, folder: Path) -> tuple[Path, Path]:
    """A table and its rules as files, with bytes changed."""
    name = rng.choice(sorted(CASES))
    table, given, _ = CASES[name]
    paths = folder / "table.csv", folder / "rules.toml"
    for path, text in zip(paths, (table.to_csv(index=False), toml([{"rule": name, **given}])), strict=True):
        data = bytearray(text, "utf-8")
        for _ in range(rng.choice([0, 1, 1, 3, 20])):
            place = rng.randrange(len(data) + 1)
            new = rng.choice(
                [b"", b",", b"\n", b'"', b"\x00", b"\xff", b"[", b"=", b"9" * 5000, b"[" * 10_000, b"\r", b"a", b"{"]
            )
            data[place : place + rng.choice([0, 1, 5])] = new
        path.write_bytes(bytes(data))
    return paths


@pytest.mark.parametrize("part", range(10))
def test_an_audit_has_four_verdicts_or_is_refused(part: int, tmp_path: Path) -> None:
    ends = {"audited": 0, "refused": 0}
    for seed in range(part, MANY, 10):
        rng = random.Random(seed)
        table, rules = files(rng, tmp_path) if rng.random() < 0.3 else mutated(rng)
        try:
            with within(60, f"seed {seed}: {rules!r:.300}"), warnings.catch_warnings():
                warnings.simplefilter("error")
                found = js.audit(table, rules=rules)
            assert set(found["verdict"]) <= VERDICTS, seed
            ends["audited"] += 1
        except js.errors.JudgestatsError:
            ends["refused"] += 1
        except Exception as error:
            raise AssertionError(f"seed {seed}: {rules!r:.300} of\n{table!r:.600}\nended in {error!r}") from error
    assert min(ends.values()) > 0 or MANY < 300


def test_rules_nested_10_000_deep_are_refused(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("a,b\n1,2\n")
    for deep in ("x = " + "[" * 10_000, "x = " + "{y = " * 10_000, "[rule" + ".a" * 10_000 + "]\nb = 1"):
        (tmp_path / "rules.toml").write_text(f'[[rule]]\nrule = "bounds"\n{deep}\n')
        with pytest.raises(js.errors.AuditError):
            js.audit(tmp_path / "table.csv", rules=tmp_path / "rules.toml")
