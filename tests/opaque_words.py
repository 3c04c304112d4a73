"""A page, comparisons, and results, as JSON on standard output; with `codes`, codes stand for the words of methods and flags.

Run in a process of its own: records of flags are written when they are imported.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
import tempfile
from base64 import b64decode
from html import unescape
from pathlib import Path

from judgestats import wording

CODES: dict[str, str] = {}
WORDS: dict[str, str] = {}
_BLOB = re.compile(r"H4sI[A-Za-z0-9+/=]{40,}")


def written(text: str) -> str:
    """A code for each text."""
    if not text:
        return text
    code = CODES.setdefault(text, f"Q{len(CODES)}Q")
    WORDS[code] = text
    return code


def read(text: str) -> str:
    """The text of a code."""
    return WORDS.get(text, text)


def plain(text: str) -> str:
    """What was written, in words; without quotes and the signs between digits, of which codes have none."""
    while re.search(r"Q\d+Q", text):
        text = re.sub(r"Q\d+Q", lambda code: WORDS[code[0]], text)
    return re.sub('[\u2009\u202f,"]|<!-- .*? -->', "", text).replace("\u00a0", " ")


def contents(page: str) -> str:
    """A page with what is packed in it."""
    return _BLOB.sub(lambda blob: gzip.decompress(b64decode(blob[0])).decode(), page)


def main() -> None:
    """Everything that asks methods and flags."""
    if sys.argv[1] == "codes":
        wording.written, wording.read = written, read
    import judgestats as js
    import small_frames
    from judgestats import results

    said: dict[str, str] = {}
    for name in ("pairs", "pairs_with_people", "scores_with_people", "classes_with_people", "right_wrong"):
        table = small_frames.verdicts(name)
        path = Path(tempfile.mkdtemp()) / "page.html"
        js.report(table, path)
        said[f"page of {name}"] = plain(unescape(contents(path.read_text(encoding="utf-8"))))
    table = small_frames.verdicts("pairs")
    sheet = js.datasheet(table)
    explained = results.explain(sheet).sort_values("code", ignore_index=True)
    both = js.compare_datasheets(sheet, js.datasheet(table[table["item"] != table["item"].iloc[0]]))
    for name, frame in (("datasheet", sheet), ("explained", explained), ("compared", both)):
        said[name] = plain(frame.to_csv(index=False))
    Path(sys.argv[2]).write_text(json.dumps(said), encoding="utf-8")


if __name__ == "__main__":
    main()
