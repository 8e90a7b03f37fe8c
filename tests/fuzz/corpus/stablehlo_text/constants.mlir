module @jit_constants attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<6xf32> loc("x")) -> (tensor<6xf32> {jax.result_info = "result"}) {
    %cst = stablehlo.constant dense<2.500000e+00> : tensor<f32> loc(#loc18)
    %0 = stablehlo.iota dim = 0 : tensor<6xf32> loc(#loc25)
    %1 = stablehlo.multiply %arg0, %0 : tensor<6xf32> loc(#loc26)
    %2 = call @cumsum(%arg0) : (tensor<6xf32>) -> tensor<6xf32> loc(#loc27)
    %3 = stablehlo.add %1, %2 : tensor<6xf32> loc(#loc28)
    %4 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<6xf32> loc(#loc29)
    %5 = stablehlo.subtract %3, %4 : tensor<6xf32> loc(#loc30)
    return %5 : tensor<6xf32> loc(#loc18)
  } loc(#loc)
  func.func private @cumsum(%arg0: tensor<6xf32> loc(unknown)) -> tensor<6xf32> {
    %0 = call @cumsum_0(%arg0) : (tensor<6xf32>) -> tensor<6xf32> loc(#loc)
    return %0 : tensor<6xf32> loc(#loc)
  } loc(#loc32)
  func.func private @cumsum_0(%arg0: tensor<6xf32> loc(unknown)) -> tensor<6xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32> loc(#loc9)
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<f32> loc(#loc9)
    %1 = "stablehlo.reduce_window"(%arg0, %0) <{padding = dense<[[5, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64: 6>}> ({
    ^bb0(%arg1: tensor<f32> loc("reduce_window_sum:"(#loc9)), %arg2: tensor<f32> loc("reduce_window_sum:"(#loc9))):
      %2 = stablehlo.add %arg1, %arg2 : tensor<f32> loc(#loc9)
      stablehlo.return %2 : tensor<f32> loc(#loc9)
    }) : (tensor<6xf32>, tensor<f32>) -> tensor<6xf32> loc(#loc9)
    return %1 : tensor<6xf32> loc(#loc)
  } loc(#loc)
} loc(#loc)
