"""Every public file of verdicts is read by one call, with the rows that its description names; the others are refused.

Not here: the logs of tools (Inspect, lm-evaluation-harness, HELM, promptfoo, DeepEval, ragas, every_eval_ever, qrels), which
have tests beside their readers.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from judgestats.errors import SchemaError
from judgestats.ingest import read
from judgestats.schema import check
from judgestats.schema.account import account_of
from judgestats.schema.columns import answer_column

pytestmark = pytest.mark.real

ONE_TWO = {"1": "first", "2": "second", "0": "tie"}
PANDALM = {**ONE_TWO, "Tie": "tie", "garbage": "invalid"}
OUTPUTS = {"item": "idx", "first": "=1", "second": "=2", "order_known": "=false"}
CROSS = {"wide": "scores.{criterion}"}
COMPOSO = {"wide": "{judge}_scores[system][replicate]", "columns": {"item": "subset+id"}}
RUBRIC = {"judge": "=gpt-3.5-turbo-16k", "item": "text_id", "probabilities": "answer{score}_prob"}
HANNA = "{judge:Beluga-13B|OrcaPlatypus|Mistral-7B|Llama-13B|ChatGPT} {criterion:[A-Z][A-Z]} {prompt}[item]"
GRADES = {"scale": (1, 5), "off_scale": "missing"}

#: File -> arguments of read, rows, and rows without an answer.
FILES: dict[str, tuple[dict[str, Any], int, int]] = {
    "alpaca_eval/native_text_davinci_001_alpaca_eval_gpt4_annotations.json.gz": ({}, 805, 1),
    "arena_hard_ko/native_gpt-4o-mini.jsonl": ({}, 1000, 0),
    "cje_arena_sample/arena_sample.csv.gz": (
        {"columns": {"judge": "=judge", "item": "prompt_id", "system": "policy", "score": "judge_score", "gold": "oracle_label"}},
        4150, 0,
    ),
    "cross_eval_masaomi/evaluations.jsonl": (
        {**CROSS, "columns": {"judge": "evaluator_key", "system": "evaluated_key", "item": "run+task_id", "failed": "error"}},
        96 * 5, 4 * 5,
    ),
    "cross_eval_masaomi/meta_evaluations.jsonl": (
        {**CROSS, "columns": {"judge": "meta_evaluator_key", "system": "original_evaluator_key", "item": "run+task_id",
                              "failed": "error"}},
        160 * 4, 4 * 4,
    ),
    "cross_eval_masaomi/native_results_3models_code_generation_001_evals.json": (
        {**CROSS, "explode": "evaluations", "columns": {"judge": "evaluator_key", "system": "evaluated_key", "item": "task_id"}},
        30, 0,
    ),
    "llm_rubric/human_judges_real_convs_FIXED_ANON.tsv": (
        {"wide": "criterion=Q*", "columns": {"judge": "annotator_id", "system": "dialogue_system", "item": "text_id"},
         "scale": (1, 4), "off_scale": "missing"},
        223 * 9, 306,
    ),
    "llm_rubric/human_judges_synth_all_FIXED_ANON.tsv": (
        {"wide": "criterion=*Q*", "columns": {"judge": "annotator_id", "item": "text_id"}}, 743 * 12, 2,
    ),
    "llm_rubric/gpt-3.5-turbo-16k_real_evaluations_FIXED.tsv.gz": ({"columns": RUBRIC}, 2007, 0),
    "llm_rubric/gpt-3.5-turbo-16k_synth_evaluations_FIXED.tsv.gz": ({"columns": RUBRIC}, 2025, 0),
    "mt_bench/human_judgments.csv.gz": (
        {"columns": {"item": "question_id", "first": "model_a", "second": "model_b", "choice": "winner", "order_known": "=false"},
         "labels": {"model_a": "first", "model_b": "second"}},
        3355, 0,
    ),
    "mt_bench/native_gpt-4_pair.jsonl.gz": ({}, 150, 3),
    "mt_bench/native_gpt-4_single.jsonl.gz": ({}, 160, 0),
    "pandalm/verdicts.csv": (
        {"wide": "judge=annotator*,gpt_3_5_turbo,pandalm_7b", "labels": PANDALM,
         "columns": {"item": "idx", "first": "model_1", "second": "model_2", "choice": "verdict", "order_known": "=false"}},
        999 * 5, 25,
    ),
    "pandalm/native_testset-v1.json.gz": (
        {"wide": "judge=annotator*", "columns": {**OUTPUTS, "choice": "score"}, "labels": ONE_TWO}, 2997, 0,
    ),
    "pandalm/native_pandalm-7b-testset-v1.json.gz": (
        {"columns": {**OUTPUTS, "judge": "=pandalm-7b", "choice": "pandalm_result"}, "labels": PANDALM}, 999, 0,
    ),
    "pandalm/native_gpt-3.5-turbo-testset-v1.json.gz": (
        {"columns": {**OUTPUTS, "judge": "=gpt-3.5-turbo", "choice": "gpt_result"}, "labels": PANDALM}, 999, 25,
    ),
    "position_bias_mtbench/verdicts.csv.gz": (
        {"columns": {"item": "question_id", "first": "model_first", "second": "model_second", "choice": "verdict_letter",
                     "replicate": "repetition"}, "labels": {"A": "first", "B": "second", "C": "tie"}},
        5184, 28,
    ),
    "self_bias_frontier/pairwise.csv.gz": (
        {"columns": {"item": "task_id", "first": "model_first", "second": "model_second", "choice": "verdict", "topic": "domain"},
         "labels": {"1": "first", "-1": "second", "0": "tie"}},
        1716, 0,
    ),
    "self_bias_frontier/rubric_long.csv.gz": (
        {"columns": {"system": "model", "item": "task_id", "criterion": "rubric_id", "correct": "satisfied"}}, 3726, 0,
    ),
    "llmbar": (
        {"format": "llmbar", "path": "native_{subset:[^_]+}_{judge:[^_]+}_{strategy}_result.json"}, 5 * 200, 0,
    ),
    "judgebench": ({"format": "judgebench"}, 2 * (6 * 350 + 270), 13),
}  # fmt: skip
#: The same, of more than a few seconds.
LARGE: dict[str, tuple[dict[str, Any], int, int]] = {
    "alpaca_eval/preferences.csv.gz": (
        {"columns": {"judge": "annotator", "item": "instruction_index", "first": "generator_1", "second": "generator_2",
                     "graded": "preference", "order_known": "=false"}, "labels": ONE_TWO},
        107055, 64,
    ),
    "arena_hard_ko/all_ensemble_judgments.jsonl.gz": ({}, 2 * 38000 - 1, 0),  # one record has a single game
    "hanna/ratings_long.csv.gz": (
        {"columns": {"judge": "rater", "system": "writer", "item": "prompt_index", "condition": "eval_prompt"}, **GRADES},
        145728, 1051,
    ),
    "hanna/native_hanna_metric_scores_llm.csv.gz": (
        {"wide": HANNA, "columns": {"system": "Model", "condition": "prompt"}, **GRADES}, 5 * 4 * 6 * 11 * 96, 1051,
    ),
    "llmbar/verdicts.csv.gz": (
        {"columns": {"judge": "evaluator", "item": "subset+item", "first": "=1", "second": "=2", "winner": "winner",
                     "swapped": "swapped", "gold": "label", "task": "subset"}},
        61926, 273,
    ),
    "llmjudge_trec_dl23/labels_wide.csv.gz": (
        {"wide": "judge=*,-qid,-docid,-gold", "columns": {"item": "qid+docid"}, "scale": (0, 3), "off_scale": "missing"},
        4423 * 33, 3,
    ),
    **{
        f"composo_rewardbench2/{name}.jsonl.gz": (COMPOSO, items * judges * 4 * 8, missing)
        for name, items, judges, missing in (
            ("base_both_k8", 1730, 2, 38), ("criteria_both_k8", 1742, 2, 116), ("base_nano_k8", 1718, 1, 54),
            ("base_full_k8_t0.0", 1730, 1, 18), ("base_full_k8_t0.3", 1731, 1, 17), ("base_full_k8_t0.7", 1734, 1, 14),
            ("base_claude_both_k8", 1763, 2, 645), ("criteria_claude_both_k8", 1763, 2, 286),
        )
    },
}  # fmt: skip
#: Files without a verdict: a table of aggregates, of items, of designs.
NONE = (
    "alpaca_eval/files_summary.csv", "alpaca_eval/instructions.csv", "alpaca_eval/published_evaluators_leaderboard.csv",
    "alpaca_eval/published_leaderboard_alpaca_eval_gpt4.csv", "alpaca_eval/published_leaderboard_cot_gpt4_turbo_fn.csv",
    "alpaca_eval/published_leaderboard_gpt4_turbo_fn.csv", "alpaca_eval/published_leaderboard_weighted_gpt4_turbo.csv",
    "alpaca_eval/published_length_controlled_weights.csv", "arena_hard_ko/published_leaderboard_no_control.csv",
    "composo_rewardbench2/published_all_metrics.json", "judgebench/items.csv", "judgebench/recomputed_metrics.csv",
    "judging_the_judges_soumik/aggregated_metrics.json", "judging_the_judges_soumik/controlled_pairs_design.csv",
    "judging_the_judges_soumik/published_table1_kappa.csv", "judging_the_judges_soumik/published_table1_main_results.csv",
    "judging_the_judges_soumik/published_table2_bias_summary.csv", "judging_the_judges_soumik/published_table3_length_split.csv",
    "judging_the_judges_soumik/published_table_llmbar_with_ci.csv", "llmbar/items.csv",
    "llmbar/published_statistics.json.gz",
    "position_bias_mtbench/published_consistency.csv", "self_bias_frontier/generations.csv",
    "self_bias_frontier/native_report.json", "self_bias_frontier/native_tasks.jsonl",
)  # fmt: skip
#: Verdicts that one call does not read: texts of judges only, and records that name their candidates in a list of ids.
NOT_YET = (
    "position_bias_mtbench/native_record_gemini-pro_rep1.tsv.gz", "position_bias_mtbench/native_record_gpt-4-0613_rep1.tsv.gz",
    "self_bias_frontier/native_judgments.jsonl.gz",
)  # fmt: skip
TOOLS = (
    "inspect_ai", "inspect_ai_recent", "inspect_scout", "lm_eval_harness", "helm", "promptfoo", "deepeval", "ragas",
    "every_eval_ever",
)  # fmt: skip


def read_as(real_data: Path, name: str, arguments: dict[str, Any], rows: int, missing: int) -> pd.DataFrame:
    """Read a file, and compare its rows with those that its description names."""
    frame: pd.DataFrame = read(real_data / name, **arguments)
    account = account_of(frame)
    assert account is not None
    assert len(frame) == rows
    if "choice" in frame:
        assert int((frame["choice"] == "invalid").sum()) == missing
    else:
        assert int(frame[answer_column(frame.columns)].isna().sum()) == missing
    return frame


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_a_file_is_read_by_one_call(real_data: Path, name: str) -> None:
    arguments, rows, missing = FILES[name]
    frame = read_as(real_data, name, arguments, rows, missing)
    told = check(frame).set_index("what")["n"]
    assert told["rows in"] == told["rows used"] + told["rows excluded"]
    assert told["rows used"] == rows - missing


@pytest.mark.full
@pytest.mark.parametrize("name", LARGE)
def test_a_large_file_is_read_by_one_call(real_data: Path, name: str) -> None:
    read_as(real_data, name, *LARGE[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", NONE)
def test_a_file_without_a_verdict_is_refused(real_data: Path, name: str) -> None:
    with pytest.raises(SchemaError, match="the columns are not canonical, and no mapping was given"):
        read(real_data / name)


def test_no_file_is_forgotten(real_data: Path) -> None:
    known = {*FILES, *LARGE, *NONE, *NOT_YET, "llmjudge_trec_dl23/native_h2oloo-zeroshot2.qrels.txt"}
    known |= {
        f"{f}/{p.name}" for f in ("llmbar", "judgebench") for p in (real_data / f).glob("*") if "native" in p.name
    }
    known |= {f"judgebench/{p.name}" for p in (real_data / "judgebench").glob("dataset=*")}
    known |= {f"alpaca_eval/{p.name}" for p in (real_data / "alpaca_eval").glob("native_first30*")}
    found = {
        p.relative_to(real_data).as_posix()
        for p in real_data.glob("*/*")
        if p.parent.name not in TOOLS
    }  # fmt: skip
    assert found - known == set()


def test_ties_of_ratings_are_no_wins_of_the_second(real_data: Path) -> None:
    """LLMBar writes equal scores (714 pairs of 2,928) as a win of what was shown second, in either order: a false bias."""
    table = pd.read_csv(real_data / "llmbar" / "verdicts.csv.gz", dtype=str)
    table = table[table["score_1"].notna() & (table["strategy"] == "Rating")]
    equal = (table["score_1"] == table["score_2"]).to_numpy()
    assert equal.sum() > 100
    mapping = {"judge": "evaluator", "item": "subset+item", "first": "=1", "second": "=2", "winner": "winner",
               "swapped": "swapped", "task": "subset", "gold": None}  # fmt: skip
    written = read(table, columns=mapping)
    assert (written["choice"].to_numpy()[equal] == "second").all()
    table.loc[equal, "winner"] = "tie"
    true = read(table, columns=mapping)

    assert (true["choice"].to_numpy()[equal] == "tie").all()
    share = [(f["choice"] == "second").mean() - (f["choice"] == "first").mean() for f in (written, true)]
    assert share[0] > 0.1
    assert share[0] - share[1] == pytest.approx(equal.mean())


def test_failed_calls_scored_zero_are_excluded(real_data: Path) -> None:
    """Without failed= they are scores of 0.0; `check` says so."""
    arguments, rows, _ = FILES["cross_eval_masaomi/evaluations.jsonl"]
    columns = {n: c for n, c in arguments["columns"].items() if n != "failed"}
    kept = read(real_data / "cross_eval_masaomi" / "evaluations.jsonl", wide=arguments["wide"], columns=columns)
    assert len(kept) == rows
    failed = kept["error"].notna()
    assert kept.loc[failed, "score"].tolist() == [0.0] * 20
    frame = read_as(real_data, "cross_eval_masaomi/evaluations.jsonl", arguments, rows, 20)
    assert frame["status"].eq("error").sum() == 20
    assert frame["score"].mean() > kept["score"].mean()


def test_empty_texts_are_told_from_short_ones(real_data: Path) -> None:
    """72 verdicts compare two empty texts, all ties; 306 compare an empty text with a full one, none a tie."""
    name = "self_bias_frontier/pairwise.csv.gz"
    frame = read_as(real_data, name, *FILES[name])
    empty = (frame["chars_first"] == 0).astype(int) + (frame["chars_second"] == 0).astype(int)
    assert frame.loc[empty == 2, "choice"].tolist() == ["tie"] * 72
    assert (empty == 1).sum() == 306
    assert "tie" not in set(frame.loc[empty == 1, "choice"])


def test_mixed_alphabets_of_labels(real_data: Path) -> None:
    """People say 1, 2, 0; one judge says 1, 2, Tie, garbage: one alphabet after labels=, and an error without."""
    name = "pandalm/verdicts.csv"
    frame = read_as(real_data, name, *FILES[name])
    assert set(frame["choice"]) == {"first", "second", "tie", "invalid"}
    assert set(frame.loc[frame["choice"] == "invalid", "judge"]) == {"gpt_3_5_turbo"}
    arguments = {**FILES[name][0], "labels": ONE_TWO}
    with pytest.raises(SchemaError, match=r"has 'Tie'|has 'garbage'"):
        read(real_data / name, **arguments)


def test_line_breaks_in_fields(real_data: Path) -> None:
    """The places count lines of the file, not rows."""
    name = "position_bias_mtbench/verdicts.csv.gz"
    frame = read_as(real_data, name, *FILES[name])
    assert frame["judge_tail"].str.contains("\n").any()
    account = account_of(frame)
    assert account is not None
    assert int(account.places[len(frame) - 1].rpartition(" ")[2]) > len(frame) + 1
