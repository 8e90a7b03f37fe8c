// Matrix products: dot_general by our own kernels (codegen/matrix), or by oneDNN where that is
// faster.
//
// An operand is read in place, transposed or not, if the dimensions of each role (batch, free,
// contracting) merge into one stride; otherwise it is packed first. bfloat16 is multiplied
// directly, by oneDNN, if the processor supports it. Otherwise it is widened like float16,
// multiplied in float32 and rounded once.
#include "base/machine.h"
#include "base/thread_kept.h"
#include "codegen/calls/add.h"
#include "codegen/calls/dot_schedule.h"
#include "codegen/calls/internal.h"
#include "codegen/calls/matrix_operand.h"
#include "codegen/calls/onednn.h"
#include "codegen/matrix/product.h"
#include "ops/accumulate.h"
#include "ops/contraction/dot_dims.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace tessera::inline v0::codegen {
namespace {

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
  if constexpr (std::is_same_v<T, float>)
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
    const char* shared =
        p.own && p.own->shares_b() ? static_cast<const char*>(args.scratch) + p.shared : nullptr;
    std::int64_t size = p.operand == DType::float64 ? 8 : 4;
    for (std::int64_t task = begin; task < end; ++task) {
      const Block block = block_of(p, task);
      for (std::int64_t b = block.first; b < block.last; ++b) {
        std::int64_t oo = (b * p.m + block.row) * p.n + block.column;
        Factors x{l + lhs_offset(p, b, block.row) * size, r + rhs_offset(p, b, block.column) * size,
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

// Memory of this thread for the right operand of a task that computes its block in parts.
char* task_memory(std::size_t bytes) {
  thread_local const ThreadKept<std::vector<char>> kept;
  constexpr std::size_t kLine = 64;
  if (kept->size() < bytes + kLine) kept->resize(bytes + kLine);
  const auto at = reinterpret_cast<std::uintptr_t>(kept->data());
  return reinterpret_cast<char*>((at + kLine - 1) / kLine * kLine);
}

// Makes the panels of a task: parts of the rows of each matrix, or several small matrices at once.
void run_panels(const DotSchedule& p, std::int64_t most_rows, const RoutineArgs& args,
                std::int64_t task, const PanelMaker::Place& place, const PanelMaker::Made& made) {
  const std::int64_t size = p.operand == DType::float64 ? 8 : 4;
  const char *l = operand_bytes(args, p.lhs, 0), *r = operand_bytes(args, p.rhs, 1);
  const bool shares = p.own->shares_b(), in_task = shares && p.row_parts() * p.column_parts() == 1;
  const Block block = block_of(p, task);
  const std::int64_t together = std::max<std::int64_t>(1, most_rows / block.m);
  for (std::int64_t b = block.first; b < block.last; b += together) {
    const std::int64_t matrices = std::min(together, block.last - b);
    for (std::int64_t row = 0; row < block.m; row += most_rows) {
      const std::int64_t m = std::min(most_rows, block.m - row);
      const Panel panel{b * p.m + block.row + row, block.column, m * matrices, block.n};
      char* to = static_cast<char*>(place(panel));
      for (std::int64_t i = b; i < b + matrices; ++i) {
        const char* right = r + rhs_offset(p, i, 0) * size;
        const char* shared = nullptr;
        if (in_task) {
          char* packed = task_memory(p.own->shared_bytes());
          for (std::int64_t t = 0; row == 0 && t < p.own->shared_tasks(); ++t)
            p.own->share(right, packed, t);
          shared = packed;
        } else if (shares) {
          shared = static_cast<const char*>(args.scratch) + p.shared +
                   static_cast<std::size_t>(i) * p.own->shared_bytes();
        }
        p.own->run({l + lhs_offset(p, i, block.row + row) * size,
                    r + rhs_offset(p, i, block.column) * size, to + (i - b) * m * p.n * size, p.n,
                    m, block.n, p.k, shared, block.column});
      }
      made(panel);
    }
  }
}

// The product in panels. `p` is complete, except for the right operand that tasks share.
std::shared_ptr<const PanelMaker> panels_of(DType acc, DotSchedule p, std::vector<Stage> before,
                                            ScratchPlan scratch) {
  const std::int64_t size = size_of(acc), tallest = matrix::most_rows();
  // Whole tiles, and enough rows that reading the right operand again costs little.
  constexpr std::int64_t kLeastTiles = 4;
  const std::int64_t tiles = std::max(
      kLeastTiles, machine::kProductPanel / (std::min(p.n, p.column_block) * size * tallest));
  auto maker = std::make_shared<PanelMaker>();
  maker->panel_rows = tiles * tallest;
  p.own = own_product(acc, p, maker->panel_rows);
  maker->before = std::move(before);
  if (p.own->shares_b() && p.row_parts() * p.column_parts() > 1) {
    p.shared = scratch.add(p.own->shared_bytes() * static_cast<std::size_t>(p.batch));
    maker->before.push_back(share_stage(p));
  }
  maker->rows = p.batch * p.m;
  maker->columns = p.n;
  maker->column_block = p.column_block;
  maker->scratch_bytes = scratch.size();
  maker->tasks = p.tasks();
  maker->run = [p, rows = maker->panel_rows](
                   const RoutineArgs& args, std::int64_t task, const PanelMaker::Place& place,
                   const PanelMaker::Made& made) { run_panels(p, rows, args, task, place, made); };
  return maker;
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
  const bool by_library = library_is_faster(acc, p);
  cut(p, !by_library && (operand != DType::bfloat16 || !onednn::multiplies_bfloat16()));
  cut_narrow(p, by_library);
  cut_long_sums(p);
  if (better_as_loops(p)) return nullptr;
  if (std::max({p.m, p.n, p.k}) > std::numeric_limits<std::int32_t>::max()) return nullptr;
  if (!prepare_bfloat16(p) && !by_library) p.own = own_product(acc, p);
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
  // A single column, rounded results and sums in halves wait for the whole block.
  if (p.own && !p.turned && !p.narrow && !p.halvings && p.n > 1)
    routine->in_panels = [acc, p, before = routine->stages, scratch] {
      return panels_of(acc, p, before, scratch);
    };
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
