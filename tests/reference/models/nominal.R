# Classes without an order: VGAM's vglm(multinomial) and nnet's multinom, emmeans of the latter, sandwich's errors by cluster.
#
# housing: satisfaction of 1,681 residents as counts. wine: two classes, with errors clustered by judge.
# quantity: loglik, fixed, lrt (of Cont), probability (vglm's fitted ones), mean (emmeans' of Infl), clustered (vcovCL of a glm).
source(file.path(dirname(sub("^--file=", "", grep("^--file=", commandArgs(FALSE), value = TRUE))), "common.R"))
suppressMessages({library(VGAM); library(nnet); library(emmeans); library(sandwich)})
housing$class <- factor(as.character(housing$Sat), c("Low", "Medium", "High"))
rows <- list()
add <- function(...) rows[[length(rows) + 1]] <<- row(...)
# after "(Intercept):1" the number counts the classes but the first
add_fixed <- function(engine, estimates, errors) for (name in names(estimates)) {
  parts <- strsplit(name, ":")[[1]]
  add(model = "housing", engine = engine, quantity = "fixed", term = parts[1],
      level = levels(housing$class)[as.integer(parts[2]) + 1], estimate = estimates[[name]], std_error = errors[[name]])
}
exact <- vglm.control(epsilon = 1e-14, maxit = 100)
fit <- vglm(class ~ Infl + Type + Cont, multinomial(refLevel = 1), housing, weights = Freq, control = exact)
small <- vglm(class ~ Infl + Type, multinomial(refLevel = 1), housing, weights = Freq, control = exact)
add(model = "housing", engine = "vglm", quantity = "loglik", estimate = logLik(fit))
add_fixed("vglm", coef(fit), sqrt(diag(vcov(fit))))
add(model = "housing", engine = "vglm", quantity = "lrt", term = "Cont", statistic = 2 * (logLik(fit) - logLik(small)),
    df = length(coef(fit)) - length(coef(small)),
    p_value = pchisq(2 * (logLik(fit) - logLik(small)), length(coef(fit)) - length(coef(small)), lower.tail = FALSE))
cells <- unique(housing[c("Infl", "Type", "Cont")])
probability <- predict(fit, cells, type = "response")
for (k in seq_len(nrow(cells))) for (level in colnames(probability))
  add(model = "housing", engine = "vglm", quantity = "probability", level = level,
      term = paste(cells$Infl[k], cells$Type[k], cells$Cont[k]), estimate = probability[k, level])

other <- multinom(class ~ Infl + Type + Cont, housing, weights = Freq, trace = FALSE, maxit = 1000, reltol = 1e-15, Hess = TRUE)
add(model = "housing", engine = "multinom", quantity = "loglik", estimate = as.numeric(logLik(other)))
errors <- summary(other)$standard.errors
for (level in rownames(coef(other))) for (term in colnames(coef(other)))
  add(model = "housing", engine = "multinom", quantity = "fixed", term = term, level = level,
      estimate = coef(other)[level, term], std_error = errors[level, term])
means <- as.data.frame(emmeans(other, ~ Infl | class, mode = "prob"))
for (k in seq_len(nrow(means)))
  add(model = "housing", engine = "emmeans", quantity = "mean", term = as.character(means$Infl[k]),
      level = as.character(means$class[k]), estimate = means$prob[k], std_error = means$SE[k])

two <- glm(high ~ temp + contact, binomial, wine, control = glm.control(epsilon = 1e-14, maxit = 100))
robust <- sqrt(diag(vcovCL(two, ~ judge)))
for (term in names(robust))
  add(model = "wine", engine = "sandwich", quantity = "clustered", term = term, estimate = coef(two)[[term]], std_error = robust[[term]])
save_csv(rows, "nominal", c("VGAM", "nnet", "emmeans", "sandwich"))
