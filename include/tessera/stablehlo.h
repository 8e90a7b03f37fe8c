// Models that other frameworks export, and functions for them: StableHLO modules.
//
//   auto f = ts::load_stablehlo("model.mlir");       // what jax.jit(f).lower(x).as_text() writes
//   auto g = ts::load_stablehlo("model.bin");        // what jax.export.export(f)(x).serialize() gives
//   auto h = ts::load_stablehlo(bytes);              // the bytes of either, from memory
//   std::vector<Array> y = f(x);
//   auto gradient = ts::grad(f.single())(x);         // a function like any other
//   ts::save_stablehlo(g, x, y, "g.mlir");           // any function of ours, for other frameworks
//
// A module's @main is read once and becomes a program; calling it inlines that into whatever is
// traced, so jit, grad, vmap and pmap work on it, and outside any trace it is compiled once.
//
// Supported are functions over the dtypes of this library: text in the pretty and the generic form
// of any version, portable artifacts (MLIR bytecode of StableHLO 0.9 to 1.22), files of jax.export,
// whose functions take all arguments of the exported one, those that it does not use included.
// Dimensions that the file leaves open are settled by each call's arguments, one program a size.
// What is not supported is refused by its name and place when it is read: quantized types, custom
// calls, shapes that depend on the values of data.
#pragma once

#include <tessera/array.h>
#include <tessera/detail/call.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace tessera::inline v0 {

/// An argument or a result of a loaded function.
struct ArrayType {
  std::string
      name;  // "x", "params['w']", or "arg0" where no name is in the file; of a result its path in
             // what the exported function gave
  DType dtype = DType::float32;
  Shape shape;  // -1 for a dimension that each call settles
  bool operator==(const ArrayType&) const = default;
};

struct LoadOptions {
  std::string function = "main";
  /// Whether meshes and shardings in the module are kept where there are as many devices as it
  /// asks for; without them the function is for whole arrays wherever they lie.
  bool shardings = true;
};

namespace detail {
struct LoadedModule;  // src/api/interop/loaded.h
}

/// A function that was loaded. Copies share it; calls of several threads at once are safe.
class TESSERA_API LoadedFunction {
 public:
  LoadedFunction() = default;
  explicit LoadedFunction(std::shared_ptr<const detail::LoadedModule> module)
      : module_(std::move(module)) {}

  const std::vector<ArrayType>& inputs() const;
  const std::vector<ArrayType>& outputs() const;

  /// Its results. A bare number takes the dtype of its argument. ShapeError or DTypeError listing
  /// the arguments that are not as `inputs()` says.
  std::vector<Array> operator()(const std::vector<Array>& arguments,
                                std::source_location loc = std::source_location::current()) const {
    return call(arguments, loc);
  }
  template <std::convertible_to<Array>... A>
  std::vector<Array> operator()(const A&... arguments) const {
    return call(std::vector<Array>{Array(arguments)...}, {});
  }

  /// The same function, giving its only result as an Array: what grad takes.
  class Single;
  /// ShapeError where it has several results, or none.
  Single single(std::source_location loc = std::source_location::current()) const;

 private:
  std::vector<Array> call(std::span<const Array> arguments, std::source_location loc) const;
  std::shared_ptr<const detail::LoadedModule> module_;
};

class LoadedFunction::Single {
 public:
  explicit Single(LoadedFunction function) : function_(std::move(function)) {}
  template <std::convertible_to<Array>... A>
  Array operator()(const A&... arguments) const {
    return function_(Array(arguments)...)[0];
  }

 private:
  LoadedFunction function_;
};

/// Reads a file of one module, whichever its form. IoError where there is no such file, where it is
/// no module (with line and column, or byte, and what should stand there), and where something in
/// it is not supported.
TESSERA_API LoadedFunction
load_stablehlo(const std::string& path, const LoadOptions& options = {},
               std::source_location loc = std::source_location::current());
/// The same from the bytes of such a file, of which none are kept.
TESSERA_API LoadedFunction
load_stablehlo(std::span<const std::byte> bytes, const LoadOptions& options = {},
               std::source_location loc = std::source_location::current());
/// The same from a text.
TESSERA_API LoadedFunction
load_stablehlo_text(std::string_view text, const LoadOptions& options = {},
                    std::source_location loc = std::source_location::current());

namespace detail {
TESSERA_API std::string stablehlo_of(Call& call, const char* function);
TESSERA_API void write_stablehlo(const std::string& path, const std::string& text);
}  // namespace detail

/// What f(args...) traces to as a StableHLO module that XLA compiles; nothing is computed, and
/// arguments may be abstract. Its @main takes the arguments' leaves, whose paths are their
/// locations ("args[0]/w"), and gives the result's; arrays that f reads from outside are constants
/// in it. Ops that StableHLO does not have are composites named "tessera.", with what they stand
/// for: other readers use that, and load_stablehlo gives the op back. Maps over devices are
/// Shardy's manual computations. TraceError where something has no form there, naming the op and
/// the line.
template <class F, class... A>
std::string stablehlo_text(F&& f, A&&... args) {
  using Function = std::remove_reference_t<F>;
  TESSERA_CHECK_CALL_(Function, A);
  return detail::with_call(
      f, [](auto& call) { return detail::stablehlo_of(call, "stablehlo_text"); }, args...);
}
/// save_stablehlo(f, args..., path) writes that to a file, in the place of one that is there as a
/// whole. IoError where it cannot.
template <class F, class... A>
void save_stablehlo(F&& f, A&&... args_and_path) {
  static_assert(sizeof...(A) > 0, "tessera: save_stablehlo takes the path of the file last");
  constexpr std::size_t kArgs = sizeof...(A) - 1;
  const auto all = std::forward_as_tuple(args_and_path...);
  static_assert(
      std::is_convertible_v<std::tuple_element_t<kArgs, decltype(all)>, const std::string&>,
      "tessera: save_stablehlo takes the path of the file last");
  const std::string text = [&]<std::size_t... I>(std::index_sequence<I...>) {
    return detail::with_call(
        f, [](auto& call) { return detail::stablehlo_of(call, "save_stablehlo"); },
        std::get<I>(all)...);
  }
  (std::make_index_sequence<kArgs>());
  detail::write_stablehlo(std::get<kArgs>(all), text);
}

/// A module that was run for the checks in it (custom calls and operations named `check.`).
struct StableHloCheck {
  enum Outcome { passed, failed, refused } outcome = passed;
  std::string module;      // "file.mlir", or "file.mlir, line 12" of one of several
  std::size_t checks = 0;  // that were made
  std::string message;     // why it failed, or what is not supported
};
/// Runs @main, or the function without arguments, of each module of a file; modules are separated
/// by lines "// -----". Values are compared as StableHLO's interpreter does: equal, by units in the
/// last place, or by an absolute difference. IoError where the file cannot be read.
TESSERA_API std::vector<StableHloCheck> check_stablehlo(
    const std::string& path, std::source_location loc = std::source_location::current());
/// The program of a function as text (docs/ir.md). Dimensions that the file leaves open have the
/// extent `open`. IoError as load_stablehlo; ShapeError where the module asserts that they have
/// another.
TESSERA_API std::string stablehlo_program(
    const std::string& path, const LoadOptions& options = {}, std::int64_t open = 1,
    std::source_location loc = std::source_location::current());

}  // namespace tessera::inline v0
