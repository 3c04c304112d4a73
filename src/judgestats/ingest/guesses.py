"""Names and answers found in tables of verdicts: the vocabulary behind :func:`judgestats.ingest.suggest_mapping`."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

from judgestats.schema.columns import CHOICES, VOCABULARY

JUDGE = (
    *("judge", "judge_model", "judge_name", "judge_id", "evaluator", "evaluator_model", "evaluator_key", "annotator"),
    *("annotator_id", "rater", "rater_id", "grader", "grader_model", "assessor", "reviewer", "scorer", "labeler"),
    "worker_id",
)
ITEM = (
    *("item", "item_id", "question_id", "qid", "prompt_id", "task_id", "instruction_id", "instruction_index"),
    *("example_id", "instance_id", "sample_id", "doc_id", "document_id", "story_id", "text_id", "prompt_index", "uid"),
    *("idx", "index", "id", "pair_id", "question", "instruction", "document"),
)
SYSTEM = (
    *("system", "system_id", "model", "model_name", "model_id", "writer", "generator", "author", "candidate"),
    *("evaluated", "evaluated_key", "response_model", "dialogue_system"),
)
CRITERION = ("criterion", "criteria", "dimension", "aspect", "rubric_id", "rubric", "attribute", "metric")
SCORE = ("score", "rating", "grade", "points", "stars", "mark", "judge_score", "overall_score", "satisfied")
#: Last word of the name of a score, which other words stand before: ``weighted_score``, ``q1_faithfulness``.
SCORE_LIKE = re.compile(r".+_(score|rating|grade)|q\d+_[a-z]\w*")
#: Words of the name of a count, which is no score.
COUNT = re.compile(r"(^|_)(total|totals|errors?|count|counts|n|num|sum|records?|rows?|line|lines|number|index)(_|$)")
#: Words that name criteria rather than judges.
CRITERIA_WORDS = frozenset(
    [
        "accuracy",
        "adherence",
        "answer_relevance",
        "bias",
        "brevity",
        "clarity",
        "coherence",
        "completeness",
        "conciseness",
        "consistency",
        "correctness",
        "creativity",
        "depth",
        "detail",
        "empathy",
        "engagement",
        "factuality",
        "facts",
        "faithfulness",
        "fluency",
        "format",
        "formatting",
        "grammar",
        "groundedness",
        "grounding",
        "harmfulness",
        "helpfulness",
        "honesty",
        "informativeness",
        "instruction_following",
        "logic",
        "organization",
        "originality",
        "quality",
        "readability",
        "reasoning",
        "relevance",
        "relevancy",
        "safety",
        "specificity",
        "structure",
        "style",
        "tone",
        "toxicity",
        "truth",
        "truthfulness",
        "usefulness",
    ]
)
CHOICE = (
    *("choice", "verdict", "verdict_letter", "decision", "winner", "preferred", "preference", "vote", "chosen"),
    *("judgment", "judgement", "answer", "outcome"),
)
#: Further names of verdicts that are classes.
CLASS = ("label", "class", "classification", "category", "annotation")
CORRECT = ("correct", "is_correct", "right", "is_right", "passed", "pass", "is_pass", "success", "accepted")
REPLICATE = ("replicate", "repetition", "repeat", "rep", "trial", "iteration", "run")
SWAPPED = (
    "swapped",
    "swap",
    "is_swapped",
    "flipped",
    "is_flipped",
    "was_swapped",
    "reversed",
    "order",
    "presentation_order",
    "order_shown",
)
GOLD = (
    *("gold", "gold_label", "gold_winner", "label", "expected", "ground_truth", "truth", "ground_truth_winner"),
    *("true_winner", "correct_winner", "expected_winner", "ground_truth_label", "true_label", "reference_winner"),
)
#: Further canonical columns and their usual other names.
OTHERS: dict[str, dict[str, tuple[str, ...]]] = {
    "preferences": {
        "task": ("task", "subset", "category", "benchmark", "dataset"),
        "topic": ("topic", "domain"),
        "strategy": ("strategy", "prompting_strategy"),
        "prompt": ("prompt_name", "judge_prompt", "eval_prompt"),
        "rationale": ("rationale", "reasoning", "explanation", "justification"),
        "cost": ("cost", "price", "price_per_example"),
        "latency": ("latency", "time_per_example"),
        "temperature": ("temperature",),
    },
    "ratings": {
        "condition": ("condition", "eval_prompt", "judge_prompt", "prompt_name"),
        "tier": ("tier",),
        "domain": ("domain", "task", "category", "subset"),
        "rationale": ("rationale", "reasoning", "explanation", "justification"),
        "temperature": ("temperature",),
    },
}

#: Stems of a pair of columns that hold the two candidates.
CANDIDATE_STEMS = (
    "",
    "candidate",
    "model",
    "system",
    "generator",
    "response_model",
    "player",
    "assistant",
    "gen",
    "response",
)
#: Their endings, and whether they say what was shown first.
PAIR_ENDINGS = (("first", "second", True), ("a", "b", False), ("1", "2", False), ("left", "right", False))

TIES = ("tie", "c", "a=b", "b=a", "draw", "equal", "similar", "same", "both", "[[c]]", "tie (bothbad)")
#: All names of columns that say what they hold.
WORDS = frozenset(
    {
        *JUDGE,
        *ITEM,
        *SYSTEM,
        *CRITERION,
        *SCORE,
        *CHOICE,
        *CLASS,
        *CORRECT,
        *REPLICATE,
        *SWAPPED,
        *GOLD,
        *(word for others in OTHERS.values() for words in others.values() for word in words),
        *(column.name for columns in VOCABULARY.values() for column in columns),
    }
)
#: Answers by position that need no explanation.
POSITIONS = {
    **{"first": "first", "second": "second", "a": "first", "b": "second", "[[a]]": "first", "[[b]]": "second"},
    **{"a>b": "first", "b>a": "second", "a>>b": "first", "b>>a": "second", "b<a": "first", "a<b": "second"},
    **{"output (a)": "first", "output (b)": "second", "response a": "first", "response b": "second"},
    **{"assistant a": "first", "assistant b": "second", "abstain": "abstain", "invalid": "invalid"},
}
INVALID = ("invalid", "error", "garbage", "unparsed")
#: Answers whose meaning is a convention.
CONVENTIONS = {"left": "first", "right": "second", "1": "first", "2": "second", "0": "tie", "-1": "second"}

#: How names of features of a text or a call begin: measured, not judged.
FEATURES = ("n_", "num_", "len_", "chars_", "words_", "tokens_", "cost_", "time_", "latency_", "is_", "has_")
#: Last words of names of what is told beside an answer.
BESIDE = (
    *("confidence", "certainty", "probability", "prob", "logprob", "rationale", "reason", "reasoning", "comment"),
    *("latency", "cost", "tokens", "seconds", "time", "length", "std", "sd", "se"),
)
#: Columns named by the order shown, or by a side, hold the answers of one judge.
ORDERS = ("forward", "backward", "original", "swapped", "ab", "ba", "first", "second", "tie", "order_1", "order_2")
#: Names of objects whose fields are judges.
JUDGES = ("judges", "evaluators", "annotators", "raters", "graders", "judgments", "judgements", "verdicts", "votes")
#: Names of objects whose fields are criteria.
CRITERIA = ("criteria", "dimensions", "aspects", "rubric", "rubrics")
#: A name that ends in the range of a scale: ``gpt_0_5``, ``gpt_1-10``.
RANGE = re.compile(r"(.+?)[_ ](([01])[-_](\d+))")
#: Columns of names stay text even if they look like numbers.
NAMES_SOMETHING = re.compile(r"(^|_)(id|ids|idx|index|uid|key|hash|name|file)$|^path_\d+$", re.IGNORECASE)


def plain(name: str) -> str:
    """Return a column name as the lists here spell it: ``Judge Model`` as ``judge_model``."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name.strip())
    return re.sub(r"[\s\-.]+", "_", spaced).lower()


def sides(labels: Iterable[str]) -> dict[str, str]:
    """The side that each label states, usually means or misspells; ``...``, which every reader refuses, if unknown."""
    said = CONVENTIONS | POSITIONS | dict.fromkeys(TIES, "tie") | dict.fromkeys(INVALID, "invalid")
    return {label: said.get(bare := label.strip().lower()) or _misspelt(bare) or "..." for label in labels}


def _misspelt(label: str) -> str | None:
    """The answer that a label misspells; ``not first`` and ``valid`` are words of their own."""
    close = difflib.get_close_matches(label, CHOICES, n=1, cutoff=0.75)
    return next((answer for answer in close if answer not in label and label not in answer), None)
