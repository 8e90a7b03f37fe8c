// Fills the padding of parts of a per-device program.
#include "ops/local.h"
#include "ops/padding.h"
#include "spmd/partition/body_writer.h"

#include <limits>

namespace tessera::inline v0::spmd {

namespace {

// A value that makes any result computed from padding conspicuous.
Literal poison(DType dtype) {
  if (is_inexact(dtype)) return scalar_literal(dtype, std::numeric_limits<double>::quiet_NaN());
  if (dtype == DType::boolean) return scalar_literal(dtype, std::int64_t{1});
  constexpr std::int64_t loud = 0x7b7b7b7b7b7b7b7b;
  return scalar_literal(dtype, loud >> (64 - 8 * size_of(dtype)));
}

}  // namespace

Value BodyWriter::behind(Value part, std::size_t dim, std::int64_t extent, const Atoms& cut,
                         const Literal& fill) {
  Strings axes;
  for (Atom a : cut) axes.push_back(work_.mesh.atom_mesh().axes[a]);
  return ops::filled_behind(part, static_cast<int>(dim), extent, axes, work_.mesh.size(cut), fill);
}

// For uneven parts, replaces the padding of operands by neutral elements where elements of a factor
// are combined in results.
void BodyWriter::fill_up(const DivisionRule& rule, const Division& division, Values& parts) {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const DivisionRule::Tensor& t = rule.tensors[i];
    for (std::size_t d = 0; d < t.dims.size(); ++d) {
      if (t.dims[d].size() != 1 || rule.window_of(i, d) >= 0) continue;
      const std::uint16_t f = t.dims[d][0];
      const DivisionRule::Factor& factor = rule.factors[f];
      if (!factor.meets || factor.size % work_.mesh.size(division[f]) == 0) continue;
      const auto [it, is_new] =
          filled_.try_emplace({parts[i].var, d, factor.size, factor.combiner}, parts[i]);
      if (is_new)
        it->second = behind(parts[i], d, factor.size, division[f],
                            ops::neutral_literal(t.type.dtype, factor.combiner));
      parts[i] = it->second;
    }
  }
}

Value BodyWriter::hold(Held& h, Id at, Value part) {
  if (work_.poison) {
    const Placement& p = work_.placements[at];
    for (std::size_t d = 0; d < p.dims.size(); ++d)
      part = behind(part, d, h.type->shape[static_cast<int>(d)], p.dims[d], poison(h.type->dtype));
    part = like(*h.type, part);
  }
  h.copies.push_back({at, part});
  return part;
}

}  // namespace tessera::inline v0::spmd
