# What an R user sees of codings, cloglog, mean classes, tests of random terms, R² and influence: console_more.txt.
source(file.path(dirname(sub("^--file=", "", grep("^--file=", commandArgs(FALSE), value = TRUE))), "common.R"))
suppressMessages({library(emmeans); library(lmerTest); library(performance)})
options(width = 100)
scores <- factors(read("scores"), c("judge", "item", "topic", "strategy"))
glmer_cbpp <- suppressMessages(lme4::glmer(cbind(incidence, size - incidence) ~ period + (1 | herd), cbpp, binomial))
lmer_sleep <- lmerTest::lmer(Reaction ~ Days + (Days | Subject), sleepstudy)
clm_wine <- clm(rating ~ temp + contact, data = wine)
calls <- expression(
  coef(lm(score ~ strategy, scores, contrasts = list(strategy = "contr.helmert"))),
  coef(lm(score ~ strategy, scores, contrasts = list(strategy = "contr.poly"))),
  coef(clm(rating ~ temp + contact, data = wine, link = "cloglog")),
  emmeans(clm_wine, ~temp, mode = "mean.class"),
  emmeans(clm_wine, ~cut | temp, mode = "exc.prob"),
  ranova(lmer_sleep),
  r2_nakagawa(glmer_cbpp),
  dfbetas(influence(lmer_sleep, "Subject"))[c("309", "335"), ])
out <- unlist(lapply(calls, function(call) {
  printed <- capture.output(print(suppressMessages(suppressWarnings(eval(call, globalenv())))))
  c(paste(">", paste(trimws(deparse(call, width.cutoff = 100)), collapse = " ")), gsub("\033\\[[0-9;]*m", "", sub("\\s+$", "", printed)), "")
}))
made <- paste0("# R ", getRversion(), ", ", versions(c("lme4", "lmerTest", "ordinal", "emmeans", "performance")))
writeLines(c(made, "# clm_wine <- clm(rating ~ temp + contact, data = wine); lmer_sleep and glmer_cbpp as in console.R", "", out[-length(out)]), file.path(here, "console_more.txt"))
