"""Public files of verdicts: how one call reads each, and how many rows it has; and the files that hold none."""

from __future__ import annotations

from typing import Any

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
    **{
        f"position_bias_mtbench/native_record_{name}_rep1.tsv.gz": (
            {"parse": "auto", "columns": {"judge": f"={name}", "item": "question_1", "first": "A", "second": "B", "choice": name}},
            192, missing,
        )
        for name, missing in (("gemini-pro", 0), ("gpt-4-0613", 0))  # "[A]", "[B]" alone on the last line are read
    },
    "inspect_ai/input-task_model_graded_fact.eval": ({}, 1, 0),
    "inspect_ai/popularity_10_samples.eval": ({}, 10, 0),
    "inspect_ai/popularity_2_epochs.eval": ({}, 4, 0),
    "inspect_ai/popularity_match.json": ({}, 3, 0),
    "inspect_ai/security-guide_model_graded_fact.json": ({}, 3, 0),
    "inspect_ai_recent/security-guide_zstd.eval": ({}, 16, 0),
    "inspect_scout/eval-awareness.csv": ({}, 8, 0),
    "inspect_scout/labels-validation.csv": ({}, 15, 0),
    "inspect_scout/word_counter.parquet": ({}, 216, 0),
    "lm_eval_harness/samples_math_perturbed_full_2026-01-21T03-44-18.458309.jsonl": ({}, 10, 0),
    "helm/narrative_qa_per_instance_stats.json": ({}, 30, 0),
    "promptfoo/sample-export.json": ({}, 14, 0),
    "deepeval/test_run_sample.json": ({}, 8, 0),
    "ragas/annotated_data.json": ({}, 21, 0),
    "ragas/sample_annotated_summary.json": ({}, 19, 0),
    "every_eval_ever/f3a1c0de-4b2e-4c1a-9f6d-1b7e5a2c8d40_samples.jsonl": ({}, 1, 0),
    "llmjudge_trec_dl23/native_h2oloo-zeroshot2.qrels.txt": ({}, 4423, 0),
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
#: Verdicts that one call does not read, and why.
NOT_READ = {
    "self_bias_frontier/native_judgments.jsonl.gz": "one file of pairs and of ratings, which name their candidates by the ids of another file; "
    "pairwise.csv.gz and rubric_long.csv.gz hold the same",
}  # fmt: skip
#: Files of tools that hold no verdict, and what the error says.
EMPTY = {
    "inspect_ai/no-samples.json": "a log of Inspect without samples",
    "inspect_ai/popularity_10_samples_unscored.eval": "none of its 10 records holds a verdict (the sample was not scored)",
    "inspect_ai_recent/simpleqa_llm_scoring.json": "a log of Inspect without samples",
    "lm_eval_harness/results_2026-01-21T03-44-18.458309.json": "results over all documents; the scores are in samples",
    "helm/narrative_qa_run_spec.json": "the specification of a run; the scores are in per_instance_stats.json",
    "every_eval_ever/f3a1c0de-4b2e-4c1a-9f6d-1b7e5a2c8d40.json": "results over all samples; the scores are in <name>_samples.jsonl",
    "every_eval_ever/instance_level_eval.schema.json": "the columns are not canonical",
}
