#include "codegen/tracer.h"

namespace tessera::inline v0::codegen {

bool is_math(Arith op) {
  return (op >= Arith::cbrt && op <= Arith::lgamma) || op == Arith::pow || op == Arith::atan2 || op == Arith::rem;
}

Lane Tracer::value(Var v, std::span<const Index> at) {
  auto [it, fresh] = known_.try_emplace(key_of(v, at), Lane{nullptr, program_.type(v).dtype});
  if (!fresh) return it->second;
  widest = std::max(widest, size_of(program_.type(v).dtype));
  if (!producer(v) || buffers_.contains(v)) {
    reads.push_back({v, flatten(at, program_.type(v).shape), times_, guards_ > 0});
    return {nullptr, program_.type(v).dtype};
  }
  at_.emplace_back(v, std::vector<Index>(at.begin(), at.end()));
  Lane x = apply(v, at);
  at_.pop_back();
  return x;
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
  return make_datum(number, lo, hi);
}

Lane Tracer::unary(Arith op, Lane x) {
  (is_math(op) ? math : ops) += times_;
  return {nullptr, op == Arith::is_finite ? DType::boolean : x.dtype};
}
Lane Tracer::binary(Arith op, Lane x, Lane) {
  (is_math(op) ? math : ops) += times_;
  return {nullptr, op >= Arith::eq ? DType::boolean : x.dtype};
}

Lane Tracer::guarded(std::span<const Bound> bounds, const std::function<Lane()>& inside, Lane outside) {
  for (const Bound& b : bounds) {
    const Index::Node* n = node_of(b.index);
    if (n->hi < b.lo || n->lo >= b.hi) return outside;
    if (n->lo < b.lo || n->hi >= b.hi) linear.push_back(b.index);
  }
  ++guards_;
  Lane x = inside();
  --guards_;
  return x;
}

Lane Tracer::reduce(std::span<const std::int64_t> extents, Lane init,
                    const std::function<Lane(std::span<const Index>)>& element,
                    const std::function<Lane(Lane, Lane)>& combine) {
  double outer = times_;
  std::vector<Index> at;
  for (std::int64_t e : extents) {
    if (e == 0) return init;
    times_ *= static_cast<double>(e);
    at.push_back(make_variable(e));
  }
  if (!at_.empty()) reductions.push_back({eqn_, at_.back().first, at_.back().second, reduce_shape(program_, *eqn_, extents), init.dtype});
  Lane x = combine(init, element(at));
  times_ = outer;
  return x;
}

std::vector<Lane> Tracer::fold(
    std::span<const std::int64_t> extents, std::vector<Lane> init,
    const std::function<std::vector<Lane>(std::span<const Index>, std::span<const Lane>)>& step) {
  double outer = times_;
  std::vector<Index> at;
  for (std::int64_t e : extents) {
    if (e == 0) return init;
    times_ *= static_cast<double>(e);
    at.push_back(make_variable(e));
  }
  folds = true;
  std::vector<Lane> x = step(at, init);
  times_ = outer;
  return x;
}

}  // namespace tessera::inline v0::codegen
