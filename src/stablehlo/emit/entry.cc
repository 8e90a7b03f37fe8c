#include "stablehlo/emit/entry.h"

#include <algorithm>
#include <utility>

namespace tessera::inline v0::stablehlo {

namespace {

bool same_sharding(const std::optional<Constraint>& a, const std::optional<Constraint>& b) {
  return a && b && a->mesh == b->mesh && a->spec == b->spec && a->open.empty() && b->open.empty();
}

}  // namespace

Entry entry_of(const Program& p, std::size_t arguments) {
  constexpr std::size_t kNone = ~std::size_t{0};
  std::vector<std::size_t> uses(p.types.size(), 0), reader(p.types.size(), kNone),
      maker(p.types.size(), kNone);
  for (std::size_t e = 0; e < p.equations.size(); ++e) {
    for (Var v : p.equations[e].inputs) {
      ++uses[v];
      reader[v] = e;
    }
    for (Var v : p.equations[e].outputs) maker[v] = e;
  }
  for (Var v : p.outputs) ++uses[v];

  Entry out{p, Constraints(arguments), Constraints(p.outputs.size())};
  std::vector<bool> taken(p.equations.size(), false);
  std::vector<Var> name(p.types.size());
  for (std::size_t v = 0; v < name.size(); ++v) name[v] = static_cast<Var>(v);
  const auto constrains = [&](std::size_t e) {
    return e != kNone && !taken[e] && p.equations[e].op->constrains;
  };
  for (std::size_t i = 0; i < arguments; ++i) {
    const Var v = p.inputs[i];
    const std::size_t e = reader[v];
    if (uses[v] != 1 || !constrains(e)) continue;
    out.inputs[i] = p.equations[e].op->constrains(p.equations[e].attrs);
    name[p.equations[e].outputs[0]] = v;
    taken[e] = true;
  }
  for (std::size_t i = 0; i < p.outputs.size(); ++i) {
    const Var v = p.outputs[i];
    const std::size_t e = maker[v];
    if (uses[v] != 1 || !constrains(e)) continue;
    out.outputs[i] = p.equations[e].op->constrains(p.equations[e].attrs);
    name[v] = name[p.equations[e].inputs[0]];
    taken[e] = true;
  }
  out.program.equations.clear();
  for (std::size_t e = 0; e < p.equations.size(); ++e) {
    if (taken[e]) continue;
    Equation& kept = out.program.equations.emplace_back(p.equations[e]);
    for (Var& v : kept.inputs) v = name[v];
  }
  for (Var& v : out.program.outputs) v = name[v];
  return out;
}

std::vector<Donation> donations(const std::vector<bool>& donated, const std::vector<Type>& in,
                                const std::vector<Type>& out, const Constraints& in_shardings,
                                const Constraints& out_shardings, bool several_devices) {
  std::vector<Donation> all(in.size());
  for (std::size_t i = 0; i < donated.size(); ++i) all[i].donated = donated[i];
  for (std::size_t k = 0; k < out.size(); ++k)
    for (std::size_t i = 0; i < in.size(); ++i) {
      if (!all[i].donated || all[i].result) continue;
      if (in[i].dtype != out[k].dtype || in[i].shape != out[k].shape) continue;
      if (several_devices && !same_sharding(in_shardings[i], out_shardings[k])) continue;
      all[i].result = k;
      break;
    }
  return all;
}

std::string braced(const Names& attributes) {
  return attributes.empty() ? "" : " {" + joined(attributes) + "}";
}

std::string donation_text(const Donation& donation) {
  if (donation.result) return "tf.aliasing_output = " + std::to_string(*donation.result) + " : i32";
  return donation.donated ? "jax.buffer_donor = true" : "";
}

}  // namespace tessera::inline v0::stablehlo
