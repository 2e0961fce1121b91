"""Shapes of blocks that reach a vectorised function of JAX, each of which is compiled; and the time that takes.

    python benchmarks/shapes.py [--d 1000] [--maxfev 20000]

A run from a point of JAX: points are kept on the host, and blocks are padded to a few sizes. Beside it the same run on
arrays of NumPy with a compiled function that is handed blocks as they are. Times are of one machine: compare them.
"""

from __future__ import annotations

import argparse
import time

import jax
import jax.numpy as jnp
import numpy as np

import escapade


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--d", type=int, default=1000)
    parser.add_argument("--maxfev", type=int, default=20_000)
    options = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    weights = jnp.linspace(1.0, 3.0, options.d)

    def loss(X: jax.Array) -> jax.Array:
        return jnp.sum(weights * (X - 1) ** 2 + jnp.cos(X), axis=-1)

    for name, x0 in (("jax", jnp.zeros(options.d)), ("numpy", np.zeros(options.d))):
        shapes: list[tuple[int, ...]] = []
        compiled = jax.jit(loss)

        def fun(X: jax.Array, shapes: list = shapes, compiled=compiled) -> jax.Array:
            shapes.append(X.shape)
            return compiled(X)

        began = time.perf_counter()
        result = escapade.minimize(fun, x0, vectorized=True, rng=0, maxfev=options.maxfev)
        seconds = time.perf_counter() - began
        rows = sum(shape[0] for shape in shapes)
        print(
            f"{name}: {len(set(shapes))} shapes in {len(shapes)} calls, {result.nfev} queries, {rows} rows evaluated; "
            f"{seconds:.2f} s; {result.message[:60]}"
        )


if __name__ == "__main__":
    main()
