"""LLMBar: winner in item frame for both orders."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from judgestats.errors import SchemaError
from judgestats.ingest import detect_format, read
from judgestats.ingest.native.llmbar import names_in_path

Write = Callable[..., Path]
NAME = "native_Natural_GPT-4_Vanilla_NoRules_result.json"


def record(plain: str | None, swapped: str | None, label: int = 1, **more: Any) -> dict[str, Any]:
    last = {
        "swap = False": {"completion": ["Output (a)", "stop"], "winner": plain},
        "swap = True": {"completion": ["Output (b)", "stop"], "winner": swapped},
        **more,
    }
    return {
        "input": "i",
        "output_1": "four",
        "output_2": "eleven",
        "label": label,
        "results": [["first pass", "stop"], last],
    }


@pytest.mark.parametrize("plain", ["1", "2", None])
@pytest.mark.parametrize("swapped", ["1", "2", None])
@pytest.mark.parametrize("label", [1, 2])
def test_every_combination(write: Write, plain: str | None, swapped: str | None, label: int) -> None:
    calls = read(write(NAME, [record(plain, swapped, label)]))
    assert calls[["first", "second"]].to_numpy().tolist() == [["output_1", "output_2"], ["output_2", "output_1"]]
    got = [{"first": r.first, "second": r.second}.get(r.choice, r.choice) for r in calls.itertuples()]
    assert got == [f"output_{w}" if w else "invalid" for w in (plain, swapped)]
    assert calls["gold"].tolist() == [f"output_{label}"] * 2
    assert not calls["ties_allowed"].any()
    assert calls["length_first"].tolist() == [4, 6]
    assert calls["length_second"].tolist() == [6, 4]


def test_names_from_the_path(write: Write) -> None:
    calls = read(write(NAME, [record("1", "2")]))
    assert calls[["judge", "strategy", "task", "item"]].iloc[0].tolist() == ["GPT-4", "Vanilla_NoRules", "Natural", "0"]
    own = read(write("Dataset/LLMBar/Adversarial/GPTInst/evaluators/PaLM2/Swap_CoT/result.json", [record("1", "2")]))
    assert own[["judge", "strategy", "task"]].iloc[0].tolist() == ["PaLM2", "Swap_CoT", "LLMBar/Adversarial/GPTInst"]


def test_names_that_the_path_does_not_give(write: Write) -> None:
    path = write("r.json", [record("1", "2")])
    with pytest.raises(SchemaError, match=r"judge and strategy not found.*Pass judge=\.\.\., strategy=\.\.\."):
        read(path)
    assert read(path, judge="g", strategy="s")["judge"].tolist() == ["g", "g"]


def test_equal_scores(write: Write) -> None:
    """The tool writes equal scores as a win of what was shown second."""
    path = write(NAME, [record("2", "1", score_1=["4", "stop"], score_2=["4", "stop"])])
    as_written = read(path)
    assert as_written["choice"].tolist() == ["second", "second"]
    assert as_written[["score_1", "score_2"]].to_numpy().tolist() == [[4.0, 4.0]] * 2
    as_tie = read(path, equal_scores="tie")
    assert as_tie["choice"].tolist() == ["tie", "tie"]
    assert as_tie["ties_allowed"].all()


@pytest.mark.real
@pytest.mark.parametrize(
    "name", ["ChatGPT_Vanilla", "GPT-4_Metrics_Reference", "GPT-4_Rating", "GPT-4_Vanilla", "LLaMA2_Vanilla"]
)
def test_native_equals_its_tidy_twin(real_data: Path, name: str) -> None:
    path = real_data / "llmbar" / f"native_Natural_{name}_result.json.gz"
    assert detect_format(path).format == "llmbar"
    native = read(path)
    tidy = pd.read_csv(real_data / "llmbar" / "verdicts.csv.gz", dtype=str)
    judge, _, strategy = name.partition("_")
    keep = (tidy["subset"] == "LLMBar/Natural") & (tidy["evaluator"] == judge) & (tidy["strategy"] == strategy)
    twin = tidy[keep].set_index(["item", "swapped"])["winner"]
    assert len(native) == len(twin) == 200
    swapped = (native["first"] == "output_2").map({True: "1", False: "0"})
    winner = native["first"].where(native["choice"] == "first", native["second"]).str[-1]
    winner = winner.where(native["choice"] != "invalid")
    got = pd.Series(winner.to_numpy(), index=pd.MultiIndex.from_arrays([native["item"], swapped])).reindex(twin.index)
    assert (got.fillna("-") == twin.fillna("-")).all()


@pytest.mark.real
def test_tidy_twin_through_a_mapping(real_data: Path) -> None:
    """The tidy file, its swapped rows exchanged once by the mapping, agrees with the native reader."""
    columns = {"judge": "evaluator", "first": "=1", "second": "=2", "winner": "winner", "swapped": "swapped",
               "gold": "label", "task": "subset"}  # fmt: skip
    calls = read(real_data / "llmbar" / "verdicts.csv.gz", columns=columns)
    assert len(calls) == 61_926
    assert (calls["choice"] == "invalid").sum() == 273
    native = read(real_data / "llmbar" / "native_Natural_LLaMA2_Vanilla_result.json.gz")
    same = calls[(calls["task"] == "LLMBar/Natural") & (calls["judge"] == "LLaMA2") & (calls["strategy"] == "Vanilla")]
    merged = native.assign(first=native["first"].str[-1]).merge(same, on=["item", "first"], suffixes=("", "_tidy"))
    assert len(merged) == 200
    assert (merged["choice"].astype(str) == merged["choice_tidy"].astype(str)).all()


def test_names_in_paths() -> None:
    assert names_in_path(Path("native_Natural_GPT-4_Metrics_Reference_result.json.gz")) == {
        "subset": "Natural",
        "judge": "GPT-4",
        "strategy": "Metrics_Reference",
    }
    assert names_in_path(Path("Dataset/LLMBar/Natural/evaluators/GPT-4/CoT/result.json")) == {
        "subset": "LLMBar/Natural",
        "judge": "GPT-4",
        "strategy": "CoT",
    }
