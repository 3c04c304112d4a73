# Kenward and Roger's covariance and degrees of freedom of linear mixed models (pbkrtest, lmerTest, emmeans, car).
#
# Writes kenward_roger.csv, console_kenward_roger.txt, and the data of the designs that scores.csv (satterthwaite.R) and sleepstudy.csv do not have, drawn here:
# kenward_roger_calls.csv, where 9 judges score 4 answers each of two systems (s, 0 or 1) of two lengths, and whose slopes do not
# vary between judges; and kenward_roger_counts.csv, whose rows stand for n equal ones.
#
# kenward_roger.csv: model, quantity
#   coefficient   term; estimate, std_error (adjusted), plain (not adjusted), df (Lb_ddf), satterthwaite (lmerTest)
#   covariance    term, level: two coefficients; estimate (vcovAdj)
#   F             term: name of the hypothesis; statistic, rows, df, p_value (KRmodcomp)
#   mean, contrast   by emmeans (lmer.df = "kenward-roger")
#   II            type II test of a term (car::Anova, test = "F")
source(file.path(dirname(sub("^--file=", "", grep("^--file=", commandArgs(FALSE), value = TRUE))), "common.R"))
suppressMessages({library(lmerTest); library(pbkrtest); library(emmeans); library(car)})
emm_options(lmer.df = "kenward-roger")

# ---- data -----------------------------------------------------------------------------------------------------------
scores <- factors(read("scores"), c("judge", "item", "topic", "strategy"))
scores$cot <- scores$cot == "TRUE"
sleepstudy$phase <- cut(sleepstudy$Days, c(-1, 2, 6, 9), c("early", "middle", "late"))

set.seed(51)
calls <- expand.grid(answer = 1:4, s = 0:1, judge = sprintf("j%d", 1:9), stringsAsFactors = FALSE)
calls$length <- round(rnorm(nrow(calls), 3, 0.6), 2)
calls$score <- round(5 + rnorm(9, 0, 0.8)[as.integer(factor(calls$judge))] + 0.5 * calls$s + rnorm(nrow(calls), 0, 1), 3)
calls <- calls[runif(nrow(calls)) < 0.7, ]
write.csv(calls, file.path(here, "kenward_roger_calls.csv"), row.names = FALSE, quote = TRUE)

few <- expand.grid(score = 1:5, strategy = c("B0", "S1", "S8"), judge = sprintf("j%d", 1:6), stringsAsFactors = FALSE)
mean <- 3 + rnorm(6, 0, 0.7)[as.integer(factor(few$judge))] + 0.4 * (few$strategy == "S8") + rnorm(18, 0, 0.4)[as.integer(factor(paste(few$judge, few$strategy)))]
few$n <- rpois(nrow(few), 12 * dnorm(few$score, mean, 1))
few <- few[few$n > 0, ]
write.csv(few, file.path(here, "kenward_roger_counts.csv"), row.names = FALSE, quote = TRUE)
expanded <- few[rep(seq_len(nrow(few)), few$n), ]

# ---- results --------------------------------------------------------------------------------------------------------
rows <- list()
add <- function(...) rows[[length(rows) + 1]] <<- data.frame(..., stringsAsFactors = FALSE)
of <- function(model, formula, data, tests = list(), factors = character(), second = FALSE) {
  fit <- lmerTest::lmer(formula, data, control = tight_lmer)
  b <- fixef(fit); V <- vcovAdj(fit); plain <- vcov(fit); p <- length(b)
  df <- vapply(seq_len(p), function(k) Lb_ddf(diag(p)[k, ], plain, V), 0)
  s <- coef(summary(fit, ddf = "Satterthwaite"))
  add(model = model, quantity = "coefficient", term = names(b), estimate = b, std_error = sqrt(diag(as.matrix(V))),
      plain = sqrt(diag(as.matrix(plain))), df = df, satterthwaite = s[, "df"])
  for (i in seq_len(p)) add(model = model, quantity = "covariance", term = names(b)[i], level = names(b), estimate = as.matrix(V)[i, ])
  for (name in names(tests)) {
    L <- diag(p)[grepl(tests[[name]], names(b)), , drop = FALSE]
    a <- getKR(KRmodcomp(fit, L))
    add(model = model, quantity = "F", term = name, statistic = a$Fstat, rows = a$ndf, df = a$ddf, p_value = a$p.value)
  }
  for (factor in factors) {
    e <- emmeans(fit, factor, data = data)
    m <- as.data.frame(summary(e, infer = TRUE))
    add(model = model, quantity = "mean", term = factor, level = as.character(m[[1]]), estimate = m$emmean, std_error = m$SE, df = m$df,
        conf_low = m$lower.CL, conf_high = m$upper.CL)
    m <- as.data.frame(summary(pairs(e), infer = TRUE, adjust = "none"))
    add(model = model, quantity = "contrast", term = factor, level = as.character(m$contrast), estimate = m$estimate, std_error = m$SE,
        statistic = m$t.ratio, df = m$df, p_value = m$p.value, conf_low = m$lower.CL, conf_high = m$upper.CL)
  }
  if (second) {
    a <- Anova(fit, type = 2, test.statistic = "F")
    add(model = model, quantity = "II", term = rownames(a), statistic = a[["F"]], rows = a[["Df"]], df = a[["Df.res"]], p_value = a[["Pr(>F)"]])
  }
}
of("singular slopes", score ~ s + (s | judge), calls, list("s" = "^s$", "all" = "."))
of("singular slopes and length", score ~ s * length + (s | judge), calls, list("s:length" = ":", "slopes" = "s|length", "all" = "."))
of("crossed", score ~ strategy + cot + length + (1 | judge) + (1 | item), scores,
   list("strategy" = "strategy", "length, cot" = "length|cot", "all" = "."), "strategy", second = TRUE)
of("nested", score ~ strategy + length + (1 | topic / item), scores, list("strategy" = "strategy", "all" = "."), "strategy")
of("slopes", Reaction ~ Days + (Days | Subject), sleepstudy, list("Days" = "Days", "both" = "."))
of("phases", Reaction ~ phase + (phase | Subject), sleepstudy, list("phase" = "phase", "all" = "."), "phase")
of("crossed slopes", score ~ strategy * cot + (cot | judge) + (1 | item), scores,
   list("strategy" = "^strategyS.$", "strategy:cot" = ":", "all" = "."), second = TRUE)
of("counts", score ~ strategy + (1 | judge) + (1 | judge:strategy), expanded, list("strategy" = "strategy", "all" = "."), "strategy")
columns <- c("model", "quantity", "term", "level", "estimate", "std_error", "plain", "statistic", "rows", "df", "satterthwaite", "p_value",
             "conf_low", "conf_high")
save_csv(rows, "kenward_roger", c("lme4", "lmerTest", "pbkrtest", "emmeans", "car"))

# ---- what an R user sees --------------------------------------------------------------------------------------------
lmer_calls <- lmerTest::lmer(score ~ s + (s | judge), calls)
out <- c(paste0("# R ", getRversion(), ", ", versions(c("lme4", "lmerTest", "pbkrtest"))),
         "# lmer_calls <- lmerTest::lmer(score ~ s + (s | judge), calls)", "")
for (call in expression(coef(summary(lmer_calls)), coef(summary(lmer_calls, ddf = "Kenward-Roger")), anova(lmer_calls, ddf = "Kenward-Roger")))
  out <- c(out, paste(">", deparse(call, width.cutoff = 100)), sub("\\s+$", "", capture.output(print(eval(call)))), "")
writeLines(out[-length(out)], file.path(here, "console_kenward_roger.txt"))
