# Intraclass correlations of psych::ICC for tests/metrics/test_intraclass.py and tests/real/test_icc_real.py.
# Run here: Rscript icc.R <folder of the public verdicts>. Writes icc_e1.csv, icc_trec.csv, icc_trec_head.csv.
suppressMessages({library(psych); library(lme4)})
options(digits = 17)
real <- commandArgs(trailingOnly = TRUE)[1]
header <- sprintf("# %s, psych %s, lme4 %s", R.version.string, packageVersion("psych"), packageVersion("lme4"))
write_result <- function(result, path, note) {
  table <- result$results[, c("type", "ICC", "F", "df1", "df2", "p", "lower bound", "upper bound")]
  names(table) <- c("type", "icc", "F", "df1", "df2", "p", "low", "high")
  con <- file(path, "w")
  writeLines(c(header, paste("#", note)), con)
  write.csv(format(table, digits = 17, trim = TRUE), con, row.names = FALSE, quote = FALSE)
  close(con)
}
sf <- matrix(c(9, 2, 5, 8, 6, 1, 3, 2, 8, 4, 6, 8, 7, 1, 2, 6, 10, 5, 6, 9, 6, 2, 4, 7), ncol = 4, byrow = TRUE)
write_result(ICC(sf, lmer = FALSE), "icc_e1.csv", "Shrout & Fleiss 1979, 6 x 4")
labels <- read.csv(gzfile(file.path(real, "llmjudge_trec_dl23", "labels_wide.csv.gz")), check.names = FALSE)
runs <- as.matrix(labels[, -(1:3)])
off <- which(runs < 0 | runs > 3, arr.ind = TRUE)
message(nrow(off), " labels off the scale 0 to 3 in ", length(unique(off[, 1])), " pairs, which are left out")
complete <- runs[-unique(off[, 1]), ]
# aov() would need a model matrix of thousands of subjects: lmer, which agrees on complete tables to its tolerance
head <- complete[1:40, ]
write_result(ICC(head, lmer = FALSE), "icc_trec_head.csv", "llmjudge_trec_dl23: the first 40 such pairs in the order of the file, aov")
note <- sprintf("llmjudge_trec_dl23: %d pairs x %d runs, pairs with an off-scale label left out", nrow(complete), ncol(complete))
write_result(ICC(complete, lmer = TRUE), "icc_trec.csv", note)
