"""Shares of answers by position, and of ties and invalid ones: :func:`position_bias`, :func:`answer_rates`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame

from judgestats.counting.clustering import Cluster
from judgestats.counting.selection import gathered
from judgestats.counting.study import Calls, Study
from judgestats.counting.tallies import count
from judgestats.defaults import CONF_LEVEL
from judgestats.errors import DesignError
from judgestats.metrics.bias.design_flags import flag_confounded, flag_forced
from judgestats.metrics.bias.option_positions import option_position_bias
from judgestats.metrics.measure_registry import Measure, Term
from judgestats.results import estimates
from judgestats.schema.columns import By, names


@Measure(
    "How often does each slot win, and how much more often the first?", "bias", "P, counts",
    "Wilson; difference: Newcombe, clustered: Tango", "ours", plot="answers", frames=("preferences",),
    sheet=("slots",), classes=True,
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
    calls: IntoFrame,
    *,
    n_options: int | None = None,
    by: By = (),
    cluster: Cluster = "auto",
    conf_level: float = CONF_LEVEL,
    **model_arguments: object,
) -> pd.DataFrame:
    """Shares of the answers by position, and the preference for the first.

    Parameters
    ----------
    calls : frame
        Preferences with a known order, or a tally: ``judge, choice, n``. Of ratings with ``shown_at``, the place of the
        option that was chosen among several, it gives :func:`option_position_bias`.
    n_options : int, optional
        For such ratings: how many options were shown.
    by : str or sequence of str
        Further grouping columns.
    cluster : "auto", str or False
        Column that calls share, by which intervals are clustered. ``"auto"`` detects it (``item``, say) and names it in
        ``method``. False treats all calls as independent, with a flag where they are not.
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
    option_position_bias : The same for one of several options.
    judgestats.models.position_bias_model : Position bias per judge, and pooled.

    Notes
    -----
    The interval of ``position_bias`` is Newcombe's for the difference of two shares of one sample, composed of Wilson's
    for each: it stays in [-1, 1] and has positive width. Where clustered it is Tango's (1998) with the effective n of
    the clusters: with both orders of each pair the pair is the unit, and a judge with the same verdict in both orders
    of all 350 pairs gets 0 ± .011. Shares are of all calls and the difference is of the valid ones; ``method`` says so
    where some are invalid. Only pairs shown in both orders separate position bias from candidates that happened to be
    better in their position.

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
        options = ", ".join(f"{name}=" for name in model_arguments)
        raise DesignError(
            f"position_bias() takes by=, cluster= and conf_level=, not {options}. It counts answers by position; the "
            "mixed model with attribute=, ties= and pooled= is models.position_bias_model()."
        )
    study = Study.of(calls)
    if {"shown_at", "answer"} & {*study.names} and "choice" not in study.names:
        return option_position_bias(calls, n_options=n_options, by=by, cluster=cluster, conf_level=conf_level)
    if n_options is not None:
        raise DesignError("n_options= is of ratings with a column 'shown_at'; a pair has two options. Leave it out.")
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
    with_invalid = [[row[c] for c in counts.groups] for row in rows if row["term"] == "invalid" and row["estimate"] > 0]
    for row in rows:
        if [row[c] for c in counts.groups] in with_invalid and row["term"] != "first_share_nontie":
            row["method"] = row["method"].noting(f"of {'valid' if row['term'] == 'position_bias' else 'all'} calls")
    rows = flag_confounded(rows, study, counts.groups, ("position_bias", "first_share_nontie"))
    return estimates(flag_forced(rows, study, counts.groups, ("tie",)), counts.groups)


@Measure(
    "How often is the answer a tie, or invalid? (needs no order)",
    "bias",
    "P, counts",
    "Wilson, clustered",
    "ours",
    plot="forest",
    assumes="Calls of different items are independent of each other.",
)
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
        Column that calls share, by which intervals are clustered. ``"auto"`` detects it (``item``, say) and names it in
        ``method``. False treats all calls as independent, with a flag where they are not.
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
    slots = ("first", "second") if listed is not None else ()
    calls = calls if listed is None else _as_listed(calls, listed, names(by))
    counts = count(calls, "answer_rates", by, cluster=cluster, merged=True).inferred(conf_level)
    rows = [row for term in slots for row in counts.rates(term, counts.among("choice", term))]
    rows += counts.rates("tie", counts.among("choice", "tie", "abstain"))
    rows += counts.rates("invalid", counts.among("choice", "invalid"))
    return estimates(flag_forced(rows, calls, counts.groups, ("tie",)), counts.groups)


def _as_listed(calls: Calls, listed: IntoFrame, columns_by: Sequence[str]) -> pd.DataFrame:
    """The calls with the candidates of each pair, and the answer, in the order in which `listed` has the pair."""
    table = gathered(calls, columns_by).reset_index(drop=True)
    pairs = gathered(listed)
    columns = ["item", "first", "second"]
    for what, frame, needed in (("The frame", table, [*columns, "choice"]), ("listed=", pairs, columns)):
        if absent := [c for c in needed if c not in frame]:
            raise DesignError(f"{what} has no column {absent[0]!r}. It has: {', '.join(frame.columns)}.")
    listing = pairs[columns].astype(str).drop_duplicates()
    listed_place = pd.Series(range(len(listing)), index=pd.MultiIndex.from_frame(listing))
    pairs_shown = table[columns].astype(str)
    as_shown, turned = (
        listed_place.reindex(pd.MultiIndex.from_frame(pairs_shown[order])).to_numpy(dtype=float)
        for order in (columns, ["item", "second", "first"])
    )
    for wrong, words in (
        (np.isnan(as_shown) & np.isnan(turned), "is not in listed="),
        (~np.isnan(as_shown) & ~np.isnan(turned), "is in listed= both ways round"),
    ):
        if wrong.any():
            item, one, two = pairs_shown[wrong].iloc[0]
            raise DesignError(
                f"The pair {one!r}, {two!r} of item {item!r} {words} ({int(wrong.sum()):,} rows). List each pair once."
            )
    back = ~np.isnan(turned)
    other = {"first": "second", "second": "first"}
    choice = table["choice"].astype(object)
    exchanged = {a: table[a].astype(object).where(~back, table[b]) for a, b in other.items()}
    return table.assign(choice=choice.where(~back, choice.map(lambda c: other.get(c, c))), **exchanged)
