# Mixed-effects models by lme4 and glmmTMB: the peers of benchmarks/peer_mixed.py, which writes the table and reads the answer.
# Run: Rscript mixed_peers.R <engine> <table.csv> <formula> <nAGQ> <repeats>
#   engine   lme4 (controls of glmer's default), lme4-bobyqa (bobyqa in both stages), lme4-nAGQ0, glmmTMB
#   formula  a response cbind(k, n - k) is of counts; its log-likelihood is printed for the single rows, without log choose(n, k)
#   repeats  fits that are timed; before more than one, a fit that is not
# Prints one line of JSON. Seconds are of the fit alone, standard errors included; the table is read and coded before.
given <- commandArgs(trailingOnly = TRUE)
engine <- given[1]
data <- read.csv(given[2], stringsAsFactors = TRUE)
formula <- as.formula(given[3])
n_quadrature <- as.integer(given[4])
repeats <- as.integer(given[5])
package <- if (engine == "glmmTMB") "glmmTMB" else "lme4"
if (!requireNamespace(package, quietly = TRUE)) quit(status = 3)
suppressMessages(library(package, character.only = TRUE))
for (group in all.vars(formula)) if (is.character(data[[group]])) data[[group]] <- factor(data[[group]])

fitted_by <- list(
  "lme4" = function() glmer(formula, data, binomial, nAGQ = n_quadrature),
  "lme4-bobyqa" = function() glmer(formula, data, binomial, nAGQ = n_quadrature, control = glmerControl(optimizer = "bobyqa")),
  "lme4-nAGQ0" = function() glmer(formula, data, binomial, nAGQ = 0L),
  "glmmTMB" = function() glmmTMB(formula, data, binomial)
)[[engine]]

said <- character()
listening <- function(call) {
  withCallingHandlers(call(), warning = function(w) {
    said <<- union(said, conditionMessage(w))
    invokeRestart("muffleWarning")
  }, message = function(m) {
    said <<- union(said, trimws(conditionMessage(m)))
    invokeRestart("muffleMessage")
  })
}
timed <- function(call) {
  gc()
  time <- system.time(value <- listening(call))
  list(value = value, seconds = time[["elapsed"]], user = time[["user.self"]])
}

if (repeats > 1) listening(fitted_by)
runs <- lapply(seq_len(repeats), function(i) timed(fitted_by))
fit <- runs[[repeats]]$value
parse <- if (package == "lme4") timed(function() glFormula(formula, data, binomial))$seconds else NA

if (package == "lme4") {
  fixed <- fixef(fit)
  sd <- sapply(VarCorr(fit), function(v) attr(v, "stddev")[[1]])
  std_error <- sqrt(diag(as.matrix(vcov(fit))))
} else {
  fixed <- fixef(fit)$cond
  sd <- sapply(VarCorr(fit)$cond, function(v) attr(v, "stddev")[[1]])
  std_error <- sqrt(diag(vcov(fit)$cond))
}
constant <- 0
if (length(all.vars(formula[[2]])) == 2) { # cbind(k, n - k)
  counts <- eval(formula[[2]], data)
  constant <- sum(lchoose(rowSums(counts), counts[, 1]))
}

number <- function(x) ifelse(is.finite(x), sprintf("%.15g", x), "null")
text <- function(x) paste0("\"", gsub("([\"\\\\])", "\\\\\\1", gsub("[[:cntrl:]]+", " ", x)), "\"", recycle0 = TRUE)
named <- function(x) paste0("{", paste0(text(names(x)), ": ", number(x), collapse = ", "), "}")
listed <- function(x) paste0("[", paste(x, collapse = ", "), "]")
seconds <- sapply(runs, `[[`, "seconds")
user <- sapply(runs, `[[`, "user")
cat(sprintf(
  paste0(
    "{\"engine\": %s, \"version\": %s, \"rows\": %d, \"seconds\": %s, \"user\": %s, \"parse\": %s, ",
    "\"loglik\": %s, \"fixed\": %s, \"std_error\": %s, \"sd\": %s, \"said\": %s}\n"
  ),
  text(engine), text(paste0("R ", getRversion(), ", ", package, " ", packageVersion(package), ", ", basename(extSoftVersion()[["BLAS"]]))),
  nrow(data), listed(number(seconds)), listed(number(user)), number(parse), number(as.numeric(logLik(fit)) - constant),
  named(fixed), named(std_error), named(sd), listed(text(said))
))
