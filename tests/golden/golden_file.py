"""A safetensors file of golden cases: tensors <case>/in<i> and <case>/out<i>."""
import jax
import jax.numpy as jnp
import numpy as np

import tensor_file


class File:
    def __init__(self):
        self.tensors = {}

    def store(self, name, inputs, outputs):
        """Stores arrays unchanged; a name that is taken gets a prime."""
        while f"{name}/in0" in self.tensors or f"{name}/out0" in self.tensors:
            name += "'"
        for i, x in enumerate(inputs):
            self.tensors[f"{name}/in{i}"] = np.asarray(x)
        for i, y in enumerate(outputs):
            self.tensors[f"{name}/out{i}"] = np.asarray(y)

    def case(self, name, f, *inputs, first=None):
        """Stores f of the inputs. `first` is an additional first input, which is bound to f already."""
        inputs = [jnp.asarray(x) for x in inputs]
        given = inputs if first is None else [first, *inputs]
        self.store(f"{name}:" + "-".join(str(x.dtype) for x in given), given, jax.tree.leaves(f(*inputs)))

    def write(self, path):
        tensor_file.write(path, self.tensors)
