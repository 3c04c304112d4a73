# Bias models in R, on verdicts_calls.csv: position_bias by lme4, tie_model by ordinal.
# The calls are drawn: 60 pairs, two orders, two prompts, two replicates; judgestats.simulate with slot_bias 0.5, sensitivity
# 0.7, tie_criterion 0.5 (strict: 1.2), stable_preference 1.2, seed 3; plan by numpy default_rng(7).
# Run in this folder: Rscript verdicts.R
suppressMessages({library(lme4); library(ordinal)})
d <- read.csv("verdicts_calls.csv", stringsAsFactors = FALSE)
d$order <- ifelse(d$first < d$second, 1, -1)
d$x <- ifelse(d$better == d$first, d$delta, ifelse(d$better == d$second, -d$delta, 0))
rows <- list()
add <- function(model, term, value) rows[[length(rows) + 1]] <<- data.frame(model = model, term = term, value = value)

# ties set aside; the slope per sd of the difference, not centred
s <- d[d$choice %in% c("first", "second"), ]
s$chosen <- as.integer(s$choice == "first")
gap <- s$length_first - s$length_second
s$slope <- gap / sqrt(mean((gap - mean(gap))^2))
for (random in c("(0 + order | item)", "(1 | item)")) {
  m <- glmer(as.formula(paste("chosen ~ slope +", random)), s, family = binomial, nAGQ = 15,
             control = glmerControl(optimizer = "bobyqa", tolPwrss = 1e-12))
  # lme4's standard errors of fixed effects by the Hessian of all parameters
  e <- summary(m)$coefficients
  add(random, "first slot", e[1, 1]); add(random, "first slot, se", e[1, 2])
  add(random, "slope", e[2, 1]); add(random, "slope, se", e[2, 2]); add(random, "sd", attr(VarCorr(m)$item, "stddev"))
}

d$answer <- factor(d$choice, levels = c("second", "tie", "first"))
d$prompt <- factor(d$prompt)
for (link in c("logit", "probit")) {
  fits <- list(
    "common, common" = clm(answer ~ prompt + x, data = d, link = link),
    "common, by group" = clm(answer ~ prompt + x:prompt, data = d, link = link),
    "by group, common" = clm(answer ~ x, nominal = ~prompt, data = d, link = link),
    "by group, by group" = clm(answer ~ x:prompt, nominal = ~prompt, data = d, link = link)
  )
  for (n in names(fits)) add(link, n, as.numeric(logLik(fits[[n]])))
  # criterion and slot bias of each prompt from its own thresholds
  for (p in levels(d$prompt)) {
    m <- clm(answer ~ x, data = d[d$prompt == p, ], link = link)
    a <- m$alpha
    V <- vcov(m)[1:2, 1:2]
    add(link, paste("slot bias,", p), -mean(a)); add(link, paste("criterion,", p), (a[2] - a[1]) / 2)
    add(link, paste("criterion se,", p), sqrt(sum(V * outer(c(-1, 1), c(-1, 1)))) / 2)
    add(link, paste("resolution,", p), m$beta); add(link, paste("resolution se,", p), sqrt(vcov(m)[3, 3]))
  }
}
out <- do.call(rbind, rows)
out$value <- sprintf("%.9f", out$value)
head <- paste0("# ", R.version.string, "; lme4 ", packageVersion("lme4"), "; ordinal ", packageVersion("ordinal"))
writeLines(c(head, capture.output(write.csv(out, row.names = FALSE, quote = TRUE))), "verdicts.csv")
