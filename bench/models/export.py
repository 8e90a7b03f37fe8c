"""Writes a model for the sides: its weights, and for each batch its StableHLO module, its inputs and JAX's results.

    FOLDER/weights/NAME/weights.safetensors    shared by the models of the same weights
    FOLDER/NAME/BATCH/module.mlir, inputs.safetensors, expected.safetensors, facts.json
"""

import functools
import json
import math
import os

import jax
import jax.numpy as jnp
import numpy as np

import parameters
from jax_layers import Layers


def function(model, batch, tiny, layers=None):
    """The model of dictionaries of weights, inputs and states, in the order of the module's arguments; states come back last."""
    def run(weights, inputs, states):
        nn = layers or Layers(model.dtype, weights)
        outputs, kept = model.code.model(nn, inputs, states, **model.size(tiny))
        return outputs, kept
    return run


def specs_of(model, batch, tiny):
    """The weights that the model asks for, and the floating-point operations of a call."""
    nn = Layers(model.dtype)
    inputs, states = divided(model, batch, tiny, model.inputs(batch, tiny))
    jax.eval_shape(functools.partial(function(model, batch, tiny, nn), {}), inputs, states)
    return nn.specs, nn.flops


def divided(model, batch, tiny, arrays):
    names = model.states(batch, tiny)
    return {n: x for n, x in arrays.items() if n not in names}, {n: arrays[n] for n in names}


def folder_of(root, model, batch):
    return root / model.name / str(batch)


def weights_of(root, model):
    return root / "weights" / model.weights / "weights.safetensors"


def write(root, model, batch, tiny):
    """Writes what is missing; a change of this folder's code needs an empty folder."""
    folder, file = folder_of(root, model, batch), weights_of(root, model)
    if (folder / "facts.json").exists():
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    specs, flops = specs_of(model, batch, tiny)
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        parameters.save(file, parameters.weights(specs, model.dtype))
    link = folder.parent / "weights.safetensors"
    if not link.is_symlink():
        link.symlink_to(os.path.relpath(file, link.parent))
    weights, arrays = parameters.load(file), model.inputs(batch, tiny)
    inputs, states = divided(model, batch, tiny, arrays)
    jitted = jax.jit(function(model, batch, tiny), keep_unused=True, donate_argnums=(2,))
    lowered = jitted.lower(*jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), (weights, inputs, states)))
    (folder / "module.mlir").write_text(lowered.as_text())
    parameters.save(folder / "inputs.safetensors", {**{f"0/{n}": x for n, x in inputs.items()}, **{f"1/{n}": x for n, x in states.items()}})
    results = [np.asarray(x) for x in jax.tree.leaves(lowered.compile()(*jax.tree.map(jnp.asarray, (weights, inputs, states))))]
    if not all(np.isfinite(x.astype(np.float32)).all() for x in results):
        raise SystemExit(f"error: {model.name} has results that are not finite")
    parameters.save(folder / "expected.safetensors", {f"r{i:02}": x for i, x in enumerate(results)}, tolerance=str(model.tolerance))
    facts = {"flops": flops, "unit": "bf16" if model.dtype == "bfloat16" else "fma", "read": sum(x.nbytes for x in used(model, batch, weights, arrays)),
             "written": sum(x.nbytes for x in results[:len(results) - len(states)])
             + sum(x.nbytes // x.shape[1] for x in states.values()),
             "weights": sum(math.prod(shape) for shape, _ in specs.values()), "specs": specs}
    (folder / "facts.json").write_text(json.dumps(facts))
    return folder


def used(model, batch, weights, arrays):
    """What a call has to read; of a table that is only looked up, no rows count, as they are few."""
    only_looked_up = {"bert": ("words", "positions", "types"), "whisper": (), "gpt2": ("positions",)}.get(model.code.NAME, ())
    return [x for n, x in weights.items() if n not in only_looked_up] + list(arrays.values())
