// Axes state which axis of each leaf a transformation maps, as a prefix of a tree.
//
//   0                        axis 0 of every leaf
//   ts::replicated           no leaf is mapped
//   {0, ts::replicated}      one entry per child (argument, element, field in order), each again
//                            any of these
//
// Negative axes count from the end.
#pragma once

#include <tessera/config.h>

#include <concepts>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <vector>

namespace tessera::inline v0 {

/// Marks a value that is the same for every member of the mapped axis.
struct Replicated {};
/// The value that marks an argument or a result as replicated, as in `.in_axes = {replicated, 0}`.
inline constexpr Replicated replicated{};

/// The mapped axes of a tree: one axis for all its leaves, `replicated`, or a list with an entry
/// for each child.
class TESSERA_API Axes {
 public:
  /// The kinds of nodes: `axis`, an axis of every leaf below; `replicated`, leaves that are not
  /// mapped; and `list`, which has an entry for each child.
  enum class Kind { axis, replicated, list };

  /// Axis 0.
  Axes();
  template <std::integral I>
  requires(!std::is_same_v<I, bool>) Axes(I axis) : Axes(Kind::axis, static_cast<int>(axis)) {}
  Axes(Replicated) : Axes(Kind::replicated, 0) {}
  /// Throws TreeError if lists are nested deeper than 1000 levels.
  Axes(std::initializer_list<Axes> children);
  Axes(std::vector<Axes> children);
  Axes(const Axes&);
  Axes(Axes&&) noexcept;
  Axes& operator=(const Axes&);
  Axes& operator=(Axes&&) noexcept;
  ~Axes();

  /// The kind of this node.
  Kind kind() const { return kind_; }
  int axis() const { return axis_; }
  /// The entries of a list.
  const std::vector<Axes>& children() const { return children_; }

 private:
  Axes(Kind kind, int axis);

  Kind kind_ = Kind::axis;
  int axis_ = 0;
  std::vector<Axes> children_;
};

/// "0", "replicated", "{0, {1, replicated}}".
TESSERA_API std::string to_string(const Axes& axes);

}  // namespace tessera::inline v0
