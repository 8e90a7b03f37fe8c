#include "ir/op.h"

namespace tessera::inline v0 {

Waived& Waived::operator=(std::initializer_list<Reason> reasons) {
  clear();
  insert(reasons.begin(), reasons.end());
  return *this;
}
std::string_view& Waived::operator[](std::string_view rule) { return map::operator[](rule); }

Op::Op() = default;
Op::Op(const Op& other) = default;
Op::Op(Op&& other) noexcept = default;
Op& Op::operator=(const Op& other) = default;
Op& Op::operator=(Op&& other) noexcept = default;
Op::~Op() = default;

Registry& Registry::get() {
  // Leaked on purpose: programs that outlive main's static objects still point at their ops.
  static Registry* registry = [] {
    auto* r = new Registry;
    register_all_ops(*r);
    return r;
  }();
  return *registry;
}

const Op* Registry::find(std::string_view name) const {
  auto it = by_name_.find(name);
  return it == by_name_.end() ? nullptr : it->second;
}

const Op& Registry::at(std::string_view name) const {
  if (const Op* op = find(name)) return *op;
  throw InternalError("there is no op '" + std::string(name) + "'");
}

void Registry::add(Op op) {
  if (by_name_.count(op.name)) throw InternalError("op '" + op.name + "' is registered twice");
  ops_.push_back(std::make_unique<Op>(std::move(op)));
  by_name_[ops_.back()->name] = ops_.back().get();
}

namespace {
std::vector<AxisSet> apply(const VaryRule& rule, const Op& op, const Attrs& attrs,
                           std::span<const AxisSet> inputs) {
  if (rule) return rule({op, attrs, inputs});
  AxisSet all;
  for (const AxisSet& a : inputs) all |= a;
  return {all};
}
}  // namespace

std::vector<AxisSet> varying_of(const Op& op, const Attrs& attrs, std::span<const AxisSet> inputs) {
  return apply(op.vary, op, attrs, inputs);
}
std::vector<AxisSet> nonuniform_of(const Op& op, const Attrs& attrs,
                                   std::span<const AxisSet> inputs) {
  return apply(op.uniform, op, attrs, inputs);
}

}  // namespace tessera::inline v0
