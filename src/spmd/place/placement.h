// How a value is partitioned over a mesh, in the representation that the partitioner computes with.
//
// Each mesh axis is split into the prime factors of its size, called atoms. A sub-axis, as needed
// when a dimension of size 4 is reshaped to 2 x 2, then consists of whole atoms, and every question
// about axes becomes a bit operation. Splitting axes into atoms does not renumber the positions on
// the mesh.
#pragma once

#include "ir/combiner.h"
#include "ir/mesh.h"

#include <tessera/inline_vector.h>

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

namespace tessera::inline v0::spmd {

/// Atoms are numbered axis by axis in mesh order, and major to minor within an axis.
using Atom = std::uint8_t;
/// Major to minor.
using Atoms = InlineVector<Atom, 16>;

class AtomSet {
 public:
  static constexpr int most = 64;  // a mesh can have this many atoms

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

/// For each dimension of a value, the atoms that partition it. Along the `unreduced` atoms, devices
/// hold partial results, which `combiner` combines to the value. Devices that differ only along
/// other atoms hold the same data.
struct Placement {
  std::vector<Atoms> dims;  // one per dimension of the value
  AtomSet unreduced;
  Combiner combiner = Combiner::add;  // for the unreduced atoms; `add` if there are none

  static Placement replicated(int rank) {
    return {std::vector<Atoms>(static_cast<std::size_t>(rank)), {}, Combiner::add};
  }
  int rank() const { return static_cast<int>(dims.size()); }
  /// Atoms that partition some dimension.
  AtomSet cut() const {
    AtomSet all;
    for (const Atoms& dim : dims) all |= AtomSet(dim);
    return all;
  }
  /// Atoms that partition a dimension or are unreduced.
  AtomSet used() const { return cut() | unreduced; }
  bool is_replicated() const { return used().empty(); }
  bool operator==(const Placement&) const = default;
};
std::size_t hash_of(const Placement& placement);

class AtomMesh {
 public:
  /// Whether an atom is a prime factor of an axis's size or a whole axis.
  enum class Parts { primes, axes };
  /// Throws Error if the mesh has more than AtomSet::most atoms. Axes of size 1 have no atoms.
  explicit AtomMesh(MeshShape mesh, Parts parts = Parts::primes);

  const MeshShape& mesh() const { return mesh_; }
  /// The same positions as a mesh with one axis per atom. An atom that is a whole axis has the
  /// axis's name; otherwise it is called, for example, "x:(1)2", the major part of x, of size 2,
  /// and then "x:(2)3".
  const MeshShape& atom_mesh() const { return atom_mesh_; }
  int count() const { return static_cast<int>(axis_.size()); }
  std::int64_t size(Atom a) const { return atom_mesh_.sizes[a]; }
  std::int64_t size(const Atoms& atoms) const;
  std::int64_t size(AtomSet atoms) const { return size(atoms.atoms()); }
  /// The index of a position along `atoms`, which are listed major to minor.
  std::int64_t index_along(std::int64_t position, const Atoms& atoms) const {
    std::int64_t index = 0;
    for (Atom a : atoms) index = index * size(a) + position / strides_[a] % size(a);
    return index;
  }
  /// The position with index `index` along `atoms` and 0 along all others.
  std::int64_t position_at(std::int64_t index, const Atoms& atoms) const;
  /// The number of the mesh axis that an atom is part of.
  int axis_of(Atom a) const { return axis_[a]; }
  /// The atoms of an axis, major to minor.
  const Atoms& atoms_of(int axis) const { return atoms_[static_cast<std::size_t>(axis)]; }

  /// `spec` may use the axes of the mesh or the names of its atoms. Throws InternalError for other
  /// names, or if the spec is longer than `rank`.
  Placement placement(const Spec& spec, int rank) const;
  /// The spec over mesh(). Sub-axes get the names that `placement` accepts. Throws InternalError
  /// for a sub-axis that consists of several atoms but not of all atoms of its axis.
  Spec spec(const Placement& placement) const;
  /// The spec over atom_mesh().
  Spec atom_spec(const Placement& placement) const;
  AtomSet all() const {
    AtomSet atoms;
    for (int a = 0; a < count(); ++a) atoms.insert(static_cast<Atom>(a));
    return atoms;
  }
  /// The shape of the largest part: sizes that the atoms do not divide are rounded up.
  Shape local_shape(const Shape& whole, const Placement& placement) const;
  bool divides(const Shape& whole, const Placement& placement) const;

  /// Names in which neighbouring atoms of one axis are merged: "x" for all of its atoms, "x:(2)6"
  /// for the sub-axis of size 6 minor to atoms whose sizes multiply to 2.
  std::vector<std::string> names(const Atoms& atoms) const;
  /// For example "P('x', none, ('y', 'x:(1)2'))", followed by " unreduced {'z'}" or " unreduced max
  /// {'z'}".
  std::string to_string(const Placement& placement) const;

 private:
  MeshShape mesh_, atom_mesh_;
  std::vector<int> axis_;              // by atom: the number of its axis
  std::vector<std::int64_t> strides_;  // by atom: distance between neighbouring positions along it
  std::vector<Atoms> atoms_;           // by axis
};

}  // namespace tessera::inline v0::spmd
