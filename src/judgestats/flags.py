"""The flags of a result: what a number needs beside it to be read rightly.

The records, and the rules by which some are said. May import kernels and wording.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from judgestats.kernels.cluster_sums import effective_clusters
from judgestats.typing import Floats
from judgestats.wording import FLAGS as FLAGS
from judgestats.wording import MODEL
from judgestats.wording import Flag as Flag
from judgestats.wording import Severity as Severity
from judgestats.wording import flags_of as flags_of
from judgestats.wording import has as has
from judgestats.wording import have as have
from judgestats.wording import in_part as in_part
from judgestats.wording import join as join
from judgestats.wording import texts_of as texts_of
from judgestats.wording import without as without

# fmt: off

# Size and dependence

NO_DATA = Flag("no_data", "no data",
    "There are no cases, so there is no estimate: it is unknown, not zero. Where a model gives one all the same, "
    "it comes from the other judges and the prior.", "invalid")
SMALL_N = Flag("small_n", "n < 30",
    "Fewer than 30 cases in the denominator: the interval is wide, and a partly pooled model borrows from other "
    "judges.")
NOT_INDEPENDENT = Flag("not_independent", "calls not independent",
    "Some calls share an item or a pair, and the interval takes the calls as independent. It is too narrow where "
    "such calls agree, and too wide for a difference of positions when both orders of each pair were judged. Use "
    'the default, cluster="auto", or name the column in cluster=; for a Bayesian model aggregate() repeated calls '
    "first.")
CLUSTERING_UNKNOWN = Flag("clustering_unknown", "clustering unknown",
    "These counts do not say which calls share an item: the interval takes the calls as independent, and is too "
    "narrow where they are not. Give the calls, or counts with a column for the item.")
DEPENDENT_PAIRS = Flag("dependent_pairs", "pairs not independent",
    "The pairs share judges and systems, and the interval takes them as independent: it is too narrow.")
FEW_CLUSTERS = Flag("few_clusters", "fewer than 10 clusters",
    "An interval by cluster is rough with fewer than ten of them.")
FEW_DRAWN = Flag("few_drawn", "fewer than 30 clusters",
    "A bootstrap of fewer than 30 clusters is somewhat too narrow, and so are intervals of more strengths than there "
    "are clusters.")
UNEQUAL_CLUSTERS = Flag("unequal_clusters", "clusters of unequal size, worth {n}",
    "A few large clusters hold most of the data, so that the interval is as rough as that of so many clusters of equal "
    "size, and these are fewer than ten.")
INFORMATIVE_SIZES = Flag("informative_sizes", "large and small clusters differ: mean over {what}s {mean}",
    "The share goes with the size of the clusters (long conversations are harder, say). Each call counts as much in "
    "it; in the mean of the clusters' shares each cluster does, and that is another number: say which is meant. The "
    "interval of the share may cover .90 only. In one table of twenty the flag stands by chance.")
FEW_RARE_CLUSTERS = Flag("few_rare_clusters", "fewer than 10 clusters with the rarer answer",
    "The class is so rare that few clusters contain it, and their variance is not known well: the interval may be too "
    "narrow.")
NOT_DRAWN = Flag("not_drawn", "over 100,000 clusters: not drawn",
    "A bootstrap draws at most 100,000 clusters; with more of them the analytic clustered interval is given, which "
    "then hardly differs from it.", "note")
ONE_UNIT = Flag("one_unit", "one unit",
    "There is one cluster, so nothing shows how much clusters differ: there is no interval.", "invalid")
CLUSTER_MISSING = Flag("cluster_missing", "{n} row(s) without {what}",
    "The column that cluster= names has no label there: nothing says which calls go together, so there is no interval. "
    "Fill the column in, leave these rows out, or name another.", "invalid")
LONE_UNIT = Flag("lone_unit", "a stratum has one unit",
    "A stratum of the bootstrap holds a single unit, whose sampling error is not counted: the interval is too "
    "narrow.")

# What was left out or averaged

UNNAMED_COLUMN = Flag("unnamed_column", "calls on one thing differ in {what}, not named",
    "A judge answered more than once on one thing, and a column that nobody named tells the answers apart. What would "
    "mix them is left out. Name the column in by=, which gives a row for each of its values; if it numbers repeats, "
    "map it to replicate.")
INVALID_EXCLUDED = Flag("invalid_excluded", "{n} invalid call(s) excluded",
    "Invalid answers were left out. Look at why they are invalid: if they are not like the rest, the estimate is "
    "biased.", "note")
UNDEFINED = Flag("undefined", "{n} {what} undefined",
    "The statistic has no value there (constant answers, say); the estimate is over the rest. With many of them, "
    "read it with care.", "note")
MISSING = Flag("missing", "{n} {what} missing",
    "Missing values were left out. Look at why they are missing: a judge that refuses bad answers looks mild.", "note")
SCORES_EXCLUDED = Flag("scores_excluded", "missing scores excluded",
    "Missing scores were left out. Look at why they are missing: a judge that refuses bad answers looks mild.", "note")
N_SCORES_EXCLUDED = Flag("n_scores_excluded", "{n} missing score(s) excluded",
    "Missing scores were left out. Look at why they are missing: a judge that refuses bad answers looks mild.", "note")
ROWS_EXCLUDED = Flag("rows_excluded", "{n} row(s) excluded",
    "Rows with a missing value or an invalid answer were left out of the model.", "note")
ALIASED = Flag("aliased", "aliased, dropped: {what}",
    "These columns are combinations of the columns before them and have no coefficient. Leave them out.", "note")
EMPTY_CATEGORY = Flag("empty_category", "category without a row: {what}",
    "A category that the response could have does not occur; the model is without it.", "note")
INCOMPLETE_SUBJECTS = Flag("incomplete_subjects", "{n} subject(s) incomplete",
    "Some raters did not score them; REML uses the scores that there are.", "note", said_of=("agreement", "model"))
SUBJECTS_DROPPED = Flag("subjects_dropped", "{n} subject(s) dropped",
    'Some raters did not score them. incomplete="reml" keeps them.', "note", said_of=("agreement", "model"))
UNEQUAL_WEIGHTS = Flag("unequal_weights", "unequal {what} in {n} subject(s)",
    "What was averaged differs between the raters of these subjects, so their means are not strictly comparable.")
NOT_RATED_BY_ALL = Flag("not_rated_by_all", "{n} not rated by all judges",
    "Some judges did not rate them; the spread is over the judges that did, and is smaller for it.", "note")
RATED_ONCE = Flag("rated_once", "{n} unit(s) rated once",
    "A unit with one answer says nothing about agreement.", "note", said_of=("agreement",))
OTHER_TIERS = Flag("other_tiers", "{n} system(s) of other tiers",
    "They belong to tiers that order= does not name, and were left out.", "note")
ONE_SIDED = Flag("one_sided", "{n} {what} on one side only",
    "They count on the side where they are; the comparison is not paired for them.")
ONE_SIDE = Flag("one_side", "judge on one side only",
    "The judge is in one of the two data sets, so there is nothing to compare.", "invalid")
ONE_PROBE = Flag("one_probe", "{n} of {total} items in one probe only",
    "They were judged under one probe and not under the other; the comparison is not paired for them.")
NO_FAVOURED_SIDE = Flag("no_favoured_side", "{n} item(s) without one favoured side",
    "It is not known which candidate the label favours there; name it in favoured=.", "note")
UNDER_ONE_ONLY = Flag("under_one_only", "{n} pairs under one only",
    "They were judged under one of the two strategies, and a paired comparison needs both.", "note")
NO_SAME_DECISION = Flag("no_same_decision", "no item with the same decision",
    "The measure compares explanations of the same decision, and there is no such pair.", "invalid")
JUDGES_EXCLUDED = Flag("judges_excluded", "{n} judge(s) excluded",
    "The ratio does not exist for these judges (no own system, or a denominator of 0); the mean is over the "
    "others.")
JUDGES_OF = Flag("judges_of", "{n} of {total} judges", "The mean is over the judges that have an estimate.", "note")
CELLS_OF = Flag("cells_of", "mean of {n} of {total} {what}",
    "Some have no estimate; the mean is over the others.", "note")
STIMULI_SHARED = Flag("stimuli_shared", "{n} of {total} stimuli shared",
    "The comparison is over the stimuli that both sides judged.", "note")
PAIRS_SHARED = Flag("pairs_shared", "{n} of {total} pairs shared",
    "The comparison is over the pairs that both judged.", "note")
INCOMPLETE_SYSTEMS = Flag("incomplete_systems", "systems not scored by every judge excluded",
    "Concordance compares the systems that all judges scored.", "note", said_of=("association",))
HALF_VOTES = Flag("half_votes", "{n} ties counted as half a vote for each position",
    "Asked for by ties='half'.", "note", said_of=("share", "model"))
COUNTED_AND_STATED = Flag("counted_and_stated", "{counted} counted, {stated} stated",
    "The printed counts do not add up to the printed total.")
EXCLUDED = Flag("excluded", "{n} {what} excluded",
    "They lack what the measure needs, or cannot be used here, and were left out. Check that they are like the rest.",
    "note")
REPEATS_DIFFER = Flag("repeats_differ", "answers differ in {n} set(s) of repeats",
    "A judge does not always repeat its answer to a unit. Each of its answers counts beside those of other judges: "
    "this is the agreement of single answers. For that of what most of them say use repeats='majority'; "
    "consistency(over='replicate') measures how often a judge agrees with itself.", "note", said_of=("agreement",))
REPLICATES_AVERAGED = Flag("replicates_averaged", "replicates averaged",
    "Runs were averaged first: the number is about a mean of runs, not about a single score.", "note")
MEANS_OF_RUNS = Flag("means_of_runs", "means of runs",
    "The scores are means of runs: the number is about such means, not about a single score.", "note")
AVERAGED_OVER = Flag("averaged_over", "averaged over {what}",
    "Its levels were averaged first: the number is about their mean. Name it in by= or facets= to keep it apart.",
    "note")
SEVERAL_AVERAGED = Flag("several_averaged", "several scores per item averaged",
    "The judge scored one item several times; their mean counts once.", "note")
SINGLE_RUN = Flag("single_run", "single run", "Nothing was repeated, so there is no spread over runs.")
UNEQUAL_CRITERIA = Flag("unequal_criteria", "unequal criteria",
    "Some items were not scored on every criterion: their mean is over those that they have.")
UNEQUAL_RUNS = Flag("unequal_runs", "unequal runs", "Some means are over fewer runs than others.", "note")
SD_UNKNOWN = Flag("sd_unknown", "sd of the final score unknown",
    "The spread of the final score needs the single runs, which are not in the table.")
FINAL_NOT_MEAN = Flag("final_not_mean", "final is not the mean of criteria",
    "The final score given differs from the mean of its criteria.")
ESTIMATED_COST = Flag("estimated_cost", "estimated cost",
    "Computed from tokens and the prices given, not billed.", "note", said_of=("amount",))
FORCED_CHOICE = Flag("forced_choice", "forced choice",
    "The judge could not answer tie, so its preferences are not comparable with those of a judge that could.")
NOTHING_IN_COMMON = Flag("nothing_in_common", "some judges share no item with it",
    "Another judge of this table judged none of the same items: the difference between the two may be one of "
    "items.")

# Estimates without a value, an interval or a meaning

BY_STRUCTURE = Flag("by_structure", "structural zero",
    "Zero by definition of the classes or of chance agreement, whatever the judge does; not a finding.", "note")
CEILING = Flag("ceiling", "ceiling",
    "No call was wrong: the number depends on how many calls there were, and on nothing else. Ask harder "
    "comparisons.", said_of=("threshold", "model"))
LEFT_CENSORED = Flag("left_censored", "left-censored",
    "Reached at the first step already: read “at most”. Ask at smaller differences of quality.",
    said_of=("threshold", "model"))
RIGHT_CENSORED = Flag("right_censored", "right-censored",
    "Not reached at the last step: read “above”. Ask at larger differences of quality.", said_of=("threshold", "model"))
INCOMPLETE_LADDER = Flag("incomplete_ladder", "incomplete ladder",
    "A step of the ladder was not asked: without it the threshold cannot be placed, or depends on the form of the "
    "curve. Ask at every step, or name the steps in steps=.", "invalid", said_of=("threshold", "model"))
ONE_STEP = Flag("one_step", "one step", "A threshold needs two steps or more of the ladder.", "invalid",
    said_of=("threshold", "model"))
CONSTANT = Flag("constant", "constant scores",
    "All scores are the same, so there is no variance. Check that the column holds the scores.", "invalid",
    said_of=("score", "association", "agreement", "variance", "model"))
ONE_LABEL = Flag("one_label", "one label only",
    "Every answer is the same, so chance agreement is 1 and the coefficient is not defined.", "invalid",
    said_of=("agreement",))
CHANCE_IS_ONE = Flag("chance_is_one", "chance agreement is 1",
    "Chance agreement is already 1, so agreement beyond chance is not defined.", "invalid", said_of=("agreement",))
OTHER_SCALE = Flag("other_scale", "not on one scale: {high}, and {low}",
    "The scores are on scales of different length, so that their distance and their equality say nothing. Bring them "
    "to one scale, or use measures that are free of scale: rank_correlation(), the term pearson of score_error().",
    "invalid")
OWN_SCALE = Flag("own_scale", "in points of its own scale: {high}, and {low}",
    "The judges are on scales of different length. The number describes this judge alone: it cannot be compared with "
    "that of a judge on another scale.")
NO_PAIRS = Flag("no_pairs", "no unit with two answers", "Agreement needs units that two judges answered.", "invalid",
    said_of=("agreement",))
ONE_PERSON = Flag("one_person", "one person only", "Agreement between people needs two of them.", "invalid",
    said_of=("agreement",))
NOT_TESTED = Flag("not_tested", "not tested: {why}",
    "The alternative annotator test needs 30 items of an annotator, and 10 clusters where items share something: with "
    "fewer the t test does not hold its level.", "invalid")
TEST_LENIENT = Flag("test_lenient", "fewer than 30 clusters: test lenient",
    "With so few clusters (or unequal ones, worth so few) the cluster-robust t test rejects somewhat too often.")
TEST_OF_FEW_ITEMS = Flag("test_of_few_items", "fewer than 100 items: test lenient",
    "A judge that is worse by exactly epsilon passes somewhat more often than in 5 % of cases, most where it is hardly "
    "ever closer to the others than the person is. The test is the published one.")
TAKEN_AS_NUMBERS = Flag("taken_as_numbers", "whole numbers taken as a scale",
    "The answers are whole numbers: the points of a scale, or codes of classes. They were taken as a scale, and "
    'their distances count. If they are codes, name alignment="accuracy"; if they are a scale, alignment="rmse".')
NOBODY_TESTED = Flag("nobody_tested", "no annotator tested",
    "No person has enough items that another person and the judge answered too.", "invalid")
NOT_REPLACEABLE = Flag("not_replaceable", "not shown to be as good as people",
    "The judge is not shown to be as good, by epsilon, as at least half of the people tested. That does not show that "
    "it is worse: there may be too few items.", "note")
NOISE_UNKNOWN = Flag("noise_unknown", "rerun noise unknown",
    "No call was repeated under one version, so a change of version cannot be separated from the noise of asking "
    "again. Repeat some calls and number them in 'replicate'.")
ONE_VERSION_REPEATED = Flag("one_version_repeated", "noise of one version only",
    "Calls are repeated under one of the versions only; the other is taken to be as noisy.")
PERFECT_AGREEMENT = Flag("perfect_agreement", "perfect agreement",
    "No disagreement was observed, so there is no standard error; that does not make agreement certain.",
    said_of=("agreement",))
PERFECT_CORRELATION = Flag("perfect_correlation", "perfect correlation",
    "All points lie on a line, or in one order: there is no interval.", said_of=("association",))
FEW_DISAGREEMENTS = Flag("few_disagreements", "fewer than 20 disagreements",
    "Agreement is nearly perfect: the interval rests on few disagreements and is too narrow.")
FEW_LARGE_ERRORS = Flag("few_large_errors", "a few large errors, worth {n}",
    "A few errors (of a spread: deviations from the mean) make up most of the sum of squares, which is worth that of "
    "so many of equal size. Another sample may have none of them, or more: the interval may be too narrow. Look at "
    "these items.", said_of=("score", "association", "agreement", "variance", "ratio"))
TOO_FEW = Flag("too_few", "too few for an interval", "An interval of a correlation needs four points or more.",
    said_of=("association",))
RESAMPLES_AGREE = Flag("resamples_agree", "all resamples equal",
    "Every resample gives the same number, so there is no interval; that does not make the estimate certain.")
DRAWS_AGREE = Flag("draws_agree", "all draws equal", "Every draw gives the same number, so there is no interval.")
BIASED = Flag("biased", "bootstrap bias above half a standard error",
    "The resamples lie to one side of the estimate, which is biased; the interval allows for what they show of "
    "it.")
NOT_BCA = Flag("not_bca", "BCa not defined",
    "All resamples lie on one side of the estimate, so the BCa interval does not exist. Use a percentile "
    "interval.", "invalid")
NO_INTERVAL = Flag("no_interval", "no interval", "The design gives no interval.", "note")
NO_SPREAD = Flag("no_spread", "no variation", "The data do not vary, so an interval would have no width.")
ERRORS_ALIKE = Flag("errors_alike", "errors do not vary", "All errors are the same size, so there is no interval.",
    said_of=("score", "difference"))
ERRORS_CONSTANT = Flag("errors_constant", "errors do not vary, left out: {who}",
    "A judge whose errors are all the same (never wrong, say) has no correlation with the others. The number is that "
    "of the other judges.", said_of=("association", "count"))
TWO_VARYING = Flag("two_varying", "fewer than two judges whose errors vary",
    "A correlation of errors needs two judges whose errors vary, on two things that both answered.", "invalid",
    said_of=("association", "count"))
HEAVY_ERRORS = Flag("heavy_errors", "a few large errors decide",
    "The errors of a judge have a kurtosis above 5: a few large ones decide the correlations, and the interval misses "
    "more often than it says. Look at these answers; or measure verdicts, or ranks of the scores.",
    said_of=("association", "count"))
ERRORS_CANCEL = Flag("errors_cancel", "errors cancel out",
    "The errors of the judges add up to the same sum everywhere: no number of independent judges does that.", "invalid",
    said_of=("count",))
ONE_OUTCOME = Flag("one_outcome", "verdicts all right or all wrong",
    "Nothing can show whether confidence tells right verdicts from wrong ones. Give items that the judge finds "
    "harder, or easier.")
NO_THRESHOLD = Flag("no_threshold", "no threshold holds the risk",
    "Even the answers with the highest confidences are wrong too often, or too few to show otherwise: do not rely on "
    "this judge at this alpha. Allow a larger alpha, or use another confidence.", "invalid")
TOO_FEW_ANSWERS = Flag("too_few_answers", "fewer than {least} answers",
    "So few answers cannot show that the risk is small enough, even if all of them are right. Give more items with "
    "gold, or allow a larger alpha or delta.", "invalid")
NOT_ANSWERED = Flag("not_answered", "{n} {what} counted as not answered",
    "A verdict that is missing, abstains or has no confidence is accepted at no threshold.", "note")
ZERO_BASE = Flag("zero_base", "base is zero", "The denominator of the ratio is zero.", "invalid", said_of=("ratio",))
UNBOUNDED = Flag("unbounded", "interval of the denominator includes 0",
    "The ratio has no bounds. Read the difference in place of the ratio.", said_of=("ratio",))
NOT_POSITIVE = Flag("not_positive", "base not positive",
    "A relative change needs a positive value to begin with; read the difference.", "invalid", said_of=("ratio",))
NO_RATIO = Flag("no_ratio", "not positive: no ratio",
    "One of the two is not above 0, so their ratio has no meaning.", "invalid", said_of=MODEL)
SIGN_CHANGED = Flag("sign_changed", "sign changed",
    "The sign differs between the two, which a ratio of sizes does not show.", said_of=("difference", "ratio"))
SIGN_UNCERTAIN = Flag("sign_uncertain", "sign of the bias uncertain",
    "The direction of the bias is uncertain, so the change of its size is biased upwards.", said_of=("difference",))
BEYOND_LIMIT = Flag("beyond_limit", "|shift| > {at}", "The shift is larger than flag_at=.", said_of=("difference",))
NO_MOVEMENT = Flag("no_movement", "no shift", "Nothing shifted, so a share of the shift is not defined.", "invalid",
    said_of=("difference",))
NOT_SIGNIFICANT = Flag("not_significant", "shift not significant",
    "The answers may not have shifted at all, so a share of the shift says little. Read the shifts themselves.",
    said_of=("difference",))
AT_ZERO = Flag("at_zero", "no gain, interval at 0",
    "The whole interval of the signed shift is at or below 0: there is no gain to estimate.", said_of=("difference",))
NO_BLIND = Flag("no_blind", "no blind answers",
    "There is no answer under the baseline probe to compare with.", "invalid")
MANY_CANDIDATES = Flag("many_candidates", "more than two candidates",
    "A favoured and another side need items with two candidates.", "invalid")
NO_CLUSTERED_TEST = Flag("no_clustered_test", "no test of crossed clusters",
    "The joint test allows for one cluster column, not for two crossed ones.")
CONDITIONS_UNMOVED = Flag("conditions_unmoved", "{n} condition(s) unmoved",
    "A sign test leaves out conditions that did not move.", "note", said_of=("share",))
CONSTANT_SHIFTS = Flag("constant_shifts", "constant shifts",
    "All shifts are the same, so there is no standard error.", "invalid", said_of=("difference",))
ONE_CONDITION = Flag("one_condition", "one condition", "A test over conditions needs two or more.", "invalid",
    said_of=("difference",))
SUBGROUPS_OVERLAP = Flag("subgroups_overlap", "subgroups share units",
    "The same items are in several subgroups, so the test of heterogeneity, which takes them as independent, is "
    "approximate.")
FEW_SYSTEMS = Flag("few_systems", "fewer than 10 systems",
    "A correlation over so few systems is imprecise, and its interval rough.", said_of=("association",))
ONE_SYSTEM = Flag("one_system", "one system", "A range or an order needs two systems or more.", "invalid")
ALONE = Flag("alone", "one judge or system", "Concordance needs two judges and two systems or more.", "invalid",
    said_of=("association",))
NOT_WHOLE = Flag("not_whole", "levels not whole numbers",
    "An offset in levels needs scores and levels that are whole numbers.", "invalid")
SCALE_MAXIMUM = Flag("scale_maximum", "top is the highest score seen",
    "The scale is not known, so the highest score that occurs counts as its maximum. Pass scale=.",
    said_of=("share", "model"))
ONE_POSITION = Flag("one_position", "target in one position only",
    "The target was always first or always second, so its bias and position bias cannot be separated.", "invalid")
EMPTY_CELL = Flag("empty_cell", "no valid call in a cell", "One cell of the comparison has no valid call.", "invalid")
BETTER_UNKNOWN = Flag("better_unknown", "better candidate unknown",
    "Right and wrong need a column 'better'.", "invalid")
REPEATED = Flag("repeated", "not paired: repeated stimuli",
    "A stimulus occurs several times under one condition, so the comparison is not paired. Number repeats in "
    "'replicate'.")
UNEQUAL_COUNTS = Flag("unequal_counts", "not paired: different counts",
    "The two conditions hold different counts of the same stimulus, so the comparison is not paired.")
NOTHING_SHARED = Flag("nothing_shared", "not paired: no stimulus shared",
    "The two conditions share no stimulus: the difference may be one of stimuli.")
NORMAL_RUNS = Flag("normal_runs", "repeats taken as normal",
    "There are fewer than 10 clusters, so the interval takes the repeats of a rating as normal, and ratings as "
    "independent. Scores on a coarse scale are not normal: read it with care.", said_of=("score", "ratio"))

# Rates corrected by labels

NOT_BETTER_THAN_CHANCE = Flag("not_better_than_chance", "not better than chance",
    "The interval of sensitivity + specificity - 1 reaches 0: the labels do not show that the verdicts say anything of "
    "the class, so nothing can be corrected. Collect more labels, or use another judge.", "invalid")
RATES_DO_NOT_FIT = Flag("rates_do_not_fit", "error rates do not fit these verdicts",
    "No true rate between 0 and 1 gives so many, or so few, positive verdicts with these error rates: the labelled "
    "items are unlike the others. Label some of the items that are to be corrected.", "invalid", said_of=("share",))
ONE_CLASS = Flag("one_class", "labels of one class only",
    "All labels are alike, so the errors in the other class are not known. Label items of both classes.", "invalid")
ONE_CLASS_ONLY = Flag("one_class_only", "one class only",
    "Reference and answers are all of one class, so nothing tells it from another.", "invalid")
CLASS_NOT_IN_REFERENCE = Flag("class_not_in_reference", "class not in the reference",
    "No label is of this class, so nothing shows how often the judge finds it.", "invalid", said_of=("share", "ratio"))
CLASS_NEVER_ANSWERED = Flag("class_never_answered", "class never answered",
    "The judge never gives this class, so nothing shows how often it is right when it does.", "invalid",
    said_of=("share", "ratio"))
CLASSES_LEFT_OUT = Flag("classes_left_out", "undefined classes left out: {n} (counted as 0: {value})",
    "A class that is never answered has no precision, and one that is not in the reference no sensitivity. The average "
    "is over the other classes; the number in the flag counts such classes as 0, as scikit-learn does.",
    said_of=("share",))
ZERO_CELL = Flag("zero_cell", "empty cell",
    "A cell of the two-by-two table is empty, or is so without one of the clusters: the ratio is then 0 or infinite, "
    "and its logarithm has no interval.", "invalid", said_of=("ratio",))
FEW_BEYOND = Flag("few_beyond", "{n} negatives beyond the threshold",
    "The threshold at this false positive rate is decided by so few negatives that its interval is rough. Choose a "
    "higher rate, or label more.")
FEW_IN_CLASS = Flag("few_in_class", "fewer than 10 labels in a class",
    "The error rate in that class rests on fewer than ten labels, and the interval is rough.")
FEW_LABELS = Flag("few_labels", "fewer than 30 labels",
    "The correction rests on few labels: the interval is rough, and somewhat too narrow.")
SKEWED_SCORES = Flag("skewed_scores", "skewed scores",
    "A few large scores decide the mean, so that its interval misses more often on one side than it says. Label "
    "more, take logarithms, or ask for the share above a value.")
NO_LABELS = Flag("no_labels", "no labels", "There is no label here to correct the verdicts with.", "invalid")
FEW_ERRORS = Flag("few_errors", "fewer than 5 errors of the judge among the labels",
    "How often the judge errs rests on so few labels that the interval is too narrow; without an error among them it "
    "takes the judge as faultless. Label more.")
MORE_LABELS = Flag("more_labels", "more labels than other verdicts",
    "With a random sample of labels that is larger than the rest of the verdicts, the labels alone estimate the rate "
    "about as well: take their mean. Where the labels are drawn by class, check that the two tables are not confused.")
VERDICTS_UNUSED = Flag("verdicts_unused", "verdicts of the judge unused",
    "The coefficient of the judge's verdicts is 0: they say nothing of the labels that would help, so that the rate is "
    "the mean of the labels alone. It does not speak for the judge.")
TRANSPORT_NOT_SHOWN = Flag("transport_not_shown", "transport not shown",
    "The labels are of another system, or of several. The errors of the judge on this one are not shown to be the "
    "same: the interval of the difference of the gaps between judge and people does not lie inside the margin.")
LABELS_ALONE = Flag("labels_alone", "labels alone cost less",
    "At these prices it is cheaper to label a random sample and to do without the judge.", "note")
TOO_PRECISE = Flag("too_precise", "precision out of reach",
    "No number of verdicts and labels is sure enough to reach the precision with what the pilot shows of the judge. "
    "Label more in the pilot, or ask for less precision.", "invalid")
LESS_SURE = Flag("less_sure", "precise enough in {share} of simulated studies",
    "The half-width to be expected is small enough, but that of a single study varies about it, and fewer studies than "
    "asked for are precise enough. No further number of labels was found that would do. Judge more items, or ask for "
    "less precision or less assurance.")
TOO_FEW_VERDICTS = Flag("too_few_verdicts", "precision out of reach with {n} verdicts",
    "With so many verdicts no number of labels is sure enough to reach the precision (a random sample of labels may be "
    "at most half of the items). Judge more items, ask for less precision, or do without the judge: the column "
    "labels_alone says how many labels that takes.", "invalid")

# Agreement and variance components

FEW_RATERS = Flag("few_raters", "fewer than 10 raters",
    "The raters are a sample too: with few of them the variance between them is hardly known, and the interval of "
    "ICC(2,.) is too narrow. Read ICC(3,1), or add judges.", said_of=("agreement", "model"))
ONE_RATER = Flag("one_rater", "one rater", "Agreement needs two raters or more in the column of raters.", "invalid",
    said_of=("agreement", "model"))
ONE_SUBJECT = Flag("one_subject", "one subject",
    "Agreement needs two subjects or more: name their columns in subjects=.", "invalid", said_of=("agreement", "model"))
NO_COMPLETE = Flag("no_complete", "no complete subject",
    'No subject was scored by every rater. Use incomplete="reml".', "invalid", said_of=("agreement", "model"))
SILENT_RATERS = Flag("silent_raters", "{n} rater(s) without scores",
    "A rater without any score in this group does not count as a rater of it.", "note", said_of=("agreement", "model"))
NO_DIFFERENCE = Flag("no_difference", "subjects do not differ",
    "The means of all subjects are equal: there is no variance between them.", said_of=("agreement", "model"))
NO_RESIDUAL = Flag("no_residual", "no residual variance",
    "Raters and subjects explain every score. Give scores that are not computed from each other.")
NO_LOWER = Flag("no_lower", "no lower bound",
    "The interval of the single-rater coefficient reaches below what the average of raters can have: there is no "
    "lower bound.", said_of=("agreement", "model"))
MEAN_SQUARES = Flag("mean_squares", "mean squares give no interval",
    "The mean squares leave the interval undefined.", "invalid", said_of=("agreement", "model"))
ONE_CLUSTER_DIFFERS = Flag("one_cluster_differs", "one cluster holds all disagreement",
    "Without one of the clusters nothing differs that is compared (judges, repeats, ranks or subjects): nothing shows "
    "how much clusters differ, and there is no interval.", "invalid")
NOT_IDENTIFIABLE = Flag("not_identifiable", "not identifiable",
    "The design cannot separate this component from the others.", "invalid", said_of=("variance", "model"))
COMPONENTS_NOT_IDENTIFIABLE = Flag("components_not_identifiable", "components not identifiable",
    "The design does not separate the components: each score may have a level of its own. Name fewer columns in "
    "subjects= or facets=, or give more scores.", "invalid")
FEW_CONFUSED = Flag("few_confused", "fewer than 5 of the rarer answer",
    "So few answers are expected on one side of this probability that its interval is too short.")
ON_BOUNDARY = Flag("on_boundary", "on boundary",
    "The estimate of a probability is 0 or 1, the end of its range: it has no standard error, and those of the other "
    "probabilities take it as known.")
NOT_ITS_LABEL = Flag("not_its_label", "class is not its label",
    "The raters give this answer more often where another class is true: the class is something else, such as a second "
    "kind of another answer. Do not read it as this answer.", "invalid")
SEVERAL_OPTIMA = Flag("several_optima", "best of {total} starts reached {n} time(s)",
    "The likelihood has several maxima, and most starts ended in a lower one. Raise n_starts=, and see whether the "
    "verdicts stay the same.")
NOT_SETTLED = Flag("not_settled", "EM stopped early",
    "The search was still moving when it reached its last step: the estimates are not final. The labels say little "
    "about the model; give more raters or units.")
NEGATIVE = Flag("negative", "negative, set to 0",
    "The estimate of a variance came out negative, as it may by chance, and was set to 0.", "note",
    said_of=("variance", "model"))
VARIANCE_ZERO = Flag("variance_zero", "at 0", "The estimate of a variance is 0, the lowest that it can be.", "note",
    said_of=("variance", "model"))
STUDIES_WITHOUT_INTERVAL = Flag("studies_without_interval", "{n} simulated studies without an interval",
    "The measure gave no interval in so many simulated studies; they count as not detected.")
FAR_BELOW_ERROR = Flag("far_below_error", "far below its standard error",
    "The estimate of a variance is so small a part of its standard error that a chi-square interval does not exist: "
    "the variance is not distinguishable from 0.", "note", said_of=("variance", "model"))
VARIANCE_AT_ZERO = Flag("variance_at_zero", "{what} variance at 0",
    "The estimate of this variance is 0, the lowest that it can be; a coefficient that rests on it is 0 or "
    "undefined.", said_of=("agreement",))
ONE_LEVEL = Flag("one_level", "one level", "A facet needs two levels or more to have a variance.", "invalid",
    said_of=("variance", "model"))
ONE_LEVEL_OF = Flag("one_level_of", "one level of {what}",
    "A facet needs two levels or more: leave it out of facets=.", "invalid", said_of=("variance", "model"))
FEW_LEVELS = Flag("few_levels", "fewer than 10 levels",
    "A variance between few levels is imprecise, and its interval rough.", said_of=("variance", "model"))
NOT_REACHED = Flag("not_reached", "{target} not reached with any number of {what}",
    "Other sources of error, which more of them do not reduce, keep the reliability below the target.", "invalid",
    said_of=("count",))
RUNS_NOT_IDENTIFIABLE = Flag("runs_not_identifiable", "runs not separable from the residual",
    "The data hold no repeated runs, so the effect of more runs is unknown.", "invalid", said_of=("agreement", "count"))
COMPONENTS_MISSING = Flag("components_missing", "components missing",
    "A variance component that the coefficient needs is not in the table.", "invalid", said_of=("agreement", "count"))
INCOMPLETE_DESIGN = Flag("incomplete_design", "incomplete design",
    "Not every judge scored every subject; the model uses what there is.", "note")

# Deviations, self-preference and calibration

NO_PEER = Flag("no_peer", "no other judge", "There is no other judge to compare with.", "invalid")
SOME_ALONE = Flag("some_alone", "no other judge in some cells",
    "Cells that no other judge scored were left out.", "note")
INCOMPLETE_PANEL = Flag("incomplete_panel", "judges missing in some cells",
    "The peers differ from cell to cell, because not every judge scored every cell.")
NO_REFERENCE = Flag("no_reference", "no reference", "The reference has no value for these cells.", "invalid")
SOME_WITHOUT = Flag("some_without", "no reference in some cells",
    "Cells without a reference value were left out.", "note")
EXACT_REFERENCE = Flag("exact_reference", "reference taken as exact",
    "The error of the reference is not known and not in the interval, which is too narrow for it.")
NO_SD = Flag("no_sd", "sd unknown", "The standard deviation over runs is not known, so there is no interval.")
NO_OWN = Flag("no_own", "no own system",
    "The judge scored no system of its own. Say which system is which judge in identity=.", "invalid")
NO_OTHER = Flag("no_other", "no other system", "The judge scored no system but its own.", "invalid")
NAIVE = Flag("naive", "naive, includes the judge",
    "The reference contains the judge itself, which pulls its deviation towards 0.")
OWN_OR_TASTE = Flag("own_or_taste", "own or taste: not separable",
    "A judge likes some systems more than other judges do. What it does for its own is measured against how much it "
    "differs on the others, and there are too few of these: there is no interval. Have a third judge, or more systems.",
    "invalid", said_of=("difference",))
NO_SELF_SCORE = Flag("no_self_score", "no judge scored itself",
    "There is no self-preference without it. Say which system is which judge: identity={system: judge}.")
FEW_OWN = Flag("few_own", "fewer than 3 judges scored themselves",
    "Do not read their mean as one of judges in general.")
ONE_SCORE = Flag("one_score", "one score",
    "One score says little about a judge or a system: give more, or leave it out.")
NO_COMPARISON = Flag("no_comparison", "no blinding effect: conditions not named",
    "Name the two conditions to compare.", "note")
ZERO_SD = Flag("zero_sd", "sds of zero replaced by the pooled sd",
    "Were the runs really equal, or is the temperature 0? Leave 'sd' out if it is not known.")
ALL_ZERO = Flag("all_zero", "all sds zero: noise taken as 0, not separable from judge-by-system interaction",
    "If the runs were not really equal, give their sd; otherwise give raw scores of several items.")
POOLED_SD = Flag("pooled_sd", "unknown sds replaced by the pooled sd",
    "Give 'sd' and 'runs' of every mean, or raw scores.")
NO_NOISE = Flag("no_noise", "noise unknown, not separable from judge-by-system interaction",
    "Give 'sd' and 'runs' of every mean, or raw scores of several items.")
CRITERIA_TOGETHER = Flag("criteria_together", "criteria taken as perfectly correlated",
    "Which criteria came in one reply is not known, or how their errors are correlated, so that the interval is the "
    "widest possible. Give the scores of each run, numbered in 'replicate' or 'call'; choose one criterion, or name "
    "the one with the overall score: overall_criterion=.")
OTHER_ITEMS = Flag("other_items", "judges scored different items",
    "Keep the items that all judges scored: their difficulty now counts as noise.")
FEW_CELLS = Flag("few_cells", "fewer than 3 cells", "A calibration needs three cells or more.", "invalid")
NO_FOLDS = Flag("no_folds", "one item and one system, nothing to hold out",
    "Cross-validation needs two items or two systems.", "invalid")
CONSTANT_GAP = Flag("constant_gap", "constant difference",
    "The judge differs from the reference by a constant: there is no spread to estimate an interval from.",
    said_of=("score", "difference"))

# Strategies and costs

NO_COST = Flag("no_cost", "no cost", "The cost of this strategy is not in the data.", "invalid", said_of=("amount",))
NO_VALUE = Flag("no_value", "no value", "The value of this strategy is not in the data.", "invalid")
INFINITE = Flag("infinite", "infinite cost or value", "Costs and values must be finite to be compared.", "invalid")
BEYOND = Flag("beyond", "beyond all discordant pairs",
    "No difference that the discordant pairs allow has this power.", "invalid", said_of=("difference",))
DISCORDANT_ONLY = Flag("discordant_only", "discordant pairs only",
    "The table gives only the pairs on which the two differ: there is a test, and no difference of accuracies.",
    said_of=("difference",))
FEW_DISCORDANT = Flag("few_discordant", "fewer than 25 discordant pairs",
    "The normal approximation of McNemar's test is rough; the exact test is given.", said_of=("difference",))
NOT_SUPPORTED = Flag("not_supported", "no supported gain",
    "No comparison shows a gain after correction for several tests: the baseline is kept.", "note",
    said_of=("difference",))
OVER_BUDGET = Flag("over_budget", "baseline above the budget", "Even the baseline costs more than the budget allows.")
SAME_GAIN = Flag("same_gain", "same gain: {what}",
    "These strategies gain the same; the cheaper one is recommended.", "note")
COST_UNKNOWN = Flag("cost_unknown", "cost not known: {what}", "Strategies without a cost are not considered.", "note")
SELECTED = Flag("selected", "selected comparisons",
    "Get all comparisons: those that are printed may have been chosen for being large.")
UNKNOWN_JOINT = Flag("unknown_joint", "joint distribution of the strategies unknown",
    "Give calls with their items, or discordant counts of every comparison.")
NEVER_LOST = Flag("never_lost", "never lost to the others: infinite",
    "This system, or its group, lost no comparison with the rest, so maximum likelihood puts it at infinity. "
    "pseudo_ties=1, a weak prior, gives it a finite strength.", said_of=MODEL)
NEVER_WON = Flag("never_won", "never won against the others: infinite",
    "This system, or its group, won no comparison with the rest, so maximum likelihood puts it at minus infinity. "
    "pseudo_ties=1, a weak prior, gives it a finite strength.", said_of=MODEL)
NOT_PLACED = Flag("not_placed", "not placed by these comparisons",
    "The comparisons link this system with the others only through wins, or only through losses, so that it may stand "
    "anywhere among them. pseudo_ties=1, a weak prior, gives it a strength; more comparisons are better.", "invalid",
    said_of=MODEL)
FINITE_BY_PRIOR = Flag("finite_by_prior", "finite by the pseudo-ties only",
    "This system, or its group, never lost to the rest, or never won: the data bound its strength on one side only. "
    "Its strength and interval rest on pseudo_ties=; try another value, and report both.", said_of=MODEL)
REFERENCE = Flag("reference", "reference", "Its strength is 0: the others are differences from it.", "note",
    said_of=MODEL)
POSITION_UNBALANCED = Flag("position_unbalanced", "positions not balanced",
    "This system was not shown first in about half of its calls, so a preference for a position moves its strength. "
    "slot=True puts the preference into the model.", said_of=MODEL)
SYSTEM_CONFOUNDED = Flag("system_confounded", "judge and system confounded",
    "No system connects this judge with some other judge, directly or through others: a difference between the two may "
    "be one of the systems that they judged. Have some systems judged by both.")
ORDER_CONFOUNDED = Flag("order_confounded", "order and candidate confounded",
    "No pair has both orders, and each candidate is always shown on the same side: a preference for the side cannot be "
    "separated from one for the candidate. Run each pair in both orders, or shuffle the order.")
NOT_MERGED = Flag("not_merged", "calls of a strategy, not merged",
    "Each call counts by itself, although the strategy makes one verdict of several calls on a pair (both orders, a "
    "vote). design.strategy_verdicts() makes it; design.study_verdicts() does so for a whole study.")
HUB = Flag("hub", "strategies linked through the baseline only", "Give calls with their items.")

# Fitted models

NOT_FITTED = Flag("not_fitted", "not fitted: {reason}",
    "The model could not be fitted to these data, for the reason given.", "invalid", said_of=MODEL)
NOT_CONVERGED = Flag("not_converged", "not converged",
    "The search did not find an optimum: do not use the numbers. Scale numeric columns, or leave out a random "
    "term.", "invalid", said_of=MODEL)
SINGULAR = Flag("singular", "singular fit",
    "The estimate of a variance is 0, or of a correlation 1 in size: the model is richer than the data. Leave the "
    "term out or simplify it; the fixed effects hold given that.", said_of=MODEL)
SEPARATION = Flag("separation", "separation",
    "Some combination of predictors predicts the answer without error, so the estimate runs to infinity. Leave "
    "the term out, pool levels, or use engine='pymc' with a prior.", "invalid", said_of=MODEL)
NO_OVERDISPERSION = Flag("no_overdispersion", "no overdispersion",
    "The counts vary no more than Poisson's, so the size runs to infinity, where the model is a Poisson model. Pass "
    "family='poisson'; the other estimates are the same.", "invalid", said_of=MODEL)
PERFECT_FIT = Flag("perfect_fit", "essentially perfect fit",
    "The model gives every value, up to rounding: nothing is left from which errors could be estimated, and the "
    "likelihood has no maximum. Where repeats never differ, take one row of each.", "invalid", said_of=MODEL)
NO_HESSIAN = Flag("no_hessian", "Hessian not positive definite",
    "Parameters cannot be separated, so there are no standard errors. Leave out a term.", "invalid", said_of=MODEL)
NO_ERROR = Flag("no_error", "no standard error", "The engine gives no standard error for this parameter.", "invalid",
    said_of=MODEL)
NO_ERRORS = Flag("no_errors", "no standard errors",
    "The covariance of the estimates is not known, so there are no intervals.", "invalid", said_of=MODEL)
FEW_CALLS = Flag("few_calls", "fewer than 5 calls per level",
    "Laplace's approximation makes variances and effects too small with so few calls per level. Pass "
    'n_quadrature="auto".', said_of=MODEL)
FEW_CALLS_HERE = Flag("few_calls_here", "fewer than 5 calls",
    "The level was judged a few times only: its estimate is imprecise and shrunk towards the mean.", said_of=MODEL)
RARE = Flag("rare", "rarer answer less than once per level",
    "Laplace's approximation makes the intercept too extreme. Pass n_quadrature=\"auto\".", said_of=MODEL)
FEW_RARER = Flag("few_rarer", "fewer than {least} rarer answers per level of {factor}",
    "Laplace's approximation makes the variance between these levels too large, and with it the agreement of raters by "
    "the model. Of one random term pass n_quadrature=\"auto\".", said_of=MODEL)
RARE_CLASS = Flag("rare_class", "fewer than 10 calls of {what} per coefficient",
    "Coefficients of a rare class are biased away from 0, and their intervals are rough. Pool it with another class, "
    "or leave terms out.", said_of=MODEL)
FEW_GROUPS = Flag("few_groups", "fewer than {least} levels of {factor}",
    "Intervals by z, profile and bootstrap of the intercept and of effects that vary between these levels are too "
    "short, and so is the profile of their sd; effects that vary within levels do not suffer.", said_of=MODEL)
NO_DF = Flag("no_df", "no degrees of freedom",
    "The effects that vary between the levels of a grouping factor, or between clusters, are as many as these: "
    "nothing shows how much levels differ, so there is no interval. Leave the random term or some effects out.",
    "invalid", said_of=MODEL)
TOO_SMALL = Flag("too_small", "standard errors too small",
    "statsmodels' variational Bayes gave errors 3 to 14 times too small where checked: use engine='ml'.", "invalid",
    said_of=MODEL)
UNSETTLED = Flag("unsettled", "quadrature too coarse",
    'A finer rule moves the estimates. Pass n_quadrature="auto", or more nodes.', said_of=MODEL)
LAPLACE_INSTEAD = Flag("laplace_instead", "Laplace's approximation: quadrature does not settle",
    "The integral over the random effect becomes a step as its standard deviation grows, and no rule of up to 1,792 "
    "nodes follows it. Laplace's approximation is fitted in its place; its errors are no guide.", said_of=MODEL)
NEAR_ZERO = Flag("near_zero", "Wald interval of a variance near 0",
    "On the log scale the error of this standard deviation is large, and the Wald interval is no guide. "
    'Use confint(method="profile"), where the engine is "ml".', said_of=MODEL)
ZERO_NOT_EXCLUDED = Flag("zero_not_excluded", "0 not excluded",
    "A standard deviation of zero lies within the profile interval.", "note", said_of=MODEL)
ONE_NOT_EXCLUDED = Flag("one_not_excluded", "1 not excluded",
    "A correlation of one in size lies within the profile interval.", "note", said_of=MODEL)
OPEN_END = Flag("open_end", "likelihood flat: no bound",
    "The likelihood does not fall far enough on that side, so the interval has no end there.", said_of=MODEL)
REFITS_FAILED = Flag("refits_failed", "{n} of {total} refits failed",
    "The bootstrap interval is from the refits that converged.", said_of=MODEL)
REFITS_UNDEFINED = Flag("refits_undefined", "not defined in {n} refits",
    "The parameter had no value there; the bootstrap interval is from the other refits.", said_of=MODEL)
BOUNDARY = Flag("boundary", "p conservative: variance on the boundary",
    "The hypothesis puts a variance at 0, where the chi-square p-value is too large.", said_of=MODEL)
REFITTED = Flag("refitted", "refitted by {how}",
    "Models are compared by the same likelihood, so this one was fitted again.", "note", said_of=MODEL)
SAME_SIZE = Flag("same_size", "as many parameters as the model above",
    "The two models are not nested: there is no likelihood-ratio test.", "invalid", said_of=MODEL)
NOT_NESTED = Flag("not_nested", "fits worse than the smaller model: not nested, or not converged",
    "A larger nested model cannot fit worse. Check the formulas and check().", "invalid", said_of=MODEL)
LARGER_WORSE = Flag("larger_worse", "larger model fits worse",
    "A larger nested model cannot fit worse: one of the two searches stopped early.", "invalid", said_of=MODEL)
UNLIKE = Flag("unlike", "different approximations compared",
    "The two likelihoods are approximated differently, so their difference is not exact.", said_of=MODEL)
NOT_ESTIMABLE = Flag("not_estimable", "not estimable",
    "The data do not determine this combination of coefficients (an empty cell, say).", "invalid", said_of=MODEL)
NEW_LEVEL = Flag("new_level", "new level",
    "The level was not in the data: its random effect is 0, and the interval allows for its variance.", "note",
    said_of=MODEL)
MISSING_VALUE = Flag("missing_value", "missing value", "A predictor is missing in this row.", "invalid", said_of=MODEL)
NO_EFFECTS = Flag("no_effects", "random effects unknown",
    "The engine does not predict random effects; the prediction is without them.", said_of=MODEL)
NO_DERIVATIVE = Flag("no_derivative", "no derivative in some rows",
    "The slope has no value in some rows; the average is over the others.", said_of=MODEL)
PARETO = Flag("pareto", "Pareto k above {limit} in {n} of {total}",
    "Leave-one-out is not reliable for these units: they weigh heavily in the fit.", said_of=MODEL)
ALWAYS = Flag("always", "always {what}",
    "Every answer is the same: without the other answers the estimate would run to infinity.", said_of=MODEL)
NO_QUALITY = Flag("no_quality", "quality does not vary{where}",
    "Resolution needs pairs that differ in quality.", "invalid", said_of=MODEL)
NO_TIES_UNDER = Flag("no_ties_under", "no ties{where}",
    "A tie criterion cannot be estimated where no tie was called; curves are fitted without one.", said_of=MODEL)
ORDER_UNKNOWN = Flag("order_unknown", "presentation order unknown: no position bias assumed",
    "The data do not say which candidate was first.", said_of=MODEL)
NOT_BOTH_IDENTIFIABLE = Flag("not_both_identifiable", "criterion and resolution not identifiable",
    "The data do not separate the two; a wider range of quality would.", "invalid", said_of=MODEL)
WIDE = Flag("wide", "a resolution twice or half as large is not excluded",
    "The interval of the ratio is so wide that a verdict on what moved says little.", said_of=MODEL)
LINKS_DISAGREE = Flag("links_disagree", "links disagree",
    "Which of the two moved depends on the form of the curve: the data do not decide.", said_of=MODEL)
UNSIGNED_CONTENT = Flag("unsigned_content", "biased: content is not signed",
    "(1|pair) gives a pair the same effect in both orders, where it should change sign; for comparison only.",
    "invalid", said_of=MODEL)
UNMODELLED_QUALITY = Flag("unmodelled_quality", "biased: quality of each response not modelled",
    "A judge may prefer its own responses because they are better; for comparison only.", said_of=MODEL)
CONFOUNDED = Flag("confounded", "confounded with the quality of the systems",
    "A judge's preference for its own system and the system's quality cannot be separated in these data.", "invalid",
    said_of=MODEL)
NO_SYSTEM_EFFECTS = Flag("no_system_effects", "more than {most} systems: no effect of each",
    "There are too many systems to give each a coefficient.", "note", said_of=MODEL)
JUDGES_NO_OWN = Flag("judges_no_own", "judges nothing of its own", "The judge saw no response of its own.", "invalid",
    said_of=MODEL)
JUDGED_ONCE = Flag("judged_once", "each response is judged once",
    "The quality of a response cannot be separated from the preference for it.", "invalid", said_of=MODEL)
FEW_JUDGES = Flag("few_judges", "fewer than 5 judges",
    "The spread between judges is hardly known: 'another judge' rests on the prior. Vary sd_blind and sd_probe in "
    "priors=.", said_of=MODEL)
FEW_JUDGES_EQUAL = Flag("few_judges_equal", "fewer than 5 judges: effects taken as equal",
    "With so few judges the model has one effect for all of them.", said_of=MODEL)
ONE_ORDER = Flag("one_order", "pairs in one order only: content and position not separable",
    "Run each pair in both orders.", said_of=MODEL)
NO_ITEMS = Flag("no_items", "no items: calls taken as independent",
    "Without a column 'item' the intervals are too narrow where calls share items.", said_of=MODEL)

# Bayesian models

NOT_MIXED = Flag("not_mixed", "chains have not mixed",
    "R-hat is above 1.01: do not use the draws. Sample longer (sampling={\"draws\": 2000, \"tune\": 2000}), or give "
    "tighter priors=.", "invalid", said_of=MODEL)
FEW_EFFECTIVE = Flag("few_effective", "fewer than 400 effective draws",
    "The ends of the interval are imprecise. Draw more (sampling={\"draws\": 4000}), or give tighter priors=.",
    said_of=MODEL)
DIVERGENT = Flag("divergent", "{n} divergent transition(s)",
    "The sampler missed a part of the posterior. Sample longer (sampling={\"tune\": 2000}), or give tighter "
    "priors= on the spreads.", said_of=MODEL)
HEAVY = Flag("heavy", "importance weights too heavy (Pareto k above 0.7)",
    "The posterior is poorly approximated. Draw more (sampling={\"draws\": 10000}), or give tighter priors=; "
    "severity also has sampled=True.", "invalid", said_of=MODEL)
PRIOR_DRIVEN = Flag("prior_driven", "prior-driven",
    "The data say little: fit again with other scales in priors=, and report both. Only more data remedy it.",
    said_of=MODEL)
CONFLICT = Flag("conflict", "prior and data disagree",
    "Check the units of the data, and predictive('prior'); widen that prior by priors=, and report both.",
    said_of=MODEL)
OUTSIDE = Flag("outside", "observed counts outside the posterior predictive",
    "The model misses structure: predictive() shows which counts; look for what they share.", said_of=MODEL)
OUTSIDE_INTERVAL = Flag("outside_interval", "outside the 95 % predictive interval",
    "The model would rarely produce this value.", said_of=MODEL)
ONE_CALL = Flag("one_call", "one call", "One call says next to nothing: the estimate is that of the other judges.",
    said_of=MODEL)
NET_ONLY = Flag("net_only", "ties not printed{how}",
    "The score is net of ties, whose number is not known. Give counts by outcome in place of the score.", said_of=MODEL)
SLOTS_UNKNOWN = Flag("slots_unknown", "presentation order unknown",
    "The data do not say which candidate was first: position bias has a size and no direction. Give preferences, "
    "with first, second and choice.", said_of=MODEL)
NO_STEP = Flag("no_step", "no step was judged", "There is no call of this judge at any step.", "invalid", said_of=MODEL)
BETWEEN = Flag("between", "no step near: the form of the curve decides",
    "The threshold lies between two steps that are far apart. Ask at steps near it, or compare links.", said_of=MODEL)

# fmt: on
def flag_codes(cell: str) -> tuple[str, ...]:
    """Codes of the flags in a cell of the column ``flag``, each once.

    Parameters
    ----------
    cell : str
        Flags, separated by ``"; "``.

    Returns
    -------
    tuple of str

    See Also
    --------
    explain : Each flag explained.

    Examples
    --------
    >>> flag_codes("n < 30; 3 units rated once")
    ('small_n', 'rated_once')
    """
    return tuple(dict.fromkeys(explain(cell)["code"])) if cell else ()


def explain(flagged: str | Iterable[str] | pd.DataFrame) -> pd.DataFrame:
    """Explain the flags of a result: what each means, and what to do about it.

    Parameters
    ----------
    flagged : str, iterable of str, or DataFrame
        A cell, a column of cells, or a result with the column ``flag``.

    Returns
    -------
    pandas.DataFrame
        ``flag``, ``code``, ``severity`` and ``explanation``, a row for each flag in the order of its first occurrence.

    See Also
    --------
    flag_codes : Codes of flags.

    Examples
    --------
    >>> explain("n < 30; structural zero")[["flag", "code", "severity"]]
                  flag          code severity
    0           n < 30       small_n  caution
    1  structural zero  by_structure     note
    """
    cells = flagged["flag"] if isinstance(flagged, pd.DataFrame) else flagged
    cells = [cells] if isinstance(cells, str) else cells
    rows = [(str(f), f.code, f.severity, f.explanation) for f in texts_of(cells)]
    return pd.DataFrame(rows, columns=["flag", "code", "severity", "explanation"])


def incomplete_ladder(steps: NDArray[np.float64], names: NDArray[np.float64] | None = None) -> str:
    """Flag of increasing `steps` that lack one of a ladder, by default 1, 2, ..., or have another; else empty."""
    whole = np.arange(1.0, math.ceil(min(steps[-1], 1000.0)) + 1) if names is None else names
    beside, missing = np.setdiff1d(steps, whole), np.setdiff1d(whole, steps)
    if beside.size:
        rungs = "1, 2, ..." if names is None else ", ".join(f"{s:g}" for s in names)
        return INCOMPLETE_LADDER.saying(f"{beside[0]:g} is not one of {rungs}, name the steps in steps=")
    if not missing.size:
        return ""
    more = f" and {missing.size - 5} more" if missing.size > 5 else ""
    return INCOMPLETE_LADDER.saying(f"not asked at {', '.join(f'{s:g}' for s in missing[:5])}{more}")


def few_clusters(sizes: ArrayLike, *, resampled: bool = False, alike: Floats | None = None) -> str:
    """Flag of an interval by clusters that are too few or too unequal, sooner for a bootstrap (`resampled`); or empty.

    `sizes` (G,): those of size 0 do not count. `alike` (G,): for how many clusters each stands.
    """
    n = np.asarray(sizes, dtype=np.float64)
    times = np.where(n > 0, 1.0 if alike is None else alike, 0.0)
    clusters = times.sum()
    if clusters < 10:
        return ONE_UNIT if clusters < 2 else FEW_CLUSTERS
    worth = effective_clusters(n, times)
    return UNEQUAL_CLUSTERS.of(max(round(worth), 1)) if worth < 10 else FEW_DRAWN if resampled and clusters < 30 else ""


def informative_sizes(k: Floats, n: Floats, column: str, alike: Floats | None = None) -> str:
    """Flag where a share of `k` in `n` (G,), `alike` clusters of each, goes with their size, at 5 % by t; or empty.

    The difference from the mean of the clusters' shares has the error that it has where all share one expectation.
    """
    times = np.ones(n.size) if alike is None else alike
    k, n, times = (x[n > 0] for x in (k, n, times))
    clusters, total = float(times.sum()), float(times @ n)
    apart, share = n / total - 1 / clusters, k / n
    gap = float((times * apart) @ share)
    squares = float((times * apart**2) @ (share - float(times @ k) / total) ** 2)
    error = math.sqrt(squares * clusters / (clusters - 1))
    if not abs(gap) > 1.96 * error > 1e-12:
        return ""
    from scipy.special import stdtrit  # a first look needs none of it

    mean = float(times @ share) / clusters
    return (
        INFORMATIVE_SIZES.of(what=column, mean=f"{mean:.3f}") if abs(gap) > stdtrit(clusters - 1, 0.975) * error else ""
    )


def few_large_errors(errors: Floats, alike: Floats | None = None) -> str:
    """Flag where N errors, `alike` of each, are worth fewer than 15, (Σe²)²/Σe⁴, or than N/4: normal ones, N/3."""
    times = np.ones(errors.size) if alike is None else alike
    worth = effective_clusters(errors * errors, times)
    return FEW_LARGE_ERRORS.of(max(round(worth), 1)) if 0 < worth < min(15, times.sum() / 4) else ""


def few_of_class(sizes: NDArray[np.float64], alike: Floats | float = 1.0) -> str:
    """Flag a class that occurs in few clusters; `sizes` (G, K): calls of each class in each cluster."""
    clusters = ((sizes > 0).T * alike).sum(axis=1)
    return FEW_RARE_CLUSTERS if (clusters[clusters > 0] < 10).any() else ""
