module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x70x3x16xf32>, %arg1: tensor<2x96x3x16xf32>, %arg2: tensor<2x96x3x16xf32>, %arg3: tensor<1x3x70x96xf32>) -> (tensor<2x70x3x16xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.reshape %arg0 : (tensor<2x70x3x16xf32>) -> tensor<2x70x3x1x16xf32>
    %1 = stablehlo.reshape %arg3 : (tensor<1x3x70x96xf32>) -> tensor<1x3x1x70x96xf32>
    %2 = stablehlo.dot_general %0, %arg1, batching_dims = [0, 2] x [0, 2], contracting_dims = [4] x [3], precision = [DEFAULT, DEFAULT] : (tensor<2x70x3x1x16xf32>, tensor<2x96x3x16xf32>) -> tensor<2x3x70x1x96xf32>
    %cst = stablehlo.constant dense<2.500000e-01> : tensor<f32>
    %3 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x3x70x1x96xf32>
    %4 = stablehlo.multiply %2, %3 : tensor<2x3x70x1x96xf32>
    %5 = stablehlo.transpose %4, dims = [3, 0, 1, 2, 4] : (tensor<2x3x70x1x96xf32>) -> tensor<1x2x3x70x96xf32>
    %6 = stablehlo.transpose %1, dims = [2, 0, 1, 3, 4] : (tensor<1x3x1x70x96xf32>) -> tensor<1x1x3x70x96xf32>
    %7 = stablehlo.broadcast_in_dim %6, dims = [0, 1, 2, 3, 4] : (tensor<1x1x3x70x96xf32>) -> tensor<1x2x3x70x96xf32>
    %8 = stablehlo.add %5, %7 : tensor<1x2x3x70x96xf32>
    %c = stablehlo.constant dense<true> : tensor<i1>
    %9 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i1>) -> tensor<2x3x70x96xi1>
    %c_0 = stablehlo.constant dense<true> : tensor<i1>
    %10 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i1>) -> tensor<70x96xi1>
    %11 = call @tril(%10) : (tensor<70x96xi1>) -> tensor<70x96xi1>
    %12 = stablehlo.broadcast_in_dim %11, dims = [2, 3] : (tensor<70x96xi1>) -> tensor<1x1x70x96xi1>
    %13 = stablehlo.broadcast_in_dim %12, dims = [0, 1, 2, 3] : (tensor<1x1x70x96xi1>) -> tensor<2x3x70x96xi1>
    %14 = stablehlo.and %9, %13 : tensor<2x3x70x96xi1>
    %cst_1 = stablehlo.constant dense<-2.38197633E+38> : tensor<f32>
    %15 = call @_where(%14, %8, %cst_1) : (tensor<2x3x70x96xi1>, tensor<1x2x3x70x96xf32>, tensor<f32>) -> tensor<1x2x3x70x96xf32>
    %cst_2 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %16 = stablehlo.reduce(%15 init: %cst_2) applies stablehlo.maximum across dimensions = [4] : (tensor<1x2x3x70x96xf32>, tensor<f32>) -> tensor<1x2x3x70xf32>
    %cst_3 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %17 = stablehlo.broadcast_in_dim %cst_3, dims = [] : (tensor<f32>) -> tensor<1x2x3x70xf32>
    %18 = stablehlo.maximum %17, %16 : tensor<1x2x3x70xf32>
    %19 = stablehlo.broadcast_in_dim %18, dims = [0, 1, 2, 3] : (tensor<1x2x3x70xf32>) -> tensor<1x2x3x70x1xf32>
    %20 = stablehlo.broadcast_in_dim %19, dims = [0, 1, 2, 3, 4] : (tensor<1x2x3x70x1xf32>) -> tensor<1x2x3x70x96xf32>
    %21 = stablehlo.subtract %15, %20 : tensor<1x2x3x70x96xf32>
    %22 = stablehlo.exponential %21 : tensor<1x2x3x70x96xf32>
    %cst_4 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %23 = stablehlo.reduce(%22 init: %cst_4) applies stablehlo.add across dimensions = [4] : (tensor<1x2x3x70x96xf32>, tensor<f32>) -> tensor<1x2x3x70xf32>
    %24 = stablehlo.broadcast_in_dim %23, dims = [0, 1, 2, 3] : (tensor<1x2x3x70xf32>) -> tensor<1x2x3x70x1xf32>
    %25 = stablehlo.broadcast_in_dim %24, dims = [0, 1, 2, 3, 4] : (tensor<1x2x3x70x1xf32>) -> tensor<1x2x3x70x96xf32>
    %26 = stablehlo.divide %22, %25 : tensor<1x2x3x70x96xf32>
    %27 = stablehlo.dot_general %arg2, %26, batching_dims = [0, 2] x [1, 2], contracting_dims = [1] x [4], precision = [DEFAULT, DEFAULT] : (tensor<2x96x3x16xf32>, tensor<1x2x3x70x96xf32>) -> tensor<2x3x16x1x70xf32>
    %28 = stablehlo.transpose %27, dims = [3, 0, 4, 1, 2] : (tensor<2x3x16x1x70xf32>) -> tensor<1x2x70x3x16xf32>
    %29 = stablehlo.transpose %28, dims = [1, 2, 3, 0, 4] : (tensor<1x2x70x3x16xf32>) -> tensor<2x70x3x1x16xf32>
    %30 = stablehlo.reshape %29 : (tensor<2x70x3x1x16xf32>) -> tensor<2x70x3x16xf32>
    return %30 : tensor<2x70x3x16xf32>
  }
  func.func private @tril(%arg0: tensor<70x96xi1>) -> tensor<70x96xi1> {
    %0 = stablehlo.iota dim = 0 : tensor<70x96xi32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<70x96xi32>
    %2 = stablehlo.add %0, %1 : tensor<70x96xi32>
    %3 = stablehlo.iota dim = 1 : tensor<70x96xi32>
    %4 = stablehlo.compare GE, %2, %3, SIGNED : (tensor<70x96xi32>, tensor<70x96xi32>) -> tensor<70x96xi1>
    %c_0 = stablehlo.constant dense<false> : tensor<i1>
    %5 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i1>) -> tensor<70x96xi1>
    %6 = stablehlo.select %4, %arg0, %5 : tensor<70x96xi1>, tensor<70x96xi1>
    return %6 : tensor<70x96xi1>
  }
  func.func private @_where(%arg0: tensor<2x3x70x96xi1>, %arg1: tensor<1x2x3x70x96xf32>, %arg2: tensor<f32>) -> tensor<1x2x3x70x96xf32> {
    %0 = stablehlo.broadcast_in_dim %arg2, dims = [] : (tensor<f32>) -> tensor<2x3x70x96xf32>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [1, 2, 3, 4] : (tensor<2x3x70x96xi1>) -> tensor<1x2x3x70x96xi1>
    %2 = stablehlo.broadcast_in_dim %0, dims = [1, 2, 3, 4] : (tensor<2x3x70x96xf32>) -> tensor<1x2x3x70x96xf32>
    %3 = stablehlo.select %1, %arg1, %2 : tensor<1x2x3x70x96xi1>, tensor<1x2x3x70x96xf32>
    return %3 : tensor<1x2x3x70x96xf32>
  }
}
