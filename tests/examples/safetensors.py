"""Writes a small safetensors file from a dictionary of NumPy arrays."""
import json
import pathlib
import struct

import numpy as np

CODES = {"bool": "BOOL", "int32": "I32", "uint32": "U32", "bfloat16": "BF16", "float32": "F32", "float64": "F64"}


def save(script, tensors):
    """Beside `script`, under its name."""
    header, body = {}, b""
    for name, array in tensors.items():
        array = np.asarray(array)
        raw = np.ascontiguousarray(array).tobytes()
        header[name] = {"dtype": CODES[str(array.dtype)], "shape": list(array.shape), "data_offsets": [len(body), len(body) + len(raw)]}
        body += raw
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path = pathlib.Path(script).with_suffix(".safetensors")
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)
    print(path.name, path.stat().st_size, "bytes")
