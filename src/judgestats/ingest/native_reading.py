"""Logs of tools, read by their own readers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import cast

import numpy as np
import pandas as pd

from judgestats.errors import SchemaError
from judgestats.ingest.copies import copies
from judgestats.ingest.frame_target import FrameTarget, row_place
from judgestats.ingest.readers import RATING_OPTIONS, Log, Reader
from judgestats.ingest.sources import Files
from judgestats.ingest.tables import with_numbers
from judgestats.schema import preferences, ratings
from judgestats.schema.account import Account
from judgestats.schema.columns import VOCABULARY, Kind


def read_native(
    chosen: Reader, frame: Iterable[Log], target: FrameTarget, lazy: bool, label: str, files: Files | None = None
) -> pd.DataFrame:
    """Read the log of a tool by its own reader; the frame carries the account of its rows."""
    for name, option_names in (
        ("columns", target.columns),
        ("labels", target.labels),
        ("lazy", lazy),
        ("parse", target.parse),
    ):
        if option_names:
            raise SchemaError(
                f"{name}= is for plain tables; the {chosen.name} format needs none. Leave it out, or name the plain "
                "format, such as format='jsonl'."
            )
    if target.frame is not None and target.frame != chosen.frame:
        raise SchemaError(f"The {chosen.name} format gives {chosen.frame}, not {target.frame}. Leave frame= out.")
    strict = files is None or files.strict or len(files.files) == 1
    own = {k: v for k, v in target.options.items() if k in chosen.options}
    classes_of = () if "answer" in own else target.options.get("answer", ())
    table, account, sizes = chosen.table(frame, strict=strict, classes_of=classes_of, **own)
    try:
        if files is not None:
            pairs = list(zip(files.files, sizes, strict=True))
            files = files.without([(file, size) for file, size in pairs if isinstance(size, SchemaError)])
            numbers = [size for size in sizes if isinstance(size, int)]
            account = replace(account, notes=(*files.not_read, *account.notes), unread=files.unread_note)
            table, account = _with_paths(table, account, numbers, files, chosen)
        if chosen.frame == "preferences":
            result: pd.DataFrame = preferences(table, counts=target.counts)
        else:
            scale = {k: v for k, v in target.options.items() if k in RATING_OPTIONS}
            result = ratings(table, counts=target.counts, **scale)
    except SchemaError as problem:
        raise problem.labelled(label, row_place(problem, account)) from None
    return account.attached(result)


def _with_paths(
    table: pd.DataFrame, account: Account, sizes: list[int], files: Files, chosen: Reader
) -> tuple[pd.DataFrame, Account]:
    """Rows of native files with the columns that their paths name, without files that are copies of others."""
    kind = cast("Kind", chosen.frame)
    file = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    for one, end, size in zip(files.files, np.cumsum(sizes), sizes, strict=True):
        files.check_named(one, table.iloc[end - size : end].drop(columns=chosen.options, errors="ignore"))
    said = [files.said(f) for f in files.files]
    new = {n: [said[i][n] for i in file] for n in said[0] if n not in table.columns}
    table = table.assign(**with_numbers(pd.DataFrame(new, index=table.index, dtype=object), kind, {}))
    if files.calls:
        return table, account
    answers = {c.name for c in VOCABULARY[kind] if not c.key}
    parts = copies(table, file, [files.relative(f) for f in files.files], account.places, answers)
    if not parts.why:
        return table, account
    account = replace(
        account.without(np.flatnonzero(parts.excluded).tolist()), excluded=(*account.excluded, *parts.why)
    )
    return table[~parts.excluded].reset_index(drop=True), account
