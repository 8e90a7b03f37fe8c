#include "stablehlo/bytecode/vhlo.h"

#include <algorithm>
#include <cstring>
#include <span>

namespace tessera::inline v0::stablehlo {

namespace {

using A = AttributeSyntax;

struct Keys {
  std::string_view name, keys;
};
constexpr std::string_view kAccurate[] = {
    "cbrt_v2", "cosine_v2",       "exponential_v2", "exponential_minus_one_v2",
    "log_v2",  "log_plus_one_v2", "logistic_v2",    "rsqrt_v2",
    "sine_v2", "sqrt_v2",         "tan_v2",         "tanh_v2"};
constexpr Keys kKeys[] = {
    {"all_gather_v1", "all_gather_dim channel_id replica_groups use_global_device_ids"},
    {"all_gather_v2", "all_gather_dim channel_id replica_groups use_global_device_ids"},
    {"all_reduce_v1", "channel_id replica_groups use_global_device_ids"},
    {"all_reduce_v2", "channel_id replica_groups use_global_device_ids"},
    {"all_to_all_v1", "channel_id concat_dimension replica_groups split_count split_dimension"},
    {"all_to_all_v2", "channel_id concat_dimension replica_groups split_count split_dimension"},
    {"batch_norm_grad_v1", "epsilon feature_index"},
    {"batch_norm_inference_v1", "epsilon feature_index"},
    {"batch_norm_training_v1", "epsilon feature_index"},
    {"broadcast_in_dim_v1", "broadcast_dimensions"},
    {"broadcast_v1", "broadcast_sizes"},
    {"call_v1", "callee"},
    {"cholesky_v1", "lower"},
    {"collective_broadcast_v1", "channel_id replica_groups"},
    {"collective_broadcast_v2", "channel_id has_dynamic_root replica_groups"},
    {"collective_permute_v1", "channel_id source_target_pairs"},
    {"collective_reduce_v1", "channel_id has_dynamic_root replica_groups use_global_device_ids"},
    {"compare_v1", "compare_type comparison_direction"},
    {"composite_v1", "composite_attributes decomposition name version"},
    {"composite_v2", "composite_attributes decomposition name version"},
    {"concatenate_v1", "dimension"},
    {"constant_v1", "value"},
    {"convolution_v1",
     "batch_group_count feature_group_count input_batch_dimension input_feature_dimension "
     "input_spatial_dimensions "
     "kernel_input_feature_dimension kernel_output_feature_dimension kernel_spatial_dimensions "
     "lhs_dilation "
     "output_batch_dimension output_feature_dimension output_spatial_dimensions padding "
     "precision_config rhs_dilation "
     "window_reversal window_strides"},
    {"cross-replica-sum_v1", "replica_groups"},
    {"custom_call_v1",
     "api_version backend_config call_target_name called_computations has_side_effect "
     "operand_layouts "
     "output_operand_aliases result_layouts"},
    {"custom_call_v2",
     "api_version backend_config call_target_name called_computations has_side_effect "
     "operand_layouts "
     "output_operand_aliases result_layouts result_tilings"},
    {"dot_general_v1",
     "lhs_batching_dimensions lhs_contracting_dimensions precision_config rhs_batching_dimensions "
     "rhs_contracting_dimensions"},
    {"dot_general_v2",
     "accumulation_type allow_imprecise_accumulation lhs_batching_dimensions lhs_component_count "
     "lhs_contracting_dimensions lhs_precision_type num_primitive_operations precision_config "
     "rhs_batching_dimensions "
     "rhs_component_count rhs_contracting_dimensions rhs_precision_type"},
    {"dot_v1", "precision_config"},
    {"dynamic_broadcast_in_dim_v1",
     "broadcast_dimensions known_expanding_dimensions known_nonexpanding_dimensions"},
    {"dynamic_conv_v1",
     "batch_group_count feature_group_count input_batch_dimension input_feature_dimension "
     "input_spatial_dimensions "
     "kernel_input_feature_dimension kernel_output_feature_dimension kernel_spatial_dimensions "
     "lhs_dilation "
     "output_batch_dimension output_feature_dimension output_spatial_dimensions padding "
     "precision_config rhs_dilation "
     "window_reversal window_strides"},
    {"dynamic_conv_v2",
     "batch_group_count feature_group_count input_batch_dimension input_feature_dimension "
     "input_spatial_dimensions "
     "kernel_input_feature_dimension kernel_output_feature_dimension kernel_spatial_dimensions "
     "lhs_dilation "
     "output_batch_dimension output_feature_dimension output_spatial_dimensions precision_config "
     "rhs_dilation "
     "window_reversal window_strides"},
    {"dynamic_gather_v1",
     "collapsed_slice_dims index_vector_dim indices_are_sorted offset_dims start_index_map"},
    {"dynamic_gather_v2",
     "collapsed_slice_dims index_vector_dim indices_are_sorted offset_dims operand_batching_dims "
     "start_index_map "
     "start_indices_batching_dims"},
    {"dynamic_iota_v1", "iota_dimension"},
    {"dynamic_slice_v1", "slice_sizes"},
    {"einsum_v1", "einsum_config"},
    {"fft_v1", "fft_length fft_type"},
    {"func_v1", "arg_attrs function_type res_attrs sym_name sym_visibility"},
    {"gather_v1",
     "collapsed_slice_dims index_vector_dim indices_are_sorted offset_dims slice_sizes "
     "start_index_map"},
    {"gather_v2",
     "collapsed_slice_dims index_vector_dim indices_are_sorted offset_dims operand_batching_dims "
     "slice_sizes "
     "start_index_map start_indices_batching_dims"},
    {"get_dimension_size_v1", "dimension"},
    {"get_tuple_element_v1", "index"},
    {"infeed_v1", "infeed_config layout"},
    {"iota_v1", "iota_dimension"},
    {"map_v1", "dimensions"},
    {"outfeed_v1", "outfeed_config"},
    {"pad_v1", "edge_padding_high edge_padding_low interior_padding"},
    {"recv_v1", "channel_id channel_type is_host_transfer"},
    {"recv_v2", "channel_id channel_type is_host_transfer source_target_pairs"},
    {"reduce_precision_v1", "exponent_bits mantissa_bits"},
    {"reduce_scatter_v1", "channel_id replica_groups scatter_dimension use_global_device_ids"},
    {"reduce_v1", "dimensions"},
    {"reduce_window_v1",
     "base_dilations padding window_dilations window_dimensions window_strides"},
    {"reverse_v1", "dimensions"},
    {"rng_bit_generator_v1", "rng_algorithm"},
    {"rng_v1", "rng_distribution"},
    {"scatter_v1",
     "index_vector_dim indices_are_sorted inserted_window_dims scatter_dims_to_operand_dims "
     "unique_indices "
     "update_window_dims"},
    {"scatter_v2",
     "index_vector_dim indices_are_sorted input_batching_dims inserted_window_dims "
     "scatter_dims_to_operand_dims "
     "scatter_indices_batching_dims unique_indices update_window_dims"},
    {"select_and_scatter_v1", "padding window_dimensions window_strides"},
    {"send_v1", "channel_id channel_type is_host_transfer"},
    {"send_v2", "channel_id channel_type is_host_transfer source_target_pairs"},
    {"set_dimension_size_v1", "dimension"},
    {"slice_v1", "limit_indices start_indices strides"},
    {"sort_v1", "dimension is_stable"},
    {"torch_index_select_v1", "batch_dims dim"},
    {"transpose_v1", "permutation"},
    {"triangular_solve_v1", "left_side lower transpose_a unit_diagonal"},
    {"unary_einsum_v1", "einsum_config"},
};
// The keys of Shardy's operations, whose names have no versions. Keys with a question mark are
// optional, and so are attributes after the last one.
constexpr Keys kShardyKeys[] = {
    {"all_gather", "gathering_axes out_sharding"},
    {"all_reduce", "out_sharding reduction_axes"},
    {"all_slice", "out_sharding slicing_axes"},
    {"all_to_all", "out_sharding params"},
    {"collective_permute", "out_sharding"},
    {"data_flow_edge", "sharding?"},
    {"manual_computation", "in_shardings manual_axes out_shardings"},
    {"mesh", "mesh sym_name"},
    {"named_computation", "in_shardings? name out_shardings?"},
    {"reduce_scatter", "out_sharding reduce_scatter_axes"},
    {"replicated_to_unreduced", "axes out_sharding"},
    {"reshard", "sharding"},
    {"sharded_to_unreduced", "axes out_sharding"},
    {"sharding_constraint", "sharding"},
    {"sharding_group", "group_id"},
};

// --- attributes that the text combines under one key

A* attribute_of(OperationSyntax& op, std::string_view key) {
  for (std::size_t i = 0; i < op.attributes.size(); ++i)
    if (op.attributes[i].name == key) return &op.attributes.edit(i).value;
  return nullptr;
}

A taken(OperationSyntax& op, std::string_view key) {
  const auto at = std::find_if(op.attributes.begin(), op.attributes.end(),
                               [&](const NamedAttribute& a) { return a.name == key; });
  const A value = at->value;
  op.attributes.erase(static_cast<std::size_t>(at - op.attributes.begin()));
  return value;
}

void drop(OperationSyntax& op, std::string_view key) {
  if (attribute_of(op, key)) taken(op, key);
}

void fold(Memory& memory, OperationSyntax& op, std::string_view into, std::string_view kind,
          std::initializer_list<std::string_view> keys) {
  A folded;
  folded.kind = A::fields;
  folded.text = kind;
  for (const std::string_view key : keys)
    if (attribute_of(op, key)) folded.entries.add(memory, {key, taken(op, key)});
  if (!folded.entries.empty()) op.attributes.add(memory, {into, folded});
}

// Versions up to 0.14 store lists as tensor data.
std::vector<std::int64_t> integers(const A& a) {
  if (a.kind == A::integer) return {a.integer_value};
  std::vector<std::int64_t> all;
  if (a.kind == A::integers) all = a.values.to_vector();
  if (a.kind == A::bytes && a.value_type.data && a.value_type->element == "i64") {
    all.resize(a.data.size() / sizeof(std::int64_t));
    if (!all.empty()) std::memcpy(all.data(), a.data.data(), all.size() * sizeof(std::int64_t));
  }
  return all;
}

// A list such as [b, 0, f], given the position of each dimension of the operand.
A dimension_list(Memory& memory,
                 const std::vector<std::pair<std::string_view, std::int64_t>>& letters,
                 const std::vector<std::int64_t>& spatial) {
  A list;
  list.kind = A::list;
  for (std::size_t i = 0; i < letters.size() + spatial.size(); ++i) list.items.add(memory);
  auto put = [&](std::int64_t at, std::string_view text) {
    if (at < 0 || at >= static_cast<std::int64_t>(list.items.size())) return;
    A& item = list.items.edit(static_cast<std::size_t>(at));
    item.kind = A::enumerator;
    item.text = memory.keep(text);
  };
  for (const auto& [letter, at] : letters) put(at, letter);
  for (std::size_t i = 0; i < spatial.size(); ++i) put(spatial[i], std::to_string(i));
  return list;
}

void fold_convolution(Memory& memory, OperationSyntax& op) {
  if (!attribute_of(op, "input_batch_dimension")) return;
  auto one = [&](std::string_view key) {
    const std::vector<std::int64_t> v = integers(taken(op, key));
    return v.empty() ? -1 : v[0];
  };
  A conv;
  conv.kind = A::conv;
  for (const std::string_view side : {"input", "kernel", "output"}) {
    const std::string head(side);
    const bool kernel = side == "kernel";
    const std::int64_t first =
                           one(head + (kernel ? "_input_feature_dimension" : "_batch_dimension")),
                       second = one(head +
                                    (kernel ? "_output_feature_dimension" : "_feature_dimension"));
    const std::vector<std::int64_t> spatial = integers(taken(op, head + "_spatial_dimensions"));
    conv.items.add(
        memory, dimension_list(memory, {{kernel ? "i" : "b", first}, {kernel ? "o" : "f", second}},
                               spatial));
  }
  op.attributes.add(memory, {"dimension_numbers", conv});
}

void fold_channel(Memory& memory, OperationSyntax& op) {
  A* id = attribute_of(op, "channel_id");
  if (!id) return;
  A handle, type;
  handle.kind = A::fields;
  handle.text = "stablehlo.channel_handle";
  handle.entries.add(memory, {"handle", taken(op, "channel_id")});
  if (attribute_of(op, "channel_type")) {
    type = taken(op, "channel_type");
  } else {
    type.kind = A::integer;
    type.integer_value = 1;
  }
  handle.entries.add(memory, {"type", type});
  op.attributes.add(memory, {"channel_handle", handle});
}

}  // namespace

std::vector<std::string_view> keys_of(std::string_view dialect, std::string_view name) {
  std::vector<std::string_view> keys;
  if (dialect == "builtin") return {"sym_name?"};  // of a module
  if (dialect == "vhlo" && std::ranges::find(kAccurate, name) != std::end(kAccurate))
    return {"result_accuracy"};
  const std::span<const Keys> table =
      dialect == "vhlo" ? std::span<const Keys>(kKeys) : std::span<const Keys>(kShardyKeys);
  for (const Keys& k : table) {
    if (k.name != name) continue;
    for (std::string_view rest = k.keys; !rest.empty();) {
      const std::size_t end = std::min(rest.find(' '), rest.size());
      keys.push_back(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  }
  return keys;
}

std::string unversioned(std::string_view name) {
  const std::size_t version = name.rfind("_v");
  const std::string plain(name.substr(0, version));
  return (plain == "call" || plain == "func" ? "func." : "stablehlo.") + plain;
}

void fold_attributes(Memory& memory, OperationSyntax& op) {
  fold_convolution(memory, op);
  fold_channel(memory, op);
  const std::string_view name = op.name;
  if (name == "stablehlo.dot_general")
    fold(memory, op, "dot_dimension_numbers", "stablehlo.dot",
         {"lhs_batching_dimensions", "rhs_batching_dimensions", "lhs_contracting_dimensions",
          "rhs_contracting_dimensions"});
  if (name == "stablehlo.gather" || name == "stablehlo.dynamic_gather")
    fold(memory, op, "dimension_numbers", "stablehlo.gather",
         {"offset_dims", "collapsed_slice_dims", "operand_batching_dims",
          "start_indices_batching_dims", "start_index_map", "index_vector_dim"});
  if (name == "stablehlo.scatter")
    fold(memory, op, "scatter_dimension_numbers", "stablehlo.scatter",
         {"update_window_dims", "inserted_window_dims", "input_batching_dims",
          "scatter_indices_batching_dims", "scatter_dims_to_operand_dims", "index_vector_dim"});
  // Drop attributes that only have default values.
  drop(op, "result_accuracy");
  if (const A* type = attribute_of(op, "compare_type"); type && type->text == "NOTYPE")
    drop(op, "compare_type");
  for (const std::string_view key : {"use_global_device_ids", "has_dynamic_root"})
    if (const A* flag = attribute_of(op, key);
        flag && flag->kind == A::boolean && !flag->integer_value)
      drop(op, key);
  for (const std::string_view key : {"callee", "decomposition"})
    if (A* symbol = attribute_of(op, key); symbol && symbol->kind == A::string)
      symbol->kind = A::symbol;
}

}  // namespace tessera::inline v0::stablehlo
