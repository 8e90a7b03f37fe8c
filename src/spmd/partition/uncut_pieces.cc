#include "spmd/partition/uncut_pieces.h"

#include "ir/op.h"
#include "ops/build.h"
#include "spmd/propagate/projection.h"
#include "spmd/region/shard_map.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <span>
#include <unordered_map>

namespace tessera::inline v0::spmd {

namespace {

// The elements [start, start + extent) of another value along a dimension.
struct Source {
  Var whole;
  std::int64_t start, extent;
};

class Rewriter {
 public:
  // `taken` are the manual axes of enclosing regions.
  Rewriter(const Program& p, const AtomMesh& mesh, const AxisSet& taken)
      : p_(p), mesh_(mesh), taken_(taken), made_by_(p.types.size()) {
    for (const Equation& eqn : p.equations)
      for (Var v : eqn.outputs) made_by_[v] = &eqn;
    for (const Equation& eqn : p.equations)
      if (eqn.op->constrains) asked_.emplace(eqn.inputs[0], eqn.op->constrains(eqn.attrs).spec);
  }

  // Null if nothing changes.
  ProgramPtr run() {
    bool changes = false;
    std::vector<std::optional<Flow>> flows(p_.equations.size());
    for (std::size_t k = 0; k < p_.equations.size(); ++k) {
      const Equation& eqn = p_.equations[k];
      flows[k] = changed_inside(eqn);
      changes = changes || flows[k] || is_of_pieces(eqn);
    }
    if (!changes) return nullptr;
    Builder b(p_.name);
    now_.resize(p_.types.size());
    for (Var v : p_.inputs) now_[v] = b.input(p_.types[v]);
    for (std::size_t k = 0; k < p_.equations.size(); ++k) {
      const Equation& eqn = p_.equations[k];
      Values in, out;
      for (Var v : eqn.inputs) in.push_back(now_[v]);
      if (flows[k]) {
        out = with_changed(b, eqn, *flows[k], in);
      } else if (is_of_pieces(eqn)) {
        const AtLocation at(b, eqn.loc);
        b.scope = eqn.scope;
        out = {eqn.op->joins ? joined(b, eqn) : padded(eqn)};
        b.scope.clear();
      } else {
        out = b.copy(eqn, in);
      }
      for (std::size_t i = 0; i < out.size(); ++i) now_[eqn.outputs[i]] = out[i];
    }
    Values results;
    for (Var v : p_.outputs) results.push_back(now_[v]);
    return b.finish_pruned(results);
  }

 private:
  // Absent if no program that the equation runs changes.
  std::optional<Flow> changed_inside(const Equation& eqn) const {
    if (!eqn.op->flow) return std::nullopt;
    Flow flow = eqn.op->flow(eqn.attrs);
    AxisSet taken = taken_;
    if (flow.kind == Flow::Kind::region) taken |= ShardMap(eqn.attrs).axes();
    bool changes = false;
    for (ProgramPtr& p : flow.programs)
      if (ProgramPtr q = Rewriter(*p, mesh_, taken).run()) {
        p = std::move(q);
        changes = true;
      }
    return changes ? std::optional(std::move(flow)) : std::nullopt;
  }

  // A call without its own rule is inlined, as the partitioner does with all of them.
  static Values with_changed(Builder& b, const Equation& eqn, const Flow& flow, const Values& in) {
    if (flow.kind == Flow::Kind::call && !eqn.op->with_flow)
      return b.inline_program(*flow.body(), in);
    Equation changed = eqn;
    if (flow.kind == Flow::Kind::region) {
      ShardMap region(eqn.attrs);
      region.body = flow.body();
      changed.attrs = region.attrs();
    } else {
      changed.attrs = eqn.op->with_flow(eqn.attrs, flow);
    }
    return b.copy(changed, in);
  }

  std::int64_t extent(Var v, int d) const { return p_.types[v].shape[d]; }

  // If operand v is a slice of another value along `dim` only, that slice; otherwise v itself.
  Source source(Var v, int dim) const {
    const Source itself{v, 0, extent(v, dim)};
    const Equation* eqn = made_by_[v];
    if (!eqn || !eqn->op->strided_box) return itself;
    const StridedBox piece = eqn->op->strided_box(eqn->attrs);
    const Var whole = eqn->inputs[0];
    for (int d = 0; d < p_.types[v].shape.rank(); ++d) {
      const auto k = static_cast<std::size_t>(d);
      if (piece.strides[k] != 1 && extent(v, d) > 1) return itself;
      if (d != dim && extent(v, d) != extent(whole, d)) return itself;
    }
    return {whole, piece.start[static_cast<std::size_t>(dim)], itself.extent};
  }

  // Whether the axis divides the dimension, or partitions it unevenly.
  bool cuts(Var v, int dim, const std::string& axis, std::int64_t n) const {
    if (extent(v, dim) % n == 0 || !is_wasteful(extent(v, dim), n)) return true;
    const auto asked = asked_.find(v);
    if (asked == asked_.end()) return false;
    const Strings& axes = asked->second.axes_of(dim);
    return std::find(axes.begin(), axes.end(), axis) != axes.end();
  }

  // The size of the largest axis that partitions the result and the value that the operand is a
  // slice of, but does not divide the slice; 1 if there is none.
  std::int64_t parts_lost(Var v, int dim, Var result) const {
    const Source s = source(v, dim);
    if (s.whole == v) return 1;
    std::int64_t most = 1;
    for (int a = 0; a < mesh_.count(); ++a) {
      const std::string& axis = mesh_.atom_mesh().axes[static_cast<std::size_t>(a)];
      const std::int64_t n = mesh_.size(static_cast<Atom>(a));
      if (!taken_.contains(axis) && extent(s.whole, dim) % n == 0 && s.extent % n != 0 &&
          cuts(result, dim, axis, n))
        most = std::max(most, n);
    }
    return most;
  }

  // An equation that only shifts operand 0 along one dimension and fills the rest.
  struct Move {
    int dim;
    std::int64_t low;
    std::size_t fill;
  };
  std::optional<Move> move_of(const Equation& eqn) const {
    const Equation* made = eqn.inputs.empty() ? nullptr : made_by_[eqn.inputs[0]];
    if (!made || !made->op->strided_box || !eqn.op->sharding || eqn.outputs.size() != 1)
      return std::nullopt;
    std::vector<Type> in;
    for (Var v : eqn.inputs) in.push_back(p_.types[v]);
    const std::vector<Type> out{p_.types[eqn.outputs[0]]};
    const FactorRule rule = eqn.op->sharding({in, out, eqn.attrs});
    if (rule.windows().size() != 1) return std::nullopt;
    const FactorRule::Window& w = rule.windows()[0];
    if (w.fill < 0 || w.input != 0 || w.stride != 1 || w.span != 1 || w.dilation != 1)
      return std::nullopt;
    for (std::size_t d = 0; d < rule.outputs()[0].size(); ++d)
      if (rule.outputs()[0][d] == std::vector<int>{w.factor})
        return Move{static_cast<int>(d), w.low, static_cast<std::size_t>(w.fill)};
    return std::nullopt;
  }

  bool is_of_pieces(const Equation& eqn) const {
    if (eqn.op->joins) {
      const int dim = eqn.op->joins(eqn.attrs);
      std::int64_t most = 1;
      for (Var v : eqn.inputs) most = std::max(most, parts_lost(v, dim, eqn.outputs[0]));
      // After rewriting, every slice is as long as the result. With more slices than parts, each
      // device would do more work than for the unpartitioned result.
      return most > 1 && eqn.inputs.size() <= static_cast<std::size_t>(most);
    }
    const std::optional<Move> move = move_of(eqn);
    return move && parts_lost(eqn.inputs[0], move->dim, eqn.outputs[0]) > 1;
  }

  // The source, padded or truncated to the extent of the result, with its slice beginning at `at`.
  Value moved(const Source& s, int dim, std::int64_t at, std::int64_t result, Value around) const {
    const Value x = now_[s.whole];
    Ints low(x.shape().size(), 0), high = low;
    const Ints none = low;
    const auto d = static_cast<std::size_t>(dim);
    low[d] = at - s.start;
    high[d] = result - low[d] - x.shape()[d];
    return ops::pad(x, around, low, high, none);
  }

  // A mask of the given shape: whether an element lies before `end` along `dim`.
  static Value before(Builder& b, const Shape& shape, int dim, std::int64_t end) {
    const std::int64_t n = shape[dim];
    const DType dtype = n < std::numeric_limits<std::int32_t>::max() ? DType::int32 : DType::int64;
    const Value at = ops::iota(b, dtype, {n}, 0);
    return ops::broadcast_in_dim(ops::lt(at, ops::full_like(at, static_cast<double>(end))), shape,
                                 {dim});
  }

  Value joined(Builder& b, const Equation& eqn) const {
    const int dim = eqn.op->joins(eqn.attrs);
    const Type& type = p_.types[eqn.outputs[0]];
    const Value zero = ops::scalar(b, type.dtype, 0, type.weak);
    std::optional<Value> out;
    std::int64_t end = type.shape[dim];
    for (std::size_t i = eqn.inputs.size(); i-- > 0;) {
      const Source s = source(eqn.inputs[i], dim);
      const std::int64_t at = end - s.extent;
      if (s.extent == 0) continue;
      const Value x = moved(s, dim, at, type.shape[dim], zero);
      out = out ? ops::select(before(b, type.shape, dim, end), x, *out) : x;
      end = at;
    }
    return typed(*out, type);
  }

  Value padded(const Equation& eqn) const {
    const auto [dim, at, fill_operand] = *move_of(eqn);
    const Type& type = p_.types[eqn.outputs[0]];
    const Source s = source(eqn.inputs[0], dim);
    const Value around = now_[eqn.inputs[fill_operand]];
    Builder& b = *around.builder;
    const Value x = moved(s, dim, at, type.shape[dim], around),
                fill = ops::broadcast_in_dim(around, type.shape, {});
    const Value behind = ops::select(before(b, type.shape, dim, at + s.extent), x, fill);
    return typed(at > 0 ? ops::select(before(b, type.shape, dim, at), fill, behind) : behind, type);
  }

  static Value typed(Value x, const Type& type) {
    x = x.type().weak == type.weak ? x : ops::convert(x, type.dtype, type.weak);
    return x.builder->vary_over(x, type.varying);
  }

  const Program& p_;
  const AtomMesh& mesh_;
  const AxisSet taken_;
  std::vector<const Equation*> made_by_;
  std::unordered_map<Var, Spec> asked_;  // by variable: spec of a constraint that reads it
  Values now_;                           // by variable: its value in the new program
};

}  // namespace

ProgramPtr without_uncut_pieces(const ProgramPtr& program, const AtomMesh& mesh) {
  const ProgramPtr changed = Rewriter(*program, mesh, {}).run();
  return changed ? changed : program;
}

}  // namespace tessera::inline v0::spmd
