# Standard errors and degrees of freedom of shares and of differences of shares: clubSandwich's CR2 of lm(y ~ 0 + part).
# Rscript tests/reference/cluster_robust.R > tests/reference/cluster_robust.csv
suppressMessages(library(clubSandwich))
cat("# ", R.version.string, "; clubSandwich ", as.character(packageVersion("clubSandwich")), "\n", sep = "")
cat("set,cluster,part,k,n,contrast,estimate,std_error,df\n")
sizes <- list(
  equal = rep(10, 30), two_heavy = c(100, 100, rep(4, 28)), one_heavy = c(200, rep(5, 59)), three = c(3, 40, 7),
  two = c(5, 9), ladder = 1:15, single_calls = rep(1, 25), pairs = rep(c(2, 30), 6), halves = c(60, 60, 1, 1, 1, 1), nine = c(12, 3, 8, 8, 90, 2, 4, 7, 1)
)
set.seed(31)
for (name in names(sizes)) {
  n <- sizes[[name]]
  rate <- rbeta(length(n), 2, 1)
  d <- do.call(rbind, lapply(seq_along(n), function(g) {
    first <- if (g %% 3 == 0) n[g] else (n[g] + 1) %/% 2
    data.frame(cluster = g, part = rep(c("a", "b"), c(first, n[g] - first)), y = rbinom(n[g], 1, rate[g]))
  }))
  if (name == "three") d$part <- "a"
  both <- length(unique(d$part)) == 2
  fits <- list(whole = lm(y ~ 1, d))
  if (both) fits$difference <- lm(y ~ part, d)
  for (contrast in names(fits)) {
    fit <- fits[[contrast]]
    test <- coef_test(fit, vcov = "CR2", cluster = d$cluster, test = "Satterthwaite")
    last <- test[nrow(test), ]
    cells <- aggregate(cbind(k = y, n = 1) ~ cluster + part, d, sum)
    numbers <- sprintf("%.12g", c(last$beta, last$SE, last$df_Satt))
    rows <- with(cells, paste(name, cluster, part, k, n, contrast, sep = ","))
    writeLines(paste(rows, paste(numbers, collapse = ","), sep = ","))
  }
}
