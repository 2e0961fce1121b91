"""Data files in the LIBSVM format."""

from __future__ import annotations

import hashlib
import os
import tempfile
import urllib.error
import urllib.request
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

W1A_URL = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary/w1a"
W1A_SHA256 = "0ae2b1c40f6a99061d1c6f4a1f3b50eea58a2f3b8bf851a337c25c2a65a49d32"
_TIMEOUT = 20.0


def load_libsvm(path: str | Path | None = None) -> tuple[csr_array[np.float64], NDArray[np.float64]]:
    """Features and 0/1 labels from a LIBSVM file of two classes.

    Parameters
    ----------
    path : str or Path, optional
        The file. Without it, the w1a data (n = 2477, d = 300): first from the cache directory
        (``$XDG_CACHE_HOME/escapade`` or ``~/.cache/escapade``), then by download from the LIBSVM site, with
        its SHA-256 checked.

    Returns
    -------
    features : csr_array of shape (n, d)
        With ``d`` the largest index in the file.
    labels : array of shape (n,)
        1.0 where the file has a positive label, 0.0 elsewhere (-1 or 0).

    Raises
    ------
    FileNotFoundError
        When the file is neither given, nor cached, nor within reach.
    ValueError
        When a line is not ``label index:value ...`` with indices counted from 1.
    """
    return _parse((_w1a() if path is None else Path(path)).read_text(encoding="ascii"))


def _parse(text: str) -> tuple[csr_array[np.float64], NDArray[np.float64]]:
    labels: list[float] = []
    values: list[float] = []
    columns: list[int] = []
    ends = [0]
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        try:
            labels.append(float(words[0]))
            for word in words[1:]:
                index, _, value = word.partition(":")
                columns.append(int(index) - 1)
                values.append(float(value))
        except ValueError:
            raise ValueError(f"line {number} is not 'label index:value ...': {line!r}") from None
        ends.append(len(columns))
    if columns and min(columns) < 0:
        raise ValueError("a LIBSVM file counts its indices from 1, and this one holds an index below 1")
    shape = (len(labels), max(columns, default=-1) + 1)
    return csr_array((values, columns, ends), shape=shape, dtype=np.float64), (np.array(labels) > 0).astype(
        float
    )


def _w1a() -> Path:
    """The cached w1a file, downloaded on first use."""
    root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    target = root / "escapade" / "w1a"
    if target.is_file() and _digest(target.read_bytes()) == W1A_SHA256:
        return target
    try:
        with urllib.request.urlopen(W1A_URL, timeout=_TIMEOUT) as response:
            content: bytes = response.read()
    except (urllib.error.URLError, OSError) as error:
        raise FileNotFoundError(
            f"w1a is not at {target} and could not be downloaded ({error}). Fetch {W1A_URL} by other means, "
            f"then pass its path, load_libsvm('/path/to/w1a'), or save it as {target}."
        ) from error
    if _digest(content) != W1A_SHA256:
        raise FileNotFoundError(
            f"{W1A_URL} sent a file with SHA-256 {_digest(content)}, not {W1A_SHA256}. Pass the path of a "
            "copy that you trust, load_libsvm('/path/to/w1a')."
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=target.parent, delete=False) as partial:
        partial.write(content)
    os.replace(partial.name, target)
    return target


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
