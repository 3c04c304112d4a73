"""Queries: their rows in memory, or a lazy frame whose counts are taken in the database."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import unquote

import pandas as pd
from pandas.io.sql import SQLiteDatabase

from judgestats.errors import SchemaError, masked
from judgestats.outputs import note_read
from judgestats.schema.opening import LOST, cell_text, refuse_repeated_names

#: Values of the parameters of a query: by position, or by name.
Params = Sequence[object] | Mapping[str, object] | None
#: A connection of any driver.
Connection = Any
#: What is skipped as a whole in a query: blanks and comments, which may end it, and texts and names in quotes.
_PARTS = re.compile(
    r"""(?sx) (?P<rest> \s+ | ; | --[^\n]* | /\*.*?\*/ )
    | [eE]'(?:[^'\\]|\\.|'')*' | '(?:[^']|'')*' | "(?:[^"]|"")*" | \$(?P<tag>\w*)\$.*?\$(?P=tag)\$ | \w+ | ."""
)
_DUCKDB = ("duckdb", "_duckdb")
#: Types of PostgreSQL, by object id, that come as they are; text and all others come as text.
_TYPES = {16: "boolean", 20: "int64", 21: "int16", 23: "int32", 700: "float32", 701: "float64", 1700: "float64"}


def redacted(text: str, connection: Connection = None) -> str:
    """A text without the password of the connection, and without any that it shows as one."""
    for secret in _secrets(connection):
        text = text.replace(secret, "***")
    return masked(text)


def _secrets(connection: Connection) -> list[str]:
    """The passwords that a connection knows."""
    secrets: list[object] = []
    if isinstance(connection, str):
        password = connection.partition("://")[2].rpartition("@")[0].partition(":")[2]
        secrets += [password, unquote(password)]
    url = getattr(getattr(connection, "engine", connection), "url", None)  # SQLAlchemy
    secrets.append(getattr(url, "password", None))
    with suppress(Exception):  # psycopg; what is closed may tell nothing of itself
        info = connection.info
        secrets.append(getattr(info, "password", None) if not isinstance(info, Mapping) else None)
    return sorted({str(s) for s in secrets if s}, key=len, reverse=True)


def _bare(sql: str) -> str:
    """A query without the semicolons and comments that it ends in: others are put around it."""
    ends = [part.end() for part in _PARTS.finditer(sql) if part["rest"] is None]
    return sql[: ends[-1]] if ends else sql


def _note_files(connection: Connection) -> None:
    """Note the files of a database of SQLite or DuckDB, over which nothing is then written."""
    with suppress(Exception):  # each driver has errors of its own; what is wrong with the connection, the query says
        if _module(connection) in ("sqlite3", *_DUCKDB):
            files = [file for *_, file in connection.cursor().execute("PRAGMA database_list").fetchall()]
        else:
            from sqlalchemy import make_url

            address = getattr(getattr(connection, "engine", connection), "url", connection)
            url = make_url(address)
            files = [url.database] if url.get_backend_name() in ("sqlite", "duckdb") else []
        for file in filter(None, files):
            note_read(file)


def query(sql: str, connection: Connection, params: Params = None) -> pd.DataFrame:
    """The rows of a query as text; its text, whole numbers and gaps come back exactly."""
    table, failed = None, ""
    _note_files(connection)
    try:  # each driver has errors of its own, and their tracebacks may show the address with its password
        table = _fetched(_bare(sql) if isinstance(sql, str) else sql, connection, params)
    except SchemaError:
        raise
    except Exception as problem:
        failed = failure(problem, sql, connection)
    if table is None:
        raise SchemaError(failed)
    refuse_repeated_names(list(table.columns), "The query", "Name each with AS.")
    if table.empty:
        raise SchemaError("The query gives no rows.")
    values = {n: [v.item() if hasattr(v, "item") else v for v in table[n]] for n in table.columns}
    return pd.DataFrame({n: [None if v is pd.NA else cell_text(v) for v in cells] for n, cells in values.items()})


def _fetched(sql: str, connection: Connection, params: Params) -> pd.DataFrame:
    if _module(connection) == "adbc_driver_manager":
        with connection.cursor() as cursor:
            cursor.execute(sql, params)
            arrow: pd.DataFrame = cursor.fetch_arrow_table().to_pandas(types_mapper=pd.ArrowDtype)
            return arrow
    if _module(connection) in _DUCKDB:  # a cursor of its own would not see what is registered here
        relation = connection.sql(sql, params=params)
        return pd.DataFrame() if relation is None else relation.to_arrow_table().to_pandas(types_mapper=pd.ArrowDtype)
    if isinstance(connection, str):
        import sqlalchemy

        engine = sqlalchemy.create_engine(connection, hide_parameters=True)
        try:
            return _fetched(sql, engine, params)
        finally:
            engine.dispose()
    statement: object = sql
    if _module(connection) == "sqlalchemy" and isinstance(sql, str) and (params is None or isinstance(params, Mapping)):
        import sqlalchemy

        statement = sqlalchemy.text(sql if params is not None else sql.replace(":", r"\:"))  # :name; % is itself
    elif _module(connection) == "sqlalchemy" and params is not None:
        params = tuple(params)
    options: dict[str, Any] = {"coerce_float": True, "dtype_backend": "numpy_nullable", "params": params}
    if _module(connection) in ("sqlalchemy", "sqlite3"):
        table: pd.DataFrame = pd.read_sql_query(statement, connection, **options)
    else:  # as pandas reads any other connection, but with a warning
        table = SQLiteDatabase(connection).read_query(statement, **options)
    return table


def failure(problem: Exception, sql: str, connection: Connection) -> str:
    """What to say of an error of a database driver, without credentials."""
    said = next(iter(redacted(str(problem), connection).splitlines()), "") or type(problem).__name__
    if getattr(problem, "connection_invalidated", False) or LOST.search(str(problem)):
        return (
            f"The connection to the database was lost: {said[:300]}. No rows were kept. Connect again, and repeat the "
            "query."
        )
    return f"The query failed: {said[:300]}. Query: {redacted(' '.join(str(sql).split()), connection)[:200]}"


def there(sql: str, connection: Connection, params: Params = None) -> Any:
    """A query as a lazy frame: a DuckDB relation, or an Ibis table on PostgreSQL. Its rows stay in the database."""
    sql = _bare(sql)
    _note_files(connection)
    if _module(connection) in _DUCKDB:
        return _relation(sql, connection, params)
    driver, failed = None, ""
    try:
        if isinstance(connection, str):
            import sqlalchemy

            connection = sqlalchemy.create_engine(connection, hide_parameters=True)
        driver = _psycopg(connection)
    except Exception as problem:
        failed = failure(problem, sql, connection)
    if failed:
        raise SchemaError(failed)
    if driver is None:
        raise SchemaError(
            f"lazy=True counts in DuckDB and in PostgreSQL (through psycopg 3), and connection= is "
            f"{type(connection).__module__}.{type(connection).__name__}. Leave lazy out, or give an Ibis table as the "
            "source."
        )
    try:
        import ibis
    except ImportError:
        raise SchemaError("lazy=True on PostgreSQL needs Ibis: pip install 'judgestats[sql]'.") from None
    try:
        bound = _bound(sql, connection, driver, params)
        with driver.cursor() as cursor, driver.transaction():
            cursor.execute(f"SELECT * FROM ({bound}) AS query LIMIT 0")
            columns = [(c.name, c.type_code) for c in cursor.description]
        refuse_repeated_names([name for name, _ in columns], "The query", "Name each with AS.")
        cells = ", ".join(_cell(name, oid) for name, oid in columns)
        types = {name: _TYPES.get(oid, "string") for name, oid in columns}
        schema = ibis.schema({n: "float64" if t == "float32" else t for n, t in types.items()})
        backend = ibis.postgres.from_connection(driver)
        table = backend.sql(f"SELECT {cells} FROM ({bound}) AS query", schema=schema)
    except SchemaError:
        raise
    except Exception as problem:
        failed = failure(problem, sql, connection)
    if failed:
        raise SchemaError(failed)
    return table


def _relation(sql: str, connection: Connection, params: Params) -> Any:
    failed = ""
    try:
        relation = connection.sql(sql, params=params)
    except Exception as problem:  # duckdb.Error, which may not be imported
        failed = failure(problem, sql, connection)
    if failed:
        raise SchemaError(failed)
    if relation is None:
        raise SchemaError("The query gives no rows.")
    return relation


def _cell(name: str, oid: int) -> str:
    """A column as the eager reader gives it: text but for numbers and booleans; the empty text and NaN are missing."""
    q = '"{}"'.format(name.replace('"', '""'))
    kind = _TYPES.get(oid, "string")
    if kind.startswith("float"):
        return f"NULLIF({q}::double precision, 'NaN') AS {q}"
    return f"NULLIF({q}::text, '') AS {q}" if kind == "string" else q


def _bound(sql: str, connection: Connection, driver: Connection, params: Params) -> str:
    """The query with its parameters quoted by the driver."""
    if params is None:
        return sql
    if _module(connection) == "sqlalchemy" and isinstance(params, Mapping):
        import sqlalchemy

        sql = str(sqlalchemy.text(sql).compile(dialect=connection.dialect))
    from psycopg import ClientCursor

    return str(ClientCursor(driver).mogrify(sql, params))


def _psycopg(connection: Connection) -> Any:
    """The psycopg connection behind a connection, or None."""
    if _module(connection) == "sqlalchemy":
        engine = hasattr(connection, "raw_connection")
        pooled = connection.raw_connection() if engine else connection.connection
        connection = pooled.driver_connection
        if engine:
            pooled.detach()  # the lazy frame keeps it
    return connection if _module(connection) == "psycopg" else None


def _module(value: object) -> str:
    return type(value).__module__.partition(".")[0]
