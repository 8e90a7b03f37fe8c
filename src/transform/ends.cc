// Shortens equations of whose results only the first or last elements along a dimension are read
// (`Op::ends_of`).
#include "ir/op.h"
#include "transform/simplify.h"

#include <algorithm>

namespace tessera::inline v0 {

namespace {

class Shortener {
 public:
  explicit Shortener(const Program& p) : p_(p), readers_(p.types.size()), whole_(p.types.size()) {
    for (std::size_t k = 0; k < p.equations.size(); ++k)
      for (Var v : p.equations[k].inputs) {
        readers_[v].push_back(k);
        whole_[v] = whole_[v] || !p.equations[k].op->strided_box;
      }
    for (Var v : p.outputs) whole_[v] = true;
  }

  ProgramPtr run() {
    auto q = std::make_shared<Program>(p_);
    for (Equation& e : q->equations)
      if (e.op->ends_of) shorten(*q, e);
    return changed_ ? q : nullptr;
  }

 private:
  // The smallest number of elements, counted from the start or the end of dimension d, that covers
  // all elements read.
  Ends ends_read(const Equation& e, std::size_t d) const {
    const std::int64_t n = p_.types[e.outputs[0]].shape[d];
    std::int64_t first = 0, last = 0;
    for (Var v : e.outputs)
      for (std::size_t reader : readers_[v]) {
        const StridedBox piece = p_.equations[reader].op->strided_box(p_.equations[reader].attrs);
        if (piece.start[d] == piece.limit[d]) continue;
        first = std::max(first, piece.limit[d]);
        last = std::max(last, n - piece.start[d]);
      }
    return {static_cast<int>(d), std::min(first, last), last < first};
  }

  void shorten(Program& q, Equation& e) {
    std::vector<Type> in, out;
    bool read = false;
    for (Var v : e.outputs) {
      if (whole_[v] || p_.types[v].shape != p_.types[e.outputs[0]].shape) return;
      read = read || !readers_[v].empty();
      out.push_back(p_.types[v]);
    }
    if (!read) return;  // nothing is read: dead-code elimination removes it all
    for (Var v : e.inputs) in.push_back(p_.types[v]);
    for (int d = 0; d < out[0].shape.rank(); ++d) {
      const Ends ends = ends_read(e, static_cast<std::size_t>(d));
      auto shorter = e.op->ends_of({in, out, e.attrs}, ends);
      if (!shorter) continue;
      const std::int64_t n = out[0].shape[d], before = ends.last ? n - ends.count : 0;
      e.op = shorter->first;
      e.attrs = std::move(shorter->second);
      for (Var v : e.outputs) {
        q.types[v].shape[d] = ends.count;
        for (std::size_t reader : readers_[v])
          move(q.equations[reader], static_cast<std::size_t>(d), before);
      }
      changed_ = true;
      return;
    }
  }

  // Adjusts a slice of the full result to a result that begins `before` elements later.
  static void move(Equation& slice, std::size_t d, std::int64_t before) {
    StridedBox at = slice.op->strided_box(slice.attrs);
    const bool empty = at.start[d] == at.limit[d];
    at.start[d] = empty ? 0 : at.start[d] - before;
    at.limit[d] = empty ? 0 : at.limit[d] - before;
    slice.op = &Registry::get().at("slice");
    slice.attrs = {{"start", at.start}, {"limit", at.limit}, {"strides", at.strides}};
  }

  const Program& p_;
  std::vector<std::vector<std::size_t>> readers_;  // for each value, its equations
  std::vector<bool> whole_;                        // some reader needs all of it
  bool changed_ = false;
};

}  // namespace

ProgramPtr shorten_ends(const ProgramPtr& p) {
  if (std::none_of(p->equations.begin(), p->equations.end(),
                   [](const Equation& e) { return static_cast<bool>(e.op->ends_of); }))
    return p;
  ProgramPtr q = Shortener(*p).run();
  return q ? q : p;
}

}  // namespace tessera::inline v0
