"""Every exception the package raises, under one root.

A message says what is wrong, what was got, what is allowed, and what to do.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judgestats.terminal import visible

if TYPE_CHECKING:
    import pandas as pd

#: Longest path that an error quotes whole.
_LONGEST_NAME = 200


#: Arguments that correct an error, with their values where they are known (None: any).
Advice = tuple[tuple[str, object], ...]


#: What logs in to an address: ``user:password@``, and all before the ``@`` of a web address; paths have one slash only.
_LOGIN = re.compile(r"""((?<=\w\w):/{1,2}[^\s/:@]*:)(?:\S*|[^@'"\n]{0,80})@|(https?:/{1,2})[^\s/@]+@""")
#: The value of what is named as a secret, in a query string, a connection string, JSON or SQL.
_SECRET = re.compile(
    r"""(?isx)
    (\b (?: \w*(?:passw(?:or)?d | passphrase | pwd | secret(?:_?key)?)
        (?: \\?["']?\s*=(?!=) | \\?["']\s*: | :(?=\s) | \s+(?=') )
      | (?: \w*(?:token | (?:api|access|account|private|encryption)[_-]?key | credentials? | signature) | (?<=[?&])sig )
        \\?["']? (?: \s*=(?!=) | (?<=["'])\s*: )
    ) \s*)
    (?: (\\*["'])(?: (?!\2). | (?<=\\)\2 | \2\2 )*(?:\2|$)          # in quotes, also where their end was cut off
      | (?: [^\s;,&"')] | [;,&)](?! \s | $ | ["')] | [\w.-]+= ) )+ )   # up to the next name, blank or quote
    """
)


def masked(text: str) -> str:
    """A text without passwords, tokens and keys of addresses and connection strings: every error passes through it."""
    return _SECRET.sub(r"\1***", _LOGIN.sub(lambda m: f"{m[1] or m[2]}***@", text))


def printable(text: str) -> str:
    """A text that can be encoded: bytes of a file's name that are not UTF-8 are written out."""
    return text.encode("utf-8", "backslashreplace").decode()


class JudgestatsError(Exception):
    """Root of every error that judgestats raises on purpose; its message shows no secret and no control characters.

    Attributes
    ----------
    advice : tuple of (str, object)
        Arguments of the library that correct it, with their values where they are known (None: any). The command line
        prints them as its options.
    reason : str
        Code of what is wrong, for programs; often empty.
    problem : str
        What is wrong, without what is allowed and what to do; the whole message if it was not given separately.

    See Also
    --------
    SchemaError : The input is not the table that it should be.
    DesignError : The design cannot answer the question.

    Examples
    --------
    >>> import pandas as pd, judgestats as js
    >>> try:
    ...     js.preferences(pd.DataFrame({"judge": ["g"], "item": ["1"]}))
    ... except JudgestatsError as error:
    ...     print(type(error).__name__)
    SchemaError
    """

    def __init__(self, message: str, *, advice: Advice = (), reason: str = "", problem: str = "") -> None:
        message, problem = (visible(printable(masked(text))) for text in (message, problem))
        super().__init__(message)
        self.advice, self.reason, self.problem = advice, reason, problem or message


class SchemaError(JudgestatsError):
    """The input cannot be read as the table it should be.

    Attributes
    ----------
    faults : pandas.DataFrame or None
        One row per fault, with the columns of :func:`judgestats.check`, when the faults lie in the rows of a table.

    See Also
    --------
    judgestats.check : The faults of a table, without an error.
    judgestats.suggest_mapping : Which columns could be meant.

    Examples
    --------
    >>> import pandas as pd, judgestats as js
    >>> table = pd.DataFrame({"judge": ["g"], "item": "1", "first": "x", "second": "y", "choice": "left"})
    >>> try:
    ...     js.preferences(table)
    ... except SchemaError as error:
    ...     print(error.faults["column"].tolist())
    ['choice']
    """

    def __init__(self, message: str, faults: pd.DataFrame | None = None, **fields: Any) -> None:
        super().__init__(message, **fields)
        self.faults = faults

    def labelled(self, label: str, more: str = "") -> SchemaError:
        """Return the same error with the name of its source before the message, and more after it."""
        fields = {"advice": self.advice, "reason": self.reason, "problem": self.problem}
        return SchemaError(f"{label}: {self}{more}", self.faults, **fields)


class DesignError(JudgestatsError):
    """The data are sound, but their design cannot answer the question.

    See Also
    --------
    judgestats.available_measures : What a table supports, and what is missing for the rest.

    Examples
    --------
    >>> import pandas as pd, judgestats as js
    >>> alone = pd.DataFrame({"judge": ["g"], "item": "1", "first": "x", "second": "y", "choice": "first"})
    >>> try:
    ...     js.kappa(alone)
    ... except DesignError as error:
    ...     print(error)
    No thing was judged by two: there is no agreement to measure. Check the names of the items.
    """


class FormulaError(JudgestatsError):
    """A model formula does not parse or names something unknown.

    See Also
    --------
    judgestats.fit : Fit a formula.

    Examples
    --------
    >>> import pandas as pd, judgestats as js
    >>> try:
    ...     js.fit("score ~ strategy + (1|item", pd.DataFrame({"score": [1.0, 2.0]}), family="gaussian")
    ... except FormulaError as error:
    ...     print(str(error).splitlines()[0])
    '(' is never closed.
    """


class FitError(JudgestatsError):
    """A model cannot be fitted.

    See Also
    --------
    judgestats.fit : Fit a formula.
    judgestats.models.Fit : Its checks, after a fit.

    Examples
    --------
    >>> import pandas as pd, judgestats as js
    >>> fit = js.fit("y ~ 1", pd.DataFrame({"y": [0, 1, 1, 0]}))
    >>> try:
    ...     fit.draws()
    ... except FitError as error:
    ...     print("engine='pymc'" in str(error))
    True
    """


class AuditError(JudgestatsError):
    """An audit cannot be carried out as asked.

    See Also
    --------
    judgestats.audit : Which printed numbers follow from the others.

    Examples
    --------
    >>> import pandas as pd, judgestats as js
    >>> try:
    ...     js.audit(pd.DataFrame({"judge": ["A"], "rate": [".5"]}))
    ... except AuditError as error:
    ...     print("rules=" in str(error))
    True
    """


def shortened(path: str) -> str:
    """A path as errors quote it."""
    excerpt = masked(path)
    return repr(excerpt if len(excerpt) <= _LONGEST_NAME else f"{excerpt[:_LONGEST_NAME]}...")


def no_file(path: str) -> SchemaError:
    """The error for a file that is not there, which needs no library that reads files."""
    return SchemaError(f"There is no file {shortened(path)}. {files_nearby(Path(path).parent, Path(path).name)}")


def files_nearby(folder: Path, name: str) -> str:
    """What a folder, or the first above it that exists, holds that may be meant."""
    while not folder.is_dir():
        if folder == folder.parent:
            return ""
        folder = folder.parent
    names = sorted(p.name for p in folder.iterdir() if not p.name.startswith("."))
    close = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    if close:
        return f"Near by: {', '.join(close)}."
    listed = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
    return (
        f"The folder {folder.name or str(folder)!r} holds: {listed}."
        if names
        else f"The folder {folder.name!r} is empty."
    )


def suggestion(name: str, names: Iterable[object]) -> str:
    """Return `` Did you mean 'x'?`` for the closest known name, or an empty string."""
    near = nearest(name, names)
    return f" Did you mean {near!r}?" if near else ""


def nearest(name: str, choices: Iterable[object]) -> str | None:
    """Return the known name closest to `name`, or None if no name is close."""
    name, names = str(name), [str(k) for k in choices]
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    if close:
        return close[0]
    # 'model' inside 'judge_model': too far by edit distance, but clear to a person
    short, long = name.lower(), [(k.lower(), k) for k in names]
    inside = [k for low, k in long if (len(short) > 2 and short in low) or (len(low) > 2 and low in short)]
    return min(inside, key=len) if inside else None


def refuse_unknown(
    name: object,
    allowed: Collection[object],
    problem: str,
    of: str = "Allowed",
    *,
    more: str = "",
    remedy: str = "",
    error: type[JudgestatsError] = DesignError,
) -> None:
    """Raise unless a name is known: the problem, what the known names are `of`, `more` that is allowed, the closest."""
    if name not in allowed:
        listed = ", ".join(map(str, allowed))
        raise error(f"{problem}. {of}: {listed}{more}.{suggestion(str(name), allowed)}{remedy}")


def data_rows(rows: Any, most: int = 3) -> str:
    """The first `most` positions of rows as messages give them, and what they count: rows of the data, from 0."""
    listed = ", ".join(f"{int(r):,}" for r in rows[:most]) + (", ..." if len(rows) > most else "")
    return f"row{'s' * (len(rows) != 1)} {listed} of the data, from 0"


#: What is wrong with an option that other functions have.
_ELSEWHERE = {("invalid", "wrong"): "has no meaning where no answer is right"}


def choose(value: str, allowed: Iterable[str], argument: str, remedy: str = "") -> str:
    """Return `value` if it is allowed, else raise a DesignError that lists what is, and what to do."""
    allowed = list(allowed)
    if value not in allowed:
        listed = ", ".join(repr(a) for a in allowed)
        why = _ELSEWHERE.get((argument, str(value)), "is not known")
        raise DesignError(f"{argument}={value!r} {why}. Allowed: {listed}.{remedy or suggestion(str(value), allowed)}")
    return value


def score_range(scale: Any) -> tuple[float, float] | None:
    """The lowest and the highest score, or None for none; a SchemaError if it is not two numbers, the lower first."""
    if scale is None:
        return None
    try:
        low, high = scale
        in_order = bool(low < high) and not isinstance(low, str)
    except (TypeError, ValueError):
        in_order = False
    if not in_order:
        raise SchemaError(f"scale={scale!r} must be the lowest and the highest score, such as (1, 5).")
    return float(low), float(high)


def confidence(conf_level: float) -> float:
    """Return `conf_level` if it is between 0 and 1, else raise a DesignError."""
    number = isinstance(conf_level, Real)
    if not number or not 0 < conf_level < 1:
        meant = f"Did you mean {conf_level / 100:g}?" if number and 1 < conf_level < 100 else "Usual is 0.95."
        raise DesignError(f"conf_level={conf_level!r} must be between 0 and 1. {meant}")
    return conf_level
