"""Patterns that name parts of names; what the path of a file says by them, and by ``key=value``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath
from urllib.parse import unquote

import pyarrow as pa

from judgestats.errors import SchemaError, printable
from judgestats.ingest.compressed_files import unpacked_name
from judgestats.ingest.containers import SUFFIXES, stem_of, suffix_of

_NAME = r"[^\W\d]\w*"
_PAIR = re.compile(rf"({_NAME})=(.*)")
_FIELD = re.compile(rf"\{{({_NAME})(?::((?:[^{{}}]|\{{[^{{}}]*\}})+))?\}}")
#: A group without a name in a regular expression, beside escapes and classes, which are left as they are.
_GROUP = re.compile(r"(?s)(\\.|\[\^?\]?(?:\\.|[^\]\\])*\])|\((?!\?)")
_EXAMPLE = "{strategy}/{judge}_run{replicate}.json"
#: A shard of a Hugging Face data set: ``train-00000-of-00001``.
_SHARD = re.compile(r"(.+)-\d{5}-of-\d{5}(?:-[0-9a-f]{16})?")
#: What Hive writes for a missing value.
_HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"


def named_values(path: PurePath) -> dict[str, str | None]:
    """Values in names of folders and of a file of the form ``key=value,key=value``; other names say nothing."""
    return dict(_named(path))


def _named(path: PurePath) -> Iterator[tuple[str, str | None]]:
    """Names and values, in the order of the path."""
    for part in (*map(unquote, path.parent.parts), stem_of(path.name)):
        pairs = [_PAIR.fullmatch(p.strip()) for p in part.split(",")]
        shard = _SHARD.fullmatch(part)
        if shard is not None and shard[1] != "data":
            yield "split", shard[1]
        elif all(pairs):
            yield from ((p[1], None if p[2] in ("", _HIVE_NULL) else p[2]) for p in pairs if p is not None)


def values_set_aside(path: PurePath) -> list[str]:
    """What a path says of a name that it gives another value further on: the last counts."""
    last = named_values(path)
    return [f"{n} is {last[n]!r} by the path, not {value!r}" for n, value in _named(path) if value != last[n]]


@dataclass(frozen=True)
class NamePattern:
    """A pattern for names, such as ``{judge}_run{replicate}``."""

    text: str  # ``{run:[0-9]+}`` says by a regular expression what a part takes; ``*`` takes anything
    argument: str  # what it was given as, for messages
    sign: str = "."  # what a part and ``*`` may hold

    def __post_init__(self) -> None:
        names = self.names
        twice = next((n for n in names if names.count(n) > 1), "")
        rest = _FIELD.sub("", self.text)
        if not names or twice or "{" in rest or "}" in rest:
            what = f"names {twice!r} twice" if twice else "has a brace that names nothing" if names else "names nothing"
            raise SchemaError(f"{self.argument}={self.text!r} {what}. Write names in braces, such as {_EXAMPLE!r}.")
        try:
            self._groups("", greedy=True)
        except pa.ArrowInvalid as problem:
            raise SchemaError(
                f"{self.argument}={self.text!r}: a part is no regular expression ({problem}). Allowed is what RE2 "
                "takes: no look-around and no references back."
            ) from None

    @property
    def names(self) -> list[str]:
        """Names of the parts."""
        return [m[1] for m in _FIELD.finditer(self.text)]

    def values(self, name: str, what: str = "") -> dict[str, str] | None:
        """Values of the parts in a name; None if it does not match, a SchemaError if it matches in two ways."""
        longest, shortest = (self._groups(name, greedy=greedy) for greedy in (True, False))
        if longest is None or shortest is None:
            return None
        if longest != shortest:
            odd = next(n for n in longest if longest[n] != shortest[n])
            raise SchemaError(
                f"{what or name} matches {self.argument}={self.text!r} in two ways: {odd} could be {longest[odd]!r} or "
                f"{shortest[odd]!r}. Say what it takes, such as {{{odd}:[^_]+}}.",
                advice=((self.argument, None),),
            )
        return longest

    def _groups(self, name: str, *, greedy: bool) -> dict[str, str] | None:
        """Values of the parts by RE2, whose time is linear in the name whatever the pattern; None without a match."""
        import pyarrow.compute as pc

        out, at = r"\A(?s:", 0
        for i, part in enumerate(_FIELD.finditer(self.text)):
            own = _GROUP.sub(lambda m: m[1] or "(?:", part[2] or "")
            out += self._literal(at, part.start())
            out += f"(?P<part{i}>{own or (f'{self.sign}+' if greedy else f'{self.sign}+?')})"
            at = part.end()
        expression = out + self._literal(at, len(self.text)) + r")\z"
        groups = pc.extract_regex(pa.array([printable(name)]), expression)[0].as_py()
        return None if groups is None else {n: groups[f"part{i}"] for i, n in enumerate(self.names)}

    def _literal(self, start: int, end: int) -> str:
        return f"{self.sign}*".join(map(re.escape, self.text[start:end].split("*")))


class PathPattern(NamePattern):
    """A pattern for the end of a path, such as ``{strategy}/{judge}_run{replicate}.json``; no part holds a ``/``."""

    def __init__(self, text: str) -> None:
        super().__init__(text, "path", "[^/]")

    def of(self, path: PurePath) -> dict[str, str]:
        """Values of the named parts in a path; a path that does not match is a SchemaError."""
        depth = self.text.count("/") + 1
        wanted = self.text.rpartition("/")[2]
        name = path.name
        if unpacked_name(wanted) == wanted:
            name = unpacked_name(name) if suffix_of(wanted) in SUFFIXES else stem_of(name)
        path_end = "/".join((*path.parts[:-1][-(depth - 1) :], name) if depth > 1 else (name,))
        values = self.values(path_end, path.as_posix())
        if values is None:
            raise SchemaError(
                f"{path.as_posix()} does not match path={self.text!r}, which is compared with the end of the path. "
                "Correct the pattern, or give a glob that takes only files that match it.",
                advice=(("path", None),),
            )
        return values
