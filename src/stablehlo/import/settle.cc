// Evaluates values determined by constants and shapes during import.
#include "ir/host_array.h"
#include "ir/nested.h"
#include "ir/op.h"
#include "stablehlo/import/scope.h"

#include <algorithm>

namespace tessera::inline v0::stablehlo {

namespace {

// Arithmetic on shapes involves few numbers.
constexpr std::int64_t kMostElements = 64;

HostArray array_of(const Known& k) {
  HostArray out(k.literal.dtype, k.shape);
  const auto size = static_cast<std::size_t>(size_of(k.literal.dtype));
  const bool one = k.literal.shape != k.shape;
  for (std::size_t i = 0; i < static_cast<std::size_t>(k.shape.count()); ++i)
    std::copy_n(k.literal.bytes->data() + (one ? 0 : i * size), size, out.bytes + i * size);
  return out;
}

bool is_small(const Type& t) { return t.shape.count() <= kMostElements; }

// Whether the results follow from the operands alone and may be computed at any time. Host
// functions are barriers: they run when the program does, and may return other values each time.
bool can_be_evaluated(const Equation& e) {
  return e.op->evaluate && !e.op->position && (!e.op->barrier || e.op->forwards) &&
         !any_nested(e.attrs, [](const ProgramPtr& p) {
           return !std::all_of(p->equations.begin(), p->equations.end(), can_be_evaluated);
         });
}

}  // namespace

const Equation* Level::made_by(Value v) {
  return v.builder == &builder_ ? builder_.producer(v.var) : nullptr;
}

const Known* Level::settle(Value v) {
  if (v.builder != &builder_) return nullptr;
  const Program& p = builder_.so_far();
  std::vector<Var> stack{v.var};
  while (!stack.empty()) {
    const Var top = stack.back();
    if (known({&builder_, top}) || open_.contains(top)) {
      stack.pop_back();
      continue;
    }
    const auto give_up = [&] {
      open_.insert(top);
      stack.pop_back();
    };
    if (!is_small(p.type(top))) {
      give_up();
      continue;
    }
    const Equation* made_by = builder_.producer(top);
    if (!made_by) {
      const auto outside = from_outside_.find(top);
      const Known* k = outside == from_outside_.end() ? nullptr : outer_->settle(outside->second);
      if (k)
        know({&builder_, top}, *k);
      else
        open_.insert(top);
      stack.pop_back();
      continue;
    }
    const Equation& e = *made_by;
    const auto waits = [&](Var in) { return !known({&builder_, in}); };
    if (!can_be_evaluated(e) ||
        std::any_of(e.inputs.begin(), e.inputs.end(), [&](Var in) { return open_.contains(in); }) ||
        std::any_of(e.outputs.begin(), e.outputs.end(),
                    [&](Var out) { return !is_small(p.type(out)); })) {
      give_up();
      continue;
    }
    if (std::any_of(e.inputs.begin(), e.inputs.end(), waits)) {
      std::copy_if(e.inputs.begin(), e.inputs.end(), std::back_inserter(stack), waits);
      continue;
    }
    std::vector<HostArray> in, out;
    for (Var i : e.inputs) in.push_back(array_of(*known({&builder_, i})));
    for (Var o : e.outputs) out.emplace_back(p.type(o).dtype, p.type(o).shape);
    e.op->evaluate({e.attrs, in, out});
    for (std::size_t i = 0; i < out.size(); ++i) {
      auto bytes = std::make_shared<const std::vector<std::byte>>(
          out[i].bytes, out[i].bytes + static_cast<std::size_t>(out[i].size_bytes()));
      know({&builder_, e.outputs[i]},
           {{out[i].dtype, out[i].shape, std::move(bytes)}, out[i].shape});
    }
  }
  return known(v);
}

}  // namespace tessera::inline v0::stablehlo
