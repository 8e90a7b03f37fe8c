// The routine that sorts rows (ops/movement/sort_elements.h). Short rows are sorted one in each
// vector lane, and longer ones by radix sort. If there are a few long rows, each stage sorts by one
// digit, and each task handles a part of a row. All methods give the same stable result: elements
// with equal keys keep their order, are told apart by their tags, or have equal bits.
#include "base/thread_kept.h"
#include "codegen/calls/sort_lanes.h"
#include "ops/movement/radix.h"
#include "ops/movement/sort_elements.h"

#include <algorithm>
#include <array>
#include <limits>
#include <new>
#include <utility>
#include <vector>

namespace tessera::inline v0::codegen {

namespace {

using ops::DigitCounts;
using ops::Digits;
using ops::kDigitBits;
using ops::KeysAlone;
using ops::SeenKeys;
using ops::SortedRange;
using ops::SortPlan;
using ops::TaggedKeys32;
using ops::TaggedKeys64;

/// Memory of a cache line.
struct alignas(64) SortLine {
  std::byte bytes[64];
};

/// Scratch memory of one thread, kept between calls unless it was large.
struct SortWorkspace {
  std::vector<SortLine> a, b;
  std::vector<std::uint32_t> order, before;
  void tidy() {
    constexpr std::size_t kKeep = (std::size_t{24} << 20) / sizeof(SortLine);
    if (a.size() + b.size() > kKeep) *this = {};
  }
};
SortWorkspace& sort_workspace() {
  thread_local const ThreadKept<SortWorkspace> w;
  return *w;
}
template <class E>
E* elements_in(std::vector<SortLine>& memory, std::int64_t n) {
  const std::size_t lines = (static_cast<std::size_t>(n) * sizeof(E) + 63) / sizeof(SortLine);
  if (memory.size() < lines) memory.resize(lines);
  return reinterpret_cast<E*>(memory.data());
}

constexpr std::int64_t kRadixFrom = 64;  // elements of a row

/// Sorts the elements `from`; those with equal keys must be distinct or in their original order.
/// Uses `to`, and returns the one of the two that contains the result.
template <class F>
typename F::Element* sort_elements(typename F::Element* from, typename F::Element* to,
                                   std::int64_t n, typename F::Key differing) {
  if (differing == 0) return from;
  if (n >= kRadixFrom) return ops::radix_sort<F>(from, to, static_cast<std::size_t>(n), differing);
  std::sort(from, from + n);
  return from;
}

/// Returns only the wanted elements.
template <class F>
typename F::Element* sort_wanted(const SortPlan& p, typename F::Element* from,
                                 typename F::Element* to, typename F::Key differing) {
  const auto [first, count] = p.wanted;
  if (!p.few()) return sort_elements<F>(from, to, p.n, differing);
  const auto n = static_cast<std::size_t>(p.n), wanted = static_cast<std::size_t>(count);
  if (first == 0)
    ops::select_by_key<F>(from, n, wanted, differing, to);
  else
    ops::select_by_key<F, true>(from, n, wanted, differing, to);
  return sort_elements<F>(to, from, count, differing);
}

template <class F>
void sort_row(const SortPlan& p, const void* const* row, void* const* out, SortWorkspace& w) {
  using E = typename F::Element;
  E *a = elements_in<E>(w.a, p.n), *b = elements_in<E>(w.b, p.n);
  auto seen = ops::read_elements<F>(p, row, 0, p.n, a);
  std::size_t group = p.groups.size() - 1;
  E* sorted = group == 0 ? sort_wanted<F>(p, a, b, seen.differing())
                         : sort_elements<F>(a, b, p.n, seen.differing());
  if (p.groups.size() > 1) {
    w.order.resize(static_cast<std::size_t>(p.n));
    for (std::size_t i = 0; i < w.order.size(); ++i)
      w.order[i] = static_cast<std::uint32_t>(F::tag(sorted[i]));
    while (group-- > 0) {
      const auto keys = ops::read_keys<F>(p, group, row, w.order.data(), a);
      sorted = group == 0 ? sort_wanted<F>(p, a, b, keys.differing())
                          : sort_elements<F>(a, b, p.n, keys.differing());
      w.before = w.order;
      w.order.resize(static_cast<std::size_t>(group == 0 ? p.wanted.count : p.n));
      for (std::size_t i = 0; i < w.order.size(); ++i) {
        w.order[i] = w.before[static_cast<std::size_t>(F::tag(sorted[i]))];
        sorted[i] = F::make(F::key(sorted[i]), w.order[i]);
      }
    }
  }
  ops::write_elements<F>(p, row, sorted, 0, p.wanted.count, out);
  if (seen.inexact) ops::restore_equal(p, row, out);
}

/// The operands and results of a row.
struct RowPlaces {
  std::vector<const void*> in;
  std::vector<void*> out;
  void find(const SortPlan& p, const RoutineArgs& args, std::int64_t row) {
    const std::int64_t outside = row / p.inner * p.inner, inside = row % p.inner;
    in.clear();
    out.clear();
    for (std::size_t k = 0; k < p.dtypes.size(); ++k) {
      const std::int64_t size = size_of(p.dtypes[k]);
      in.push_back(static_cast<const std::byte*>(args.inputs[k]) + (outside * p.n + inside) * size);
      out.push_back(static_cast<std::byte*>(args.outputs[k]) +
                    (outside * p.wanted.count + inside) * size);
    }
  }
  /// Moves the places of a row to element `from` of the operands and `to` of the results.
  void move(const SortPlan& p, const RowPlaces& row, std::int64_t from, std::int64_t to) {
    *this = row;
    for (std::size_t k = 0; k < p.dtypes.size(); ++k) {
      const std::int64_t size = size_of(p.dtypes[k]) * p.inner;
      in[k] = static_cast<const std::byte*>(in[k]) + from * size;
      out[k] = static_cast<std::byte*>(out[k]) + to * size;
    }
  }
};

template <class F>
void add_row_stage(Routine& routine, const SortPlan& p, std::int64_t rows) {
  const std::int64_t per_task = std::max<std::int64_t>(1, 4096 / std::max<std::int64_t>(1, p.n));
  Stage s;
  s.tasks = (rows + per_task - 1) / per_task;
  s.run = [=](const RoutineArgs& args, std::int64_t begin, std::int64_t end) {
    SortWorkspace& w = sort_workspace();
    RowPlaces places;
    for (std::int64_t row = begin * per_task; row < std::min(rows, end * per_task); ++row) {
      places.find(p, args, row);
      sort_row<F>(p, places.in.data(), places.out.data(), w);
    }
    w.tidy();
  };
  routine.stages.push_back(std::move(s));
}

// Whether rows of n elements are sorted one in each lane. The length up to which that is faster
// than radix sort depends on the number of lanes.
template <class E>
bool sorts_in_lanes(std::int64_t n, std::int64_t rows) {
  const std::int64_t lanes = lanes_to_sort<E>();
  return n > 1 && lanes > 0 && rows >= lanes / 2 && n <= lanes * 256;
}

template <class F>
void add_lane_stage(Routine& routine, const SortPlan& p, std::int64_t rows) {
  using E = typename F::Element;
  const std::int64_t lanes = lanes_to_sort<E>(),
                     groups = std::max<std::int64_t>(1, 8192 / (p.n * lanes)),
                     per_task = groups * lanes;
  Stage s;
  s.tasks = (rows + per_task - 1) / per_task;
  s.run = [=](const RoutineArgs& args, std::int64_t begin, std::int64_t end) {
    SortWorkspace& w = sort_workspace();
    RowPlaces places;
    std::array<bool, 16> inexact{};
    const std::int64_t last = std::min(rows, end * per_task);
    for (std::int64_t row = begin * per_task; row < last; row += lanes) {
      const std::int64_t here = std::min(lanes, last - row);
      E *by_rows = elements_in<E>(w.a, p.n * lanes), *by_lanes = elements_in<E>(w.b, p.n * lanes);
      for (std::int64_t i = 0; i < here; ++i) {
        places.find(p, args, row + i);
        inexact[static_cast<std::size_t>(i)] =
            ops::read_elements<F>(p, places.in.data(), 0, p.n, by_rows + i * p.n).inexact;
      }
      rows_to_lanes(by_rows, here, p.n, by_lanes);
      sort_lanes(by_lanes, p.n);
      lanes_to_rows(by_lanes + p.wanted.first * lanes, here, p.wanted.count, by_rows);
      for (std::int64_t i = 0; i < here; ++i) {
        places.find(p, args, row + i);
        ops::write_elements<F>(p, places.in.data(), by_rows + i * p.wanted.count, 0, p.wanted.count,
                               places.out.data());
        if (inexact[static_cast<std::size_t>(i)])
          ops::restore_equal(p, places.in.data(), places.out.data());
      }
    }
    w.tidy();
  };
  routine.stages.push_back(std::move(s));
}

// Rows whose elements are adjacent to those of other rows: an element of some lanes is read from a
// run of memory.
template <class F>
void add_column_stage(Routine& routine, const SortPlan& p, std::int64_t rows) {
  using E = typename F::Element;
  constexpr E kHighest = E{1} << (8 * sizeof(E) - 1);
  constexpr std::int64_t kGroups = 4, kMostLanes = 64 / sizeof(E);
  const std::int64_t lanes = lanes_to_sort<E>(), width = kGroups * lanes,
                     across = (p.inner + width - 1) / width;
  SortPlan adjacent = p;
  adjacent.inner = 1;
  Stage s;
  s.tasks = rows / p.inner * across;
  s.run = [=](const RoutineArgs& args, std::int64_t begin, std::int64_t end) {
    SortWorkspace& w = sort_workspace();
    RowPlaces places, element;
    E run[kGroups * kMostLanes];
    for (std::int64_t task = begin; task < end; ++task) {
      const std::int64_t first = task % across * width, row = task / across * p.inner + first,
                         here = std::min(width, p.inner - first);
      E* const by_lanes = elements_in<E>(w.a, p.n * width);
      const auto copy = [&](std::int64_t i, auto&& f) {
        for (std::int64_t group = 0; group * lanes < here; ++group) {
          E* const at = by_lanes + (group * p.n + i) * lanes;
          for (std::int64_t lane = 0; lane < std::min(lanes, here - group * lanes); ++lane)
            f(run[group * lanes + lane], at[lane]);
        }
      };
      places.find(p, args, row);
      bool inexact = false;
      for (std::int64_t i = 0; i < p.n; ++i) {
        element.move(p, places, i, i);
        const auto seen = ops::read_elements<F>(adjacent, element.in.data(), 0, here, run);
        inexact = inexact || seen.inexact;
        copy(i, [i](E from, E& to) {
          to = F::make(F::key(from), static_cast<typename F::Tag>(i)) ^ kHighest;
        });
      }
      for (std::int64_t group = 0; group * lanes < here; ++group)
        sort_lanes(by_lanes + group * p.n * lanes, p.n);
      for (std::int64_t i = 0; i < p.wanted.count; ++i) {
        copy(p.wanted.first + i, [](E& to, E from) { to = from ^ kHighest; });
        element.move(p, places, 0, i);
        ops::write_across<F>(p, element.in.data(), run, here, element.out.data());
      }
      for (std::int64_t i = 0; inexact && i < here; ++i) {
        places.find(p, args, row + i);
        ops::restore_equal(p, places.in.data(), places.out.data());
      }
    }
    w.tidy();
  };
  routine.stages.push_back(std::move(s));
}

// Long rows, each cut into parts that begin at multiples of n / parts. Scratch memory contains, for
// each row, both places of its elements, and for each part what it has seen and counted.
template <class F>
class LongRows {
 public:
  using E = typename F::Element;
  using Key = typename F::Key;
  LongRows(const SortPlan& plan, std::int64_t rows, std::int64_t parts)
      : p_(plan), rows_(rows), parts_(parts) {}

  void add_stages(Routine& routine) const {
    const auto stage = [&](auto&& f) {
      Stage s;
      s.tasks = rows_ * parts_;
      s.run = [rows = *this, f](const RoutineArgs& args, std::int64_t begin, std::int64_t end) {
        for (std::int64_t task = begin; task < end; ++task)
          f(rows, args, task / rows.parts_, task % rows.parts_);
      };
      routine.stages.push_back(std::move(s));
    };
    routine.scratch_bytes = counts_at() + tasks() * sizeof(DigitCounts);
    using Row = std::int64_t;
    stage([](const LongRows& l, const RoutineArgs& a, Row r, std::int64_t i) { l.read(a, r, i); });
    for (int d = 0; d < kMostDigits; ++d) {
      stage([d](const LongRows& l, const RoutineArgs& a, Row r, std::int64_t i) {
        l.count(a, r, i, d);
      });
      stage([d](const LongRows& l, const RoutineArgs& a, Row r, std::int64_t i) {
        l.move(a, r, i, d);
      });
    }
    stage([](const LongRows& l, const RoutineArgs& a, Row r, std::int64_t i) { l.write(a, r, i); });
    if (p_.tag == SortPlan::Tag::position) return;
    Stage s;
    s.tasks = rows_;
    s.run = [rows = *this](const RoutineArgs& args, std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) rows.restore(args, row);
    };
    routine.stages.push_back(std::move(s));
  }

 private:
  static constexpr int kMostDigits =
      (8 * static_cast<int>(sizeof(Key)) + kDigitBits - 1) / kDigitBits;
  using Seen = SeenKeys<Key>;

  std::size_t tasks() const { return static_cast<std::size_t>(rows_ * parts_); }
  std::size_t seen_at() const {
    return (2 * static_cast<std::size_t>(rows_ * p_.n) * sizeof(E) + 15) & ~std::size_t{15};
  }
  std::size_t counts_at() const {
    return seen_at() + ((tasks() * sizeof(Seen) + 63) & ~std::size_t{63});
  }
  static std::byte* scratch(const RoutineArgs& a) { return static_cast<std::byte*>(a.scratch); }
  E* elements(const RoutineArgs& a, std::int64_t row, int which) const {
    return reinterpret_cast<E*>(a.scratch) + (2 * row + which) * p_.n;
  }
  Seen* seen(const RoutineArgs& a, std::int64_t row) const {
    return reinterpret_cast<Seen*>(scratch(a) + seen_at()) + row * parts_;
  }
  DigitCounts* counts(const RoutineArgs& a, std::int64_t row) const {
    return reinterpret_cast<DigitCounts*>(scratch(a) + counts_at()) + row * parts_;
  }
  std::int64_t begin_of(std::int64_t part) const { return p_.n * part / parts_; }
  Seen all_seen(const RoutineArgs& a, std::int64_t row) const {
    Seen all;
    for (std::int64_t i = 0; i < parts_; ++i) all.add(seen(a, row)[i]);
    return all;
  }
  Digits digits(const RoutineArgs& a, std::int64_t row) const {
    return Digits::of(all_seen(a, row).differing(), kDigitBits);
  }

  void read(const RoutineArgs& a, std::int64_t row, std::int64_t part) const {
    RowPlaces places;
    places.find(p_, a, row);
    const std::int64_t begin = begin_of(part);
    new (seen(a, row) + part) Seen(ops::read_elements<F>(
        p_, places.in.data(), begin, begin_of(part + 1), elements(a, row, 0) + begin));
  }
  void count(const RoutineArgs& a, std::int64_t row, std::int64_t part, int digit) const {
    const Digits d = digits(a, row);
    if (digit >= d.count) return;
    auto* counted = new (counts(a, row) + part) DigitCounts;
    std::fill_n(counted->begin(), d.values(), 0);
    ops::count_digits<F>(elements(a, row, digit % 2) + begin_of(part),
                         static_cast<std::size_t>(begin_of(part + 1) - begin_of(part)), d, digit,
                         *counted);
  }
  void move(const RoutineArgs& a, std::int64_t row, std::int64_t part, int digit) const {
    const Digits d = digits(a, row);
    if (digit >= d.count) return;
    // The elements with a value of the digit come after those with lower values, and after those
    // with the same value in earlier parts.
    DigitCounts next, all;
    next.fill(0);
    all.fill(0);
    const DigitCounts* counted = counts(a, row);
    for (std::int64_t i = 0; i < parts_; ++i) {
      if (i == part) next = all;
      for (std::size_t v = 0; v < d.values(); ++v) all[v] += counted[i][v];
    }
    std::uint32_t sum = 0;
    for (std::size_t v = 0; v < d.values(); ++v) {
      next[v] += sum;
      sum += all[v];
    }
    ops::move_by_digit<F>(elements(a, row, digit % 2) + begin_of(part),
                          static_cast<std::size_t>(begin_of(part + 1) - begin_of(part)), d, digit,
                          next, elements(a, row, 1 - digit % 2));
  }
  void write(const RoutineArgs& a, std::int64_t row, std::int64_t part) const {
    RowPlaces places;
    places.find(p_, a, row);
    ops::write_elements<F>(p_, places.in.data(), elements(a, row, digits(a, row).count % 2),
                           begin_of(part), begin_of(part + 1), places.out.data());
  }
  void restore(const RoutineArgs& a, std::int64_t row) const {
    if (!all_seen(a, row).inexact) return;
    RowPlaces places;
    places.find(p_, a, row);
    ops::restore_equal(p_, places.in.data(), places.out.data());
  }

  const SortPlan p_;
  const std::int64_t rows_, parts_;
};

template <class F>
void add_stages(Routine& routine, const SortPlan& p, std::int64_t rows, bool in_lanes) {
  // A part counts all values of a digit, so it is much longer than that.
  constexpr std::int64_t kLong = 1 << 17, kPart = 1 << 16, kMostParts = 8;
  const std::int64_t parts = std::min(kMostParts, p.n / kPart);
  if constexpr (std::is_integral_v<typename F::Element>)
    if (in_lanes)
      return p.inner >= lanes_to_sort<typename F::Element>() ? add_column_stage<F>(routine, p, rows)
                                                             : add_lane_stage<F>(routine, p, rows);
  if (p.n >= kLong && rows < parts && p.groups.size() == 1 && !p.few())
    LongRows<F>(p, rows, parts).add_stages(routine);
  else
    add_row_stage<F>(routine, p, rows);
}

std::shared_ptr<const Routine> sort_routine(const CallArgs& a, std::int64_t dimension,
                                            std::int64_t n) {
  const auto keys = static_cast<std::size_t>(a.attrs.i("num_keys"));
  const SortedRange wanted = ops::sorted_range(a.attrs, n);
  const std::int64_t count = a.inputs[0].shape.count(), rows = n ? count / n : 0;
  // Elements without tags, or with their positions as tags, may change places in a network.
  SortPlan p = ops::sort_plan(a.inputs, dimension, keys, wanted, false);
  const auto narrow = [&] { return p.key_bits <= 32 && p.groups.size() == 1; };
  const bool alone = p.tag == SortPlan::Tag::none,
             in_lanes = p.groups.size() == 1 && (alone || narrow()) &&
                        (alone && narrow() ? sorts_in_lanes<std::uint32_t>(n, rows)
                                           : sorts_in_lanes<std::uint64_t>(n, rows));
  if (!in_lanes && n >= kRadixFrom) p = ops::sort_plan(a.inputs, dimension, keys, wanted, true);

  auto routine = std::make_shared<Routine>();
  routine->name = a.op.name;
  routine->seconds = 1e-8 * static_cast<double>(count) * static_cast<double>(p.groups.size());
  if (alone && narrow())
    add_stages<KeysAlone<std::uint32_t>>(*routine, p, rows, in_lanes);
  else if (alone)
    add_stages<KeysAlone<std::uint64_t>>(*routine, p, rows, in_lanes);
  else if (narrow())
    add_stages<TaggedKeys32>(*routine, p, rows, in_lanes);
  else
    add_stages<TaggedKeys64>(*routine, p, rows, in_lanes);
  return routine;
}

}  // namespace
}  // namespace tessera::inline v0::codegen

namespace tessera::inline v0::ops {

std::shared_ptr<const Routine> sort_call(const CallArgs& a) {
  const std::int64_t dimension = a.attrs.i("dimension"),
                     n = a.inputs[0].shape[static_cast<std::size_t>(dimension)];
  if (n > std::numeric_limits<std::uint32_t>::max()) return nullptr;
  return codegen::sort_routine(a, dimension, n);
}

}  // namespace tessera::inline v0::ops
