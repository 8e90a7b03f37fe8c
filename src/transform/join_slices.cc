// Replaces a concatenation of slices of one array by one slice or one gather.
#include "ir/op.h"
#include "transform/simplify.h"

#include <algorithm>
#include <cstring>

namespace tessera::inline v0 {

namespace {

// The concatenation itself reads fewer pieces than this directly from the sliced array.
constexpr std::size_t kWorthGathering = 8;

class Joiner {
 public:
  explicit Joiner(const Program& p) : q_(std::make_shared<Program>(p)), slice_of_(p.types.size()) {
    q_->equations.clear();
    for (const Equation& e : p.equations)
      if (e.op->strided_box) slice_of_[e.outputs[0]] = &e;
    for (const Equation& e : p.equations) e.op->joins ? join(e) : q_->equations.push_back(e);
  }
  ProgramPtr run() { return changed_ ? ProgramPtr(prune(*q_)) : nullptr; }

 private:
  // Whether two operands are slices of one array that differ only along dimension `d`.
  bool alike(Var a, Var b, std::size_t d) const {
    const Equation *x = slice_of(a), *y = slice_of(b);
    if (!x || !y || x->inputs != y->inputs) return false;
    StridedBox u = piece(*x), v = piece(*y);
    for (auto part : {&StridedBox::start, &StridedBox::limit, &StridedBox::strides}) {
      (u.*part)[d] = (v.*part)[d] = 0;
      if (u.*part != v.*part) return false;
    }
    return true;
  }
  const Equation* slice_of(Var v) const { return v < slice_of_.size() ? slice_of_[v] : nullptr; }
  static StridedBox piece(const Equation& e) { return e.op->strided_box(e.attrs); }

  void join(const Equation& e) {
    const auto d = static_cast<std::size_t>(e.op->joins(e.attrs));
    Equation joined = e;
    joined.inputs.clear();
    for (std::size_t first = 0; first < e.inputs.size();) {
      std::size_t last = first + 1;
      while (last < e.inputs.size() && alike(e.inputs[first], e.inputs[last], d)) ++last;
      const Var whole = last - first > 1 ? together(e, first, last, d) : e.inputs[first];
      if (whole == kNone)
        joined.inputs.insert(joined.inputs.end(), e.inputs.begin() + std::ptrdiff_t(first),
                             e.inputs.begin() + std::ptrdiff_t(last));
      else
        joined.inputs.push_back(whole);
      changed_ = changed_ || (last - first > 1 && whole != kNone);
      first = last;
    }
    q_->equations.push_back(std::move(joined));
  }

  // Joins the operands [first, last) into one array; kNone if they are better left alone.
  Var together(const Equation& e, std::size_t first, std::size_t last, std::size_t d) {
    const Equation& slice = *slice_of(e.inputs[first]);
    Ints positions;
    for (std::size_t k = first; k < last; ++k) {
      const StridedBox at = piece(*slice_of(e.inputs[k]));
      for (std::int64_t i = at.start[d]; i < at.limit[d]; i += at.strides[d])
        positions.push_back(i);
    }
    if (positions.empty()) return kNone;
    const std::int64_t step = positions.size() > 1 ? positions[1] - positions[0] : 1;
    bool even = step > 0;
    for (std::size_t i = 1; i < positions.size(); ++i)
      even = even && positions[i] - positions[i - 1] == step;
    Type t = q_->types[e.inputs[first]];
    t.shape[d] = static_cast<std::int64_t>(positions.size());
    if (even) {
      Equation made = sliced(slice, d, positions.front(), positions.back() + 1, step);
      made.loc = e.loc;
      return add(std::move(made), t);
    }
    if (last - first < kWorthGathering || !t.varying.empty()) return kNone;
    return gathered(slice, std::move(positions), t, d);
  }

  // The slice with another range along dimension `d`.
  static Equation sliced(const Equation& slice, std::size_t d, std::int64_t start,
                         std::int64_t limit, std::int64_t step) {
    StridedBox at = piece(slice);
    at.start[d] = start, at.limit[d] = limit, at.strides[d] = step;
    Equation made = slice;
    made.op = &Registry::get().at("slice");
    made.attrs = {{"start", at.start}, {"limit", at.limit}, {"strides", at.strides}};
    return made;
  }

  // Gathers the entries at `positions` along dimension `d` from the block that the slices share.
  Var gathered(const Equation& slice, Ints positions, const Type& t, std::size_t d) {
    const std::int64_t extent = q_->types[slice.inputs[0]].shape[d];
    Equation block = sliced(slice, d, 0, extent, 1);
    Type whole = t;
    whole.shape[d] = extent;

    auto bytes = std::make_shared<std::vector<std::byte>>(positions.size() * sizeof(std::int64_t));
    std::memcpy(bytes->data(), positions.data(), bytes->size());
    Shape indices{static_cast<std::int64_t>(positions.size()), 1};
    Equation constant = slice;
    constant.op = &Registry::get().at("constant");
    constant.inputs.clear();
    constant.attrs = {{"value", Literal{DType::int64, indices, std::move(bytes)}}};

    Equation gather = slice;
    gather.op = &Registry::get().at("gather");
    Ints sizes = whole.shape.to_vector(), offsets;
    sizes[d] = 1;
    for (std::size_t k = 0; k < sizes.size(); ++k)
      if (k != d) offsets.push_back(static_cast<std::int64_t>(k));
    const auto dim = static_cast<std::int64_t>(d);
    gather.attrs = {{"offset_dims", offsets},
                    {"collapsed_slice_dims", Ints{dim}},
                    {"operand_batching_dims", Ints{}},
                    {"start_indices_batching_dims", Ints{}},
                    {"start_index_map", Ints{dim}},
                    {"index_vector_dim", std::int64_t{1}},
                    {"slice_sizes", sizes},
                    {"mode", std::string("clip")}};
    gather.inputs = {add(std::move(block), whole),
                     add(std::move(constant), Type(DType::int64, indices))};
    return add(std::move(gather), t);
  }

  Var add(Equation e, const Type& t) {
    q_->types.push_back(t);
    e.outputs = {static_cast<Var>(q_->types.size() - 1)};
    q_->equations.push_back(std::move(e));
    return q_->equations.back().outputs[0];
  }

  static constexpr Var kNone = static_cast<Var>(-1);
  std::shared_ptr<Program> q_;
  std::vector<const Equation*> slice_of_;
  bool changed_ = false;
};

}  // namespace

ProgramPtr join_slices(const ProgramPtr& p) {
  if (std::none_of(p->equations.begin(), p->equations.end(),
                   [](const Equation& e) { return e.op->joins && e.inputs.size() > 1; }))
    return p;
  ProgramPtr q = Joiner(*p).run();
  return q ? q : p;
}

}  // namespace tessera::inline v0
