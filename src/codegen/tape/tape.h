// An executable program: plain data that the planner (planner.h) writes and the executor
// (src/runtime) interprets.
//
// One tape runs a program for all devices. A value has one instance for each combination of
// coordinates along the axes it varies over, and each instance is computed and stored once; a value
// that is equal on all devices has one instance. The work between two collectives is a phase: its
// steps run for each instance of the phase's axes, independently of other instances.
#pragma once

#include "base/box_copy.h"
#include "base/overloaded.h"
#include "codegen/tape/progressions.h"
#include "ir/op.h"
#include "ir/routine.h"
#include "processes/processes.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace tessera::inline v0::tape {

/// A set of axes: one bit per axis of the tape.
using Mask = std::uint32_t;

struct TapeAxis {
  std::string name;
  std::int64_t size = 1;
};

/// The devices of a shard_map.
struct Region {
  std::vector<int> axes;  // numbers of the tape's axes, in mesh order
  MeshRef mesh;           // including its devices
};

/// A stride (in bytes or instances) per step along an axis.
struct AxisStride {
  int axis = 0;
  std::int64_t stride = 0;
};
using AxisStrides = InlineVector<AxisStride, 3>;

enum class Space : std::uint8_t {
  argument,  // pointers from the caller, one per instance
  result,    // memory from the caller, one pointer per instance
  constant,  // stored in the tape
  arena,     // in the call's frame; instances are adjacent
  local,     // in a worker's frame; lives within one phase
};

struct Slot {
  Space space = Space::arena;
  Mask mask = 0;
  Mask same = 0;           // axes of `mask` along which the instances are equal
  std::int64_t bytes = 0;  // per instance
  // bytes for constant, arena and local; an index into the pointer table for argument and result
  std::int64_t offset = 0;
  AxisStrides
      instance;  // maps coordinates to an instance number, row-major over the axes of `mask`
  DType dtype = DType::float32;
  /// The earlier slot that this value overwrites in its memory; -1 if there is none.
  int over = -1;
  bool overwritten = false;  // by a later slot
  /// Set if equal instances are stored once. `stored` maps an instance to the index of its stored
  /// copy, and `computed` maps a stored copy to the instance that computes it. An instance of
  /// another process maps to an equal instance of this process, or to nothing.
  std::optional<Progressions> stored;
  std::vector<std::int64_t> computed;
  /// The index of an instance among the stored ones.
  std::int64_t place(std::int64_t i) const { return stored ? stored->at(i) : i; }
};

/// The location of an operand: an instance of a slot, chosen by coordinates, and a byte offset in
/// it.
struct Ref {
  int slot = -1;
  std::int64_t offset = 0;
  AxisStrides cut;  // additional bytes by coordinates: selects a block of a whole array
  // axes whose instances together form the value, as adjacent blocks of a whole array
  Mask absorbed = 0;
  /// A single instance along `absorbed`, instead of all of them, is the value for all devices.
  /// `instance` is the number from which instances are counted.
  bool one = false;
  std::int64_t instance = 0;
};

struct Tape;

/// Data movement between devices; docs/ops.md defines the results.
struct Collective {
  Exchange exchange = Exchange::none;
  Combiner combiner = Combiner::replace;
  DType dtype = DType::float32;
  std::vector<int> axes;  // of the tape, major first
  std::vector<std::int64_t> sizes;
  std::int64_t size = 1;  // product of `sizes`
  /// Empty: one group of all devices in order. Otherwise the devices of each group; `place` maps a
  /// device of the axes to its group and its position in that group.
  std::vector<std::vector<std::int64_t>> groups;
  std::vector<std::pair<int, int>> place;
  // Permute, broadcast: the source of each device; a device without one gets zeros.
  Progressions source;
  std::int64_t outer = 1, run = 0;  // elements: number and length of rows on the result's side
  std::int64_t count = 0;           // elements of the operand
  BoxCopy box;                      // all_to_all: one chunk
  std::int64_t from_chunk = 0, to_chunk = 0;  // bytes between chunks
  /// Communication between processes. `laid`: the axes of the operand's instances. For each
  /// instance, `owner` is the process that publishes it and `number` its index among all that
  /// process publishes. For reductions, a process publishes one partial result per `together`
  /// operands instead: these are consecutive in a group, belong to one process and form a subtree
  /// of the reduction tree (runtime/cpu/reduce.h).
  Mask laid = 0;
  std::optional<Progressions> owner;
  Progressions number;
  std::int64_t together = 1;
  // Instances that this process publishes, `together` per partial result.
  std::vector<std::int64_t> own;
  /// Processes that need every result and hold an operand of each result, so that each process may
  /// compute a part of every result for all. Empty if there are no such processes.
  std::vector<int> makers;

  int group_of(std::int64_t device) const {
    return groups.empty() ? 0 : place[static_cast<std::size_t>(device)].first;
  }
  std::int64_t position_of(std::int64_t device) const {
    return groups.empty() ? device : place[static_cast<std::size_t>(device)].second;
  }
  std::int64_t members(int group = 0) const {
    return groups.empty() ? size : std::ssize(groups[static_cast<std::size_t>(group)]);
  }
  std::int64_t member(int group, std::int64_t position) const {
    return groups.empty()
               ? position
               : groups[static_cast<std::size_t>(group)][static_cast<std::size_t>(position)];
  }
  bool one_group() const { return groups.size() <= 1; }
};

/// Work on an op's operands, which have the types that its rules name.
struct OpStep {
  std::vector<Type> input_types, output_types;
};
/// A kernel or a library call.
struct RoutineStep : OpStep {
  std::shared_ptr<const Routine> routine;  // null while its kernel waits to be compiled
  /// Set if an operand has a form that may be kept between calls: the routine that reads the form,
  /// and the location of the call's pointer to it. If the pointer is null, `routine` runs.
  std::shared_ptr<const Routine> form_reader;
  Ref form;
};
/// An op that its evaluator carries out.
struct EvaluateStep : OpStep {
  const Op* op = nullptr;
  Attrs attrs;
};
struct CopyStep {
  BoxCopy box;
};

/// A loop compiled as one function of the step's operands and results (native.h).
struct Native {
  std::shared_ptr<const Routine> routine;
  /// The bodies, including nested ones. The function writes the number of times that each has run
  /// (int64) to the beginning of its scratch memory.
  std::vector<std::shared_ptr<const Tape>> bodies;
};

/// A step that runs other tapes.
struct ControlStep {
  /// scan: body; while: condition, body; cond: branches. Their arguments are those of the op,
  /// followed by the hidden ones.
  std::vector<std::shared_ptr<const Tape>> bodies;
  std::size_t hidden = 0;
  /// For each output (may be shorter), the input that the bodies update in place, in the output's
  /// memory; or -1.
  std::vector<int> tied;
  /// Set for a loop with small bodies: the executor then calls its function instead of running the
  /// bodies.
  std::optional<Native> native;
  int tied_input(std::size_t output) const { return output < tied.size() ? tied[output] : -1; }
};
struct LoopStep : ControlStep {
  std::size_t consts = 0, carries = 0;
  std::vector<Ref> spare;  // the second buffer of each carry
  std::vector<bool> kept;  // carries that the body passes through unchanged
};
struct ScanStep : LoopStep {
  std::int64_t length = 0;
  bool reverse = false;
  std::vector<std::int64_t> rows;  // bytes of a row of each xs, then of each ys
  std::size_t first_carry() const { return consts; }
};
struct WhileStep : LoopStep {
  std::size_t cond_consts = 0;
  Ref flag;  // the result of the condition
  std::size_t first_carry() const { return cond_consts + consts; }
};
struct CondStep : ControlStep {};

struct CollectiveStep {
  std::shared_ptr<const Collective> collective;
};

using StepKind = std::variant<RoutineStep, EvaluateStep, CopyStep, ScanStep, WhileStep, CondStep,
                              CollectiveStep>;

struct Step {
  std::string name;
  SourceLoc loc;
  Mask mask = 0;   // the axes it runs over
  Mask inner = 0;  // control flow with collectives: the axes over which the bodies' tapes run
  std::vector<Ref> inputs, outputs;
  double seconds = 0;  // estimate for one instance
  Cost work;           // of one instance, without the bodies (step_work.h)
  Ref scratch;         // scratch memory of a routine; for control flow, the frame of the bodies
  StepKind kind;

  bool is_collective() const { return std::holds_alternative<CollectiveStep>(kind); }
  /// The collective of a step for which is_collective() holds.
  const Collective& collective() const { return *std::get<CollectiveStep>(kind).collective; }
  /// Null for a step without bodies.
  const ControlStep* control() const {
    using Found = const ControlStep*;
    return std::visit(Overloaded{[](const ControlStep& s) -> Found { return &s; },
                                 [](const OpStep&) -> Found { return nullptr; },
                                 [](const CopyStep&) -> Found { return nullptr; },
                                 [](const CollectiveStep&) -> Found { return nullptr; }},
                      kind);
  }
};

/// Calls f(ref) for everything that a step reads or writes, including what only its bodies use. The
/// slot of a ref is -1 if the step does not need it.
template <class F>
void for_each_ref(const Step& step, F&& f) {
  for (const Ref& r : step.inputs) f(r);
  for (const Ref& r : step.outputs) f(r);
  const auto spare = [&](const LoopStep& s) {
    for (const Ref& r : s.spare) f(r);
  };
  std::visit(Overloaded{[&](const RoutineStep& s) { f(s.form); }, [](const EvaluateStep&) {},
                        [](const CopyStep&) {}, [](const CondStep&) {},
                        [](const CollectiveStep&) {}, [&](const ScanStep& s) { spare(s); },
                        [&](const WhileStep& s) {
                          spare(s);
                          f(s.flag);
                        }},
             step.kind);
  f(step.scratch);
}

/// The data that processes publish for each other in a phase of collectives.
struct Between {
  std::vector<int> from, to;  // the processes that this one reads from, and those that read from it
  // by step and process: how many operands it publishes
  std::vector<std::vector<std::int64_t>> operands;
  std::size_t count() const { return operands.front().size(); }  // number of processes
};

struct Phase {
  Mask mask = 0;
  std::int64_t instances = 1;
  /// The instances that belong to this process; null: all.
  const std::vector<std::int64_t>* here = nullptr;  // owned by the tape
  std::optional<Between> between;                   // for collectives
  bool collective = false;
  /// The instances communicate with other processes, so they run one after the other.
  bool in_turn = false;
  /// If nonzero, the collectives of the phase this many phases ahead start before this phase and
  /// are complete when that phase is reached. The phases in between do not depend on them.
  int begins = 0;
  double seconds = 0;  // of all instances
  Cost work;           // of one instance, without the bodies
  /// For each instance of this process, how many of its devices share it. Empty if all instances
  /// are shared by equally many, or there are no other processes.
  std::vector<std::int64_t> devices;
  std::vector<Step> steps;
};

/// An input of the program in the form that the tape reads.
struct Argument {
  std::size_t input = 0;
  int slot = -1;
  int region = -1;  // -1: whole and dense
  Spec spec;
  Type type;             // type of the input
  bool uniform = false;  // all devices have the same block
  /// For a region of one axis: the device whose block each device reads. Empty: its own.
  std::vector<std::int64_t> source;
};

struct Result {
  int slot = -1;      // a slot in space `result`, or
  int argument = -1;  // the index of the argument that is the result
  int same_as = -1;   // the earlier result that is the same
  // a donated argument whose memory it may take; the argument is dead before it is written
  int reuse = -1;
  int region = -1;  // -1: whole and dense
  Spec spec;
  Type type;
};

/// The form of an operand that does not change during a call: an argument that is not donated, or a
/// constant. A call finds the form or makes it (runtime/cpu/call_forms.h).
struct TapeForm {
  std::shared_ptr<const OperandForm> form;
  /// The operand: argument `argument` of this tape, or a constant of the tape `constants`, which
  /// may be a body's.
  Ref operand;
  int argument = -1;
  const Tape* constants = nullptr;
  int slot = -1;         // in space `argument`: pointers to the form, by instance of the operand
  bool repeats = false;  // a loop reads it
};

/// The instances that this process's devices hold, by the axes over which they are numbered. Along
/// axes without an entry, this process holds all instances.
using Here = std::map<Mask, std::vector<std::int64_t>>;

struct Tape {
  std::string name;
  /// A hash of the program and of this tape's place in it, equal in all processes.
  std::uint64_t signature = 0;
  std::shared_ptr<const processes::Listed> listed;  // TapeOptions::listed
  std::shared_ptr<const Here> here;                 // null: this process runs all devices
  bool elsewhere = false;  // none of its regions' devices belong to this process
  /// The number of this process's devices for which the top-level tape runs, or a multiple of it.
  double devices = 1;
  /// Bytes that a device receives in the tape's collectives (step_work.h). Includes collectives
  /// that happen in place and have no step; excludes those of bodies.
  double received = 0;
  std::vector<TapeAxis> axes;
  std::vector<Region> regions;
  std::vector<Slot> slots;
  std::vector<Phase> phases;
  // Top level; for bodies, one per input in order, then the hidden ones.
  std::vector<Argument> arguments;
  std::vector<Result> results;
  std::vector<TapeForm> forms;  // of the top-level tape
  std::vector<std::byte> constants;
  std::int64_t table = 0;  // number of pointers
  std::int64_t arena_bytes = 0;
  std::int64_t local_bytes = 0;  // per worker
  std::int64_t workers = 1;      // number of local memories
  std::int64_t frame_bytes = 0;  // table, arena and local memory together
  std::int64_t temporaries = 0;  // bytes of all temporaries if none shared memory
  double seconds = 0;            // estimated time of one run on one core
  std::vector<std::shared_ptr<const Program>> keep;
  /// `received` by mesh axis, assuming equal links on all axes.
  std::map<std::string, double> along;

  /// The number of values that a slot stores.
  std::int64_t stored(const Slot& s) const {
    return s.stored ? std::ssize(s.computed) : instances(s.mask);
  }
  /// The slot whose memory slot `s` uses.
  int place(int s) const {
    while (slots[static_cast<std::size_t>(s)].over >= 0)
      s = slots[static_cast<std::size_t>(s)].over;
    return s;
  }
  /// The instances of `m` that belong to this process; null: all.
  const std::vector<std::int64_t>* instances_here(Mask m) const {
    if (!here) return nullptr;
    const auto it = here->find(m);
    return it == here->end() ? nullptr : &it->second;
  }
  std::int64_t instances(Mask m) const {
    std::int64_t n = 1;
    for (std::size_t a = 0; a < axes.size(); ++a)
      if (m >> a & 1) n *= axes[a].size;
    return n;
  }
  /// The axes along which devices read different memory through `r`: another instance, or another
  /// block of a whole array.
  Mask varies(const Ref& r) const {
    Mask m = slots[static_cast<std::size_t>(r.slot)].mask & ~r.absorbed;
    for (const AxisStride& a : r.cut) m |= Mask{1} << a.axis;
    return m;
  }
};

std::string to_string(const Tape& tape);

}  // namespace tessera::inline v0::tape
