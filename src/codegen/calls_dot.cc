// Matrix products: dot_general as products of oneDNN (float32) and OpenBLAS (float64), batch by
// batch.
//
// An operand whose roles (batch, free, contracting) merge into one stride each is read where it
// lies, transposed or not; another is packed first. bfloat16 and float16 are widened, multiplied in
// float32 and rounded once.
#include "codegen/blas.h"
#include "codegen/calls_internal.h"
#include "codegen/onednn.h"
#include "ops/accumulate.h"
#include "ops/dot_dims.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace tessera::inline v0::codegen {
namespace {

// Dimensions that are walked together, outermost first.
struct Group {
  Ints extents, strides;

  std::int64_t count() const {
    return std::accumulate(extents.begin(), extents.end(), std::int64_t{1}, std::multiplies<>());
  }
  // The one stride under which the group is walked like a single dimension, or -1.
  std::int64_t stride() const {
    std::int64_t step = -1, span = 0;
    for (std::size_t i = extents.size(); i-- > 0;) {
      if (extents[i] == 1) continue;
      if (step >= 0 && strides[i] != span) return -1;
      if (step < 0) step = strides[i];
      span = strides[i] * extents[i];
    }
    return step < 0 ? 1 : step;
  }
};

Group group(const Shape& shape, const Ints& dims) {
  Group g;
  Shape strides = shape.strides();
  for (std::int64_t d : dims) {
    g.extents.push_back(shape[d]);
    g.strides.push_back(strides[d]);
  }
  return g;
}

// One operand as a batch of matrices of `outer` rows (lhs: free, rhs: contracting) and `inner`
// columns.
struct Matrix {
  Group batch, outer, inner;
  bool packed = false;
  bool transposed = false;
  std::int64_t leading = 1;
  Ints offsets;             // of the matrices, in elements
  std::size_t scratch = 0;  // of the packed or widened operand
  bool in_scratch = false;

  std::int64_t rows() const { return outer.count(); }
  std::int64_t columns() const { return inner.count(); }
  std::int64_t elements() const { return batch.count() * rows() * columns(); }

  // Whether a product can read it in place, and how.
  bool place() {
    std::int64_t r = outer.stride(), c = inner.stride(), m = rows(), n = columns();
    if (r < 0 || c < 0) return false;
    if ((c == 1 || n == 1) && (r >= n || m == 1)) {
      transposed = false;
      leading = m == 1 ? std::max<std::int64_t>(1, n) : r;
    } else if ((r == 1 || m == 1) && (c >= m || n == 1)) {
      transposed = true;
      leading = n == 1 ? std::max<std::int64_t>(1, m) : c;
    } else {
      return false;
    }
    return leading <= std::numeric_limits<std::int32_t>::max();
  }
  void settle() {
    packed = !place();
    if (packed) transposed = false, leading = std::max<std::int64_t>(1, columns());
    offsets.clear();
    std::int64_t next = 0;
    Shape strides(batch.strides);
    for_each_index(Shape(batch.extents), [&](const Shape& i) {
      offsets.push_back(packed ? next : flat_index(i, strides));
      next += rows() * columns();
    });
  }
};

struct Plan {
  Matrix lhs, rhs;
  DType operand, result;
  std::int64_t m, n, k, batch;
  std::int64_t row_block, column_block;  // of a task's part of the result
  std::int64_t batch_block;
  std::size_t result_scratch = 0;
  bool narrow = false;
  // Where small matrices are multiplied several at once: as many, and the scratch of each task.
  std::shared_ptr<const onednn::Matmul> several;
  std::int64_t together = 1;
  std::size_t several_scratch = 0, several_stride = 0;
};

template <class T>
void pack(const Matrix& x, const T* from, auto* to, std::int64_t batch_begin,
          std::int64_t batch_end) {
  Shape rows(x.outer.extents), columns(x.inner.extents), row_strides(x.outer.strides),
      column_strides(x.inner.strides);
  Shape batch_strides(x.batch.strides), batches = x.batch.extents;
  Shape b;
  b.resize(batches.size());
  std::int64_t inner = columns.empty() ? 1 : columns.back(),
               step = columns.empty() ? 1 : column_strides.back();
  Shape outer_columns = columns;
  if (!outer_columns.empty()) outer_columns.pop_back();
  Shape outer_strides = column_strides;
  if (!outer_strides.empty()) outer_strides.pop_back();
  for (std::int64_t i = batch_begin; i < batch_end; ++i) {
    std::int64_t rest = i;
    for (int d = batches.rank(); d-- > 0; rest /= batches[d]) b[d] = rest % batches[d];
    const T* matrix = from + flat_index(b, batch_strides);
    auto* out = to + i * x.rows() * x.columns();
    for_each_index(rows, [&](const Shape& r) {
      const T* row = matrix + flat_index(r, row_strides);
      for_each_index(outer_columns, [&](const Shape& c) {
        const T* p = row + flat_index(c, outer_strides);
        for (std::int64_t j = 0; j < inner; ++j) {
          using To = std::remove_reference_t<decltype(*out)>;
          *out++ = static_cast<To>(p[j * step]);
        }
      });
    });
  }
}

void pack_any(DType dtype, const Matrix& x, const void* from, void* to, std::int64_t begin,
              std::int64_t end) {
  switch (dtype) {
    case DType::bfloat16:
      return pack(x, static_cast<const bfloat16*>(from), static_cast<float*>(to), begin, end);
    case DType::float16:
      return pack(x, static_cast<const float16*>(from), static_cast<float*>(to), begin, end);
    case DType::float32:
      return pack(x, static_cast<const float*>(from), static_cast<float*>(to), begin, end);
    default: return pack(x, static_cast<const double*>(from), static_cast<double*>(to), begin, end);
  }
}

// The order of the contracted pairs under which the fewest elements have to be packed.
Plan arrange(const CallArgs& a) {
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
    Plan p;
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
  auto cost = [](const Plan& p) {
    return (p.lhs.packed ? p.lhs.elements() : 0) + (p.rhs.packed ? p.rhs.elements() : 0);
  };
  Plan by_lhs = with_order(d.lhs_contracting), by_rhs = with_order(d.rhs_contracting);
  Plan p = cost(by_rhs) < cost(by_lhs) ? by_rhs : by_lhs;
  p.operand = a.inputs[0].dtype;
  p.result = a.outputs[0].dtype;
  p.m = p.lhs.rows();
  p.n = p.rhs.columns();
  p.k = p.lhs.columns();
  p.batch = p.lhs.batch.count();
  return p;
}

// Blocks of the result, by shape alone: whole matrices where there are many, else rows or columns
// of one.
void cut(Plan& p) {
  double flops =
      2.0 * static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k);
  p.row_block = p.m;
  p.column_block = p.n;
  p.batch_block = 1;
  if (flops < 1.2e7) {
    p.batch_block =
        std::max<std::int64_t>(1, p.batch / tasks_for(flops * static_cast<double>(p.batch)));
    return;
  }
  constexpr std::int64_t kRound =
      48;  // the library's kernels take rows and columns by 16, 24 or 48
  std::int64_t parts =
      std::max<std::int64_t>(1, tasks_for(flops * static_cast<double>(p.batch)) / p.batch);
  auto block = [&](std::int64_t extent) {
    std::int64_t each = (extent + parts - 1) / parts;
    return std::min(extent, (each + kRound - 1) / kRound * kRound);
  };
  if (p.m >= p.n)
    p.row_block = block(p.m);
  else
    p.column_block = block(p.n);
}

// Many tiny matrices, and inner products: handing each to a library costs more than the op's own
// loops take.
bool better_as_loops(const Plan& p) {
  if (p.m == 1 && p.n == 1) return p.batch >= 8 || p.k >= 4096;
  return p.batch >= 8 && p.m * p.n * p.k <= 4096;
}

Stage prepare_stage(const Plan& p, const Matrix& x, int operand) {
  if (!x.packed)
    return widening_stage(
        p.operand, x.elements(), [operand, at = x.scratch](const RoutineArgs& args) {
          return Widening{args.inputs[operand],
                          reinterpret_cast<float*>(static_cast<char*>(args.scratch) + at)};
        });
  Stage stage;
  std::int64_t batches = x.batch.count();
  std::int64_t block =
      std::max<std::int64_t>(1, (1 << 16) / std::max<std::int64_t>(1, x.rows() * x.columns()));
  stage.tasks = std::max<std::int64_t>(1, (batches + block - 1) / block);
  stage.run = [x, block, batches, operand, dtype = p.operand](
                  const RoutineArgs& args, std::int64_t begin, std::int64_t end) {
    pack_any(dtype, x, args.inputs[operand], static_cast<char*>(args.scratch) + x.scratch,
             begin * block, std::min(batches, end * block));
  };
  return stage;
}

// Several matrices at once along the innermost batch dimensions, for products that are not cut
// within a matrix. A right operand that lies transposed gains too: sgemm copies it first.
void try_several(Plan& p) {
  constexpr std::size_t kMostScratch = 1 << 17;
  if (p.row_block < p.m || p.column_block < p.n || p.m == 1 || p.n == 1) return;
  if (p.batch == 1 && !p.rhs.transposed) return;
  if (p.lhs.transposed && p.m >= 256) return;
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
  auto operand = [&](const Matrix& x) {
    std::int64_t size = x.rows() * x.columns();
    std::int64_t step = inner > 1 ? x.offsets[1] - x.offsets[0] : size,
                 far = outer > 1 ? x.offsets[inner] - x.offsets[0] : p.batch * size;
    return x.transposed ? onednn::Matmul::Operand{far, step, 1, x.leading}
                        : onednn::Matmul::Operand{far, step, x.leading, 1};
  };
  auto several =
      onednn::Matmul::make(rounds, together, p.m, p.n, p.k, operand(p.lhs), operand(p.rhs));
  together *= rounds;
  if (!several || several->scratch_bytes() > kMostScratch) return;
  p.several = several;
  p.together = together;
  std::int64_t calls = p.batch / together;
  p.batch_block = together * std::max<std::int64_t>(1, calls / parts);
}

Stage multiply_several_stage(const Plan& p) {
  Stage stage;
  stage.tasks = (p.batch + p.batch_block - 1) / p.batch_block;
  stage.run = [p](const RoutineArgs& args, std::int64_t begin, std::int64_t end) {
    char* scratch = static_cast<char*>(args.scratch);
    auto operand = [&](const Matrix& x, int i) {
      return reinterpret_cast<const float*>(
          x.in_scratch ? scratch + x.scratch : static_cast<const char*>(args.inputs[i]));
    };
    const float *l = operand(p.lhs, 0), *r = operand(p.rhs, 1);
    float* out = p.narrow ? reinterpret_cast<float*>(scratch + p.result_scratch)
                          : static_cast<float*>(args.outputs[0]);
    for (std::int64_t task = begin; task < end; ++task) {
      std::int64_t first = task * p.batch_block, last = std::min(p.batch, first + p.batch_block);
      for (std::int64_t b = first; b < last; b += p.together)
        p.several->run(
            l + p.lhs.offsets[b], r + p.rhs.offsets[b], out + b * p.m * p.n,
            scratch + p.several_scratch + static_cast<std::size_t>(task) * p.several_stride);
      std::int64_t from = first * p.m * p.n, to = last * p.m * p.n;
      if (p.narrow)
        narrow_to(p.result, out + from, static_cast<char*>(args.outputs[0]) + 2 * from, to - from);
    }
  };
  return stage;
}

Stage multiply_stage(const Plan& p) {
  std::int64_t row_parts = (p.m + p.row_block - 1) / p.row_block,
               column_parts = (p.n + p.column_block - 1) / p.column_block;
  std::int64_t batch_parts = (p.batch + p.batch_block - 1) / p.batch_block,
               parts = row_parts * column_parts;
  Stage stage;
  stage.tasks = batch_parts * parts;
  stage.run = [p, parts, column_parts](const RoutineArgs& args, std::int64_t begin,
                                       std::int64_t end) {
    auto operand = [&](const Matrix& x, int i) {
      return x.in_scratch ? static_cast<const char*>(args.scratch) + x.scratch
                          : static_cast<const char*>(args.inputs[i]);
    };
    const char *l = operand(p.lhs, 0), *r = operand(p.rhs, 1);
    char* out = p.narrow ? static_cast<char*>(args.scratch) + p.result_scratch
                         : static_cast<char*>(args.outputs[0]);
    std::int64_t size = p.operand == DType::float64 ? 8 : 4;
    for (std::int64_t task = begin; task < end; ++task) {
      std::int64_t part = task % parts;
      std::int64_t row = part / column_parts * p.row_block,
                   column = part % column_parts * p.column_block;
      std::int64_t m = std::min(p.row_block, p.m - row), n = std::min(p.column_block, p.n - column);
      std::int64_t first = task / parts * p.batch_block,
                   last = std::min(p.batch, first + p.batch_block);
      for (std::int64_t b = first; b < last; ++b) {
        std::int64_t lo = p.lhs.offsets[b] + row * (p.lhs.transposed ? 1 : p.lhs.leading);
        std::int64_t ro = p.rhs.offsets[b] + column * (p.rhs.transposed ? p.rhs.leading : 1);
        std::int64_t oo = (b * p.m + row) * p.n + column;
        if (size == 8)
          dgemm(p.lhs.transposed, p.rhs.transposed, m, n, p.k,
                reinterpret_cast<const double*>(l) + lo, p.lhs.leading,
                reinterpret_cast<const double*>(r) + ro, p.rhs.leading,
                reinterpret_cast<double*>(out) + oo, p.n);
        else
          onednn::sgemm(p.lhs.transposed, p.rhs.transposed, m, n, p.k,
                        reinterpret_cast<const float*>(l) + lo, p.lhs.leading,
                        reinterpret_cast<const float*>(r) + ro, p.rhs.leading,
                        reinterpret_cast<float*>(out) + oo, p.n);
        if (!p.narrow) continue;
        for (std::int64_t i = 0; i < m; ++i) {
          std::int64_t at = oo + i * p.n;
          narrow_to(p.result, reinterpret_cast<const float*>(out) + at,
                    static_cast<char*>(args.outputs[0]) + 2 * at, n);
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

}  // namespace

std::shared_ptr<const Routine> dot_general_call(const CallArgs& a) {
  DType operand = a.inputs[0].dtype, result = a.outputs[0].dtype;
  DType acc = ops::accumulator_of(operand, result);
  bool narrow_operand = operand == DType::bfloat16 || operand == DType::float16;
  if (!is_floating(operand)) return nullptr;
  if (acc == DType::float64 && (operand != DType::float64 || result != DType::float64))
    return nullptr;
  if (a.inputs[0].shape.count() == 0 || a.inputs[1].shape.count() == 0) return zeros(a.outputs[0]);

  Plan p = arrange(a);
  if (better_as_loops(p)) return nullptr;
  p.narrow = acc == DType::float32 && result != DType::float32;
  if (std::max({p.m, p.n, p.k}) > std::numeric_limits<std::int32_t>::max()) return nullptr;
  cut(p);
  ScratchPlan scratch;
  auto routine = std::make_shared<Routine>();
  routine->name = "dot_general";
  int index = 0;
  for (Matrix* x : {&p.lhs, &p.rhs}) {
    x->in_scratch = x->packed || narrow_operand;
    if (x->in_scratch) {
      x->scratch =
          scratch.add(static_cast<std::size_t>(x->elements() * (acc == DType::float64 ? 8 : 4)));
      routine->stages.push_back(prepare_stage(p, *x, index));
    }
    ++index;
  }
  if (p.narrow) p.result_scratch = scratch.add(static_cast<std::size_t>(p.batch * p.m * p.n * 4));
  if (acc == DType::float32) try_several(p);
  if (p.several) {
    p.several_stride = (p.several->scratch_bytes() + 63) / 64 * 64;
    p.several_scratch = scratch.add(
        p.several_stride * static_cast<std::size_t>((p.batch + p.batch_block - 1) / p.batch_block));
  }
  routine->stages.push_back(p.several ? multiply_several_stage(p) : multiply_stage(p));
  routine->scratch_bytes = scratch.size();
  double flops = 2.0 * static_cast<double>(p.batch) * static_cast<double>(p.m) *
                 static_cast<double>(p.n) * static_cast<double>(p.k);
  routine->seconds = 1e-6 + flops / (acc == DType::float64 ? 4e10 : 1e11);
  return routine;
}

}  // namespace tessera::inline v0::codegen
