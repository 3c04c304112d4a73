"""Suggested mappings of unknown tables, found by names and values of columns."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import replace

import narwhals.stable.v2 as nw
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats.counting.splitting import splits_of
from judgestats.errors import Advice, SchemaError
from judgestats.ingest import guesses, hints
from judgestats.ingest.answers import (
    AnswerGuess,
    Pair,
    all_numbers,
    candidates,
    distinct,
    find_answer,
    find_pair,
    may_be_classes,
    numbers_rows,
    wide_classes,
)
from judgestats.ingest.guesses import plain
from judgestats.ingest.mapping import AS_NAMED, PSEUDO, TURNED, canonical
from judgestats.ingest.proposals import Proposal
from judgestats.ingest.tables import as_table, with_numbers
from judgestats.ingest.wide import Wide, exploded, find_labels, find_lists, find_objects, find_wide, lengthened
from judgestats.schema.class_labels import shares_a_class
from judgestats.schema.coding import neither
from judgestats.schema.columns import CONDITIONS, ONE_JUDGE, OUTCOMES, VOCABULARY, Column, Kind, required
from judgestats.schema.opening import few, opened

#: Canonical name -> column (or constant, or None) and the reason.
Columns = dict[str, tuple[str | None, str]]
_SAMPLE = 200_000


def suggest_mapping(table: IntoFrame) -> Proposal:
    """Suggest how the columns of a table might be mapped onto a canonical frame.

    The suggestion uses names and values, with a reason for each column. A column is never taken for an answer only
    because its values look like one (``has_reference``, ``swapped``, ``turn``), nor a count of repeats for a score.

    Parameters
    ----------
    table : frame, path, glob or folder
        Whatever Narwhals accepts (of a lazy frame, the first rows are used), or files of plain tables.

    Returns
    -------
    Proposal

    See Also
    --------
    read : Verdicts from a file.
    detect_format : What kind of file it is.

    Examples
    --------
    >>> table = pd.DataFrame({"evaluator": ["g", "g"], "question_id": [1, 1], "repetition": [1, 2],
    ...                       "model_first": ["x", "x"], "model_second": ["y", "y"], "verdict": ["A", "C"],
    ...                       "has_reference": [0, 0]})
    >>> print(suggest_mapping(table).options)
    --map judge=evaluator,item=question_id,first=model_first,second=model_second,choice=verdict,replicate=repetition
    --labels A=first,C=tie
    """
    data = opened(as_table(table)).head(_SAMPLE)
    frame = (data.collect(backend="pandas") if isinstance(data, nw.LazyFrame) else data).to_pandas().rename(columns=str)
    proposal = _proposed(frame)
    note = hints.headerless(frame)
    advice: Advice = (("names", None), ("header", False)) if note else ()
    return replace(proposal, notes=(note, *proposal.notes), advice=(*advice, *proposal.advice)) if note else proposal


def _proposed(frame: pd.DataFrame) -> Proposal:
    names = {plain(c): c for c in reversed(list(frame.columns))}
    pair = find_pair(frame)
    orders = {n: c for n, c in names.items() if {v.lower() for v in distinct(frame[c])} <= {*TURNED, *AS_NAMED}}
    swapped = _first_column({n: c for n, c in orders.items() if n in guesses.SWAPPED}, guesses.SWAPPED)
    answer, notes = find_answer(frame, pair, swapped)
    score = _score(frame, names)
    verdict = _correct_column(frame, names) if pair is None and score is None and answer is None else None
    if verdict is not None:
        return _ratings(frame, names, None, [], verdict)
    wide = find_wide(frame, pair, names) if answer is None and score is None else None
    if wide is not None:
        return _wide(frame, wide)
    classes = _classes_column(frame, names) if pair is None and answer is None and score is None else None
    if classes is not None:
        return _ratings(frame, names, None, [], classes=classes)
    if pair is None and answer is None and score is None and _first_column(names, guesses.JUDGE) is None:
        wide = find_wide(frame, None, names, wide_classes(frame))
        if wide is not None:
            return _wide(frame, wide)
    if pair is not None or (answer is not None and score is None):
        return _preferences(frame, names, pair, answer, swapped, notes)
    if score is not None:
        return _ratings(frame, names, score, notes)
    if "shown_at" in frame.columns:
        return _ratings(frame, names, None, notes)
    if {"judge", "system"} <= {
        n for n, w in (("judge", guesses.JUDGE), ("system", guesses.SYSTEM)) if _first_column(names, w)
    }:
        return _ratings(frame, names, None, notes)
    lists = find_lists(frame, names)
    if lists is not None:
        return _wide(frame, lists)
    records = find_objects(frame)
    tried = {c: _proposed(exploded(frame.drop(columns=[*{*records} - {c}]), c).table) for c in records}
    able = [c for c, proposal in tried.items() if proposal.kind is not None]
    if len(able) == 1:
        (objects,) = able
        note = f"{objects!r} holds lists of records: explode={objects!r} gives each a row of its own."
        return replace(
            tried[objects], notes=(note, *tried[objects].notes), columns=tuple(frame.columns), explode=objects
        )
    labels = find_labels(frame) if pair is None else None
    if labels is not None:
        return _label_lists(frame, names, *labels)
    alone = _judge_that_scores(frame, names)
    if alone is not None:
        return alone
    notes += [*_near(_WORDS, frame.columns), *hints.nested(frame), *hints.errors(frame)]
    return Proposal(None, notes=tuple(notes), columns=tuple(frame.columns), missing=())


#: Required column -> names that it often has.
_WORDS = {
    "judge": guesses.JUDGE,
    "item": guesses.ITEM,
    "system": guesses.SYSTEM,
    "first": ("first", "model_first", "response_first"),
    "second": ("second", "model_second", "response_second"),
    "choice": guesses.CHOICE,
    "score": guesses.SCORE,
}
#: Columns that say what a call of a judge was about.
_CELL: dict[Kind, tuple[str, ...]] = {
    "preferences": ("judge", "item", "first", "second", "replicate"),
    "ratings": ("judge", "system", "item", "criterion", "replicate"),
}


def _near(wanted: Iterable[str], columns: Iterable[str]) -> list[str]:
    """Notes on columns whose names are nearly those of a column that was not found."""
    remarks = []
    for name in wanted:
        for column in columns:
            spelt = plain(column).removesuffix("s")
            words = [w for w in _WORDS.get(name, (name,)) if w == spelt or (w not in spelt and spelt not in w)]
            near = difflib.get_close_matches(spelt, [w for w in words if abs(len(w) - len(spelt)) < 2], 1, 0.78)
            if near and near[0] != plain(column):  # "mode" is no misspelt "model", nor "meta_evaluator" an evaluator
                remarks.append(f"By {column!r}, did you mean {near[0]!r}? If so, map {name}={column}.")
    return remarks


def _wide(frame: pd.DataFrame, wide: Wide) -> Proposal:
    """Propose a mapping of a wide table, of the long table that it becomes."""
    columns = tuple(frame.columns)
    try:
        table = lengthened(frame, wide, proposed=True).table
    except SchemaError as problem:
        return Proposal(None, notes=(*hints.nested(frame), str(problem)), columns=columns, advice=problem.advice)
    new = [c for c in table.columns if c not in (*frame.columns, *wide.names, *wide.levels)]
    if not new:  # a table that was made long already
        return Proposal(None, notes=(*hints.nested(frame),), columns=columns)
    value = new[-1]
    note = hints.melt(frame, list(wide.columns), wide.head, value)
    long = _proposed(table)
    return replace(long, notes=(note, *long.notes), columns=columns, wide=wide.short(columns))


def _label_lists(frame: pd.DataFrame, names: Mapping[str, str], column: str, doubled: bool) -> Proposal:
    """Propose a mapping of lists of labels: sets, or repeats where a list names a label twice."""
    if not doubled:
        note = f"Lists in {column!r} are read as sets of labels; if they are repeats, explode={column!r}."
        return _ratings(frame, names, None, [note], classes=column)
    long = exploded(frame, column).table
    note = f"A list in {column!r} names a label twice, so it is no set: explode={column!r} makes each a repeat."
    proposal = _ratings(long, {**names, "replicate": f"{column}.index"}, None, [note], classes=column)
    return replace(proposal, columns=tuple(frame.columns), explode=column)


def _judge_that_scores(frame: pd.DataFrame, names: Mapping[str, str]) -> Proposal | None:
    """Propose a mapping of a table whose column ``judge`` holds the answers of one judge, beside ids and gold."""
    column, item = _first_column(names, guesses.JUDGE), _first_column(names, guesses.ITEM)
    gold = _first_column(names, guesses.GOLD)
    if column is None or item is None or gold is None or frame[item].duplicated().any():
        return None
    labels = {*distinct(frame[column])}
    numbers = all_numbers(frame[column])
    if not numbers and not labels & {*distinct(frame[gold])}:
        return None
    others = {n: c for n, c in names.items() if c != column}
    table = frame.assign(judge=column, **{f"{column} (answer)": frame[column]})
    own = f"{column} (answer)"
    proposal = _ratings(
        table, {**others, "judge": "judge"}, own if numbers else None, [], classes=None if numbers else own
    )
    mapping = {n: column if s == own else s for n, s in proposal.mapping.items()} | {"judge": f"={column}"}
    reasons = {**proposal.reasons, "judge": f"{column!r} holds its answers, one for each {item!r}"}
    return replace(proposal, mapping=mapping, reasons=reasons, columns=tuple(frame.columns))


def _first_column(names: Mapping[str, str], wanted: Iterable[str]) -> str | None:
    return next((names[w] for w in wanted if w in names), None)


def _score(frame: pd.DataFrame, names: Mapping[str, str]) -> str | None:
    for wanted in guesses.SCORE:
        if wanted in names:
            text = frame[names[wanted]].dropna().astype(str)
            numbers = pd.to_numeric(text, errors="coerce").notna() | text.str.fullmatch(r"[+-]?\d+(,\d+)+(\.\d+)?")
            if numbers.all() and not numbers_rows(frame[names[wanted]]):
                return names[wanted]
    able = [
        c
        for n, c in names.items()
        if guesses.SCORE_LIKE.fullmatch(n) and not guesses.COUNT.search(n) and n not in guesses.GOLD
    ]
    return able[0] if len(able) == 1 and all_numbers(frame[able[0]]) else None


def _correct_column(frame: pd.DataFrame, names: Mapping[str, str]) -> str | None:
    """Column of verdicts that are right or wrong, by its name or because its values mean yes and no."""
    for wanted in (*guesses.CORRECT, *guesses.CHOICE, *guesses.SCORE):
        cells = frame[names[wanted]].dropna() if wanted in names else None
        if cells is None or not len(cells) or neither(cells).any():
            continue
        if wanted in guesses.CORRECT or not pd.to_numeric(cells.astype(str), errors="coerce").notna().all():
            return names[wanted]
    return None


def _classes_column(frame: pd.DataFrame, names: Mapping[str, str]) -> str | None:
    """Column of verdicts that are a few words each, by its name, in a table that names judges and items."""
    items = _first_column(names, guesses.ITEM) or "answer" in names
    if not (_first_column(names, guesses.JUDGE) and items):
        return None
    numbered = {n.rstrip("0123456789").rstrip("_"): c for n, c in names.items()}
    if len(numbered) == len(names):  # label1, with no label2
        names = {**numbered, **names}
    for wanted in (*guesses.CHOICE, *guesses.SCORE, *guesses.CLASS):
        if wanted in names and may_be_classes(distinct(frame[names[wanted]]), len(frame)):
            return names[wanted]
    return None


def _preferences(
    frame: pd.DataFrame,
    names: Mapping[str, str],
    pair: Pair | None,
    answer: AnswerGuess | None,
    swapped: str | None,
    notes: list[str],
) -> Proposal:
    columns: Columns = {}
    _by_name(columns, "judge", names, guesses.JUDGE)
    _by_name(columns, "item", names, guesses.ITEM)
    _join_items(columns, frame, names, notes)
    if pair is not None:
        about_first = "shown first" if pair.order_known else f"candidate {pair.ends[0]}"
        other = "shown second" if pair.order_known else f"candidate {pair.ends[1]}"
        columns["first"], columns["second"] = (pair.first, about_first), (pair.second, other)
    elif answer is not None and answer.name == "winner" and swapped is not None:
        one, two = (v for v in distinct(frame[answer.source]) if v not in answer.labels)
        columns["first"] = (f"={one}", "the table names no candidates: the number of the output")
        columns["second"] = (f"={two}", "likewise")
    if answer is not None:
        columns[answer.name] = (answer.source, answer.reason)
    if swapped is not None and "first" in columns and not (pair and pair.order_known):
        columns["swapped"] = (swapped, "says where the order shown was reversed")
        notes.append(
            f"{swapped!r} exchanges the candidates and what is known of each of them (length_first and length_second, "
            "say). " + _frame_of(answer)
        )
    elif pair is not None and not pair.order_known:
        columns["order_known"] = ("=false", f"{pair.first} and {pair.second} do not say which was shown first")
        notes.append(
            f"If {pair.first!r} was always shown first, leave out order_known; otherwise measures of order refuse "
            "the data."
        )
    _gold(columns, frame, names, pair)
    _common(columns, "preferences", frame, names)
    have = set(columns) | ({"choice"} if {"winner", "graded"} & set(columns) else set())
    return _proposal("preferences", columns, answer.labels if answer else {}, have, notes, frame)


def _frame_of(answer: AnswerGuess | None) -> str:
    """Note whether an answer is read by candidate or by position, to be checked by the user."""
    if answer is None or answer.name == "winner":
        return "The winner is read by candidate: check that it names the output whatever the order (item frame)."
    remedy = "leave the order out" if answer.name == "graded" else "map winner= in place of choice="
    what = f"{answer.source!r} is read by position as shown: check this."
    return f"{what} If it names the output whatever the order, {remedy}."


def _ratings(
    frame: pd.DataFrame,
    names: Mapping[str, str],
    score: str | None,
    notes: list[str],
    verdict: str | None = None,
    classes: str | None = None,
) -> Proposal:
    columns: Columns = {}
    _by_name(columns, "judge", names, guesses.JUDGE)
    _by_name(columns, "system", names, guesses.SYSTEM)
    system = columns.get("system", (None, ""))[0]
    nested: list[str] = []
    for wanted in guesses.ITEM:
        if wanted not in names:
            continue
        item = names[wanted]
        if (
            system is not None
            and len(frame[system].dropna().unique()) > 1
            and frame.groupby(item)[system].nunique().max() == 1
        ):
            nested.append(item)
            continue
        columns["item"] = (item, "named like an item" + (f", and shared by several of {system!r}" if system else ""))
        break
    if "item" in columns:
        notes += [f"{c!r} is not the item: each of its values belongs to one {system!r} only." for c in nested]
    _unique_items(columns, frame, names)
    _join_items(columns, frame, names, notes)
    _by_name(columns, "criterion", names, guesses.CRITERION)
    if score is not None:
        values = pd.to_numeric(frame[score].astype("string").str.replace(",", "."), errors="coerce")
        columns["score"] = (score, f"numbers from {values.min():g} to {values.max():g}")
        notes.append(
            f"Scores run from {values.min():g} to {values.max():g}. If the scale is narrower, say "
            "scale=(low, high) and off_scale='missing'."
        )
    elif verdict is not None:
        columns["correct"] = (verdict, f"right or wrong: {', '.join(distinct(frame[verdict])[:6])}")
    elif classes is not None:
        labels = distinct(frame[classes])
        columns["answer"] = (classes, f"classes: {few(labels, 6)}")
        gold = next((names[w] for w in guesses.GOLD if w in names and names[w] != classes), None)
        if gold is not None and shares_a_class(labels, distinct(frame[gold])):
            columns["gold"] = (gold, "named like a right answer, and its values are among the classes")
    else:
        wide = [c for c in frame.columns if plain(c).startswith(("score", "rating")) and _score(frame, {"score": c})]
        notes += [hints.melt(frame, wide, "criterion", "score")] if wide else []
    _common(columns, "ratings", frame, names)
    have = set(columns) | ({"score"} if set(columns) & {*OUTCOMES} else set())
    advice: Advice = (("off_scale", "missing"), ("scale", None)) if score is not None else ()
    return _proposal("ratings", columns, {}, have, notes, frame, advice)


def _unique_items(columns: Columns, frame: pd.DataFrame, names: Mapping[str, str]) -> None:
    """Find the item where names are not enough: one response per item, or ids of two parts."""
    if "item" not in columns:
        item = next((names[w] for w in guesses.ITEM if w in names), None)
        if item is not None:
            columns["item"] = (item, "named like an item, though no two systems share one: compare them with care")
    if "system" in columns or "item" not in columns or "judge" not in columns:
        return
    item = str(columns["item"][0])
    keys = [item, str(columns["judge"][0]), *(n for n in ("criterion", "scale", "replicate") if n in frame)]
    ids = [c for c in map(str, frame.columns) if c not in keys and frame[c].nunique() > 1]
    if frame.duplicated(keys).any():
        other = next((c for c in ids if "id" in plain(c) and not frame.duplicated([*keys, c]).any()), None)
        if other is not None:
            columns["item"] = (
                f"{item}+{other}",
                f"{item!r} alone repeats; with {other!r} every row of a judge is another",
            )


def _by_name(columns: Columns, name: str, names: Mapping[str, str], wanted: Iterable[str]) -> None:
    column = _first_column(names, wanted)
    if column is not None and column not in {s for s, _ in columns.values()}:
        columns[name] = (
            column,
            "has the canonical name" if column == name else f"named like {'an' if name[0] in 'aeiou' else 'a'} {name}",
        )


def _join_items(columns: Columns, frame: pd.DataFrame, names: Mapping[str, str], notes: list[str]) -> None:
    """Join the item with the subset within which it is numbered."""
    item = columns.get("item", (None, ""))[0]
    group, note = hints.numbered_per_subset(frame, names, item) if item is not None else (None, "")
    if group is not None and "+" not in f"{group}{item}":
        columns["item"] = (f"{group}+{item}", f"{item!r} alone repeats across {group!r}")
        notes.append(note)


def _gold(columns: Columns, frame: pd.DataFrame, names: Mapping[str, str], pair: Pair | None) -> None:
    column = _first_column(names, guesses.GOLD)
    if column is None or column in {s for s, _ in columns.values()}:
        return
    ids = candidates(frame, pair) or {s[1:] for n in ("first", "second") if (s := columns.get(n, ("", ""))[0])}
    values = distinct(frame[column])
    if values and set(values) <= ids | {"tie"}:
        columns["gold"] = (column, "named like a right answer, and its values are candidates")
    elif column == "gold":
        columns["gold"] = (None, "its values are not candidates")


def _common(columns: Columns, kind: Kind, frame: pd.DataFrame, names: Mapping[str, str]) -> None:
    """Map repeats and conditions; exclude a column with a canonical name that holds something else."""
    repeats = _first_column(names, guesses.REPLICATE)
    if repeats is not None and _whole(frame[repeats]):
        columns["replicate"] = (repeats, "whole numbers, named like a repeat")
    for name, wanted in guesses.OTHERS[kind].items():
        _by_name(columns, name, names, wanted)
    taken = {s for s, _ in columns.values()}
    for column in VOCABULARY[kind]:
        if column.name not in frame.columns or column.name in columns or column.name in taken:
            continue
        columns[column.name] = _own_name(frame[column.name], column)


def _own_name(values: pd.Series, column: Column) -> tuple[str | None, str]:
    text = values.dropna().astype(str)
    if column.type in ("number", "integer") and pd.to_numeric(text, errors="coerce").isna().any():
        return None, "has the canonical name, but holds text"
    if column.allowed and column.name != "choice" and not set(text.unique()) <= set(column.allowed):
        return None, "has the canonical name, but holds other values"
    if column.type == "boolean" and not set(text.str.lower().unique()) <= {"true", "false", "0", "1"}:
        return None, "has the canonical name, but is not yes or no"
    return column.name, "has the canonical name"


def _whole(values: pd.Series) -> bool:
    numbers = pd.to_numeric(values.astype("string"), errors="coerce")
    return bool(numbers.notna().all() and (numbers % 1 == 0).all() and (numbers >= 0).all())


def _proposal(
    kind: Kind,
    columns: Columns,
    labels: dict[str, str],
    have: set[str],
    notes: list[str],
    frame: pd.DataFrame,
    advice: Advice = (),
) -> Proposal:
    order = [*(c.name for c in VOCABULARY[kind]), "gold"]
    names = sorted(columns, key=lambda n: (order.index("choice" if n in PSEUDO else n), n == "swapped"))
    mapping = {n: columns[n][0] for n in names}
    missing = tuple(n for n in required(kind) if n not in have)
    refusal = ""
    if not missing:
        try:
            canonical_rows = canonical(with_numbers(frame, kind, mapping), kind, mapping, labels)
        except SchemaError as problem:
            refusal = str(problem)
            advice += problem.advice
        else:
            item, why = columns["item"]
            splits = [s for s in splits_of(canonical_rows, _CELL[kind], kind) if s.column not in (*CONDITIONS, "scale")]
            for s in splits:
                notes.append(
                    f"Rows on one {item!r} differ in {s.column!r} ({few(s.values, 5)}). If each of these is an item of "
                    f"its own, map item={item}+{s.column}; if it is a condition, leave it, and name it in by=."
                )
            if splits:
                columns["item"] = (item, f"{why}; rows on one differ in {few([repr(s.column) for s in splits], 3)}")
    else:
        taken = {str(source) for source in mapping.values()}
        notes += [*_near(missing, [c for c in frame.columns if c not in taken]), *hints.nested(frame)]
        notes += [ONE_JUDGE] * ("judge" in missing)
        advice += (("judge", None),) * ("judge" in missing)
    notes += hints.errors(frame)
    sides = ["first", "second", "tie", "abstain", "invalid"]
    labels = dict(sorted(labels.items(), key=lambda pair: sides.index(pair[1])))
    return Proposal(
        kind,
        mapping,
        {n: columns[n][1] for n in names},
        labels,
        missing,
        refusal,
        tuple(notes),
        tuple(frame.columns),
        advice=advice,
    )
