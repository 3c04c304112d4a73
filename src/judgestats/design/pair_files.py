"""Controlled pairs in the format of the released data (debiasing, App A)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from judgestats.csv_files import as_csv
from judgestats.design.pair_kinds import EVERY_KIND, described
from judgestats.design.plans import need_columns
from judgestats.errors import DesignError
from judgestats.ingest.sources import resolve
from judgestats.outputs import Outputs
from judgestats.typing import Record

#: Column of the pairs as they are written -> its field in a file, and another name that the field may have.
_FIELDS = {
    "item": ("id", "item"),
    "task_text": ("prompt", "question"),
    "first_text": ("response_a",),
    "second_text": ("response_b",),
    "expected_verdict": ("expected_verdict",),
    "bias_type": ("bias_type",),
    "note": ("construction_notes", "manipulation"),
    "topic": ("category", "topic"),
    "task": ("task",),
    "model_a": ("model_a",),
    "model_b": ("model_b",),
}
#: Columns that no pair of a file may lack.
_NEEDED = ("task_text", "first_text", "second_text", "expected_verdict", "bias_type")
_VERDICTS = {"a": "A", "b": "B", "tie": "tie"}


def read_controlled(path: str | Path, *, families: Mapping[str, str] | None = None) -> pd.DataFrame:
    """Read controlled pairs from a file in the format of the debiasing paper (App A).

    Parameters
    ----------
    path : path
        JSONL, JSON or CSV with ``prompt`` (or ``question``), ``response_a``, ``response_b``, ``expected_verdict`` (A, B
        or tie), ``bias_type`` and ``construction_notes`` (or ``manipulation``); ``id``, ``category``, ``model_a``,
        ``model_b`` where there are, also inside an object ``metadata``, as in the authors' release.
    families : mapping, optional
        Model -> its family; by default each is its own.

    Returns
    -------
    pandas.DataFrame
        As :func:`controlled_pairs` returns it. Pairs with the same prompt have one ``task``.

    Raises
    ------
    DesignError
        If a field is missing or has a value that is not allowed, the texts of a position pair differ, or a mirrored
        pair is not the mirror of its style pair.

    See Also
    --------
    write_controlled : Controlled pairs to a file.

    Examples
    --------
    >>> import tempfile
    >>> from judgestats.design import controlled_pairs
    >>> texts = pd.DataFrame({"item": ["q1"], "topic": "food", "task_text": "How is tea made?", "role": "complete",
    ...                       "text": ["Boil water. Add the leaves. Wait for five minutes."]})
    >>> pairs = controlled_pairs(texts, kinds=["length_truncated"])
    >>> file = write_controlled(pairs, Path(tempfile.mkdtemp()) / "pairs.jsonl")
    >>> read_controlled(file)["second_text"].tolist()
    ['Boil water. Add the leaves.']
    """
    rows = []
    numbers: dict[str, int] = {}
    for file in resolve(path).files:
        for place, record in file.records_for(None):
            rows.append(_pair_of(dict(record), f"{file.path.name}, {place}", numbers))
    if not rows:
        raise DesignError(f"{path} has no pairs.")
    table = pd.DataFrame(rows)
    _refuse_untrue(table)
    return described(table, families or {})


def _pair_of(record: Record, place: str, numbers: dict[str, int]) -> Record:
    inside = record.get("metadata")
    if isinstance(inside, str) and inside.startswith("{"):
        inside = json.loads(inside)
    record = {**(inside if isinstance(inside, dict) else {}), **record}
    pair: Record = {}
    for column, fields in _FIELDS.items():
        value = next((record[n] for n in fields if n in record and record[n] is not None), None)
        if value is None and column in _NEEDED:
            needed = ", ".join(_FIELDS[c][0] for c in _NEEDED)
            raise DesignError(f"{place}: {fields[0]!r} is missing. A pair has: {needed}, construction_notes.")
        absent = value is None or value != value or (value == "" and column not in _NEEDED)
        pair[column] = None if absent else str(value)
    kind = pair["bias_type"].strip().lower().replace("-", "_")
    verdict = _VERDICTS.get(pair["expected_verdict"].strip().lower())
    for column, value, allowed in (("bias_type", kind, EVERY_KIND), ("expected_verdict", verdict, ("A", "B", "tie"))):
        if value not in allowed:
            got = kind if column == "bias_type" else pair[column]
            raise DesignError(f"{place}: {column!r} is {got!r}. Allowed: {', '.join(allowed)}.")
        pair[column] = value
    if "origin" in kind and not (pair["model_a"] and pair["model_b"]):
        raise DesignError(
            f"{place}: a pair of model origin needs 'model_a' and 'model_b', the models that wrote the two."
        )
    number = numbers.setdefault(pair["task_text"], len(numbers))
    names = {"item": f"{kind}_{number:03d}", "task": f"q{number:03d}"}
    return {**pair, **{c: pair[c] or name for c, name in names.items()}}


def _refuse_untrue(table: pd.DataFrame) -> None:
    """Raise where a pair is not what its kind says."""
    differ = (table["bias_type"] == "position") & (table["first_text"] != table["second_text"])
    if differ.any():
        name = table.loc[differ, "item"].iloc[0]
        raise DesignError(
            f"The texts of {int(differ.sum())} position pairs differ, first {name!r}. They must be identical."
        )
    if (twice := table.duplicated("item")).any():
        raise DesignError(f"Two pairs have the id {table.loc[twice, 'item'].iloc[0]!r}. Give each its own.")
    originals = table[table["bias_type"] == "style"].drop_duplicates("task").set_index("task")
    mirrors = table[(table["bias_type"] == "style_ba") & table["task"].isin(originals.index)]
    for row in mirrors.itertuples():
        of = originals.loc[row.task]
        if (row.first_text, row.second_text) != (of["second_text"], of["first_text"]):
            raise DesignError(f"{row.item!r} is not the mirror of {of['item']!r}: the texts are others.")


#: Where pairs with their columns come from.
PAIR_SOURCES = " controlled_pairs() makes such a table, read_controlled() reads one."


def write_controlled(pairs: pd.DataFrame, path: str | Path, *, overwrite: bool = False) -> Path:
    """Write controlled pairs in the format of the debiasing paper (App A).

    Parameters
    ----------
    pairs : pandas.DataFrame
        As :func:`controlled_pairs` returns them.
    path : path
        ``.jsonl`` or ``.csv``.
    overwrite : bool
        Whether a file with other pairs may be replaced.

    Returns
    -------
    pathlib.Path
        A file with ``id``, the six fields ``prompt``, ``response_a``, ``response_b``, ``expected_verdict``,
        ``bias_type`` and ``construction_notes``, and ``category``, ``task``, ``model_a``, ``model_b``.

    Raises
    ------
    DesignError
        If the name has another ending, or the file exists.

    See Also
    --------
    read_controlled : Controlled pairs from a file.

    Examples
    --------
    >>> import tempfile
    >>> from judgestats.design import controlled_pairs
    >>> texts = pd.DataFrame({"item": ["q1"], "topic": "food", "task_text": "How is tea made?", "role": "complete",
    ...                       "text": ["Boil water. Add the leaves. Wait for five minutes."]})
    >>> pairs = controlled_pairs(texts, kinds=["length_truncated"])
    >>> file = write_controlled(pairs, Path(tempfile.mkdtemp()) / "pairs.csv")
    >>> pd.read_csv(file)["expected_verdict"].tolist()
    ['A']
    """
    path = Path(path)
    own = [c for c in _FIELDS if c not in ("expected_verdict", "model_a", "model_b")]
    need_columns(pairs, ("first", "second", "gold", *own), "table of pairs", PAIR_SOURCES)
    first, gold, origin = pairs["first"], pairs["gold"], pairs["bias_type"].str.contains("origin")
    verdict = np.where(gold == "tie", "tie", np.where(gold == first, "A", "B"))
    models = {"model_a": first.where(origin, None), "model_b": pairs["second"].where(origin, None)}
    table = pairs.assign(expected_verdict=verdict, **models)[list(_FIELDS)]
    table = table.rename(columns={column: fields[0] for column, fields in _FIELDS.items()})
    if path.suffix not in (".csv", ".jsonl"):
        raise DesignError(f"{path.name!r} is not the name of a .jsonl or .csv file.")
    lines = path.suffix == ".jsonl"
    with Outputs(overwrite=overwrite) as outputs, outputs.open(path) as out:
        out.write(table.to_json(orient="records", lines=True, force_ascii=False) if lines else as_csv(table))
    return path
