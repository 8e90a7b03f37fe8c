// Loads models that other frameworks exported as StableHLO modules, and exports functions to such
// modules.
//
//   auto f = ts::load_stablehlo("model.mlir");       // from jax.jit(f).lower(x).as_text()
//   auto g = ts::load_stablehlo("model.bin");        // from jax.export.export(f)(x).serialize()
//   auto h = ts::load_stablehlo(bytes);              // the bytes of either, from memory
//   std::vector<Array> y = f(x);
//   auto gradient = ts::grad(f.single())(x);         // a function like any other
//   ts::save_stablehlo(g, x, y, "g.mlir");           // any Tessera function, for other frameworks
//   ts::save_stablehlo({.platform = "cuda"}, g, x, y, "g.mlir");
//
// A module's @main is read once and becomes a program. A call inlines that program into the current
// trace, so jit, grad, vmap and pmap work on it; outside any trace it is compiled once.
//
// Functions over the dtypes of this library are supported, as text in the pretty or generic form of
// any version, as portable artifacts (MLIR bytecode of StableHLO 0.9 to 1.22), and as files of
// jax.export, whose functions take all arguments of the exported one, even unused ones. Dimensions
// that the file leaves open are determined by each call's arguments, with one program per size.
// Unsupported features are rejected with their name and location when the file is read: quantized
// types, custom calls, and shapes that depend on data.
#pragma once

#include <tessera/array.h>
#include <tessera/detail/call.h>
#include <memory>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace tessera::inline v0 {

/// An argument or a result of a loaded function.
struct ArrayType {
  /// "x", "params['w']", or "arg0" if the file has no name. For a result, its path in the exported
  /// function's result.
  std::string name;
  DType dtype = DType::float32;
  Shape shape;  // -1 for a dimension determined by each call
  /// Whether the function was exported with this argument donated. A call does not delete its
  /// arguments; a jit around it may donate them.
  bool donated = false;
  bool operator==(const ArrayType&) const = default;
};

/// The options of load_stablehlo. `function` is the name of the module's function that is loaded.
struct LoadOptions {
  std::string function = "main";
  /// Whether to keep meshes and shardings of the module if there are as many devices as it needs;
  /// without them the function takes whole arrays, wherever they are.
  bool shardings = true;
};

namespace detail {
struct LoadedModule;  // src/stablehlo/functions/loaded.h
}

/// A loaded function. Copies share it, and concurrent calls are safe.
class TESSERA_API LoadedFunction {
 public:
  LoadedFunction() = default;
  explicit LoadedFunction(std::shared_ptr<const detail::LoadedModule> module)
      : module_(std::move(module)) {}

  /// The arguments that the function takes.
  const std::vector<ArrayType>& inputs() const;
  /// The results that it returns.
  const std::vector<ArrayType>& outputs() const;

  /// Returns the results. A bare number takes the dtype of its parameter. Throws a ShapeError or
  /// DTypeError that lists the arguments that do not match `inputs()`.
  std::vector<Array> operator()(const std::vector<Array>& arguments,
                                std::source_location loc = std::source_location::current()) const {
    return call(arguments, loc);
  }
  template <std::convertible_to<Array>... A>
  std::vector<Array> operator()(const A&... arguments) const {
    return call(std::vector<Array>{Array(arguments)...}, {});
  }

  /// The same function returning its only result as an Array, as grad requires.
  class Single;
  /// Throws ShapeError unless the function has exactly one result.
  Single single(std::source_location loc = std::source_location::current()) const;

 private:
  std::vector<Array> call(std::span<const Array> arguments, std::source_location loc) const;
  std::shared_ptr<const detail::LoadedModule> module_;
};

/// A loaded function with one result as a callable on Arrays, for grad, vmap and the like.
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

/// Reads a file with one module in any of these forms. Throws IoError if the file does not exist,
/// if it is not a module (with line and column or byte offset, and what was expected), or if it
/// uses an unsupported feature.
TESSERA_API LoadedFunction
load_stablehlo(const std::string& path, const LoadOptions& options = {},
               std::source_location loc = std::source_location::current());
/// Reads the module from the bytes of such a file, which need not outlive the call.
TESSERA_API LoadedFunction
load_stablehlo(std::span<const std::byte> bytes, const LoadOptions& options = {},
               std::source_location loc = std::source_location::current());
/// Reads the module from text.
TESSERA_API LoadedFunction
load_stablehlo_text(std::string_view text, const LoadOptions& options = {},
                    std::source_location loc = std::source_location::current());

/// The platform that a module is written for, and the attributes that it carries besides its
/// operations.
struct StableHloOptions {
  /// The platform whose libraries compute the factorisations that StableHLO has no operation for:
  /// lu, qr, svd, eigh, eig and schur. The module calls the routines that JAX registers there:
  /// "cpu": LAPACK's; "cuda": cuSOLVER's, all but schur; "rocm": hipSOLVER's, also without eig;
  /// "tpu": XLA's for lu, qr and eigh in float32; "portable": none, and no maps over devices, so
  /// that the module holds operations of StableHLO and CHLO only. cholesky, triangular_solve and
  /// fft are StableHLO's operations everywhere.
  std::string platform = "cpu";
  /// Whether the arguments that a jit, pmap or shard_map was made to donate have the attributes
  /// that JAX gives them: `tf.aliasing_output` with the number of a result of the same dtype and
  /// shape (and, over several devices, of the same sharding), or else `jax.buffer_donor`.
  bool donation = false;
  /// Whether arguments and results of @main carry their shardings as `sdy.sharding`: those of a
  /// jit, of constraints on them, and of the arrays passed as arguments if these are on a mesh.
  /// Otherwise a jit's shardings become constraints inside the function, and those of arrays are
  /// not written.
  bool shardings = false;
};

namespace detail {
TESSERA_API std::string stablehlo_of(Call& call, const char* function,
                                     const StableHloOptions& options,
                                     const std::vector<int>& donated);
TESSERA_API void write_stablehlo(const std::string& path, const std::string& text);

template <class F>
inline constexpr bool is_stablehlo_options =
    std::is_same_v<std::remove_cvref_t<F>, StableHloOptions>;

/// The positions of the arguments that a jit, pmap or shard_map donates.
template <class F>
std::vector<int> donated_arguments_of(const F& f) {
  if constexpr (requires {
                  typename F::tessera_function;
                  { f.donated_arguments() } -> std::convertible_to<std::vector<int>>;
                })
    return f.donated_arguments();
  else
    return {};
}
template <class F, class... A>
std::string stablehlo_as(const StableHloOptions& options, const char* function, F& f, A&... args) {
  return with_call(
      f, [&](auto& call) { return stablehlo_of(call, function, options, donated_arguments_of(f)); },
      args...);
}
template <class F, class... A>
void save_stablehlo_as(const StableHloOptions& options, F& f, A&... args_and_path) {
  static_assert(sizeof...(A) > 0, "tessera: save_stablehlo takes the path of the file last");
  constexpr std::size_t kArgs = sizeof...(A) - 1;
  const auto all = std::forward_as_tuple(args_and_path...);
  static_assert(
      std::is_convertible_v<std::tuple_element_t<kArgs, decltype(all)>, const std::string&>,
      "tessera: save_stablehlo takes the path of the file last");
  const std::string text = [&]<std::size_t... I>(std::index_sequence<I...>) {
    return stablehlo_as(options, "save_stablehlo", f, std::get<I>(all)...);
  }
  (std::make_index_sequence<kArgs>());
  write_stablehlo(std::get<kArgs>(all), text);
}
}  // namespace detail

/// Traces f(args...) and returns the program as the text of a StableHLO module, which XLA can
/// compile. Nothing is computed, and the arguments may be abstract. The module's @main takes the
/// leaves of the arguments, whose paths are their locations ("args[0]/w"), and returns those of the
/// result; captured arrays become constants. Ops that StableHLO lacks become composites named
/// "tessera." with their decomposition: other readers use that, and load_stablehlo restores the op.
/// Maps over devices become Shardy's manual computations. Throws a TraceError with the op and the
/// line if something cannot be expressed.
template <class F, class... A>
requires(!detail::is_stablehlo_options<F>) std::string stablehlo_text(F&& f, A&&... args) {
  using Function = std::remove_reference_t<F>;
  TESSERA_CHECK_CALL_(Function, A);
  return detail::stablehlo_as({}, "stablehlo_text", f, args...);
}
/// The same for a platform, with donation or shardings: stablehlo_text({.platform = "cuda"}, f,
/// args...). Throws a TraceError also if the platform is unknown, or has no routine for an op.
template <class F, class... A>
std::string stablehlo_text(const StableHloOptions& options, F&& f, A&&... args) {
  using Function = std::remove_reference_t<F>;
  TESSERA_CHECK_CALL_(Function, A);
  return detail::stablehlo_as(options, "stablehlo_text", f, args...);
}
/// save_stablehlo(f, args..., path) writes this module to a file, replacing an existing one
/// atomically. Throws IoError if it cannot.
template <class F, class... A>
requires(!detail::is_stablehlo_options<F>) void save_stablehlo(F&& f, A&&... args_and_path) {
  detail::save_stablehlo_as({}, f, args_and_path...);
}
/// save_stablehlo(options, f, args..., path) writes the module of stablehlo_text(options, f,
/// args...).
template <class F, class... A>
void save_stablehlo(const StableHloOptions& options, F&& f, A&&... args_and_path) {
  detail::save_stablehlo_as(options, f, args_and_path...);
}

/// The result of running a module for the checks in it (custom calls and operations named
/// `check.`).
struct StableHloCheck {
  /// How the checks ended: `passed` if all values are as expected, `failed` if one is not, and
  /// `refused` if the module cannot be read or run.
  enum Outcome { passed, failed, refused } outcome = passed;
  std::string module;      // "file.mlir", or "file.mlir, line 12" if the file has several
  std::size_t checks = 0;  // how many were made
  std::string message;     // why it failed, or which feature is not supported
};
/// Runs @main, or the function without arguments, of each module of a file; modules are separated
/// by lines "// -----". Values are compared as in StableHLO's interpreter: for equality, in units
/// in the last place, or by absolute difference. Throws IoError if the file cannot be read.
TESSERA_API std::vector<StableHloCheck> check_stablehlo(
    const std::string& path, std::source_location loc = std::source_location::current());
/// The program of a function as text (docs/ir.md). Dimensions that the file leaves open get the
/// extent `open`. Throws IoError as load_stablehlo does, and ShapeError if the module asserts
/// another extent.
TESSERA_API std::string stablehlo_program(
    const std::string& path, const LoadOptions& options = {}, std::int64_t open = 1,
    std::source_location loc = std::source_location::current());

}  // namespace tessera::inline v0
