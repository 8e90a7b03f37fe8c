// One collective of a tape, computed result by result.
#pragma once

#include "runtime/cpu/execute.h"

#include <span>
#include <vector>

namespace tessera::inline v0::runtime {

/// The elements [begin, end).
struct Elements {
  std::int64_t begin = 0, end = 0;
  std::int64_t size() const { return end - begin; }
};

/// A collective, restricted to a range of elements of each operand. Resolves the operands'
/// addresses for each result.
struct CollectiveWork {
  CollectiveWork() = default;
  CollectiveWork(const tape::Tape& t, const Frame& f, const tape::Step& s)
      : tape(&t),
        frame(&f),
        step(&s),
        collective(&s.collective()),
        laid_of{0, collective->count},
        count(laid_of.end),
        made(laid_of) {}

  const tape::Tape* tape = nullptr;
  const Frame* frame = nullptr;
  const tape::Step* step = nullptr;
  const tape::Collective* collective = nullptr;  // of the step
  /// For each process, the start of what it published for this one, or null if it is not read;
  /// empty without other processes. These are elements `laid_of` of each operand or partial result.
  std::span<const std::byte* const> laid = {};
  Elements laid_of;
  /// The range of elements of each operand that this work covers, starting at `begin`; less than
  /// all of them only if in_pieces(col()).
  std::int64_t begin = 0, count = 0;
  /// The part of this range that this process computes; less than all of it if several processes
  /// share a reduction (Collective::makers).
  Elements made;
  /// A buffer for the computed elements, with `aside_each` bytes per result; null: write them to
  /// the results.
  std::byte* aside = nullptr;
  std::int64_t aside_each = 0;

  const tape::Collective& col() const { return *collective; }
  const tape::Slot& slot() const {
    return tape->slots[static_cast<std::size_t>(step->outputs[0].slot)];
  }
  /// The number of results that this process computes: one per device, or one per group.
  std::int64_t results() const {
    const std::vector<std::int64_t>* here = own_instances();
    return here ? std::ssize(*here) : tape->stored(slot());
  }
  /// The number of pieces of a result that different workers may compute.
  std::int64_t tasks_each() const;
  void run(std::int64_t result, std::int64_t task) const;
  /// copies_parts: whether the results are copies of operand parts that are large enough to be
  /// ordered by memory address. copy_parts makes these copies.
  bool copies_parts() const;
  void copy_parts(bool spread) const;
  /// The address of a result, at the first element of the range.
  std::byte* result(std::int64_t result) const;

  /// lay_out publishes some elements of this process's operands or partial results; laid_bytes is
  /// the size of one of them.
  void lay_out(std::byte* to, Elements some) const;
  std::int64_t laid_bytes(Elements some) const {
    return (some.size() * size_of(laid_dtype()) + 63) / 64 * 64;
  }

 private:
  class Combination;
  BoxCopy copied_box() const;
  DType laid_dtype() const;
  /// This process's instances, if the results belong to a body and the caller provides their
  /// memory.
  const std::vector<std::int64_t>* own_instances() const {
    return slot().stored ? nullptr : tape->instances_here(step->mask);
  }
  Coords coords(std::int64_t result) const;
  std::int64_t self(const Coords& c) const;
  const std::byte* operand(Coords c, std::int64_t device) const;
  /// The operand or partial result as published by another process; null if it belongs to this
  /// process.
  const std::byte* laid_out(std::int64_t instance) const;
  std::int64_t instance(Coords& c, std::int64_t device) const;
};

/// Whether each element of a result depends on one element of each operand, so that a range of
/// elements can be processed at a time.
bool in_pieces(const tape::Collective& c);

/// Computes the results of some collectives of a phase in one loop.
void run_here(std::span<const CollectiveWork> all, bool spread);
/// Runs the collectives of a phase in which several processes take part.
void run_between(const tape::Tape& tape, const Frame& frame, const tape::Phase& phase, bool spread);

}  // namespace tessera::inline v0::runtime
