# Models without random effects by R's glm() and lm(), marginal ones by geepack: Rscript tests/reference/engines.R writes engines.csv beside it.
# Data: tests/reference/models (cbpp, sleepstudy).
script <- sub("^--file=", "", grep("^--file=", commandArgs(FALSE), value = TRUE))
here <- dirname(normalizePath(script))
read <- function(name) read.csv(file.path(here, "models", paste0(name, ".csv")))
cbpp <- read("cbpp"); cbpp$period <- factor(cbpp$period)
sleepstudy <- read("sleepstudy")
sleepstudy$w <- 1 + sleepstudy$Days %% 3
tight <- glm.control(epsilon = 1e-14, maxit = 100)
fits <- list(
  logit = glm(cbind(incidence, size - incidence) ~ period, binomial, cbpp, control = tight),
  probit = glm(cbind(incidence, size - incidence) ~ period, binomial("probit"), cbpp, control = tight),
  poisson = glm(incidence ~ period + offset(log(size)), poisson, cbpp, control = tight),
  gaussian = glm(Reaction ~ Days, gaussian, sleepstudy),
  weighted = lm(Reaction ~ Days, sleepstudy, weights = w))
rows <- do.call(rbind, lapply(names(fits), function(m) {
  f <- fits[[m]]
  s <- if (inherits(f, "glm")) sqrt(summary(f)$dispersion) else summary(f)$sigma
  rbind(data.frame(model = m, term = c("Intercept", gsub("period([234])", "period[\\1]", names(coef(f))[-1])),
                   estimate = unname(coef(f)), std_error = unname(sqrt(diag(vcov(f))))),
        data.frame(model = m, term = c("loglik", "aic", "bic", "sigma"), std_error = NA,
                   estimate = c(as.numeric(logLik(f)), AIC(f), BIC(f), s)))
}))
# Marginal models by geepack, exchangeable within clusters, robust standard errors; a call in each row, clusters together.
suppressMessages(library(geepack))
k <- cbind(cbpp$incidence, cbpp$size - cbpp$incidence)
calls <- cbpp[rep(seq_len(nrow(cbpp)), cbpp$size), c("herd", "period")]
calls$y <- unlist(lapply(seq_len(nrow(k)), function(i) rep(c(1, 0), k[i, ])))
calls <- calls[order(calls$herd), ]
exact <- geese.control(epsilon = 1e-12, maxit = 200)
marginal <- list(
  gee_logit = geeglm(y ~ period, binomial, calls, id = herd, corstr = "exchangeable", control = exact),
  gee_poisson = geeglm(incidence ~ period + offset(log(size)), poisson, cbpp[order(cbpp$herd), ], id = herd, corstr = "exchangeable", control = exact),
  gee_gaussian = geeglm(Reaction ~ Days, gaussian, sleepstudy, id = Subject, corstr = "exchangeable", control = exact))
rows <- rbind(rows, do.call(rbind, lapply(names(marginal), function(m) {
  f <- marginal[[m]]
  rbind(data.frame(model = m, term = c("Intercept", gsub("period([234])", "period[\\1]", names(coef(f))[-1])),
                   estimate = unname(coef(f)), std_error = summary(f)$coefficients[, 2]),
        data.frame(model = m, term = "correlation", estimate = unname(f$geese$alpha), std_error = NA))
})))
path <- file.path(here, "engines.csv")
writeLines(paste0("# R ", getRversion(), ", stats, geepack ", packageVersion("geepack")), path)
suppressWarnings(write.table(format(rows, digits = 15, trim = TRUE), path, sep = ",", append = TRUE, row.names = FALSE, quote = FALSE))
