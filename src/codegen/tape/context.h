// What the parts of the planner share. Order: flatten, lower, compile, schedule, assign memory.
#pragma once

#include "codegen/tape/planner.h"
#include "spmd/place/blocks.h"

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string_view>

namespace tessera::inline v0::tape {

/// Axis names visible at an equation, with their numbers in the tape.
struct Scope {
  std::vector<std::pair<std::string, int>> axes;
  int at(std::string_view name) const;
  Mask all() const;
  AxisSet names(Mask m) const;
  Mask mask(const AxisSet& names) const;
};

/// One program of the nest as a flat list: shard_maps and calls inlined, what crosses a shard_map's
/// border marked by equations of the pseudo ops `block` and `assemble`.
struct Level {
  std::shared_ptr<Program> flat;
  std::vector<Mask> mask;  // by variable: the axes it is computed over
  std::vector<Mask>
      differs;  // by variable: the axes along which it may differ; less than `mask` where devices are apart
  std::vector<int> scope;  // by equation
  /// By equation: of how many devices it does the work (JointProducts).
  std::vector<std::int64_t> works_for;
  double received = 0;    // bytes, by a device in all equations (step_work.h)
  std::vector<int> hold;  // by equation: index in holds, or -1
  /// The operands of a checkpointed region. Its equations wait for all of them, the cotangents too:
  /// what is computed again is not computed before it is needed.
  std::vector<std::vector<Var>> holds;
  std::deque<Scope> scopes;
  std::map<std::string, double> along;  // of `received`, by axis of a mesh
};

/// Result of a shard_map before anyone needs the whole.
struct Assembled {
  Var block = 0;
  int region = -1;
  Spec spec;
};

struct DraftTape {
  std::shared_ptr<Tape> tape = std::make_shared<Tape>();
  std::vector<Step> steps;    // in an order that respects dependencies
  std::vector<int> producer;  // by slot: index in steps, -1
  Mask fixed = 0;             // axes whose coordinates do not change while it runs
};

struct PendingKernel {
  ProgramPtr program;
  DraftTape* draft;
  std::size_t step;
};

struct TapeContext {
  TapeOptions options;
  std::vector<TapeAxis> axes;
  Mask apart = 0;       // of these, those along which devices have memories of their own
  Mask between = 0;     // and those along which they are of several processes
  bool others = false;  // some devices are other processes'
  std::vector<Region> regions;
  std::vector<PendingKernel> kernels;
  std::deque<DraftTape> drafts;                // of bodies too
  std::map<const Tape*, DraftTape*> draft_of;  // bodies before they are finished
  std::vector<std::shared_ptr<const Program>> keep;

  /// The axis of a mesh that is entered in `scope`: one that another mesh has, too, where their
  /// devices are the same.
  int axis(const DeviceMesh& mesh, std::size_t which, const Scope& scope);
  std::int64_t instances(Mask m) const;
  spmd::Blocks blocks(const Type& whole, int region, const Spec& spec) const;
  Mask spec_axes(int region, const Spec& spec) const;
};

const Op& block_op();
const Op& assemble_op();

/// What is known of a level's inputs, by input.
struct Inputs {
  std::vector<Mask> mask, differs;
};

/// `inner`: axes along which this level has instances; coordinates along others are fixed while it
/// runs.
Level flatten(TapeContext& ctx, const Program& p, const Inputs& arguments, const Scope& scope,
              Mask inner, bool top);

/// A body's tape as control flow sees it. `hidden` are axis_index values that the body takes as
/// further arguments.
struct Lowered {
  DraftTape* draft = nullptr;
  std::vector<std::vector<int>> hidden;  // axes of each
};
/// `results`: the axes over which the caller stores each result; absent at the top. `ties`: by
/// result, the argument in whose memory the caller wants it, or -1; both have the same axes.
Lowered lower(TapeContext& ctx, const Program& p, const Inputs& arguments,
              const std::vector<Mask>* results, const Scope& scope, Mask inner, bool top,
              const std::vector<int>& ties = {});

using AxisSize = std::function<std::int64_t(std::string_view)>;
/// How many devices an equation that exchanges does that among; of another 1.
std::int64_t devices_of(const Equation& eqn, const AxisSize& size);

/// A program with products instead of sums over devices where sums.cc says so.
struct JointProducts {
  Program program;
  std::vector<std::int64_t> works_for;  // by equation: a product has the rows of so many devices
  /// By equation: that of the program before which counts as what it exchanges, itself or the sum
  /// that a product stands for. Null of a gather for such a product.
  std::vector<const Equation*> counts_as;
};
/// Nothing where there are none. A pass (transform/pass.h). `differs`: by variable, the axes along
/// which devices may differ; `size`: of an axis.
std::optional<JointProducts> with_joint_products(const Program& p,
                                                 const std::vector<AxisSet>& differs,
                                                 const AxisSize& size);

/// Whose instances are whose, where several processes run the tape of the draft: what the others
/// have is stored and computed by them, and read by collectives.
void share_out(const TapeContext& ctx, DraftTape& draft);
/// Orders steps into phases.
void schedule(TapeContext& ctx, DraftTape& draft);
/// Gives slots their places. Bodies must have theirs.
void assign_memory(TapeContext& ctx, DraftTape& draft);

}  // namespace tessera::inline v0::tape
