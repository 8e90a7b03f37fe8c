// The routine of top_k. Positions break ties, so no two elements compare equal and every correct
// algorithm gives the same result. For small k, one pass over a row keeps a heap; for large k, the
// elements are selected by the digits of their keys (radix.h). A long row is divided into parts,
// each of which contributes its greatest elements.
#include "ops/movement/movement.h"
#include "ops/movement/radix.h"
#include "ops/movement/sort_elements.h"
#include "ops/order.h"
#include "ops/reduction/top_k.h"

#include <algorithm>
#include <vector>

namespace tessera::inline v0::ops {

namespace {

// The representation of an element: the key is inverted, so that the greatest come first, and of
// equal ones that with the lower position.
template <class T>
using Offered = std::conditional_t<sizeof(T) <= sizeof(std::uint32_t), TaggedKeys32, TaggedKeys64>;
template <class T>
using Offer = typename Offered<T>::Element;

template <class T>
Offer<T> offered(T x, std::int64_t at) {
  using F = Offered<T>;
  const auto key = static_cast<typename F::Key>(ordered(x));
  return F::make(static_cast<typename F::Key>(~key), static_cast<typename F::Tag>(at));
}

// Whether one pass over a row keeps the greatest elements so far.
bool are_few(std::int64_t n, std::int64_t k) { return k <= n / 8 && k <= 256; }

// Collects the k greatest of the elements [begin, end) of a row, in any order. Nearly all elements
// are passed over in blocks whose greatest key is not above the least of those that are kept.
template <class T>
void collect_few(const T* x, std::int64_t begin, std::int64_t end, std::int64_t k, Offer<T>* kept) {
  using Bits = typename Ordered<T>::Bits;
  constexpr std::int64_t kBlock = 64;
  for (std::int64_t i = 0; i < k; ++i) kept[i] = offered(x[begin + i], begin + i);
  std::make_heap(kept, kept + k);  // the least element is the first
  const auto least = [&] { return static_cast<Bits>(~Offered<T>::key(kept[0])); };
  const auto offer = [&](std::int64_t i, Bits key) {
    if (key <= least()) return;  // of equal elements the first is the greatest
    std::pop_heap(kept, kept + k);
    kept[k - 1] = offered(x[i], i);
    std::push_heap(kept, kept + k);
  };
  std::int64_t i = begin + k;
  for (; i + kBlock <= end; i += kBlock) {
    Bits keys[kBlock], most = 0;
    for (std::int64_t j = 0; j < kBlock; ++j) keys[j] = ordered(x[i + j]);
    for (std::int64_t j = 0; j < kBlock; ++j) most = keys[j] > most ? keys[j] : most;
    if (most <= least()) continue;
    for (std::int64_t j = 0; j < kBlock; ++j) offer(i + j, keys[j]);
  }
  for (; i < end; ++i) offer(i, ordered(x[i]));
}

constexpr std::int64_t kRadixFrom = 64;  // elements from which radix is faster than comparing

// Memory of a task, kept from row to row.
template <class T>
struct TopWork {
  std::vector<Offer<T>> all, chosen;
};

// Collects the k greatest of the elements [begin, end) of a row in w.chosen. Those with equal keys
// are in order unless they are `few`.
template <class T>
void collect(const T* x, std::int64_t begin, std::int64_t end, std::int64_t k, bool few,
             TopWork<T>& w) {
  using F = Offered<T>;
  const std::int64_t n = end - begin;
  w.chosen.resize(static_cast<std::size_t>(k) + 1);
  if (few) return collect_few(x, begin, end, k, w.chosen.data());
  w.all.resize(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i)
    w.all[static_cast<std::size_t>(i)] = offered(x[begin + i], begin + i);
  select_by_key<F>(w.all.data(), w.all.size(), static_cast<std::size_t>(k),
                   differing_keys<F>(w.all.data(), w.all.size()), w.chosen.data());
}

// Writes the k elements in w.chosen in order.
template <class T>
void write_top(const T* x, std::int64_t k, bool few, TopWork<T>& w, T* values,
               std::int32_t* indices) {
  using F = Offered<T>;
  const Offer<T>* sorted = w.chosen.data();
  if (!few && k >= kRadixFrom) {
    const auto count = static_cast<std::size_t>(k);
    w.all.resize(std::max(w.all.size(), count));
    sorted = radix_sort<F>(w.chosen.data(), w.all.data(), count,
                           differing_keys<F>(w.chosen.data(), count));
  } else {
    std::sort(w.chosen.begin(), w.chosen.begin() + k);
  }
  for (std::int64_t i = 0; i < k; ++i) {
    indices[i] = static_cast<std::int32_t>(F::tag(sorted[i]));
    values[i] = x[indices[i]];
  }
}

struct TopRows {
  std::int64_t rows, n, k, parts;  // of a row
  bool few;                        // of a part

  template <class T>
  void sort_rows(const RoutineArgs& a, std::int64_t begin, std::int64_t end) const {
    TopWork<T> w;
    for (std::int64_t row = begin; row < end; ++row) {
      const T* x = static_cast<const T*>(a.inputs[0]) + row * n;
      collect(x, 0, n, k, few, w);
      write_top(x, k, few, w, static_cast<T*>(a.outputs[0]) + row * k,
                static_cast<std::int32_t*>(a.outputs[1]) + row * k);
    }
  }

  // Collects what each of the parts [begin, end) of all rows offers.
  template <class T>
  void offer_parts(const RoutineArgs& a, std::int64_t begin, std::int64_t end) const {
    TopWork<T> w;
    for (std::int64_t i = begin; i < end; ++i) {
      const T* x = static_cast<const T*>(a.inputs[0]) + i / parts * n;
      const std::int64_t part = i % parts;
      collect(x, n * part / parts, n * (part + 1) / parts, k, few, w);
      std::copy_n(w.chosen.begin(), k, static_cast<Offer<T>*>(a.scratch) + i * k);
    }
  }
  template <class T>
  void join_parts(const RoutineArgs& a, std::int64_t begin, std::int64_t end) const {
    using F = Offered<T>;
    TopWork<T> w;
    const auto count = static_cast<std::size_t>(parts * k);
    for (std::int64_t row = begin; row < end; ++row) {
      auto* offers = static_cast<Offer<T>*>(a.scratch) + row * parts * k;
      w.chosen.resize(static_cast<std::size_t>(k) + 1);
      if (!few) {
        select_by_key<F>(offers, count, static_cast<std::size_t>(k),
                         differing_keys<F>(offers, count), w.chosen.data());
      } else {
        std::nth_element(offers, offers + k, offers + count);
        std::copy_n(offers, k, w.chosen.begin());
      }
      write_top(static_cast<const T*>(a.inputs[0]) + row * n, k, few, w,
                static_cast<T*>(a.outputs[0]) + row * k,
                static_cast<std::int32_t*>(a.outputs[1]) + row * k);
    }
  }

  template <class T>
  void add_stages(Routine& routine) const {
    if (parts > 1) {
      routine.scratch_bytes = static_cast<std::size_t>(rows * parts * k) * sizeof(Offer<T>);
      routine.stages.push_back(
          {rows * parts, [t = *this](const RoutineArgs& a, std::int64_t begin, std::int64_t end) {
             t.offer_parts<T>(a, begin, end);
           }});
      routine.stages.push_back(
          {rows, [t = *this](const RoutineArgs& a, std::int64_t begin, std::int64_t end) {
             t.join_parts<T>(a, begin, end);
           }});
      return;
    }
    const std::int64_t per_task = std::max<std::int64_t>(1, 16384 / std::max<std::int64_t>(1, n));
    routine.stages.push_back(
        {(rows + per_task - 1) / per_task,
         [t = *this, per_task](const RoutineArgs& a, std::int64_t begin, std::int64_t end) {
           t.sort_rows<T>(a, begin * per_task, std::min(t.rows, end * per_task));
         }});
  }
};

}  // namespace

std::shared_ptr<const Routine> top_k_call(const CallArgs& a) {
  const Shape& shape = a.inputs[0].shape;
  const std::int64_t n = shape[shape.rank() - 1], k = a.attrs.i("k");
  auto routine = std::make_shared<Routine>();
  routine->name = a.op.name;
  routine->seconds = 5e-9 * static_cast<double>(shape.count());
  if (k == 0) return routine;
  TopRows t{a.outputs[0].shape.count() / k, n, k, 1, false};
  constexpr std::int64_t kPart = 1 << 15, kMostParts = 16;
  const std::int64_t parts = std::min(kMostParts, n / kPart);
  if (t.rows < parts && k <= n / parts / 8) t.parts = parts;
  t.few = are_few(n / t.parts, k);
  dispatch_real(a.inputs[0].dtype, [&](auto tag) { t.add_stages<decltype(tag)>(*routine); });
  return routine;
}

}  // namespace tessera::inline v0::ops
