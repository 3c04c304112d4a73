# Confidence limits (95 %): confint.csv.
#
# method: wald; profile (of R's own functions); uniroot (glmmTMB: TMB::tmbroot); profile by hand (the deviance profiled with the
# other parameters maximised afresh at each trial value, root to 1e-7: the oracle; its engine names the objective used).
# term `sd` rows are on the scale of the standard deviation, with `group`; `cor` is the correlation.
source(file.path(dirname(sub("^--file=", "", grep("^--file=", commandArgs(FALSE), value = TRUE))), "common.R"))
source(file.path(here, "cumulative.R"))
rows <- list()
put <- function(model, engine, method, quantity, term, limits, group = NA, estimate = NA) {
  rows[[length(rows) + 1]] <<- data.frame(model = model, engine = engine, quantity = quantity, term = term, group = group, method = method,
                                          estimate = estimate, conf_low = limits[, 1], conf_high = limits[, 2], row.names = NULL)
}
profile_by_hand <- function(nll, gradient, par, se, k) {
  best <- nll(par)
  limit <- function(side) {
    others <- par[-k]
    whole <- function(v, o) append(o, v, k - 1)
    excess <- function(v) {
      o <- nlminb(others, function(o) nll(whole(v, o)), function(o) gradient(whole(v, o))[-k], control = list(rel.tol = 1e-14, eval.max = 2000, iter.max = 2000))
      others <<- o$par
      2 * (o$objective - best) - qchisq(0.95, 1)
    }
    far <- par[k] + side * 2 * se[k]
    for (i in 1:12) { there <- excess(far); if (there > 0) break; far <- far + side * se[k] }
    if (there < 0) return(NA)
    ends <- c(-qchisq(0.95, 1), there)
    if (side > 0) uniroot(excess, c(par[k], far), f.lower = ends[1], f.upper = ends[2], tol = 1e-8)$root else
      uniroot(excess, c(far, par[k]), f.lower = ends[2], f.upper = ends[1], tol = 1e-8)$root
  }
  cbind(limit(-1), limit(1))
}

# ---- cbpp -----------------------------------------------------------------------------------------------------------
cases <- cbind(incidence, size - incidence) ~ period + (1 | herd)
for (model in c("cbpp", "cbpp_probit")) {
  fit <- tmb(cases, cbpp, binomial(if (model == "cbpp") "logit" else "probit"))
  names <- names(fixef(fit)$cond)
  put(model, "glmmTMB", "wald", "fixed", names, confint(fit, parm = "beta_"), estimate = fixef(fit)$cond)
  put(model, "glmmTMB", "wald", "sd", "(Intercept)", confint(fit, parm = "theta_"), "herd")
  for (method in if (model == "cbpp") c("profile", "uniroot") else "uniroot") {
    put(model, "glmmTMB", method, "fixed", names, suppressWarnings(confint(fit, parm = "beta_", method = method)))
    put(model, "glmmTMB", method, "sd", "(Intercept)", exp(suppressWarnings(confint(fit, parm = "theta_", method = method))), "herd")
  }
  se <- sqrt(diag(suppressWarnings(vcov(fit, full = TRUE))))
  nll <- function(p) as.numeric(fit$obj$fn(p)); gradient <- function(p) as.numeric(fit$obj$gr(p))
  for (k in 1:5) {
    limits <- profile_by_hand(nll, gradient, unname(fit$fit$par), se, k)
    if (k < 5) put(model, "glmmTMB", "profile by hand", "fixed", names[k], limits) else
      put(model, "glmmTMB", "profile by hand", "sd", "(Intercept)", exp(limits), "herd")
  }
  for (engine in c("lme4", "lme4 tight")) {
    fit <- suppressMessages(glmer(cases, cbpp, family(fit), control = if (engine == "lme4") glmerControl() else tight))
    wald <- confint(fit, method = "Wald"); put(model, engine, "wald", "fixed", names, wald[names, ])
    if (model == "cbpp" || engine == "lme4") {
      p <- suppressWarnings(suppressMessages(confint(fit, method = "profile", quiet = TRUE)))
      put(model, engine, "profile", "fixed", names, p[names, ]); put(model, engine, "profile", "sd", "(Intercept)", p[".sig01", , drop = FALSE], "herd")
    }
  }
}

# ---- sleepstudy, Penicillin -----------------------------------------------------------------------------------------
linear <- function(model, fit) {
  names <- names(fixef(fit))
  p <- suppressWarnings(suppressMessages(confint(fit, method = "profile", oldNames = FALSE, quiet = TRUE)))
  put(model, "lme4", "wald", "fixed", names, confint(fit, method = "Wald")[names, , drop = FALSE], estimate = fixef(fit))
  put(model, "lme4", "profile", "fixed", names, p[names, , drop = FALSE])
  for (term in setdiff(rownames(p), names)) {
    group <- if (grepl("\\|", term)) sub(".*\\|", "", term) else "residual"
    inner <- sub("\\|.*", "", sub("^(sd|cor)_", "", term))
    if (term == "sigma") inner <- "residual"
    if (grepl("^cor_", term)) inner <- paste(rev(strsplit(inner, ".", fixed = TRUE)[[1]]), collapse = ",")
    put(model, "lme4", "profile", if (grepl("^cor_", term)) "cor" else "sd", inner, p[term, , drop = FALSE], group)
  }
}
linear("sleepstudy_reml", lmer(Reaction ~ Days + (Days | Subject), sleepstudy, control = tight_lmer))
linear("sleepstudy_ml", lmer(Reaction ~ Days + (Days | Subject), sleepstudy, REML = FALSE, control = tight_lmer))
linear("sleepstudy_uncorrelated_ml", lmer(Reaction ~ Days + (Days || Subject), sleepstudy, REML = FALSE, control = tight_lmer))
linear("penicillin_ml", lmer(diameter ~ 1 + (1 | plate) + (1 | sample), penicillin, REML = FALSE, control = tight_lmer))

# ---- wine -----------------------------------------------------------------------------------------------------------
cuts <- paste(1:4, 2:5, sep = "|"); slopes <- c("tempwarm", "contactyes")
fit <- suppressWarnings(clmm(rating ~ temp + contact + (1 | judge), data = wine, control = steps))
w <- confint(fit)
put("wine", "clmm", "wald", "threshold", cuts, w[cuts, ], estimate = fit$alpha); put("wine", "clmm", "wald", "fixed", slopes, w[slopes, ], estimate = fit$beta)
two <- clmm2(rating ~ temp + contact, random = judge, data = wine, Hess = TRUE)
p <- suppressWarnings(confint(profile(two, range = c(0.05, 4), nSteps = 40, trace = 0)))
put("wine", "clmm2", "profile", "sd", "(Intercept)", matrix(p, 1), "judge")
o_nll <- wine_cumulative()$nll; o <- minimise(o_nll, c(fit$coefficients, 0.1)); se <- sqrt(diag(solve(o$hessian)))
step <- 1e-5
gradient <- function(p) vapply(seq_along(p), function(i) { h <- replace(numeric(length(p)), i, step); (o_nll(p + h) - o_nll(p - h)) / (2 * step) }, 0)
for (k in 1:7) {
  limits <- profile_by_hand(o_nll, gradient, unname(o$par), se, k)
  if (k < 7) put("wine", "by hand", "profile by hand", if (k < 5) "threshold" else "fixed", c(cuts, slopes)[k], limits) else
    put("wine", "by hand", "profile by hand", "sd", "(Intercept)", exp(limits), "judge")
}
put("wine", "by hand", "wald", "log_sd", "(Intercept)", cbind(o$par[7] - qnorm(0.975) * se[7], o$par[7] + qnorm(0.975) * se[7]), "judge", o$par[[7]])
plain <- clm(rating ~ temp + contact, data = wine)
p <- suppressMessages(confint(plain, type = "profile")); put("wine_clm", "clm", "profile", "fixed", rownames(p), p, estimate = plain$beta[rownames(p)])
p <- confint(plain, type = "Wald"); put("wine_clm", "clm", "wald", ifelse(rownames(p) %in% cuts, "threshold", "fixed"), rownames(p), p, estimate = coef(plain)[rownames(p)])

save_csv(rows, "confint", c("lme4", "glmmTMB", "TMB", "ordinal", "numDeriv"))
