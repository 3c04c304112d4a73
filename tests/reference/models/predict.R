# Predictions and random effects: predict.csv.
#
# quantity: link, response (method: `conditional` on the groups' modes, `zero` random effects, `new level`: estimate as at zero,
# std_error with the variance of a new herd added), population_averaged (random effects integrated out), ranef (modes; std_error
# with method `conditional`: from the Hessian of the random effects alone, as lme4 and clmm give it; `joint`: with the
# uncertainty of the fixed effects and variances, as glmmTMB's ranef gives it). response of clmm: the category that was chosen.
# level: the row of the data (from 1), a cell, or the level of `group`.
# Population-averaged probabilities by Gauss-Hermite, 50 nodes over the random effect; std_error by the delta method over
# (beta, log sd), limits on the probability scale and, as logit_low and logit_high, from the logit scale.
source(file.path(dirname(sub("^--file=", "", grep("^--file=", commandArgs(FALSE), value = TRUE))), "common.R"))
source(file.path(here, "cumulative.R"))
rows <- list()
put <- function(model, engine, quantity, method, level, estimate, std_error = NA, term = NA, group = NA, ...)
  rows[[length(rows) + 1]] <<- data.frame(model = model, engine = engine, quantity = quantity, term = term, level = as.character(level),
    group = group, method = method, estimate = as.vector(estimate), std_error = as.vector(std_error), row.names = NULL, ...)
modes <- function(model, fit) {       # lme4
  r <- as.data.frame(ranef(fit, condVar = TRUE))
  put(model, "lme4", "ranef", "conditional", r$grp, r$condval, r$condsd, r$term, r$grpvar)
}
modes_tmb <- function(model, fit, keep = function(r) TRUE) {
  r <- as.data.frame(ranef(fit, condVar = TRUE))
  parts <- fit$modelInfo$reTrms$cond        # the order of the modes in TMB's own vector: factor, level, term
  own <- do.call(rbind, lapply(seq_along(parts$cnms), function(i) {
    g <- names(parts$cnms)[i]; cbind(expand.grid(term = parts$cnms[[i]], grp = levels(parts$flist[[g]]), stringsAsFactors = FALSE), grpvar = g)
  }))
  key <- function(t) paste(t$grpvar, t$term, t$grp)
  place <- match(key(r), key(own)); random <- fit$obj$env$random
  stopifnot(max(abs(fit$fit$parfull[random][place] - r$condval)) < 1e-12)
  V <- solve(fit$obj$env$spHess(fit$fit$parfull, random = TRUE))
  r$own <- sqrt(Matrix::diag(V))[place]
  r <- r[keep(r), ]
  put(model, "glmmTMB", "ranef", "joint", r$grp, r$condval, r$condsd, r$term, r$grpvar)
  put(model, "glmmTMB", "ranef", "conditional", r$grp, r$condval, r$own, r$term, r$grpvar)
}

# ---- cbpp -----------------------------------------------------------------------------------------------------------
cases <- cbind(incidence, size - incidence) ~ period + (1 | herd)
fit <- tmb(cases, cbpp, binomial)
for (quantity in c("link", "response")) {
  p <- predict(fit, type = quantity, se.fit = TRUE)
  put("cbpp", "glmmTMB", quantity, "conditional", seq_len(nrow(cbpp)), p$fit, p$se.fit)
  p <- predict(fit, type = quantity, se.fit = TRUE, re.form = NA)
  put("cbpp", "glmmTMB", quantity, "zero", seq_len(nrow(cbpp)), p$fit, p$se.fit)
  new <- data.frame(herd = "new", period = factor(1:4), incidence = 0, size = 1)
  p <- suppressWarnings(predict(fit, new, type = quantity, se.fit = TRUE, allow.new.levels = TRUE))
  put("cbpp", "glmmTMB", quantity, "new level", paste0("period", 1:4), p$fit, p$se.fit)
}
modes_tmb("cbpp", fit)
f4 <- suppressMessages(glmer(cases, cbpp, binomial))
for (quantity in c("link", "response")) {
  put("cbpp", "lme4", quantity, "conditional", seq_len(nrow(cbpp)), predict(f4, type = quantity))
  put("cbpp", "lme4", quantity, "zero", seq_len(nrow(cbpp)), predict(f4, type = quantity, re.form = NA))
  put("cbpp", "lme4", quantity, "new level", paste0("period", 1:4), predict(f4, data.frame(herd = "new", period = factor(1:4)), type = quantity, allow.new.levels = TRUE))
}
modes("cbpp", f4)
modes("cbpp_agq25", suppressMessages(glmer(cases, cbpp, binomial, nAGQ = 25, control = tight)))

q <- statmod::gauss.quad.prob(50, "normal")
averaged <- function(eta, sd, F = plogis) vapply(eta, function(e) sum(q$weights * F(e + sd * q$nodes)), 0)
delta <- function(f, par, V) { J <- numDeriv::jacobian(f, par); list(estimate = f(par), std_error = sqrt(diag(J %*% V %*% t(J)))) }
averages <- function(model, engine, level, f, par, V) {
  a <- delta(f, par, V); z <- qnorm(0.975); s <- a$std_error / (a$estimate * (1 - a$estimate))
  put(model, engine, "population_averaged", "gauss-hermite 50", level, a$estimate, a$std_error,
      conf_low = a$estimate - z * a$std_error, conf_high = a$estimate + z * a$std_error,
      logit_low = plogis(qlogis(a$estimate) - z * s), logit_high = plogis(qlogis(a$estimate) + z * s))
}
X <- model.matrix(~period, data.frame(period = factor(1:4)))
for (model in c("cbpp", "cbpp_probit")) {
  F <- if (model == "cbpp") plogis else pnorm
  f <- if (model == "cbpp") fit else tmb(cases, cbpp, binomial("probit"))
  par <- c(fixef(f)$cond, log(attr(VarCorr(f)$cond$herd, "stddev")))
  averages(model, "glmmTMB", paste0("period", 1:4), function(p) averaged(X %*% p[1:4], exp(p[5]), F), unname(par), suppressWarnings(vcov(f, full = TRUE)))
}
# two crossed factors: the sum of two normals is a normal
obs <- tmb(cbind(incidence, size - incidence) ~ period + (1 | herd) + (1 | obs), cbpp, binomial)
modes_tmb("cbpp_obs", obs)
verbagg <- verbagg_data()
main <- tmb(r2 ~ Anger + Gender + btype + situ + (1 | id) + (1 | item), verbagg, binomial)
cells <- expand.grid(Anger = 20, Gender = levels(verbagg$Gender), btype = levels(verbagg$btype), situ = levels(verbagg$situ))
X <- model.matrix(~ Anger + Gender + btype + situ, cells)
par <- c(fixef(main)$cond, log(vapply(VarCorr(main)$cond, function(v) attr(v, "stddev")[[1]], 0)))
averages("verbagg", "glmmTMB", do.call(paste, c(cells, sep = ",")), function(p) averaged(X %*% p[1:6], sqrt(sum(exp(2 * p[7:8])))),
         unname(par), suppressWarnings(vcov(main, full = TRUE)))
p <- predict(main, newdata = verbagg[1:10, ], type = "response", se.fit = TRUE); put("verbagg", "glmmTMB", "response", "conditional", 1:10, p$fit, p$se.fit)
modes_tmb("verbagg", main, function(r) r$grpvar == "item" | r$grp %in% 1:20)        # all items, 20 persons

# ---- sleepstudy -----------------------------------------------------------------------------------------------------
for (reml in c(TRUE, FALSE)) {
  model <- if (reml) "sleepstudy_reml" else "sleepstudy_ml"
  f <- lmer(Reaction ~ Days + (Days | Subject), sleepstudy, REML = reml, control = tight_lmer)
  modes(model, f)
  put(model, "lme4", "response", "conditional", 1:180, predict(f)); put(model, "lme4", "response", "zero", 1:180, predict(f, re.form = NA))
}
f <- tmb(Reaction ~ Days + (Days | Subject), sleepstudy, gaussian)
modes_tmb("sleepstudy_ml", f)
for (how in c("conditional", "zero")) {
  p <- predict(f, se.fit = TRUE, re.form = if (how == "zero") NA); put("sleepstudy_ml", "glmmTMB", "response", how, 1:180, p$fit, p$se.fit)
}
modes("penicillin_reml", lmer(diameter ~ 1 + (1 | plate) + (1 | sample), penicillin, control = tight_lmer))

# ---- wine -----------------------------------------------------------------------------------------------------------
formula <- rating ~ temp + contact + (1 | judge)
for (k in c(1, 10)) {
  model <- if (k == 1) "wine" else "wine_agq10"
  f <- suppressWarnings(clmm(formula, data = wine, nAGQ = k, control = steps))
  put(model, "clmm", "ranef", "conditional", 1:9, ranef(f)$judge[, 1], sqrt(as.vector(condVar(f)$judge[, 1])), "(Intercept)", "judge")
  put(model, "clmm", "response", "conditional", 1:72, fitted(f))          # probability of the category that was chosen
  hand <- wine_cumulative(nodes = k); o <- minimise(hand$nll, c(f$coefficients, 0.1)); at <- hand$mode(o$par); s <- exp(o$par[[7]])
  put(model, "by hand", "ranef", "conditional", 1:9, s * at$u, s / sqrt(at$d2), "(Intercept)", "judge")
  cells <- expand.grid(temp = c("cold", "warm"), contact = c("no", "yes"))
  Z <- as.matrix(cbind(cells$temp == "warm", cells$contact == "yes")) * 1
  categories <- function(p, sd) {        # cell by cell, categories 1 to 5
    below <- t(vapply(seq_len(4), function(i) averaged(p[1:4] - sum(Z[i, ] * p[5:6]), sd), numeric(4)))
    as.vector(t(cbind(below, 1) - cbind(0, below)))
  }
  level <- paste(rep(do.call(paste, c(cells, sep = ",")), each = 5), 1:5, sep = ",")
  averages(model, "by hand", level, function(p) categories(p, exp(p[7])), unname(o$par), solve(o$hessian))
  a <- delta(function(p) categories(p, 0), unname(o$par), solve(o$hessian))
  put(model, "by hand", "response", "zero", level, a$estimate, a$std_error)
}
plain <- clm(rating ~ temp + contact, data = wine)
p <- predict(plain, newdata = cells, type = "prob", se.fit = TRUE)
put("wine_clm", "clm", "response", "zero", level, as.vector(t(p$fit)), as.vector(t(p$se.fit)))

save_csv(rows, "predict", c("glmmTMB", "lme4", "ordinal", "statmod", "numDeriv"))
