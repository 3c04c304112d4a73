"""Files to read: small samples of every format, and what can happen to them."""

from __future__ import annotations

import csv
import gzip
import io
import json
import random
import sqlite3
import struct
import zipfile
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet

from inspect_logs import DEFLATE, STORED, ZSTD, head, sample, score
from inspect_logs import zipped as zipped_log

#: Cells that are odd somewhere: as an id, a number, a label, a name, in CSV, in JSON, in SQL.
ODD: tuple[str, ...] = (
    "", " ", "NA", "nan", "None", "null", "-", "0", "-0", "007", "1e999", "1E5", "-1", "0.5", ".5", "5.", "3,5", "1_000", "0x1",
    "inf", "-inf", "9" * 30, "9" * 400, str(2**53 + 1), str(2**63), "true", "FALSE", "yes", "pass", "tie", "first", "A", "[[A]]",
    "x\ny", 'say "so"', "a,b", "a\tb", "\ufeff", "\u200b", "e\u0301", "\u00e9", "\U0001f600", "\u00a03", "\u0663", "\x00", "\x1b[31m",
    "=1+1", "it's", "'; DROP TABLE rows; --", "{}", "[1, 2]", '{"a": 1}', "\\", "%s", "a\rb", "{0}", "$1", "\u2028",
)  # fmt: skip
#: The same in JSON, where a value has a type.
TYPED: tuple[Any, ...] = (
    *ODD, None, True, False, 0, -1, 1.5, 1e300, 10**25, 2**63, float("inf"), float("nan"), [], [1], [[]], {}, {"a": {"b": None}},
    {"": 1}, [{"role": "user", "content": "x"}],
)  # fmt: skip
NAMES = (
    "judge", "item", "first", "second", "choice", "replicate", "n", "status", "strength", "gold", "order_known", "delta", "system",
    "score", "correct", "mean", "sd", "runs", "criterion", "temperature", "rationale", "Judge", "choice_source", "n_identical",
    "column_1", "file", "path_1", "", " judge", "a.b", "status_source", "length_first", "winner", "_file", "0", "x\ny", "judge\x00",
)  # fmt: skip


def random_columns(rng: random.Random) -> dict[str, list[Any]]:
    """A small table of calls or of ratings, as columns."""
    rows = rng.randint(1, 9)
    judges = rng.choice((["g"], ["g", "h"], ["GPT-4", "Claude 3", "NA"]))
    base: dict[str, list[Any]] = {
        "judge": [rng.choice(judges) for _ in range(rows)],
        "item": [str(i if rng.random() < 0.97 else 0) for i in range(rows)],
    }
    if rng.random() < 0.6:
        order = [rng.choice(("xy", "yx")) for _ in range(rows)]
        base |= {"first": [o[0] for o in order], "second": [o[1] for o in order]}
        base["choice"] = [rng.choice(("first", "second", "tie", "abstain", "invalid")) for _ in range(rows)]
        extra: dict[str, Callable[[], Any]] = {
            "replicate": lambda: rng.randint(0, 3), "strength": rng.random, "order_known": lambda: rng.choice(("true", "false")),
            "status": lambda: "ok", "gold": lambda: rng.choice("xy"), "temperature": lambda: rng.choice((0, 0.7)),
        }  # fmt: skip
    else:
        base["system"] = [rng.choice("st") for _ in range(rows)]
        kind = rng.choice(("score", "score", "correct", "mean"))
        answers = {
            "score": lambda: rng.randint(1, 5),
            "correct": lambda: rng.choice(("right", "wrong")),
            "mean": rng.random,
        }
        base[kind] = [answers[kind]() for _ in range(rows)]
        extra = {
            "criterion": lambda: "style", "replicate": lambda: rng.randint(0, 3), "sd": rng.random, "runs": lambda: 3,
            "condition": lambda: rng.choice("ab"), "gold": lambda: rng.randint(1, 5),
        }  # fmt: skip
    extra |= {
        "note": lambda: rng.choice(("", "good", "a, b")),
        "k": lambda: rng.randint(0, 9),
        "n": lambda: rng.randint(0, 4),
    }
    for name in rng.sample(sorted(extra), rng.randint(0, 3)):
        base[name] = [extra[name]() for _ in range(rows)]
    return base


def disturbed(columns: dict[str, list[Any]], rng: random.Random, odd: tuple[Any, ...]) -> dict[str, list[Any]]:
    """The table with up to three things wrong in it."""
    for _ in range(rng.choice((0, 0, 1, 1, 1, 2, 3))):
        name = rng.choice([*columns])
        at = rng.randrange(len(columns[name]))
        what = rng.randrange(8)
        if what < 4:
            columns[name] = [*columns[name][:at], rng.choice(odd), *columns[name][at + 1 :]]
        elif what == 4:
            columns[name] = [rng.choice(odd)] * len(columns[name])
        elif what == 5:
            columns = {rng.choice(NAMES) if c == name else c: v for c, v in columns.items()}
        elif what == 6 and len(columns) > 1:
            columns = {c: v for c, v in columns.items() if c != name}
        else:
            columns = {c: [*v, v[at]] for c, v in columns.items()}
    return columns


def delimited(separator: str) -> Callable[[random.Random], bytes]:
    """CSV or TSV; fields and lines may be wrong too."""

    def make(rng: random.Random) -> bytes:
        columns = disturbed(random_columns(rng), rng, ODD)
        rows = [[*columns], *map(list, zip(*columns.values(), strict=True))]
        for _ in range(rng.choice((0, 0, 0, 1))):
            row = rng.choice(rows)
            row[:] = rng.choice(([*row, "more"], row[:-1], [], ["", *row]))
        out = io.StringIO()
        ends = rng.choice(("\n", "\n", "\r\n", "\r"))
        csv.writer(out, delimiter=separator, lineterminator=ends, quoting=rng.choice((0, 0, 1))).writerows(rows)
        return out.getvalue().encode("utf-8", "surrogatepass")

    return make


def records(rng: random.Random) -> list[dict[str, Any]]:
    """Records of a table; some lack a field, or have one more."""
    columns = disturbed(random_columns(rng), rng, TYPED)
    found = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    for _ in range(rng.choice((0, 0, 1))):
        record = rng.choice(found)
        if rng.random() < 0.5 and record:
            del record[rng.choice([*record])]
        else:
            record[rng.choice(NAMES)] = rng.choice(TYPED)
    return found


def jsonl(rng: random.Random) -> bytes:
    """One record a line."""
    return _lines(records(rng), rng)


def _lines(found: list[Any], rng: random.Random) -> bytes:
    lines = [json.dumps(r, ensure_ascii=rng.random() < 0.5) for r in found]
    if rng.random() < 0.05:
        lines.insert(
            rng.randrange(len(lines) + 1),
            rng.choice(("", "  ", "null", "1", "[]", '{"judge": "g", "judge": "h"}', "{}")),
        )
    return "\n".join(lines).encode("utf-8", "surrogatepass")


def document(rng: random.Random) -> bytes:
    """A JSON document: records, columns, or records under "data"."""
    found = records(rng)
    shapes: list[Any] = [found, {"data": found}, {n: [r.get(n) for r in found] for n in found[0]}]
    shapes.append({n: {str(i): r.get(n) for i, r in enumerate(found)} for n in found[0]})
    return json.dumps(rng.choice(shapes), indent=rng.choice((None, 1))).encode()


def parquet(rng: random.Random) -> bytes:
    """Parquet of any types, as pandas or Arrow write them."""
    columns = disturbed(random_columns(rng), rng, TYPED)
    arrays = []
    for values in columns.values():
        try:
            array = pa.array(values, from_pandas=rng.random() < 0.5)
        except (pa.ArrowException, OverflowError):
            array = pa.array([None if v is None else str(v) for v in values])
        if pa.types.is_string(array.type) and rng.random() < 0.3:
            array = array.dictionary_encode()
        arrays.append(array)
    out = io.BytesIO()
    try:
        pa.parquet.write_table(pa.Table.from_arrays(arrays, names=[*columns]), out)
    except pa.ArrowException:  # an empty struct has no Parquet
        pd.DataFrame({"judge": ["g"]}).to_parquet(out)
    return out.getvalue()


def arrow(rng: random.Random) -> bytes:
    """Feather, or a stream of Arrow IPC."""
    table_ = pa.parquet.read_table(io.BytesIO(parquet(rng)))
    out = io.BytesIO()
    make = rng.choice((pa.ipc.new_file, pa.ipc.new_stream))
    with make(out, table_.schema) as writer:
        writer.write_table(table_)
    return out.getvalue()


def orc(rng: random.Random) -> bytes:
    """ORC of text and numbers."""
    columns = disturbed(random_columns(rng), rng, ODD)
    width = min(map(len, columns.values()))
    out = io.BytesIO()
    texts = [pa.array([str(v) for v in values[:width]]) for values in columns.values()]
    pa.orc.write_table(pa.Table.from_arrays(texts, names=[name.replace("\x00", "") or "x" for name in columns]), out)
    return out.getvalue()


def sqlite(rng: random.Random) -> bytes:
    """A database with one table."""
    columns = disturbed(random_columns(rng), rng, ODD)
    names = list(dict.fromkeys(name.lower().replace("\x00", "") or "x" for name in columns))
    rows = list(zip(*list(columns.values())[: len(names)], strict=False))
    with closing(sqlite3.connect(":memory:")) as database:
        database.execute(f"CREATE TABLE calls ({', '.join(quoted(n) for n in names)})")
        database.executemany(f"INSERT INTO calls VALUES ({', '.join('?' * len(names))})", rows)
        return bytes(database.serialize())


def quoted(name: str) -> str:
    return '"{}"'.format(name.replace('"', '""'))


def zipped(rng: random.Random) -> bytes:
    """An archive of one to three tables of one kind, at times of two kinds."""
    out = io.BytesIO()
    make, end = rng.choice(((delimited(","), "csv"), (jsonl, "jsonl")))
    with zipfile.ZipFile(out, "w", rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as archive:
        for i in range(rng.randint(1, 3)):
            archive.writestr(f"run={i}/t.{end}", make(rng))
        if rng.random() < 0.1:
            archive.writestr(
                rng.choice(("t.tsv", "../t.csv", ".hidden.csv", "README.md", "t.zip")), delimited("\t")(rng)
            )
    return out.getvalue()


#: A record of each native format, and how many calls one holds.
NATIVE: dict[str, dict[str, Any]] = {
    "fastchat_pair": {"question_id": 81, "model_1": "a", "model_2": "b", "g1_winner": "model_1", "g2_winner": "tie",
                      "judge": ["gpt-4", "pair-v2"], "g1_judgment": "A", "g2_judgment": "B", "turn": 1},
    "fastchat_single": {"question_id": 81, "model": "a", "judge": ["gpt-4", "single-v1"], "score": 7, "judgment": "7", "turn": 1},
    "arena_hard": {"question_id": "q", "model": "m", "judge": "j", "games": [{"score": "A>>B"}, {"score": "B=A"}]},
    "arena_hard_v2": {"uid": "q", "category": "coding", "model": "m", "judge": "j", "baseline": "o3",
                      "games": [{"score": "A>B", "judgment": {"answer": "x"}}, None]},
    "judgebench": {"pair_id": "p", "label": "A>B", "source": "s", "response_model": "m",
                   "judgments": [{"judgment": {"judge_model": "j", "response": "r"}, "decision": "A>B"}, {"judgment": None, "decision": None}]},
    "llmbar": {"input": "i", "output_1": "a", "output_2": "b", "label": 1,
               "results": [{"swap = False": {"winner": "1", "completion": "c"}, "swap = True": {"winner": "2"}}]},
    "alpaca_eval": {"instruction": "i", "output_1": "a", "generator_1": "g", "output_2": "b", "generator_2": "h", "dataset": "d",
                    "annotator": "w", "preference": 1.5, "price_per_example": 0.1, "time_per_example": 1.0, "raw_completion": None},
    "langfuse": {"traceId": "t", "observationId": None, "name": "helpful", "source": "ANNOTATION", "dataType": "NUMERIC", "value": 4,
                 "stringValue": None, "authorUserId": "ann", "comment": "c", "traceTags": ["x"], "environment": "default"},
    "mlflow": {"trace_id": "t", "state": "OK", "assessments": [
        {"assessment_name": "correct", "source": {"source_type": "HUMAN", "source_id": "ann"}, "feedback": {"value": True}, "valid": True},
        {"assessment_name": "style", "source": {"source_type": "LLM_JUDGE", "source_id": "g"}, "feedback": {"value": {"tone": 3}}},
        {"assessment_name": "expected", "source": {"source_type": "HUMAN"}, "expectation": {"value": "x"}}]},
    "phoenix": {"span_id": "s", "annotation_name": "tone", "annotator_kind": "LLM", "result": {"score": 0.5, "label": "good", "explanation": "e"},
                "metadata": {"model": "g"}, "identifier": "", "user_id": None},
    "argilla": {"id": "r", "fields": {"text": "x"}, "metadata": {"model": "m"}, "status": "completed",
                "responses": {"quality": [{"value": 4, "user_id": "u"}, {"value": 2, "user_id": "v"}]},
                "suggestions": {"quality": {"value": 3, "score": 0.5, "agent": "g"}}},
    "label_studio": {"id": 1, "data": {"text": "x", "model": "m"}, "predictions": [],
                     "annotations": [{"id": 1, "completed_by": 7, "was_cancelled": False, "result": [
                         {"from_name": "quality", "to_name": "text", "type": "rating", "value": {"rating": 4}}]}]},
    "label_studio_pairwise": {"id": 1, "data": {"text": "x"}, "annotations": [{"id": 1, "completed_by": {"email": "a"}, "result": [
        {"from_name": "better", "to_name": ["a", "b"], "type": "pairwise", "value": {"selected": "left"}}]}]},
    "promptfoo": {"evalId": "e", "config": {"defaultTest": {"options": {"provider": "openai:g"}}}, "results": {"version": 3, "results": [
        {"testIdx": 0, "promptIdx": 0, "promptId": "p", "provider": {"id": "m", "label": ""}, "vars": {"a": "x"}, "success": True,
         "gradingResult": {"pass": True, "score": 0.5, "reason": "r", "componentResults": [
             {"pass": True, "score": 1, "reason": "r", "assertion": {"type": "llm-rubric", "value": "be kind", "threshold": 0.5}},
             {"pass": False, "score": 0, "reason": "HTTP 503", "metadata": {"graderError": True}, "assertion": {"type": "g-eval"}},
             {"pass": True, "score": 1, "reason": "r", "assertion": {"type": "contains", "value": "x"}}]}},
        {"testIdx": 1, "provider": "m", "vars": {}, "success": False, "error": "timeout", "gradingResult": None}]}},
    "promptfoo_jsonl": {"testIdx": 0, "provider": {"id": "m"}, "vars": {"a": "x"}, "success": True, "gradingResult": {
        "pass": True, "score": 1, "componentResults": [{"pass": True, "score": 1, "reason": "r", "assertion": {"type": "factuality"}}]}},
    "deepeval": {"hyperparameters": {"model": "m"}, "testCases": [
        {"name": "t", "input": "i", "metricsData": [{"name": "A", "threshold": 0.5, "success": True, "score": 0.9, "evaluationModel": "g"},
                                                    {"name": "B", "score": None, "error": "timeout", "evaluationModel": "g"}],
         "trace": {"llmSpans": [{"name": "s", "metricsData": [{"name": "A", "score": 0.1, "success": False}]}]}},
        {"name": "u", "input": "j", "metricsData": []}]},
    "ragas_annotations": {"helpfulness": [
        {"metric_input": {"user_input": "q", "response": "a"}, "metric_output": 1, "is_accepted": True,
         "prompts": {"p": {"prompt_output": {"reason": "r", "verdict": 1}, "edited_output": {"verdict": 0}}}},
        {"metric_input": {"user_input": "q", "response": "b"}, "metric_output": None, "is_accepted": False, "prompts": {}}]},
    "ragas": {"user_input": "q", "response": "a", "retrieved_contexts": ["c"], "reference": "r", "faithfulness": 0.5, "helpful": 1,
              "bleu_score": None},
    "helm": {"instance_id": "id1", "train_trial_index": 0, "stats": [
        {"name": {"name": "exact_match", "split": "test"}, "count": 1, "mean": 1.0}, {"name": {"name": "f1_score"}, "count": 0},
        {"name": {"name": "num_output_tokens"}, "mean": 2.0}]},
    "helm_annotations": {"adapter_spec": {"model": "m"}, "annotator_specs": [
        {"class_name": "x.ACIBenchAnnotator", "args": {"annotator_models": {"gpt": {"model_name": "openai/gpt-4o"}}}}], "request_states": [
        {"instance": {"id": "id1", "split": "test"}, "train_trial_index": 0, "annotations": {
            "wildbench": {"prompt_text": "p", "gpt_strengths": "s", "gpt_score": 7.0, "llama_score": None},
            "aci_bench": {"prompt_text": "p", "gpt": {"accuracy": {"score": 4, "explanation": "e"}}}}}]},
    "lm_eval": {"doc_id": 0, "doc": {"q": "x"}, "target": "3", "arguments": {}, "resps": [["3"]], "filtered_resps": ["3"], "filter": "strict",
                "metrics": ["exact_match", "f1"], "exact_match": 1.0, "f1": [1, 1], "doc_hash": "h"},
    "openai_evals": {"run_id": "r", "event_id": 0, "sample_id": "s.0", "type": "metrics", "data": {"choice": "Y", "score": 1.0},
                     "created_by": "", "created_at": "2024"},
    "every_eval_ever": {"schema_version": "0.3.0", "evaluation_id": "e", "model_id": "m", "evaluation_name": "b", "sample_id": "s",
                        "interaction_type": "single_turn", "input": {}, "answer_attribution": [{"extraction_method": "llm_judge"}],
                        "evaluation": {"score": 1.0, "is_correct": True}, "error": None, "metadata": {"subject": "x"}},
}  # fmt: skip
#: Fields that identify what was labelled.
TRACED = ("id", "traceId", "trace_id", "span_id")
#: Formats that are one JSON object, not a record a line.
DOCUMENTS = ("promptfoo", "deepeval", "ragas_annotations", "helm_annotations")


def qrels(rng: random.Random) -> bytes:
    """Relevance judgments of TREC, some lines disturbed."""
    lines = [[f"q{i % 3}", "0", f"d{i}", str(rng.randint(-1, 3))] for i in range(rng.randint(1, 9))]
    for _ in range(rng.choice((0, 0, 1))):
        line = rng.choice(lines)
        line[rng.randrange(len(line))] = rng.choice(ODD)
    return "\n".join(rng.choice((" ", "\t")).join(line) for line in lines).encode()


def native(form: str) -> Callable[[random.Random], bytes]:
    """Records of a tool, disturbed anywhere in them."""

    def make(rng: random.Random) -> bytes:
        if form in DOCUMENTS:
            document = json.loads(json.dumps(NATIVE[form]))
            for _ in range(rng.choice((0, 1, 1, 2, 3))):
                disturb(document, rng)
            return json.dumps(document, indent=rng.choice((None, 1))).encode()
        found = [json.loads(json.dumps(NATIVE[form])) for _ in range(rng.randint(1, 5))]
        for i, record in enumerate(found):
            for name in ("question_id", "uid", "pair_id", "doc_id", "instance_id", "sample_id", "testIdx", *TRACED):
                if name in record:
                    record[name] = i
        for _ in range(rng.choice((0, 1, 1, 2, 3))):
            disturb(rng.choice(found), rng)
        if form in ("llmbar", "alpaca_eval") and rng.random() < 0.7:
            return json.dumps(found).encode()
        return _lines(found, rng)

    return make


def disturb(value: Any, rng: random.Random) -> None:
    """Alter something in nested lists and records, in place."""
    while True:
        keys = [*value] if isinstance(value, dict) else [*range(len(value))]
        if not keys:
            return
        key = rng.choice(keys)
        inner = value[key]
        if isinstance(inner, dict | list) and inner and rng.random() < 0.6:
            value = inner
            continue
        what = rng.random()
        if what < 0.7:
            value[key] = rng.choice(TYPED)
        elif what < 0.85:
            del value[key]
        elif isinstance(value, dict):
            value[rng.choice(NAMES)] = rng.choice(TYPED)
        else:
            value.append(inner)
        return


def damaged(raw: bytes, rng: random.Random) -> bytes:
    """The bytes of a file, as disks, networks and editors leave them; most are left alone."""
    for _ in range(rng.choice((0, 0, 0, 0, 1, 1, 2))):
        at = rng.randrange(len(raw)) if raw else 0
        to = min(len(raw), at + rng.randint(1, 12))
        what = rng.randrange(9)
        if what == 0:
            raw = raw[:at]
        elif what == 1:
            raw = raw[:at] + raw[to:]
        elif what == 2:
            raw = raw[:at] + raw[at:to] + raw[at:]
        elif what == 3 and raw:
            raw = raw[:at] + bytes([raw[at] ^ (1 << rng.randrange(8))]) + raw[at + 1 :]
        elif what == 4:
            raw = (
                raw[:at]
                + rng.choice((b'"', b"\n", b"\r", b",", b"\t", b"\x00", b"\xff", b"\\", b"{", b"]", b"''"))
                + raw[at:]
            )
        elif what == 5:
            raw = b"\xef\xbb\xbf" + raw
        elif what == 6:
            raw = raw.replace(b"\n", b"\r\n")
        elif what == 7:
            raw = raw + rng.choice((b"\n", b"\n\n", b"\x1a", b" ", b"\x00" * 3))
        else:
            packed = gzip.compress(raw, mtime=0)
            raw = packed if rng.random() < 0.7 else packed[: rng.randrange(len(packed))]
    return raw


# ---- Inspect: logs as JSON and zipped, the frame of its samples, and the tables of Scout -----------------------------

#: Values of a score, as scorers give them.
_VALUES: tuple[Any, ...] = (
    "C",
    "I",
    "P",
    "N",
    0.5,
    3,
    True,
    "safe",
    "2",
    [1, 0],
    {"style": 3, "truth": None},
    float("nan"),
    None,
)


def _log(rng: random.Random) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Head and samples of a log, disturbed anywhere in them."""
    grading = {"grading": [{"role": "assistant", "content": "GRADE: C", "model": "j"}]}
    scorers = [{"name": "model_graded_qa", "options": {"model": "a/j"}}, {"name": "mine", "options": {}}]
    samples = []
    for i in range(rng.randint(1, 4)):
        for epoch in range(1, rng.randint(1, 2) + 1):
            scores = {s["name"]: score(rng.choice(_VALUES), metadata=rng.choice((None, grading))) for s in scorers}
            samples.append(
                sample(i, rng.choice((scores, scores, scores, {}, None)), epoch, metadata={"topic": "doors"})
            )
    header = json.loads(json.dumps(head(scorers)))
    for _ in range(rng.choice((0, 0, 1, 1, 2))):
        disturb(rng.choice((header, *samples, *samples)), rng)
    return header, samples


def inspect_json(rng: random.Random) -> bytes:
    """A log as JSON."""
    header, samples = _log(rng)
    return json.dumps({**header, "samples": samples}, indent=rng.choice((None, 2))).encode()


def inspect_eval(rng: random.Random) -> bytes:
    """A log as an archive, with something wrong in a member or in the archive itself."""
    header, samples = _log(rng)
    members = [
        ("_journal/start.json", header),
        *((f"samples/{i}_epoch_1.json", s) for i, s in enumerate(samples)),
        ("header.json", header),
    ]
    written = [(name, json.dumps(content, indent=rng.choice((None, 2))).encode()) for name, content in members]
    at = rng.randrange(len(written))
    name, content = written[at]
    what = rng.randrange(24)
    if what < 3:
        written[at] = name, damaged(content, rng)
    elif what == 3:
        written[at] = rng.choice(("../a.json", "/etc/a.json", "C:\\a", "a/../../b", "", "\ud83d/x")), content
    elif what == 4:
        written[at] = name, zipped_log(written)
    elif what == 5:
        written.append(written[at])
    elif what == 6:
        del written[at]
    elif what == 7:
        written[at] = name, bytes(rng.choice((10**6, 10**8)))
    raw = zipped_log(
        [(n.encode("utf-8", "replace").decode(), c) for n, c in written], rng.choice((STORED, DEFLATE, ZSTD, ZSTD))
    )
    size, claimed = struct.pack("<I", len(content)), struct.pack("<I", rng.choice((0, 1, 10**8, 2**32 - 2, 2**32 - 1)))
    if what == 8:
        raw = raw.replace(size, claimed)
    elif what == 9:
        raw = raw.replace(b"\x14\x00\x00\x08", rng.choice((b"\x14\x00\x01\x08", b"\xff\x00\x00\x08")))
    elif what == 10:
        raw = raw[rng.randrange(len(raw)) :]
    return raw


def _cells(rows: list[dict[str, Any]], rng: random.Random) -> dict[str, list[Any]]:
    columns = {name: [row.get(name) for row in rows] for name in rows[0]}
    for _ in range(rng.choice((0, 1, 1, 2))):
        cells = columns[rng.choice([*columns])]
        cells[rng.randrange(len(cells))] = rng.choice(ODD)
    return columns


def _csv(columns: dict[str, list[Any]]) -> bytes:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([[*columns], *map(list, zip(*columns.values(), strict=True))])
    return out.getvalue().encode("utf-8", "surrogatepass")


def inspect_samples(rng: random.Random) -> bytes:
    """The frame of ``samples_df`` as CSV."""
    values = [json.dumps(v) if isinstance(v, list | dict) else v for v in _VALUES]
    rows = [
        {"sample_id": f"s{i}", "eval_id": "e", "id": i, "epoch": 1, "input": "?", "score_match": rng.choice(values),
         "score_mine": rng.choice(values), "score_mine_explanation": "why", "metadata_topic": "doors"}
        for i in range(rng.randint(1, 5))
    ]  # fmt: skip
    return _csv(_cells(rows, rng))


def scout_labels(rng: random.Random) -> bytes:
    """A validation set as CSV."""
    values = ("True", "false", "3", "low", "", None)
    rows = [
        {
            "id": f"t{i}",
            "target": rng.choice(values),
            "label_tone": rng.choice(values),
            "split": rng.choice(("dev", "")),
        }
        for i in range(rng.randint(1, 6))
    ]
    return _csv(_cells(rows, rng))


def scout_scan(rng: random.Random) -> bytes:
    """Results of a scan as CSV."""
    values = (
        ("true", "boolean"), ("3", "number"), ("low", "string"), ('{"a": 1, "b": true}', "object"), ("[1, 2]", "array"),
        ('[{"value": 1, "label": "x"}]', "resultset"), ("", "null"),
    )  # fmt: skip
    rows = []
    for i in range(rng.randint(1, 5)):
        value, kind = rng.choice(values)
        rows.append(
            {"transcript_id": f"t{i}", "scan_id": "s", "scanner_name": "risk", "value": value, "value_type": kind,
             "scan_error": rng.choice(("", "", "failed")), "scan_model_usage": rng.choice(("", "{}", '{"a/j": {}}'))}
        )  # fmt: skip
    return _csv(_cells(rows, rng))


#: Readers whose files are written by a function of their own, and the suffix of the file.
WRITTEN: dict[str, tuple[Callable[[random.Random], bytes], str]] = {
    "inspect_json": (inspect_json, "json"),
    "inspect_eval": (inspect_eval, "eval"),
    "inspect_samples": (inspect_samples, "csv"),
    "scout_labels": (scout_labels, "csv"),
    "scout_scan": (scout_scan, "csv"),
}
