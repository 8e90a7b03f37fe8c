// Debugging aids: named scopes, prints and checks inside computations.
#pragma once

#include <tessera/array.h>
#include <tessera/tree.h>
#include <functional>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace tessera::inline v0 {

/// Names everything traced on this thread while it lives. Nested names are joined: "model/layer_0".
class TESSERA_API NamedScope {
 public:
  explicit NamedScope(const std::string& name,
                      std::source_location loc = std::source_location::current());
  ~NamedScope();
  NamedScope(const NamedScope&) = delete;
  NamedScope& operator=(const NamedScope&) = delete;

 private:
  std::string outer_, outer_in_trace_;
  std::uint64_t trace_ = 0;
};

/// const auto scope = ts::named_scope("attention") names the operations of the enclosing block: in
/// printed programs (after #), in plans (PlannedEquation::scope), in profiles ("attention/
/// kernel_add"), and in errors thrown there ("in: attention"). Transformations of a traced function
/// keep the names. Equal programs are compiled once, with the names of the first one. Outside
/// traced functions the name appears only in errors. Throws Error for an empty name.
[[nodiscard]] inline NamedScope named_scope(
    const std::string& name, std::source_location loc = std::source_location::current()) {
  return NamedScope(name, loc);
}

namespace debug {

/// One call of print, as passed to handlers.
struct Printed {
  std::string text;  // without a trailing newline
  /// The position along each enclosing named axis ("i", 2), and along each vmap without a name
  /// ("vmap", 5).
  std::vector<std::pair<std::string, std::int64_t>> position;
  /// How often this print has run at this position since the function was traced; -1 outside traced
  /// functions.
  std::int64_t step = -1;
  std::string scope;  // the names of the enclosing named_scopes
  /// The file of the call of print.
  std::string file;
  /// The line of the call of print.
  int line = 0;
};
/// Receives each line that debug::print prints.
using PrintHandler = std::function<void(const Printed&)>;
/// Replaces the process's print handler and returns the previous one. An empty handler restores the
/// default, which writes lines to stdout: "[step 3, i=2] loss 0.25". Handlers may be called on any
/// thread, concurrently for several devices. They must not compute with arrays or wait for them,
/// which throws Error; an exception from a handler becomes the error of the printing function's
/// results.
TESSERA_API PrintHandler set_print_handler(PrintHandler handler);

/// The values that `check` rejects: NaN and infinities in floating and complex numbers, and values
/// outside the bounds.
struct CheckOptions {
  std::string name = {};  // the value's name in errors
  /// Whether NaN is accepted.
  bool allow_nan = false;
  /// Whether infinities are accepted.
  bool allow_inf = false;
  std::optional<double> min = {}, max = {};  // inclusive, for real numbers
};

}  // namespace debug

namespace detail {

/// An argument of print: a tree of arrays, or text.
struct Shown {
  std::vector<Array> leaves;
  std::vector<std::string> paths;
  std::string text;
  bool is_text = false;
};
template <class T>
Shown shown(const T& x) {
  if constexpr (std::is_convertible_v<const T&, std::string_view>)
    return {{}, {}, std::string(std::string_view(x)), true};
  else if constexpr (std::is_arithmetic_v<T>)
    return {{Array(x)}, {""}, {}, false};
  else
    return {tree::leaves(x), tree::paths(x), {}, false};
}

TESSERA_API void print(std::string_view format, std::vector<Shown> values,
                       const std::source_location& loc);
TESSERA_API void check(const std::vector<Array>& leaves, const std::vector<std::string>& paths,
                       const debug::CheckOptions& options, const std::source_location& loc);

/// The number of placeholders in a format: "{}" and "{:.3f}" count, "{{" does not; -1 if a brace is
/// unmatched.
constexpr int placeholders(std::string_view format) {
  int count = 0;
  for (std::size_t i = 0; i < format.size(); ++i) {
    const bool twice = i + 1 < format.size() && format[i + 1] == format[i];
    if (format[i] == '}') {
      if (!twice) return -1;
      ++i;
    } else if (format[i] == '{' && twice) {
      ++i;
    } else if (format[i] == '{') {
      const std::size_t end = format.find('}', i);
      if (end == std::string_view::npos) return -1;
      ++count;
      i = end;
    }
  }
  return count;
}

}  // namespace detail

namespace debug {

// Deliberately undefined: its name is the compiler's error message for a format with the wrong
// number of placeholders.
void a_format_has_one_placeholder_for_each_value();

/// A literal such as "loss {} of {:.3f}". The number of placeholders is checked at compile time.
template <class... T>
class Format {
 public:
  template <class Text>
  requires std::convertible_to<const Text&, std::string_view>
  consteval Format(const Text& text, std::source_location loc = std::source_location::current())
      : text_(text), loc_(loc) {
    if (detail::placeholders(text_) != static_cast<int>(sizeof...(T)))
      a_format_has_one_placeholder_for_each_value();
  }
  constexpr std::string_view text() const { return text_; }
  constexpr const std::source_location& loc() const { return loc_; }

 private:
  std::string_view text_;
  std::source_location loc_;
};

/// Prints values when they are computed, also in traced functions:
///
///   auto step = ts::jit([](Params p, Array x) {
///     Array loss = f(p, x);
///     ts::debug::print("loss {:.4f}, weights {}", loss, p.w);
///     ...
///
/// A placeholder accepts an array of any shape, a tree of arrays, a number or text. After a colon
/// it may have a numeric std::format specification, which applies to each element. Large arrays are
/// summarised. A print runs whether or not the results are used: in each iteration of a loop, in
/// the branch taken, on each device of pmap and shard_map, for each member of vmap, and once with
/// whole values in automatically partitioned programs. Derivatives do not print again. The lines of
/// one device come in program order. save_stablehlo omits prints. Throws Error for a format that
/// does not suit its numbers.
template <class... T>
void print(Format<std::type_identity_t<T>...> format, const T&... values) {
  std::vector<detail::Shown> all;
  (all.push_back(detail::shown(values)), ...);
  detail::print(format.text(), std::move(all), format.loc());
}

/// Throws a CheckError if a value is NaN, infinite or out of bounds, with the line of this call,
/// the leaf's path, the number of such values, and the first one with its position. In a traced
/// function the error is thrown when results of the call are read. Each call costs reductions over
/// the values.
template <class T>
void check(const T& tree, const CheckOptions& options = {},
           std::source_location loc = std::source_location::current()) {
  detail::check(tree::leaves(tree), tree::paths(tree), options, loc);
}

}  // namespace debug

/// Waits until all calls in progress and their prints have run. Errors are still thrown where the
/// calls' results are read.
TESSERA_API void effects_barrier();

}  // namespace tessera::inline v0
