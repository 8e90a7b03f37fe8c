#include "codegen/kernel/tracer.h"

#include <algorithm>

namespace tessera::inline v0::codegen {

bool is_math(Arith op) {
  return (op >= Arith::cbrt && op <= Arith::lgamma) || op == Arith::pow || op == Arith::atan2 ||
         op == Arith::rem;
}

Lane Tracer::value(Var v, std::span<const Index> at) {
  auto [it, fresh] = known_.try_emplace(key_of(v, at), Lane{nullptr, program_.type(v).dtype});
  if (!fresh) return it->second;
  widest = std::max(widest, size_of(program_.type(v).dtype));
  if (!producer(v) || buffers_.contains(v)) {
    reads.push_back({v, flatten(at, program_.type(v).shape), times_at(depth_of(at)), guards_ > 0});
    return {nullptr, program_.type(v).dtype};
  }
  at_.emplace_back(v, std::vector<Index>(at.begin(), at.end()));
  // The rule runs in the scope that its index needs, before the inner loops.
  std::vector<Loop> loops = loops_;
  double outer = times_;
  loops_.resize(depth_of(at));
  times_ = times_at(loops_.size());
  Lane x = apply(v, at);
  loops_ = std::move(loops);
  times_ = outer;
  at_.pop_back();
  return x;
}

const std::vector<Index>& Tracer::run(std::span<const Var> vars, const Shape& space) {
  elements_ = static_cast<double>(std::max<std::int64_t>(1, space.count()));
  for (std::int64_t d : space) {
    space_.push_back(make_variable(d));
    if (const Atom* a = single_atom(space_.back())) loops_.push_back({a, static_cast<double>(d)});
  }
  for (Var v : vars) value(v, space_);
  return space_;
}

// The number of loops around code that depends on `at`.
std::size_t Tracer::depth_of(std::span<const Index> at) const {
  std::size_t depth = 0;
  for (const Index& i : at)
    for_each_leaf(node_of(i), [&](const Atom& a) {
      if (auto it = data_depth_.find(&a); it != data_depth_.end())
        depth = std::max(depth, std::min(it->second, loops_.size()));
      for (std::size_t d = depth; d < loops_.size(); ++d)
        if (loops_[d].atom == &a) depth = d + 1;
    });
  return depth;
}

// Executions inside the outermost `depth` loops, per element of the index space.
double Tracer::times_at(std::size_t depth) const {
  double times = 1;
  for (std::size_t d = 0; d < depth; ++d) times *= loops_[d].extent;
  return times / elements_;
}

std::vector<Var> Tracer::repeated(std::span<const Index> prefix) const {
  std::unordered_map<Var, int> count;
  for (const auto& [key, lane] : known_) {
    const Equation* e = producer(key.var);
    if (!e || e->op->cheap || buffers_.contains(key.var) || key.at.size() <= prefix.size())
      continue;
    bool same = true;
    for (std::size_t d = 0; d < prefix.size(); ++d) same = same && key.at[d] == node_of(prefix[d]);
    count[key.var] += same ? 1 : 1000000;
  }
  std::vector<Var> vars;
  for (const auto& [v, n] : count)
    if (n > 1 && n < 1000000) vars.push_back(v);
  std::sort(vars.begin(), vars.end());
  return vars;
}

Lane Tracer::literal(const Literal& literal, std::span<const Index> at) {
  if (literal.shape.count() > 1) linear.push_back(flatten(at, literal.shape));
  return {nullptr, literal.dtype};
}

Lane Tracer::number(const Index& index, DType dtype) {
  linear.push_back(index);
  return {nullptr, dtype};
}

Index Tracer::index(const Lane& number, std::int64_t lo, std::int64_t hi) {
  ops += times_;
  Index i = make_datum(number, lo, hi);
  if (const Atom* a = single_atom(i)) data_depth_[a] = loops_.size();
  return i;
}

Lane Tracer::unary(Arith op, Lane x) {
  count(is_math(op) ? math : ops);
  const bool part = op == Arith::real || op == Arith::imag || op == Arith::abs;
  return {nullptr, op == Arith::is_finite ? DType::boolean : part ? real_dtype(x.dtype) : x.dtype};
}
Lane Tracer::binary(Arith op, Lane x, Lane) {
  count(is_math(op) ? math : ops);
  if (op == Arith::complex) return {nullptr, complex_dtype(x.dtype)};
  return {nullptr, op >= Arith::eq ? DType::boolean : x.dtype};
}

Lane Tracer::guarded(std::span<const Bound> bounds, const std::function<Lane()>& inside,
                     Lane outside) {
  for (const Bound& b : bounds) {
    const Index::Node* n = node_of(b.index);
    if (n->hi < b.lo || n->lo >= b.hi || b.lo >= b.hi) return outside;
    if (n->lo >= b.lo && n->hi < b.hi) continue;
    linear.push_back(b.index);
    partial_bounds.push_back(b);
  }
  ++guards_;
  Lane x = inside();
  --guards_;
  return x;
}

std::vector<Index> Tracer::enter(std::span<const std::int64_t> extents) {
  std::vector<Index> at;
  for (std::int64_t e : extents) {
    at.push_back(make_variable(e));
    if (const Atom* a = single_atom(at.back())) loops_.push_back({a, static_cast<double>(e)});
  }
  times_ = times_at(loops_.size());
  return at;
}

Lane Tracer::reduce(std::span<const std::int64_t> extents, Lane init,
                    const std::function<Lane(std::span<const Index>)>& element,
                    const std::function<Lane(Lane, Lane)>& combine) {
  if (std::count(extents.begin(), extents.end(), 0)) return init;
  double outer = times_;
  std::size_t loops = loops_.size();
  std::vector<Index> at = enter(extents);
  if (!at_.empty())
    reductions.push_back({eqn_, at_.back().first, at_.back().second,
                          reduce_shape(program_, *eqn_, extents), init.dtype});
  ++reducing_;
  Lane x = combine(init, element(at));
  --reducing_;
  times_ = outer;
  loops_.resize(loops);
  return x;
}

std::vector<Lane> Tracer::fold(
    std::span<const std::int64_t> extents, std::vector<Lane> init,
    const std::function<std::vector<Lane>(std::span<const Index>, std::span<const Lane>)>& step) {
  if (std::count(extents.begin(), extents.end(), 0)) return init;
  double outer = times_;
  std::size_t loops = loops_.size();
  std::vector<Index> at = enter(extents);
  folds = true;
  ++reducing_;
  std::vector<Lane> x = step(at, init);
  --reducing_;
  times_ = outer;
  loops_.resize(loops);
  return x;
}

}  // namespace tessera::inline v0::codegen
