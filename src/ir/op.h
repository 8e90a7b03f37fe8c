// What the library knows about one operation: a row of rules. Everything else (printer, parser,
// documentation, fusibility, tests) is derived from the rows.
#pragma once

#include "ir/builder.h"
#include "ir/emit.h"
#include "ir/factor_rule.h"
#include "ir/flow.h"
#include "ir/host_array.h"
#include "ir/routine.h"
#include "ir/simplify_rule.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
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

struct AttrSpec {
  std::string name;
  AttrKind kind;
  std::string doc;
};

/// Types of the results; throws the user's error, its message headed by the op's name.
struct InferArgs {
  const Op& op;
  std::span<const Type> inputs;
  const Attrs& attrs;
  const SourceLoc& loc;
};
using InferRule = std::function<std::vector<Type>(const InferArgs&)>;

/// Tangents of the results. `outputs` are the primal results, already emitted. A missing tangent is
/// zero.
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

/// Cotangents of the inputs of an equation that is linear in the inputs marked so. `inputs[i]` is
/// the value of a non-linear input, absent for a linear one, whose type is `types[i]`. The result
/// has one entry an input; absent is zero and the entries of non-linear inputs are ignored.
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

/// The op over a stack of its inputs. `dims[i]` is the stacked dimension of input i, or kUnbatched;
/// at least one is stacked.
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

/// Splits an equation with nested programs when some of its inputs are unknown (tangents): emits
/// what the known inputs suffice for into `known`, and says what remains as an equation over
/// residuals and unknown inputs.
struct PartialEvalArgs {
  Builder& known;
  const Op& op;
  const Attrs& attrs;
  std::span<const MaybeValue> inputs;  // of `known`; absent where unknown
  std::span<const Type> types;
};
struct PartialEvalResult {
  /// One an output: its value in `known`, or absent where unknown.
  MaybeValues outputs;
  /// The equation for the unknown outputs, in order. Its inputs are: all `residuals`, then the
  /// unknown inputs in order. None where every output is known.
  const Op* op = nullptr;
  Attrs attrs;
  Values residuals;
  /// Where its inputs come in another order: for each, its position in the list above.
  std::vector<std::size_t> input_order;
  /// Where it has further results: for each unknown output, which result it is.
  std::vector<std::size_t> taken_outputs;
};
using PartialEvalRule = std::function<PartialEvalResult(const PartialEvalArgs&)>;

/// An equation as far as its shapes go.
struct TypedArgs {
  std::span<const Type> inputs;
  std::span<const Type> outputs;
  const Attrs& attrs;
};

/// How sharding a dimension of one operand relates to the others.
using ShardArgs = TypedArgs;
using ShardRule = std::function<FactorRule(const ShardArgs&)>;

/// An equation as one device of a mesh computes it, on its parts of the operands. A spec says for
/// each dimension the mesh axes that cut it. All parts are of one shape: where the devices do not
/// divide an extent, what the last parts hold behind the end of the whole is anything.
struct LocalArgs {
  Builder& b;
  const Op& op;
  const Attrs& attrs;  // of the whole
  std::span<const Type> whole_inputs, whole_outputs;
  std::span<const Value> inputs;   // parts
  std::span<const Shape> outputs;  // of the parts that the rule gives
  std::span<const Spec> input_specs, output_specs;
  const MeshShape& mesh;
  /// Over these axes, of so many devices together, the results are combined afterwards.
  Strings partial;
  std::int64_t partial_size = 1;

  std::int64_t parts(const Strings& axes) const { return mesh.size_of(axes); }
};
/// The parts of the results. It is asked for cuts along factors that are not marked, that reduce,
/// and that are `indexed`, `prefix` or a `contest`, where the op's attributes, or positions in its
/// data, are not the part's as they are the whole's; and along factors with windows, where it
/// fetches what the part is made of (ops/fetch.h), of operands that lie in as many parts or whole.
/// Along a `contest` it gives results that are the same on all devices. What lies behind the end of
/// an operand along a reduction or a contest changes no result when it is asked; of what it reads
/// besides it sees to that itself.
using LocalRule = std::function<Values(const LocalArgs&)>;

/// What fusion may do with an equation.
enum class FuseRole {
  free,         // repeated in every kernel that reads it: constants, broadcasts, identities
  elementwise,  // computed where it is read
  movement,     // reads every element of its operands about once
  reduction,
  window,  // operands are read more than once: they are not computed inside
  apart,   // no kernel
};
using FuseRule = std::function<FuseRole(const TypedArgs&)>;
inline FuseRule fuses_as(FuseRole role) {
  return [role](const TypedArgs&) { return role; };
}

/// What a collective does with the devices' values; `Op::attrs` have its axes and groups.
enum class Exchange {
  none,
  combine,          // everybody gets all values combined by `Op::combiner`
  combine_scatter,  // everybody gets a part of that
  gather,
  all_to_all,
  permute,
  broadcast
};

/// For policies of remat: what a product costs to compute again.
enum class Product { none, plain, batched };

/// Which operand a result is written over where nobody needs that any longer, because it holds all
/// elements but a few; -1: it is not worth it, or none.
using OverwriteRule = std::function<int(const TypedArgs&, std::size_t output)>;

/// The result is a box of its operand: elements start + i * strides.
struct StridedBox {
  Ints start, limit, strides;
};

/// The elements of results that somebody reads: the first so many along a dimension, or the last.
struct Ends {
  int dimension = 0;
  std::int64_t count = 0;
  bool last = false;
};

/// What a user asks of where a value lies: for each dimension the axes that cut it. Behind them
/// others may cut it too where it is in `open`.
struct Constraint {
  MeshRef mesh;
  Spec spec;
  Ints open;  // dimensions
};

/// Whether an equation that has a transpose is linear in those of its operands together that
/// `linear` marks.
using LinearRule = std::function<bool(std::span<const bool> linear)>;

/// From the sets of mesh axes of the inputs to those of the results. Two rules have this form, for
/// two questions: `Op::vary` types the values of a typed per-device program, for differentiation
/// (which transposes need a psum); `Op::uniform` says which results the devices may hold different
/// bits of. They differ: an all_gather gives the same bits everywhere, but its result is typed
/// varying, because its transpose sums over devices. Either defaults to the union of the inputs'
/// sets; for `vary` an op with nested programs keeps what its infer rule says.
struct VaryArgs {
  const Op& op;
  const Attrs& attrs;
  std::span<const AxisSet> inputs;
};
using VaryRule = std::function<std::vector<AxisSet>(const VaryArgs&)>;

/// Operands that a result is an update of: it holds their elements, moved, chosen, with something
/// added, or times what all devices hold alike (`same[i]` says so of operand i). By this a value is
/// known again as the next state of a training step. Absent where the result is an update of
/// nothing.
struct UpdateArgs {
  const Attrs& attrs;
  std::span<const bool> same;  // one an operand
  std::size_t output;
};
using UpdateRule = std::function<std::vector<std::size_t>(const UpdateArgs&)>;

/// The sum of an equation's results over all places of a dimension 0 that each of its operands has
/// in addition: one equation, which reads every element once.
struct SummedArgs {
  Builder& b;
  const Op& op;
  const Attrs& attrs;  // of the equation at one place
  std::span<const Value> stacks;
};
using SummedRule = std::function<Value(const SummedArgs&)>;

struct Cost {
  double flops = 0;
  double bytes = 0;  // read and written once
};
using CostRule =
    std::function<Cost(std::span<const Type> inputs, std::span<const Type> outputs, const Attrs&)>;

/// Plain and naive: the oracle for everything faster. Outputs are allocated and uninitialised.
struct EvalArgs {
  const Attrs& attrs;
  std::span<const HostArray> inputs;
  std::span<HostArray> outputs;
};
using EvalRule = std::function<void(const EvalArgs&)>;

/// How the compiled form is made.
enum class Lowering {
  emitted,     // by `emit`, fused with its neighbours
  called,      // by the routine that `call` makes
  view,        // no code: the result shares the operand's memory (reshape of contiguous memory)
  control,     // the executor runs its nested programs
  collective,  // the executor moves data between devices
  expanded,    // inlined or rewritten before code generation
};

struct Op {
  std::string name;
  /// What users call it, where that is not its name: collectives have twins for typed programs.
  std::string called = {};
  const std::string& shown() const { return called.empty() ? name : called; }
  std::string doc;        // one paragraph: what, shapes, dtypes, source of the formula
  std::string stablehlo;  // spelling there; empty where it has none
  std::vector<AttrSpec> attrs;
  int inputs = -1;  // -1: any number
  int outputs = 1;  // -1: any number
  bool elementwise =
      false;  // every result element depends on the operands' elements at the same index only
  bool cheap = true;  // fusion may repeat it
  Lowering lowering = Lowering::emitted;

  /// Result k is operand k, all of it: views, marks for transformations.
  bool forwards = false;
  /// Every element of the result is one of operand 0, so that a number that fills the operand fills
  /// the result.
  bool rearranges = false;
  /// Operand 0 chooses, element by element, between operand 1 where it holds and operand 2 elsewhere.
  bool selects = false;
  /// Every implementation gives the same bits: IEEE arithmetic, integers, movement.
  bool exact = false;
  /// It stands where it is: no equation is equal to it, and it does not leave a loop.
  bool barrier = false;
  /// It does something besides its results: it runs as often as the program says, whether somebody
  /// needs these or not, where operand 0, a boolean scalar, holds.
  bool effect = false;
  /// Cheaper to compute again than to keep, where its operands are at hand.
  bool recomputed = false;
  /// Worth computing once before a loop though it is cheap: it has a pass over memory of its own.
  bool own_pass = false;
  /// The result is a number that each device knows of itself, without communication.
  bool position = false;
  /// A tangent of which only the backward pass exists.
  bool backward_only = false;
  Exchange exchange = Exchange::none;
  /// Of a permutation: by number of the device that receives the one that sends; -1: none, zeros.
  std::function<std::vector<std::int64_t>(const Attrs&)> sources;
  /// Of sums, reductions, running totals, scatters and collectives that combine.
  Combiner combiner = Combiner::replace;

  InferRule infer;
  JvpRule jvp;
  JvpBothRule jvp_both;
  TransposeRule transpose;
  BatchRule batch;
  PartialEvalRule partial_eval;
  ShardRule sharding;
  /// Absent: the same equation, on parts.
  LocalRule local;
  VaryRule vary;
  VaryRule uniform;
  UpdateRule updates;
  /// Absent where there is no such equation.
  SummedRule summed;
  CostRule cost;
  EvalRule evaluate;
  EmitRule emit;

  /// Programs nested in an equation, and how they are run; absent where none is run.
  FlowRule flow;
  /// Attributes of an equation whose flow is changed to this one, its operands and results with it.
  /// Absent where other attributes go by these (specs, derivative rules).
  RewriteFlow with_flow;
  /// Absent: `elementwise`, else `window`.
  FuseRule fuse;
  SimplifyRule simplify;
  /// Other equations that give the same values and are quicker.
  DecomposeRule decompose;
  /// Absent: in all together.
  LinearRule linear;
  OverwriteRule overwrites;
  std::function<Product(const Attrs&)> product;
  /// The result dimension that each of the operand's becomes, of an op that repeats it along the
  /// others.
  std::function<const Ints&(const Attrs&)> spreads;
  /// The value itself, of constants.
  std::function<const Literal*(const Attrs&)> literal;
  /// The name that the user gave to the result.
  std::function<const std::string*(const Attrs&)> label;
  std::function<StridedBox(const Attrs&)> strided_box;
  /// Where the value shall lie, of identities that say that and nothing else.
  std::function<Constraint(const Attrs&)> constrains;
  /// The dimension along which the operands, one after the other, are the result.
  std::function<int(const Attrs&)> joins;
  /// The result is a sum over dimension 0 of all operands, so that a sum over devices of it is one
  /// of it over all their rows, and these are fewer bytes than the result.
  std::function<bool(const TypedArgs&)> sums_rows;
  /// The equation that gives no more than these elements of every result, where that is cheaper.
  std::function<std::optional<std::pair<const Op*, Attrs>>(const TypedArgs&, const Ends&)> ends_of;
  /// The routine that carries it out, of ops whose lowering is `called` and of others where
  /// `prefers_call` says so.
  CallRule call;
  std::function<bool(const TypedArgs&)> prefers_call;
  std::size_t library_bytes = 0;  // of code that a library makes for a call; 0: it is our own

  /// Why a rule is absent, by the rule's name ("jvp", "transpose", "batch", "sharding", "updates",
  /// "evaluate", "emit", "cost", "stablehlo"): a row lacks a rule only with a reason.
  std::map<std::string, std::string> waived;
  /// Representative equations for the tests that walk the registry.
  std::function<std::vector<struct OpExample>()> examples;
};

/// Inputs are drawn by the tests: floats in [lo, hi], integers in [int_lo, int_hi].
struct OpExample {
  std::vector<Type> inputs;
  Attrs attrs;
  double lo = -1.0, hi = 1.0;
  std::int64_t int_lo = 0, int_hi = 4;
  /// The diagonals of operand 0, a stack of matrices, have their length added: they dominate.
  bool dominant = false;
  /// Where a derivative does not exist on a set the test could hit (ties, kinks), numeric checks
  /// are skipped with a reason.
  std::string no_numeric_derivative;
};

/// All ops, by name. Filled once, before main uses it; read without locks.
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

/// The varying sets of an equation's results: `op.vary`, or the union of the inputs' (one entry
/// stands for all results).
std::vector<AxisSet> varying_of(const Op& op, const Attrs& attrs, std::span<const AxisSet> inputs);
/// The axes along which the devices may hold different results: `op.uniform`, or the union of the
/// inputs'.
std::vector<AxisSet> nonuniform_of(const Op& op, const Attrs& attrs,
                                   std::span<const AxisSet> inputs);

}  // namespace tessera::inline v0
