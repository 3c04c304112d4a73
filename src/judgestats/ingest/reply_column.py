"""A column of replies in a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import narwhals.stable.v2 as nw
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats.errors import SchemaError
from judgestats.ingest.replies import parse_verdicts
from judgestats.ingest.reply_meaning import AnswerKind


def parse_column(
    table: IntoFrame, columns: Mapping[str, str | None] | None, form: Any, labels: Mapping[Any, Any] | None, scale: Any
) -> tuple[Any, dict[str, str | None]]:
    """Put the answers of a column of replies into a table, and map the canonical columns onto them."""
    data, mapped = nw.from_native(table), dict(columns or {})
    if isinstance(data, nw.LazyFrame):
        raise SchemaError("parse= reads texts in memory, and this frame is lazy. Collect it first.")
    sources = {name: mapped.get(name, name) for name in ("choice", "score")}
    answers = [n for n in sources if n in mapped] or [n for n, source in sources.items() if source in data.columns]
    source = sources[answers[0]] if len(answers) == 1 else None
    if source is None or source not in data.columns:
        raise SchemaError(
            "parse= needs one column of replies: columns={'choice': 'reply', ...}, or 'score' for ratings. Columns: "
            f"{', '.join(data.columns)}."
        )
    end = mapped.pop("finish", None)
    for name in (end, mapped.get("status")):
        if name is not None and name not in data.columns:
            raise SchemaError(f"{name!r} is not a column of the table. Columns: {', '.join(data.columns)}.")
    kind: AnswerKind = "choice" if answers[0] == "choice" else "score"
    verdicts = parse_verdicts(
        data[source].to_list(),
        form=None if form in ("auto", "sentences") else form,
        sentences=isinstance(form, str) and form == "sentences",
        answer=kind,
        labels=labels,
        scale=scale,
        finish=None if end is None else data[end].to_list(),
    )
    if mapped.get("status") is not None:
        statuses = pd.Series(data[str(mapped["status"])].to_list(), dtype=object)
        verdicts["status"] = statuses.where(statuses.notna() & ~statuses.isin(["", "ok"]), verdicts["status"])
    if "rationale" not in mapped and "rationale" not in data.columns:
        mapped["rationale"] = source
    for name in verdicts.columns:
        mapped[name] = f"_parsed_{name}"
        values = verdicts[name].to_numpy() if verdicts[name].dtype == float else verdicts[name].to_list()
        data = data.with_columns(nw.new_series(f"_parsed_{name}", values, backend=data.implementation))
    return data.to_native(), mapped
