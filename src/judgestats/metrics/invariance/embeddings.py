"""Texts as vectors, and how near two of them are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from judgestats.errors import DesignError
from judgestats.metrics.invariance.roles import Study, matched_rows, outcomes_of, refuse_no_probe, study
from judgestats.schema.clustering import CLUSTERING
from judgestats.schema.columns import By

Floats = NDArray[np.float64]
#: From n texts to an (n, d) array, dense or scipy sparse.
Embedder = Callable[[Sequence[str]], Any]
Embed = Embedder | Mapping[str, Embedder] | None


def tfidf(texts: Sequence[str]) -> Any:
    """TF-IDF vectors of texts, fitted on these texts: the default embedder, without a download.

    Parameters
    ----------
    texts : sequence of str
        What is to be embedded.

    Returns
    -------
    (n, d) scipy sparse array
        Words of two letters or more, in lower case; scikit-learn's smoothed IDF. Zero rows where no text has a word.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    try:
        return TfidfVectorizer().fit_transform(texts)
    except ValueError:  # no word in any text
        return np.zeros((len(texts), 1))


def embedders(embed: Embed) -> dict[str, Embedder]:
    """Return the embedders by name; one without a name is called by its function's name."""
    if embed is None:
        return {"tfidf": tfidf}
    if isinstance(embed, Mapping):
        if not embed or not all(map(callable, embed.values())):
            raise DesignError(
                "embed= is empty, or holds what is no function of texts. Give a function, or {name: function}."
            )
        return dict(embed)
    if not callable(embed):
        raise DesignError(
            f"embed= is {type(embed).__name__}. Give a function from texts to an (n, d) array, or a mapping."
        )
    return {str(getattr(embed, "__name__", type(embed).__name__)): embed}


class Vectors:
    """Vectors of distinct texts: each is embedded once, and in an order that the rows do not change.

    Parameters
    ----------
    texts : iterable of str
        Texts, repeats among them; empty ones are not embedded.
    embed : callable
        The embedder.
    name : str
        For messages.
    """

    def __init__(self, texts: Sequence[str], embed: Embedder, name: str) -> None:
        known = sorted({t for t in texts if t})
        self._row = {t: i for i, t in enumerate(known)}
        matrix = embed(known) if known else np.zeros((0, 1))
        try:
            self._matrix = matrix.tocsr() if hasattr(matrix, "tocsr") else np.asarray(matrix, dtype=float)
        except (TypeError, ValueError):
            raise DesignError(
                f"embed {name!r} gave no array of numbers ({type(matrix).__name__}). It must be (n, d), one row a text."
            ) from None
        if self._matrix.ndim != 2 or self._matrix.shape[0] != len(known):
            raise DesignError(
                f"embed {name!r} gave an array of shape {self._matrix.shape} for {len(known)} texts. It must be "
                "(n, d), one row a text."
            )
        square = self._matrix.multiply(self._matrix) if hasattr(self._matrix, "multiply") else self._matrix**2
        self._norm = np.sqrt(np.asarray(square.sum(axis=1), dtype=float).ravel())

    def cosine(self, one: Sequence[str], two: Sequence[str]) -> Floats:
        """Cosine of each text of `one` with its text of `two`; NaN where either is empty or has no vector."""
        i, j = (np.array([self._row.get(t, -1) for t in texts], dtype=int) for texts in (one, two))
        result = np.full(len(i), np.nan)
        known = np.flatnonzero((i >= 0) & (j >= 0))
        if not known.size:
            return result
        left, right = self._matrix[i[known]], self._matrix[j[known]]
        product = left.multiply(right) if hasattr(left, "multiply") else left * right
        dot = np.asarray(product.sum(axis=1), dtype=float).ravel()
        with np.errstate(divide="ignore", invalid="ignore"):
            cosine = dot / (self._norm[i[known]] * self._norm[j[known]])
        result[known] = np.clip(cosine, -1.0, 1.0)
        result[[a == b and bool(np.isfinite(c)) for a, b, c in zip(one, two, result, strict=True)]] = 1.0
        return result


def matched_rationales(calls: Any, by: By, blind: str, probe: str | None, measure: str) -> tuple[Study, pd.DataFrame]:
    """Match the explanations of an item under `blind` and under each other probe.

    Returns
    -------
    found : Study
    pairs : pandas.DataFrame
        The groups, ``probe``, ``item``, ``n``, ``text_blind``, ``text`` (empty where missing), ``valid`` (a valid
        verdict in both) and ``same`` (and the same one).

    Raises
    ------
    DesignError
        If there are no explanations, or no such probe.
    """
    found = study(calls, by, "auto", measure)
    if found.kind != "calls" or "rationale" not in found.table:
        raise DesignError(
            f"{measure} reads explanations: it needs a preferences frame with a column 'rationale'. Columns: "
            f"{', '.join(found.table.columns)}."
        )
    refuse_no_probe(found, blind, "blind")
    if probe is not None:
        refuse_no_probe(found, probe, "probe")
        kept = found.table[found.table["probe"].isin([blind, probe])].reset_index(drop=True)
        found = Study(kept, found.kind, found.groups, found.clusters, found.note)
    pairs = matched_rows(found, blind, found.clusters)
    outcome = outcomes_of(found.table).astype(str).to_numpy(dtype=object)
    text = texts_of(found.table["rationale"])
    base, row = (pairs[c].to_numpy(dtype=int) for c in ("_base", "_row"))
    both = (base >= 0) & (row >= 0)
    valid = both & (outcome[base] != "invalid") & (outcome[row] != "invalid")
    pairs = pairs.assign(
        n=pairs["n"].astype(float),
        text_blind=np.where(base >= 0, text[base], ""),
        text=np.where(row >= 0, text[row], ""),
        valid=valid,
        same=valid & (outcome[base] == outcome[row]),
    )
    pairs = pairs[row_groups(pairs, [*found.groups, "probe"])].reset_index(drop=True)
    pairs.attrs[CLUSTERING] = found.note
    return found, pairs


def row_groups(pairs: pd.DataFrame, columns: list[str]) -> NDArray[np.bool_]:
    """Rows of groups that were judged under their probe at all."""
    judged = pairs.assign(_judged=pairs["_row"] >= 0).groupby(columns, dropna=False)["_judged"].transform("any")
    result: NDArray[np.bool_] = judged.to_numpy(dtype=bool)
    return result


def texts_of(column: pd.Series[Any]) -> NDArray[Any]:
    """Column of texts without surrounding blanks; a missing one is empty."""
    text = column.astype(object)
    result: NDArray[Any] = text.where(text.notna(), "").astype(str).str.strip().to_numpy(dtype=object)
    return result


def each_group(pairs: pd.DataFrame, columns: list[str]) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    """Yield the rows of each group with what names it."""
    for key, here in pairs.groupby(columns, dropna=False, sort=True):
        yield dict(zip(columns, key, strict=True)), here
