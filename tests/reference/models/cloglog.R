# The complementary log-log link: cloglog.csv; data: scores.csv, cbpp.csv, wine.csv.
#
# quantity: loglik, fixed (thresholds among them), sd (of the random intercept), mean (emmeans, type = "response" or mode = "prob": level is the
# category). glm has expected information in its errors, glmmTMB, clm and clmm the observed one. glmer is by 25 nodes; its logLik then lacks
# a constant, and is left out. clmm of ordinal 2022.11-16 has the two names exchanged: what clm fits by link = "cloglog", it fits by "loglog"
# (without random effects the log-likelihoods show it), and emmeans takes its names as clm's: no means of it. It is by 10 nodes.
source(file.path(dirname(sub("^--file=", "", grep("^--file=", commandArgs(FALSE), value = TRUE))), "common.R"))
suppressMessages(library(emmeans))
scores <- factors(read("scores"), c("judge", "item", "topic", "strategy"))
link <- binomial("cloglog"); herds <- cbind(incidence, size - incidence) ~ period + (1 | herd)
fits <- list(
  list("scores", "strategy", glm(correct ~ strategy + length, link, scores, epsilon = 1e-14)),
  list("scores", "strategy", tmb(correct ~ strategy + length, scores, link)),
  list("scores_judge", "strategy", tmb(correct ~ strategy + length + (1 | judge), scores, link)),
  list("scores_crossed", "strategy", tmb(correct ~ strategy + length + (1 | judge) + (1 | item), scores, link)),
  list("cbpp", "period", tmb(herds, cbpp, link)),
  list("cbpp", "period", glmer(herds, cbpp, link, nAGQ = 25, control = tight)),
  list("wine_clm", "temp", clm(rating ~ temp + contact, data = wine, link = "cloglog", gradTol = 1e-10)),
  list("wine", "temp", suppressWarnings(clmm(rating ~ temp + contact + (1 | judge), data = wine, link = "loglog", nAGQ = 10, control = steps))))
rows <- lapply(fits, function(own) {
  f <- own[[3]]; engine <- class(f)[1]; ordinal <- engine %in% c("clm", "clmm")
  table <- coef(summary(f)); if (engine == "glmmTMB") table <- table$cond
  sd <- switch(engine, glmmTMB = vapply(VarCorr(f)$cond, function(v) attr(v, "stddev")[[1]], 0), glmerMod = attr(VarCorr(f)[[1]], "stddev"), clmm = f$ST[[1]][1])
  if (engine != "clmm") {
  over <- if (ordinal) paste("~ rating |", own[[2]]) else paste("~", own[[2]])
  e <- as.data.frame(if (ordinal) emmeans(f, as.formula(over), mode = "prob") else emmeans(f, as.formula(over), type = "response", df = Inf))
  }
  table <- bind(list(
    if (engine != "glmerMod") row(quantity = "loglik", term = NA, level = NA, estimate = as.numeric(logLik(f)), std_error = NA),
    row(quantity = "fixed", term = rownames(table), level = NA, estimate = unname(table[, 1]), std_error = unname(table[, 2])),
    if (length(sd)) row(quantity = "sd", term = if (is.null(names(sd))) NA else names(sd), level = NA, estimate = unname(sd), std_error = NA),
    if (engine != "clmm") row(quantity = "mean", term = as.character(e[[own[[2]]]]), level = if (ordinal) as.character(e$rating) else NA, estimate = e$prob, std_error = e$SE)))
  cbind(model = own[[1]], engine = engine, table)
})
calls <- scores[order(scores$judge), ]
gee <- coef(summary(geepack::geeglm(correct ~ strategy + length, link, calls, id = judge, corstr = "exchangeable", control = geepack::geese.control(epsilon = 1e-12, maxit = 500))))
rows <- c(rows, list(row(model = "scores_judge", engine = "geeglm", quantity = "fixed", term = rownames(gee), level = NA, estimate = gee[, 1], std_error = gee[, 2])))
save_csv(rows, "cloglog", c("stats", "geepack", "lme4", "glmmTMB", "ordinal", "emmeans"))
