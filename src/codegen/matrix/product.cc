#include "codegen/matrix/product.h"

#include "base/machine.h"
#include "codegen/kernel/isa.h"
#include "codegen/matrix/kept_memory.h"
#include "codegen/matrix/sizes.h"
#include "codegen/matrix/unit_product.h"

#include <algorithm>
#include <array>
#include <complex>
#include <memory>
#include <numeric>

namespace tessera::inline v0::codegen::matrix {

namespace {

// The number of words that a product with few rows adds at a time: of rows of B that are streamed
// together, whose elements may be narrower than words, or of rows that are packed into the nearest
// cache.
constexpr std::int64_t kStreamedSteps = 8, kStreamedNarrow = 16, kStreamedPack = 128;
// The numbers of rows and of panels up to which reading B in place costs less than packing it.
constexpr std::int64_t kRowsInPlace = 128;
// The numbers of panels of A, and of columns of B, that are packed before they are multiplied: few
// enough to stay in a cache, and enough that the other operand is not read too often.
constexpr std::int64_t kPanelsTogether = 36, kColumnsTogether = 2048;
// Operands smaller than this are packed in each call, at negligible cost.
constexpr double kLeastPacked = 1 << 14;

template <class T>
void add_to(void* to, std::int64_t to_row, const void* from, std::int64_t from_row, std::int64_t m,
            std::int64_t n) {
  auto* out = static_cast<T*>(to);
  const auto* in = static_cast<const T*>(from);
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) out[i * to_row + j] += in[i * from_row + j];
}

}  // namespace

std::int64_t chunk_of(std::int64_t k, Terms terms) {
  const std::int64_t most = machine::kProductChunk * steps_of(terms);
  if (k <= most) return std::max<std::int64_t>(1, k);
  constexpr std::int64_t kRound = 16;
  return round_up(parts_of(k, parts_of(k, most)), kRound);
}

// The location of an operand's panels. Strides are in bytes. Rows in place have no `panel` stride,
// but one between lines.
struct Product::Panels {
  const char* at;
  std::int64_t step, panel, ahead = 0, line = 0;
};

struct Product::Packing {
  PackKernel kernel, two_vectors;
  Distances distances;
  std::int64_t element;  // size in bytes
  std::int64_t each, width;
};

bool adds_by_lines(const Problem& p) {
  // Shorter lines would leave too many lanes empty.
  constexpr std::int64_t kLeastSteps = 2 * kLineSums;
  return !p.in_order && p.m <= kLineRows && p.b.step == 1 && p.b.line != 1 && p.k >= kLeastSteps &&
         p.kind.terms != Terms::pairs_bfloat16 && !on_unit(p.kind.terms) && !is_complex(p.kind.sum);
}

Product::Product(const Problem& problem)
    : problem_(problem),
      lanes_(lanes_of(problem.kind.sum)),
      vectors_(kTileVectors / parts_in(problem.kind)) {
  const Problem& p = problem_;
  const auto bytes_of_b = static_cast<double>(p.k) * static_cast<double>(p.n * b_size());
  if (on_unit(p.kind.terms)) {
    unit_ = std::make_shared<const UnitProduct>(p);
    gains_by_panels_ = bytes_of_b >= kLeastPacked;
    return;
  }
  const std::int64_t m = std::min(p.m, p.row_block);
  const Heights heights(m);
  const Adjacent a = adjacent_in(p.a), b = adjacent_in(p.b);
  const bool few_rows = heights.panels == 1, a_converts = p.a_element != p.kind.sum,
             b_converts = p.b_element != p.kind.sum,
             whole_words = p.k % steps_of(p.kind.terms) == 0,
             in_parts = p.part_rows && p.part_rows < m;
  // If few rows use them, words are made from elements in registers.
  const bool packs_b = b != Adjacent::lines || (b_converts && !(few_rows && whole_words));
  const auto far = [](std::int64_t bytes) { return bytes % kPage == 0; };
  by_lines_ = adds_by_lines(p);
  streaming_ = !p.panels_given && few_rows && bytes_of_b > machine::kProductBytes &&
               (packs_b ? m <= kRowsStreamed : m <= kRowsStreamed || far(p.b.step * b_size()));
  if (!packs_b || m > 4)
    vectors_ =
        most_vectors(static_cast<int>(in_parts ? most_rows() : heights.of(0)), parts_in(p.kind));
  // The width of panels that are given does not depend on how a task divides its rows.
  if (p.panels_given && (m > most_rows() || p.column_block < p.n))
    vectors_ = kTileVectors / parts_in(p.kind);
  const std::int64_t chunk = words(chunk_of(p.k, p.kind.terms));

  if (p.panels_given) {
    b_ = How::shared;
  } else if (!streaming_) {
    if (packs_b || (m > 2 * most_rows() && (far(p.b.step * b_size()) || m > kRowsInPlace ||
                                            heights.panels > kPanelsInPlace)))
      b_ = (p.m > p.row_block || in_parts) &&
                   (p.column_block % width() == 0 || p.column_block >= p.n)
               ? How::shared
               : How::in_task;
  } else if (packs_b) {
    b_ = How::in_task;
  }
  column_group_ = std::max<std::int64_t>(
      1, static_cast<std::int64_t>(machine::kProductBytes) / (chunk * size() * width()));
  column_group_ = streaming_ ? p.n + width() : column_group_ * width();
  const std::int64_t columns = std::min(p.n, p.column_block);
  // Words of several steps are read in place if rows of A are whole words.
  const bool words_in_a =
      p.kind.terms == Terms::single
          ? !a_converts
          : whole_words && p.a.step == 1 && size() == a_size() * steps_of(p.kind.terms);
  if (!words_in_a || a == Adjacent::neither ||
      (!few_rows && columns > 2 * width() && far(std::max(p.a.line, p.a.step) * a_size())))
    a_ = How::in_task;
  // Reading elements in place costs no more for very few rows, and less if they are narrow.
  gains_by_panels_ = !by_lines_ && (b_ == How::in_place ? m > kRowsStreamed && !b_converts &&
                                                              bytes_of_b > machine::kProductBytes
                                                        : bytes_of_b >= kLeastPacked);
  if (by_lines_) {
    b_ = How::in_place;
    for (std::int64_t rows : {m, p.m % p.row_block})
      if (rows) lines_[rows] = line_kernel({p.kind, p.b_element, static_cast<int>(rows)});
    return;
  }
  if (a_ != How::in_place) pack_a_ = pack_kernel({p.a_element, p.kind, false, a});
  if (b_ != How::in_place) {
    pack_b_ = pack_kernel({p.b_element, p.kind, true, b});
    if (b == Adjacent::lines && vectors_ > 1)
      pack_b2_ = pack_kernel({p.b_element, p.kind, true, b, 2});
  }
  kernels_.resize(static_cast<std::size_t>(most_rows()) + 1);
  const auto prepare = [&](std::int64_t rows) {
    if (in_parts) {
      if (rows >= p.part_rows) prepare_rows(p.part_rows);
      rows %= p.part_rows;
    }
    if (rows) prepare_rows(rows);
  };
  prepare(m);
  prepare(p.m % p.row_block);
}

void Product::prepare_rows(std::int64_t m) {
  const Heights heights(m);
  const bool packed = a_ != How::in_place;
  for (std::int64_t panel : {std::int64_t{0}, heights.panels - 1}) {
    const std::int64_t height = heights.of(panel);
    OfHeight& k = kernels_[static_cast<std::size_t>(height)];
    const bool elements = b_ == How::in_place && (problem_.b_element != problem_.kind.sum ||
                                                  is_complex(problem_.kind.sum));
    Tile tile{problem_.kind,
              static_cast<int>(height),
              vectors_,
              false,
              packed || problem_.a.step != 1 ? ReadA::by_steps : ReadA::by_rows,
              elements ? ReadB::elements : ReadB::words,
              problem_.b_element};
    const std::int64_t n = std::min(problem_.n, problem_.column_block);
    const auto whole = [&] {
      tile.vectors = vectors_, tile.partial = false;
      tile.fetches = streaming_ && elements && !is_complex(problem_.kind.sum);
      if (!k.whole) k.whole = tile_kernel(tile);
      tile.fetches = false;
    };
    if (n >= width()) whole();
    for (std::int64_t columns : {n, problem_.n % problem_.column_block}) {
      const std::int64_t rest = columns % width();
      if (!rest) continue;
      tile.vectors = static_cast<int>(parts_of(rest, lanes_));
      tile.partial = rest % lanes_ != 0;
      TileKernel& last = k.last[tile.vectors - 1][tile.partial];
      if (!last) last = tile_kernel(tile);
      if (columns >= width()) whole();
    }
    if (problem_.kind.terms == Terms::quads_int8 && !k.sums) {
      tile.vectors = 1, tile.partial = true, tile.read_b = ReadB::words;
      k.sums = tile_kernel(tile);
    }
  }
}

bool Product::shares_b() const { return unit_ ? unit_->shares_b() : b_ == How::shared; }

std::size_t Product::shared_bytes() const {
  if (unit_) return unit_->shared_bytes();
  return static_cast<std::size_t>(words(problem_.k) * round_up(problem_.n, width()) * size());
}

std::int64_t Product::shared_tasks() const {
  if (unit_) return unit_->shared_tasks();
  const std::int64_t columns =
      round_up(std::max<std::int64_t>(1, kSharedElements / problem_.k), width());
  return parts_of(problem_.n, columns);
}

void Product::share(const void* b, void* to, std::int64_t task) const {
  if (unit_) return unit_->share(b, to, task);
  const Problem& p = problem_;
  const std::int64_t columns = round_up(std::max<std::int64_t>(1, kSharedElements / p.k), width()),
                     first = task * columns, last = std::min(p.n, first + columns),
                     chunk = chunk_of(p.k, p.kind.terms), padded = round_up(p.n, width());
  for (std::int64_t step = 0; step < p.k; step += chunk) {
    const std::int64_t steps = std::min(chunk, p.k - step);
    pack({pack_b_, pack_b2_, p.b, b_size(), width(), width()},
         static_cast<const char*>(b) + (step * p.b.step + first * p.b.line) * b_size(),
         last - first, parts_of(last - first, width()), steps,
         static_cast<char*>(to) + (words(step) * padded + first * words(steps)) * size());
  }
}

void Product::pack(const Packing& p, const void* from, std::int64_t available, std::int64_t panels,
                   std::int64_t steps, void* to) const {
  pack_panels({p.kernel, p.two_vectors, p.distances, p.element, p.each, p.width, lanes_, size(),
               problem_.kind.terms, words(steps)},
              from, available, panels, steps, to);
}

// Multiplies steps of some panels of rows by columns of B, in groups of columns whose panels stay
// in the second-level cache.
void Product::multiply(const Heights& heights, std::int64_t first, std::int64_t last,
                       const Panels& a, const Panels& b, std::int64_t steps, std::int64_t n,
                       char* c, std::int64_t c_row, Begin begin, End end) const {
  TileArgs args{};
  const bool shifted = problem_.kind.terms == Terms::quads_int8;
  const std::int32_t* sums = shifted ? sums_of_rows(heights, first, last, a, steps) : nullptr;
  args.a_step = a.step;
  args.b_step = b.step;
  args.b_tile = b.panel;
  args.b_ahead = b.ahead;
  args.c_row = c_row * size();
  args.k = words(steps);
  args.begin = begin;
  args.end = end;
  for (std::int64_t column = 0; column < n; column += column_group_) {
    const std::int64_t columns = std::min(column_group_, n - column), tiles = columns / width(),
                       rest = columns % width();
    const char* panels_of_b = b.at + column / width() * b.panel;
    args.lanes = rest % lanes_;
    for (std::int64_t i = first; i < last; ++i) {
      const OfHeight& kernels = kernels_[static_cast<std::size_t>(heights.of(i))];
      const std::int64_t row = heights.first_row(i) - heights.first_row(first);
      args.a = a.at + (a.panel ? (i - first) * a.panel : row * a.line);
      if (shifted) args.minus = sums + row;
      args.b = panels_of_b;
      args.c = c + row * args.c_row + column * size();
      args.tiles = tiles;
      if (tiles) kernels.whole(&args);
      if (!rest) continue;
      args.b = panels_of_b + tiles * b.panel;
      args.c = static_cast<char*>(args.c) + tiles * width() * size();
      args.tiles = 1;
      kernels.last[parts_of(rest, lanes_) - 1][rest % lanes_ != 0](&args);
    }
  }
}

// 128 times the sums of rows of A: their products with the bytes that zeros become in B.
const std::int32_t* Product::sums_of_rows(const Heights& heights, std::int64_t first,
                                          std::int64_t last, const Panels& a,
                                          std::int64_t steps) const {
  alignas(64) static constexpr auto kShiftedZeros = [] {
    std::array<std::uint32_t, 16> words{};
    words.fill(0x80808080u);
    return words;
  }();
  alignas(64) static constexpr std::int32_t kNothing[16] = {};
  const std::int64_t rows = heights.first_row(last) - heights.first_row(first);
  auto* sums = reinterpret_cast<std::int32_t*>(
      kept_memory(static_cast<std::size_t>(rows) * sizeof(std::int32_t), 3));
  TileArgs args{};
  args.a_step = a.step;
  args.b = kShiftedZeros.data();
  args.c_row = sizeof(std::int32_t);
  args.k = words(steps);
  args.tiles = args.lanes = 1;
  args.minus = kNothing;
  for (std::int64_t i = first; i < last; ++i) {
    const std::int64_t row = heights.first_row(i) - heights.first_row(first);
    args.a = a.at + (a.panel ? (i - first) * a.panel : row * a.line);
    args.c = sums + row;
    kernels_[static_cast<std::size_t>(heights.of(i))].sums(&args);
  }
  return sums;
}

// Multiplies `steps` steps of all rows of a part by columns of B.
void Product::multiply_rows(const Part& part, const Panels& b, std::int64_t first_step,
                            std::int64_t steps, std::int64_t n, char* c, std::int64_t c_row,
                            Begin begin, End end) const {
  const Distances& d = problem_.a;
  const Heights heights(part.m);
  const auto* from = static_cast<const char*>(part.a) + first_step * d.step * a_size();
  if (a_ == How::in_place) {
    const Panels a{from, (d.step == 1 ? d.line : d.step) * a_size(), 0, 0, d.line * a_size()};
    return multiply(heights, 0, heights.panels, a, b, steps, n, c, c_row, begin, end);
  }
  // Packed panels have room for the tallest tile, in whole vectors.
  const std::int64_t rows = round_up(heights.of(0), lanes_), panel = rows * words(steps) * size();
  char* packed =
      kept_memory(static_cast<std::size_t>(std::min(heights.panels, kPanelsTogether) * panel), 0);
  for (std::int64_t first = 0; first < heights.panels; first += kPanelsTogether) {
    const std::int64_t last = std::min(heights.panels, first + kPanelsTogether),
                       row = heights.first_row(first);
    for (std::int64_t i = first; i < last;) {
      const std::int64_t alike = i < heights.higher ? std::min(last, heights.higher) : last;
      pack({pack_a_, nullptr, d, a_size(), heights.of(i), rows},
           from + heights.first_row(i) * d.line * a_size(), part.m - heights.first_row(i),
           alike - i, steps, packed + (i - first) * panel);
      i = alike;
    }
    multiply(heights, first, last, {packed, rows * size(), panel}, b, steps, n,
             c + row * c_row * size(), c_row, begin, end);
  }
}

// The location of the panels of some columns of B, for the steps of a chunk. They are packed first
// unless they are read in place or all tasks share them.
Product::Panels Product::panels_of_b(const Part& part, std::int64_t step, std::int64_t steps,
                                     std::int64_t column, std::int64_t columns) const {
  const Distances& d = problem_.b;
  const char* from =
      static_cast<const char*>(part.b) + (step * d.step + column * d.line) * b_size();
  if (b_ == How::in_place)
    return {from, d.step * b_size(), width() * b_size(), kStepsAhead * d.step * b_size()};
  Panels panels{from, width() * size(), width() * words(steps) * size()};
  if (b_ == How::shared && part.shared) {
    panels.at =
        static_cast<const char*>(part.shared) +
        (words(step) * round_up(problem_.n, width()) + (part.column + column) * words(steps)) *
            size();
    return panels;
  }
  char* to =
      kept_memory(static_cast<std::size_t>(round_up(columns, width()) * words(steps) * size()), 1);
  pack({pack_b_, pack_b2_, d, b_size(), width(), width()}, from, columns,
       parts_of(columns, width()), steps, to);
  panels.at = to;
  return panels;
}

void Product::run(const Part& part) const {
  if (unit_) return unit_->run(part);
  if (by_lines_) return run_by_lines(part);
  if (streaming_) return run_streaming(part);
  const std::int64_t chunk = chunk_of(part.k, problem_.kind.terms);
  const std::int64_t together = kColumnsTogether / width() * width();
  for (std::int64_t column = 0; column < part.n; column += together) {
    const std::int64_t columns = std::min(together, part.n - column);
    for (std::int64_t step = 0; step < part.k; step += chunk) {
      const std::int64_t steps = std::min(chunk, part.k - step);
      multiply_rows(part, panels_of_b(part, step, steps, column, columns), step, steps, columns,
                    static_cast<char*>(part.c) + column * size(), part.c_row, Begin::zero,
                    step ? End::add : End::store);
    }
  }
}

void Product::run_stretch(const Part& part, std::int64_t first, void* sums) const {
  const std::int64_t chunk = chunk_of(problem_.k, problem_.kind.terms);
  const std::int64_t together = kColumnsTogether / width() * width(), last = first + part.k;
  for (std::int64_t step = first; step < last;) {
    // The first chunk is summed in the result itself, and the others in separate memory.
    const std::int64_t begin = step / chunk * chunk, end = std::min(begin + chunk, problem_.k),
                       steps = std::min(end, last) - step;
    char* const c = static_cast<char*>(begin ? sums : part.c);
    const std::int64_t c_row = begin ? part.n : part.c_row;
    for (std::int64_t column = 0; column < part.n; column += together) {
      const std::int64_t columns = std::min(together, part.n - column);
      multiply_rows(part, panels_of_b(part, step - first, steps, column, columns), step - first,
                    steps, columns, c + column * size(), c_row,
                    step > begin ? Begin::result : Begin::zero, End::store);
    }
    step += steps;
    if (begin && step == end) add(part.c, part.c_row, c, c_row, part.m, part.n);
  }
}

// Multiplies a few rows by lines of B, in whole chunks.
void Product::run_by_lines(const Part& part) const {
  const std::int64_t each = steps_of(problem_.kind.terms), turn = kLineSums * each,
                     chunk = kLineChunk * each;
  std::int32_t minus[kLineRows] = {};
  LineArgs args{};
  args.a_row = round_up(std::min(part.k, chunk), turn) / each * size();
  args.b_line = problem_.b.line * b_size();
  args.c = part.c;
  args.c_row = part.c_row * size();
  args.lines = part.n;
  args.minus = minus;
  char* rows = kept_memory(static_cast<std::size_t>(part.m * args.a_row), 0);
  for (std::int64_t first = 0; first < part.k; first += chunk) {
    const std::int64_t steps = std::min(chunk, part.k - first);
    for (std::int64_t row = 0; row < part.m; ++row) {
      char* to = rows + row * args.a_row;
      copy_line(problem_.kind, problem_.a_element,
                static_cast<const char*>(part.a) +
                    (first * problem_.a.step + row * problem_.a.line) * a_size(),
                problem_.a.step, steps, round_up(steps, turn), to);
      if (problem_.kind.terms == Terms::quads_int8)
        minus[row] = 128 * std::accumulate(reinterpret_cast<std::int8_t*>(to),
                                           reinterpret_cast<std::int8_t*>(to) + steps, 0);
    }
    args.a = rows;
    args.b = static_cast<const char*>(part.b) + first * b_size();
    args.turns = steps / turn;
    args.rest = steps % turn;
    args.add = first > 0;
    lines_[part.m](&args);
  }
}

void Product::add(void* to, std::int64_t to_row, const void* from, std::int64_t from_row,
                  std::int64_t m, std::int64_t n) const {
  switch (problem_.kind.sum) {
    case DType::int32: return add_to<std::uint32_t>(to, to_row, from, from_row, m, n);
    case DType::int64: return add_to<std::uint64_t>(to, to_row, from, from_row, m, n);
    case DType::float64: return add_to<double>(to, to_row, from, from_row, m, n);
    case DType::complex64: return add_to<std::complex<float>>(to, to_row, from, from_row, m, n);
    case DType::complex128: return add_to<std::complex<double>>(to, to_row, from, from_row, m, n);
    default: return add_to<float>(to, to_row, from, from_row, m, n);
  }
}

// With few rows, the time of a product is that of reading B once. So B is read a few long lines at
// a time, while the sums of a strip of columns stay in the nearest cache.
void Product::run_streaming(const Part& part) const {
  const std::int64_t chunk = chunk_of(part.k, problem_.kind.terms);
  const Distances& d = problem_.b;
  const bool packs = b_ != How::in_place, narrow = problem_.b_element != problem_.kind.sum;
  const std::int64_t each = steps_of(problem_.kind.terms),
                     together = each * (packs    ? kStreamedPack
                                        : narrow ? kStreamedNarrow
                                                 : kStreamedSteps),
                     strip = packs ? width()
                                   : std::max(width(), machine::kProductStrip / (part.m * size()) /
                                                           width() * width());
  for (std::int64_t column = 0; column < part.n; column += strip) {
    const std::int64_t columns = std::min(strip, part.n - column);
    char* c = static_cast<char*>(part.c) + column * size();
    for (std::int64_t first = 0; first < part.k; first += chunk) {
      char* sums = first ? kept_memory(static_cast<std::size_t>(part.m * strip * size()), 2) : c;
      const std::int64_t row = first ? strip : part.c_row;
      const std::int64_t last = std::min(part.k, first + chunk);
      for (std::int64_t step = first; step < last; step += together) {
        const std::int64_t steps = std::min(together, last - step);
        const char* from =
            static_cast<const char*>(part.b) + (step * d.step + column * d.line) * b_size();
        // Processors prefetch the next columns of a few lines by themselves if a tile reads enough
        // of each. With narrow elements it reads too little, so the next lines are prefetched
        // explicitly.
        Panels panels{from, d.step * b_size(), width() * b_size(),
                      narrow ? together * d.step * b_size() : 0};
        if (packs) {
          char* to = kept_memory(static_cast<std::size_t>(width() * words(together) * size()), 1);
          pack({pack_b_, pack_b2_, d, b_size(), width(), width()}, from, columns, 1, steps, to);
          panels = {to, width() * size(), 0};
        }
        multiply_rows(part, panels, step, steps, columns, sums, row,
                      step > first ? Begin::result : Begin::zero, End::store);
      }
      if (first) add(c, part.c_row, sums, strip, part.m, columns);
    }
  }
}

}  // namespace tessera::inline v0::codegen::matrix
