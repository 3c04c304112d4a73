# Gaussian models without random terms: R's lm() and emmeans. Writes lm.csv; data: the some rows of each strategy in scores.csv.
#
# model: few (12 rows, 8 residual degrees of freedom), weighted (60 rows, weights `w`)
# quantity
#   coefficient   term; estimate, std_error, statistic t, df, p_value, limits
#   prediction    level: row of the data; estimate, std_error, df, limits
#   mean          level of strategy; contrast: of two, method the adjustment (tukey)
#   F             term of Anova type II (drop1); statistic, rows, df, p_value
#   chi2          term of a likelihood-ratio test; statistic, rows, p_value
#   loglik, aic, bic, sigma   estimate; df (parameters, residual)
suppressMessages(library(emmeans))
script <- sub("^--file=", "", grep("^--file=", commandArgs(FALSE), value = TRUE))
folder <- dirname(normalizePath(script))
scores <- read.csv(file.path(folder, "scores.csv"))
scores$strategy <- factor(scores$strategy)
first <- function(n) do.call(rbind, lapply(split(scores, scores$strategy), function(s) s[20 * seq_len(n / 2) + rep(0:1, each = n / 2), ]))
few <- first(4)
more <- first(20)
more$w <- 1 + seq_len(60) %% 3
fits <- list(few = lm(score ~ strategy + length, few), weighted = lm(score ~ strategy + length, more, weights = w))
rows <- list()
add <- function(model, quantity, ...) {
  row <- data.frame(model = model, quantity = quantity, ..., stringsAsFactors = FALSE)
  blank <- c("term", "level", "method", "estimate", "std_error", "statistic", "rows", "df", "p_value", "conf_low", "conf_high")
  row[setdiff(blank, names(row))] <- NA
  rows[[length(rows) + 1]] <<- row[c("model", "quantity", blank)]
}
for (m in names(fits)) {
  f <- fits[[m]]; s <- summary(f)$coefficients; ci <- confint(f); df <- df.residual(f)
  add(m, "coefficient", term = rownames(s), estimate = s[, 1], std_error = s[, 2], statistic = s[, 3], df = df, p_value = s[, 4],
      conf_low = ci[, 1], conf_high = ci[, 2])
  p <- predict(f, head(f$model, 3), se.fit = TRUE, interval = "confidence")
  add(m, "prediction", level = 1:3, estimate = p$fit[, 1], std_error = p$se.fit, df = df, conf_low = p$fit[, 2], conf_high = p$fit[, 3])
  e <- emmeans(f, "strategy"); t <- summary(e)
  add(m, "mean", level = as.character(t$strategy), estimate = t$emmean, std_error = t$SE, df = t$df, conf_low = t$lower.CL, conf_high = t$upper.CL)
  t <- summary(pairs(e), infer = TRUE, adjust = "tukey")
  add(m, "contrast", level = as.character(t$contrast), method = "tukey", estimate = t$estimate, std_error = t$SE, statistic = t$t.ratio,
      df = t$df, p_value = t$p.value, conf_low = t$lower.CL, conf_high = t$upper.CL)
  d <- drop1(f, test = "F")[-1, ]
  add(m, "F", term = rownames(d), statistic = d[["F value"]], rows = d$Df, df = df, p_value = d[["Pr(>F)"]])
  for (t in c("strategy", "length")) {
    less <- update(f, paste(". ~ . -", t)); x <- 2 * as.numeric(logLik(f) - logLik(less)); k <- attr(logLik(f), "df") - attr(logLik(less), "df")
    add(m, "chi2", term = t, statistic = x, rows = k, p_value = pchisq(x, k, lower.tail = FALSE))
  }
  add(m, c("loglik", "aic", "bic", "sigma"), estimate = c(as.numeric(logLik(f)), AIC(f), BIC(f), sigma(f)), df = c(rep(attr(logLik(f), "df"), 3), df))
}
path <- file.path(folder, "lm.csv")
writeLines(paste0("# R ", getRversion(), ", stats, emmeans ", packageVersion("emmeans")), path)
suppressWarnings(write.table(format(do.call(rbind, rows), digits = 15, trim = TRUE), path, sep = ",", append = TRUE, row.names = FALSE, quote = FALSE))
