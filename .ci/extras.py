"""One small use of each extra: ``python .ci/extras.py NAME...``, in an environment that has them."""

import sys
import tempfile
from pathlib import Path

import pandas as pd

import judgestats as js

CALLS = pd.DataFrame(
    [("g", str(i), *(("x", "y") if order else ("y", "x")), "first") for i in range(40) for order in (True, False)],
    columns=["judge", "item", "first", "second", "choice"],
)
SCORES = pd.DataFrame(
    [(j, f"s{s}", str(i), (3 * i + 2 * s + k) % 10) for k, j in enumerate("abc") for s in range(3) for i in range(8)],
    columns=["judge", "system", "item", "score"],
)


def consistency(calls: object) -> float:
    """Share of consistent pairs, which is 0: the judge prefers what it sees first."""
    return float(js.consistency(calls).set_index("term")["estimate"]["consistency"])


def polars() -> None:
    """A Polars frame."""
    import polars as pl

    assert consistency(pl.from_pandas(CALLS)) == 0


def excel() -> None:
    """A workbook."""
    with tempfile.TemporaryDirectory() as folder:
        book = Path(folder, "calls.xlsx")
        CALLS.to_excel(book, index=False)
        assert consistency(js.read(book)) == 0


def sql() -> None:
    """The clients are there; .ci/databases asks a server."""
    import ibis  # noqa: F401
    import psycopg  # noqa: F401
    import sqlalchemy

    with tempfile.TemporaryDirectory() as folder:
        engine = sqlalchemy.create_engine(f"sqlite:///{folder}/calls.db")
        CALLS.to_sql("calls", engine, index=False)
        engine.dispose()
        assert consistency(js.read(Path(folder, "calls.db"))) == 0


def extracts() -> None:
    """Extracts by sumy."""
    text = "Tea needs hot water. Hot water opens the tea leaves. The weather was mild."
    assert js.design.extracts([text], sentences=1) == ["Hot water opens the tea leaves."]


def pingouin() -> None:
    """ICC by pingouin."""
    assert js.icc(SCORES, engine="pingouin")["estimate"].notna().any()


def bayes() -> None:
    """A model by PyMC, with few draws."""
    table = pd.DataFrame({"judge": [*"abcd"], "n": 40, "k": [20, 22, 25, 18]})
    few = {"draws": 20, "tune": 50, "chains": 1, "progress": False}
    fit = js.fit("cbind(k, n - k) ~ 1 + (1|judge)", table, engine="pymc", sampling=few)
    assert fit.tidy()["estimate"].notna().all()


if __name__ == "__main__":
    for name in sys.argv[1:]:
        globals()[name]()
        print(f"{name}: works")
