# A cumulative model with one random intercept, by hand: an oracle that does not share clmm's code or its tolerances.
#
# P(Y <= j) = F(theta_j - eta - sd u), u ~ N(0, 1). `upper` and `lower` are the rows' designs of the two thresholds that
# enclose Y (thresholds and slopes together); the first and the last category have none on one side. The mode of u in each
# group by Newton to 1e-12, then Laplace (nodes = 1) or adaptive Gauss-Hermite. Parameters: fixed effects, log sd.

cumulative <- function(y, upper, lower, group, link = "logit", nodes = 1) {
  top <- y == max(y); bottom <- y == min(y)
  group <- as.integer(group); size <- max(group)
  F <- if (link == "logit") plogis else pnorm
  f <- if (link == "logit") dlogis else dnorm
  slope <- if (link == "logit") function(x) f(x) * (1 - 2 * F(x)) else function(x) -x * f(x)
  zero <- function(x) { x[!is.finite(x)] <- 0; x }
  quadrature <- statmod::gauss.quad(nodes, "hermite")
  parts <- function(u, par, derivatives = TRUE) {
    s <- exp(par[length(par)]); fixed <- par[-length(par)]
    a <- ifelse(top, Inf, drop(upper %*% fixed) - s * u[group])
    b <- ifelse(bottom, -Inf, drop(lower %*% fixed) - s * u[group])
    p <- ifelse(b > 0, F(-b) - F(-a), F(a) - F(b))
    if (anyNA(p) || any(p <= 0)) return(list(g = rep(Inf, size)))
    g <- -as.vector(rowsum(log(p), group)) + u^2 / 2
    if (!derivatives) return(list(g = g))
    d <- f(a) - f(b)
    e <- zero(slope(a)) - zero(slope(b))
    list(g = g, d1 = as.vector(rowsum(s * d / p, group)) + u, d2 = as.vector(rowsum(s^2 * ((d / p)^2 - e / p), group)) + 1)
  }
  mode <- function(par) {
    u <- numeric(size)
    if (any(is.infinite(parts(u, par, FALSE)$g))) return(NULL)
    for (i in 1:200) {
      now <- parts(u, par); step <- now$d1 / now$d2; shrink <- rep(1, size)
      repeat {
        worse <- parts(u - shrink * step, par, FALSE)$g > now$g + 1e-12
        if (!any(worse) || all(shrink[worse] < 1e-6)) break
        shrink[worse] <- shrink[worse] / 2
      }
      u <- u - shrink * step
      if (max(abs(step)) < 1e-12) break
    }
    list(u = u, d2 = parts(u, par)$d2)
  }
  nll <- function(par) {
    at <- mode(par)
    if (is.null(at)) return(1e6)                                  # thresholds out of order
    tau <- 1 / sqrt(at$d2)
    if (nodes == 1) return(sum(parts(at$u, par, FALSE)$g - log(tau)))
    values <- vapply(seq_len(nodes), function(k) {
      x <- quadrature$nodes[k]
      log(quadrature$weights[k]) + x^2 - parts(at$u + sqrt(2) * tau * x, par, FALSE)$g
    }, numeric(size))
    peak <- apply(values, 1, max)
    -sum(log(tau) - log(pi) / 2 + peak + log(rowSums(exp(values - peak))))
  }
  list(nll = nll, mode = mode)
}

minimise <- function(nll, start) {
  gradient <- function(p) numDeriv::grad(nll, p)
  fit <- nlminb(start, nll, gradient, control = list(rel.tol = 1e-14, x.tol = 1e-12, eval.max = 1e4, iter.max = 1e4))
  par <- fit$par
  for (i in 1:3) par <- par - solve(numDeriv::hessian(nll, par), gradient(par))
  list(par = par, value = nll(par), hessian = numDeriv::hessian(nll, par), gradient = gradient(par))
}

# designs of the two thresholds: flexible ones, or those of `contrast` (thresholds = contrast %*% alpha)
designs <- function(y, X, contrast = diag(max(y) - 1)) {
  K <- max(y)
  list(upper = cbind(contrast[pmin(y, K - 1), , drop = FALSE], -X), lower = cbind(contrast[pmax(y - 1, 1), , drop = FALSE], -X))
}

wine_cumulative <- function(formula = ~ temp + contact, link = "logit", nodes = 1, contrast = diag(4), nominal = NULL) {
  X <- model.matrix(formula, wine)[, -1, drop = FALSE]
  y <- as.integer(wine$rating)
  d <- designs(y, X, contrast)
  if (!is.null(nominal)) {          # every threshold varies by the columns of `nominal`
    Z <- model.matrix(nominal, wine)[, -1]
    K <- max(y)
    d <- list(upper = cbind(diag(K - 1)[pmin(y, K - 1), ], diag(K - 1)[pmin(y, K - 1), ] * Z, -X),
              lower = cbind(diag(K - 1)[pmax(y - 1, 1), ], diag(K - 1)[pmax(y - 1, 1), ] * Z, -X))
  }
  cumulative(y, d$upper, d$lower, wine$judge, link, nodes)
}
