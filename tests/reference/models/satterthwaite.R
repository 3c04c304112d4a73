# Satterthwaite's degrees of freedom of linear mixed models (lmerTest, emmeans), and logical columns (lme4).
#
# Writes satterthwaite.csv, logicals.csv and console_lmertest.txt, and the data of the first two: scores.csv, drawn here. 8 judges score the answers to
# 24 items of 6 topics under 3 strategies, with and without a chain of thought (cot, logical); 40 % of the calls are left
# out at random, so that judges, items and strategies are crossed and unbalanced.
#
# satterthwaite.csv: model, method (REML, ML), quantity
#   coefficient   term; estimate, std_error, statistic t, df, p_value, limits
#   F             term: name of the hypothesis; statistic F, rows (numerator), df (denominator), p_value
#   mean          term: the factor, level: its level; by emmeans
#   contrast      the same, adjust: the adjustment of p_value and limits
# logicals.csv: model, quantity (coefficient, sd, loglik, residual), term, estimate, std_error
source(file.path(dirname(sub("^--file=", "", grep("^--file=", commandArgs(FALSE), value = TRUE))), "common.R"))
suppressMessages({library(lmerTest); library(emmeans)})
emm_options(lmer.df = "satterthwaite")

# ---- data -----------------------------------------------------------------------------------------------------------
set.seed(31)
scores <- expand.grid(judge = sprintf("j%d", 1:8), item = sprintf("i%02d", 1:24), strategy = c("B0", "S1", "S8"),
                      cot = c(FALSE, TRUE), stringsAsFactors = FALSE)
scores$topic <- sprintf("t%d", (as.integer(factor(scores$item)) - 1) %/% 4 + 1)
scores$length <- round(rnorm(24, 3, 0.6), 2)[as.integer(factor(scores$item))]
severity <- rnorm(8, 0, 0.7); moved <- rnorm(8, 0, 0.5); worth <- rnorm(24, 0, 0.5); field <- rnorm(6, 0, 0.6)
j <- as.integer(factor(scores$judge)); i <- as.integer(factor(scores$item)); t <- as.integer(factor(scores$topic))
mean <- 5 + 0.3 * (scores$strategy == "S1") + 0.6 * (scores$strategy == "S8") + (0.4 + moved[j]) * scores$cot +
  0.2 * (scores$strategy == "S8") * scores$cot + severity[j] + worth[i] + field[t] + 0.2 * scores$length
scores$score <- round(mean + rnorm(nrow(scores), 0, 0.8), 3)
scores$correct <- as.integer(scores$score + rlogis(nrow(scores)) > 6)
scores <- scores[sort(sample(nrow(scores), round(0.6 * nrow(scores)))), ]
write.csv(scores, file.path(here, "scores.csv"), row.names = FALSE, quote = TRUE)

# ---- degrees of freedom ---------------------------------------------------------------------------------------------
rows <- list()
add <- function(...) rows[[length(rows) + 1]] <<- data.frame(..., stringsAsFactors = FALSE)
coefficients_of <- function(fit, model, method) {
  s <- coef(summary(fit, ddf = "Satterthwaite")); q <- qt(0.975, s[, "df"])
  add(model = model, quantity = "coefficient", method = method, term = rownames(s), estimate = s[, 1], std_error = s[, 2],
      statistic = s[, "t value"], df = s[, "df"], p_value = s[, 5], conf_low = s[, 1] - q * s[, 2], conf_high = s[, 1] + q * s[, 2])
}
joint <- function(fit, model, method, name, pattern, L = NULL) {
  b <- names(fixef(fit))
  if (is.null(L)) L <- diag(length(b))[grepl(pattern, b), , drop = FALSE]
  a <- contestMD(fit, L)
  add(model = model, quantity = "F", method = method, term = name, statistic = a[["F value"]], rows = a[["NumDF"]], df = a[["DenDF"]],
      p_value = a[["Pr(>F)"]])
}
means <- function(fit, model, method, factor, data) {
  e <- suppressMessages(emmeans(fit, factor, data = data))
  s <- as.data.frame(summary(e, infer = TRUE))
  add(model = model, quantity = "mean", method = method, term = factor, level = as.character(s[[1]]), estimate = s$emmean, std_error = s$SE,
      df = s$df, conf_low = s$lower.CL, conf_high = s$upper.CL)
  for (adjust in c("none", "tukey", "holm", "bonferroni")) {
    s <- suppressMessages(as.data.frame(summary(pairs(e), infer = TRUE, adjust = adjust)))
    add(model = model, quantity = "contrast", method = method, term = factor, level = as.character(s$contrast), estimate = s$estimate,
        std_error = s$SE, statistic = s$t.ratio, df = s$df, p_value = s$p.value, conf_low = s$lower.CL, conf_high = s$upper.CL, adjust = adjust)
  }
}
sleepstudy$phase <- cut(sleepstudy$Days, c(-1, 2, 6, 9), c("early", "middle", "late"))
both <- function(model, formula, data, tests = list(), factors = character()) for (reml in c(TRUE, FALSE)) {
  method <- if (reml) "REML" else "ML"
  fit <- lmerTest::lmer(formula, data, REML = reml, control = tight_lmer)
  coefficients_of(fit, model, method)
  for (name in names(tests)) {
    given <- tests[[name]]
    if (is.character(given)) joint(fit, model, method, name, given) else joint(fit, model, method, name, NULL, given)
  }
  for (f in factors) means(fit, model, method, f, data)
}
both("slopes", Reaction ~ Days + (Days | Subject), sleepstudy,
     list("Days" = "Days", "both" = "."))
both("uncorrelated slopes", Reaction ~ Days + (Days || Subject), sleepstudy)
both("phases", Reaction ~ phase + (phase | Subject), sleepstudy, list("phase" = "phase"), "phase")
both("crossed", diameter ~ 1 + (1 | plate) + (1 | sample), penicillin)
both("crossed factor", diameter ~ sample + (1 | plate), penicillin, list("sample" = "sample"), "sample")
both("nested", score ~ strategy + length + (1 | topic / item), scores,
     list("strategy" = "strategy", "length" = "length", "all" = "."), "strategy")
both("unbalanced crossed", score ~ strategy + cot + length + (1 | judge) + (1 | item), scores,
     list("strategy" = "strategy", "length, cot" = "length|cot", "all" = "."), "strategy")
both("interaction", score ~ strategy * cot + (1 | judge) + (1 | item), scores,
     list("strategy:cot" = ":", "strategy" = "^strategyS.$", "all" = "."))
both("crossed slopes", score ~ strategy + cot + (cot | judge) + (1 | item), scores,
     list("strategy" = "strategy", "cot" = "cot", "cot, strategy" = "cot|strategy"), c("strategy", "cot"))
both("judge and strategy", score ~ strategy + (1 | judge) + (1 | judge:strategy) + (1 | item), scores,
     list("strategy" = "strategy"), "strategy")
both("singular", score ~ strategy + (1 | item) + (1 | item:strategy:cot), scores, list("strategy" = "strategy"))
table <- do.call(rbind, lapply(rows, function(r) {
  for (n in setdiff(c("level", "estimate", "std_error", "rows", "statistic", "conf_low", "conf_high", "p_value", "adjust"), names(r))) r[[n]] <- NA
  r[c("model", "method", "quantity", "term", "level", "estimate", "std_error", "statistic", "rows", "df", "p_value", "conf_low", "conf_high", "adjust")]
}))
save_csv(table, "satterthwaite", c("lme4", "lmerTest", "emmeans"))

# ---- logical columns ------------------------------------------------------------------------------------------------
rows <- list()
keep <- function(model, fit) {
  s <- coef(summary(fit))
  add(model = model, quantity = "coefficient", term = rownames(s), estimate = s[, 1], std_error = s[, 2])
  v <- as.data.frame(VarCorr(fit)); v <- v[is.na(v$var2) & v$grp != "Residual", ]
  if (nrow(v)) add(model = model, quantity = "sd", term = paste0(v$var1, "|", v$grp), estimate = v$sdcor, std_error = NA)
  add(model = model, quantity = "loglik", term = "", estimate = as.numeric(logLik(fit)), std_error = NA)
}
logical <- list(
  "score ~ cot + (1 | item)", "score ~ 0 + cot + (1 | item)", "score ~ 0 + strategy:cot + (1 | item)",
  "score ~ strategy * cot + (1 | item)", "score ~ strategy + strategy:cot + (1 | item)", "score ~ cot + cot:length + (1 | item)",
  "score ~ 0 + cot + cot:length + (1 | item)", "score ~ length:cot + (1 | item)",
  "score ~ cot + (0 + cot | judge)", "score ~ 0 + cot + (cot | judge)", "score ~ cot + (cot || judge)")
for (f in logical) keep(f, lme4::lmer(as.formula(f), scores, REML = FALSE, control = tight_lmer))
table <- do.call(rbind, rows)
save_csv(table, "logicals", "lme4")

# ---- what an R user sees --------------------------------------------------------------------------------------------
lmer_sleep <- lmerTest::lmer(Reaction ~ Days + (Days | Subject), sleepstudy)
out <- c(paste0("# R ", getRversion(), ", ", versions(c("lme4", "lmerTest", "emmeans"))),
         "# lmer_sleep <- lmerTest::lmer(Reaction ~ Days + (Days | Subject), sleepstudy)", "")
for (call in expression(summary(lmer_sleep), anova(lmer_sleep),
                        emmeans(lmer_sleep, ~Days, at = list(Days = c(0, 5)), lmer.df = "satterthwaite")))
  out <- c(out, paste(">", deparse(call, width.cutoff = 100)), sub("\\s+$", "", capture.output(print(eval(call)))), "")
writeLines(out[-length(out)], file.path(here, "console_lmertest.txt"))
