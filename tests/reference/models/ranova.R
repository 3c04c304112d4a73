# Tests of random terms: ranova.csv; data: sleepstudy.csv, penicillin.csv, scores.csv, cbpp.csv, wine.csv.
#
# model: the formula as this package spells it; engine: lmerTest (ranova), glmmTMB or ordinal (log-likelihoods of the models with and
# without a term); term: the row, as ranova names it; df, loglik, aic of the model without it, statistic and p_value.
source(file.path(dirname(sub("^--file=", "", grep("^--file=", commandArgs(FALSE), value = TRUE))), "common.R"))
scores <- factors(read("scores"), c("judge", "item", "topic", "strategy", "cot"))
linear <- list(
  "Reaction ~ Days + (Days|Subject)" = sleepstudy, "Reaction ~ Days + (1|Subject)" = sleepstudy, "diameter ~ 1 + (1|plate) + (1|sample)" = penicillin,
  "score ~ strategy + length + (strategy|judge) + (1|item)" = scores, "score ~ strategy + (0 + strategy|judge) + (1|item)" = scores,
  "score ~ strategy + (cot * length|judge)" = scores, "score ~ strategy + (0 + length|judge) + (1|item)" = scores)
rows <- list()
for (reml in c(TRUE, FALSE)) for (m in names(linear)) {
  if (!reml && grepl("cot * length", m, fixed = TRUE)) next
  d <- linear[[m]]
  t <- as.data.frame(suppressWarnings(suppressMessages(lmerTest::ranova(lmerTest::lmer(as.formula(m), d, REML = reml, control = tight_lmer)))))
  rows <- c(rows, list(row(model = m, engine = "lmerTest", method = if (reml) "REML" else "ML", term = rownames(t), df = t$Df, loglik = t$logLik, aic = t$AIC, statistic = t$LRT,
                           p_value = t[["Pr(>Chisq)"]])))
}
by_hand <- function(m, engine, whole, less) {
  l <- vapply(less, logLik, 0); df <- attr(logLik(whole), "df") - vapply(less, function(f) attr(logLik(f), "df"), 0); x <- 2 * (c(logLik(whole)) - l)
  rows <<- c(rows, list(row(model = m, engine = engine, method = "ML", term = names(less), df = df, loglik = l, aic = vapply(less, AIC, 0), statistic = x,
                            p_value = pchisq(x, df, lower.tail = FALSE))))
}
b <- function(f) tmb(f, scores, binomial)
by_hand("correct ~ strategy + (1 + length|judge) + (1|item)", "glmmTMB", b(correct ~ strategy + (1 + length | judge) + (1 | item)), list(
  "length in (1 + length | judge)" = b(correct ~ strategy + (1 | judge) + (1 | item)), "(1 | item)" = b(correct ~ strategy + (1 + length | judge))))
p <- function(f) tmb(f, cbpp, poisson)
by_hand("incidence ~ period + (1|herd) + (1|obs)", "glmmTMB", p(incidence ~ period + (1 | herd) + (1 | obs)), list(
  "(1 | herd)" = p(incidence ~ period + (1 | obs)), "(1 | obs)" = p(incidence ~ period + (1 | herd))))
by_hand("rating ~ temp + contact + (1|judge)", "ordinal", clmm(rating ~ temp + contact + (1 | judge), data = wine, control = steps),
        list("(1 | judge)" = clm(rating ~ temp + contact, data = wine)))
columns <- c(columns, "loglik", "aic")
save_csv(rows, "ranova", c("lme4", "lmerTest", "glmmTMB", "ordinal"))
