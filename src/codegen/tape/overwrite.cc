// Values that are written into the memory of other values.
#include "codegen/tape/lower.h"

namespace tessera::inline v0::tape {

// The operand in whose memory the planner wants a result; -1 if there is none.
int Lowerer::takes(const Equation& eqn, std::size_t result) const {
  const auto& t = updates_.takes[static_cast<std::size_t>(&eqn - flat_.equations.data())];
  return t.empty() ? -1 : t[result];
}

// Places a result of `eqn` in the memory of its operand, if that memory is writable, is used as a
// whole and has one instance for each instance of the result. Otherwise makes a new value. Donated
// arguments are excluded, because only the caller can give them up.
Ref Lowerer::value_over(const Equation& eqn, std::size_t result, Mask mask, const Ref& operand) {
  const Var v = eqn.outputs[result];
  const Slot& s = at(operand.slot);
  const bool writable =
      s.space == Space::arena || (s.space == Space::argument && !top_ && !s.overwritten);
  if (takes(eqn, result) < 0 || !writable || s.stored || s.overwritten || operand.offset ||
      !operand.cut.empty() || operand.absorbed || s.mask != mask ||
      s.bytes != flat_.types[v].bytes())
    return new_value(v, mask);
  ref_[v] = over(operand, flat_.types[v]);
  at(ref_[v].slot).same = mask & ~level_.differs[v];
  return ref_[v];
}

// A donated argument may become the result only if nothing reads it afterwards. schedule() orders
// the readers of memory that the planner owns.
void Lowerer::wait_for_readers(const Equation& eqn, std::size_t step) {
  for (std::size_t k = 0; k < eqn.outputs.size(); ++k) {
    const int j = takes(eqn, k);
    if (j < 0 || at(draft_.steps[step].outputs[k].slot).over >= 0) continue;
    const int read = draft_.steps[step].inputs[static_cast<std::size_t>(j)].slot;
    for (std::size_t s = 0; s < step; ++s)
      for (const Ref& r : draft_.steps[s].inputs)
        if (r.slot == read) draft_.after[step].push_back(s);
  }
}

// For each result of the body, the argument of the carry that it updates in place, or -1.
std::vector<int> Lowerer::loop_ties(const Equation& eqn, const Flow& flow) const {
  std::vector<int> ties(eqn.outputs.size(), -1);
  const auto& operands = updates_.updated[static_cast<std::size_t>(&eqn - flat_.equations.data())];
  if (operands.empty()) return ties;
  const int others = static_cast<int>(flow.cond_consts);
  for (std::size_t k = 0; k < ties.size(); ++k)
    if (operands[k] >= 0) ties[k] = operands[k] - others;
  return ties;
}

// The slot of result `k`, which the caller wants in the memory of an argument. If updates have not
// left the result there, it is copied there after the argument's last reader.
int Lowerer::tied_slot(const Ref& r, std::size_t k, Mask mask, const Type& type) {
  const int argument = draft_.tape->arguments[static_cast<std::size_t>(ties_[k])].slot;
  const bool there = draft_.tape->place(r.slot) == argument;
  if (there && !at(r.slot).overwritten && r.offset == 0 && r.cut.empty() && r.absorbed == 0)
    return r.slot;
  const Ref from = there ? copy_of(r, mask, type, Space::arena) : r;
  int last = argument;
  for (int s = argument; s < static_cast<int>(draft_.tape->slots.size()); ++s)
    if (at(s).over == last) last = s;
  const Ref to = over(Ref{last}, type);
  copy(from, to, mask, type);
  return to.slot;
}

}  // namespace tessera::inline v0::tape
