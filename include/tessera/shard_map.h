// shard_map: a function written for one device, run by all devices of a mesh on their blocks.
//
//   ts::Mesh mesh({{"data", 4}});
//   auto total = ts::shard_map([](Array block) { return ts::psum(ts::sum(block), "data"); },
//                              {.mesh = mesh, .in_specs = {P("data")}, .out_specs = P()});
//   total(x);   // the sum of x, whose rows lie on four devices
//
// Specs cut each argument into blocks, which have as many dimensions as the whole; the blocks of a
// result are put together by its spec. What an argument's spec leaves out is the same on all
// devices along that axis, and so is what the function captures. The types of values in the
// function say along which axes they may differ: collectives need values that do and give values
// that do not, and a result has to be the same along each axis that its spec leaves out, which is
// proven when the function is traced. Derivatives follow from these types: the gradient of
// what all devices share is the sum of theirs, with no collective written for it.
//
// With `axis_names` it is for one device along these axes alone: along the others values are whole,
// and the program is partitioned over them as around the call, so that a function may exchange
// gradients over "data" by hand and be tensor parallel over "model" by where its weights lie.
//
//   auto step = ts::shard_map([](Array w, Array block) { ... ts::psum(g, "data"); ... },
//                             {.in_specs = {P(), P("data")}, .out_specs = P(),
//                              .axis_names = {"data"}});
//
// There with_sharding_constraint may name the automatic axes, and a shard_map inside may take them
// as manual, all that are left where it names none.
//
// It composes with jit, grad, vmap, scan and checkpoint, inside and outside. Under jit it is part
// of the whole program.
//
// Errors come before anything runs: TreeError for specs that are no prefix of arguments or results,
// ShardingError that lists every block that does not divide, and every result that differs where
// its spec says that it does not, with the line since which it does, and for axes that are not the
// mesh's or are not manual where they have to be; CollectiveError for a collective under a branch
// that the devices take differently, and for one over an automatic axis.
#pragma once

#include <tessera/jit.h>
#include <tessera/sharding.h>

namespace tessera::inline v0 {

struct ShardMapOptions {
  /// Whose devices run it. By default the mesh of the scope (use_mesh), when it is made or else
  /// when it is called.
  Mesh mesh = {};
  /// How each argument is cut, as a prefix of the arguments' tree. Static arguments have an entry
  /// too; it is ignored, as are entries of parameters left to their defaults.
  SpecTree in_specs = {};
  /// How the blocks of the results are put together.
  SpecTree out_specs = {};
  /// The axes of the mesh that are manual: specs and collectives name these alone. The others are
  /// automatic. None: all of the mesh, or inside of another shard_map all that it leaves.
  std::vector<std::string> axis_names = {};
  /// false: types say nothing, results are taken to be as their specs say where that cannot be
  /// refuted, and derivatives are as in pmap (tessera/pmap.h): the transpose of psum is psum.
  bool check_vma = true;
  /// Positions of arguments to give away, as for jit.
  std::vector<int> donate = {};
  /// For errors and profiles; the line of the shard_map call when empty.
  std::string name = {};
};

namespace detail {
TESSERA_API std::shared_ptr<CachedFunction> make_shard_map_cache(const ShardMapOptions& options,
                                                                 std::source_location loc);
/// Options of other libraries, and slips of the pen, in the order of those that they stand for.
struct NoShardMapOption {
  Anything devices{}, mesh{}, in_axes{}, in_spec{}, in_shardings{}, in_specs{}, out_axes{},
      out_spec{}, out_shardings{}, out_specs{}, axis_name{}, axis_names{}, check_rep{}, check{},
      check_vma{}, donate_argnums{}, donate{}, name{};
};
}  // namespace detail
__attribute__((unavailable(
    "tessera: shard_map has no option of this name; its options, in this order: mesh, in_specs, "
    "out_specs, axis_names, check_vma, donate, name (a parameter of a C++ number type is static)")))
detail::Anything
shard_map(detail::AnyFunction, const detail::NoShardMapOption&);

/// Copies of the result share the cache.
template <class F>
Jit<std::decay_t<F>> shard_map(F&& f, const ShardMapOptions& options,
                               std::source_location loc = std::source_location::current()) {
  return {std::forward<F>(f), detail::make_shard_map_cache(options, loc), "shard_map", loc};
}

}  // namespace tessera::inline v0
