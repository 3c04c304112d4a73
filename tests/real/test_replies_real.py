"""Texts of real judges: every answer read is compared with the one that the authors published."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from judgestats.ingest.replies import parse_verdicts

pytestmark = pytest.mark.real

LETTERS = {"A": "first", "B": "second", "C": "tie", "": "none"}


def records(path: Path) -> list[dict[str, Any]]:
    """Objects of a JSON or JSONL file."""
    text = gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text()
    return json.loads(text) if text.lstrip().startswith("[") else [json.loads(line) for line in text.splitlines()]


# --- MT-Bench: [[A]], [[B]], [[C]]


@pytest.fixture(scope="module")
def published(real_data: Path) -> pd.DataFrame:
    table = pd.read_csv(real_data / "position_bias_mtbench" / "verdicts.csv.gz", keep_default_na=False)
    return table.assign(
        letter=table["verdict_letter"].map(LETTERS), several=[len(set(s)) > 1 for s in table["all_letters"]]
    )


@pytest.mark.parametrize(("judge", "prose"), [("gemini-pro", 2), ("gpt-4-0613", 0)])
def test_full_texts_give_the_published_letter(judge: str, prose: int, published: pd.DataFrame, real_data: Path):
    texts = pd.read_csv(real_data / "position_bias_mtbench" / f"native_record_{judge}_rep1.tsv.gz", sep="\t")
    found = parse_verdicts(texts[judge], answer="choice")
    key = texts["cmp_index"].str.split(";", expand=True)
    rows = published[(published["judge"] == judge) & (published["repetition"] == 1)]
    rows = rows.set_index([rows["question_id"].astype(str), "model_first", "model_second"])
    rows = rows.loc[pd.MultiIndex.from_frame(key)]
    assert len(rows) == len(found) == 192
    letter, several = rows["letter"].to_numpy(), rows["several"].to_numpy()
    choice = found["choice"].to_numpy()
    assert several.sum() == (2 if judge == "gemini-pro" else 0)
    assert (choice[several] == "second").all()  # "[[B]] is better than [[A]]", and the verdict on the second question
    stated = (letter != "none") & ~several
    assert (choice[stated] == letter[stated]).all()
    assert (found["reply_form"][stated] == "brackets").all()
    none = letter == "none"
    assert none.sum() == prose  # they end with [A] and [B], which the authors do not read
    assert (found["reply_form"][none] == "own line").all()


def test_tails_with_a_letter_are_read_as_published(published: pd.DataFrame):
    stated = published["judge_tail"].str.contains(r"\[\[[ABC]\]\]") & (published["letter"] != "none")
    assert stated.sum() == 5041  # of 5,156; in the others the letter stands before the tail
    for sentences in (False, True):
        found = parse_verdicts(published["judge_tail"], answer="choice", sentences=sentences)
        ok = found["status"] == "ok"
        equal = found["choice"] == published["letter"]
        assert equal[stated].mean() >= 0.998
        odd = ok & (published["letter"] != "none") & ~equal
        assert odd.sum() == 1  # of two questions the authors take the letter of the first
        assert published["several"][odd].all()


def test_judgments_of_fastchat(real_data: Path):
    single = records(real_data / "mt_bench" / "native_gpt-4_single.jsonl.gz")
    scores = parse_verdicts([r["judgment"] for r in single])
    assert scores["score"].tolist() == [r["score"] for r in single]
    pairs = records(real_data / "mt_bench" / "native_gpt-4_pair.jsonl.gz")
    for game, first, second in (("g1", "model_1", "model_2"), ("g2", "model_2", "model_1")):
        found = parse_verdicts([r[f"{game}_judgment"] for r in pairs])
        slots = {first: "first", second: "second", "tie": "tie", "error": "invalid"}
        assert found["choice"].tolist() == [slots[r[f"{game}_winner"]] for r in pairs]
        assert (found["status"][found["choice"] == "invalid"] == "error").all()


# --- JudgeBench: [[A>B]], [[A>>B]]


def test_judgments_of_judgebench(real_data: Path):
    log = records(real_data / "judgebench" / "native_full_gpt-4o_arena_hard_o1-mini.jsonl.gz")
    calls = [j for record in log for j in record["judgments"]]
    found = parse_verdicts([j["judgment"]["response"] for j in calls], answer="choice")
    sides = {"A>B": "first", "B>A": "second", "A=B": "tie"}
    assert len(calls) == 700
    assert found["choice"].tolist() == [sides[j["decision"]] for j in calls]
    assert set(found["strength"]) <= {0, 0.25, 0.5, 0.75, 1}


@pytest.mark.parametrize("reader", ["claude-3-5-sonnet-20240620", "gpt-4o-2024-05-13"])
def test_ends_of_judgments_of_judgebench_do_not_contradict(reader: str, real_data: Path):
    (path,) = (real_data / "judgebench").glob(f"dataset=*response_model={reader},judge_name=arena_hard,*.gz")
    calls = [j for record in records(path) for j in record["judgments"]]
    found = parse_verdicts([(j["judgment"] or {}).get("response") for j in calls], answer="choice")
    decided = pd.Series([{"A>B": "first", "B>A": "second", "A=B": "tie"}.get(j["decision"]) for j in calls])
    both = (found["status"] == "ok") & decided.notna()
    assert both.sum() >= 470
    assert (found["choice"][both] == decided[both]).all()


# --- LLMBar: Output (a), and a sentence at the end of reasoning


def test_ends_of_completions_of_llmbar(real_data: Path):
    table = pd.read_csv(real_data / "llmbar" / "verdicts.csv.gz", dtype=str, keep_default_na=False)
    table = table[~table["strategy"].str.startswith("Rating")].reset_index(drop=True)
    first = (table["winner"] == "1") != (table["swapped"] == "1")
    slot = np.where(table["winner"] == "", "none", np.where(first, "first", "second"))
    strict = parse_verdicts(table["completion_tail"], answer="choice")
    assert (strict["choice"] == slot)[strict["status"] == "ok"].all()
    found = parse_verdicts(table["completion_tail"], answer="choice", sentences=True)
    stated = table["completion_tail"].str.contains(r"Output \([ab]\)(?: is better\.?)?\s*$") & (slot != "none")
    stated &= table["completion_tail"].str.contains(r"^\s*Output \([ab]\)\s*$| is better\.?\s*$")
    assert stated.sum() > 52_000
    assert (found["choice"] == slot)[stated].mean() >= 0.995
    both = (found["status"] == "ok") & (slot != "none")
    odd = both & (found["choice"] != slot)
    assert (both.sum(), odd.sum()) == (52496, 107)
    # The authors take (a) where the whole text has it anywhere, so most of these are texts that end with (b). The last
    # sentence of each says what was read.
    assert (slot[odd] == "first").sum() == 104
    tails = table["completion_tail"][odd]
    assert tails.str.contains(r"Output \([ab]\) is better\.$").all()
    named = tails.str.extract(r"Output \(([ab])\) is")[0].map({"a": "first", "b": "second"})
    assert (named == found["choice"][odd]).all()
    whole = found["reply_form"] == "whole"
    assert whole.sum() == 42638
    assert (found["choice"][whole] == slot[whole]).all()


@pytest.mark.parametrize(
    "name", ["ChatGPT_Vanilla", "GPT-4_Vanilla", "LLaMA2_Vanilla", "GPT-4_Metrics_Reference"], ids=lambda n: n
)
def test_full_completions_of_llmbar(name: str, real_data: Path):
    last = [r["results"][-1] for r in records(real_data / "llmbar" / f"native_Natural_{name}_result.json.gz")]
    for swap, slots in (("swap = False", "12"), ("swap = True", "21")):
        found = parse_verdicts([r[swap]["completion"][0] for r in last], answer="choice")
        assert found["choice"].tolist() == [{slots[0]: "first", slots[1]: "second"}[r[swap]["winner"]] for r in last]


def test_ratings_of_llmbar_are_two_scores(real_data: Path):
    log = records(real_data / "llmbar" / "native_Natural_GPT-4_Rating_result.json.gz")
    last = [r["results"][-1] for r in log]
    for name in ("score_1", "score_2"):
        found = parse_verdicts([r[name][0] for r in last], answer="score")
        assert (found["status"] == "ok").all()
        assert found["score"].tolist() == [float(r[name][0]) for r in last]


# --- AlpacaEval, PandaLM, graders


def test_ranks_of_alpaca_eval(real_data: Path):
    name = "native_first30_gpt-3.5-turbo-0301_alpaca_eval_cot_gpt4_turbo_fn_annotations.json.gz"
    for record in records(real_data / "alpaca_eval" / name):
        sides = {"output_1": "first", "output_2": "second"}
        labels = {label: sides[output] for label, output in record["referenced_models"].items()}
        found = parse_verdicts([json.dumps(record["raw_completion"])], labels=labels).iloc[0]
        assert (found["choice"], found["reply_form"]) == ("first" if record["preference"] < 1.5 else "second", "json")


def test_answers_and_reasons_of_pandalm(real_data: Path):
    table = pd.read_csv(real_data / "pandalm" / "verdicts.csv", keep_default_na=False)
    found = parse_verdicts(table["gpt_3_5_turbo"], answer="choice")
    answers = {"1": "first", "2": "second", "Tie": "tie", "garbage": "invalid"}
    assert found["choice"].tolist() == table["gpt_3_5_turbo"].map(answers).tolist()
    assert (found["status"] == "parse").sum() == 25
    reasons = records(real_data / "pandalm" / "native_gpt-3.5-turbo-testset-v1.json.gz")
    found = parse_verdicts([r["gpt_reason"] for r in reasons], answer="choice", form="sentence")
    ok = (found["status"] == "ok").to_numpy()
    odd = [
        r["gpt_reason"]
        for r, c, k in zip(reasons, found["choice"], ok, strict=True)
        if k and c != answers[r["gpt_result"]]
    ]
    assert ok.sum() == 247
    assert len(odd) == 2
    assert all("Response 2 is better" in reason for reason in odd), "the judge contradicts its own answer, 1"


def test_json_of_self_bias_frontier(real_data: Path):
    calls = [
        r for r in records(real_data / "self_bias_frontier" / "native_judgments.jsonl.gz") if r["paradigm"] == "pwc"
    ]

    def text(call: dict[str, Any]) -> str:
        raw = call["raw_response"]
        return raw["choices"][0]["message"]["content"] if "choices" in raw else raw["content"][0]["text"]

    labels = {-1: "tie", 0: "first", 1: "second"}
    found = parse_verdicts([text(c) for c in calls], labels=labels)
    assert len(found) == 1716
    assert found["choice"].tolist() == [labels[c["verdict"]] for c in calls]


def test_grades_of_inspect(real_data: Path):
    log = json.loads((real_data / "inspect_ai" / "security-guide_model_graded_fact.json").read_text())
    scores = [next(iter(s["scores"].values())) for s in log["samples"]]
    found = parse_verdicts([s["explanation"] for s in scores], labels={"C": 1, "I": 0})
    assert found["score"].tolist() == [float(s["value"] == "C") for s in scores]
    assert found["reply_form"].tolist() == ["line", "key", "line"]
