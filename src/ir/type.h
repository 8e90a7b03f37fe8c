// The type of a value in a program: dtype, shape, weakness, and the mesh axes along which it
// varies.
#pragma once

#include "base/message.h"

#include <tessera/dtype.h>
#include <tessera/shape.h>

#include <string>
#include <string_view>
#include <vector>

namespace tessera::inline v0 {

/// A small ordered set of mesh axis names.
class AxisSet {
 public:
  AxisSet() = default;
  AxisSet(std::initializer_list<std::string> names) {
    for (const auto& n : names) insert(n);
  }
  bool empty() const { return names_.empty(); }
  std::size_t size() const { return names_.size(); }
  bool contains(std::string_view name) const;
  void insert(std::string_view name);
  void erase(std::string_view name);
  AxisSet& operator|=(const AxisSet& o);
  friend AxisSet operator|(AxisSet a, const AxisSet& b) { return a |= b; }
  bool operator==(const AxisSet&) const = default;
  auto begin() const { return names_.begin(); }
  auto end() const { return names_.end(); }

 private:
  std::vector<std::string> names_;  // sorted
};

/// Inside a per-device program over a mesh, `varying` names the axes along which the devices may
/// hold different values; elsewhere it is empty.
struct Type {
  DType dtype = DType::float32;
  Shape shape;
  bool weak = false;
  AxisSet varying;

  Type() = default;
  // Nearly every file copies and destroys types, so these operations are compiled only once, in
  // type.cc.
  Type(const Type& other);
  Type(Type&& other) noexcept;
  Type& operator=(const Type& other);
  Type& operator=(Type&& other) noexcept;
  ~Type();
  Type(DType d, Shape s, bool w = false) : dtype(d), shape(std::move(s)), weak(w) {}
  bool operator==(const Type&) const = default;
  std::int64_t bytes() const { return shape.count() * size_of(dtype); }
};

/// "f32[8,16]", "i32[]*" (weak), "f32[4]{varying: data}".
std::string to_string(const Type& type);

}  // namespace tessera::inline v0
