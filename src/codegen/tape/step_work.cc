#include "codegen/tape/step_work.h"
#include "ir/collective_attrs.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace tessera::inline v0::tape {

namespace {

bool hands_operand_on(const Equation& eqn) {
  return eqn.op->forwards || eqn.op->lowering == Lowering::view;
}

double bytes_of(const Program& p, const std::vector<Var>& vars) {
  double bytes = 0;
  for (Var v : vars) bytes += static_cast<double>(p.types[v].bytes());
  return bytes;
}

}  // namespace

Cost cost_of(const Program& p, const Equation& eqn) {
  if (!eqn.op->cost || hands_operand_on(eqn)) return {};
  std::vector<Type> in, out;
  for (Var v : eqn.inputs) in.push_back(p.types[v]);
  for (Var v : eqn.outputs) out.push_back(p.types[v]);
  const Cost cost = eqn.op->cost(in, out, eqn.attrs);
  return {std::round(cost.flops), std::round(cost.bytes)};  // the costs of FFTs contain logarithms
}

double bytes_alone(const Program& p, const Equation& eqn) {
  const double all = bytes_of(p, eqn.inputs) + bytes_of(p, eqn.outputs);
  return eqn.op->cost && !hands_operand_on(eqn) ? std::min(all, cost_of(p, eqn).bytes) : all;
}

double bytes_of_kernel(const Program& kernel) {
  // Computes, from the results back to the operands, how many bytes of each value are needed.
  std::vector<double> needed(kernel.types.size());
  const auto size = [&](Var v) { return static_cast<double>(kernel.types[v].bytes()); };
  for (Var v : kernel.outputs) needed[v] = size(v);
  for (std::size_t k = kernel.equations.size(); k-- > 0;) {
    const Equation& eqn = kernel.equations[k];
    double part = 0;  // the needed fraction of its results
    for (Var v : eqn.outputs)
      if (size(v) > 0) part = std::max(part, std::min(1.0, needed[v] / size(v)));
    // Unread bytes belong to the largest operand, such as a table that is gathered from or a sliced
    // array.
    const double unread =
        bytes_of(kernel, eqn.inputs) + bytes_of(kernel, eqn.outputs) - bytes_alone(kernel, eqn);
    const auto largest = std::max_element(eqn.inputs.begin(), eqn.inputs.end(),
                                          [&](Var a, Var b) { return size(a) < size(b); });
    for (auto v = eqn.inputs.begin(); v != eqn.inputs.end(); ++v)
      needed[*v] += part * std::max(0.0, size(*v) - (v == largest ? unread : 0));
  }
  double bytes = 0;
  for (Var v : kernel.inputs) bytes += std::round(std::min(size(v), needed[v]));
  for (Var v : std::set<Var>(kernel.outputs.begin(), kernel.outputs.end())) bytes += size(v);
  return bytes;
}

spmd::MoveKind kind_of(Exchange exchange) {
  switch (exchange) {
    case Exchange::combine: return spmd::MoveKind::all_reduce;
    case Exchange::combine_scatter: return spmd::MoveKind::reduce_scatter;
    case Exchange::gather: return spmd::MoveKind::all_gather;
    case Exchange::all_to_all: return spmd::MoveKind::all_to_all;
    case Exchange::none:
    case Exchange::permute:
    case Exchange::broadcast: break;
  }
  return spmd::MoveKind::permute;
}

std::int64_t received_bytes(const Program& p, const Equation& eqn, std::int64_t devices) {
  if (eqn.op->exchange == Exchange::none) return 0;
  std::int64_t members = devices;
  if (const CollectiveAttrs among(eqn.attrs); among.grouped()) {
    members = 0;
    for (const Ints& group : among.groups) members = std::max(members, std::ssize(group));
  }
  if (members == 1) return 0;
  return spmd::received_bytes(kind_of(eqn.op->exchange), members, p.types[eqn.inputs[0]].bytes(),
                              p.types[eqn.outputs[0]].bytes());
}

Received received_along(const Program& p, std::span<const Equation* const> message,
                        const spmd::AtomMesh& atoms, const spmd::Links& links) {
  const Equation& first = *message[0];
  const MeshShape& mesh = atoms.mesh();
  spmd::AtomSet over;
  std::int64_t members = 1;
  for (const std::string& axis : CollectiveAttrs(first.attrs).axes) {
    const int number = mesh.find(axis);
    if (number < 0) continue;  // the axis belongs to vmap: all data is on one device
    members *= mesh.sizes[static_cast<std::size_t>(number)];
    over |= spmd::AtomSet(atoms.atoms_of(number));
  }
  Received r;
  double before = 0, after = 0;
  for (const Equation* eqn : message) {
    r.bytes += received_bytes(p, *eqn, members);
    before += static_cast<double>(p.types[eqn->inputs[0]].bytes());
    after += static_cast<double>(p.types[eqn->outputs[0]].bytes());
  }
  r.along = links.crossings(atoms, kind_of(first.op->exchange), over, before, after);
  double among_all = 0;
  for (const spmd::Crossing& c : r.along) among_all += c.bytes;
  const bool in_groups = CollectiveAttrs(first.attrs).grouped();
  const double share = in_groups && among_all > 0 ? static_cast<double>(r.bytes) / among_all : 1;
  for (spmd::Crossing& c : r.along) {
    c.bytes *= share;
    c.seconds *= share;
  }
  return r;
}

}  // namespace tessera::inline v0::tape
