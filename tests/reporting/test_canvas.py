"""What all pictures share: names that are shortened and literal, labels that keep apart, no global state."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from judgestats.errors import DesignError
from judgestats.reporting.plots import forest
from judgestats.reporting.plots.canvas import spread
from judgestats.reporting.plots.point_labels import label_around
from judgestats.reporting.plots.short_names import literal, shortened
from refusals import refused
from reporting.drawing import drawn

# ---------------------------------------------------------------- labels


def test_long_names_lose_what_they_share_and_the_key_has_it():
    names = [f"org/a-very-long-name-of-a-judge-{i}-with-the-same-end" for i in (1, 2)]
    short = shortened(names, 20)
    assert short == ["…1…", "…2…"]
    assert short.key == "… is “org/a-very-long-name-of-a-judge-” before and “-with-the-same-end” after."
    parts = shortened([f"{n} · {s}" for n in names for s in ("S1", "S2")], 30)
    assert parts == ["…1… · S1", "…1… · S2", "…2… · S1", "…2… · S2"]


def test_short_names_and_what_few_share_stay():
    names = ["DeepSeek-R1-Distill-Qwen-32B", "DeepSeek-R1-Distill-Llama-8B", "gpt-4o", "o1", "phi-4"]
    short = shortened(names, 24)
    assert short[2:] == names[2:]
    assert short[0].startswith("DeepSeek-R1")
    assert all(n in short.key for n in names[:2])
    assert shortened(names, 40).key == ""


def test_long_names_without_anything_shared_keep_head_and_tail_and_stay_apart():
    names = [f"{i}" + 30 * "x" + f"{i}" for i in range(9)]
    short = shortened(["q" * 40 + "a" + "q" * 40, "q" * 40 + "b" + "q" * 40], 20)
    assert len(set(short)) == 2
    assert all(len(s) <= 20 for s in [*short, *shortened(names, 20)])
    assert "Full names" in shortened(names, 20).key


def test_a_repeated_name_is_one_label():
    assert shortened(["x" * 50, "x" * 50], 10)[0] == shortened(["x" * 50], 10)[0]


def test_dollar_signs_are_no_formula():
    ax = Figure().add_subplot()
    ax.set_title(literal(r"$\frac{a}$ and $x"))
    drawn(ax)
    assert r"\$" in ax.get_title()


@pytest.mark.parametrize("seed", range(5))
def test_spread_keeps_the_gap_and_the_order(seed):
    values = np.random.default_rng(seed).uniform(size=8)
    placed = np.array(spread(list(values), 0.06, 0.0, 1.0))
    assert (np.diff(np.sort(placed)) >= 0.06 - 1e-9).all()
    assert (np.argsort(placed) == np.argsort(values)).all()
    assert placed.max() <= 1.0


@pytest.mark.slow
def test_pictures_leave_pyplot_and_its_settings_alone():
    code = """
import sys, matplotlib
def settings():
    return {k: matplotlib.rcParams[k] for k in matplotlib.rcParams if k != "backend"}  # asking for it imports pyplot
before = settings()
import pandas as pd
from judgestats.reporting import plots
rows = pd.DataFrame({"judge": ["a"], "term": "consistency", "estimate": 0.5, "conf_low": 0.4, "conf_high": 0.6})
plots.forest(rows).figure.savefig("/dev/null", format="svg")
assert "matplotlib.pyplot" not in sys.modules
assert settings() == before
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_labels_around_points_do_not_overlap():
    ax = Figure(figsize=(6, 4)).add_subplot()
    ax.set(xlim=(0, 1), ylim=(0, 1))
    x, y = np.random.default_rng(3).uniform(0.2, 0.8, (2, 12))
    left = label_around(ax, list(x), list(y), [f"a label {i}" for i in range(12)], every=False)
    drawn(ax)
    boxes = [Text.get_window_extent(t) for t in ax.texts]  # of the words alone, without the line to the point
    assert len(boxes) == 12 - len(left) >= 10
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[i + 1 :])


ROWS = pd.DataFrame({"judge": ["a", "b"], "term": "consistency", "estimate": [0.8, 0.6]})


def test_a_picture_can_be_pickled_and_copied():
    picture = forest(ROWS)
    for again in (pickle.loads(pickle.dumps(picture)), copy.deepcopy(picture)):
        assert again.data.equals(picture.data)
        assert [t.get_text() for t in again.axes[0].get_yticklabels()] == ["a", "b"]
        assert again._repr_png_()[1] == picture._repr_png_()[1]


@pytest.mark.parametrize("name", ["x.csv", "x.parquet", "x.html"])
def test_a_picture_goes_into_no_file_of_another_ending(tmp_path, name):
    picture = forest(ROWS)
    refused(
        DesignError,
        (lambda: picture.save(tmp_path / name), "has the ending of no picture. Endings: png, svg, pdf"),
        (lambda: picture.save(tmp_path / name, format="svg"), "has the ending of no picture. Endings: png, svg, pdf"),
        (lambda: picture.save(tmp_path / "x.png", dppi=3), r"Figure\.savefig refuses dppi"),
    )
    assert not list(tmp_path.iterdir())
