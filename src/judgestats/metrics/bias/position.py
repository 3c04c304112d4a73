"""Position bias, rates of ties and invalid answers, and consistency over orders and repeats."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame
from numpy.typing import NDArray

from judgestats import flags
from judgestats.counting.clustering import Cluster
from judgestats.counting.counts import Counts
from judgestats.counting.judge_answers import ABOUT
from judgestats.counting.selection import gathered
from judgestats.counting.splitting import refuse_splits, splits_of
from judgestats.counting.study import Study
from judgestats.counting.tallies import clustered, count
from judgestats.defaults import CONF_LEVEL
from judgestats.errors import DesignError, SchemaError
from judgestats.metrics.measure_registry import Measure, Term
from judgestats.metrics.requirements import values_of
from judgestats.results import estimates
from judgestats.schema.coding import Codes, combine
from judgestats.schema.columns import COUNTS, UNIT_COLUMNS, By, Kind, N, grouping, names, required
from judgestats.schema.declared_counts import counted
from judgestats.schema.factors import Factor, Factors
from judgestats.schema.opening import one_if
from judgestats.typing import Floats, Mask

# ---- Forced choices: the judge could not answer *tie* ----------------------------------------------------------------


def flag_forced(
    rows: list[dict[str, Any]], calls: Any, groups: Sequence[str], terms: Collection[str]
) -> list[dict[str, Any]]:
    """Flag the rows of `terms` in groups where all calls were forced choices (``ties_allowed`` False)."""
    data, present = Study.of(calls).data, Study.of(calls).names
    if "ties_allowed" not in present or not set(groups) <= set(present):
        return rows
    allowed = nw.col("ties_allowed").fill_null(True).cast(nw.Boolean).alias("_allowed")
    seen = data.lazy().select(*groups, allowed).unique().collect(backend="pandas").to_native()
    free = {tuple(key) for *key, allowed in seen.itertuples(index=False) if allowed}
    for row in rows:
        if row["term"] in terms and tuple(row[g] for g in groups) not in free:
            row["flag"] = flags.join(row["flag"], flags.FORCED_CHOICE)
    return rows


# ---- Order and candidate: can one be separated from the other? -------------------------------------------------------


def flag_confounded(
    rows: list[dict[str, Any]], calls: Any, groups: Sequence[str], terms: Collection[str]
) -> list[dict[str, Any]]:
    """Flag the rows of `terms` in groups where the candidates alone decide which is shown first.

    That is so where no two candidates are shown in both orders on any item, and one slot always has the same candidate,
    or half of the pairs of candidates or more occur on several items.
    """
    study = Study.of(calls)
    if not {"first", "second", "item", *groups} <= {*study.names}:
        return rows
    if study.lazy:
        where = _confounded_there(study.data, groups, {tuple(str(row[g]) for g in groups) for row in rows})
    else:
        where = study.once(("confounded", *groups), lambda: _confounded(study, groups))
    for row in rows:
        if row["term"] in terms and tuple(str(row[g]) for g in groups) in where:
            row["flag"] = flags.join(row["flag"], flags.ORDER_CONFOUNDED)
    return rows


def _confounded(study: Study, groups: Sequence[str]) -> set[tuple[str, ...]]:
    """Groups, as text, where order and candidate cannot be separated."""
    group, item = study.columns.codes(groups), study.columns["item"]
    first, second, names = study.shown
    low, high = np.minimum(first, second), np.maximum(first, second)

    def several(values: Any, of: Codes) -> Mask:
        """Whether the rows of each number have two values or more."""
        result = np.zeros(of.size, dtype=bool)
        result[of.code[values != values[of.first][of.code]]] = True
        return result

    sizes = [(group.code, group.size), (low + 1, len(names) + 1), (high + 1, len(names) + 1)]
    pairs = combine(sizes, len(study.columns))
    of_pair = group.code[pairs.first]
    turned = np.bincount(of_pair, several(first > second, pairs), group.size)
    recurring = np.bincount(of_pair, several(item.code, pairs), group.size)
    one_candidate = ~(several(first, group) & several(second, group))
    confounded = (turned == 0) & (one_candidate | (2 * recurring >= np.bincount(of_pair, minlength=group.size)))
    labels = study.columns.take(group.first[confounded]).frame(groups)
    return {tuple(map(str, key)) for key in labels.itertuples(index=False, name=None)}


def _confounded_there(data: Any, groups: Sequence[str], asked: set[tuple[str, ...]]) -> set[tuple[str, ...]]:
    """:func:`_confounded` of a lazy frame: none where some rows show each group two candidates in both orders."""
    some = _orders_there(data.head(SOME), groups)
    both = some.loc[some["_turned"] == 1, [*groups]].itertuples(index=False, name=None)
    if asked <= {tuple(map(str, key)) for key in both}:
        return set()
    table = _orders_there(data, groups)
    one_candidate = (table["_first0"] == table["_first1"]) | (table["_second0"] == table["_second1"])
    confounded = (table["_turned"] == 0) & (one_candidate | (2 * table["_recurring"] >= table["_pairs"]))
    return {tuple(map(str, key)) for key in table.loc[confounded, [*groups]].itertuples(index=False, name=None)}


def _orders_there(data: Any, groups: Sequence[str]) -> pd.DataFrame:
    """How candidates are shown in each group, in the engine: least and greatest in place of several values."""
    first, second, item = (nw.col(c).cast(nw.String).fill_null("") for c in ("first", "second", "item"))
    low, high = (nw.when(first <= second).then(a).otherwise(b) for a, b in ((first, second), (second, first)))
    turned = one_if(first > second)
    shown = {"_low": low, "_high": high, "_turned": turned, "_first": first, "_second": second, "_item": item}
    calls = data.select(*groups, *(values.alias(name) for name, values in shown.items()))
    ends = [(nw.col(c).min().alias(f"{c}0"), nw.col(c).max().alias(f"{c}1")) for c in [*shown][2:]]
    pairs = calls.group_by(*groups, "_low", "_high").agg(*itertools.chain(*ends))
    recurring = one_if(nw.col("_item0") != nw.col("_item1")).alias("_recurring")
    turned = one_if(nw.col("_turned0") != nw.col("_turned1")).alias("_turned")
    least, greatest = (nw.col(f"_first{i}", f"_second{i}") for i in (0, 1))
    of_groups = pairs.with_columns(recurring, turned).group_by(*groups)
    found = of_groups.agg(
        nw.col("_turned").max(), nw.col("_recurring").sum(), nw.len().alias("_pairs"), least.min(), greatest.max()
    )
    table: pd.DataFrame = found.collect(backend="pandas").to_native()
    return table


# ---- Does a judge repeat its answer: in the other order, or when asked again? ----------------------------------------

#: Rows of a lazy frame that are looked at before all of them are.
SOME = 50_000
#: Column of each answer in a table of counts; an abstention is a tie.
_ANSWERS = {"first": 0, "second": 1, "tie": 2, "abstain": 2, "invalid": 3}
#: What is no trial, by ``missing=``.
_WITHOUT = {
    "drop": "pair(s) without two valid answers",
    "agrees": "pair(s) without a valid answer",
    "same": "pair(s)",
}
#: Relations of two repeated calls, with the number of valid answers.
_RELATIONS = {"equal": 2, "different": 2, "one valid": 1, "none valid": 0}


@Measure(
    "Is the verdict the same when asked again?", "bias", "P, counts", "Wilson, clustered", "ours",
    frames=("preferences",), needs=(values_of("replicate"),), arguments=lambda *_: {"over": "replicate"},
    sheet=("repeats",), name="consistency, over repeats",
    terms=(
        Term("repeat_consistency", "same answer when repeated", "pair", "pairs of repeats", "lower",
             "The judge repeats its answer when asked again."),
    ),
)  # fmt: skip
@Measure(
    "Is the verdict the same in the other order, or when asked again?", "bias", "P, counts", "Wilson, clustered",
    "ours; rule agrees: published position-bias logs", plot="forest", frames=("preferences",),
    nothing="every pair was judged in one order only: run each pair in both orders", sheet=("swap",),
    terms=(
        Term("consistency", "same verdict in both orders", "pair", "pairs", "lower",
             "The judge gives the same verdict in both orders."),
        Term("first_twice", "first slot twice", "pair", "pairs", "higher",
             "The judge picks the first slot in both orders."),
        Term("second_twice", "second slot twice", "pair", "pairs", "higher",
             "The judge picks the second slot in both orders."),
        Term("both_tie", "tie twice", "pair", "pairs", "no universal direction",
             "The judge calls a tie in both orders."),
        Term("one_sided", "tie in one order only", "pair", "pairs", "higher",
             "The judge picks a side in one order and calls a tie in the other."),
    ),
    have=("orders",),
    assumes="The two calls of a pair differ in nothing but the order; pairs are independent of each other.",
)  # fmt: skip
def consistency(
    calls: IntoFrame,
    *,
    over: Literal["order", "replicate"] = "order",
    missing: Literal["drop", "agrees", "same"] = "drop",
    unit: Literal["pair", "call"] = "pair",
    by: By = (),
    cluster: Cluster = "auto",
    conf_level: float = CONF_LEVEL,
) -> pd.DataFrame:
    """Share of pairs with the same verdict in both orders, or of repeats with the same answer.

    Parameters
    ----------
    calls : frame
        Preferences, or over repeats ratings (the same score). Or, over orders, a tally: ``judge, forward, reverse,
        n``, each answer *by slot*, ``forward`` being one order and ``reverse`` the other. Over repeats a column ``n``
        counts identical answers.
    over : {'order', 'replicate'}
        Compare the two orders of a pair, or every two of the calls that repeat each other (same judge, item,
        candidates, order and conditions; only ``replicate`` differs).
    missing : {'drop', 'agrees', 'same'}
        How a comparison with an invalid or missing answer counts. ``drop``: excluded. ``agrees``: the same, if there
        is one valid answer (the rule of the published position-bias logs). ``same``: a missing answer is a class of its
        own, so that two missing answers are the same and a single one is not.
    unit : {'pair', 'call'}
        ``call`` weights a comparison by its valid calls: 2, or 1 where ``agrees`` accepts a single valid answer. The
        published logs count so: 129 of 191.
    by : str or sequence of str
        Further grouping columns.
    cluster : "auto", str or False
        Column that pairs share, by which the interval is clustered. ``"auto"`` detects it and names it in ``method``.
        False treats all pairs as independent, with a flag where they are not. Comparisons of repeats share calls: by
        default they are clustered by the column that the calls share.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    pandas.DataFrame
        Per judge the term ``consistency`` (a tie equals a tie), and over orders the other outcomes: ``first_twice`` and
        ``second_twice`` (the same *slot* in both orders, whatever its candidate), ``one_sided`` (a tie in one order, a
        side in the other), and ``both_tie``, which is part of ``consistency``. All have the same ``n``, and
        ``consistency + first_twice + second_twice + one_sided`` is 1, except under ``missing='same'``, where pairs with
        one answer are in none of them. These are not false preferences, because the candidates may differ in quality.
        Where ties are not allowed, the terms of ties are flagged ``forced choice``.

    Raises
    ------
    DesignError
        If the order is not known, a call is repeated in the same order, or no column numbers the repeats.

    See Also
    --------
    position_bias : Preference for the slot shown first.
    delta0 : Parts of false preference between equals.

    Notes
    -----
    Over repeats with c calls of each answer among m: sum of c (c - 1) over sum of m (m - 1).

    Examples
    --------
    >>> import pandas as pd
    >>> counts = pd.DataFrame({"judge": "g", "forward": ["first", "first", "tie", "tie", "first"],
    ...                        "reverse": ["second", "first", "tie", "first", "missing"], "n": [20, 8, 6, 4, 2]})
    >>> consistency(counts)[["term", "estimate", "conf_low", "conf_high", "n"]].round(3)
               term  estimate  conf_low  conf_high     n
    0   consistency     0.684     0.525      0.809  38.0
    1   first_twice     0.211     0.111      0.363  38.0
    2  second_twice     0.000     0.000      0.092  38.0
    3      both_tie     0.158     0.074      0.304  38.0
    4     one_sided     0.105     0.042      0.241  38.0
    >>> consistency(counts, missing="agrees")[["term", "estimate", "n"]].head(1)
              term  estimate     n
    0  consistency       0.7  40.0
    """
    if over == "replicate":
        counts, _ = repeats(calls, by, cluster)
        relation = counts.columns["relation"]
        answered = np.array([_RELATIONS[x] for x in relation.labels], dtype=int)[relation.code]
        trial, per_count = _trials(answered, missing, unit)
        options: dict[str, Any] = {"left_out": {_WITHOUT[missing].replace("pair", "comparison"): trial == 0}}
        agree = _agreeing(answered, counts.among("relation", "equal"), missing)
        rows = counts.inferred(conf_level).rates("consistency", agree, trial, calls_per_count=per_count, **options)
        return estimates(rows, counts.groups)
    counts = count(calls, "consistency", by, cluster=cluster, merged=True).inferred(conf_level)
    answers = {
        answer: [counts.among(c, answer) for c in ("forward", "reverse")] for answer in ("first", "second", "tie")
    }
    answered = sum(np.logical_or.reduce(side).astype(int) for side in zip(*answers.values(), strict=True))
    first_twice, second_twice, both_tie = (one & two for one, two in answers.values())
    same = both_tie | ((answered == 2) & ~first_twice & ~second_twice & ~np.logical_or(*answers["tie"]))
    trial, per_count = _trials(answered, missing, unit)
    options = {"calls_per_count": per_count, "left_out": {_WITHOUT[missing]: trial == 0}}
    hits = {
        "consistency": _agreeing(answered, same, missing),
        "first_twice": first_twice,
        "second_twice": second_twice,
        "both_tie": both_tie,
        "one_sided": (answered == 2) & np.logical_xor(*answers["tie"]),
    }
    rows = [row for term, hit in hits.items() for row in counts.rates(term, hit, trial, **options)]
    return estimates(flag_forced(rows, calls, counts.groups, ("both_tie", "one_sided")), counts.groups)


def _trials(answered: NDArray[Any], missing: str, unit: str) -> tuple[Floats, int]:
    """Weight of each comparison, as a share of the calls per count; and the calls per count."""
    least = {"drop": 2, "agrees": 1, "same": 0}[missing]
    kept = (answered >= least).astype(float)
    if unit == "pair":
        return kept, 1
    return kept * (answered / 2 if missing == "agrees" else 1.0), 2


def _agreeing(answered: NDArray[Any], equal: NDArray[Any], missing: str) -> Mask:
    """Which comparisons count as the same answer."""
    agree = (answered == 2) & equal
    if missing == "agrees":
        agree |= answered == 1
    if missing == "same":
        agree |= answered == 0
    return np.asarray(agree, dtype=bool)


def repeats(calls: Any, by: By, cluster: Cluster, keep: Sequence[str] = ()) -> tuple[Counts, list[str]]:
    """Comparisons of repeats by their relation, and the columns whose combinations are asked again."""
    study = Study.of(calls)
    data, present = study.data, study.names
    kind: Kind = "ratings" if "score" in present and "choice" not in present else "preferences"
    lacking = [c for c in required("preferences") if c not in present] if kind == "preferences" else []
    if lacking:
        raise DesignError(
            f"consistency over='replicate' needs {', '.join(lacking)}. Columns: {', '.join(present)}. Give a "
            "preferences frame; the tally of both orders has no repeats."
        )
    if not {"replicate", COUNTS, N} & {*present}:
        raise DesignError(
            "consistency over='replicate' compares repeated calls, and no column identifies them. Number them in "
            "'replicate', or count identical answers: preferences(frame, counts=\"n\")."
        )
    groups = list(dict.fromkeys(["judge", *grouping(by, present)]))
    counted(data, groups, kind)
    study, found = clustered(study, groups, cluster)
    if not found.columns and cluster == "auto":
        found = replace(found, columns=("item",))
    keys = list(dict.fromkeys([*groups, *found.columns, *keep]))
    if kind == "preferences":
        about = ["item", "first", "second", *(c for c in UNIT_COLUMNS if c in present and c != "replicate")]
    else:
        about = [c for c in ABOUT[kind] if c in present]
        refuse_splits(splits_of(study.data.to_native(), [*keys, *about]), [*keys, *about])
    unit = list(dict.fromkeys([*about, *keys]))
    answer = "choice" if kind == "preferences" else "score"
    if study.lazy:
        numbers = [c for c in ("replicate", COUNTS) if c in present and c not in unit]
        study = Study.of(study.data.select(*unit, answer, *numbers).collect(backend="pandas").to_native())
    if "replicate" in study.columns and COUNTS not in study.columns:
        again = len(study.columns) - study.columns.codes([*unit, "replicate"]).size
        if again:
            raise DesignError(
                f"{again:,} calls repeat a call with the same replicate number. Number repeats in 'replicate', or name "
                "the column that distinguishes them in by=."
            )
    return Counts(*_compared(study, unit, keys, answer), tuple(groups), found), unit


def _compared(study: Study, unit: list[str], keys: list[str], column: str) -> tuple[Factors, Floats]:
    """Pairs of repeats by relation: with c calls of an answer, c (c - 1) / 2 pairs are equal."""
    codes, size = study.columns.codes(unit), len(study.columns)
    if column == "choice":
        choice = study.columns[column]
        unknown = [x for x in pd.unique(study.columns.series(column).astype(object)) if x not in _ANSWERS]
        if unknown:
            raise SchemaError(f"'choice' has {unknown[0]!r}. Allowed: {', '.join(_ANSWERS)}.")
        answer = np.array([_ANSWERS.get(x, 0) for x in choice.labels], dtype=np.int64)[choice.code]
        known = answer != _ANSWERS["invalid"]
    else:
        answer = pd.factorize(pd.to_numeric(study.columns.series(column)))[0]
        known = answer >= 0
    weight = np.ones(size) if study.weight is None else study.weight
    valid, invalid = (np.bincount(codes.code, weight * mask, codes.size) for mask in (known, ~known))
    same = combine([(codes.code[known], codes.size), (answer[known], int(answer.max(initial=0)) + 1)], int(known.sum()))
    times = np.bincount(same.code, weight[known], same.size)
    equal = np.bincount(codes.code[known][same.first], times * (times - 1) / 2, codes.size)
    pairs = {
        "different": valid * (valid - 1) / 2 - equal,
        "equal": equal,
        "none valid": invalid * (invalid - 1) / 2,
        "one valid": valid * invalid,
    }
    where = study.columns.take(np.tile(codes.first, len(pairs)))
    relation = Factor(np.repeat(np.arange(len(pairs), dtype=np.int8), codes.size), pd.Index(list(pairs), dtype=object))
    return where.but(relation=relation).counted([*keys, "relation"], np.concatenate(list(pairs.values())))


# ---- Which position does a judge prefer? -----------------------------------------------------------------------------


@Measure(
    "How often does each slot win, and how much more often the first?", "bias", "P, counts",
    "Wilson; difference: Newcombe, clustered: Tango", "ours", plot="answers", frames=("preferences",),
    sheet=("slots",),
    terms=(
        Term("first", "first slot", "call", "calls", "no universal direction",
             "The judge picks the candidate shown first."),
        Term("second", "second slot", "call", "calls", "no universal direction",
             "The judge picks the candidate shown second."),
        Term("tie", "", "call", "calls", "no universal direction", "The judge calls a tie."),
        Term("invalid", "", "call", "calls", "higher", "No verdict could be read."),
        Term("position_bias", "position bias", "call", "valid calls", "far from 0",
             "Share of first minus share of second: above 0 the judge prefers the first position.", neutral=0.0),
        Term("first_share_nontie", "first slot among non-ties", "call", "valid calls that are not ties", "far from 0.5",
             "Share of the first position among calls that are not ties.", neutral=0.5),
    ),
    assumes=(
        "Each candidate is shown as often first as second; in one order only, quality and position cannot be "
        "separated."
    ),
)  # fmt: skip
def position_bias(
    calls: IntoFrame, *, by: By = (), cluster: Cluster = "auto", conf_level: float = CONF_LEVEL, **model_arguments: Any
) -> pd.DataFrame:
    """Shares of the answers by position, and the preference for the first.

    Parameters
    ----------
    calls : frame
        Preferences with a known order, or a tally: ``judge, choice, n``.
    by : str or sequence of str
        Further grouping columns.
    cluster : "auto", str or False
        Column that calls share, by which the interval is clustered. ``"auto"`` detects it (``item``, say) and names it
        in ``method``. False treats all calls as independent, with a flag where they are not.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    pandas.DataFrame
        Per judge ``first``, ``second``, ``tie`` and ``invalid`` (shares of all calls; an abstention is a tie);
        ``position_bias``, the share of first minus the share of second among valid calls, in [-1, 1]; and
        ``first_share_nontie``, the share of first among calls that are not ties. ``n`` is the denominator.
        Where ties are not allowed, ``tie`` is flagged ``forced choice``. Where each candidate is always shown on the
        same side, the last two are flagged ``order and candidate confounded``.

    Raises
    ------
    DesignError
        If the order shown is not known, or for arguments of :func:`judgestats.models.position_bias_model`.

    See Also
    --------
    consistency : Same verdict in both orders, or when repeated.
    judgestats.models.position_bias_model : Position bias per judge, and pooled.

    Notes
    -----
    The interval of ``position_bias`` is Newcombe's for the difference of two shares of one sample, composed of Wilson's
    for each: it stays in [-1, 1] and has positive width. Where clustered it is Tango's (1998) with the effective n of
    the clusters: with both orders of each pair the pair is the unit, and a judge with the same verdict in both orders
    of all 350 pairs gets 0 ± .011. Only pairs shown in both orders separate position bias from candidates that happened
    to be better in their position.

    Examples
    --------
    >>> import pandas as pd
    >>> counts = pd.DataFrame({"judge": "g", "choice": ["first", "second", "tie", "invalid"], "n": [352, 79, 141, 4]})
    >>> position_bias(counts)[["term", "estimate", "conf_low", "conf_high", "n"]].round(3)
                     term  estimate  conf_low  conf_high      n
    0               first     0.611     0.571      0.650  576.0
    1              second     0.137     0.111      0.168  576.0
    2                 tie     0.245     0.211      0.282  576.0
    3             invalid     0.007     0.003      0.018  576.0
    4       position_bias     0.477     0.415      0.534  572.0
    5  first_share_nontie     0.817     0.777      0.850  431.0
    """
    if model_arguments:
        given = ", ".join(f"{name}=" for name in model_arguments)
        raise DesignError(
            f"position_bias() takes by=, cluster= and conf_level=, not {given}. It counts answers by position; the "
            "mixed model with attribute=, ties= and pooled= is models.position_bias_model()."
        )
    study = Study.of(calls)
    study.refuse_unknown_order()
    counts = count(study, "position_bias", by, cluster=cluster, merged=True).inferred(conf_level)
    answers = {
        term: counts.among("choice", *labels)
        for term, labels in (
            ("first", ["first"]),
            ("second", ["second"]),
            ("tie", ["tie", "abstain"]),
            ("invalid", ["invalid"]),
        )
    }
    rows = [row for term, hit in answers.items() for row in counts.rates(term, hit)]
    first, second, tie, invalid = answers.values()
    left_out = {"invalid call(s)": invalid}
    rows += counts.differences("position_bias", first, second, ~invalid, left_out=left_out)
    rows += counts.rates("first_share_nontie", first, first | second, left_out=left_out | {"tie(s)": tie})
    rows = flag_confounded(rows, study, counts.groups, ("position_bias", "first_share_nontie"))
    return estimates(flag_forced(rows, study, counts.groups, ("tie",)), counts.groups)


@Measure(
    "How often is the answer a tie, or invalid? (needs no order)", "bias", "P, counts", "Wilson, clustered", "ours",
    plot="forest",
    assumes="Calls of different items are independent of each other.",
)  # fmt: skip
def answer_rates(
    calls: IntoFrame,
    *,
    listed: IntoFrame | None = None,
    by: By = (),
    cluster: Cluster = "auto",
    conf_level: float = CONF_LEVEL,
) -> pd.DataFrame:
    """Tie and invalid rates, which need no order; and the shares of A and B, however often they were exchanged.

    Parameters
    ----------
    calls : frame
        Preferences, or a tally: ``judge, choice, n``.
    listed : frame, optional
        Which candidate of each pair is A and which is B: columns ``item``, ``first``, ``second``, as in the table that
        the plan was made of. Order of presentation does not matter then.
    by : str or sequence of str
        Further grouping columns.
    cluster : "auto", str or False
        Column that calls share, by which the interval is clustered. ``"auto"`` detects it (``item``, say) and names it
        in ``method``. False treats all calls as independent, with a flag where they are not.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    pandas.DataFrame
        Per judge ``tie`` (including abstentions) and ``invalid``, as shares of all calls; with `listed` also ``first``
        and ``second``, the shares of the candidates listed first and second.

    Raises
    ------
    DesignError
        If `listed` lacks a pair, or lists one both ways round.

    See Also
    --------
    position_bias : Preference for the slot shown first.
    validity_gates : Calls lost at each gate.

    Notes
    -----
    The verdicts of :func:`judgestats.aggregate` have no order, so that :func:`position_bias` refuses them. Table 3 of
    the debiasing paper prints A, B and ties of such verdicts, in the order of the benchmark's file, which is `listed`.

    Examples
    --------
    >>> counts = pd.DataFrame({"judge": "g", "choice": ["first", "tie", "abstain", "invalid"], "n": [5, 2, 1, 2]})
    >>> answer_rates(counts)[["term", "estimate", "n"]]
          term  estimate     n
    0      tie       0.3  10.0
    1  invalid       0.2  10.0
    """
    named = ("first", "second") if listed is not None else ()
    calls = calls if listed is None else _as_listed(calls, listed, names(by))
    counts = count(calls, "answer_rates", by, cluster=cluster, merged=True).inferred(conf_level)
    rows = [row for term in named for row in counts.rates(term, counts.among("choice", term))]
    rows += counts.rates("tie", counts.among("choice", "tie", "abstain"))
    rows += counts.rates("invalid", counts.among("choice", "invalid"))
    return estimates(flag_forced(rows, calls, counts.groups, ("tie",)), counts.groups)


def _as_listed(calls: Any, listed: Any, named: Sequence[str]) -> pd.DataFrame:
    """The calls with the candidates of each pair, and the answer, in the order in which `listed` has the pair."""
    table = gathered(calls, named).reset_index(drop=True)
    pairs = gathered(listed)
    columns = ["item", "first", "second"]
    for what, frame, needed in (("The frame", table, [*columns, "choice"]), ("listed=", pairs, columns)):
        if absent := [c for c in needed if c not in frame]:
            raise DesignError(f"{what} has no column {absent[0]!r}. It has: {', '.join(frame.columns)}.")
    listing = pairs[columns].astype(str).drop_duplicates()
    known = pd.Series(range(len(listing)), index=pd.MultiIndex.from_frame(listing))
    shown = table[columns].astype(str)
    as_shown, turned = (
        known.reindex(pd.MultiIndex.from_frame(shown[order])).to_numpy(dtype=float)
        for order in (columns, ["item", "second", "first"])
    )
    for wrong, words in (
        (np.isnan(as_shown) & np.isnan(turned), "is not in listed="),
        (~np.isnan(as_shown) & ~np.isnan(turned), "is in listed= both ways round"),
    ):
        if wrong.any():
            item, one, two = shown[wrong].iloc[0]
            raise DesignError(
                f"The pair {one!r}, {two!r} of item {item!r} {words} ({int(wrong.sum()):,} rows). List each pair once."
            )
    back = ~np.isnan(turned)
    other = {"first": "second", "second": "first"}
    choice = table["choice"].astype(object)
    exchanged = {a: table[a].astype(object).where(~back, table[b]) for a, b in other.items()}
    return table.assign(choice=choice.where(~back, choice.map(lambda c: other.get(c, c))), **exchanged)
