#include "transform/policies.h"

#include "ir/op.h"

#include <algorithm>

namespace tessera::inline v0 {

namespace {

struct Everything : RematPolicy {
  bool keep;
  explicit Everything(bool k) : keep(k) {}
  std::string name() const override { return keep ? "everything_saveable" : "nothing_saveable"; }
  bool saveable(const Equation&, const Program&) const override { return keep; }
};

struct Dots : RematPolicy {
  bool batched;
  explicit Dots(bool b) : batched(b) {}
  std::string name() const override {
    return batched ? "dots_saveable" : "dots_with_no_batch_dims_saveable";
  }
  bool saveable(const Equation& eqn, const Program&) const override {
    const Product product = eqn.op->product ? eqn.op->product(eqn.attrs) : Product::none;
    return product == Product::plain || (batched && product == Product::batched);
  }
};

struct Names : RematPolicy {
  std::vector<std::string> names;
  bool keep;
  Names(std::vector<std::string> n, bool k) : names(std::move(n)), keep(k) {}
  std::string name() const override {
    std::string s = keep ? "save_only_these_names(" : "save_any_names_but_these(";
    for (std::size_t i = 0; i < names.size(); ++i) s += (i ? ", " : "") + names[i];
    return s + ")";
  }
  bool saveable(const Equation& eqn, const Program&) const override {
    if (!eqn.op->label) return false;
    bool listed = std::find(names.begin(), names.end(), *eqn.op->label(eqn.attrs)) != names.end();
    return listed == keep;
  }
};

}  // namespace

RematPolicyPtr nothing_saveable() { return std::make_shared<Everything>(false); }
RematPolicyPtr everything_saveable() { return std::make_shared<Everything>(true); }
RematPolicyPtr dots_saveable() { return std::make_shared<Dots>(true); }
RematPolicyPtr dots_with_no_batch_dims_saveable() { return std::make_shared<Dots>(false); }
RematPolicyPtr save_only_these_names(std::vector<std::string> names) {
  return std::make_shared<Names>(std::move(names), true);
}
RematPolicyPtr save_any_names_but_these(std::vector<std::string> names) {
  return std::make_shared<Names>(std::move(names), false);
}

}  // namespace tessera::inline v0
