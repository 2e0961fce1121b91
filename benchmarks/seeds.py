"""The seeds of every benchmark: disjoint from one another, from those of the tests (below 1,000) and from tuning's.

A benchmark that draws a problem or a run from a seed takes it from its own range. Numbers are tuned on `ABLATION`
alone; what a benchmark reports was therefore never tuned on its own seeds. `tests/unit/test_benchmarks.py` checks it.
"""

from __future__ import annotations

TESTS = range(1000)
AUTO = range(1000, 2000)
ORDINARY = range(2000, 3000)
METHODS = range(3000, 4000)
TRUTH = range(4000, 5000)
PROFILES = range(5000, 6000)
MISSING = range(6000, 7000)
GOLDEN = range(7000, 8000)
ABLATION = range(9000, 9100)
SCALE = range(10000, 11000)
PRICE = range(15000, 15900)
PRICE_TUNING = range(15900, 16000)
BOUNDS = range(16000, 17000)
MULTISTART = range(17000, 18000)
GRADIENTS = range(20000, 21000)
GRADIENTS_TUNING = range(21000, 22000)
RESIDUALS = range(23000, 24000)
SAMPLES = range(25000, 26000)
VALUES = range(26000, 27000)
OPTIPROFILER = range(27000, 28000)
SPARSITY = range(28000, 32000)
