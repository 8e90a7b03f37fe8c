// CHLO's operations that broadcast their operands as NumPy does.
#include "stablehlo/import/rules.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

namespace tessera::inline v0::stablehlo::rules {

namespace {

constexpr std::string_view kBefore = "chlo.broadcast_";

// The dimensions of the result that those of an operand map to: the last ones or, for the operand
// of lower rank, those that the operation specifies.
Ints places(Reading& r, int rank, int result, bool said) {
  if (said) {
    const Ints dims = r.ints("broadcast_dimensions");
    r.check_dims(dims, result, "broadcast_dimensions");
    if (dims.size() == static_cast<std::size_t>(rank)) return dims;
    r.refuse("it has " + std::to_string(dims.size()) + " broadcast_dimensions for an operand of " +
             std::to_string(rank) + " dimensions");
  }
  Ints dims(static_cast<std::size_t>(rank));
  std::iota(dims.begin(), dims.end(), static_cast<std::int64_t>(result - rank));
  return dims;
}

}  // namespace

bool broadcasts(std::string_view name) { return name.starts_with(kBefore); }

Values broadcasting(Reading& r) {
  const std::string_view name = r.op.name.substr(kBefore.size());
  if (r.in.empty() || r.in.size() != r.operands.size()) r.refuse("it takes arrays");
  int rank = 0, least = r.in[0].rank();
  for (const Value& x : r.in) {
    rank = std::max(rank, x.rank());
    least = std::min(least, x.rank());
  }
  const bool says = r.find("broadcast_dimensions") != nullptr && least < rank;
  std::vector<Ints> dims;
  Ints extents(static_cast<std::size_t>(rank), 1);
  for (const Value& x : r.in) {
    dims.push_back(places(r, x.rank(), rank, says && x.rank() < rank));
    for (std::size_t k = 0; k < dims.back().size(); ++k) {
      std::int64_t& have = extents[static_cast<std::size_t>(dims.back()[k])];
      const std::int64_t n = x.shape()[k];
      if (n != 1 && have != 1 && n != have)
        r.refuse("its operands' extents " + std::to_string(have) + " and " + std::to_string(n) +
                 " do not broadcast");
      if (n != 1) have = n;
    }
  }
  const Shape shape(extents.begin(), extents.end());
  for (std::size_t i = 0; i < r.in.size(); ++i) {
    Value x = r.in[i];
    // Drop dimensions of extent 1 that are broadcast; broadcast_in_dim inserts them.
    Ints kept, from;
    for (std::size_t k = 0; k < dims[i].size(); ++k)
      if (x.shape()[k] == extents[static_cast<std::size_t>(dims[i][k])]) {
        kept.push_back(dims[i][k]);
        from.push_back(x.shape()[k]);
      }
    x = ops::reshape(x, Shape(from.begin(), from.end()));
    r.in[i] = ops::broadcast_in_dim(x, shape, kept);
  }
  for (const std::string_view dialect : {"stablehlo.", "chlo."}) {
    OperationSyntax plain = r.op;
    const std::string full = std::string(dialect) + std::string(name);
    const Import* import = import_of(full);
    if (!import) continue;
    plain.name = full;
    Reading on(r.importer, r.scope, plain);
    on.in = r.in;
    return import->rule(on);
  }
  r.refuse("it is not supported");
}

}  // namespace tessera::inline v0::stablehlo::rules
