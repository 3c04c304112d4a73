"""``judgestats formats`` and ``judgestats prompts``."""

from command_line import run, words
from judgestats.cli import app


def test_formats_lists_the_readers():
    text = words(run.invoke(app, ["formats"]))
    for name in ("fastchat_pair", "arena_hard", "judgebench", "llmbar", "alpaca_eval", "parquet"):
        assert name in text
