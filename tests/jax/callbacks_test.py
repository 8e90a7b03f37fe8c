"""JAX's callbacks on the plug-in: what they get, how often, in which order, and what they may do.

Runs where JAX can be imported. TESSERA_PJRT_LIBRARY is the library; without it the tests run on the
platform that JAX has: ours if the package jax_tessera can be found, else jaxlib's own client, for which
they hold, too.
"""

import collections
import functools
import gc
import importlib.util
import os
import pathlib
import subprocess
import sys
import threading
import unittest

LIBRARY = os.environ.get("TESSERA_PJRT_LIBRARY")
OURS = LIBRARY or importlib.util.find_spec("jax_tessera")
DEVICES = 4

if not LIBRARY:
  os.environ.setdefault("XLA_FLAGS", f"--xla_force_host_platform_device_count={DEVICES}")

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import checkify
from jax.experimental import io_callback
from jax.experimental.sparse import linalg as sparse_linalg
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

if LIBRARY:
  from jax._src import xla_bridge

  sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
  from jax_tessera import callbacks

  xla_bridge.register_plugin(
      "tessera", priority=500, library_path=LIBRARY, options={"device_count": DEVICES}
  )
  callbacks.install(LIBRARY)

shard_map = jax.shard_map

# jaxlib's client runs a small program with a callback on the thread that calls it.
ours_only = unittest.skipUnless(OURS, "jaxlib's client would wait for itself")


def like(x):
  return jax.ShapeDtypeStruct(x.shape, x.dtype)


class Log:
  """Keeps what it is called with, as lists of numbers."""

  def __init__(self):
    self.rows = []

  def __call__(self, *arrays):
    self.rows.append([np.asarray(a).tolist() for a in arrays])

  def taken(self):
    jax.effects_barrier()
    rows, self.rows = self.rows, []
    return rows


class CallbacksTest(unittest.TestCase):

  def test_the_platform_is_the_right_one(self):
    version = jax.devices()[0].client.platform_version
    self.assertEqual("tessera" in version.lower(), bool(OURS))
    self.assertEqual(len(jax.devices()), DEVICES)

  def test_results_of_all_dtypes(self):
    names = ["bool", "int8", "int16", "int32", "uint8", "uint16", "uint32", "float16", "bfloat16",
             "float32", "complex64", "int4", "uint4", "int2", "uint2", "float4_e2m1fn",
             "float8_e4m3fn", "float8_e5m2", "float8_e4m3b11fnuz", "float8_e4m3fnuz",
             "float8_e5m2fnuz", "float8_e4m3", "float8_e3m4", "float8_e8m0fnu"]
    if jax.__version_info__ >= (0, 11):  # jaxlib's buffers had none before
      names += ["float6_e2m3fn", "float6_e3m2fn"]
    for name in names:
      dtype = jnp.dtype(name)
      signed = name not in ("uint2", "float8_e8m0fnu", "bool", "int2")
      x = np.array([[1, 2, 3], [1, 2, 1 if not signed else 4]]).astype(dtype)
      seen = []

      def turned(a):
        seen.append(a)
        return np.asarray(a).T

      with self.subTest(name):
        f = jax.jit(lambda x: jax.pure_callback(
            turned, jax.ShapeDtypeStruct((3, 2), dtype), x))
        y = f(x)
        self.assertEqual(y.dtype, dtype)
        as_numbers = lambda a: np.asarray(a).astype(np.complex64)
        np.testing.assert_array_equal(as_numbers(y), as_numbers(x).T)
        self.assertIsInstance(seen[0], jax.Array)
        self.assertEqual(seen[0].dtype, dtype)

  def test_64_bits(self):
    with jax.enable_x64(True):
      for dtype in (np.int64, np.uint64, np.float64, np.complex128):
        x = np.array([1, 2**40], dtype)
        y = jax.jit(lambda x: jax.pure_callback(lambda a: a + 1, like(x), x))(x)
        np.testing.assert_array_equal(y, x + 1)
        self.assertEqual(y.dtype, dtype)

  def test_what_is_kept_does_not_change(self):
    kept = []
    f = jax.jit(lambda x: jax.debug.callback(kept.append, x * 2))
    for i in range(5):
      f(jnp.full(1000, i))
    jax.effects_barrier()
    self.assertEqual([np.asarray(a).tolist() for a in kept], [[2 * i] * 1000 for i in range(5)])

  def test_trees(self):
    f = jax.jit(lambda x: jax.pure_callback(
        lambda t, scale: {"y": (t["x"] * scale, t["x"].sum())},
        {"y": (like(x), jax.ShapeDtypeStruct((), x.dtype))}, {"x": x}, scale=3.0))
    y, total = f(jnp.arange(4.0))["y"]
    self.assertEqual((y.tolist(), float(total)), ([0, 3, 6, 9], 6))

  def test_empty_arrays(self):
    seen = []

    def callback(a):
      seen.append(a.shape)
      return np.zeros((0, 3), np.float32), np.float32(1)

    f = jax.jit(lambda x: io_callback(
        callback, (jax.ShapeDtypeStruct((0, 3), jnp.float32), jax.ShapeDtypeStruct((), jnp.float32)),
        x))
    empty, one = f(jnp.zeros((2, 0)))
    self.assertEqual((empty.shape, float(one), seen), ((0, 3), 1.0, [(2, 0)]))

  def test_in_loops_and_branches(self):
    log = Log()

    def turn(carry, x):
      jax.debug.callback(log, carry, x)
      carry = io_callback(lambda c: c + 1, like(carry), carry, ordered=True)
      jax.lax.cond(x > 5, lambda: jax.debug.callback(log, -x), lambda: None)
      return carry, carry * x

    f = jax.jit(lambda xs: jax.lax.scan(turn, jnp.float32(0), xs))
    carry, ys = f(jnp.array([4.0, 6.0, 8.0]))
    self.assertEqual((float(carry), ys.tolist()), (3, [4, 12, 24]))
    self.assertEqual(log.taken(), [[0, 4], [1, 6], [-6], [2, 8], [-8]])

    g = jax.jit(lambda n: jax.lax.fori_loop(
        0, n, lambda i, c: io_callback(lambda i, c: c + i, like(c), i, c), jnp.int32(0)))
    self.assertEqual(int(g(5)), 10)
    goes_on = lambda x: jax.pure_callback(
        lambda x: np.asarray(x < 20), jax.ShapeDtypeStruct((), bool), x)
    h = jax.jit(lambda x: jax.lax.while_loop(goes_on, lambda x: x * 2, x))
    self.assertEqual(float(h(3.0)), 24)

  def test_order_of_ordered_ones(self):
    log = Log()

    @jax.jit
    def f(x):
      jax.debug.callback(log, x, ordered=True)
      io_callback(log, None, x + 0.5, ordered=True)
      return x + 1

    x = jnp.float32(0)
    for _ in range(10):
      x = f(x)
    self.assertEqual(log.taken(), [[i / 2] for i in range(20)])
    self.assertEqual(float(x), 10)

  def test_unused(self):
    log = Log()
    logged = lambda x: (log(x), x)[1]

    @jax.jit
    def f(x):
      jax.pure_callback(logged, like(x), x)
      io_callback(logged, like(x), x + 1)
      return x

    f(1.0).block_until_ready()
    self.assertEqual(log.taken(), [[2.0]])

  def test_vmap_methods(self):
    shapes = []

    def add(x, y):
      shapes.append((x.shape, y.shape))
      return x + y

    x, y = jnp.arange(3.0), jnp.float32(10)
    for method, want in {
        "sequential": [((), ())] * 3,
        "sequential_unrolled": [((), ())] * 3,
        "expand_dims": [((3,), (1,))],
        "broadcast_all": [((3,), (3,))],
    }.items():
      f = lambda x, y: jax.pure_callback(add, like(x), x, y, vmap_method=method)
      for run in (jax.vmap(f, (0, None)), jax.jit(jax.vmap(f, (0, None)))):
        shapes.clear()
        self.assertEqual(run(x, y).tolist(), [10, 11, 12])
        self.assertEqual(shapes, want, method)
    log = Log()
    jax.vmap(lambda x: jax.debug.callback(log, x))(x)
    self.assertEqual(sorted(log.taken()), [[0], [1], [2]])
    z = jax.jit(jax.vmap(lambda x: io_callback(lambda x: x * 2, like(x), x)))(x)
    self.assertEqual(z.tolist(), [0, 2, 4])

  def test_grad(self):
    log = Log()

    @jax.custom_vjp
    def sin(x):
      return jax.pure_callback(np.sin, like(x), x, vmap_method="expand_dims")

    sin.defvjp(lambda x: (sin(x), x), lambda x, ct: (
        ct * jax.pure_callback(np.cos, like(x), x, vmap_method="expand_dims"),))

    def f(x):
      jax.debug.callback(log, x)
      return (sin(x) * x).sum()

    x = jnp.array([0.5, 1.5])
    want = np.sin(x) + x * np.cos(x)
    np.testing.assert_allclose(jax.jit(jax.grad(f))(x), want, rtol=1e-6)
    self.assertEqual(log.taken(), [[[0.5, 1.5]]])
    np.testing.assert_allclose(jax.vmap(jax.grad(f))(x), want, rtol=1e-6)
    log.taken()
    np.testing.assert_allclose(jax.jit(jax.grad(jax.checkpoint(f)))(x), want, rtol=1e-6)
    with self.assertRaisesRegex(ValueError, "Pure callbacks do not support JVP"):
      jax.grad(lambda x: jax.pure_callback(np.sin, like(x), x))(1.0)

  def test_print(self):
    code = (
        "import callbacks_test, jax, jax.numpy as jnp\n"
        "@jax.jit\n"
        "def f(x):\n"
        "  jax.debug.print('x = {x}, sum {}', x.sum(), x=x)\n"
        "  for i in range(3): jax.debug.print('{}', i, ordered=True)\n"
        "  return x\n"
        "f(jnp.arange(3)); f(jnp.arange(2))\n"
    )
    out = subprocess.run(
        [sys.executable, "-c", code], cwd=pathlib.Path(__file__).parent, capture_output=True,
        text=True, check=False)
    self.assertEqual(out.returncode, 0, out.stderr)
    # It is printed although the program ends at once. Only the ordered lines have an order.
    lines = out.stdout.splitlines()
    self.assertEqual([line for line in lines if line.isdigit()], ["0", "1", "2"] * 2)
    self.assertEqual(sorted(line for line in lines if not line.isdigit()), ["x = [0 1 2], sum 3", "x = [0 1], sum 1"])

  def test_exceptions(self):
    def fails(x):
      raise ValueError("no answer for " + str(float(x)))

    for run in (
        lambda x: jax.pure_callback(fails, like(x), x),
        lambda x: io_callback(fails, like(x), x),
        lambda x: io_callback(fails, like(x), x, ordered=True),
    ):
      with self.assertLogs(level="ERROR"):
        with self.assertRaisesRegex(RuntimeError, "no answer for 2.0"):
          jax.block_until_ready(jax.jit(run)(jnp.float32(2)))
          jax.effects_barrier()
      try:
        jax.effects_barrier()
      except RuntimeError:
        pass
    with self.assertLogs(level="ERROR"):
      with self.assertRaisesRegex(RuntimeError, "no answer for 3.0"):
        jax.jit(lambda x: jax.debug.callback(fails, x))(3.0)
        jax.effects_barrier()
    for wrong, text in (
        (lambda x: np.zeros(2, np.float32), r"Incorrect output shape for return value #0: Expected: \(\), Actual: \(2,\)"),
        (lambda x: np.int32(1), "Incorrect output dtype for return value #0: Expected: float32, Actual: int32"),
        (lambda x: (x, x), "Mismatched number of outputs from callback. Expected: 1, Actual: 2"),
    ):
      with self.assertRaisesRegex(RuntimeError, text):
        jax.jit(lambda x: jax.pure_callback(wrong, like(x), x))(1.0).block_until_ready()
    # All is well afterwards.
    self.assertEqual(float(jax.jit(lambda x: jax.pure_callback(lambda x: x, like(x), x))(1.0)), 1)

  def test_answers_decide_how_a_loop_runs(self):
    answers = []

    def answer():
      answers.append(len(answers) + 1)
      return np.int32(answers[-1])

    def asked():
      return io_callback(answer, jax.ShapeDtypeStruct((), jnp.int32))

    # The results of three calls, each of which asks anew. Nobody is asked while a program is compiled.
    for run, results, asked_times in (
        (lambda x: jax.lax.fori_loop(0, asked(), lambda i, x: x + 1, x), [8, 9, 10], 3),
        (lambda x: jax.lax.fori_loop(asked(), 9, lambda i, x: x + 1, x), [15, 14, 13], 3),
        (lambda x: jax.lax.while_loop(lambda i: i < x, lambda i: i + asked(), asked()), [10, 11, 7], 7),
        (lambda x: jax.lax.scan(lambda c, i: (jax.lax.cond(i > 0, lambda: c + 1, lambda: c), None), asked(), jnp.arange(4))[0], [4, 5, 6], 3),
        (lambda x: jax.lax.fori_loop(0, jax.pure_callback(answer, jax.ShapeDtypeStruct((), jnp.int32)), lambda i, x: x + 1, x), [8, 9, 10], 3),
    ):
      answers.clear()
      f = jax.jit(run)
      self.assertEqual([int(f(jnp.int32(7))) for _ in range(3)], results)
      self.assertEqual(len(answers), asked_times)

  def test_computing_in_a_callback(self):
    inside = jax.jit(lambda x: (x @ x).sum())
    outside = jnp.full((300, 300), 2.0)

    def callback(x):
      y = jnp.asarray(x) + 1  # where callbacks compute
      z = inside(jnp.ones((200, 200)))  # long enough to be queued
      w = outside @ outside  # on the device that runs the callback
      return np.float32(y.sum() + z + np.asarray(w)[0, 0])

    f = jax.jit(lambda x: io_callback(callback, jax.ShapeDtypeStruct((), jnp.float32), x))
    want = 10 + 200.0**3 + 1200
    for _ in range(5):
      self.assertEqual(float(f(jnp.arange(4.0))), want)
    # A callback in a callback.
    g = jax.jit(lambda x: jax.pure_callback(
        lambda x: np.asarray(f(jnp.asarray(x))), jax.ShapeDtypeStruct((), jnp.float32), x))
    self.assertEqual(float(g(jnp.arange(4.0))), want)

  @ours_only
  def test_waiting_for_another_thread_that_computes(self):
    asked, answer = threading.Event(), []

    def callback(x):
      asked.set()
      while not answer:
        threading.Event().wait(0.001)
      return x + answer[0]

    y = jax.jit(lambda x: io_callback(callback, like(x), x))(jnp.float32(1))
    asked.wait()
    x = jnp.ones((600, 600))
    answer.append(np.float32((x @ x).max()))
    self.assertEqual(float(y), 601)

  def test_many_threads(self):
    f = jax.jit(lambda x: jax.pure_callback(lambda x: x * 2, like(x), x) + 1)
    wrong = []

    def work(k):
      for i in range(30):
        if float(f(jnp.float32(100 * k + i))) != 2 * (100 * k + i) + 1:
          wrong.append((k, i))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
      t.start()
    for t in threads:
      t.join()
    self.assertEqual(wrong, [])

  def test_on_each_device_of_a_map(self):
    mesh = jax.sharding.Mesh(np.array(jax.devices()), ("i",))
    log = Log()

    @jax.jit
    @functools.partial(shard_map, mesh=mesh, in_specs=(P("i"), P()), out_specs=P("i"))
    def f(x, same):
      jax.debug.callback(log, x)
      jax.debug.callback(log, same)
      io_callback(log, None, jax.lax.axis_index("i") + 100)
      y = jax.pure_callback(lambda x: x * 10, like(x), x)
      return io_callback(lambda y: y + 1, like(y), y)

    y = f(jnp.arange(2.0 * DEVICES), jnp.float32(-1))
    self.assertEqual(y.tolist(), [10.0 * i + 1 for i in range(2 * DEVICES)])
    rows = sorted(log.taken(), key=str)
    want = [[[2.0 * d, 2.0 * d + 1]] for d in range(DEVICES)] + [[-1.0]] * DEVICES
    want += [[100 + d] for d in range(DEVICES)]
    self.assertEqual(rows, sorted(want, key=str))

    @functools.partial(shard_map, mesh=mesh, in_specs=(), out_specs=())
    def no_arrays():
      jax.debug.callback(lambda: log.rows.append("called"))
      return ()

    jax.jit(no_arrays)()  # JAX makes it a program for one device
    self.assertEqual(log.taken(), ["called"])

    two = jax.sharding.Mesh(np.array(jax.devices()).reshape(2, -1), ("i", "j"))

    @jax.jit
    @functools.partial(shard_map, mesh=two, in_specs=P("i"), out_specs=P("i"), axis_names={"i"})
    def partly_manual(x):
      jax.debug.callback(log, x)
      return x * 2

    z = partly_manual(jnp.arange(4.0))
    self.assertEqual(z.tolist(), [0, 2, 4, 6])
    self.assertEqual(sorted(log.taken()), [[[0, 1]], [[2, 3]]])

  def test_pmap(self):
    log = Log()

    @jax.pmap
    def f(x):
      jax.debug.callback(log, x)
      return jax.pure_callback(lambda x: x + 1, like(x), x)

    x = jnp.arange(float(DEVICES))
    self.assertEqual(f(x).tolist(), [i + 1 for i in range(DEVICES)])
    self.assertEqual(sorted(log.taken()), [[float(i)] for i in range(DEVICES)])

  def test_once_with_whole_values_in_sharded_jit(self):
    mesh = jax.sharding.Mesh(np.array(jax.devices()).reshape(2, -1), ("x", "y"))
    sharding = NamedSharding(mesh, P("x", "y"))
    log = Log()

    def callback(x):
      log(x)
      return np.asarray(x) + np.arange(8, dtype=np.float32).reshape(2, 4)

    for call in (
        jax.pure_callback,
        io_callback,
        functools.partial(io_callback, ordered=True),
        functools.partial(jax.pure_callback, sharding=jax.sharding.SingleDeviceSharding(jax.devices()[-1])),
    ):
      f = jax.jit(lambda x: call(callback, like(x), 2 * x) * 2, out_shardings=sharding)
      x = jax.device_put(np.arange(8, dtype=np.float32).reshape(2, 4), sharding)
      y = f(x)
      self.assertEqual(np.asarray(y).ravel().tolist(), [6.0 * i for i in range(8)])
      self.assertEqual(log.taken(), [[[[0, 2, 4, 6], [8, 10, 12, 14]]]])
    jax.jit(lambda x: jax.debug.callback(log, x.sum()))(x)
    self.assertEqual(log.taken(), [[28]])
    jax.jit(lambda x: jax.debug.callback(log, x, partitioned=True))(x)
    self.assertEqual(sorted(log.taken()), [[[[0, 1]]], [[[2, 3]]], [[[4, 5]]], [[[6, 7]]]])

  def test_ordered_on_changing_devices(self):
    log = Log()

    def f(x):
      io_callback(log, None, x.sum(), ordered=True)
      io_callback(log, None, x.sum() + 1, ordered=True)

    want = []
    for i in range(6):
      devices = [jax.devices()[i % DEVICES], jax.devices()[(i + 1) % DEVICES]]
      mesh = jax.sharding.Mesh(np.array(devices), ("d",))
      x = jax.device_put(np.arange(2) + 10 * i, NamedSharding(mesh, P("d")))
      jax.jit(f)(x)
      want += [[20 * i + 1], [20 * i + 2]]
    self.assertEqual(log.taken(), want)

  def test_nans_and_checks(self):
    with jax.debug_nans(True):
      with self.assertRaisesRegex(FloatingPointError, "nan"):
        jax.jit(lambda x: jnp.log(x) * 0 + x / x)(jnp.float32(0)).block_until_ready()
      self.assertEqual(float(jax.jit(lambda x: x / 2)(jnp.float32(1))), 0.5)
    with jax.debug_infs(True):
      with self.assertRaisesRegex(FloatingPointError, "inf"):
        jax.jit(lambda x: 1 / x)(jnp.float32(0)).block_until_ready()

    def f(x):
      checkify.check(x > 0, "x is {x}", x=x)
      return jnp.sqrt(x)

    error, _ = jax.jit(checkify.checkify(f))(jnp.float32(-1))
    self.assertIn("x is -1.0", error.get())

  def test_the_sparse_solver(self):
    # It is a callback that JAX writes by way of its public module jax.interpreters.mlir.
    data, columns, starts = np.array([4, 1, 2, 5], np.float32), np.array([0, 1, 1, 2]), np.array([0, 2, 3, 4])
    b = np.array([6, 4, 10], np.float32)
    solve = lambda data, b: sparse_linalg.spsolve(data, columns, starts, b)
    self.assertEqual(jax.jit(solve)(data, b).tolist(), [1, 2, 2])
    weighted = lambda data, b: (solve(data, b) * np.array([1, 10, 100], np.float32)).sum()
    at_data, at_b = jax.jit(jax.grad(weighted, (0, 1)))(data, b)
    np.testing.assert_allclose(at_b, [0.25, 4.875, 20], rtol=1e-6)
    np.testing.assert_allclose(at_data, [-0.25, -0.5, -9.75, -40], rtol=1e-6)

  def test_functions_are_forgotten(self):
    class Callback:

      def __call__(self, x):
        return x

    alive = []
    for i in range(30):
      callback = Callback()
      alive.append(__import__("weakref").ref(callback))
      f = jax.jit(lambda x, callback=callback: jax.pure_callback(callback, like(x), x) + i)
      self.assertEqual(float(f(1.0)), 1 + i)
      del f, callback
      jax.clear_caches()
    gc.collect()
    jax.jit(lambda x: jax.pure_callback(lambda x: x, like(x), x))(1.0)
    self.assertLess(sum(r() is not None for r in alive), 5)

  @ours_only
  def test_an_executable_may_be_forgotten_while_it_runs(self):
    started, go_on = threading.Event(), threading.Event()

    def callback(x):
      started.set()
      go_on.wait()
      return x + 1

    def f(x):
      y = jax.pure_callback(callback, like(x), x)
      return jax.pure_callback(lambda x: x * 2, like(x), y)

    y = jax.jit(f)(jnp.float32(1))
    started.wait()
    del f
    jax.clear_caches()
    gc.collect()
    for i in range(20):  # functions are removed when others are added
      jax.jit(lambda x, i=i: jax.pure_callback(lambda x: x, like(x), x) + i).lower(1.0)
    go_on.set()
    self.assertEqual(float(y), 4)

  @ours_only
  def test_fork_while_a_callback_runs(self):
    code = (
        "import callbacks_test, jax, os, time, warnings\n"
        "warnings.simplefilter('ignore')\n"
        "def slow(x):\n"
        "  time.sleep(0.3); return x\n"
        "y = jax.jit(lambda x: jax.pure_callback(slow, callbacks_test.like(x), x))(1.0)\n"
        "time.sleep(0.1)\n"
        "child = os.fork()\n"
        "if not child: os._exit(3)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), float(y))\n"
    )
    out = subprocess.run(
        [sys.executable, "-c", code], cwd=pathlib.Path(__file__).parent, capture_output=True,
        text=True, check=False, timeout=120)
    self.assertEqual((out.returncode, out.stdout), (0, "3 1.0\n"), out.stderr)

  def test_ending_while_a_callback_runs(self):
    code = (
        "import callbacks_test, jax, time\n"
        "def slow(x):\n"
        "  time.sleep(0.3); print('over', flush=True); return x\n"
        "y = jax.jit(lambda x: jax.pure_callback(slow, callbacks_test.like(x), x))(1.0)\n"
    )
    out = subprocess.run(
        [sys.executable, "-c", code], cwd=pathlib.Path(__file__).parent, capture_output=True,
        text=True, check=False, timeout=120)
    self.assertEqual(out.returncode, 0, out.stderr)


if __name__ == "__main__":
  unittest.main()
