# Contrasts by name, contr.helmert and contr.poly: contrasts.csv; data: scores.csv.
#
# model: the formula as this package spells it; quantity: coefficient (term as R names it), prediction in row `level` of the data, mean
# (emmeans over strategy), coding (the matrix for `level` levels; term: row,column).
source(file.path(dirname(sub("^--file=", "", grep("^--file=", commandArgs(FALSE), value = TRUE))), "common.R"))
suppressMessages(library(emmeans))
d <- factors(read("scores"), c("judge", "item", "topic", "strategy", "cot"))
coded <- function(...) { own <- list(...); for (n in names(own)) contrasts(d[[n]]) <- own[[n]](nlevels(d[[n]])); d }
fits <- list(
  "score ~ C(strategy, Helmert) * cot" = lm(score ~ strategy * cot, coded(strategy = contr.helmert)),
  "score ~ C(strategy, Poly) * C(cot, Helmert)" = lm(score ~ strategy * cot, coded(strategy = contr.poly, cot = contr.helmert)),
  "score ~ C(topic, Poly) + C(strategy, Sum)" = lm(score ~ topic + strategy, coded(topic = contr.poly, strategy = contr.sum)),
  "score ~ 0 + C(strategy, Poly) + C(topic, Helmert)" = lm(score ~ 0 + strategy + topic, coded(strategy = contr.poly, topic = contr.helmert)),
  "score ~ C(strategy, Helmert) * length + (1|judge) + (1|item)" =
    lmer(score ~ strategy * length + (1 | judge) + (1 | item), coded(strategy = contr.helmert), control = tight_lmer),
  "correct ~ C(strategy, Poly) + length + (1|judge)" = tmb(correct ~ strategy + length + (1 | judge), coded(strategy = contr.poly), binomial))
rows <- lapply(names(fits), function(m) {
  f <- fits[[m]]
  b <- if (inherits(f, "glmmTMB")) summary(f)$coefficients$cond else coef(summary(f))
  e <- as.data.frame(suppressMessages(emmeans(f, ~strategy, lmer.df = "asymptotic")))
  at <- c(1, 50, 333)
  bind(list(row(model = m, quantity = "coefficient", term = rownames(b), level = NA, estimate = unname(b[, 1]), std_error = unname(b[, 2])),
            row(model = m, quantity = "prediction", term = NA, level = at, estimate = unname(predict(f)[at]), std_error = NA),
            row(model = m, quantity = "mean", term = "strategy", level = as.character(e$strategy), estimate = e$emmean, std_error = e$SE)))
})
coding <- function(name, n) { m <- get(paste0("contr.", tolower(name)))(n); row(model = name, quantity = "coding", term = paste(base::row(m), base::col(m)), level = n, estimate = c(m), std_error = NA) }
matrices <- do.call(c, lapply(c(2, 3, 5, 12), function(n) list(coding("Helmert", n), coding("Poly", n))))
save_csv(c(rows, matrices), "contrasts", c("lme4", "glmmTMB", "emmeans"))
