"""What is printed is text."""

import io

import pandas as pd
from rich.console import Console

from command_line import run
from judgestats.cli import app
from judgestats.cli.printing import print_table


def test_markup_in_the_data_is_text(tmp_path):
    path = tmp_path / "odd.csv"
    path.write_text("judge,item,first,second,choice\n[red]g[/red],1,x,y,tie\n", encoding="utf-8")
    assert "[red]g[/red]" in run.invoke(app, ["check", str(path)]).output


def printed(frame, width):
    console = Console(width=width, file=io.StringIO(), highlight=False)
    print_table(console, "Title", frame)
    return console.file.getvalue()


def test_a_table_that_is_too_wide_goes_on_below_with_its_words_whole():
    names = ["vacuum_kind", "term", "estimate", "std_error", "conf_low", "conf_high", "mean_estimate", "sd_estimate"]
    frame = pd.DataFrame([["identical", "dark_current", *range(6)]], columns=names)
    for width in (30, 80):
        text = printed(frame, width)
        assert max(map(len, text.splitlines())) <= width
        assert {*names, "identical", "dark_current"} <= set(text.split())
        assert text.count("identical") == text.count("vacuum_kind") > text.count("Title") == 1
    assert printed(frame, 200).count("identical") == 1


def test_sentences_wrap_between_words():
    frame = pd.DataFrame({"measure": ["consistency"], "question": ["Is the verdict the same in the other order?"]})
    text = printed(frame, 40)
    assert max(map(len, text.splitlines())) <= 40
    assert {"verdict", "same", "other", "order?", "consistency"} <= set(text.split())
    assert text.count("measure") == 1


def test_a_word_wider_than_the_terminal_is_folded():
    text = printed(pd.DataFrame({"hash": ["x" * 50]}), 20)
    assert text.count("x") == 50
    assert max(map(len, text.splitlines())) <= 20
