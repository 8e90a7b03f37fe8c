"""The numbers of the models: weights and inputs drawn from a key by numpy, alike for all sides, and the files that hold them."""

import json
import math
import struct
import zlib

import ml_dtypes
import numpy as np

KEY = 7
DTYPES = {"F32": np.float32, "BF16": ml_dtypes.bfloat16, "I8": np.int8, "I32": np.int32}
NAMES = {np.dtype(d): name for name, d in DTYPES.items()}


def generator(name):
    return np.random.default_rng([KEY, zlib.crc32(name.encode())])


def drawn(name, shape, kind):
    """A weight of float32. Products keep the variance of what they multiply, so that activations stay finite."""
    random = generator(name)
    if kind == "variance":
        return random.uniform(0.5, 1.5, shape).astype(np.float32)
    fan = {"conv": math.prod(shape[:-1]), "matrix": shape[0], "table": shape[-1]}.get(kind)
    values = random.standard_normal(shape, np.float32)
    if fan:
        return values * np.float32((2.0 if kind == "conv" else 1.0) / fan) ** np.float32(0.5)
    return values * np.float32(0.1) + np.float32({"scale": 1.0, "small": 0.3}.get(kind, 0.0))


def weights(specs, dtype):
    """{name: array} of {name: (shape, kind)}; matrices and tables of int8 have a scale for each column or row besides."""
    result = {}
    for name, (shape, kind) in specs.items():
        values = drawn(name, shape, kind)
        if dtype == "int8" and kind in ("matrix", "table"):
            scale = np.abs(values).max(0 if kind == "matrix" else 1, keepdims=True) / np.float32(127)
            result[name] = np.rint(values / scale).astype(np.int8)
            result[name + "/scale"] = scale.squeeze()
        else:
            result[name] = values.astype(ml_dtypes.bfloat16) if dtype == "bfloat16" else values
    return dict(sorted(result.items()))


def save(path, arrays, **metadata):
    """Writes the safetensors format; the metadata are texts."""
    header, begin = {"__metadata__": metadata}, 0
    for name, x in sorted(arrays.items()):
        header[name] = {"dtype": NAMES[x.dtype], "shape": list(x.shape), "data_offsets": [begin, begin + x.nbytes]}
        begin += x.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, x in sorted(arrays.items()):
            file.write(np.ascontiguousarray(x).tobytes())


def load(path):
    """{name: array}, mapped from the file."""
    data = np.memmap(path, np.uint8, "c")
    length = struct.unpack("<Q", data[:8].tobytes())[0]
    header = json.loads(data[8:8 + length].tobytes())
    result = {}
    for name, entry in sorted(header.items()):
        if name != "__metadata__":
            begin, end = (8 + length + x for x in entry["data_offsets"])
            result[name] = data[begin:end].view(DTYPES[entry["dtype"]]).reshape(entry["shape"])
    return result


def difference(results, path):
    """The largest difference from the arrays of a file, as a share of the largest absolute value of each; infinite if shapes differ."""
    expected = [np.asarray(x, np.float32) for x in load(path).values()]
    if [tuple(x.shape) for x in results] != [x.shape for x in expected]:
        return math.inf
    return max(float(np.abs(np.asarray(x, np.float32) - y).max() / np.abs(y).max()) for x, y in zip(results, expected))
