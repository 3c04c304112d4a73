"""Nominal agreement of classes by irrCAC: ``python irrcac.py`` writes irrcac.csv beside it (irrCAC 0.4.4, pandas 2.3)."""

from pathlib import Path

import numpy as np
import pandas as pd

if __name__ == "__main__":
    from irrCAC.raw import CAC

    rng = np.random.default_rng(35)
    classes = np.array(["safe", "unsafe", "refusal", "other"])
    rows = []
    for name, judges, missing in (("two", 2, 0.0), ("four", 4, 0.0), ("gaps", 4, 0.15)):
        right = rng.choice(4, 80, p=[0.6, 0.2, 0.15, 0.05])
        table = pd.DataFrame(index=range(80))
        for j in range(judges):
            said = np.where(rng.random(80) < 0.55 + 0.1 * j, right, rng.choice(4, 80))
            given = pd.Series(classes[said]).where(rng.random(80) >= missing)
            table[f"j{j}"] = given
        table.insert(0, "data", name)
        table.insert(1, "item", range(80))
        rows.append(table)
    calls = pd.concat(rows)
    coefficients = []
    for name, part in calls.groupby("data", sort=False):
        said = part.drop(columns=["data", "item"]).dropna(axis=1, how="all")
        cac = CAC(said.reset_index(drop=True), digits=15)
        for kind in ("conger", "fleiss", "gwet", "krippendorff"):
            found = getattr(cac, kind)()["est"]
            coefficients.append((name, kind, found["coefficient_value"], found["se"]))
    folder = Path(__file__).parent
    calls.to_csv(folder / "irrcac_calls.csv", index=False, lineterminator="\n")
    table = pd.DataFrame(coefficients, columns=["data", "coefficient", "value", "std_error"])
    table.to_csv(folder / "irrcac.csv", index=False, lineterminator="\n")
