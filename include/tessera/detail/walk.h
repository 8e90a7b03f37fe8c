// Defines the traversal that makes a C++ value a tree. It is the only one, and calls a non-template
// visitor.
//
// Leaves are Arrays. std::vector, array, map (with string or integer keys), tuple, pair, optional
// and aggregates are inner nodes; numbers, bools, enums, strings and Shapes are static. The
// traversal neither allocates nor makes strings.
#pragma once

#include <tessera/array.h>
#include <tessera/reflect.h>

#include <array>
#include <bit>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace tessera::inline v0 {

/// Makes a class with constructors or bases a tree of the listed members. It goes in the public
/// part of the class:
///   TESSERA_FIELDS(weight, bias)
#define TESSERA_FIELDS(...)                               \
  auto tessera_fields() { return std::tie(__VA_ARGS__); } \
  static constexpr std::string_view tessera_field_names() { return #__VA_ARGS__; }

namespace detail {

enum class NodeKind : std::uint8_t { leaf, fixed, sequence, tuple, map, optional, record };
enum class FixedKind : std::uint8_t {
  boolean,
  integer,
  unsigned_integer,
  real32,
  real64,
  enumeration,
  dtype,
  string,
  shape
};

/// Properties of the type of an inner node, shared by all its values.
struct NodeType {
  NodeKind kind;
  std::string_view spelling;                              // for records, as the compiler prints it
  std::string_view (*field_name)(std::size_t) = nullptr;  // for records
};

class TESSERA_API Visitor {
 public:
  virtual void leaf(Array& x) = 0;
  /// A static value: `bits` for a number, `text` for a string.
  virtual void fixed(FixedKind kind, std::uint64_t bits, std::string_view text) = 0;
  virtual void enter(const NodeType& type, std::size_t children) = 0;
  /// Called before each child of a map.
  virtual void key(std::string_view) = 0;
  virtual void leave() = 0;

 protected:
  ~Visitor() = default;
};

template <class T>
void walk(T& x, Visitor& v);

template <class T>
inline constexpr bool is_vector = false;
template <class T, class A>
inline constexpr bool is_vector<std::vector<T, A>> = true;
template <class T>
inline constexpr bool is_std_array = false;
template <class T, std::size_t N>
inline constexpr bool is_std_array<std::array<T, N>> = true;
/// A map whose keys, strings or integers in decimal, name its children.
template <class T>
inline constexpr bool is_map = false;
template <class T, class C, class A>
inline constexpr bool is_map<std::map<std::string, T, C, A>> = true;
template <Position K, class T, class C, class A>
inline constexpr bool is_map<std::map<K, T, C, A>> = true;
template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;
template <class T>
inline constexpr bool is_tuple = false;
template <class... T>
inline constexpr bool is_tuple<std::tuple<T...>> = true;
template <class A, class B>
inline constexpr bool is_tuple<std::pair<A, B>> = true;

/// An Array, or a subclass that only adds functions.
template <class T>
inline constexpr bool is_array = false;
template <class T>
requires std::is_base_of_v<Array, T>
inline constexpr bool is_array<T> = sizeof(T) == sizeof(Array);

template <class T>
concept RegisteredByMember = requires(T& x) {
  x.tessera_fields();
  { T::tessera_field_names() } -> std::convertible_to<std::string_view>;
};
template <class T>
concept RegisteredByFunction = requires(T& x) {
  tessera_fields(x);
};

/// The i-th of the names in "a, b, c".
TESSERA_API std::string_view listed_name(std::string_view list, std::size_t i);

template <class T, std::size_t... I>
std::string_view reflected_name(std::size_t i, std::index_sequence<I...>) {
  static constexpr std::string_view names[] = {reflect::field_name<T, I>()..., ""};
  return names[i];
}
template <class T>
std::string_view record_field_name(std::size_t i) {
  if constexpr (RegisteredByMember<T>)
    return listed_name(T::tessera_field_names(), i);
  else if constexpr (RegisteredByFunction<T>)
    return {};
  else
    return reflected_name<T>(i, std::make_index_sequence<reflect::field_count<T>()>{});
}
template <class T>
inline constexpr NodeType record_type{NodeKind::record, reflect::type_spelling<T>(),
                                      &record_field_name<T>};
inline constexpr NodeType sequence_type{NodeKind::sequence, {}};
inline constexpr NodeType tuple_type{NodeKind::tuple, {}};
inline constexpr NodeType map_type{NodeKind::map, {}};
inline constexpr NodeType optional_type{NodeKind::optional, {}};

inline void visit_key(const std::string& key, Visitor& v) { v.key(key); }
TESSERA_API void visit_signed_key(std::int64_t key, Visitor& v);
TESSERA_API void visit_unsigned_key(std::uint64_t key, Visitor& v);
template <Position K>
void visit_key(K key, Visitor& v) {
  if constexpr (std::is_unsigned_v<K>)
    visit_unsigned_key(key, v);
  else
    visit_signed_key(key, v);
}

template <class Tuple>
void walk_tuple(Tuple& x, const NodeType& type, Visitor& v) {
  v.enter(type, std::tuple_size_v<Tuple>);
  std::apply([&](auto&... field) { (walk(field, v), ...); }, x);
  v.leave();
}

template <class T>
void walk_fixed(const T& x, Visitor& v) {
  if constexpr (std::is_same_v<T, bool>)
    v.fixed(FixedKind::boolean, x, {});
  else if constexpr (std::is_same_v<T, DType>)
    v.fixed(FixedKind::dtype, static_cast<std::uint64_t>(x), {});
  else if constexpr (std::is_enum_v<T>)
    v.fixed(FixedKind::enumeration, static_cast<std::uint64_t>(x), {});
  else if constexpr (std::is_integral_v<T>)
    v.fixed(std::is_signed_v<T> ? FixedKind::integer : FixedKind::unsigned_integer,
            static_cast<std::uint64_t>(x), {});
  else if constexpr (std::is_same_v<T, std::string>)
    v.fixed(FixedKind::string, 0, x);
  else if constexpr (std::is_same_v<T, Shape>)
    v.fixed(FixedKind::shape, 0,
            {reinterpret_cast<const char*>(x.data()), x.size() * sizeof(std::int64_t)});
  else
    v.fixed(sizeof(T) <= 4 ? FixedKind::real32 : FixedKind::real64,
            std::bit_cast<std::uint64_t>(static_cast<double>(x)), {});
}

template <class T>
concept Fixed =
    Number<T> || std::is_enum_v<T> || std::is_same_v<T, std::string> || std::is_same_v<T, Shape>;

// Types that are not trees, each with an error message of its own.
template <class T>
concept Unordered = requires {
  typename T::hasher;
  typename T::key_equal;
};
template <class T>
concept OtherMap = !is_map<T> && requires {
  typename T::key_compare;
  typename T::mapped_type;
};
template <class T>
concept PointerLike = std::is_pointer_v<T> || requires(T& x) {
  typename T::element_type;
  *x;
  x.get();
};

/// A type that the traversal supports at its outermost level.
template <class T>
concept TreeNode = is_array<T> || Fixed<T> || is_vector<T> || is_std_array<T> || is_map<T> ||
    is_optional<T> || is_tuple<T> || RegisteredByMember<T> || RegisteredByFunction<T> ||
    (std::is_aggregate_v<T> && !std::is_array_v<T>);

template <class T>
void walk(T& x, Visitor& v) {
  static_assert(!std::is_const_v<T>, "tessera: a tree holds no constants: its fields are assigned");
  if constexpr (is_array<T>) {
    v.leaf(x);
  } else if constexpr (Fixed<T>) {
    walk_fixed(x, v);
  } else if constexpr (is_vector<T>) {
    v.enter(sequence_type, x.size());
    if constexpr (std::is_same_v<typename T::value_type, bool>)
      for (bool b : x) walk_fixed(b, v);
    else
      for (auto& child : x) walk(child, v);
    v.leave();
  } else if constexpr (is_std_array<T>) {
    v.enter(sequence_type, x.size());
    for (auto& child : x) walk(child, v);
    v.leave();
  } else if constexpr (is_map<T>) {
    v.enter(map_type, x.size());
    for (auto& [key, child] : x) {
      visit_key(key, v);
      walk(child, v);
    }
    v.leave();
  } else if constexpr (is_optional<T>) {
    v.enter(optional_type, x ? 1 : 0);
    if (x) walk(*x, v);
    v.leave();
  } else if constexpr (is_tuple<T>) {
    walk_tuple(x, tuple_type, v);
  } else if constexpr (RegisteredByMember<T>) {
    auto fields = x.tessera_fields();
    walk_tuple(fields, record_type<T>, v);
  } else if constexpr (RegisteredByFunction<T>) {
    auto fields = tessera_fields(x);
    walk_tuple(fields, record_type<T>, v);
  } else if constexpr (std::is_aggregate_v<T> && !std::is_array_v<T>) {
    v.enter(record_type<T>, reflect::field_count<T>());
    reflect::with_fields(x, [&](auto&... field) { (walk(field, v), ...); });
    v.leave();
  } else if constexpr (Unordered<T>) {
    static_assert(!Unordered<T>,
                  "tessera: an unordered container is no tree, because its elements have no order "
                  "that lasts; use std::map");
  } else if constexpr (OtherMap<T>) {
    static_assert(!OtherMap<T>,
                  "tessera: a map is a tree if its keys are std::string or integers, which name "
                  "its elements in paths");
  } else if constexpr (PointerLike<T>) {
    static_assert(!PointerLike<T>,
                  "tessera: a pointer is no tree, because two could share what they point to; hold "
                  "the value itself, or std::optional of it");
  } else {
    static_assert(TreeNode<T>,
                  "tessera: this type is no tree: it is neither Array, number, enum, string, "
                  "standard container nor "
                  "aggregate; register a class with TESSERA_FIELDS");
  }
}

/// The traversal for a visitor that only reads.
template <class T>
void walk_const(const T& x, Visitor& v) {
  walk(const_cast<T&>(x), v);
}

}  // namespace detail
}  // namespace tessera::inline v0
