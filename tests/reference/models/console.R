# What an R user sees: console_*.txt, one file for each subject, the call above its output.
source(file.path(dirname(sub("^--file=", "", grep("^--file=", commandArgs(FALSE), value = TRUE))), "common.R"))
suppressMessages({library(emmeans); library(broom.mixed)})
options(width = 100)
glmer_cbpp <- suppressMessages(glmer(cbind(incidence, size - incidence) ~ period + (1 | herd), cbpp, binomial))
lmer_sleep <- lmer(Reaction ~ Days + (Days | Subject), sleepstudy)
clmm_wine <- clmm(rating ~ temp + contact + (1 | judge), data = wine)
tmb_cbpp <- glmmTMB(cbind(incidence, size - incidence) ~ period + (1 | herd), cbpp, binomial)
glmer_null <- update(glmer_cbpp, . ~ . - period)
made <- paste0("# R ", getRversion(), ", ", versions(c("lme4", "glmmTMB", "ordinal", "emmeans", "car", "broom.mixed")))

show <- function(name, ..., fits) {
  calls <- as.list(substitute(list(...)))[-1]
  out <- unlist(lapply(calls, function(call) {
    text <- paste(trimws(deparse(call, width.cutoff = 100)), collapse = " ")
    shown <- capture.output(print(suppressMessages(suppressWarnings(eval(call, globalenv())))))
    c(paste(">", text), sub("\\s+$", "", shown), "")
  }))
  writeLines(c(made, fits, "", out[-length(out)]), file.path(here, paste0("console_", name, ".txt")))
}
cbpp_fit <- "# glmer_cbpp <- glmer(cbind(incidence, size - incidence) ~ period + (1 | herd), cbpp, binomial)"
sleep_fit <- "# lmer_sleep <- lmer(Reaction ~ Days + (Days | Subject), sleepstudy)"
wine_fit <- "# clmm_wine <- clmm(rating ~ temp + contact + (1 | judge), data = wine)"
tmb_fit <- "# tmb_cbpp <- glmmTMB(cbind(incidence, size - incidence) ~ period + (1 | herd), cbpp, binomial)"

show("summary_glmer", summary(glmer_cbpp), fits = cbpp_fit)
show("summary_glmmTMB", summary(tmb_cbpp), fits = tmb_fit)
show("summary_lmer", summary(lmer_sleep), fits = sleep_fit)
show("summary_clmm", summary(clmm_wine), fits = wine_fit)
show("components", VarCorr(glmer_cbpp), fixef(glmer_cbpp), head(ranef(glmer_cbpp)$herd, 4), head(coef(glmer_cbpp)$herd, 3),
     VarCorr(lmer_sleep), fixef(lmer_sleep), head(ranef(lmer_sleep)$Subject, 4), sigma(lmer_sleep),
     as.data.frame(VarCorr(lmer_sleep)), logLik(glmer_cbpp), AIC(glmer_cbpp), BIC(glmer_cbpp), nobs(glmer_cbpp), ngrps(glmer_cbpp),
     fits = c(cbpp_fit, sleep_fit))
show("emmeans", emmeans(glmer_cbpp, ~period), emmeans(glmer_cbpp, ~period, type = "response"), pairs(emmeans(glmer_cbpp, ~period)),
     contrast(emmeans(glmer_cbpp, ~period), "trt.vs.ctrl", ref = 1, adjust = "holm"),
     contrast(emmeans(glmer_cbpp, ~period), list(early.late = c(1, 1, -1, -1) / 2)),
     emmeans(lmer_sleep, ~Days, at = list(Days = c(0, 5)), lmer.df = "asymptotic"), fits = c(cbpp_fit, sleep_fit))
show("confint", confint(glmer_cbpp, method = "Wald"), confint(glmer_cbpp, quiet = TRUE), confint(lmer_sleep, oldNames = FALSE, quiet = TRUE),
     confint(clmm_wine), fits = c(cbpp_fit, sleep_fit, wine_fit))
show("anova", anova(glmer_null, glmer_cbpp), car::Anova(glmer_cbpp), drop1(glmer_cbpp, test = "Chisq"),
     fits = c(cbpp_fit, "# glmer_null <- update(glmer_cbpp, . ~ . - period)"))
show("predict", head(predict(glmer_cbpp), 4), head(predict(glmer_cbpp, type = "response"), 4),
     head(predict(glmer_cbpp, type = "response", re.form = NA), 4),
     predict(glmer_cbpp, data.frame(period = "1", herd = "new"), type = "response", allow.new.levels = TRUE), fits = cbpp_fit)
# lme4 1.1-31: profiling a glmer fit moves its internal state, and ranef() of the same object is wrong afterwards (0.694 for 0.590)
glmer_cbpp <- suppressMessages(glmer(cbind(incidence, size - incidence) ~ period + (1 | herd), cbpp, binomial))
lmer_sleep <- lmer(Reaction ~ Days + (Days | Subject), sleepstudy)
show("broom", as.data.frame(tidy(glmer_cbpp)), as.data.frame(tidy(glmer_cbpp, effects = "fixed", conf.int = TRUE, exponentiate = TRUE)),
     as.data.frame(glance(glmer_cbpp)), head(as.data.frame(augment(glmer_cbpp)), 4), head(as.data.frame(tidy(glmer_cbpp, effects = "ran_vals")), 4),
     as.data.frame(tidy(lmer_sleep)), fits = c(cbpp_fit, sleep_fit))
