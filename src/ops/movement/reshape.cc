// reshape: the same elements in row-major order with other extents.
#include "ops/factors.h"
#include "ops/fetch.h"
#include "ops/movement/movement.h"
#include "ops/updates.h"

#include <numeric>

namespace tessera::inline v0::ops {

Value reshape(Value x, const Shape& shape) {
  if (x.shape() == shape) return x;
  return x.builder->emit1("reshape", {x}, {{"shape", to_ints(shape)}});
}

namespace {

std::vector<Type> reshape_infer(const InferArgs& a) {
  const Shape& x = a.inputs[0].shape;
  Shape shape = to_shape(a.attrs.ints("shape"));
  for (std::int64_t d : shape)
    if (d < 0)
      Message(a.op.name)
          .problem("shape " + tessera::to_string(shape) + " has a negative extent")
          .rule("extents are 0 or more; -1 is resolved before this op")
          .from(a.loc)
          .advice("check the arithmetic that gave " + std::to_string(d))
          .raise<ShapeError>();
  if (shape.count() != x.count())
    Message(a.op.name)
        .problem("shape " + tessera::to_string(x) + " does not reshape to " +
                 tessera::to_string(shape))
        .rule("the number of elements stays: " + std::to_string(x.count()) + " is not " +
              std::to_string(shape.count()))
        .from(a.loc)
        .advice("choose extents whose product is " + std::to_string(x.count()))
        .raise<ShapeError>();
  return {with_shape(a.inputs[0], shape)};
}

/// Walks both shapes from the major end and shares a factor wherever the products of all dimensions
/// before agree, so that a shard along a shared factor holds the same elements on both sides.
FactorRule reshape_sharding(const ShardArgs& a) {
  struct Side {
    const Shape& shape;
    std::vector<std::vector<std::pair<std::int64_t, int>>> dims;  // (size, shared number or -1)
    std::size_t dim = 0;
    std::int64_t left = 1;     // remaining extent of the current dimension
    std::int64_t product = 1;  // product of the factors so far
    explicit Side(const Shape& s) : shape(s), dims(s.size()) {
      for (std::size_t d = 0; d < s.size(); ++d)
        if (s[d] == 1) dims[d].emplace_back(1, -1);
      settle();
    }
    void settle() {
      if (dim == 0 && product == 1 && left == 1 && !shape.empty()) left = shape[0];
      while (left == 1 && dim + 1 < shape.size()) left = shape[++dim];
    }
    void emit(std::int64_t size, int shared) {
      dims[dim].emplace_back(size, shared);
      product *= size;
      left /= size;
      settle();
    }
  };
  Side in(a.inputs[0].shape), out(a.outputs[0].shape);
  FactorRule rule;
  if (in.shape.count() == 0) {
    auto alone = [&](const Shape& s) {
      std::vector<int> dims;
      for (std::int64_t d : s) {
        dims.push_back(rule.factor(d, 'p'));
        rule.mark(FactorRule::Kind::need_repl, dims.back());
      }
      return dims;
    };
    rule.input(alone(in.shape));
    rule.output(alone(out.shape));
    return rule;
  }
  int shared = 0;
  while (in.left != 1 || out.left != 1) {
    if (in.product == out.product) {
      std::int64_t g = std::gcd(in.left, out.left);
      if (g > 1) {
        in.emit(g, shared);
        out.emit(g, shared++);
      } else {
        in.emit(in.left, -1);
        out.emit(out.left, -1);
      }
      continue;
    }
    Side& behind = in.product < out.product ? in : out;
    Side& ahead = in.product < out.product ? out : in;
    std::int64_t ratio = ahead.product / behind.product;
    if (ahead.product % behind.product == 0 && behind.left % ratio == 0) {
      behind.emit(ratio, -1);
    } else {
      std::int64_t size = behind.left / std::gcd(behind.left, ahead.left);
      behind.emit(size == 1 ? behind.left : size, -1);
    }
  }
  std::vector<int> shared_factor(static_cast<std::size_t>(shared), -1);
  auto named = [&](const Side& side) {
    FactorRule::Dims dims;
    for (const auto& d : side.dims) {
      dims.emplace_back();
      for (auto [size, number] : d) {
        int f = number < 0 ? -1 : shared_factor[static_cast<std::size_t>(number)];
        if (f < 0) f = rule.factor(size, number >= 0 ? 'a' : size == 1 ? 'u' : 'p');
        if (number >= 0) shared_factor[static_cast<std::size_t>(number)] = f;
        if (number < 0 && size > 1) rule.mark(FactorRule::Kind::need_repl, f);
        dims.back().push_back(f);
      }
    }
    return dims;
  };
  FactorRule::Dims in_dims = named(in);
  rule.input_dims(in_dims);
  rule.output_dims(named(out));
  return rule;
}

// Groups of operand and result dimensions that hold the same elements, given by the ends of each
// group.
std::vector<std::pair<int, int>> groups(const Shape& in, const Shape& out) {
  std::vector<std::pair<int, int>> ends;
  std::int64_t here = 1, there = 1;
  for (int i = 0, j = 0; i < in.rank() || j < out.rank();) {
    if (i < in.rank() && (here <= there || j == out.rank()))
      here *= in[i++];
    else
      there *= out[j++];
    if (here == there && (i == in.rank()) == (j == out.rank()))
      ends.emplace_back(i, j), here = there = 1;
  }
  return ends;
}

// If the shards of the operand's rows do not correspond to shards of the result's, each device
// fetches the elements of its shard of the result, flattened to a row.
Values reshape_local(const LocalArgs& a) {
  const Shape &in = a.whole_inputs[0].shape, &out = a.whole_outputs[0].shape;
  const auto rows = [](const Shape& s, int begin, int end) {
    return std::accumulate(s.begin() + begin, s.begin() + end, std::int64_t{1}, std::multiplies{});
  };
  struct Flat {
    std::int64_t extent, part, count;
    Strings axes;  // of the result
  };
  std::vector<Flat> flats;
  Shape flat;
  int i = 0, j = 0;
  for (const auto& [end, to] : groups(in, out)) {
    Flat f{rows(in, i, end), rows(a.inputs[0].shape(), i, end), rows(a.outputs[0], j, to), {}};
    for (int d = j; d < to && f.axes.empty(); ++d) f.axes = a.output_specs[0].axes_of(d);
    flat.push_back(f.part);
    flats.push_back(std::move(f));
    i = end;
    j = to;
  }
  Value x = a.inputs[0];
  for (std::size_t g = 0; g < flats.size(); ++g) {
    const Flat& f = flats[g];
    if (f.part == f.count) continue;
    if (!(x.shape() == flat)) x = reshape(x, flat);
    const Stretch s{.extent = f.extent, .part = f.part, .step = f.count, .count = f.count};
    x = fetch(x, static_cast<int>(g), s, f.axes, a.parts(f.axes), Around::unread());
    flat[g] = f.count;
  }
  return {reshape(x, a.outputs[0])};
}

// Two consecutive reshapes are one, or none.
Simplified reshape_simplify(const SimplifyArgs& a) {
  const Var x = a.eqn.inputs[0];
  const Shape& shape = a.around.type(a.eqn.outputs[0]).shape;
  Simplified s;
  if (a.around.type(x).shape == shape) s.same = x;
  if (const Equation* inner = a.around.same_op(x)) {
    s.operand = inner->inputs[0];
    s.attrs = a.eqn.attrs;
    if (!s.same && a.around.type(*s.operand).shape == shape) s.same = s.operand;
  }
  return s;
}

/// Regroups dimensions only within runs of equal products, so that unaffected dimensions keep their
/// index.
Lane reshape_emit(Emitter& e, const Equation&, int, std::span<const Index> at) {
  const Shape& x = e.operand_type(0).shape;
  const Shape& y = e.result_type().shape;
  std::vector<Index> from(x.size(), Index(0));
  std::size_t i = 0, j = 0;
  while (i < x.size() || j < y.size()) {
    std::size_t i0 = i, j0 = j;
    std::int64_t in = i < x.size() ? x[i++] : 1, out = j < y.size() ? y[j++] : 1;
    while (in != out) {
      if (in < out && i < x.size())
        in *= x[i++];
      else if (j < y.size())
        out *= y[j++];
      else
        break;
    }
    if (i - i0 == 1 && j - j0 == 1) {
      from[i0] = at[j0];
      continue;
    }
    Index flat(0);
    std::int64_t stride = 1;
    for (std::size_t d = j; d-- > j0; stride *= y[d])
      if (y[d] != 1) flat = flat + at[d] * stride;
    std::int64_t below = 1;
    for (std::size_t d = i; d-- > i0; below *= x[d]) {
      if (x[d] == 1) continue;
      Index whole = below == 1 ? flat : floor_div(flat, below);
      from[d] = below * x[d] == in ? whole : floor_mod(whole, x[d]);
    }
  }
  return e.operand(0, from);
}

}  // namespace

void register_reshape(Registry& r) {
  Op op;
  op.name = "reshape";
  op.doc = "The operand's elements, in row-major order, under `shape`.";
  op.stablehlo = "reshape";
  op.attrs = {{"shape", AttrKind::ints, "of the result; the number of elements stays"}};
  op.inputs = 1;
  op.lowering = Lowering::view;
  op.forwards = true;
  op.fuse = fuses_as(FuseRole::free);
  op.infer = reshape_infer;
  op.jvp = linear_jvp();
  op.transpose = [](const TransposeArgs& a) {
    if (!a.cotangents[0]) return MaybeValues(1);
    return MaybeValues{reshape(*a.cotangents[0], a.types[0].shape)};
  };
  op.batch = [](const BatchArgs& a) {
    Value x = move_dim(a.inputs[0], a.dims[0], 0);
    return BatchResult{{reshape(x, to_shape(inserted(a.attrs.ints("shape"), 0, a.size)))}, {0}};
  };
  op.exact = true;
  op.rearranges = true;
  op.recomputed = true;
  op.simplify = reshape_simplify;
  op.sharding = reshape_sharding;
  op.local = reshape_local;
  op.updates = updates_of({0});
  op.cost = [](std::span<const Type>, std::span<const Type>, const Attrs&) { return Cost{}; };
  op.evaluate = [](const EvalArgs& a) {
    if (a.inputs[0].size_bytes() > 0)
      std::memcpy(a.outputs[0].bytes, a.inputs[0].bytes,
                  static_cast<std::size_t>(a.inputs[0].size_bytes()));
  };
  op.emit = reshape_emit;
  op.examples = [] {
    return std::vector<OpExample>{
        {{Type(DType::float32, {2, 6})}, {{"shape", Ints{12}}}},
        {{Type(DType::float32, {2, 6})}, {{"shape", Ints{4, 3}}}},
        {{Type(DType::float64, {6, 4})}, {{"shape", Ints{4, 6}}}},
        {{Type(DType::float32, {1, 4, 3})}, {{"shape", Ints{4, 1, 3, 1}}}},
        {{Type(DType::int16, {})}, {{"shape", Ints{1, 1}}}},
        {{Type(DType::float32, {0, 3})}, {{"shape", Ints{3, 0, 2}}}}};
  };
  r.add(std::move(op));
}

}  // namespace tessera::inline v0::ops
