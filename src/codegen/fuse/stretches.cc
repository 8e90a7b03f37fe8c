#include "codegen/fuse/stretches.h"

#include "ir/op.h"
#include "transform/pass.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace tessera::inline v0::codegen {
namespace {

// The byte offset of the slice that the equation takes of its operand, if the slice is contiguous
// and not the whole operand.
std::optional<std::int64_t> stretch_of(const Program& p, const Equation& e) {
  if (!e.op->strided_box) return std::nullopt;
  const Type &x = p.type(e.inputs[0]), &y = p.type(e.outputs[0]);
  if (y.shape.count() == 0 || y.shape.count() == x.shape.count()) return std::nullopt;
  const StridedBox piece = e.op->strided_box(e.attrs);
  const Shape strides = x.shape.strides();
  std::int64_t first = 0;
  bool one = true;  // whether all dimensions so far have one element
  for (std::size_t d = 0; d < x.shape.size(); ++d) {
    if (y.shape[d] > 1 && piece.strides[d] != 1) return std::nullopt;
    if (!one && y.shape[d] != x.shape[d]) return std::nullopt;
    one = one && y.shape[d] == 1;
    first += piece.start[d] * strides[d];
  }
  return first * size_of(x.dtype);
}

// Rewrites one kernel with its stretches as operands.
class Retelling {
 public:
  explicit Retelling(const Cluster& c)
      : c_(c), p_(*c.program), operand_(p_.types.size(), kNone), now_(p_.types.size()) {
    for (std::size_t i = 0; i < p_.inputs.size(); ++i) operand_[p_.inputs[i]] = static_cast<int>(i);
    whole_.resize(p_.inputs.size());
    for (const Equation& e : p_.equations) {
      stretches_.push_back(stretch_of(p_, e));
      if (!stretches_.back()) read_whole(e.inputs);
    }
    read_whole(p_.outputs);
  }

  // Returns nothing if the kernel reads no stretches.
  std::optional<Cluster> run() {
    bool any = false;
    for (std::size_t k = 0; k < p_.equations.size(); ++k) any = any || becomes_operand(k);
    if (!any) return std::nullopt;
    q_->name = p_.name;
    for (std::size_t i = 0; i < p_.inputs.size(); ++i)
      if (whole_[i]) now_[p_.inputs[i]] = add_operand(i, 0, p_.type(p_.inputs[i]));
    for (std::size_t k = 0; k < p_.equations.size(); ++k)
      becomes_operand(k) ? tell_stretch(k) : tell(p_.equations[k]);
    for (Var v : p_.outputs) q_->outputs.push_back(now_[v]);
    Cluster told = c_;
    told.program = std::move(q_);
    told.inputs = std::move(inputs_);
    told.offsets = std::move(offsets_);
    return told;
  }

 private:
  static constexpr int kNone = -1;

  void read_whole(const std::vector<Var>& variables) {
    for (Var v : variables)
      if (operand_[v] != kNone) whole_[static_cast<std::size_t>(operand_[v])] = true;
  }
  bool becomes_operand(std::size_t k) const {
    if (!stretches_[k]) return false;
    const int i = operand_[p_.equations[k].inputs[0]];
    return i != kNone && !whole_[static_cast<std::size_t>(i)];
  }

  Var declare(const Type& t) {
    q_->types.push_back(t);
    return static_cast<Var>(q_->types.size() - 1);
  }
  Var add_operand(std::size_t i, std::int64_t offset, const Type& t) {
    inputs_.push_back(c_.inputs[i]);
    offsets_.push_back(offset);
    q_->inputs.push_back(declare(t));
    return q_->inputs.back();
  }
  void tell(const Equation& e) {
    Equation told = e;
    for (Var& v : told.inputs) v = now_[v];
    for (Var& v : told.outputs) v = now_[v] = declare(p_.type(v));
    q_->equations.push_back(std::move(told));
  }
  // Equal slices have already been merged into one equation; two equal operands would be harmless,
  // too.
  void tell_stretch(std::size_t k) {
    const Equation& e = p_.equations[k];
    const Var slice = e.outputs[0];
    const Type& t = p_.type(slice);
    const auto i = static_cast<std::size_t>(operand_[e.inputs[0]]);
    now_[slice] = add_operand(i, *stretches_[k], t);
    if (std::find(p_.outputs.begin(), p_.outputs.end(), slice) == p_.outputs.end()) return;
    // An output of a kernel must be computed by an equation, so add a reshape to the same shape.
    static const Op& same = Registry::get().at("reshape");
    Equation made = e;
    made.op = &same;
    made.attrs = Attrs{{"shape", t.shape.to_vector()}};
    made.inputs = {now_[slice]};
    made.outputs = {declare(t)};
    now_[slice] = made.outputs[0];
    q_->equations.push_back(std::move(made));
  }

  const Cluster& c_;
  const Program& p_;
  std::vector<int> operand_;  // by variable: the number of the operand, or kNone
  std::vector<Var> now_;      // by variable of p_: the variable of q_
  std::vector<bool> whole_;   // by operand
  std::vector<std::optional<std::int64_t>> stretches_;  // by equation
  std::shared_ptr<Program> q_ = std::make_shared<Program>();
  std::vector<Var> inputs_;
  std::vector<std::int64_t> offsets_;
};

bool has_pieces(const Cluster& c) {
  return c.program &&
         std::any_of(c.program->equations.begin(), c.program->equations.end(),
                     [](const Equation& e) { return static_cast<bool>(e.op->strided_box); });
}

}  // namespace

void read_stretches(const Program& p, std::vector<Cluster>& clusters) {
  PassRun run("stretches", p);
  if (run.off()) return;
  std::vector<const Cluster*> told;
  for (Cluster& c : clusters) {
    if (!has_pieces(c)) continue;
    if (std::optional<Cluster> other = Retelling(c).run()) {
      c = std::move(*other);
      told.push_back(&c);
#ifdef TESSERA_VERIFY_PASSES
      verify(*c.program, "stretches");
#endif
    }
  }
  run.gave([&] {
    std::string text;
    for (const Cluster* c : told) text += to_string(*c->program) + "\n";
    return text;
  });
}

}  // namespace tessera::inline v0::codegen
