module @jit_annotated attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<8x4xf32> {mhlo.sharding = "{devices=[2,2]<=[4]}"} loc("a"), %arg1: tensor<4x8xf32> {mhlo.sharding = "{devices=[2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}"} loc("b")) -> (tensor<8x8xf32> {jax.result_info = "result[0]", mhlo.sharding = "{devices=[2,1,2]<=[4] last_tile_dim_replicate}"}, tensor<8xf32> {jax.result_info = "result[1]", mhlo.sharding = "{devices=[2,2]<=[2,2]T(1,0) last_tile_dim_replicate}"}) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32> loc(#loc21)
    %cst_0 = stablehlo.constant dense<2.000000e+00> : tensor<f32> loc(#loc16)
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x8xf32>) -> tensor<8x8xf32> loc(#loc22)
    %1 = stablehlo.custom_call @Sharding(%0) {mhlo.sharding = "{devices=[2,1,2]<=[2,2]T(1,0) last_tile_dim_replicate}"} : (tensor<8x8xf32>) -> tensor<8x8xf32> loc(#loc23)
    %2 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<8x8xf32> loc(#loc24)
    %3 = stablehlo.multiply %1, %2 : tensor<8x8xf32> loc(#loc24)
    %4 = stablehlo.tanh %1 : tensor<8x8xf32> loc(#loc25)
    %5 = stablehlo.reduce(%4 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<8x8xf32>, tensor<f32>) -> tensor<8xf32> loc(#loc21)
    return %3, %5 : tensor<8x8xf32>, tensor<8xf32> loc(#loc16)
  } loc(#loc)
} loc(#loc)
