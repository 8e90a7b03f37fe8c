"""Compiles and runs with XLA the modules that our emitter writes, and compares the results with ours: XLA.PY WRITE_EXAMPLES [pattern
[platform]]. Skipped without JAX (77).

Instead of the program that writes the examples, a folder may be given that this program has written for the platform on another machine."""
import fnmatch
import os
import pathlib
import re
import subprocess
import sys
import tempfile

os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=8"
try:
    import jax
    import ml_dtypes
    import numpy as np
    from jax._src.lib import lapack, xla_client
    from jax._src.sharding_impls import GSPMDSharding
    from jax._src.lib.mlir import ir
    from jax._src.interpreters import mlir
except ImportError as e:
    print(f"skipped, 0 checked: {e}")
    sys.exit(77)

pattern = sys.argv[2] if len(sys.argv) > 2 else "*"
platform = sys.argv[3] if len(sys.argv) > 3 else "cpu"
jax.config.update("jax_platforms", platform)
jax.config.update("jax_enable_x64", True)
work = pathlib.Path(sys.argv[1])
if not work.is_dir():
    work = pathlib.Path(tempfile.mkdtemp())
    subprocess.run([sys.argv[1], str(work), platform], check=True)
devices_here = jax.devices(platform)
client = devices_here[0].client
if platform == "cpu":
    lapack._lapack.initialize()  # SciPy's routines, which JAX looks up when it first needs them
# StableHLO or a library leaves these results open: the signs of singular vectors and eigenvectors, the order in which one element is updated,
# and how often a reduction counts its initial value. cuDNN has no convolutions of int32.
free_elsewhere = ["svd.*", "eigh.*", "scatter.[234]", "reduce.2", "convolution.4"] if platform != "cpu" else []
dtypes = {"i1": np.bool_, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64,
          "complex<f32>": np.complex64, "complex<f64>": np.complex128}
for bits in (8, 16, 32, 64):
    dtypes[f"i{bits}"], dtypes[f"ui{bits}"] = np.dtype(f"int{bits}"), np.dtype(f"uint{bits}")
# Tolerances are loose where XLA computes differently: 16-bit floats, special functions in single precision.
tolerance = {2: 2e-2, 4: 2e-5, 8: 1e-10}


def arrays(types, name, kind):
    out = []
    for i, t in enumerate(types):
        *dims, element = re.fullmatch(r"tensor<((?:\d+x)*)(.*)>", t).groups()
        shape = [int(d) for d in dims[0].split("x") if d]
        out.append(np.frombuffer((work / f"{name}.{kind}{i}").read_bytes(), dtypes[element]).reshape(shape))
    return out


def same(got, want):
    if want.dtype.kind not in "fcV" and want.dtype != ml_dtypes.bfloat16:
        return np.array_equal(got, want)
    eps = tolerance[min(want.dtype.itemsize // (2 if want.dtype.kind == "c" else 1), 8)]
    wide = np.complex128 if want.dtype.kind == "c" else np.float64
    got, want = got.astype(wide), want.astype(wide)
    scale = np.max(np.abs(want[np.isfinite(want)]), initial=0)
    return np.allclose(got, want, rtol=eps, atol=eps * max(scale, 1e-3), equal_nan=True)


def run(text, inputs, wanted):
    devices = int(re.search(r"mhlo.num_partitions = (\d+)", text)[1])
    options = xla_client.CompileOptions()
    options.num_partitions = devices
    options.executable_build_options.num_partitions = devices
    if devices > 1:
        options.executable_build_options.use_spmd_partitioning = True
        options.executable_build_options.use_shardy_partitioner = True
        options.device_assignment = xla_client.DeviceAssignment.create(np.arange(devices).reshape(1, devices))
    chosen = devices_here[:devices]
    with mlir.make_ir_context():
        module = ir.Module.parse(text)
        module.operation.verify()
        executable = client.compile_and_load(module, xla_client.DeviceList(tuple(chosen)), options)
    if devices == 1:
        results = executable.execute_sharded([jax.device_put(x, chosen[0]) for x in inputs])
        return [np.asarray(r[0]) for r in results.disassemble_into_single_device_arrays()]
    cut = GSPMDSharding
    put = [jax.device_put(x, cut(tuple(chosen), s)) for x, s in zip(inputs, executable.get_parameter_shardings())]
    parts = executable.execute_sharded(put).disassemble_into_single_device_arrays()
    return [np.asarray(jax.make_array_from_single_device_arrays(t.shape, cut(tuple(chosen), s), p))
            for t, s, p in zip(wanted, executable.get_output_shardings(), parts)]


passed, failed = 0, []
for path in sorted(work.glob("*.mlir")):
    name, text = path.stem, path.read_text()
    if not fnmatch.fnmatch(name, pattern) or any(fnmatch.fnmatch(name, f) for f in free_elsewhere):
        continue
    if int(re.search(r"mhlo.num_partitions = (\d+)", text)[1]) > len(devices_here):
        continue
    head = re.search(r"@main\((.*?)\) -> \((.*)\) \{\n", text)
    types = [re.findall(r"tensor<[^ ,)]*>", part) for part in head.groups()]
    try:
        want = arrays(types[1], name, "out")
        got = run(text, arrays(types[0], name, "in"), want)
        bad = [i for i, (g, w) in enumerate(zip(got, want)) if g.shape != w.shape or g.dtype != w.dtype or not same(g, w)]
        if bad:
            failed.append((name, f"results {bad} differ: {got[bad[0]].ravel()[:6]} where we have {want[bad[0]].ravel()[:6]}"))
        else:
            passed += 1
    except Exception as e:
        failed.append((name, " ".join(str(e).split("\n"))[:300]))
for name, why in failed:
    print(f"{name}: {why}")
print(f"{passed} of {passed + len(failed)} modules give in XLA what they give here")
sys.exit(bool(failed) or passed < (300 if pattern == "*" else 1))
