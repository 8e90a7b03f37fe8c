module @jit_convolved attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x8x7x3xf32> loc("x"), %arg1: tensor<3x2x3x4xf32> loc("k")) -> (tensor<2x3x6x4xf32> {jax.result_info = "result"}) {
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32> loc(#loc14)
    %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 1], pad = [[1, 2], [0, 1]], rhs_dilate = [1, 2]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x8x7x3xf32>, tensor<3x2x3x4xf32>) -> tensor<2x5x6x4xf32> loc(#loc15)
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<f32> loc(#loc14)
    %2 = "stablehlo.reduce_window"(%0, %1) <{padding = dense<[[0, 0], [0, 1], [0, 1], [0, 0]]> : tensor<4x2xi64>, window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 1, 1>}> ({
    ^bb0(%arg2: tensor<f32> loc("reduce_window_max:"(#loc6)), %arg3: tensor<f32> loc("reduce_window_max:"(#loc6))):
      %3 = stablehlo.maximum %arg2, %arg3 : tensor<f32> loc(#loc14)
      stablehlo.return %3 : tensor<f32> loc(#loc14)
    }) : (tensor<2x5x6x4xf32>, tensor<f32>) -> tensor<2x3x6x4xf32> loc(#loc14)
    return %2 : tensor<2x3x6x4xf32> loc(#loc13)
  } loc(#loc)
} loc(#loc)
