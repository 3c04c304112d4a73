# Marginal means and contrasts: emmeans.csv.
#
# quantity: mean, contrast; level: the cell, or "1 - 2"; term: the factor(s); scale: link, response (probabilities; contrasts
# of a logit are odds ratios there), difference of probabilities, prob, mean.class, cum.prob, exc.prob, latent for ordinal fits; method: the adjustment of p_value and
# limits; weights: of the levels averaged over. All with df = Inf (asymptotic) unless `df` says otherwise: emmeans gives
# glmmTMB's fits residual degrees of freedom by default, those are rows of engine "glmmTMB, residual df".
# std_error and limits of "holm": emmeans gives Bonferroni limits there.
# "mvt" of emmeans is a simulation good to three digits; "mvt exact" is the same quantity by mvtnorm, abseps 1e-8.
source(file.path(dirname(sub("^--file=", "", grep("^--file=", commandArgs(FALSE), value = TRUE))), "common.R"))
suppressMessages(library(emmeans))
set.seed(1)
rows <- list()
take <- function(object, model, engine, quantity, term, scale, method = "none", weights = "equal", ...) {
  s <- suppressMessages(as.data.frame(summary(object, infer = TRUE, adjust = method, ...)))
  first <- function(names) { n <- intersect(names, names(s)); if (length(n)) s[[n[1]]] else NA }
  labels <- setdiff(c(names(s)[!vapply(s, is.numeric, TRUE)], intersect("Days", names(s))), "null")
  level <- do.call(paste, c(lapply(s[labels], as.character), sep = ","))
  rows[[length(rows) + 1]] <<- data.frame(model = model, engine = engine, quantity = quantity, term = term, level = level, method = method,
    scale = scale, weights = weights,
    estimate = first(c("emmean", "prob", "odds.ratio", "estimate", "rate", "ratio", "mean.class", "cumprob", "cum.prob", "exc.prob")),
    std_error = s$SE, conf_low = first(c("asymp.LCL", "lower.CL")), conf_high = first(c("asymp.UCL", "upper.CL")),
    statistic = first(c("z.ratio", "t.ratio")), df = s$df, p_value = first("p.value"))
}
exact <- function(object, model, engine, term) {       # single-step p values and limits of all rows together
  s <- as.data.frame(summary(object)); V <- vcov(object); R <- cov2cor(V); z <- s$estimate / s$SE; k <- length(z)
  fine <- mvtnorm::GenzBretz(maxpts = 1e7, abseps = 1e-8)
  p <- vapply(abs(z), function(q) 1 - as.numeric(mvtnorm::pmvnorm(rep(-q, k), rep(q, k), corr = R, algorithm = fine)), 0)
  q <- uniroot(function(q) as.numeric(mvtnorm::pmvnorm(rep(-q, k), rep(q, k), corr = R, algorithm = fine)) - 0.95, c(1.5, 5), tol = 1e-8)$root
  rows[[length(rows) + 1]] <<- data.frame(model = model, engine = engine, quantity = "contrast", term = term, level = as.character(s$contrast),
    method = "mvt exact", scale = "link", weights = "equal", estimate = s$estimate, std_error = s$SE, conf_low = s$estimate - q * s$SE,
    conf_high = s$estimate + q * s$SE, statistic = z, df = Inf, p_value = p)
}

# ---- cbpp -----------------------------------------------------------------------------------------------------------
cases <- cbind(incidence, size - incidence) ~ period + (1 | herd)
fits <- list(glmmTMB = tmb(cases, cbpp, binomial), lme4 = suppressMessages(glmer(cases, cbpp, binomial)))
for (engine in names(fits)) {
  e <- emmeans(fits[[engine]], ~period, df = Inf)
  take(e, "cbpp", engine, "mean", "period", "link")
  take(e, "cbpp", engine, "mean", "period", "response", type = "response")
  for (method in c("tukey", "holm", "bonferroni", "none")) take(pairs(e), "cbpp", engine, "contrast", "period", "link", method)
  for (method in c("tukey", "none")) take(pairs(e), "cbpp", engine, "contrast", "period", "response", method, type = "response")
  control <- contrast(e, "trt.vs.ctrl", ref = 1)
  for (method in c("dunnettx", "mvt", "holm", "none")) take(control, "cbpp", engine, "contrast", "period", "link", method)
  exact(control, "cbpp", engine, "period")
  custom <- contrast(e, list("first against the rest" = c(1, -1, -1, -1) / c(1, 3, 3, 3), "early against late" = c(1, 1, -1, -1) / 2,
                             "linear" = c(-3, -1, 1, 3)))
  for (method in c("none", "holm")) take(custom, "cbpp", engine, "contrast", "period", "link", method)
  take(contrast(e, "eff"), "cbpp", engine, "contrast", "period", "link")
  take(contrast(e, "consec"), "cbpp", engine, "contrast", "period", "link", "none")
  # probabilities themselves contrasted (random effects at zero), by the delta method
  g <- regrid(e)
  take(contrast(g, "revpairwise"), "cbpp", engine, "contrast", "period", "difference of probabilities")
}
default <- emmeans(fits$glmmTMB, ~period)
take(default, "cbpp", "glmmTMB, residual df", "mean", "period", "link")
take(pairs(default), "cbpp", "glmmTMB, residual df", "contrast", "period", "link", "tukey")
probit <- emmeans(tmb(cases, cbpp, binomial("probit")), ~period, df = Inf)
take(probit, "cbpp_probit", "glmmTMB", "mean", "period", "link")
take(probit, "cbpp_probit", "glmmTMB", "mean", "period", "response", type = "response")
take(pairs(probit), "cbpp_probit", "glmmTMB", "contrast", "period", "link", "tukey")
poisson_fit <- emmeans(tmb(incidence ~ period + offset(log(size)) + (1 | herd), cbpp, poisson), ~period, df = Inf, offset = 0)
take(poisson_fit, "cbpp_poisson", "glmmTMB", "mean", "period", "link")
take(poisson_fit, "cbpp_poisson", "glmmTMB", "mean", "period", "response", type = "response")

# ---- two factors ----------------------------------------------------------------------------------------------------
for (model in c("wine_binary", "wine_unbalanced")) {
  fit <- tmb(high ~ temp * contact + (1 | judge), if (model == "wine_binary") wine else wine_unbalanced, binomial)
  for (weights in c("equal", "proportional")) for (over in c("temp", "contact")) {
    e <- suppressMessages(emmeans(fit, over, df = Inf, weights = weights))
    take(e, model, "glmmTMB", "mean", over, "link", "none", weights)
    take(e, model, "glmmTMB", "mean", over, "response", "none", weights, type = "response")
    take(pairs(e), model, "glmmTMB", "contrast", over, "link", "none", weights)
  }
  cells <- emmeans(fit, ~ temp * contact, df = Inf)
  take(cells, model, "glmmTMB", "mean", "temp:contact", "link")
  take(cells, model, "glmmTMB", "mean", "temp:contact", "response", type = "response")
  take(pairs(cells), model, "glmmTMB", "contrast", "temp:contact", "link", "tukey")
  take(pairs(emmeans(fit, ~ temp | contact, df = Inf)), model, "glmmTMB", "contrast", "temp|contact", "link")
  take(contrast(cells, interaction = "pairwise"), model, "glmmTMB", "contrast", "temp:contact difference of differences", "link")
}
verbagg <- verbagg_data()
fit <- tmb(r2 ~ Anger + Gender * btype + situ + (1 | id) + (1 | item), verbagg, binomial)
for (weights in c("equal", "proportional")) for (over in c("btype", "Gender", "situ")) {
  e <- suppressMessages(emmeans(fit, over, df = Inf, weights = weights))
  take(e, "verbagg_interaction", "glmmTMB", "mean", over, "link", "none", weights)
  take(e, "verbagg_interaction", "glmmTMB", "mean", over, "response", "none", weights, type = "response")
  take(pairs(e), "verbagg_interaction", "glmmTMB", "contrast", over, "link", "tukey", weights)
}
fit <- tmb(r2 ~ Anger + Gender + btype + situ + (1 | id) + (1 | item), verbagg, binomial)
take(emmeans(fit, ~btype, df = Inf), "verbagg", "glmmTMB", "mean", "btype", "link")
take(emmeans(fit, ~btype, at = list(Anger = 10), df = Inf), "verbagg", "glmmTMB", "mean", "btype at Anger=10", "link")
take(pairs(emmeans(fit, ~btype, df = Inf)), "verbagg", "glmmTMB", "contrast", "btype", "link", "tukey")

# ---- linear ---------------------------------------------------------------------------------------------------------
fit <- lmer(Reaction ~ Days + (Days | Subject), sleepstudy, control = tight_lmer)
for (df in c("asymptotic", "satterthwaite", "kenward-roger")) {
  e <- emmeans(fit, ~Days, at = list(Days = c(0, 5)), lmer.df = df)
  engine <- if (df == "asymptotic") "lme4" else paste("lme4,", df)
  take(e, "sleepstudy_reml", engine, "mean", "Days", "link")
  take(contrast(e, "revpairwise"), "sleepstudy_reml", engine, "contrast", "Days", "link")
}

# ---- ordinal --------------------------------------------------------------------------------------------------------
for (model in c("wine", "wine_clm")) {
  fit <- if (model == "wine") suppressWarnings(clmm(rating ~ temp + contact + (1 | judge), data = wine, control = steps)) else
    clm(rating ~ temp + contact, data = wine)
  engine <- if (model == "wine") "clmm" else "clm"
  latent <- emmeans(fit, ~temp, mode = "latent")
  take(latent, model, engine, "mean", "temp", "latent")
  take(pairs(latent), model, engine, "contrast", "temp", "latent")
  take(emmeans(fit, ~ rating | temp, mode = "prob"), model, engine, "mean", "rating|temp", "prob")
  take(emmeans(fit, ~ cut | temp, mode = "cum.prob"), model, engine, "mean", "cut|temp", "cum.prob")
  take(emmeans(fit, ~ cut | temp, mode = "exc.prob"), model, engine, "mean", "cut|temp", "exc.prob")
  take(emmeans(fit, ~temp, mode = "mean.class"), model, engine, "mean", "temp", "mean.class")
  take(pairs(emmeans(fit, ~temp, mode = "mean.class")), model, engine, "contrast", "temp", "mean.class")
  take(emmeans(fit, ~temp, mode = "mean.class", weights = "proportional", at = list(contact = "no")), model, engine, "mean", "temp", "mean.class, contact no")
  take(emmeans(fit, ~ rating | temp * contact, mode = "prob"), model, engine, "mean", "rating|temp,contact", "prob")
}

save_csv(rows, "emmeans", c("emmeans", "glmmTMB", "lme4", "ordinal", "mvtnorm"))
