module @jit__lambda attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<1x3x100x16xf32>, %arg1: tensor<1x3x96x16xf32>, %arg2: tensor<1x3x96x16xf32>) -> (tensor<1x3x100x16xf32> {jax.result_info = "result[0]"}, tensor<1x3x96x16xf32> {jax.result_info = "result[1]"}, tensor<1x3x96x16xf32> {jax.result_info = "result[2]"}) {
    %0 = stablehlo.dot_general %arg0, %arg1, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<1x3x100x16xf32>, tensor<1x3x96x16xf32>) -> tensor<1x3x100x96xf32>
    %cst = stablehlo.constant dense<2.500000e-01> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<1x3x100x96xf32>
    %2 = stablehlo.multiply %0, %1 : tensor<1x3x100x96xf32>
    %3 = stablehlo.iota dim = 0 : tensor<100xi32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [0] : (tensor<100xi32>) -> tensor<100x1xi32>
    %5 = stablehlo.iota dim = 0 : tensor<96xi32>
    %6 = stablehlo.broadcast_in_dim %5, dims = [1] : (tensor<96xi32>) -> tensor<1x96xi32>
    %7 = stablehlo.broadcast_in_dim %4, dims = [0, 1] : (tensor<100x1xi32>) -> tensor<100x96xi32>
    %8 = stablehlo.broadcast_in_dim %6, dims = [0, 1] : (tensor<1x96xi32>) -> tensor<100x96xi32>
    %9 = stablehlo.compare GE, %7, %8, SIGNED : (tensor<100x96xi32>, tensor<100x96xi32>) -> tensor<100x96xi1>
    %cst_0 = stablehlo.constant dense<-1.000000e+30> : tensor<f32>
    %10:2 = call @_where(%9, %2, %cst_0) : (tensor<100x96xi1>, tensor<1x3x100x96xf32>, tensor<f32>) -> (tensor<1x3x100x96xf32>, tensor<1x3x100x96xi1>)
    %cst_1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %11 = stablehlo.reduce(%10#0 init: %cst_1) applies stablehlo.maximum across dimensions = [3] : (tensor<1x3x100x96xf32>, tensor<f32>) -> tensor<1x3x100xf32>
    %cst_2 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %12 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<1x3x100xf32>
    %13 = stablehlo.maximum %12, %11 : tensor<1x3x100xf32>
    %14 = stablehlo.broadcast_in_dim %13, dims = [0, 1, 2] : (tensor<1x3x100xf32>) -> tensor<1x3x100x1xf32>
    %15 = stablehlo.broadcast_in_dim %14, dims = [0, 1, 2, 3] : (tensor<1x3x100x1xf32>) -> tensor<1x3x100x96xf32>
    %16 = stablehlo.subtract %10#0, %15 : tensor<1x3x100x96xf32>
    %17 = stablehlo.exponential %16 : tensor<1x3x100x96xf32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %18 = stablehlo.reduce(%17 init: %cst_3) applies stablehlo.add across dimensions = [3] : (tensor<1x3x100x96xf32>, tensor<f32>) -> tensor<1x3x100xf32>
    %19 = stablehlo.broadcast_in_dim %18, dims = [0, 1, 2] : (tensor<1x3x100xf32>) -> tensor<1x3x100x1xf32>
    %20 = stablehlo.broadcast_in_dim %19, dims = [0, 1, 2, 3] : (tensor<1x3x100x1xf32>) -> tensor<1x3x100x96xf32>
    %21 = stablehlo.divide %17, %20 : tensor<1x3x100x96xf32>
    %22 = stablehlo.multiply %19, %19 : tensor<1x3x100x1xf32>
    %cst_4 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %23 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<1x3x100x1xf32>
    %24 = stablehlo.divide %23, %22 : tensor<1x3x100x1xf32>
    %25 = stablehlo.dot_general %21, %arg2, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<1x3x100x96xf32>, tensor<1x3x96x16xf32>) -> tensor<1x3x100x16xf32>
    %cst_5 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %26 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<1x3x100x16xf32>
    %27 = stablehlo.multiply %26, %25 : tensor<1x3x100x16xf32>
    %cst_6 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %28 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<1x3x100x16xf32>
    %29 = stablehlo.multiply %28, %27 : tensor<1x3x100x16xf32>
    %30 = stablehlo.dot_general %29, %21, batching_dims = [0, 1] x [0, 1], contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<1x3x100x16xf32>, tensor<1x3x100x96xf32>) -> tensor<1x3x16x96xf32>
    %31 = stablehlo.transpose %30, dims = [0, 1, 3, 2] : (tensor<1x3x16x96xf32>) -> tensor<1x3x96x16xf32>
    %32 = stablehlo.dot_general %29, %arg2, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<1x3x100x16xf32>, tensor<1x3x96x16xf32>) -> tensor<1x3x100x96xf32>
    %33 = stablehlo.broadcast_in_dim %24, dims = [0, 1, 2, 3] : (tensor<1x3x100x1xf32>) -> tensor<1x3x100x96xf32>
    %34 = stablehlo.multiply %32, %33 : tensor<1x3x100x96xf32>
    %35 = stablehlo.multiply %34, %17 : tensor<1x3x100x96xf32>
    %cst_7 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %36 = stablehlo.reduce(%35 init: %cst_7) applies stablehlo.add across dimensions = [3] : (tensor<1x3x100x96xf32>, tensor<f32>) -> tensor<1x3x100xf32>
    %37 = stablehlo.reshape %36 : (tensor<1x3x100xf32>) -> tensor<1x3x100x1xf32>
    %38 = stablehlo.negate %37 : tensor<1x3x100x1xf32>
    %39 = stablehlo.broadcast_in_dim %19, dims = [0, 1, 2, 3] : (tensor<1x3x100x1xf32>) -> tensor<1x3x100x96xf32>
    %40 = stablehlo.divide %32, %39 : tensor<1x3x100x96xf32>
    %cst_8 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %41 = stablehlo.reduce(%38 init: %cst_8) applies stablehlo.add across dimensions = [0, 3] : (tensor<1x3x100x1xf32>, tensor<f32>) -> tensor<3x100xf32>
    %42 = stablehlo.broadcast_in_dim %41, dims = [1, 2] : (tensor<3x100xf32>) -> tensor<1x3x100xf32>
    %43 = stablehlo.broadcast_in_dim %42, dims = [0, 1, 2] : (tensor<1x3x100xf32>) -> tensor<1x3x100x96xf32>
    %44 = stablehlo.add %40, %43 : tensor<1x3x100x96xf32>
    %45 = stablehlo.multiply %44, %17 : tensor<1x3x100x96xf32>
    %46 = call @_where_0(%10#1, %45) : (tensor<1x3x100x96xi1>, tensor<1x3x100x96xf32>) -> tensor<1x3x100x96xf32>
    %cst_9 = stablehlo.constant dense<2.500000e-01> : tensor<f32>
    %47 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<1x3x100x96xf32>
    %48 = stablehlo.multiply %46, %47 : tensor<1x3x100x96xf32>
    %49 = stablehlo.dot_general %48, %arg0, batching_dims = [0, 1] x [0, 1], contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<1x3x100x96xf32>, tensor<1x3x100x16xf32>) -> tensor<1x3x96x16xf32>
    %50 = stablehlo.dot_general %48, %arg1, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<1x3x100x96xf32>, tensor<1x3x96x16xf32>) -> tensor<1x3x100x16xf32>
    return %50, %49, %31 : tensor<1x3x100x16xf32>, tensor<1x3x96x16xf32>, tensor<1x3x96x16xf32>
  }
  func.func private @_where(%arg0: tensor<100x96xi1>, %arg1: tensor<1x3x100x96xf32>, %arg2: tensor<f32>) -> (tensor<1x3x100x96xf32>, tensor<1x3x100x96xi1>) {
    %0 = stablehlo.convert %arg2 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [2, 3] : (tensor<100x96xi1>) -> tensor<1x3x100x96xi1>
    %2 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<1x3x100x96xf32>
    %3 = stablehlo.select %1, %arg1, %2 : tensor<1x3x100x96xi1>, tensor<1x3x100x96xf32>
    return %3, %1 : tensor<1x3x100x96xf32>, tensor<1x3x100x96xi1>
  }
  func.func private @_where_0(%arg0: tensor<1x3x100x96xi1>, %arg1: tensor<1x3x100x96xf32>) -> tensor<1x3x100x96xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<1x3x100x96xf32>
    %1 = stablehlo.select %arg0, %arg1, %0 : tensor<1x3x100x96xi1>, tensor<1x3x100x96xf32>
    return %1 : tensor<1x3x100x96xf32>
  }
}
