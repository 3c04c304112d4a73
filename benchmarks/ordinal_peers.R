# Ordinal mixed models by ordinal: the peer of benchmarks/test_ordinal_speed.py, which writes the table and reads the answer.
# Run: Rscript ordinal_peers.R <clm or clmm> <table.csv> <formula>
# Prints one line of JSON. Seconds are of the fit alone, standard errors included; the table is read and coded before.
given <- commandArgs(trailingOnly = TRUE)
if (!requireNamespace("ordinal", quietly = TRUE)) quit(status = 3)
suppressMessages(library(ordinal))
data <- read.csv(given[2], stringsAsFactors = TRUE)
formula <- as.formula(given[3])
response <- all.vars(formula)[1]
data[[response]] <- factor(data[[response]], ordered = TRUE)
for (group in all.vars(formula)[-1]) data[[group]] <- factor(data[[group]])
fitted_by <- if (given[1] == "clm") function() clm(formula, data = data) else function() clmm(formula, data = data)
time <- system.time(fit <- suppressWarnings(fitted_by()))
cat(sprintf("{\"seconds\": %.15g, \"user\": %.15g, \"loglik\": %.15g, \"rows\": %d, \"version\": \"%s\"}\n",
            time[["elapsed"]], time[["user.self"]], as.numeric(logLik(fit)), nrow(data), packageVersion("ordinal")))
