"""Errors: their kinds, and texts in which the program finds its mistake."""
import re
import unittest

import check
import jax
import jax.numpy as jnp
import numpy as np

JaxRuntimeError = jax.errors.JaxRuntimeError


class Errors(unittest.TestCase):
    def test_unknown_compiler_option(self):
        lowered = jax.jit(lambda x: x + 1).lower(1.0)
        text = check.raises(JaxRuntimeError, "No such compile option: 'no_such_option'", lambda: lowered.compile(compiler_options={"no_such_option": True}))
        check.true("INVALID_ARGUMENT" in text, text)

    def test_memory(self):
        text = check.raises(JaxRuntimeError, "RESOURCE_EXHAUSTED", lambda: jnp.zeros((1 << 50,), jnp.float32).block_until_ready())
        check.true(re.search(r"4503599627370496|[0-9.]+ ?[GTP]i?B", text), f"the text names the size: {text}")
        check.equal(jnp.ones(3) + 1, np.full(3, 2, np.float32))

    def test_deleted(self):
        x = jnp.arange(3.0)
        x.delete()
        check.raises(RuntimeError, "deleted", np.asarray, x)
        check.raises(RuntimeError, "deleted", jax.jit(lambda v: v + 1), x)

    def test_after_an_error_all_goes_on(self):
        for _ in range(3):
            check.raises(JaxRuntimeError, "RESOURCE_EXHAUSTED", lambda: jnp.zeros((1 << 50,), jnp.float32).block_until_ready())
            check.equal(jax.jit(jnp.sum)(np.ones(5, np.float32)), np.float32(5))

    def test_nan(self):
        jax.config.update("jax_debug_nans", True)
        try:
            check.raises(FloatingPointError, "nan", lambda: jax.jit(jnp.log)(-1.0))
        finally:
            jax.config.update("jax_debug_nans", False)

    def test_checkify(self):
        from jax.experimental import checkify

        def f(x):
            checkify.check(x > 0, "x is {x}", x=x)
            return jnp.sqrt(x)

        error, _ = checkify.checkify(jax.jit(f))(-3.0)
        check.raises(checkify.JaxRuntimeError, "x is -3.0", error.throw)
        error, value = checkify.checkify(jax.jit(f))(4.0)
        error.throw()
        check.equal(value, np.float32(2))


if __name__ == "__main__":
    check.main()
