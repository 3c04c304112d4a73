# R² of Nakagawa: r2.csv; data: sleepstudy.csv, scores.csv, cbpp.csv, counts.csv.
#
# model: the formula as this package spells it; engine: performance (r2_nakagawa of 0.10.2) or, of counts, paper: by hand with the rate of
# Nakagawa, Johnson and Schielzeth 2017, exp(intercept + variance / 2) of the model without fixed effects, where performance has exp(intercept).
source(file.path(dirname(sub("^--file=", "", grep("^--file=", commandArgs(FALSE), value = TRUE))), "common.R"))
suppressMessages(library(performance))
scores <- factors(read("scores"), c("judge", "item", "topic", "strategy")); counts <- factors(read("counts"), c("item", "judge", "strategy"))
g <- function(f, d, family) suppressMessages(suppressWarnings(do.call("glmer", list(f, d, family, control = tight))))  # with its data: update() fits again
l <- function(f, d, reml) lmer(f, d, REML = reml, control = tight_lmer)
herds <- cbind(incidence, size - incidence) ~ period + (1 | herd)
fits <- list(
  list("Reaction ~ Days + (Days|Subject)", "gaussian", "REML", l(Reaction ~ Days + (Days | Subject), sleepstudy, TRUE)),
  list("Reaction ~ Days + (1|Subject)", "gaussian", "ML", l(Reaction ~ Days + (1 | Subject), sleepstudy, FALSE)),
  list("score ~ strategy * length + (1|judge) + (1|item)", "gaussian", "REML", l(score ~ strategy * length + (1 | judge) + (1 | item), scores, TRUE)),
  list("cbind(incidence, size - incidence) ~ period + (1|herd)", "logit", "ML", g(herds, cbpp, binomial)),
  list("cbind(incidence, size - incidence) ~ period + (1|herd)", "probit", "ML", tmb(herds, cbpp, binomial("probit"))),
  list("cbind(incidence, size - incidence) ~ period + (1|herd)", "cloglog", "ML", tmb(herds, cbpp, binomial("cloglog"))),
  list("cbind(incidence, size - incidence) ~ period + (1|herd) + (1|obs)", "logit", "ML", g(update(herds, . ~ . + (1 | obs)), cbpp, binomial)),
  list("correct ~ strategy + length + (length|judge) + (1|item)", "logit", "ML", tmb(correct ~ strategy + length + (length | judge) + (1 | item), scores, binomial)),
  list("y ~ strategy + x + (1|item)", "log", "ML", g(y ~ strategy + x + (1 | item), counts, poisson)),
  list("y ~ strategy + x + (1|item) + (1|judge)", "log", "ML", g(y ~ strategy + x + (1 | item) + (1 | judge), counts, poisson)),
  list("incidence ~ period + (1|herd)", "log", "ML", g(incidence ~ period + (1 | herd), cbpp, poisson)))
rows <- lapply(fits, function(own) {
  r <- suppressWarnings(r2_nakagawa(own[[4]])); both <- function(engine, marginal, conditional)
    row(model = own[[1]], engine = engine, quantity = own[[2]], method = own[[3]], term = c("marginal", "conditional"), estimate = unname(c(marginal, conditional)))
  table <- both("performance", r$R2_marginal, r$R2_conditional)
  if (own[[2]] == "log") {
    v <- suppressWarnings(insight::get_variance(own[[4]])); null <- insight::null_model(own[[4]])
    between <- sum(vapply(VarCorr(null), function(s) s[1], 0)); rest <- log1p(1 / exp(fixef(null)[[1]] + between / 2))
    total <- v$var.fixed + v$var.random + rest
    table <- bind(list(table, both("paper", v$var.fixed / total, (v$var.fixed + v$var.random) / total)))
  }
  table
})
save_csv(rows, "r2", c("lme4", "glmmTMB", "performance", "insight"))
