# Fits: fits.csv (estimates and information criteria) and vcov.csv (covariances of all parameters of the binomial models).
#
# engine: glmmTMB (driven to its optimum), lme4 (its defaults), lme4 tight (the same, asked to go on), clmm, clmm2, clm, polr,
# glm, by hand (cumulative.R). quantity: loglik, criterion (REML), deviance, aic, bic, n (the rows BIC counts), df, max_gradient,
# fixed, threshold (R's own parameters), cut (the thresholds themselves where those differ), sd, cor, log_sd.
source(file.path(dirname(sub("^--file=", "", grep("^--file=", commandArgs(FALSE), value = TRUE))), "common.R"))
source(file.path(here, "cumulative.R"))
suppressMessages(library(MASS))
rows <- list(); covariances <- list()
add <- function(...) rows[[length(rows) + 1]] <<- row(...)

information <- function(model, engine, fit) {
  ll <- logLik(fit)
  reml <- inherits(fit, "lmerMod") && isREML(fit)
  add(model = model, engine = engine, quantity = "loglik", estimate = as.numeric(ll))
  if (reml) add(model = model, engine = engine, quantity = "criterion", estimate = REMLcrit(fit))
  add(model = model, engine = engine, quantity = "aic", estimate = as.numeric(AIC(fit)))
  add(model = model, engine = engine, quantity = "bic", estimate = as.numeric(BIC(fit)))
  add(model = model, engine = engine, quantity = "n", estimate = as.numeric(nobs(fit)))
  add(model = model, engine = engine, quantity = "df", estimate = attr(ll, "df"))
  if (inherits(fit, "glmerMod")) add(model = model, engine = engine, quantity = "deviance", estimate = deviance(fit))
}
estimates <- function(model, engine, quantity, term, estimate, std_error = NA) {
  z <- estimate / std_error
  rows[[length(rows) + 1]] <<- data.frame(model = model, engine = engine, quantity = quantity, term = term, estimate = estimate,
                                          std_error = std_error, statistic = z, p_value = 2 * pnorm(-abs(z)), row.names = NULL)
}
spread <- function(model, engine, variances, residual = NULL) {
  for (g in names(variances)) {
    group <- sub("\\.\\d+$", "", g)
    sd <- attr(variances[[g]], "stddev"); cor <- attr(variances[[g]], "correlation")
    for (i in seq_along(sd)) add(model = model, engine = engine, quantity = "sd", term = names(sd)[i], group = group, estimate = sd[[i]])
    if (length(sd) == 2) add(model = model, engine = engine, quantity = "cor", term = paste(names(sd), collapse = ","), group = group, estimate = cor[1, 2])
  }
  if (!is.null(residual)) add(model = model, engine = engine, quantity = "sd", term = "residual", group = "residual", estimate = residual)
}
by_lme4 <- function(model, fit, engine = "lme4") {
  information(model, engine, fit)
  estimates(model, engine, "fixed", names(fixef(fit)), unname(fixef(fit)), sqrt(diag(as.matrix(vcov(fit)))))
  spread(model, engine, VarCorr(fit), if (inherits(fit, "lmerMod")) sigma(fit))
}
by_tmb <- function(model, fit, engine = "glmmTMB") {
  information(model, engine, fit)
  add(model = model, engine = engine, quantity = "max_gradient", estimate = max(abs(fit$obj$gr(fit$fit$par))))
  beta <- fixef(fit)$cond
  estimates(model, engine, "fixed", names(beta), unname(beta), sqrt(diag(vcov(fit)$cond)))
  residual <- if (family(fit)$family == "gaussian") sigma(fit)
  v <- VarCorr(fit)$cond
  spread(model, engine, v, residual)
  if (all(vapply(v, nrow, 1L) == 1) && is.null(residual)) {
    V <- suppressWarnings(vcov(fit, full = TRUE)); p <- length(beta)
    log_sd <- log(vapply(v, function(x) attr(x, "stddev")[[1]], 0))
    names <- c(names(beta), paste0("log_sd|", names(v)))
    rows[[length(rows) + 1]] <<- data.frame(model = model, engine = engine, quantity = "log_sd", term = "(Intercept)", group = names(v),
                                            estimate = unname(log_sd), std_error = sqrt(diag(V)[p + seq_along(v)]), row.names = NULL)
    covariances[[length(covariances) + 1]] <<- data.frame(model = model, engine = engine, row = rep(names, length(names)),
                                                          column = rep(names, each = length(names)), value = as.vector(V))
  }
}
by_clmm <- function(model, fit, engine) {
  information(model, engine, fit)
  se <- sqrt(diag(vcov(fit))); a <- length(fit$alpha); b <- length(fit$beta)
  estimates(model, engine, "threshold", names(fit$alpha), unname(fit$alpha), se[seq_len(a)])
  cuts <- as.matrix(fit$Theta)
  if (is.null(fit$ST) && nrow(cuts) == 1 || !is.null(fit$ST))
    estimates(model, engine, "cut", paste(1:4, 2:5, sep = "|"), as.vector(cuts))
  if (b) estimates(model, engine, "fixed", names(fit$beta), unname(fit$beta), se[a + seq_len(b)])
  if (!is.null(fit$ST)) {
    spread(model, engine, VarCorr(fit))
    add(model = model, engine = engine, quantity = "log_sd", term = "(Intercept)", group = "judge",
        estimate = log(attr(VarCorr(fit)[[1]], "stddev")[[1]]), std_error = se[[a + b + 1]])
  }
}

# ---- cbpp -----------------------------------------------------------------------------------------------------------
cases <- cbind(incidence, size - incidence) ~ period + (1 | herd)
by_tmb("cbpp", tmb(cases, cbpp, binomial))
by_tmb("cbpp_probit", tmb(cases, cbpp, binomial("probit")))
by_tmb("cbpp_obs", tmb(cbind(incidence, size - incidence) ~ period + (1 | herd) + (1 | obs), cbpp, binomial))
by_tmb("cbpp_null", tmb(cbind(incidence, size - incidence) ~ 1 + (1 | herd), cbpp, binomial))
by_tmb("cbpp_poisson", tmb(incidence ~ period + offset(log(size)) + (1 | herd), cbpp, poisson))
quiet <- function(...) suppressMessages(suppressWarnings(glmer(...)))
for (engine in c("lme4", "lme4 tight")) {
  how <- if (engine == "lme4") glmerControl() else tight
  by_lme4("cbpp", quiet(cases, cbpp, binomial, control = how), engine)
  by_lme4("cbpp_probit", quiet(cases, cbpp, binomial("probit"), control = how), engine)
  by_lme4("cbpp_obs", quiet(cbind(incidence, size - incidence) ~ period + (1 | herd) + (1 | obs), cbpp, binomial, control = how), engine)
  by_lme4("cbpp_null", quiet(cbind(incidence, size - incidence) ~ 1 + (1 | herd), cbpp, binomial, control = how), engine)
  by_lme4("cbpp_poisson", quiet(incidence ~ period + offset(log(size)) + (1 | herd), cbpp, poisson, control = how), engine)
  for (k in c(2, 5, 9, 25)) by_lme4(paste0("cbpp_agq", k), quiet(cases, cbpp, binomial, nAGQ = k, control = how), engine)
}

# adaptive quadrature by hand: a binomial is a cumulative model of two categories, so each animal is a row
animals <- cbpp[rep(seq_len(nrow(cbpp)), cbpp$size), ]
animals$y <- unlist(Map(function(k, n) rep(2:1, c(k, n - k)), cbpp$incidence, cbpp$size))
X <- model.matrix(~period, animals); constant <- sum(lchoose(cbpp$size, cbpp$incidence))
for (link in c("logit", "probit")) for (k in c(1, 2, 5, 9, 25)) {
  o <- minimise(cumulative(animals$y, -X, -X, animals$herd, link, k)$nll, c(-1, -0.5, -0.5, -0.8, -0.4))
  model <- paste0("cbpp", if (link == "probit") "_probit", if (k > 1) paste0("_agq", k))
  se <- sqrt(diag(solve(o$hessian)))
  add(model = model, engine = "by hand", quantity = "loglik", estimate = constant - o$value)
  add(model = model, engine = "by hand", quantity = "max_gradient", estimate = max(abs(o$gradient)))
  estimates(model, "by hand", "fixed", colnames(X), o$par[1:4], se[1:4])
  add(model = model, engine = "by hand", quantity = "sd", term = "(Intercept)", group = "herd", estimate = exp(o$par[5]))
  add(model = model, engine = "by hand", quantity = "log_sd", term = "(Intercept)", group = "herd", estimate = o$par[5], std_error = se[5])
}

# ---- VerbAgg, grouseticks -------------------------------------------------------------------------------------------
verbagg <- verbagg_data()
main <- r2 ~ Anger + Gender + btype + situ + (1 | id) + (1 | item)
by_tmb("verbagg", tmb(main, verbagg, binomial))
by_tmb("verbagg_interaction", tmb(r2 ~ Anger + Gender * btype + situ + (1 | id) + (1 | item), verbagg, binomial))
by_lme4("verbagg", quiet(main, verbagg, binomial))
by_lme4("verbagg_nagq0", quiet(main, verbagg, binomial, nAGQ = 0))
by_lme4("verbagg_lmm_reml", lmer(y ~ Anger + Gender + btype + situ + (1 | id) + (1 | item), verbagg, control = tight_lmer))
by_lme4("verbagg_lmm_ml", lmer(y ~ Anger + Gender + btype + situ + (1 | id) + (1 | item), verbagg, REML = FALSE, control = tight_lmer))
grouseticks <- grouseticks_data()
ticks <- TICKS ~ YEAR + cHEIGHT + (1 | BROOD) + (1 | INDEX) + (1 | LOCATION)
by_tmb("grouseticks", tmb(ticks, grouseticks, poisson))
by_lme4("grouseticks", quiet(ticks, grouseticks, poisson))

# ---- linear ---------------------------------------------------------------------------------------------------------
for (reml in c(TRUE, FALSE)) {
  how <- if (reml) "reml" else "ml"
  linear <- function(formula, data) lmer(formula, data, REML = reml, control = tight_lmer)
  by_lme4(paste0("sleepstudy_", how), linear(Reaction ~ Days + (Days | Subject), sleepstudy))
  by_lme4(paste0("sleepstudy_uncorrelated_", how), linear(Reaction ~ Days + (Days || Subject), sleepstudy))
  by_lme4(paste0("sleepstudy_intercept_", how), linear(Reaction ~ Days + (1 | Subject), sleepstudy))
  by_lme4(paste0("penicillin_", how), linear(diameter ~ 1 + (1 | plate) + (1 | sample), penicillin))
}
by_tmb("sleepstudy_ml", tmb(Reaction ~ Days + (Days | Subject), sleepstudy, gaussian))
by_tmb("penicillin_ml", tmb(diameter ~ 1 + (1 | plate) + (1 | sample), penicillin, gaussian))

# ---- wine, binomial -------------------------------------------------------------------------------------------------
by_tmb("wine_binary", tmb(high ~ temp * contact + (1 | judge), wine, binomial))
by_tmb("wine_binary_main", tmb(high ~ temp + contact + (1 | judge), wine, binomial))
by_tmb("wine_unbalanced", tmb(high ~ temp * contact + (1 | judge), wine_unbalanced, binomial))
by_lme4("wine_binary", quiet(high ~ temp * contact + (1 | judge), wine, binomial, control = tight), "lme4 tight")

# ---- ordinal --------------------------------------------------------------------------------------------------------
ratings <- rating ~ temp + contact + (1 | judge)
mixed <- function(...) suppressWarnings(clmm(..., control = steps))
by_clmm("wine", mixed(ratings, data = wine), "clmm")
by_clmm("wine_agq10", mixed(ratings, data = wine, nAGQ = 10), "clmm")
by_clmm("wine_probit", mixed(ratings, data = wine, link = "probit"), "clmm")
by_clmm("wine_symmetric", mixed(ratings, data = wine, threshold = "symmetric"), "clmm")
by_clmm("wine_equidistant", mixed(ratings, data = wine, threshold = "equidistant"), "clmm")
by_clmm("wine_interaction", mixed(rating ~ temp * contact + (1 | judge), data = wine), "clmm")
by_clmm("wine_temp", mixed(rating ~ temp + (1 | judge), data = wine), "clmm")
by_clmm("wine_null", mixed(rating ~ 1 + (1 | judge), data = wine), "clmm")
by_clmm("wine_crossed", mixed(rating ~ temp + contact + (1 | judge) + (1 | bottle), data = wine), "clmm")
by_clmm("wine_clm", clm(rating ~ temp + contact, data = wine), "clm")
by_clmm("wine_clm_probit", clm(rating ~ temp + contact, data = wine, link = "probit"), "clm")
by_clmm("wine_clm_nominal", clm(rating ~ temp, nominal = ~contact, data = wine), "clm")
two <- clmm2(rating ~ temp, nominal = ~contact, random = judge, data = wine, Hess = TRUE)
se <- sqrt(diag(vcov(two)))
add(model = "wine_nominal", engine = "clmm2", quantity = "loglik", estimate = as.numeric(logLik(two)))
add(model = "wine_nominal", engine = "clmm2", quantity = "aic", estimate = AIC(two))
estimates("wine_nominal", "clmm2", "threshold", names(coef(two))[1:8], unname(coef(two)[1:8]), se[1:8])
estimates("wine_nominal", "clmm2", "fixed", "tempwarm", two$beta[[1]], se[[9]])
add(model = "wine_nominal", engine = "clmm2", quantity = "sd", term = "(Intercept)", group = "judge", estimate = two$stDev[[1]])

steep <- c(-1.6, 1.5, 4.2, 6.1)
symmetric <- cbind(c(1, 1, 0, 0), c(0, 0, 1, 1), c(-1, 0, 0, 1))      # central.1, central.2, spacing.1
oracle <- function(model, start, thresholds, slopes = c("tempwarm", "contactyes"), contrast = NULL, ...) {
  o <- minimise(wine_cumulative(..., contrast = if (is.null(contrast)) diag(4) else contrast)$nll, start)
  se <- sqrt(diag(solve(o$hessian))); a <- length(thresholds); p <- length(start)
  add(model = model, engine = "by hand", quantity = "loglik", estimate = -o$value)
  add(model = model, engine = "by hand", quantity = "max_gradient", estimate = max(abs(o$gradient)))
  estimates(model, "by hand", "threshold", thresholds, o$par[1:a], se[1:a])
  if (!is.null(contrast)) estimates(model, "by hand", "cut", paste(1:4, 2:5, sep = "|"), drop(contrast %*% o$par[1:a]))
  estimates(model, "by hand", "fixed", slopes, o$par[(a + 1):(p - 1)], se[(a + 1):(p - 1)])
  add(model = model, engine = "by hand", quantity = "sd", term = "(Intercept)", group = "judge", estimate = exp(o$par[p]))
  add(model = model, engine = "by hand", quantity = "log_sd", term = "(Intercept)", group = "judge", estimate = o$par[p], std_error = se[p])
}
cuts <- paste(1:4, 2:5, sep = "|")
oracle("wine", c(steep, 3, 1.8, 0.1), cuts)
oracle("wine_agq10", c(steep, 3, 1.8, 0.1), cuts, nodes = 10)
oracle("wine_probit", c(steep / 1.7, 1.8, 1, -0.4), cuts, link = "probit")
oracle("wine_symmetric", c(1.5, 4.2, 2.5, 3, 1.8, 0.1), c("central.1", "central.2", "spacing.1"), contrast = symmetric)
oracle("wine_interaction", c(steep, 3, 1.8, 0, 0.1), cuts, c("tempwarm", "contactyes", "tempwarm:contactyes"), formula = ~ temp * contact)
oracle("wine_nominal", c(steep, -1.8, -1.8, -1.8, -1.8, 3, 0.1), c(paste0(cuts, ".(Intercept)"), paste0(cuts, ".contactyes")),
       "tempwarm", formula = ~temp, nominal = ~contact)

# ---- housing --------------------------------------------------------------------------------------------------------
for (link in c("logistic", "probit")) {
  fit <- polr(Sat ~ Infl + Type + Cont, housing, weights = Freq, Hess = TRUE, method = link, control = list(reltol = 1e-15, maxit = 1000))
  model <- if (link == "logistic") "housing" else "housing_probit"
  information(model, "polr", fit)
  se <- sqrt(diag(vcov(fit)))
  add(model = model, engine = "polr", quantity = "deviance", estimate = deviance(fit))
  estimates(model, "polr", "fixed", names(coef(fit)), unname(coef(fit)), se[names(coef(fit))])
  estimates(model, "polr", "threshold", names(fit$zeta), unname(fit$zeta), se[names(fit$zeta)])
  exact <- clm(Sat ~ Infl + Type + Cont, data = housing, weights = Freq, link = if (link == "logistic") "logit" else link)
  se <- sqrt(diag(vcov(exact)))
  information(model, "clm", exact)
  estimates(model, "clm", "fixed", names(exact$beta), unname(exact$beta), se[names(exact$beta)])
  estimates(model, "clm", "threshold", names(exact$alpha), unname(exact$alpha), se[names(exact$alpha)])
}

packages <- c("lme4", "glmmTMB", "ordinal", "MASS")
save_csv(rows, "fits", packages)
save_csv(covariances, "vcov", packages[2], "fixed effects and log sd; row and column name the parameters")
