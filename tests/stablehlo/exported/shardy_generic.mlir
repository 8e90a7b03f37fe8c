"builtin.module"() ({
  "sdy.mesh"() <{mesh = #sdy.mesh<["x"=2, "y"=2]>, sym_name = "mesh"}> : () -> ()
  "sdy.mesh"() <{mesh = #sdy.mesh<[], device_ids=[3]>, sym_name = "maximal"}> : () -> ()
  "func.func"() <{arg_attrs = [{sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, {sdy.sharding = #sdy.sharding<@mesh, [{}, {}], replicated={"x"}, unreduced={"y"}>}], function_type = (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<16x8xf32>, sym_name = "main"}> ({
  ^bb0(%arg0: tensor<16x8xf32>, %arg1: tensor<16x8xf32>):
    %0 = "sdy.all_gather"(%arg0) <{gathering_axes = #sdy<list_of_axis_ref_lists[{"x"}, {}]>, out_sharding = #sdy.sharding<@mesh, [{}, {}]>}> : (tensor<16x8xf32>) -> tensor<16x8xf32>
    %1 = "sdy.all_slice"(%0) <{out_sharding = #sdy.sharding<@mesh, [{}, {"y"}]>, slicing_axes = #sdy<list_of_axis_ref_lists[{}, {"y"}]>}> : (tensor<16x8xf32>) -> tensor<16x8xf32>
    %2 = "sdy.all_to_all"(%1) <{out_sharding = #sdy.sharding<@mesh, [{"y"}, {}]>, params = #sdy<all_to_all_param_list[{"y"}: 1->0]>}> : (tensor<16x8xf32>) -> tensor<16x8xf32>
    %3 = "sdy.collective_permute"(%2) <{out_sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}> : (tensor<16x8xf32>) -> tensor<16x8xf32>
    %4 = "sdy.all_reduce"(%3) <{out_sharding = #sdy.sharding<@mesh, [{"x"}, {}]>, reduction_axes = #sdy<axis_ref_list{"y"}>, reduction_op = 1 : i32}> : (tensor<16x8xf32>) -> tensor<16x8xf32>
    %5 = "sdy.reduce_scatter"(%4) <{out_sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>, reduce_scatter_axes = #sdy<list_of_axis_ref_lists[{}, {"y"}]>, reduction_op = 0 : i32}> : (tensor<16x8xf32>) -> tensor<16x8xf32>
    %6 = "sdy.sharded_to_unreduced"(%5) <{axes = #sdy<list_of_axis_ref_lists[{}, {"y"}]>, out_sharding = #sdy.sharding<@mesh, [{"x"}, {}], unreduced={"y"}>}> : (tensor<16x8xf32>) -> tensor<16x8xf32>
    %7 = "sdy.replicated_to_unreduced"(%0) <{axes = #sdy<axis_ref_list{"x"}>, out_sharding = #sdy.sharding<@mesh, [{}, {}], unreduced={"x"}>}> : (tensor<16x8xf32>) -> tensor<16x8xf32>
    %8 = "sdy.reshard"(%7) <{sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}> : (tensor<16x8xf32>) -> tensor<16x8xf32>
    "sdy.sharding_group"(%8) <{group_id = 3 : i64}> : (tensor<16x8xf32>) -> ()
    %9 = "sdy.propagation_barrier"(%8) <{allowed_direction = 2 : i32}> : (tensor<16x8xf32>) -> tensor<16x8xf32>
    %10 = "sdy.named_computation"(%9, %6) <{in_shardings = #sdy.sharding_per_value<[<@mesh, [{"y"}, {}]>, <mesh<["a"=4]>, [{"a"}, {}]>]>, name = "foo", out_shardings = #sdy.sharding_per_value<[<@mesh, [{?}, {"x", ?}p1]>]>}> ({
    ^bb0(%arg3: tensor<16x8xf32>, %arg4: tensor<16x8xf32>):
      %16 = "stablehlo.add"(%arg3, %arg4) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<16x8xf32>
      "sdy.return"(%16) : (tensor<16x8xf32>) -> ()
    }) : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<16x8xf32>
    %11 = "sdy.constant"() <{value = dense<2.000000e+00> : tensor<16x8xf32>}> : () -> tensor<16x8xf32>
    %12 = "stablehlo.multiply"(%10, %11) : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<16x8xf32>
    %13 = "sdy.data_flow_edge"(%12) <{sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}> : (tensor<16x8xf32>) -> tensor<16x8xf32>
    %14 = "sdy.sharding_constraint"(%13) <{sharding = #sdy.sharding<@maximal, []>}> : (tensor<16x8xf32>) -> tensor<16x8xf32>
    %15 = "sdy.manual_computation"(%14) <{in_shardings = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}], replicated={"y"}>]>, manual_axes = #sdy<manual_axes{"x", "y"}>, out_shardings = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}], unreduced={"y"}>]>}> ({
    ^bb0(%arg2: tensor<8x8xf32>):
      "sdy.return"(%arg2) : (tensor<8x8xf32>) -> ()
    }) : (tensor<16x8xf32>) -> tensor<16x8xf32>
    "func.return"(%15) : (tensor<16x8xf32>) -> ()
  }) : () -> ()
}) : () -> ()

