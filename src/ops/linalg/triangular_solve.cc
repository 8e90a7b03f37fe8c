// Solvers for triangular matrices.
#include "ops/linalg/calls.h"
#include "ops/linalg/matrices.h"
#include "ops/linalg/solve.h"

#include <array>

namespace tessera::inline v0::ops {

namespace {

constexpr std::array<const char*, 3> kNames{"NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"};

TriangularDims dims_of(const Attrs& a) {
  TriangularDims d;
  d.left_side = a.flag("left_side");
  d.lower = a.flag("lower");
  d.unit_diagonal = a.flag("unit_diagonal");
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if (a.str("transpose_a") == kNames[i]) d.transposed = static_cast<Transposed>(i);
  return d;
}

Attrs attrs_of(const TriangularDims& d) {
  return {{"left_side", d.left_side},
          {"lower", d.lower},
          {"unit_diagonal", d.unit_diagonal},
          {"transpose_a", std::string(kNames[static_cast<std::size_t>(d.transposed)])}};
}

// Applies the op's `transpose_a` to a: the transpose, the adjoint, or a itself.
Value applied(Value a, Transposed t) {
  return t == Transposed::no ? a : t == Transposed::yes ? swapped(a) : adjoint(a);
}

std::vector<Type> triangular_solve_infer(const InferArgs& a) {
  check_square(a);
  const Type &m = a.inputs[0], &b = a.inputs[1];
  const bool left = a.attrs.flag("left_side");
  const auto fail = [&] {
    return std::move(Message(a.op.name)
                         .problem("a is " + to_string(m) + " and b is " + to_string(b))
                         .from(a.loc));
  };
  if (m.dtype != b.dtype)
    fail().rule("both have one dtype").advice("convert one of them").raise<DTypeError>();
  if (m.shape.rank() != b.shape.rank() || count_before(m.shape, 2) != count_before(b.shape, 2) ||
      !std::equal(m.shape.begin(), m.shape.end() - 2, b.shape.begin()))
    fail()
        .rule("the axes before the last two are those of both")
        .advice("broadcast one of them")
        .raise<ShapeError>();
  const std::int64_t n = rows_of(m.shape), have = left ? rows_of(b.shape) : columns_of(b.shape);
  if (n != have)
    fail()
        .rule("b has as many " + std::string(left ? "rows" : "columns") +
              " as a: " + std::to_string(n) + ", not " + std::to_string(have))
        .advice(left ? "a vector b is given a second axis: reshape(b, {-1, 1})"
                     : "a b of as many rows is solved with left_side")
        .raise<ShapeError>();
  bool named = false;
  for (const char* name : kNames) named = named || a.attrs.str("transpose_a") == name;
  if (!named)
    Message(a.op.name)
        .problem("transpose_a is \"" + a.attrs.str("transpose_a") + "\"")
        .rule("it is NO_TRANSPOSE, TRANSPOSE or ADJOINT")
        .from(a.loc)
        .advice("name one of them")
        .raise<Error>();
  return {Type(b.dtype, b.shape)};
}

// op(A) x = b implies op(A) dx = db - op(dA) x; only the triangle of dA that the op reads of A
// counts.
MaybeValues triangular_solve_jvp(const JvpArgs& a) {
  const TriangularDims d = dims_of(a.attrs);
  MaybeValue right = a.tangents[1];
  if (a.tangents[0]) {
    const std::int64_t k = d.unit_diagonal ? 1 : 0;
    const Value read =
        applied(d.lower ? lower_triangle(*a.tangents[0], -k) : upper_triangle(*a.tangents[0], k),
                d.transposed);
    const Value x = a.outputs[0], moved = d.left_side ? matmul(read, x) : matmul(x, read);
    right = right ? sub(*right, moved) : neg(moved);
  }
  if (!right) return {std::nullopt};
  return {triangular_solve(a.inputs[0], *right, d)};
}

MaybeValues triangular_solve_transpose(const TransposeArgs& a) {
  if (!a.cotangents[0]) return {std::nullopt, std::nullopt};
  TriangularDims d = dims_of(a.attrs);
  const Value m = *a.inputs[0], ct = *a.cotangents[0];
  const Transposed was = d.transposed;
  d.transposed = was == Transposed::no ? Transposed::yes : Transposed::no;
  // The transpose of the adjoint is the conjugate.
  if (was == Transposed::adjoint && is_complex(m.dtype()))
    return {std::nullopt, triangular_solve(conj(m), ct, d)};
  return {std::nullopt, triangular_solve(m, ct, d)};
}

std::vector<OpExample> triangular_solve_examples() {
  const auto example = [](DType dtype, Shape m, Shape b, const TriangularDims& d) {
    OpExample e{{Type(dtype, std::move(m)), Type(dtype, std::move(b))}, attrs_of(d)};
    e.lo = 0.5, e.hi = 1.5;
    return e;
  };
  const Transposed yes = Transposed::yes, adjoint = Transposed::adjoint;
  return {example(DType::float32, {3, 3}, {3, 2}, {}),
          example(DType::float64, {2, 3, 3}, {2, 3, 1}, {.lower = false, .unit_diagonal = true}),
          example(DType::float64, {3, 3}, {2, 3}, {.left_side = false, .transposed = yes}),
          example(DType::complex64, {2, 2}, {2, 2}, {.transposed = adjoint}),
          example(DType::complex128, {2, 3, 3}, {2, 2, 3},
                  {.left_side = false, .lower = false, .transposed = adjoint}),
          example(DType::complex128, {3, 3}, {3, 2}, {.transposed = yes}),
          example(DType::float64, {1, 1}, {1, 4}, {})};
}

}  // namespace

Value triangular_solve(Value a, Value b, const TriangularDims& dims) {
  return a.builder->emit1("triangular_solve", {a, b}, attrs_of(dims));
}

void register_triangular_solve(Registry& r) {
  Op op;
  op.name = "triangular_solve";
  op.doc =
      "The x of op(a) x = b, or of x op(a) = b, for each triangular matrix a in the last two "
      "dimensions. What lies in the other triangle is not read, nor the diagonal where it is "
      "taken to be one.";
  op.stablehlo = "triangular_solve";
  op.attrs = {{"left_side", AttrKind::boolean, "whether op(a) is on the left of x"},
              {"lower", AttrKind::boolean, "whether a's lower triangle is read, else the upper"},
              {"unit_diagonal", AttrKind::boolean, "whether a's diagonal is taken to be one"},
              {"transpose_a", AttrKind::string, "op: NO_TRANSPOSE, TRANSPOSE or ADJOINT"}};
  op.inputs = 2;
  op.cheap = false;
  op.lowering = Lowering::called;
  op.call = triangular_solve_call;
  op.library_bytes = 4096;
  op.infer = triangular_solve_infer;
  op.jvp = triangular_solve_jvp;
  op.transpose = triangular_solve_transpose;
  op.linear = [](std::span<const bool> in) { return !in[0] && in[1]; };
  op.batch = batch_before;
  op.sharding = cut_before({2, 2}, {2});
  op.cost = [](std::span<const Type> in, std::span<const Type> out, const Attrs&) {
    const double n = static_cast<double>(rows_of(in[0].shape));
    return Cost{n * static_cast<double>(out[0].shape.count()),
                static_cast<double>(in[0].bytes() + in[1].bytes() + out[0].bytes())};
  };
  op.evaluate = evaluate_by_call("triangular_solve");
  op.waived = {{"updates", "a solution is another value than what it solves for"},
               {"emit", "a library solves"}};
  op.examples = triangular_solve_examples;
  r.add(std::move(op));
}

}  // namespace tessera::inline v0::ops
