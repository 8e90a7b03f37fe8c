"""Writes the arrays of a script to a small safetensors file."""
import json
import struct

import numpy as np

CODES = {"bool": "BOOL", "int8": "I8", "int16": "I16", "int32": "I32", "int64": "I64", "uint8": "U8", "uint16": "U16",
         "uint32": "U32", "uint64": "U64", "float16": "F16", "bfloat16": "BF16", "float32": "F32", "float64": "F64"}


def write(path, tensors):
    """`tensors` are arrays by name, stored in this order; prints the size of the file."""
    header, body = {}, b""
    for name, array in tensors.items():
        array = np.asarray(array)
        raw = np.ascontiguousarray(array).tobytes()
        header[name] = {"dtype": CODES[str(array.dtype)], "shape": list(array.shape), "data_offsets": [len(body), len(body) + len(raw)]}
        body += raw
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)
    print(f"{path.name}: {len(tensors)} arrays, {path.stat().st_size} bytes")
