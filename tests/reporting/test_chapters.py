"""The page beyond the datasheets: a section for each question that the data can answer, and a reason for the others."""

import inspect
import re
import sys
from collections import Counter
from functools import wraps

import pandas as pd
import pytest

import judgestats as js
import registry
from judgestats.metrics.measure_registry import Options, attempts, measures, measures_of
from judgestats.reporting.pages import MOST, chapters, estimates_table


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    made = {}

    def of(name):
        if name not in made:
            named = {"baseline": "B0"} if name == "strategies" else {}
            path = js.report(getattr(registry, name)(), folder / f"{name}.html", n_resamples=50, **named)
            made[name] = path.read_text("utf-8")
        return made[name]

    return of


def test_a_picture_of_a_section_is_the_plot_of_its_record_and_says_how_to_read_it():
    drawn = {m: record.plot.partition(",")[0] for m, record in measures().items() if record.caption}
    assert {"kappa", "icc", "calibrate"} & set(drawn) == {"kappa", "calibrate"}
    assert set(drawn.values()) <= set(js.plot.__all__)


def plain(value):
    """What tells an argument from another: frames by their kind, the rest by value."""
    if isinstance(value, dict | list | tuple):
        return tuple(map(plain, value.items() if isinstance(value, dict) else value))
    return value if value is None or isinstance(value, str | int | float) else type(value).__name__


@pytest.fixture
def counted(monkeypatch):
    """How often each measure, and tally, is called with the same arguments; calls among measures are left out."""
    found, inside = Counter(), []

    def watched(function):
        @wraps(function)
        def call(*args, **kwargs):
            bound = inspect.signature(function).bind(*args, **kwargs)
            bound.apply_defaults()
            if not inside or function is js.tally:
                found[function.__name__, plain(bound.arguments)] += 1
            inside.append(function)
            try:
                return function(*args, **kwargs)
            finally:
                inside.pop()

        return call

    records = measures().values()
    stands_for = {f: watched(f) for f in {js.tally, *(m.function for m in records)}}
    for module in [m for name, m in sys.modules.items() if name.startswith("judgestats.")]:
        for name, value in list(vars(module).items()):
            if inspect.isfunction(value) and value in stands_for:
                monkeypatch.setattr(module, name, stands_for[value])
    originals = [(m, m.function) for m in records]
    for record, function in originals:
        object.__setattr__(record, "function", stands_for[function])
    yield found
    for record, function in originals:
        object.__setattr__(record, "function", function)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param("calls", {"delta0", "target_sensitivity", "criterion_shift", "tally"}, marks=pytest.mark.slow),
        ("people", {"consistency", "slot_lean", "preference_rate", "kappa", "tally"}),
        ("single_scores", {"score_matrix", "consensus_deviation", "variance_components", "calibrate"}),
    ],
)
def test_a_page_computes_each_measure_and_each_tally_once(data, expected, counted, tmp_path):
    named = {"baseline": "base"} if data == "calls" else {}
    js.report(getattr(registry, data)(), tmp_path / "page.html", n_resamples=20, **named)
    assert expected <= {name for name, _ in counted}
    assert [call for call, times in counted.items() if times > 1] == []


@pytest.mark.slow
def test_strategies_have_their_section_with_its_numbers(page):
    text = page("strategies")
    want = js.compare_strategies(registry.strategies())
    assert "Does another way of asking help?" in text
    assert f"{want['estimate'].iloc[0]:.3f}".replace("-", "−") in text
    assert 'id="does-another-way-of-asking-help"' in text


@pytest.mark.slow
def test_ratings_have_agreement_and_variance(page):
    text = page("scores")
    icc = js.icc(registry.scores(), subjects=["system", "item"]).set_index("term").loc["ICC(2,1)", "estimate"]
    assert f">{icc:.3f}<" in text
    for title in ("Do the judges agree?", "Where does the variance come from?", "How are the scores spread?"):
        assert title in text


@pytest.mark.slow
def test_what_cannot_be_measured_says_what_it_needs(page):
    text = page("scores")
    missing = text[text.index("What this page does not show") :]
    assert "three values in a column" in missing  # agreement over temperature
    assert "score_matrix</code>" not in missing


@pytest.mark.slow
def test_a_measure_is_shown_or_absent_never_both(page):
    for name in ("strategies", "scores", "probes"):
        text = page(name)
        before, after = text.split('id="what-this-page-does-not-show"')
        shown = set(re.findall(r"<h3>[^<]*<code>(\w+)</code>", before))
        absent = set(re.findall(r"<td><code>([^<]+)</code></td>", after))
        assert shown, name
        assert not shown & absent, name


def test_a_long_table_is_cut_and_says_so():
    rows = pd.DataFrame(
        {
            "judge": [f"j{i}" for i in range(MOST + 5)],
            "candidate": "x",
            "term": "win_rate",
            "estimate": 0.5,
            "std_error": 0.1,
            "conf_low": 0.4,
            "conf_high": 0.6,
            "n": 10.0,
            "method": "Wilson",
            "flag": "",
        }
    )
    sections = chapters({"preference_rate": rows}, 0.95)
    assert list(sections) == ["Which way does it lean?"]
    text = sections["Which way does it lean?"]
    assert text.count("<tr") == MOST + 1
    assert "5 rows more" in text


def test_names_from_the_data_are_escaped():
    table = js.preference_rate(registry.calls().assign(judge="<b>&g"))
    text = estimates_table(table, 0.95)
    assert "&lt;b&gt;&amp;g" in text
    assert "<b>&g" not in text


def test_an_attempt_is_estimates_or_a_reason():
    taken = attempts(registry.calls(), Options(n_resamples=10))
    assert set(taken) == set(measures_of(registry.calls()))
    assert isinstance(taken["kappa"], pd.DataFrame)
    assert "probe" in taken["anchoring"]


@pytest.mark.slow
def test_labels_say_what_the_numbers_are(page):
    """A threshold stands in its label, whole numbers are whole, and a shift of scores is no shift of a correlation."""
    text = page("scores")
    assert "share with a spread above 2<" in text
    assert "judges needed, to rank the systems" in text
    needed = text.partition("judges needed, to rank the systems")[2][:200]
    assert re.search(r'class="value">(\d+|n/a)<', needed)
    together = text.partition("What would bring the judges together?")[2]
    assert "constant added to the scores" in together
    assert "shift of the mean correlation" not in together
