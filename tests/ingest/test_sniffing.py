import json
import time

import pandas as pd
import pytest

import judgestats as js
from judgestats.ingest import detect_format, format_of
from nested_json import SHAPES, nested_names, own_names


def _seconds(path, document):
    path.write_text(json.dumps(document), encoding="utf-8")
    start = time.perf_counter()
    detect_format(path)
    return time.perf_counter() - start


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_time_for_nested_json_grows_with_its_size(shape, tmp_path):
    _seconds(tmp_path / "warm.json", shape(100))
    small = min(_seconds(tmp_path / "small.json", shape(1500)) for _ in range(2))
    large = min(_seconds(tmp_path / "large.json", shape(6000)) for _ in range(2))
    assert large < 5 * small + 0.5


def test_an_object_whose_names_are_data_stays_one_column(tmp_path):
    path = tmp_path / "x.json"
    path.write_text(json.dumps(nested_names(400)), encoding="utf-8")
    proposal = detect_format(path).proposal
    assert proposal.columns == ("id", "notes", "text")
    assert "'notes' holds objects whose names are data" in str(proposal)


def test_rare_fields_of_records_stay_together_and_none_is_lost(tmp_path):
    table = [{"judge": "g", "system": "s", "item": i, "score": 3, **r} for i, r in enumerate(own_names(1200))]
    table[0]["other_fields"] = "taken"
    path = tmp_path / "x.json"
    path.write_text(json.dumps(table), encoding="utf-8")
    data = js.read(path)
    assert [c for c in data.columns if c.startswith("other_fields")] == ["other_fields_"]
    assert json.loads(data["other_fields_"][0]) == {"f0": 1, "other_fields": "taken"}
    assert json.loads(data["other_fields_"][7]) == {"f7": 1}


@pytest.mark.slow
def test_names_that_all_records_share_are_columns_however_many(tmp_path):
    path = tmp_path / "x.json"
    path.write_text(json.dumps([{"id": i, "s": {f"n{k}": k for k in range(1100)}} for i in range(3)]), encoding="utf-8")
    assert len(detect_format(path).proposal.columns) == 1101


def test_format_of_a_frame() -> None:
    assert format_of(pd.DataFrame({"judge": ["g"]})) == "table"
