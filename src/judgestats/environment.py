"""What a bug report needs to know: the package, its commit, Python, the platform and the libraries."""

from __future__ import annotations

import platform
import re
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.resources import files

#: Written by the build: the commit that a wheel was built from.
_COMMIT = "_commit.txt"


def full_version() -> str:
    """The version, and the commit where the package was built from a clone."""
    from judgestats import __version__

    file = files("judgestats") / _COMMIT
    return f"{__version__} (commit {file.read_text(encoding='utf-8').strip()})" if file.is_file() else __version__


def show_versions() -> None:
    """Print versions of the package and of all that it uses, for a bug report.

    Required libraries come first, then those of each extra, and which are missing.

    Returns
    -------
    None

    See Also
    --------
    judgestats.available_measures : What a table supports.

    Examples
    --------
    >>> show_versions()
    judgestats      0.1.0...
    Python          3...
    """
    print("\n".join(f"{name:<15} {value}".rstrip() for name, value in _versions()))  # noqa: T201  (asked for)


def _versions() -> Iterator[tuple[str, str]]:
    """Name and version, line by line."""
    yield "judgestats", full_version()
    yield "Python", f"{platform.python_version()} ({platform.python_implementation()}, {sys.executable})"
    yield "platform", platform.platform()
    yield "compiled code", _cache_folder()
    required, extras = _requirements()
    yield from ((name, _installed(name)) for name in required)
    for extra, names in extras.items():
        missing = [n for n in names if _installed(n) == "missing"]
        parts = [f"{n} {_installed(n)}" for n in names if n not in missing]
        remedy = f'; missing: {", ".join(missing)} (pip install "judgestats[{extra}]")' if missing else ""
        yield f"[{extra}]", ", ".join(parts) + remedy if parts else remedy.removeprefix("; ")


def _cache_folder() -> str:
    """Where numba keeps what it compiled."""
    from judgestats.kernels import coincidences, compiling

    kernel = next(k for k in vars(coincidences).values() if isinstance(k, compiling.Kernel))
    return getattr(kernel._cache, "cache_path", None) or "not kept: every process compiles again"


def _requirements() -> tuple[list[str], dict[str, list[str]]]:
    """Required libraries, and those of each extra; extras that only combine others are left out."""
    required: list[str] = []
    extras: dict[str, list[str]] = {}
    for line in requires("judgestats") or ():
        name = re.match(r"[\w.-]+", line)[0]  # type: ignore[index]
        extra = re.search(r"extra == ['\"]([\w-]+)", line)
        if name == "judgestats" or (extra and extra[1] == "all"):
            continue
        listed = extras.setdefault(extra[1], []) if extra else required
        if name not in listed:
            listed.append(name)
    return required, extras


def _installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "missing"
