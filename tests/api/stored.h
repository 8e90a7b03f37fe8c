// Arrays in every form of storage, with the values that they hold.
#pragma once

#include <tessera/collectives.h>
#include <tessera/control_flow.h>
#include <tessera/creation.h>
#include <tessera/device.h>
#include <tessera/elementwise.h>
#include <tessera/jit.h>
#include <tessera/manipulation.h>
#include <tessera/pmap.h>

#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace api_test {

using tessera::Array;

inline constexpr int kDevices = 4;

struct Stored {
  std::string kind;
  Array array;
  std::vector<float> values;  // row-major
};

inline std::vector<float> counted_from(float start, std::int64_t n) {
  std::vector<float> v(static_cast<std::size_t>(n));
  std::iota(v.begin(), v.end(), start);
  return v;
}

/// The elements that the ranges of `index` select from the row-major `values` of `shape`.
inline std::vector<float> block(const std::vector<float>& values, const tessera::Shape& shape,
                                const std::vector<tessera::Range>& index) {
  std::vector<float> out;
  const tessera::Shape strides = shape.strides();
  auto walk = [&](auto&& self, std::size_t axis, std::int64_t at) -> void {
    if (axis == index.size()) return out.push_back(values[static_cast<std::size_t>(at)]);
    for (std::int64_t i = *index[axis].start; i < *index[axis].stop; ++i)
      self(self, axis + 1, at + i * strides[axis]);
  };
  walk(walk, 0, 0);
  return out;
}

/// Computes x + 0 by a program long enough to be queued.
inline Array computed_slowly(const Array& x) {
  static const auto slow = tessera::jit([](Array v) {
    return tessera::fori_loop(
        0, 400, [](Array, Array w) { return -(w + 1) - 1 + 2; }, v);
  });
  return slow(x);
}

/// A new array of `rows` (a multiple of kDevices) by `columns` elements that count from `start`.
/// Some kinds have fewer dimensions, or other sizes.
inline Stored stored(std::mt19937_64& rng, std::int64_t rows, std::int64_t columns, float start) {
  namespace ts = tessera;
  static const auto identity = ts::jit([](Array x) { return x; });
  static const auto mapped = ts::pmap([](Array x) { return x + 1; });
  static const auto out_one = ts::pmap([](Array x) { return x + 1; }, {.out_axes = 1});
  static const auto sums = ts::pmap([](Array x) { return ts::psum(x, "i"); }, {.axis_name = "i"});
  static const auto gathers =
      ts::pmap([](Array x) { return ts::all_gather(x, "i"); }, {.axis_name = "i"});

  const std::int64_t n = rows * columns;
  const std::vector<float> all = counted_from(start, n), less_one = counted_from(start - 1, n);
  const Array dense(all, {rows, columns}), before(less_one, {rows, columns});
  auto part = [&](std::int64_t row) {
    return std::vector<float>(all.begin() + row * columns, all.begin() + (row + 1) * columns);
  };
  // Repeats `part`.
  auto times = [](const std::vector<float>& part, std::int64_t count) {
    std::vector<float> v;
    for (std::int64_t i = 0; i < count; ++i) v.insert(v.end(), part.begin(), part.end());
    return v;
  };
  const auto row = static_cast<std::int64_t>(rng() % static_cast<std::uint64_t>(rows));
  const Array per_device = before.reshape({kDevices, rows / kDevices, columns});
  switch (rng() % 18) {
    case 0: return {"dense", dense, all};
    case 1: return {"number", Array(start), {start}};
    case 2: return {"result", before + 1, all};
    case 3:
      return {"broadcast", ts::broadcast_to(dense[0], {kDevices, columns}),
              times(part(0), kDevices)};
    case 4: return {"replicated", ts::replicate(dense, kDevices), times(all, kDevices)};
    case 5: return {"stacked", ts::stack({dense, dense, dense}), times(all, 3)};
    case 6: return {"sharded", mapped(per_device), all};
    case 7: {
      std::vector<float> v;
      for (std::int64_t r = 0; r < rows / kDevices; ++r)
        for (std::int64_t d = 0; d < kDevices; ++d) {
          const auto p = part(d * (rows / kDevices) + r);
          v.insert(v.end(), p.begin(), p.end());
        }
      return {"sharded along axis 1", out_one(per_device), v};
    }
    case 8: {
      std::vector<float> sum(static_cast<std::size_t>(n / kDevices));
      for (std::size_t i = 0; i < all.size(); ++i) sum[i % sum.size()] += all[i];
      return {"psum", sums(dense.reshape({kDevices, rows / kDevices, columns})),
              times(sum, kDevices)};
    }
    case 9:
      return {"all_gather", gathers(dense.reshape({kDevices, rows / kDevices, columns})),
              times(all, kDevices)};
    case 10: return {"row", dense[row], part(row)};
    case 11:
      return {"row of a sharded array", mapped(before(ts::range(0, kDevices)))[row % kDevices],
              part(row % kDevices)};
    case 12: {
      const std::vector<float> block(all.begin(), all.begin() + n / kDevices);
      return {"a shard", mapped(per_device).shards()[0].data, block};
    }
    case 13: return {"result that is an argument", identity(dense), all};
    case 14: return {"on another device", ts::device_put(dense, ts::Device{2}), all};
    case 15: return {"pending", computed_slowly(dense), all};
    case 16: return {"row of a pending one", computed_slowly(dense)[row], part(row)};
    default: return {"empty", ts::zeros({0, columns}), {}};
  }
}

}  // namespace api_test
