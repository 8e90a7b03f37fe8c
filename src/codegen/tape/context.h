// Types shared by the planner's stages: flatten, lower, compile, schedule, assign memory.
#pragma once

#include "codegen/tape/planner.h"
#include "spmd/place/blocks.h"

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tessera::inline v0::tape {

/// The axis names visible at an equation, and their numbers in the tape.
struct Scope {
  std::vector<std::pair<std::string, int>> axes;
  int at(std::string_view name) const;
  Mask all() const;
  AxisSet names(Mask m) const;
  Mask mask(const AxisSet& names) const;
};

/// One program of the nest as a flat list of equations. shard_maps and calls are inlined; values
/// that enter or leave a shard_map pass through the pseudo ops `block` and `assemble`.
struct Level {
  std::shared_ptr<Program> flat;
  std::vector<Mask> mask;  // by variable: the axes over which it is computed
  // For each variable, the axes along which it may differ. These can be fewer than `mask` where
  // devices have separate memories.
  std::vector<Mask> differs;
  std::vector<int> scope;  // by equation
  /// For each equation, the number of devices whose work it does (JointProducts).
  std::vector<std::int64_t> works_for;
  double received = 0;    // bytes that one device receives in all equations (step_work.h)
  std::vector<int> hold;  // by equation: index in holds, or -1
  /// The operands of each checkpointed region. The region's equations wait for all operands,
  /// cotangents included, so that nothing is rematerialised before it is needed.
  std::vector<std::vector<Var>> holds;
  std::deque<Scope> scopes;
  std::map<std::string, double> along;  // `received` by mesh axis
};

/// The result of a shard_map, kept as blocks until a reader needs the whole array.
struct Assembled {
  Var block = 0;
  int region = -1;
  Spec spec;
};

struct DraftTape {
  std::shared_ptr<Tape> tape = std::make_shared<Tape>();
  std::vector<Step> steps;  // in an order that respects dependencies
  // For each step, the steps that must precede it besides the producers of its operands.
  std::vector<std::vector<std::size_t>> after;
  std::vector<int> producer;  // by slot: index in steps, -1
  Mask fixed = 0;             // axes whose coordinates are constant during one run
  /// The body of a loop that is compiled as a whole (native.h), or inside such a body. Its kernels
  /// need no separate code.
  bool native = false;
};

struct PendingKernel {
  ProgramPtr program;
  DraftTape* draft;
  std::size_t step;
  /// Its routine without code, once that is known.
  std::shared_ptr<const Routine> planned = nullptr;
};
/// A step that updates an operand by a routine and could also be emitted.
struct PendingUpdate {
  ProgramPtr program;  // one equation over the step's operands
  DraftTape* draft;
  std::size_t step;
  double seconds;
};

struct TapeContext {
  TapeOptions options;
  std::vector<TapeAxis> axes;
  Mask apart = 0;       // axes of `axes` along which devices have separate memories
  Mask between = 0;     // axes along which devices belong to several processes
  bool others = false;  // some devices belong to other processes
  std::vector<Region> regions;
  std::vector<PendingKernel> kernels;
  std::vector<PendingUpdate> updates;
  std::deque<DraftTape> drafts;                // including those of bodies
  std::map<const Tape*, DraftTape*> draft_of;  // bodies that are not finished yet
  std::vector<std::shared_ptr<const Program>> keep;
  /// The named scopes of the equations whose nested program is being lowered.
  std::string scope;

  /// The tape's axis for an axis of a mesh that is entered in `scope`. It is shared with an axis of
  /// equal name and size outside of `scope`; with several processes, only between equal meshes.
  int axis(const DeviceMesh& mesh, std::size_t which, const Scope& scope);
  std::int64_t instances(Mask m) const;
  spmd::Blocks blocks(const Type& whole, int region, const Spec& spec) const;
  Mask spec_axes(int region, const Spec& spec) const;
};

/// While it is alive, a program nested in the equation is being lowered, so that the names of its
/// steps include the equation's scopes.
class WithinEquation {
 public:
  WithinEquation(TapeContext& ctx, const Equation& eqn);
  ~WithinEquation() { ctx_.scope = std::move(outside_); }
  WithinEquation(const WithinEquation&) = delete;
  WithinEquation& operator=(const WithinEquation&) = delete;

 private:
  TapeContext& ctx_;
  std::string outside_;
};

const Op& block_op();
const Op& assemble_op();

/// Properties of a level's inputs, one entry per input.
struct Inputs {
  std::vector<Mask> mask, differs;
};

/// `inner`: the axes along which this level has instances. Coordinates along other axes are
/// constant during one run.
Level flatten(TapeContext& ctx, const Program& p, const Inputs& arguments, const Scope& scope,
              Mask inner, bool top);

/// The tape of a body, as control flow sees it. `hidden` are axis_index values that the body takes
/// as additional arguments.
struct Lowered {
  DraftTape* draft = nullptr;
  std::vector<std::vector<int>> hidden;  // the axes of each value
};
/// `results`: the axes over which the caller stores each result; null at the top level. `ties`: for
/// each result, the argument in whose memory the caller wants it, or -1; both have the same axes.
Lowered lower(TapeContext& ctx, const Program& p, const Inputs& arguments,
              const std::vector<Mask>* results, const Scope& scope, Mask inner, bool top,
              const std::vector<int>& ties = {});

using AxisSize = std::function<std::int64_t(std::string_view)>;
/// The number of devices among which an equation communicates; 1 if it does not communicate.
std::int64_t devices_of(const Equation& eqn, const AxisSize& size);

/// A program in which some sums over devices have become joint products (sums.cc).
struct JointProducts {
  Program program;
  // For each equation, the number of devices whose rows a joint product multiplies.
  std::vector<std::int64_t> works_for;
  /// For each equation, the equation of the original program whose communication it counts as:
  /// itself, or the sum that a joint product replaces. Null for a gather that feeds such a product.
  std::vector<const Equation*> counts_as;
};
/// Returns nothing if there are no such sums. This is a pass (transform/pass.h). `differs`: by
/// variable, the axes along which devices may differ; `size`: the size of an axis.
std::optional<JointProducts> with_joint_products(const Program& p,
                                                 const std::vector<AxisSet>& differs,
                                                 const AxisSize& size);

/// Assigns instances to processes if several processes run the draft's tape. Each process stores
/// and computes its own instances; collectives read those of other processes.
void share_out(const TapeContext& ctx, DraftTape& draft);
/// Orders steps into phases.
void schedule(TapeContext& ctx, DraftTape& draft);
/// Assigns memory to slots. Bodies must have theirs already.
void assign_memory(TapeContext& ctx, DraftTape& draft);

}  // namespace tessera::inline v0::tape
