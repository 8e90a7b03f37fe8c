#include "api/trace/differentiate.h"

#include "ir/interpret.h"
#include "ir/op.h"
#include "ops/build.h"

#include <tessera/grad.h>

namespace tessera::inline v0::detail {
namespace {

/// The standard basis of arrays of type `t`, stacked along dimension 0. It is equal on all devices,
/// but typed as tangents and cotangents of `t` are.
Value basis(Builder& b, const Type& t) {
  const std::int64_t n = t.shape.count();
  Value eye = ops::convert(
      ops::eq(ops::iota(b, DType::int32, {n, n}, 0), ops::iota(b, DType::int32, {n, n}, 1)),
      t.dtype);
  Shape shape = t.shape;
  shape.insert(shape.begin(), n);
  return b.vary_over(ops::reshape(eye, shape), t.varying);
}
Value zero_of(Builder& b, const Type& t) { return b.vary_over(ops::zeros(b, t), t.varying); }

Shape joined_blocks(const Shape& a, const Shape& b) {
  Shape s = a;
  for (std::int64_t d : b) s.push_back(d);
  return s;
}

/// `x`, stacked along `dim` (or not stacked), with that dimension moved to `to`.
Value stacked_at(Value x, int dim, std::int64_t size, int to) {
  if (dim == kUnbatched) {
    Shape shape = x.shape();
    shape.insert(shape.begin() + to, size);
    Ints dims;
    for (int i = 0; i < shape.rank(); ++i)
      if (i != to) dims.push_back(i);
    return ops::broadcast_in_dim(x, shape, dims);
  }
  Ints order;
  for (int i = 0; i < x.rank(); ++i)
    if (i != dim) order.push_back(i);
  order.insert(order.begin() + to, dim);
  return ops::transpose(x, order);
}

struct Jacobian {
  Builder& b;
  const Program& p;
  const Linearized& lin;
  const Values& residuals;
  std::vector<std::size_t> inputs;  // differentiated

  const Type& in_type(std::size_t k) const { return p.type(p.inputs[inputs[k]]); }
  const Type& out_type(std::size_t k) const { return p.type(p.outputs[k]); }
  Value zero(std::size_t out, std::size_t in) const {
    return ops::zeros(
        b, Type(out_type(out).dtype, joined_blocks(out_type(out).shape, in_type(in).shape),
                out_type(out).weak));
  }
  /// A block is weak if its primal is, so that it shows the same dtype.
  static Value as_weak_as(Value y, const Type& t) { return ops::convert(y, y.dtype(), t.weak); }

  /// blocks[out][in]
  std::vector<Values> forward() const {
    std::vector<Values> blocks(p.outputs.size());
    for (std::size_t in = 0; in < inputs.size(); ++in) {
      const std::int64_t n = in_type(in).shape.count();
      BatchResult pushed;
      if (n > 0) {
        Values operands = residuals;
        std::vector<int> dims(residuals.size(), kUnbatched);
        for (std::size_t other = 0; other < inputs.size(); ++other) {
          operands.push_back(other == in ? basis(b, in_type(in)) : zero_of(b, in_type(other)));
          dims.push_back(other == in ? 0 : kUnbatched);
        }
        pushed = batch_inline(b, *lin.linear, operands, dims, n, "");
      }
      std::size_t next = 0;
      for (std::size_t out = 0; out < p.outputs.size(); ++out) {
        if (!lin.nonzero_out[out] || n == 0) {
          blocks[out].push_back(zero(out, in));
          continue;
        }
        Value y =
            stacked_at(pushed.outputs[next], pushed.dims[next], n, out_type(out).shape.rank());
        y = ops::reshape(y, joined_blocks(out_type(out).shape, in_type(in).shape));
        blocks[out].push_back(as_weak_as(y, out_type(out)));
        ++next;
      }
    }
    return blocks;
  }

  std::vector<Values> reverse() const {
    std::vector<Values> blocks(p.outputs.size());
    std::vector<bool> linear(lin.linear->inputs.size(), true);
    for (std::size_t i = 0; i < residuals.size(); ++i) linear[i] = false;
    std::size_t live = 0;
    for (std::size_t out = 0; out < p.outputs.size(); ++out) {
      const std::int64_t n = out_type(out).shape.count();
      if (!lin.nonzero_out[out] || n == 0) {
        for (std::size_t in = 0; in < inputs.size(); ++in) blocks[out].push_back(zero(out, in));
        live += lin.nonzero_out[out];
        continue;
      }
      std::vector<bool> nonzero(lin.linear->outputs.size());
      nonzero[live++] = true;
      const ProgramPtr back = transpose_program(*lin.linear, linear, nonzero);
      Values operands = residuals;
      std::vector<int> dims(residuals.size(), kUnbatched);
      operands.push_back(basis(b, out_type(out)));
      dims.push_back(0);
      const BatchResult pulled = batch_inline(b, *back, operands, dims, n, "");
      for (std::size_t in = 0; in < inputs.size(); ++in) {
        Value y = stacked_at(pulled.outputs[in], pulled.dims[in], n, 0);
        y = ops::reshape(y, joined_blocks(out_type(out).shape, in_type(in).shape));
        blocks[out].push_back(as_weak_as(y, in_type(in)));
      }
    }
    return blocks;
  }
};

// One number per element describes the derivative of a complex result by a complex argument only if
// the function is holomorphic, which cannot be checked.
void check_real(const char* function, const TracedFunction& f, const std::vector<bool>& wrt,
                const SourceLoc& loc) {
  auto refuse = [&](const char* what, const Type& t) {
    if (is_complex(t.dtype))
      Message(function)
          .problem(std::string(what) + " has dtype " + std::string(name_of(t.dtype)))
          .rule("the derivatives of all elements are those of real numbers by real numbers")
          .from(loc)
          .advice("take real(z) and imag(z) of it, or use ts::jvp or ts::vjp")
          .raise<DTypeError>();
  };
  for (std::size_t i = 0; i < wrt.size(); ++i)
    if (wrt[i]) refuse("an argument", f.program->type(f.program->inputs[i]));
  for (Var v : f.program->outputs) refuse("the result", f.program->type(v));
}

}  // namespace

Outcome jacobian(const char* function, Call& call, std::span<const int> argnums, bool forward,
                 std::vector<Array>& leaves, std::source_location where) {
  const SourceLoc loc = line_of(where);
  const TracedFunction f = trace_call(call, function, function);
  const std::vector<bool> wrt = differentiated(function, call, f, argnums, loc);
  check_real(function, f, wrt, loc);
  const Linearized lin = linearize_program(*f.program, wrt);
  if (forward) require_forward_mode(*lin.linear);

  Builder b(function);
  const Values in = inputs_of(b, *f.program);
  const KnownPart known = inline_known(b, lin, in);
  const Jacobian j{b, *f.program, lin, known.residuals, positions(wrt)};
  const std::vector<Values> blocks = forward ? j.forward() : j.reverse();
  Values out;
  for (const Values& row : blocks) out.insert(out.end(), row.begin(), row.end());
  const std::vector<Array> arrays =
      apply(b.finish_pruned(out), operands(call, f, function, loc), loc);

  // One block for each pair of leaves of the result and of the argument; it is empty if a leaf has
  // no derivative.
  const std::vector<int> inputs = input_of_leaf(call);
  for (int k : output_of_leaf(f)) {
    const bool has =
        k >= 0 &&
        is_differentiable(f.program->type(f.program->outputs[static_cast<std::size_t>(k)]).dtype);
    std::size_t next = static_cast<std::size_t>(k < 0 ? 0 : k) * j.inputs.size();
    for (int arg : argnums)
      for (std::size_t i = call.arg_begin(static_cast<std::size_t>(arg));
           i < call.arg_ends[static_cast<std::size_t>(arg)]; ++i) {
        const bool differentiable = inputs[i] >= 0 && wrt[static_cast<std::size_t>(inputs[i])];
        leaves.push_back(has && differentiable ? arrays[next++] : Array());
      }
  }
  return {{}, f.prototype};
}

}  // namespace tessera::inline v0::detail
