"""Points, scales and other values from the line or from a file."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import load_npz

from .failures import CommandError

FILES = (".npy", ".csv", ".txt", ".json")

GREEDY = ("--x", "--x0", "--x-scale", "--lower", "--upper")
"""Options that take all the numbers that follow them."""


def read_point(text: str, option: str) -> NDArray[np.float64]:
    """Numbers such as 1,2,3 or "1 2 3", or those in a .npy, .csv, .txt or .json file."""
    if Path(text).suffix.lower() not in FILES:
        return _numbers(text, option)
    path = Path(text)
    if not path.is_file():
        raise CommandError(f"{option}: {text} is no file; give numbers as 1,2,3 or a {', '.join(FILES)} file")
    try:
        point = _from_file(path, option)
    except CommandError:
        raise
    except Exception as error:
        raise CommandError(f"{option}: {text} cannot be read: {error}") from None
    if point.size == 0 or point.size != max(point.shape, default=1):
        raise CommandError(f"{option}: {text} holds an array of shape {point.shape}; it must hold one point")
    return point.reshape(-1)


def read_pattern(text: str | None, option: str) -> Any:
    """A matrix from a .npy or .csv file, or a sparse one from the .npz file that `scipy.sparse.save_npz` writes."""
    if text is None:
        return None
    path = Path(text)
    if not path.is_file():
        raise CommandError(f"{option}: {text} is no file; give a matrix as a .npz, .npy, .csv or .txt file")
    try:
        return load_npz(path) if path.suffix.lower() == ".npz" else _from_file(path, option)
    except CommandError:
        raise
    except Exception as error:
        raise CommandError(f"{option}: {text} cannot be read: {error}") from None


def read_noise(text: str | None) -> float | str | None:
    """A standard deviation, or "auto"."""
    return text if text is None or text == "auto" else _number(text, "--noise", 'a standard deviation, or "auto"')


def read_samples(text: str | None) -> int | Literal["stream"] | None:
    """A number of samples, or "stream"."""
    if text is None or text == "stream":
        return "stream" if text else None
    try:
        return int(text)
    except ValueError:
        raise CommandError(f'--samples: {text!r} must be a whole number, or "stream"') from None


def join_numbers(arguments: Sequence[str]) -> list[str]:
    """`--x0 1 -2 3` as `--x0 1,-2,3`."""
    out: list[str] = []
    open_option = False
    for text in arguments:
        number = _are_numbers(text)
        if open_option and number and out[-1] not in GREEDY:
            out[-1] += f",{text}"
        else:
            open_option = text in GREEDY or (open_option and number)
            out.append(text)
    return out


def _from_file(path: Path, option: str) -> NDArray[np.float64]:
    suffix = path.suffix.lower()
    if suffix == ".npy":
        return np.asarray(np.load(path, allow_pickle=False), dtype=np.float64)
    text = path.read_text(encoding="utf-8")
    if suffix == ".json":
        data: Any = json.loads(text)
        if isinstance(data, dict):
            if "x" not in data:
                raise CommandError(f'{option}: {path} has no "x"')
            data = data["x"]
        return np.asarray(data, dtype=np.float64)
    rows = [
        _numbers(line, f"{option}: {path}, line {k + 1}") for k, line in enumerate(text.splitlines()) if line.strip()
    ]
    if len({len(row) for row in rows}) > 1:
        raise CommandError(f"{option}: the rows of {path} differ in length; it must hold one row or one column")
    return np.asarray(rows)


def _numbers(text: str, option: str) -> NDArray[np.float64]:
    parts = [part for part in re.split(r"[,;\s]+", text.strip().strip("[]()")) if part]
    wanted = f"numbers, as in 1,2,3, or a {', '.join(FILES)} file"
    if not parts:
        raise CommandError(f"{option}: {text!r} must be {wanted}")
    return np.array([_number(part, option, wanted) for part in parts])


def _number(text: str, option: str, wanted: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise CommandError(f"{option}: {text!r} is no number; it must be {wanted}") from None


def _are_numbers(text: str) -> bool:
    try:
        _numbers(text, "")
    except CommandError:
        return False
    return True
