"""The pictures of the gallery: a cell for each plot, after the cells of the data that they share.

A cell of a plot leaves what the plot returns in ``picture``.
"""

# %% data: real verdicts
# Sets that ship with the package: nine judges compare pairs in both orders (MT-Bench), six judges compare outputs of which
# one is right, under several strategies (LLMBar), and five judges and three people score stories by eleven writers (HANNA).
import itertools

import numpy as np
import pandas as pd

import judgestats as js

mtbench, llmbar, hanna = (js.datasets.load(name) for name in ("mtbench_position", "llmbar", "hanna"))
stories = hanna[hanna["rater_type"] != "human"]
coherence = stories[stories["criterion"] == "CH"]
readers = ["Human 1", "Human 2", "Human 3"]

# %% data: pairs
# Three simulated judges answer the plan of a datasheet: empty answers, equal pairs, and pairs one to five steps apart.
habits = {
    "careful": {"dark_current": 0.02, "sensitivity": 3.0, "tie_criterion": 1.2},
    "positional": {"dark_current": 0.6, "sensitivity": 0.9, "tie_criterion": 0.3, "slot_bias": 1.0},
    "partial": {"dark_current": 0.1, "sensitivity": 1.5, "tie_criterion": 0.5, "stable_preference": 1.5},
}
strict = {"prompt": {"pairwise_strict": {"tie_criterion": 2.5, "dark_current": 0.01}}}
judges = [js.design.Judge(name, **habit, under=strict) for name, habit in habits.items()]
plan = js.design.dark_current(list(habits), strict=True)
calls = js.design.collect(plan, js.design.simulate_replies(plan, judges).to_dict("records"))
usual = calls[calls["prompt"] == "pairwise"]
false_preference, sensitivity = js.delta0(usual), js.target_sensitivity(usual)

# %% data: scores
# Four judges score six systems on twenty items, twice, on a scale of 1 to 10; two of the systems are judges too.
systems = {"alder": 1.5, "birch": 1.0, "cedar": 0.5, "elm": 0.0, "fir": -0.5, "gum": -1.5}
cells = pd.DataFrame(itertools.product(systems, range(20)), columns=["system", "item"])
scale = {"scale": (1, 10), "step": 1, "item_difficulty": 0.8}
scored = js.design.simulate(
    cells,
    [
        js.design.Judge("alder", **scale, self_preference=1.0, noise=0.8),
        js.design.Judge("birch", **scale, leniency=-1.0, noise=0.8, item_interaction=0.5),
        js.design.Judge("oak", **scale, leniency=0.7, noise=0.6),
        js.design.Judge("yew", **scale, leniency=2.0, noise=1.0, discrimination=0.6),
    ],
    replicates=2,
    quality=systems,
)

# %% data: strategies
# Two judges are asked about the same 200 pairs in three ways; the longer of the two answers is not the better one.
rng = np.random.default_rng(0)
pairs = pd.DataFrame({"item": np.arange(200), "first": "u", "second": "v", "gold": rng.choice(["u", "v"], 200)})
pairs["bias"], pairs["target"] = "length", np.where(pairs.index % 2, "u", "v")
asked = pd.concat([pairs.assign(strategy=s) for s in ("B0", "S1", "S8")], ignore_index=True)
better = {"strategy": {"S1": {"target_preference": 0.3}, "S8": {"sensitivity": 2.2, "target_preference": 0.1}}}
verdicts = js.design.simulate(
    asked,
    [
        js.design.Judge("large", sensitivity=1.6, target_preference=0.6, tie_criterion=0.3, under=better),
        js.design.Judge("small", sensitivity=0.6, target_preference=1.0, tie_criterion=0.3, under=better),
    ],
)

# %% data: cues
# Verdicts without labels, and with a label that is no evidence: on the right text (truth) or on the other (flip).
texts = pd.DataFrame({"item": np.arange(120), "first": "person", "second": "model"})
labels = {"blind": ("", ""), "truth": ("Human", "LLM"), "flip": ("LLM", "Human")}
probes = pd.concat(
    [texts.assign(probe=probe, label_first=one, label_second=two) for probe, (one, two) in labels.items()],
    ignore_index=True,
)
swayed = [
    js.design.Judge("firm", label_susceptibility=0.2, tie_criterion=0.6, favoured_label="Human"),
    js.design.Judge("swayed", label_susceptibility=1.6, tie_criterion=0.6, favoured_label="Human"),
]
labelled = js.design.simulate(probes, swayed)
quoted = {"scheme": {"PBP": {"label_susceptibility": 0.3}}}
both = pd.concat([probes.assign(scheme=scheme) for scheme in ("Baseline", "PBP")], ignore_index=True)
under = [
    js.design.Judge(j.name, label_susceptibility=1.2, tie_criterion=0.6, favoured_label="Human", under=quoted)
    for j in swayed
]

# %% data: people
# Three people and two judges choose between plain and formatted answers; the judges care more for the format.
shown = pd.DataFrame({"item": np.arange(60), "first": "plain", "second": "formatted"}).sample(frac=1, random_state=1)
shown.loc[shown.index[::2], ["first", "second"]] = ["formatted", "plain"]
shown["target"], shown["better"] = "formatted", np.where(shown["item"] % 3, "plain", "formatted")
people = [js.design.Judge(f"person {i}", sensitivity=2.0, target_preference=0.2) for i in (1, 2, 3)]
models = [js.design.Judge("large", target_preference=0.9), js.design.Judge("small", target_preference=1.6)]
answers = js.design.simulate(shown, [*people, *models])
humans = [p.name for p in people]

# %% data: confidences
# Two judges say how sure they are of 300 verdicts each: the modest one is right as often as it says.
sure = pd.DataFrame(itertools.product(["modest", "boastful"], range(300)), columns=["judge", "item"])
sure["confidence"] = rng.choice([0.55, 0.65, 0.75, 0.85, 0.95], len(sure))
right = sure["confidence"].where(sure["judge"] == "modest", sure["confidence"] ** 2)
sure["correct"] = (rng.random(len(sure)) < right).astype(int)

# %% data: a posterior
# Leniency of each judge, quality of each system and self-preference, from the mean scores.
posterior = js.hierarchical.severity(scored, sampling={"draws": 500})

# %% forest
# Nine judges of MT-Bench: the same verdict in both orders.
result = js.consistency(mtbench).query("term == 'consistency'")
picture = js.plot.forest(result)

# %% answers
# Nine judges of MT-Bench: each pair is shown in both orders, so a judge without a preference answers both as often.
result = js.position_bias(mtbench)
picture = js.plot.answers(result)

# %% metrology_map
result = pd.concat([js.dark_current(usual), false_preference, sensitivity])
picture = js.plot.metrology_map(result)

# %% psychometric_curves
picture = js.plot.psychometric_curves(sensitivity)

# %% decomposition
picture = js.plot.decomposition(false_preference)

# %% stable_positional
picture = js.plot.stable_positional(false_preference)

# %% operating_point
result = js.criterion_shift(calls, "pairwise", "pairwise_strict")
picture = js.plot.operating_point(result)

# %% bias_scores
result = js.bias_score(verdicts[verdicts["strategy"] == "B0"], by="bias")
picture = js.plot.bias_scores(result)

# %% bias_map
result = js.bias_change(verdicts, by="bias", baseline="B0")
picture = js.plot.bias_map(result, judge="small")

# %% strategies
# Two judges of LLMBar: two orders of each pair to one verdict, and each strategy against the plain prompt.
asked_by = ["Vanilla", "CoT", "Metrics", "Reference", "Swap", "Swap_CoT"]
part = llmbar[llmbar["judge"].isin(["GPT-4", "ChatGPT-0301"]) & llmbar["strategy"].isin(asked_by)]
result = js.compare_strategies(js.aggregate(part, "swap", "order"), baseline="Vanilla")
picture = js.plot.strategies(result)

# %% by_condition
# Six judges of LLMBar: how often each is right, under each of six prompts.
asked_by = ["Vanilla", "CoT", "Metrics", "Reference", "Swap", "Swap_CoT"]
result = js.gold_agreement(llmbar[llmbar["strategy"].isin(asked_by)], by="strategy")
picture = js.plot.by_condition(result, "strategy", term="accuracy")

# %% pareto
accuracy = js.gold_agreement(verdicts, by="strategy").query("term == 'accuracy'")
cost = accuracy["strategy"].map({"B0": 1.0, "S1": 2.0, "S8": 3.0}) * accuracy["judge"].map({"large": 10, "small": 1})
result = js.pareto_front(accuracy.assign(cost=cost, value=accuracy["estimate"]))
picture = js.plot.pareto(result, by="judge")

# %% rank_sets
# One person of the PandaLM test set compares five models.
pandalm = js.datasets.load("pandalm")
result = js.rank_systems(pandalm[pandalm["judge"] == "annotator1"])
picture = js.plot.rank_sets(result)

# %% kappa_matrix
# Nine judges of MT-Bench; the versions of one model agree most.
result = js.kappa(mtbench)
picture = js.plot.kappa_matrix(result)

# %% score_matrix
# Five judges score stories by eleven writers, one of them human.
result = js.score_matrix(stories)
picture = js.plot.score_matrix(result)

# %% deviation_matrix
# Three models judge their own answers and each other's by a rubric of yes and no; the frames are their own.
result = js.consensus_deviation(js.datasets.load("frontier_self_bias/rubric"))
picture = js.plot.deviation_matrix(result)

# %% score_distribution
result = js.score_distribution(stories)
picture = js.plot.score_distribution(result)

# %% score_quantiles
# Stories by people, by one language model and by another.
three = stories[stories["system"].isin(["Human", "GPT-2", "HINT"])]
result = js.score_distribution(three, by="system", quantiles=(0.05, 0.25, 0.5, 0.75, 0.95))
picture = js.plot.score_quantiles(result)

# %% disagreement
result = js.disagreement(stories)
picture = js.plot.disagreement(result)

# %% variance_components
# Scores of coherence: what of their variance is due to the judge, the writer, and the story.
result = js.variance_components(coherence)
picture = js.plot.variance_components(result)

# %% decision_study
# How many judges the coherence of a writer needs.
result = js.decision_study(coherence)
picture = js.plot.decision_study(result)

# %% icc
# Agreement of five judges on the coherence of each writer's stories.
result = js.icc(coherence, by="system")
picture = js.plot.icc(result)

# %% agreement_levels
# Agreement of five judges on coherence: on writers, on stories, and of single judges with each other.
result = js.agreement_levels(coherence)
picture = js.plot.agreement_levels(result)

# %% lines
# The judges score once more at three temperatures; the hotter, the noisier.
noisier = {"temperature": {0.5: {"noise": 1.5}, 1.0: {"noise": 2.5}}}
runs = pd.concat([cells.assign(temperature=t) for t in (0.0, 0.5, 1.0)])
runs = js.design.simulate(
    runs, [js.design.Judge(name, noise=0.6, item_difficulty=1.2, under=noisier) for name in "abc"], quality=systems
)
result = js.correlation(runs, pairs="each", by="temperature").query("system in ['alder', 'cedar', 'elm', 'gum']")
picture = js.plot.lines(result, "temperature", panel="system")

# %% calibration
result = js.calibrate(coherence)
picture = js.plot.calibration(result)

# %% agreement_shift
# The published shifts of a paper: how far judges agree without, and with, background knowledge.
result = js.agreement_shift(js.published.load("consensus_illusion/table3"))
picture = js.plot.agreement_shift(result)

# %% quality_agreement
result = js.published.load("consensus_illusion/table9").rename(columns={"model": "system"})
picture = js.plot.quality_agreement(result)

# %% preference_gaps
result = js.preference_gap(answers, humans=humans)
picture = js.plot.preference_gaps(result)

# %% people_agreement
# Five judges and three people score stories: how far does each judge agree with people, who agree with each other so far?
result = js.judge_against_people(hanna, humans=readers)
picture = js.plot.people_agreement(result)

# %% judges_and_people
# Six judges of LLMBar under the plain prompt: how far each agrees with the others, and with the known answer.
plain = llmbar[llmbar["strategy"] == "Vanilla"]
picture = js.plot.judges_and_people(js.kappa(plain), js.kappa(plain, reference="gold"), label="the known answer")

# %% verbosity_bias
# 50 pairs whose longer answer is padded, 25 whose shorter answer is cut off; the target is the longer one.
made = pd.DataFrame({"item": np.arange(75), "first": "long", "second": "short", "target": "long"})
made["bias"] = np.where(made["item"] < 50, "expansion", "truncation")
made.loc[made["item"] % 2 == 0, ["first", "second"]] = ["short", "long"]
by_length = [
    js.design.Judge("careful", choice_probabilities={"all": {"target": 0.35, "other": 0.35, "tie": 0.3}}),
    js.design.Judge("verbose", target_preference=2.0, tie_criterion=0.2),
]
result = js.verbosity_bias(js.design.simulate(made, by_length))
picture = js.plot.verbosity_bias(result)

# %% anchoring
result = js.anchoring(labelled, favoured_label="Human")
picture = js.plot.anchoring(result)

# %% schemes
# The second scheme asks for quotations before the verdict.
result = js.anchoring(js.design.simulate(both, under), favoured_label="Human", by="scheme")
result = result[result["term"].isin(["lds", "shift_nontie"])]
picture = js.plot.schemes(result)

# %% revision
result = js.revision(labelled, before="flip", after="truth", favoured_label="Human")
picture = js.plot.revision(result)

# %% rationale_shift
# Explanations are about the item; of the swayed judge, most are about the label where there is one.
steady = [js.design.Judge(name, stable_preference=3.0, tie_criterion=0.6) for name in ("firm", "swayed")]
argued = js.design.simulate(probes.assign(first="person " + probes["item"].astype(str)), steady)
about = argued["item"].map(lambda i: ["clear and concise", "vivid images", "a plain style", "an odd rhythm"][i % 4])
cited = argued["probe"].ne("blind") & (rng.random(len(argued)) < np.where(argued["judge"] == "swayed", 0.8, 0.2))
argued["rationale"] = about.mask(cited, "sounds authentic, as the label says")
result = js.rationale_shift(argued)
picture = js.plot.rationale_shift(result)

# %% reliability
result = js.confidence_calibration(sure)
picture = js.plot.reliability(result)

# %% data: suspicion
# Suspicion of a monitor, from 0 to 1, and what was found later.
seen = np.random.default_rng(4)
attack = seen.random(400) < 0.25
monitors = {"large": 0.9, "small": 0.4}
suspicion = pd.DataFrame(
    [
        (judge, i, float(np.clip(0.3 + 0.25 * skill * bad + seen.normal(0, 0.15), 0, 1)), int(bad))
        for judge, skill in monitors.items()
        for i, bad in enumerate(attack)
    ],
    columns=["judge", "item", "score", "gold"],
)
thresholds = js.roc_curve(suspicion)

# %% roc
picture = js.plot.roc(thresholds)

# %% precision_recall
picture = js.plot.precision_recall(thresholds)

# %% confusion
result = js.confusion(js.datasets.load("pandalm"), humans={"rater_type": "human"})
picture = js.plot.confusion(result)

# %% risk_coverage
result = js.abstention_threshold(sure, alpha=0.25)
picture = js.plot.risk_coverage(result)

# %% fit_diagnostics
winner = verdicts["first"].where(verdicts["choice"] == "first", verdicts["second"]).mask(verdicts["choice"] == "tie")
marked = verdicts.assign(
    correct=(winner == verdicts["gold"]).astype(int), longer=verdicts["gold"] == verdicts["target"]
)
result = js.fit("correct ~ strategy * judge + longer * judge + (1|item)", marked)
picture = js.plot.fit_diagnostics(result)

# %% scaled_residuals
ties = verdicts.assign(tie=(verdicts["choice"] == "tie").astype(int))
picture = js.plot.scaled_residuals(js.fit("tie ~ judge + (1|item)", ties), by="item")

# %% specifications
result = js.specifications(verdicts[verdicts["strategy"] == "B0"])
picture = js.plot.specifications(result)

# %% posterior_intervals
picture = js.plot.posterior_intervals(posterior, variables=["severity", "self_preference"])

# %% predictive
picture = js.plot.predictive(posterior)
