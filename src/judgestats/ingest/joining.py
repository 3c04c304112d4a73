"""People's labels joined to judges' verdicts: :func:`join_labels`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame
from numpy.typing import NDArray

from judgestats.arguments import checked_arguments
from judgestats.errors import SchemaError, suggestion
from judgestats.ingest import guesses
from judgestats.ingest.mapping import RATER_TYPE, Labels, Mapped, canonical, with_columns
from judgestats.ingest.readers import RATING_OPTIONS, refuse_other_options
from judgestats.ingest.reading import read
from judgestats.ingest.registry import PLAIN_OPTIONS
from judgestats.ingest.sniffing import native_reader, native_table
from judgestats.ingest.sources import is_table, resolve
from judgestats.ingest.tables import check_numbers, plain_rows, with_numbers
from judgestats.ingest.wide import exploded, lengthened
from judgestats.schema import preferences, ratings
from judgestats.schema.account import KEY, Account, Exclusion, account_of
from judgestats.schema.columns import COUNTS, Kind, answer_column, kind_of
from judgestats.schema.findings import Finding
from judgestats.schema.opening import cell_text, few, opened
from judgestats.typing import Ints

#: Values of ``rater_type`` for people and for judges.
HUMAN, MODEL = "human", "model"
#: Name of the annotator where the labels name none.
ANYBODY = "human"
#: What a verdict is about, beside the pair of a preference.
_ABOUT: dict[Kind, tuple[str, ...]] = {"preferences": ("item", "criterion"), "ratings": ("system", "item", "criterion")}
#: The pair of a preference, in either order.
_PAIR = ("_low", "_high")
#: Columns about what was judged, which hold for everybody who judged it.
_CONTENT = ("task", "topic", "domain", "tier", "stimulus", "vacuum_kind", "delta", "bias", "better", "target", "gold")
Bools = NDArray[np.bool_]


@checked_arguments
def join_labels(
    verdicts: Any,
    labels: Any,
    *,
    on: str | Iterable[str] | Mapping[str, str] | None = None,
    columns: Mapped | None = None,
    answers: Mapping[Any, str] | None = None,
    wide: str = "",
    explode: str = "",
    **options: Any,
) -> pd.DataFrame:
    """Join people's labels to judges' verdicts, and account for every row of both.

    A label is matched with the verdicts on the same item and pair (in either order), or item, system and criterion.
    It is never guessed which verdicts a label is about: one that fits several is excluded, with the reason.

    Parameters
    ----------
    verdicts : frame, or whatever :func:`judgestats.read` reads
        Preferences or ratings.
    labels : frame, path or folder
        One row per label; the log of a labelling tool; or, with `wide`, one column per annotator.
    on : str, list of str, or mapping, optional
        Columns that identify what was judged, or column of the verdicts -> column of the labels:
        ``{"item": "question_id"}``. Item, candidates, system and criterion need no mention where both tables name them
        so. Ids are compared as text, so that ``007`` is not 7. What the labels do not have (the candidates, the system)
        comes from the verdicts, if it is unambiguous.
    columns : mapping, optional
        Other columns of the labels, as in :func:`judgestats.read`: ``{"judge": "annotator", "winner": "vote"}``.
        ``choice`` names a slot of the label's own order, ``winner`` a candidate. Without ``judge`` the labels are taken
        as those of one annotator, ``human``.
    answers : mapping, optional
        Answers of the labels -> ``first``, ``second``, ``tie``, ``abstain``, ``invalid``; or ``right``, ``wrong``.
    wide : str
        Columns of the labels that hold one annotator (or criterion) each, as in :func:`judgestats.read`.
    explode : str
        Columns with lists of labels, ``[{"annotator": "ann", "score": 3}, ...]``, each of which is then a row.
    **options
        ``scale``, ``off_scale``, ``decimal`` and ``encoding`` of the labels.

    Returns
    -------
    pandas.DataFrame
        The verdicts, then the labels that were matched, in one frame. Its column ``rater_type`` is ``human`` for the
        labels and ``model`` for the verdicts, unless they have it: ``humans={"rater_type": "human"}`` names the people
        in every measure. :func:`judgestats.check` counts labels that were matched, labels without a verdict, labels
        that fit several, and verdicts without a label.

    Raises
    ------
    SchemaError
        If no label fits a verdict, a column is missing, or a name is both a judge's and an annotator's.

    See Also
    --------
    judge_against_people : Judges compared with people.
    preference_gap : Preference beyond that of people.

    Notes
    -----
    What is known of the thing judged (task, topic, domain, tier, stimulus, gold, attributes of the candidates) is
    copied to its labels; conditions of the judge (prompt, strategy, temperature) are not.

    Examples
    --------
    >>> import judgestats as js
    >>> verdicts = pd.DataFrame({"judge": "g", "item": ["1", "2", "3"], "first": "x", "second": "y",
    ...                          "choice": ["first", "second", "tie"]})
    >>> votes = pd.DataFrame({"question": [1, 1, 2, 9], "who": ["Ann", "Bob", "Ann", "Ann"],
    ...                       "vote": ["x", "y", "y", "x"]})
    >>> both = join_labels(verdicts, votes, on={"item": "question"}, columns={"judge": "who", "winner": "vote"})
    >>> both[["judge", "item", "first", "choice", "rater_type"]]
      judge item first  choice rater_type
    0     g    1     x   first      model
    1     g    2     x  second      model
    2     g    3     x     tie      model
    3   Ann    1     x   first      human
    4   Bob    1     x  second      human
    5   Ann    2     x  second      human
    >>> js.check(both)[["level", "what", "n"]].iloc[1:5]
          level                                     what  n
    1  excluded  label without a verdict: no such 'item'  1
    2   counted             label matched with a verdict  3
    3   counted                     verdict with a label  2
    4   counted                  verdict without a label  1
    """
    refuse_other_options(
        options, {**RATING_OPTIONS, **PLAIN_OPTIONS, "encoding": "encoding of the file, if not UTF-8"}, "labels"
    )
    judged = _collected(verdicts if is_table(verdicts) else read(verdicts))
    kind = kind_of(judged.columns)
    own = _read_labels(labels, wide, explode, columns, options)
    own = _with_names(own, judged, kind, on, dict(columns or {}))
    matches = _matched(own, judged, kind, {str(k): v for k, v in (answers or {}).items()})
    people = _canonical(own, judged, kind, matches, answers, options)
    return _joined(judged, people, own, matches, kind)


@dataclass(frozen=True)
class _Labels:
    """The labels as given."""

    table: pd.DataFrame
    places: list[str]  # where each row comes from
    text: bool  # whether every cell is text, as from a file
    records: int  # rows in the source
    excluded: tuple[Exclusion, ...] = ()  # what of it gave no row
    mapped: dict[str, str | None] = field(default_factory=dict)  # canonical name -> column
    further: tuple[str, ...] = ()  # columns named in ``on=`` that are not canonical

    def source(self, name: str) -> str | None:
        """Column of the labels that holds a canonical one, if there is one."""
        source = self.mapped.get(name, name)
        return source if source in self.table.columns else None


@dataclass(frozen=True)
class _Matches:
    """What each label is about."""

    cells: Ints  # (V,), number of what each verdict is about
    cell: Ints  # (L,), the same of each label; -1 if it is not matched
    first: Ints  # (C,), the first verdict on each
    excluded: list[Exclusion]  # the labels without a verdict

    @property
    def rows(self) -> Ints:
        """Labels that are matched."""
        return np.flatnonzero(self.cell >= 0)


def _collected(frame: IntoFrame) -> pd.DataFrame:
    """A frame as pandas', its rows numbered from 0."""
    account = account_of(frame)
    table: pd.DataFrame = opened(frame).lazy().collect(backend="pandas").to_native()
    table = table.reset_index(drop=True)
    return table if account is None else account.attached(table)


def _read_labels(source: Any, wide: str, explode: str, columns: Mapped | None, options: Mapping[str, Any]) -> _Labels:
    """Read the labels: a frame, a table of text, or the log of a tool."""
    label, text, lines = type(source).__name__, False, None
    plain = bool(columns or wide or explode)
    if is_table(source):
        if not plain and native_table(source) is not None:
            source = read(source)
    else:
        files = resolve(source, options.get("encoding"))
        label = files.label
        if not plain and native_reader(files)[0] is not None:
            source = read(source, **{k: v for k, v in options.items() if k == "encoding"})
        else:
            rows = plain_rows(files, columns, wide)
            source, lines, text = rows.table, rows.places, True
    account = account_of(source)
    table = _collected(source)
    if table.empty:
        raise SchemaError(f"{label}: the labels have no rows.")
    places = list(account.places if account is not None else lines or ())
    places = places or [f"{label}, row {i}" for i in range(len(table))]
    excluded = account.excluded if account is not None else ()
    steps = [partial(exploded, name=name.strip()) for name in explode.split(",") if name.strip()]
    for step in [*steps, *([partial(lengthened, wide=wide, one_scale="scale" in options)] if wide else [])]:
        long = step(table)
        excluded += tuple(Exclusion(f"{places[row]}, {column}", "an empty list") for row, column in long.empty)
        table, places = long.table, [places[row] for row in long.source]
    return _Labels(table, places, text, len(table) if account is None else account.records, excluded)


def _with_names(labels: _Labels, judged: pd.DataFrame, kind: Kind, on: Any, columns: dict[str, str | None]) -> _Labels:
    """The labels with the columns that ``on=`` and ``columns=`` name."""
    pairs = {on: on} if isinstance(on, str) else dict(on) if isinstance(on, Mapping) else {n: n for n in on or ()}
    ours = {*_ABOUT[kind], *(("first", "second") if kind == "preferences" else ())}
    both = set(pairs) & set(columns)
    if both:
        raise SchemaError(f"on= and columns= both name {few(sorted(map(repr, both)), 4)}. Give it once.")
    for name in pairs:
        if name not in judged.columns:
            raise SchemaError(
                f"on={name!r} is not a column of the verdicts. Columns: {', '.join(judged.columns)}."
                f"{suggestion(name, judged.columns)}"
            )
    data, mapped = with_columns(opened(labels.table), {**columns, **pairs}, kind)
    table: pd.DataFrame = data.to_native()
    for name, source in mapped.items():
        if source is not None and source not in table.columns:
            hint = "" if name not in pairs else f" Say which column holds it: on={{{name!r}: ...}}."
            raise SchemaError(
                f"{name!r}: {source!r} is not a column of the labels. Columns: {', '.join(table.columns)}."
                f"{suggestion(source, table.columns)}{hint}"
            )
    further = tuple(n for n in pairs if n not in ours)
    texts = {n: table[str(mapped.pop(n, n))] for n in further}
    dropped = [c for n in further if (c := pairs[n]) != n and c not in mapped.values() and c in table.columns]
    table = table.drop(columns=dropped).assign(**texts)
    if "judge" not in mapped and "judge" not in table.columns:
        table, mapped["judge"] = table.assign(_annotator=ANYBODY), "_annotator"
    return _Labels(table, labels.places, labels.text, labels.records, labels.excluded, mapped, further)


def _texts(values: pd.Series) -> pd.Series:
    """Ids as the text that they are in a canonical frame."""
    code, ids = pd.factorize(values)
    texts = np.array([*map(cell_text, ids.tolist()), None], dtype=object)  # the last is that of a missing id
    return pd.Series(texts[code], dtype=object)


def _pair(first: pd.Series, second: pd.Series) -> dict[str, pd.Series]:
    """Two candidates, whatever their order; missing if either is."""
    both = first.notna() & second.notna()
    swap = first.fillna("") > second.fillna("")
    low, high = first.where(~swap, second), second.where(~swap, first)
    return dict(zip(_PAIR, (low.where(both, None), high.where(both, None)), strict=True))


def _matched(labels: _Labels, judged: pd.DataFrame, kind: Kind, answers: Mapping[str, str]) -> _Matches:
    """Find what each label is about, by the columns that both have."""
    about = [n for n in _ABOUT[kind] if n in judged.columns]
    names = [n for n in about if labels.source(n) is not None]
    ids = {n: _texts(judged[n]) for n in dict.fromkeys([*about, *labels.further])}
    keys = {n: _texts(labels.table[str(labels.source(n))]) for n in [*names, *labels.further]}
    if kind == "preferences":
        ids |= _pair(_texts(judged["first"]), _texts(judged["second"]))
        ends = [labels.source(n) for n in ("first", "second")]
        if None not in ends:
            keys |= _pair(*(_texts(labels.table[str(c)]) for c in ends))
    if not keys or not {"item", *labels.further} & set(keys):
        present = {guesses.plain(str(n)): str(n) for n in labels.table.columns if n != "_annotator"}
        near = next((present[c] for c in guesses.ITEM if c in present), "...")
        raise SchemaError(
            f"The labels have no column 'item' to match by. Columns: {', '.join(present.values())}. Say "
            f"which one holds the ids of the verdicts: on={{'item': {near!r}}}.",
            advice=(("on", near),),
        )
    all_ids = pd.DataFrame(ids)
    cells = all_ids.groupby(list(ids), dropna=False, sort=False).ngroup().to_numpy(dtype=np.int64)
    first = np.flatnonzero(~pd.Series(cells).duplicated().to_numpy())
    things = all_ids.iloc[first].assign(_cell=cells[first])
    looked_up = things.groupby(list(keys), dropna=True, sort=False)["_cell"].agg(["first", "size"]).reset_index()
    table = pd.DataFrame(keys).merge(looked_up, on=list(keys), how="left")
    n = table["size"].fillna(0).to_numpy(dtype=int)
    cell = np.where(n == 1, table["first"].fillna(-1).to_numpy(dtype=np.int64), -1)
    reasons = _reasons(pd.DataFrame(keys), things, n)
    if kind == "preferences" and not set(_PAIR) <= set(keys):
        for row in np.flatnonzero(_slot_of_either_order(labels, judged, cells, cell, answers)):
            cell[row] = -1
            reasons[int(row)] = (
                "label names a slot, and its pair was judged in both orders",
                "Map the candidate that won (winner=), or the candidates in the order the person saw.",
            )
    excluded = [Exclusion(labels.places[i], *reasons[i]) for i in sorted(reasons)]
    if not (cell >= 0).any():
        raise _no_match(keys, things, excluded)
    return _Matches(cells, cell, first, excluded)


def _reasons(keys: pd.DataFrame, things: pd.DataFrame, n: Ints) -> dict[int, tuple[str, str]]:
    """Why labels are not matched, and what to do."""
    reasons: dict[int, tuple[str, str]] = {}
    if (n == 1).all():
        return reasons
    lead = next(iter(keys))
    is_judged = keys[lead].isin(set(things[lead].dropna())).to_numpy()
    empty = keys.isna().any(axis=1).to_numpy()
    others = [c for c in things.columns if c not in (*keys.columns, "_cell")]
    several = [c for c in others if things[c].nunique(dropna=False) > 1]
    examples = list(dict.fromkeys("first and second" if c in _PAIR else repr(c) for c in several))
    rest = " and ".join("candidates" if c == "_low" else c for c in keys.columns if c not in (lead, "_high"))
    for row in np.flatnonzero(n != 1):
        if empty[row]:
            names = [c for c in keys.columns if pd.isna(keys[c].iloc[row]) and c != "_high"]
            what = few(["a candidate" if c == "_low" else repr(c) for c in names], 3)
            reasons[int(row)] = f"label without {what}", ""
        elif n[row] > 1:
            differ = few(examples, 4) or "a column"
            reasons[int(row)] = (
                "label fits several verdicts",
                f"They differ in {differ}: give it in the labels, and in on=.",
            )
        elif not is_judged[row]:
            reasons[int(row)] = f"label without a verdict: no such {lead!r}", ""
        else:
            reasons[int(row)] = f"label without a verdict: the {lead} was judged, with other {rest}", ""
    return reasons


def _slot_of_either_order(
    labels: _Labels, judged: pd.DataFrame, cells: Ints, cell: Ints, answers: Mapping[str, str]
) -> Bools:
    """Labels that name a slot of a pair without its order, where the verdicts have both orders."""
    source = labels.source("choice")
    if labels.source("winner") is not None or source is None:
        return np.zeros(len(cell), dtype=bool)
    said = _texts(labels.table[source])
    slot = said.map(lambda v: answers.get(v, v) if isinstance(v, str) else v).isin(["first", "second"]).to_numpy()
    orders = judged["first"].astype(str).groupby(cells).nunique()
    both = np.zeros(int(cells.max()) + 2, dtype=bool)
    both[orders.index.to_numpy()] = (orders > 1).to_numpy()
    result: Bools = slot & (cell >= 0) & both[cell]
    return result


def _no_match(keys: Mapping[str, pd.Series], things: pd.DataFrame, excluded: list[Exclusion]) -> SchemaError:
    """The error for labels of which none is matched."""
    names = [n for n in keys if n not in _PAIR]
    examples = "; ".join(
        f"{n!r} of the labels: {few(map(repr, keys[n].dropna().unique()[:2]), 2) or 'empty'}, of the verdicts: "
        f"{few(map(repr, things[n].dropna().unique()[:2]), 2)}"
        for n in names
    )
    reasons = dict.fromkeys(f"{e.reason}. {e.remedy}".rstrip(". ") for e in excluded)
    count = f"{len(excluded):,} label{'s' * (len(excluded) != 1)}"
    return SchemaError(
        f"No label fits exactly one verdict ({count}: {few(reasons, 3)}). {examples}. Nothing was joined; on= says "
        "which columns hold the same ids.",
        advice=(("on", None),),
    )


def _canonical(
    labels: _Labels,
    judged: pd.DataFrame,
    kind: Kind,
    matches: _Matches,
    answers: Labels | None,
    options: dict[str, Any],
) -> pd.DataFrame:
    """The matched labels as a canonical frame of the same kind as the verdicts."""
    rows = matches.rows
    model = judged.iloc[matches.first[matches.cell[rows]]].reset_index(drop=True)  # a verdict on the same thing
    table, mapped = labels.table.iloc[rows].reset_index(drop=True), dict(labels.mapped)
    table = table.assign(**{n: model[n] for n in labels.further})
    wanted = ["first", "second"] if kind == "preferences" else []
    ordered = all(labels.source(n) is not None for n in wanted)
    for name in [*_ABOUT[kind], *([] if ordered else wanted)]:
        if name in judged.columns and labels.source(name) is None:
            table, mapped[name] = table.assign(**{f"_of_{name}": model[name].astype(object)}), f"_of_{name}"
    if not ordered:
        table, mapped["order_known"] = table.assign(_order=False), "_order"
    if kind == "preferences" and "criterion" in mapped:  # no column of ours there
        table = table.assign(criterion=table[str(mapped.pop("criterion"))])
    if kind == "ratings":
        mapped |= _verdict_column(labels, judged)
    try:
        if labels.text:
            table = check_numbers(table, kind, mapped, options.get("decimal", "."))
            table = with_numbers(table, kind, mapped)
        chosen = {k: v for k, v in options.items() if k in RATING_OPTIONS}
        people: pd.DataFrame = canonical(table, kind, mapped, answers, **chosen)
    except SchemaError as problem:
        where = ""
        if problem.faults is not None and len(problem.faults) and len(problem.faults["rows"].iloc[0]):
            number = int(problem.faults["rows"].iloc[0][0])
            where = f" Row {number} of the labels that were matched is {labels.places[rows[number]]}."
        if mapped.get("judge") == "_annotator":
            where += " The labels name no annotator, so they are taken as those of one: columns={'judge': ...}."
        raise problem.labelled("the labels", where) from None
    people = _same_answers(people, judged, kind)
    return people.assign(**_content(people, judged, model, matches))


def _verdict_column(labels: _Labels, judged: pd.DataFrame) -> dict[str, str | None]:
    """Take labels of 0 and 1 as right and wrong where the verdicts are."""
    source = labels.source("score")
    if answer_column(judged.columns) != "correct" or labels.source("correct") is not None or source is None:
        return {}
    return {"correct": source, "score": None}


def _same_answers(people: pd.DataFrame, judged: pd.DataFrame, kind: Kind) -> pd.DataFrame:
    """Put scores into the column in which the verdicts have them."""
    if kind == "preferences":
        return people
    theirs, ours = answer_column(people.columns), answer_column(judged.columns)
    if theirs == ours:
        return people
    people = people.assign(**{theirs: pd.to_numeric(people[theirs].astype("Float64")).astype(float)})
    return people.drop(columns=[c for c in (ours,) if c in people]).rename(columns={theirs: ours})


def _content(
    people: pd.DataFrame, judged: pd.DataFrame, model: pd.DataFrame, matches: _Matches
) -> dict[str, pd.Series]:
    """What the verdicts say of the thing judged, where they agree on it and the labels do not say it."""
    new: dict[str, pd.Series] = {}
    cell = matches.cell[matches.rows]

    def one_value(name: str) -> Bools:
        values = judged[name].astype(object).groupby(matches.cells).nunique(dropna=False).to_numpy()
        return np.asarray(values == 1, dtype=bool)[cell]

    for name in (n for n in _CONTENT if n in judged.columns and n not in people.columns):
        new[name] = model[name].astype(object).where(one_value(name), None)
    if "first" not in judged.columns:
        return new
    same = people["first"].astype(str).to_numpy() == model["first"].astype(str).to_numpy()
    for name in (n for n in judged.columns if n.endswith("_first") and n not in people.columns):
        other = f"{name.removesuffix('first')}second"
        if other in judged.columns and other not in people.columns:
            new[name] = model[name].where(same, model[other])
            new[other] = model[other].where(same, model[name])
    return new


def _joined(judged: pd.DataFrame, people: pd.DataFrame, labels: _Labels, matches: _Matches, kind: Kind) -> pd.DataFrame:
    """One frame of both, with the account of the rows of both."""
    account = account_of(judged) or Account(len(judged))
    judged, people = _typed(judged, MODEL), _typed(people, HUMAN)
    if "order_known" in people.columns and "order_known" not in judged.columns:
        judged = judged.assign(order_known=True)
    if COUNTS in judged.columns and COUNTS not in people.columns:
        people = people.assign(**{COUNTS: 1})
    both = set(judged.loc[judged[RATER_TYPE] != HUMAN, "judge"]) & set(people.loc[people[RATER_TYPE] == HUMAN, "judge"])
    if both:
        raise SchemaError(
            f"{few(sorted(map(repr, both)), 3)} is the name of a judge and of an annotator. Rename one, so that people "
            "and judges are distinct."
        )
    attrs = {k: v for k, v in judged.attrs.items() if k != KEY}
    parts = [part.astype({c: object for c in part.columns if part[c].dtype == "category"}) for part in (judged, people)]
    parts = [part.dropna(axis=1, how="all") for part in parts]
    table = pd.concat(parts, ignore_index=True)
    make = preferences if kind == "preferences" else ratings
    result: pd.DataFrame = make(nw.from_native(table).to_native())
    result.attrs.update(attrs)
    n, labelled = len(judged), np.isin(matches.cells, matches.cell[matches.rows])
    notes = [
        ("label matched with a verdict", np.arange(n, len(result))),
        ("verdict with a label", np.flatnonzero(labelled)),
        ("verdict without a label", np.flatnonzero(~labelled)),
    ]
    places = [*(account.places or (f"verdicts, row {i}" for i in range(n))), *(labels.places[i] for i in matches.rows)]
    counted = tuple(Finding("counted", "", what, tuple(map(int, rows))) for what, rows in notes if len(rows))
    return Account(
        account.records + labels.records,
        places,
        (*account.excluded, *labels.excluded, *matches.excluded),
        (*account.notes, *counted),
        account.unread,
    ).attached(result)


def _typed(frame: pd.DataFrame, kind: str) -> pd.DataFrame:
    """A frame with the type of each rater: as it says, else `kind`."""
    if RATER_TYPE not in frame.columns:
        return frame.assign(**{RATER_TYPE: kind})
    return frame.assign(**{RATER_TYPE: frame[RATER_TYPE].astype(object).where(frame[RATER_TYPE].notna(), kind)})
