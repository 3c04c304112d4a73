"""What a measure is about: the columns it needs, the stimuli it counts, the candidate it measures against."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import Frame, FrameT
from numpy.typing import NDArray

from judgestats.counting.patterns import Pattern
from judgestats.counting.splitting import LONG
from judgestats.counting.study import Calls, Study
from judgestats.errors import DesignError, SchemaError
from judgestats.schema.classes import has_answer, where_answered
from judgestats.schema.coding import numbers_of, once_each, ranked_texts
from judgestats.schema.columns import ANSWERS, COUNTS, OUTCOMES, UNIT_COLUMNS, VOCABULARY, answer_column, required
from judgestats.schema.factors import Factor, Factors
from judgestats.schema.opening import frame_columns, one_of
from judgestats.typing import Column, LazyFrame

#: All canonical columns.
NAMES = {c.name for columns in VOCABULARY.values() for c in columns}
#: Columns that are no free text, however long their values are.
_VERDICT = NAMES - {"rationale"}


def gathered(frame: Calls, wanted: Iterable[str] = ()) -> pd.DataFrame:
    """The rows of any frame in memory, for a measure that counts no pattern of them.

    Of a lazy frame, nested columns and free text (more than 60 characters on average) are left where they lie, unless
    they are in `wanted`.
    """
    data = Study.of(frame).data
    if isinstance(data, nw.LazyFrame):
        schema = data.collect_schema()
        exempt = {*_VERDICT, *wanted}
        plain = [n for n, dtype in schema.items() if n in exempt or not dtype.is_nested()]
        text = [n for n in plain if n not in exempt and schema[n] == nw.String]
        if text:
            lengths = data.select(*(nw.col(n).str.len_chars().mean() for n in text)).collect(backend="pandas")
            plain = [n for n in plain if n not in text or not lengths[n].item() > LONG]
        data = data.select(*plain)
    table = data.lazy().collect(backend="pandas").to_native()
    return table[table[COUNTS] != 0] if COUNTS in table and (table[COUNTS] == 0).any() else table


def gathered_study(study: Study, wanted: Iterable[str] = ()) -> Study:
    """The study with its rows in memory, as :func:`gathered` takes them of a lazy frame."""
    return Study.of(gathered(study, wanted)) if study.lazy else study


def selected(data: FrameT, pattern: Pattern, measure: str, stimulus: str | None) -> FrameT:
    """Return the rows that a measure counts, with its pattern columns; refuse data that cannot answer it."""
    return with_outcome(chosen(data, pattern, measure, stimulus), pattern)


def chosen(data: FrameT, pattern: Pattern, measure: str, stimulus: str | None) -> FrameT:
    """Return the rows that a measure counts; refuse data that cannot answer it."""
    require(frame_columns(data), pattern, measure, stimulus)
    wanted = (stimulus,) if stimulus else pattern.stimulus
    data = _of_stimuli(data, wanted, measure) if wanted else data
    return with_two(data, gold="gold" in pattern.needs) if pattern.unit == "side" or pattern.needs else data


def with_two(data: FrameT, *, gold: bool = False) -> FrameT:
    """The rows of :func:`between_two`."""
    if isinstance(data, nw.DataFrame) and not gold:
        first, second, _ = Study.of(data).shown
        two = (first != second) & (first >= 0) & (second >= 0)
        return data if two.all() else data.filter(nw.new_series("two", two, backend=data.implementation))
    return data.filter(once_each(data, ["first", "second", *(["gold"] if gold else [])], between_two(gold=gold)))


def between_two(*, gold: bool = False) -> nw.Expr:
    """Rows that can show a preference: those with two candidates, or whose right answer is a tie."""
    two = (_text("first") != _text("second")).fill_null(True)  # one that is missing is refused where it matters
    return two | (_text("gold") == "tie").fill_null(False) if gold else two


def with_outcome(data: FrameT, pattern: Pattern) -> FrameT:
    """Return the rows with the pattern columns made from others; refuse a right answer or target that was not shown."""
    if isinstance(data, nw.DataFrame):
        columns = Factors(factors=made_factors(Study.of(data), pattern), rows=len(data)).frame()
        return nw.from_native(data.to_pandas().assign(**{c: columns[c].array for c in columns}), eager_only=True)
    if pattern.frame == "preferences":
        _refuse_strangers(data, pattern)
    if "shown_at" in pattern.columns:
        return data.with_columns(_lazy_place(answer_column(frame_columns(data), OUTCOMES)))
    by_name = rules(pattern, frame_columns(data))
    return data.with_columns(*(rule.expression().alias(name) for name, rule in by_name.items())) if by_name else data


def made_factors(study: Study, pattern: Pattern) -> dict[str, Factor]:
    """Pattern columns derived from other columns of calls in memory, evaluated once for each combination of these."""
    if "shown_at" in pattern.columns:
        return {"shown_at": _place(study)}
    by_name = rules(pattern, study.names)
    if not (by_name or pattern.needs):
        return {}
    beside = [*pattern.needs, *(rule.of for rule in by_name.values() if rule.of)]
    common = ["choice", "first", "second"] if pattern.frame == "preferences" else ["gold"]
    codes = study.columns.codes([c for c in dict.fromkeys([*common, *beside]) if c in study.columns])
    some = study.part(study.columns.take(codes.first))
    call_of, verdict_of = cache(partial(_call, some)), cache(partial(_verdict, some))
    for name in pattern.needs:
        call = call_of(name)
        stray = call.unnamed | ~(call.is_first | call.is_second | (call.is_tie & (name == "gold")))
        if stray.any():
            raise _stranger(some.columns.take(np.flatnonzero(stray)[:1]).frame().iloc[0], name)
    factors = {name: rule.factor(some, verdict_of if rule.verdict else call_of) for name, rule in by_name.items()}
    return {name: Factor(factor.code[codes.code], factor.labels) for name, factor in factors.items()}


def require(present: list[str], pattern: Pattern, measure: str, stimulus: str | None = None) -> None:
    """Refuse a frame without the columns that a measure counts."""
    answer = answer_column(present, OUTCOMES if "shown_at" in pattern.columns else ANSWERS)
    wanted = required("preferences") if pattern.frame == "preferences" else ["judge", answer]
    missing = [c for c in [*wanted, *pattern.needs] if c not in present]
    missing += [c for c in pattern.columns if c in (*UNIT_COLUMNS, "shown_at") and c not in present]
    if missing:
        missing = list(dict.fromkeys(missing))
        them, counts = "it" if len(missing) == 1 else "them", ", ".join([*pattern.columns, "n"])
        absent = f"a column {missing[0]!r}" if len(missing) == 1 else f"columns {', '.join(map(repr, missing))}"
        raise DesignError(
            f"{measure} needs {', '.join(missing)}. Columns: {', '.join(present)}. Give a {pattern.frame} frame with "
            f"{them}, or a tally with the columns {counts}.",
            problem=f"needs {absent}",
        )
    if (pattern.stimulus or stimulus) and "stimulus" not in present:
        about = stimulus or " or ".join(pattern.stimulus)
        instead = " For swap consistency of ordinary pairs use consistency()." if measure == "delta0" else ""
        raise DesignError(
            f"{measure} is about {about} stimuli, and the frame has no column 'stimulus' that marks them." + instead
        )


def _of_stimuli(data: FrameT, wanted: tuple[str, ...], measure: str) -> FrameT:
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


def _refuse_strangers(data: LazyFrame, pattern: Pattern) -> None:
    """The better, the target or the gold candidate must be one of the two that were shown."""
    for name in pattern.needs:
        candidate = _text(name)
        is_candidate = (candidate == _text("first")) | (candidate == _text("second"))
        if name == "gold":
            is_candidate = is_candidate | (candidate == "tie")
        stray = data.filter(candidate.is_null() | ~is_candidate).select("item", "first", "second", name).head(1)
        row = stray.collect(backend="pandas").to_native()
        if len(row):
            raise _stranger(row.iloc[0], name)


def _stranger(row: Column, name: str) -> SchemaError:
    return SchemaError(
        f"{name!r} is {row[name]!r} where the candidates are {row['first']!r} and {row['second']!r} (item "
        f"{row['item']}). It must be one of them{', or tie' if name == 'gold' else ''}; leave rows without "
        "it out."
    )


def _text(column: str) -> nw.Expr:
    """A column as text, so that categories of two columns can be compared."""
    return nw.col(column).cast(nw.String)


#: What a call says, in the order of :class:`_Call`, and the answers that say it; None: there is none.
_ANSWERS = {"invalid": ("invalid", None), "tie": ("tie", "abstain"), "first": ("first",), "second": ("second",)}


#: A mask in memory, an expression of a lazy frame.
_Case = Any


class _Call(NamedTuple):
    """What is true of a call: masks in memory, expressions of a lazy frame."""

    invalid: _Case
    tie: _Case
    first: _Case  # the candidate shown first was chosen
    second: _Case
    unnamed: _Case  # the column of a candidate that is named beside is empty
    is_first: _Case  # that candidate was shown first
    is_second: _Case
    is_tie: _Case


class _Verdict(NamedTuple):
    """What is true of a number that is a verdict, or its label."""

    missing: _Case
    one: _Case
    zero: _Case
    right: _Case  # it is the gold score


class _Of(str):
    """A column whose own label is taken, as text."""

    __slots__ = ()


#: Labels of a column that is made from others, each with when it is taken; the first that is true counts.
_Cases = list[tuple[str, _Case]]


class PatternRule(NamedTuple):
    """A pattern column that is made from others of a frame."""

    cases: Callable[[Any], _Cases]
    otherwise: str
    of: str  # the candidate beside the choice, or the number that is a verdict
    verdict: bool = False

    def expression(self) -> nw.Expr:
        """The column of a lazy frame."""
        result = self._lazy_label(self.otherwise)
        for label, case in reversed(self.cases((_lazy_verdict if self.verdict else _lazy_call)(self.of))):
            result = nw.when(case).then(self._lazy_label(label)).otherwise(result)
        return result

    def _lazy_label(self, label: str) -> nw.Expr:
        if not isinstance(label, _Of):
            return nw.lit(label)
        return nw.col(label).cast(nw.Float64).cast(nw.String) if self.verdict else _text(label)

    def factor(self, study: Study, facts: Callable[[str], _Call | _Verdict]) -> Factor:
        """The column of a frame in memory; `facts`: what is true of its calls, or verdicts, beside a column."""
        labels: list[str | None] = []

        def code(label: str) -> NDArray[np.int32]:
            factor = study.columns[label] if isinstance(label, _Of) else Factor(np.zeros(1, np.int8), [label])
            start = len(labels)
            number = float if self.verdict and isinstance(label, _Of) else str
            labels.extend(None if x is None else str(number(x)) for x in factor.labels)
            return start + factor.code.astype(np.int32)

        cases = self.cases(facts(self.of))  # a verdict that is no number is refused here
        result = np.broadcast_to(code(self.otherwise), len(study.columns))
        for label, case in reversed(cases):
            result = np.where(case, code(label), result)
        return Factor(*ranked_texts(labels)).at(result)


def _call(study: Study, of: str) -> _Call:
    choice, (first, second, _) = study.columns["choice"], study.shown
    place, is_tie = study.named(of or "choice"), study.columns[of or "choice"].among("tie")
    answers = [choice.among(*words) for words in _ANSWERS.values()]
    return _Call._make([*answers, place == -2, place == first, place == second, is_tie])


def _lazy_call(of: str) -> _Call:
    choice, column = _text("choice"), _text(of or "choice")
    invalid, *answers = (one_of(choice, filter(None, words)) for words in _ANSWERS.values())
    beside = [column.is_null(), column == _text("first"), column == _text("second"), column == "tie"]
    return _Call._make([choice.is_null() | invalid, *answers, *beside])


def _verdict(study: Study, column: str) -> _Verdict:
    value, gold = (numbers_of(study.columns.series(c)) for c in (column, "gold" if "gold" in study.columns else column))
    return _Verdict(np.isnan(value), value == 1, value == 0, value == gold)


def _lazy_verdict(column: str) -> _Verdict:
    value = nw.col(column).cast(nw.Float64)
    return _Verdict(value.is_null() | value.is_nan(), value == 1, value == 0, value == nw.col("gold").cast(nw.Float64))


def _lazy_place(answer: str) -> nw.Expr:
    """The place of the chosen option, none where there is no answer."""
    there = where_answered(_text(answer)) if answer == "answer" else ~_lazy_verdict(answer).missing
    return nw.when(there).then(nw.col("shown_at").cast(nw.Float64)).alias("shown_at")


def _place(study: Study) -> Factor:
    """:func:`_lazy_place` of a frame in memory."""
    answer, place = study.columns.of([answer_column(study.names, OUTCOMES), "shown_at"])
    there = has_answer(answer.labels)[answer.code]
    labels = [*(x for x in place.labels if x is not None), None]
    return Factor(np.where(there, place.code, len(labels) - 1).astype(np.int32), labels)


def rules(pattern: Pattern, present: Sequence[str]) -> dict[str, PatternRule]:
    """The pattern columns that are made from others of a frame with these columns."""
    if pattern.frame == "ratings":
        return _rules_of_verdicts(pattern, present)
    if "target_slot" in pattern.columns:
        return {"target_slot": PatternRule(lambda c: [("first", c.is_first)], "second", "better")}
    if pattern.unit not in ("call", "change") or "outcome" not in pattern.columns or "opponent" in pattern.columns:
        return {}
    choice = _Of("choice")
    if pattern.against is None and "stimulus" not in pattern.columns:
        return {"outcome": PatternRule(_chosen, choice, "")}
    if pattern.against is None:
        has_better = "better" in present
        return {
            "outcome": PatternRule(
                _against_better if has_better else _preferred, choice, "better" if has_better else ""
            )
        }
    candidate, hit, miss = pattern.against
    if candidate != "gold":
        return {"outcome": PatternRule(lambda c: [*_no_side(c), *_against(c, hit, miss)], choice, candidate)}
    beside = {
        "answer": PatternRule(lambda c: [*_no_side(c), ("first", c.first), ("second", c.second)], choice, candidate),
        "gold_answer": PatternRule(lambda c: [("first", c.is_first), ("second", c.is_second)], "tie", candidate),
    }
    return {"outcome": PatternRule(_against_gold, choice, candidate)} | {name: beside[name] for name in pattern.beside}


def _rules_of_verdicts(pattern: Pattern, present: Sequence[str]) -> dict[str, PatternRule]:
    """A verdict is right by its own value, or compared with the gold; beside a label both are yes or no.

    Another number stays as it is, and is refused when counted.
    """

    def yes_or_no(column: str, missing: str) -> PatternRule:
        if column not in present:
            return PatternRule(lambda _: [], missing, "score", verdict=True)
        words = PatternRule(lambda v: [(missing, v.missing), ("yes", v.one), ("no", v.zero)], _Of(column), column)
        return words._replace(verdict=True)

    if "label" in pattern.columns:
        return {"verdict": yes_or_no("score", "invalid"), "label": yes_or_no("gold", "none")}
    if "score" not in present:
        raise DesignError(
            f"A verdict is right or wrong, and these are means over runs. Columns: {', '.join(present)}. Give one "
            "row a verdict.",
            problem="needs single verdicts, and these are means over runs",
        )
    if "gold" in present:
        cases = PatternRule(lambda v: [("invalid", v.missing), ("correct", v.right)], "wrong", "score", verdict=True)
    else:
        cases = PatternRule(
            lambda v: [("invalid", v.missing), ("correct", v.one), ("wrong", v.zero)], _Of("score"), "score", True
        )
    return {"outcome": cases}


def _no_side(c: _Call) -> _Cases:
    return [("invalid", c.invalid), ("tie", c.tie)]


def _chosen(c: _Call) -> _Cases:
    """The candidate that was chosen, in either slot."""
    return [*_no_side(c), (_Of("first"), c.first), (_Of("second"), c.second)]


def _against(c: _Call, hit: str, miss: str) -> _Cases:
    return [(hit, (c.first & c.is_first) | (c.second & ~c.is_first)), (miss, c.first | c.second)]


def _preferred(c: _Call) -> _Cases:
    return [*_no_side(c), ("preference", c.first | c.second)]


def _against_better(c: _Call) -> _Cases:
    """Right or wrong if one candidate is better, else a preference."""
    return [*((label, case & ~c.unnamed) for label, case in _against(c, "correct", "wrong")), *_preferred(c)]


def _against_gold(c: _Call) -> _Cases:
    """A tie is correct only where the gold is a tie; elsewhere it is a tie."""
    right = (c.first & c.is_first) | (c.second & ~c.is_first)
    return [
        ("invalid", c.invalid),
        ("correct", c.tie & c.is_tie),
        ("tie", c.tie),
        ("correct", right & ~c.is_tie),
        ("wrong", c.first | c.second),
    ]


def coded_gold(data: LazyFrame) -> tuple[LazyFrame, dict[tuple[str, ...], nw.Expr]]:
    """Calls of a lazy frame as numbers, and (outcome, answer, answer that is right) -> the calls with them.

    A call whose gold is neither candidate nor a tie is none of them.
    """
    choice, gold = _text("choice"), _text("gold")
    answers, right = ("first", "second", "tie", "invalid"), ("first", "second", "tie")
    code: nw.Expr = nw.lit(-9)
    for i, spellings in enumerate((["first"], ["second"], ["tie", "abstain"], ["invalid"])):
        code = nw.when(one_of(choice, spellings)).then(nw.lit(3 * i)).otherwise(code)
    code = nw.when(choice.is_null()).then(nw.lit(9)).otherwise(code)
    slot = nw.when(gold == "tie").then(nw.lit(2)).otherwise(nw.lit(100))
    slot = nw.when(gold == _text("second")).then(nw.lit(1)).otherwise(slot)
    slot = nw.when(gold == _text("first")).then(nw.lit(0)).otherwise(slot)
    of_answers: dict[tuple[str, ...], nw.Expr] = {}
    for i, j in np.ndindex(len(answers), len(right)):
        decided = "correct" if answers[i] == right[j] else answers[i] if i > 1 else "wrong"
        of_answers[decided, answers[i], right[j]] = nw.col("_code") == 3 * i + j
    return data.with_columns((code + slot).alias("_code")), of_answers


def refuse_unknown_gold(data: Frame) -> None:
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
