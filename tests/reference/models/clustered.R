# Cluster-robust errors CR2, their degrees of freedom and joint tests (clubSandwich), and CR1 (sandwich), of scores.csv.
#
# Writes clustered.csv and console_clustered.txt. clustered.csv: model, quantity
#   coefficient   term; estimate, std_error, df (coef_test, Satterthwaite)
#   covariance    term, level: two coefficients; estimate (vcovCR)
#   F             term: name of the hypothesis; statistic, rows, df, p_value (Wald_test, HTZ)
#   cr1           term; std_error (sandwich::vcovCL, HC0 with G / (G - 1))
source(file.path(dirname(sub("^--file=", "", grep("^--file=", commandArgs(FALSE), value = TRUE))), "common.R"))
suppressMessages({library(clubSandwich); library(sandwich)})
scores <- factors(read("scores"), c("judge", "item", "topic", "strategy"))
scores$cot <- scores$cot == "TRUE"
scores$big <- as.integer(scores$judge %in% c("j6", "j7", "j8"))
scores$points <- round(scores$score)
calls <- aggregate(cbind(right = correct, n = 1) ~ judge + strategy + cot, scores, sum)
calls$big <- as.integer(calls$judge %in% c("j6", "j7", "j8"))
close_glm <- glm.control(epsilon = 1e-14, maxit = 100)

rows <- list()
add <- function(...) rows[[length(rows) + 1]] <<- data.frame(..., stringsAsFactors = FALSE)
of <- function(model, fit, cluster, pattern, cr1 = TRUE, terms = ".") {
  V <- vcovCR(fit, cluster = cluster, type = "CR2")
  s <- coef_test(fit, vcov = V, test = "Satterthwaite")
  s <- s[grepl(terms, rownames(s)), ]
  add(model = model, quantity = "coefficient", term = rownames(s), estimate = s$beta, std_error = s$SE, df = s$df_Satt)
  for (i in rownames(s)) add(model = model, quantity = "covariance", term = i, level = rownames(s), estimate = as.matrix(V)[i, rownames(s)])
  w <- Wald_test(fit, constraints = constrain_zero(pattern, reg_ex = TRUE), vcov = V, test = "HTZ")
  add(model = model, quantity = "F", term = pattern, statistic = w$Fstat, rows = w$df_num, df = w$df_denom, p_value = w$p_val)
  if (cr1) add(model = model, quantity = "cr1", term = rownames(s), std_error = sqrt(diag(vcovCL(fit, cluster, type = "HC0"))))
}
of("linear", lm(score ~ strategy + cot + big, scores), scores$judge, "^strategy")
of("linear by item", lm(score ~ strategy * cot + length, scores), scores$item, ":")
of("linear, weights", glm(score ~ strategy + big, gaussian, scores, weights = length), scores$judge, "^strategy", FALSE)
of("linear, a coefficient for each judge", lm(score ~ strategy + judge, scores), scores$topic, "^strategy", FALSE)
# what a cluster has a coefficient for is not compared: its score is 0 in clubSandwich
of("linear, a coefficient for each cluster", lm(score ~ strategy + judge, scores), scores$judge, "^strategy", FALSE, "^strategy")
of("binomial, a coefficient for each cluster", glm(correct ~ strategy + judge, binomial, scores, control = close_glm), scores$judge,
   "^strategy", FALSE, "^strategy")
of("binomial", glm(correct ~ strategy + length + big, binomial, scores, control = close_glm), scores$judge, "^strategy")
of("binomial, probit", glm(correct ~ strategy + big, binomial("probit"), scores, control = close_glm), scores$judge, "^strategy")
of("binomial, trials", glm(cbind(right, n - right) ~ strategy + cot + big, binomial, calls, control = close_glm), calls$judge, "^strategy")
of("poisson", glm(points ~ strategy + big + offset(log(length)), poisson, scores, control = close_glm), scores$judge, "^strategy")
of("mixed", lmer(score ~ strategy + big + (1 | judge), scores, control = tight_lmer), scores$judge, "^strategy", FALSE)
of("mixed, ML", lmer(score ~ strategy + big + (1 | judge), scores, REML = FALSE, control = tight_lmer), scores$judge, "^strategy", FALSE)
of("mixed, slopes", lmer(score ~ strategy + cot + (cot | judge), scores, control = tight_lmer), scores$judge, "^strategy", FALSE)
of("mixed, nested", lmer(score ~ strategy + length + (1 | topic / item), scores, control = tight_lmer), scores$topic, "^strategy", FALSE)
save_csv(rows, "clustered", c("clubSandwich", "sandwich", "lme4"))

# ---- what an R user sees --------------------------------------------------------------------------------------------
glm_scores <- glm(correct ~ strategy + big, binomial, scores)
lmer_scores <- lmer(score ~ strategy + big + (1 | judge), scores)
out <- c(paste0("# R ", getRversion(), ", ", versions(c("clubSandwich", "lme4"))),
         "# glm_scores <- glm(correct ~ strategy + big, binomial, scores)",
         "# lmer_scores <- lmer(score ~ strategy + big + (1 | judge), scores)", "")
for (call in expression(coef_test(glm_scores, vcov = "CR2", cluster = scores$judge), coef_test(lmer_scores, vcov = "CR2")))
  out <- c(out, paste(">", deparse(call, width.cutoff = 100)), sub("\\s+$", "", capture.output(print(eval(call)))), "")
writeLines(out[-length(out)], file.path(here, "console_clustered.txt"))
