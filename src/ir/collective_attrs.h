// Typed views of the attributes of collectives. Many rooms read and change collectives; only this
// file contains the names of the attributes that they share.
#pragma once

#include "ir/attrs.h"

#include <cstdint>
#include <optional>

namespace tessera::inline v0 {

/// The attributes that all collectives have: a view, which must not outlive the attributes. Reading
/// throws InternalError if one is absent or of another kind.
class CollectiveAttrs {
 public:
  static constexpr const char *kAxes = "axes", *kSize = "size", *kGroups = "groups";

  explicit CollectiveAttrs(const Attrs& attrs);
  explicit CollectiveAttrs(Attrs&& attrs) = delete;
  /// Returns nothing if the attributes name no axes of devices, that is, if they do not belong to a
  /// collective.
  static std::optional<CollectiveAttrs> find(const Attrs& attrs);
  /// The attributes of a collective in a typed region, which has only axes.
  static Attrs make(Strings axes) { return {{kAxes, std::move(axes)}}; }
  static Attrs make(Strings axes, std::int64_t size) {
    return {{kAxes, std::move(axes)}, {kSize, size}};
  }
  static Attrs make(Strings axes, std::int64_t size, IntLists groups) {
    return {{kAxes, std::move(axes)}, {kSize, size}, {kGroups, std::move(groups)}};
  }
  /// `attrs` with the axes replaced by others, which together have `size` devices.
  static Attrs with_axes(Attrs attrs, Strings axes, std::int64_t size);

  const Strings& axes;     // major first
  const IntLists& groups;  // a partition of the devices; empty: all together

  /// The number of devices along all axes together.
  std::int64_t size() const;
  bool has_size() const { return size_.has_value(); }
  bool grouped() const { return !groups.empty(); }
  /// The number of devices that communicate with one another: the size of a group, or of the axes.
  std::int64_t members() const {
    return grouped() ? static_cast<std::int64_t>(groups[0].size()) : size();
  }

 private:
  std::optional<std::int64_t> size_;
};

/// The additional attributes of gathers and scatters: the dimension of the whole array along which
/// it is divided into the devices' blocks.
struct GatherAttrs {
  static constexpr const char *kAxis = "axis", *kTiled = "tiled";

  explicit GatherAttrs(const Attrs& attrs);
  GatherAttrs(int axis_number, bool is_tiled) : axis(axis_number), tiled(is_tiled) {}
  void set_in(Attrs& attrs) const;

  int axis;
  bool tiled;  // each block is a slab of an existing dimension, not one index of a dimension
};

/// The additional attributes of an all-to-all.
struct AllToAllAttrs {
  static constexpr const char *kSplit = "split", *kConcat = "concat", *kTiled = "tiled";

  explicit AllToAllAttrs(const Attrs& attrs);
  AllToAllAttrs(int from, int to, bool is_tiled) : split(from), concat(to), tiled(is_tiled) {}
  void set_in(Attrs& attrs) const;

  int split;   // dimension of the operand that is divided
  int concat;  // dimension of the result along which the pieces are joined
  bool tiled;
};

/// The additional attribute of a broadcast.
struct BroadcastAttrs {
  static constexpr const char* kSource = "source";

  explicit BroadcastAttrs(const Attrs& attrs) : source(attrs.i(kSource)) {}

  std::int64_t source;  // number of the device along the axes
};

}  // namespace tessera::inline v0
