// Turns a sum over devices of products that contract rows into one product over the rows of all
// devices.
//
// The gradient of a dense layer's weights is a product over the batch. Averaging it over the
// devices would read a result as large as the weights from every device. If a device has fewer rows
// than that, gathering the rows moves less data, and often none, because the blocks of one
// temporary are adjacent. The product is then computed once, exactly as one device with the whole
// batch computes it.
#include "codegen/tape/context.h"
#include "ir/collective_attrs.h"
#include "ir/op.h"
#include "transform/pass.h"

#include <algorithm>

namespace tessera::inline v0::tape {
namespace {

bool is_sum(const Equation& e) {
  if (e.op->exchange != Exchange::combine || e.op->combiner != Combiner::add) return false;
  return !CollectiveAttrs(e.attrs).grouped();
}

bool sums_few_rows(const Program& p, const Equation& product) {
  if (!product.op->sums_rows) return false;
  std::vector<Type> inputs, outputs;
  for (Var v : product.inputs) inputs.push_back(p.type(v));
  for (Var v : product.outputs) outputs.push_back(p.type(v));
  return product.op->sums_rows({inputs, outputs, product.attrs});
}

std::optional<JointProducts> joint_products(const Program& p, const std::vector<AxisSet>& differs,
                                            const AxisSize& size) {
  std::vector<int> uses(p.types.size()), producer(p.types.size(), -1);
  for (const Equation& e : p.equations)
    for (Var v : e.inputs) ++uses[v];
  for (Var v : p.outputs) ++uses[v];
  for (std::size_t k = 0; k < p.equations.size(); ++k)
    for (Var v : p.equations[k].outputs) producer[v] = static_cast<int>(k);

  std::vector<std::size_t> joint(p.equations.size());  // for a sum: 1 + the index of its product
  std::vector<bool> gone(p.equations.size());
  bool any = false;
  for (std::size_t k = 0; k < p.equations.size(); ++k) {
    const Equation& sum = p.equations[k];
    if (!is_sum(sum) || sum.inputs.size() != 1 || uses[sum.inputs[0]] != 1) continue;
    int maker = producer[sum.inputs[0]];
    if (maker < 0) continue;
    const Equation& product = p.equations[static_cast<std::size_t>(maker)];
    if (!sums_few_rows(p, product)) continue;
    bool varies = true;
    for (const std::string& axis : CollectiveAttrs(sum.attrs).axes)
      for (Var v : product.inputs) varies = varies && differs[v].contains(axis);
    if (devices_of(sum, size) == 1 || !varies) continue;
    joint[k] = 1 + static_cast<std::size_t>(maker);
    gone[static_cast<std::size_t>(maker)] = true;
    any = true;
  }
  if (!any) return std::nullopt;

  JointProducts made{p, {}, {}};
  Program& q = made.program;
  q.equations.clear();
  // In a program with varying types, the gathered value must have the type of the sum: equal on all
  // devices.
  const Op &gather = Registry::get().at("all_gather"),
           &gather_invariant = Registry::get().at("all_gather_invariant");
  std::map<std::pair<Var, Strings>, Var> gathered;
  for (std::size_t k = 0; k < p.equations.size(); ++k) {
    if (gone[k]) continue;
    const auto add = [&](Equation e, std::int64_t works_for, const Equation* counts_as) {
      q.equations.push_back(std::move(e));
      made.works_for.push_back(works_for);
      made.counts_as.push_back(counts_as);
    };
    const std::int64_t members = devices_of(p.equations[k], size);
    if (!joint[k]) {
      add(p.equations[k], 1, &p.equations[k]);
      continue;
    }
    const Equation& sum = p.equations[k];
    const Strings& axes = CollectiveAttrs(sum.attrs).axes;
    Equation product = p.equations[joint[k] - 1];
    for (Var& v : product.inputs) {
      auto [at, fresh] = gathered.try_emplace({v, axes});
      if (fresh) {
        Type t = q.types[v];
        t.shape[0] *= members;
        const bool typed = t.varying.contains(axes[0]);
        for (const std::string& axis : axes) t.varying.erase(axis);
        q.types.push_back(t);
        at->second = static_cast<Var>(q.types.size() - 1);
        Equation e;
        e.op = typed ? &gather_invariant : &gather;
        e.inputs = {v};
        e.outputs = {at->second};
        e.attrs = CollectiveAttrs::make(axes, members, {});
        GatherAttrs(0, true).set_in(e.attrs);
        e.loc = product.loc;
        e.scope = product.scope;
        add(std::move(e), 1, nullptr);
      }
      v = at->second;
    }
    product.outputs = sum.outputs;
    add(std::move(product), members, &sum);
  }
  return made;
}

}  // namespace

std::int64_t devices_of(const Equation& eqn, const AxisSize& size) {
  std::int64_t devices = 1;
  if (eqn.op->exchange != Exchange::none)
    for (const std::string& axis : CollectiveAttrs(eqn.attrs).axes) devices *= size(axis);
  return devices;
}

std::optional<JointProducts> with_joint_products(const Program& p,
                                                 const std::vector<AxisSet>& differs,
                                                 const AxisSize& size) {
  PassRun run("joint_products", p);
  if (run.off()) return std::nullopt;
  std::optional<JointProducts> joint = joint_products(p, differs, size);
  if (joint)
    run.gave(joint->program);
  else
    run.gave([&] { return to_string(p); });
  return joint;
}

}  // namespace tessera::inline v0::tape
