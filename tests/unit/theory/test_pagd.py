"""PAGD's initialisation box, against its formulas."""

import math

import pytest

from escapade.errors import InvalidSetting
from escapade.methods import PAGD
from escapade.theory import pagd_initialisation

GIVEN = {"ell": 3.0, "rho": 2.0, "epsilon": 1e-3, "delta": 0.1, "Delta_f": 5.0, "d": 7, "c": 0.25}


def test_the_box_is_the_printed_one():
    got = pagd_initialisation(**GIVEN)
    chi = 3 * math.log(7 * 3 * 5 / (0.25 * 1e-6 * 0.1))
    assert got.chi == pytest.approx(chi, rel=1e-12)
    assert got.eta == pytest.approx(0.25 / 3, rel=1e-12)
    assert got.r == pytest.approx(0.5 / chi**2 * 1e-3 / 3, rel=1e-12)
    assert got.g_thres == pytest.approx(0.5 / chi**2 * 1e-3, rel=1e-12)
    assert got.f_thres == pytest.approx(0.25 / chi**3 * math.sqrt(1e-9 / 2), rel=1e-12)
    assert got.t_thres == pytest.approx(16 * chi * 3 / math.sqrt(2e-3), rel=1e-12)
    assert pytest.approx(0.5 / chi * math.sqrt(2e-3) / 2, rel=1e-12) == got.S
    c_h = 3 * math.sqrt(7)
    assert got.h == pytest.approx(got.g_thres / (4 * c_h), rel=1e-12)
    assert got.h_low == pytest.approx(got.r * 2 * 0.1 * got.S / (2 * math.sqrt(7)) / c_h, rel=1e-12)
    method = got.method()
    assert method == PAGD(
        **{name: getattr(got, name) for name in ("eta", "r", "g_thres", "f_thres", "h", "h_low")},
        t_thres=math.ceil(got.t_thres),
        form="printed",
    )


def test_chi_is_twelve_at_least_and_constants_are_checked():
    assert pagd_initialisation(**(GIVEN | {"Delta_f": 1e-12})).chi == 12
    with pytest.raises(InvalidSetting, match="rho"):
        pagd_initialisation(**(GIVEN | {"rho": 0.0}))
    with pytest.raises(InvalidSetting, match="d="):
        pagd_initialisation(**(GIVEN | {"d": 0}))
