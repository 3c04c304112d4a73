# Krippendorff's alpha from the table of coincidences, as its definition has it
# (Krippendorff 2011, Computing Krippendorff's Alpha-Reliability).
#
# The package irr could not be installed where this was run, so this is an implementation of its own, in base R
# (R 4.2.2, no packages): units and pairs in loops, the table of coincidences made, each metric difference by its formula.
#
#   Rscript tests/reference/alpha.R > tests/reference/alpha.csv
#
# The machine raters of HANNA are read from the folder JUDGESTATS_REAL_DATA (Chhun et al. 2024, TACL; MIT);
# scores off the scale of 1 to 5 are missing.

coincidences <- function(units) {
  values <- sort(unique(unlist(units)))
  o <- matrix(0, length(values), length(values))
  for (unit in units) {
    unit <- unit[!is.na(unit)]
    m <- length(unit)
    if (m < 2) next
    for (i in 1:m) for (j in 1:m) if (i != j) {
      a <- match(unit[i], values)
      b <- match(unit[j], values)
      o[a, b] <- o[a, b] + 1 / (m - 1)
    }
  }
  list(o = o, values = values)
}

difference <- function(values, n, level) {
  k <- length(values)
  d <- matrix(0, k, k)
  for (a in 1:k) for (b in 1:k) if (a != b) {
    d[a, b] <- switch(level,
      nominal = 1,
      ordinal = (sum(n[min(a, b):max(a, b)]) - (n[a] + n[b]) / 2)^2,
      interval = (values[a] - values[b])^2,
      ratio = ((values[a] - values[b]) / (values[a] + values[b]))^2
    )
  }
  d
}

alpha <- function(units, level) {
  table <- coincidences(units)
  n <- rowSums(table$o)
  d <- difference(table$values, n, level)
  1 - (sum(n) - 1) * sum(table$o * d) / sum(outer(n, n) * d)
}

say <- function(data, part, level, value) cat(sprintf("%s,%s,%s,%.15f\n", data, part, level, value))

cat(sprintf("# R %s, base R only\n", getRversion()))
cat("data,part,level,alpha\n")
four <- rbind(
  c(1, 2, 3, 3, 2, 1, 4, 1, 2, NA, NA, NA),
  c(1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NA, 3),
  c(NA, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NA),
  c(1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NA)
)
units <- lapply(seq_len(ncol(four)), function(u) four[, u])
for (level in c("nominal", "ordinal", "interval", "ratio")) say("krippendorff", "", level, alpha(units, level))

ratings <- read.csv(gzfile(file.path(Sys.getenv("JUDGESTATS_REAL_DATA"), "hanna", "ratings_long.csv.gz")))
ratings <- ratings[ratings$rater_type == "llm", ]
ratings$score[ratings$score < 1 | ratings$score > 5] <- NA
for (prompt in sort(unique(ratings$eval_prompt))) for (criterion in sort(unique(ratings$criterion))) {
  part <- ratings[ratings$eval_prompt == prompt & ratings$criterion == criterion, ]
  units <- split(part$score, part$story_id)
  for (level in c("interval", "ordinal")) say("hanna", paste(prompt, criterion), level, alpha(units, level))
}
