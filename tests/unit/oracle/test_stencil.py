"""Stencils against their naive construction, in every namespace and dtype."""

import array_api_strict
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from escapade.oracle import axes, pairs, point, points, some_axes

NAMESPACES = [(np, "float64"), (np, "float32"), (array_api_strict, "float64"), (array_api_strict, "float32")]


@pytest.fixture(params=NAMESPACES, ids=[f"{xp.__name__}-{dtype}" for xp, dtype in NAMESPACES])
def make(request):
    xp, dtype = request.param
    return lambda values: xp.asarray(np.asarray(values), dtype=getattr(xp, dtype))


X = np.array([1.0, -2.0, 0.5, 3.0])
H = np.array([0.25, 0.5, 1.0, 2.0])


def naive(name, x, h):
    eye = np.eye(len(x))
    if name in ("axes", "axes and centre"):
        return [x + h[i] * eye[i] for i in range(len(x))] + [x] * (name != "axes")
    if name == "some_axes":
        return [x + h[i] * eye[i] for i in (2, 0, 2)]
    if name == "pairs":
        return [x - h[i] * eye[i] - h[j] * eye[j] for i in range(len(x)) for j in range(i + 1, len(x))]
    if name == "point":
        return [x]
    return [x, x + 1]


def lazy(name, x, h, make):
    if name == "axes":
        return axes(x, h)
    if name == "axes and centre":
        return axes(x, h, centre=True)
    if name == "some_axes":
        return some_axes(x, h, np.array([2, 0, 2]))
    if name == "pairs":
        return pairs(x, h, -1.0)
    if name == "point":
        return point(x)
    return points(make(np.stack([X, X + 1])))


NAMES = ["axes", "axes and centre", "some_axes", "pairs", "point", "points"]


@pytest.mark.parametrize("name", NAMES)
def test_every_block_is_what_the_naive_matrix_has(name, make):
    x, h = make(X), make(H)
    stencil, expected = lazy(name, x, h, make), np.array(naive(name, X, H))
    assert (stencil.size, stencil.d) == expected.shape
    for start in range(stencil.size):
        for stop in range(start + 1, stencil.size + 1):
            rows = stencil.rows(start, stop)
            assert type(rows) is type(x)
            assert rows.dtype == x.dtype
            np.testing.assert_array_equal(np.asarray(rows), expected[start:stop])


@given(names=st.lists(st.sampled_from(NAMES), min_size=2, max_size=5), data=st.data())
def test_joins_are_concatenations(names, data):
    parts = [lazy(name, X, H, np.asarray) for name in names]
    whole = parts[0]
    for part in parts[1:]:
        whole = whole + part
    expected = np.concatenate([naive(name, X, H) for name in names])
    assert whole.size == len(expected)
    start = data.draw(st.integers(0, whole.size - 1))
    stop = data.draw(st.integers(start + 1, whole.size))
    np.testing.assert_array_equal(whole.rows(start, stop), expected[start:stop])


def test_joins_grow_either_way_in_every_namespace(make):
    x, h = make(X), make(H)
    expected = np.concatenate([naive("axes", X, H), naive("axes", X, -H), [X]])
    for whole in ((axes(x, h) + axes(x, -h)) + point(x), axes(x, h) + (axes(x, -h) + point(x))):
        np.testing.assert_array_equal(np.asarray(whole.rows(0, 9)), expected)
        np.testing.assert_array_equal(np.asarray(whole.rows(3, 9)), expected[3:])


@pytest.mark.parametrize("name", NAMES)
def test_rows_are_fresh(name):
    x, h = X.copy(), H.copy()
    stencil = lazy(name, x, h, np.asarray)
    before = stencil.rows(0, stencil.size).copy()
    stencil.rows(0, stencil.size)[...] = np.nan
    np.testing.assert_array_equal(stencil.rows(0, stencil.size), before)
    np.testing.assert_array_equal(x, X)
    np.testing.assert_array_equal(h, H)
