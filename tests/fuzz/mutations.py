"""Files to read: small samples of every format, and what can happen to them."""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
import sqlite3
import zipfile
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet

#: Cells that are odd somewhere: as an id, a number, a label, a name, in CSV, in JSON, in SQL.
ODD: tuple[str, ...] = (
    "", " ", "NA", "nan", "None", "null", "-", "0", "-0", "007", "1e999", "1E5", "-1", "0.5", ".5", "5.", "3,5", "1_000", "0x1",
    "inf", "-inf", "9" * 30, "9" * 400, str(2**53 + 1), str(2**63), "true", "FALSE", "yes", "pass", "tie", "first", "A", "[[A]]",
    "x\ny", 'say "so"', "a,b", "a\tb", "\ufeff", "\u200b", "e\u0301", "\u00e9", "\U0001f600", "\u00a03", "\u0663", "\x00", "\x1b[31m",
    "=1+1", "it's", "'; DROP TABLE rows; --", "{}", "[1, 2]", '{"a": 1}', "\\", "%s", "a\rb", "{0}", "$1", "\u2028",
)  # fmt: skip
#: The same in JSON, where a value has a type.
TYPED: tuple[Any, ...] = (
    *ODD, None, True, False, 0, -1, 1.5, 1e300, 10**25, 2**63, float("inf"), float("nan"), [], [1], [[]], {}, {"a": {"b": None}},
    {"": 1}, [{"role": "user", "content": "x"}],
)  # fmt: skip
NAMES = (
    "judge", "item", "first", "second", "choice", "replicate", "n", "status", "strength", "gold", "order_known", "delta", "system",
    "score", "correct", "mean", "sd", "runs", "criterion", "temperature", "rationale", "Judge", "choice_source", "n_identical",
    "column_1", "file", "path_1", "", " judge", "a.b", "status_source", "length_first", "winner", "_file", "0", "x\ny", "judge\x00",
)  # fmt: skip


def table(rng: random.Random) -> dict[str, list[Any]]:
    """A small table of calls or of ratings, as columns."""
    rows = rng.randint(1, 9)
    judges = rng.choice((["g"], ["g", "h"], ["GPT-4", "Claude 3", "NA"]))
    base: dict[str, list[Any]] = {
        "judge": [rng.choice(judges) for _ in range(rows)],
        "item": [str(i if rng.random() < 0.97 else 0) for i in range(rows)],
    }
    if rng.random() < 0.6:
        order = [rng.choice(("xy", "yx")) for _ in range(rows)]
        base |= {"first": [o[0] for o in order], "second": [o[1] for o in order]}
        base["choice"] = [rng.choice(("first", "second", "tie", "abstain", "invalid")) for _ in range(rows)]
        extra: dict[str, Callable[[], Any]] = {
            "replicate": lambda: rng.randint(0, 3), "strength": rng.random, "order_known": lambda: rng.choice(("true", "false")),
            "status": lambda: "ok", "gold": lambda: rng.choice("xy"), "temperature": lambda: rng.choice((0, 0.7)),
        }  # fmt: skip
    else:
        base["system"] = [rng.choice("st") for _ in range(rows)]
        kind = rng.choice(("score", "score", "correct", "mean"))
        answers = {
            "score": lambda: rng.randint(1, 5),
            "correct": lambda: rng.choice(("right", "wrong")),
            "mean": rng.random,
        }
        base[kind] = [answers[kind]() for _ in range(rows)]
        extra = {
            "criterion": lambda: "style", "replicate": lambda: rng.randint(0, 3), "sd": rng.random, "runs": lambda: 3,
            "condition": lambda: rng.choice("ab"), "gold": lambda: rng.randint(1, 5),
        }  # fmt: skip
    extra |= {
        "note": lambda: rng.choice(("", "good", "a, b")),
        "k": lambda: rng.randint(0, 9),
        "n": lambda: rng.randint(0, 4),
    }
    for name in rng.sample(sorted(extra), rng.randint(0, 3)):
        base[name] = [extra[name]() for _ in range(rows)]
    return base


def disturbed(columns: dict[str, list[Any]], rng: random.Random, odd: tuple[Any, ...]) -> dict[str, list[Any]]:
    """The table with up to three things wrong in it."""
    for _ in range(rng.choice((0, 0, 1, 1, 1, 2, 3))):
        name = rng.choice([*columns])
        at = rng.randrange(len(columns[name]))
        what = rng.randrange(8)
        if what < 4:
            columns[name] = [*columns[name][:at], rng.choice(odd), *columns[name][at + 1 :]]
        elif what == 4:
            columns[name] = [rng.choice(odd)] * len(columns[name])
        elif what == 5:
            columns = {rng.choice(NAMES) if c == name else c: v for c, v in columns.items()}
        elif what == 6 and len(columns) > 1:
            columns = {c: v for c, v in columns.items() if c != name}
        else:
            columns = {c: [*v, v[at]] for c, v in columns.items()}
    return columns


def delimited(separator: str) -> Callable[[random.Random], bytes]:
    """CSV or TSV; fields and lines may be wrong too."""

    def make(rng: random.Random) -> bytes:
        columns = disturbed(table(rng), rng, ODD)
        rows = [[*columns], *map(list, zip(*columns.values(), strict=True))]
        for _ in range(rng.choice((0, 0, 0, 1))):
            row = rng.choice(rows)
            row[:] = rng.choice(([*row, "more"], row[:-1], [], ["", *row]))
        out = io.StringIO()
        ends = rng.choice(("\n", "\n", "\r\n", "\r"))
        csv.writer(out, delimiter=separator, lineterminator=ends, quoting=rng.choice((0, 0, 1))).writerows(rows)
        return out.getvalue().encode("utf-8", "surrogatepass")

    return make


def records(rng: random.Random) -> list[dict[str, Any]]:
    """Records of a table; some lack a field, or have one more."""
    columns = disturbed(table(rng), rng, TYPED)
    found = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    for _ in range(rng.choice((0, 0, 1))):
        record = rng.choice(found)
        if rng.random() < 0.5 and record:
            del record[rng.choice([*record])]
        else:
            record[rng.choice(NAMES)] = rng.choice(TYPED)
    return found


def jsonl(rng: random.Random) -> bytes:
    """One record a line."""
    return _lines(records(rng), rng)


def _lines(found: list[Any], rng: random.Random) -> bytes:
    lines = [json.dumps(r, ensure_ascii=rng.random() < 0.5) for r in found]
    if rng.random() < 0.05:
        lines.insert(
            rng.randrange(len(lines) + 1),
            rng.choice(("", "  ", "null", "1", "[]", '{"judge": "g", "judge": "h"}', "{}")),
        )
    return "\n".join(lines).encode("utf-8", "surrogatepass")


def document(rng: random.Random) -> bytes:
    """A JSON document: records, columns, or records under "data"."""
    found = records(rng)
    shapes: list[Any] = [found, {"data": found}, {n: [r.get(n) for r in found] for n in found[0]}]
    shapes.append({n: {str(i): r.get(n) for i, r in enumerate(found)} for n in found[0]})
    return json.dumps(rng.choice(shapes), indent=rng.choice((None, 1))).encode()


def parquet(rng: random.Random) -> bytes:
    """Parquet of any types, as pandas or Arrow write them."""
    columns = disturbed(table(rng), rng, TYPED)
    arrays = []
    for values in columns.values():
        try:
            array = pa.array(values, from_pandas=rng.random() < 0.5)
        except (pa.ArrowException, OverflowError):
            array = pa.array([None if v is None else str(v) for v in values])
        if pa.types.is_string(array.type) and rng.random() < 0.3:
            array = array.dictionary_encode()
        arrays.append(array)
    out = io.BytesIO()
    try:
        pa.parquet.write_table(pa.Table.from_arrays(arrays, names=[*columns]), out)
    except pa.ArrowException:  # an empty struct has no Parquet
        pd.DataFrame({"judge": ["g"]}).to_parquet(out)
    return out.getvalue()


def arrow(rng: random.Random) -> bytes:
    """Feather, or a stream of Arrow IPC."""
    table_ = pa.parquet.read_table(io.BytesIO(parquet(rng)))
    out = io.BytesIO()
    make = rng.choice((pa.ipc.new_file, pa.ipc.new_stream))
    with make(out, table_.schema) as writer:
        writer.write_table(table_)
    return out.getvalue()


def orc(rng: random.Random) -> bytes:
    """ORC of text and numbers."""
    columns = disturbed(table(rng), rng, ODD)
    width = min(map(len, columns.values()))
    out = io.BytesIO()
    texts = [pa.array([str(v) for v in values[:width]]) for values in columns.values()]
    pa.orc.write_table(pa.Table.from_arrays(texts, names=[name.replace("\x00", "") or "x" for name in columns]), out)
    return out.getvalue()


def sqlite(rng: random.Random) -> bytes:
    """A database with one table."""
    columns = disturbed(table(rng), rng, ODD)
    names = list(dict.fromkeys(name.lower().replace("\x00", "") or "x" for name in columns))
    rows = list(zip(*list(columns.values())[: len(names)], strict=False))
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute(f"CREATE TABLE calls ({', '.join(quoted(n) for n in names)})")
        database.executemany(f"INSERT INTO calls VALUES ({', '.join('?' * len(names))})", rows)
        return bytes(database.serialize())


def quoted(name: str) -> str:
    return '"{}"'.format(name.replace('"', '""'))


def zipped(rng: random.Random) -> bytes:
    """An archive of one to three tables of one kind, at times of two kinds."""
    out = io.BytesIO()
    make, end = rng.choice(((delimited(","), "csv"), (jsonl, "jsonl")))
    with zipfile.ZipFile(out, "w", rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as archive:
        for i in range(rng.randint(1, 3)):
            archive.writestr(f"run={i}/t.{end}", make(rng))
        if rng.random() < 0.1:
            archive.writestr(
                rng.choice(("t.tsv", "../t.csv", ".hidden.csv", "README.md", "t.zip")), delimited("\t")(rng)
            )
    return out.getvalue()


#: A record of each native format, and how many calls one holds.
NATIVE: dict[str, dict[str, Any]] = {
    "fastchat_pair": {"question_id": 81, "model_1": "a", "model_2": "b", "g1_winner": "model_1", "g2_winner": "tie",
                      "judge": ["gpt-4", "pair-v2"], "g1_judgment": "A", "g2_judgment": "B", "turn": 1},
    "fastchat_single": {"question_id": 81, "model": "a", "judge": ["gpt-4", "single-v1"], "score": 7, "judgment": "7", "turn": 1},
    "arena_hard": {"question_id": "q", "model": "m", "judge": "j", "games": [{"score": "A>>B"}, {"score": "B=A"}]},
    "arena_hard_v2": {"uid": "q", "category": "coding", "model": "m", "judge": "j", "baseline": "o3",
                      "games": [{"score": "A>B", "judgment": {"answer": "x"}}, None]},
    "judgebench": {"pair_id": "p", "label": "A>B", "source": "s", "response_model": "m",
                   "judgments": [{"judgment": {"judge_model": "j", "response": "r"}, "decision": "A>B"}, {"judgment": None, "decision": None}]},
    "llmbar": {"input": "i", "output_1": "a", "output_2": "b", "label": 1,
               "results": [{"swap = False": {"winner": "1", "completion": "c"}, "swap = True": {"winner": "2"}}]},
    "alpaca_eval": {"instruction": "i", "output_1": "a", "generator_1": "g", "output_2": "b", "generator_2": "h", "dataset": "d",
                    "annotator": "w", "preference": 1.5, "price_per_example": 0.1, "time_per_example": 1.0, "raw_completion": None},
}  # fmt: skip


def native(form: str) -> Callable[[random.Random], bytes]:
    """Records of a tool, disturbed anywhere in them."""

    def make(rng: random.Random) -> bytes:
        found = [json.loads(json.dumps(NATIVE[form])) for _ in range(rng.randint(1, 5))]
        for i, record in enumerate(found):
            for name in ("question_id", "uid", "pair_id"):
                if name in record:
                    record[name] = i
        for _ in range(rng.choice((0, 1, 1, 2, 3))):
            _disturb(rng.choice(found), rng)
        if form in ("llmbar", "alpaca_eval") and rng.random() < 0.7:
            return json.dumps(found).encode()
        return _lines(found, rng)

    return make


def _disturb(value: Any, rng: random.Random) -> None:
    """Alter something in nested lists and records, in place."""
    while True:
        keys = [*value] if isinstance(value, dict) else [*range(len(value))]
        if not keys:
            return
        key = rng.choice(keys)
        inner = value[key]
        if isinstance(inner, dict | list) and inner and rng.random() < 0.6:
            value = inner
            continue
        what = rng.random()
        if what < 0.7:
            value[key] = rng.choice(TYPED)
        elif what < 0.85:
            del value[key]
        elif isinstance(value, dict):
            value[rng.choice(NAMES)] = rng.choice(TYPED)
        else:
            value.append(inner)
        return


def damaged(raw: bytes, rng: random.Random) -> bytes:
    """The bytes of a file, as disks, networks and editors leave them; most are left alone."""
    for _ in range(rng.choice((0, 0, 0, 0, 1, 1, 2))):
        at = rng.randrange(len(raw)) if raw else 0
        to = min(len(raw), at + rng.randint(1, 12))
        what = rng.randrange(9)
        if what == 0:
            raw = raw[:at]
        elif what == 1:
            raw = raw[:at] + raw[to:]
        elif what == 2:
            raw = raw[:at] + raw[at:to] + raw[at:]
        elif what == 3 and raw:
            raw = raw[:at] + bytes([raw[at] ^ (1 << rng.randrange(8))]) + raw[at + 1 :]
        elif what == 4:
            raw = (
                raw[:at]
                + rng.choice((b'"', b"\n", b"\r", b",", b"\t", b"\x00", b"\xff", b"\\", b"{", b"]", b"''"))
                + raw[at:]
            )
        elif what == 5:
            raw = b"\xef\xbb\xbf" + raw
        elif what == 6:
            raw = raw.replace(b"\n", b"\r\n")
        elif what == 7:
            raw = raw + rng.choice((b"\n", b"\n\n", b"\x1a", b" ", b"\x00" * 3))
        else:
            packed = gzip.compress(raw, mtime=0)
            raw = packed if rng.random() < 0.7 else packed[: rng.randrange(len(packed))]
    return raw
