# What the scripts of this folder share: data, models, the writer of results.
#
# R 4.2.2, lme4 1.1-31, glmmTMB 1.1.5, ordinal 2022.11-16, emmeans 1.8.4, car 3.1-1, broom.mixed 0.2.9.4, MASS 7.3-58.2,
# mvtnorm 1.1-3, lmerTest 3.1-3, pbkrtest 0.5.2, performance 0.10.2, geepack 1.3.9, TMB 1.9.2, statmod 1.5.0, numDeriv 2016.8-1.1 (Debian 12's packages).
#
#   for name in fits emmeans tests confint predict margins console satterthwaite kenward_roger \
#     contrasts cloglog ranova r2 influence console_more; do
#     Rscript tests/reference/models/$name.R [folder]
#   done
#
# writes <name>.csv beside the script. The small data sets lie beside it too. VerbAgg and grouseticks are too large to
# be copied here: they are read from `folder` (verbagg.csv, grouseticks.csv) or, without one, from lme4 itself.

Sys.setenv(OMP_NUM_THREADS = 1)
suppressMessages({library(lme4); library(glmmTMB); library(ordinal)})
options(contrasts = c("contr.treatment", "contr.poly"), digits = 7, width = 100)

script <- sub("^--file=", "", grep("^--file=", commandArgs(FALSE), value = TRUE))
here <- dirname(normalizePath(script))
folder <- commandArgs(TRUE)

# ---- data -----------------------------------------------------------------------------------------------------------
read <- function(name, where = here) read.csv(file.path(where, paste0(name, ".csv")))
factors <- function(table, columns) { table[columns] <- lapply(table[columns], factor); table }
larger <- function(name) {
  if (length(folder)) return(read(name, folder[1]))
  data(list = c(verbagg = "VerbAgg", grouseticks = "grouseticks")[[name]], package = "lme4", envir = environment())
  list(verbagg = get0("VerbAgg", inherits = FALSE), grouseticks = get0("grouseticks", inherits = FALSE))[[name]]
}

cbpp <- factors(read("cbpp"), c("herd", "period"))
cbpp$obs <- factor(seq_len(nrow(cbpp)))
sleepstudy <- factors(read("sleepstudy"), "Subject")
penicillin <- factors(read("penicillin"), c("plate", "sample"))
wine <- factors(read("wine"), c("temp", "contact", "bottle", "judge"))
wine$rating <- factor(wine$rating, ordered = TRUE)
wine$high <- as.integer(as.integer(wine$rating) > 2)      # rating > 3 would be separated: no success for cold, no contact
wine$row <- seq_len(nrow(wine))
wine_unbalanced <- wine[wine$row %% 5 != 1, ]             # rows 1, 6, 11, ... left out
housing <- read("housing")
housing$Sat <- factor(housing$Sat, c("Low", "Medium", "High"), ordered = TRUE)
housing$Infl <- factor(housing$Infl, c("Low", "Medium", "High"))
housing$Type <- factor(housing$Type, c("Tower", "Apartment", "Atrium", "Terrace"))
housing$Cont <- factor(housing$Cont, c("Low", "High"))
verbagg_data <- function() {
  table <- larger("verbagg")
  table <- factors(table, c("Gender", "item", "id", "btype", "situ", "mode", "r2"))
  table$y <- as.integer(table$r2 == "Y")
  table
}
grouseticks_data <- function() factors(larger("grouseticks"), c("INDEX", "BROOD", "YEAR", "LOCATION"))

# ---- fits -----------------------------------------------------------------------------------------------------------
# glmmTMB close to the optimum (its default stops earlier); lme4 as users get it, and "tight" where it is asked to go on
close <- glmmTMBControl(optCtrl = list(iter.max = 1e4, eval.max = 1e4, rel.tol = 1e-14, x.tol = 1e-12))
tight <- glmerControl(optimizer = "bobyqa", tolPwrss = 1e-13, optCtrl = list(rhoend = 1e-10, maxfun = 1e5),
                      check.conv.grad = "ignore", check.conv.hess = "ignore")
tight_lmer <- lmerControl(optimizer = "bobyqa", optCtrl = list(rhoend = 1e-10, maxfun = 1e5))
# a gradTol under 1e-7 makes clmm worse: its inner Newton steps no longer converge and the log-likelihood falls by 3e-6
steps <- clmm.control(method = "nlminb", gradTol = 1e-6, maxIter = 200)

tmb <- function(formula, data, family, ...) suppressWarnings(glmmTMB(formula, data, family = family, control = close, ...))

# ---- results --------------------------------------------------------------------------------------------------------
columns <- c("model", "engine", "quantity", "term", "level", "group", "method", "estimate", "std_error", "conf_low",
             "conf_high", "statistic", "df", "p_value")
row <- function(...) as.data.frame(list(...), stringsAsFactors = FALSE)
bind <- function(rows) {
  rows <- rows[!vapply(rows, is.null, TRUE)]
  names <- unique(unlist(lapply(rows, names)))
  do.call(rbind, lapply(rows, function(r) { for (n in setdiff(names, names(r))) r[[n]] <- NA; r[names] }))
}
versions <- function(packages) paste(vapply(packages, function(p) paste(p, packageVersion(p)), ""), collapse = ", ")
save_csv <- function(rows, name, packages, note = NULL) {
  table <- if (is.data.frame(rows)) rows else bind(rows)
  table <- table[c(intersect(columns, names(table)), setdiff(names(table), columns))]
  path <- file.path(here, paste0(name, ".csv"))
  writeLines(c(paste0("# R ", getRversion(), ", ", versions(packages)), if (!is.null(note)) paste("#", note)), path)
  suppressWarnings(write.table(table, path, sep = ",", append = TRUE, row.names = FALSE, na = "", qmethod = "double"))
}
