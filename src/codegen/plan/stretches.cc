#include "codegen/plan/stretches.h"

#include "ir/op.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

namespace tessera::inline v0::tapes {
namespace {

// Bytes in front of what the equation takes of its operand, where that is neighbours in memory and
// not all of it.
std::optional<std::int64_t> stretch_of(const Program& p, const Equation& e) {
  if (!e.op->piece) return std::nullopt;
  const Type &x = p.type(e.inputs[0]), &y = p.type(e.outputs[0]);
  if (y.shape.count() == 0 || y.shape.count() == x.shape.count()) return std::nullopt;
  const Piece piece = e.op->piece(e.attrs);
  const Shape strides = x.shape.strides();
  std::int64_t first = 0;
  bool one = true;  // element of each dimension so far
  for (std::size_t d = 0; d < x.shape.size(); ++d) {
    if (y.shape[d] > 1 && piece.strides[d] != 1) return std::nullopt;
    if (!one && y.shape[d] != x.shape[d]) return std::nullopt;
    one = one && y.shape[d] == 1;
    first += piece.start[d] * strides[d];
  }
  return first * size_of(x.dtype);
}

}  // namespace

StretchedKernel stretched_kernel(const codegen::Cluster& c) {
  const Program& p = *c.program;
  constexpr int kNotOne = -1;
  std::vector<int> input(p.types.size(), kNotOne);  // by variable
  for (std::size_t i = 0; i < p.inputs.size(); ++i) input[p.inputs[i]] = static_cast<int>(i);
  std::vector<bool> whole(p.inputs.size());
  std::vector<std::optional<std::int64_t>> stretch;  // by equation
  bool any = false;
  for (const Equation& e : p.equations) {
    stretch.push_back(stretch_of(p, e));
    if (!stretch.back())
      for (Var v : e.inputs)
        if (input[v] != kNotOne) whole[static_cast<std::size_t>(input[v])] = true;
  }
  for (Var v : p.outputs)
    if (input[v] != kNotOne) whole[static_cast<std::size_t>(input[v])] = true;
  const auto taken = [&](std::size_t k) {
    if (!stretch[k]) return false;
    const int i = input[p.equations[k].inputs[0]];
    return i != kNotOne && !whole[static_cast<std::size_t>(i)];
  };
  for (std::size_t k = 0; k < p.equations.size(); ++k) any = any || taken(k);
  StretchedKernel out;
  if (!any) {
    out.program = c.program;
    for (Var v : p.inputs)
      out.inputs.push_back({c.inputs[static_cast<std::size_t>(input[v])], 0, p.type(v)});
    return out;
  }

  auto q = std::make_shared<Program>();
  q->name = p.name;
  std::vector<Var> now(p.types.size());
  const auto declare = [&](const Type& t) {
    q->types.push_back(t);
    return static_cast<Var>(q->types.size() - 1);
  };
  const auto read = [&](int i, std::int64_t offset, const Type& t) {
    out.inputs.push_back({c.inputs[static_cast<std::size_t>(i)], offset, t});
    q->inputs.push_back(declare(t));
    return q->inputs.back();
  };
  for (Var v : p.inputs)
    if (whole[static_cast<std::size_t>(input[v])]) now[v] = read(input[v], 0, p.type(v));
  std::map<std::tuple<int, std::int64_t, std::string>, Var> known;
  for (std::size_t k = 0; k < p.equations.size(); ++k) {
    const Equation& e = p.equations[k];
    if (!taken(k)) {
      q->equations.push_back(e);
      for (Var& v : q->equations.back().inputs) v = now[v];
      for (Var& v : q->equations.back().outputs) v = now[v] = declare(p.type(v));
      continue;
    }
    const int i = input[e.inputs[0]];
    const Type& t = p.type(e.outputs[0]);
    const auto [at, is_new] = known.try_emplace({i, *stretch[k], to_string(t)}, Var{0});
    if (is_new) at->second = read(i, *stretch[k], t);
    now[e.outputs[0]] = at->second;
    if (std::find(p.outputs.begin(), p.outputs.end(), e.outputs[0]) == p.outputs.end()) continue;
    // What the kernel gives has an equation that makes it.
    static const Op& same = Registry::get().at("reshape");
    Equation copy = e;
    copy.op = &same;
    copy.attrs = Attrs{{"shape", Ints(t.shape.begin(), t.shape.end())}};
    copy.inputs = {at->second};
    copy.outputs = {declare(t)};
    now[e.outputs[0]] = copy.outputs[0];
    q->equations.push_back(std::move(copy));
  }
  for (Var v : p.outputs) q->outputs.push_back(now[v]);
  out.program = std::move(q);
  return out;
}

}  // namespace tessera::inline v0::tapes
