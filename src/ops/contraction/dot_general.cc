// dot_general: the contraction of two arrays over pairs of dimensions, with batch dimensions. It
// covers all matrix products.
#include "ir/op.h"
#include "ops/accumulate.h"
#include "ops/contraction/dot_dims.h"
#include "ops/factors.h"
#include "ops/movement/movement.h"

#include <algorithm>
#include <numeric>

namespace tessera::inline v0::ops {
namespace {

std::string dims_text(const Ints& v) {
  std::string s = "[";
  for (std::size_t i = 0; i < v.size(); ++i) s += (i ? ", " : "") + std::to_string(v[i]);
  return s + "]";
}

// Checks that the dims of one operand exist and that each is named once.
void check_dim_numbers(Message& m, bool& bad, const char* side, int rank, const Ints& contracting,
                       const Ints& batch) {
  Ints seen;
  for (const Ints* dims : {&batch, &contracting})
    for (std::int64_t d : *dims) {
      if (d < 0 || d >= rank)
        m.offender(std::string(side) + " has no dimension " + std::to_string(d) + ": it has " +
                   std::to_string(rank)),
            bad = true;
      else if (std::find(seen.begin(), seen.end(), d) != seen.end())
        m.offender(std::string(side) + " dimension " + std::to_string(d) + " is named twice"),
            bad = true;
      seen.push_back(d);
    }
}

std::vector<Type> dot_general_infer(const InferArgs& a) {
  const Type &l = a.inputs[0], &r = a.inputs[1];
  DotDims d = dot_dims(a.attrs);
  DType result = a.attrs.dtype("dtype");
  auto fail = [&](std::string problem) {
    return Message(a.op.name).problem(std::move(problem)).from(a.loc);
  };
  if (l.dtype != r.dtype)
    fail("the operands are " + std::string(name_of(l.dtype)) + " and " +
         std::string(name_of(r.dtype)))
        .rule("both operands have one dtype")
        .advice("convert one of them")
        .raise<DTypeError>();
  if (is_floating(result) != is_floating(l.dtype) || is_complex(result) != is_complex(l.dtype) ||
      (result == DType::boolean) != (l.dtype == DType::boolean))
    fail(std::string(name_of(l.dtype)) + " operands cannot give a result of " +
         std::string(name_of(result)))
        .rule("the result's dtype is of the operands' kind: floating, complex, integer or bool")
        .advice("convert the operands first, or the result after")
        .raise<DTypeError>();
  std::string shapes = to_string(l.shape) + " and " + to_string(r.shape);
  if (d.lhs_contracting.size() != d.rhs_contracting.size() ||
      d.lhs_batch.size() != d.rhs_batch.size())
    fail("contracting dimensions " + dims_text(d.lhs_contracting) + " and " +
         dims_text(d.rhs_contracting) + ", batch dimensions " + dims_text(d.lhs_batch) + " and " +
         dims_text(d.rhs_batch) + " of operands of shapes " + shapes)
        .rule("dimensions come in pairs, one of each operand")
        .advice("name as many dimensions of lhs as of rhs")
        .raise<ShapeError>();
  bool bad = false;
  Message m = fail("operands of shapes " + shapes + " do not contract over dimensions " +
                   dims_text(d.lhs_contracting) + " of lhs and " + dims_text(d.rhs_contracting) +
                   " of rhs" +
                   (d.lhs_batch.empty() ? ""
                                        : " with batch dimensions " + dims_text(d.lhs_batch) +
                                              " and " + dims_text(d.rhs_batch)));
  check_dim_numbers(m, bad, "lhs", l.shape.rank(), d.lhs_contracting, d.lhs_batch);
  check_dim_numbers(m, bad, "rhs", r.shape.rank(), d.rhs_contracting, d.rhs_batch);
  if (!bad) {
    auto pair = [&](const char* what, const Ints& ls, const Ints& rs) {
      for (std::size_t i = 0; i < ls.size(); ++i) {
        std::int64_t x = l.shape[ls[i]], y = r.shape[rs[i]];
        if (x == y) continue;
        m.offender(std::string(what) + " dimension " + std::to_string(ls[i]) + " of lhs has " +
                   std::to_string(x) + " elements, dimension " + std::to_string(rs[i]) +
                   " of rhs has " + std::to_string(y));
        bad = true;
      }
    };
    pair("contracting", d.lhs_contracting, d.rhs_contracting);
    pair("batch", d.lhs_batch, d.rhs_batch);
  }
  if (bad)
    m.rule("paired dimensions have equal extents, and no dimension is named twice")
        .advice("transpose or reshape an operand so that the contracted dimensions agree")
        .raise<ShapeError>();

  Shape shape;
  for (std::int64_t i : d.lhs_batch) shape.push_back(l.shape[i]);
  for (std::int64_t i : free_dims(l.shape.rank(), d.lhs_contracting, d.lhs_batch))
    shape.push_back(l.shape[i]);
  for (std::int64_t i : free_dims(r.shape.rank(), d.rhs_contracting, d.rhs_batch))
    shape.push_back(r.shape[i]);
  return {Type(result, shape, l.weak && r.weak && result == l.dtype)};
}

MaybeValues dot_general_jvp(const JvpArgs& a) {
  DotDims d = dot_dims(a.attrs);
  DType result = a.attrs.dtype("dtype");
  MaybeValue sum;
  for (int side = 0; side < 2; ++side) {
    const MaybeValue& t = a.tangents[side];
    if (!t) continue;
    Value term = side == 0 ? dot_general(*t, a.inputs[1], d, result)
                           : dot_general(a.inputs[0], *t, d, result);
    sum = sum ? add(*sum, term) : term;
  }
  return {sum};
}

MaybeValues dot_general_transpose_rule(const TransposeArgs& a) {
  MaybeValues out(2);
  if (!a.cotangents[0]) return out;
  std::size_t side = a.linear[0] ? 0 : 1;
  out[side] = dot_general_transpose(*a.cotangents[0], *a.inputs[1 - side], dot_dims(a.attrs),
                                    a.types[side], side == 0);
  return out;
}

// A dimension stacked in both operands becomes another batch dimension; one stacked in a single
// operand becomes another free dimension.
BatchResult dot_general_batch(const BatchArgs& a) {
  DotDims d = dot_dims(a.attrs);
  int l = a.dims[0], r = a.dims[1];
  auto shift = [](Ints& dims, int stacked) {
    if (stacked == kUnbatched) return;
    for (std::int64_t& i : dims) i += i >= stacked;
  };
  shift(d.lhs_contracting, l);
  shift(d.lhs_batch, l);
  shift(d.rhs_contracting, r);
  shift(d.rhs_batch, r);
  std::int64_t dim = static_cast<std::int64_t>(d.lhs_batch.size());
  auto position = [](const Ints& free, int of) {
    return std::find(free.begin(), free.end(), of) - free.begin();
  };
  Ints lhs_free = free_dims(a.inputs[0].rank(), d.lhs_contracting, d.lhs_batch);
  if (l != kUnbatched && r != kUnbatched) {
    d.lhs_batch.insert(d.lhs_batch.begin(), l);
    d.rhs_batch.insert(d.rhs_batch.begin(), r);
    dim = 0;
  } else if (l != kUnbatched) {
    dim += position(lhs_free, l);
  } else {
    dim += static_cast<std::int64_t>(lhs_free.size()) +
           position(free_dims(a.inputs[1].rank(), d.rhs_contracting, d.rhs_batch), r);
  }
  return {{dot_general(a.inputs[0], a.inputs[1], d, a.attrs.dtype("dtype"))},
          {static_cast<int>(dim)}};
}

FactorRule dot_general_sharding(const ShardArgs& a) {
  DotDims d = dot_dims(a.attrs);
  const Shape &ls = a.inputs[0].shape, &rs = a.inputs[1].shape;
  FactorRule rule;
  std::vector<int> l(ls.size(), -1), r(rs.size(), -1), out;
  for (std::size_t i = 0; i < d.lhs_batch.size(); ++i)
    out.push_back(l[d.lhs_batch[i]] = r[d.rhs_batch[i]] = rule.factor(ls[d.lhs_batch[i]], 'b'));
  for (std::size_t i = 0; i < ls.size(); ++i)
    if (l[i] < 0 && !contains(d.lhs_contracting, static_cast<std::int64_t>(i)))
      out.push_back(l[i] = rule.factor(ls[i], 'm'));
  for (std::size_t i = 0; i < d.lhs_contracting.size(); ++i) {
    l[d.lhs_contracting[i]] = r[d.rhs_contracting[i]] = rule.factor(ls[d.lhs_contracting[i]], 'k');
    rule.mark(FactorRule::Kind::reduction, l[d.lhs_contracting[i]],
              a.inputs[0].dtype == DType::boolean ? Combiner::or_ : Combiner::add);
  }
  for (std::size_t i = 0; i < rs.size(); ++i)
    if (r[i] < 0) out.push_back(r[i] = rule.factor(rs[i], 'n'));
  rule.input(l);
  rule.input(r);
  rule.output(out);
  return rule;
}

Cost dot_general_cost(std::span<const Type> in, std::span<const Type> out, const Attrs& attrs) {
  double contracted = 1;
  for (std::int64_t i : attrs.ints("lhs_contracting"))
    contracted *= static_cast<double>(in[0].shape[i]);
  return {2 * contracted * static_cast<double>(out[0].shape.count()),
          static_cast<double>(in[0].bytes() + in[1].bytes() + out[0].bytes())};
}

void dot_general_evaluate(const EvalArgs& a) {
  DotDims d = dot_dims(a.attrs);
  const HostArray &l = a.inputs[0], &r = a.inputs[1];
  HostArray& out = a.outputs[0];
  Shape ls = l.shape.strides(), rs = r.shape.strides(), contracted;
  // The strides of both operands along the dims of the result and along the contracted ones.
  Shape l_out, r_out, l_in, r_in;
  auto place = [](Shape& to, Shape& other, const Shape& strides, const Ints& dims) {
    for (std::int64_t i : dims) to.push_back(strides[i]), other.push_back(0);
  };
  for (std::size_t i = 0; i < d.lhs_batch.size(); ++i) {
    l_out.push_back(ls[d.lhs_batch[i]]);
    r_out.push_back(rs[d.rhs_batch[i]]);
  }
  place(l_out, r_out, ls, free_dims(l.shape.rank(), d.lhs_contracting, d.lhs_batch));
  place(r_out, l_out, rs, free_dims(r.shape.rank(), d.rhs_contracting, d.rhs_batch));
  for (std::size_t i = 0; i < d.lhs_contracting.size(); ++i) {
    contracted.push_back(l.shape[d.lhs_contracting[i]]);
    l_in.push_back(ls[d.lhs_contracting[i]]);
    r_in.push_back(rs[d.rhs_contracting[i]]);
  }
  with_accumulator(l.dtype, out.dtype, [&](auto zero) {
    using A = decltype(zero);
    std::vector<A> x = widen<A>(l), y = widen<A>(r), result;
    result.reserve(static_cast<std::size_t>(out.count()));
    for_each_index(out.shape, [&](const Shape& o) {
      std::int64_t lo = flat_index(o, l_out), ro = flat_index(o, r_out);
      A sum{};
      for_each_index(contracted, [&](const Shape& k) {
        sum += x[lo + flat_index(k, l_in)] * y[ro + flat_index(k, r_in)];
      });
      result.push_back(sum);
    });
    narrow(result, out);
  });
}

// For dtypes that no library multiplies.
Lane dot_general_emit(Emitter& e, const Equation& eqn, int, std::span<const Index> at) {
  DotDims d = dot_dims(eqn.attrs);
  const Type &l = e.operand_type(0), &r = e.operand_type(1);
  DType acc = accumulator_of(l.dtype, e.result_type().dtype);
  bool boolean = acc == DType::boolean;
  std::vector<std::int64_t> extents;
  for (std::int64_t i : d.lhs_contracting) extents.push_back(l.shape[i]);
  std::vector<Index> li(l.shape.size()), ri(r.shape.size());
  std::size_t next = 0;
  for (std::size_t i = 0; i < d.lhs_batch.size(); ++i)
    li[d.lhs_batch[i]] = ri[d.rhs_batch[i]] = at[next++];
  for (std::int64_t i : free_dims(l.shape.rank(), d.lhs_contracting, d.lhs_batch))
    li[i] = at[next++];
  for (std::int64_t i : free_dims(r.shape.rank(), d.rhs_contracting, d.rhs_batch))
    ri[i] = at[next++];
  Lane sum = e.reduce(
      extents, e.constant(acc, std::int64_t{0}),
      [&](std::span<const Index> k) {
        for (std::size_t i = 0; i < k.size(); ++i)
          li[d.lhs_contracting[i]] = ri[d.rhs_contracting[i]] = k[i];
        return e.binary(boolean ? Arith::and_ : Arith::mul, e.convert(e.operand(0, li), acc),
                        e.convert(e.operand(1, ri), acc));
      },
      [&](Lane x, Lane y) { return e.binary(boolean ? Arith::or_ : Arith::add, x, y); });
  return e.convert(sum, e.result_type().dtype);
}

// Whether both operands contract their leading dimension (their rows) and are much smaller than the
// product: gathering the rows from all devices then moves less data than summing the products.
bool sums_few_rows(const TypedArgs& a) {
  const Type &l = a.inputs[0], &r = a.inputs[1], &out = a.outputs[0];
  if (out.dtype != l.dtype || (out.dtype != DType::float32 && out.dtype != DType::float64))
    return false;
  DotDims d = dot_dims(a.attrs);
  if (!d.lhs_batch.empty()) return false;
  for (std::size_t i = 0; i < d.lhs_contracting.size(); ++i)
    if (d.lhs_contracting[i] == 0 && d.rhs_contracting[i] == 0)
      return 4 * (l.shape.count() + r.shape.count()) < out.shape.count();
  return false;
}

// The stacked dimension becomes another contracted dimension.
Value summed(const SummedArgs& a) {
  DotDims d = dot_dims(a.attrs);
  for (Ints* dims : {&d.lhs_contracting, &d.rhs_contracting, &d.lhs_batch, &d.rhs_batch})
    for (std::int64_t& dim : *dims) ++dim;
  d.lhs_contracting.insert(d.lhs_contracting.begin(), 0);
  d.rhs_contracting.insert(d.rhs_contracting.begin(), 0);
  return dot_general(a.stacks[0], a.stacks[1], d, a.attrs.dtype("dtype"));
}

std::vector<OpExample> dot_general_examples() {
  auto example = [](const Shape& l, const Shape& r, const DotDims& d, DType in = DType::float32,
                    DType out = DType::float32) {
    return OpExample{.inputs = {Type(in, l), Type(in, r)}, .attrs = dot_attrs(d, out)};
  };
  return {example({3, 4}, {4, 5}, {{1}, {0}, {}, {}}),
          example({4, 2, 3}, {3, 5, 2}, {{2}, {0}, {1}, {2}}),
          example({2, 3, 4}, {4, 2, 5}, {{0, 2}, {1, 0}, {}, {}}),
          example({3}, {2}, {}),
          example({4}, {4}, {{0}, {0}, {}, {}}, DType::int32, DType::int32),
          example({2, 4}, {4, 3}, {{1}, {0}, {}, {}}, DType::bfloat16, DType::float32)};
}

// If the operand's minor dimension (ignoring those of extent 1) is contracted, the permutation that
// moves the contracted dimensions to the front, in the order of their pairs; else empty.
Ints to_front(const Shape& shape, const Ints& contracting) {
  int minor = shape.rank() - 1;
  while (minor > 0 && shape[static_cast<std::size_t>(minor)] == 1) --minor;
  if (std::find(contracting.begin(), contracting.end(), minor) == contracting.end()) return {};
  Ints perm = contracting;
  for (std::int64_t i : free_dims(shape.rank(), contracting, {})) perm.push_back(i);
  return perm;
}

// Transposes a small matrix before the product, so that its layout matches the loops that read it.
std::optional<Values> oriented(const DecomposeArgs& a) {
  const Type types[] = {a.inputs[0].type(), a.inputs[1].type()};
  const Type out = dot_general_infer({a.op, types, a.attrs, a.b.loc})[0];
  DotDims d = dot_dims(a.attrs);
  const bool left = types[0].shape.count() > types[1].shape.count();  // the matrix
  const Shape& matrix = types[left ? 0 : 1].shape;
  Ints& contracting = left ? d.lhs_contracting : d.rhs_contracting;
  if (contracting.empty() || matrix.count() <= out.shape.count() ||
      !multiplies_in_loops(types[0], types[1], out, d))
    return std::nullopt;
  const Ints perm = to_front(matrix, contracting);
  if (perm.empty()) return std::nullopt;
  std::iota(contracting.begin(), contracting.end(), std::int64_t{0});
  Values operands(a.inputs.begin(), a.inputs.end());
  Value& turned = operands[left ? 0 : 1];
  turned = transpose(turned, perm);
  return a.b.emit(a.op, operands, dot_attrs(d, out.dtype));
}

}  // namespace

void register_dot_general(Registry& r) {
  Op op;
  op.name = "dot_general";
  op.doc =
      "Sums products over the paired contracting dimensions; paired batch dimensions are kept "
      "once. The result's dimensions are "
      "batch, free of lhs, free of rhs. Operands have one dtype, the result the dtype `dtype` of "
      "the same kind. Floats narrower "
      "than 32 bits add in float32 and round once; integers wrap; booleans give an or of ands.";
  op.stablehlo = "dot_general";
  op.attrs = {{"lhs_contracting", AttrKind::ints, "dimensions of lhs that are summed over"},
              {"rhs_contracting", AttrKind::ints, "the dimensions of rhs they pair with"},
              {"lhs_batch", AttrKind::ints, "dimensions of lhs that index independent products"},
              {"rhs_batch", AttrKind::ints, "the dimensions of rhs they pair with"},
              {"dtype", AttrKind::dtype, "of the result"}};
  op.inputs = 2;
  op.cheap = false;
  op.lowering = Lowering::called;
  op.call = dot_general_call;
  op.library_bytes = std::size_t{32} << 10;
  op.fuse = [](const TypedArgs& a) {
    return multiplies_in_loops(a.inputs[0], a.inputs[1], a.outputs[0], dot_dims(a.attrs))
               ? FuseRole::window
               : FuseRole::apart;
  };
  op.sums_rows = sums_few_rows;
  op.infer = dot_general_infer;
  op.jvp = dot_general_jvp;
  op.transpose = dot_general_transpose_rule;
  op.batch = dot_general_batch;
  op.summed = summed;
  op.product = [](const Attrs& attrs) {
    return attrs.ints("lhs_batch").empty() ? Product::plain : Product::batched;
  };
  op.linear = [](std::span<const bool> in) { return !(in[0] && in[1]); };
  op.decompose = oriented;
  op.sharding = dot_general_sharding;
  op.cost = dot_general_cost;
  op.evaluate = dot_general_evaluate;
  op.emit = dot_general_emit;
  op.examples = dot_general_examples;
  r.add(std::move(op));
}

}  // namespace tessera::inline v0::ops
