"""What a journal says about the run that began it, as plain JSON; and how it differs from another run."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import array_api_compat
import numpy as np
import scipy
from numpy.typing import NDArray

from ..._array import to_numpy
from ...errors import JournalError


def header_of(
    settings: dict[str, Any], tag: str | None, limits: dict[str, Any], rng: np.random.Generator
) -> dict[str, Any]:
    """The header of a run: its settings, tag and random state are what it is; limits and versions are noted."""
    stack = f"Python {platform.python_version()}, NumPy {np.__version__}, SciPy {scipy.__version__}"
    header = {
        "settings": {name: plain(value) for name, value in settings.items()},
        "tag": tag,
        "rng": state_of(rng),
        "limits": {name: plain(value) for name, value in limits.items()},
        "stack": f"{stack}, {platform.machine()}",
        "escapade": _version(),
    }
    return dict(json.loads(json.dumps(header)))


def differences(
    old: dict[str, Any], new: dict[str, Any], old_x0: NDArray[Any], x0: NDArray[Any], *, any_rng: bool
) -> list[str]:
    """What must be the same for a run to go on, and is not."""
    out = []
    before, now = {"tag": old["tag"], **old["settings"]}, {"tag": new["tag"], **new["settings"]}
    for name in dict.fromkeys([*now, *before]):
        was, is_ = before.get(name), now.get(name)
        if was != is_:
            out.append(f"{name} was {json.dumps(was):.100} and is {json.dumps(is_):.100}")
    comparable = before.get("dtype") == now.get("dtype")
    if comparable and len(old_x0) != len(x0):
        out.append(f"x0 had {len(old_x0)} entries and has {len(x0)}")
    elif comparable and old_x0.tobytes() != x0.tobytes():
        where = int(np.flatnonzero(old_x0.view(f"V{x0.itemsize}") != x0.view(f"V{x0.itemsize}"))[0])
        out.append(f"x0[{where}] was {float(old_x0[where])!r} and is {float(x0[where])!r}")
    if not any_rng and old["rng"] != new["rng"]:
        out.append(f"rng was {_seed(old['rng'])} and is {_seed(new['rng'])}")
    return out


def restorable(state: dict[str, Any] | None) -> bool:
    """Whether a generator can be made again from its recorded state."""
    return state is not None and state.get("kind") == "PCG64" and isinstance(state.get("seed"), dict)


def generator_of(state: dict[str, Any], path: str | os.PathLike[str]) -> np.random.Generator:
    """The generator that a run began with, from its recorded seed and state."""
    try:
        seed = state["seed"]
        if not restorable(state) or not 4 <= seed["pool_size"] <= 64:
            raise ValueError("not one of ours")
        sequence = np.random.SeedSequence(
            seed["entropy"],
            spawn_key=tuple(seed["spawn_key"]),
            pool_size=seed["pool_size"],
            n_children_spawned=seed["children"],
        )
        rng = np.random.Generator(np.random.PCG64(sequence))
        rng.bit_generator.state = state["state"]
        if state_of(rng) == state:
            return rng
    except (KeyError, TypeError, ValueError, OverflowError):
        pass
    raise JournalError(f"the generator of the run in {path} cannot be made from its seed: pass rng= as it was then")


def plain(value: Any) -> Any:
    """A value as JSON that two equal ones share; of what is not data, its name."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if np.isfinite(value) else repr(value)
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return {type(value).__qualname__: fields}
    if array_api_compat.is_array_api_obj(value):
        array = np.ascontiguousarray(to_numpy(value))
        if array.dtype.kind in "biuf":
            digest = hashlib.blake2b(array.data, digest_size=8).hexdigest()
            return f"{array.dtype} array of shape {array.shape}, {digest}"
    name = getattr(value, "__qualname__", None)
    return str(name or type(value).__qualname__)


def _version() -> str:
    try:
        return version("escapade")
    except PackageNotFoundError:
        return "unknown"


def state_of(rng: np.random.Generator) -> dict[str, Any]:
    """The seed and the state of a generator, as JSON."""
    bits = rng.bit_generator
    seed: Any = getattr(bits, "seed_seq", None)
    out: dict[str, Any] = {"kind": type(bits).__name__, "state": plain(bits.state), "seed": None}
    if isinstance(seed, np.random.SeedSequence):
        out["seed"] = {
            "entropy": plain(seed.entropy),
            "spawn_key": plain(tuple(seed.spawn_key)),
            "pool_size": seed.pool_size,
            "children": seed.n_children_spawned,
        }
    return dict(json.loads(json.dumps(out)))


def _seed(state: dict[str, Any]) -> str:
    seed = state.get("seed")
    if not isinstance(seed, dict):
        return "a generator without a seed"
    spawned = f", spawned as {seed.get('spawn_key')}" if seed.get("spawn_key") else ""
    fresh = hashlib.blake2b(json.dumps(state.get("state")).encode(), digest_size=4).hexdigest()
    return f"seeded with {seed.get('entropy')}{spawned}, in state {fresh}"
