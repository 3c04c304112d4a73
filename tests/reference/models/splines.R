# Splines in formulas: R's splines and mgcv, unpenalised. Writes splines.csv; data: scores.csv, score by length.
#
# model: the spline as this package spells it; quantity: loglik, or prediction at `level`, which lies in the data or beyond
suppressMessages({library(splines); library(mgcv)})
script <- sub("^--file=", "", grep("^--file=", commandArgs(FALSE), value = TRUE))
folder <- dirname(normalizePath(script))
d <- read.csv(file.path(folder, "scores.csv"))
ends <- range(d$length)
inner <- quantile(d$length, c(0.2, 0.4, 0.6, 0.8), names = FALSE)
fits <- list(
  "bs(length)" = lm(score ~ bs(length), d),
  "bs(length, df=5)" = lm(score ~ bs(length, df = 5), d),
  "bs(length, knots=[2.5, 3.5])" = lm(score ~ bs(length, knots = c(2.5, 3.5)), d),
  "cr(length, df=4)" = lm(score ~ ns(length, df = 4), d),
  "cr(length, knots=[2.5, 3.5])" = gam(score ~ s(length, bs = "cr", k = 4, fx = TRUE), data = d, knots = list(length = c(ends[1], 2.5, 3.5, ends[2])), method = "ML"),
  "cc(length, df=4)" = gam(score ~ s(length, bs = "cc", k = 6, fx = TRUE), data = d, knots = list(length = c(ends[1], inner, ends[2])), method = "ML"),
  "tp(length, df=3)" = gam(score ~ s(length, bs = "tp", k = 4, fx = TRUE), data = d, method = "ML"),
  "tp(length, df=5)" = gam(score ~ s(length, bs = "tp", k = 6, fx = TRUE), data = d, method = "ML"))
rows <- do.call(rbind, lapply(names(fits), function(m) {
  f <- fits[[m]]
  at <- if (grepl("^bs", m)) c(2.2, 3, 4) else c(2.2, 3, 4, 5)
  rss <- sum(residuals(f)^2); n <- nrow(d)
  rbind(data.frame(model = m, quantity = "loglik", level = NA, estimate = -n / 2 * (log(2 * pi * rss / n) + 1)),
        data.frame(model = m, quantity = "prediction", level = at, estimate = as.numeric(predict(f, data.frame(length = at)))))
}))
path <- file.path(folder, "splines.csv")
writeLines(paste0("# R ", getRversion(), ", splines, mgcv ", packageVersion("mgcv")), path)
suppressWarnings(write.table(rows, path, sep = ",", append = TRUE, row.names = FALSE, qmethod = "double"))
