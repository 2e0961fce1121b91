"""The table of complexities: rows in exact arithmetic, theorems in 50 digits."""

import math
from fractions import Fraction

import mpmath
import pytest

from escapade.errors import InvalidSetting
from escapade.theory import SINCE, TABLE, Constants, complexity

SETS = [
    {"d": 10, "epsilon": 1e-2, "delta": 0.1},
    {"d": 784, "epsilon": 1e-4, "delta": 0.03, "ell": 100.0, "rho": 3.0, "sigma": 0.7, "Delta_f": 12.0},
    {"d": 2, "epsilon": 0.5, "delta": 0.25, "ell": 0.3, "rho": 7.0, "sigma": 4.0, "Delta_f": 0.1, "p": 0.5},
]

# Each theorem again, from the paper's LaTeX, in another shape than the code's.
THEOREMS = {
    "ZPSGD": "d^2 / eps^5",
    "PAGD": "d * log(d)^4 / eps^2",
    "RSPI": "d * log(d) / eps^(8/3)",
    "ZO-GD-NCF": "d*ell*Delta/eps^2 + d * sqrt(ell)/sqrt(delta) * rho^2*Delta/delta^3 * log(d)",
    "ZO-SCRN": "d/eps^(7/2) + d^4/eps^(5/2)",
    "ZO-SGD-NCF": "d*sigma^2*ell*Delta/eps^4 + d*sigma^2*rho^2*Delta/(eps^2*delta^3) + d*ell^2*rho^2*Delta/delta^5",
    "ZO-SCSG-NCF": "d * (ell*Delta/(eps^(4/3)*sigma^(2/3)) + rho^2*Delta/delta^3)"
    " * (sigma^2/eps^2 + ell^2/delta^2) + d * (ell*Delta/eps^2) * (ell^2/delta^2)",
    "ZO-SPIDER-NCF": "d * (sigma*ell*Delta/eps^3 + sigma*ell*rho*Delta/(eps^2*delta^2)"
    " + ell^2*rho*Delta/(delta^3*eps) + ell^2*rho^2*Delta/delta^5 + sigma^2/eps^2"
    " + sigma*delta*ell/(rho*eps^2) + ell^2/delta^2)",
}

LATER = {
    "ZO-Perturbed-AGD": "d * Delta * sqrt(ell) * sqrt(sqrt(rho)) / (eps * sqrt(eps) * sqrt(sqrt(eps))) * log(d)^6",
    "ZO-AGD-NCF": "d * Delta * sqrt(ell) * sqrt(sqrt(rho)) / (eps * sqrt(eps) * sqrt(sqrt(eps))) * log(d)",
    "ZO-Two-Point": "d / (eps^2 * sqrt(eps))",
}


def high_precision(expression: str, c: Constants) -> mpmath.mpf:
    names = {k: mpmath.mpf(v) for k, v in vars(c).items()}
    names |= {"eps": names["epsilon"], "Delta": names["Delta_f"], "log": mpmath.log, "sqrt": mpmath.sqrt}
    for a, b in (("(8/3)", "(mpf(8)/3)"), ("(4/3)", "(mpf(4)/3)"), ("(2/3)", "(mpf(2)/3)"), ("^", "**")):
        expression = expression.replace(a, b)
    return eval(expression, {"mpf": mpmath.mpf}, names)


def test_the_table_has_the_eight_rows_of_the_paper():
    assert list(TABLE) == list(THEOREMS)
    assert [row.setting for row in TABLE.values()] == ["deterministic"] * 4 + ["stochastic"] * 4
    assert list(SINCE) == list(LATER)
    assert all(row.name == name for name, row in (TABLE | SINCE).items())


@pytest.mark.parametrize("given", SETS)
@pytest.mark.parametrize("name", TABLE | SINCE)
def test_rows_reproduce_their_formulas(name, given):
    c = Constants(**given)
    with mpmath.workdps(50):
        expected = high_precision((THEOREMS | LATER)[name], c)
        assert abs((TABLE | SINCE)[name].queries(c) / expected - 1) < 1e-13


@pytest.mark.parametrize("given", SETS)
def test_rational_rows_in_exact_arithmetic(given):
    c = Constants(**given)
    d, eps, delta, ell, rho, sigma, Delta = (
        Fraction(v) for v in (c.d, c.epsilon, c.delta, c.ell, c.rho, c.sigma, c.Delta_f)
    )
    first = sigma**2 * ell / eps**4
    sgd = d * Delta * (first + sigma**2 * rho**2 / (eps**2 * delta**3) + ell**2 * rho**2 / delta**5)
    other = sgd + (d - 1) * d * first * Delta
    for got, exact in (
        (complexity.zpsgd(c), d**2 / eps**5),
        (complexity.zo_sgd_ncf(c), sgd),
        (complexity.zo_sgd_ncf(c, option=2), other),
    ):
        assert abs(Fraction(got) / exact - 1) < Fraction(1, 10**14)


@pytest.mark.parametrize("name", TABLE | SINCE)
def test_with_constants_one_the_theorem_is_the_printed_row(name):
    """But for terms of the last two theorems that the table leaves out: its own terms dominate them."""
    row = (TABLE | SINCE)[name]
    for d, eps, delta in ((5, 1e-2, 0.1), (50, 1e-4, 1e-2), (50, 1e-4, 0.3), (7, 1e-3, 1e-3)):
        c = Constants(d=d, epsilon=eps, delta=delta)
        printed = eval(row.printed, {"log": math.log}, {"d": d, "epsilon": eps, "delta": delta})
        ratio = row.queries(c) / printed
        if name in ("ZO-SCSG-NCF", "ZO-SPIDER-NCF"):
            assert 1 <= ratio <= 3
        else:
            assert math.isclose(ratio, 1, rel_tol=1e-13)


def test_option_two_costs_another_factor_d_in_the_first_term():
    c = Constants(**SETS[1])
    extra = complexity.zo_gd_ncf(c, option=2) - complexity.zo_gd_ncf(c)
    assert math.isclose(extra, (c.d - 1) * c.d * c.ell * c.Delta_f / c.epsilon**2, rel_tol=1e-9)
    with pytest.raises(InvalidSetting, match="option=3 must be 1"):
        complexity.zo_gd_ncf(c, option=3)


@pytest.mark.parametrize("given", SETS)
def test_the_finders(given):
    c = Constants(**given)
    with mpmath.workdps(50):
        log = mpmath.log(mpmath.mpf(c.d) / mpmath.mpf(c.p))
        online = c.d * log**2 * mpmath.mpf(c.ell) ** 2 / mpmath.mpf(c.delta) ** 2
        deterministic = c.d * log * mpmath.sqrt(mpmath.mpf(c.ell)) / mpmath.sqrt(mpmath.mpf(c.delta))
        assert abs(complexity.zo_ncf_online(c) / online - 1) < 1e-13
        assert abs(complexity.zo_ncf_deterministic(c) / deterministic - 1) < 1e-13


def test_constants_are_checked():
    good = SETS[1]
    for key in (*good, "p"):
        for bad in (0, -1.0, math.nan, math.inf, "x", True):
            with pytest.raises(InvalidSetting, match=f"{key}={bad!r}"):
                Constants(**{**good, key: bad})
    with pytest.raises(InvalidSetting, match="p=1"):
        Constants(**{**good, "p": 1.0})
