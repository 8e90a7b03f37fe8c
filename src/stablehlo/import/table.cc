// The import rule of each operation. Elementwise ops with a StableHLO spelling (`Op::stablehlo`)
// need no entry.
#include "ir/op.h"
#include "stablehlo/import/rules.h"

#include <deque>
#include <string>
#include <unordered_map>

namespace tessera::inline v0::stablehlo {

namespace {

struct Row {
  std::string_view name;
  Rule rule;
};
constexpr Row kRows[] = {
    {"stablehlo.constant", rules::constant},
    {"stablehlo.iota", rules::iota},
    {"stablehlo.dynamic_iota", rules::iota},
    {"stablehlo.convert", rules::convert},
    {"stablehlo.bitcast_convert", rules::bitcast_convert},
    {"stablehlo.reduce_precision", rules::reduce_precision},
    {"stablehlo.popcnt", rules::population_count},
    {"stablehlo.count_leading_zeros", rules::count_leading_zeros},
    {"stablehlo.shift_right_logical", rules::shift_right_logical},
    {"stablehlo.shift_right_arithmetic", rules::shift_right_arithmetic},
    {"stablehlo.power", rules::power},
    {"stablehlo.maximum", rules::maximum},
    {"stablehlo.minimum", rules::minimum},
    {"stablehlo.atan2", rules::atan2},
    {"stablehlo.cbrt", rules::cbrt},
    {"stablehlo.rng_bit_generator", rules::rng_bit_generator},
    {"stablehlo.real", rules::real_part},
    {"stablehlo.imag", rules::imaginary_part},
    {"stablehlo.compare", rules::compare},
    {"stablehlo.select", rules::select},
    {"stablehlo.clamp", rules::clamp},
    {"stablehlo.optimization_barrier", rules::barrier},
    {"stablehlo.tuple", rules::pass},
    {"builtin.unrealized_conversion_cast", rules::pass},
    {"stablehlo.get_tuple_element", rules::get_tuple_element},
    {"stablehlo.create_token", rules::nothing},
    {"stablehlo.after_all", rules::nothing},
    // Shardy
    {"sdy.sharding_constraint", rules::sharding_constraint},
    {"sdy.reshard", rules::sharding_constraint},
    {"sdy.manual_computation", rules::manual_computation},
    {"sdy.named_computation", rules::named_computation},
    {"sdy.all_gather", rules::redistributed},
    {"sdy.all_slice", rules::redistributed},
    {"sdy.all_to_all", rules::redistributed},
    {"sdy.all_reduce", rules::redistributed},
    {"sdy.reduce_scatter", rules::redistributed},
    {"sdy.collective_permute", rules::redistributed},
    {"sdy.sharded_to_unreduced", rules::redistributed},
    {"sdy.replicated_to_unreduced", rules::redistributed},
    {"sdy.sharding_group", rules::sharding_group},
    {"sdy.propagation_barrier", rules::edge},
    {"sdy.data_flow_edge", rules::edge},
    {"sdy.func_data_flow_edge", rules::edge},
    {"sdy.constant", rules::constant},
    // shapes
    {"stablehlo.broadcast_in_dim", rules::broadcast_in_dim},
    {"stablehlo.dynamic_broadcast_in_dim", rules::broadcast_in_dim},
    {"stablehlo.broadcast", rules::broadcast},
    {"stablehlo.reshape", rules::reshape},
    {"stablehlo.dynamic_reshape", rules::reshape},
    {"stablehlo.transpose", rules::transpose},
    {"stablehlo.reverse", rules::reverse},
    {"stablehlo.concatenate", rules::concatenate},
    {"stablehlo.slice", rules::slice},
    {"stablehlo.real_dynamic_slice", rules::real_dynamic_slice},
    {"stablehlo.dynamic_slice", rules::dynamic_slice},
    {"stablehlo.dynamic_update_slice", rules::dynamic_update_slice},
    {"stablehlo.pad", rules::pad},
    {"stablehlo.dynamic_pad", rules::dynamic_pad},
    {"stablehlo.get_dimension_size", rules::get_dimension_size},
    {"stablehlo.set_dimension_size", rules::set_dimension_size},
    // control flow
    {"call", rules::call},
    {"func.call", rules::call},
    {"stablehlo.composite", rules::composite},
    {"stablehlo.custom_call", rules::custom_call},
    {"stablehlo.while", rules::while_loop},
    {"stablehlo.if", rules::if_else},
    {"stablehlo.case", rules::case_of},
    {"stablehlo.map", rules::map},
    // indices, reductions, contractions
    {"stablehlo.gather", rules::gather},
    {"stablehlo.dynamic_gather", rules::gather},
    {"stablehlo.scatter", rules::scatter},
    {"stablehlo.sort", rules::sort},
    {"stablehlo.reduce", rules::reduce},
    {"stablehlo.reduce_window", rules::reduce_window},
    {"stablehlo.select_and_scatter", rules::select_and_scatter},
    {"stablehlo.dot", rules::dot},
    {"stablehlo.dot_general", rules::dot_general},
    {"stablehlo.einsum", rules::einsum},
    {"stablehlo.unary_einsum", rules::unary_einsum},
    {"stablehlo.torch_index_select", rules::torch_index_select},
    {"stablehlo.convolution", rules::convolution},
    {"stablehlo.dynamic_conv", rules::convolution},
    {"stablehlo.fft", rules::fft},
    {"stablehlo.cholesky", rules::cholesky},
    {"stablehlo.triangular_solve", rules::triangular_solve},
    {"stablehlo.batch_norm_inference", rules::batch_norm_inference},
    {"stablehlo.batch_norm_training", rules::batch_norm_training},
    {"stablehlo.batch_norm_grad", rules::batch_norm_grad},
    // devices
    {"interpreter.run_parallel", rules::run_parallel},
    {"stablehlo.divide", rules::divide},
    {"stablehlo.remainder", rules::remainder_of},
    {"stablehlo.replica_id", rules::replica_id},
    {"stablehlo.partition_id", rules::partition_id},
    {"stablehlo.all_reduce", rules::all_reduce},
    {"stablehlo.all_gather", rules::all_gather},
    {"stablehlo.reduce_scatter", rules::reduce_scatter},
    {"stablehlo.all_to_all", rules::all_to_all},
    {"stablehlo.collective_permute", rules::collective_permute},
    {"stablehlo.collective_broadcast", rules::collective_broadcast},
    {"stablehlo.collective_reduce", rules::collective_reduce},
    {"stablehlo.async_start", rules::async_start},
    {"stablehlo.async_done", rules::pass},
    // CHLO
    {"chlo.polygamma", rules::polygamma},
    {"chlo.zeta", rules::zeta},
    {"chlo.bessel_i1e", rules::bessel_i1e},
    {"chlo.sinh", rules::sinh},
    {"chlo.cosh", rules::cosh},
    {"chlo.tan", rules::tangent},
    {"chlo.square", rules::square},
    {"chlo.is_inf", rules::is_inf},
    {"chlo.is_pos_inf", rules::is_pos_inf},
    {"chlo.is_neg_inf", rules::is_neg_inf},
    {"chlo.constant", rules::constant},
    {"chlo.constant_like", rules::constant_like},
    {"chlo.top_k", rules::top_k},
    {"chlo.ragged_dot", rules::ragged_dot},
    {"chlo.scan", rules::scan},
    // tests
    {"check.expect_eq", rules::check_equal},
    {"check.expect_eq_const", rules::check_equal},
    {"check.expect_close", rules::check_close},
    {"check.expect_almost_eq", rules::check_almost_equal},
    {"check.expect_almost_eq_const", rules::check_almost_equal},
};

using Table = std::unordered_map<std::string_view, Import>;

// Adds the elementwise ops under their StableHLO name, and under that name without the dialect.
void add_spellings(Table& table) {
  constexpr std::string_view kDialect = "stablehlo.";
  static auto* const names = new std::deque<std::string>;
  for (const auto& op : Registry::get().all()) {
    if (!op->elementwise || !op->attrs.empty() || op->stablehlo.empty()) continue;
    names->push_back(std::string(kDialect) + op->stablehlo);
    for (const std::string_view name :
         {std::string_view(names->back()), std::string_view(op->stablehlo)}) {
      Import& import = table.emplace(name, Import{rules::by_spelling}).first->second;
      if (!import.ours) import.ours = op.get();
    }
  }
}

const Table& table() {
  static const auto* const all = [] {
    auto* made = new Table;
    for (const Row& row : kRows) made->emplace(row.name, Import{row.rule});
    add_spellings(*made);
    return made;
  }();
  return *all;
}

}  // namespace

const Import* import_of(std::string_view name) {
  static constexpr Import kBroadcasting{rules::broadcasting};
  if (rules::broadcasts(name)) return &kBroadcasting;
  const auto it = table().find(name);
  return it == table().end() ? nullptr : &it->second;
}

}  // namespace tessera::inline v0::stablehlo
