# Confusion tables, likelihood and odds ratios, and areas under ROC curves, for tests/metrics/test_classification.py and
# tests/metrics/test_detection.py. Rscript classification.R, from this folder: writes classification.csv, detection.csv.
suppressMessages({library(caret); library(epiR); library(pROC)})
options(digits = 17)
header <- sprintf("# %s, caret %s, epiR %s, pROC %s", R.version.string, packageVersion("caret"), packageVersion("epiR"), packageVersion("pROC"))
rows <- list()
add <- function(table, source, term, class, estimate, low = NA, high = NA)
  rows[[length(rows) + 1]] <<- data.frame(table, source, term, class, estimate, low, high)
tables <- list(two = matrix(c(70, 4, 10, 16), 2, dimnames = list(c("safe", "unsafe"), c("safe", "unsafe"))),
  rare = matrix(c(190, 3, 2, 5), 2, dimnames = list(c("no", "yes"), c("no", "yes"))),
  three = matrix(c(50, 6, 4, 8, 30, 5, 1, 4, 12), 3, dimnames = list(c("a", "b", "c"), c("a", "b", "c"))))
for (name in names(tables)) {
  t <- tables[[name]]   # rows: answers, columns: reference
  for (class in colnames(t)) {
    two <- matrix(c(t[class, class], sum(t[, class]) - t[class, class], sum(t[class, ]) - t[class, class],
      sum(t) - sum(t[class, ]) - sum(t[, class]) + t[class, class]), 2)   # tp, fn | fp, tn
    c1 <- confusionMatrix(as.table(matrix(c(two[1, 1], two[2, 1], two[1, 2], two[2, 2]), 2, dimnames = list(c("+", "-"), c("+", "-")))), positive = "+")
    by <- c1$byClass
    add(name, "caret", "sensitivity", class, by[["Sensitivity"]]); add(name, "caret", "specificity", class, by[["Specificity"]])
    add(name, "caret", "precision", class, by[["Pos Pred Value"]]); add(name, "caret", "negative_predictive_value", class, by[["Neg Pred Value"]])
    add(name, "caret", "f1", class, by[["F1"]]); add(name, "caret", "prevalence", class, by[["Prevalence"]])
    add(name, "caret", "balanced_accuracy", class, by[["Balanced Accuracy"]])
    e <- epi.tests(as.table(matrix(c(two[1, 1], two[1, 2], two[2, 1], two[2, 2]), 2, byrow = TRUE)), method = "wilson")$detail
    pick <- function(statistic, term) { r <- e[e$statistic == statistic, ]; add(name, "epiR", term, class, r$est, r$lower, r$upper) }
    pick("se", "sensitivity"); pick("sp", "specificity"); pick("pv.pos", "precision"); pick("pv.neg", "negative_predictive_value")
    pick("lr.pos", "likelihood_ratio_positive"); pick("lr.neg", "likelihood_ratio_negative"); pick("diag.or", "diagnostic_odds_ratio")
  }
}
con <- file("classification.csv", "w"); writeLines(header, con); write.csv(do.call(rbind, rows), con, row.names = FALSE, quote = FALSE); close(con)

set.seed(35)
n <- 120
y <- rbinom(n, 1, .4)
a <- round(rnorm(n, y), 1); b <- round(rnorm(n, y * .6), 1)   # ties on purpose
one <- roc(y, a, quiet = TRUE, direction = "<"); two <- roc(y, b, quiet = TRUE, direction = "<")
test <- roc.test(one, two, method = "delong", paired = TRUE)
con <- file("detection.csv", "w"); writeLines(header, con)
writeLines(sprintf("# auc %.15f %.15f variance %.15f %.15f z %.15f partial %.15f standardised %.15f", auc(one), auc(two), var(one), var(two), test$statistic,
  as.numeric(auc(one, partial.auc = c(1, .8))), as.numeric(auc(one, partial.auc = c(1, .8), partial.auc.correct = TRUE))), con)
write.csv(data.frame(y, a, b), con, row.names = FALSE, quote = FALSE); close(con)
