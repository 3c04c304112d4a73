# Laplace's approximation where groups always answer alike: 200 designs by glmmTMB. Writes constant_groups.csv.
#
# A design has G groups of H cells with n calls each; `k` has the number of ones of every cell, group after group, and
# x of cell h of group g is (7 g + 3 h) mod 5 - 2. Some groups always answer 1, some always 0, the others 1 with one
# probability. terms: one (1|g), or two, (1|g) + (1|h). loglik: the best of nine starts, NA where none is finite;
# positive: whether its Hessian is positive definite; b0, b1, sd, sd_h: where that is.
suppressMessages(library(glmmTMB))
script <- sub("^--file=", "", grep("^--file=", commandArgs(FALSE), value = TRUE))
set.seed(31)
close <- glmmTMBControl(optCtrl = list(iter.max = 1e4, eval.max = 1e4, rel.tol = 1e-14, x.tol = 1e-12))
rows <- lapply(1:200, function(design) {
  terms <- 1 + design %% 2
  H <- sample(3:5, 1); n <- sample(1:4, 1); G <- sample(6:14, 1)
  ones <- sample(1:(G %/% 2), 1); zeros <- sample(1:(G - ones), 1); p <- runif(1, 0.1, 0.9)
  prob <- rep(p, G); prob[seq_len(ones)] <- 1; prob[ones + seq_len(zeros)] <- 0
  d <- expand.grid(h = seq_len(H) - 1, g = seq_len(G) - 1)
  d$x <- (7 * d$g + 3 * d$h) %% 5 - 2
  d$k <- rbinom(nrow(d), n, prob[d$g + 1]); d$n <- n
  d$g <- factor(d$g); d$h <- factor(d$h)
  formula <- if (terms == 1) cbind(k, n - k) ~ x + (1 | g) else cbind(k, n - k) ~ x + (1 | g) + (1 | h)
  best <- list(loglik = NA, positive = NA, par = rep(NA, 4))
  for (sd in c(1, 5, 40)) for (b in c(0, -5, 5)) {
    start <- list(beta = c(b, 0), theta = log(rep(sd, terms)))
    f <- try(suppressWarnings(glmmTMB(formula, d, family = binomial, start = start, control = close)), silent = TRUE)
    if (inherits(f, "try-error")) next
    value <- -f$fit$objective
    if (is.finite(value) && !(is.finite(best$loglik) && value <= best$loglik))
      best <- list(loglik = value, positive = isTRUE(f$sdr$pdHess), par = c(f$fit$par[1:2], exp(f$fit$par[-(1:2)]), NA)[1:4])
  }
  data.frame(design = design, terms = terms, groups = G, cells = H, n = n, loglik = best$loglik, positive = best$positive,
             b0 = best$par[1], b1 = best$par[2], sd = best$par[3], sd_h = best$par[4], k = paste(d$k, collapse = ""))
})
path <- file.path(dirname(normalizePath(script)), "constant_groups.csv")
writeLines(paste0("# R ", getRversion(), ", glmmTMB ", packageVersion("glmmTMB"), ", TMB ", packageVersion("TMB")), path)
suppressWarnings(write.table(format(do.call(rbind, rows), digits = 12, trim = TRUE), path, sep = ",", append = TRUE, row.names = FALSE, quote = FALSE))
