// The routines of sort, sort_ends and top_k on rows of any length, with many equal elements, zeros
// of both signs, infinities and NaNs of several kinds: every bit is that of a stable sort by a
// comparison that is written out here.
#include "codegen/calls/calls.h"
#include "ir/op.h"
#include "ops/dice.h"
#include "random/shrink.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstring>
#include <numeric>
#include <random>

namespace ts = tessera;
using walk::Dice;

namespace {

const std::vector<ts::DType>& real_types() {
  using enum ts::DType;
  static const auto& all =
      *new std::vector<ts::DType>{float32, int32,  float64, int64,  bfloat16, float16, uint8,
                                  int8,    uint16, int16,   uint32, uint64,   boolean};
  return all;
}

// An element of a few, or of all.
template <class T>
T drawn(std::mt19937_64& random, std::int64_t kinds) {
  if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
    using P = typename T::value_type;
    return {drawn<P>(random, kinds), drawn<P>(random, kinds)};
  } else if constexpr (std::is_same_v<T, bool>) {
    return random() % 2 == 1;
  } else if constexpr (std::is_integral_v<T>) {
    if (kinds > 0) return static_cast<T>(random() % static_cast<std::uint64_t>(kinds));
    return static_cast<T>(random());
  } else {
    using U = std::conditional_t<sizeof(T) == 2, std::uint16_t,
                                 std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>;
    constexpr U kSign = static_cast<U>(U{1} << (8 * sizeof(T) - 1));
    // All bits at random, which are NaNs of any kind now and then; or few values.
    if (kinds == 0) return std::bit_cast<T>(static_cast<U>(random()));
    const float few[] = {0.0f, -0.0f, 1.0f, -1.5f, HUGE_VALF, -HUGE_VALF, std::nanf(""), 3e-8f};
    const auto which = random() % static_cast<std::uint64_t>(kinds + 4);
    T x;
    if constexpr (sizeof(T) == 2)
      x = T(which < 8 ? few[which] : static_cast<float>(which));
    else
      x = which < 8 ? static_cast<T>(few[which]) : static_cast<T>(which);
    if (which == 6) {
      auto bits = std::bit_cast<U>(x);
      if (random() % 2) bits = static_cast<U>(bits | kSign);
      if (random() % 3 == 0) bits = static_cast<U>(bits | 1);
      x = std::bit_cast<T>(bits);
    }
    return x;
  }
}

ts::HostArray drawn_array(const ts::Type& type, std::uint64_t seed, std::int64_t kinds) {
  ts::HostArray a(type.dtype, type.shape);
  std::mt19937_64 random(seed);
  ts::dispatch(type.dtype, [&](auto tag) {
    using T = decltype(tag);
    for (std::int64_t i = 0; i < a.count(); ++i) a.data<T>()[i] = drawn<T>(random, kinds);
  });
  return a;
}

// -1, 0 or 1; NaN comes after everything and equals NaN.
template <class T>
int compared(T x, T y) {
  if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
    const int c = compared(x.real(), y.real());
    return c ? c : compared(x.imag(), y.imag());
  } else if constexpr (std::is_integral_v<T> || std::is_floating_point_v<T>) {
    if (x != x || y != y) return static_cast<int>(x != x) - static_cast<int>(y != y);
    return x < y ? -1 : y < x;
  } else {
    return compared(static_cast<float>(x), static_cast<float>(y));
  }
}
int compared(const ts::HostArray& a, std::int64_t i, std::int64_t j) {
  return ts::dispatch(a.dtype, [&](auto tag) {
    using T = decltype(tag);
    return compared(a.data<T>()[i], a.data<T>()[j]);
  });
}

struct Rows {
  std::int64_t outer = 1, n = 1, inner = 1;
};

// Runs the tasks in an order that `choice` decides.
std::string outputs_of(const std::string& name, const std::vector<ts::HostArray>& in,
                       const ts::Attrs& attrs, std::uint64_t choice,
                       std::vector<ts::HostArray>& out) {
  const ts::Op& op = ts::Registry::get().at(name);
  std::vector<ts::Type> types;
  for (const ts::HostArray& a : in) types.emplace_back(a.dtype, a.shape);
  const std::vector<ts::Type> results = op.infer({op, types, attrs, {}});
  const auto routine = ts::codegen::prepare_call(op, attrs, types, results);
  if (!routine) return "no routine";
  std::vector<const void*> from;
  std::vector<void*> to;
  for (const ts::HostArray& a : in) from.push_back(a.bytes);
  for (const ts::Type& t : results) {
    out.emplace_back(t.dtype, t.shape);
    std::memset(out.back().bytes, 0xab, static_cast<std::size_t>(out.back().size_bytes()));
    to.push_back(out.back().bytes);
  }
  std::vector<std::byte> memory(routine->scratch_bytes + 64, std::byte{0xcd});
  void* scratch = memory.data() + (64 - std::bit_cast<std::uintptr_t>(memory.data()) % 64);
  std::mt19937_64 random(choice);
  for (const ts::Stage& stage : routine->stages) {
    const auto piece = static_cast<std::int64_t>(1 + random() % 3);
    std::vector<std::int64_t> starts;
    for (std::int64_t t = 0; t < stage.tasks; t += piece) starts.push_back(t);
    std::shuffle(starts.begin(), starts.end(), random);
    for (std::int64_t t : starts)
      stage.run({from.data(), to.data(), scratch}, t, std::min(stage.tasks, t + piece));
  }
  return "";
}

// The positions in a row, in the order of the sort.
std::vector<std::int64_t> sorted_row(const std::vector<ts::HostArray>& in, std::size_t keys,
                                     std::int64_t base, const Rows& rows, bool descending) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(rows.n));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t i, std::int64_t j) {
    for (std::size_t k = 0; k < keys; ++k) {
      const int c = compared(in[k], base + i * rows.inner, base + j * rows.inner);
      if (c) return descending ? c > 0 : c < 0;
    }
    return false;
  });
  return order;
}

// Whether a result's elements [0, count) are those of the order from `first` on.
std::string difference(const ts::HostArray& in, const ts::HostArray& out, std::int64_t base,
                       std::int64_t out_base, const Rows& rows,
                       const std::vector<std::int64_t>& order, std::int64_t first,
                       std::int64_t count) {
  const auto size = static_cast<std::size_t>(ts::size_of(in.dtype));
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t from = base + order[static_cast<std::size_t>(first + i)] * rows.inner,
                       to = out_base + i * rows.inner;
    if (std::memcmp(in.bytes + static_cast<std::size_t>(from) * size,
                    out.bytes + static_cast<std::size_t>(to) * size, size))
      return "element " + std::to_string(i) + " of the row at " + std::to_string(base) +
             " is not that at " + std::to_string(order[static_cast<std::size_t>(first + i)]);
  }
  return "";
}

std::int64_t row_length(Dice& dice) {
  const std::int64_t about =
      dice.of(walk::Ints{3, 1, 2, 0, 8, 33, 62, 100, 511, 1000, 3000, 17000, 70000, 140000});
  return about > 8 ? about + dice.below(5) : about;
}

std::string wrong(const walk::Tape& tape) {
  check::note(tape);
  Dice dice(tape);
  const std::int64_t which = dice.below(4);  // sort, sort, sort_ends, top_k
  Rows rows;
  rows.n = row_length(dice);
  const bool small = rows.n <= 4000;
  rows.outer = 1 + dice.below(small ? 5 : 2);
  rows.inner = which == 3 ? 1
                          : 1 + dice.below(rows.n <= 1100 && dice.once_in(3) ? 80
                                           : small                           ? 3
                                                                             : 2);
  const ts::Shape shape =
      which == 3 ? ts::Shape{rows.outer, rows.n} : ts::Shape{rows.outer, rows.n, rows.inner};
  const ts::DType first = dice.of(real_types());
  std::vector<ts::Type> types{ts::Type(first, shape)};
  for (std::int64_t more = which == 3 ? 0 : dice.below(4); more > 0; --more)
    types.emplace_back(dice.of(real_types()), shape);
  if (which != 3 && dice.once_in(12))
    types[0].dtype = dice.toss() ? ts::DType::complex64 : ts::DType::complex128;
  const auto keys = static_cast<std::size_t>(1 + dice.below(std::ssize(types)));
  std::vector<ts::HostArray> in;
  for (const ts::Type& t : types) {
    const std::int64_t kinds = dice.of(walk::Ints{5, 1, 2, 100, 0});
    in.push_back(drawn_array(t, static_cast<std::uint64_t>(dice.below(1000)), kinds));
  }
  std::int64_t from = 0, count = rows.n;
  ts::Attrs attrs;
  std::string name = "sort";
  if (which == 3) {
    name = "top_k";
    count = std::min(rows.n, dice.of(walk::Ints{1, 0, 3, 10, 63, 200, 600, 5000, 1 << 30}));
    attrs = {{"k", count}};
  } else {
    attrs = {{"dimension", std::int64_t{1}}, {"num_keys", static_cast<std::int64_t>(keys)}};
  }
  if (which == 2) {
    name = "sort_ends";
    count = std::min(rows.n, dice.of(walk::Ints{1, 0, 3, 20, 600, 1 << 30}));
    const bool last = dice.toss();
    from = last ? rows.n - count : 0;
    attrs.set("count", count);
    attrs.set("last", last);
  }
  std::string what = name + " " + to_string(types[0]) + ", " + std::to_string(types.size()) +
                     " operands, " + std::to_string(keys) + " keys, " + std::to_string(count) +
                     " elements: ";
  for (const ts::Type& t : types) what += std::string(ts::name_of(t.dtype)) + " ";
  std::vector<ts::HostArray> out;
  const std::string failed =
      outputs_of(name, in, attrs, static_cast<std::uint64_t>(dice.below(1000)), out);
  if (!failed.empty()) return what + failed;
  for (std::int64_t o = 0; o < rows.outer; ++o)
    for (std::int64_t i = 0; i < rows.inner; ++i) {
      const std::int64_t base = o * rows.n * rows.inner + i, out_base = o * count * rows.inner + i;
      const auto order = sorted_row(in, keys, base, rows, which == 3);
      for (std::size_t k = 0; k < in.size(); ++k) {
        const std::string found =
            difference(in[k], out[k], base, out_base, rows, order, from, count);
        if (!found.empty()) return what + "result " + std::to_string(k) + ", " + found;
      }
      if (which != 3) continue;
      for (std::int64_t e = 0; e < count; ++e)
        if (out[1].data<std::int32_t>()[out_base + e] != order[static_cast<std::size_t>(e)])
          return what + "index " + std::to_string(e);
    }
  return "";
}

}  // namespace

TEST(RandomSorts, AreThoseOfAComparison) { check::check_many(200, 24, wrong); }
