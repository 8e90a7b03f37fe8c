#include <tessera/manipulation.h>
#include <tessera/pmap.h>

#include "api/array/array_impl.h"
#include "base/message.h"
#include "runtime/array_data.h"

#include <cstring>

namespace tessera::inline v0 {

Array replicate(Operand x, std::int64_t devices) {
  const InFunction called("replicate", x.loc);
  if (devices < 1)
    Message("replicate")
        .problem("a copy for each of " + std::to_string(devices) + " devices")
        .rule("there is at least one device")
        .from(x.loc)
        .advice("device_count()")
        .raise<DeviceError>();
  Shape shape = detail::need(x.array, "replicate", x.loc).type.shape;
  shape.insert(shape.begin(), devices);
  return broadcast_to(x, shape);
}

namespace detail {

namespace {

/// The first row that is not bitwise equal to row 0, or 0 if there is none.
std::int64_t differing_row(const Array& x) {
  const ArrayImpl& a = need(x, "unreplicate");
  if (!a.concrete()) return 0;
  const std::int64_t rows = x.shape(0);
  const std::size_t size = static_cast<std::size_t>(x.nbytes() / rows);
  const Reading read(x, "unreplicate");
  runtime::BufferPtr hold;
  const std::byte* bytes = runtime::dense_bytes(*read, hold);
  for (std::int64_t i = 1; i < rows; ++i)
    if (std::memcmp(bytes, bytes + static_cast<std::size_t>(i) * size, size) != 0) return i;
  return 0;
}

}  // namespace

std::vector<Array> unreplicate(const std::vector<Array>& leaves,
                               const std::vector<std::string>& paths, std::source_location loc) {
  const InFunction called("unreplicate", loc);
  Message shapes("unreplicate"), apart("unreplicate");
  bool unshaped = false, differs = false;
  auto name = [&](std::size_t i) { return paths[i].empty() ? "the array" : paths[i]; };
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    if (leaves[i].is_empty()) continue;
    if (leaves[i].ndim() == 0 || leaves[i].shape(0) == 0) {
      unshaped = true;
      shapes.offender(name(i) + " has shape " + to_string(leaves[i].shape()));
    } else if (std::int64_t row = unshaped ? 0 : differing_row(leaves[i])) {
      differs = true;
      apart.offender(name(i) + ": row " + std::to_string(row) + " differs from row 0");
    }
  }
  if (unshaped)
    shapes.problem("there is no row to take")
        .rule("the first axis of every leaf has a row a device")
        .from(loc)
        .advice("pass what replicate or a pmap with out_axes = 0 made")
        .raise<ShapeError>();
  if (differs)
    apart.problem("the devices hold different values")
        .rule("replicas that start equal and apply equal updates stay equal bit for bit")
        .from(loc)
        .advice("pmean the gradients before the update; to take one device's row as it is, x[0]")
        .raise<ShardingError>();
  std::vector<Array> rows(leaves.size());
  for (std::size_t i = 0; i < leaves.size(); ++i)
    if (!leaves[i].is_empty()) rows[i] = leaves[i][0];
  return rows;
}

}  // namespace detail
}  // namespace tessera::inline v0
