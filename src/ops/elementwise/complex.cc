// complex, real, imag, conj. As in JAX, derivatives are linear over complex numbers and the pairing
// of tangents and cotangents is Re(ct t): the transpose of `real` returns the cotangent (ct, 0) and
// that of `imag` (0, -ct).
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/elementwise_eval.h"

namespace tessera::inline v0::ops {

Value complex(Value re, Value im) { return re.builder->emit1("complex", {re, im}); }
Value real(Value x) { return x.builder->emit1("real", {x}); }
Value imag(Value x) { return x.builder->emit1("imag", {x}); }
Value conj(Value x) { return x.builder->emit1("conj", {x}); }

namespace {

MaybeValue through(const MaybeValue& x, Value (*f)(Value)) {
  return x ? MaybeValue(f(*x)) : std::nullopt;
}

// Calls f with the C++ type of a real or imaginary part of `d`.
template <class F>
void with_part(DType d, F&& f) {
  if (real_dtype(d) == DType::float32)
    f(float{});
  else
    f(double{});
}

Op make_complex() {
  Op op = arith_op(Arith::complex, "complex", "complex",
                   "The complex number re + im i, complex64 of float32 and complex128 of float64.",
                   2, Accepts::floating);
  op.exact = true;
  op.infer = [](const InferArgs& a) {
    check_dtypes(a, a.inputs, Accepts::floating);
    const DType part = a.inputs[0].dtype;
    if (size_of(part) < 4)
      Message(a.op.name)
          .problem("the parts have dtype " + std::string(name_of(part)))
          .rule("complex numbers have parts of float32 or float64")
          .from(a.loc)
          .advice("convert the parts to float32 with astype")
          .raise<DTypeError>();
    return std::vector<Type>{common_shape(a, a.inputs, complex_dtype(part))};
  };
  op.waived["updates"] = "a number made of two is another value";
  op.jvp = [](const JvpArgs& a) -> MaybeValues {
    const MaybeValue &re = a.tangents[0], &im = a.tangents[1];
    if (!re && !im) return {std::nullopt};
    Value zero = like(re ? *re : *im, 0);
    return {complex(re.value_or(zero), im.value_or(zero))};
  };
  op.transpose = [](const TransposeArgs& a) -> MaybeValues {
    const MaybeValue& ct = a.cotangents[0];
    MaybeValue im = through(ct, imag);
    return {through(ct, real), through(im, neg)};
  };
  op.evaluate = [](const EvalArgs& a) {
    with_part(a.inputs[0].dtype, [&]<class T>(T) {
      const T *re = a.inputs[0].data<T>(), *im = a.inputs[1].data<T>();
      for (std::int64_t i = 0; i < a.outputs[0].count(); ++i)
        a.outputs[0].data<std::complex<T>>()[i] = {re[i], im[i]};
    });
  };
  op.examples = [] {
    return std::vector<OpExample>{
        {{Type(DType::float32, {2, 3}), Type(DType::float32, {2, 3})}, {}},
        {{Type(DType::float64, {4}), Type(DType::float64, {4})}, {}},
        {{Type(DType::float64, {}, true), Type(DType::float64, {}, true)}, {}}};
  };
  return op;
}

Op make_part(bool imaginary) {
  Op op = arith_op(imaginary ? Arith::imag : Arith::real, imaginary ? "imag" : "real",
                   imaginary ? "imag" : "real",
                   imaginary ? "The imaginary part of x, a float of half the bytes."
                             : "The real part of x, a float of half the bytes.",
                   1, Accepts::complex);
  op.exact = true;
  op.waived["updates"] = "a part of a state is another value";
  op.infer = [](const InferArgs& a) {
    check_dtypes(a, a.inputs, Accepts::complex);
    const Type& x = a.inputs[0];
    return std::vector<Type>{Type(real_dtype(x.dtype), x.shape, x.weak)};
  };
  op.jvp = [imaginary](const JvpArgs& a) -> MaybeValues {
    return {through(a.tangents[0], imaginary ? imag : real)};
  };
  op.transpose = [imaginary](const TransposeArgs& a) -> MaybeValues {
    const MaybeValue& ct = a.cotangents[0];
    if (!ct) return {std::nullopt};
    Value zero = like(*ct, 0);
    return {imaginary ? complex(zero, neg(*ct)) : complex(*ct, zero)};
  };
  op.evaluate = [imaginary](const EvalArgs& a) {
    with_part(a.inputs[0].dtype, [&]<class T>(T) {
      const T* parts = a.inputs[0].data<T>() + (imaginary ? 1 : 0);
      for (std::int64_t i = 0; i < a.outputs[0].count(); ++i)
        a.outputs[0].data<T>()[i] = parts[2 * i];
    });
  };
  return op;
}

Op make_conj() {
  Op op = arith_op(Arith::conj, "conj", "chlo.conj",
                   "The complex conjugate of x: its imaginary part negated.", 1, Accepts::complex);
  op.exact = true;
  op.waived["updates"] = "a state that is mirrored is another value";
  op.simplify = [](const SimplifyArgs& a) {
    Simplified s;
    if (const Equation* inner = a.around.same_op(a.eqn.inputs[0])) s.same = inner->inputs[0];
    return s;
  };
  op.jvp = [](const JvpArgs& a) -> MaybeValues { return {through(a.tangents[0], conj)}; };
  op.transpose = [](const TransposeArgs& a) -> MaybeValues {
    return {through(a.cotangents[0], conj)};
  };
  op.evaluate = [](const EvalArgs& a) {
    with_part(a.inputs[0].dtype, [&]<class T>(T) {
      using C = std::complex<T>;
      for (std::int64_t i = 0; i < a.outputs[0].count(); ++i)
        a.outputs[0].data<C>()[i] = std::conj(a.inputs[0].data<C>()[i]);
    });
  };
  return op;
}

}  // namespace

void register_complex(Registry& r) {
  Op complex = make_complex(), real = make_part(false), imag = make_part(true), conj = make_conj();
  add_all(r, complex, real, imag, conj);
}

}  // namespace tessera::inline v0::ops
