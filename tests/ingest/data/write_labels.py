"""Writes the files of labelling and tracing tools that the tests read, each with the tool's own package.

Run in an environment of its own: pip install argilla argilla-v1 arize-phoenix-evals label-studio-sdk langfuse mlflow-skinny
"""

from __future__ import annotations

import datetime as dt
import json
import tempfile
import uuid
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
NOW = dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC)
USERS = [uuid.UUID(int=1), uuid.UUID(int=2)]


def save(name: str, content: Any) -> None:
    (HERE / name).write_text(json.dumps(content, indent=1) + "\n")


def langfuse() -> None:
    from langfuse.api.commons.types import score

    def common(n: int, source: str, **more: Any) -> dict[str, Any]:
        return {
            "id": f"s{n}", "source": source, "timestamp": NOW, "created_at": NOW, "updated_at": NOW, "environment": "default",
            **more,
        }  # fmt: skip

    scores = [
        score.Score_Numeric(**common(1, "ANNOTATION", trace_id="t1", name="helpful", value=4, author_user_id="ann", comment="clear")),
        score.Score_Numeric(**common(2, "ANNOTATION", trace_id="t1", name="helpful", value=3, author_user_id="bob")),
        score.Score_Numeric(**common(3, "EVAL", trace_id="t1", name="helpful", value=5, comment="Answers the question.")),
        score.Score_Boolean(**common(4, "EVAL", trace_id="t1", observation_id="o1", name="toxic", value=0, string_value="False")),
        score.Score_Categorical(**common(5, "ANNOTATION", trace_id="t2", name="tone", value=-1, string_value="rude", author_user_id="ann", config_id="c1")),
        score.Score_Numeric(**common(6, "API", session_id="u1", name="thumbs", value=1)),
        score.Score_Numeric(**common(7, "EVAL", trace_id="t1", name="helpful", value=2)),
        score.Score_Categorical(**common(8, "EVAL", trace_id="t2", name="tone", value=0, string_value="fine")),
        score.Score_Text(**common(9, "ANNOTATION", trace_id="t2", name="remark", string_value="see above", author_user_id="ann")),
    ]  # fmt: skip
    save("langfuse_scores.json", {"data": [json.loads(s.json(by_alias=True)) for s in scores], "meta": {"page": 1}})


def phoenix() -> None:
    import pandas as pd
    from phoenix.evals import create_evaluator, evaluate_dataframe

    @create_evaluator(name="short", kind="code")
    def short(output: str) -> bool:
        return len(output) < 10

    @create_evaluator(name="tone", kind="llm")
    def tone(output: str) -> dict[str, Any]:
        if output == "broken":
            raise ValueError("no reply")
        return {"score": 0.75, "label": "polite", "explanation": "It says please."}

    table = pd.DataFrame({"context.span_id": ["a", "b", "c"], "output": ["please", "please, and thank you", "broken"]})
    found = evaluate_dataframe(dataframe=table, evaluators=[short, tone], hide_tqdm_bar=True, max_retries=0)
    for name in [c for c in found if c.endswith("_execution_details")]:
        found[name] = [{**d, "execution_seconds": 0.0} for d in found[name]]
    save("phoenix_evals.json", json.loads(found.to_json(orient="records")))
    found.to_csv(HERE / "phoenix_evals.csv", index=False)


def mlflow() -> None:
    from mlflow.entities import AssessmentSource as Source
    from mlflow.entities import Expectation, Feedback

    ann, gpt = Source("HUMAN", "ann@example.org"), Source("LLM_JUDGE", "gpt-4o")
    fixed = {"create_time_ms": 0, "last_update_time_ms": 0}
    traces = {
        "tr-1": [
            Feedback("correct", True, source=ann, rationale="It is right.", **fixed),
            Feedback("correct", "yes", source=gpt, **fixed),
            Feedback("words", 12, source=Source("CODE", "count_words"), **fixed),
            Expectation("expected_response", "Paris", source=ann, **fixed),
        ],
        "tr-2": [
            Feedback("correct", error="timeout", source=gpt, **fixed),
            Feedback("correct", False, source=ann, span_id="sp-9", **fixed),
            Feedback("style", {"tone": 4, "length": 2}, source=ann, **fixed),
            Feedback("correct", True, source=Source("HUMAN", "bob@example.org"), valid=False, **fixed),
        ],
        "tr-3": [],
    }
    rows = [{"trace_id": k, "state": "OK", "assessments": [a.to_dictionary() for a in v]} for k, v in traces.items()]
    save("mlflow_traces.json", rows)


def label_studio() -> None:
    from label_studio_sdk.converter import Converter

    config = """<View><Text name="text" value="$text"/><Rating name="quality" toName="text" maxRating="5"/>
    <Choices name="correct" toName="text"><Choice value="yes"/><Choice value="no"/></Choices></View>"""
    tasks = json.loads((HERE / "label_studio.json").read_text())
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "tasks.json"
        source.write_text(json.dumps(tasks))
        converter = Converter(config=config, project_dir=folder)
        converter.convert_to_json_min(str(source), f"{folder}/min", is_dir=False)
        converter.convert_to_csv(str(source), f"{folder}/csv", is_dir=False, sep=",", header=True)
        save("label_studio_min.json", json.loads((Path(folder) / "min" / "result.json").read_text()))
        (HERE / "label_studio.csv").write_text((Path(folder) / "csv" / "result.csv").read_text())


def argilla() -> None:
    import argilla as rg
    from argilla.records._io import GenericIO

    def record(n: int, given: list[tuple[str, Any, int, str]]) -> Any:
        return rg.Record(
            id=f"r{n}", fields={"prompt": "p", "answer": "a"}, metadata={"model": "m1"},
            responses=[rg.Response(q, v, user_id=USERS[u], status=s) for q, v, u, s in given],
            suggestions=[rg.Suggestion("quality", 3, agent="gpt-4", score=0.7)],
        )  # fmt: skip

    records = [
        record(1, [("quality", 4, 0, "submitted"), ("quality", 5, 1, "submitted"), ("correct", "yes", 0, "submitted")]),
        record(2, [("quality", 2, 0, "submitted"), ("quality", 1, 1, "draft"), ("rank", ["b", "a"], 0, "submitted")]),
    ]
    save("argilla_v2.json", GenericIO.to_list(records))
    save("argilla_v2_flat.json", GenericIO.to_list(records, flatten=True))


def argilla_v1() -> None:
    from argilla_v1.client.feedback.schemas.records import FeedbackRecord

    def record(n: int, status: str) -> Any:
        values = {"quality": {"value": 4}, "correct": {"value": "no"}}
        return FeedbackRecord(
            fields={"prompt": "p"}, external_id=f"r{n}", metadata={"model": "m1"},
            responses=[{"values": values, "status": status, "user_id": USERS[0]}],
            suggestions=[{"question_name": "quality", "value": 2, "agent": "gpt-4", "type": "model"}],
        )  # fmt: skip

    save("argilla_v1.json", [json.loads(record(1, "submitted").json()), json.loads(record(2, "discarded").json())])


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for write in (langfuse, phoenix, mlflow, label_studio, argilla, argilla_v1):
        try:
            write()
            print(write.__name__, "written")
        except ImportError as problem:
            print(write.__name__, "NOT written:", problem)
    names = ("langfuse", "arize-phoenix-evals", "mlflow-skinny", "label-studio-sdk", "argilla", "argilla-v1")
    print({n: version(n) for n in names})
