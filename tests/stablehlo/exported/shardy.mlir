sdy.mesh @mesh = <["x"=2, "y"=2]>
sdy.mesh @maximal = <[], device_ids=[3]>
func.func @main(%a: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %u: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}], replicated={"x"}, unreduced={"y"}>}) -> tensor<16x8xf32> {
  %0 = sdy.all_gather [{"x"}, {}] %a out_sharding=<@mesh, [{}, {}]> : tensor<16x8xf32>
  %1 = sdy.all_slice [{}, {"y"}] %0 out_sharding=<@mesh, [{}, {"y"}]> : tensor<16x8xf32>
  %2 = sdy.all_to_all [{"y"}: 1->0] %1 out_sharding=<@mesh, [{"y"}, {}]> : tensor<16x8xf32>
  %3 = sdy.collective_permute %2 out_sharding=<@mesh, [{"x"}, {}]> : tensor<16x8xf32>
  %4 = sdy.all_reduce max {"y"} %3 out_sharding=<@mesh, [{"x"}, {}]> : tensor<16x8xf32>
  %5 = sdy.reduce_scatter [{}, {"y"}] %4 out_sharding=<@mesh, [{"x"}, {"y"}]> : tensor<16x8xf32>
  %6 = sdy.sharded_to_unreduced [{}, {"y"}] %5 out_sharding=<@mesh, [{"x"}, {}], unreduced={"y"}> : tensor<16x8xf32>
  %7 = sdy.replicated_to_unreduced {"x"} %0 out_sharding=<@mesh, [{}, {}], unreduced={"x"}> : tensor<16x8xf32>
  %8 = sdy.reshard %7 <@mesh, [{"y"}, {}]> : tensor<16x8xf32>
  sdy.sharding_group %8 group_id=3 : tensor<16x8xf32>
  %9 = sdy.propagation_barrier %8 allowed_direction=BACKWARD : tensor<16x8xf32>
  %10 = sdy.named_computation<"foo">(%9, %6) in_shardings=[<@mesh, [{"y"}, {}]>, <mesh<["a"=4]>, [{"a"}, {}]>] out_shardings=[<@mesh, [{?}, {"x", ?}p1]>] (%b: tensor<16x8xf32>, %c: tensor<16x8xf32>) {
    %d = stablehlo.add %b, %c {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : tensor<16x8xf32>
    sdy.return %d : tensor<16x8xf32>
  } : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<16x8xf32>
  %11 = sdy.constant dense<2.0> : tensor<16x8xf32>
  %12 = stablehlo.multiply %10, %11 : tensor<16x8xf32>
  %13 = sdy.data_flow_edge %12 sharding=<@mesh, [{"x"}, {}]> : tensor<16x8xf32>
  %14 = sdy.sharding_constraint %13 <@maximal, []> : tensor<16x8xf32>
  %15 = sdy.manual_computation(%14) in_shardings=[<@mesh, [{"x"}, {}], replicated={"y"}>] out_shardings=[<@mesh, [{"x"}, {}], unreduced={"y"}>] manual_axes={"x", "y"} (%e: tensor<8x8xf32>) {
    sdy.return %e : tensor<8x8xf32>
  } : (tensor<16x8xf32>) -> tensor<16x8xf32>
  return %15 : tensor<16x8xf32>
}
