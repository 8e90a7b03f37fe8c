// convert and bitcast_convert.
#include "base/float_format.h"
#include "ops/elementwise/elementwise.h"
#include "ops/elementwise/elementwise_eval.h"
#include "ops/updates.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

namespace tessera::inline v0::ops {

Value convert(Value x, DType dtype, bool weak) {
  if (x.dtype() == dtype && x.type().weak == weak) return x;
  return x.builder->emit1("convert", {x}, {{"dtype", dtype}, {"weak", weak}});
}

namespace {

// Splits each element into several along a new last dimension.
Value cut(Value x, DType dtype) {
  const int bits = 8 * size_of(dtype);
  Shape shape = x.shape();
  Ints dims(shape.size());
  std::iota(dims.begin(), dims.end(), 0);
  shape.push_back(size_of(x.dtype()) / size_of(dtype));
  Value whole = broadcast_in_dim(bitcast_convert(x, unsigned_of(x.dtype())), shape, dims);
  Value place = iota(*x.builder, whole.dtype(), shape, shape.rank() - 1);
  Value piece = shift_right_logical(whole, mul(place, full_like(place, bits)));
  return bitcast_convert(convert(piece, unsigned_of(dtype)), dtype);
}
// Merges each row of the last dimension into one element.
Value joined_elements(Value x, DType dtype) {
  const int bits = 8 * size_of(x.dtype()), last = x.rank() - 1;
  Value wide = convert(bitcast_convert(x, unsigned_of(x.dtype())), unsigned_of(dtype));
  Value place = iota(*x.builder, wide.dtype(), wide.shape(), last);
  return bitcast_convert(reduce_or(shift_left(wide, mul(place, full_like(place, bits))), {last}),
                         dtype);
}

}  // namespace

Value bitcast_convert(Value x, DType dtype) {
  const DType from = x.dtype();
  if (from == dtype) return x;
  const auto has_bits = [](DType d) { return d != DType::boolean && !is_complex(d); };
  const bool both = has_bits(from) && has_bits(dtype);
  if (both && size_of(from) > size_of(dtype)) return cut(x, dtype);
  if (both && size_of(from) < size_of(dtype) && x.rank() > 0 &&
      x.shape().back() * size_of(from) == size_of(dtype))
    return joined_elements(x, dtype);
  return x.builder->emit1("bitcast_convert", {x}, {{"dtype", dtype}});
}

namespace {

template <class To, class From>
To convert_element(From v) {
  if constexpr (std::is_same_v<To, bool>) {
    return v != From(0);
  } else if constexpr (is_complex_v<To>) {
    using Part = typename To::value_type;
    if constexpr (is_complex_v<From>)
      return {static_cast<Part>(v.real()), static_cast<Part>(v.imag())};
    else
      return {static_cast<Part>(v), 0};
  } else if constexpr (is_complex_v<From>) {
    throw InternalError("a complex number as a real one");
  } else if constexpr (kNarrow<To>) {
    return To(static_cast<float>(v));
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if (std::isnan(v)) return 0;
    // Both bounds are powers of two (or zero) and so exact: one more than the greatest value, and
    // the smallest value.
    const From past = std::ldexp(From(1), std::numeric_limits<To>::digits);
    if (v >= past) return std::numeric_limits<To>::max();
    if (v <= static_cast<From>(std::numeric_limits<To>::min()))
      return std::numeric_limits<To>::min();
    return static_cast<To>(v);
  } else {
    return static_cast<To>(v);
  }
}

// Whether every value of `from` survives a conversion to `to` and back.
bool holds_exactly(DType to, DType from) {
  if (is_complex(from) || is_complex(to))
    return is_complex(from) && is_complex(to) && size_of(to) > size_of(from);
  if (is_floating(from)) return is_floating(to) && size_of(to) > size_of(from);
  if (from == DType::boolean) return true;
  if (to == DType::boolean) return false;
  const int bits = 8 * size_of(from) - (is_signed_integer(from) ? 1 : 0);
  if (is_floating(to)) return bits <= float_format(to).significand_bits;
  return size_of(to) >= size_of(from);  // integers wrap, and wrap back
}

Simplified convert_simplify(const SimplifyArgs& a) {
  const Var x = a.eqn.inputs[0];
  const DType between = a.around.type(x).dtype, to = a.around.type(a.eqn.outputs[0]).dtype;
  Simplified s;
  if (between == to) {
    s.same = x;
  } else if (const Equation* inner = a.around.same_op(x)) {
    const Var source = inner->inputs[0];
    if (a.around.type(source).dtype == to && holds_exactly(between, to)) s.same = source;
  }
  return s;
}

Op make_convert() {
  Op op = elementwise_op(
      "convert", "convert",
      "x as `dtype`. Float to integer truncates and saturates, NaN gives 0; integers wrap around; "
      "to boolean "
      "is x != 0; to and from 16-bit floats goes through float32, rounding to nearest even; real "
      "numbers get an imaginary part of 0.",
      1, Accepts::any);
  op.attrs = {{"dtype", AttrKind::dtype, "of the result"},
              {"weak", AttrKind::boolean, "whether the result is weak"}};
  op.exact = true;
  op.recomputed = true;
  op.simplify = convert_simplify;
  op.updates = updates_of({0});
  op.infer = [](const InferArgs& a) {
    const DType from = a.inputs[0].dtype, to = a.attrs.dtype("dtype");
    if (is_complex(from) && !is_complex(to) && to != DType::boolean)
      Message(a.op.name)
          .problem("converts " + std::string(name_of(from)) + " to " + std::string(name_of(to)))
          .rule("a complex number is converted to complex dtypes and to bool only")
          .from(a.loc)
          .advice("take a part of each element first: real(x), imag(x) or abs(x)")
          .raise<DTypeError>();
    return std::vector<Type>{Type(to, a.inputs[0].shape, a.attrs.flag("weak"))};
  };
  op.jvp = [](const JvpArgs& a) -> MaybeValues {
    if (!a.tangents[0] || !is_differentiable(a.attrs.dtype("dtype"))) return {std::nullopt};
    return {convert(*a.tangents[0], a.attrs.dtype("dtype"), a.attrs.flag("weak"))};
  };
  op.transpose = [](const TransposeArgs& a) -> MaybeValues {
    if (!a.cotangents[0]) return {std::nullopt};
    const Value ct = *a.cotangents[0];
    const bool part = is_complex(ct.dtype()) && !is_complex(a.types[0].dtype);
    return {convert(part ? real(ct) : ct, a.types[0].dtype, a.types[0].weak)};
  };
  op.evaluate = [](const EvalArgs& a) {
    dispatch(a.inputs[0].dtype, [&](auto from) {
      const auto* x = a.inputs[0].data<decltype(from)>();
      dispatch(a.outputs[0].dtype, [&](auto to) {
        auto* out = a.outputs[0].data<decltype(to)>();
        for (std::int64_t i = 0; i < a.outputs[0].count(); ++i)
          out[i] = convert_element<decltype(to)>(widen(x[i]));
      });
    });
  };
  op.emit = [](Emitter& e, const Equation& eqn, int, std::span<const Index> at) {
    return e.convert(e.operand(0, at), eqn.attrs.dtype("dtype"));
  };
  op.examples = [] {
    std::vector<OpExample> examples;
    auto add = [&](DType from, DType to, Shape shape) {
      examples.push_back({{Type(from, std::move(shape))}, {{"dtype", to}, {"weak", false}}});
    };
    add(DType::float64, DType::float64, {2, 3});
    add(DType::float32, DType::bfloat16, {2, 3});
    add(DType::float16, DType::float64, {3});
    add(DType::float32, DType::int32, {4});
    add(DType::int32, DType::float32, {4});
    add(DType::int32, DType::uint8, {});
    add(DType::float32, DType::boolean, {5});
    add(DType::float64, DType::complex64, {3});
    add(DType::complex64, DType::complex128, {2, 2});
    add(DType::complex128, DType::boolean, {4});
    return examples;
  };
  return op;
}

Op make_bitcast() {
  Op op =
      elementwise_op("bitcast_convert", "bitcast_convert",
                     "The bits of x read as `dtype`, which has the same width.", 1, Accepts::any);
  op.attrs = {{"dtype", AttrKind::dtype, "of the result"}};
  op.infer = [](const InferArgs& a) {
    DType from = a.inputs[0].dtype, to = a.attrs.dtype("dtype");
    if (size_of(from) != size_of(to) || (from == DType::boolean) != (to == DType::boolean) ||
        (is_complex(from) != is_complex(to)))
      Message(a.op.name)
          .problem("reads " + std::string(name_of(from)) + " as " + std::string(name_of(to)))
          .rule(
              "both dtypes have the same width, or the last dimension of the narrower one makes up "
              "for it; booleans and complex numbers are read as such only")
          .from(a.loc)
          .advice("use astype to convert values")
          .raise<DTypeError>();
    return std::vector<Type>{Type(to, a.inputs[0].shape)};
  };
  op.jvp = no_tangent();
  op.waived["transpose"] = "bits have no derivative";
  op.waived["updates"] = "bits under another name are another value";
  op.evaluate = [](const EvalArgs& a) {
    if (a.outputs[0].count())
      std::memcpy(a.outputs[0].bytes, a.inputs[0].bytes,
                  static_cast<std::size_t>(a.outputs[0].size_bytes()));
  };
  op.emit = [](Emitter& e, const Equation& eqn, int, std::span<const Index> at) {
    return e.bitcast(e.operand(0, at), eqn.attrs.dtype("dtype"));
  };
  op.examples = [] {
    return std::vector<OpExample>{{{Type(DType::float32, {2, 3})}, {{"dtype", DType::uint32}}},
                                  {{Type(DType::int64, {3})}, {{"dtype", DType::float64}}},
                                  {{Type(DType::uint16, {})}, {{"dtype", DType::bfloat16}}}};
  };
  return op;
}

}  // namespace

void register_convert(Registry& r) {
  Op convert = make_convert(), bitcast = make_bitcast();
  add_all(r, convert, bitcast);
}

}  // namespace tessera::inline v0::ops
