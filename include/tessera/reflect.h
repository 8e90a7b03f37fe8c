// Reflection of aggregates: the number of fields of a struct, references to them, and their names.
//
// Supports any aggregate of up to 32 fields without base classes, C arrays, references or
// bit-fields; those give a one-line error. It has no cost at run time. Nothing here knows about
// arrays or trees.
#pragma once

#include <cstddef>
#include <string_view>
#include <type_traits>
#include <utility>

namespace tessera::inline v0::detail::reflect {

inline constexpr std::size_t kMaxFields = 32;

/// Initialises a field of any type. The conversions are never evaluated, but need a body because
/// initialising an optional instantiates their use.
template <class T>
struct Any {
  template <class U>
  requires(!std::is_base_of_v<std::remove_const_t<U>, T> && std::is_copy_constructible_v<U>)
  operator U&() const noexcept {
    __builtin_unreachable();
  }
  template <class U>
  requires(!std::is_base_of_v<std::remove_const_t<U>, T> && !std::is_copy_constructible_v<U>)
  operator U&&() const noexcept {
    __builtin_unreachable();
  }
};
template <class T>
struct AnyBase {
  template <class U>
  requires(std::is_base_of_v<std::remove_const_t<U>, T> &&
           !std::is_same_v<std::remove_const_t<U>, T>)
  operator U&() const noexcept {
    __builtin_unreachable();
  }
};
template <class T, std::size_t>
using AnyAt = Any<T>;

template <class T>
inline constexpr bool has_base = requires {
  T{AnyBase<T>{}};
};

template <class T, class I>
inline constexpr bool takes = false;
template <class T, std::size_t... I>
inline constexpr bool takes<T, std::index_sequence<I...>> = requires {
  T{AnyAt<T, I>{}...};
};

/// The numbers of initialisers that T accepts form a range. Its maximum is the number of fields,
/// where each element of a C array counts as one. With a reference field the range does not begin
/// at zero.
template <class T, std::size_t N = 0, bool Found = false>
constexpr std::size_t initialisers() {
  if constexpr (N > kMaxFields + 1)
    return Found ? N - 1 : 0;
  else if constexpr (takes<T, std::make_index_sequence<N>>)
    return initialisers<T, N + 1, true>();
  else if constexpr (Found)
    return N - 1;
  else
    return initialisers<T, N + 1, false>();
}

/// Whether initialiser I initialises a whole field, so that `{}` can replace it. For an element of
/// a C array it cannot, because `{}` would initialise the whole array.
template <class T, class Before, class After>
inline constexpr bool is_field = false;
template <class T, std::size_t... I, std::size_t... J>
inline constexpr bool is_field<T, std::index_sequence<I...>, std::index_sequence<J...>> = requires {
  T{AnyAt<T, I>{}..., {}, AnyAt<T, J>{}...};
}
|| requires { T{AnyAt<T, I>{}..., {Any<T>{}}, AnyAt<T, J>{}...}; };

template <class T, std::size_t N, std::size_t... I>
constexpr bool all_fields(std::index_sequence<I...>) {
  return (is_field<T, std::make_index_sequence<I>, std::make_index_sequence<N - I - 1>> && ...);
}

/// The number of fields of an aggregate.
template <class T>
constexpr std::size_t field_count() {
  static_assert(!has_base<T>,
                "tessera: a struct with a base class is no tree; hold the base as a field, or "
                "register it with TESSERA_FIELDS");
  if constexpr (has_base<T>) {
    return 0;
  } else {
    constexpr std::size_t n = initialisers<T>();
    static_assert(n <= kMaxFields,
                  "tessera: a tree has at most 32 fields; group some in a struct of their own");
    constexpr bool plain = n > kMaxFields || all_fields<T, n>(std::make_index_sequence<n>{});
    static_assert(
        plain,
        "tessera: a field of this tree is a C array, or a reference; hold std::array, or a value");
    return plain && n <= kMaxFields ? n : 0;
  }
}

/// Accepts lvalues that references can bind to, which excludes bit-fields.
template <class... Fields>
void references(Fields&...);

/// Calls f(field...) with the fields of `x` as lvalues, in order.
template <class T, class F>
constexpr decltype(auto) with_fields(T& x, F&& f) {
  constexpr std::size_t n = field_count<std::remove_const_t<T>>();
#define TESSERA_REFLECT_(count, ...)                                                            \
  else if constexpr (n == count) {                                                              \
    auto& [__VA_ARGS__] = x;                                                                    \
    constexpr bool whole = requires { references(__VA_ARGS__); };                               \
    static_assert(whole, "tessera: a field of this tree is a bit-field; give it a whole type"); \
    if constexpr (whole) return std::forward<F>(f)(__VA_ARGS__);                                \
  }
  if constexpr (n == 0) {
    return std::forward<F>(f)();
  }
  TESSERA_REFLECT_(1, a)
  TESSERA_REFLECT_(2, a, b)
  TESSERA_REFLECT_(3, a, b, c)
  TESSERA_REFLECT_(4, a, b, c, d)
  TESSERA_REFLECT_(5, a, b, c, d, e)
  TESSERA_REFLECT_(6, a, b, c, d, e, g)
  TESSERA_REFLECT_(7, a, b, c, d, e, g, h)
  TESSERA_REFLECT_(8, a, b, c, d, e, g, h, i)
  TESSERA_REFLECT_(9, a, b, c, d, e, g, h, i, j)
  TESSERA_REFLECT_(10, a, b, c, d, e, g, h, i, j, k)
  TESSERA_REFLECT_(11, a, b, c, d, e, g, h, i, j, k, l)
  TESSERA_REFLECT_(12, a, b, c, d, e, g, h, i, j, k, l, m)
  TESSERA_REFLECT_(13, a, b, c, d, e, g, h, i, j, k, l, m, o)
  TESSERA_REFLECT_(14, a, b, c, d, e, g, h, i, j, k, l, m, o, p)
  TESSERA_REFLECT_(15, a, b, c, d, e, g, h, i, j, k, l, m, o, p, q)
  TESSERA_REFLECT_(16, a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r)
  TESSERA_REFLECT_(17, a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s)
  TESSERA_REFLECT_(18, a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s, t)
  TESSERA_REFLECT_(19, a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s, t, u)
  TESSERA_REFLECT_(20, a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s, t, u, v)
  TESSERA_REFLECT_(21, a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s, t, u, v, w)
  TESSERA_REFLECT_(22, a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s, t, u, v, w, y)
  TESSERA_REFLECT_(23, a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s, t, u, v, w, y, z)
  TESSERA_REFLECT_(24, a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s, t, u, v, w, y, z, A)
  TESSERA_REFLECT_(25, a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s, t, u, v, w, y, z, A, B)
  TESSERA_REFLECT_(26, a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s, t, u, v, w, y, z, A, B, C)
  TESSERA_REFLECT_(27, a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s, t, u, v, w, y, z, A, B, C,
                   D)
  TESSERA_REFLECT_(28, a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s, t, u, v, w, y, z, A, B, C,
                   D, E)
  TESSERA_REFLECT_(29, a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s, t, u, v, w, y, z, A, B, C,
                   D, E, G)
  TESSERA_REFLECT_(30, a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s, t, u, v, w, y, z, A, B, C,
                   D, E, G, H)
  TESSERA_REFLECT_(31, a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s, t, u, v, w, y, z, A, B, C,
                   D, E, G, H, I)
  TESSERA_REFLECT_(32, a, b, c, d, e, g, h, i, j, k, l, m, o, p, q, r, s, t, u, v, w, y, z, A, B, C,
                   D, E, G, H, I, J)
#undef TESSERA_REFLECT_
}

/// Storage in which no T is ever constructed: only the addresses of its fields are taken.
template <class T>
union Fake {
  char none;
  T value;
  constexpr Fake() : none() {}
  ~Fake() {}
};
template <class T>
inline Fake<T> fake;

template <std::size_t I>
struct AddressAt {
  template <class... Fields>
  constexpr auto operator()(Fields&... fields) const {
    return nth<0>(&fields...);
  }
  template <std::size_t K, class P, class... Rest>
  static constexpr auto nth(P p, Rest... rest) {
    if constexpr (K == I)
      return p;
    else
      return nth<K + 1>(rest...);
  }
};

template <auto Address>
constexpr std::string_view printed() {
  return __PRETTY_FUNCTION__;
}

/// Extracts "name" from the spelling of an address: "[with auto Address = (& fake<T>...::name);
/// ...]" or "[Address = &fake.value.name]".
constexpr std::string_view last_identifier(std::string_view s) {
  std::size_t end = s.rfind(");");
  if (end == std::string_view::npos) end = s.rfind(']');
  if (s[end - 1] == ')') --end;
  std::size_t begin = end;
  while (begin > 0 && s[begin - 1] != ':' && s[begin - 1] != '.') --begin;
  return s.substr(begin, end - begin);
}

/// The name of field I of an aggregate.
template <class T, std::size_t I>
constexpr std::string_view field_name() {
  return last_identifier(printed<with_fields(fake<T>.value, AddressAt<I>{})>());
}

/// The compiler's spelling of a type, for messages.
template <class T>
constexpr std::string_view type_spelling() {
  std::string_view s = __PRETTY_FUNCTION__;
  s = s.substr(s.find("T = ") + 4);
  return s.substr(0, s.find_first_of(";]"));
}

}  // namespace tessera::inline v0::detail::reflect
