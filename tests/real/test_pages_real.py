"""Pages of real verdicts: they are made, they add up, and they say something."""

import re

import numpy as np
import pandas as pd
import pytest

from judgestats.ingest import read, source_info
from judgestats.metrics.datasheets import datasheet
from judgestats.metrics.measure_registry import measures
from judgestats.reporting import page_data, report
from judgestats.reporting.page_data import PageArguments, measure_all
from judgestats.schema import ratings
from public_files import FILES, LARGE
from reporting.sentences import contradictions

pytestmark = pytest.mark.real

MTBENCH = {
    "judge": "judge",
    "item": "question_id",
    "first": "model_first",
    "second": "model_second",
    "choice": "verdict_letter",
    "replicate": "repetition",
}
SOURCES = {
    "judgebench": "judgebench/native_full_gpt-4o_arena_hard_o1-mini.jsonl.gz",
    "llmbar": "llmbar/native_Natural_GPT-4_Vanilla_result.json.gz",
    "fastchat pair": "mt_bench/native_gpt-4_pair.jsonl.gz",
    "fastchat single": "mt_bench/native_gpt-4_single.jsonl.gz",
    "arena hard": "arena_hard_ko/native_gpt-4o-mini.jsonl",
    "alpaca eval": "alpaca_eval/native_text_davinci_001_alpaca_eval_gpt4_annotations.json.gz",
}


def verdicts(real_data, name):
    if name == "judges of judgebench":
        return read(sorted((real_data / "judgebench").glob("dataset*.jsonl.gz")))
    if name == "trec":
        return read(
            real_data / "llmjudge_trec_dl23" / "labels_wide.csv.gz", wide="judge=*,-qid,-docid,-gold",
            columns={"item": "qid+docid", "gold": "gold"}, scale=(0, 3), off_scale="missing",
        )  # fmt: skip
    if name == "position bias":
        return read(
            real_data / "position_bias_mtbench" / "verdicts.csv.gz",
            columns=MTBENCH,
            labels={"A": "first", "B": "second", "C": "tie"},
        )
    if name == "hanna":
        table = pd.read_csv(real_data / "hanna" / "ratings_long.csv.gz", dtype={"eval_prompt": "str"})
        table = table.assign(rater=table["rater"] + " " + table["eval_prompt"].fillna("")).drop(
            columns=["story_id", "eval_prompt"]
        )
        return ratings(
            table, judge="rater", system="writer", item="prompt_index", score="score", scale=(1, 5), off_scale="missing"
        )
    return read(real_data / SOURCES[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", [*SOURCES, "position bias", "hanna"])
def test_the_account_adds_up_for_every_real_format(name, real_data, tmp_path):
    data = verdicts(real_data, name)
    source = source_info(real_data / SOURCES[name]) if name in SOURCES else None
    page = report(data, tmp_path / "report.html", source=source, n_resamples=100).read_text(encoding="utf-8")
    told = re.search(r'class="sum">(.*?)</p>', page).group(1)
    total, used, aside = (int(n.replace("\u202f", "")) for n in re.findall(r"<b>(.*?)</b>", told))
    assert total == used + aside == len(data)
    reasons = re.findall(r"<td>excluded</td><td class=\"number\">([^<]*)</td>", page)
    assert sum(int(n.replace("\u202f", "")) for n in reasons) == aside


@pytest.mark.slow
@pytest.mark.parametrize("name", ["judgebench", "llmbar", "position bias"])
def test_a_page_has_at_least_six_finite_rows(name, real_data, tmp_path):
    data = verdicts(real_data, name)
    sheet = datasheet(data)
    finite = sheet[
        np.isfinite(sheet[["estimate", "conf_low", "conf_high"]]).all(axis=1) & ~sheet["section"].eq("validity")
    ]
    assert finite.groupby("judge")["term"].nunique().min() >= 6
    page = report(data, tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.count('class="sketch"') >= 6 * data["judge"].nunique()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "judges", "people"),
    [("judges of judgebench", 7, 0), ("trec", 33, 0), ("hanna", 20, 3)],
)
def test_pages_of_many_judges_show_who_agrees_and_people_beside(name, judges, people, real_data, tmp_path):
    data = verdicts(real_data, name)
    humans = sorted({j for j in data["judge"] if j.startswith("Human")})
    assert len(humans) == people
    page = report(data, tmp_path / "report.html", humans=humans or None, n_resamples=20).read_text(encoding="utf-8")
    figures = dict(re.findall(r'<figure[^>]*><div class="drawn"[^>]*aria-label="([^"]*)">(.*?)</div>', page, re.DOTALL))
    matrix = re.findall(r"<text[^>]*>([^<]*)</text>", figures["Which judges agree"])
    assert sum("1 = perfect" in t for t in matrix) == 1
    named = {j for j in data["judge"] if matrix.count(j) == 2}  # a row and a column
    if name == "judges of judgebench":
        assert "no other judge has the same items: claude-3-haiku-20240307." in page  # the others' names are shortened
        assert "claude-3-haiku-20240307" not in matrix
    else:
        assert len(named) == judges
    beside = re.findall(r"<text[^>]*>([^<]*)</text>", figures.get("Judges and people", ""))
    assert beside.count("people with each other") == bool(people)
    assert not people or named <= set(beside)


@pytest.mark.parametrize("name", [*FILES, *(pytest.param(name, marks=pytest.mark.slow) for name in LARGE)])
def test_no_sentence_of_a_card_contradicts_the_table(name, real_data, monkeypatch):
    people = measures()["judge_against_people"]
    monkeypatch.setattr(page_data, "attempts", lambda data, options, *_: {people.name: people.attempt(data, options)})
    assert (
        contradictions(measure_all(read(real_data / name, **(FILES | LARGE)[name][0]), PageArguments(n_resamples=20)))
        == []
    )
