"""Changes of a text that keep its words, or cut it off: Markdown put in or taken out, truncation."""

from __future__ import annotations

import re

from judgestats.errors import DesignError

_FENCE = re.compile(r"^[ \t]*(?:```|~~~).*$", re.M)
_FENCED = re.compile(r"[ \t]*(?:`{3,}|~{3,})[ \t]*([\w+-]*)")
_MARKDOWN, _ANY_TEXT = ("markdown", "md"), ("", "markdown", "md", "text", "txt", "plaintext")
_NUMBERED = re.compile(r"^([ \t>]*(?:#{1,6}[ \t]+)?(?:[-*+][ \t]+)?(?:\*\*|__)?)\d{1,3}[.)][ \t]+", re.M)
_SENTENCE_END = re.compile(r"[.!?][\"')\]*_”’]*(?=\s|$)")
_ABBREVIATION = re.compile(r"(?:^|[\s(])(?:e\.g|i\.e|cf|vs|etc|Dr|Mr|Mrs|Ms|Prof|St|No|Fig|\d{1,2})\.$")


def truncated(text: str, share: float = 0.4) -> str:
    """Cut a text off at the end of a sentence, as close to a share of its words as possible.

    Parameters
    ----------
    text : str
        At least two sentences.
    share : float
        Of the words; between 0 and 1.

    Returns
    -------
    str
        The first sentences of the text, as they are: at least one, and not all.

    Raises
    ------
    DesignError
        If there are no two sentences, or the share is not between 0 and 1.

    See Also
    --------
    without_markdown : Markdown taken out.
    controlled_pairs : Pairs whose difference is known.

    Notes
    -----
    debiasing, App A. Blocks of code are not cut.

    Examples
    --------
    >>> truncated("One two. Three four. Five six seven eight.")
    'One two. Three four.'
    """
    if not 0 < share < 1:
        raise DesignError(f"share={share} is not between 0 and 1. It is the part of the text that is kept.")
    text = text.strip()
    fences = [m.start() for m in _FENCE.finditer(text)]
    outside = (m for m in _SENTENCE_END.finditer(text) if sum(f < m.start() for f in fences) % 2 == 0)
    whole = (m.end() for m in outside if not _ABBREVIATION.search(text[: m.start() + 1][-8:]))
    if not (ends := [e for e in whole if text[e:].strip()]):
        raise DesignError(f"{text[:60]!r} has no two sentences, so it cannot be cut off at the end of one.")
    wanted = share * len(text.split())
    return text[: min(ends, key=lambda e: abs(len(text[:e].split()) - wanted))]


def without_markdown(text: str) -> str:
    """Take the Markdown out of a text and keep its words: headings and list items become sentences of a paragraph.

    Parameters
    ----------
    text : str
        With headings, lists, emphasis, tables, links or code.

    Returns
    -------
    str
        Paragraphs. The numbers of a numbered list, the language of a code block and the addresses of links are gone.
        What stands in a fence of Markdown, or in one around the whole text, is text; other fences are code and stay.

    Raises
    ------
    DesignError
        If there is no Markdown in the text, or a word would be lost or changed.

    See Also
    --------
    with_markdown : Markdown put into a text.

    Examples
    --------
    >>> without_markdown("## Tea\\n\\n1. Boil **water**.\\n2. Add the leaves")
    'Tea.\\n\\nBoil water. Add the leaves.'
    """
    blocks: list[str] = []
    fenced, text = text, _unfenced(text)
    for i, part in enumerate(re.split(r"^[ \t]*(?:```|~~~).*\n?", text, flags=re.M)):
        blocks += [part.strip("\n")] if i % 2 else [_paragraph(b) for b in re.split(r"\n\s*\n", part)]
    result = "\n\n".join(b for b in blocks if b.strip())
    if result == fenced.strip():
        raise DesignError(f"There is no Markdown in {text[:60]!r}, so a pair would have two equal texts.")
    _require_words(text, result, "Taking the Markdown out")
    return result


def with_markdown(text: str) -> str:
    """Put Markdown into plain text and keep its words: the first sentence in bold, the others as a list.

    Parameters
    ----------
    text : str
        At least two sentences.

    Returns
    -------
    str

    Raises
    ------
    DesignError
        If there is one sentence only, or a word would be lost or changed.

    See Also
    --------
    without_markdown : Markdown taken out.

    Examples
    --------
    >>> with_markdown("Tea is simple. Boil water. Add the leaves.")
    '**Tea is simple.**\\n\\n- Boil water.\\n- Add the leaves.'
    """
    first, *rest = re.split(r"(?<=[.!?])\s+", text.strip())
    if not rest:
        raise DesignError(f"{text[:60]!r} is one sentence. A list takes two or more.")
    result = "\n".join([f"**{first}**", "", *(f"- {s}" for s in rest)])
    _require_words(text, result, "Putting Markdown in")
    return result


def _unfenced(text: str) -> str:
    """A text without the fences around Markdown, and without one around the whole text."""
    lines = text.strip("\n").split("\n")
    for start, line in enumerate(lines):
        match = _FENCED.match(line)
        if match is None or match[1].lower() not in (_ANY_TEXT if not "".join(lines[:start]).strip() else _MARKDOWN):
            continue
        depth, end = 1, len(lines)
        for at in range(start + 1, len(lines)):
            if inner := _FENCED.match(lines[at]):
                depth += 1 if inner[1] else -1
            if depth == 0:
                end = at
                break
        if match[1].lower() in _MARKDOWN or not "".join(lines[end + 1 :]).strip():
            return _unfenced("\n".join([*lines[:start], *lines[start + 1 : end], *lines[end + 1 :]]))
    return text


def _paragraph(block: str) -> str:
    """The lines of a block as sentences of one paragraph."""
    lines = []
    for line in block.split("\n"):
        if re.fullmatch(r"\s*(?:[-*_]\s*){3,}|\s*\|?[\s:|-]*-[\s:|-]*\|?\s*", line):
            continue  # a rule, or the line under the head of a table
        plain = re.sub(r"^\s*(?:>\s?|#{1,6}\s+|[-*+]\s+)*", "", _NUMBERED.sub(r"\1", line))
        marked = plain != line.lstrip()
        line = plain
        if "|" in line.strip()[1:-1] and line.strip().startswith("|"):
            line, marked = ", ".join(c.strip() for c in line.strip().strip("|").split("|")), True
        line = re.sub(r"!?\[([^\]]*)\]\([^)\s]*\)", r"\1", line)
        line = re.sub(r"(?<![\w*])(\*\*\*?)(?=\S)(.+?)(?<=\S)\1(?!\*)", r"\2", line)
        line = re.sub(r"(?<![\w*])\*(?=\S)(.+?)(?<=\S)\*(?![\w*])", r"\1", line)
        line = re.sub(r"(?<!\w)(__|_)(?=\S)(.+?)(?<=\S)\1(?!\w)", r"\2", line)
        line = re.sub(r"`+([^`]+)`+", r"\1", line).strip()
        ended = not marked or not line or line[-1] in ".!?:;,"
        lines.append(line if ended else f"{line}.")
    return " ".join(filter(None, lines))


def _words(text: str) -> list[str]:
    """The words of a text, whatever its format."""
    plain = re.sub(r"(\]\()[^)\s]*\)", "] ", _NUMBERED.sub(r"\1", _FENCE.sub("", text)))
    return re.findall(r"[^\W_]+", re.sub(r"[*`]", "", plain))


def _require_words(before: str, after: str, what: str) -> None:
    one, two = _words(before), _words(after)
    if one != two:
        at = next((i for i, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))
        near = " ".join(one[max(at - 2, 0) : at + 3])
        raise DesignError(f"{what} would change the words near {near!r}. Give a text of the other format yourself.")
