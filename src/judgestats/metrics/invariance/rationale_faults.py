"""Does an explanation contradict its verdict or scores, name a source, or misquote? :func:`rationale_check`."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pandas as pd
from narwhals.stable.v2.typing import IntoFrame
from numpy.typing import NDArray

from judgestats import flags
from judgestats.counting.clustering import Cluster, clusters
from judgestats.counting.counts import Counts
from judgestats.counting.selection import gathered
from judgestats.counting.study import Study
from judgestats.counting.tallies import clustered
from judgestats.defaults import CONF_LEVEL
from judgestats.errors import DesignError, SchemaError
from judgestats.metrics.invariance.outcome_coding import key_of
from judgestats.metrics.invariance.text_vectors import texts_of
from judgestats.metrics.measure_registry import Measure, Term
from judgestats.results import estimates
from judgestats.schema.columns import CHOICES, By, grouping, names, required
from judgestats.schema.declared_counts import call_counts, counted
from judgestats.typing import Mask

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
    "Does the explanation contradict the verdict, the scores, the text?",
    "cues",
    "P with texts",
    "Wilson, clustered",
    "ours; named in rationalization",
    plot="forest",
    frames=("preferences",),
    terms=(
        Term("score_conflict", "verdict contradicts its scores"),
        Term("statement_conflict", "verdict contradicts its explanation"),
        Term("label_mentioned", "a source is named"),
        Term("quote_absent", "a quotation is in none of the texts"),
    ),
    have=("texts",),
    assumes="The faults are found by words and numbers: what is not stated in the explanation is not found.",
)
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
        Column that calls share, by which intervals are clustered. ``"auto"`` detects it (``item``, say) and names it in
        ``method``. False treats all calls as independent, with a flag where they are not.
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
    conditions = [c for c in ("scheme", "probe") if c in table]
    columns = list(dict.fromkeys(["judge", *grouping([*names(by), *conditions], table.columns)]))
    weight = counted(Study.of(table).data, [*columns, *names(cluster if isinstance(cluster, str) else ())])
    table["n"] = call_counts(table[weight]) if weight else 1.0
    study, clustering = clustered(Study.rows_of(calls, table), columns, cluster)
    table = study.columns.frame()
    counts = Counts.of(table, columns, clustering, conf_level=conf_level)
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
    statements = [(m.end(), _slot(m)) for p in PATTERNS for m in p.finditer(text)]
    statements += [(m.end(), "tie") for p in TIE_PATTERNS for m in p.finditer(text)]
    return max(statements)[1] if statements else ""


def _slot(match: re.Match[str]) -> str:
    name = next(g for g in match.groups() if g is not None).lower()
    return "first" if name in _FIRST else "second"


def mentions(texts: Sequence[str] | NDArray[np.generic], lexicon: Sequence[str]) -> Mask:
    """Whether each text has a word of the lexicon."""
    if isinstance(lexicon, str):
        raise DesignError(f"lexicon={lexicon!r} is one text. Give a list of words: [{lexicon!r}], say.")
    words = "|".join(re.escape(w) for w in sorted(lexicon, key=len, reverse=True))
    pattern = re.compile(rf"(?<!\w)(?:{words})(?!\w)", re.IGNORECASE)
    return np.array([bool(words) and bool(pattern.search(t)) for t in texts], dtype=bool)


def _quote_absent(table: pd.DataFrame, text: NDArray[np.generic], min_words: int) -> tuple[Mask, Mask]:
    """Whether an explanation has a quotation that is in no text, and whether it has a quotation."""
    sources = [texts_of(table[c]) for c in ("text_first", "text_second", "text_source") if c in table]
    absent, quoting = np.zeros(len(text), dtype=bool), np.zeros(len(text), dtype=bool)
    for i, explanation in enumerate(text):
        quotes = [w for q in _QUOTED.findall(explanation) if len(w := _words(q)) >= min_words]
        read = [f" {' '.join(_words(column[i]))} " for column in sources]
        quoting[i] = bool(quotes)
        absent[i] = any(not any(f" {' '.join(q)} " in r for r in read) for q in quotes)
    return absent, quoting


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())
