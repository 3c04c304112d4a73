"""The frame that Inspect's ``samples_df`` gives."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from judgestats.ingest.json_values import Fields, Row
from judgestats.ingest.native.inspect_ai import OPTIONS, ScorerValue, rating_rows
from judgestats.ingest.native.inspect_ai_head import Run
from judgestats.ingest.native.inspect_values import by_scorer, number_of
from judgestats.ingest.readers import Place, Reader
from judgestats.ingest.record_fields import absent, as_text, has_fields, scalars
from judgestats.schema.columns import RATINGS, N

_SCORE = "score_"
_DETAILS = ("answer", "explanation", "metadata")
#: Columns of a canonical frame, which a column of another meaning may not fill.
_TAKEN = {c.name for c in RATINGS} | {N, "label", "rater_type"}


def matches_frame(record: Fields) -> str:
    """Recognise the frame of ``samples_df`` by the names of its columns."""
    if has_fields(record, "sample_id", "eval_id", "id", "epoch") and any(name.startswith(_SCORE) for name in record):
        return "columns sample_id, eval_id, id, epoch and score_*"
    return ""


def frame_rows(
    record: Fields, place: Place, graders: Mapping[str, str] | None = None, values: Mapping[str, Fields] | None = None
) -> Iterator[Row]:
    """Read a row of the frame: a rating for each scorer, and for each key of a score that is a dict."""
    cells = {name: None if absent(value) else value for name, value in record.items()}
    scorers, details = _scorers_of(cells)
    epoch = cells["epoch"]
    if isinstance(epoch, str | float) and number_of(str(epoch)) is not None and float(epoch).is_integer():
        epoch = int(float(epoch))
    if isinstance(epoch, bool) or not isinstance(epoch, int):
        raise place.wrong("epoch", epoch, "a whole number")
    if cells["id"] is None:
        raise place.wrong("id", "", "the id of a sample")
    used = {"id", "epoch", "model", "sample_id", "input", "messages", *details, *(_SCORE + s for s in scorers)}
    head = {
        "system": str(cells.get("model") or cells["eval_id"]),
        "item": str(cells["id"]),
        "replicate": epoch,
        **{f"{n}_source" if n in _TAKEN else n: v for n, v in scalars(cells, used).items()},
    }
    graders, values = by_scorer(graders, "graders", str), by_scorer(values, "values", dict)
    nobody = Run("", {}, {})
    for scorer in scorers:
        value = cells[_SCORE + scorer]
        if value is None:
            place.exclude("the sample was not scored", f"scorer {scorer}")
            continue
        metadata = _structure(cells.get(f"{_SCORE}{scorer}_metadata"))
        metadata = metadata if isinstance(metadata, dict) else {}
        explanation = as_text(cells.get(f"{_SCORE}{scorer}_explanation"))
        rater = nobody.rater(scorer, metadata, graders)
        rated = ScorerValue(rater, _structure(value), explanation, metadata)
        yield from rating_rows(rated, scorer, head, values.get(scorer, {}), place, declared=False)


def _structure(value: object) -> object:
    """A list or object that the frame holds as JSON; anything else as it is."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _scorers_of(names: Fields) -> tuple[list[str], set[str]]:
    """Scorers among the columns, and the columns that are no verdict: details of a score, and metrics of the log."""
    scorers = [n.removeprefix(_SCORE) for n in names if n.startswith(_SCORE) and len(n) > len(_SCORE)]
    metrics = "score_headline_name" in names  # the columns of EvalScores: score_<scorer>_<metric>
    details = {
        s
        for s in scorers
        if (metrics and s.startswith("headline_"))
        or any(
            s.startswith(f"{other}_") and (metrics or s.removeprefix(f"{other}_") in _DETAILS)
            for other in scorers
            if other != s
        )
    }
    return [s for s in scorers if s not in details], {_SCORE + s for s in details}


SAMPLES = Reader(
    name="inspect_ai_samples",
    frame="ratings",
    about="the frame of Inspect's samples_df, as a frame, CSV or Parquet",
    example="sample_id,eval_id,id,epoch,input,target,model,score_match,score_model_graded_qa",
    matches=matches_frame,
    rows=frame_rows,
    containers=("csv", "tsv", "parquet"),
    options=OPTIONS,
    fields={
        "score_<scorer>": "score, as in a log; a dict or list is JSON in the cell",
        "score_<scorer>_explanation, _metadata": "rationale; the grader, if metadata has grading",
        "score_headline_*, score_<scorer>_<metric>": "metrics of the log, not read",
        "model, else eval_id": "system",
        "id, epoch": "item, replicate",
        "all else with single values": "condition columns, but input and messages",
    },
    sample="written as Inspect's columns are documented",
)
