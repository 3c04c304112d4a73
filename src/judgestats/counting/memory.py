"""Counting in memory: patterns of a study, through the codes of its columns."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgestats.counting.clustering import NAMED, Sharing, auto_cluster
from judgestats.counting.clusters import cluster_columns
from judgestats.counting.pairing import ANSWER_CODE, UNEVEN, refuse_answers, repeated_calls
from judgestats.counting.patterns import SLOT_ANSWERS, Pattern
from judgestats.counting.selection import made_factors, refuse_stimuli, refuse_unknown_gold, require
from judgestats.counting.sides import CONTEST, SHOWN, Doubled, of_candidates
from judgestats.counting.study import Study
from judgestats.errors import DesignError, SchemaError
from judgestats.kernels.decomposition import pair_orders
from judgestats.schema.coding import Codes, combine
from judgestats.schema.columns import unit_columns
from judgestats.schema.factors import Factor, Factors
from judgestats.typing import Floats

#: Answers of a slot in the order of their names, and the place of each code there.
_SLOT_LABELS = pd.Index(sorted(SLOT_ANSWERS), dtype=object)
_SLOT_PLACE = np.array([sorted(SLOT_ANSWERS).index(answer) for answer in SLOT_ANSWERS], dtype=np.int32)


def count_study(
    study: Study,
    pattern: Pattern,
    split: list[str],
    groups: list[str],
    keys: list[str],
    cluster: tuple[str, ...] | None,
) -> tuple[Factors, Floats, Sharing, tuple[str, ...]]:
    """As :func:`judgestats.counting.engines.count_lazily`, in memory: patterns, counts, what these share, columns."""
    if pattern.frame == "ratings":
        study = study.scores
    if pattern.frame == "ratings" and "gold" in study.names and "outcome" in pattern.columns:
        refuse_unknown_gold(study.data)
    by_candidate = pattern.unit == "side" or "opponent" in pattern.columns
    if by_candidate and study.nameless:
        raise SchemaError(
            f"'first' or 'second' is missing in {study.nameless:,} of {len(study.columns):,} rows. Name both."
        )
    sharing = NAMED if cluster else shared(study, pattern, groups, keys)
    columns = cluster_columns(cluster, sharing)
    if "pair" in columns:
        study = study.with_pair()
    before = groups if pattern.frame == "ratings" else split
    groups = list(dict.fromkeys([*before, *columns, *groups]))
    if pattern.unit == "pair":
        units, slots, weight = matched_pairs(study, groups)
        pairs = study.columns.take(units.first).but(**slots)
        return *pairs.counted([*groups, *slots], weight), sharing, columns
    wanted = list(dict.fromkeys([*groups, *pattern.columns, *pattern.beside]))
    if not by_candidate:
        factors = study.once(("made", pattern.needs, *pattern.columns), lambda: made_factors(study, pattern))
        return *study.columns.but(**factors).counted(wanted, study.weight), sharing, columns
    seen = list(dict.fromkeys([*(c for c in wanted if c not in CONTEST), *SHOWN]))
    return *of_candidates(*study.counted(seen), pattern, wanted), sharing, columns


def counted_rows(study: Study, pattern: Pattern, measure: str, stimulus: str | None) -> Study:
    """The rows that a measure counts; refuses data that cannot answer it."""
    require(study.names, pattern, measure, stimulus)
    wanted = (stimulus,) if stimulus else pattern.stimulus
    of_two = pattern.unit == "side" or bool(pattern.needs)
    gold = "gold" in pattern.needs

    def rows() -> Study:
        there = np.ones(len(study.columns), dtype=bool)
        if wanted:
            there = study.columns["stimulus"].among(*wanted)
            if not there.any():
                refuse_stimuli(wanted, measure)
        if of_two:
            first, second, _ = study.shown
            two = (first != second) | (first < 0)  # one that is missing is refused where it matters
            there &= two | study.columns["gold"].among("tie") if gold else two
        return study.where(there)

    return study.once(("rows", wanted, of_two, gold), rows)


def shared(study: Study, pattern: Pattern, groups: list[str], keys: list[str]) -> Sharing:
    """What the calls, sides or pairs of a study share."""
    present = study.names
    if "item" not in present:
        return Sharing("", False)
    if pattern.unit == "side":
        sides = ("sides", *keys)
        return study.once(sides, lambda: auto_cluster(study, keys, 2 * study.n_calls, units=_both_sides(study)))
    n = float(_weight(study, _units(study, groups)).sum()) if pattern.unit == "pair" else study.n_calls
    return auto_cluster(study, [c for c in keys if c in present], n)


def _both_sides(study: Study) -> Study:
    """Each call twice, once for each candidate, with the columns that calls may share."""
    columns = study.candidates
    low, high, turned = study.ordered
    one, two = np.where(turned, high.code, low.code), np.where(turned, low.code, high.code)
    return Study(Doubled(columns).but(candidate=Factor(np.concatenate([one, two]), low.labels)))


def _units(study: Study, groups: list[str]) -> Codes:
    """Rows numbered by pair: judge, item, candidates and conditions."""
    unit = unit_columns(study.names, groups)

    def number() -> Codes:
        pairs, rest = study.pairs, study.columns.of([c for c in unit if c != "item"])
        return combine([(pairs.code, pairs.size), *((f.code, len(f.labels)) for f in rest)], len(study.columns))

    return study.once(("units", *unit), number)


def _weight(study: Study, units: Codes) -> Floats:
    """How many identical pairs each pair stands for; DesignError if its two orders carry different counts."""
    if study.weight is None:
        return np.ones(units.size)
    weight: Floats = study.weight[units.first]
    if (study.weight != weight[units.code]).any():
        raise DesignError(UNEVEN)
    return weight


def matched(study: Study, groups: list[str]) -> tuple[Codes, NDArray[np.int8]]:
    """Calls numbered by pair, and (U, 2) the answers of each in the forward and in the reverse order."""
    units = _units(study, groups)

    def match() -> NDArray[np.int8]:
        choice, reverse = study.columns["choice"], study.ordered[2]
        codes = np.array([ANSWER_CODE.get("invalid" if x is None else x, -1) for x in choice.labels], dtype=np.int8)
        used = np.bincount(choice.code, minlength=len(choice.labels)) > 0
        refuse_answers([x for x, code, there in zip(choice.labels, codes, used, strict=True) if there and code < 0])
        paired = pair_orders(units.code, reverse, codes[choice.code], units.size)
        if paired.n_duplicates:
            keys = unit_columns(study.names, groups)
            raise repeated_calls(study.data, units, reverse, keys, paired.n_duplicates, paired.first_duplicate)
        return paired.answers

    return units, study.once(("matched", *unit_columns(study.names, groups)), match)


def matched_pairs(study: Study, groups: list[str]) -> tuple[Codes, dict[str, Factor], Floats]:
    """Calls numbered by pair; the answers of each pair, ``forward`` and ``reverse``; and how many each stands for."""
    units, answers = matched(study, groups)
    slots = {name: Factor(_SLOT_PLACE[answers[:, i]], _SLOT_LABELS) for i, name in enumerate(("forward", "reverse"))}
    return units, slots, _weight(study, units)
