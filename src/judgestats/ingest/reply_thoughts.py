"""Reasoning that a model sets off from its reply: the marks that models use, in one list.

No pattern has a repeat without a bound.
"""

from __future__ import annotations

import re

_THINK = (
    r"(?:\w{1,12}[:_])?(?:think|thinking|thoughts?)(?:[_-]process)?|cot|chain[_-]of[_-]thought|reason(?:ing)?|"
    r"rationale|explanation|analysis|justification|scratch_?pad|reflect(?:ion)?|(?:inner_|internal_)?monologue|"
    r"deliberation|antthinking"
)
_PIPED = r"(?:think|thinking|thoughts?|reasoning)"
_SAY = r"Here(?:'s|’s| is) my"
#: How models mark their reasoning: its start and its end.
_FORMS = (
    (
        rf"<(?:{_THINK})(?: [^<>\n]{{0,60}})?>",
        rf"</(?:{_THINK})>",
    ),  # DeepSeek, Qwen, GLM, EXAONE, Seed, judges' prompts
    (rf"\[{_PIPED}\]", rf"\[/{_PIPED}\]"),  # Magistral
    (r"[◁◀]think[▷▶]", r"[◁◀]/think[▷▶]"),  # Kimi
    (
        rf"<[|｜](?:(?:begin|start)_?(?:of_?)?)?{_PIPED}(?:_start)?[|｜]>",  # Sky-T1, OpenThinker, Command A
        rf"<[|｜](?:(?:end_?(?:of_?)?|/){_PIPED}|{_PIPED}_end)[|｜]>",
    ),
    (r"<\|channel>(?!final)\w{1,20}", r"<channel\|>"),  # Gemma 4
    (r"<unused94>", r"<unused95>"),  # MedGemma
)
_OPENED = "|".join(opened for opened, _ in _FORMS)
_CLOSED = "|".join(closed for _, closed in _FORMS)
#: The channels of gpt-oss, of which only the final one is the reply; without their marks, too.
_CHANNEL = r"<\|channel\|>\s{0,3}%s\b[^<\n]{0,80}(?:<\|constrain\|>\s{0,3}\w{0,20}\s{0,3})?<\|message\|>"
_ANALYSIS = _CHANNEL % r"(?!final)\w{1,20}" + r"|(?-i:\A\s{0,9}analysis(?=[^\W_a-z]|[\"'“{\[(*#]))"
_FINAL = _CHANNEL % "final" + r"|(?-i:assistantfinal)"
_MARK = re.compile(
    rf"(?P<opened>{_OPENED}|{_ANALYSIS}|\A\s{{0,9}}{_SAY} thought process:)|(?P<final>{_FINAL})|(?P<closed>{_CLOSED})|"
    rf"(?P<said>{_SAY} response:)",
    re.I,
)
#: Tokens of a model's template that are left in a reply.
_TOKEN = re.compile(r"<\|start\|>assistant|<[|｜][\w▁]{1,40}[|｜]>|</?s>|<(?:eos|end_of_turn)>")


def without_thoughts(text: str) -> tuple[str, bool]:
    """A reply without its reasoning and the tokens of a template, and whether reasoning is left open at its end."""
    parts: list[str] = []
    depth, last = 0, 0
    for match in _MARK.finditer(text):
        if match["said"] and depth == 0:
            continue
        if match["final"] or (match["closed"] and depth == 0):  # all before it is reasoning
            parts, depth = [], 0
        elif match["opened"]:
            if depth == 0:
                parts.append(text[last : match.start()])
            depth = 1 if "channel" in match[0] else depth + 1
        else:
            depth -= 1
        last = match.end()
    reply = "".join([*parts, "" if depth else text[last:]])
    return _TOKEN.sub("", reply) if "<" in reply else reply, depth > 0
