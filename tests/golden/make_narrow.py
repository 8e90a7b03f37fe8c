"""Writes narrow.safetensors: conversions by ml_dtypes of the element types that are narrower than any dtype.

For each type, it stores the values of all bit patterns and the results of rounding float32 numbers to the type:
    python3 make_narrow.py    (numpy, ml_dtypes)
"""
import pathlib

import ml_dtypes
import numpy as np

import tensor_file

TYPES = {
    "f4E2M1FN": ("float4_e2m1fn", 4), "f6E2M3FN": ("float6_e2m3fn", 6), "f6E3M2FN": ("float6_e3m2fn", 6),
    "f8E3M4": ("float8_e3m4", 8), "f8E4M3": ("float8_e4m3", 8), "f8E4M3FN": ("float8_e4m3fn", 8),
    "f8E4M3FNUZ": ("float8_e4m3fnuz", 8), "f8E4M3B11FNUZ": ("float8_e4m3b11fnuz", 8), "f8E5M2": ("float8_e5m2", 8),
    "f8E5M2FNUZ": ("float8_e5m2fnuz", 8), "f8E8M0FNU": ("float8_e8m0fnu", 8),
}
rng = np.random.default_rng(7)
near = rng.normal(size=300) * 2.0 ** rng.integers(-20, 20, 300)
halves = np.concatenate([np.arange(-40, 41) / 16, np.arange(440, 490, 2), [57344, 61440, 61441, 65536, 240, 247, 248, 249, 30, 31, 32]])
inputs = np.concatenate([near, halves, [0.0, -0.0, np.inf, -np.inf, np.nan, 3e38, -3e38, 1e-30]]).astype(np.float32)
tensors = {"inputs": inputs}
for name, (there, bits) in TYPES.items():
    dtype = np.dtype(getattr(ml_dtypes, there))
    codes = np.arange(2**bits, dtype=np.uint8)
    tensors[f"{name}.numbers"] = codes.view(dtype).astype(np.float32)
    tensors[f"{name}.rounded"] = inputs.astype(dtype).astype(np.float32)
tensor_file.write(pathlib.Path(__file__).with_name("narrow.safetensors"), tensors)
