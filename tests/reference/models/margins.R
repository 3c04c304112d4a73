# Average marginal effects: margins.csv, by hand (the package margins knows neither crossed effects nor integration).
#
# For a factor: the mean over the rows of P(level) - P(first level), every row set to the one level and to the other; for a number the mean
# derivative. scale "population_averaged": random effects integrated out by Gauss-Hermite, 50 nodes over a normal whose variance
# is the sum of the factors' (exact for scalar terms); "zero": random effects at 0. In probabilities, not percentage points.
# std_error: delta method over (beta, log sd) with the full covariance; the rows are taken as fixed
# and count alike (for cbpp, with one factor only, weighting by size would change nothing).
source(file.path(dirname(sub("^--file=", "", grep("^--file=", commandArgs(FALSE), value = TRUE))), "common.R"))
rows <- list()
q <- statmod::gauss.quad.prob(50, "normal")
averaged <- function(eta, sd, F) as.vector(vapply(q$nodes, function(x) F(eta + sd * x), eta + 0) %*% q$weights)
effects <- function(model, fit, formula, data, factors, numbers = character(), link = "logit") {
  F <- if (link == "logit") plogis else pnorm; f <- if (link == "logit") dlogis else dnorm
  beta <- fixef(fit)$cond; k <- length(beta)
  par <- unname(c(beta, log(vapply(VarCorr(fit)$cond, function(v) attr(v, "stddev")[[1]], 0))))
  V <- suppressWarnings(vcov(fit, full = TRUE))
  w <- rep(1 / nrow(data), nrow(data))
  # rows with equal covariates are one row with a weight
  design <- function(table) { X <- model.matrix(formula, table); key <- do.call(paste, as.data.frame(X)); list(X = X[!duplicated(key), , drop = FALSE], w = as.vector(rowsum(w, factor(key, unique(key))))) }
  at <- function(d, p, sd, curve) sum(d$w * averaged(drop(d$X %*% p[1:k]), sd, curve))
  for (scale in c("population_averaged", "zero")) {
    spread <- function(p) if (scale == "zero") 0 else sqrt(sum(exp(2 * p[-(1:k)])))
    report <- function(term, level, g) {
      J <- numDeriv::jacobian(g, par); e <- g(par); se <- sqrt(drop(J %*% V %*% t(J))); z <- e / se
      rows[[length(rows) + 1]] <<- data.frame(model = model, engine = "glmmTMB", quantity = "margin", term = term, level = level, scale = scale,
        estimate = e, std_error = se, conf_low = e - qnorm(0.975) * se, conf_high = e + qnorm(0.975) * se, statistic = z, p_value = 2 * pnorm(-abs(z)))
    }
    for (term in factors) {
      set <- lapply(levels(data[[term]]), function(l) { t <- data; t[[term]] <- factor(l, levels(data[[term]])); design(t) })
      for (i in seq_along(set)[-1])
        report(term, paste(levels(data[[term]])[i], "-", levels(data[[term]])[1]), function(p) at(set[[i]], p, spread(p), F) - at(set[[1]], p, spread(p), F))
    }
    for (term in numbers) {
      d <- design(data); column <- match(term, colnames(d$X))
      report(term, "slope", function(p) p[column] * at(d, p, spread(p), f))
    }
  }
}
cases <- cbind(incidence, size - incidence) ~ period + (1 | herd)
effects("cbpp", tmb(cases, cbpp, binomial), ~period, cbpp, "period")
effects("cbpp_probit", tmb(cases, cbpp, binomial("probit")), ~period, cbpp, "period", link = "probit")
effects("cbpp_obs", tmb(cbind(incidence, size - incidence) ~ period + (1 | herd) + (1 | obs), cbpp, binomial), ~period, cbpp, "period")
effects("wine_binary", tmb(high ~ temp * contact + (1 | judge), wine, binomial), ~ temp * contact, wine, c("temp", "contact"))
effects("wine_unbalanced", tmb(high ~ temp * contact + (1 | judge), wine_unbalanced, binomial), ~ temp * contact, wine_unbalanced, c("temp", "contact"))
verbagg <- verbagg_data()
effects("verbagg", tmb(r2 ~ Anger + Gender + btype + situ + (1 | id) + (1 | item), verbagg, binomial), ~ Anger + Gender + btype + situ,
        verbagg, c("Gender", "btype", "situ"), "Anger")

save_csv(rows, "margins", c("glmmTMB", "statmod", "numDeriv"), "in probabilities; population_averaged integrates the random effects out, zero sets them to 0")
