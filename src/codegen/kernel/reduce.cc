// Reductions and folds of the kernel emitter.
#include "codegen/kernel/box.h"

namespace tessera::inline v0::codegen {

llvm::Value* KernelEmitter::typed(const Lane& x) {
  return ops_.vector(x, current_->vec ? current_->width : 0);
}

const SplitReduction* KernelEmitter::split_of(const Equation* eqn) const {
  for (const SplitReduction& s : plan_.splits)
    if (s.eqn == eqn) return &s;
  return nullptr;
}

// Expands indices of merged dimensions to indices of the box.
std::vector<Index> KernelEmitter::expand(const Box& box, std::span<const Index> merged) const {
  std::vector<Index> at;
  std::size_t first = 0;
  for (std::size_t i = 0; i < merged.size(); ++i) {
    std::size_t n = box.shape.merged[i];
    for (Index& x : unflatten(merged[i], box.extents.subspan(first, n))) at.push_back(std::move(x));
    first += n;
  }
  return at;
}

Lane KernelEmitter::tree(const Box& box, llvm::Value* acc, DType d, int width) {
  for (; width > 1; width /= 2) {
    std::vector<int> low, high;
    for (int i = 0; i < width / 2; ++i) low.push_back(i), high.push_back(width / 2 + i);
    Lane a = ops_.lane(ops_.shuffled(acc, low), d), b = ops_.lane(ops_.shuffled(acc, high), d);
    acc = LaneOps::value(box.combine(a, b)).v;
  }
  return ops_.lane(ops_.extracted(acc, b_->getInt64(0)), d);
}

// A loop of at most `t.most` iterations, in runs of up to kRun, runs of runs, and so on. Each run
// starts from the initial value, so that no accumulator takes more than kRun terms and the error is
// that of a tree.
KernelEmitter::Accumulators KernelEmitter::in_runs(const Box& box, const Turns& t,
                                                   const Accumulators& acc, const Body& body) {
  std::int64_t run = t.step;
  for (std::int64_t n = t.most; n > kRun; n = (n + kRun - 1) / kRun) run *= kRun;
  if (run == t.step)
    return loop(t.begin, t.end, t.step, t.at_least_once, t.extent, t.width, acc, body);
  DType d = box.init.dtype;
  llvm::Value* none = ops_.splat(LaneOps::value(box.init).v, width_of(acc[0]));
  return loop(t.begin, t.end, run, t.at_least_once, t.extent, 0, acc,
              [&](const Index& i, const Accumulators& a) -> Accumulators {
                Turns inside = t;
                inside.begin = scalar(i);
                llvm::Value* end =
                    b_->CreateAdd(inside.begin, b_->getInt64(static_cast<std::uint64_t>(run)));
                inside.end = b_->CreateBinaryIntrinsic(llvm::Intrinsic::umin, end, t.end);
                inside.at_least_once = true;
                inside.most = run / t.step;
                Accumulators x = in_runs(box, inside, {none}, body);
                return {LaneOps::value(box.combine(ops_.lane(a[0], d), ops_.lane(x[0], d))).v};
              });
}
KernelEmitter::Accumulators KernelEmitter::counted_runs(const Box& box, std::int64_t extent,
                                                        const Accumulators& acc, const Body& body) {
  if (extent <= kRun) return counted(extent, acc, body);
  Turns t{b_->getInt64(0), b_->getInt64(static_cast<std::uint64_t>(extent))};
  t.most = t.extent = extent;
  return in_runs(box, t, acc, body);
}

// Loops over a chunk's part of the cut dimension.
KernelEmitter::Accumulators KernelEmitter::part_loop(const Box& box, const Index& start,
                                                     std::int64_t length, llvm::Value* dynamic,
                                                     const Accumulators& acc, const Body& body) {
  const ReduceShape& r = box.shape;
  if (r.blocks() == 1 && r.inner == 0) return counted_runs(box, length, acc, body);
  llvm::Value* begin = scalar(start);
  llvm::Value* end =
      b_->CreateAdd(begin, dynamic ? dynamic : b_->getInt64(static_cast<std::uint64_t>(length)));
  Turns t{begin, end};
  t.most = length;
  t.extent = r.extents[r.chunk_dim];
  return in_runs(box, t, acc, body);
}

// Evaluates `body` from the initial value, if its inner loops take more than a few terms, and then
// adds the result.
KernelEmitter::Body KernelEmitter::from_nothing(const Box& box, std::size_t dim, const Body& body) {
  std::int64_t terms = 1;
  for (std::size_t d = dim + 1; d < box.shape.extents.size(); ++d) terms *= box.shape.extents[d];
  if (terms < kLeafRows) return body;
  return [this, &box, body](const Index& i, const Accumulators& acc) -> Accumulators {
    DType d = box.init.dtype;
    Accumulators x = body(i, {ops_.splat(LaneOps::value(box.init).v, width_of(acc[0]))});
    return {LaneOps::value(box.combine(ops_.lane(acc[0], d), ops_.lane(x[0], d))).v};
  };
}

// `length` is the chunk's extent along the cut dimension; `dynamic` overrides it.
Lane KernelEmitter::lanes_chunk(const Box& box, std::vector<Index> at, std::int64_t length,
                                llvm::Value* dynamic) {
  const ReduceShape& r = box.shape;
  DType d = box.init.dtype;
  std::size_t last = r.extents.size() - 1, cut = r.chunk_dim;
  int width = reduce_lanes(*eqn_, d, r.extents[last]);
  Index start = at[cut];
  std::function<Accumulators(std::size_t, const Accumulators&)> nest =
      [&](std::size_t dim, const Accumulators& acc) {
        auto body = [&](const Index& i, const Accumulators& a) {
          at[dim] = i;
          return nest(dim + 1, a);
        };
        if (dim < last) {
          Body whole = from_nothing(box, dim, body);
          if (dim == cut) return part_loop(box, start, length, dynamic, acc, whole);
          return counted_runs(box, r.extents[dim], acc, whole);
        }
        Span span{r.extents[dim], r.extents[dim]};
        if (dim == cut)
          span = {r.extents[dim], length, r.blocks() > 1 ? scalar(start) : nullptr, dynamic};
        return lanes_loop(
            span, width, &box, acc, [&](const Index& i, const Accumulators& a) -> Accumulators {
              at[dim] = i;
              llvm::Value* x = ops_.vector(box.element(expand(box, at)), width);
              llvm::Value* sum =
                  ops_.vector(box.combine(ops_.lane(a[0], d), ops_.lane(x, d)), width);
              if (!current_->mask) return {sum};
              Lane taken = ops_.select(ops_.lane(current_->mask, DType::boolean), ops_.lane(sum, d),
                                       ops_.lane(a[0], d));
              return {LaneOps::value(taken).v};
            });
      };
  if (width == 1) {  // one element per row
    return rows_chunk(box, at, length, dynamic);
  }
  return tree(box, nest(cut, {ops_.splat(LaneOps::value(box.init).v, width)})[0], d, width);
}

// A tree of `depth` halvings over [start, start + length) of the first dimension. `none` is the
// initial value; each node adds its two halves to it in order.
KernelEmitter::Accumulators KernelEmitter::halves(const Box& box, const Index& start,
                                                  std::int64_t length, int depth,
                                                  const Accumulators& none, const Body& body) {
  DType d = box.init.dtype;
  if (depth == 0) {
    if (!box.unrolled) return part_loop(box, start, length, nullptr, none, body);
    Accumulators acc = none;
    for (std::int64_t i = 0; i < length; ++i) acc = body(start + Index(i), acc);
    return acc;
  }
  auto half = [&](const Index& i, const Accumulators& acc) -> Accumulators {
    Accumulators x = halves(box, start + i * (length / 2), length / 2, depth - 1, none, body);
    return {typed(box.combine(ops_.lane(acc[0], d), ops_.lane(x[0], d)))};
  };
  if (box.unrolled) return half(Index(1), half(Index(0), none));
  return counted(2, none, half);
}

// Combines the chunks of a reduction by its tree. `body` adds one chunk to its accumulator.
KernelEmitter::Accumulators KernelEmitter::chunk_tree(const Box& box, const Index& first,
                                                      std::int64_t chunks, int depth,
                                                      const Accumulators& none, const Body& body) {
  DType d = box.init.dtype;
  if (depth == 0)
    return counted_runs(box, chunks, none, [&](const Index& i, const Accumulators& acc) {
      return body(first + i, acc);
    });
  return counted(2, none, [&](const Index& i, const Accumulators& acc) -> Accumulators {
    Accumulators x = chunk_tree(box, first + i * (chunks / 2), chunks / 2, depth - 1, none, body);
    return {typed(box.combine(ops_.lane(acc[0], d), ops_.lane(x[0], d)))};
  });
}

Lane KernelEmitter::rows_chunk(const Box& box, std::vector<Index> at, std::int64_t length,
                               llvm::Value* dynamic) {
  const ReduceShape& r = box.shape;
  DType d = box.init.dtype;
  std::size_t cut = r.chunk_dim;
  Index start = at[cut];
  std::function<Accumulators(std::size_t, const Accumulators&)> nest =
      [&](std::size_t dim, const Accumulators& acc) -> Accumulators {
    if (dim == r.extents.size())
      return {typed(box.combine(ops_.lane(acc[0], d), box.element(expand(box, at))))};
    auto body = [&](const Index& i, const Accumulators& a) {
      at[dim] = i;
      return nest(dim + 1, a);
    };
    Body whole = from_nothing(box, dim, body);
    if (dim == 0 && r.inner) return halves(box, start, length, r.inner, acc, whole);
    if (dim == cut && r.blocks() > 1) return part_loop(box, start, length, dynamic, acc, whole);
    std::int64_t extent = r.extents[dim];
    if (box.unrolled) {
      Accumulators a = acc;
      for (std::int64_t i = 0; i < extent; ++i) a = body(Index(i), a);
      return a;
    }
    return counted_runs(box, extent, acc, whole);
  };
  return ops_.lane(nest(cut, {typed(box.init)})[0], d);
}

Lane KernelEmitter::chunk(const Box& box, const Index& which) {
  const ReduceShape& r = box.shape;
  std::size_t cut = r.chunk_dim;
  std::vector<std::int64_t> digits(r.extents.begin(),
                                   r.extents.begin() + static_cast<std::ptrdiff_t>(cut));
  digits.push_back(r.blocks());
  std::vector<Index> at = unflatten(which, digits);
  llvm::Value* dynamic = nullptr;
  bool ragged = r.blocks_of_part() > 1 && r.part() % r.chunk_length;
  Index part(0), begin = at[cut];
  if (r.blocks_of_part() > 1 && r.parts() > 1) {
    std::vector<Index> of = unflatten(begin, std::vector{r.parts(), r.blocks_of_part()});
    part = of[0];
    begin = of[1];
  }
  begin = begin * r.chunk_length;
  at[cut] = part * r.part() + begin;
  at.resize(r.extents.size());
  if (ragged) {
    llvm::Value* left =
        b_->CreateSub(b_->getInt64(static_cast<std::uint64_t>(r.part())), scalar(begin));
    llvm::Value* most = b_->getInt64(static_cast<std::uint64_t>(r.chunk_length));
    dynamic = b_->CreateBinaryIntrinsic(llvm::Intrinsic::umin, left, most);
  }
  std::int64_t length = std::min(r.chunk_length, r.extents[cut]);
  return r.lanes ? lanes_chunk(box, at, length, dynamic) : rows_chunk(box, at, length, dynamic);
}

Lane KernelEmitter::reduce(std::span<const std::int64_t> extents, Lane init,
                           const std::function<Lane(std::span<const Index>)>& element,
                           const std::function<Lane(Lane, Lane)>& combine) {
  if (extents.empty()) return combine(init, element({}));
  for (std::int64_t e : extents)
    if (e == 0) return init;
  Box box{reduce_shape(program_, *eqn_, extents), extents, init, element, combine, false};
  box.unrolled = !box.shape.lanes && box.shape.chunks() == 1 && box.shape.count() <= 12;
  std::int64_t chunks = box.shape.chunks();
  DType d = init.dtype;
  if (chunk_ && chunked_ == eqn_) {
    Index which = *chunk_;
    chunk_ = nullptr;
    Lane x = chunk(box, which);
    chunk_result_ = x;
    return x;
  }
  const SplitReduction* split = split_of(eqn_);
  if (split && stage_->reduced.contains(split->var)) {
    const Shape& out = program_.type(split->var).shape;
    Index here = flatten(*result_at_, out);
    llvm::Value* partials = scratch_pointer(split->partials);
    return ops_.lane(chunk_tree(box, Index(0), chunks, box.shape.outer, {typed(init)},
                                [&](const Index& c, const Accumulators& acc) -> Accumulators {
                                  Lane x = load(partials, d, c * out.count() + here);
                                  return {typed(combine(ops_.lane(acc[0], d), x))};
                                })[0],
                     d);
  }
  if (chunks == 1) return chunk(box, Index(0));
  return ops_.lane(chunk_tree(box, Index(0), chunks, box.shape.outer, {typed(init)},
                              [&](const Index& c, const Accumulators& acc) -> Accumulators {
                                return {typed(combine(ops_.lane(acc[0], d), chunk(box, c)))};
                              })[0],
                   d);
}

std::vector<Lane> KernelEmitter::fold(
    std::span<const std::int64_t> extents, std::vector<Lane> init,
    const std::function<std::vector<Lane>(std::span<const Index>, std::span<const Lane>)>& step) {
  std::int64_t count = 1;
  for (std::int64_t e : extents) count *= e;
  if (count == 0) return init;
  std::vector<Index> at(extents.size());
  auto lanes_of = [&](const Accumulators& a) {
    std::vector<Lane> x;
    for (std::size_t i = 0; i < a.size(); ++i) x.push_back(ops_.lane(a[i], init[i].dtype));
    return x;
  };
  std::function<Accumulators(std::size_t, const Accumulators&)> nest =
      [&](std::size_t dim, const Accumulators& acc) -> Accumulators {
    if (dim == extents.size()) {
      Accumulators next;
      for (const Lane& x : step(at, lanes_of(acc))) next.push_back(typed(x));
      return next;
    }
    auto body = [&](const Index& i, const Accumulators& a) {
      at[dim] = i;
      return nest(dim + 1, a);
    };
    if (count > 12) return counted(extents[dim], acc, body);
    Accumulators a = acc;
    for (std::int64_t i = 0; i < extents[dim]; ++i) a = body(Index(i), a);
    return a;
  };
  Accumulators start;
  for (const Lane& x : init) start.push_back(typed(x));
  return lanes_of(nest(0, start));
}

}  // namespace tessera::inline v0::codegen
