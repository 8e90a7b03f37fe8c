module @jit_mapped attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2, "y"=2]> {stablehlo.mesh = {axes = [{name = "x", size = 2 : i64}, {name = "y", size = 2 : i64}]}} loc(#loc)
  func.func public @main(%arg0: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>} loc("a"), %arg1: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>} loc("b")) -> (tensor<4x8xf32> {jax.result_info = "result[0]", sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, tensor<8xf32> {jax.result_info = "result[1]", sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>}) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32> loc(#loc37)
    %cst_0 = stablehlo.constant dense<2.000000e+00> : tensor<f32> loc(#loc26)
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x8xf32>) -> tensor<8x8xf32> loc(#loc38)
    %1 = sdy.sharding_constraint %0 <@mesh, [{"y"}, {}]> : tensor<8x8xf32> loc(#loc39)
    %2 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<8x8xf32> loc(#loc40)
    %3 = stablehlo.multiply %1, %2 : tensor<8x8xf32> loc(#loc40)
    %4 = stablehlo.tanh %1 : tensor<8x8xf32> loc(#loc41)
    %5 = stablehlo.reduce(%4 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<8x8xf32>, tensor<f32>) -> tensor<8xf32> loc(#loc37)
    %6 = sdy.manual_computation(%3) in_shardings=[<@mesh, [{"x"}, {"y"}]>] out_shardings=[<@mesh, [{}, {"y"}]>] manual_axes={"x", "y"} (%arg2: tensor<4x4xf32> loc("shard_map:"(#loc11))) {
      %7 = "stablehlo.all_reduce"(%arg2) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({
      ^bb0(%arg3: tensor<f32> loc("psum_invariant:"(#loc13)), %arg4: tensor<f32> loc("psum_invariant:"(#loc13))):
        %8 = stablehlo.add %arg3, %arg4 : tensor<f32> loc(#loc36)
        stablehlo.return %8 : tensor<f32> loc(#loc28)
      }) : (tensor<4x4xf32>) -> tensor<4x4xf32> loc(#loc28)
      sdy.return %7 : tensor<4x4xf32> loc(#loc22)
    } : (tensor<8x8xf32>) -> tensor<4x8xf32> loc(#loc35)
    return %6, %5 : tensor<4x8xf32>, tensor<8xf32> loc(#loc26)
  } loc(#loc)
} loc(#loc)
