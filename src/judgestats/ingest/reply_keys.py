"""Words that name the answer of a reply, as ``Final verdict`` and ``Score``."""

from __future__ import annotations

import re

from judgestats.ingest.reply_languages import CHOICE_WORDS, SCORE_WORDS
from judgestats.ingest.reply_meaning import NOUN

CHOICE_KEY = (
    r"(?:winner|winning|verdict|choice|chosen|preference|preferred|decision|selection|selected|answer|judge?ment|"
    r"conclusion|vote|pick|ruling|final(?= ?[:=])|"
    r"better|"
    rf"best|result)(?:[ _-]?{NOUN}|[ _-]?one|[ _-]?label|[ _-]?verdict|[ _-]?choice)?"
)
SCORE_KEY = (
    r"(?:(?:total|stabili[sz]ed|mean|average|weighted|quality)[ _-]){0,3}(?:score|rating|grade|points|mark)|"
    r"(?:(?<=final[ _-])|(?<=overall[ _-]))(?:score|rating|grade)|overall|total"
)
FINAL = r"(?:(?:final|overall|revised|updated|corrected)[ _-]?)"
_FINAL_WORDS = r"(?:final(?:e[rs]?)?|endgültige[rs]?|abschließende[rs]?|итоговый|окончательный|最终|最終|최종) ?"
ANSWER_KEY = rf"(?P<final>{FINAL})?(?:(?P<choice>{CHOICE_KEY})|(?P<score>{SCORE_KEY}))"
ANSWER_KEY_ONLY = re.compile(ANSWER_KEY, re.I)
#: Keys in other languages; a word after them may say that they are final.
OTHER_KEY = (
    rf"(?P<final_word>{_FINAL_WORDS})?(?:(?P<choice_word>{CHOICE_WORDS})|(?P<score_word>{SCORE_WORDS}))"
    r"(?P<final_suffix> (?:finale?|définitive?|definitiv[oa]))?"
)
#: A key within a line, and its value.
KEY_IN_LINE = re.compile(rf"(?<=[\s(]){ANSWER_KEY}[ \t]{{0,3}}[:=][ \t]{{0,3}}(?=(?P<value>[^\n]{{1,160}}))", re.I)
