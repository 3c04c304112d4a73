"""Every fault of a canonical frame as rows; and the rows used and excluded."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import compress
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats.errors import Advice, SchemaError, data_rows, score_range, suggestion
from judgestats.schema.account import Account, Exclusion, account_of
from judgestats.schema.class_labels import alike, examples
from judgestats.schema.coding import Coded, Codes, candidates, column_codes, combine, hashed, joint, neither
from judgestats.schema.columns import (
    CALL,
    CHOICES,
    COUNTS,
    LARGEST,
    VERDICTS,
    VOCABULARY,
    Column,
    Kind,
    N,
    answer_column,
    kind_of,
    outcome_columns,
    unit_columns,
)
from judgestats.schema.declared_counts import SOURCE, UNDECLARED, refusal, undeclared
from judgestats.schema.factors import Factors
from judgestats.schema.findings import Finding, as_frame, shown_places
from judgestats.schema.label_columns import label_faults, label_notes
from judgestats.schema.opening import engine_errors, in_memory, opened
from judgestats.typing import Column as Series
from judgestats.typing import EagerFrame, Mask


@engine_errors
def check(frame: IntoFrame, *, scale: tuple[float, float] | None = None) -> pd.DataFrame:
    """List every fault, every excluded row and every gap of a frame.

    Parameters
    ----------
    frame : frame
        A frame whose columns have their canonical names.
    scale : (float, float), optional
        Lowest and highest possible score, for ratings.

    Returns
    -------
    pandas.DataFrame
        One row per finding: ``level`` (``fault``: the frame is refused; ``excluded``: the rows are left out of the
        measures that need them; ``file``: files that could not be read; ``counted``: kept, for information; ``rows``:
        the sums, rows in = rows used + rows excluded), ``column``, ``what``, ``n`` (rows, or files), ``rows`` (all row
        numbers, from 0), ``example``, ``remedy``, ``where`` (file and line, or the key, of up to three rows, where
        :func:`judgestats.read` recorded it). Parts of a source that gave no row of the frame are among the excluded:
        they count in ``n`` and have no row number.

    Raises
    ------
    SchemaError
        If the columns fit neither canonical frame.

    See Also
    --------
    describe : Judges, items, orders and conditions.
    available_measures : What the data support.

    Examples
    --------
    >>> import pandas as pd
    >>> calls = pd.DataFrame({"judge": ["g", "g"], "item": ["1", "2"], "first": ["x", "x"], "second": ["y", "y"],
    ...                       "choice": ["first", "invalid"]})
    >>> check(calls)[["level", "what", "n"]]
           level                           what  n
    0  excluded  choice is invalid (status ok)  1
    1    counted   only one order of the pair  2
    2      rows                        rows in  2
    3      rows                      rows used  1
    4      rows                  rows excluded  1
    """
    scale = score_range(scale)
    data = in_memory(frame)
    kind = kind_of(data.columns)
    table = in_codes(data, kind)
    return findings(table, list(faults_of(table, kind, scale)), frame)


def findings(table: EagerFrame, faults: list[Finding], source: object) -> pd.DataFrame:
    """What :func:`check` lists of a frame in codes and its faults; `source`: the frame with the account."""
    kind, counts = kind_of(table.columns), str(getattr(source, "attrs", {}).get(SOURCE, COUNTS))
    listed = [*faults, *_excluded(table, kind), *_counted(table, kind, counts)]
    everything, used = tuple(range(len(table))), np.ones(len(table), dtype=bool)
    for finding in listed:
        if finding.level in ("fault", "excluded"):
            used[list(finding.rows)] = False
    account = account_of(source) or Account(len(table))
    listed += [*_excluded_while_reading(account), *account.notes]
    sums = [
        Finding("rows", "", "rows in", everything, unread=account.n_excluded),
        Finding("rows", "", "rows used", tuple(compress(everything, used.tolist()))),
        Finding("rows", "", "rows excluded", _where(~used), unread=account.n_excluded),
    ]
    return pd.concat([as_frame(listed, account.places), as_frame(sums)], ignore_index=True)


def _excluded_while_reading(account: Account) -> list[Finding]:
    """What a source held that gave no row, by reason."""
    reasons: dict[tuple[str, str], list[Exclusion]] = {}
    for part in account.excluded:
        reasons.setdefault((part.reason, part.remedy), []).append(part)
    return [
        Finding(
            "excluded",
            "",
            reason,
            (),
            remedy=remedy,
            unread=sum(p.n for p in parts),
            where=shown_places([p.place for p in parts], range(len(parts))),
        )
        for (reason, remedy), parts in reasons.items()
    ]


def raise_faults(data: EagerFrame, kind: Kind, scale: tuple[float, float] | None = None) -> None:
    """Raise one SchemaError that carries every fault of an eager frame, if there is any."""
    refuse(list(faults_of(in_codes(data, kind), kind, scale)), data, kind)


def in_codes(data: EagerFrame, kind: Kind, columns: Factors | None = None) -> EagerFrame:
    """The frame in pandas with its labels as categories: faults are found among labels, not among rows."""
    table = data.to_pandas()
    texts = [c.name for c in VOCABULARY[kind] if c.type in ("text", "category") and (c.key or c.name in _ANSWERED)]
    texts = [n for n in texts if n in table and not isinstance(table[n].dtype, pd.CategoricalDtype)]
    if columns is None:
        coded = {n: pd.Categorical.from_codes(*hashed(table[n])) for n in texts}
    else:
        coded = {n: f.categories() for n, f in zip(texts, columns.of(texts), strict=True)}
    return nw.from_native(table.assign(**coded) if coded else table, eager_only=True)


#: Columns of labels that are no key of a call.
_ANSWERED = ("choice", "answer", "status", "gold", "better", "target")


def refuse_doubled(frame: IntoFrame) -> None:
    """Raise if a call occurs more than once in ratings of a plain table without systems: a copy, or another thing."""
    data = opened(frame)
    if isinstance(data, nw.DataFrame) and "system" not in data.columns:
        refuse(list(_duplicates(data, "ratings")), data, "ratings")


def refuse(faults: list[Finding], data: EagerFrame, kind: Kind) -> None:
    """Raise one SchemaError that carries these faults of a frame, if there are any."""
    if not faults:
        return
    if not len(data):
        raise SchemaError(f"The {kind} table has no rows. {faults[0].remedy}", faults=as_frame(faults))
    listed = "; ".join(
        f"{f.what} in {f.n} row{'s' * (f.n != 1)} ({data_rows(f.rows)}). {f.remedy}".strip() for f in faults
    )
    count = f"{len(faults)} fault{'s' * (len(faults) != 1)}"
    advice = tuple(dict.fromkeys(pair for f in faults for pair in f.advice))
    raise SchemaError(f"{count} in {kind} ({len(data):,} rows): {listed}", faults=as_frame(faults), advice=advice)


def _where(mask: Mask | Series) -> tuple[int, ...]:
    return tuple(np.flatnonzero(np.asarray(mask, dtype=bool)).tolist())


def _marked(
    level: str,
    column: str,
    what: str,
    mask: Mask | Series,
    remedy: str = "",
    values: Series | None = None,
    advice: Advice = (),
) -> Iterator[Finding]:
    """A finding about the rows that a mask marks, if it marks any; its example is the first of `values` there."""
    rows = _where(mask)
    if rows:
        example = str(values.iloc[rows[0]])[:80] if values is not None else ""
        yield Finding(level, column, what, rows, example, remedy, advice)


def faults_of(data: EagerFrame, kind: Kind, scale: tuple[float, float] | None = None) -> Iterator[Finding]:
    """The faults of a frame in codes."""
    if len(data) == 0:
        yield Finding("fault", "", "the table has no rows", (), remedy="Give a table with at least one call.")
        return
    sound = set()
    for column in VOCABULARY[kind]:
        if column.name not in data.columns:
            continue
        strange = list(_other_answers(data)) if column.name == "choice" else []
        faults = strange or list(_column_faults(data[column.name].to_pandas(), column))
        yield from faults
        if not faults:
            sound.add(column.name)
    if undeclared(data):
        remedy = refusal(f'{kind}(frame, counts="n")', f"{kind}(frame, counts=False)")
        yield Finding("fault", N, f"{N!r} is not declared", tuple(range(len(data))), remedy=remedy, advice=UNDECLARED)
    if kind == "ratings" and scale is not None and answer_column(data.columns) not in VERDICTS:
        yield from _off_scale(data, scale)
    if kind == "ratings":
        yield from label_faults(data)
    if kind == "preferences":
        yield from _strange_gold(data)
        yield from _strange_strength(data)
    if {VOCABULARY[kind][i].name for i in range(3)} <= sound:
        yield from _duplicates(data, kind)


def _column_faults(values: Series, column: Column) -> Iterator[Finding]:
    name = column.name
    missing = values.isna().to_numpy()
    meaning = f"{name!r} is read as: {column.meaning}."
    elsewhere: Advice = (("columns", name),)
    another = f"If yours is something else, pass {name}=None to keep it as '{name}_source', or map another column."
    if (column.required and name not in ("choice", "score")) or name == COUNTS:
        yield from _marked("fault", name, f"{name!r} is missing", missing, f"Every call needs its {name}.")
    if column.type == "boolean":
        allowed = "Allowed: true and false, 1 and 0, right and wrong, or an empty cell."
        remedy = f"{meaning} {allowed} {another}"
        yield from _marked("fault", name, f"{name!r} is neither yes nor no", neither(values), remedy, values, elsewhere)
        return
    if column.type in ("number", "integer") and not (
        pd.api.types.is_numeric_dtype(values) or pd.api.types.is_bool_dtype(values)
    ):
        numbers = pd.to_numeric(values.astype("string"), errors="coerce")
        wrong = (numbers.isna() & ~values.isna()).to_numpy()
        comma = wrong.any() and values[wrong].astype("string").str.fullmatch(r"\s*[+-]?\d+,\d+\s*").all()
        needed = column.required or name == "mean"
        remedy = "If the comma is a decimal comma, read(..., decimal=',') reads it. " * bool(comma)
        remedy += "Leave the cell empty where there is none, or map another column." if needed else another
        advice: Advice = (("decimal", ","),) if comma else () if needed else elsewhere
        what = f"{name!r} holds text where a number is expected"
        yield from _marked("fault", name, what, wrong, f"{meaning} {remedy}", values, advice)
        return
    if column.type == "integer":
        number = values.astype(float).to_numpy()
        wrong = ~missing & ~((number == np.floor(number)) & (number >= 0) & (number < LARGEST))
        yield from _marked("fault", name, f"{name!r} is not a whole number from 0", wrong, meaning, values)
    if column.type == "number":
        infinite = np.isinf(values.astype(float).to_numpy())
        yield from _marked("fault", name, f"{name!r} is infinite", infinite, "Use an empty cell for no value.")
    if column.allowed:
        yield from _unknown_values(values, column)


#: Length from which an unknown answer is a reply as text.
_REPLY = 40


def _unknown_values(values: Series, column: Column) -> Iterator[Finding]:
    distinct = [v for v in pd.unique(values) if not pd.isna(v)]
    unknown = [v for v in distinct if v not in set(column.allowed)]
    if not unknown:
        return
    text = values.astype(object)
    replies = {v for v in map(str, unknown) if len(v) > _REPLY or "[[" in v} if column.name == "choice" else set()
    if replies:
        first = next(str(v) for v in unknown if str(v) in replies)
        yield Finding(
            "fault",
            column.name,
            f"'choice' has replies as text, such as {first[:_REPLY]!r}",
            _where(text.isin(replies)),
            first,
            'read(..., parse="auto") reads the answers out of them, and so does parse_verdicts(texts); of answers '
            "in free sentences, parse_verdicts(texts, sentences=True).",
            (("parse", "auto"),),
        )
    labels = [v for v in distinct if str(v) not in replies]
    for value in unknown:
        if str(value) in replies:
            continue
        near = suggestion(str(value).lower(), column.allowed)
        yield Finding(
            "fault",
            column.name,
            f"{column.name!r} has {value!r}",
            _where(text == value),
            str(value),
            f"Allowed: {', '.join(column.allowed)}.{near}"
            + (f" Pass labels={{{value!r}: ...}} to say what it means." if column.name == "choice" else ""),
            tuple(("labels", str(v)) for v in labels) if column.name == "choice" else (),
        )


def _other_answers(data: EagerFrame) -> Iterator[Finding]:
    """A choice that names the winner, or is a probability: there is a name for each in a mapping."""
    values = data["choice"].to_pandas()
    if {*map(str, pd.unique(values.dropna()))} <= {*CHOICES} or not {"first", "second"} <= set(data.columns):
        return
    values = values.astype("string")
    unknown = values.notna() & ~values.isin(CHOICES)
    names = {str(v) for c in ("first", "second") for v in data[c].to_pandas().dropna().unique()}
    numbers = pd.to_numeric(values[unknown], errors="coerce").to_numpy(dtype=float)
    rows, example = _where(unknown), str(values[unknown].iloc[0])
    if values[unknown].isin(names).all():
        remedy = "It holds the winner: map its column as winner= in place of choice=."
        what = f"'choice' has names of candidates, such as {example!r}"
        yield Finding("fault", "choice", what, rows, example, remedy, (("winner", None),))
    elif ((numbers >= 0) & (numbers <= 1)).all() and (numbers % 1 != 0).any():
        remedy = (
            "If it is the probability that the second is better, map its column as graded= with labels={'0': 'first', "
            "'1': 'second'}; probabilities of the points of a scale are read by probabilities=."
        )
        what = f"'choice' has numbers from 0 to 1, such as {example}"
        yield Finding("fault", "choice", what, rows, example, remedy, (("graded", None),))


def _off_scale(data: EagerFrame, scale: tuple[float, float]) -> Iterator[Finding]:
    name = answer_column(data.columns)
    values = pd.to_numeric(data[name].to_pandas(), errors="coerce")
    off = ((values < scale[0]) | (values > scale[1])).to_numpy()
    what = f"{name!r} is off the scale {scale[0]:g} to {scale[1]:g}"
    remedy = "Pass off_scale='missing' to exclude such scores."
    yield from _marked("fault", name, what, off, remedy, values, (("off_scale", "missing"),))


def _strange_gold(data: EagerFrame) -> Iterator[Finding]:
    """The right answer is one of the two candidates, or a tie."""
    if not {"gold", "first", "second"} <= set(data.columns):
        return
    gold = data["gold"].to_pandas()
    right = gold.isna() | gold.isin(["", "tie"]) | _same(data, "gold", "first") | _same(data, "gold", "second")
    remedy = (
        "Give the id of the right candidate, its slot (first, second), tie, or nothing; labels= translates others. "
        "Without right answers pass gold=None."
    )
    what = "'gold' is neither of the two candidates, nor a tie"
    yield from _marked("fault", "gold", what, ~right, remedy, gold, (("columns", "gold"),))


def _strange_strength(data: EagerFrame) -> Iterator[Finding]:
    """A graded answer runs from 0 (first) to 1 (second), and lies on the side of the choice."""
    if "strength" not in data.columns:
        return
    strength = pd.to_numeric(data["strength"].to_pandas(), errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    choice = data["choice"].to_pandas().astype(object).to_numpy()
    off = (strength < 0) | (strength > 1)
    against = ~off & (((choice == "first") & (strength > 0.5)) | ((choice == "second") & (strength < 0.5)))
    for wrong, what, remedy in (
        (
            off & np.isfinite(strength),
            "is not between 0 (first) and 1 (second)",
            "Map a scale with other ends as graded=.",
        ),
        (against, "is on the other side than 'choice'", "0 is the one shown first, 1 the one shown second."),
    ):
        remedy = f"{remedy} If yours is something else, pass strength=None to keep it as 'strength_source'."
        advice: Advice = (("columns", "strength"),)
        yield from _marked("fault", "strength", f"'strength' {what}", wrong, remedy, pd.Series(strength), advice)


def _same(data: EagerFrame, one: str, two: str) -> Mask:
    """Rows in which two columns of categories hold the same label."""
    first, second = (data[c].to_pandas().cat for c in (one, two))
    number = np.append(second.categories.get_indexer(first.categories), -1)[first.codes]
    same: Mask = (number >= 0) & (number == second.codes.to_numpy())
    return same


def _duplicates(data: EagerFrame, kind: Kind) -> Iterator[Finding]:
    """Keys (all but the answer) are unique; of counts of identical calls, keys and answer."""
    answer = "choice" if kind == "preferences" else answer_column(data.columns)
    answers = outcome_columns(kind, data.columns) - ({answer} if COUNTS in data.columns else set())
    schema = data.collect_schema()
    canonical = {c.name for c in VOCABULARY[kind]}
    keys = [
        c
        for c, dtype in schema.items()
        if c not in answers and not dtype.is_nested() and (c in canonical or not dtype.is_float() or _whole(data[c]))
    ]
    table = data.select(*keys).to_pandas()
    if _unique(table[[c for c in keys if c in canonical]]) or _unique(table):
        return
    again = table.duplicated(keep=False).to_numpy()
    first = ", ".join(f"{k}={v}" for k, v in table[again].iloc[0].items())
    values = data[answer].to_pandas()
    none = again & (values.isna() | (values.astype(object) == "invalid")).to_numpy(dtype=bool)
    whole = again & ~none & ~table[~none].duplicated(keep=False).reindex(table.index, fill_value=False).to_numpy(bool)
    copies = f" {int(none.sum()):,} of them have no answer, and repeat rows that have one: leave those out."
    calls = table[again].groupby(keys, dropna=False, observed=True, sort=False).ngroup()
    opposed = int((values.mask(none)[again].groupby(calls.to_numpy()).transform("nunique") > 1).sum())
    cells = data.select(*(c for c, dtype in schema.items() if not dtype.is_nested())).to_pandas()
    what = f" {opposed:,} of them contradict each other: the same call has different answers." * bool(opposed)
    if not opposed and cells[again].duplicated(keep=False).all():
        what = " They are equal in every column: if they are copies, keep one of each, frame.drop_duplicates()."
    identical = "" if opposed else ' count identical rows (counts="n"),'
    yield Finding(
        "fault",
        "",
        "the same call occurs more than once",
        _where(again),
        first,
        f"The first is {first[:200]}.{copies * bool(none.any() and whole.any())}{what} Number repeats in 'replicate',"
        f"{identical} or name the condition that distinguishes them.",
    )


def _unique(table: pd.DataFrame) -> bool:
    """Whether no two rows of a table are equal."""
    code, size = joint((_key_codes(values) for _, values in table.items()), len(table))
    if size <= 4 * len(table):
        return int(np.bincount(code).max(initial=0)) <= 1
    ordered = np.sort(code)
    return not (ordered[1:] == ordered[:-1]).any()


def _key_codes(values: Series) -> Coded:
    """Codes of a column; whole numbers of a small range are codes as they are."""
    if isinstance(values.dtype, np.dtype) and values.dtype.kind in "iu" and len(values):
        low, high = int(values.min()), int(values.max())
        if high - low < len(values):
            return values.to_numpy() - low, high - low + 1
    return column_codes(values)


def _whole(values: Any) -> bool:
    """Whether known numbers are whole: labels that a missing value made floats."""
    numbers = values.to_pandas().dropna()
    return len(numbers) > 0 and bool((numbers % 1 == 0).all())


def _excluded(data: EagerFrame, kind: Kind) -> Iterator[Finding]:
    if COUNTS in data.columns:
        none = pd.to_numeric(data[COUNTS].to_pandas(), errors="coerce") == 0
        yield from _marked("excluded", COUNTS, "count is zero", none, "Such rows stand for no call.")
    if kind == "ratings":
        name = answer_column(data.columns)
        missing = data[name].to_pandas().isna().to_numpy()
        status = _reasons(data) if "status" in data.columns else None
        for reason in [None] if status is None else sorted(set(status[missing]), key=str):
            rows = missing if status is None else missing & (status == reason).to_numpy()
            what = f"{name} is missing" + (f" ({reason})" if reason else "")
            yield from _marked("excluded", name, what, rows, "Such rows count in no mean.")
        return
    yield from _without_stimulus(data)
    choice = data["choice"].to_pandas().astype(object)
    status = _reasons(data) if "status" in data.columns else pd.Series("ok", index=choice.index)
    invalid = (choice == "invalid").to_numpy() | choice.isna().to_numpy()
    for reason in sorted(set(status[invalid].astype(str))):
        rows = invalid & (status.astype(str) == reason).to_numpy()
        remedy = "invalid='wrong' or 'tie' counts them instead, where a measure offers it."
        yield from _marked("excluded", "choice", f"choice is invalid (status {reason})", rows, remedy)


def _reasons(data: EagerFrame) -> Series:
    """Status of each call, with what its reply lacks: ``parse: two answers``."""
    status = data["status"].to_pandas().astype(object)
    if "reply_note" not in data.columns:
        return status
    note = data["reply_note"].to_pandas().astype("string").fillna("").str.partition(":")[0].astype(object)
    return status.where((note == "") | (status == "ok"), status.astype(str) + ": " + note)


def _without_stimulus(data: EagerFrame) -> Iterator[Finding]:
    """Rows of a datasheet design that none of its measures can use."""
    if "stimulus" not in data.columns:
        return
    stimulus = data["stimulus"].to_pandas().astype(object)
    yield from _marked("excluded", "stimulus", "no stimulus", stimulus.isna(), "Give what the judge was shown.")
    for name, what in (("delta", "ladder call without a step"), ("better", "ladder call without a better candidate")):
        if name in data.columns:
            rows = (stimulus == "ladder").to_numpy() & data[name].to_pandas().isna().to_numpy()
            yield from _marked("excluded", name, what, rows, f"Fill in {name!r}.")


def _counted(data: EagerFrame, kind: Kind, source: str) -> Iterator[Finding]:
    if COUNTS in data.columns and len(data):
        yield Finding("counted", COUNTS, counts_in_words(data, source), tuple(range(len(data))))
    yield from _look_alikes(data)
    yield from label_notes(data)
    yield from _empty_texts(data, kind)
    if kind == "ratings":
        note = (
            data["reply_note"].to_pandas().astype(object) if "reply_note" in data.columns else pd.Series(dtype=object)
        )
        yield from _sentinels(data)
        what = "self-reported runs: mean and sd are the claim of a single reply"
        remedy = "Each counts as one score; no measure uses this sd."
        yield from _marked("counted", "sd", what, note == "self-reported runs", remedy)
        return
    abstained = data["choice"].to_pandas() == "abstain"
    yield from _marked("counted", "choice", "choice is abstain", abstained, "Counted as no preference.")
    what = "'first' and 'second' are the same candidate"
    remedy = "Measures of position use the row; measures of preference between candidates leave it out."
    yield from _marked("counted", "second", what, _same(data, "first", "second"), remedy)
    remedy = "Call-level measures use the row; pair-level measures drop the pair and count it."
    yield from _marked("counted", "first", "only one order of the pair", _lone_orders(data), remedy)
    if {"strategy", CALL} <= set(data.columns):
        what = "several calls of a strategy on a pair"
        remedy = "Measures take each for itself; design.strategy_verdicts() makes one verdict of them by its rule."
        pair = _pairs_of(data)[0]
        yield from _marked("counted", "strategy", what, np.bincount(pair.code)[pair.code] > 1, remedy)


#: Numbers that stand for no answer in many tables.
_CODES = (-1, -9, -99, -999, -9999, 99, 999, 9999)


def _sentinels(data: EagerFrame) -> Iterator[Finding]:
    """Scores of a code for no answer, far from the others: -1 or 999 beside 1 to 5."""
    name = answer_column(data.columns)
    if name != "score":
        return
    score = pd.to_numeric(data[name].to_pandas(), errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    codes = np.isin(score, _CODES)
    rest = score[~codes & ~np.isnan(score)]
    if not codes.any() or not rest.size or rest.min() < 0 or rest.max() < 3:
        return
    low, high = rest.min(), rest.max()
    far = codes & ((score < 0) | (score > 5 * high))
    listed = " and ".join(f"{v:g}" for v in np.unique(score[far]))
    remedy = (
        f"Such rows are used as scores. If they mean no answer, pass scale=({low:g}, {high:g}) and off_scale='missing'."
    )
    yield from _marked("counted", name, f"score is {listed}; the others run from {low:g} to {high:g}", far, remedy)


#: Words of the name of a column that holds a text that was judged, or its size, and the side that it is of.
_SIZES, _TEXTS = {"chars", "characters", "length", "len", "words", "tokens"}, {"text", "response", "output", "answer"}
_SIDES = {"first", "second", "a", "b", "1", "2"}


def _empty_texts(data: EagerFrame, kind: Kind) -> Iterator[Finding]:
    """Judged texts of no characters, by side; those of a vacuum are meant to be empty."""
    meant = data["stimulus"].to_pandas().eq("vacuum").to_numpy(bool) if "stimulus" in data.columns else False
    names = data.columns
    verdict = answer_column(names) if kind == "ratings" else None
    for column in names:
        words = set(str(column).lower().split("_"))
        if column == verdict:
            continue
        if not words <= _SIZES | _TEXTS | _SIDES or (kind == "preferences") is not bool(words & _SIDES):
            continue
        values = data[column].to_pandas()
        sizes = pd.api.types.is_numeric_dtype(values)
        if not words & (_SIZES if sizes else _TEXTS):
            continue
        empty = values.eq(0) if sizes else values.astype("string").fillna("").str.strip().eq("")
        what = f"{column!r} is {'0: the text is ' * sizes}empty"
        rows = empty.fillna(False).to_numpy(bool) & ~np.asarray(meant, bool)
        remedy = "Such rows are used. If the text was lost, leave them out: a judge had nothing to judge there."
        yield from _marked("counted", str(column), what, rows, remedy)


def _look_alikes(data: EagerFrame) -> Iterator[Finding]:
    """Ids that look the same: they differ in spaces, case, invisible signs or the spelling of an accent."""
    for columns in (("judge",), ("item",), ("first", "second"), ("system",), ("criterion",)):
        have = [c for c in columns if c in data.columns]
        if have and (groups := alike(pd.concat([_labels(data[c].to_pandas()) for c in have]).unique().to_numpy())):
            cells = [data[c].to_pandas().astype("string").isin([v for group in groups for v in group]) for c in have]
            rows = np.logical_or.reduce([c.fillna(False).to_numpy(dtype=bool) for c in cells])
            what = f"ids that look alike are taken as different: {examples(groups)}"
            yield Finding("counted", have[0], what, _where(rows), remedy="Spell them in one way if they are one.")


def _labels(values: Series) -> Series:
    """The labels that occur in a column, as text, in the order of their first rows."""
    return pd.Series(pd.unique(values.dropna())).astype("string")


def counts_in_words(data: EagerFrame, source: str) -> str:
    """How many calls the rows of a frame with declared counts stand for, and the column of counts."""
    calls = float(pd.to_numeric(data[COUNTS].to_pandas(), errors="coerce").sum())
    return (
        f"column {source}: counts, {calls:,.0f} call{'s' * (calls != 1)} in {len(data):,} row{'s' * (len(data) != 1)}"
    )


def _pairs_of(data: EagerFrame) -> tuple[Codes, Mask, Mask]:
    """Rows numbered by judge, unit and pair; which show it in the other order; and which have two candidates."""
    unit = unit_columns(data.columns, [])
    table = data.select(*unit, "first", "second").to_pandas()
    table = table.assign(**{c: table[c].astype(object).where(table[c].notna(), "") for c in ("first", "second")})
    low, high, reverse = candidates(table)
    two: Mask = low[0] != high[0]
    return combine([*(column_codes(table[c]) for c in unit), low, high], len(table)), reverse, two


def _lone_orders(data: EagerFrame) -> Mask:
    """Rows whose pair was not judged in the other order (where the order is known)."""
    pair, reverse, two = _pairs_of(data)
    orders = np.zeros((pair.size, 2), dtype=bool)
    orders[pair.code, reverse.astype(int)] = True
    complete = orders[:, 0] & orders[:, 1]
    lone: Mask = ~complete[pair.code] & two
    if "order_known" in data.columns:
        lone &= data["order_known"].to_pandas().fillna(True).astype(bool).to_numpy()
    return lone
