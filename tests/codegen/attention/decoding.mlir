module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x1x12x64xf32>, %arg1: tensor<2x700x12x64xf32>, %arg2: tensor<2x700x12x64xf32>, %arg3: tensor<2xi32>) -> (tensor<2x1x12x64xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.reshape %arg0 : (tensor<2x1x12x64xf32>) -> tensor<2x1x12x1x64xf32>
    %1 = stablehlo.dot_general %0, %arg1, batching_dims = [0, 2] x [0, 2], contracting_dims = [4] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x1x12x1x64xf32>, tensor<2x700x12x64xf32>) -> tensor<2x12x1x1x700xf32>
    %cst = stablehlo.constant dense<1.250000e-01> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x12x1x1x700xf32>
    %3 = stablehlo.multiply %1, %2 : tensor<2x12x1x1x700xf32>
    %c = stablehlo.constant dense<true> : tensor<i1>
    %4 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i1>) -> tensor<2x12x1x700xi1>
    %5 = stablehlo.iota dim = 0 : tensor<700xi32>
    %6 = stablehlo.broadcast_in_dim %5, dims = [2] : (tensor<700xi32>) -> tensor<1x1x700xi32>
    %7 = stablehlo.broadcast_in_dim %arg3, dims = [0] : (tensor<2xi32>) -> tensor<2x1x1xi32>
    %8 = stablehlo.broadcast_in_dim %6, dims = [0, 1, 2] : (tensor<1x1x700xi32>) -> tensor<2x1x700xi32>
    %9 = stablehlo.broadcast_in_dim %7, dims = [0, 1, 2] : (tensor<2x1x1xi32>) -> tensor<2x1x700xi32>
    %10 = stablehlo.compare LT, %8, %9, SIGNED : (tensor<2x1x700xi32>, tensor<2x1x700xi32>) -> tensor<2x1x700xi1>
    %c_0 = stablehlo.constant dense<true> : tensor<i1>
    %11 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i1>) -> tensor<2x1x700xi1>
    %12 = stablehlo.and %11, %10 : tensor<2x1x700xi1>
    %13 = stablehlo.broadcast_in_dim %12, dims = [0, 2, 3] : (tensor<2x1x700xi1>) -> tensor<2x1x1x700xi1>
    %14 = stablehlo.broadcast_in_dim %13, dims = [0, 1, 2, 3] : (tensor<2x1x1x700xi1>) -> tensor<2x12x1x700xi1>
    %15 = stablehlo.and %4, %14 : tensor<2x12x1x700xi1>
    %cst_1 = stablehlo.constant dense<-2.38197633E+38> : tensor<f32>
    %16 = call @_where(%15, %3, %cst_1) : (tensor<2x12x1x700xi1>, tensor<2x12x1x1x700xf32>, tensor<f32>) -> tensor<1x2x12x1x700xf32>
    %cst_2 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %17 = stablehlo.reduce(%16 init: %cst_2) applies stablehlo.maximum across dimensions = [4] : (tensor<1x2x12x1x700xf32>, tensor<f32>) -> tensor<1x2x12x1xf32>
    %cst_3 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %18 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<1x2x12x1xf32>
    %19 = stablehlo.maximum %18, %17 : tensor<1x2x12x1xf32>
    %20 = stablehlo.broadcast_in_dim %19, dims = [0, 1, 2, 3] : (tensor<1x2x12x1xf32>) -> tensor<1x2x12x1x1xf32>
    %21 = stablehlo.broadcast_in_dim %20, dims = [0, 1, 2, 3, 4] : (tensor<1x2x12x1x1xf32>) -> tensor<1x2x12x1x700xf32>
    %22 = stablehlo.subtract %16, %21 : tensor<1x2x12x1x700xf32>
    %23 = stablehlo.exponential %22 : tensor<1x2x12x1x700xf32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %24 = stablehlo.reduce(%23 init: %cst_4) applies stablehlo.add across dimensions = [4] : (tensor<1x2x12x1x700xf32>, tensor<f32>) -> tensor<1x2x12x1xf32>
    %25 = stablehlo.broadcast_in_dim %24, dims = [0, 1, 2, 3] : (tensor<1x2x12x1xf32>) -> tensor<1x2x12x1x1xf32>
    %26 = stablehlo.broadcast_in_dim %25, dims = [0, 1, 2, 3, 4] : (tensor<1x2x12x1x1xf32>) -> tensor<1x2x12x1x700xf32>
    %27 = stablehlo.divide %23, %26 : tensor<1x2x12x1x700xf32>
    %28 = stablehlo.dot_general %arg2, %27, batching_dims = [0, 2] x [1, 2], contracting_dims = [1] x [4], precision = [DEFAULT, DEFAULT] : (tensor<2x700x12x64xf32>, tensor<1x2x12x1x700xf32>) -> tensor<2x12x64x1x1xf32>
    %29 = stablehlo.transpose %28, dims = [3, 0, 4, 1, 2] : (tensor<2x12x64x1x1xf32>) -> tensor<1x2x1x12x64xf32>
    %30 = stablehlo.transpose %29, dims = [1, 2, 3, 0, 4] : (tensor<1x2x1x12x64xf32>) -> tensor<2x1x12x1x64xf32>
    %31 = stablehlo.reshape %30 : (tensor<2x1x12x1x64xf32>) -> tensor<2x1x12x64xf32>
    return %31 : tensor<2x1x12x64xf32>
  }
  func.func private @_where(%arg0: tensor<2x12x1x700xi1>, %arg1: tensor<2x12x1x1x700xf32>, %arg2: tensor<f32>) -> tensor<1x2x12x1x700xf32> {
    %0 = stablehlo.broadcast_in_dim %arg2, dims = [] : (tensor<f32>) -> tensor<2x12x1x700xf32>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [1, 2, 3, 4] : (tensor<2x12x1x700xi1>) -> tensor<1x2x12x1x700xi1>
    %2 = stablehlo.broadcast_in_dim %0, dims = [1, 2, 3, 4] : (tensor<2x12x1x700xf32>) -> tensor<1x2x12x1x700xf32>
    %3 = stablehlo.transpose %arg1, dims = [3, 0, 1, 2, 4] : (tensor<2x12x1x1x700xf32>) -> tensor<1x2x12x1x700xf32>
    %4 = stablehlo.select %1, %3, %2 : tensor<1x2x12x1x700xi1>, tensor<1x2x12x1x700xf32>
    return %4 : tensor<1x2x12x1x700xf32>
  }
}
