// A sort moves keys, which are unsigned integers with the order of the sort, and with each key a
// tag, which is either the other operands' values or the position in the row.
#pragma once

#include "ops/movement/sort.h"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace tessera::inline v0::ops {

/// Keys that need no tag, since the operands' values follow from them.
template <class K>
struct KeysAlone {
  using Key = K;
  using Tag = std::uint32_t;
  using Element = K;
  static constexpr bool has_tag = false;
  static Key key(Element e) { return e; }
  static Tag tag(Element) { return 0; }
  static Element make(Key key, Tag) { return key; }
};
/// A key of 32 bits above a tag of 32 bits.
struct TaggedKeys32 {
  using Key = std::uint32_t;
  using Tag = std::uint32_t;
  using Element = std::uint64_t;
  static constexpr bool has_tag = true;
  static Key key(Element e) { return static_cast<Key>(e >> 32); }
  static Tag tag(Element e) { return static_cast<Tag>(e); }
  static Element make(Key key, Tag tag) { return Element{key} << 32 | tag; }
};
/// A key and a tag of 64 bits.
struct TaggedKeys64 {
  using Key = std::uint64_t;
  using Tag = std::uint64_t;
  struct Element {
    Key key;
    Tag tag;
    bool operator<(const Element& o) const { return key != o.key ? key < o.key : tag < o.tag; }
  };
  static constexpr bool has_tag = true;
  static Key key(const Element& e) { return e.key; }
  static Tag tag(const Element& e) { return e.tag; }
  static Element make(Key key, Tag tag) { return {key, tag}; }
};

/// A part of a key: an operand, or the real or imaginary part of one.
struct KeyPart {
  std::size_t operand;
  DType dtype;               // of the part
  std::int64_t first, step;  // in elements of the part, from the start of the row
  int bits;
};

/// How a sort's rows are represented.
struct SortPlan {
  std::int64_t n = 1, inner = 1;  // elements of a row are `inner` apart
  SortedRange wanted{};
  std::vector<DType> dtypes;  // of the operands
  std::size_t keys = 0;       // how many operands, from the first, are compared
  /// The keys as numbers of at most 64 bits, most significant first.
  std::vector<std::vector<KeyPart>> groups;
  enum class Tag { none, values, position } tag = Tag::position;
  int key_bits = 0;  // of the longest group

  bool few() const { return wanted.count < n; }
};
SortPlan sort_plan(std::span<const Type> in, std::int64_t dimension, std::size_t keys,
                   const SortedRange& wanted, bool moved_in_order);

/// Facts about the keys, which the loop that reads the elements collects.
template <class Key>
struct SeenKeys {
  Key any = 0, all = std::numeric_limits<Key>::max();
  bool inexact = false;  // an operand's value does not follow from its key
  Key differing() const { return any & static_cast<Key>(~all); }
  void add(const SeenKeys& o) {
    any |= o.any;
    all &= o.all;
    inexact = inexact || o.inexact;
  }
};

/// Reads elements [begin, end) of a row, whose operands begin at `row`, with the keys of the last
/// group.
template <class F>
SeenKeys<typename F::Key> read_elements(const SortPlan& p, const void* const* row,
                                        std::int64_t begin, std::int64_t end,
                                        typename F::Element* to);
/// Replaces the keys of elements that are tagged with positions by those of another group, and the
/// tags by 0, 1, 2, ...
template <class F>
SeenKeys<typename F::Key> read_keys(const SortPlan& p, std::size_t group, const void* const* row,
                                    const std::uint32_t* order, typename F::Element* elements);
/// Writes the sorted elements [begin, end) of the `wanted` ones to the results, whose rows begin at
/// `out`.
template <class F>
void write_elements(const SortPlan& p, const void* const* row, const typename F::Element* wanted,
                    std::int64_t begin, std::int64_t end, void* const* out);
/// Writes one element of each of `count` adjacent rows, which begin at `row` and the elements after
/// it, to the places from `out` on.
template <class F>
void write_across(const SortPlan& p, const void* const* row, const typename F::Element* elements,
                  std::int64_t count, void* const* out);
/// Rewrites the zeros and NaNs of the results with the row's own bits, in the row's order.
void restore_equal(const SortPlan& p, const void* const* row, void* const* out);

}  // namespace tessera::inline v0::ops
