# Strengths from paired comparisons: BradleyTerry2 (baseball, CEMS), ordinal, sandwich, clubSandwich (last lines).
# votes.csv is simulated by votes.py. Run: Rscript paired_comparisons.R > paired_comparisons.csv
suppressPackageStartupMessages({library(BradleyTerry2); library(ordinal); library(sandwich); library(clubSandwich)})
cat(sprintf("# R %s, BradleyTerry2 %s, ordinal %s, sandwich %s\n", getRversion(), packageVersion("BradleyTerry2"),
            packageVersion("ordinal"), packageVersion("sandwich")))
cat("data,model,quantity,name,value\n")
put <- function(data, model, quantity, x) for (k in names(x)) cat(sprintf("%s,%s,%s,%s,%.12g\n", data, model, quantity, sub("^X(\\[decided, \\])?|^team", "", k), x[[k]]))
fitted <- function(data, model, fit, cluster = NULL) {
  put(data, model, "estimate", coef(fit)); put(data, model, "model_error", sqrt(diag(vcov(fit))))
  put(data, model, "log_likelihood", c(all = as.numeric(logLik(fit))))
  if (!is.null(cluster)) put(data, model, "clustered_error", sqrt(diag(vcovCL(fit, cluster = cluster, type = "HC0", cadjust = FALSE))))
}
# baseball: home advantage
baseball$home.team <- data.frame(team = baseball$home.team, at.home = 1)
baseball$away.team <- data.frame(team = baseball$away.team, at.home = 0)
m <- BTm(cbind(home.wins, away.wins), home.team, away.team, ~ team, id = "team", data = baseball, refcat = "Baltimore")
put("baseball", "bradley-terry", "estimate", coef(m)); put("baseball", "bradley-terry", "deviance", c(all = deviance(m)))
m <- update(m, formula = ~ team + at.home)
put("baseball", "slot", "estimate", coef(m)); put("baseball", "slot", "model_error", sqrt(diag(vcov(m))))
put("baseball", "slot", "deviance", c(all = deviance(m)))
# CEMS: ties dropped, Rao-Kupper, Davidson as a log-linear model
d <- subset(CEMS$preferences, !is.na(win1) & !is.na(win2) & !is.na(tied))
s <- c("London", "Barcelona", "Milano", "Paris", "St.Gallen", "Stockholm")
design <- function(one, two, of) {x <- sapply(of[-1], function(z) (one == z) - (two == z)); colnames(x) <- of[-1]; x}
X <- design(as.character(d$school1), as.character(d$school2), s)
decided <- d$tied == 0
fitted("cems", "drop", glm(d$win1[decided] ~ 0 + X[decided, ], family = binomial), d$student[decided])
y <- factor(ifelse(d$win1 == 1, 3, ifelse(d$tied == 1, 2, 1)), ordered = TRUE)
fitted("cems", "rao-kupper", clm(y ~ X, threshold = "symmetric2"))
g <- aggregate(cbind(win1, tied, win2) ~ school1 + school2, d, sum)
Z <- design(as.character(g$school1), as.character(g$school2), s); k <- nrow(g)
Z <- rbind(Z / 2, 0 * Z, -Z / 2)
m <- glm(c(g$win1, g$tied, g$win2) ~ 0 + factor(rep(seq_len(k), 3)) + Z + rep(c(0, 1, 0), each = k), family = poisson, control = list(epsilon = 1e-14))
keep <- (k + 1):length(coef(m)); b <- coef(m)[keep]; e <- sqrt(diag(vcov(m)))[keep]
names(b) <- names(e) <- c(s[-1], "tie")
put("cems", "davidson", "estimate", b); put("cems", "davidson", "model_error", e)
# votes: slot, a covariate, clusters
v <- read.csv("votes.csv"); of <- sort(unique(c(v$first, v$second)))
X <- cbind(design(v$first, v$second, of), slot = 1, length = v$length_first - v$length_second)
decided <- v$choice != "tie"
fitted("votes", "drop", glm((v$choice == "first")[decided] ~ 0 + X[decided, ], family = binomial), v$item[decided])
fitted("votes", "drop two-way", glm((v$choice == "first")[decided] ~ 0 + X[decided, ], family = binomial), v[decided, c("item", "judge")])
half <- c(first = 1, tie = 0.5, second = 0)[v$choice]
fitted("votes", "half", suppressWarnings(glm(half ~ 0 + X, family = binomial)), v$item)
y <- factor(c(first = 3, tie = 2, second = 1)[v$choice], ordered = TRUE)
X <- X[, colnames(X) != "slot"]
m <- clm(y ~ X) # the midpoint of free thresholds is minus the effect of the slot, half their distance is theta
turn <- diag(length(coef(m))); turn[1:2, 1:2] <- rbind(c(-0.5, -0.5), c(-0.5, 0.5))
errors <- function(V) setNames(sqrt(diag(turn %*% V %*% t(turn))), c("slot", "tie", colnames(X)))
put("votes", "rao-kupper", "estimate", setNames(c(turn %*% coef(m)), c("slot", "tie", colnames(X))))
put("votes", "rao-kupper", "model_error", errors(vcov(m)))
put("votes", "rao-kupper", "clustered_error", errors(vcovCL(m, cluster = v$item, type = "HC0", cadjust = FALSE)))
put("votes", "rao-kupper", "log_likelihood", c(all = as.numeric(logLik(m))))
# votes: corrected for the leverage of clusters
corrected <- function(model, fit, cluster) {
  test <- coef_test(fit, vcov = "CR2", cluster = cluster, test = "Satterthwaite")
  put("votes", model, "corrected_error", setNames(test$SE, names(coef(fit))))
  put("votes", model, "satterthwaite", setNames(test$df_Satt, names(coef(fit))))
}
X <- cbind(design(v$first, v$second, of), slot = 1, length = v$length_first - v$length_second)
corrected("drop", glm((v$choice == "first")[decided] ~ 0 + X[decided, ], family = binomial), v$item[decided])
corrected("half", suppressWarnings(glm(half ~ 0 + X, family = binomial)), v$item)
