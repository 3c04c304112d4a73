"""Whether a judge repeats its verdict in the other order, or when asked again: :func:`consistency`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats.counting.clustering import Cluster
from judgestats.counting.counts import Counts
from judgestats.counting.judge_answers import ABOUT
from judgestats.counting.splitting import refuse_splits, splits_of
from judgestats.counting.study import Calls, Study
from judgestats.counting.tallies import clustered, count
from judgestats.defaults import CONF_LEVEL
from judgestats.errors import DesignError, SchemaError
from judgestats.metrics.bias.design_flags import flag_forced
from judgestats.metrics.measure_registry import Measure, Term
from judgestats.metrics.requirements import values_of
from judgestats.results import estimates
from judgestats.schema.classes import class_codes
from judgestats.schema.coding import combine, numbers_of
from judgestats.schema.columns import COUNTS, UNIT_COLUMNS, By, Kind, N, answer_column, grouping, required
from judgestats.schema.factors import Factor, Factors
from judgestats.typing import Floats, Ints, Mask, Record

#: Column of each answer in a table of counts; an abstention is a tie.
_ANSWERS = {"first": 0, "second": 1, "tie": 2, "abstain": 2, "invalid": 3}


#: What is no trial, by ``missing=``.
_WITHOUT = {"drop": "pair(s) without two valid answers", "agrees": "pair(s) without a valid answer", "same": "pair(s)"}


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
    classes=True,
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
        Preferences, or over repeats ratings (the same score, verdict of right or wrong, or class). Or, over orders, a
        tally: ``judge, forward, reverse, n``, each answer *by slot*, ``forward`` being one order and ``reverse`` the
        other. Over repeats a column ``n`` counts identical answers.
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
        Column that pairs share, by which intervals are clustered. ``"auto"`` detects it (``item``, say) and names it in
        ``method``. False treats all pairs as independent, with a flag where they are not. Comparisons of repeats share
        calls: by default they are clustered by the column that the calls share.
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
    A judge of MT-Bench that chooses what is shown second; and counts, with an answer that is missing:

    >>> from judgestats import datasets
    >>> calls = datasets.load("mtbench_position").query("judge == 'gemini-pro'")
    >>> consistency(calls)[["term", "estimate", "conf_low", "conf_high", "n"]].round(3)
               term  estimate  conf_low  conf_high      n
    0   consistency     0.657     0.553      0.748  286.0
    1   first_twice     0.017     0.005      0.054  286.0
    2  second_twice     0.238     0.178      0.311  286.0
    3      both_tie     0.007     0.001      0.079  286.0
    4     one_sided     0.087     0.047      0.156  286.0
    >>> import pandas as pd
    >>> counts = pd.DataFrame({"judge": "g", "forward": ["first", "first", "tie", "tie", "first"],
    ...                        "reverse": ["second", "first", "tie", "first", "missing"], "n": [20, 8, 6, 4, 2]})
    >>> consistency(counts, missing="agrees")[["term", "estimate", "n"]].head(1)
              term  estimate     n
    0  consistency       0.7  40.0
    """
    if over == "replicate":
        counts, _ = repeats(calls, by, cluster)
        return estimates(rates_of_repeats(counts.inferred(conf_level), missing, unit), counts.groups)
    counts = count(calls, "consistency", by, cluster=cluster, merged=True).inferred(conf_level)
    answers = {
        answer: [counts.among(c, answer) for c in ("forward", "reverse")] for answer in ("first", "second", "tie")
    }
    answered = sum(np.logical_or.reduce(side).astype(int) for side in zip(*answers.values(), strict=True))
    first_twice, second_twice, both_tie = (one & two for one, two in answers.values())
    same = both_tie | ((answered == 2) & ~first_twice & ~second_twice & ~np.logical_or(*answers["tie"]))
    trial, per_count = _trials(answered, missing, unit)
    options: Record = {"calls_per_count": per_count, "left_out": {_WITHOUT[missing]: trial == 0}}
    hits = {
        "consistency": _agreeing(answered, same, missing),
        "first_twice": first_twice,
        "second_twice": second_twice,
        "both_tie": both_tie,
        "one_sided": (answered == 2) & np.logical_xor(*answers["tie"]),
    }
    rows = [row for term, hit in hits.items() for row in counts.rates(term, hit, trial, **options)]
    return estimates(flag_forced(rows, calls, counts.groups, ("both_tie", "one_sided")), counts.groups)


def rates_of_repeats(counts: Counts, missing: str = "drop", unit: str = "pair") -> list[Record]:
    """Share of comparisons of repeats with the same answer, of :func:`repeats`."""
    relation = counts.columns["relation"]
    answered = np.array([_RELATIONS[x] for x in relation.labels], dtype=int)[relation.code]
    trial, per_count = _trials(answered, missing, unit)
    left_out = {_WITHOUT[missing].replace("pair", "comparison"): trial == 0}
    agree = _agreeing(answered, counts.among("relation", "equal"), missing)
    return counts.rates("consistency", agree, trial, calls_per_count=per_count, left_out=left_out)


def _trials(answered: Ints, missing: str, unit: str) -> tuple[Floats, int]:
    """Weight of each comparison, as a share of the calls per count; and the calls per count."""
    least = {"drop": 2, "agrees": 1, "same": 0}[missing]
    counted = (answered >= least).astype(float)
    if unit == "pair":
        return counted, 1
    return counted * (answered / 2 if missing == "agrees" else 1.0), 2


def _agreeing(answered: Ints, equal: Mask, missing: str) -> Mask:
    """Which comparisons count as the same answer."""
    agree = (answered == 2) & equal
    if missing == "agrees":
        agree |= answered == 1
    if missing == "same":
        agree |= answered == 0
    return np.asarray(agree, dtype=bool)


def repeats(calls: Calls, by: By, cluster: Cluster, keep: Sequence[str] = ()) -> tuple[Counts, list[str]]:
    """Comparisons of repeats by their relation, and the columns whose combinations are asked again."""
    study = Study.of(calls)
    present = study.names
    kind: Kind = "ratings" if {"score", "correct", "answer"} & {*present} and "choice" not in present else "preferences"
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
    study.refuse_undeclared(groups, kind)
    study, clusters = clustered(study, groups, cluster)
    if not clusters.columns and cluster == "auto":
        clusters = replace(clusters, columns=("item",))
    keys = list(dict.fromkeys([*groups, *clusters.columns, *keep]))
    if kind == "preferences":
        about = ["item", "first", "second", *(c for c in UNIT_COLUMNS if c in present and c != "replicate")]
    else:
        about = [c for c in ABOUT[kind] if c in present]
        refuse_splits(splits_of(study, [*keys, *about]), [*keys, *about])
    unit = list(dict.fromkeys([*about, *keys]))
    answer = "choice" if kind == "preferences" else answer_column(present, ("score", "correct", "answer"))
    study = study.in_memory([*unit, answer, *(c for c in ("replicate", COUNTS) if c in present)])
    if "replicate" in study.columns and COUNTS not in study.columns:
        again = len(study.columns) - study.columns.n_distinct([*unit, "replicate"])
        if again:
            raise DesignError(
                f"{again:,} calls repeat a call with the same replicate number. Number repeats in 'replicate', or name "
                "the column that distinguishes them in by=."
            )
    return Counts(*_pairs_of_repeats(study, unit, keys, answer), tuple(groups), clusters), unit


def _pairs_of_repeats(study: Study, unit: list[str], keys: list[str], column: str) -> tuple[Factors, Floats]:
    """Pairs of repeats by relation: with c calls of an answer, c (c - 1) / 2 pairs are equal."""
    codes = study.columns.codes(unit)
    if column == "choice":
        choice = study.columns[column]
        unknown = [x for x in pd.unique(study.columns.series(column).astype(object)) if x not in _ANSWERS]
        if unknown:
            raise SchemaError(f"'choice' has {unknown[0]!r}. Allowed: {', '.join(_ANSWERS)}.")
        answer = np.array([_ANSWERS.get(x, 0) for x in choice.labels], dtype=np.int64)[choice.code]
        is_valid = answer != _ANSWERS["invalid"]
    else:
        values = study.columns.series(column)
        coded = class_codes(values)[0] if column == "answer" else pd.factorize(numbers_of(values))[0]
        answer = coded.astype(np.int64)
        is_valid = answer >= 0
    weight = study.counts
    valid, invalid = (np.bincount(codes.code, weight * mask, codes.size) for mask in (is_valid, ~is_valid))
    same = combine(
        [(codes.code[is_valid], codes.size), (answer[is_valid], int(answer.max(initial=0)) + 1)], int(is_valid.sum())
    )
    times = np.bincount(same.code, weight[is_valid], same.size)
    equal = np.bincount(codes.code[is_valid][same.first], times * (times - 1) / 2, codes.size)
    pairs = {
        "different": valid * (valid - 1) / 2 - equal,
        "equal": equal,
        "none valid": invalid * (invalid - 1) / 2,
        "one valid": valid * invalid,
    }
    where = study.columns.take(np.tile(codes.first, len(pairs)))
    relation = Factor(np.repeat(np.arange(len(pairs), dtype=np.int8), codes.size), pd.Index(list(pairs), dtype=object))
    return where.but(relation=relation).counted([*keys, "relation"], np.concatenate(list(pairs.values())))
