#include "ops/linalg/matrices.h"

#include "ops/batching.h"
#include "ops/movement/movement.h"

#include <algorithm>
#include <limits>

namespace tessera::inline v0::ops {

std::int64_t count_before(const Shape& shape, int trailing) {
  std::int64_t n = 1;
  for (int d = 0; d < shape.rank() - trailing; ++d) n *= shape[static_cast<std::size_t>(d)];
  return n;
}

BatchResult batch_before(const BatchArgs& a) {
  Values in;
  for (std::size_t i = 0; i < a.inputs.size(); ++i)
    in.push_back(stacked_at(a.inputs[i], a.dims[i], 0, a.size));
  Values out = a.b.emit(a.op, in, a.attrs);
  return {out, std::vector<int>(out.size(), 0)};
}

ShardRule cut_before(std::vector<int> inputs, std::vector<int> outputs) {
  return [inputs = std::move(inputs), outputs = std::move(outputs)](const ShardArgs& a) {
    FactorRule rule;
    const Shape& first = a.inputs[0].shape;
    std::vector<int> batch;
    for (int d = 0; d < first.rank() - inputs[0]; ++d)
      batch.push_back(rule.factor(first[static_cast<std::size_t>(d)]));
    const auto dims = [&](const Shape& s, int trailing) {
      std::vector<int> v = batch;
      for (int d = s.rank() - trailing; d < s.rank(); ++d) {
        v.push_back(rule.factor(s[static_cast<std::size_t>(d)], 'p'));
        rule.mark(FactorRule::Kind::need_repl, v.back());
      }
      return v;
    };
    for (std::size_t i = 0; i < a.inputs.size(); ++i)
      rule.input(dims(a.inputs[i].shape, inputs[i]));
    for (std::size_t i = 0; i < a.outputs.size(); ++i)
      rule.output(dims(a.outputs[i].shape, outputs[i]));
    return rule;
  };
}

std::shared_ptr<const Routine> for_matrices(const CallArgs& a, std::int64_t count, double seconds,
                                            TaskFn run) {
  constexpr double kWorthATask = 2e-5;
  const auto together = static_cast<std::int64_t>(kWorthATask / std::max(seconds, 1e-9)) + 1;
  auto routine = std::make_shared<Routine>();
  routine->name = a.op.name;
  routine->seconds = 1e-6 + seconds * static_cast<double>(count);
  Stage s;
  s.tasks = (count + together - 1) / together;
  s.run = [=, run = std::move(run)](const RoutineArgs& args, std::int64_t begin, std::int64_t end) {
    run(args, begin * together, std::min(count, end * together));
  };
  routine->stages.push_back(std::move(s));
  return routine;
}

EvalRule evaluate_by_call(std::string name) {
  return [name = std::move(name)](const EvalArgs& a) {
    const Op& op = Registry::get().at(name);
    std::vector<Type> in, out;
    std::vector<const void*> from;
    std::vector<void*> to;
    bool written = false;
    for (const HostArray& x : a.inputs) in.emplace_back(x.dtype, x.shape), from.push_back(x.bytes);
    for (HostArray& x : a.outputs) {
      out.emplace_back(x.dtype, x.shape), to.push_back(x.bytes);
      written = written || x.count() > 0;
    }
    if (!written) return;
    const auto routine = op.call({op, a.attrs, in, out});
    for (const Stage& s : routine->stages) s.run({from.data(), to.data(), nullptr}, 0, s.tasks);
  };
}

Op factorisation_op(std::string name, std::string doc, CallRule call) {
  Op op;
  op.name = std::move(name);
  op.doc = std::move(doc);
  op.inputs = 1;
  op.cheap = false;
  op.lowering = Lowering::called;
  op.call = std::move(call);
  op.library_bytes = 4096;
  op.batch = batch_before;
  op.evaluate = evaluate_by_call(op.name);
  op.waived = {{"updates", "a factor of a state is another value"},
               {"stablehlo", "exported as a call of LAPACK"},
               {"emit", "a library factorises"}};
  return op;
}

CostRule matrix_cost(std::function<double(double, double)> flops) {
  return [flops = std::move(flops)](std::span<const Type> in, std::span<const Type> out,
                                    const Attrs&) {
    const Shape& s = in[0].shape;
    Cost cost;
    cost.flops = static_cast<double>(count_before(s, 2)) *
                 flops(static_cast<double>(rows_of(s)), static_cast<double>(columns_of(s)));
    for (const Type& t : in) cost.bytes += static_cast<double>(t.bytes());
    for (const Type& t : out) cost.bytes += static_cast<double>(t.bytes());
    return cost;
  };
}

void check_matrix(const InferArgs& a) {
  const Type& x = a.inputs[0];
  if (x.shape.rank() < 2)
    Message(a.op.name)
        .problem("the operand " + tessera::to_string(x) + " has " + std::to_string(x.shape.rank()) +
                 (x.shape.rank() == 1 ? " axis" : " axes"))
        .rule("matrices are the last two axes of an array")
        .from(a.loc)
        .advice("give it rows and columns, such as reshape(x, {1, -1})")
        .raise<ShapeError>();
  if (size_of(real_dtype(x.dtype)) < 4 || !is_inexact(x.dtype))
    Message(a.op.name)
        .problem("the operand is " + tessera::to_string(x))
        .rule("it is float32, float64, complex64 or complex128")
        .from(a.loc)
        .advice("convert it with astype")
        .raise<DTypeError>();
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  if (std::max(rows_of(x.shape), columns_of(x.shape)) > kMost)
    Message(a.op.name)
        .problem("a matrix of the operand " + tessera::to_string(x) + " is longer than " +
                 std::to_string(kMost))
        .rule("rows and columns are counted in 32 bits")
        .from(a.loc)
        .advice("cut it into blocks")
        .raise<ShapeError>();
}

void check_square(const InferArgs& a) {
  check_matrix(a);
  const Shape& s = a.inputs[0].shape;
  if (rows_of(s) != columns_of(s))
    Message(a.op.name)
        .problem("the matrices of the operand " + tessera::to_string(a.inputs[0]) + " have " +
                 std::to_string(rows_of(s)) + " rows and " + std::to_string(columns_of(s)) +
                 " columns")
        .rule("they are square")
        .from(a.loc)
        .advice("check which axes hold the matrices: they are the last two")
        .raise<ShapeError>();
}

void check_workspace(const InferArgs& a) {
  constexpr std::int64_t kMost = 20000;  // the workspace has about 4 n^2 numbers
  const Shape& s = a.inputs[0].shape;
  if (std::min(rows_of(s), columns_of(s)) > kMost)
    Message(a.op.name)
        .problem("a matrix of the operand " + tessera::to_string(a.inputs[0]) + " has " +
                 std::to_string(std::min(rows_of(s), columns_of(s))) + " rows or columns at least")
        .rule("the smaller side is at most " + std::to_string(kMost) +
              ", since LAPACK counts its workspace in 32 bits")
        .from(a.loc)
        .advice("work on a block, or on a projection of fewer columns")
        .raise<ShapeError>();
}

Shape with_matrix(const Shape& s, std::int64_t rows, std::int64_t columns) {
  Shape out = s;
  out[out.size() - 2] = rows;
  out[out.size() - 1] = columns;
  return out;
}
Shape with_vector(const Shape& s, std::int64_t n) {
  Shape out(s.begin(), s.end() - 1);
  out[out.size() - 1] = n;
  return out;
}

Value matmul(Value x, Value y) {
  const int batch = x.rank() - 2;
  return dot_general(x, y, {{batch + 1}, {batch}, iota_ints(batch), iota_ints(batch)});
}

Value swapped(Value x) {
  Ints order = iota_ints(x.rank());
  std::swap(order[order.size() - 1], order[order.size() - 2]);
  return transpose(x, order);
}
Value adjoint(Value x) { return swapped(is_complex(x.dtype()) ? conj(x) : x); }

namespace {
// Keeps the elements with row + k >= column, or those with row + k <= column.
Value triangle(Value x, std::int64_t k, bool lower) {
  Builder& b = *x.builder;
  const Value row = iota(b, DType::int64, x.shape(), x.rank() - 2),
              column = iota(b, DType::int64, x.shape(), x.rank() - 1);
  const Value last = add(row, full_like(row, static_cast<double>(k)));
  return select(lower ? ge(last, column) : le(last, column), x, zeros_like(x));
}
Ints without_last(int rank, int left_out) {
  Ints dims;
  for (int d = 0; d < rank; ++d)
    if (d != rank - left_out) dims.push_back(d);
  return dims;
}
}  // namespace

Value lower_triangle(Value x, std::int64_t k) { return triangle(x, k, true); }
Value upper_triangle(Value x, std::int64_t k) { return triangle(x, k, false); }

Value identity_like(Builder& b, DType dtype, const Shape& shape) {
  const Value row = iota(b, DType::int64, shape, shape.rank() - 2),
              column = iota(b, DType::int64, shape, shape.rank() - 1);
  return convert(eq(row, column), dtype);
}

Value diagonal_of(Value x) {
  const Value on = eq(iota(*x.builder, DType::int64, x.shape(), x.rank() - 2),
                      iota(*x.builder, DType::int64, x.shape(), x.rank() - 1));
  return reduce_sum(select(on, x, zeros_like(x)), {x.rank() - 2});
}
Value along_columns(Value v, const Shape& shape) {
  return broadcast_in_dim(v, shape, without_last(shape.rank(), 2));
}
Value along_rows(Value v, const Shape& shape) {
  return broadcast_in_dim(v, shape, without_last(shape.rank(), 1));
}
Value diagonal_matrix(Value v) {
  Shape s = v.shape();
  s.push_back(s[s.size() - 1]);
  const Value x = along_columns(v, s);
  const Value on = eq(iota(*v.builder, DType::int64, s, s.rank() - 2),
                      iota(*v.builder, DType::int64, s, s.rank() - 1));
  return select(on, x, zeros_like(x));
}

Value hermitian_from_lower(Value x) {
  const Value below = lower_triangle(x, -1);
  Value diagonal = diagonal_matrix(diagonal_of(x));
  if (is_complex(x.dtype())) diagonal = in_dtype(real(diagonal), x.dtype());
  return add(add(below, adjoint(below)), diagonal);
}

Value real_part(Value x) { return is_complex(x.dtype()) ? real(x) : x; }

Value in_dtype(Value x, DType dtype) { return x.dtype() == dtype ? x : convert(x, dtype); }

Value submatrix(Value x, std::int64_t r0, std::int64_t r1, std::int64_t c0, std::int64_t c1) {
  const Shape& s = x.shape();
  if (r0 == 0 && c0 == 0 && r1 == rows_of(s) && c1 == columns_of(s)) return x;
  const auto n = s.size();
  Ints start(n, 0), limit = to_ints(s), strides(n, 1);
  start[n - 2] = r0, start[n - 1] = c0, limit[n - 2] = r1, limit[n - 1] = c1;
  return slice(x, start, limit, strides);
}

Value padded_to(Value x, std::int64_t rows, std::int64_t columns) {
  const Shape& s = x.shape();
  if (rows == rows_of(s) && columns == columns_of(s)) return x;
  const auto n = s.size();
  Ints none(n, 0), high(n, 0);
  high[n - 2] = rows - rows_of(s), high[n - 1] = columns - columns_of(s);
  return pad(x, scalar(*x.builder, x.dtype(), 0), none, high, none);
}

Value reciprocal_or_zero(Value x) {
  const Value zero = eq(x, zeros_like(x)), one = full_like(x, 1);
  return select(zero, zeros_like(x), div(one, select(zero, one, x)));
}

Value zero_by_rounding(Value x, Value sizes) {
  const double unit = sizes.dtype() == DType::float64 ? std::numeric_limits<double>::epsilon()
                                                      : std::numeric_limits<float>::epsilon();
  Ints before;
  for (int d = 0; d + 1 < sizes.rank(); ++d) before.push_back(d);
  const Value size = stop_gradient(abs(sizes));
  if (sizes.shape().count() == 0) return x;
  const Value largest = reduce_max(size, {sizes.rank() - 1});
  const Value least =
      broadcast_in_dim(mul(largest, full_like(largest, 4 * unit)), x.shape(), before);
  return select(gt(abs(x), least), x, zeros_like(x));
}

}  // namespace tessera::inline v0::ops
