"""Strengths by evalica 0.4.2 of the choices in cems.csv, for tests/metrics/test_system_ranking.py:
``python evalica_scores.py > evalica.csv``.

evalica is no dependency: it is installed in an environment of its own (``pip install evalica==0.4.2``).
"""

import csv
from pathlib import Path

if __name__ == "__main__":
    from evalica import Winner, bradley_terry, newman

    xs, ys, winners, weights = [], [], [], []
    with Path(__file__).with_name("cems.csv").open() as file:
        for row in csv.DictReader(file):
            for outcome, winner in (("win", Winner.X), ("loss", Winner.Y), ("tie", Winner.Draw)):
                xs.append(row["system"])
                ys.append(row["opponent"])
                winners.append(winner)
                weights.append(float(row[outcome]))
    options = {"weights": weights, "tolerance": 1e-14, "limit": 100_000}
    print("ties,system,score")
    for ties, found in (
        ("half", bradley_terry(xs, ys, winners, tie_weight=0.5, **options)),
        ("davidson", newman(xs, ys, winners, **options)),
    ):
        for system, score in sorted(found.scores.items()):
            print(f"{ties},{system},{score:.12g}")
