"""Comparisons for the tests of this folder, which count them. The last line that `main` prints says how many there were."""
import os
import sys
import unittest
import warnings

import numpy as np

counted = 0


def is_tessera(device):
    return "tessera" in device.client.platform_version


def equal(got, want, what=""):
    """The same dtype, shape and bytes; any NaN equals any other."""
    global counted
    counted += 1
    got, want = np.asarray(got), np.asarray(want)
    assert got.dtype == want.dtype, f"{what}: the dtype is {got.dtype} and not {want.dtype}"
    assert got.shape == want.shape, f"{what}: the shape is {got.shape} and not {want.shape}"
    same = got == want
    if want.dtype.kind in "fcV":
        same = same | ((got != got) & (want != want))
    assert np.all(same), f"{what}: {got.ravel()[:8]} instead of {want.ravel()[:8]}; {np.size(same) - np.sum(same)} of {np.size(same)} differ"


def close(got, want, what="", units=8):
    """The same dtype and shape, and values within `units` roundings of the largest value."""
    global counted
    counted += 1
    got, want = np.asarray(got), np.asarray(want)
    assert got.dtype == want.dtype, f"{what}: the dtype is {got.dtype} and not {want.dtype}"
    assert got.shape == want.shape, f"{what}: the shape is {got.shape} and not {want.shape}"
    if not want.size:
        return
    import ml_dtypes
    eps = float((ml_dtypes if want.dtype.kind == "V" else np).finfo(want.dtype).eps)
    wide = np.complex128 if want.dtype.kind == "c" else np.float64
    a, b = got.astype(wide), want.astype(wide)
    scale = max(1e-30, np.max(np.abs(b), where=np.isfinite(b), initial=0))
    same = (a == b) | ((a != a) & (b != b))
    with np.errstate(invalid="ignore"):
        error = np.max(np.where(same, 0, np.abs(a - b)))
    assert error <= units * eps * scale, f"{what}: off by {error / (eps * scale):.1f} roundings: {got.ravel()[:6]} instead of {want.ravel()[:6]}"


def true(condition, what=""):
    global counted
    counted += 1
    assert condition, what


def raises(kind, text, function, *args):
    """`function` raises an error of this kind whose text holds `text`."""
    global counted
    counted += 1
    try:
        function(*args)
    except kind as e:
        assert text in str(e), f"the text is\n{e}\nand should have\n{text}"
        return str(e)
    raise AssertionError(f"no {kind.__name__}; expected\n{text}")


def main():
    """Runs the tests of the program."""
    warnings.simplefilter("error", RuntimeWarning)
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=0).run(unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"]))
    print(f"{counted} comparisons in {result.testsRun} tests")
    sys.stdout.flush()
    sys.exit(not result.wasSuccessful())


def environment(**more):
    """The environment of a program to start, with or without some variables (None)."""
    env = {k: v for k, v in os.environ.items() if k == "JAX_TESSERA_LIBRARY" or not k.startswith(("JAX_", "XLA_FLAGS", "TESSERA_DEVICES"))}
    env.update({k: str(v) for k, v in more.items() if v is not None})
    return env
