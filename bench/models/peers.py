"""Runs the models in the other libraries: peers.py SIDE FOLDER --serve | --first ROW | --peak ROW | --prepare ROW.

Every side reads the weights and inputs of FOLDER. JAX and IREE run the model of jax_layers.py, PyTorch that of torch_layers.py, ONNX Runtime
and OpenVINO what torch.onnx makes of it. JAX donates the states of a model and takes the new ones, PyTorch writes them in place; the others
return new ones, which their next call doesn't take, so they copy them once and are spared the binding of new inputs.
"""

import filecmp
import json
import os
import pathlib
import shutil
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "compare"))

import numpy as np  # noqa: E402

import parameters  # noqa: E402
import serving  # noqa: E402
import suite  # noqa: E402

THREADS = len(os.sched_getaffinity(0))


class Row:
    """A model at a batch: its files, and its inputs and states by name."""

    def __init__(self, root, name):
        model, batch = name.split("/")
        self.root, self.name, self.model, self.batch = root, name, suite.MODELS[model], int(batch)
        self.tiny = root.name == "tiny"
        self.folder = root / name
        self.specs = json.loads((self.folder / "facts.json").read_text())["specs"]
        arrays = parameters.load(self.folder / "inputs.safetensors")
        self.inputs = {n[2:]: x for n, x in arrays.items() if n[0] == "0"}
        self.states = {n[2:]: x for n, x in arrays.items() if n[0] == "1"}

    def weights(self):
        return parameters.load(self.folder.parent / "weights.safetensors")


class Jax:
    def __init__(self, row):
        import export
        import jax
        self.jax = jax
        put = lambda tree: jax.tree.map(lambda x: jax.device_put(np.array(x)), tree)  # noqa: E731
        self.weights, self.inputs, self.states = put(row.weights()), put(row.inputs), put(row.states)
        self.run = jax.jit(export.function(row.model, row.batch, row.tiny), donate_argnums=(2,))

    def __call__(self):
        self.results = self.jax.block_until_ready(self.run(self.weights, self.inputs, self.states))
        self.states = self.results[1]

    def values(self):
        return [np.asarray(x) for x in self.jax.tree.leaves(self.results)]


def torch_model(row, in_place):
    """The model, and its arguments: images in this library's order, indices as it wants them."""
    import torch
    import torch_layers
    torch.set_num_threads(THREADS)
    torch.set_grad_enabled(False)
    names, states, images = list(row.inputs), list(row.states), row.model.images(row.batch, row.tiny)

    def run(nn, arguments):
        arrays = dict(zip(names + states, arguments))
        inputs, held = {n: arrays[n] for n in names}, {n: arrays[n] for n in states}
        outputs, kept = row.model.code.model(nn, inputs, held, **row.model.size(row.tiny))
        return [*outputs, *(kept[n] for n in sorted(kept))]

    def argument(name, x):
        x = torch_layers.tensor(x)
        x = x.long() if x.dtype == torch.int32 else x
        x = x.permute(0, 3, 1, 2) if name in images else x  # channels last in memory
        return x if in_place else x.contiguous()

    layers = torch_layers.Layers(row.model.dtype, row.weights(), row.specs, run, in_place).eval()
    return layers, [argument(n, x) for n, x in (row.inputs | row.states).items()]


def to_numpy(x):
    """An array of the same values; what numpy has no type for becomes float32."""
    return x.float().numpy() if x.dtype.itemsize == 2 else x.numpy()


class Torch:
    def __init__(self, row):
        self.run, self.arguments = torch_model(row, in_place=True)

    def __call__(self):
        self.results = self.run(*self.arguments)

    def values(self):
        return [to_numpy(x) for x in self.results]


class Compiled(Torch):
    def __init__(self, row):
        super().__init__(row)
        import torch
        import torch._inductor.config
        torch._inductor.config.freezing = True  # weights are constants, packed once
        self.run = torch.compile(self.run)


def onnx_file(row):
    """The file that torch.onnx writes, once; batches with the same weights share them on disk."""
    folder = row.root / "onnx" / row.name
    path = folder / "model.onnx"
    if not path.exists():
        import torch
        layers, arguments = torch_model(row, in_place=False)
        made = folder.with_name(folder.name + ".part")
        shutil.rmtree(made, ignore_errors=True)
        made.mkdir(parents=True)
        names = [f"in_{n}" for n in row.inputs | row.states]
        torch.onnx.export(layers, tuple(arguments), str(made / "model.onnx"), input_names=names, dynamo=True, external_data=True, verbose=False)
        shutil.rmtree(folder, ignore_errors=True)
        made.rename(folder)
        data = folder / "model.onnx.data"
        for other in folder.parent.glob("*/model.onnx.data"):
            if other != data and data.exists() and filecmp.cmp(other, data, shallow=False):
                data.unlink()
                os.link(other, data)
                break
    return path


class File:
    """What reads an ONNX file, whose arguments are made here."""

    def arrays(self, row):
        images = row.model.images(row.batch, row.tiny)
        for n, x in (row.inputs | row.states).items():
            x = np.array(x).transpose(0, 3, 1, 2) if n in images else np.array(x)
            yield np.ascontiguousarray(x.astype(np.int64) if x.dtype == np.int32 else x)


class OnnxRuntime(File):
    def __init__(self, row):
        import onnxruntime as ort
        options = ort.SessionOptions()
        options.intra_op_num_threads = THREADS
        options.log_severity_level = 3
        session = self.session = ort.InferenceSession(str(onnx_file(row)), options, providers=["CPUExecutionProvider"])
        self.binding = session.io_binding()
        for slot, x in zip(session.get_inputs(), self.arrays(row)):
            self.binding.bind_ortvalue_input(slot.name, ort.OrtValue.ortvalue_from_numpy(x))
        for slot in session.get_outputs():
            self.binding.bind_output(slot.name)

    def __call__(self):
        self.session.run_with_iobinding(self.binding)

    def values(self):
        return [x.numpy() for x in self.binding.get_outputs()]


class OpenVino(File):
    def __init__(self, row):
        import openvino as ov
        # Its own choice is bfloat16 for everything where the processor has it, even for the angles of rotary positions. In float32 it takes
        # models of bfloat16 as well; their values are right then, and the time is the same.
        settings = {"INFERENCE_NUM_THREADS": THREADS, "PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}
        core = ov.Core()
        self.request = core.compile_model(core.read_model(onnx_file(row)), "CPU", settings).create_infer_request()
        for i, x in enumerate(self.arrays(row)):
            if x.dtype.name == "bfloat16":
                t = ov.Tensor(ov.Type.bf16, x.shape)
                t.data.view(np.uint16)[...] = x.view(np.uint16)
            else:
                t = ov.Tensor(x)
            self.request.set_input_tensor(i, t)

    def __call__(self):
        self.request.infer()

    def values(self):
        def array(tensor):  # numpy sees bfloat16 as float16
            return np.array(tensor.data).view("bfloat16" if tensor.element_type.get_type_name() == "bf16" else tensor.data.dtype)

        return [array(t) for t in self.request.output_tensors]


class Iree:
    def __init__(self, row):
        import iree.compiler
        import iree.runtime as rt
        rt.flags.parse_flags(f"--task_topology_group_count={THREADS}")
        code = iree.compiler.compile_str((row.folder / "module.mlir").read_text(), target_backends=["llvm-cpu"], input_type="stablehlo",
                                         optimize=True, extra_args=["--iree-llvmcpu-target-cpu=host", "--iree-opt-level=O3"])
        config = rt.Config("local-task")
        self.module = rt.load_vm_modules(rt.VmModule.copy_buffer(config.vm_instance, code), config=config)[0]
        weights = row.weights()
        self.arguments = [rt.asdevicearray(config.device, np.array(x)) for x in (*weights.values(), *row.inputs.values(), *row.states.values())]

    def __call__(self):
        results = self.module.main(*self.arguments)
        self.results = results if isinstance(results, (tuple, list)) else (results,)

    def values(self):
        return [x.to_host() for x in self.results]


SIDES = {"jax": Jax, "eager": Torch, "compiled": Compiled, "onnxruntime": OnnxRuntime, "openvino": OpenVino, "iree": Iree}


def checked(side, row):
    """The row's call, after its results are found equal to the stored ones."""
    call = side(row)
    call()
    difference = parameters.difference(call.values(), row.folder / "expected.safetensors")
    if not difference <= row.model.tolerance:
        raise ValueError(f"values differ by {difference:.2g}")
    return call


def main():
    side, root = SIDES[sys.argv.pop(1)], pathlib.Path(sys.argv.pop(1))
    if sys.argv[1] == "--prepare":
        onnx_file(Row(root, sys.argv[2]))
    elif sys.argv[1] == "--serve":
        serving.main(lambda name: checked(side, Row(root, name)))
    else:
        row = Row(root, sys.argv[2])
        start = time.perf_counter()
        call = side(row)
        call()
        print(f"ok {(time.perf_counter() - start) * 1e6:.4f}", flush=True)
        for _ in range({"--first": 0, "--peak": 4}[sys.argv[1]]):
            call()


if __name__ == "__main__":
    main()
