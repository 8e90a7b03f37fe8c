// Runs compiled kernels on host arrays, and compares results with the evaluator's.
#pragma once

#include "codegen/kernel/kernel.h"
#include "ir/builder.h"
#include "ir/op.h"
#include "parts.h"

#include <gtest/gtest.h>

#include <sys/mman.h>
#include <unistd.h>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <utility>

namespace run {

namespace ts = tessera;

/// Memory for a routine's scratch, aligned as promised.
struct Scratch {
  explicit Scratch(std::size_t n) : memory(n + 64) {}
  void* get() {
    return reinterpret_cast<void*>((reinterpret_cast<std::uintptr_t>(memory.data()) + 63) / 64 *
                                   64);
  }
  std::vector<std::byte> memory;
};

/// Runs `step` tasks at a time, from the last to the first if `backwards`; results must not depend
/// on this.
inline std::vector<ts::HostArray> routine(const ts::Routine& r, const ts::Program& p,
                                          std::span<const ts::HostArray> inputs,
                                          std::int64_t step = 1, bool backwards = false) {
  std::vector<ts::HostArray> outputs;
  std::vector<const void*> in;
  std::vector<void*> out;
  for (const auto& a : inputs) in.push_back(a.bytes);
  for (ts::Var v : p.outputs) {
    outputs.emplace_back(p.type(v).dtype, p.type(v).shape);
    std::memset(outputs.back().bytes, 0xab, static_cast<std::size_t>(outputs.back().size_bytes()));
    out.push_back(outputs.back().bytes);
  }
  Scratch scratch(r.scratch_bytes);
  for (const ts::Stage& s : r.stages) {
    std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
    for (std::int64_t t = 0; t < s.tasks; t += step)
      ranges.emplace_back(t, std::min(s.tasks, t + step));
    if (backwards) std::reverse(ranges.begin(), ranges.end());
    for (auto [begin, end] : ranges) s.run({in.data(), out.data(), scratch.get()}, begin, end);
  }
  return outputs;
}

/// Memory between two pages that must not be accessed; the array ends at the page after it or
/// begins at the page before.
class Fenced {
 public:
  Fenced(ts::DType d, const ts::Shape& shape, bool at_end) {
    auto bytes = static_cast<std::size_t>(shape.count() * ts::size_of(d));
    std::size_t page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    inside_ = std::max<std::size_t>(1, (bytes + page - 1) / page) * page;
    map_ = static_cast<std::byte*>(
        ::mmap(nullptr, inside_ + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ::mprotect(map_ + page, inside_, PROT_READ | PROT_WRITE);
    std::memset(map_ + page, 0xab, inside_);
    array = ts::HostArray(d, shape, map_ + page + (at_end ? inside_ - bytes : 0));
    page_ = page;
  }
  Fenced(Fenced&& o) noexcept
      : array(o.array), map_(std::exchange(o.map_, nullptr)), inside_(o.inside_), page_(o.page_) {}
  ~Fenced() {
    if (map_) ::munmap(map_, inside_ + 2 * page_);
  }
  /// Whether the bytes of the inner pages outside the array are unchanged.
  bool untouched() const {
    auto bytes = static_cast<std::size_t>(array.size_bytes());
    for (std::byte* p = map_ + page_; p != map_ + page_ + inside_; ++p)
      if ((p < array.bytes || p >= array.bytes + bytes) && *p != std::byte{0xab}) return false;
    return true;
  }
  ts::HostArray array;

 private:
  std::byte* map_;
  std::size_t inside_, page_;
};

/// Runs on fenced memory and returns the results: a kernel that reads or writes outside its buffers
/// crashes here.
inline std::vector<ts::HostArray> fenced(const ts::Routine& r, const ts::Program& p,
                                         std::span<const ts::HostArray> inputs, bool at_end) {
  std::vector<Fenced> in, out;
  std::vector<const void*> in_pointers;
  std::vector<void*> out_pointers;
  for (const ts::HostArray& a : inputs) {
    in.emplace_back(a.dtype, a.shape, at_end);
    std::memcpy(in.back().array.bytes, a.bytes, static_cast<std::size_t>(a.size_bytes()));
    in_pointers.push_back(in.back().array.bytes);
  }
  for (ts::Var v : p.outputs) {
    out.emplace_back(p.type(v).dtype, p.type(v).shape, at_end);
    out_pointers.push_back(out.back().array.bytes);
  }
  Scratch scratch(r.scratch_bytes);
  for (const ts::Stage& s : r.stages)
    s.run({in_pointers.data(), out_pointers.data(), scratch.get()}, 0, s.tasks);
  std::vector<ts::HostArray> results;
  for (const Fenced& f : out) {
    EXPECT_TRUE(f.untouched()) << "wrote next to an output";
    results.emplace_back(f.array.dtype, f.array.shape);
    std::memcpy(results.back().bytes, f.array.bytes,
                static_cast<std::size_t>(f.array.size_bytes()));
  }
  return results;
}

inline std::shared_ptr<const ts::Routine> compiled(const ts::ProgramPtr& p) {
  return ts::codegen::compile_kernels({&p, 1})[0];
}
inline std::vector<ts::HostArray> compiled(const ts::ProgramPtr& p,
                                           std::span<const ts::HostArray> inputs) {
  return routine(*compiled(p), *p, inputs);
}

/// Uniform floats in [lo, hi), integers in [int_lo, int_hi], and random booleans.
inline ts::HostArray random_array(const ts::Type& t, std::mt19937_64& rng, double lo = -1,
                                  double hi = 1, std::int64_t int_lo = -8,
                                  std::int64_t int_hi = 8) {
  if (ts::is_complex(t.dtype))
    return parts::joined(random_array(parts::of(t), rng, lo, hi), t.dtype);
  ts::HostArray a(t.dtype, t.shape);
  ts::dispatch(t.dtype, [&](auto tag) {
    using T = decltype(tag);
    for (std::int64_t i = 0; i < a.count(); ++i) {
      if constexpr (std::is_same_v<T, bool>) {
        a.data<T>()[i] = rng() & 1;
      } else if constexpr (std::is_integral_v<T>) {
        std::int64_t low = std::is_unsigned_v<T> ? std::max<std::int64_t>(0, int_lo) : int_lo;
        a.data<T>()[i] = static_cast<T>(
            low + static_cast<std::int64_t>(rng() % static_cast<std::uint64_t>(int_hi - low + 1)));
      } else {
        a.data<T>()[i] =
            T(static_cast<float>(lo + (hi - lo) * std::uniform_real_distribution<double>()(rng)));
      }
    }
  });
  return a;
}

inline bool same_bits(const ts::HostArray& a, const ts::HostArray& b) {
  return a.dtype == b.dtype && a.shape == b.shape &&
         std::memcmp(a.bytes, b.bytes, static_cast<std::size_t>(a.size_bytes())) == 0;
}

/// The distance in units of the last place of `d` at `expected`.
inline double ulps(double actual, double expected, ts::DType d) {
  if (std::isnan(expected) || std::isnan(actual))
    return std::isnan(expected) == std::isnan(actual) ? 0 : INFINITY;
  if (actual == expected)
    return std::signbit(actual) == std::signbit(expected) || expected == 0 ? 0 : INFINITY;
  int digits = d == ts::f64 ? 53 : d == ts::f32 ? 24 : d == ts::f16 ? 11 : 8;
  int least = d == ts::f64 ? -1074 : d == ts::f32 ? -149 : d == ts::f16 ? -24 : -133;
  int exponent = expected == 0 ? -2000 : std::ilogb(expected);
  return std::abs(actual - expected) / std::ldexp(1.0, std::max(exponent - digits + 1, least));
}

/// The distance of the parts of complex numbers, in units in the last place of the larger part.
inline double part_ulps(const ts::HostArray& actual, const ts::HostArray& expected,
                        std::int64_t i) {
  const double a = actual.number(i), b = expected.number(i), other = expected.number(i ^ 1);
  const double size = std::max(std::fabs(b), std::fabs(other));
  if (!std::isfinite(a) || !std::isfinite(b) || !std::isfinite(other) || a == b)
    return ulps(a, b, expected.dtype);
  return ulps(size + std::fabs(a - b), size, expected.dtype);
}

/// Integers and booleans must be equal, floats within `tolerance` units in the last place, and
/// complex numbers within as many units of their larger part.
inline void expect_close(const ts::HostArray& actual, const ts::HostArray& expected,
                         double tolerance, const std::string& what, bool complex = false) {
  ASSERT_EQ(actual.dtype, expected.dtype) << what;
  ASSERT_EQ(actual.shape, expected.shape) << what;
  if (ts::is_complex(actual.dtype))
    return expect_close(parts::of(actual), parts::of(expected), tolerance, what, true);
  int shown = 0;
  for (std::int64_t i = 0; i < expected.count() && shown < 4; ++i) {
    if (!ts::is_floating(expected.dtype)) {
      if (std::memcmp(actual.bytes + i * ts::size_of(actual.dtype),
                      expected.bytes + i * ts::size_of(actual.dtype),
                      static_cast<std::size_t>(ts::size_of(actual.dtype))) == 0)
        continue;
    } else if ((complex
                    ? part_ulps(actual, expected, i)
                    : ulps(actual.number(i), expected.number(i), expected.dtype)) <= tolerance) {
      continue;
    }
    ++shown;
    ADD_FAILURE() << what << ": element " << i << " is " << actual.number(i) << ", expected "
                  << expected.number(i);
  }
}

/// Compares the compiled program with the evaluator.
inline void check(const ts::ProgramPtr& p, std::span<const ts::HostArray> inputs,
                  double tolerance = 0) {
  std::vector<ts::HostArray> expected = ts::evaluate(*p, inputs);
  auto r = compiled(p);
  std::vector<ts::HostArray> actual = routine(*r, *p, inputs);
  for (bool at_end : {false, true}) {
    std::vector<ts::HostArray> again = fenced(*r, *p, inputs, at_end);
    for (std::size_t i = 0; i < again.size(); ++i)
      EXPECT_TRUE(same_bits(again[i], actual[i])) << "on fenced memory, output " << i;
  }
  for (std::size_t i = 0; i < expected.size(); ++i)
    expect_close(actual[i], expected[i], tolerance,
                 ts::to_string(p->type(p->outputs[i])) + " output " + std::to_string(i));
}

inline std::vector<ts::HostArray> random_inputs(const ts::Program& p, std::uint64_t seed = 1,
                                                double lo = -1, double hi = 1) {
  std::mt19937_64 rng(seed);
  std::vector<ts::HostArray> in;
  for (ts::Var v : p.inputs) in.push_back(random_array(p.type(v), rng, lo, hi));
  return in;
}

}  // namespace run
