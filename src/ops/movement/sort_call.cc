// The routine of sorting rows. Keys are mapped to unsigned integers with the required order, each
// paired with its position in the row. Positions are distinct, so every correct algorithm gives the
// same stable result, however rows are divided into tasks.
#include "base/thread_kept.h"
#include "ops/movement/sort.h"
#include "ops/order.h"

#include <algorithm>
#include <array>
#include <complex>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

namespace tessera::inline v0::ops {

namespace {

/// A 64-bit key and its original position.
struct Placed {
  std::uint64_t key;
  std::uint32_t at;
};

/// Scratch memory of one thread, kept between calls unless it was large.
struct Workspace {
  std::vector<std::uint64_t> a, b;
  std::vector<Placed> wide_a, wide_b;
  std::vector<std::uint32_t> order, before;
  void tidy() {
    constexpr std::size_t kKeep = std::size_t{1} << 20;
    if (order.size() > kKeep) *this = {};
  }
};
Workspace& workspace() {
  thread_local const ThreadKept<Workspace> w;
  return *w;
}

/// Sorts by the low `Bytes` bytes of `key`, least significant first; skips a byte that is equal in
/// all keys.
template <int Bytes, class E, class Key>
void radix_sort(std::vector<E>& from, std::vector<E>& to, std::size_t n, Key&& key) {
  std::array<std::array<std::uint32_t, 256>, Bytes> counts{};
  for (std::size_t i = 0; i < n; ++i) {
    auto k = key(from[i]);
    for (int b = 0; b < Bytes; ++b) ++counts[static_cast<std::size_t>(b)][(k >> (8 * b)) & 255];
  }
  for (int b = 0; b < Bytes; ++b) {
    auto& count = counts[static_cast<std::size_t>(b)];
    if (count[(key(from[0]) >> (8 * b)) & 255] == n) continue;
    std::uint32_t sum = 0;
    for (std::uint32_t& c : count) sum += std::exchange(c, sum);
    for (std::size_t i = 0; i < n; ++i) to[count[(key(from[i]) >> (8 * b)) & 255]++] = from[i];
    std::swap(from, to);
  }
}

constexpr std::size_t kRadixFrom = 1024;

/// Sorts distinct elements so that those in the `wanted` range are in their final positions.
template <class E, class Less>
void sort_wanted(std::vector<E>& all, const SortedRange& wanted, Less&& less) {
  const auto begin = all.begin() + wanted.first, end = begin + wanted.count;
  if (end != all.end()) std::nth_element(all.begin(), end, all.end(), less);
  if (begin != all.begin()) std::nth_element(all.begin(), begin, end, less);
  std::sort(begin, end, less);
}

/// Sorts `w.order` stably by key(w.order[i]), an unsigned integer, so that the elements in the
/// `wanted` range are correct.
template <class Key>
void sort_by_key(Workspace& w, const SortedRange& wanted, Key&& key) {
  using U = decltype(key(std::uint32_t{}));
  std::size_t n = w.order.size();
  const bool few = wanted.count < static_cast<std::int64_t>(n);
  w.before = w.order;
  if constexpr (sizeof(U) <= 4) {
    // Packs key and position into one number.
    w.a.resize(n);
    for (std::size_t i = 0; i < n; ++i) w.a[i] = std::uint64_t{key(w.before[i])} << 32 | i;
    if (few) {
      sort_wanted(w.a, wanted, std::less<>());
    } else if (n >= kRadixFrom) {
      w.b.resize(n);
      radix_sort<sizeof(U)>(w.a, w.b, n, [](std::uint64_t e) { return static_cast<U>(e >> 32); });
    } else {
      std::sort(w.a.begin(), w.a.end());
    }
    for (std::size_t i = 0; i < n; ++i) w.order[i] = w.before[static_cast<std::uint32_t>(w.a[i])];
  } else {
    w.wide_a.resize(n);
    for (std::size_t i = 0; i < n; ++i)
      w.wide_a[i] = {key(w.before[i]), static_cast<std::uint32_t>(i)};
    const auto less = [](const Placed& x, const Placed& y) {
      return x.key != y.key ? x.key < y.key : x.at < y.at;
    };
    if (few) {
      sort_wanted(w.wide_a, wanted, less);
    } else if (n >= kRadixFrom) {
      w.wide_b.resize(n);
      radix_sort<8>(w.wide_a, w.wide_b, n, [](const Placed& p) { return p.key; });
    } else {
      std::sort(w.wide_a.begin(), w.wide_a.end(), less);
    }
    for (std::size_t i = 0; i < n; ++i) w.order[i] = w.before[w.wide_a[i].at];
  }
}

struct Row {
  std::int64_t n, inner;  // distance between elements of a row is `inner`
};

/// `wanted` applies only to the first key, which is sorted by last.
template <class T>
void sort_by_operand(const void* row, const Row& r, const SortedRange& wanted, Workspace& w) {
  const T* x = static_cast<const T*>(row);
  if constexpr (is_complex_v<T>) {  // by the real part, then by the imaginary one
    sort_by_key(w, {0, r.n},
                [x, inner = r.inner](std::uint32_t i) { return ordered(x[i * inner].imag()); });
    sort_by_key(w, wanted,
                [x, inner = r.inner](std::uint32_t i) { return ordered(x[i * inner].real()); });
  } else {
    sort_by_key(w, wanted, [x, inner = r.inner](std::uint32_t i) { return ordered(x[i * inner]); });
  }
}

void take(const std::byte* x, std::byte* out, int size, const Row& r, const SortedRange& wanted,
          const std::vector<std::uint32_t>& order) {
  auto copy = [&](auto tag) {
    using U = decltype(tag);
    const U* from = reinterpret_cast<const U*>(x);
    U* to = reinterpret_cast<U*>(out);
    for (std::int64_t i = 0; i < wanted.count; ++i)
      to[i * r.inner] = from[order[static_cast<std::size_t>(wanted.first + i)] * r.inner];
  };
  switch (size) {
    case 1: return copy(std::uint8_t{});
    case 2: return copy(std::uint16_t{});
    case 4: return copy(std::uint32_t{});
    case 8: return copy(std::uint64_t{});
    default: return copy(std::complex<double>{});
  }
}

}  // namespace

std::shared_ptr<const Routine> sort_call(const CallArgs& a) {
  const Shape& shape = a.inputs[0].shape;
  std::int64_t dimension = a.attrs.i("dimension"), outer = 1;
  Row r{1, 1};
  for (std::int64_t d = 0; d < shape.rank(); ++d)
    (d < dimension ? outer : d == dimension ? r.n : r.inner) *= shape[static_cast<std::size_t>(d)];
  if (r.n > std::numeric_limits<std::uint32_t>::max()) return nullptr;
  std::vector<DType> dtypes;
  for (const Type& t : a.inputs) dtypes.push_back(t.dtype);
  auto keys = static_cast<std::size_t>(a.attrs.i("num_keys"));
  const SortedRange wanted = sorted_range(a.attrs, r.n);

  auto routine = std::make_shared<Routine>();
  routine->name = a.op.name;
  routine->seconds = 4e-8 * static_cast<double>(shape.count()) * static_cast<double>(keys);
  Stage s;
  std::int64_t rows = outer * r.inner,
               per_task = std::max<std::int64_t>(1, 4096 / std::max<std::int64_t>(1, r.n));
  s.tasks = (rows + per_task - 1) / per_task;
  s.run = [=](const RoutineArgs& args, std::int64_t begin, std::int64_t end) {
    Workspace& w = workspace();
    for (std::int64_t row = begin * per_task; row < std::min(rows, end * per_task); ++row) {
      const std::int64_t outside = row / r.inner * r.inner, inside = row % r.inner,
                         base = outside * r.n + inside, to = outside * wanted.count + inside;
      auto at = [&](const void* p, std::size_t k) {
        return static_cast<const std::byte*>(p) + base * size_of(dtypes[k]);
      };
      w.order.resize(static_cast<std::size_t>(r.n));
      for (std::size_t i = 0; i < w.order.size(); ++i) w.order[i] = static_cast<std::uint32_t>(i);
      for (std::size_t k = keys; k-- > 0;)
        dispatch(dtypes[k], [&](auto tag) {
          sort_by_operand<decltype(tag)>(at(args.inputs[k], k), r,
                                         k > 0 ? SortedRange{0, r.n} : wanted, w);
        });
      for (std::size_t k = 0; k < dtypes.size(); ++k)
        take(at(args.inputs[k], k),
             static_cast<std::byte*>(args.outputs[k]) + to * size_of(dtypes[k]), size_of(dtypes[k]),
             r, wanted, w.order);
    }
    w.tidy();
  };
  routine->stages.push_back(std::move(s));
  return routine;
}

}  // namespace tessera::inline v0::ops
