// Slices of one array that are put together again: one slice, or one gather.
#include "ir/op.h"
#include "transform/simplify.h"

#include <algorithm>
#include <cstring>

namespace tessera::inline v0 {

namespace {

// Fewer pieces than this are read from their places by the concatenation itself.
constexpr std::size_t kWorthGathering = 8;

class Joiner {
 public:
  explicit Joiner(const Program& p) : q_(std::make_shared<Program>(p)), slice_of_(p.types.size()) {
    q_->equations.clear();
    for (const Equation& e : p.equations)
      if (e.op->name == "slice") slice_of_[e.outputs[0]] = &e;
    for (const Equation& e : p.equations)
      e.op->name == "concatenate" ? join(e) : q_->equations.push_back(e);
  }
  ProgramPtr run() { return changed_ ? ProgramPtr(prune(*q_)) : nullptr; }

 private:
  // Whether two pieces are slices of one array that differ along dimension `d` alone.
  bool alike(Var a, Var b, std::size_t d) const {
    const Equation *x = piece(a), *y = piece(b);
    if (!x || !y || x->inputs != y->inputs) return false;
    for (const char* name : {"start", "limit", "strides"}) {
      Ints u = x->attrs.ints(name), v = y->attrs.ints(name);
      u[d] = v[d] = 0;
      if (u != v) return false;
    }
    return true;
  }
  const Equation* piece(Var v) const { return v < slice_of_.size() ? slice_of_[v] : nullptr; }

  void join(const Equation& e) {
    const auto d = static_cast<std::size_t>(e.attrs.i("dimension"));
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

  // The pieces [first, last) as one array; kNone where they are better left alone.
  Var together(const Equation& e, std::size_t first, std::size_t last, std::size_t d) {
    const Equation& slice = *piece(e.inputs[first]);
    Ints positions;
    for (std::size_t k = first; k < last; ++k) {
      const Attrs& a = piece(e.inputs[k])->attrs;
      for (std::int64_t i = a.ints("start")[d]; i < a.ints("limit")[d]; i += a.ints("strides")[d])
        positions.push_back(i);
    }
    if (positions.empty()) return kNone;
    const std::int64_t step = positions.size() > 1 ? positions[1] - positions[0] : 1;
    bool even = step > 0;
    for (std::size_t i = 1; i < positions.size(); ++i)
      even = even && positions[i] - positions[i - 1] == step;
    Type t = q_->types[e.inputs[first]];
    t.shape[d] = static_cast<std::int64_t>(positions.size());
    Equation made = slice;
    made.loc = e.loc;
    if (even) {
      Ints start = slice.attrs.ints("start"), limit = slice.attrs.ints("limit"),
           strides = slice.attrs.ints("strides");
      start[d] = positions.front(), limit[d] = positions.back() + 1, strides[d] = step;
      made.attrs = {{"start", start}, {"limit", limit}, {"strides", strides}};
      return add(std::move(made), t);
    }
    if (last - first < kWorthGathering || !t.varying.empty()) return kNone;
    return gathered(slice, std::move(positions), t, d);
  }

  // The block that the slices share, and of it the entries along dimension `d` at `positions`.
  Var gathered(const Equation& slice, Ints positions, const Type& t, std::size_t d) {
    Equation block = slice;
    Ints start = slice.attrs.ints("start"), limit = slice.attrs.ints("limit"),
         strides = slice.attrs.ints("strides");
    const std::int64_t extent = q_->types[slice.inputs[0]].shape[d];
    start[d] = 0, limit[d] = extent, strides[d] = 1;
    block.attrs = {{"start", start}, {"limit", limit}, {"strides", strides}};
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
  if (std::none_of(p->equations.begin(), p->equations.end(), [](const Equation& e) {
        return e.op->name == "concatenate" && e.inputs.size() > 1;
      }))
    return p;
  ProgramPtr q = Joiner(*p).run();
  return q ? q : p;
}

}  // namespace tessera::inline v0
