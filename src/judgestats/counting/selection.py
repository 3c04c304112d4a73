"""What a measure is about: the columns it needs, the stimuli it counts, the candidate it measures against."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from judgestats.counting.patterns import Pattern
from judgestats.counting.splitting import LONG
from judgestats.counting.study import Study
from judgestats.errors import DesignError, SchemaError
from judgestats.schema.coding import distinct_rows, once_each, with_values
from judgestats.schema.columns import UNIT_COLUMNS, VOCABULARY, answer_column, required

#: All canonical columns.
NAMES = {c.name for columns in VOCABULARY.values() for c in columns}
#: Columns that are no free text, however long their values are.
_VERDICT = NAMES - {"rationale"}


def gathered(frame: Any, named: Iterable[Any] = ()) -> pd.DataFrame:
    """The rows of any frame in memory, for a measure that counts no pattern of them.

    Of a lazy frame, nested columns and free text (more than 60 characters on average) are left where they lie, unless
    they are in `named`.
    """
    data = Study.of(frame).data
    if isinstance(data, nw.LazyFrame):
        schema = data.collect_schema()
        kept = {*_VERDICT, *named}
        plain = [n for n, dtype in schema.items() if n in kept or not dtype.is_nested()]
        text = [n for n in plain if n not in kept and schema[n] == nw.String]
        if text:
            lengths = data.select(*(nw.col(n).str.len_chars().mean() for n in text)).collect(backend="pandas")
            plain = [n for n in plain if n not in text or not lengths[n].item() > LONG]
        data = data.select(*plain)
    return data.lazy().collect(backend="pandas").to_native()


def selected(data: Any, pattern: Pattern, measure: str, stimulus: str | None) -> Any:
    """Return the rows that a measure counts, with its pattern columns; refuse data that cannot answer it."""
    return with_outcome(chosen(data, pattern, measure, stimulus), pattern)


def chosen(data: Any, pattern: Pattern, measure: str, stimulus: str | None) -> Any:
    """Return the rows that a measure counts; refuse data that cannot answer it."""
    require(list(data.collect_schema().names()), pattern, measure, stimulus)
    wanted = (stimulus,) if stimulus else pattern.stimulus
    data = _of_stimuli(data, wanted, measure) if wanted else data
    return with_two(data, gold="gold" in pattern.needs) if pattern.unit == "side" or pattern.needs else data


def with_two(data: Any, *, gold: bool = False) -> Any:
    """The rows of :func:`between_two`."""
    return data.filter(once_each(data, ["first", "second", *(["gold"] if gold else [])], between_two(gold=gold)))


def between_two(*, gold: bool = False) -> Any:
    """Rows that a preference between candidates can be read from: two of them, or a tie that is the right answer."""
    two = _text("first") != _text("second")
    return two | (_text("gold") == "tie").fill_null(False) if gold else two


def with_outcome(data: Any, pattern: Pattern) -> Any:
    """Return the rows with the pattern columns made from others; refuse a right answer or target that was not shown."""
    if isinstance(data, nw.DataFrame):
        present = list(data.columns)
        if not (read := sources(pattern, present)):
            return _with_outcome(data, pattern)
        some, codes = distinct_rows(data, read, [c for c in ("item",) if c in present])
        made = made_columns(some, pattern)
        return with_values(data, made, codes) if len(made.columns) else data
    return _with_outcome(data, pattern)


def made_columns(data: Any, pattern: Pattern) -> pd.DataFrame:
    """The pattern columns that are made from others, of a frame in memory."""
    table: pd.DataFrame = _with_outcome(data, pattern).to_pandas()
    return table[[c for c in table.columns if c not in data.columns]]


def _with_outcome(data: Any, pattern: Pattern) -> Any:
    if pattern.frame == "ratings":
        if "label" in pattern.columns:
            return data.with_columns(*_beside_labels(list(data.collect_schema().names())))
        present = list(data.collect_schema().names())
        if "score" not in present:
            raise DesignError(
                f"A verdict is right or wrong, and these are means over runs. Columns: {', '.join(present)}. Give one "
                "row a verdict.",
                problem="needs single verdicts, and these are means over runs",
            )
        return data.with_columns(_right(present).alias("outcome"))
    _refuse_strangers(data, pattern)
    derived = _derived(pattern, list(data.collect_schema().names())) if pattern.unit in ("call", "change") else []
    return data.with_columns(*derived) if derived else data


def sources(pattern: Pattern, present: list[str]) -> list[str]:
    """Columns of a frame that the pattern columns of a call are, or are made from."""
    made = [*pattern.needs, *(["better"] if "outcome" in pattern.columns else []), "first", "second", "choice"]
    if pattern.frame == "ratings":
        made = ["score", "gold"]
    return [c for c in dict.fromkeys([*pattern.columns, *made]) if c in present]


def require(present: list[str], pattern: Pattern, measure: str, stimulus: str | None = None) -> None:
    """Refuse a frame without the columns that a measure counts."""
    wanted = required("preferences") if pattern.frame == "preferences" else ["judge", answer_column(present)]
    missing = [c for c in [*wanted, *pattern.needs] if c not in present]
    missing += [c for c in pattern.columns if c in UNIT_COLUMNS and c not in present]
    if missing:
        missing = list(dict.fromkeys(missing))
        them, counts = "it" if len(missing) == 1 else "them", ", ".join([*pattern.columns, "n"])
        named = f"a column {missing[0]!r}" if len(missing) == 1 else f"columns {', '.join(map(repr, missing))}"
        raise DesignError(
            f"{measure} needs {', '.join(missing)}. Columns: {', '.join(present)}. Give a {pattern.frame} frame with "
            f"{them}, or a tally with the columns {counts}.",
            problem=f"needs {named}",
        )
    if (pattern.stimulus or stimulus) and "stimulus" not in present:
        about = stimulus or " or ".join(pattern.stimulus)
        instead = " For swap consistency of ordinary pairs use consistency()." if measure == "delta0" else ""
        raise DesignError(
            f"{measure} is about {about} stimuli, and the frame has no column 'stimulus' that marks them." + instead
        )


def _of_stimuli(data: Any, wanted: tuple[str, ...], measure: str) -> Any:
    chosen = nw.col("stimulus").is_in(wanted)
    if isinstance(data, nw.LazyFrame):
        return data.filter(nw.col("stimulus").cast(nw.String).is_in(wanted))
    mask = data.select(chosen)["stimulus"]
    if not mask.any():
        refuse_stimuli(wanted, measure)
    return data if mask.all() else data.filter(mask)


def refuse_stimuli(wanted: tuple[str, ...], measure: str) -> None:
    """Raise where no row has the stimulus that a measure is about."""
    raise DesignError(
        f"{measure} is about {' or '.join(wanted)} stimuli, and no row has one. Use another measure, or check the "
        "column 'stimulus'."
    )


def _refuse_strangers(data: Any, pattern: Pattern) -> None:
    """The better, the target or the gold candidate must be one of the two that were shown."""
    for name in pattern.needs:
        known = _text(name)
        shown = (known == _text("first")) | (known == _text("second"))
        if name == "gold":
            shown = shown | (known == "tie")
        stray = data.filter(known.is_null() | ~shown).select("item", "first", "second", name).head(1)
        row = stray.lazy().collect(backend="pandas").to_native()
        if len(row):
            r = row.iloc[0]
            raise SchemaError(
                f"{name!r} is {r[name]!r} where the candidates are {r['first']!r} and {r['second']!r} (item "
                f"{r['item']}). It must be one of them{', or tie' if name == 'gold' else ''}; leave rows without "
                "it out."
            )


def _right(present: list[str]) -> Any:
    """Whether a verdict is right: by its own value, or compared with the gold; a missing verdict is invalid."""
    verdict = nw.col("score").cast(nw.Float64)
    said = verdict.cast(nw.String)
    if "gold" in present:
        agree = nw.when(verdict == nw.col("gold").cast(nw.Float64)).then(nw.lit("correct")).otherwise(nw.lit("wrong"))
    else:
        wrong = nw.when(verdict == 0).then(nw.lit("wrong")).otherwise(said)
        agree = nw.when(verdict == 1).then(nw.lit("correct")).otherwise(wrong)
    return nw.when(verdict.is_null() | verdict.is_nan()).then(nw.lit("invalid")).otherwise(agree)


def _beside_labels(present: list[str]) -> list[Any]:
    """A verdict and its label as words for yes and no; another number stays, and is refused when counted."""
    made = []
    for column, name, missing in (("score", "verdict", "invalid"), ("gold", "label", "none")):
        if column not in present:
            made.append(nw.lit(missing).alias(name))
            continue
        value = nw.col(column).cast(nw.Float64)
        word = nw.when(value == 1).then(nw.lit("yes")).otherwise(value.cast(nw.String))
        word = nw.when(value == 0).then(nw.lit("no")).otherwise(word)
        made.append(nw.when(value.is_null() | value.is_nan()).then(nw.lit(missing)).otherwise(word).alias(name))
    return made


def _derived(pattern: Pattern, present: list[str]) -> list[Any]:
    """Pattern columns that are made from the frame's columns: the answer against a known candidate."""
    if "target_slot" in pattern.columns:
        slot = nw.when(_text("better") == _text("first")).then(nw.lit("first")).otherwise(nw.lit("second"))
        return [slot.alias("target_slot")]
    if "outcome" not in pattern.columns:
        return []
    if pattern.against is None:
        return [(_against_if_known(present) if "stimulus" in pattern.columns else _chosen()).alias("outcome")]
    if pattern.against[0] == "gold":
        return [_against_gold().alias("outcome"), *(_SLOTS[name]().alias(name) for name in pattern.beside)]
    return [_against(*pattern.against).alias("outcome")]


def _text(column: str) -> Any:
    """A column as text, so that categories of two columns can be compared."""
    return nw.col(column).cast(nw.String)


def _settled(decided: Any, tied: Any = None) -> Any:
    """Outcome of an answer: `decided` if it is a side; an unknown label stays, and is refused when counted."""
    choice = _text("choice")
    return (
        nw.when(choice.is_null() | (choice == "invalid"))
        .then(nw.lit("invalid"))
        .when(choice.is_in(("tie", "abstain")))
        .then(nw.lit("tie") if tied is None else tied)
        .when(choice.is_in(("first", "second")))
        .then(decided)
        .otherwise(choice)
    )


def _chosen() -> Any:
    """The candidate that was chosen, in either slot."""
    first = _text("choice") == "first"
    return _settled(nw.when(first).then(_text("first")).otherwise(_text("second")))


def _against(column: str, hit: str, miss: str) -> Any:
    agree = (_text("choice") == "first") == (_text(column) == _text("first"))
    return _settled(nw.when(agree).then(nw.lit(hit)).otherwise(nw.lit(miss)))


def _against_if_known(present: list[str]) -> Any:
    """Right or wrong if one candidate is better, else a preference."""
    preference = _settled(nw.lit("preference"))
    if "better" not in present:
        return preference
    known = ~nw.col("better").is_null()
    return nw.when(known).then(_against("better", "correct", "wrong")).otherwise(preference)


def _against_gold() -> Any:
    """A tie is correct only where the gold is a tie; elsewhere it is a tie."""
    tie = _text("gold") == "tie"
    agree = ((_text("choice") == "first") == (_text("gold") == _text("first"))) & ~tie
    decided = nw.when(agree).then(nw.lit("correct")).otherwise(nw.lit("wrong"))
    return _settled(decided, nw.when(tie).then(nw.lit("correct")).otherwise(nw.lit("tie")))


def coded_gold(data: Any, pattern: Pattern) -> tuple[Any, dict[tuple[str, ...], Any]]:
    """Calls of a lazy frame as numbers, and (outcome, answer, answer that is right) -> the calls with them."""
    _refuse_strangers(data, pattern)
    choice, gold = _text("choice"), _text("gold")
    answers, right = ("first", "second", "tie", "invalid"), ("first", "second", "tie")
    code: Any = nw.lit(-9)
    for i, given in enumerate((["first"], ["second"], ["tie", "abstain"], ["invalid"])):
        code = nw.when(choice.is_in(given)).then(nw.lit(3 * i)).otherwise(code)
    code = nw.when(choice.is_null()).then(nw.lit(9)).otherwise(code)
    slot = nw.when(gold == _text("second")).then(nw.lit(1)).otherwise(nw.lit(2))
    slot = nw.when(gold == _text("first")).then(nw.lit(0)).otherwise(slot)
    of_answers: dict[tuple[str, ...], Any] = {}
    for i, j in np.ndindex(len(answers), len(right)):
        decided = "correct" if answers[i] == right[j] else answers[i] if i > 1 else "wrong"
        of_answers[decided, answers[i], right[j]] = nw.col("_code") == 3 * i + j
    return data.with_columns((code + slot).alias("_code")), of_answers


def _answer() -> Any:
    """The slot that was chosen."""
    return _settled(_text("choice"))


def _gold_answer() -> Any:
    """The slot that the gold stands in."""
    first = nw.when(_text("gold") == _text("first")).then(nw.lit("first"))
    return first.otherwise(nw.when(_text("gold") == _text("second")).then(nw.lit("second")).otherwise(nw.lit("tie")))


_SLOTS = {"answer": _answer, "gold_answer": _gold_answer}


def refuse_unknown_gold(data: Any) -> None:
    """Raise where the right answer of a verdict is missing, or is no score."""
    if not data.collect_schema()["gold"].is_numeric():
        raise SchemaError(
            "'gold' is no score, so no verdict can be compared with it. Give the right score, or the right verdict "
            "(true or false); or drop the column, gold=None, where 'correct' says which verdicts are right.",
            advice=(("columns", "gold"),),
        )
    gold = nw.col("gold")
    missing = data.filter(gold.is_null() | gold.is_nan()).select(nw.len().alias("n")).lazy()
    if n := int(missing.collect(backend="pandas").to_native()["n"].iloc[0]):
        raise SchemaError(f"'gold' is missing in {n:,} rows: leave such rows out, as accuracy() does.")
