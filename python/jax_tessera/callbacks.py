"""JAX's callbacks on Tessera: pure_callback, io_callback, debug.print, debug.callback, checks.

JAX writes a callback as a custom call that holds the callback's number in a list which it hands to
jaxlib at compilation. A plug-in never gets that list. So for our client a callback is written as a
custom call `tessera_python_callback` that holds the number of a row of a table of this module, and
the library calls `_call` with that number when the program runs.
"""

from __future__ import annotations

import atexit
import collections
import contextlib
import ctypes
import dataclasses
import functools
import inspect
import itertools
import os
import secrets
import threading
import traceback
import weakref

import ml_dtypes
import numpy as np

from jax._src import callback as jax_callback
from jax._src import compiler
from jax._src import config
from jax._src import core
from jax._src import debugging
from jax._src import dispatch
from jax._src import dtypes
from jax._src import ffi
from jax._src import mesh as mesh_lib
from jax._src import sharding_impls
from jax._src import xla_bridge
from jax._src.interpreters import mlir
from jax._src.lib import xla_client
from jax._src.sharding_impls import NamedSharding, PartitionSpec, SdyArray, SdyArrayList
from jax.interpreters import mlir as public_mlir


# --- The library's side: src/pjrt/callbacks_abi.h ---


class _Array(ctypes.Structure):
  _fields_ = [
      ("data", ctypes.c_void_p),
      ("type", ctypes.c_int32),
      ("rank", ctypes.c_int32),
      ("dims", ctypes.POINTER(ctypes.c_int64)),
  ]


# Taking the interpreter's lock, on a thread that Python may not know, is part of such a function.
_Callback = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.c_int64,  # the function's number
    ctypes.c_int64,  # the device
    ctypes.c_int32,
    ctypes.POINTER(_Array),  # operands
    ctypes.c_int32,
    ctypes.POINTER(_Array),  # results
    ctypes.c_void_p,  # the text of an error
    ctypes.c_size_t,
)


def _narrow(name):
  dtype = getattr(ml_dtypes, name, None)
  return None if dtype is None else np.dtype(dtype)


# By PJRT_Buffer_Type.
_DTYPES = {
    1: np.dtype(np.bool_),
    2: np.dtype(np.int8),
    3: np.dtype(np.int16),
    4: np.dtype(np.int32),
    5: np.dtype(np.int64),
    6: np.dtype(np.uint8),
    7: np.dtype(np.uint16),
    8: np.dtype(np.uint32),
    9: np.dtype(np.uint64),
    10: np.dtype(np.float16),
    11: np.dtype(np.float32),
    12: np.dtype(np.float64),
    13: _narrow("bfloat16"),
    14: np.dtype(np.complex64),
    15: np.dtype(np.complex128),
    16: _narrow("float8_e5m2"),
    17: _narrow("float8_e4m3fn"),
    18: _narrow("float8_e4m3b11fnuz"),
    19: _narrow("float8_e5m2fnuz"),
    20: _narrow("float8_e4m3fnuz"),
    21: _narrow("int4"),
    22: _narrow("uint4"),
    24: _narrow("int2"),
    25: _narrow("uint2"),
    26: _narrow("float8_e4m3"),
    27: _narrow("float8_e3m4"),
    28: _narrow("float8_e8m0fnu"),
    29: _narrow("float4_e2m1fn"),
    32: _narrow("float6_e2m3fn"),
    33: _narrow("float6_e3m2fn"),
}


def _read(a):
  """A copy of the array, which the callback may keep."""
  dtype = _DTYPES[a.type]
  shape = tuple(a.dims[: a.rank])
  size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
  if size == 0:
    return np.empty(shape, dtype)
  return np.frombuffer(ctypes.string_at(a.data, size), dtype).reshape(shape)


def _write(a, value):
  value = np.ascontiguousarray(value)
  if value.nbytes:
    ctypes.memmove(a.data, value.ctypes.data, value.nbytes)


class _Running(threading.local):
  depth = 0


_running = _Running()


def _call(index, device, n_operands, operands, n_results, results, error, error_size):
  del device
  _running.depth += 1
  try:
    function = _table.functions.get(index)
    if function is None:
      raise RuntimeError(f"this process has no callback with the number {index}")
    values = function(*[_read(operands[i]) for i in range(n_operands)])
    for i in range(n_results):
      _write(results[i], values[i])
    return 0
  except BaseException:
    text = traceback.format_exc().encode()[: error_size - 1] + b"\0"
    ctypes.memmove(error, text, len(text))
    return 1
  finally:
    _running.depth -= 1


_called = _Callback(_call)  # the library keeps its address


# --- The table ---


class _Kept:
  """Lives as long as JAX may compile or run the program that holds a function's number.

  It is one of the module's host callbacks, so that JAX waits for the program in effects_barrier and
  refuses to export it.
  """

  __slots__ = ("__weakref__",)


class _Table:
  """The functions in modules, by number.

  JAX's own objects do not outlive all calls of a program: an executable may be forgotten while it
  runs. So a function is removed when JAX has forgotten it and the library has no program with it.
  """

  def __init__(self):
    self.functions = {}
    # Numbers differ between processes, so that a program from a persistent cache cannot call
    # another process's function.
    self._numbers = itertools.count(secrets.randbits(30) << 32)
    self._forgotten = collections.deque()
    self._users = None

  def use(self, library):
    self._users = library.tessera_pjrt_callback_users
    self._users.argtypes = [ctypes.c_int64]
    self._users.restype = ctypes.c_int64

  def add(self, function):
    """Returns the function's number, and an object that keeps it."""
    self._collect()
    number = next(self._numbers)
    self.functions[number] = function
    kept = _Kept()
    weakref.finalize(kept, self._forgotten.append, number).atexit = False
    return number, kept

  def _collect(self):
    # Some numbers at each time, so that adding a function takes the same time whatever lives on.
    for _ in range(min(len(self._forgotten), 16)):
      try:
        number = self._forgotten.popleft()
      except IndexError:
        return
      if self._users(number):
        self._forgotten.append(number)
      else:
        self.functions.pop(number, None)


_table = _Table()


# --- JAX's side ---


def _is_ours(ctx):
  module = ctx.module_context
  if len(module.platforms) != 1 or module.platforms[0] != "cpu":
    return False
  backend = module.get_backend()
  return "tessera" in getattr(backend, "platform_version", "").lower()


def _checked(callback, result_avals):
  """The callback, whose results are checked and made NumPy arrays of the declared types."""
  result_avals = tuple(core.physical_aval(a) for a in result_avals)
  dtype_of = lambda a: np.dtype(np.bool_) if a.dtype == dtypes.float0 else np.dtype(a.dtype)
  declared = tuple((tuple(a.shape), dtype_of(a)) for a in result_avals)

  # The thread that calls has none of the settings of the thread that traces.
  with_64_bits = config.enable_x64.value

  def call(*operands):
    if config.enable_x64.value != with_64_bits:
      with config.enable_x64(with_64_bits):
        return checked(*operands)
    return checked(*operands)

  def checked(*operands):
    values = callback(*operands)
    if len(values) != len(declared):
      raise RuntimeError(
          "Mismatched number of outputs from callback. "
          f"Expected: {len(declared)}, Actual: {len(values)}"
      )
    values = [dtypes.canonicalize_value(np.asarray(v)) for v in values]
    for i, (value, (shape, dtype)) in enumerate(zip(values, declared)):
      if value.shape != shape:
        raise RuntimeError(
            f"Incorrect output shape for return value #{i}: "
            f"Expected: {shape}, Actual: {value.shape}"
        )
      if value.dtype != dtype:
        raise RuntimeError(
            f"Incorrect output dtype for return value #{i}: "
            f"Expected: {dtype}, Actual: {value.dtype}"
        )
    return values

  return call


def _add(ctx, function):
  """The function's number in the module that is written."""
  number, kept = _table.add(function)
  ctx.module_context.add_host_callback(kept)
  ctx.module_context.add_keepalive(kept)
  return number


def _emit_for_tessera(
    ctx,
    callback,
    token,
    operands,
    operand_avals,
    result_avals,
    *,
    has_side_effect,
    returns_token=True,
    partitioned=False,
    sharding=None,
):
  del operand_avals, returns_token
  if partitioned and result_avals:
    raise ValueError("Partitioned callback not supported with return values.")
  number = _add(ctx, _checked(callback, result_avals))
  operands = list(operands)
  if token:
    operands.insert(0, token)
    if isinstance(sharding, SdyArrayList) and ctx.avals_out:
      first = SdyArray(
          mesh_shape=(),
          dim_shardings=(),
          logical_device_ids=sharding.shardings[0].logical_device_ids,
      )
      sharding = SdyArrayList((first, *sharding.shardings))
    ctx = dataclasses.replace(
        ctx,
        avals_in=[core.abstract_token, *ctx.avals_in],
        avals_out=[core.abstract_token, *ctx.avals_out],
    )
  target = "tessera_partitioned_python_callback" if partitioned else "tessera_python_callback"
  lower = ffi.build_ffi_lowering_function(target, has_side_effect=has_side_effect)
  op = lower(ctx, *operands, index=np.int64(number))
  if sharding is not None:
    mlir.set_sharding(ctx.module_context, op, sharding)
  results = list(op.results)
  if token:
    token = results.pop(0)
  return results, token, callback


def _replace_emit():
  original = jax_callback.emit_python_callback

  @functools.wraps(original)
  def emit_python_callback(ctx, *args, **kwargs):
    emit = _emit_for_tessera if _is_ours(ctx) else original
    return emit(ctx, *args, **kwargs)

  jax_callback.emit_python_callback = emit_python_callback
  # What JAX offers to other packages; its own sparse solver uses it.
  public_mlir.emit_python_callback = emit_python_callback


def _replace_compile():
  """Programs with callbacks are compiled anew in each process, since numbers mean nothing there."""
  original = compiler.compile_or_get_cached
  signature = inspect.signature(original)

  @functools.wraps(original)
  def compile_or_get_cached(*args, **kwargs):
    given = signature.bind(*args, **kwargs).arguments
    host_callbacks = given["host_callbacks"]
    if not any(isinstance(c, _Kept) for c in host_callbacks):
      return original(*args, **kwargs)
    return compiler.backend_compile_and_load(
        given["backend"], given["computation"], given["executable_devices"],
        given["compile_options"], [c for c in host_callbacks if not isinstance(c, _Kept)])

  compiler.compile_or_get_cached = compile_or_get_cached


def _replace_waiting_for_tokens():
  """A failed program is reported once.

  JAX 0.10 and 0.11 keep its tokens when waiting for them raises, and then report the same error for
  each later effect. Our programs fail while they run and not when they are called, as small ones
  on jaxlib's client do, so a token can have an error.
  """
  tokens = dispatch.RuntimeTokenSet
  wait, get = tokens.block_until_ready, tokens.get_token_input

  @functools.wraps(wait)
  def block_until_ready(self):
    try:
      wait(self)
    except BaseException:
      for token in (*self.current_tokens.values(), *self.output_runtime_tokens.values()):
        with contextlib.suppress(RuntimeError):
          token.block_until_ready()
      self.clear()
      raise

  @functools.wraps(get)
  def get_token_input(self, effect, devices):
    try:
      return get(self, effect, devices)
    except RuntimeError:
      self.current_tokens.pop(effect, None)
      raise

  tokens.block_until_ready, tokens.get_token_input = block_until_ready, get_token_input


def _inspect_sharding(ctx, value, *, callback):
  """debug.inspect_array_sharding: the partitioner says where the value is placed."""
  axis_context = ctx.module_context.axis_context
  mesh = mesh_lib.thread_resources.env.physical_mesh
  if isinstance(axis_context, sharding_impls.SPMDAxisContext):
    # In a shard_map a device has its own value.
    callback(NamedSharding(axis_context.mesh, PartitionSpec()))
    return []
  devices = axis_context.device_assignment
  if axis_context.abstract_mesh is not None:
    shape = axis_context.abstract_mesh
    mesh = mesh_lib.Mesh(np.array(devices).reshape(shape.axis_sizes), shape.axis_names)

  def placed(parts, ids):
    proto = xla_client.OpSharding()
    proto.type = xla_client.OpSharding.Type.REPLICATED
    n = int(np.prod(parts))
    if n > 1:
      proto.type = xla_client.OpSharding.Type.OTHER
      dimensions = [int(k) for k in parts]
      if n < len(ids):
        dimensions.append(len(ids) // n)
        proto.replicate_on_last_tile_dim = True
      proto.tile_assignment_dimensions = dimensions
      proto.tile_assignment_devices = [int(d) for d in ids]
    sharding = xla_client.HloSharding.from_proto(proto)
    if mesh.empty:
      callback(sharding_impls.GSPMDSharding(devices, sharding))
    else:
      spec = sharding_impls.parse_flatten_op_sharding(sharding, mesh)[0]
      callback(NamedSharding(mesh, spec))
    return ()

  lower = ffi.build_ffi_lowering_function("tessera_inspect_sharding", has_side_effect=True)
  lower(ctx, value, index=np.int64(_add(ctx, placed)))
  return []


def _replace_inspect_sharding():
  primitive = debugging.inspect_sharding_p
  original = debugging._inspect_sharding_lowering_rule

  def lower(ctx, value, *, callback):
    axis_context = ctx.module_context.axis_context
    several = getattr(axis_context, "num_devices", 2) != 1
    rule = _inspect_sharding if several and _is_ours(ctx) else original
    return rule(ctx, value, callback=callback)

  mlir.register_lowering(primitive, lower)


def _replace_local_devices():
  """Where there is no client of jaxlib's, callbacks get arrays on our devices."""
  original = xla_bridge.local_devices

  @functools.wraps(original)
  def local_devices(process_index=None, backend=None, host_id=None):
    if backend == "cpu" and _running.depth and "cpu" not in xla_bridge.backends():
      backend = None
    return original(process_index, backend, host_id)

  xla_bridge.local_devices = local_devices


_installed = False


def install(library):
  """Callbacks work in programs of `library`: its path, or a ctypes.CDLL of it.

  May be called again, and before the client is made.
  """
  global _installed
  if _installed:
    return
  _installed = True
  if not isinstance(library, ctypes.CDLL):
    library = ctypes.CDLL(os.fspath(library))
  _table.use(library)
  set_callback = library.tessera_pjrt_set_callback
  set_callback.argtypes = [ctypes.c_void_p]
  set_callback.restype = None
  set_callback(ctypes.cast(_called, ctypes.c_void_p))
  wait = library.tessera_pjrt_wait
  wait.argtypes = []
  wait.restype = None
  # A fork waits for programs under way. They may be waiting for the interpreter's lock, which the
  # thread that forks holds.
  os.register_at_fork(before=wait)
  # Programs that are still running call Python, so they end first.
  atexit.register(set_callback, None)
  _replace_emit()
  _replace_compile()
  _replace_waiting_for_tokens()
  _replace_inspect_sharding()
  _replace_local_devices()
