# Fits without one level of a factor: influence.csv; data: sleepstudy.csv, scores.csv, cbpp.csv, wine.csv.
#
# model: the formula as this package spells it; engine: lme4 (its influence(), cooks.distance(), dfbetas()), glmmTMB or ordinal (a fit
# without each level by hand); level: the level left out; estimate of the fit without it, statistic its dfbetas; cooks: Cook's distance
# d' V^-1 d / p. lme4 has (k - p) / k of it, k the number of levels.
source(file.path(dirname(sub("^--file=", "", grep("^--file=", commandArgs(FALSE), value = TRUE))), "common.R"))
rows <- list()
add <- function(model, engine, group, levels, terms, estimate, dfbetas, cooks) for (i in seq_along(levels)) {
  rows <<- c(rows, list(row(model = model, engine = engine, group = group, level = levels[i], term = terms, estimate = estimate[i, ],
                            statistic = dfbetas[i, ], cooks = cooks[i])))
}
by_lme4 <- function(model, d, group) {
  fit <- lmer(as.formula(model), d, REML = TRUE, control = tight_lmer)
  i <- influence(fit, group)
  k <- nlevels(d[[group]]); p <- length(fixef(fit))
  less <- i[[paste0("fixed.effects[-", group, "]")]]  # in the order of the rows
  add(model, "lme4", group, rownames(less), names(fixef(fit)), less, dfbetas(i), cooks.distance(i) * k / (k - p))
}
by_lme4("Reaction ~ Days + (Days|Subject)", sleepstudy, "Subject")
by_lme4("Reaction ~ Days + (1|Subject)", sleepstudy, "Subject")
by_lme4("score ~ strategy + length + (1|judge) + (1|item)", factors(read("scores"), c("judge", "item", "strategy")), "judge")
by_hand <- function(model, engine, d, group, run, coefs, covariance) {
  whole <- run(d); b <- coefs(whole); V <- covariance(whole)
  levels <- levels(d[[group]])
  less <- lapply(levels, function(l) run(droplevels(d[d[[group]] != l, ])))
  estimate <- do.call(rbind, lapply(less, coefs))
  change <- sweep(estimate, 2, b)
  error <- do.call(rbind, lapply(less, function(f) sqrt(diag(covariance(f)))))
  add(model, engine, group, levels, names(b), estimate, change / error, apply(change, 1, function(x) c(x %*% solve(V) %*% x) / length(b)))
}
by_hand("cbind(incidence, size - incidence) ~ period + (1|herd)", "glmmTMB", cbpp, "herd",
        function(d) tmb(cbind(incidence, size - incidence) ~ period + (1 | herd), d, binomial), function(f) fixef(f)$cond, function(f) vcov(f)$cond)
by_hand("incidence ~ period + (1|herd)", "glmmTMB", cbpp, "herd", function(d) tmb(incidence ~ period + (1 | herd), d, poisson), function(f) fixef(f)$cond, function(f) vcov(f)$cond)
by_hand("rating ~ temp + contact + (1|judge)", "ordinal", wine, "judge", function(d) clmm(rating ~ temp + contact + (1 | judge), data = d, control = steps),
        function(f) c(f$beta, f$alpha), function(f) { n <- c(names(f$beta), names(f$alpha)); vcov(f)[n, n] })
columns <- c(columns, "cooks")
save_csv(rows, "influence", c("lme4", "glmmTMB", "ordinal"))
