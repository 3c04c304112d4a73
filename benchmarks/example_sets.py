"""Writes the real data sets of the package, from the public files they come from: verdicts and ids, no texts.

``python benchmarks/example_sets.py FOLDER``, with a folder that holds the files below, writes ``data/verdicts``:
Parquet, and ``datapackage.json``, which says what each is, whence it comes, and its SHA-256.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

import judgestats as js

OUT = Path(__file__).parents[1] / "data" / "verdicts"
_TIES = {"A": "first", "B": "second", "C": "tie"}
_PANDALM = {"1": "first", "2": "second", "0": "tie", "Tie": "tie", "garbage": "invalid"}


def mtbench_position(folder: Path) -> pd.DataFrame:
    """Nine judges, three runs of each, both orders of every pair."""
    columns = {
        "replicate": "repetition",
        "item": "question_id",
        "first": "model_first",
        "second": "model_second",
        "choice": "verdict_letter",
        "task": None,
    }
    table = js.read(folder / "position_bias_mtbench" / "verdicts.csv.gz", columns=columns, labels=_TIES)
    return table.rename(columns={"task_source": "category"})


def llmbar(folder: Path) -> pd.DataFrame:
    """Six judges under up to fifteen strategies; equal scores, which the authors count as a win, are ties."""
    columns = {"judge": "evaluator", "item": "subset+item", "first": "=1", "second": "=2", "winner": "winner"}
    columns |= {"swapped": "swapped", "gold": "label"}
    table = js.read(folder / "llmbar" / "verdicts.csv.gz", columns=columns)
    table["subset"] = table["item"].str.rpartition(" / ")[0]
    equal = table["score_1"].notna() & (table["score_1"] == table["score_2"])
    table["choice"] = table["choice"].astype(str).mask(equal, "tie")
    return table


def pandalm(folder: Path) -> pd.DataFrame:
    """Two judges and three people; the order of the responses is not recorded."""
    columns = {"item": "idx", "first": "model_1", "second": "model_2", "choice": "verdict", "order_known": "=false"}
    wide = "judge=annotator*,gpt_3_5_turbo,pandalm_7b"
    table = js.read(folder / "pandalm" / "verdicts.csv", wide=wide, labels=_PANDALM, columns=columns)
    table["rater_type"] = table["judge"].str.startswith("annotator").map({True: "human", False: "llm"})
    return table


def hanna(folder: Path) -> pd.DataFrame:
    """Five judges with the first of their prompts, and the three workers of each story; scores off 1 to 5 missing."""
    columns = {"judge": "rater", "system": "writer", "item": "prompt_index"}
    path = folder / "hanna" / "ratings_long.csv.gz"
    table = js.read(path, columns=columns, scale=(1, 5), off_scale="missing")
    return table[table["eval_prompt"].isna() | (table["eval_prompt"].astype(str).str[0] == "1")]


def frontier_self_bias(folder: Path) -> pd.DataFrame:
    """Pairs of answers that the three judges wrote themselves, to 24 tasks at four lengths, in both orders."""
    columns = {"item": "task_id+length_bin", "task": "task_id", "first": "model_first", "second": "model_second"}
    columns |= {"choice": "verdict"}
    labels = {"1": "first", "-1": "second", "0": "tie"}
    return js.read(folder / "self_bias_frontier" / "pairwise.csv.gz", columns=columns, labels=labels)


def frontier_self_bias_rubric(folder: Path) -> pd.DataFrame:
    """The same judges and answers, one yes or no for each criterion of a rubric."""
    columns = {"item": "task_id+length_bin", "task": "task_id", "system": "model", "criterion": "rubric_id"}
    columns |= {"correct": "satisfied"}
    return js.read(folder / "self_bias_frontier" / "rubric_long.csv.gz", columns=columns)


_FAMILIES = {"gpt-5.6-luna": "openai", "gpt-5-mini": "openai", "claude-haiku-4-5": "anthropic"}
_FRONTIER = {
    "source": "https://github.com/weixuwang369-alt/Frontier-Model-Self-Bias",
    "commit": "4184973252da1e0e8a3904a511c685b114ddfdd6",
    "licence": "Apache-2.0",
    "citation": "Wang, W. Frontier Model Self-Bias, run 29fe9e0904273004",
}
_CHARS = ["chars_first", "chars_second"]
#: Name -> function, columns that are kept, what is said of it.
SETS: dict[str, tuple[Any, list[str], dict[str, Any]]] = {
    "mtbench_position": (
        mtbench_position,
        ["judge", "item", "first", "second", "choice", "replicate", "category", *_CHARS],
        {
            "title": "MT-Bench: four models against vicuna-13b-v1.3, in both orders, three times",
            "unit": "pair of responses",
            "reference": "none",
            "source": "https://github.com/Slimshilin/Position-Bias-Analyzer",
            "commit": "9f8b7e8e83862cf1ffd9dd2c33f589262efc66ee",
            "licence": "MIT",
            "citation": "Shi, L. et al. (2024). Judging the Judges: A Systematic Study of Position Bias in "
            "LLM-as-a-Judge. arXiv 2406.07791",
        },
    ),
    "llmbar": (
        llmbar,
        ["judge", "item", "first", "second", "choice", "gold", "strategy", "subset"],
        {
            "title": "LLMBar and three processed sets: which of two outputs follows the instruction, by strategy",
            "unit": "pair of outputs",
            "reference": "gold",
            "source": "https://github.com/princeton-nlp/LLMBar",
            "commit": "900616bff90b6c6c8e1681f7d079250637c55992",
            "licence": "MIT",
            "citation": "Zeng, Z. et al. (2024). Evaluating Large Language Models at Evaluating Instruction "
            "Following. ICLR. arXiv 2310.07641",
        },
    ),
    "pandalm": (
        pandalm,
        ["judge", "item", "first", "second", "choice", "order_known", "rater_type", "chars_1", "chars_2"],
        {
            "title": "PandaLM test set: two judges and three people on the same pairs",
            "unit": "pair of responses",
            "reference": "people",
            "source": "https://github.com/WeOpenML/PandaLM",
            "commit": "3871806e72b4832f815ecafd24d3503c73403f48",
            "licence": "Apache-2.0",
            "citation": "Wang, Y. et al. (2024). PandaLM: An Automatic Evaluation Benchmark for LLM Instruction "
            "Tuning Optimization. ICLR. arXiv 2306.05087",
        },
    ),
    "hanna": (
        hanna,
        ["judge", "system", "item", "criterion", "score", "rater_type"],
        {
            "title": "HANNA: stories of eleven writers, scored on six criteria by five judges and three workers",
            "unit": "story",
            "reference": "people",
            "source": "https://github.com/dig-team/hanna-benchmark-asg",
            "commit": "282f27536a5d05ad4ce14298abcd70c45668fed2",
            "licence": "MIT",
            "citation": "Chhun, C., Suchanek, F. M., Clavel, C. (2024). Do Language Models Enjoy Their Own Stories? "
            "TACL 12, 1122-1142",
        },
    ),
    "frontier_self_bias": (
        frontier_self_bias,
        ["judge", "item", "task", "first", "second", "choice", "domain", "length_bin", "confidence", *_CHARS],
        {
            "title": "Three models judge pairs of their own and each other's answers",
            "unit": "pair of answers",
            "reference": "none",
            "family": _FAMILIES,
            **_FRONTIER,
        },
    ),
    "frontier_self_bias/rubric": (
        frontier_self_bias_rubric,
        ["judge", "system", "item", "task", "criterion", "correct", "domain", "length_bin"],
        {
            "title": "Three models judge their own and each other's answers by a rubric of yes and no",
            "unit": "criterion of an answer",
            "reference": "none",
            "family": _FAMILIES,
            **_FRONTIER,
        },
    ),
}


def written(table: pd.DataFrame, path: Path) -> str:
    """Write the table, texts as dictionaries, as small as Parquet makes it; the digest of the file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    arrow = pa.Table.from_pandas(table.reset_index(drop=True), preserve_index=False).replace_schema_metadata(None)
    pq.write_table(arrow, path, compression="zstd", compression_level=19, row_group_size=1 << 20, version="2.6")
    return hashlib.sha256(path.read_bytes()).hexdigest()


def main() -> None:
    """Write all sets."""
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("folder", type=Path)
    folder = options.parse_args().folder
    resources = []
    for name, (make, columns, about) in SETS.items():
        table = make(folder)[columns]
        texts = table.select_dtypes(exclude=["number", "bool"]).columns
        table = table.astype(dict.fromkeys(texts, "str")).astype(dict.fromkeys(texts, "category"))
        file = f"{name.replace('/', '_')}.parquet"
        people = table["judge"][table["rater_type"] == "human"].nunique() if "rater_type" in table else 0
        sizes = {"rows": len(table), "judges": table["judge"].nunique() - people, "people": people}
        digest = written(table, OUT / file)
        resources.append({"name": name, "path": file, **about, **sizes, "sha256": digest})
        print(f"{name}: {len(table):,} rows, {(OUT / file).stat().st_size:,} bytes")
    package = {"profile": "data-package", "name": "judgestats-verdicts", "resources": resources}
    (OUT / "datapackage.json").write_text(json.dumps(package, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
