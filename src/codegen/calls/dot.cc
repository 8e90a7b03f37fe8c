// Matrix products: dot_general as products of oneDNN (float32) and OpenBLAS (float64), one batch at
// a time.
//
// An operand is read in place, transposed or not, if the dimensions of each role (batch, free,
// contracting) merge into one stride; otherwise it is packed first. bfloat16 is multiplied directly
// if the processor supports it. Otherwise it is widened like float16, multiplied in float32 and
// rounded once.
#include "base/machine.h"
#include "codegen/calls/add.h"
#include "codegen/calls/blas.h"
#include "codegen/calls/internal.h"
#include "codegen/calls/matrix_operand.h"
#include "codegen/calls/onednn.h"
#include "codegen/kernel/isa.h"
#include "codegen/kernel/reduce_shape.h"
#include "codegen/matrix/product.h"
#include "ops/accumulate.h"
#include "ops/contraction/dot_dims.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <numeric>

namespace tessera::inline v0::codegen {
namespace {

struct DotSchedule {
  Matrix lhs, rhs;
  DType operand, result;
  DType operand_of_product = DType::float32, result_of_product = DType::float32;
  std::int64_t m, n, k, batch;
  std::int64_t row_block, column_block;  // size of a task's part of the result
  std::int64_t batch_block;
  std::size_t result_scratch = 0;
  bool narrow = false;
  bool over_rows = false;    // contracts the leading dimensions of both operands
  bool narrow_side = false;  // see cut_narrow
  int halvings = 0;          // of the rows that are summed
  // limit on the terms that one call sums
  std::int64_t most_terms = std::numeric_limits<std::int64_t>::max();
  int partial = 0;  // partial results of each task that wait to be added
  std::size_t sums_scratch = 0, sums_stride = 0;
  // oneDNN's prepared products, if they are used: one per block shape, indexed by whether the block
  // is the last of its rows and of its columns. Small matrices are multiplied `together` at a time.
  std::shared_ptr<const onednn::Matmul> prepared[2][2];
  std::int64_t together = 1;
  std::size_t prepared_scratch = 0, prepared_stride = 0;  // per task
  // The product by kernels of our own, if it is used. A product with one column is computed as the
  // product of the transposed operands, which has one row.
  std::shared_ptr<const matrix::Product> own;
  bool turned = false;
  std::size_t shared = 0;  // offset of the right operands that `own` packs for all tasks
  bool as_it_is = false;  // the processor multiplies bfloat16 directly

  matrix::Distances lhs_distances() const {
    return lhs.transposed ? matrix::Distances{lhs.leading, 1} : matrix::Distances{1, lhs.leading};
  }
  matrix::Distances rhs_distances() const {
    return rhs.transposed ? matrix::Distances{1, rhs.leading} : matrix::Distances{rhs.leading, 1};
  }
  std::int64_t row_parts() const { return (m + row_block - 1) / row_block; }
  std::int64_t column_parts() const { return (n + column_block - 1) / column_block; }
  std::int64_t batch_parts() const { return (batch + batch_block - 1) / batch_block; }
  std::int64_t tasks() const { return row_parts() * column_parts() * batch_parts(); }
};

// A task's part of the result.
struct Block {
  std::int64_t row, column, m, n, first, last;  // `first` and `last` are positions in the batch
  bool last_row, last_column;
};

Block block_of(const DotSchedule& p, std::int64_t task) {
  const std::int64_t columns = p.column_parts(), parts = p.row_parts() * columns;
  Block b;
  b.row = task % parts / columns * p.row_block;
  b.column = task % columns * p.column_block;
  b.m = std::min(p.row_block, p.m - b.row);
  b.n = std::min(p.column_block, p.n - b.column);
  b.first = task / parts * p.batch_block;
  b.last = std::min(p.batch, b.first + p.batch_block);
  b.last_row = b.row + b.m == p.m;
  b.last_column = b.column + b.n == p.n;
  return b;
}

// Offset in elements to matrix `b` of the batch, and in it to a row of the left or a column of the
// right operand.
std::int64_t lhs_offset(const DotSchedule& p, std::int64_t b, std::int64_t row) {
  return p.lhs.offsets[b] + row * (p.lhs.transposed ? 1 : p.lhs.leading);
}
std::int64_t rhs_offset(const DotSchedule& p, std::int64_t b, std::int64_t column) {
  return p.rhs.offsets[b] + column * (p.rhs.transposed ? p.rhs.leading : 1);
}

const char* operand_bytes(const RoutineArgs& args, const Matrix& x, int i) {
  return x.in_scratch ? static_cast<const char*>(args.scratch) + x.scratch
                      : static_cast<const char*>(args.inputs[i]);
}

// Chooses the order of the contracted dimensions for which the fewest elements must be packed.
DotSchedule arrange(const CallArgs& a) {
  ops::DotDims d = ops::dot_dims(a.attrs);
  const Shape &l = a.inputs[0].shape, &r = a.inputs[1].shape;
  Ints lhs_free = ops::free_dims(l.rank(), d.lhs_contracting, d.lhs_batch),
       rhs_free = ops::free_dims(r.rank(), d.rhs_contracting, d.rhs_batch);
  auto with_order = [&](const Ints& keys) {
    Ints order(d.lhs_contracting.size()), lc, rc;
    std::iota(order.begin(), order.end(), std::int64_t{0});
    std::sort(order.begin(), order.end(),
              [&](std::int64_t x, std::int64_t y) { return keys[x] < keys[y]; });
    for (std::int64_t i : order)
      lc.push_back(d.lhs_contracting[i]), rc.push_back(d.rhs_contracting[i]);
    DotSchedule p;
    p.lhs.batch = group(l, d.lhs_batch);
    p.lhs.outer = group(l, lhs_free);
    p.lhs.inner = group(l, lc);
    p.rhs.batch = group(r, d.rhs_batch);
    p.rhs.outer = group(r, rc);
    p.rhs.inner = group(r, rhs_free);
    p.lhs.settle();
    p.rhs.settle();
    return p;
  };
  auto cost = [](const DotSchedule& p) {
    return (p.lhs.packed ? p.lhs.elements() : 0) + (p.rhs.packed ? p.rhs.elements() : 0);
  };
  DotSchedule by_lhs = with_order(d.lhs_contracting), by_rhs = with_order(d.rhs_contracting);
  DotSchedule p = cost(by_rhs) < cost(by_lhs) ? by_rhs : by_lhs;
  p.operand = a.inputs[0].dtype;
  p.result = a.outputs[0].dtype;
  p.m = p.lhs.rows();
  p.n = p.rhs.columns();
  p.k = p.lhs.columns();
  p.batch = p.lhs.batch.count();
  auto leading = [](const Ints& dims) {
    for (std::size_t i = 0; i < dims.size(); ++i)
      if (!std::count(dims.begin(), dims.end(), static_cast<std::int64_t>(i))) return false;
    return true;
  };
  p.over_rows = d.lhs_batch.empty() && leading(d.lhs_contracting) && leading(d.rhs_contracting);
  return p;
}

// Cuts the result into blocks by shape alone: several whole matrices if they are small, else parts
// of one.
void cut(DotSchedule& p) {
  double flops =
      2.0 * static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k);
  p.row_block = p.m;
  p.column_block = p.n;
  p.batch_block = 1;
  if (flops < machine::kLeastProductToDivide) {
    p.batch_block =
        std::max<std::int64_t>(1, p.batch / tasks_for(flops * static_cast<double>(p.batch)));
    return;
  }
  auto tasks = static_cast<std::int64_t>(std::clamp(flops / machine::kProductBlock, 8.0, 32.0));
  std::int64_t parts =
      std::min(tasks, static_cast<std::int64_t>(flops / machine::kLeastProductBlock) + 1);
  parts = static_cast<std::int64_t>(
      std::bit_floor(static_cast<std::uint64_t>(std::max<std::int64_t>(1, parts / p.batch))));
  // Blocks of rows share a right operand that is packed once, so rows are cut as long as a block has
  // enough of them to be worth reading that operand. Then columns are cut, for which each block packs
  // its rows again.
  constexpr std::int64_t kRowsOfBlock = 128, kColumnsOfBlock = 64;
  std::int64_t row_parts = 1;
  while (row_parts < parts && (p.m / row_parts >= 2 * kRowsOfBlock ||
                               p.n * row_parts < kColumnsOfBlock * parts))
    row_parts *= 2;
  auto block = [](std::int64_t extent, std::int64_t count) {
    constexpr std::int64_t kRound = 32;
    std::int64_t each = (extent + count - 1) / count;
    return std::min(extent, (each + kRound - 1) / kRound * kRound);
  };
  p.row_block = block(p.m, row_parts);
  p.column_block = block(p.n, parts / row_parts);
}

// Handles products with a narrow side, such as a classifier's last layer. Their rows may be a batch
// that is divided over devices, and the bits should not depend on the division. In a forward
// product oneDNN gets few rows at a time, since it may treat the last rows differently. A product
// that contracts the leading dimensions of both operands, such as a weight gradient, is a sum over
// rows and uses the tree of codegen/kernel/reduce_shape.h; a leaf costs a call and a pass over the
// results. Both are cheap for a narrow product, which waits for memory anyway. They are too
// expensive for a wide one, which is left to oneDNN, as is a sum whose partial results for each
// halving would need too much memory.
void cut_narrow(DotSchedule& p) {
  constexpr std::int64_t kNarrow = 16, kMostOfBlock = 32768, kMostResults = 1 << 18, kVector = 256;
  auto rows_worth_a_call = [](std::int64_t of_weights, double flops) {
    std::int64_t rows = kLeafRows;
    while (2.0 * static_cast<double>(of_weights * rows) < flops) rows *= 2;
    return rows;
  };
  if (p.batch > 1) return;
  p.narrow_side = std::min(p.n, p.over_rows ? p.m : p.k) <= kNarrow &&
                  (!p.over_rows || p.m * p.n <= kMostResults);
  if (!p.narrow_side) return;
  p.row_block = p.m;
  p.column_block = p.n;
  if (p.over_rows) {
    auto& cut = p.m < p.n ? p.column_block : p.row_block;  // the long side
    // A product with a vector is bound by reading its matrix, so smaller parts are worthwhile.
    const std::int64_t narrow = std::min(p.m, p.n),
                       most = narrow == 1 ? kVector : kMostOfBlock / narrow;
    cut = std::min(cut, most);
    p.partial = p.halvings =
        halvings(p.k, rows_worth_a_call(narrow == 1 ? cut : p.m * p.n, machine::kNarrowLeaf));
  } else {
    p.row_block = std::min(p.m, rows_worth_a_call(p.n * p.k, machine::kNarrowBlock));
  }
}

// oneDNN sums a product with a vector one term after the other, with an error that grows with the
// number of terms, so it gets a limited number at a time. Wider products are blocked internally.
void cut_long_sums(DotSchedule& p) {
  constexpr std::int64_t kMostTerms = 1024;
  if (p.m != 1 && p.n != 1) return;
  p.most_terms = kMostTerms;
  p.partial = p.halvings;
  for (std::int64_t k = p.k >> p.halvings; k > kMostTerms; k = (k + 1) / 2) ++p.partial;
}

// For many tiny matrices, and for inner products, a library call costs more than the op's own
// loops.
bool better_as_loops(const DotSchedule& p) {
  if (p.m == 1 && p.n == 1) return p.batch >= 8 || p.k >= 4096;
  return p.batch >= 8 && p.m * p.n * p.k <= 4096;
}

// The product by our own kernels, or nullptr where the library is faster: with few rows and a right
// operand whose steps of k are adjacent. Our kernels keep the order of additions, so they would have
// to transpose what they read.
std::shared_ptr<const matrix::Product> own_product(DType dtype, DotSchedule& p) {
  constexpr std::int64_t kFewRows = 16;
  p.turned = p.n == 1 && p.m > 1;
  const std::int64_t rows = p.turned ? 1 : p.m;
  if (rows <= kFewRows && (p.turned ? !p.lhs.transposed : p.rhs.transposed && p.n > 1))
    return nullptr;
  p.most_terms = std::numeric_limits<std::int64_t>::max();
  p.partial = p.halvings;
  const matrix::Distances l = p.lhs_distances(), r = p.rhs_distances();
  return std::make_shared<const matrix::Product>(
      p.turned ? matrix::Problem{dtype, dtype, 1, p.m, p.k, r, l, 1, p.row_block}
               : matrix::Problem{dtype, dtype, p.m, p.n, p.k, l, r, p.row_block, p.column_block});
}

Stage prepare_stage(const DotSchedule& p, const Matrix& x, int operand) {
  auto at = [operand, offset = x.scratch](const RoutineArgs& args) {
    return Widening{args.inputs[operand],
                    reinterpret_cast<float*>(static_cast<char*>(args.scratch) + offset)};
  };
  if (!x.packed) return widening_stage(p.operand, x.elements(), at);
  constexpr std::int64_t kElements = 1 << 16;  // per task
  const std::int64_t each = x.rows() * x.columns(), count = x.batch.count();
  const std::int64_t block = std::max<std::int64_t>(1, kElements / std::max<std::int64_t>(1, each));
  Stage stage;
  stage.tasks = std::max<std::int64_t>(1, (count + block - 1) / block);
  stage.run = [x, block, count, at, dtype = p.operand,
               packing = p.as_it_is ? Packing::as_is : Packing::widened](
                  const RoutineArgs& args, std::int64_t begin, std::int64_t end) {
    const auto [from, to] = at(args);
    const std::int64_t first = begin * block, last = std::min(count, end * block);
    pack(dtype, packing, x, from, to, first, last);
  };
  return stage;
}

// The strides of a batch that is traversed in two loops, the inner one over `inner` matrices.
onednn::Matmul::Operand strides_of(const DotSchedule& p, const Matrix& x, std::int64_t outer,
                                   std::int64_t inner) {
  const std::int64_t size = x.rows() * x.columns();
  const std::int64_t step = inner > 1 ? x.offsets[1] - x.offsets[0] : size,
                     far = outer > 1 ? x.offsets[inner] - x.offsets[0] : p.batch * size;
  return x.transposed ? onednn::Matmul::Operand{far, step, 1, x.leading}
                      : onednn::Matmul::Operand{far, step, x.leading, 1};
}

// Prepares oneDNN products of outer x inner matrices for each block shape. Returns whether all
// exist, each with at most `most_scratch` bytes of scratch memory.
bool prepare(DotSchedule& p, std::int64_t outer, std::int64_t inner,
             const onednn::Matmul::Operand& lhs, const onednn::Matmul::Operand& rhs,
             std::size_t most_scratch) {
  std::shared_ptr<const onednn::Matmul> made[2][2];
  std::size_t scratch = 0;
  for (std::int64_t task = 0; task < p.row_parts() * p.column_parts(); ++task) {
    const Block block = block_of(p, task);
    auto& product = made[block.last_row][block.last_column];
    if (product) continue;
    product = onednn::Matmul::make({p.operand_of_product, p.result_of_product, outer, inner,
                                    block.m, block.n, p.k, lhs, rhs, p.n});
    if (!product || product->scratch_bytes() > most_scratch) return false;
    scratch = std::max(scratch, product->scratch_bytes());
  }
  for (int i = 0; i < 4; ++i) p.prepared[i / 2][i % 2] = made[i / 2][i % 2];
  p.prepared_stride = (scratch + 63) / 64 * 64;
  return true;
}

// Multiplies several matrices at once along the innermost batch dimensions, for products that are
// not cut within a matrix. This also helps with a transposed right operand, which sgemm would copy
// first.
bool try_several(DotSchedule& p, std::size_t most_scratch) {
  double flops = 2.0 * static_cast<double>(p.batch) * static_cast<double>(p.m) *
                 static_cast<double>(p.n) * static_cast<double>(p.k);
  const Ints& extents = p.lhs.batch.extents;
  std::int64_t inner = extents.empty() ? 1 : extents.back(),
               outer = extents.size() < 2 ? 1 : extents[extents.size() - 2];
  std::int64_t parts = tasks_for(flops),
               together = dividing_chunk(inner, std::max<std::int64_t>(1, parts * inner / p.batch));
  std::int64_t rounds =
      together == inner
          ? dividing_chunk(outer, std::max<std::int64_t>(1, parts * inner * outer / p.batch))
          : 1;
  if (!prepare(p, rounds, together, strides_of(p, p.lhs, outer, inner),
               strides_of(p, p.rhs, outer, inner), most_scratch))
    return false;
  p.together = together * rounds;
  const std::int64_t calls = p.batch / p.together;
  p.batch_block = p.together * std::max<std::int64_t>(1, calls / parts);
  return true;
}

// Whether bfloat16 is multiplied directly. Products with a narrow side or a vector are bound by
// memory and have their own summation.
bool prepare_bfloat16(DotSchedule& p) {
  if (p.operand != DType::bfloat16 || p.narrow_side || p.m == 1 || p.n == 1) return false;
  if (p.result != DType::bfloat16 && p.result != DType::float32) return false;
  if (!onednn::multiplies_bfloat16()) return false;
  p.operand_of_product = DType::bfloat16;
  p.result_of_product = p.result;
  const bool cut = p.row_block < p.m || p.column_block < p.n;
  p.as_it_is = cut ? prepare(p, 1, 1, strides_of(p, p.lhs, 1, 1), strides_of(p, p.rhs, 1, 1),
                             machine::kBfloat16Scratch)
                   : try_several(p, machine::kBfloat16Scratch);
  if (!p.as_it_is) p.operand_of_product = p.result_of_product = DType::float32;
  return p.as_it_is;
}

Stage multiply_prepared_stage(const DotSchedule& p) {
  Stage stage;
  stage.tasks = p.tasks();
  stage.run = [p](const RoutineArgs& args, std::int64_t begin, std::int64_t end) {
    char* scratch = static_cast<char*>(args.scratch);
    const auto size = static_cast<std::int64_t>(size_of(p.operand_of_product)),
               result_size = static_cast<std::int64_t>(size_of(p.result_of_product));
    const char *l = operand_bytes(args, p.lhs, 0), *r = operand_bytes(args, p.rhs, 1);
    char* out = p.narrow ? scratch + p.result_scratch : static_cast<char*>(args.outputs[0]);
    for (std::int64_t task = begin; task < end; ++task) {
      const Block block = block_of(p, task);
      const onednn::Matmul& product = *p.prepared[block.last_row][block.last_column];
      for (std::int64_t b = block.first; b < block.last; b += p.together)
        product.run(
            l + lhs_offset(p, b, block.row) * size, r + rhs_offset(p, b, block.column) * size,
            out + ((b * p.m + block.row) * p.n + block.column) * result_size,
            scratch + p.prepared_scratch + static_cast<std::size_t>(task) * p.prepared_stride);
      std::int64_t from = block.first * p.m * p.n, to = block.last * p.m * p.n;
      if (p.narrow)
        narrow_to(p.result, reinterpret_cast<const float*>(out) + from,
                  static_cast<char*>(args.outputs[0]) + 2 * from, to - from);
    }
  };
  return stage;
}

struct Factors {
  const char *lhs, *rhs;
  const char* shared;  // the packed right operand of all tasks, or nullptr
  std::int64_t column;
};

// out[m][n] = the product over rows [first, first + k), with rows of `out` `leading` elements
// apart. The second half of the rows goes to `sums`, which holds m * n elements per halving.
template <class T>
void multiply(const DotSchedule& p, Factors x, std::int64_t m, std::int64_t n, std::int64_t first,
              std::int64_t k, int halvings, T* out, std::int64_t leading, T* sums) {
  if (halvings > 0 || k > p.most_terms) {
    const std::int64_t half = (k + 1) / 2;
    multiply(p, x, m, n, first, half, halvings - 1, out, leading, sums);
    multiply(p, x, m, n, first + half, k - half, halvings - 1, sums, n, sums + m * n);
    return add_rows(out, leading, sums, m, n);
  }
  if (p.own) {
    const std::int64_t size = sizeof(T);
    const char *l = x.lhs + first * p.lhs_distances().step * size,
               *r = x.rhs + first * p.rhs_distances().step * size;
    if (p.turned) return p.own->run({r, l, out, m, 1, m, k});
    return p.own->run({l, r, out, leading, m, n, k, first ? nullptr : x.shared, x.column});
  }
  const T* lhs = reinterpret_cast<const T*>(x.lhs) + first * (p.lhs.transposed ? p.lhs.leading : 1);
  const T* rhs = reinterpret_cast<const T*>(x.rhs) + first * (p.rhs.transposed ? 1 : p.rhs.leading);
  if constexpr (std::is_same_v<T, double>)
    dgemm(p.lhs.transposed, p.rhs.transposed, m, n, k, lhs, p.lhs.leading, rhs, p.rhs.leading, out,
          leading);
  else
    onednn::sgemm(p.lhs.transposed, p.rhs.transposed, m, n, k, lhs, p.lhs.leading, rhs,
                  p.rhs.leading, out, leading);
}

// Packs the right operands once for all tasks.
Stage share_stage(const DotSchedule& p) {
  Stage stage;
  stage.tasks = p.batch * p.own->shared_tasks();
  stage.run = [p](const RoutineArgs& args, std::int64_t begin, std::int64_t end) {
    const char* r = operand_bytes(args, p.rhs, 1);
    for (std::int64_t task = begin; task < end; ++task) {
      const std::int64_t b = task / p.own->shared_tasks();
      p.own->share(r + rhs_offset(p, b, 0) * (p.operand == DType::float64 ? 8 : 4),
                   static_cast<char*>(args.scratch) + p.shared +
                       static_cast<std::size_t>(b) * p.own->shared_bytes(),
                   task % p.own->shared_tasks());
    }
  };
  return stage;
}

Stage multiply_stage(const DotSchedule& p) {
  Stage stage;
  stage.tasks = p.tasks();
  stage.run = [p](const RoutineArgs& args, std::int64_t begin, std::int64_t end) {
    const char *l = operand_bytes(args, p.lhs, 0), *r = operand_bytes(args, p.rhs, 1);
    char* out = p.narrow ? static_cast<char*>(args.scratch) + p.result_scratch
                         : static_cast<char*>(args.outputs[0]);
    const char* shared = p.own && p.own->shares_b()
                             ? static_cast<const char*>(args.scratch) + p.shared
                             : nullptr;
    std::int64_t size = p.operand == DType::float64 ? 8 : 4;
    for (std::int64_t task = begin; task < end; ++task) {
      const Block block = block_of(p, task);
      for (std::int64_t b = block.first; b < block.last; ++b) {
        std::int64_t oo = (b * p.m + block.row) * p.n + block.column;
        Factors x{l + lhs_offset(p, b, block.row) * size,
                  r + rhs_offset(p, b, block.column) * size,
                  shared ? shared + static_cast<std::size_t>(b) * p.own->shared_bytes() : nullptr,
                  block.column};
        char *to = out + oo * size, *sums = static_cast<char*>(args.scratch) + p.sums_scratch +
                                            static_cast<std::size_t>(task) * p.sums_stride;
        auto run = [&]<class T>(T) {
          multiply(p, x, block.m, block.n, 0, p.k, p.halvings, reinterpret_cast<T*>(to), p.n,
                   reinterpret_cast<T*>(sums));
        };
        size == 8 ? run(double{}) : run(float{});
        if (!p.narrow) continue;
        for (std::int64_t i = 0; i < block.m; ++i) {
          std::int64_t at = oo + i * p.n;
          narrow_to(p.result, reinterpret_cast<const float*>(out) + at,
                    static_cast<char*>(args.outputs[0]) + 2 * at, block.n);
        }
      }
    }
  };
  return stage;
}

std::shared_ptr<const Routine> zeros(const Type& type) {
  auto routine = std::make_shared<Routine>();
  routine->name = "dot_general";
  routine->stages.push_back(
      single_stage([bytes = static_cast<std::size_t>(type.bytes())](const RoutineArgs& args) {
        if (bytes) std::memset(args.outputs[0], 0, bytes);
      }));
  return routine;
}

std::shared_ptr<const Routine> dot_routine(const CallArgs& a) {
  DType operand = a.inputs[0].dtype, result = a.outputs[0].dtype;
  DType acc = ops::accumulator_of(operand, result);
  bool narrow_operand = operand == DType::bfloat16 || operand == DType::float16;
  if (!is_floating(operand)) return nullptr;
  if (acc == DType::float64 && (operand != DType::float64 || result != DType::float64))
    return nullptr;
  if (a.inputs[0].shape.count() == 0 || a.inputs[1].shape.count() == 0) return zeros(a.outputs[0]);

  if (ops::multiplies_in_loops(a.inputs[0], a.inputs[1], a.outputs[0], ops::dot_dims(a.attrs)))
    return nullptr;
  DotSchedule p = arrange(a);
  cut(p);
  cut_narrow(p);
  cut_long_sums(p);
  if (better_as_loops(p)) return nullptr;
  if (std::max({p.m, p.n, p.k}) > std::numeric_limits<std::int32_t>::max()) return nullptr;
  if (!prepare_bfloat16(p)) p.own = own_product(acc, p);
  p.narrow = acc == DType::float32 && result != DType::float32 && !p.as_it_is;
  ScratchPlan scratch;
  auto routine = std::make_shared<Routine>();
  routine->name = "dot_general";
  const std::int64_t size = p.as_it_is ? 2 : acc == DType::float64 ? 8 : 4;
  int index = 0;
  for (Matrix* x : {&p.lhs, &p.rhs}) {
    x->in_scratch = x->packed || (narrow_operand && !p.as_it_is);
    if (x->in_scratch) {
      x->scratch = scratch.add(static_cast<std::size_t>(x->elements() * size));
      routine->stages.push_back(prepare_stage(p, *x, index));
    }
    ++index;
  }
  if (p.narrow) p.result_scratch = scratch.add(static_cast<std::size_t>(p.batch * p.m * p.n * 4));
  const bool prepared = p.prepared[1][1] != nullptr;
  if (p.partial && !prepared) {
    p.sums_stride = static_cast<std::size_t>(p.partial * p.row_block * p.column_block) * 8;
    p.sums_scratch = scratch.add(p.sums_stride * static_cast<std::size_t>(p.tasks()));
  }
  if (prepared)
    p.prepared_scratch = scratch.add(p.prepared_stride * static_cast<std::size_t>(p.tasks()));
  if (p.own && p.own->shares_b()) {
    p.shared = scratch.add(p.own->shared_bytes() * static_cast<std::size_t>(p.batch));
    routine->stages.push_back(share_stage(p));
  }
  routine->stages.push_back(prepared ? multiply_prepared_stage(p) : multiply_stage(p));
  routine->scratch_bytes = scratch.size();
  double flops = 2.0 * static_cast<double>(p.batch) * static_cast<double>(p.m) *
                 static_cast<double>(p.n) * static_cast<double>(p.k);
  const double rate = p.as_it_is              ? machine::kProductFlops16
                      : acc == DType::float64 ? machine::kProductFlops64
                                              : machine::kProductFlops;
  routine->seconds = machine::kProductCall + flops / rate;
  return routine;
}

}  // namespace
}  // namespace tessera::inline v0::codegen

namespace tessera::inline v0::ops {

std::shared_ptr<const Routine> dot_general_call(const CallArgs& a) {
  return codegen::dot_routine(a);
}

}  // namespace tessera::inline v0::ops
