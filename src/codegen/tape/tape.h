// A program ready to be executed: plain data that the planner (plan.h) writes and the executor
// (src/runtime) walks.
//
// One tape runs a program for all devices. A value is stored once for every combination of
// coordinates along the axes it varies over (its instances) and computed as often; a value that is
// equal on all devices has one instance. Work between two collectives is a phase: its steps run for
// each instance of the phase's axes, independently of other instances.
#pragma once

#include "base/box_copy.h"
#include "codegen/tape/progressions.h"
#include "ir/op.h"
#include "ir/routine.h"
#include "processes/processes.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tessera::inline v0::tape {

/// A set of axes, one bit an axis of the tape.
using Mask = std::uint32_t;

struct TapeAxis {
  std::string name;
  std::int64_t size = 1;
};

/// A shard_map: where its blocks live.
struct Region {
  std::vector<int> axes;  // of the tape, in mesh order
  MeshRef mesh;           // with its devices
};

/// Units of something (bytes, instances) per step along an axis.
struct AxisStride {
  int axis = 0;
  std::int64_t stride = 0;
};
using AxisStrides = InlineVector<AxisStride, 3>;

enum class Space : std::uint8_t {
  argument,  // pointers that the caller provides, one an instance
  result,    // memory that the caller provides, one pointer an instance
  constant,  // in the tape
  arena,     // in the frame of the call; instances are adjacent
  local,     // in the frame of a worker: lives within one phase only
};

struct Slot {
  Space space = Space::arena;
  Mask mask = 0;
  Mask same = 0;           // of these, the axes along which the instances are equal
  std::int64_t bytes = 0;  // of one instance
  std::int64_t offset =
      0;  // constant, arena, local: bytes; argument, result: index in the table of pointers
  AxisStrides
      instance;  // number of an instance from coordinates, row-major over the axes of `mask`
  DType dtype = DType::float32;
  /// Another value lies in the same memory: the earlier slot that this one is written over.
  int over = -1;
  bool overwritten = false;  // by a later slot
  /// Instances that are equal are stored once: by instance, which of those stored it is, and by
  /// what is stored, the instance that computes it. Of instances that are other processes' it is an
  /// equal one's of this process, or there is none. Not given: each is stored.
  std::optional<Progressions> stored;
  std::vector<std::int64_t> computed;
  /// The place of an instance among those that are stored.
  std::int64_t place(std::int64_t i) const { return stored ? stored->at(i) : i; }
};

/// Where an operand is: instance of a slot by coordinates, and bytes into it.
struct Ref {
  int slot = -1;
  std::int64_t offset = 0;
  AxisStrides cut;    // further bytes by coordinates: the block of a whole
  Mask absorbed = 0;  // axes whose instances together are the value: adjacent blocks of a whole
  /// Instead of all those along `absorbed` one is the value for all devices: that from which
  /// instances count.
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
  std::int64_t size = 1;  // product
  /// Empty: one, of all in their order. Else by group, and by device of the axes its group and the
  /// position in it.
  std::vector<std::vector<std::int64_t>> groups;
  std::vector<std::pair<int, int>> place;
  Progressions source;              // permute, broadcast: by device; none gives zeros
  std::int64_t outer = 1, run = 0;  // elements: rows and their length on the result's side
  std::int64_t count = 0;           // elements of the operand
  BoxCopy box;                      // all_to_all: one chunk
  std::int64_t from_chunk = 0, to_chunk = 0;  // bytes between chunks
  /// Between processes: by instance of the operand, over the axes of `laid`, the process that lays
  /// it out for others and its number among what that one lays out. Of a combination not operands
  /// need be laid out but what `together` of them come to, which follow one another in a group, are
  /// one process's and are a subtree of the combination's tree (runtime/cpu/reduce.h).
  Mask laid = 0;
  std::optional<Progressions> owner;
  Progressions number;
  std::int64_t together = 1;
  std::vector<std::int64_t> own;  // instances that this process lays out, `together` of each
  /// These processes want every result, and each has an operand of each: each may make a part of
  /// them for all. Empty: it is not so.
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

struct Step {
  enum class Kind { routine, evaluate, copy, scan, while_, cond, collective } kind = Kind::evaluate;
  std::string name;
  SourceLoc loc;
  Mask mask = 0;   // axes it runs over
  Mask inner = 0;  // control flow with collectives: axes that the bodies' tapes run over
  std::vector<Ref> inputs, outputs;
  double seconds = 0;  // estimate, one instance
  Cost work;           // of one instance, without bodies (step_work.h)
  std::vector<std::size_t>
      after;  // while planning: steps that it has to wait for beside its operands

  std::shared_ptr<const Routine> routine;
  Ref scratch;  // routine's scratch; control flow: the bodies' frame

  const Op* op = nullptr;  // evaluate
  Attrs attrs;
  std::vector<Type> input_types, output_types;  // evaluate, routine

  BoxCopy box;  // copy

  std::shared_ptr<const Collective> collective;

  /// scan: body; while: condition, body; cond: branches. Their arguments are those of the op, then
  /// hidden ones.
  std::vector<std::shared_ptr<const Tape>> bodies;
  std::int64_t length = 0;
  bool reverse = false;
  std::size_t consts = 0, cond_consts = 0, carries = 0, hidden = 0;
  std::vector<std::int64_t> rows;  // bytes of a row of each xs, then each ys
  std::vector<Ref> spare;          // second buffer of each carry
  std::vector<bool> kept;          // carries that the body hands on unchanged
  /// By output, may be shorter: the input that the bodies update where it is, in the output's
  /// memory; or -1.
  std::vector<int> tied;
  int tied_input(std::size_t output) const { return output < tied.size() ? tied[output] : -1; }
  Ref flag;  // while: the condition's result
};

/// What processes lay out for each other in a phase of collectives.
struct Between {
  std::vector<int> from, to;                        // whom this one reads, and who reads it
  std::vector<std::vector<std::int64_t>> operands;  // by step, by process: how many it lays out
  std::size_t count() const { return operands.front().size(); }  // of processes
};

struct Phase {
  Mask mask = 0;
  std::int64_t instances = 1;
  /// Where there are other processes: which instances are this one's. Null: all.
  const std::vector<std::int64_t>* here = nullptr;  // of the tape's
  std::optional<Between> between;                   // collectives
  bool collective = false;
  /// Instances communicate with other processes, so that one comes after the other.
  bool in_turn = false;
  /// The collectives of so many phases further on begin before this phase, and are over when their
  /// own comes: the phases from this one on are work that needs nothing of them. 0: none do.
  int begins = 0;
  double seconds = 0;  // all instances
  Cost work;           // one instance, without bodies
  /// By instance of this process, of how many of its devices it is: where other processes have some,
  /// and not all are of as many. Empty: of equally many.
  std::vector<std::int64_t> devices;
  std::vector<Step> steps;
};

/// An input of the program as the tape wants it.
struct Argument {
  std::size_t input = 0;
  int slot = -1;
  int region = -1;  // -1: whole and dense
  Spec spec;
  Type type;             // of the input
  bool uniform = false;  // one block for all devices
  /// By device of a region of one axis: whose block it has. Empty: its own.
  std::vector<std::int64_t> source;
};

struct Result {
  int slot = -1;      // in space `result`, or
  int argument = -1;  // the index of the argument that it is
  int same_as = -1;   // an earlier result that it is
  int reuse = -1;   // a donated argument whose memory it may take: the argument is dead before the
                    // result is written
  int region = -1;  // -1: whole and dense
  Spec spec;
  Type type;
};

/// The instances that the devices of this process have, by the axes that they are numbered over;
/// along other axes it has all of them.
using Here = std::map<Mask, std::vector<std::int64_t>>;

struct Tape {
  std::string name;
  /// Of the program and the place of this tape in it, equal in all processes.
  std::uint64_t signature = 0;
  std::shared_ptr<const processes::Listed> listed;  // TapeOptions::listed
  std::shared_ptr<const Here> here;                 // null: it runs for all devices in this process
  bool elsewhere = false;                           // no device of its regions is this process's
  /// For so many devices of this process it runs, or a multiple of that; at the top.
  double devices = 1;
  /// Bytes that a device receives in its collectives (step_work.h), bodies' not among them, those
  /// that are in place here and are no steps too.
  double received = 0;
  std::vector<TapeAxis> axes;
  std::vector<Region> regions;
  std::vector<Slot> slots;
  std::vector<Phase> phases;
  std::vector<Argument> arguments;  // top level; bodies: one an input, in order, then hidden ones
  std::vector<Result> results;
  std::vector<std::byte> constants;
  std::int64_t table = 0;  // pointers
  std::int64_t arena_bytes = 0;
  std::int64_t local_bytes = 0;  // of one worker
  std::int64_t workers = 1;      // frames of local memory
  std::int64_t frame_bytes = 0;  // table, arena and local memory together
  std::int64_t temporaries = 0;  // bytes of all temporaries, had each its own memory
  double seconds = 0;            // estimate of the whole on one core
  std::vector<std::shared_ptr<const Program>> keep;
  /// Of `received`, by axis of a mesh, where the links of all axes are alike.
  std::map<std::string, double> along;

  /// How many values a slot holds.
  std::int64_t stored(const Slot& s) const {
    return s.stored ? std::ssize(s.computed) : instances(s.mask);
  }
  /// The slot whose place slot `s` has.
  int place(int s) const {
    while (slots[static_cast<std::size_t>(s)].over >= 0)
      s = slots[static_cast<std::size_t>(s)].over;
    return s;
  }
  /// Those of this process; null: all.
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
  /// The axes along which devices read another place through `r`: another instance, or another
  /// block of a whole.
  Mask varies(const Ref& r) const {
    Mask m = slots[static_cast<std::size_t>(r.slot)].mask & ~r.absorbed;
    for (const AxisStride& a : r.cut) m |= Mask{1} << a.axis;
    return m;
  }
};

std::string to_string(const Tape& tape);

}  // namespace tessera::inline v0::tape
