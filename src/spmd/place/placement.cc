#include "spmd/place/placement.h"

#include "base/hash.h"
#include "base/message.h"

#include <numeric>

namespace tessera::inline v0::spmd {

std::size_t hash_of(const Placement& placement) {
  std::size_t h = 0;
  for (const Atoms& dim : placement.dims) {
    mix(h, dim.size());
    for (Atom a : dim) mix(h, a);
  }
  mix(h, placement.unreduced.bits());
  mix(h, static_cast<int>(placement.combiner));
  return h;
}

namespace {
/// Ascending.
std::vector<std::int64_t> prime_factors(std::int64_t n) {
  std::vector<std::int64_t> factors;
  for (std::int64_t p = 2; p * p <= n; ++p)
    for (; n % p == 0; n /= p) factors.push_back(p);
  if (n > 1) factors.push_back(n);
  return factors;
}

std::string part_name(const std::string& axis, std::int64_t before, std::int64_t size) {
  return axis + ":(" + std::to_string(before) + ")" + std::to_string(size);
}
}  // namespace

AtomMesh::AtomMesh(MeshShape mesh, Parts parts) : mesh_(std::move(mesh)) {
  for (std::size_t i = 0; i < mesh_.axes.size(); ++i) {
    std::vector<std::int64_t> factors;
    if (parts == Parts::primes)
      factors = prime_factors(mesh_.sizes[i]);
    else if (mesh_.sizes[i] > 1)
      factors = {mesh_.sizes[i]};
    std::int64_t before = 1;
    Atoms& atoms = atoms_.emplace_back();
    for (std::int64_t p : factors) {
      if (axis_.size() == AtomSet::most)
        throw Error("the mesh has more than " + std::to_string(AtomSet::most) +
                    " parts: axes, or prime factors of their sizes");
      atoms.push_back(static_cast<Atom>(axis_.size()));
      axis_.push_back(static_cast<int>(i));
      atom_mesh_.axes.push_back(factors.size() == 1 ? mesh_.axes[i]
                                                    : part_name(mesh_.axes[i], before, p));
      atom_mesh_.sizes.push_back(p);
      before *= p;
    }
  }
  strides_.resize(axis_.size());
  std::int64_t stride = 1;
  for (std::size_t a = axis_.size(); a-- > 0;) {
    strides_[a] = stride;
    stride *= atom_mesh_.sizes[a];
  }
}

std::int64_t AtomMesh::position_at(std::int64_t index, const Atoms& atoms) const {
  std::int64_t position = 0;
  for (std::size_t i = atoms.size(); i-- > 0;) {
    position += index % size(atoms[i]) * strides_[atoms[i]];
    index /= size(atoms[i]);
  }
  return position;
}

std::int64_t AtomMesh::size(const Atoms& atoms) const {
  return std::accumulate(atoms.begin(), atoms.end(), std::int64_t{1},
                         [&](std::int64_t n, Atom a) { return n * size(a); });
}

Placement AtomMesh::placement(const Spec& spec, int rank) const {
  Placement p = Placement::replicated(rank);
  for (std::size_t d = 0; d < spec.dims().size(); ++d)
    for (const std::string& name : spec.dims()[d]) {
      const int axis = mesh_.find(name), atom = atom_mesh_.find(name);
      if (d >= p.dims.size() || (axis < 0 && atom < 0))
        throw InternalError(tessera::to_string(spec) + " does not fit a value of rank " +
                            std::to_string(rank));
      if (axis < 0)
        p.dims[d].push_back(static_cast<Atom>(atom));
      else
        for (Atom a : atoms_of(axis)) p.dims[d].push_back(a);
    }
  return p;
}

Spec AtomMesh::spec(const Placement& placement) const {
  Spec::Dims dims;
  for (const Atoms& dim : placement.dims) dims.push_back(names(dim));
  Spec spec(std::move(dims));
  for (const Spec::Axes& axes : spec.dims())
    for (const std::string& name : axes)
      if (mesh_.find(name) < 0 && atom_mesh_.find(name) < 0)
        throw InternalError(name + " is neither an axis nor an atom of the mesh");
  return spec;
}

Spec AtomMesh::atom_spec(const Placement& placement) const {
  Spec::Dims dims(placement.dims.size());
  for (std::size_t d = 0; d < dims.size(); ++d)
    for (Atom a : placement.dims[d]) dims[d].push_back(atom_mesh_.axes[a]);
  return Spec(std::move(dims));
}

Shape AtomMesh::local_shape(const Shape& whole, const Placement& placement) const {
  Shape s = whole;
  for (int d = 0; d < s.rank(); ++d) {
    const std::int64_t n = size(placement.dims[static_cast<std::size_t>(d)]);
    s[d] = (s[d] + n - 1) / n;
  }
  return s;
}

bool AtomMesh::divides(const Shape& whole, const Placement& placement) const {
  for (int d = 0; d < whole.rank(); ++d)
    if (whole[d] % size(placement.dims[static_cast<std::size_t>(d)]) != 0) return false;
  return true;
}

std::vector<std::string> AtomMesh::names(const Atoms& atoms) const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < atoms.size();) {
    const int axis = axis_of(atoms[i]);
    const Atoms& all = atoms_of(axis);
    std::size_t end = i + 1;
    while (end < atoms.size() && atoms[end] == atoms[end - 1] + 1 && axis_of(atoms[end]) == axis)
      ++end;
    const std::string& name = mesh_.axes[static_cast<std::size_t>(axis)];
    if (end - i == all.size()) {
      names.push_back(name);
    } else {
      std::int64_t before = 1;
      for (Atom a = all.front(); a < atoms[i]; ++a) before *= size(a);
      names.push_back(part_name(name, before, size(Atoms(atoms.begin() + i, atoms.begin() + end))));
    }
    i = end;
  }
  return names;
}

std::string AtomMesh::to_string(const Placement& placement) const {
  Spec::Dims dims;
  for (const Atoms& dim : placement.dims) dims.push_back(names(dim));
  std::string s = tessera::to_string(Spec(std::move(dims)));
  if (placement.unreduced.empty()) return s;
  s += " unreduced ";
  if (placement.combiner != Combiner::add) s += std::string(name_of(placement.combiner)) + " ";
  std::string list;
  for (const std::string& name : names(placement.unreduced.atoms()))
    list += (list.empty() ? "'" : ", '") + name + "'";
  return s + "{" + list + "}";
}

}  // namespace tessera::inline v0::spmd
