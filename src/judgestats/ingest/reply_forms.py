"""Forms of an answer in the reply of a judge: where an answer stands.

*Explicit* forms mark the answer: brackets, JSON, tags, a line with a key, a reply that is nothing else, a correction.
The *others* are an answer on a line of its own, a key within a line, ``8.2 ± 0.3`` in prose; and, only where they are
asked for, ``A>B`` in prose and a sentence. What ``reply_context`` says is spoiled by its surroundings is no answer.

No pattern has a repeat without a bound, so that the work is linear in the length of a reply.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from judgestats.ingest.explicit_forms import in_brackets, in_tags, on_lines
from judgestats.ingest.prose_forms import after_keys, in_comparisons, in_runs, in_sentences, on_own_line
from judgestats.ingest.reply_meaning import Meaning, Passage

#: Forms that mark the answer, in the order in which one of them is named.
EXPLICIT = ("brackets", "json", "loose json", "tag", "line", "whole", "correction")
#: Forms that are tried where no explicit one occurs.
OTHERS = ("own line", "key", "runs")
#: Forms of free prose, read only where they are asked for.
PROSE = ("comparison", "sentence")
#: Forms whose end is marked, so that a reply that is cut off later has its answer.
CLOSED = ("brackets", "json", "tag")
#: Name of a form -> (meaning, text) -> what stands there; ``json`` and ``whole`` are read apart.
FORMS: dict[str, Callable[[Meaning, str], Iterable[Passage]]] = {
    "brackets": in_brackets,
    "tag": in_tags,
    "line": on_lines,
    "own line": on_own_line,
    "key": after_keys,
    "comparison": in_comparisons,
    "runs": in_runs,
    "sentence": in_sentences,
}
