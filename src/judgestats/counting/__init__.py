"""From canonical frames to patterns with counts.

A :class:`~judgestats.counting.study.Study` holds a frame, coded once; :class:`~judgestats.counting.counts.Counts` is a
table of patterns with its groups, its clusters and the estimates that counts give; one table of patterns
(:data:`~judgestats.counting.patterns.PATTERNS`) says what each measure counts. May import the packages schema and
kernels.
"""
