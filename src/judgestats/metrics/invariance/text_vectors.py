"""Texts, their vectors and cosine similarity."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgestats.errors import DesignError
from judgestats.kernels.proportions import quotient
from judgestats.typing import Column, Floats

#: From n texts to an (n, d) array, dense or scipy sparse.
Embedder = Callable[[Sequence[str]], Any]
Embed = Embedder | Mapping[str, Embedder] | None


def tfidf(texts: Sequence[str]) -> Any:
    """TF-IDF vectors (n, d) of texts, fitted on these texts: the default embedder, without a download."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    try:
        return TfidfVectorizer().fit_transform(texts)
    except ValueError:  # no word in any text
        return np.zeros((len(texts), 1))


def embedders(embed: Embed) -> dict[str, Embedder]:
    """Embedders by name, by default the name of the function."""
    if embed is None:
        return {"tfidf": tfidf}
    if isinstance(embed, Mapping):
        if not embed or not all(map(callable, embed.values())):
            raise DesignError(
                "embed= is empty, or contains a value that is not a function. Give a function, or {name: function}."
            )
        return dict(embed)
    if not callable(embed):
        raise DesignError(
            f"embed= is {type(embed).__name__}. Give a function from texts to an (n, d) array, or a mapping."
        )
    return {str(getattr(embed, "__name__", type(embed).__name__)): embed}


class Vectors:
    """Vectors of distinct texts that are not empty, each embedded once; their order does not depend on the rows."""

    def __init__(self, texts: Sequence[str], embed: Embedder, name: str) -> None:
        distinct = sorted({t for t in texts if t})
        self._row = {t: i for i, t in enumerate(distinct)}
        matrix = embed(distinct) if distinct else np.zeros((0, 1))
        try:
            self._matrix = matrix.tocsr() if hasattr(matrix, "tocsr") else np.asarray(matrix, dtype=float)
        except (TypeError, ValueError):
            raise DesignError(
                f"embed {name!r} gave no array of numbers ({type(matrix).__name__}). It must be (n, d), one row a text."
            ) from None
        if self._matrix.ndim != 2 or self._matrix.shape[0] != len(distinct):
            raise DesignError(
                f"embed {name!r} gave an array of shape {self._matrix.shape} for {len(distinct)} texts. It must be "
                "(n, d), one row a text."
            )
        square = self._matrix.multiply(self._matrix) if hasattr(self._matrix, "multiply") else self._matrix**2
        self._norm = np.sqrt(np.asarray(square.sum(axis=1), dtype=float).ravel())

    def cosine(self, one: Sequence[str], two: Sequence[str]) -> Floats:
        """Cosine of each text of `one` with its text of `two`; NaN where either is empty or has no vector."""
        i, j = (np.array([self._row.get(t, -1) for t in texts], dtype=int) for texts in (one, two))
        result = np.full(len(i), np.nan)
        embedded = np.flatnonzero((i >= 0) & (j >= 0))
        if not embedded.size:
            return result
        left, right = self._matrix[i[embedded]], self._matrix[j[embedded]]
        product = left.multiply(right) if hasattr(left, "multiply") else left * right
        dot = np.asarray(product.sum(axis=1), dtype=float).ravel()
        cosine = quotient(dot, self._norm[i[embedded]] * self._norm[j[embedded]])
        result[embedded] = np.clip(cosine, -1.0, 1.0)
        result[[a == b and bool(np.isfinite(c)) for a, b, c in zip(one, two, result, strict=True)]] = 1.0
        return result


def texts_of(column: Column) -> NDArray[np.generic]:
    """Column of texts without surrounding blanks; a missing one is empty."""
    text = column.astype(object)
    result: NDArray[np.generic] = text.where(text.notna(), "").astype(str).str.strip().to_numpy(dtype=object)
    return result
