"""Programs over eight virtual devices: where arrays are, what they hold, donation."""
import unittest

import check
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

jax.config.update("jax_enable_x64", True)
N = 8


def mesh(*shape, names=("x", "y")):
    return Mesh(np.array(jax.devices()[:int(np.prod(shape))]).reshape(shape), names[:len(shape)])


class Placement(unittest.TestCase):
    def test_devices(self):
        check.equal(len(jax.devices()), N)
        check.equal(len(jax.local_devices()), N)
        check.equal([d.id for d in jax.devices()], list(range(N)))
        check.equal([d.process_index for d in jax.devices()], [0] * N)
        for d in jax.devices():
            x = jax.device_put(np.arange(3), d)
            check.true(x.devices() == {d}, f"an array that was put on {d}")
            check.true(jax.jit(lambda v: v + 1)(x).devices() == {d}, f"a result of an argument on {d}")

    def test_default_device(self):
        with jax.default_device(jax.devices()[5]):
            check.true(jnp.ones(3).devices() == {jax.devices()[5]}, "a new array")

    def test_two_devices_in_one_call(self):
        x, y = (jax.device_put(np.ones(3), jax.devices()[i]) for i in (0, 1))
        check.raises(ValueError, "incompatible devices", jnp.add, x, y)

    def test_shards(self):
        x = np.arange(64.0).reshape(16, 4)
        for spec, shape in ((P("x"), (4, 4)), (P("x", "y"), (4, 2)), (P(("x", "y")), (2, 4)), (P(None, "y"), (16, 2)), (P(), (16, 4)), (P("y", "x"), (8, 1))):
            sharding = NamedSharding(mesh(4, 2), spec)
            put = jax.device_put(x, sharding)
            check.true(put.sharding == sharding, "the sharding of what was put")
            check.equal(put, x, str(spec))
            for s in put.addressable_shards:
                check.equal(s.data.shape, shape)
                check.equal(s.data, x[s.index], f"{spec} on {s.device}")
                check.true(s.data.devices() == {s.device}, "the device of a shard")

    def test_every_move(self):
        x = np.arange(64.0).reshape(8, 8)
        specs = (P(), P("x"), P("y"), P("x", "y"), P(("y", "x")), P(None, ("x", "y")))
        for a in specs:
            for b in specs:
                put = jax.device_put(x, NamedSharding(mesh(4, 2), a))
                moved = jax.device_put(put, NamedSharding(mesh(4, 2), b))
                check.equal(moved, x, f"{a} to {b}")
                check.true(moved.sharding.is_equivalent_to(NamedSharding(mesh(4, 2), b), 2), f"{a} to {b}")
                in_jit = jax.jit(lambda v: v, out_shardings=NamedSharding(mesh(4, 2), b))(put)
                check.equal(in_jit, x, f"{a} to {b} in a jit")
                check.true(in_jit.sharding.is_equivalent_to(NamedSharding(mesh(4, 2), b), 2), f"{a} to {b} in a jit")

    def test_one_device_to_another(self):
        x = jax.device_put(np.arange(1000.0), jax.devices()[2])
        check.equal(jax.device_put(x, jax.devices()[7]), np.arange(1000.0))

    def test_single_device_arrays(self):
        parts = [jax.device_put(np.full((2, 3), i), d) for i, d in enumerate(jax.devices())]
        x = jax.make_array_from_single_device_arrays((16, 3), NamedSharding(mesh(8), P("x")), parts)
        check.equal(x, np.repeat(np.arange(8), 2)[:, None] * np.ones((1, 3), int))

    def test_callback(self):
        whole = np.arange(32.0).reshape(8, 4)
        check.equal(jax.make_array_from_callback((8, 4), NamedSharding(mesh(4, 2), P("x", "y")), lambda i: whole[i]), whole)


class Partitioned(unittest.TestCase):
    def test_elementwise_keeps_its_sharding(self):
        sharding = NamedSharding(mesh(8), P("x"))
        x = jax.device_put(np.arange(64.0), sharding)
        y = jax.jit(lambda v: jnp.sin(v) + 1)(x)
        check.close(y, np.sin(np.arange(64.0)).astype(y.dtype) + 1)
        check.true(y.sharding.is_equivalent_to(sharding, 1), "the sharding of the result")

    def test_products(self):
        rng = np.random.default_rng(1)
        a, b = rng.standard_normal((32, 64)).astype(np.float32), rng.standard_normal((64, 16)).astype(np.float32)
        want = (a.astype(np.float64) @ b).astype(np.float32)
        for sa, sb in ((P("x"), P()), (P(None, "x"), P("x")), (P("x", "y"), P("y")), (P(), P(None, "y")), (P("y", "x"), P("x", "y"))):
            m = mesh(4, 2)
            got = jax.jit(jnp.matmul)(jax.device_put(a, NamedSharding(m, sa)), jax.device_put(b, NamedSharding(m, sb)))
            check.close(got, want, f"{sa} {sb}", units=64)

    def test_uneven_reductions(self):
        x = np.arange(48.0).reshape(8, 6)
        put = jax.device_put(x, NamedSharding(mesh(8), P("x")))
        for name in ("sum", "max", "mean", "argmax", "cumsum"):
            for axis in (0, 1):
                f = lambda v: getattr(jnp, name)(v, axis=axis)
                got = jax.jit(f)(put)
                check.close(np.asarray(got, np.float32), np.asarray(getattr(np, name)(x, axis=axis), np.float32), f"{name} {axis}")

    def test_constraint(self):
        sharding = NamedSharding(mesh(8), P("x"))
        f = jax.jit(lambda v: lax.with_sharding_constraint(v * 2, sharding))
        y = f(np.arange(16.0))
        check.equal(y, np.arange(16.0, dtype=y.dtype) * 2)
        check.true(y.sharding.is_equivalent_to(sharding, 1), "the sharding of the result")

    def test_training_step(self):
        rng = np.random.default_rng(2)
        x, y = rng.standard_normal((64, 8)).astype(np.float32), rng.standard_normal((64, 1)).astype(np.float32)
        w = rng.standard_normal((8, 1)).astype(np.float32)
        m = mesh(8)

        @jax.jit
        def step(p, x, y):
            value, g = jax.value_and_grad(lambda q: jnp.mean((x @ q - y) ** 2))(p)
            return p - 0.1 * g, value

        p = jax.device_put(w, NamedSharding(m, P()))
        data = [jax.device_put(v, NamedSharding(m, P("x"))) for v in (x, y)]
        want = w.astype(np.float64)
        for _ in range(5):
            p, value = step(p, *data)
            r = x @ want - y
            check.close(value, np.float32((r ** 2).mean()), units=64)
            want = want - 0.1 * 2 * x.T @ r / 64
        check.close(p, want.astype(np.float32), units=64)

    def test_loops(self):
        x = np.arange(24.0, dtype=np.float32).reshape(8, 3)
        put = jax.device_put(x, NamedSharding(mesh(8), P("x")))
        got = jax.jit(lambda v: lax.fori_loop(0, 5, lambda i, c: c + v.sum() / 100, v))(put)
        check.close(got, x + np.float32(5 * x.sum() / 100))


    def test_text(self):
        m = mesh(4, 2)
        w = jax.device_put(np.full((8, 8), 0.1), NamedSharding(m, P("x", None)))
        x = jax.device_put(np.ones((4, 8)), NamedSharding(m, P("y", "x")))
        f = jax.jit(lambda x, w: lax.scan(lambda c, _: (jax.scipy.special.erf(c @ w), None), x, length=3)[0])
        text = f.lower(x, w).compile().as_text()
        for what in ("while(", "reduce-scatter(", "chlo.erf"):  # the collective is in the function that is the loop's body
            check.true(what in text, f"{what} is in the text of a loop")

    def test_matrix_algorithms_are_not_divided(self):
        a = np.random.default_rng(3).normal(size=(4, 6, 6))
        a = a @ a.transpose(0, 2, 1)
        for f in (lax.linalg.hessenberg, lax.linalg.tridiagonal):
            for spec in (P(None, "x"), P("y", "x"), P(None, None, "x")):
                put = jax.device_put(a, NamedSharding(mesh(2, 4), spec))
                for got, want in zip(jax.tree.leaves(jax.jit(f)(put)), jax.tree.leaves(jax.jit(f)(a))):
                    check.equal(got, want, f"{f.__name__} {spec}")


class Maps(unittest.TestCase):
    def over(self, f, x, ins=P("x"), outs=P("x"), **more):
        return jax.jit(jax.shard_map(f, mesh=mesh(8), in_specs=ins, out_specs=outs, **more))(x)

    def test_collectives(self):
        x = np.arange(16.0, dtype=np.float32)
        rows = x.reshape(8, 2)
        check.equal(self.over(lambda v: lax.psum(v, "x"), x, outs=P()), rows.sum(0))
        check.equal(self.over(lambda v: lax.pmax(v, "x"), x, outs=P()), rows.max(0))
        check.equal(self.over(lambda v: lax.pmean(v, "x"), x, outs=P()), rows.mean(0))
        check.equal(self.over(lambda v: lax.ppermute(v, "x", [(i, (i + 1) % 8) for i in range(8)]), x), np.roll(rows, 1, axis=0).ravel())
        check.equal(self.over(lambda v: lax.all_gather(v, "x", tiled=True), x).reshape(8, 16), np.tile(x, (8, 1)))
        check.equal(self.over(lambda v: lax.axis_index("x")[None] + 0 * v.astype(np.int32), x).reshape(8, 2), np.repeat(np.arange(8, dtype=np.int32), 2).reshape(8, 2))
        # Device i has row i, and sends its element j to device j.
        y = np.arange(64.0, dtype=np.float32).reshape(8, 8)
        check.equal(self.over(lambda v: lax.all_to_all(v, "x", 1, 1, tiled=True), y).reshape(8, 8), y.T)
        check.equal(self.over(lambda v: lax.psum_scatter(v[0], "x", tiled=True), y), y.sum(0))

    def test_gradient(self):
        x = np.arange(16.0, dtype=np.float32)
        f = jax.shard_map(lambda v: lax.psum(jnp.sum(v ** 2), "x"), mesh=mesh(8), in_specs=P("x"), out_specs=P())
        check.equal(jax.jit(jax.grad(f))(x), 2 * x)

    def test_pmap(self):
        x = np.arange(24.0, dtype=np.float32).reshape(8, 3)
        check.equal(jax.pmap(lambda v: v * 2)(x), x * 2)
        check.close(jax.pmap(lambda v: v / lax.psum(v, "i"), axis_name="i")(x + 1), (x + 1) / (x + 1).sum(0))
        check.equal(jax.pmap(lambda v, w: v + w, in_axes=(0, None))(x, np.float32(1)), x + 1)


def explicit(*shape):
    return jax.make_mesh(shape, ("x", "y")[:len(shape)], axis_types=(jax.sharding.AxisType.Explicit,) * len(shape))


class Unreduced(unittest.TestCase):
    """Arrays of which the devices hold the terms of a sum."""

    def terms(self, got, want):
        for shard, term in zip(got.addressable_shards, want, strict=True):
            check.equal(shard.data, np.asarray(term, got.dtype), f"the term of {shard.device}")

    def test_a_product_keeps_the_products_of_blocks(self):
        x = np.arange(4.0).reshape(2, 2)
        with jax.set_mesh(explicit(2)):
            a, b = jax.device_put(x, P(None, "x")), jax.device_put(x, P("x", None))
            got = jax.jit(lambda a, b: jnp.einsum("ij,jk->ik", a, b, out_sharding=P(None, None, unreduced={"x"})))(a, b)
            self.terms(got, [np.outer(x[:, i], x[i]) for i in range(2)])
            check.equal(jax.reshard(got, P()), x @ x)
            check.equal(jax.reshard(got, P("x")), x @ x)

    def test_arguments_and_results(self):
        x = np.arange(8.0)
        with jax.set_mesh(explicit(2, 4)):
            whole = jax.reshard(jnp.asarray(x), P(unreduced={"x", "y"}))
            self.terms(whole, [x] + [0 * x] * 7)
            parts = jax.reshard(jax.device_put(x, P(("x", "y"))), P(unreduced={"x", "y"}))
            self.terms(parts, np.diag(x))
            both = jax.jit(lambda a, b: a + b)(whole, parts)
            self.terms(both, np.diag(x) + np.outer(np.arange(8) == 0, x))
            check.equal(jax.reshard(both, P()), 2 * x)

    def test_per_device_programs(self):
        x = np.arange(8.0)
        with jax.set_mesh(explicit(4)):
            f = jax.jit(jax.shard_map(lambda v: lax.pcast(v, "x", to="unreduced"), in_specs=P("x"), out_specs=P(unreduced={"x"})))
            terms = f(jax.device_put(x, P("x")))
            self.terms(terms, x.reshape(4, 2))
            g = jax.jit(jax.shard_map(lambda v: lax.psum(v, "x"), in_specs=P(unreduced={"x"}), out_specs=P()))
            check.equal(g(terms), x.reshape(4, 2).sum(0))

    def test_a_scan_sums_once(self):
        x = np.arange(32.0).reshape(4, 4, 2)
        with jax.set_mesh(explicit(2)):
            @jax.jit
            def f(x):
                zero = jax.reshard(jnp.zeros((2, 2)), P(unreduced={"x"}))
                step = lambda c, v: (c + jnp.einsum("ij,ik->jk", v, v, out_sharding=P(unreduced={"x"})), None)
                return jax.reshard(lax.scan(step, zero, x)[0], P())
            put = jax.device_put(x, P(None, "x"))
            check.equal(f(put), np.einsum("sij,sik->jk", x, x))
            check.equal(f.lower(put).compile().as_text().count("all-reduce("), 1)


class Meshes(unittest.TestCase):
    """Several meshes over the same devices in one program."""

    def test_results_have_the_shardings_that_are_asked_for(self):
        x = np.arange(64.0).reshape(8, 8)
        first = mesh(4, 2)
        backwards = Mesh(np.array(jax.devices())[::-1].reshape(2, 4), ("x", "y"))
        others = [mesh(2, 4), mesh(8), mesh(2, 4, names=("a", "b")), backwards, Mesh(np.array(jax.devices()).reshape(2, 2, 2), ("i", "j", "k"))]
        for other in others:
            for spec in (P(), P(other.axis_names[0]), P(None, other.axis_names[-1]), P(other.axis_names), P(other.axis_names[::-1])):
                there = NamedSharding(other, spec)
                # JAX itself refuses meshes whose devices are in another order than the arguments'.
                put = jax.device_put(x, NamedSharding(first if other is not backwards else other, P("x", "y")))

                @jax.jit
                def f(v):
                    w = lax.with_sharding_constraint(v * 2, there)
                    return w.sum(0), w

                total, w = f(put)
                check.equal(total, 2 * x.sum(0), f"{other} {spec}")
                check.equal(w, 2 * x, f"{other} {spec}")
                got = jax.jit(lambda v: v + 1, out_shardings=there)(put)
                check.true(got.sharding.is_equivalent_to(there, 2), f"the sharding of a result, {other} {spec}")
                check.equal(got, x + 1, f"{other} {spec}")
                for s in got.addressable_shards:
                    check.equal(s.data, (x + 1)[s.index], f"{other} {spec} on {s.device}")


class Donation(unittest.TestCase):
    def test_one_device(self):
        f = jax.jit(lambda v: v + 1, donate_argnums=0)
        x = jax.device_put(np.arange(4096.0, dtype=np.float32))
        x.block_until_ready()
        y = f(x)
        check.equal(y, np.arange(1.0, 4097.0, dtype=np.float32))
        check.true(x.is_deleted(), "what was donated is deleted")
        check.raises(RuntimeError, "deleted", np.asarray, x)

    def test_memory_is_used_again(self):
        f = jax.jit(lambda v: v * 2, donate_argnums=0)
        x = f(jnp.ones((1 << 16,), jnp.float32))
        seen = set()
        for _ in range(10):
            x = f(x)
            x.block_until_ready()
            seen.add(x.unsafe_buffer_pointer())
        check.equal(x[:3], np.full(3, 2.0 ** 11, np.float32))
        check.true(len(seen) <= 2, f"{len(seen)} places for ten results")

    def test_shards(self):
        sharding = NamedSharding(mesh(8), P("x"))
        x = jax.device_put(np.arange(64.0, dtype=np.float32), sharding)
        y = jax.jit(lambda v: v + 1, donate_argnums=0)(x)
        check.equal(y, np.arange(1.0, 65.0, dtype=np.float32))
        check.true(x.is_deleted(), "what was donated is deleted")

    def test_a_view_keeps_its_values(self):
        x = jax.device_put(np.arange(4096.0, dtype=np.float32))
        view = np.asarray(x)
        jax.jit(lambda v: v * 0, donate_argnums=0)(x).block_until_ready()
        check.equal(view, np.arange(4096.0, dtype=np.float32))


if __name__ == "__main__":
    check.main()
