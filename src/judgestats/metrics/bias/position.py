"""Position bias, rates of ties and invalid answers, and consistency over orders and repeats."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame
from numpy.typing import NDArray

from judgestats import flags
from judgestats.defaults import CONF_LEVEL
from judgestats.errors import DesignError, SchemaError
from judgestats.metrics.measure_registry import Measure, Term, values_of
from judgestats.metrics.rates import rates, share_differences
from judgestats.results import estimates
from judgestats.schema.clustering import CLUSTERING, Cluster, column_of
from judgestats.schema.coding import codes_of, column_codes, count, hashed
from judgestats.schema.columns import COUNTS, By, Kind, N, grouping, names, required
from judgestats.schema.counting import clustered, merged_tally
from judgestats.schema.declared_counts import call_counts, counted
from judgestats.schema.opening import one_if
from judgestats.schema.pairing import UNIT_COLUMNS, refuse_unknown_order
from judgestats.schema.raters import ABOUT
from judgestats.schema.selection import gathered
from judgestats.schema.splitting import refuse_splits, splits_of

# ---- Forced choices: the judge could not answer *tie* ----------------------------------------------------------------


def flag_forced(
    rows: list[dict[str, Any]], calls: Any, groups: Sequence[str], terms: Collection[str]
) -> list[dict[str, Any]]:
    """Flag the rows of `terms` in groups where all calls were forced choices (``ties_allowed`` False)."""
    data = nw.from_native(calls)
    present = data.collect_schema().names()
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
    or half of the pairs of candidates or more occur on several items. Candidates with an id of their own on each item
    say nothing of it.
    """
    data = nw.from_native(calls)
    present = data.collect_schema().names()
    if not {"first", "second", "item", *groups} <= set(present):
        return rows
    labels, named = _shown_by_code(data, groups) if isinstance(data, nw.DataFrame) else (None, _shown(data, groups))
    keys = [k for k in named.collect_schema().names() if k[1:].isdigit()]

    def ends(column: str) -> list[Any]:
        return [nw.col(column).min().alias(f"{column}_min"), nw.col(column).max().alias(f"{column}_max")]

    def differ(column: str) -> Any:
        return one_if(nw.col(f"{column}_min") != nw.col(f"{column}_max")).alias(column)

    pairs = named.group_by(*keys, "_low", "_high").agg(*ends("_turned"), *ends("_item"))
    pairs = pairs.select(*keys, differ("_turned"), differ("_item")).group_by(*keys)
    of_pairs = pairs.agg(nw.col("_turned").max(), nw.col("_item").sum().alias("_recurring"), nw.len().alias("_pairs"))
    slots = named.group_by(*keys).agg(*ends("_first"), *ends("_second"))
    of_slots = slots.select(*keys, differ("_first"), differ("_second"))
    tables = [t.collect(backend="pandas").to_native().set_index(keys) for t in (of_pairs, of_slots)]
    found = pd.concat(tables, axis=1)
    one_candidate = found[["_first", "_second"]].min(axis=1) == 0
    confounded = (found["_turned"] == 0) & (one_candidate | (2 * found["_recurring"] >= found["_pairs"]))
    where = {key if isinstance(key, tuple) else (key,) for key in found.index[confounded.to_numpy(dtype=bool)]}
    where = where if labels is None else {labels[number] for (number,) in where}
    for row in rows:
        if row["term"] in terms and tuple(row[g] for g in groups) in where:
            row["flag"] = flags.join(row["flag"], flags.ORDER_CONFOUNDED)
    return rows


def _shown(data: Any, groups: Sequence[str]) -> Any:
    """Groups (``_0``, ``_1``, ...), the two candidates by name and by slot, whether turned, and item of each call."""
    first, second, item = (nw.col(c).cast(nw.String).fill_null("") for c in ("first", "second", "item"))
    return data.lazy().select(
        *(nw.col(group).alias(f"_{i}") for i, group in enumerate(groups)),
        nw.when(first <= second).then(first).otherwise(second).alias("_low"),
        nw.when(first <= second).then(second).otherwise(first).alias("_high"),
        one_if(first > second).alias("_turned"), first.alias("_first"), second.alias("_second"), item.alias("_item"),
    )  # fmt: skip


def _shown_by_code(data: nw.DataFrame[Any], groups: Sequence[str]) -> tuple[list[tuple[Any, ...]], Any]:
    """:func:`_shown` of a frame in memory with codes in place of labels; and the labels of the groups."""
    table = data.select(*dict.fromkeys([*groups, "first", "second", "item"])).to_pandas()
    group, item = codes_of(table, groups), column_codes(table["item"])[0]
    (first, one), (second, two) = hashed(table["first"]), hashed(table["second"])
    code = {name: i for i, name in enumerate(dict.fromkeys(map(str, [*one, *two])))}
    first, second = (np.array([*(code[str(n)] for n in names), -1])[c] for c, names in ((first, one), (second, two)))
    columns = {"_0": group.code, "_low": np.minimum(first, second), "_high": np.maximum(first, second)}
    columns |= {"_turned": (first > second).astype(int), "_first": first, "_second": second, "_item": item}
    labels = list(table[[*groups]].iloc[group.first].itertuples(index=False, name=None))
    return labels, nw.from_native(pd.DataFrame(columns), eager_only=True).lazy()


# ---- Does a judge repeat its answer: in the other order, or when asked again? ----------------------------------------

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
        table, groups, _ = repeats(calls, by, cluster)
        answered = table["relation"].map(_RELATIONS).to_numpy(dtype=int)
        trial, per_count = _trials(answered, missing, unit)
        options: dict[str, Any] = {"conf_level": conf_level, "cluster": column_of(table), "calls_per_count": per_count}
        options["left_out"] = {_WITHOUT[missing].replace("pair", "comparison"): trial == 0}
        agree = _agreeing(answered, (table["relation"] == "equal").to_numpy(), missing)
        return estimates(rates(table, groups, "consistency", agree, trial, **options), groups)
    table = merged_tally(calls, "consistency", by, cluster=cluster)
    groups = list(dict.fromkeys(["judge", *grouping(by, table.columns)]))
    forward, reverse = (table[c].to_numpy(dtype=object) for c in ("forward", "reverse"))
    answered = 2 - np.isin(forward, ["invalid", "missing"]).astype(int) - np.isin(reverse, ["invalid", "missing"])
    ties = (forward == "tie").astype(int) + (reverse == "tie")
    alike = forward == reverse
    both = answered == 2
    trial, per_count = _trials(answered, missing, unit)
    options = {"conf_level": conf_level, "cluster": column_of(table), "calls_per_count": per_count}
    options["left_out"] = {_WITHOUT[missing]: trial == 0}
    hits = {
        "consistency": _agreeing(answered, (ties == 2) | ((ties == 0) & ~alike), missing),
        "first_twice": both & alike & (forward == "first"),
        "second_twice": both & alike & (forward == "second"),
        "both_tie": ties == 2,
        "one_sided": both & (ties == 1),
    }
    rows = []
    for term, hit in hits.items():
        rows += rates(table, groups, term, hit, trial, **options)
    return estimates(flag_forced(rows, calls, groups, ("both_tie", "one_sided")), groups)


def _trials(answered: NDArray[Any], missing: str, unit: str) -> tuple[NDArray[np.float64], int]:
    """Weight of each comparison, as a share of the calls per count; and the calls per count."""
    least = {"drop": 2, "agrees": 1, "same": 0}[missing]
    kept = (answered >= least).astype(float)
    if unit == "pair":
        return kept, 1
    return kept * (answered / 2 if missing == "agrees" else 1.0), 2


def _agreeing(answered: NDArray[Any], equal: NDArray[Any], missing: str) -> NDArray[np.bool_]:
    """Which comparisons count as the same answer."""
    agree = (answered == 2) & equal
    if missing == "agrees":
        agree |= answered == 1
    if missing == "same":
        agree |= answered == 0
    return np.asarray(agree, dtype=bool)


def repeats(
    calls: Any, by: By, cluster: Cluster, keep: Sequence[str] = ()
) -> tuple[pd.DataFrame, list[str], list[str]]:
    """Number of comparisons of repeats by relation, per group and cluster.

    `keep`: further columns that keep comparisons apart. Returns the comparisons with a count ``n``, the grouping
    columns, and the columns whose combinations are asked again.
    """
    data = nw.from_native(calls)
    present = data.collect_schema().names()
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
    data, kept, note = clustered(data, groups, cluster)
    if not kept and cluster == "auto":
        kept = ["item"]
        note["columns"] = kept
    keys = list(dict.fromkeys([*groups, *kept, *keep]))
    if kind == "preferences":
        about = ["item", "first", "second", *(c for c in UNIT_COLUMNS if c in present and c != "replicate")]
    else:
        about = [c for c in ABOUT[kind] if c in present]
        refuse_splits(splits_of(data.to_native(), [*keys, *about]), [*keys, *about])
    unit = list(dict.fromkeys([*about, *keys]))
    answer = "choice" if kind == "preferences" else "score"
    numbers = [c for c in ("replicate", COUNTS) if c in present and c not in unit]
    table = data.lazy().select(*unit, answer, *numbers).collect(backend="pandas").to_native()
    if "replicate" in table.columns and COUNTS not in table.columns:
        again = len(table) - codes_of(table, [*unit, "replicate"]).size
        if again:
            raise DesignError(
                f"{again:,} calls repeat a call with the same replicate number. Number repeats in 'replicate', or name "
                "the column that distinguishes them in by=."
            )
    compared = _compared(table, unit, keys, answer)
    compared.attrs[CLUSTERING] = note
    return compared, groups, unit


def _compared(table: pd.DataFrame, unit: list[str], keys: list[str], column: str) -> pd.DataFrame:
    """Pairs of repeats by relation: with c calls of an answer, c (c - 1) / 2 pairs are equal."""
    codes = codes_of(table, unit)
    if column == "choice":
        code, labels = pd.factorize(table[column], use_na_sentinel=False)
        unknown = [x for x in labels if x not in _ANSWERS]
        if unknown:
            raise SchemaError(f"'choice' has {unknown[0]!r}. Allowed: {', '.join(_ANSWERS)}.")
        answer = np.array([_ANSWERS[x] for x in labels], dtype=np.int64)[code]
        known = answer != _ANSWERS["invalid"]
    else:
        answer = pd.factorize(pd.to_numeric(table[column]))[0]
        known = answer >= 0
    weight = call_counts(table[COUNTS]) if COUNTS in table.columns else np.ones(len(table))
    valid = np.bincount(codes.code, weight * known, codes.size)
    invalid = np.bincount(codes.code, weight * ~known, codes.size)
    alike = pd.DataFrame({"unit": codes.code, "answer": answer, "n": weight})[known]
    alike = alike.groupby(["unit", "answer"], as_index=False)["n"].sum()
    equal = np.bincount(alike["unit"], alike["n"] * (alike["n"] - 1) / 2, codes.size)
    pairs = {
        "equal": equal,
        "different": valid * (valid - 1) / 2 - equal,
        "one valid": valid * invalid,
        "none valid": invalid * (invalid - 1) / 2,
    }
    where = table[keys].iloc[codes.first]
    long = pd.concat([where.assign(relation=relation, n=n) for relation, n in pairs.items()], ignore_index=True)
    return count(long, [*keys, "relation"], "n")


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
    data = nw.from_native(calls)
    refuse_unknown_order(data, data.collect_schema().names())
    table = merged_tally(calls, "position_bias", by, cluster=cluster)
    groups = list(dict.fromkeys(["judge", *grouping(by, table.columns)]))
    choice = table["choice"].replace({"abstain": "tie"}).to_numpy(dtype=object)
    options: dict[str, Any] = {"conf_level": conf_level, "cluster": column_of(table)}
    rows = []
    for term in ("first", "second", "tie", "invalid"):
        rows += rates(table, groups, term, choice == term, **options)
    first, second = choice == "first", choice == "second"
    left_out = {"invalid call(s)": choice == "invalid"}
    rows += share_differences(
        table, groups, "position_bias", first, second, choice != "invalid", left_out=left_out, **options
    )
    left_out["tie(s)"] = choice == "tie"
    rows += rates(table, groups, "first_share_nontie", first, first | second, left_out=left_out, **options)
    rows = flag_confounded(rows, calls, groups, ("position_bias", "first_share_nontie"))
    return estimates(flag_forced(rows, calls, groups, ("tie",)), groups)


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
    table = merged_tally(calls, "answer_rates", by, cluster=cluster)
    groups = list(dict.fromkeys(["judge", *grouping(by, table.columns)]))
    options: dict[str, Any] = {"conf_level": conf_level, "cluster": column_of(table)}
    rows = []
    for term in named:
        rows += rates(table, groups, term, table["choice"] == term, **options)
    rows += rates(table, groups, "tie", table["choice"].isin(["tie", "abstain"]), **options)
    rows += rates(table, groups, "invalid", table["choice"] == "invalid", **options)
    return estimates(flag_forced(rows, calls, groups, ("tie",)), groups)


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
