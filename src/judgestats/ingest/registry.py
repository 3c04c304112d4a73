"""All formats, in the order in which they are tried."""

from __future__ import annotations

import pandas as pd

from judgestats.errors import SchemaError, suggestion
from judgestats.ingest.native import alpaca_eval, arena_hard, fastchat, judgebench, llmbar
from judgestats.ingest.readers import Reader

#: Further options of plain tables.
PLAIN_OPTIONS = {"decimal": "decimal mark of the numbers, '.' or ','"}


def _plain(name: str, about: str, example: str) -> Reader:
    return Reader(name, "either", about, example, "as mapped", "as mapped", "as mapped", options=PLAIN_OPTIONS)


#: Log formats of tools.
NATIVE: tuple[Reader, ...] = (
    fastchat.PAIR,
    fastchat.SINGLE,
    arena_hard.V2,
    arena_hard.V01,
    judgebench.READER,
    llmbar.READER,
    alpaca_eval.READER,
)
#: Tables with canonical columns, or of any shape with a mapping.
PLAIN: tuple[Reader, ...] = (
    _plain("csv", "comma-separated table; every row as wide as the header", "judge,item,first,second,choice"),
    _plain("tsv", "tab-separated table", "judge<TAB>item<TAB>first<TAB>second<TAB>choice"),
    _plain("json", 'list of records, dict of columns, or {"data": [...]}', '[{"judge": ..., "item": ..., ...}, ...]'),
    _plain("jsonl", "one record a line", '{"judge": ..., "item": ..., "first": ..., "second": ..., "choice": ...}'),
    _plain("parquet", "Parquet table", "table.parquet"),
    _plain(
        "calls",
        "folder with one JSON per call; parts of the path become path_1, path_2, ..., file",
        "runs/gpt-4/call_17.json",
    ),
)
READERS: tuple[Reader, ...] = (*NATIVE, *PLAIN)


def reader(name: str) -> Reader:
    """Return the reader of this name.

    Raises SchemaError if there is none; the message lists the names.
    """
    for candidate in READERS:
        if candidate.name == name:
            return candidate
    names = [r.name for r in READERS]
    raise SchemaError(f"format={name!r} is not known. Formats: {', '.join(names)}.{suggestion(name, names)}")


def formats() -> pd.DataFrame:
    """List the formats that :func:`judgestats.read` reads, each plain or gzipped.

    Returns
    -------
    pandas.DataFrame
        ``name`` (for ``format=``), ``frame`` it gives, ``about``, ``example``, ``both_orders``, ``order_known``,
        ``verdicts_in`` (position frame: the verdict names what was shown first or second; item frame: it names the
        response) and ``options`` that :func:`judgestats.read` passes on.

    Examples
    --------
    >>> formats().set_index("name").loc["judgebench", ["frame", "verdicts_in"]].tolist()
    ['preferences', 'position frame']
    """
    rows = [
        (r.name, r.frame, r.about, r.example, r.both_orders, r.order_known, r.verdicts_in, ", ".join(r.all_options))
        for r in READERS
    ]
    columns = ["name", "frame", "about", "example", "both_orders", "order_known", "verdicts_in", "options"]
    return pd.DataFrame(rows, columns=columns)
