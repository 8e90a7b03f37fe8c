module @main attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["i"=4]>
  func.func public @main(%arg0: tensor<4x4xf32> loc("args[0]")) -> (tensor<4x4xf32> {jax.result_info = "result"}) {
    %8 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"i"}, {}]>] out_shardings=[<@mesh, [{"i"}, {}]>] manual_axes={"i"} (%0: tensor<1x4xf32>) {
      %1 = stablehlo.reshape %0 : (tensor<1x4xf32>) -> tensor<4xf32>
      %2 = "stablehlo.all_reduce"(%1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, use_global_device_ids}> ({
      ^bb0(%3: tensor<f32>, %4: tensor<f32>):
        %5 = stablehlo.add %3, %4 : tensor<f32>
        stablehlo.return %5 : tensor<f32>
      }) : (tensor<4xf32>) -> tensor<4xf32>
      %6 = stablehlo.subtract %2, %1 : tensor<4xf32>
      %7 = stablehlo.reshape %6 : (tensor<4xf32>) -> tensor<1x4xf32>
      sdy.return %7 : tensor<1x4xf32>
    } : (tensor<4x4xf32>) -> tensor<4x4xf32>
    return %8 : tensor<4x4xf32>
  }
}
