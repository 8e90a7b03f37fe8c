// Looking into computations: names for their parts, prints, checks.
#pragma once

#include <tessera/array.h>
#include <tessera/tree.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace tessera::inline v0 {

/// Names what is traced on this thread while it lives, in names of those around it:
/// "model/layer_0".
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

/// const auto scope = ts::named_scope("attention") names the operations of the block that it is in:
/// in printed programs (behind #), in plans (PlannedEquation::scope) and profiles ("attention/
/// kernel_add"), and in the errors that are thrown there ("in: attention"). Transformations of a
/// traced function keep the names. Equal programs are compiled once, with the names that the first
/// of them has; outside of traced functions a name is in errors only. Error for an empty name.
[[nodiscard]] inline NamedScope named_scope(
    const std::string& name, std::source_location loc = std::source_location::current()) {
  return NamedScope(name, loc);
}

namespace debug {

/// One call of print, as handlers get it.
struct Printed {
  std::string text;  // without an end of line
  /// Where it was called, along each named axis around it ("i", 2), and along each vmap that has no
  /// name ("vmap", 5).
  std::vector<std::pair<std::string, std::int64_t>> position;
  /// How often it has printed at this position before, since the function was traced; -1 outside of
  /// traced functions.
  std::int64_t step = -1;
  std::string scope;  // of named_scope
  std::string file;
  int line = 0;
};
using PrintHandler = std::function<void(const Printed&)>;
/// Replaces what prints go to, for the whole process, and gives the one before. An empty handler
/// stands for the usual one, which writes lines to stdout: "[step 3, i=2] loss 0.25". Handlers are
/// called on any thread, by several devices at once. They may not compute with arrays or wait for
/// them, which is an Error; what they throw becomes the error of the printing function's results.
TESSERA_API PrintHandler set_print_handler(PrintHandler handler);

/// What NaN and infinity of floating and complex numbers, and which bounds, `check` looks for.
struct CheckOptions {
  std::string name = {};  // what errors call the value
  bool allow_nan = false;
  bool allow_inf = false;
  std::optional<double> min = {}, max = {};  // of real numbers, both included
};

}  // namespace debug

namespace detail {

/// An argument of print: a tree of arrays, or a text.
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

/// Places for values in a format: "{}" and "{:.3f}", not "{{"; -1 where a brace has no partner.
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

// Not defined: what the compiler says of a format that does not fit.
void a_format_has_one_placeholder_for_each_value();

/// A literal such as "loss {} of {:.3f}", checked when it is compiled: as many placeholders as
/// values.
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

/// Prints values when they are computed, in traced functions too:
///
///   auto step = ts::jit([](Params p, Array x) {
///     Array loss = f(p, x);
///     ts::debug::print("loss {:.4f}, weights {}", loss, p.w);
///     ...
///
/// A placeholder takes an array of any shape, a tree of arrays, a number or a text; behind a colon
/// stands a format of std::format for numbers, which goes for each element. Large arrays are
/// summarised. A print happens whether results are used or not: in loops at each turn, in branches
/// where they are taken, at each device of pmap and shard_map, for each member of vmap, and once
/// with whole values in programs that are partitioned automatically. Derivatives print once, when
/// the function is computed. The lines of one device come in the program's order. save_stablehlo
/// leaves prints out. Error for a format that its numbers do not take.
template <class... T>
void print(Format<std::type_identity_t<T>...> format, const T&... values) {
  std::vector<detail::Shown> all;
  (all.push_back(detail::shown(values)), ...);
  detail::print(format.text(), std::move(all), format.loc());
}

/// Refuses values with NaN, infinities or numbers beyond bounds, with the line of this call, the
/// leaf's path, how many there are, the first one and its place. Outside of traced functions it
/// throws the CheckError; inside it is thrown where results of the function's call are read. It
/// costs reductions of the values at each call.
template <class T>
void check(const T& tree, const CheckOptions& options = {},
           std::source_location loc = std::source_location::current()) {
  detail::check(tree::leaves(tree), tree::paths(tree), options, loc);
}

}  // namespace debug

/// Returns when all calls under way have run, and with them their prints. Errors of theirs are
/// thrown where their results are read.
TESSERA_API void effects_barrier();

}  // namespace tessera::inline v0
