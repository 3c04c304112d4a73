"""Means by ppi-python 0.2.3 on made data, for tests/kernels/test_corrected.py: ``python ppi.py > ppi.csv``.

ppi-python is no dependency: it is installed in an environment of its own (``pip install ppi-python==0.2.3``).
"""

import numpy as np


def made(seed, n, N, kind):
    """Labels and verdicts of n labelled and N other items; the same lines stand in the test."""
    rng = np.random.default_rng(seed)
    truth = rng.random(n + N)
    if kind == "scores":
        verdict = np.round(np.clip(0.6 * truth + 0.3 + 0.15 * rng.standard_normal(n + N), 0, 1), 6)
        return np.round(truth[:n], 6), verdict[:n], verdict[n:]
    label = (truth < 0.3).astype(float)
    verdict = np.where(rng.random(n + N) < 0.85, label, 1 - label)
    return label[:n], verdict[:n], verdict[n:]


if __name__ == "__main__":
    from ppi_py import ppi_mean_ci, ppi_mean_pointestimate

    print("seed,n,N,kind,lam,estimate,low,high")
    cases = [(1, 60, 400, "scores"), (2, 200, 300, "scores"), (3, 80, 1000, "yes"), (4, 250, 250, "yes")]
    for seed, n, N, kind in cases:
        y, f, g = made(seed, n, N, kind)
        # its own lambda; then 1 and 0.4
        for lam in (None, 1.0, 0.4):
            estimate = float(np.squeeze(ppi_mean_pointestimate(y, f, g, lam=lam)))
            low, high = (float(np.squeeze(v)) for v in ppi_mean_ci(y, f, g, alpha=0.05, lam=lam))
            used = lam if lam is not None else (estimate - y.mean()) / (g.mean() - f.mean())
            print(f"{seed},{n},{N},{kind},{used:.15g},{estimate:.15g},{low:.15g},{high:.15g}")
