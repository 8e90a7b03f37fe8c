#include "codegen/matrix/product.h"

#include "base/machine.h"
#include "codegen/kernel/isa.h"
#include "codegen/matrix/kept_memory.h"
#include "codegen/matrix/sizes.h"

#include <algorithm>

namespace tessera::inline v0::codegen::matrix {

namespace {

// The steps that a product with few rows adds at a time: rows of B that are read side by side, or
// that are packed into the nearest cache.
constexpr std::int64_t kStreamedSteps = 8, kStreamedPack = 128;
// With at most so many rows, in so many panels, reading B in place costs less than packing it.
constexpr std::int64_t kRowsInPlace = 128, kPanelsInPlace = 5;
// Panels of A, and columns of B, that are packed before they are multiplied: few enough that they
// stay in a cache, and many enough that the other operand is not read often.
constexpr std::int64_t kPanelsTogether = 36, kColumnsTogether = 2048;

template <class T>
void add_to(void* to, std::int64_t to_row, const void* from, std::int64_t from_row, std::int64_t m,
            std::int64_t n) {
  auto* out = static_cast<T*>(to);
  const auto* in = static_cast<const T*>(from);
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) out[i * to_row + j] += in[i * from_row + j];
}

Adjacent adjacent_in(const Distances& d) {
  return d.line == 1 ? Adjacent::lines : d.step == 1 ? Adjacent::steps : Adjacent::neither;
}

}  // namespace

std::int64_t chunk_of(std::int64_t k) {
  if (k <= machine::kProductChunk) return std::max<std::int64_t>(1, k);
  constexpr std::int64_t kRound = 16;
  return round_up(parts_of(k, parts_of(k, machine::kProductChunk)), kRound);
}

// Where the panels of an operand lie. Distances are in bytes; those of rows in place have no
// `panel`, but a distance of lines.
struct Product::Panels {
  const char* at;
  std::int64_t step, panel, ahead = 0, line = 0;
};

struct Product::Packing {
  PackKernel kernel, two_vectors;
  Distances distances;
  std::int64_t each, width;
};

Product::Product(const Problem& problem) : problem_(problem), lanes_(lanes_of(problem.dtype)) {
  const Problem& p = problem_;
  const std::int64_t m = std::min(p.m, p.row_block);
  const Heights heights(m);
  const bool widens = p.operand != p.dtype, few_rows = heights.panels == 1;
  const Adjacent a = adjacent_in(p.a), b = adjacent_in(p.b);
  const auto bytes_of_b = static_cast<double>(p.k) * static_cast<double>(p.n * size());
  const bool packs_b = widens || b != Adjacent::lines;
  constexpr std::int64_t kFew = 3;
  const auto far = [&](std::int64_t distance) { return distance * size() % kPage == 0; };
  by_lines_ = m == 1 && b == Adjacent::steps && p.a.step == 1 && !widens;
  streaming_ = few_rows && bytes_of_b > machine::kProductBytes &&
               (packs_b ? m <= kFew : m <= kFew || far(p.b.step));
  vectors_ = packs_b && m <= 4 ? kTileVectors : most_vectors(static_cast<int>(heights.of(0)));
  const std::int64_t chunk = chunk_of(p.k);

  if (!streaming_) {
    if (packs_b || (m > 2 * most_rows() &&
                    (far(p.b.step) || m > kRowsInPlace || heights.panels > kPanelsInPlace)))
      b_ = p.m > p.row_block && p.column_block % width() == 0 ? How::shared : How::in_task;
  } else if (packs_b) {
    b_ = How::in_task;
  }
  column_group_ = std::max<std::int64_t>(
      1, static_cast<std::int64_t>(machine::kProductBytes) / (chunk * size() * width()));
  column_group_ = streaming_ ? p.n + width() : column_group_ * width();
  const std::int64_t columns = std::min(p.n, p.column_block);
  if (widens || a == Adjacent::neither ||
      (!few_rows && columns > 2 * width() && far(std::max(p.a.line, p.a.step))))
    a_ = How::in_task;
  if (by_lines_) {
    b_ = How::in_place;
    pack_b_ = pack_kernel({p.operand, p.dtype, b, 1, true});
    return;
  }
  if (a_ != How::in_place) pack_a_ = pack_kernel({p.operand, p.dtype, a});
  if (b_ != How::in_place) {
    pack_b_ = pack_kernel({p.operand, p.dtype, b});
    if (b == Adjacent::lines) pack_b2_ = pack_kernel({p.operand, p.dtype, b, 2});
  }
  kernels_.resize(static_cast<std::size_t>(most_rows()) + 1);
  prepare_rows(m);
  if (p.m % p.row_block) prepare_rows(p.m % p.row_block);
}

void Product::prepare_rows(std::int64_t m) {
  const Heights heights(m);
  const bool packed = a_ != How::in_place;
  for (std::int64_t panel : {std::int64_t{0}, heights.panels - 1}) {
    const std::int64_t height = heights.of(panel);
    OfHeight& k = kernels_[static_cast<std::size_t>(height)];
    Tile tile{problem_.dtype, static_cast<int>(height), vectors_, false,
              packed || problem_.a.step != 1 ? ReadA::by_steps : ReadA::by_rows};
    const std::int64_t n = std::min(problem_.n, problem_.column_block);
    if (n >= width() && !k.whole) k.whole = tile_kernel(tile);
    for (std::int64_t columns : {n, problem_.n % problem_.column_block}) {
      const std::int64_t rest = columns % width();
      if (!rest) continue;
      tile.vectors = static_cast<int>(parts_of(rest, lanes_));
      tile.partial = rest % lanes_ != 0;
      TileKernel& last = k.last[tile.vectors - 1][tile.partial];
      if (!last) last = tile_kernel(tile);
      if (columns >= width() && !k.whole) {
        tile.vectors = vectors_, tile.partial = false;
        k.whole = tile_kernel(tile);
      }
    }
  }
}

std::size_t Product::shared_bytes() const {
  return static_cast<std::size_t>(problem_.k * round_up(problem_.n, width()) * size());
}

// A task packs some panels, of all chunks.
constexpr std::int64_t kSharedElements = 1 << 17;

std::int64_t Product::shared_tasks() const {
  const std::int64_t columns =
      round_up(std::max<std::int64_t>(1, kSharedElements / problem_.k), width());
  return parts_of(problem_.n, columns);
}

void Product::share(const void* b, void* to, std::int64_t task) const {
  const Problem& p = problem_;
  const std::int64_t columns = round_up(std::max<std::int64_t>(1, kSharedElements / p.k), width()),
                     first = task * columns, last = std::min(p.n, first + columns),
                     chunk = chunk_of(p.k), padded = round_up(p.n, width());
  for (std::int64_t step = 0; step < p.k; step += chunk) {
    const std::int64_t steps = std::min(chunk, p.k - step);
    pack({pack_b_, pack_b2_, p.b, width(), width()},
         static_cast<const char*>(b) + (step * p.b.step + first * p.b.line) * operand_size(),
         last - first, parts_of(last - first, width()), steps,
         static_cast<char*>(to) + (step * padded + first * steps) * size());
  }
}

// Copies lines into panels of `width` lines, one panel after the other, in each the steps one after
// the other. A panel begins `each` lines behind the one before it; of `available` lines, those
// behind its own may be copied as well.
void Product::pack(const Packing& p, const void* from, std::int64_t available, std::int64_t panels,
                   std::int64_t steps, void* to) const {
  PackArgs args{};
  args.from_step = p.distances.step * operand_size();
  args.from_line = p.distances.line * operand_size();
  args.from_panel = p.each * args.from_line;
  args.to_step = p.width * size();
  args.to_panel = steps * args.to_step;
  const std::int64_t together = p.distances.line == 1 ? kPackedSteps : steps;
  for (std::int64_t step = 0; step < steps; step += together) {
    args.steps = std::min(together, steps - step);
    for (std::int64_t lane = 0; lane < p.each; lane += lanes_) {
      // Two vectors of lines are copied side by side in the panels that have both.
      const bool two = p.two_vectors && lane + 2 * lanes_ <= p.each;
      const std::int64_t width = (two ? 2 : 1) * lanes_;
      const std::int64_t whole =
          available < lane + width ? 0 : std::min(panels, (available - lane - width) / p.each + 1);
      auto at = [&](PackKernel kernel, std::int64_t panel, std::int64_t count, std::int64_t line) {
        args.from = static_cast<const char*>(from) + step * args.from_step + line * args.from_line +
                    panel * args.from_panel;
        args.to =
            static_cast<char*>(to) + step * args.to_step + line * size() + panel * args.to_panel;
        args.panels = count;
        args.lines = std::min<std::int64_t>(lanes_, available - panel * p.each - line);
        if (args.lines > 0) kernel(&args);
      };
      if (whole) at(two ? p.two_vectors : p.kernel, 0, whole, lane);
      for (std::int64_t panel = whole; panel < panels; ++panel)
        for (std::int64_t line = lane; line < lane + width; line += lanes_)
          at(p.kernel, panel, 1, line);
      if (two) lane += lanes_;
    }
  }
}

// Multiplies steps of some panels of rows by columns of B, in groups of columns whose panels stay
// in the second-level cache.
void Product::multiply(const Heights& heights, std::int64_t first, std::int64_t last,
                       const Panels& a, const Panels& b, std::int64_t steps, std::int64_t n,
                       char* c, std::int64_t c_row, Begin begin, End end) const {
  TileArgs args{};
  args.a_step = a.step;
  args.b_step = b.step;
  args.b_tile = b.panel;
  args.b_ahead = b.ahead;
  args.c_row = c_row * size();
  args.k = steps;
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

// Multiplies `steps` steps of all rows of a part by columns of B.
void Product::multiply_rows(const Part& part, const Panels& b, std::int64_t first_step,
                            std::int64_t steps, std::int64_t n, char* c, std::int64_t c_row,
                            Begin begin, End end) const {
  const Distances& d = problem_.a;
  const Heights heights(part.m);
  const auto* from = static_cast<const char*>(part.a) + first_step * d.step * operand_size();
  if (a_ == How::in_place) {
    const Panels a{from, (d.step == 1 ? d.line : d.step) * size(), 0, 0, d.line * size()};
    return multiply(heights, 0, heights.panels, a, b, steps, n, c, c_row, begin, end);
  }
  // Packed panels have room for the tallest tile, in whole vectors.
  const std::int64_t rows = round_up(heights.of(0), lanes_), panel = rows * steps * size();
  char* packed =
      kept_memory(static_cast<std::size_t>(std::min(heights.panels, kPanelsTogether) * panel), 0);
  for (std::int64_t first = 0; first < heights.panels; first += kPanelsTogether) {
    const std::int64_t last = std::min(heights.panels, first + kPanelsTogether),
                       row = heights.first_row(first);
    for (std::int64_t i = first; i < last;) {
      const std::int64_t alike = i < heights.higher ? std::min(last, heights.higher) : last;
      pack({pack_a_, nullptr, d, heights.of(i), rows},
           from + heights.first_row(i) * d.line * operand_size(), part.m - heights.first_row(i),
           alike - i, steps, packed + (i - first) * panel);
      i = alike;
    }
    multiply(heights, first, last, {packed, rows * size(), panel}, b, steps, n,
             c + row * c_row * size(), c_row, begin, end);
  }
}

void Product::run(const Part& part) const {
  if (by_lines_) return run_by_lines(part);
  if (streaming_) return run_streaming(part);
  const std::int64_t chunk = chunk_of(part.k);
  const Distances& d = problem_.b;
  const auto* b = static_cast<const char*>(part.b);
  const std::int64_t together = kColumnsTogether / width() * width();
  for (std::int64_t column = 0; column < part.n; column += together) {
    const std::int64_t columns = std::min(together, part.n - column);
    for (std::int64_t step = 0; step < part.k; step += chunk) {
      const std::int64_t steps = std::min(chunk, part.k - step);
      const char* from = b + (step * d.step + column * d.line) * operand_size();
      Panels panels{from, width() * size(), width() * steps * size()};
      if (b_ == How::in_place) {
        panels = {from, d.step * size(), width() * size(), kStepsAhead * d.step * size()};
      } else if (b_ == How::shared && part.shared) {
        panels.at =
            static_cast<const char*>(part.shared) +
            (step * round_up(problem_.n, width()) + (part.column + column) * steps) * size();
      } else {
        char* to =
            kept_memory(static_cast<std::size_t>(round_up(columns, width()) * steps * size()), 1);
        pack({pack_b_, pack_b2_, d, width(), width()}, from, columns, parts_of(columns, width()),
             steps, to);
        panels.at = to;
      }
      multiply_rows(part, panels, step, steps, columns,
                    static_cast<char*>(part.c) + column * size(), part.c_row, Begin::zero,
                    step ? End::add : End::store);
    }
  }
}

// A vector times lines of B: a few lines at a time, in whole chunks.
void Product::run_by_lines(const Part& part) const {
  const std::int64_t chunk = chunk_of(part.k), together = kVectorsOfLines * lanes_;
  PackArgs args{};
  args.from_line = problem_.b.line * size();
  args.from_step = size();
  args.from_panel = together * args.from_line;
  args.to_panel = together * size();
  for (std::int64_t first = 0; first < part.k; first += chunk) {
    args.steps = std::min(chunk, part.k - first);
    args.vector = static_cast<const char*>(part.a) + first * size();
    char* sums = first ? kept_memory(static_cast<std::size_t>(part.n * size()), 2)
                       : static_cast<char*>(part.c);
    for (std::int64_t line = 0; line < part.n; line += args.panels * together) {
      args.from = static_cast<const char*>(part.b) + line * args.from_line + first * size();
      args.to = sums + line * size();
      args.panels = std::max<std::int64_t>(1, (part.n - line) / together);
      args.lines = std::min(together, part.n - line);
      pack_b_(&args);
    }
    if (first) add(part.c, 0, sums, 0, 1, part.n);
  }
}

void Product::add(void* to, std::int64_t to_row, const void* from, std::int64_t from_row,
                  std::int64_t m, std::int64_t n) const {
  if (size() == 8)
    add_to<double>(to, to_row, from, from_row, m, n);
  else
    add_to<float>(to, to_row, from, from_row, m, n);
}

// With few rows, a product takes the time in which B is read once. So B is read a few long lines at
// a time, while the sums of a strip of columns stay in the nearest cache.
void Product::run_streaming(const Part& part) const {
  const std::int64_t chunk = chunk_of(part.k);
  const Distances& d = problem_.b;
  const bool packs = b_ != How::in_place;
  const std::int64_t together = packs ? kStreamedPack : kStreamedSteps,
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
            static_cast<const char*>(part.b) + (step * d.step + column * d.line) * operand_size();
        Panels panels{from, d.step * size(), width() * size()};
        if (packs) {
          char* to = kept_memory(static_cast<std::size_t>(width() * together * size()), 1);
          pack({pack_b_, pack_b2_, d, width(), width()}, from, columns, 1, steps, to);
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
