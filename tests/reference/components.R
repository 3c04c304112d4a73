# Variance components by lme4 for tests/real/test_icc_real.py: five models, eleven writers, 24 prompts of HANNA, criterion CH,
# the first evaluation prompt; scores off the scale 1 to 5 left out.
# Run here: Rscript components.R <folder of the public verdicts>. Writes components_hanna.csv.
suppressMessages(library(lme4))
real <- commandArgs(trailingOnly = TRUE)[1]
all <- read.csv(gzfile(file.path(real, "hanna", "ratings_long.csv.gz")))
data <- subset(all, rater_type == "llm" & eval_prompt == 1 & criterion == "CH" & prompt_index < 24 & score >= 1 & score <= 5)
names(data)[names(data) == "rater"] <- "judge"
names(data)[names(data) == "writer"] <- "system"
names(data)[names(data) == "prompt_index"] <- "item"
control <- lmerControl(optimizer = "bobyqa", optCtrl = list(rhoend = 1e-10, maxfun = 1e5), calc.derivs = FALSE)
fit <- lmer(score ~ 1 + (1 | judge) + (1 | system) + (1 | item) + (1 | judge:system) + (1 | judge:item) + (1 | system:item),
            data = data, control = control)
found <- as.data.frame(VarCorr(fit))[, c("grp", "vcov")]
con <- file("components_hanna.csv", "w")
writeLines(sprintf("# %s, lme4 %s", R.version.string, packageVersion("lme4")), con)
writeLines(sprintf("# HANNA, %d scores; REML criterion %.8f", nrow(data), REMLcrit(fit)), con)
write.csv(data.frame(term = found$grp, variance = format(found$vcov, digits = 12, trim = TRUE)), con, row.names = FALSE, quote = FALSE)
close(con)
