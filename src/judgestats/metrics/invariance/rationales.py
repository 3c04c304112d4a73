"""Explanations: their consistency, and their shift under a cue where the verdict stays the same."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame
from numpy.typing import NDArray

from judgestats import flags
from judgestats.counting.bootstrap import Bootstrap, ratio
from judgestats.counting.clustering import Cluster, clusters
from judgestats.counting.counts import Counts
from judgestats.counting.selection import gathered
from judgestats.counting.study import Study
from judgestats.counting.tallies import clustered
from judgestats.defaults import CONF_LEVEL, N_RESAMPLES, SEED
from judgestats.errors import DesignError, SchemaError
from judgestats.kernels.proportions import quotient
from judgestats.metrics.invariance.outcome_coding import (
    ProbeCalls,
    key_of,
    matched_rows,
    outcomes_of,
    refuse_no_probe,
    study,
)
from judgestats.metrics.measure_registry import Measure, Term
from judgestats.metrics.requirements import control_of
from judgestats.results import estimates
from judgestats.schema.columns import CHOICES, By, grouping, names, required
from judgestats.schema.declared_counts import call_counts, counted
from judgestats.typing import Floats, Mask

# ---- Vectors of texts, and their cosine similarity -------------------------------------------------------------------

#: From n texts to an (n, d) array, dense or scipy sparse.
Embedder = Callable[[Sequence[str]], Any]
Embed = Embedder | Mapping[str, Embedder] | None
#: A property of an explanation: from its text to a number.
Property = Callable[[str], float]


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
        cosine = quotient(dot, self._norm[i[known]] * self._norm[j[known]])
        result[known] = np.clip(cosine, -1.0, 1.0)
        result[[a == b and bool(np.isfinite(c)) for a, b, c in zip(one, two, result, strict=True)]] = 1.0
        return result


def matched_rationales(
    calls: Any, by: By, blind: str, probe: str | None, measure: str
) -> tuple[ProbeCalls, pd.DataFrame]:
    """The study, and the explanations of an item under `blind` (``text_blind``) and each other probe (``text``).

    ``valid``: a valid verdict in both; ``same``: the same verdict in both.
    """
    found = study(calls, by, "auto", measure)
    if found.kind != "calls" or "rationale" not in found.table:
        raise DesignError(
            f"{measure} needs a preferences frame with explanations in a column 'rationale'. Columns: "
            f"{', '.join(found.table.columns)}."
        )
    refuse_no_probe(found, blind, "baseline")
    if probe is not None:
        refuse_no_probe(found, probe, "probe")
        kept = found.table[found.table["probe"].isin([blind, probe])].reset_index(drop=True)
        found = replace(found, table=kept)
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
    columns = [*found.groups, "probe"]
    judged = pairs.assign(_judged=pairs["_row"] >= 0).groupby(columns, dropna=False)["_judged"].transform("any")
    return found, pairs[judged.to_numpy(dtype=bool)].reset_index(drop=True)


def texts_of(column: pd.Series[Any]) -> NDArray[Any]:
    """Column of texts without surrounding blanks; a missing one is empty."""
    text = column.astype(object)
    result: NDArray[Any] = text.where(text.notna(), "").astype(str).str.strip().to_numpy(dtype=object)
    return result


def each_group(pairs: pd.DataFrame, columns: list[str]) -> Iterator[tuple[dict[str, Any], pd.DataFrame]]:
    """Key and rows of each group, sorted."""
    for key, here in pairs.groupby(columns, dropna=False, sort=True):
        yield dict(zip(columns, key, strict=True)), here


# ---- Does an explanation contradict its verdict or scores, name a source, or misquote? -------------------------------

#: Words that name the source of a text; whole words, in any case.
SOURCE_WORDS = (
    "human", "humans", "human-written", "person", "expert", "experts", "AI", "AI-generated", "LLM", "LLMs", "GPT",
    "ChatGPT", "Claude", "Gemini", "Llama", "language model", "machine learning", "TradML", "algorithm", "bot",
    "machine-generated", "model-generated",
)  # fmt: skip

_KIND = r"(?:summary|summaries|response|answer|candidate|assistant|option|output|text|translation|version|system|model)"
_NAME = r"(?:[ab12]|one|two|first|second)"
#: "The verdict is a clear win for ...": an article is no name, nor is "one of".
_NO_ARTICLE = r"(?!(?-i:a)\s+[a-z]|one\s+of\b)"
_WHICH = rf"(?:{_KIND}\s+[\"'(\[]?({_NAME})\b[\"')\]]?|(?:the\s+)?(first|second)\s+(?:{_KIND}|one)\b)"
_HOW = r"(?:(?:clearly|slightly|marginally|somewhat|much|far|overall|therefore|thus|also|still|the|a)\s+){0,3}"
_BETTER = r"(?:better|best|stronger|superior|preferred|preferable|winner)\b"
_WINS = rf"(?:is|was|as|seems|appears)\s+{_HOW}{_BETTER}|\b(?:wins|prevails|outperforms|surpasses|is\s+preferred)\b"
#: Statements of a winner, most explicit first; the last one in the text counts.
PATTERNS = tuple(
    re.compile(p, re.IGNORECASE)
    for p in (
        r"\[\[\s*([ab12])\s*\]\]",
        rf"(?:verdict|winner|final\s+answer|final\s+decision)\s*(?:is|:|=)\s*(?:{_KIND}\s+)?[\[\"'(]*{_NO_ARTICLE}({_NAME})\b",
        rf"{_WHICH}\s*,?\s*(?:{_WINS})",
        rf"\b(?:prefer|choose|chose|select|favou?r|pick)\s+(?:the\s+)?(?:{_WHICH})",
    )
)
#: Statements of no winner.
TIE_PATTERNS = tuple(
    re.compile(p, re.IGNORECASE)
    for p in (
        r"\[\[\s*(?:c|tie)\s*\]\]",
        r"(?:verdict|winner|final\s+answer|final\s+decision)\s*(?:is|:|=)\s*(?:an?\s+)?[\[\"'(]*(?:tie|draw|equal)\b",
        r"\b(?:it\s+is|is|call(?:\s+it)?|declare)\s+a\s+(?:tie|draw)\b",
        r"\b(?:equally\s+(?:good|strong|well)|neither\s+(?:\w+\s+){0,2}is\s+(?:clearly\s+)?better|no\s+clear\s+winner)\b",
    )
)
_QUOTED = re.compile(r"[\"“«]([^\"“”«»]+)[\"”»]")
_FIRST = {"a", "1", "one", "first"}


@Measure(
    "Does the explanation contradict the verdict, the scores, the text?", "cues", "P with texts", "Wilson, clustered",
    "ours; named in rationalization", plot="forest", frames=("preferences",),
    terms=(
        Term("score_conflict", "verdict contradicts its scores"),
        Term("statement_conflict", "verdict contradicts its explanation"),
        Term("label_mentioned", "a source is named"),
        Term("quote_absent", "a quotation is in none of the texts"),
    ),
    have=("texts",),
    assumes="The faults are found by words and numbers: what is not stated in the explanation is not found.",
)  # fmt: skip
def rationale_check(
    calls: IntoFrame,
    *,
    lexicon: Sequence[str] = SOURCE_WORDS,
    min_words: int = 4,
    by: By = (),
    cluster: Cluster = "auto",
    conf_level: float = CONF_LEVEL,
) -> pd.DataFrame:
    """Rates of four faults of explanations that can be detected without a reference.

    Parameters
    ----------
    calls : frame
        Preferences with ``rationale``; optionally ``score_first``, ``score_second`` (the judge's scores) and
        ``text_first``, ``text_second`` and ``text_source`` (the texts it was shown).
    lexicon : sequence of str
        Words that name a source; whole words, any case.
    min_words : int
        Smallest number of words of a quotation to look up.
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
        Per judge, and per ``scheme`` and ``probe`` where there are such columns:

        - ``score_conflict``: the verdict is not the side with the higher score (of equal scores: not a tie), among
          valid calls with both scores;
        - ``statement_conflict``: the last winner that the explanation states is not the verdict, among valid calls
          whose explanation states one;
        - ``label_mentioned``: a word of the lexicon occurs, among calls with an explanation;
        - ``quote_absent``: a quotation of `min_words` words or more is in neither text (nor in the source), among calls
          whose explanation has such a quotation.

        A check without its columns has no row; one without a case is NaN with ``no data``. ``n`` is the cases; the flag
        counts the other calls.

    Raises
    ------
    DesignError
        If there is neither a column ``rationale`` nor scores.

    See Also
    --------
    rationale_shift : Change of explanations of the same verdict.
    rationale_alignment : Explanations nearer to the favoured label.

    Notes
    -----
    The definitions are this package's. The paper names a consistency check, stereotype intrusion and fabrication, but
    does not define them. A statement is found by the patterns of this module (``[[A]]``, *verdict: A*, *summary 1 is
    better*, *I prefer the second one*), A, 1, one and first being the candidate *shown first*; other wordings, other
    languages, and denials within a match are missed, so the rate is among the statements found. Lexicon words are not
    read in context: a text about human rights mentions *human*. Quotations are compared without case, blanks and
    punctuation; a paraphrase in quotation marks counts as absent.

    Source: rationalization paper, abstract and Section V.C (scores and cited spans).

    Examples
    --------
    >>> calls = pd.DataFrame({"judge": "g", "item": ["1", "2"], "first": "x", "second": "y",
    ...                       "choice": ["first", "second"],
    ...                       "rationale": ["Summary 2 is better.", "The second one is better; an LLM wrote it."]})
    >>> rationale_check(calls)[["term", "estimate", "n"]]
                     term  estimate    n
    0  statement_conflict       0.5  2.0
    1     label_mentioned       0.5  2.0
    """
    table = gathered(calls, [*names(by), *(clusters(cluster) or ()), "rationale"]).reset_index(drop=True)
    missing = [c for c in required("preferences") if c not in table]
    if missing or not ("rationale" in table or {"score_first", "score_second"} <= set(table.columns)):
        raise DesignError(
            f"rationale_check needs {', '.join(missing) or 'rationale, or score_first and score_second'}. Columns: "
            f"{', '.join(table.columns)}. Give a preferences frame that has the judge's reasons in 'rationale'."
        )
    known = [c for c in ("scheme", "probe") if c in table]
    columns = list(dict.fromkeys(["judge", *grouping([*names(by), *known], table.columns)]))
    weight = counted(Study.of(table).data, [*columns, *names(cluster if isinstance(cluster, str) else ())])
    table["n"] = call_counts(table[weight]) if weight else 1.0
    study, found = clustered(Study.of(table), columns, cluster)
    table = study.columns.frame()
    counts = Counts.of(table, columns, found, conf_level=conf_level)
    checks: dict[str, tuple[Mask, Mask]] = {}
    chosen = table["choice"].astype(object).where(table["choice"].notna(), "invalid").astype(str)
    for unknown in sorted(set(chosen) - set(CHOICES))[:1]:
        raise SchemaError(
            f"'choice' has {unknown!r}. Allowed: {', '.join(CHOICES)}. Map the table with "
            "preferences(frame, labels={...})."
        )
    verdict = chosen.replace({"abstain": "tie"}).to_numpy(dtype=object)
    valid = np.isin(verdict, ("first", "second", "tie"))
    if {"score_first", "score_second"} <= set(table.columns):
        scores = (pd.to_numeric(table[c], errors="coerce").to_numpy(float) for c in ("score_first", "score_second"))
        one, two = scores
        by_score = np.where(one > two, "first", np.where(one < two, "second", "tie"))
        checks["score_conflict"] = (by_score != verdict, valid & np.isfinite(one) & np.isfinite(two))
    if "rationale" in table:
        text = texts_of(table["rationale"])
        stated = np.array([stated_winner(t) for t in text], dtype=object)
        checks["statement_conflict"] = (stated != verdict, valid & (stated != ""))
        checks["label_mentioned"] = (mentions(text, lexicon), text != "")
        if {"text_first", "text_second"} <= set(table.columns):
            checks["quote_absent"] = _quote_absent(table, text, min_words)
    rows = [r for term, (hit, trial) in checks.items() for r in counts.rates(term, hit, trial)]
    sums = table.groupby(columns, dropna=False, observed=True)["n"].sum().reset_index()
    totals = {key_of(key): n for *key, n in sums.itertuples(index=False)}
    for row in rows:
        excluded = totals[key_of(row[c] for c in columns)] - row["n"]
        row["flag"] = flags.join(
            row["flag"], flags.EXCLUDED.of(excluded * bool(row["n"]), what="call(s) without a case")
        )
    return estimates(rows, columns)


def stated_winner(text: str) -> str:
    """The last winner that a text states: ``first``, ``second``, ``tie``, or empty."""
    found = [(m.end(), _slot(m)) for p in PATTERNS for m in p.finditer(text)]
    found += [(m.end(), "tie") for p in TIE_PATTERNS for m in p.finditer(text)]
    return max(found)[1] if found else ""


def _slot(match: re.Match[str]) -> str:
    name = next(g for g in match.groups() if g is not None).lower()
    return "first" if name in _FIRST else "second"


def mentions(texts: Sequence[str] | NDArray[Any], lexicon: Sequence[str]) -> Mask:
    """Whether each text has a word of the lexicon."""
    if isinstance(lexicon, str):
        raise DesignError(f"lexicon={lexicon!r} is one text. Give a list of words: [{lexicon!r}], say.")
    words = "|".join(re.escape(w) for w in sorted(lexicon, key=len, reverse=True))
    pattern = re.compile(rf"(?<!\w)(?:{words})(?!\w)", re.IGNORECASE)
    return np.array([bool(words) and bool(pattern.search(t)) for t in texts], dtype=bool)


def _quote_absent(table: pd.DataFrame, text: NDArray[Any], min_words: int) -> tuple[Mask, Mask]:
    """Whether an explanation has a quotation that is in no text, and whether it has a quotation."""
    shown = [texts_of(table[c]) for c in ("text_first", "text_second", "text_source") if c in table]
    absent, quoting = np.zeros(len(text), dtype=bool), np.zeros(len(text), dtype=bool)
    for i, explanation in enumerate(text):
        quotes = [w for q in _QUOTED.findall(explanation) if len(w := _words(q)) >= min_words]
        read = [f" {' '.join(_words(column[i]))} " for column in shown]
        quoting[i] = bool(quotes)
        absent[i] = any(not any(f" {' '.join(q)} " in r for r in read) for q in quotes)
    return absent, quoting


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


# ---- Do explanations of the same verdict change under a cue, and move towards the label? -----------------------------

_EXTRA = ("embed", "n_same", "n_items")
#: Cosines that differ by less are equal.
_EQUAL = 1e-12


@Measure(
    "Does the explanation of the same verdict change?", "cues", "P with texts", "bootstrap of items; rate: Wilson",
    "rationalization, Sec IV.C e", plot="rationale_shift", frames=("preferences",), needs=(control_of("probe"),),
    arguments=lambda _, options: {"baseline": options.baseline["probe"]},
    caption="Distance of the explanations of the same verdict, blind and under the label.",
    terms=(
        Term("drift", "drift of the explanation"),
        Term("drift_rate", "share of explanations that drift"),
        Term("property", "property under the label"),
        Term("property_blind", "property without labels"),
        Term("property_shift", "change of the property", neutral=0.0),
    ),
    have=("conditions", "texts",),
    assumes="Distance of the embedding stands for a difference in what is argued; items are independent.",
)  # fmt: skip
def rationale_shift(
    calls: IntoFrame,
    *,
    embed: Embed = None,
    phi: Property | Mapping[str, Property] | None = None,
    baseline: str = "blind",
    probe: str | None = None,
    distance: Literal["half", "full"] = "half",
    threshold: float | None = None,
    same_decision: bool = True,
    by: By = (),
    n_resamples: int = N_RESAMPLES,
    seed: int | np.random.Generator | None = SEED,
    conf_level: float = CONF_LEVEL,
) -> pd.DataFrame:
    """Distance of explanations between blind and a probe, on items with the same verdict.

    Parameters
    ----------
    calls : frame
        Preferences with ``probe`` and ``rationale``.
    embed : callable or mapping, optional
        Function from n texts to an (n, d) array, or ``{name: function}`` for several. By default TF-IDF fitted on
        the explanations: all probes, judges and schemes of the call, each distinct text once.
    phi : callable or mapping, optional
        A property of an explanation, a function from its text to a number (its words, say, or 1 where it hedges), or
        ``{name: function}`` for several.
    baseline, probe : str
        The probe without a cue; the one to compare it with (all others by default).
    distance : {'half', 'full'}
        ``(1 - cos)/2``, in [0, 1], or ``1 - cos``, in [0, 2].
    threshold : float, optional
        If given, also the share of items with a *larger* distance.
    same_decision : bool
        Only items with the same verdict in both, including ties; False uses all items valid in both.
    by : str or sequence of str
        Further grouping columns.
    n_resamples, seed, conf_level
        Of the bootstrap of items, and coverage.

    Returns
    -------
    pandas.DataFrame
        Per judge, scheme, probe and embedder the terms ``drift`` (mean distance) and, with a `threshold`,
        ``drift_rate`` (Wilson), with the columns ``embed``, ``n_same`` (items with the same verdict) and ``n_items``
        (items with a valid verdict in both). ``n`` is the items compared. Items without a valid verdict in both, and
        those with an empty explanation or one without a vector (no word known to the embedder), are excluded and
        counted in the flag. With `phi` also ``property`` and ``property_blind``, its mean under the probe and blind,
        and ``property_shift``, their difference, over all items valid in both, whatever the verdict; ``embed`` is then
        the name of the property.

    Raises
    ------
    DesignError
        If there are no explanations, no such probe, an embedder returns another shape, or `phi` no number.

    See Also
    --------
    rationale_check : Faults of explanations.
    anchoring : Shift of verdicts by a cue.

    Notes
    -----
    A distance has no absolute scale: the distance of two unbiased explanations depends on the embedder and on how a
    judge varies its wording. Compare probes, or a repeat of blind. With TF-IDF no cosine is negative, so that the
    halved distance is at most 0.5. The same-decision set depends on the verdicts and differs between schemes.

    Source: rationalization paper, Section IV.C e; it defines the measure for Flip, and prints no set size. Its Eq. 4,
    of which `phi` is the property, says that a judge's explanations are invariant if ``property_shift`` is 0.

    Examples
    --------
    >>> calls = pd.DataFrame({"judge": "g", "item": ["1", "2"] * 2, "probe": ["blind"] * 2 + ["flip"] * 2, "first": "x",
    ...                       "second": "y", "choice": ["first", "tie", "first", "first"],
    ...                       "rationale": ["clear and short", "equal", "written by people", "better"]})
    >>> rationale_shift(calls)[["term", "estimate", "n", "embed", "n_same", "n_items"]]
        term  estimate    n  embed  n_same  n_items
    0  drift       0.5  1.0  tfidf     1.0      2.0
    >>> result = rationale_shift(calls, phi={"words": lambda text: len(text.split())})
    >>> result.loc[result["term"] == "property_shift", ["term", "embed", "estimate", "n"]]
                 term  embed  estimate    n
    3  property_shift  words       0.0  2.0
    """
    properties = _properties(phi)
    found, pairs = matched_rationales(calls, by, baseline, probe, "rationale_shift")
    texts = [*pairs["text_blind"], *pairs["text"]]
    scale = 0.5 if distance == "half" else 1.0
    columns = [*found.groups, "probe"]
    plan = Bootstrap("percentile", ("item",), None, n_resamples, seed, conf_level)
    counts = Counts.of(pairs, columns, found.clustering, conf_level=conf_level)
    inside = pairs["same"] if same_decision else pairs["valid"]
    rows = []
    for name, function in embedders(embed).items():
        cosine = Vectors(texts, function, name).cosine(pairs["text_blind"], pairs["text"])
        table = pairs.assign(_value=scale * (1 - cosine), _inside=inside)
        means = _means(table, columns, "drift", plan)
        if threshold is not None:
            known = table["_inside"] & table["_value"].notna()
            means += counts.rates("drift_rate", table["_value"] > threshold, known)
        rows += _described(means, table, columns, name, same_decision)
    for name, measured in properties.items():
        before, after = (_measured(pairs[c], measured, name) for c in ("text_blind", "text"))
        table = pairs.assign(_value=after - before, _inside=pairs["valid"])
        known = table["_value"].notna()
        means = []
        for term, values in (("property", after), ("property_blind", before), ("property_shift", after - before)):
            means += _means(table.assign(_value=np.where(known, values, np.nan)), columns, term, plan)
        rows += _described(means, table, columns, name, same_decision, "the property")
    return estimates(rows, columns, _EXTRA)


def _properties(phi: Property | Mapping[str, Property] | None) -> dict[str, Property]:
    """Properties of an explanation by name."""
    found = {} if phi is None else phi if isinstance(phi, Mapping) else {getattr(phi, "__name__", "phi"): phi}
    for name, function in found.items():
        if not callable(function):
            raise DesignError(
                f"phi= has {function!r} for {name!r}. Give a function from a text to a number, or {{name: function}}."
            )
    return {str(name): function for name, function in found.items()}


def _measured(texts: pd.Series[Any], phi: Property, name: str) -> Floats:
    """The property of each text, found once for each distinct text; NaN for an empty one."""
    found: dict[str, float] = {"": math.nan}
    for text in sorted(set(texts) - {""}):
        value = phi(text)
        try:
            found[text] = float(value)
        except (TypeError, ValueError):
            raise DesignError(f"phi {name!r} gave {value!r} for {text[:60]!r}. It must give a number.") from None
        if math.isinf(found[text]):
            raise DesignError(
                f"phi {name!r} gave an infinite number for {text[:60]!r}. Give NaN where it is undefined."
            )
    return np.array([found[text] for text in texts], dtype=float)


@Measure(
    "Is the explanation nearer to the description of the favoured label?", "cues", "P with texts", "bootstrap of items",
    "rationalization, Sec IV.C d; cue_aligned ours", plot="forest",
    have=("conditions", "texts",),
    assumes="The embedding places an explanation nearer to the description of the label that it argues for.",
)  # fmt: skip
def rationale_alignment(
    calls: IntoFrame,
    *,
    favoured_text: str | Mapping[str, str],
    opposed_text: str | Mapping[str, str],
    embed: Embed = None,
    baseline: str = "blind",
    probe: str | None = None,
    same_decision: bool = True,
    by: By = (),
    n_resamples: int = N_RESAMPLES,
    seed: int | np.random.Generator | None = SEED,
    conf_level: float = CONF_LEVEL,
) -> pd.DataFrame:
    """Share of explanations nearer to the description of the favoured label than to the other description.

    Parameters
    ----------
    calls : frame
        Preferences with ``probe`` and ``rationale``.
    favoured_text, opposed_text : str or mapping
        Descriptions of the two labels, or ``{probe: description}``.
    embed, baseline, probe, same_decision, by, n_resamples, seed, conf_level
        As in :func:`rationale_shift`. The default embedder is fitted on explanations and descriptions together.

    Returns
    -------
    pandas.DataFrame
        Per judge, scheme, probe and embedder ``alignment``: the mean, over items with the same verdict, of 1 where the
        explanation under the probe is nearer to `favoured_text`, 0 where it is nearer to `opposed_text`, 1/2 where
        neither is. And, over all items valid in both, ``cue_aligned``: the share that is strictly nearer to
        `favoured_text`, with ``cue_aligned_blind``, the same of the blind explanations. Columns as in
        :func:`rationale_shift`.

    Raises
    ------
    DesignError
        If there are no explanations, a probe has no description, or both descriptions are the same.

    See Also
    --------
    rationale_shift : Change of explanations of the same verdict.
    rationale_check : Faults of explanations.

    Notes
    -----
    ``cue_aligned`` is this package's definition: the paper plots a *Cue-align %* without one. An explanation that
    shares no word with either description counts 1/2 in ``alignment`` and is not aligned; with TF-IDF that is common,
    so the level depends on the descriptions. The blind value is the level without the cue.

    Source: rationalization paper, Section IV.C d (LAI), defined for Flip.

    Examples
    --------
    >>> calls = pd.DataFrame({"judge": "g", "item": ["1", "2"] * 2, "probe": ["blind"] * 2 + ["flip"] * 2, "first": "x",
    ...                       "second": "y", "choice": "first",
    ...                       "rationale": ["short", "clear", "a fluent language model", "clear"]})
    >>> result = rationale_alignment(calls, favoured_text="language model", opposed_text="extractive system")
    >>> result[["term", "estimate", "n", "n_same"]]
                    term  estimate    n  n_same
    0          alignment      0.75  2.0     2.0
    1        cue_aligned      0.50  2.0     2.0
    2  cue_aligned_blind      0.00  2.0     2.0
    """
    found, pairs = matched_rationales(calls, by, baseline, probe, "rationale_alignment")
    fav, opp = (
        _descriptions(t, pairs, a) for t, a in ((favoured_text, "favoured_text"), (opposed_text, "opposed_text"))
    )
    if not all([*fav, *opp]):
        raise DesignError("A description in favoured_text= or opposed_text= is empty. Give two texts.")
    if any(f == o for f, o in zip(fav, opp, strict=True)):
        raise DesignError("favoured_text= and opposed_text= are the same. Give two different texts.")
    texts = [*pairs["text_blind"], *pairs["text"], *fav, *opp]
    columns = [*found.groups, "probe"]
    plan = Bootstrap("percentile", ("item",), None, n_resamples, seed, conf_level)
    counts = Counts.of(pairs, columns, found.clustering, conf_level=conf_level)
    inside = pairs["same"] if same_decision else pairs["valid"]
    rows = []
    for name, function in embedders(embed).items():
        vectors = Vectors(texts, function, name)
        score, base = (
            _alignment(vectors.cosine(pairs[c], fav), vectors.cosine(pairs[c], opp)) for c in ("text", "text_blind")
        )
        table = pairs.assign(_value=score, _inside=inside)
        means = _means(table, columns, "alignment", plan)
        for term, values in (("cue_aligned", score), ("cue_aligned_blind", base)):
            known = pairs["valid"] & np.isfinite(values)
            means += counts.rates(term, values == 1, known)
        rows += _described(means, table.assign(_blind=base), columns, name, same_decision)
    return estimates(rows, columns, _EXTRA)


def _descriptions(text: str | Mapping[str, str], pairs: pd.DataFrame, argument: str) -> list[str]:
    """Description of the label of each pair."""
    if isinstance(text, str):
        text = dict.fromkeys(pairs["probe"], text)
    if not isinstance(text, Mapping) or not all(isinstance(t, str) for t in text.values()):
        raise DesignError(f"{argument}={text!r} is not a description. Give a text, or {{probe: text}}.")
    missing = sorted(set(pairs["probe"]) - set(text))
    if missing:
        raise DesignError(f"{argument}= has no description for probe {missing[0]!r}. It has: {', '.join(text)}.")
    return [text[p].strip() for p in pairs["probe"]]


def _alignment(favoured: Floats, opposed: Floats) -> Floats:
    """1 if nearer to the favoured, 0 if nearer to the opposed, 1/2 if equal; NaN where a cosine is NaN."""
    difference = favoured - opposed
    level: Floats = np.where(np.abs(difference) <= _EQUAL, 0.5, (difference > 0).astype(float))
    return np.where(np.isnan(difference), np.nan, level)


def _means(table: pd.DataFrame, columns: list[str], term: str, plan: Bootstrap) -> list[dict[str, Any]]:
    """Mean of ``_value`` over the rows ``_inside``, with a bootstrap of items."""
    rows = []
    for key, group in each_group(table, columns):
        here = group[group["_inside"] & group["_value"].notna()]
        n = here["n"].to_numpy(dtype=float)
        row: dict[str, Any] = {**key, "term": term, "estimate": math.nan, "n": n.sum(), "flag": flags.NO_DATA}
        if n.sum() > 0:
            counts = np.column_stack([n * here["_value"].to_numpy(dtype=float), n])
            drawn = Counts.of(here).resampled(counts, ratio, key, plan=plan)
            value = float(counts[:, 0].sum() / n.sum())
            row |= {
                **drawn,
                "estimate": value,
                "flag": flags.join(drawn["flag"], flags.SMALL_N if n.sum() < 30 else ""),
            }
        rows.append(row)
    return rows


def _described(
    rows: list[dict[str, Any]],
    table: pd.DataFrame,
    columns: list[str],
    embed: str,
    same_decision: bool,
    lacking: str = "a vector",
) -> list[dict[str, Any]]:
    """Add the embedder or property, the sizes of the sets, and flags of excluded items."""
    sizes = {}
    for key, here in each_group(table, columns):
        n = here["n"].to_numpy(dtype=float)
        lost = n[~here["valid"]].sum()
        known = {c: here[c].notna() for c in ("_value", "_blind") if c in here}
        without = {c: n[here["valid"] & ~k].sum() for c, k in known.items()}
        without["_inside"] = n[here["_inside"] & ~known["_value"]].sum()
        sizes[key_of(key.values())] = (n[here["same"]].sum(), n[here["valid"]].sum(), lost, without)
    over = dict.fromkeys(("cue_aligned", "property", "property_blind", "property_shift"), "_value")
    over["cue_aligned_blind"] = "_blind"
    for row in rows:
        same, items, lost, without = sizes[key_of(row[c] for c in columns)]
        undefined = without[over.get(row["term"], "_inside")]
        row |= {"embed": embed, "n_same": float(same), "n_items": float(items)}
        row["flag"] = flags.join(
            row["flag"],
            flags.NO_SAME_DECISION if row["term"] not in over and same_decision and not same else "",
            flags.EXCLUDED.of(undefined, what=f"item(s) without {lacking}"),
            flags.EXCLUDED.of(lost, what="item(s) not valid in both"),
        )
    return rows
