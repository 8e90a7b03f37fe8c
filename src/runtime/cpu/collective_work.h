// One collective of a tape, result by result.
#pragma once

#include "runtime/cpu/execute.h"

#include <span>
#include <vector>

namespace tessera::inline v0::runtime {

/// Some elements: from `begin` to before `end`.
struct Elements {
  std::int64_t begin = 0, end = 0;
  std::int64_t size() const { return end - begin; }
};

/// A collective with its operands' addresses resolved for one result; or that of some elements of
/// each operand.
struct CollectiveWork {
  CollectiveWork() = default;
  CollectiveWork(const tape::Tape& t, const Frame& f, const tape::Step& s)
      : tape(&t),
        frame(&f),
        step(&s),
        laid_of{0, s.collective->count},
        count(laid_of.end),
        made(laid_of) {}

  const tape::Tape* tape = nullptr;
  const Frame* frame = nullptr;
  const tape::Step* step = nullptr;
  /// By process, where what it laid out begins, null for those that are not read; empty where
  /// nobody else takes part. Those elements of each operand, or combination of some.
  std::span<const std::byte* const> laid = {};
  Elements laid_of;
  /// Elements of each operand, from one on, that it is of, and that are laid out; fewer than all
  /// where in_pieces(col).
  std::int64_t begin = 0, count = 0;
  /// Of those, which this process makes: a combination's may be fewer than are laid out.
  Elements made;
  /// Where it makes them, those of a result so many bytes behind those of the one before; null: in
  /// their places.
  std::byte* aside = nullptr;
  std::int64_t aside_each = 0;

  const tape::Collective& col() const { return *step->collective; }
  const tape::Slot& slot() const {
    return tape->slots[static_cast<std::size_t>(step->outputs[0].slot)];
  }
  /// How many results this process makes: one a device, or one a group.
  std::int64_t results() const {
    const std::vector<std::int64_t>* here = own_instances();
    return here ? std::ssize(*here) : tape->stored(slot());
  }
  /// Pieces of one result that different workers may make.
  std::int64_t tasks_each() const;
  void run(std::int64_t result, std::int64_t task) const;
  /// Whether the results are copies of parts of operands that are large enough to be made together,
  /// in the order of memory; and makes them.
  bool copies_parts() const;
  void copy_parts(bool spread) const;
  /// Where the elements of a result are.
  std::byte* result(std::int64_t result) const;

  /// What others read of this process, and the bytes of some elements of one operand, or combination
  /// of operands, of it.
  void lay_out(std::byte* to, Elements some) const;
  std::int64_t laid_bytes(Elements some) const {
    return (some.size() * size_of(laid_dtype()) + 63) / 64 * 64;
  }

 private:
  class Combination;
  BoxCopy copied_box() const;
  DType laid_dtype() const;
  /// Where results are a body's, whose places are the caller's: those of this process.
  const std::vector<std::int64_t>* own_instances() const {
    return slot().stored ? nullptr : tape->instances_here(step->mask);
  }
  Coords coords(std::int64_t result) const;
  std::int64_t self(const Coords& c) const;
  const std::byte* operand(Coords c, std::int64_t device) const;
  /// The operand or combination as another process laid it out; null: it is this process's.
  const std::byte* laid_out(std::int64_t instance) const;
  std::int64_t instance(Coords& c, std::int64_t device) const;
};

/// Whether each element of a result is made of one of each operand, so that it may be made of some
/// elements at a time.
bool in_pieces(const tape::Collective& c);

/// The results of some collectives of a phase, by one loop.
void run_here(std::span<const CollectiveWork> all, bool spread);
/// The collectives of a phase that processes take part in together.
void run_between(const tape::Tape& tape, const Frame& frame, const tape::Phase& phase, bool spread);

}  // namespace tessera::inline v0::runtime
