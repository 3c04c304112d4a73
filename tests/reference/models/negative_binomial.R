# Negative binomial counts (NB2, log link): MASS::glm.nb without random effects, glmmTMB's nbinom2 with them (Laplace).
#
# counts.csv is drawn here: complaints that a judge writes about a response, 40 items by 4 judges by 2 strategies.
# quantity: loglik, fixed, size (glmmTMB's sigma, glm.nb's theta), log_size (with its standard error), sd.
source(file.path(dirname(sub("^--file=", "", grep("^--file=", commandArgs(FALSE), value = TRUE))), "common.R"))
set.seed(20)
drawn <- expand.grid(item = sprintf("q%02d", 1:40), judge = letters[1:4], strategy = c("B0", "S8"))
drawn$x <- round(rnorm(40), 2)[as.integer(drawn$item)]
eta <- 0.9 + 0.5 * (drawn$strategy == "S8") - 0.3 * drawn$x + rnorm(40, 0, 0.6)[as.integer(drawn$item)] +
  rnorm(4, 0, 0.3)[as.integer(drawn$judge)]
drawn$y <- rnbinom(nrow(drawn), size = 1.8, mu = exp(eta))
write.csv(drawn, file.path(here, "counts.csv"), row.names = FALSE)

rows <- list()
add <- function(...) rows[[length(rows) + 1]] <<- row(...)
plain <- MASS::glm.nb(y ~ strategy + x, drawn, control = glm.control(epsilon = 1e-14, maxit = 100))
add(model = "plain", engine = "glm.nb", quantity = "loglik", estimate = as.numeric(logLik(plain)))
for (term in names(coef(plain))) add(model = "plain", engine = "glm.nb", quantity = "fixed", term = term, estimate = coef(plain)[[term]])
add(model = "plain", engine = "glm.nb", quantity = "size", estimate = plain$theta)

formulas <- list(plain = y ~ strategy + x, item = y ~ strategy + x + (1 | item),
                 crossed = y ~ strategy + x + (1 | item) + (1 | judge))
for (model in names(formulas)) {
  fit <- tmb(formulas[[model]], drawn, nbinom2)
  size <- fit$fit$par[["betad"]]
  add(model = model, engine = "glmmTMB", quantity = "loglik", estimate = as.numeric(logLik(fit)))
  for (term in names(fixef(fit)$cond))
    add(model = model, engine = "glmmTMB", quantity = "fixed", term = term, estimate = fixef(fit)$cond[[term]],
        std_error = sqrt(diag(vcov(fit)$cond))[[term]])
  add(model = model, engine = "glmmTMB", quantity = "size", estimate = sigma(fit))
  add(model = model, engine = "glmmTMB", quantity = "log_size", estimate = size,
      std_error = sqrt(diag(fit$sdr$cov.fixed))[["betad"]])
  for (group in names(VarCorr(fit)$cond)) {
    own <- VarCorr(fit)$cond[[group]]
    for (term in names(attr(own, "stddev")))
      add(model = model, engine = "glmmTMB", quantity = "sd", term = term, group = group, estimate = attr(own, "stddev")[[term]])
  }
}
save_csv(rows, "negative_binomial", c("glmmTMB", "MASS"))
