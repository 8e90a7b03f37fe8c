// Decides where a level's results are stored: in memory of the caller, in an argument or in an
// earlier result.
#include "codegen/tape/lower.h"

namespace tessera::inline v0::tape {

void Lowerer::place_results(const std::vector<Mask>* results) {
  std::vector<bool> shared(
      draft_.tape->slots.size());  // places that are read as a whole or that a result already uses
  auto place = [&](int s) { return static_cast<std::size_t>(draft_.tape->place(s)); };
  auto mark = [&](const Ref& r) {
    if (r.absorbed && !top_) shared[place(r.slot)] = true;
  };
  if (!top_)
    for (std::size_t k = 0; k < flat_.outputs.size(); ++k)
      if ((*results)[k] != kSkipped) {
        const Ref r = dense(flat_.outputs[k]);
        shared.resize(draft_.tape->slots.size());
        mark(r);
      }
  for (const Step& s : draft_.steps)
    for (const Ref& r : s.inputs) mark(r);

  std::vector<int> seen(flat_.types.size(), -1);
  for (std::size_t k = 0; k < flat_.outputs.size(); ++k) {
    const Var v = flat_.outputs[k];
    Result out;
    out.type = flat_.types[v];
    Type block = out.type;
    Ref r;
    Mask mask = 0;
    if (!top_) {
      mask = (*results)[k];
      if (mask == kSkipped) {
        draft_.tape->results.push_back(out);
        continue;
      }
      r = dense(v);
    } else if (seen[v] >= 0) {
      out.same_as = seen[v];
      draft_.tape->results.push_back(out);
      continue;
    } else if (assembled_[v] >= 0) {
      const Assembled a = assemblies_[static_cast<std::size_t>(assembled_[v])];
      out.region = a.region;
      out.spec = a.spec;
      r = dense(a.block);
      block = flat_.types[a.block];
      Mask own = 0;
      for (int axis : ctx_.regions[static_cast<std::size_t>(a.region)].axes) own |= Mask{1} << axis;
      const Mask differs = varies(r);
      mask = (differs & ~own) == 0 ? differs : level_.mask[a.block];
    } else {
      r = dense(v);
    }
    seen[v] = static_cast<int>(k);
    if (k < ties_.size() && ties_[k] >= 0) {
      out.slot = tied_slot(r, k, mask, block);
      shared.resize(draft_.tape->slots.size());
      draft_.tape->results.push_back(out);
      continue;
    }
    const bool plain = r.offset == 0 && r.cut.empty() && r.absorbed == 0;
    if (top_ && plain && at(r.slot).space == Space::argument) {
      for (std::size_t i = 0; i < draft_.tape->arguments.size(); ++i) {
        const Argument& a = draft_.tape->arguments[i];
        if (a.slot != r.slot) continue;
        bool same = a.region == out.region;
        if (a.region >= 0 && out.region >= 0) {
          const Region &x = ctx_.regions[static_cast<std::size_t>(a.region)],
                       &y = ctx_.regions[static_cast<std::size_t>(out.region)];
          same = x.axes == y.axes && spmd::same_cut(*x.mesh, a.spec, *y.mesh, out.spec);
        }
        if (same) out.argument = static_cast<int>(i);
      }
      if (out.argument >= 0) {
        draft_.tape->results.push_back(out);
        continue;
      }
    }
    shared.resize(draft_.tape->slots.size());
    if (plain && at(r.slot).space == Space::arena && at(r.slot).mask == mask &&
        !shared[place(r.slot)] && !at(r.slot).overwritten && (top_ || !at(r.slot).stored) &&
        at(r.slot).bytes == block.bytes() &&
        draft_.producer[static_cast<std::size_t>(r.slot)] >= 0) {
      // All values that overwrite one another are in the result's memory.
      for (int s = r.slot; s >= 0; s = at(s).over) {
        at(s).space = Space::result;
        at(s).offset = draft_.tape->table;
      }
      draft_.tape->table +=
          at(r.slot).stored ? std::ssize(at(r.slot).computed) : ctx_.instances(at(r.slot).mask);
      out.slot = r.slot;
    } else {
      out.slot = copy_of(r, mask, block, Space::result).slot;
    }
    shared.resize(draft_.tape->slots.size());
    shared[place(out.slot)] = true;
    draft_.tape->results.push_back(out);
  }
}

}  // namespace tessera::inline v0::tape
