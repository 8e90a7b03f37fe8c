// Matrix products: dot_general by our own kernels (codegen/matrix).
//
// An operand is read in place, transposed or not, if the dimensions of each role (batch, free,
// contracting) merge into one stride; otherwise it is packed first. It may also be a view of a
// narrower, transposed or repeated array (views.h). bfloat16 is multiplied in pairs if the
// processor has instructions for them. Otherwise it is widened when it is read, like float16,
// multiplied in float32 and rounded once. A matrix unit, if the processor has one, multiplies
// 16-bit floats and 8-bit integers.
#include "base/machine.h"
#include "base/thread_kept.h"
#include "codegen/calls/add.h"
#include "codegen/calls/dot_schedule.h"
#include "codegen/calls/internal.h"
#include "codegen/calls/matrix_operand.h"
#include "codegen/kernel/isa.h"
#include "codegen/kernel/reduce_shape.h"
#include "codegen/matrix/product.h"
#include "ops/accumulate.h"
#include "ops/contraction/dot_dims.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>

namespace tessera::inline v0::codegen {
namespace {

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
  stage.run = [x, block, count, at, dtype = x.element,
               packing = p.widened ? Packing::widened : Packing::as_is](
                  const RoutineArgs& args, std::int64_t begin, std::int64_t end) {
    const auto [from, to] = at(args);
    const std::int64_t first = begin * block, last = std::min(count, end * block);
    pack(dtype, packing, x, from, to, first, last);
  };
  return stage;
}

struct Factors {
  const char *lhs, *rhs;
  const char* shared;  // the packed right operand of all tasks, or nullptr
  std::int64_t column;
};

// Adds sums of the dtype of `p`, which is a floating or complex one.
void add_sums(const DotSchedule& p, char* out, std::int64_t leading, const char* sums,
              std::int64_t m, std::int64_t n) {
  const std::int64_t parts = matrix::parts_in(p.kind);
  if (p.sum_size() / parts == 8)
    add_rows(reinterpret_cast<double*>(out), leading * parts, reinterpret_cast<const double*>(sums),
             m, n * parts);
  else
    add_rows(reinterpret_cast<float*>(out), leading * parts, reinterpret_cast<const float*>(sums),
             m, n * parts);
}

// out[m][n] = the product over rows [first, first + k), with rows of `out` `leading` elements
// apart. The second half of the rows goes to `sums`, which holds m * n elements per halving.
void multiply(const DotSchedule& p, Factors x, std::int64_t m, std::int64_t n, std::int64_t first,
              std::int64_t k, int halvings, char* out, std::int64_t leading, char* sums) {
  if (halvings > 0) {
    const std::int64_t half = (k + 1) / 2;
    multiply(p, x, m, n, first, half, halvings - 1, out, leading, sums);
    multiply(p, x, m, n, first + half, k - half, halvings - 1, sums, n,
             sums + m * n * p.sum_size());
    return add_sums(p, out, leading, sums, m, n);
  }
  const char *l = x.lhs + first * p.lhs_distances().step * p.size_in(p.lhs),
             *r = x.rhs + first * p.rhs_distances().step * p.size_in(p.rhs);
  if (p.turned) return p.own->run({r, l, out, m, 1, m, k});
  p.own->run({l, r, out, leading, m, n, k, first ? nullptr : x.shared, x.column});
}

}  // namespace

void narrow_sums(const DotSchedule& p, const char* from, char* to, std::int64_t count) {
  if (is_floating(p.result))
    return narrow_to(p.result, reinterpret_cast<const float*>(from), to, count);
  // Sums that are correct modulo 2^32 are correct modulo every smaller power of two.
  auto keep_low = [&]<class To>(To) {
    const auto* sums = reinterpret_cast<const std::uint32_t*>(from);
    auto* out = reinterpret_cast<To*>(to);
    for (std::int64_t i = 0; i < count; ++i) out[i] = static_cast<To>(sums[i]);
  };
  size_of(p.result) == 1 ? keep_low(std::uint8_t{}) : keep_low(std::uint16_t{});
}

// Packs the right operands once for all tasks.
Stage share_stage(const DotSchedule& p) {
  Stage stage;
  stage.tasks = p.batch * p.own->shared_tasks();
  stage.run = [p](const RoutineArgs& args, std::int64_t begin, std::int64_t end) {
    const char* r = operand_bytes(args, p.rhs, 1);
    for (std::int64_t task = begin; task < end; ++task) {
      const std::int64_t b = task / p.own->shared_tasks();
      p.own->share(r + rhs_offset(p, b, 0) * p.size_in(p.rhs),
                   static_cast<char*>(args.scratch) + p.shared +
                       static_cast<std::size_t>(b) * p.own->shared_bytes(),
                   task % p.own->shared_tasks());
    }
  };
  return stage;
}

namespace {

// The packed right operands of all tasks, or null.
const char* shared_by_tasks(const DotSchedule& p, const RoutineArgs& args) {
  if (p.panels_given) return static_cast<const char*>(args.form);
  return p.own->shares_b() ? static_cast<const char*>(args.scratch) + p.shared : nullptr;
}

Stage multiply_stage(const DotSchedule& p) {
  Stage stage;
  stage.tasks = p.tasks();
  stage.run = [p](const RoutineArgs& args, std::int64_t begin, std::int64_t end) {
    const char *l = operand_bytes(args, p.lhs, 0), *r = operand_bytes(args, p.rhs, 1);
    char* out = p.narrow ? static_cast<char*>(args.scratch) + p.result_scratch
                         : static_cast<char*>(args.outputs[0]);
    const char* shared = shared_by_tasks(p, args);
    const std::int64_t sum_size = p.sum_size(),
                       result_size = static_cast<std::int64_t>(size_of(p.result));
    for (std::int64_t task = begin; task < end; ++task) {
      const Block block = block_of(p, task);
      for (std::int64_t b = block.first; b < block.last; ++b) {
        std::int64_t oo = (b * p.m + block.row) * p.n + block.column;
        Factors x{l + lhs_offset(p, b, block.row) * p.size_in(p.lhs),
                  r + rhs_offset(p, b, block.column) * p.size_in(p.rhs),
                  shared ? shared + static_cast<std::size_t>(b) * p.own->shared_bytes() : nullptr,
                  block.column};
        multiply(p, x, block.m, block.n, 0, p.k, p.halvings, out + oo * sum_size, p.n,
                 static_cast<char*>(args.scratch) + p.sums_scratch +
                     static_cast<std::size_t>(task) * p.sums_stride);
        if (!p.narrow) continue;
        const bool whole_rows = block.n == p.n;
        for (std::int64_t i = 0; i < (whole_rows ? 1 : block.m); ++i) {
          const std::int64_t at = oo + i * p.n;
          narrow_sums(p, out + at * sum_size,
                      static_cast<char*>(args.outputs[0]) + at * result_size,
                      whole_rows ? block.m * block.n : block.n);
        }
      }
    }
  };
  return stage;
}

// The operations of one core per second, by their size; a complex product is four real ones.
double rate_of(const DotSchedule& p) {
  if (is_complex(p.operand))
    return (p.sum_size() == 16 ? machine::kProductFlops64 : machine::kProductFlops) / 4;
  if (matrix::on_unit(p.kind.terms)) return machine::kProductFlopsUnit;
  if (p.kind.terms != matrix::Terms::single) return machine::kProductFlops16;
  return p.sum_size() == 8 ? machine::kProductFlops64 : machine::kProductFlops;
}

// Memory of this thread for the right operand of a task that computes its block in parts.
char* task_memory(std::size_t bytes) {
  thread_local const ThreadKept<std::vector<char>> kept;
  constexpr std::size_t kLine = 64;
  if (kept->size() < bytes + kLine) kept->resize(bytes + kLine);
  const auto at = reinterpret_cast<std::uintptr_t>(kept->data());
  return reinterpret_cast<char*>((at + kLine - 1) / kLine * kLine);
}

// Computes the panels of a task: parts of the rows of each matrix, or several small matrices at
// once.
void run_panels(const DotSchedule& p, std::int64_t most_rows, const RoutineArgs& args,
                std::int64_t task, const PanelMaker::Place& place, const PanelMaker::Made& made) {
  const char *l = operand_bytes(args, p.lhs, 0), *r = operand_bytes(args, p.rhs, 1);
  const bool shares = p.own->shares_b(),
             in_task = shares && !p.panels_given && p.row_parts() * p.column_parts() == 1;
  const Block block = block_of(p, task);
  const std::int64_t together = std::max<std::int64_t>(1, most_rows / block.m);
  for (std::int64_t b = block.first; b < block.last; b += together) {
    const std::int64_t matrices = std::min(together, block.last - b);
    for (std::int64_t row = 0; row < block.m; row += most_rows) {
      const std::int64_t m = std::min(most_rows, block.m - row);
      const Panel panel{b * p.m + block.row + row, block.column, m * matrices, block.n};
      char* to = static_cast<char*>(place(panel));
      for (std::int64_t i = b; i < b + matrices; ++i) {
        const char* right = r + rhs_offset(p, i, 0) * p.size_in(p.rhs);
        const char* shared = nullptr;
        if (in_task) {
          char* packed = task_memory(p.own->shared_bytes());
          for (std::int64_t t = 0; row == 0 && t < p.own->shared_tasks(); ++t)
            p.own->share(right, packed, t);
          shared = packed;
        } else if (shares) {
          shared = shared_by_tasks(p, args) + static_cast<std::size_t>(i) * p.own->shared_bytes();
        }
        p.own->run({l + lhs_offset(p, i, block.row + row) * p.size_in(p.lhs),
                    r + rhs_offset(p, i, block.column) * p.size_in(p.rhs),
                    to + (i - b) * m * p.n * p.sum_size(), p.n, m, block.n, p.k, shared,
                    block.column});
      }
      made(panel);
    }
  }
}

// The product in panels. `p` is complete, except for the right operand that tasks share.
std::shared_ptr<const PanelMaker> panels_of(DotSchedule p, std::vector<Stage> before,
                                            ScratchPlan scratch) {
  const std::int64_t size = p.sum_size(), tallest = p.own->tile_rows();
  // Whole tiles, and enough rows that reading the right operand again costs little.
  constexpr std::int64_t kLeastTiles = 4;
  const std::int64_t tiles = std::max(
      kLeastTiles, machine::kProductPanel / (std::min(p.n, p.column_block) * size * tallest));
  auto maker = std::make_shared<PanelMaker>();
  maker->panel_rows = tiles * tallest;
  p.own = own_product(p, maker->panel_rows);
  maker->before = std::move(before);
  if (p.own->shares_b() && !p.panels_given && p.row_parts() * p.column_parts() > 1) {
    p.shared = scratch.add(p.own->shared_bytes() * static_cast<std::size_t>(p.batch));
    maker->before.push_back(share_stage(p));
  }
  maker->rows = p.batch * p.m;
  maker->columns = p.n;
  maker->column_block = p.column_block;
  maker->matrix_rows = p.m;
  maker->block_rows = p.row_block;
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

// Returns the kind of the products' sums, or nothing if the op's own loops multiply these dtypes.
std::optional<matrix::Kind> kind_of(DType operand, DType result) {
  if (is_complex(operand))
    return operand == result ? std::optional(matrix::Kind{result}) : std::nullopt;
  if (is_integer(operand)) {
    const bool wide = size_of(result) == 8;
    if (wide != (size_of(operand) == 8)) return std::nullopt;
    return matrix::integer_kind(operand, wide ? DType::int64 : DType::int32);
  }
  if (!is_floating(operand)) return std::nullopt;
  const DType sum = ops::accumulator_of(operand, result);
  if (sum == DType::float64 && (operand != DType::float64 || result != DType::float64))
    return std::nullopt;
  return matrix::Kind{sum};
}

// The terms for instructions that multiply several numbers at once, if they suit the product. They
// do not if it has a narrow side or few rows, because memory then limits it. Such products of
// 16-bit floats are summed as in float32, since instructions for pairs add in another order and may
// treat subnormal numbers as zeros.
matrix::Terms terms_of(const DotSchedule& p) {
  if (p.narrow_side || p.m < kLeafRows || p.n == 1) return p.kind.terms;
  if (const auto unit = matrix::unit_terms(p.operand, p.kind.sum)) return *unit;
  if (p.operand == DType::bfloat16 && matrix::has_bfloat16_pairs())
    return matrix::Terms::pairs_bfloat16;
  return p.kind.terms;
}

bool is_empty(const CallArgs& a) {
  return a.inputs[0].shape.count() == 0 || a.inputs[1].shape.count() == 0;
}

// The routine of a product whose operands are prepared by `stages`.
std::shared_ptr<Routine> multiplied(DotSchedule p, std::vector<Stage> stages, ScratchPlan scratch) {
  auto routine = std::make_shared<Routine>();
  routine->name = "dot_general";
  if (!p.halvings)
    routine->reads_panels = [p, stages, scratch](std::size_t input, const PanelMaker& maker,
                                                 std::span<const std::int64_t> strides) {
      return reader_of(p, input == 0, maker, strides, stages, scratch);
    };
  if (p.narrow)
    p.result_scratch = scratch.add(static_cast<std::size_t>(p.batch * p.m * p.n * p.sum_size()));
  // A single column, rounded results and sums by halves need the whole block before they are
  // complete.
  if (!p.turned && !p.narrow && !p.halvings && p.n > 1)
    routine->in_panels = [p, stages, scratch] { return panels_of(p, stages, scratch); };
  if (p.halvings) {
    p.sums_stride =
        static_cast<std::size_t>(p.halvings * p.row_block * p.column_block * p.sum_size());
    p.sums_scratch = scratch.add(p.sums_stride * static_cast<std::size_t>(p.tasks()));
  }
  routine->stages = std::move(stages);
  if (p.own->shares_b() && !p.panels_given) {
    p.shared = scratch.add(p.own->shared_bytes() * static_cast<std::size_t>(p.batch));
    routine->stages.push_back(share_stage(p));
  }
  routine->stages.push_back(multiply_stage(p));
  routine->scratch_bytes = scratch.size();
  routine->seconds =
      machine::kProductCall + static_cast<double>(p.batch) * p.seconds_of_one(rate_of(p));
  return routine;
}

// The right operand in panels, and the product that reads them.
std::shared_ptr<const OperandForm> panels_form(DotSchedule p, const std::vector<Stage>& stages,
                                               const ScratchPlan& scratch) {
  p.panels_given = true;
  p.own = own_product(p);
  auto form = std::make_shared<OperandForm>();
  form->key = "panels " + to_string(p.rhs.element) + " " + to_string(p.kind.sum);
  const matrix::Distances d = p.rhs_distances();
  for (const std::int64_t part :
       {static_cast<std::int64_t>(p.kind.terms), p.k, p.n, d.step, d.line, p.own->panel_width()})
    form->key += " " + std::to_string(part);
  if (p.batch > 1 || p.rhs.first)
    for (const std::int64_t offset : p.rhs.offsets) form->key += "+" + std::to_string(offset);
  form->bytes = p.own->shared_bytes() * static_cast<std::size_t>(p.batch);
  form->tasks = p.batch * p.own->shared_tasks();
  form->make = [p](const void* operand, void* to, std::int64_t begin, std::int64_t end) {
    for (std::int64_t task = begin; task < end; ++task) {
      const std::int64_t b = task / p.own->shared_tasks();
      p.own->share(static_cast<const char*>(operand) + rhs_offset(p, b, 0) * p.size_in(p.rhs),
                   static_cast<char*>(to) + static_cast<std::size_t>(b) * p.own->shared_bytes(),
                   task % p.own->shared_tasks());
    }
  };
  form->reader = multiplied(p, stages, scratch);
  return form;
}

void cut_all(DotSchedule& p) {
  cut(p);
  // Integer sums have the same bits in every order.
  if (!is_integer(p.operand)) cut_narrow(p);
}

// Returns nothing if the op's own loops multiply.
std::optional<DotSchedule> schedule_of(const CallArgs& a) {
  const DType operand = a.inputs[0].dtype, result = a.outputs[0].dtype;
  const std::optional<matrix::Kind> kind = kind_of(operand, result);
  if (!kind ||
      ops::multiplies_in_loops(a.inputs[0], a.inputs[1], a.outputs[0], ops::dot_dims(a.attrs)))
    return std::nullopt;
  DotSchedule p = arrange(a);
  p.kind = *kind;
  cut_all(p);
  if (better_as_loops(p)) return std::nullopt;
  if (std::max({p.m, p.n, p.k}) > std::numeric_limits<std::int32_t>::max()) return std::nullopt;
  p.kind.terms = terms_of(p);
  p.widened = operand == DType::float16 && !host_isa().avx2;
  return p;
}

// Whether elements of `from` can be converted to the operand's dtype when they are packed or read.
bool converts_in_product(const DotSchedule& p, DType from) {
  if (from == p.operand) return true;
  if (p.kind.terms != matrix::Terms::single || is_complex(p.operand)) return false;
  return from != DType::boolean && (from != DType::float16 || host_isa().avx2);
}

bool takes_views(const CallArgs& a, OperandViews views) {
  if (is_empty(a)) return false;
  std::optional<DotSchedule> p = schedule_of(a);
  return p && !p->widened &&
         std::all_of(views.begin(), views.end(),
                     [&](const OperandView& v) { return converts_in_product(*p, v.dtype); }) &&
         read_views(*p, a, views);
}

// `views` may be empty: then all operands are stored.
std::shared_ptr<const Routine> dot_routine(const CallArgs& a, OperandViews views) {
  if (!kind_of(a.inputs[0].dtype, a.outputs[0].dtype)) return nullptr;
  if (is_empty(a)) return zeros(a.outputs[0]);
  std::optional<DotSchedule> schedule = schedule_of(a);
  if (!schedule) return nullptr;
  if (!views.empty()) {
    if (!read_views(*schedule, a, views)) return nullptr;
    cut_all(*schedule);  // by the bytes that are read; no bit depends on it
  }
  DotSchedule& p = *schedule;
  const DType result = p.result;
  p.own = own_product(p);
  p.narrow = size_of(result) < size_of(p.kind.sum);
  ScratchPlan scratch;
  std::vector<Stage> stages;
  int index = 0;
  for (Matrix* x : {&p.lhs, &p.rhs}) {
    x->in_scratch = x->packed || p.widened;
    if (x->in_scratch) {
      x->scratch = scratch.add(static_cast<std::size_t>(x->elements() * p.size_in(*x)));
      stages.push_back(prepare_stage(p, *x, index));
    }
    ++index;
  }
  const std::shared_ptr<Routine> routine = multiplied(p, stages, scratch);
  if (!p.turned && !p.halvings && !p.rhs.in_scratch && p.own->gains_by_panels()) {
    routine->form_operand = 1;
    routine->operand_form = [p, stages, scratch] { return panels_form(p, stages, scratch); };
  }
  return routine;
}

}  // namespace

const ViewRules* view_rules(const Op& op) {
  using Factory = std::shared_ptr<const Routine> (*)(const CallArgs&);
  static constexpr ViewRules kProducts{takes_views, dot_routine};
  const Factory* factory = op.call.target<Factory>();
  return factory && *factory == ops::dot_general_call ? &kProducts : nullptr;
}

}  // namespace tessera::inline v0::codegen

namespace tessera::inline v0::ops {

std::shared_ptr<const Routine> dot_general_call(const CallArgs& a) {
  return codegen::dot_routine(a, {});
}

}  // namespace tessera::inline v0::ops
