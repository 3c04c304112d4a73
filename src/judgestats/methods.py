"""How intervals are made: the closed set of what the column ``method`` may begin with.

A measure takes one of these, says more by ``on``, names the clusters by :func:`clustered` or the draws, and notes what
comes behind. May import flags, kernels and wording.
"""

from __future__ import annotations

from judgestats import flags
from judgestats.kernels.cluster_sums import effective_clusters
from judgestats.typing import Floats
from judgestats.wording import CLUSTERED_BY, Method
from judgestats.wording import METHODS as METHODS
from judgestats.wording import method_of as method_of

#: No interval.
NONE = Method("")

# Shares
WILSON = Method("Wilson", "share")
GOODMAN = Method("Goodman", "share")
EXACT_TESTS = Method("fixed-sequence exact binomial tests")
CONFORMAL = Method("conformal risk control")
IDENTITY = Method("identity")

# Differences of shares
NEWCOMBE = Method("Newcombe", "points")
TANGO = Method("Tango", "points")
MOVER = Method("MOVER", "points")
AGRESTI_MIN = Method("Agresti-Min")
NEWCOMBE_PAIRED = NEWCOMBE.on("paired")
NEWCOMBE_INDEPENDENT = NEWCOMBE.on("independent")
NEWCOMBE_ONE_SAMPLE = NEWCOMBE.on("two shares of one sample")
MOVER_CELLS = MOVER.on("independent cells")
MOVER_WILSON = MOVER.on("of Wilson's", " ")
TANGO_PAIRED = TANGO.on("paired")
TANGO_ONE_SAMPLE = TANGO.on("two shares of one sample")

# Means and other estimates with a standard error
T = Method("t")
WELCH = Method("Welch's t")
STUDENT = Method("Student's t")
MEAN_OVER_SYSTEMS = Method("mean over systems")
PAIRED_MEAN_OVER_SYSTEMS = Method("paired, mean over systems")
NORMAL = Method("z")
FISHER_Z = Method("Fisher z")
FISHER_Z_EXACT = FISHER_Z.noting("p exact, all orders", "; ")
FISHER_Z_KENDALL = FISHER_Z.noting("p exact or normal", "; ")
FISHER_Z_T = FISHER_Z.noting("p from t on n - 2", "; ")
FIELLER = Method("Fieller")
FIELLER_FOLDED = FIELLER.on("folded")
FROM_RUNS = T.on("from mean, sd, runs (Satterthwaite)", " ")
DELONG = Method("DeLong")
OBUCHOWSKI = Method("Obuchowski")
LINEAR = Method("linear approximation")
DELTA = Method("delta")
DELTA_LOG = DELTA.on("method, on logarithms", " ")
JACKKNIFE = T.on("jackknife")
ROOT_OF_MEAN = T.on("of the mean of squares", " ")
JACKKNIFE_LOG = T.on("of log, jackknife of clusters", " ")
JACKKNIFE_Z = T.on("jackknife of Fisher's z")
PAIRED_T = Method("paired t")
PSEUDO_OBSERVATIONS = T.on("with pseudo-observations", " ")
T_OF_CELLS = T.on("over cells", " ")
T_OF_JUDGE_CELLS = T.on("over cells of judges by systems", " ")
T_OF_SYSTEMS = T.on("over systems", " ")
T_OF_ITEMS = T.on("over items", " ")
T_OF_RUNS = T.on("over runs", " ")
WELCH_OF_ITEMS = WELCH.on("over items", " ")
PEARSON = Method("Pearson")
LOG_LINEAR = Method("log-linear").on("Gourevitch-Galanter")
RAO_SCOTT = Method("Rao and Scott")

# Components of variance, and ratios of them
CHI_SQUARE = Method("chi-square")
CHI_SQUARE_P = CHI_SQUARE.on("p", " ")
COMPONENTS = Method("from variance components")
F = Method("F")
F_OF_CELLS = F.on("cells as subjects")
F_ONE_WAY = F.on("one-way")
F_SATTERTHWAITE = F.on("Satterthwaite (McGraw & Wong 1996)")
F_SHROUT_FLEISS = F.on("(Shrout & Fleiss 1979)", " ")
GENERALIZED = Method("generalized")
MEAN_SQUARES = Method("mean squares, MLS (Ting et al. 1990)")
REML = Method("REML")
REML_LOGIT = REML.on("delta method on the logit")
REML_SATTERTHWAITE = REML.on("Satterthwaite")

# Rankings
BRADLEY_TERRY = Method("Bradley-Terry")
DAVIDSON = Method("Davidson")
KENDALL_HALVES = Method("Kendall's tau").on("halves")
MAX_T = Method("max-T")
RANKS = Method("average ranks")
RAO_KUPPER = Method("Rao-Kupper")

# Others
ASYMPTOTIC = Method("asymptotic")
COHEN_D = Method("Cohen's d")
MEAN_OF_PAIRS = Method("mean of pairs")
NAIVE = Method(flags.NAIVE)
KAPPA = ASYMPTOTIC.on("(Fleiss, Cohen, Everitt)", " ")

# Rates corrected by labels
PPI = Method("PPI++")
INVERSE_WEIGHTS = Method("inverse weights")
ROGAN_GLADEN = Method("Rogan-Gladen")

CHI2 = Method("χ²")

# Models: how a likelihood is maximised, what an estimate is of, and what its interval rests on
LAPLACE = Method("Laplace")
AGQ = Method("AGQ")
TRAPEZOID = Method("trapezoid")
ML = Method("ML")
OF_FAMILY = {
    name: Method(name) for name in ("binomial", "gaussian", "poisson", "negative_binomial", "cumulative", "nominal")
}
OF_SCALE = {scale: Method(scale) for scale in ("link", "response", "odds ratio", "rate ratio", "class", "latent")}
AVERAGE = Method("average")
AVERAGED = Method("averaged over random effects")
WALD = Method("wald")
PROFILE = Method("profile")
POSTERIOR = Method("posterior")
EM = Method("EM")
EM_INFORMED = EM.on("observed information", "; ")
MCNEMAR = Method("McNemar")
SIMULATED = Method("simulated")

# Resamples
PERCENTILE = Method("percentile")
BCA = Method("BCa")
CLOSED_FORM = Method("percentile bootstrap of calls").noting("closed form")
ISOTONIC = Method("isotonic; expanded percentile bootstrap")
_OF_DRAWS = (PERCENTILE, BCA, CLOSED_FORM, ISOTONIC)


def resampled(method: str) -> bool:
    """Whether an interval is one of resamples."""
    value = method_of(method)
    return value.draws is not None or value.is_by(*_OF_DRAWS)


def of_single(method: Method, things: str) -> Method:
    """A method over single things in place of clusters: ``of calls (G = 30)``."""
    return method.by(things, method.clusters.number, method.clusters.worth, ", of ") if method.clusters else method


def clustered(
    method: Method, column: str, n: Floats, alike: Floats | float = 1.0, linked: str = CLUSTERED_BY
) -> Method:
    """A method over clusters of sizes `n` (G,), `alike` of each: how many, and how many of equal size they are worth.

    `column`: what they are; empty for single things.
    """
    number, worth = float(((n > 0) * alike).sum()), round(effective_clusters(n, alike))
    return method.by(column, number, worth if worth < number else None, linked if column else "")
