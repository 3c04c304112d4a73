"""Parsing of command-line options into arguments of :func:`judgestats.read`."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from typing import Any

from judgestats.errors import SchemaError


def parse_mapping(text: str, option: str = "--map") -> dict[str, str | None]:
    """Read ``judge=evaluator,order_known==false,task=``: a column, a constant, none; `option`: its name in messages."""
    pairs = _pairs(text, option, "canonical=column, such as judge=evaluator,item=question_id", last=False)
    return {name: None if source in ("", "None") else source for name, source in pairs.items()}


def parse_labels(text: str, option: str = "--labels") -> dict[str, str]:
    """Read ``A=first,B=second,C=tie`` for ``labels=``; the last ``=`` divides: ``A=B=tie`` is the label ``A=B``."""
    return _pairs(text, option, "label=answer, such as A=first,B=second,C=tie", last=True)


def parse_on(text: str) -> dict[str, str]:
    """Read ``item=question_id,turn`` for ``on=``: columns of the verdicts, with that of the labels if it differs."""
    parts = [p.strip() for p in next(csv.reader([text], skipinitialspace=True), []) if p.strip()]
    return _pairs(",".join(f'"{p if "=" in p else f"{p}={p}"}"' for p in parts), "--on", "item=COLUMN", last=False)


def parse_identity(text: str) -> dict[str, str]:
    """Read ``SYSTEM=JUDGE,...`` for ``identity=``."""
    form = "SYSTEM=JUDGE, such as 'Expert 1=GPT-5.1'"
    pairs = _pairs(text, "--identity", form, last=False)
    for system, judge in pairs.items():
        if not system or not judge:
            raise SchemaError(
                f"--identity '{system}={judge}' names no {'judge' if system else 'system'}. Write {form}."
            )
    return pairs


def parse_scale(text: str) -> tuple[float, float]:
    """Read ``LOW,HIGH`` for ``scale=``."""
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        low = high = 0.0
    if not low < high:
        raise SchemaError(f"--scale {text!r} is not LOW,HIGH. Write two numbers, the lower first, such as --scale 1,5.")
    return low, high


def parse_options(texts: Iterable[str]) -> dict[str, Any]:
    """Read ``NAME=VALUE`` options of a format; a list has commas, a mapping pairs (``graders=scorer=model``)."""
    options: dict[str, Any] = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign or not name.strip():
            raise SchemaError(f"--option {text!r} has no '='. Write NAME=VALUE, such as judge=gpt-4.")
        if name in options:
            raise SchemaError(f"--option gives {name!r} twice. Give it once; a list has commas.")
        if "=" in value:
            options[name] = _pairs(value, f"--option {name}", "NAME=VALUE,...", last=False)
        else:
            options[name] = [v.strip() for v in value.split(",")] if "," in value else value
    return options


def parse_planted(text: str) -> dict[str, float]:
    """Read ``dark_current=0.2,slot_bias=1``: properties of a :class:`judgestats.design.Judge`."""
    pairs = _pairs(text, "--planted", "property=number, such as dark_current=0.2", last=False)
    try:
        return {name: float(value) for name, value in pairs.items()}
    except ValueError:
        raise SchemaError(f"--planted {text!r} holds a value that is no number. Write dark_current=0.2.") from None


def joined(pairs: Iterable[str]) -> str:
    """Pairs, or names, as :func:`parse_mapping`, :func:`parse_labels` and :func:`wide.parse_wide` read them."""
    out = io.StringIO()
    csv.writer(out, lineterminator="").writerow(list(pairs))
    return out.getvalue()


def _pairs(text: str, option: str, form: str, *, last: bool) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for part in next(csv.reader([text], skipinitialspace=True), []):
        if not part.strip():
            continue
        name, sign, value = part.rpartition("=") if last else part.partition("=")
        name, value = name.strip(), value.strip()
        if not sign:
            raise SchemaError(f"{option} {part!r} has no '='. Write {form}.")
        if name in pairs:
            raise SchemaError(
                f"{option} gives {name!r} twice: {name}={pairs[name]} and {name}={value}. Give it once, as {form}."
            )
        pairs[name] = value
    return pairs
