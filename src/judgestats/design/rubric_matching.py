"""Similarity of the rubrics of two judges, dimension by dimension: :func:`rubric_similarity`."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
from scipy.optimize import linear_sum_assignment

from judgestats import flags
from judgestats.counting.bootstrap import Bootstrap, ratio
from judgestats.counting.counts import Counts
from judgestats.defaults import CONF_LEVEL, N_RESAMPLES, SEED
from judgestats.design.plans import need_columns
from judgestats.errors import DesignError
from judgestats.kernels.resampling import generator
from judgestats.metrics.invariance.text_vectors import Embed, Vectors, embedders
from judgestats.results import estimates
from judgestats.schema.columns import By, grouping
from judgestats.typing import Record


def matched_dimensions(rubrics: pd.DataFrame, *, embed: Embed = None) -> pd.DataFrame:
    """Match the dimensions of the rubrics that two judges have for an item, one to one.

    Parameters
    ----------
    rubrics : pandas.DataFrame
        ``judge``, ``item``, ``criterion``, ``weight`` (divided by the sum in each rubric) and, where there are any,
        ``about``, ``anchor_2``, ..., as from :func:`generated_rubrics`; rows without a criterion are not read.
    embed : function or mapping, optional
        From texts to an (n, d) array, as in :func:`judgestats.rationale_shift`. By default TF-IDF, fitted on these
        texts; it knows words between blanks only: give another for Chinese, say.

    Returns
    -------
    pandas.DataFrame
        A row for each dimension of the pair: ``embed``, ``judge``, ``other``, ``item`` (``prompt``, ``temperature`` and
        ``replicate`` where rubrics have them), ``criterion`` and ``other_criterion``, their ``similarity`` (the cosine
        of name, description and anchors) and the weights ``weight`` and ``other_weight``. Where one rubric is longer,
        its other dimensions have no partner, similarity 0 and weight 0 on the other side.

    Raises
    ------
    DesignError
        If a column is missing, or no item has the rubrics of two judges.

    See Also
    --------
    rubric_similarity : Similarity of two judges' rubrics.

    Notes
    -----
    Of all one-to-one assignments it is the one with the largest sum of similarities.

    Examples
    --------
    >>> rubrics = pd.DataFrame({"judge": ["g", "g", "h", "h"], "item": "1", "weight": [0.7, 0.3, 0.5, 0.5],
    ...                         "criterion": ["fear of the dark", "rhythm", "strict rhythm", "dark mood"]})
    >>> matched_dimensions(rubrics)[["criterion", "other_criterion", "similarity", "weight", "other_weight"]].round(2)
              criterion other_criterion  similarity  weight  other_weight
    0  fear of the dark       dark mood        0.26     0.7           0.5
    1            rhythm   strict rhythm        0.62     0.3           0.5
    """
    dimensions, keys = _known(rubrics)
    parts = []
    for name, function in embedders(embed).items():
        vectors = Vectors(dimensions["_text"].tolist(), function, name)
        parts.append(_matches(_pairs(dimensions, keys), vectors, keys))
        parts[-1].insert(0, "embed", name)
    return pd.concat(parts, ignore_index=True)


def _known(rubrics: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """The dimensions that can be read, their texts, and the columns besides the judge that distinguish rubrics."""
    need_columns(rubrics, ("judge", "item", "criterion", "weight"), "table of rubrics")
    dimensions = rubrics[rubrics["criterion"].notna()].reset_index(drop=True)
    text_columns = ["criterion", *(c for c in dimensions if c == "about" or str(c).startswith("anchor_"))]
    texts = dimensions[text_columns].fillna("").astype(str).agg(" ".join, axis="columns")
    keys = ["item", *(c for c in ("prompt", "temperature", "replicate") if c in dimensions)]
    total = dimensions.groupby(["judge", *keys], dropna=False)["weight"].transform("sum")
    return dimensions.assign(_text=texts, weight=dimensions["weight"] / total), keys


_Rubric = tuple[list[str], list[str], list[float]]
_Two = tuple[Record, _Rubric, _Rubric]


def _pairs(dimensions: pd.DataFrame, keys: list[str]) -> list[_Two]:
    """The rubrics of each two judges for the same item."""
    pairs = []
    for key, rubrics in dimensions.groupby(keys, sort=True, dropna=False):
        by_judge = {
            judge: (part["criterion"].tolist(), part["_text"].tolist(), part["weight"].astype(float).tolist())
            for judge, part in rubrics.groupby("judge", sort=True)
        }
        for one, two in combinations(by_judge, 2):
            names = {"judge": one, "other": two, **dict(zip(keys, key, strict=True))}
            pairs.append((names, by_judge[one], by_judge[two]))
    if not pairs:
        raise DesignError("No item has rubrics of two judges. Give the rubrics of at least two for the same item.")
    return pairs


def _matches(pairs: list[_Two], vectors: Vectors, keys: list[str]) -> pd.DataFrame:
    """The matched dimensions of pairs of rubrics."""
    left = [a for _, one, two in pairs for a in one[1] for _ in two[1]]
    right = [b for _, one, two in pairs for _ in one[1] for b in two[1]]
    cosine = np.nan_to_num(vectors.cosine(left, right))
    rows: list[tuple[object, ...]] = []
    at = 0
    for names, (criteria, _, weights), (others, _, other_weights) in pairs:
        size = len(criteria) * len(others)
        table = cosine[at : at + size].reshape(len(criteria), len(others))
        at += size
        key = tuple(names[c] for c in ("judge", "other", *keys))
        chosen = dict(zip(*map(np.ndarray.tolist, linear_sum_assignment(table, maximize=True)), strict=True))
        for i, (criterion, weight) in enumerate(zip(criteria, weights, strict=True)):
            j = chosen.get(i)
            other, similarity, its = (None, 0.0, 0.0) if j is None else (others[j], table[i, j], other_weights[j])
            rows.append((*key, criterion, other, similarity, weight, its))
        alone = [j for j in range(len(others)) if j not in chosen.values()]
        rows += [(*key, None, others[j], 0.0, 0.0, other_weights[j]) for j in alone]
    columns = ["judge", "other", *keys, "criterion", "other_criterion", "similarity", "weight", "other_weight"]
    return pd.DataFrame(rows, columns=columns)


def rubric_similarity(
    rubrics: pd.DataFrame,
    *,
    embed: Embed = None,
    by: By = (),
    n_resamples: int = N_RESAMPLES,
    seed: int | np.random.Generator | None = SEED,
    conf_level: float = CONF_LEVEL,
) -> pd.DataFrame:
    """Similarity of the rubrics that two judges have for the same items.

    Parameters
    ----------
    rubrics, embed
        As in :func:`matched_dimensions`.
    by : str or sequence of str
        Further grouping columns. Each (``domain``, say) has one value for an item.
    n_resamples, seed : int
        Number of bootstrap resamples, and seed of the draws. The bootstrap draws items.
    conf_level : float
        Coverage of the intervals.

    Returns
    -------
    pandas.DataFrame
        Per pair of judges (``judge``, ``other``), embedder (``embed``) and ``prompt`` where there is one:
        ``similarity``, the mean cosine of matched dimensions; ``similarity_other_items``, the same of rubrics for
        different items (each with the next one, in random order), which is the level that has nothing to do with the
        task;
        ``weight_distance``, half the sum of absolute differences of the weights of matched dimensions: 0 the same
        weights, 1 none in common. ``n`` is the items with a rubric of both; others are counted in the flag.

    Raises
    ------
    DesignError
        If a column is missing, or no item has the rubrics of two judges.

    See Also
    --------
    matched_dimensions : Dimensions of two rubrics, matched.
    generated_rubrics : Rubrics that judges wrote.

    Notes
    -----
    A cosine has no absolute scale: compare with ``similarity_other_items``, and embedders with each other. The
    consensus_illusion paper (Sec 4) asks to control agreement for the similarity of rubrics, and defines none.

    Examples
    --------
    >>> rubrics = pd.DataFrame({"judge": ["g", "g", "h", "h"] * 2, "item": ["1"] * 4 + ["2"] * 4, "weight": 0.5,
    ...                         "criterion": ["dark mood", "rhythm", "rhythm", "dark mood",
    ...                                       "costs", "risks", "plain costs", "dates"]})
    >>> rubric_similarity(rubrics)[["judge", "other", "term", "estimate", "n"]].round(2)
      judge other                    term  estimate    n
    0     g     h              similarity      0.66  2.0
    1     g     h  similarity_other_items      0.00  2.0
    2     g     h         weight_distance      0.00  2.0
    """
    wanted = grouping(by, rubrics.columns, "table of rubrics")
    dimensions, keys = _known(rubrics)
    several = dimensions.groupby("item")[wanted].nunique(dropna=False) if wanted else pd.DataFrame()
    if len(several) and (several > 1).to_numpy().any():
        column = next(c for c in wanted if (several[c] > 1).any())
        raise DesignError(f"by={column!r} has several values for one item. Name a column that belongs to the item.")
    keys = list(dict.fromkeys([*keys, *wanted]))
    pairs = _pairs(dimensions, keys)
    groups = ["judge", "other", *(["prompt"] if "prompt" in keys else []), *(c for c in wanted if c != "prompt")]
    shuffled = _of_other_items(pairs, ["judge", "other", *keys[1:]], generator(seed, ("rubrics",)))
    every = rubrics.assign(_all="").groupby(groups[2:] or ["_all"], dropna=False)
    total = {_key(key): part["item"].nunique() for key, part in every}
    plan = Bootstrap("percentile", ("item",), None, n_resamples, seed, conf_level)
    rows = []
    for name, function in embedders(embed).items():
        vectors = Vectors(dimensions["_text"].tolist(), function, name)
        same = _of_pairs(_matches(pairs, vectors, keys), keys)
        others = _of_pairs(_matches(shuffled, vectors, keys), keys) if shuffled else same[:0]
        terms = {"similarity": (same, "similarity"), "similarity_other_items": (others, "similarity")}
        terms["weight_distance"] = same, "distance"
        parts = {t: {_key(k): p for k, p in table.groupby(groups, dropna=False)} for t, (table, _) in terms.items()}
        for key, _ in same.groupby(groups, sort=True, dropna=False):
            names = dict(zip(groups, key, strict=True))
            for term, (table, column) in terms.items():
                rubric_pairs = parts[term].get(_key(key), table[:0])
                value = rubric_pairs[column].to_numpy(dtype=float)
                n = rubric_pairs["item"].nunique()
                counts = np.column_stack([value, np.ones(len(value))])
                row = {**names, "term": term, "embed": name}
                resampled = Counts.of(rubric_pairs.assign(n=1.0)).resampled(counts, ratio, row, plan=plan)
                alone = flags.EXCLUDED.of(total[_key(key[2:] or ("",))] - n, what="item(s) without a rubric of both")
                few = flags.SMALL_N if 0 < n < 30 else ""
                flag = flags.join(resampled["flag"], few, alone if term == "similarity" else "")
                mean = value.mean() if n else np.nan
                rows.append({**row, **resampled, "estimate": mean, "n": n, "flag": flag})
    return estimates(rows, ["embed", *groups])


def _key(key: object) -> tuple[str, ...]:
    """A key of groups that is equal to itself where a value is missing."""
    return tuple(map(str, key)) if isinstance(key, tuple) else (str(key),)


def _of_pairs(matched: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Similarity and distance of weights of each pair of rubrics."""
    gap = (matched["weight"] - matched["other_weight"]).abs() / 2
    by_pair = matched.assign(_gap=gap).groupby(["judge", "other", *keys], sort=False, dropna=False)
    return by_pair.agg(similarity=("similarity", "mean"), distance=("_gap", "sum")).reset_index()


def _of_other_items(pairs: list[_Two], keys: list[str], rng: np.random.Generator) -> list[_Two]:
    """Each rubric of the first judge with that of the second for another item, of the same prompt and run."""
    groups: dict[tuple[object, ...], list[int]] = {}
    for i, (names, _, _) in enumerate(pairs):
        groups.setdefault(tuple(str(names[k]) for k in keys), []).append(i)
    exchanged = []
    for members in groups.values():
        order = [members[i] for i in rng.permutation(len(members))]
        following = [*order[1:], order[0]] if len(order) > 1 else []
        exchanged += [(pairs[i][0], pairs[i][1], pairs[j][2]) for i, j in zip(order, following, strict=False)]
    return exchanged
