module @m attributes {mhlo.num_replicas = 4 : i32} {
  func.func public @main(%x: tensor<2xi64>) -> tensor<2xi64> {
    %f = "stablehlo.async_start"(%x) ({
    ^bb0(%y: tensor<2xi64>):
      %t = "stablehlo.all_reduce"(%y) <{replica_groups = #stablehlo.replica_group_mesh_axes<mesh = #stablehlo.mesh<axes = [#stablehlo.mesh_axis<name = "z", size = 4>], device_ids = dense<[3, 1, 2, 0]> : tensor<4xi64>>, axes = [#stablehlo.axis_ref<name = "z", sub_axis_info = (2)2>]>}> ({
      ^bb0(%a: tensor<i64>, %b: tensor<i64>):
        %s = stablehlo.multiply %a, %b : tensor<i64>
        stablehlo.return %s : tensor<i64>
      }) : (tensor<2xi64>) -> tensor<2xi64>
      stablehlo.return %t : tensor<2xi64>
    }) : (tensor<2xi64>) -> !stablehlo.future<tensor<2xi64>>
    %0 = "stablehlo.async_done"(%f) : (!stablehlo.future<tensor<2xi64>>) -> tensor<2xi64>
    %r = stablehlo.constant dense<[1]> : tensor<1xi64>
    %1 = "stablehlo.collective_reduce"(%0, %r) <{has_dynamic_root = true, replica_groups = dense<[[0, 1, 2], [3, -1, -1]]> : tensor<2x3xi64>}> ({
    ^bb0(%a: tensor<i64>, %b: tensor<i64>):
      %s = stablehlo.multiply %a, %b : tensor<i64>
      stablehlo.return %s : tensor<i64>
    }) : (tensor<2xi64>, tensor<1xi64>) -> tensor<2xi64>
    return %1 : tensor<2xi64>
  }
}
