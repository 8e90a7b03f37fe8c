"""A safetensors file of golden cases: tensors <case>/in<i> and <case>/out<i>."""
import json
import struct

import jax
import jax.numpy as jnp
import numpy as np

CODES = {"bool": "BOOL", "int8": "I8", "int16": "I16", "int32": "I32", "int64": "I64", "uint8": "U8", "uint16": "U16",
         "uint32": "U32", "uint64": "U64", "float16": "F16", "bfloat16": "BF16", "float32": "F32", "float64": "F64"}


class File:
    def __init__(self):
        self.tensors = {}

    def store(self, name, inputs, outputs):
        """Arrays as they are; a name that is taken gets a prime."""
        while f"{name}/in0" in self.tensors or f"{name}/out0" in self.tensors:
            name += "'"
        for i, x in enumerate(inputs):
            self.tensors[f"{name}/in{i}"] = np.asarray(x)
        for i, y in enumerate(outputs):
            self.tensors[f"{name}/out{i}"] = np.asarray(y)

    def case(self, name, f, *inputs, first=None):
        """f of the inputs. `first` is one more input, in front, that f has already."""
        inputs = [jnp.asarray(x) for x in inputs]
        given = inputs if first is None else [first, *inputs]
        self.store(f"{name}:" + "-".join(str(x.dtype) for x in given), given, jax.tree.leaves(f(*inputs)))

    def write(self, path):
        header, body = {}, b""
        for name, array in self.tensors.items():
            raw = np.ascontiguousarray(array).tobytes()
            header[name] = {"dtype": CODES[str(array.dtype)], "shape": list(array.shape), "data_offsets": [len(body), len(body) + len(raw)]}
            body += raw
        text = json.dumps(header, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 8)
        path.write_bytes(struct.pack("<Q", len(text)) + text + body)
        print(len({n.rsplit("/", 1)[0] for n in self.tensors}), "cases,", path.stat().st_size, "bytes")
