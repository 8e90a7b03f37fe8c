#include "codegen/kernel/loops.h"

#include "codegen/kernel/isa.h"

#include <algorithm>
#include <bit>

namespace tessera::inline v0::codegen {

namespace {

constexpr double kTaskSeconds = 10e-6;
constexpr std::int64_t kTaskElements = 16384;

double seconds_per_element(const Tracer& t) {
  double s = 0.1e-9 + 0.012e-9 * t.ops + 0.6e-9 * t.math * (t.widest >= 8 ? 2 : 1);
  for (const Access& a : t.reads) s += 0.08e-9 * a.times;
  return s;
}

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Collapses neighbouring dimensions if every index treats them as one.
void collapse(StageSchedule& s, std::span<const Index> at, const Tracer& t, std::size_t first,
              std::size_t panel_dims) {
  // Dimensions `first`, `row_dims` and `panel_dims` start loops of their own.
  std::vector<const Index::Node*> nodes;
  for (const Access& a : t.reads) nodes.push_back(node_of(a.flat));
  for (const Index& i : t.linear) nodes.push_back(node_of(i));
  s.dims.clear();
  s.groups.clear();
  for (std::size_t d = s.shape.size(); d-- > 0;) {
    // A dimension of size 1 is merged with its neighbour.
    bool join = !s.dims.empty() && d >= first && (s.row_dims == 0 || d + 1 != s.row_dims) &&
                (panel_dims == 0 || d + 1 != panel_dims);
    if (join && s.shape[d] != 1 && s.dims.front() != 1) {
      std::size_t next = d + 1;
      while (s.shape[next] == 1) ++next;
      const Atom *outer = single_atom(at[d]), *inner = single_atom(at[next]);
      join = std::all_of(nodes.begin(), nodes.end(), [&](const Index::Node* n) {
        return !depends_nonlinearly(n, outer) && !depends_nonlinearly(n, inner) &&
               coefficient(n, outer) == coefficient(n, inner) * s.shape[next];
      });
    }
    if (join) {
      s.dims.front() *= s.shape[d];
      ++s.groups.front();
    } else {
      s.dims.insert(s.dims.begin(), s.shape[d]);
      s.groups.insert(s.groups.begin(), 1);
    }
  }
  int covered = 0;
  for (std::size_t i = 0; i < s.groups.size() && covered < static_cast<int>(s.row_dims);
       ++i, ++s.row_loops)
    covered += s.groups[i];
}

void cut(StageSchedule& s, double per_element, const LoopsAsked& asked) {
  std::int64_t target = std::clamp<std::int64_t>(
      static_cast<std::int64_t>(kTaskSeconds / per_element), 1, kTaskElements);
  std::int64_t inside = 1;
  s.unit_dims = s.dims.size();
  s.block = 0;
  if (s.width && !s.dims.empty() && !s.row_dims) {
    std::int64_t n = s.dims.back();
    std::int64_t step = std::max<std::int64_t>(64, s.width);
    std::int64_t block = std::max(step, target / step * step);
    const bool in_panels = asked.panel_dims && n == asked.panels.columns;
    if (in_panels) block = asked.panels.column_block;
    if (in_panels ? n > block : n > 2 * block || s.any_length) {
      s.block = inside = block;
      --s.unit_dims;
    }
  }
  if (!s.block) {
    std::size_t whole = s.row_dims                   ? s.row_loops
                        : s.width && !s.dims.empty() ? s.dims.size() - 1
                                                     : s.dims.size();
    // A unit of a kernel for panels is at most a row.
    std::size_t rows = 0;
    for (std::size_t d = 0; d < asked.panel_dims && rows < s.groups.size(); ++rows)
      d += static_cast<std::size_t>(s.groups[rows]);
    const auto inside_row = [&](std::size_t loop) { return !asked.panel_dims || loop > rows; };
    while (inside_row(s.unit_dims) && s.unit_dims > 0 &&
           (s.unit_dims > whole || inside * s.dims[s.unit_dims - 1] <= target))
      inside *= s.dims[--s.unit_dims];
  }
  s.units = 1;
  for (std::size_t d = 0; d < s.unit_dims; ++d) s.units *= s.dims[d];
  if (s.block) s.units *= ceil_div(s.dims.back(), s.block);
  s.units_per_task = std::max<std::int64_t>(1, target / inside);
  double elements = 1;
  for (std::int64_t d : s.dims) elements *= static_cast<double>(d);
  s.seconds = elements * per_element;
}

// Cuts the innermost loop into stretches of this length, and groups many tiles into a task.
void cut_stretches(StageSchedule& s, std::int64_t stretch) {
  s.block = s.dims.back() > stretch ? stretch : 0;
  s.units = 1;
  for (std::size_t d = 0; d + 1 < s.dims.size(); ++d)
    s.units *= static_cast<int>(d) == s.tile ? ceil_div(s.dims[d], s.tile_length) : s.dims[d];
  if (s.block) s.units *= ceil_div(s.dims.back(), s.block);
  const std::int64_t inside = s.tile_length * std::min(s.dims.back(), stretch);
  s.units_per_task = std::max<std::int64_t>(1, kTaskElements / inside);
}

// Cuts the tiles of a transposing stage: a cache line of one dimension by a stretch of the other.
void cut_tiles(StageSchedule& s, double per_element) {
  constexpr std::int64_t kStretch = 512;
  // A square with one register per row fits the register file.
  s.width = std::min(s.width, host_isa().math32);
  s.tile_length = std::max(8, s.width);
  s.unit_dims = s.dims.size() - 1;
  cut_stretches(s, kStretch);
  double elements = 1;
  for (const std::int64_t d : s.dims) elements *= static_cast<double>(d);
  s.seconds = 4 * elements * per_element;
}

// The loop along which an operand is contiguous although it is not contiguous along the vectorised
// loop; -1 if there is none.
int tile_dim(const StageSchedule& s, std::span<const Index> at, const Tracer& t) {
  const Atom* inner = nullptr;
  for (const Index& i : at)
    if (const Atom* a = single_atom(i)) inner = a;
  for (const Access& a : t.reads) {
    const Index::Node* n = node_of(a.flat);
    std::int64_t along = coefficient(n, inner);
    if (a.times < 0.5 || depends_nonlinearly(n, inner) || along == 0 || along == 1 || along == -1)
      continue;
    std::size_t d = 0;
    for (std::size_t loop = 0; loop + 1 < s.dims.size(); ++loop) {
      // The innermost dimension that the loop covers.
      d += static_cast<std::size_t>(s.groups[loop]);
      const Atom* last = nullptr;
      for (std::size_t k = d - static_cast<std::size_t>(s.groups[loop]); k < d; ++k)
        if (const Atom* x = single_atom(at[k])) last = x;
      if (last && coefficient(n, last) == 1 && s.dims[loop] >= 8) return static_cast<int>(loop);
    }
  }
  return -1;
}

// The vector width of the innermost loop, or 0 if its index occurs in a reduction that is
// vectorised itself.
int choose_width(const StageSchedule& s, std::span<const Index> at, const Tracer& t, int widest) {
  const Atom* inner = nullptr;
  for (const Index& i : at)
    if (const Atom* a = single_atom(i)) inner = a;
  if (!inner) return 0;
  unsigned over_rows = 0;
  for (const Tracer::Reduction& r : t.reductions) {
    bool varies = std::any_of(r.at.begin(), r.at.end(),
                              [&](const Index& i) { return depends_on(node_of(i), inner); });
    if (!varies) continue;
    if (r.shape.lanes) return 0;
    if (r.shape.count() >= 8) ++over_rows;
  }
  int width = std::min(32, 64 / widest);
  // Wide vectors read memory in longer pieces, but the registers should hold the partial results of
  // a reduction. Several reductions in one loop read several operands, so a shorter piece of each
  // suffices. The compile time of each reduction, and of every operation around it, grows with the
  // width of its vectors, and wide values of these operations do not fit the registers.
  constexpr unsigned kAround = 4;
  const unsigned pieces = std::max(over_rows, static_cast<unsigned>(t.around) / kAround);
  const Isa& isa = host_isa();
  const auto most =
      std::min(16u, static_cast<unsigned>(isa.vector_registers * isa.vector_bytes) / 64);
  if (over_rows)
    width *= static_cast<int>(std::max(4u, most / std::bit_ceil(std::max(1u, pieces))));
  std::int64_t n = s.dims.back();
  while (width > 1 && width / 2 >= n && !s.any_length) width /= 2;
  return std::max(width, 2);
}

// The positions in the innermost loop at which a bound begins or ends; none if there are many.
std::vector<std::int64_t> find_seams(const StageSchedule& s, std::span<const Index> at,
                                     const Tracer& t) {
  constexpr std::size_t kMost = 3;
  const Atom* inner = nullptr;
  for (const Index& i : at)
    if (const Atom* a = single_atom(i)) inner = a;
  const std::int64_t extent = s.dims.back();
  std::vector<std::int64_t> seams;
  for (const Bound& b : t.partial_bounds) {
    const std::int64_t step = coefficient(b.index, inner);
    if ((step != 1 && step != -1) || depends_nonlinearly(node_of(b.index), inner)) continue;
    const Index start = substitute(b.index, inner, Index(0));
    if (node_of(start)->lo != node_of(start)->hi) continue;
    const std::int64_t offset = node_of(start)->lo;
    for (const std::int64_t edge : {b.lo, b.hi}) {
      const std::int64_t seam = step > 0 ? edge - offset : offset - edge + 1;
      if (seam > 0 && seam < extent) seams.push_back(seam);
    }
  }
  std::sort(seams.begin(), seams.end());
  seams.erase(std::unique(seams.begin(), seams.end()), seams.end());
  if (seams.size() > kMost) seams.clear();
  return seams;
}

constexpr std::int64_t kMaxCachedRow =
    16384;  // elements: a cached row fits the first two levels of the processor's caches

}  // namespace

std::size_t row_start(const Shape& shape, std::span<const Index> at, const Tracer& t) {
  std::size_t start = 0;
  bool any = false;
  for (const Tracer::Reduction& r : t.reductions) {
    if (!r.shape.lanes) continue;
    any = true;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const Atom* a = single_atom(at[d]);
      if (a && std::any_of(r.at.begin(), r.at.end(),
                           [&](const Index& i) { return depends_on(node_of(i), a); }))
        start = std::max(start, d + 1);
    }
  }
  if (!any || start == 0) return 0;
  std::int64_t row = 1;
  for (std::size_t d = start; d < shape.size(); ++d) row *= shape[d];
  return row > 1 && row <= kMaxCachedRow ? start : 0;
}

void choose_loops(StageSchedule& s, std::span<const Index> at, const Tracer& t,
                  const LoopsAsked& asked) {
  if (s.kind == StageSchedule::Kind::outputs) s.row_dims = row_start(s.shape, at, t);
  if (s.row_dims) s.cached = t.repeated(at.first(s.row_dims));
  if (s.cached.size() > 4) s.cached.clear();
  collapse(s, at, t, asked.chunks ? 1 : 0, asked.panel_dims);
  // The chunks of a reduction along the minor dimension are vectorised internally.
  s.width = asked.vectorised_inside ? 0 : choose_width(s, at, t, asked.widest);
  double per_element = seconds_per_element(t);
  if (!asked.chunks && s.width && !s.row_dims && !s.any_length && !asked.panel_dims)
    s.tile = tile_dim(s, at, t);
  if (s.kind == StageSchedule::Kind::partials) per_element /= static_cast<double>(asked.chunks);
  if (s.tile >= 0) {
    cut_tiles(s, per_element);
    s.tile_unrolled = asked.small && !t.math && s.width == s.tile_length && s.width <= 16;
  } else {
    cut(s, per_element, asked);
    // Splitting a short loop would not reduce its number of iterations.
    if (s.kind == StageSchedule::Kind::outputs && s.width && !s.block && !s.any_length &&
        !asked.panel_dims && s.groups.back() == 1 && s.dims.back() >= 8 * s.width)
      s.seams = find_seams(s, at, t);
  }
}

// Only a few cache lines of the results are being written at a time, each only until it is full.
void tile_along_rows(StageSchedule& s) {
  constexpr std::int64_t kStretch = 64;
  s.along_rows = true;
  cut_stretches(s, kStretch);
}

void set_length(StageSchedule& s, std::int64_t length) {
  s.seconds *= static_cast<double>(length) / static_cast<double>(s.dims.back());
  s.dims.back() = length;
  s.shape.back() = length;
  s.units = ceil_div(length, s.block);
}

}  // namespace tessera::inline v0::codegen
