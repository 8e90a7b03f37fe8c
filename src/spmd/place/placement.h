// Where the parts of a value lie on a mesh, as partitioning computes with it.
//
// Axes of a mesh are taken apart into the prime factors of their sizes, the atoms. A part of an
// axis, which a dimension of size 4 that becomes 2 x 2 needs, is then a few whole atoms, and every
// question about axes is one about bits. Positions on the mesh keep their numbers.
#pragma once

#include "ir/combiner.h"
#include "ir/mesh.h"

#include <tessera/inline_vector.h>

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

namespace tessera::inline v0::spmd {

/// Atoms are numbered axis by axis in the order of the mesh, and within an axis major first.
using Atom = std::uint8_t;
/// Major first.
using Atoms = InlineVector<Atom, 16>;

class AtomSet {
 public:
  static constexpr int most = 64;  // atoms that a mesh can have

  AtomSet() = default;
  explicit AtomSet(const Atoms& atoms) {
    for (Atom a : atoms) insert(a);
  }
  bool contains(Atom a) const { return bits_ >> a & 1; }
  bool empty() const { return bits_ == 0; }
  int size() const { return std::popcount(bits_); }
  void insert(Atom a) { bits_ |= std::uint64_t{1} << a; }
  void erase(Atom a) { bits_ &= ~(std::uint64_t{1} << a); }
  bool intersects(AtomSet o) const { return (bits_ & o.bits_) != 0; }
  bool includes(AtomSet o) const { return (o.bits_ & ~bits_) == 0; }
  AtomSet& operator|=(AtomSet o) { return bits_ |= o.bits_, *this; }
  AtomSet& operator&=(AtomSet o) { return bits_ &= o.bits_, *this; }
  AtomSet& operator-=(AtomSet o) { return bits_ &= ~o.bits_, *this; }
  friend AtomSet operator|(AtomSet a, AtomSet b) { return a |= b; }
  friend AtomSet operator&(AtomSet a, AtomSet b) { return a &= b; }
  friend AtomSet operator-(AtomSet a, AtomSet b) { return a -= b; }
  bool operator==(const AtomSet&) const = default;
  std::uint64_t bits() const { return bits_; }
  /// In ascending order.
  Atoms atoms() const {
    Atoms all;
    for (std::uint64_t b = bits_; b != 0; b &= b - 1)
      all.push_back(static_cast<Atom>(std::countr_zero(b)));
    return all;
  }

 private:
  std::uint64_t bits_ = 0;
};

/// For each dimension of a value the atoms that cut it. Over `unreduced` devices hold partial
/// results, whose combination by `combiner` is the value. Devices that differ only in other atoms
/// hold the same.
struct Placement {
  std::vector<Atoms> dims;  // as many as the value has
  AtomSet unreduced;
  Combiner combiner = Combiner::add;  // of what is unreduced, else add

  static Placement replicated(int rank) {
    return {std::vector<Atoms>(static_cast<std::size_t>(rank)), {}, Combiner::add};
  }
  int rank() const { return static_cast<int>(dims.size()); }
  /// Atoms that cut a dimension.
  AtomSet cut() const {
    AtomSet all;
    for (const Atoms& dim : dims) all |= AtomSet(dim);
    return all;
  }
  /// Those, and the ones that are unreduced.
  AtomSet used() const { return cut() | unreduced; }
  bool is_replicated() const { return used().empty(); }
  bool operator==(const Placement&) const = default;
};
std::size_t hash_of(const Placement& placement);

class AtomMesh {
 public:
  /// What an atom is: a prime factor of an axis's size, or the axis.
  enum class Parts { primes, axes };
  /// Error where the mesh has more than AtomSet::most atoms. Axes of size 1 have none.
  explicit AtomMesh(MeshShape mesh, Parts parts = Parts::primes);

  const MeshShape& mesh() const { return mesh_; }
  /// The same positions with an axis an atom: named as the axis where it is all of that, else
  /// "x:(1)2", the part of size 2 of x that has no parts before it, then "x:(2)3".
  const MeshShape& atom_mesh() const { return atom_mesh_; }
  int count() const { return static_cast<int>(axis_.size()); }
  std::int64_t size(Atom a) const { return atom_mesh_.sizes[a]; }
  std::int64_t size(const Atoms& atoms) const;
  std::int64_t size(AtomSet atoms) const { return size(atoms.atoms()); }
  /// Where a position is along atoms, first major.
  std::int64_t index_along(std::int64_t position, const Atoms& atoms) const {
    std::int64_t index = 0;
    for (Atom a : atoms) index = index * size(a) + position / strides_[a] % size(a);
    return index;
  }
  /// The position that is at `index` along `atoms` and at 0 along the others.
  std::int64_t position_at(std::int64_t index, const Atoms& atoms) const;
  /// The axis of the mesh that an atom is part of, by number.
  int axis_of(Atom a) const { return axis_[a]; }
  /// Of an axis by number, major first.
  const Atoms& atoms_of(int axis) const { return atoms_[static_cast<std::size_t>(axis)]; }

  /// Axes in `spec` are the mesh's, or its atoms by their names; InternalError otherwise, or where
  /// it is longer than `rank`.
  Placement placement(const Spec& spec, int rank) const;
  /// Over mesh(); parts of axes by their names where `placement` reads them again, InternalError
  /// where a part is of several atoms and not all.
  Spec spec(const Placement& placement) const;
  /// Over atom_mesh().
  Spec atom_spec(const Placement& placement) const;
  AtomSet all() const {
    AtomSet atoms;
    for (int a = 0; a < count(); ++a) atoms.insert(static_cast<Atom>(a));
    return atoms;
  }
  /// Shape of the largest part: sizes that atoms do not divide are rounded up.
  Shape local_shape(const Shape& whole, const Placement& placement) const;
  bool divides(const Shape& whole, const Placement& placement) const;

  /// Neighbouring atoms of one axis as one name: "x" for all of them, "x:(2)6" for the part of size
  /// 6 behind those of sizes that multiply to 2.
  std::vector<std::string> names(const Atoms& atoms) const;
  /// "P('x', none, ('y', 'x:(1)2'))", with " unreduced {'z'}" or " unreduced max {'z'}" behind it.
  std::string to_string(const Placement& placement) const;

 private:
  MeshShape mesh_, atom_mesh_;
  std::vector<int> axis_;              // by atom
  std::vector<std::int64_t> strides_;  // by atom: from a position to the next one along it
  std::vector<Atoms> atoms_;           // by axis
};

}  // namespace tessera::inline v0::spmd
