"""Boxes, equalities and invariances: geometry, without values."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint

from escapade import rigid_motions
from escapade.domain import UNBOUNDED, Domain, Geometry, Plane, Selection, independent, null_space, read_bounds
from escapade.errors import InvalidSetting

INF = float("inf")


def test_what_is_no_bound_is_none():
    x = np.zeros(2)
    assert read_bounds(None, x) is UNBOUNDED
    for bounds in ([(None, None)] * 2, [(-INF, INF)] * 2, Bounds(), Bounds(-INF, [INF, INF])):
        assert read_bounds(bounds, x) is UNBOUNDED
    box = read_bounds([(0, None), (None, 1)], x)
    assert np.array_equal(box.lower, [0, -INF])
    assert np.array_equal(box.upper, [INF, 1])


def test_bounds_of_a_shorter_float_are_rounded_inward():
    x = np.zeros(3, dtype=np.float32)
    box = read_bounds([(-0.1, 0.1), (0.1, 0.3), (0.1, 0.1)], x)
    assert box.lower.tolist()[:2] >= [-0.1, 0.1]
    assert box.upper.tolist()[:2] <= [0.1, 0.3]
    assert np.array_equal(box.lower.astype(np.float32), box.lower)
    assert box.lower[2] == box.upper[2]


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 5), st.integers(0, 2**31))
def test_points_of_a_box_in_other_units_come_back_to_its_bounds(d, seed):
    rng = np.random.default_rng(seed)
    lower = rng.standard_normal(d) * 10.0 ** rng.integers(-8, 8, d)
    box = Domain(lower, lower + 10.0 ** rng.integers(-7, 20, d))
    unit = rng.uniform(0.1, 10, d)
    for side in (box.lower, box.upper):
        assert np.array_equal(box.snapped((side / unit) * unit), side)
    inner = box.inset(box.lower, np.full(d, 1e-3))
    assert box.contains(inner[None, :])[0]


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 6), st.integers(0, 2**31))
def test_a_selection_and_a_plane_go_there_and_back(d, seed):
    rng = np.random.default_rng(seed)
    x, which = rng.standard_normal(d), np.flatnonzero(rng.random(d) < 0.5)
    some = Selection(x, which)
    assert np.array_equal(some.outside(some.inside(x)[None, :])[0], x)
    assert np.array_equal(some.direction(np.ones(len(which)))[which], np.ones(len(which)))
    A = rng.standard_normal((int(rng.integers(0, d)), d))
    geometry = Geometry(equalities=None)
    plane = geometry.frame(x, A) if len(A) else None
    if isinstance(plane, Plane):
        z = plane.inside(x)
        np.testing.assert_allclose(plane.outside(z[None, :])[0], x, atol=1e-12)
        moved = plane.outside((z + rng.standard_normal(len(z)))[None, :])[0]
        np.testing.assert_allclose(A @ moved, A @ x, atol=1e-10)


def test_a_null_space_leaves_variables_that_are_not_touched_alone():
    rows = np.array([[1.0, 1.0, 0.0, 0.0], [2.0, 2.0, 0.0, 0.0]])  # of rank one
    basis = null_space(rows)
    assert basis.shape == (4, 3)
    np.testing.assert_allclose(rows @ basis, 0.0, atol=1e-14)
    assert np.array_equal(basis[2:, 1:], np.eye(2))


def test_a_frame_with_bounds_and_equalities():
    x = np.array([1.0, 1.0, 0.25, 3.0])
    constraint = LinearConstraint([[1, 1, 0, 0]], 2, 2)
    geometry = Geometry.of([(None, None), (None, None), (0, 1), (3, 3)], constraint, None, x, None)
    frame = geometry.frame(x)
    assert isinstance(frame, Plane)
    assert frame.columns.shape == (4, 2)
    box = frame.box(geometry.domain)
    assert np.array_equal(box.lower, [-INF, 0])
    assert np.array_equal(box.upper, [INF, 1])
    assert frame.inside(x)[1] == 0.25
    assert frame.moved(4) == (0, 1, 2)
    np.testing.assert_allclose(geometry.start(np.zeros(4)), [1, 1, 0, 3])


def test_an_equality_among_bounded_variables_is_refused():
    with pytest.raises(InvalidSetting, match="variable 1 is bounded and stands in an equality"):
        Geometry.of([(None, None), (0, 1)], LinearConstraint([[1, 1]], 2, 2), None, np.ones(2), None)
    with pytest.raises(InvalidSetting, match="no x fulfils"):
        Geometry.of(None, LinearConstraint([[1, 1], [1, 1]], [1, 2], [1, 2]), None, np.ones(2), None).start(np.ones(2))
    with pytest.raises(InvalidSetting, match="variable 0 is bounded, and f cannot be the same"):
        Geometry.of([(0, 1), (None, None)], None, [[1.0, 1.0]], np.ones(2), None)


@pytest.mark.parametrize(("dimension", "many"), [(2, 3), (3, 6)])
def test_rigid_motions_keep_all_distances(dimension, many):
    rng = np.random.default_rng(0)
    x = rng.standard_normal(dimension * 5)
    rows = rigid_motions(5, dimension)(x)
    assert independent(rows).shape == (dimension * 5, many)
    positions = x.reshape(5, dimension)
    for row in rows:  # no distance changes to first order
        move = row.reshape(5, dimension)
        for i in range(5):
            change = np.einsum("ki,ki->k", positions - positions[i], move - move[i])
            np.testing.assert_allclose(change, 0.0, atol=1e-12)
    line = np.zeros((5, 3))
    line[:, 0] = np.arange(5)
    assert independent(rigid_motions(5)(line.ravel())).shape[1] == 5  # a turn about the line moves nothing


@pytest.mark.parametrize("arguments", [(0,), (2.0,), (3, 4)])
def test_no_rigid_motions_of_that(arguments):
    with pytest.raises(InvalidSetting):
        rigid_motions(*arguments)
