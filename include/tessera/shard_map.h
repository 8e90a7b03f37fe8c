// shard_map runs a function written for one device on all devices of a mesh, each on its block.
//
//   ts::Mesh mesh({{"data", 4}});
//   auto total = ts::shard_map([](Array block) { return ts::psum(ts::sum(block), "data"); },
//                              {.mesh = mesh, .in_specs = {P("data")}, .out_specs = P()});
//   total(x);   // the sum of x, whose rows are sharded over four devices
//
// Specs partition each argument into blocks with the same number of dimensions, and assemble the
// blocks of a result. An argument is replicated along mesh axes that its spec does not name, as are
// captured values. The type of a value inside the function records the axes along which it may vary
// between devices: collectives take varying values and return values that do not vary, and a result
// must not vary along axes that its spec does not name, which is proven when the function is
// traced. Derivatives follow from these types: the gradient of a replicated value is the sum of all
// devices' gradients, and needs no explicit collective.
//
// With `axis_names`, only these axes are manual: along the other axes values are global, and the
// program is partitioned over them automatically, as outside the call. A function can thus exchange
// gradients over "data" explicitly while its weights' shardings make it tensor parallel over
// "model".
//
//   auto step = ts::shard_map([](Array w, Array block) { ... ts::psum(g, "data"); ... },
//                             {.in_specs = {P(), P("data")}, .out_specs = P(),
//                              .axis_names = {"data"}});
//
// In such a function, with_sharding_constraint may name the automatic axes, and a nested shard_map
// may make them manual; without `axis_names` it takes all that remain.
//
// shard_map composes with jit, grad, vmap, scan and remat, inside and outside. Under jit it becomes
// part of the whole program.
//
// All errors are thrown before anything runs. TreeError: specs are not a prefix of the arguments or
// results. ShardingError: lists every argument that does not divide into blocks, and every result
// that varies although its spec does not allow it, with the line where it began to vary; also axes
// that the mesh does not have, or that are not manual where they must be. CollectiveError: a
// collective in a branch that devices may take differently, or over an automatic axis.
#pragma once

#include <tessera/detail/foreign_options.h>
#include <tessera/jit.h>
#include <tessera/sharding.h>
#include <memory>

namespace tessera::inline v0 {

/// The options of shard_map.
struct ShardMapOptions {
  /// The mesh whose devices run the function. The default is the mesh of the scope (use_mesh) in
  /// which the shard_map is made, or else of the one in which it is called.
  Mesh mesh = {};
  /// The shardings of the arguments, as a prefix of their tree. Entries for static arguments and
  /// for parameters left to their defaults are ignored.
  SpecTree in_specs = {};
  /// How the blocks of the results are assembled.
  SpecTree out_specs = {};
  /// The manual axes of the mesh, the only ones that specs and collectives may name; all others are
  /// automatic. If empty, all axes are manual, or inside another shard_map all that are still
  /// automatic.
  std::vector<std::string> axis_names = {};
  /// If false, varying axes are not tracked: results are assumed to match their specs unless they
  /// provably do not, and derivatives are as in pmap (tessera/pmap.h), where the transpose of psum
  /// is psum.
  bool check_vma = true;
  /// Positions of arguments to donate, as for jit.
  std::vector<int> donate = {};
  /// The name in errors and profiles. The default is the line of the shard_map call.
  std::string name = {};
};

namespace detail {
TESSERA_API std::shared_ptr<CachedFunction> make_shard_map_cache(const ShardMapOptions& options,
                                                                 std::source_location loc);
}  // namespace detail
__attribute__((unavailable(
    "tessera: shard_map has no option of this name; its options, in this order: mesh, in_specs, "
    "out_specs, axis_names, check_vma, donate, name (a parameter of a C++ number type is static)")))
detail::Anything
shard_map(detail::AnyFunction, const detail::NoShardMapOption&);

/// Returns a callable that runs f on every device of the mesh, on its blocks of the arguments (see
/// the top of this header). Copies of the returned object share one cache.
template <class F>
Jit<std::decay_t<F>> shard_map(F&& f, const ShardMapOptions& options,
                               std::source_location loc = std::source_location::current()) {
  return {std::forward<F>(f), detail::make_shard_map_cache(options, loc), "shard_map", loc};
}

}  // namespace tessera::inline v0
