"""The public names: all there, documented, and loaded only when used."""

import inspect
import pkgutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import judgestats

SOURCE = Path(judgestats.__file__).parent
#: What the design promises so far, by name.
PROMISED = [
    "read",
    "formats",
    "preferences",
    "ratings",
    "check",
    "tally",
    "aggregate",
    "score_matrix",
    "consensus_deviation",
    "blinding_effect",
    "rank_correlation",
    "consistency",
    "gold_agreement",
    "dark_current",
    "delta0",
    "target_sensitivity",
    "detection_threshold",
    "d_prime",
    "criterion_shift",
    "datasheet",
    "published",
    "report",
    "plot",
]


@pytest.mark.parametrize("name", sorted({*PROMISED, *judgestats.__all__} - {"__version__"}))
def test_every_public_name_is_there_and_documented(name):
    thing = getattr(judgestats, name)
    assert name in judgestats.__all__
    assert name in dir(judgestats)
    if inspect.isfunction(thing):
        assert thing.__doc__
        assert ">>>" in thing.__doc__, "a public docstring has a running example"
        assert "Returns" in thing.__doc__


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'delta1'"):
        judgestats.delta1  # noqa: B018


@pytest.mark.parametrize("stub", sorted(SOURCE.rglob("__init__.pyi")), ids=lambda stub: stub.parent.name)
def test_no_module_takes_the_place_of_a_name_that_is_loaded_later(stub):
    room = import_module(".".join(("judgestats", *stub.parent.relative_to(SOURCE).parts)))
    modules = {module.name for module in pkgutil.iter_modules(room.__path__)}
    homes = {name: home for name, home in room._HOMES.items() if home != (room.__name__, name)}
    assert not modules & homes.keys()
    assert all(hasattr(room, name) for name in dir(room))


def test_import_is_light():
    heavy = ["matplotlib", "numba", "scipy", "duckdb", "statsmodels", "sklearn", "typer", "pandas", "narwhals"]
    code = f"import sys, judgestats; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_measure_may_be_the_first_name_used():
    code = (
        "import sys\n"
        "for name in ('consensus_deviation', 'score_matrix', 'kappa', 'icc', 'gold_agreement'):\n"
        "    for module in [m for m in sys.modules if m.startswith('judgestats')]:\n"
        "        del sys.modules[module]\n"
        "    import judgestats\n"
        "    getattr(judgestats, name)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
