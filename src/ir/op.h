// Everything the library knows about one operation, as a row of rules. Printer, parser,
// documentation, fusibility and tests are all derived from these rows.
#pragma once

#include "ir/builder.h"
#include "ir/emit.h"
#include "ir/factor_rule.h"
#include "ir/flow.h"
#include "ir/host_array.h"
#include "ir/routine.h"
#include "ir/simplify_rule.h"

#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tessera::inline v0 {

/// In the order of AttrValue's alternatives.
enum class AttrKind {
  boolean,
  integer,
  real,
  string,
  dtype,
  ints,
  int_lists,
  strings,
  literal,
  program,
  programs,
  hook,
  spec,
  specs,
  mesh
};

/// An attribute of an op; both texts are literals.
struct AttrSpec {
  std::string_view name;
  AttrKind kind;
  std::string_view doc;
};

/// Returns the types of the results. Throws the user's error, with a message that begins with the
/// op's name.
struct InferArgs {
  const Op& op;
  std::span<const Type> inputs;
  const Attrs& attrs;
  const SourceLoc& loc;
};
using InferRule = std::function<std::vector<Type>(const InferArgs&)>;

/// Returns the tangents of the results. `outputs` are the primal results, already emitted. A
/// missing tangent is zero.
struct JvpArgs {
  Builder& b;
  const Op& op;
  const Attrs& attrs;
  std::span<const Value> inputs;
  std::span<const Value> outputs;
  std::span<const MaybeValue> tangents;
};
using JvpRule = std::function<MaybeValues(const JvpArgs&)>;

/// For ops that compute primals and tangents together (control flow, calls): emits both.
struct JvpBoth {
  Values outputs;
  MaybeValues tangents;
};
struct JvpBothArgs {
  Builder& b;
  const Op& op;
  const Attrs& attrs;
  std::span<const Value> inputs;
  std::span<const MaybeValue> tangents;
};
using JvpBothRule = std::function<JvpBoth(const JvpBothArgs&)>;

/// Returns the cotangents of the inputs of an equation that is linear in the inputs marked in
/// `linear`. `inputs[i]` is the value of a non-linear input; it is absent for a linear one, whose
/// type is `types[i]`. The result has one entry per input: absent means zero, and entries of
/// non-linear inputs are ignored.
struct TransposeArgs {
  Builder& b;
  const Op& op;
  const Attrs& attrs;
  std::span<const MaybeValue> inputs;
  std::span<const Type> types;
  std::span<const bool> linear;
  std::span<const MaybeValue> cotangents;
};
using TransposeRule = std::function<MaybeValues(const TransposeArgs&)>;

/// Emits the op over a stack of inputs. `dims[i]` is the stacked dimension of input i, or
/// kUnbatched; at least one input is stacked.
inline constexpr int kUnbatched = -1;
struct BatchArgs {
  Builder& b;
  const Op& op;
  const Attrs& attrs;
  std::span<const Value> inputs;
  std::span<const int> dims;
  std::int64_t size;
  const std::string& axis_name;  // of the mapped axis; may be empty
};
struct BatchResult {
  Values outputs;
  std::vector<int> dims;
};
using BatchRule = std::function<BatchResult(const BatchArgs&)>;

/// Splits an equation with nested programs when some of its inputs are unknown (tangents). Emits
/// into `known` all that can be computed from the known inputs, and returns the rest as an equation
/// over residuals and unknown inputs.
struct PartialEvalArgs {
  Builder& known;
  const Op& op;
  const Attrs& attrs;
  std::span<const MaybeValue> inputs;  // values of `known`; absent if unknown
  std::span<const Type> types;
};
struct PartialEvalResult {
  /// For each output, its value in `known`, or absent if unknown.
  MaybeValues outputs;
  /// The equation that computes the unknown outputs, in order. Its inputs are all `residuals`, then
  /// the unknown inputs in order. Null if every output is known.
  const Op* op = nullptr;
  Attrs attrs;
  Values residuals;
  /// If its inputs come in another order: for each input, its position in the list above.
  std::vector<std::size_t> input_order;
  /// If it has additional results: for each unknown output, the result that holds it.
  std::vector<std::size_t> taken_outputs;
};
using PartialEvalRule = std::function<PartialEvalResult(const PartialEvalArgs&)>;

/// The types and attributes of an equation.
struct TypedArgs {
  std::span<const Type> inputs;
  std::span<const Type> outputs;
  const Attrs& attrs;
};

/// Returns how sharding a dimension of one operand relates to the other tensors.
using ShardArgs = TypedArgs;
using ShardRule = std::function<FactorRule(const ShardArgs&)>;

/// An equation as one device of a mesh computes it, on its shards of the operands. A spec lists for
/// each dimension the mesh axes that shard it. All shards have the same shape: if the devices do
/// not divide an extent, the last shards end in padding with arbitrary contents.
struct LocalArgs {
  Builder& b;
  const Op& op;
  const Attrs& attrs;  // of the unpartitioned equation
  std::span<const Type> whole_inputs, whole_outputs;
  std::span<const Value> inputs;   // shards
  std::span<const Shape> outputs;  // of the shards that the rule returns
  std::span<const Spec> input_specs, output_specs;
  const MeshShape& mesh;
  /// The results are summed (or otherwise combined) afterwards over these axes, which together have
  /// `partial_size` devices.
  Strings partial;
  std::int64_t partial_size = 1;

  std::int64_t parts(const Strings& axes) const { return mesh.size_of(axes); }
};
/// Returns the shards of the results. The rule is called if a sharded factor is unmarked or a
/// reduction; if it is `indexed`, `prefix` or a `contest`, where attributes, or positions in the
/// data, differ between shard and whole; or if it has windows, in which case the rule fetches the
/// elements it needs (ops/fetch.h) from operands that are replicated or sharded into equally many
/// parts. Along a `contest` the rule returns the same results on all devices. The caller ensures
/// that padding along a reduction or a contest does not change the results; the rule itself must
/// handle any other padding that it reads.
using LocalRule = std::function<Values(const LocalArgs&)>;

/// How an equation may take part in fusion.
enum class FuseRole {
  free,         // recomputed in every kernel that reads it: constants, broadcasts, identities
  elementwise,  // computed where its result is read
  movement,     // reads every element of its operands about once
  reduction,
  window,  // operands are read more than once, so they are not computed inside the kernel
  apart,   // not part of any kernel
};
using FuseRule = std::function<FuseRole(const TypedArgs&)>;
inline FuseRule fuses_as(FuseRole role) {
  return [role](const TypedArgs&) { return role; };
}

/// The kind of data exchange that a collective does; its axes and groups are in the equation's
/// attributes.
enum class Exchange {
  none,
  combine,          // every device gets all values combined by `Op::combiner`
  combine_scatter,  // every device gets a shard of the combined values
  gather,
  all_to_all,
  permute,
  broadcast
};

/// For remat policies: the class of product, which decides how costly it is to recompute.
enum class Product { none, plain, batched };

/// Returns the operand whose buffer the result may overwrite once the operand is dead, because the
/// result keeps all but a few of its elements; -1 if there is none or it does not pay.
using OverwriteRule = std::function<int(const TypedArgs&, std::size_t output)>;

/// A result that is a strided box of its operand: the elements start + i * strides.
struct StridedBox {
  Ints start, limit, strides;
};

/// The elements of the results that are read: the first (or last) `count` along a dimension.
struct Ends {
  int dimension = 0;
  std::int64_t count = 0;
  bool last = false;
};

/// A user's sharding constraint: for each dimension, the axes that shard it. Dimensions in `open`
/// may be sharded over further, minor axes.
struct Constraint {
  MeshRef mesh;
  Spec spec;
  Ints open;  // dimensions
};

/// Whether an equation that has a transpose is jointly linear in the operands marked in `linear`.
using LinearRule = std::function<bool(std::span<const bool> linear)>;

/// Maps the sets of mesh axes of the inputs to those of the results. Two rules have this form.
/// `Op::vary` types the values of a typed per-device program for differentiation (it decides which
/// transposes need a psum). `Op::uniform` gives the axes over which the devices may hold results
/// with different bits. They differ: an all_gather gives the same bits everywhere, but its result
/// is typed varying, because its transpose sums over devices. Both default to the union of the
/// inputs' sets, except that `vary` of an op with nested programs keeps the sets given by its infer
/// rule.
struct VaryArgs {
  const Op& op;
  const Attrs& attrs;
  std::span<const AxisSet> inputs;
};
using VaryRule = std::function<std::vector<AxisSet>(const VaryArgs&)>;

/// Returns the operands that the result is an update of: the result holds their elements moved,
/// selected, with something added, or multiplied by a value that is equal on all devices (`same[i]`
/// states whether operand i is). The next state of a training step is recognised in this way. Empty
/// if the result is not an update.
struct UpdateArgs {
  const Attrs& attrs;
  std::span<const bool> same;  // one per operand
  std::size_t output;
};
using UpdateRule = std::function<std::vector<std::size_t>(const UpdateArgs&)>;

/// Emits the sum of an equation's results over an additional leading dimension of all its operands,
/// as one equation that reads every element once.
struct SummedArgs {
  Builder& b;
  const Op& op;
  const Attrs& attrs;  // of the unstacked equation
  std::span<const Value> stacks;
};
using SummedRule = std::function<Value(const SummedArgs&)>;

struct Cost {
  double flops = 0;
  double bytes = 0;  // reading and writing each value once
};
using CostRule =
    std::function<Cost(std::span<const Type> inputs, std::span<const Type> outputs, const Attrs&)>;

/// A plain, naive evaluator: the oracle for every faster implementation. Outputs are allocated but
/// uninitialised.
struct EvalArgs {
  const Attrs& attrs;
  std::span<const HostArray> inputs;
  std::span<HostArray> outputs;
};
using EvalRule = std::function<void(const EvalArgs&)>;

/// How the compiled form of an op is produced.
enum class Lowering {
  emitted,     // by `emit`, fused with its neighbours
  called,      // by the routine that `call` returns
  view,        // no code: the result shares the operand's memory (reshape of contiguous memory)
  control,     // the executor runs its nested programs
  collective,  // the executor moves data between devices
  expanded,    // inlined or rewritten before code generation
};

/// Why rules are absent, by the rule's name. All texts are literals.
struct Waived : std::map<std::string_view, std::string_view> {
  using Reason = std::pair<std::string_view, std::string_view>;
  Waived& operator=(std::initializer_list<Reason> reasons);
  std::string_view& operator[](std::string_view rule);
};

/// Every file of ops creates rows, so their constructors and destructor are compiled only once, in
/// op.cc.
struct Op {
  Op();
  Op(const Op& other);
  Op(Op&& other) noexcept;
  Op& operator=(const Op& other);
  Op& operator=(Op&& other) noexcept;
  ~Op();

  std::string name;
  /// The name that users call, if it differs: collectives have twins for typed programs.
  std::string called = {};
  const std::string& shown() const { return called.empty() ? name : called; }
  std::string doc;        // one paragraph: meaning, shapes, dtypes, source of the formula
  std::string stablehlo;  // its name in StableHLO; empty if there is none
  std::vector<AttrSpec> attrs;
  int inputs = -1;  // -1: any number
  int outputs = 1;  // -1: any number
  bool elementwise =
      false;  // every result element depends on the operands' elements at the same index only
  bool cheap = true;  // fusion may recompute it
  Lowering lowering = Lowering::emitted;

  /// Result k equals operand k: views, and marks for transformations.
  bool forwards = false;
  /// Every element of the result is an element of operand 0, so if all elements of the operand are
  /// one number, so are those of the result.
  bool rearranges = false;
  /// Operand 0 selects, element by element, operand 1 where it is true and operand 2 elsewhere.
  bool selects = false;
  /// Every implementation gives the same bits: IEEE arithmetic, integers, movement.
  bool exact = false;
  /// An optimisation barrier: it equals no other equation and is not moved out of a loop.
  bool barrier = false;
  /// It has a side effect: if operand 0, a boolean scalar, is true, it runs exactly as often as in
  /// the program, whether or not its results are needed.
  bool effect = false;
  /// Recomputing it from available operands is cheaper than keeping its result.
  bool recomputed = false;
  /// Worth hoisting out of a loop although it is cheap, because it makes its own pass over memory.
  bool own_pass = false;
  /// The result is a number that each device knows about itself without communication.
  bool position = false;
  /// A tangent for which only the backward pass exists.
  bool backward_only = false;
  Exchange exchange = Exchange::none;
  /// For a permutation: for each receiving device the number of the sender; -1: none, the device
  /// receives zeros.
  std::function<std::vector<std::int64_t>(const Attrs&)> sources;
  /// For sums, reductions, running totals, scatters and collectives that combine.
  Combiner combiner = Combiner::replace;

  InferRule infer;
  JvpRule jvp;
  JvpBothRule jvp_both;
  TransposeRule transpose;
  BatchRule batch;
  PartialEvalRule partial_eval;
  ShardRule sharding;
  /// Absent: the same equation, applied to the shards.
  LocalRule local;
  VaryRule vary;
  VaryRule uniform;
  UpdateRule updates;
  /// Absent if there is no such equation.
  SummedRule summed;
  CostRule cost;
  EvalRule evaluate;
  EmitRule emit;

  /// The programs nested in an equation and how they are run; absent if none is run.
  FlowRule flow;
  /// The attributes of an equation whose flow, operands and results are changed to match this flow.
  /// Absent if further attributes depend on them (specs, derivative rules).
  RewriteFlow with_flow;
  /// Absent: `elementwise` if the op is elementwise, else `window`.
  FuseRule fuse;
  SimplifyRule simplify;
  /// Rewrites the equation into others that give the same values and are faster.
  DecomposeRule decompose;
  /// Absent: linear in all marked operands together.
  LinearRule linear;
  OverwriteRule overwrites;
  /// For an op that `overwrites` operand 0: the operand whose elements it writes there, in
  /// row-major order, and the position of each. Without `write`, only the op's routine updates in
  /// place.
  int written = -1;
  WriteRule write;
  std::function<Product(const Attrs&)> product;
  /// For ops that repeat their operand: the result dimension to which each of the operand's
  /// dimensions maps.
  std::function<const Ints&(const Attrs&)> spreads;
  /// The value of a constant.
  std::function<const Literal*(const Attrs&)> literal;
  /// The name that the user gave to the result.
  std::function<const std::string*(const Attrs&)> label;
  std::function<StridedBox(const Attrs&)> strided_box;
  /// For identities that only constrain the sharding of their operand: that constraint.
  std::function<Constraint(const Attrs&)> constrains;
  /// The dimension along which the result is the concatenation of the operands.
  std::function<int(const Attrs&)> joins;
  /// Whether the result is a sum over dimension 0 of all operands, and the operands have fewer
  /// bytes than the result: a sum of the result over devices can then be computed by gathering the
  /// operands' rows.
  std::function<bool(const TypedArgs&)> sums_rows;
  /// The equation that gives only these elements of every result, if that is cheaper.
  std::function<std::optional<std::pair<const Op*, Attrs>>(const TypedArgs&, const Ends&)> ends_of;
  /// The routine that executes the op if its lowering is `called`, or if `prefers_call` returns
  /// true.
  CallRule call;
  std::function<bool(const TypedArgs&)> prefers_call;
  std::size_t library_bytes = 0;  // of code that a library generates for a call; 0: our own code

  /// "jvp", "transpose", "batch", "sharding", "updates", "evaluate", "emit", "cost" or "stablehlo":
  /// a row may lack a rule only with a reason.
  Waived waived;
  /// Representative equations, for the tests that walk the registry.
  std::function<std::vector<struct OpExample>()> examples;
};

/// Tests draw the inputs at random: floats in [lo, hi], integers in [int_lo, int_hi].
struct OpExample {
  std::vector<Type> inputs;
  Attrs attrs;
  double lo = -1.0, hi = 1.0;
  std::int64_t int_lo = 0, int_hi = 4;
  /// Adds to each diagonal element of operand 0, a stack of matrices, the length of the diagonal,
  /// so that the matrices are diagonally dominant.
  bool dominant = false;
  /// Why numeric derivative checks are skipped: the derivative does not exist on a set that the
  /// test could hit (ties, kinks).
  std::string no_numeric_derivative;
};

/// All ops, by name. Filled once, on first use, then read without locks.
class Registry {
 public:
  static Registry& get();
  const Op* find(std::string_view name) const;
  const Op& at(std::string_view name) const;  // InternalError when absent
  void add(Op op);
  /// In registration order.
  const std::vector<std::unique_ptr<Op>>& all() const { return ops_; }

 private:
  std::vector<std::unique_ptr<Op>> ops_;
  std::map<std::string, const Op*, std::less<>> by_name_;
};

/// Calls every register function of src/ops (ops/list.h); Registry::get() does so on first use.
void register_all_ops(Registry& r);

/// The varying sets of an equation's results by `op.vary`, else the union of the inputs' sets. A
/// single entry stands for all results.
std::vector<AxisSet> varying_of(const Op& op, const Attrs& attrs, std::span<const AxisSet> inputs);
/// The axes along which devices may hold different results by `op.uniform`, else the union of the
/// inputs' sets.
std::vector<AxisSet> nonuniform_of(const Op& op, const Attrs& attrs,
                                   std::span<const AxisSet> inputs);

}  // namespace tessera::inline v0
