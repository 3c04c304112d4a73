# Wald tests by term and likelihood-ratio tests: tests.csv.
#
# quantity: type II (Wald chi-square, car::Anova), type III (sum contrasts), lrt (full model against `term`, the smaller one,
# p from chi-square, not halved where a variance is tested: lme4, glmmTMB and ordinal do not halve either).
source(file.path(dirname(sub("^--file=", "", grep("^--file=", commandArgs(FALSE), value = TRUE))), "common.R"))
rows <- list()
wald <- function(fit, model, engine, type = 2) {
  a <- as.data.frame(car::Anova(fit, type = type, test.statistic = "Chisq"))
  rows[[length(rows) + 1]] <<- data.frame(model = model, engine = engine, quantity = if (type == 2) "type II" else "type III",
                                          term = rownames(a), statistic = a$Chisq, df = a$Df, p_value = a[["Pr(>Chisq)"]])
}
lrt <- function(large, small, model, smaller, engine) {
  l <- logLik(large); s <- logLik(small); x <- 2 * as.numeric(l - s); df <- attr(l, "df") - attr(s, "df")
  rows[[length(rows) + 1]] <<- data.frame(model = model, engine = engine, quantity = "lrt", term = smaller, statistic = x, df = df,
                                          p_value = pchisq(x, df, lower.tail = FALSE))
}
# R's own printed comparison beside the difference of log-likelihoods
printed <- function(table, model, smaller, engine) {
  t <- as.data.frame(table); n <- nrow(t)
  pick <- function(names) t[n, intersect(names, names(t))[1]]
  rows[[length(rows) + 1]] <<- data.frame(model = model, engine = engine, quantity = "anova", term = smaller,
    statistic = pick(c("Chisq", "LR.stat")), df = pick(c("Chi Df", "Df", "df")), p_value = pick(c("Pr(>Chisq)")))
}

cases <- cbind(incidence, size - incidence) ~ period + (1 | herd)
none <- cbind(incidence, size - incidence) ~ 1 + (1 | herd)
full <- tmb(cases, cbpp, binomial); null <- tmb(none, cbpp, binomial)
wald(full, "cbpp", "glmmTMB"); lrt(full, null, "cbpp", "cbpp_null", "glmmTMB")
printed(anova(null, full), "cbpp", "cbpp_null", "glmmTMB")
full4 <- suppressMessages(glmer(cases, cbpp, binomial)); null4 <- suppressMessages(glmer(none, cbpp, binomial))
wald(full4, "cbpp", "lme4"); lrt(full4, null4, "cbpp", "cbpp_null", "lme4"); printed(anova(null4, full4), "cbpp", "cbpp_null", "lme4")
lrt(tmb(cbind(incidence, size - incidence) ~ period + (1 | herd) + (1 | obs), cbpp, binomial), full, "cbpp_obs", "cbpp", "glmmTMB")
fixed_only <- glm(cbind(incidence, size - incidence) ~ period, binomial, cbpp)
lrt(full, fixed_only, "cbpp", "cbpp_glm", "glmmTMB")
wald(tmb(cases, cbpp, binomial("probit")), "cbpp_probit", "glmmTMB")

for (model in c("wine_binary", "wine_unbalanced")) {
  table <- if (model == "wine_binary") wine else wine_unbalanced
  crossed <- tmb(high ~ temp * contact + (1 | judge), table, binomial)
  wald(crossed, model, "glmmTMB")
  wald(tmb(high ~ temp * contact + (1 | judge), table, binomial, contrasts = list(temp = "contr.sum", contact = "contr.sum")), model, "glmmTMB", 3)
  lrt(crossed, tmb(high ~ temp + contact + (1 | judge), table, binomial), model, paste0(model, "_main"), "glmmTMB")
}
verbagg <- verbagg_data()
main <- tmb(r2 ~ Anger + Gender + btype + situ + (1 | id) + (1 | item), verbagg, binomial)
crossed <- tmb(r2 ~ Anger + Gender * btype + situ + (1 | id) + (1 | item), verbagg, binomial)
wald(main, "verbagg", "glmmTMB"); wald(crossed, "verbagg_interaction", "glmmTMB"); lrt(crossed, main, "verbagg_interaction", "verbagg", "glmmTMB")

slopes <- lmer(Reaction ~ Days + (Days | Subject), sleepstudy, control = tight_lmer)
wald(slopes, "sleepstudy_reml", "lme4")
for (reml in c(TRUE, FALSE)) {
  how <- if (reml) "reml" else "ml"
  fits <- lapply(list(Reaction ~ Days + (Days | Subject), Reaction ~ Days + (Days || Subject), Reaction ~ Days + (1 | Subject)),
                 lmer, data = sleepstudy, REML = reml, control = tight_lmer)
  lrt(fits[[1]], fits[[2]], paste0("sleepstudy_", how), paste0("sleepstudy_uncorrelated_", how), "lme4")
  lrt(fits[[1]], fits[[3]], paste0("sleepstudy_", how), paste0("sleepstudy_intercept_", how), "lme4")
  if (!reml) {
    wald(fits[[1]], "sleepstudy_ml", "lme4")
    lrt(fits[[1]], lmer(Reaction ~ 1 + (Days | Subject), sleepstudy, REML = FALSE, control = tight_lmer), "sleepstudy_ml", "sleepstudy_no_days_ml", "lme4")
  }
}
mixed <- function(formula) suppressWarnings(clmm(formula, data = wine, control = steps))
both <- mixed(rating ~ temp + contact + (1 | judge))
lrt(both, mixed(rating ~ temp + (1 | judge)), "wine", "wine_temp", "clmm")
lrt(both, mixed(rating ~ 1 + (1 | judge)), "wine", "wine_null", "clmm")
lrt(mixed(rating ~ temp * contact + (1 | judge)), both, "wine_interaction", "wine", "clmm")
plain <- clm(rating ~ temp + contact, data = wine)
lrt(both, plain, "wine", "wine_clm", "clmm"); printed(anova(plain, both), "wine", "wine_clm", "clmm")
nominal <- clm(rating ~ temp, nominal = ~contact, data = wine)
lrt(nominal, plain, "wine_clm_nominal", "wine_clm", "clm"); printed(anova(plain, nominal), "wine_clm_nominal", "wine_clm", "clm")
w <- as.data.frame(anova(plain, type = "II"))
rows[[length(rows) + 1]] <- data.frame(model = "wine_clm", engine = "clm", quantity = "type II", term = rownames(w), statistic = w$Chisq, df = w$Df, p_value = w[["Pr(>Chisq)"]])
w <- as.data.frame(car::Anova(MASS::polr(Sat ~ Infl + Type + Cont, housing, weights = Freq, Hess = TRUE)))
rows[[length(rows) + 1]] <- data.frame(model = "housing", engine = "polr", quantity = "type II lrt", term = rownames(w), statistic = w[["LR Chisq"]], df = w$Df, p_value = w[["Pr(>Chisq)"]])

save_csv(rows, "tests", c("car", "glmmTMB", "lme4", "ordinal"))
