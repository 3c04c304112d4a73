# Reference fits of the random designs. Run: python generate.py FOLDER; Rscript fit.R FOLDER. Writes results.csv here.
# Made with R 4.2.2 Patched, glmmTMB 1.1.5, TMB 1.9.2, lme4 1.1-31, ordinal 2022.11-16, numDeriv 2016.8-1.1.
# A second argument is a pattern of ids: those rows of results.csv are printed and nothing is written.
suppressPackageStartupMessages({library(glmmTMB); library(lme4); library(ordinal); library(TMB); library(numDeriv)})
arguments <- commandArgs(trailingOnly = TRUE)
here <- dirname(sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)))
index <- read.csv(file.path(here, "designs.csv"), stringsAsFactors = FALSE)
if (length(arguments) > 1) index <- index[grepl(arguments[2], index$id), ]
openmp(1)

row <- function(term, estimate = NA, std_error = NA, note = "")
  data.frame(term = term, estimate = as.numeric(estimate), std_error = as.numeric(std_error), note = note)
quietly <- function(expression) {  # list(value, messages): warnings and errors are kept as text
  said <- character()
  value <- withCallingHandlers(
    tryCatch(expression, error = function(e) { said <<- c(said, paste("error:", conditionMessage(e))); NULL }),
    warning = function(w) { said <<- c(said, conditionMessage(w)); invokeRestart("muffleWarning") },
    message = function(m) { said <<- c(said, conditionMessage(m)); invokeRestart("muffleMessage") })
  said <- gsub(" *at iteration [0-9]+", "", gsub("[\r\n]+ *", " ", trimws(said)))
  times <- table(factor(said, unique(said)))
  list(value = value, messages = paste0(names(times), ifelse(times > 1, paste0(" (", times, " times)"), ""))[times > 0])
}
failures <- function(who, messages)  # rows of what was said: `failed` where a fit failed, `message` for the rest
  do.call(rbind, lapply(messages, function(m)
    row(if (grepl("error:|fail|converge|positive|NaN", m)) "failed" else "message", note = paste0(who, ": ", m))))

# ---- names as the package prints them ------------------------------------------------------------------------------
term_name <- function(name) {
  if (name == "(Intercept)") return("Intercept")
  paste(sub("^strategy(.+)$", "strategy[\\1]", strsplit(name, ":")[[1]]), collapse = ":")
}
term_names <- function(names) unname(vapply(names, term_name, ""))
group_name <- function(name) paste(sort(strsplit(sub("\\.[0-9]+$", "", name), ":")[[1]], decreasing = TRUE), collapse = ":")
cell_names <- function(group, covariates) {  # standard deviations, then the correlations of the lower triangle by rows
  covariates <- term_names(covariates)
  names <- sprintf("sd(%s|%s)", covariates, group)
  for (i in seq_along(covariates)[-1]) for (j in seq_len(i - 1))
    names <- c(names, sprintf("cor(%s,%s|%s)", covariates[j], covariates[i], group))
  names
}

# ---- glmmTMB: one objective, many starts ---------------------------------------------------------------------------
blocks_of <- function(struct) {  # where each random term sits in theta
  at <- 0
  lapply(seq_along(struct$condReStruc), function(i) {
    covariates <- struct$condList$reTrms$cnms[[i]]
    size <- length(covariates)
    width <- size + size * (size - 1) / 2
    block <- list(group = group_name(names(struct$condList$reTrms$cnms)[i]), covariates = covariates, size = size,
                  theta = at + seq_len(width))
    at <<- at + width
    block
  })
}
correlation_of <- function(theta, size) {
  L <- diag(size)
  k <- 0
  for (i in seq_len(size)[-1]) for (j in seq_len(i - 1)) { k <- k + 1; L[i, j] <- theta[k] }
  cov2cor(tcrossprod(L))
}
theta_from <- function(blocks, model) {  # lme4's covariances as theta, kept off the boundary
  cov <- VarCorr(model)
  theta <- numeric()
  for (block in blocks) {
    match <- which(vapply(names(cov), group_name, "") == block$group &
                   vapply(cov, function(v) identical(rownames(v), as.character(block$covariates)), TRUE))
    v <- cov[[match[1]]]
    sd <- pmax(sqrt(diag(v)), 1e-4)
    theta <- c(theta, log(sd))
    if (block$size > 1) {
      cor <- attr(v, "correlation"); cor[!is.finite(cor)] <- 0
      cor <- 0.9999 * cor + (1 - 0.9999) * diag(block$size)
      L <- t(chol(cor)); L <- L / diag(L)
      for (i in seq_len(block$size)[-1]) theta <- c(theta, L[i, seq_len(i - 1)])
    }
  }
  theta
}
tight <- list(iter.max = 2000, eval.max = 4000, rel.tol = 1e-14, x.tol = 1e-10)
fit_glmmTMB <- function(formula, data, family, reml, lme) {
  struct <- glmmTMB(formula, data, family = family, REML = reml, doFit = FALSE)
  blocks <- blocks_of(struct)
  obj <- with(struct, MakeADFun(data.tmb, parameters, map = mapArg, random = randomArg, profile = NULL,
                                silent = TRUE, DLL = "glmmTMB"))
  kind <- names(obj$par)
  tries <- list()
  attempt <- function(label, optimiser) {
    got <- quietly(optimiser())
    fit <- got$value
    if (is.null(fit)) { tries[[label]] <<- list(value = Inf, converged = FALSE, messages = got$messages); return() }
    value <- if (is.null(fit$objective)) fit$value else fit$objective
    # nlminb's 'singular' and 'false convergence' come of a tolerance below rounding: a flat gradient decides
    flat <- max(abs(obj$gr(fit$par))) < 1e-3
    tries[[label]] <<- list(par = fit$par, value = value, converged = is.finite(value) && (fit$convergence == 0 || flat),
                            messages = if (fit$convergence == 0 || flat) character() else paste("not converged:", fit$message))
  }
  attempt("nlminb", function() nlminb(obj$par, obj$fn, obj$gr, control = list(iter.max = 300, eval.max = 400)))
  attempt("BFGS", function() optim(obj$par, obj$fn, obj$gr, method = "BFGS", control = list(maxit = 2000, reltol = 1e-13)))
  if (!is.null(lme)) attempt("nlminb from lme4", function() {
    start <- obj$par
    if (any(kind == "beta")) start[kind == "beta"] <- fixef(lme)
    start[kind == "theta"] <- theta_from(blocks, lme)
    if (any(kind == "betad")) start[kind == "betad"] <- 2 * log(sigma(lme))
    nlminb(start, obj$fn, obj$gr, control = tight)
  })
  smaller <- obj$par; smaller[kind == "theta"] <- -2 * (seq_len(sum(kind == "theta")) %% 2)
  attempt("nlminb small", function() nlminb(smaller, obj$fn, obj$gr, control = tight))
  values <- vapply(tries, function(t) if (t$converged) t$value else Inf, 0)
  if (all(!is.finite(values))) return(list(tries = tries, blocks = blocks))
  start <- tries[[which.min(values)]]$par
  attempt("nlminb polished", function() nlminb(start, obj$fn, obj$gr, control = tight))
  values <- vapply(tries, function(t) if (t$converged) t$value else Inf, 0)
  # the first label within 1e-7 of the best gets the credit
  best <- names(values)[which(values <= min(values) + 1e-7)[1]]
  par <- tries[[which.min(values)]]$par
  obj$fn(par)
  sdr <- quietly(sdreport(obj, par.fixed = par, getJointPrecision = reml))
  list(tries = tries, blocks = blocks, obj = obj, par = par, kind = kind, value = min(values), best = best,
       sdr = sdr$value, messages = sdr$messages, names = colnames(struct$data.tmb$X), reml = reml,
       gradient = max(abs(obj$gr(par))))
}
rows_glmmTMB <- function(fit, gaussian, boundary) {
  par <- fit$par; kind <- fit$kind; sdr <- fit$sdr
  full <- fit$obj$env$last.par.best
  se_fixed <- rep(NA_real_, length(par))
  good <- !is.null(sdr) && isTRUE(sdr$pdHess)
  if (good) se_fixed <- sqrt(diag(sdr$cov.fixed))
  if (fit$reml) {
    fit$obj$fn(par); full <- fit$obj$env$last.par
    beta <- full[names(full) == "beta"]
    se <- if (good) sqrt(sdr$diag.cov.random[names(sdr$par.random) == "beta"]) else NA
  } else { beta <- par[kind == "beta"]; se <- se_fixed[kind == "beta"] }
  out <- row(term_names(fit$names), unname(beta), unname(se))
  theta <- par[kind == "theta"]; se_theta <- se_fixed[kind == "theta"]
  sds <- numeric(); cors <- numeric()
  for (block in fit$blocks) {
    t <- theta[block$theta]; s <- se_theta[block$theta]
    sd <- exp(t[seq_len(block$size)])
    estimate <- sd; error <- sd * s[seq_len(block$size)]
    if (block$size > 1) {
      cor <- correlation_of(t[-seq_len(block$size)], block$size)
      cor <- t(cor)[upper.tri(cor)]  # the lower triangle by rows
      estimate <- c(estimate, cor); cors <- c(cors, cor)
      error <- c(error, if (block$size == 2) s[3] * (1 + t[3]^2)^-1.5 else rep(NA, length(cor)))
    }
    sds <- c(sds, sd)
    out <- rbind(out, row(cell_names(block$group, block$covariates), estimate, error))
  }
  scale <- 1
  if (gaussian) {
    scale <- exp(unname(par[kind == "betad"]) / 2)
    out <- rbind(out, row("sd(residual)", scale, scale / 2 * unname(se_fixed[kind == "betad"])))
  }
  singular <- boundary || any(sds / scale < 1e-3) || any(abs(cors) > 0.999)
  rbind(out, row("singular", singular))
}

# ---- lme4 ----------------------------------------------------------------------------------------------------------
fit_lme4 <- function(formula, data, family, reml, nodes) {
  if (family$family == "gaussian")
    return(lmer(formula, data, REML = reml, control = lmerControl(optimizer = "bobyqa", calc.derivs = FALSE,
      check.conv.singular = "ignore", optCtrl = list(maxfun = 1e5, rhoend = 1e-9))))
  glmer(formula, data, family = family, nAGQ = nodes, control = glmerControl(optimizer = "bobyqa", tolPwrss = 1e-10,
    calc.derivs = nodes > 1, check.conv.singular = "ignore", check.nobs.vs.nRE = "ignore",
    optCtrl = list(maxfun = 1e5, rhoend = 1e-8)))
}
saturated <- function(model) {  # what lme4 leaves out of the log-likelihood when nAGQ > 1
  y <- getME(model, "y")
  if (family(model)$family == "poisson") return(sum(dpois(y, y, log = TRUE)))
  size <- weights(model, "prior")
  sum(dbinom(round(y * size), size, y, log = TRUE))
}
# Our own adaptive quadrature of one scalar term, every constant kept: checks lme4's constant and its maximum.
quadrature <- function(model, nodes) {
  X <- getME(model, "X"); y <- getME(model, "y"); offset <- getME(model, "offset")
  z <- unname(colSums(as.matrix(getME(model, "Zt")))); group <- as.integer(getME(model, "flist")[[1]])
  poisson <- family(model)$family == "poisson"
  size <- if (poisson) rep(1, length(y)) else weights(model, "prior")
  k <- round(y * size)
  constant <- if (poisson) -sum(lgamma(k + 1)) else sum(lchoose(size, k))
  mean <- if (poisson) exp else plogis
  slope <- function(mu) if (poisson) mu else mu * (1 - mu)
  cell <- function(eta) if (poisson) k * eta - exp(eta) else k * eta - size * (pmax(eta, 0) + log1p(exp(-abs(eta))))
  J <- matrix(0, nodes, nodes)
  for (i in seq_len(nodes - 1)) J[i, i + 1] <- J[i + 1, i] <- sqrt(i)
  e <- eigen(J, symmetric = TRUE)
  node <- e$values; weight <- e$vectors[1, ]^2
  sums <- function(v) as.vector(rowsum(v, group))
  u <- 0 * sums(y)
  function(par) {
    sd <- par[1]; fixed <- as.vector(X %*% par[-1]) + offset
    for (step in 1:60) {
      mu <- mean(fixed + sd * u[group] * z)
      move <- (sums((k - size * mu) * sd * z) - u) / (1 + sums(size * slope(mu) * sd^2 * z^2))
      u <- u + pmax(pmin(move, 1.5), -1.5)
      if (max(abs(move)) < 1e-12) break
    }
    u <<- u
    width <- 1 / sqrt(1 + sums(size * slope(mean(fixed + sd * u[group] * z)) * sd^2 * z^2))
    terms <- vapply(seq_len(nodes), function(q) {
      v <- u + width * node[q]
      sums(cell(fixed + sd * v[group] * z)) - v^2 / 2 + node[q]^2 / 2 + log(weight[q])
    }, u)
    top <- apply(terms, 1, max)
    sum(top + log(rowSums(exp(terms - top))) + log(width)) + constant
  }
}
fit_quadrature <- function(design, formula, data, family) {
  got <- quietly(fit_lme4(formula, data, family, FALSE, design$n_quadrature))
  if (is.null(got$value)) return(rbind(failures("lme4", got$messages), row("converged", 0)))
  model <- got$value
  loglik <- as.numeric(logLik(model)) + saturated(model)
  own <- quadrature(model, design$n_quadrature)
  sd <- unname(attr(VarCorr(model)[[1]], "stddev"))
  at <- own(c(sd, fixef(model)))
  polished <- nlminb(c(sd, fixef(model)), function(p) -own(p), lower = c(0, rep(-Inf, length(fixef(model)))), control = tight)
  name <- sprintf("sd(%s|%s)", term_name(rownames(VarCorr(model)[[1]])), group_name(names(VarCorr(model))[1]))
  std_error <- sqrt(diag(as.matrix(vcov(model))))
  own_error <- sqrt(diag(solve(hessian(function(p) -own(p), c(sd, fixef(model))))))
  rbind(row(term_names(names(fixef(model))), fixef(model), std_error), row(name, sd, own_error[1]),
        row("singular", sd < 1e-3), row("std_error_gap", max(abs(std_error / own_error[-1] - 1))), row("loglik", loglik), row("loglik_lme4", loglik),
        row("loglik_lme4_printed", as.numeric(logLik(model))), row("loglik_own_quadrature", at),
        row("loglik_own_maximum", -polished$objective), row("converged", 1),
        row("package", note = "lme4"), failures("lme4", got$messages))
}
fit_glmm <- function(design, data) {
  family <- switch(design$family, binomial = binomial(design$link), poisson = poisson(), gaussian = gaussian())
  text <- gsub("\\((\\w+) ?\\|\\| ?(\\w+)\\)", "(1|\\2) + (0 + \\1|\\2)", design$formula)
  formula <- as.formula(text, env = environment())
  if (design$n_quadrature > 1) return(fit_quadrature(design, formula, data, family))
  reml <- design$reml
  lme <- quietly(fit_lme4(formula, data, family, reml, 1))
  # lme4 weighs a probit by the expected information: another approximation, kept apart
  comparable <- design$link != "probit"
  tmb <- quietly(fit_glmmTMB(formula, data, family, reml, lme$value))
  said <- rbind(failures("lme4", lme$messages), failures("glmmTMB", tmb$messages))
  fit <- tmb$value
  loglik_lme4 <- if (is.null(lme$value)) NA else as.numeric(logLik(lme$value))
  for (label in names(fit$tries)) said <- rbind(said, failures(paste("glmmTMB", label), fit$tries[[label]]$messages))
  if (is.null(fit$par)) return(rbind(said, row("loglik_lme4", loglik_lme4), row("converged", 0)))
  if (!isTRUE(fit$sdr$pdHess)) said <- rbind(said, failures("glmmTMB", "Hessian not positive definite, no standard errors"))
  package <- paste("glmmTMB", fit$best)
  best <- -fit$value
  if (comparable && !is.na(loglik_lme4) && loglik_lme4 > best + 1e-7) { package <- "lme4"; best <- loglik_lme4 }
  rbind(rows_glmmTMB(fit, design$family == "gaussian", !is.null(lme$value) && isSingular(lme$value, tol = 1e-4)), row("loglik", best),
        row("loglik_glmmTMB", -fit$tries[["nlminb"]]$value), row("loglik_lme4", loglik_lme4),
        row("gradient", fit$gradient), row("converged", 1), row("package", note = package), said)
}

# ---- ordinal -------------------------------------------------------------------------------------------------------
fit_clmm <- function(design, data) {
  response <- all.vars(as.formula(design$formula))[1]
  data[[response]] <- factor(data[[response]])
  threshold <- if (design$thresholds == "free") "flexible" else "symmetric"
  said <- NULL
  run <- function(method) {
    got <- quietly(clmm(as.formula(design$formula), data = data, link = design$link, threshold = threshold,
      nAGQ = design$n_quadrature, control = clmm.control(method = method, gradTol = 1e-6)))
    said <<- rbind(said, failures(paste("clmm", method), got$messages))
    got$value
  }
  fits <- list(nlminb = run("nlminb"))
  several <- length(gregexpr("|", design$formula, fixed = TRUE)[[1]]) > 1
  if (!several) fits$ucminf <- run("ucminf")
  fits <- Filter(Negate(is.null), fits)
  if (!length(fits)) return(rbind(said, row("converged", 0)))
  values <- vapply(fits, function(f) as.numeric(f$logLik), 0)
  best <- names(values)[which(values >= max(values) - 1e-7)[1]]
  fit <- fits[[which.max(values)]]
  # clmm's own objective once more, from its optimum, with tighter tolerances
  rho <- clmm(as.formula(design$formula), data = data, link = design$link, threshold = threshold,
              nAGQ = design$n_quadrature, doFit = FALSE, control = clmm.control(gradTol = 1e-6, innerCtrl = "noWarn"))
  objective <- if (several) function(p) ordinal:::getNLA(rho, p) else if (design$n_quadrature > 1)
    function(p) ordinal:::getNAGQ.ssr(rho, p) else function(p) ordinal:::getNLA.ssr(rho, p)
  par <- fit$optRes$par
  central <- function(p) vapply(seq_along(p), function(i) {
    h <- 1e-4 * max(1, abs(p[i])); up <- p; down <- p; up[i] <- p[i] + h; down[i] <- p[i] - h
    (objective(up) - objective(down)) / (2 * h)
  }, 0)
  lower <- rep(-Inf, length(par))
  if (several) lower <- c(-Inf, 0)[ordinal:::parConstraints(rho) + 1]
  inside <- all(par - 1e-4 > lower)
  polished <- if (inside) quietly(nlminb(par, objective, central, lower = lower, control = tight))$value
  package <- paste("clmm", best)
  loglik <- max(values)
  if (!is.null(polished) && -polished$objective > loglik) {
    par <- polished$par
    if (-polished$objective > loglik + 1e-7) package <- "clmm polished"
    loglik <- -polished$objective
  }
  gradient <- max(abs(central(par)[inside | par - 1e-4 > lower]))
  free <- which(par - 1e-4 > lower)
  hess <- quietly(hessian(function(q) { p <- par; p[free] <- q; objective(p) }, par[free]))$value
  cov <- matrix(NA_real_, length(par), length(par))
  inverse <- quietly(solve(hess))$value
  if (!is.null(inverse) && all(diag(inverse) > 0)) cov[free, free] <- inverse
  else said <- rbind(said, failures("clmm", "Hessian not positive definite, no standard errors"))
  alpha <- seq_along(fit$alpha); J <- fit$tJac
  out <- row(names(fit$Theta <- setNames(as.vector(J %*% par[alpha]), colnames(fit$Theta))), fit$Theta,
             sqrt(pmax(diag(J %*% cov[alpha, alpha, drop = FALSE] %*% t(J)), 0)))
  if (threshold == "symmetric") {  # and as a midpoint and half-widths from within outwards
    cuts <- nrow(J); pairs <- cuts %/% 2
    A <- rbind((J[1, ] + J[cuts, ]) / 2,
               t(vapply(seq_len(pairs), function(k) (J[cuts - pairs + k, ] - J[pairs + 1 - k, ]) / 2, J[1, ])))
    widths <- if (pairs == 1) "half-width" else paste("half-width", seq_len(pairs))
    out <- rbind(out, row(c("midpoint", widths), as.vector(A %*% par[alpha]), sqrt(diag(A %*% cov[alpha, alpha] %*% t(A)))))
  }
  beta <- length(alpha) + seq_along(fit$beta)
  if (length(fit$beta)) out <- rbind(out, row(term_names(names(fit$beta)), par[beta], sqrt(diag(cov))[beta]))
  tau <- par[length(alpha) + length(fit$beta) + seq_along(fit$ST)]
  sd <- if (several) tau else exp(tau)
  stopifnot(max(abs(sd - unlist(fit$ST))) < 1e-3)
  error <- sqrt(diag(cov))[length(alpha) + length(fit$beta) + seq_along(fit$ST)] * (if (several) 1 else sd)
  out <- rbind(out, row(sprintf("sd(Intercept|%s)", names(fit$ST)), sd, error))
  rbind(out, row("singular", any(sd < 1e-3)), row("loglik", loglik), row("loglik_clmm", values[["nlminb"]]),
        row("gradient", gradient), row("converged", as.numeric(gradient < 1e-2)), row("package", note = package), said)
}

started <- proc.time()[["elapsed"]]
all_rows <- lapply(seq_len(nrow(index)), function(i) {
  design <- index[i, ]
  data <- read.csv(file.path(arguments[1], paste0(design$id, ".csv")), stringsAsFactors = TRUE)
  clock <- proc.time()[["elapsed"]]
  got <- quietly(if (design$family == "cumulative") fit_clmm(design, data) else fit_glmm(design, data))
  rows <- if (is.null(got$value)) rbind(failures("script", got$messages), row("converged", 0)) else got$value
  message(sprintf("%s %.1f s", design$id, proc.time()[["elapsed"]] - clock))
  cbind(id = design$id, rows)
})
results <- do.call(rbind, all_rows)
message(sprintf("%d designs in %.0f s", nrow(index), proc.time()[["elapsed"]] - started))
results$estimate <- ifelse(is.na(results$estimate), "", sprintf("%.12g", results$estimate))
results$std_error <- ifelse(is.na(results$std_error), "", sprintf("%.7g", results$std_error))
results$note <- gsub("[\",]", ";", results$note)
if (length(arguments) > 1) print(results, right = FALSE) else {
  out <- file(file.path(here, "results.csv"), "wb")
  writeLines(sprintf("# %s, glmmTMB %s, TMB %s, lme4 %s, ordinal %s, numDeriv %s", R.version.string, packageVersion("glmmTMB"),
                     packageVersion("TMB"), packageVersion("lme4"), packageVersion("ordinal"), packageVersion("numDeriv")), out)
  write.csv(results, out, row.names = FALSE, quote = c(2, 5))
  close(out)
}
