#include "codegen/kernel/reading.h"

#include "ir/op.h"

namespace tessera::inline v0::codegen {

std::vector<std::int64_t> squeezed(const Shape& shape) {
  std::vector<std::int64_t> s;
  for (std::int64_t d : shape)
    if (d != 1) s.push_back(d);
  return s;
}

Reading reading_of_spread(const Program& p, const Equation& e) {
  const Shape &in = p.type(e.inputs[0]).shape, &out = p.type(e.outputs[0]).shape;
  const Ints& dims = e.op->spreads(e.attrs);
  // The result dimensions, other than 1, that the operand's dimensions map to.
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < in.size(); ++i)
    if (in[i] != 1) kept.push_back(static_cast<std::size_t>(dims[i]));
  std::size_t seen = 0, larger = 0;
  for (std::size_t d = 0; d < out.size(); ++d) {
    if (out[d] == 1) continue;
    ++larger;
    if (seen < kept.size() && kept[seen] == d && larger == seen + 1) ++seen;
  }
  if (seen != kept.size()) return Reading::other;
  return seen == larger ? Reading::same : Reading::leading;
}

}  // namespace tessera::inline v0::codegen
