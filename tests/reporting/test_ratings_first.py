"""The first screen of verdicts that are classes, recomputed with pandas."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import judgestats as js

CLASSES = ["safe", "unsafe", "refusal"]


def classes(n: int = 200) -> pd.DataFrame:
    """Classes by two judges and two people on the same items."""
    rng = np.random.default_rng(0)
    right = rng.choice(CLASSES, n, p=[0.6, 0.3, 0.1])
    skill = {"gpt": 0.85, "claude": 0.65, "Ann": 0.95, "Bob": 0.9}
    rows = [
        (j, f"i{i}", r if rng.random() < p else rng.choice(CLASSES), r)
        for j, p in skill.items()
        for i, r in enumerate(right)
    ]
    return pd.DataFrame(rows, columns=["judge", "item", "answer", "gold"])


def text_of(calls: pd.DataFrame, path: Path, **options: object) -> str:
    js.report(js.ratings(calls), path, **options)
    page = path.read_text(encoding="utf-8")
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))


def test_with_gold_the_share_that_is_right_leads(tmp_path):
    calls = classes().query("judge in ('gpt', 'claude')")
    page = text_of(calls, tmp_path / "page.html")
    share = (calls["answer"] == calls["gold"]).groupby(calls["judge"]).mean()
    assert f"Use gpt: right in {100 * share['gpt']:.0f} %" in page
    for judge in share.index:
        assert re.search(rf"{judge}\s+{100 * share[judge]:.0f} %", page)
    assert "Which class does the judge take for which?" in page
    assert "No number can be estimated" not in page


def test_with_people_their_agreement_is_the_yardstick(tmp_path):
    calls = classes().drop(columns="gold")
    page = text_of(calls, tmp_path / "page.html", humans=["Ann", "Bob"])
    wide = calls.pivot(index="item", columns="judge", values="answer")
    people = (wide["Ann"] == wide["Bob"]).mean()
    agree = {j: np.mean([(wide[j] == wide[p]).mean() for p in ("Ann", "Bob")]) for j in ("gpt", "claude")}
    assert f"agree in {100 * people:.0f} %" in page
    for judge, share in agree.items():
        assert re.search(rf"{judge}\s+{100 * share:.0f} %", page)
    assert "No number can be estimated" not in page


def test_alone_the_judges_agreement_leads(tmp_path):
    calls = classes().drop(columns="gold").query("judge in ('gpt', 'claude')")
    page = text_of(calls, tmp_path / "page.html")
    alpha = js.alpha(js.ratings(calls))["estimate"].iloc[0]
    assert f"α {alpha:.2f}" in page
    assert "no right answers known" in page


@pytest.mark.parametrize("humans", [None, ["Ann", "Bob"]])
def test_a_datasheet_of_classes_counts_what_is_missing(humans):
    calls = classes().assign(answer=lambda t: t["answer"].where(t.index % 10 != 0, None))
    sheet = js.datasheet(js.ratings(calls), humans=humans)
    missing = sheet[sheet["term"] == "missing"].set_index("judge")["estimate"]
    assert missing["gpt"] == pytest.approx(0.1)
    right = sheet[sheet["term"] == "accuracy"].set_index("judge")["estimate"]
    valid = js.ratings(calls).query("judge == 'gpt' and answer.notna()")
    assert right["gpt"] == pytest.approx((valid["answer"].astype(str) == valid["gold"]).mean())
