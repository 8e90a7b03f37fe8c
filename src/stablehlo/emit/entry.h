// The signature of @main: donation, and the shardings of arguments and results.
#pragma once

#include "ir/op.h"
#include "stablehlo/emit/writer.h"

#include <cstddef>
#include <optional>
#include <vector>

namespace tessera::inline v0::stablehlo {

/// Shardings of values; absent for those that propagation decides.
using Constraints = std::vector<std::optional<Constraint>>;

/// A program whose arguments and results have shardings.
struct Entry {
  Program program;
  Constraints inputs, outputs;
};
/// Removes from a program the sharding constraints on arguments (the first `arguments` inputs) and
/// results, and makes them shardings of the arguments and results. Importing a module does the
/// opposite.
Entry entry_of(const Program& p, std::size_t arguments);

/// What becomes of the memory of an argument.
struct Donation {
  bool donated = false;
  std::optional<std::size_t> result;  // the one that takes its memory
};
/// Pairs donated arguments with results of the same dtype and shape, in their order. In a module
/// for several devices a pair must also have the same closed sharding, since otherwise the shards
/// may differ in size.
std::vector<Donation> donations(const std::vector<bool>& donated, const std::vector<Type>& in,
                                const std::vector<Type>& out, const Constraints& in_shardings,
                                const Constraints& out_shardings, bool several_devices);

/// The attributes as `{a, b}` after a type, with a space in front; empty if there are none.
std::string braced(const Names& attributes);
/// "tf.aliasing_output = 0 : i32" or "jax.buffer_donor = true"; empty if nothing is donated.
std::string donation_text(const Donation& donation);

}  // namespace tessera::inline v0::stablehlo
