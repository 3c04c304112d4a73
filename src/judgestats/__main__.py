"""``python -m judgestats`` is the command ``judgestats``."""

from judgestats.cli import app

if __name__ == "__main__":
    app(prog_name="judgestats")
