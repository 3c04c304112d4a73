"""Queries: bound parameters, no credentials anywhere, and counts taken on the server."""

import inspect
import logging
import os
import sqlite3
import traceback

import duckdb
import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import judgestats as js
import judgestats.models.hierarchical
import registry
from judgestats.cli import app
from judgestats.counting.patterns import PATTERNS
from judgestats.counting.tallies import tally
from judgestats.errors import JudgestatsError, SchemaError
from judgestats.ingest import detect_format, read, source_info
from judgestats.ingest.databases import _bare, _module, redacted
from judgestats.metrics.measure_registry import measures
from judgestats.schema.opening import engine_errors

ROWS = [
    ("g", "007", "x", "y", "first"),
    ("g", "007", "y", "x", "first"),
    ("O'Hara; DROP TABLE calls", "1", "x", "y", "tie"),
]
COLUMNS = ["judge", "item", "first", "second", "choice"]
CALLS = pd.DataFrame(ROWS, columns=COLUMNS)
SECRET = "s3cr3t-Pa55"


@pytest.fixture
def sqlite():
    connection = sqlite3.connect(":memory:")
    CALLS.to_sql("calls", connection, index=False)
    yield connection
    connection.close()


def test_parameters_are_bound(sqlite):
    name = ROWS[2][0]
    assert read("SELECT * FROM calls WHERE judge = ?", connection=sqlite, params=[name])["judge"].tolist() == [name]
    named = read("SELECT * FROM calls WHERE judge = :who", connection=sqlite, params={"who": "g"})
    assert len(named) == 2
    assert len(read("SELECT * FROM calls", connection=sqlite)) == 3  # nothing was dropped
    with pytest.raises(SchemaError, match="params= are of a query"):
        read(CALLS, params=[1])


def test_a_query_on_duckdb_stays_there():
    connection = duckdb.connect()
    connection.register("calls", CALLS)
    eager = read("SELECT * FROM calls WHERE judge = $who", connection=connection, params={"who": "g"})
    lazy = read("SELECT * FROM calls WHERE judge = $who", connection=connection, params={"who": "g"}, lazy=True)
    assert type(lazy).__name__ == "DuckDBPyRelation"
    pd.testing.assert_frame_equal(js.consistency(lazy), js.consistency(eager))
    with pytest.raises(SchemaError, match=r"The query failed: .*Query: SELECT nothing"):
        read("SELECT nothing FROM calls", connection=connection, lazy=True)


def test_a_query_that_cannot_stay_says_what_can(sqlite):
    with pytest.raises(SchemaError, match=r"in DuckDB and in PostgreSQL .* is sqlite3.Connection. Leave lazy out"):
        read("SELECT * FROM calls", connection=sqlite, lazy=True)


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("postgresql+psycopg://ann:a:b/c@host:5432/db", "postgresql+psycopg://ann:***@host:5432/db"),
        ("SELECT * FROM dblink('host=h password=x y=1')", "SELECT * FROM dblink('host=h password=*** y=1')"),
        ('{"api_token": "abc", "n": 3}', '{"api_token": ***, "n": 3}'),
        ("PWD=abc;SERVER=s", "PWD=***;SERVER=s"),
        ("SELECT judge FROM calls -- nothing here: a://b", "SELECT judge FROM calls -- nothing here: a://b"),
        ("https://tok@host/a.csv?sig=x%3D&se=2", "https://***@host/a.csv?sig=***&se=2"),
        (
            "s3://k:a/b+c@bucket/x?s3_secret_access_key=x&region=eu",
            "s3://k:***@bucket/x?s3_secret_access_key=***&region=eu",
        ),
        ("duckdb:///md:db?motherduck_token=x", "duckdb:///md:db?motherduck_token=***"),
        ("CREATE SECRET (TYPE s3, KEY_ID 'k', SECRET 'a b')", "CREATE SECRET (TYPE s3, KEY_ID 'k', SECRET ***)"),
        ("password='it''s \\'me' sslpassword=a,b host=h", "password=*** sslpassword=*** host=h"),
        ("password='its end was cut o", "password=***"),
        ("max_tokens=512, y ~ token:judge, token==1", "max_tokens=512, y ~ token:judge, token==1"),
    ],
)
def test_what_looks_like_a_password_is_left_out(text, clean):
    assert redacted(text) == clean


def test_a_query_with_a_password_is_not_quoted(sqlite, tmp_path):
    query = f"SELECT * FROM dblink('host=h password={SECRET}')"
    with pytest.raises(SchemaError) as caught:
        read(query, connection=sqlite)
    assert SECRET not in all_of(caught.value)
    assert SECRET not in source_info(query, connection=sqlite).to_string()


ADDRESSES = [
    f"postgresql://ann:{SECRET}@host/db",
    f"postgresql://host/db?user=ann&password={SECRET}",
    f"https://ann:{SECRET}@host/{'long' * 60}.csv",
    f"https://{SECRET}@host/calls.csv",
    f"https://host/calls.csv?token={SECRET}",
    f"s3://bucket/*.parquet?aws_secret_access_key={SECRET}",
    f"host=db user=ann password='{SECRET} {SECRET}' dbname=calls",
]


@pytest.mark.parametrize("source", ADDRESSES)
def test_an_address_in_place_of_a_file(source, tmp_path, monkeypatch):
    """Neither in the error, nor in what a traceback shows of its causes, nor on the command line, nor on a page."""
    monkeypatch.chdir(tmp_path)
    shown = []
    for call in (read, source_info, detect_format, lambda s: read([s]), lambda s: read(CALLS, columns={"judge": s})):
        with pytest.raises(SchemaError) as caught:
            call(source)
        shown.append(all_of(caught.value))
    CALLS.to_csv("calls.csv", index=False)
    for command in (["check", source], ["report", source], ["check", "x", "--nowhere", source], ["formats", source],
                    ["report", "calls.csv", "--gold", source]):  # fmt: skip
        result = CliRunner().invoke(app, command)
        assert result.exit_code == 2
        shown.append(result.output + repr(result.exception))
    out = f"new/{source}"[:200] + ".html"
    written = [["plan", "vacuum", "--judge", "m", "--out"], ["report", "calls.csv", "--out"]]
    for command in (*([*words, out] for words in written), ["plan", "vacuum", "--judge", source]):
        result = CliRunner().invoke(app, command)
        shown.append(result.output + repr(result.exception))
    for page in ("page.html", "page.md"):
        js.report(
            read(CALLS), tmp_path / page, title=f"Calls of {source}", source={"files": [source], "format": source}
        )
        shown.append((tmp_path / page).read_text(encoding="utf-8"))
    assert [text for text in shown if SECRET in text] == []


@pytest.mark.parametrize("address", ["sqlite:///nowhere/db?password={}", "nosuch://ann:{}@h/d", "duckdb:///x?token={}"])
def test_an_address_that_does_not_connect(address):
    for lazy in (False, True):
        with pytest.raises(SchemaError) as caught:
            read("SELECT 1", connection=address.format(SECRET), lazy=lazy)
        assert SECRET not in all_of(caught.value)


def test_a_query_is_masked_before_it_is_cut_short(sqlite):
    with pytest.raises(SchemaError) as caught:
        read(f"SELECT {'a, ' * 54} dblink('password=\"begin {SECRET} of it\"')", connection=sqlite)
    assert "begin" not in str(caught.value)


def all_of(problem):
    """An error as it is shown, with its causes."""
    return "".join(traceback.format_exception(problem)) + repr(problem) + str(problem)


def test_no_extension_of_a_database_is_downloaded(monkeypatch, tmp_path):
    """Connections that we open load nothing by themselves."""
    opened = []
    connect = duckdb.connect

    def noted(*args, **options):
        opened.append(connect(*args, **options))
        return opened[-1]

    monkeypatch.setattr(duckdb, "connect", noted)
    CALLS.to_csv(tmp_path / "calls.csv", index=False)
    CALLS.to_parquet(tmp_path / "calls.parquet")
    for name in ("calls.csv", "calls.parquet"):
        assert js.answer_rates(read(tmp_path / name, lazy=True))["n"].max() == 2
    assert opened
    for connection in opened:
        try:
            found = connection.sql(
                "SELECT value FROM duckdb_settings() WHERE name IN ('autoinstall_known_extensions', "
                "'autoload_known_extensions')"
            ).fetchall()
        except duckdb.ConnectionException:
            continue  # closed by now
        assert found == [("false",), ("false",)]


ENDS = [
    " -- done",
    "; -- done",
    ";\n/* done; */ ;\n",
    " WHERE judge LIKE '%g%' AND item <> ':x' -- 100 %",
    " WHERE 7 % 4 = 3;",
]


@pytest.mark.parametrize("end", ENDS)
def test_a_query_may_end_in_comments_and_semicolons(sqlite, end):
    assert len(read(f"SELECT *, '--;' AS note FROM calls{end}", connection=sqlite)) >= 2
    connection = duckdb.connect()
    connection.register("calls", CALLS)
    for lazy in (False, True):
        got = read(f"SELECT *, '--;' AS note FROM calls{end}", connection=connection, lazy=lazy)
        assert js.answer_rates(got)["n"].max() == 2


@pytest.mark.parametrize("lazy", [False, True])
def test_a_closed_connection(sqlite, lazy):
    connection = duckdb.connect()
    connection.register("calls", CALLS)
    connection.close()
    with pytest.raises(SchemaError, match=r"connection to the database was lost.*Connect again"):
        read("SELECT * FROM calls", connection=connection, lazy=lazy)
    if not lazy:
        sqlite.close()
        with pytest.raises(SchemaError, match=r"connection to the database was lost.*Connect again"):
            read("SELECT * FROM calls", connection=sqlite)


#: What functions of a frame need besides it; None: a further frame.
NEEDED = {
    "abstention_threshold": {"alpha": 0.1},
    "alternative_annotator_test": {"humans": ["h"], "epsilon": 0.1},
    "corrected_difference": {"baseline": "u", "sampling": "random"},
    "corrected_rate": {"sampling": "random"},
    "compare_datasheets": {"second": None},
    "criterion_shift": {"baseline": "a", "prompt": "b"},
    "strategy_effects": {"baseline": "B0"},
    "strategies": {"baseline": "B0"},
    "fit": {"formula": "choice ~ 1"},
    "join_labels": {"verdicts": None, "on": ["item"]},
    "judge_against_people": {"humans": ["h"]},
    "label_plan": {"precision": 0.05, "verdicts": 2000, "sampling": "random"},
    "level_progression": {"truth": None},
    "preference_gap": {"humans": ["h"]},
    "rationale_alignment": {"favoured_text": "a", "opposed_text": "b"},
    "report": {"path": "x.html"},
    "tally": {"measure": "kappa"},
    "weighted_index": {"weights": {"a": 1.0}, "scale": "z"},
}
#: Functions whose first argument may be a frame, or something else.
ANY = {"compare_datasheets", "compare_scores", "detect_format", "pareto_front", "recommend"}


def takes_frames():
    """Every public function with a frame among its arguments, and the first such argument."""
    for home in (js, js.models, js.models.hierarchical):
        for name in dir(home):
            function = getattr(home, name)
            if not inspect.isfunction(function):
                continue
            arguments = inspect.signature(function).parameters.values()
            frames = [p.name for p in arguments if name in ANY or "IntoFrame" in str(p.annotation)]
            if frames:
                yield pytest.param(function, frames[0], id=f"{home.__name__}.{name}")


@pytest.mark.parametrize(("function", "frame"), list(takes_frames()))
def test_every_function_of_a_lazy_frame_says_that_its_connection_is_closed(function, frame, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    connection = duckdb.connect()
    connection.register("frame", CALLS)
    calls = connection.sql("SELECT * FROM frame")
    connection.close()
    more = {name: calls if value is None else value for name, value in NEEDED.get(function.__name__, {}).items()}
    with pytest.raises(JudgestatsError, match=r"connection to the database was lost.*Connect again") as caught:
        function(**{frame: calls, **more})
    assert "ConnectionException" not in all_of(caught.value)


@pytest.mark.parametrize("error", [
    sqlite3.ProgrammingError("Cannot operate on a closed database."),
    sqlite3.OperationalError(f"server closed the connection: postgresql://ann:{SECRET}@db/calls password={SECRET}"),
])  # fmt: skip
def test_the_error_of_an_engine_is_no_part_of_ours(error):
    @engine_errors
    def counted():
        raise error

    with pytest.raises(JudgestatsError, match=r"connection to the database was lost.*Connect again") as caught:
        counted()
    assert SECRET not in all_of(caught.value)
    assert type(error).__name__ not in all_of(caught.value)


# ---- A real PostgreSQL server, which .ci/databases starts ------------------------------------------------------------

URL = os.environ.get("JUDGESTATS_POSTGRES", "")


@pytest.fixture(scope="session")
def server():
    if not URL:
        pytest.skip("no PostgreSQL server: .ci/databases starts one")
    psycopg = pytest.importorskip("psycopg")
    with psycopg.connect(URL, autocommit=True) as connection:
        connection.execute("CREATE TABLE calls (judge text, item text, first text, second text, choice text)")
        with connection.cursor() as cursor:
            cursor.executemany("INSERT INTO calls VALUES (%s, %s, %s, %s, %s)", ROWS)
        connection.execute(
            "CREATE TABLE many AS SELECT 'j' || (g % 3) AS judge, 'i' || (g / 24) AS item, "
            "CASE WHEN g % 2 = 0 THEN 'x' ELSE 'y' END AS first, CASE WHEN g % 2 = 0 THEN 'y' ELSE 'x' END AS second, "
            "(ARRAY['first', 'second', 'tie'])[1 + (g * 7 / 5) % 3] AS choice, (g / 6 % 4) AS replicate, "
            "repeat(md5(g::text), 10) AS transcript FROM generate_series(0, 23999) AS g"
        )
    return URL


@pytest.fixture
def counting(server):
    """A connection that counts the rows that its queries fetch, and the columns."""
    import psycopg

    class Counted(psycopg.Cursor):
        rows = 0
        columns: set[str] = set()  # noqa: RUF012

        def execute(self, *args, **options):
            result = super().execute(*args, **options)
            if self.description is not None:
                Counted.rows += self.rowcount
                Counted.columns |= {c.name for c in self.description}
            return result

    with psycopg.connect(server, cursor_factory=Counted, autocommit=True) as connection:
        yield connection, Counted


def connections(server):
    """One of each kind, with its mark of a parameter."""
    import adbc_driver_postgresql.dbapi
    import psycopg
    import sqlalchemy

    address = server.replace("postgresql://", "postgresql+psycopg://")
    engine = sqlalchemy.create_engine(address)
    yield psycopg.connect(server), "%s", ["g"]
    yield psycopg.connect(server), "%(who)s", {"who": "g"}
    yield engine, ":who", {"who": "g"}
    yield engine.connect(), ":who", {"who": "g"}
    yield engine.connect(), "%s", ["g"]
    yield address, ":who", {"who": "g"}
    yield adbc_driver_postgresql.dbapi.connect(server), "$1", ["g"]


@pytest.mark.postgres
def test_every_kind_of_connection_gives_the_same_rows(server):
    want = read(CALLS)
    for connection, mark, params in connections(server):
        got = read("SELECT * FROM calls ORDER BY judge DESC, first", connection=connection)
        assert sorted(map(tuple, got[COLUMNS].astype(str).to_numpy())) == sorted(
            map(tuple, want[COLUMNS].astype(str).to_numpy())
        )
        bound = read(f"SELECT * FROM calls WHERE judge = {mark}", connection=connection, params=params)
        assert set(bound["judge"]) == {"g"}
        evil = {"who": ROWS[2][0]} if isinstance(params, dict) else [ROWS[2][0]]
        assert len(read(f"SELECT * FROM calls WHERE judge = {mark}", connection=connection, params=evil)) == 1
        if hasattr(connection, "close"):
            connection.close()


@pytest.mark.postgres
def test_bound_parameters_of_a_query_that_stays_on_the_server(server):
    import psycopg
    import sqlalchemy

    engine = sqlalchemy.create_engine(server.replace("postgresql://", "postgresql+psycopg://"))
    for connection, mark in ((psycopg.connect(server), "%(who)s"), (engine.connect(), ":who"), (engine, ":who")):
        query = f"SELECT * FROM calls WHERE judge = {mark};"
        for who, n in (("g", 2), (ROWS[2][0], 1)):
            lazy = read(query, connection=connection, params={"who": who}, lazy=True)
            assert js.answer_rates(lazy)["n"].max() == n


@pytest.mark.postgres
@pytest.mark.parametrize("measure", ["position_bias", "answer_rates", "consistency", "preference_rate", "kappa"])
def test_counts_are_taken_on_the_server(counting, measure):
    """24,000 calls with a long transcript: as many rows cross the wire as the tally has, and a few for questions."""
    connection, counted = counting
    query = "SELECT * FROM many"
    kept = "judge, item, first, second, choice, replicate"
    want = tally(read(f"SELECT {kept} FROM many", connection=connection), measure, cluster=False)
    counted.rows, counted.columns = 0, set()
    lazy = read(query, connection=connection, lazy=True)
    got = tally(lazy, measure, cluster=False)
    pd.testing.assert_frame_equal(got, want, check_dtype=False)
    assert counted.rows < len(want) + 60
    assert "transcript" in counted.columns  # of the question for the columns, which fetched no row
    counted.rows = 0
    clustered = js.position_bias(lazy, cluster="item")
    assert counted.rows < 24_000 / 2
    pd.testing.assert_frame_equal(clustered, js.position_bias(read(query, connection=connection), cluster="item"))


@pytest.mark.postgres
def test_every_measure_counts_an_ibis_table_and_a_query(server):
    """Of the same numbers: a frame of Ibis through Narwhals, and the lazy query."""
    import ibis
    import psycopg
    import sqlalchemy

    engine = sqlalchemy.create_engine(server.replace("postgresql://", "postgresql+psycopg://"))
    cases = registry.registry()
    one_of_each = {m.counted_as: n for n, m in measures().items() if n in cases and m.pattern is not None}
    with psycopg.connect(server, autocommit=True) as connection:
        backend = ibis.postgres.from_connection(connection)
        for measure in PATTERNS:
            case = cases[one_of_each[measure]]
            data = case.data()
            if "correct" in data:
                data["correct"] = data["correct"].astype("boolean")
            data.to_sql(measure, engine, index=False)
            want = case.call(data)
            lazy = read(f'SELECT * FROM "{measure}"', connection=connection, lazy=True)
            pd.testing.assert_frame_equal(case.call(lazy), want, check_dtype=False, rtol=1e-10, atol=1e-10)
            table = backend.table(measure)
            pd.testing.assert_frame_equal(case.call(table), want, check_dtype=False, rtol=1e-10, atol=1e-10)


@pytest.mark.postgres
def test_a_mixed_model_on_the_server(counting):
    connection, counted = counting
    query = "SELECT *, (choice = 'first')::int AS took FROM many"
    want = js.fit(
        "took ~ judge + (1|item)",
        pd.read_sql_query(query.replace("*", "judge, item"), URL.replace("postgresql://", "postgresql+psycopg://")),
    )
    lazy = read(query, connection=connection, lazy=True)
    counted.rows = 0
    got = js.fit("took ~ judge + (1|item)", lazy)
    assert counted.rows < 8000
    np.testing.assert_allclose(got.tidy()["estimate"].astype(float), want.tidy()["estimate"].astype(float), rtol=1e-10)


@pytest.mark.postgres
def test_no_credential_is_shown(server, tmp_path, caplog):
    """In errors of failing connections and queries, their causes, logs, the record of the source, reprs and the page."""
    import psycopg
    import sqlalchemy

    caplog.set_level(logging.DEBUG, "judgestats")
    password = server.partition("judge:")[2].partition("@")[0]
    address = server.replace("postgresql://", "postgresql+psycopg://")
    wrong = address.replace(password, SECRET)
    shown = []
    for connection in (wrong, sqlalchemy.create_engine(wrong), wrong.replace("127.0.0.1", "127.0.0.1:bad"),
                       f"nosuch://ann:{SECRET}@h/d", wrong.replace(SECRET, SECRET + "@x:y")):  # fmt: skip
        for lazy in (False, True):
            with pytest.raises(SchemaError) as caught:
                read("SELECT 1", connection=connection, lazy=lazy)
            shown.append(all_of(caught.value))
    for connection in (address, sqlalchemy.create_engine(address), psycopg.connect(server, autocommit=True)):
        with pytest.raises(SchemaError, match="nowhere") as caught:
            read("SELECT * FROM nowhere WHERE x = %s", connection=connection, params=[SECRET])
        shown.append(all_of(caught.value))
        query = "SELECT * FROM calls"
        shown.append(source_info(query, connection=connection).to_string())
    connection = psycopg.connect(server, autocommit=True)
    lazy = read("SELECT * FROM calls", connection=connection, lazy=True)
    shown.append(repr(lazy))
    page = tmp_path / "page.html"
    js.report(
        read("SELECT * FROM calls", connection=connection),
        page,
        source={"files": source_info(query, connection=address)},
    )
    shown += [page.read_text(), caplog.text]
    for text in shown:
        assert password not in text
        assert SECRET not in text


@pytest.mark.postgres
def test_a_connection_that_drops_in_the_middle(server):
    import psycopg

    with psycopg.connect(server, autocommit=True) as other:
        for lazy in (False, True):
            connection = psycopg.connect(server, autocommit=True)
            pid = connection.info.backend_pid
            calls = read("SELECT * FROM many", connection=connection, lazy=True) if lazy else None
            other.execute("SELECT pg_terminate_backend(%s)", [pid])
            with pytest.raises(JudgestatsError, match=r"connection to the database was lost.*Connect again"):
                js.answer_rates(calls) if lazy else read("SELECT * FROM many", connection=connection)
        connection = psycopg.connect(server, autocommit=True)  # while the rows are on their way
        dying = "SELECT *, CASE WHEN item = 'i900' THEN pg_terminate_backend(pg_backend_pid()) END AS gone FROM many"
        with pytest.raises(SchemaError, match=r"connection to the database was lost"):
            read(dying, connection=connection)


@pytest.mark.postgres
@pytest.mark.parametrize("end", ENDS)
def test_ends_of_a_query_and_percent_signs(server, end):
    query = f"SELECT *, '--;' AS note, 1::int AS seed FROM calls{end}"
    for connection, _, _ in connections(server):
        assert len(read(query, connection=connection)) >= 2
        if _module(connection) in ("psycopg", "sqlalchemy"):
            assert js.answer_rates(read(query, connection=connection, lazy=True))["n"].max() == 2
        if hasattr(connection, "close"):
            connection.close()


@pytest.mark.postgres
def test_each_kind_of_connection_closed_or_killed(server):
    import psycopg
    import sqlalchemy

    lost = r"connection to the database was lost.*Connect again"
    engine = sqlalchemy.create_engine(server.replace("postgresql://", "postgresql+psycopg://"))
    with psycopg.connect(server, autocommit=True) as other:
        for make in (lambda: psycopg.connect(server, autocommit=True), engine.connect):
            connection = make()
            query = "SELECT pg_backend_pid() AS judge, 's' AS system, 'i' AS item, 1 AS score"
            pid = int(read(query, connection=connection)["judge"][0])
            other.execute("SELECT pg_terminate_backend(%s)", [pid])
            for _ in range(2):
                with pytest.raises(SchemaError, match=lost) as caught:
                    read(query, connection=connection)
            connection.close()
            for lazy in (False, True):
                with pytest.raises(SchemaError, match=lost) as caught:
                    read(query, connection=connection, lazy=lazy)
            assert server.partition("judge:")[2].partition("@")[0] not in all_of(caught.value)
        connection = psycopg.connect(server, autocommit=True)
        calls = read("SELECT * FROM calls", connection=connection, lazy=True)
        connection.close()
        for call in (js.answer_rates, js.available_measures, js.check, js.position_bias):
            with pytest.raises(JudgestatsError, match=lost):
                call(calls)


def test_query_without_its_end() -> None:
    assert _bare("SELECT '--;' AS x; -- done") == "SELECT '--;' AS x"


def test_address_and_argument_without_the_password() -> None:
    text = "could not connect to postgresql://ann:s3cret@db/verdicts (password=s3cret)"
    assert redacted(text) == "could not connect to postgresql://ann:***@db/verdicts (password=***)"
