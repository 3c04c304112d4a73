"""What is printed is text."""

from command_line import run
from judgestats.cli import app


def test_markup_in_the_data_is_text(tmp_path):
    path = tmp_path / "odd.csv"
    path.write_text("judge,item,first,second,choice\n[red]g[/red],1,x,y,tie\n", encoding="utf-8")
    assert "[red]g[/red]" in run.invoke(app, ["check", str(path)]).output
