#include "codegen/matrix/unit_product.h"

#include "base/machine.h"
#include "codegen/matrix/kept_memory.h"
#include "codegen/matrix/sizes.h"

#include <algorithm>
#include <cstring>

namespace tessera::inline v0::codegen::matrix {

namespace {

constexpr std::int64_t kWordBytes = 4;
// The number of words of k in a stretch. A panel of rows then takes 32 KiB, which stay in the
// first-level cache while panels of B are streamed.
constexpr std::int64_t kUnitStretch = 256;
// The numbers of panels of A, and of columns of B, that are packed before they are multiplied.
constexpr std::int64_t kUnitPanelsTogether = 8, kUnitColumnsTogether = 2048;
// Rows at a multiple of this stride, in bytes, share too few sets of the first-level cache to stay
// there.
constexpr std::int64_t kFarRows = 2048;

}  // namespace

// Rows of A in place or packed, for the words of a stretch. Distances are in bytes.
struct UnitProduct::Rows {
  const char* at;
  std::int64_t row, group, panel;  // `panel` is 0 in place
  Heights heights;
  std::int64_t first, last;  // panels of rows; the first one is at `at`
};

UnitProduct::UnitProduct(const Problem& problem)
    : problem_(problem), lanes_(lanes_of(problem.kind.sum)) {
  const Problem& p = problem_;
  const std::int64_t m = std::min(p.m, p.row_block), n = std::min(p.n, p.column_block);
  shares_b_ = p.panels_given || ((p.m > p.row_block || (p.part_rows && p.part_rows < m)) &&
                                 (p.column_block % kUnitBlockColumns == 0 || n == p.n));
  const bool whole = p.a.step == 1 && p.k % (kUnitWords * steps_of_word()) == 0;
  packs_a_ = !whole || (n > 2 * kUnitBlockColumns && p.a.line * size() % kFarRows == 0);
  if (packs_a_ && p.a.step != 1) {
    pack_a_ = pack_kernel({p.operand, p.kind, false, adjacent_in(p.a)});
    constexpr Kind kWords{DType::float32, Terms::single};
    transpose_ = pack_kernel({DType::float32, kWords, false, Adjacent::steps});
  }
  const Adjacent b = adjacent_in(p.b);
  pack_b_ = pack_kernel({p.operand, p.kind, true, b});
  if (b == Adjacent::lines && 2 * lanes_ <= kUnitBlockColumns)
    pack_b2_ = pack_kernel({p.operand, p.kind, true, b, 2});
  const MatrixUnit unit = matrix_unit();
  for (const bool tall : {false, true})
    for (const bool partial : {false, true}) {
      const bool columns =
          partial ? p.n % kUnitBlockColumns || n % kUnitBlockColumns : n >= kUnitBlockColumns;
      if (columns && (!tall || m > kUnitRows))
        kernels_[tall][partial] = unit_kernel(
            {p.kind.terms, tall, partial, unit == MatrixUnit::none ? MatrixUnit::emulated : unit});
    }
}

std::int64_t UnitProduct::padded_words(std::int64_t steps) const {
  return round_up(parts_of(steps, steps_of_word()), kUnitWords);
}

std::size_t UnitProduct::shared_bytes() const {
  return static_cast<std::size_t>(padded_words(problem_.k) *
                                  round_up(problem_.n, kUnitBlockColumns) * kWordBytes);
}

std::int64_t UnitProduct::shared_tasks() const {
  return parts_of(problem_.n, round_up(std::max<std::int64_t>(1, kSharedElements / problem_.k),
                                       kUnitBlockColumns));
}

// The panels of a stretch of k are stored one after the other, followed by those of the next
// stretch.
void UnitProduct::share(const void* b, void* to, std::int64_t task) const {
  const Problem& p = problem_;
  const std::int64_t columns = round_up(std::max<std::int64_t>(1, kSharedElements / p.k),
                                        kUnitBlockColumns),
                     first = task * columns, last = std::min(p.n, first + columns),
                     stretch = kUnitStretch * steps_of_word(),
                     padded = round_up(p.n, kUnitBlockColumns);
  for (std::int64_t step = 0; step < p.k; step += stretch) {
    const std::int64_t steps = std::min(stretch, p.k - step);
    pack_b(static_cast<const char*>(b) + (step * p.b.step + first * p.b.line) * size(), steps,
           last - first,
           static_cast<char*>(to) +
               (step / steps_of_word() * padded + first * padded_words(steps)) * kWordBytes);
  }
}

void UnitProduct::pack_b(const void* from, std::int64_t steps, std::int64_t columns,
                         char* to) const {
  constexpr std::int64_t kRow = kUnitBlockColumns * kWordBytes;
  const std::int64_t panels = parts_of(columns, kUnitBlockColumns), words = padded_words(steps),
                     existing = parts_of(steps, steps_of_word());
  pack_panels({pack_b_, pack_b2_, problem_.b, size(), kUnitBlockColumns, kUnitBlockColumns, lanes_,
               kWordBytes, problem_.kind.terms, words},
              from, columns, panels, steps, to);
  for (std::int64_t i = 0; i < panels && existing < words; ++i)
    std::memset(to + (i * words + existing) * kRow, 0,
                static_cast<std::size_t>((words - existing) * kRow));
}

// Copies the words of some rows, interleaving pieces of a register's width of each row.
void UnitProduct::pack_a(const char* from, std::int64_t steps, std::int64_t rows,
                         std::int64_t tallest, char* to) const {
  const Distances& d = problem_.a;
  const std::int64_t words = padded_words(steps), groups = words / kUnitWords,
                     group = tallest * kUnitRowBytes;
  if (d.step == 1) {
    const std::int64_t bytes = steps * size(), whole = bytes / kUnitRowBytes,
                       rest = bytes % kUnitRowBytes;
    for (std::int64_t row = 0; row < rows; ++row) {
      const char* in = from + row * d.line * size();
      char* out = to + row * kUnitRowBytes;
      for (std::int64_t g = 0; g < whole; ++g)
        std::memcpy(out + g * group, in + g * kUnitRowBytes, kUnitRowBytes);
      if (!rest) continue;
      out += whole * group;
      std::memset(out, 0, kUnitRowBytes);
      std::memcpy(out, in + whole * kUnitRowBytes, static_cast<std::size_t>(rest));
    }
    return;
  }
  // The words of a step side by side, as in a panel of B, are then transposed.
  const std::int64_t width = round_up(rows, lanes_), existing = parts_of(steps, steps_of_word());
  char* const panel = kept_memory(static_cast<std::size_t>(words * width * kWordBytes), 2);
  pack_panels(
      {pack_a_, nullptr, d, size(), rows, width, lanes_, kWordBytes, problem_.kind.terms, words},
      from, rows, 1, steps, panel);
  std::memset(panel + existing * width * kWordBytes, 0,
              static_cast<std::size_t>((words - existing) * width * kWordBytes));
  PackArgs args{};
  args.from_step = kWordBytes;
  args.from_line = width * kWordBytes;
  args.from_panel = kUnitWords * args.from_line;
  args.to_step = kUnitRowBytes;
  args.to_panel = group;
  args.steps = rows;
  args.panels = groups;
  args.lines = lanes_;
  for (std::int64_t word = 0; word < kUnitWords; word += lanes_) {
    args.from = panel + word * args.from_line;
    args.to = to + word * kWordBytes;
    transpose_(&args);
  }
}

// Multiplies panels of rows by columns of B, in groups of columns whose panels stay in the
// second-level cache.
void UnitProduct::multiply(const Rows& rows, const char* b, std::int64_t steps,
                           std::int64_t columns, char* c, std::int64_t c_row,
                           bool from_result) const {
  const std::int64_t words = padded_words(steps), panel = words * kUnitBlockColumns * kWordBytes,
                     together = std::max<std::int64_t>(
                                    1, static_cast<std::int64_t>(machine::kProductBytes) / panel) *
                                kUnitBlockColumns;
  UnitArgs args{};
  args.a_row = rows.row;
  args.a_group = rows.group;
  args.b_panel = panel;
  args.c_row = c_row * kWordBytes;
  args.groups = words / kUnitWords;
  args.from_result = from_result;
  for (std::int64_t column = 0; column < columns; column += together) {
    const std::int64_t n = std::min(together, columns - column), whole = n / kUnitBlockColumns;
    for (std::int64_t i = rows.first; i < rows.last; ++i) {
      const std::int64_t row = rows.heights.first_row(i) - rows.heights.first_row(rows.first);
      args.rows = rows.heights.of(i);
      const UnitShapes shapes = unit_shapes(args.rows);
      const auto& kernels = kernels_[args.rows > kUnitRows];
      args.shapes = &shapes;
      args.a = rows.at + (rows.panel ? (i - rows.first) * rows.panel : row * rows.row);
      args.b = b + column / kUnitBlockColumns * panel;
      args.c = c + row * args.c_row + column * kWordBytes;
      args.panels = whole;
      if (whole) kernels[0](&args);
      args.columns = n % kUnitBlockColumns;
      if (!args.columns) continue;
      args.b = static_cast<const char*>(args.b) + whole * panel;
      args.c = static_cast<char*>(args.c) + whole * kUnitBlockColumns * kWordBytes;
      args.panels = 1;
      kernels[1](&args);
    }
  }
}

void UnitProduct::run(const Part& part) const {
  const Problem& p = problem_;
  const std::int64_t stretch = kUnitStretch * steps_of_word();
  const Heights heights(part.m, kUnitBlockRows);
  for (std::int64_t column = 0; column < part.n; column += kUnitColumnsTogether) {
    const std::int64_t columns = std::min(kUnitColumnsTogether, part.n - column);
    for (std::int64_t step = 0; step < part.k; step += stretch) {
      const std::int64_t steps = std::min(stretch, part.k - step), words = padded_words(steps);
      const char* b;
      if (shares_b_ && part.shared) {
        b = static_cast<const char*>(part.shared) +
            (step / steps_of_word() * round_up(p.n, kUnitBlockColumns) +
             (part.column + column) * words) *
                kWordBytes;
      } else {
        char* to = kept_memory(
            static_cast<std::size_t>(round_up(columns, kUnitBlockColumns) * words * kWordBytes), 1);
        pack_b(static_cast<const char*>(part.b) + (step * p.b.step + column * p.b.line) * size(),
               steps, columns, to);
        b = to;
      }
      char* const c = static_cast<char*>(part.c) + column * kWordBytes;
      const char* const a = static_cast<const char*>(part.a) + step * p.a.step * size();
      if (!packs_a_) {
        multiply({a, p.a.line * size(), kUnitRowBytes, 0, heights, 0, heights.panels}, b, steps,
                 columns, c, part.c_row, step > 0);
        continue;
      }
      const std::int64_t tallest = heights.of(0), panel = tallest * words * kWordBytes;
      char* const packed = kept_memory(
          static_cast<std::size_t>(std::min(heights.panels, kUnitPanelsTogether) * panel), 0);
      for (std::int64_t first = 0; first < heights.panels; first += kUnitPanelsTogether) {
        const std::int64_t last = std::min(heights.panels, first + kUnitPanelsTogether),
                           row = heights.first_row(first);
        for (std::int64_t i = first; i < last; ++i)
          pack_a(a + heights.first_row(i) * p.a.line * size(), steps, heights.of(i), tallest,
                 packed + (i - first) * panel);
        multiply({packed, kUnitRowBytes, tallest * kUnitRowBytes, panel, heights, first, last}, b,
                 steps, columns, c + row * part.c_row * kWordBytes, part.c_row, step > 0);
      }
    }
  }
}

}  // namespace tessera::inline v0::codegen::matrix
