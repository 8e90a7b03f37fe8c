// Attributes of equations: a short ordered list of named values that every consumer (printer,
// parser, hash, cache) can walk.
#pragma once

#include "ir/mesh.h"
#include "ir/spec.h"
#include "ir/type.h"

#include <complex>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace tessera::inline v0 {

struct Program;
using ProgramPtr = std::shared_ptr<const Program>;

using Ints = std::vector<std::int64_t>;
using IntLists = std::vector<Ints>;
using Strings = std::vector<std::string>;
using Programs = std::vector<ProgramPtr>;
using Specs = std::vector<Spec>;

/// A small dense constant: row-major elements of `dtype`. Large arrays are captured as inputs
/// instead.
struct Literal {
  DType dtype = DType::float32;
  Shape shape;
  std::shared_ptr<const std::vector<std::byte>> bytes;
  bool operator==(const Literal& o) const;
};
/// A literal with one element; `value` is converted by a static_cast.
Literal scalar_literal(DType dtype, double value);
Literal scalar_literal(DType dtype, std::int64_t value);
Literal scalar_literal(DType dtype, std::complex<double> value);

/// A rule given by user code (a custom derivative or a remat policy). Hooks are compared by
/// identity and printed by name, so they are the only kind of attribute that the text form cannot
/// carry.
struct Hook {
  virtual ~Hook() = default;
  virtual std::string name() const = 0;
};
using HookPtr = std::shared_ptr<const Hook>;

using AttrVariant =
    std::variant<bool, std::int64_t, double, std::string, DType, Ints, IntLists, Strings, Literal,
                 ProgramPtr, Programs, HookPtr, Spec, Specs, MeshRef>;

namespace detail {
template <class T, class Variant>
inline constexpr bool kIsAttrAlternative = false;
template <class T, class... Ts>
inline constexpr bool kIsAttrAlternative<T, std::variant<Ts...>> = (std::is_same_v<T, Ts> || ...);

/// The alternative of AttrVariant that holds a T; void when there is none.
template <class T>
consteval auto attr_alternative() {
  using U = std::remove_cvref_t<T>;
  if constexpr (std::is_same_v<U, bool>)
    return std::type_identity<bool>{};
  else if constexpr (std::is_integral_v<U>)
    return std::type_identity<std::int64_t>{};
  else if constexpr (std::is_floating_point_v<U>)
    return std::type_identity<double>{};
  else if constexpr (kIsAttrAlternative<U, AttrVariant>)
    return std::type_identity<U>{};
  else if constexpr (std::is_convertible_v<T, std::string>)
    return std::type_identity<std::string>{};
  else if constexpr (std::is_convertible_v<T, ProgramPtr>)
    return std::type_identity<ProgramPtr>{};
  else if constexpr (std::is_convertible_v<T, HookPtr>)
    return std::type_identity<HookPtr>{};
  else
    return std::type_identity<void>{};
}
template <class T>
using AttrAlternative = typename decltype(attr_alternative<T>())::type;

/// `value` itself if its type is an alternative; a character array becomes a string_view, and other
/// types are converted.
template <class T>
decltype(auto) attr_argument(T&& value) {
  using A = AttrAlternative<T>;
  if constexpr (std::is_same_v<std::remove_cvref_t<T>, A>)
    return std::forward<T>(value);
  else if constexpr (std::is_same_v<A, std::string> && std::is_convertible_v<T, std::string_view>)
    return std::string_view(value);
  else
    return A(std::forward<T>(value));
}
}  // namespace detail

/// The value of an attribute. Nearly every file of the library creates some, so their constructors,
/// assignments and destructor are compiled only once, in attrs.cc.
struct AttrValue : AttrVariant {
  AttrValue();
  template <class T>
  requires(!std::is_same_v<std::remove_cvref_t<T>, AttrValue> &&
           !std::is_void_v<detail::AttrAlternative<T>>) AttrValue(T&& value)
      : AttrValue(Made(), detail::attr_argument(std::forward<T>(value))) {}
  AttrValue(const AttrValue& other);
  AttrValue(AttrValue&& other) noexcept;
  AttrValue& operator=(const AttrValue& other);
  AttrValue& operator=(AttrValue&& other) noexcept;
  ~AttrValue();

 private:
  struct Made {};
  AttrValue(Made, bool value);
  AttrValue(Made, std::int64_t value);
  AttrValue(Made, double value);
  AttrValue(Made, DType value);
  AttrValue(Made, std::string_view value);
  AttrValue(Made, const std::string& value);
  AttrValue(Made, std::string&& value);
  AttrValue(Made, const Ints& value);
  AttrValue(Made, Ints&& value);
  AttrValue(Made, const IntLists& value);
  AttrValue(Made, IntLists&& value);
  AttrValue(Made, const Strings& value);
  AttrValue(Made, Strings&& value);
  AttrValue(Made, const Literal& value);
  AttrValue(Made, Literal&& value);
  AttrValue(Made, const ProgramPtr& value);
  AttrValue(Made, ProgramPtr&& value);
  AttrValue(Made, const Programs& value);
  AttrValue(Made, Programs&& value);
  AttrValue(Made, const HookPtr& value);
  AttrValue(Made, HookPtr&& value);
  AttrValue(Made, const Spec& value);
  AttrValue(Made, Spec&& value);
  AttrValue(Made, const Specs& value);
  AttrValue(Made, Specs&& value);
  AttrValue(Made, const MeshRef& value);
  AttrValue(Made, MeshRef&& value);
};

class Attrs {
 public:
  using Entry = std::pair<std::string, AttrValue>;
  /// An attribute as code writes it; the name becomes a string in attrs.cc.
  struct Given {
    std::string_view name;
    AttrValue value;
  };
  Attrs();
  Attrs(std::initializer_list<Given> entries);
  Attrs(const Attrs& other);
  Attrs(Attrs&& other) noexcept;
  Attrs& operator=(const Attrs& other);
  Attrs& operator=(Attrs&& other) noexcept;
  ~Attrs();

  /// Returns the value called `name`; throws InternalError if it is absent or has another type.
  template <class T>
  const T& get(std::string_view name) const {
    const AttrValue* v = find(name);
    const T* p = v ? std::get_if<T>(v) : nullptr;
    if (!p) missing(name);
    return *p;
  }
  /// Returns nullptr if there is no attribute of that name.
  const AttrValue* find(std::string_view name) const;
  bool has(std::string_view name) const { return find(name) != nullptr; }
  /// Adds the attribute or replaces its value.
  void set(std::string_view name, AttrValue value);

  std::int64_t i(std::string_view name) const { return get<std::int64_t>(name); }
  bool flag(std::string_view name) const { return get<bool>(name); }
  const Ints& ints(std::string_view name) const { return get<Ints>(name); }
  const std::string& str(std::string_view name) const { return get<std::string>(name); }
  DType dtype(std::string_view name) const { return get<DType>(name); }
  const ProgramPtr& program(std::string_view name) const { return get<ProgramPtr>(name); }

  bool empty() const { return entries_.empty(); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  /// Deep comparison: nested programs are compared by structure.
  bool operator==(const Attrs& o) const;

 private:
  [[noreturn]] static void missing(std::string_view name);
  std::vector<Entry> entries_;
};

}  // namespace tessera::inline v0
