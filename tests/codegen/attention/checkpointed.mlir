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
    %10 = call @_where(%9, %2, %cst_0) : (tensor<100x96xi1>, tensor<1x3x100x96xf32>, tensor<f32>) -> tensor<1x3x100x96xf32>
    %cst_1 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %11 = stablehlo.reduce(%10 init: %cst_1) applies stablehlo.maximum across dimensions = [3] : (tensor<1x3x100x96xf32>, tensor<f32>) -> tensor<1x3x100xf32>
    %cst_2 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %12 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<1x3x100xf32>
    %13 = stablehlo.maximum %12, %11 : tensor<1x3x100xf32>
    %14 = stablehlo.broadcast_in_dim %13, dims = [0, 1, 2] : (tensor<1x3x100xf32>) -> tensor<1x3x100x1xf32>
    %15 = stablehlo.broadcast_in_dim %14, dims = [0, 1, 2, 3] : (tensor<1x3x100x1xf32>) -> tensor<1x3x100x96xf32>
    %16 = stablehlo.subtract %10, %15 : tensor<1x3x100x96xf32>
    %17 = stablehlo.exponential %16 : tensor<1x3x100x96xf32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %18 = stablehlo.reduce(%17 init: %cst_3) applies stablehlo.add across dimensions = [3] : (tensor<1x3x100x96xf32>, tensor<f32>) -> tensor<1x3x100xf32>
    %19 = stablehlo.broadcast_in_dim %18, dims = [0, 1, 2] : (tensor<1x3x100xf32>) -> tensor<1x3x100x1xf32>
    %20 = stablehlo.broadcast_in_dim %19, dims = [0, 1, 2, 3] : (tensor<1x3x100x1xf32>) -> tensor<1x3x100x96xf32>
    %21 = stablehlo.divide %17, %20 : tensor<1x3x100x96xf32>
    %22 = stablehlo.dot_general %21, %arg2, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<1x3x100x96xf32>, tensor<1x3x96x16xf32>) -> tensor<1x3x100x16xf32>
    %cst_4 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %23 = stablehlo.broadcast_in_dim %cst_4, dims = [] : (tensor<f32>) -> tensor<1x3x100x16xf32>
    %24 = stablehlo.multiply %23, %22 : tensor<1x3x100x16xf32>
    %cst_5 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %25 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<1x3x100x16xf32>
    %26 = stablehlo.multiply %25, %24 : tensor<1x3x100x16xf32>
    %27:4 = stablehlo.optimization_barrier %arg0, %arg1, %arg2, %26 : tensor<1x3x100x16xf32>, tensor<1x3x96x16xf32>, tensor<1x3x96x16xf32>, tensor<1x3x100x16xf32>
    %28 = stablehlo.dot_general %27#0, %27#1, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<1x3x100x16xf32>, tensor<1x3x96x16xf32>) -> tensor<1x3x100x96xf32>
    %cst_6 = stablehlo.constant dense<2.500000e-01> : tensor<f32>
    %29 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<1x3x100x96xf32>
    %30 = stablehlo.multiply %28, %29 : tensor<1x3x100x96xf32>
    %31 = stablehlo.iota dim = 0 : tensor<100xi32>
    %32 = stablehlo.broadcast_in_dim %31, dims = [0] : (tensor<100xi32>) -> tensor<100x1xi32>
    %33 = stablehlo.iota dim = 0 : tensor<96xi32>
    %34 = stablehlo.broadcast_in_dim %33, dims = [1] : (tensor<96xi32>) -> tensor<1x96xi32>
    %35 = stablehlo.broadcast_in_dim %32, dims = [0, 1] : (tensor<100x1xi32>) -> tensor<100x96xi32>
    %36 = stablehlo.broadcast_in_dim %34, dims = [0, 1] : (tensor<1x96xi32>) -> tensor<100x96xi32>
    %37 = stablehlo.compare GE, %35, %36, SIGNED : (tensor<100x96xi32>, tensor<100x96xi32>) -> tensor<100x96xi1>
    %cst_7 = stablehlo.constant dense<-1.000000e+30> : tensor<f32>
    %38:2 = call @_where_0(%37, %30, %cst_7) : (tensor<100x96xi1>, tensor<1x3x100x96xf32>, tensor<f32>) -> (tensor<1x3x100x96xf32>, tensor<1x3x100x96xi1>)
    %cst_8 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %39 = stablehlo.reduce(%38#0 init: %cst_8) applies stablehlo.maximum across dimensions = [3] : (tensor<1x3x100x96xf32>, tensor<f32>) -> tensor<1x3x100xf32>
    %cst_9 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %40 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<1x3x100xf32>
    %41 = stablehlo.maximum %40, %39 : tensor<1x3x100xf32>
    %42 = stablehlo.broadcast_in_dim %41, dims = [0, 1, 2] : (tensor<1x3x100xf32>) -> tensor<1x3x100x1xf32>
    %43 = stablehlo.broadcast_in_dim %42, dims = [0, 1, 2, 3] : (tensor<1x3x100x1xf32>) -> tensor<1x3x100x96xf32>
    %44 = stablehlo.subtract %38#0, %43 : tensor<1x3x100x96xf32>
    %45 = stablehlo.exponential %44 : tensor<1x3x100x96xf32>
    %cst_10 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %46 = stablehlo.reduce(%45 init: %cst_10) applies stablehlo.add across dimensions = [3] : (tensor<1x3x100x96xf32>, tensor<f32>) -> tensor<1x3x100xf32>
    %47 = stablehlo.broadcast_in_dim %46, dims = [0, 1, 2] : (tensor<1x3x100xf32>) -> tensor<1x3x100x1xf32>
    %48 = stablehlo.broadcast_in_dim %47, dims = [0, 1, 2, 3] : (tensor<1x3x100x1xf32>) -> tensor<1x3x100x96xf32>
    %49 = stablehlo.divide %45, %48 : tensor<1x3x100x96xf32>
    %50 = stablehlo.multiply %47, %47 : tensor<1x3x100x1xf32>
    %cst_11 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %51 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<1x3x100x1xf32>
    %52 = stablehlo.divide %51, %50 : tensor<1x3x100x1xf32>
    %53 = stablehlo.dot_general %27#3, %49, batching_dims = [0, 1] x [0, 1], contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<1x3x100x16xf32>, tensor<1x3x100x96xf32>) -> tensor<1x3x16x96xf32>
    %54 = stablehlo.transpose %53, dims = [0, 1, 3, 2] : (tensor<1x3x16x96xf32>) -> tensor<1x3x96x16xf32>
    %55 = stablehlo.dot_general %27#3, %27#2, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3], precision = [DEFAULT, DEFAULT] : (tensor<1x3x100x16xf32>, tensor<1x3x96x16xf32>) -> tensor<1x3x100x96xf32>
    %56 = stablehlo.broadcast_in_dim %52, dims = [0, 1, 2, 3] : (tensor<1x3x100x1xf32>) -> tensor<1x3x100x96xf32>
    %57 = stablehlo.multiply %55, %56 : tensor<1x3x100x96xf32>
    %58 = stablehlo.multiply %57, %45 : tensor<1x3x100x96xf32>
    %cst_12 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %59 = stablehlo.reduce(%58 init: %cst_12) applies stablehlo.add across dimensions = [3] : (tensor<1x3x100x96xf32>, tensor<f32>) -> tensor<1x3x100xf32>
    %60 = stablehlo.reshape %59 : (tensor<1x3x100xf32>) -> tensor<1x3x100x1xf32>
    %61 = stablehlo.negate %60 : tensor<1x3x100x1xf32>
    %62 = stablehlo.broadcast_in_dim %47, dims = [0, 1, 2, 3] : (tensor<1x3x100x1xf32>) -> tensor<1x3x100x96xf32>
    %63 = stablehlo.divide %55, %62 : tensor<1x3x100x96xf32>
    %cst_13 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %64 = stablehlo.reduce(%61 init: %cst_13) applies stablehlo.add across dimensions = [0, 3] : (tensor<1x3x100x1xf32>, tensor<f32>) -> tensor<3x100xf32>
    %65 = stablehlo.broadcast_in_dim %64, dims = [1, 2] : (tensor<3x100xf32>) -> tensor<1x3x100xf32>
    %66 = stablehlo.broadcast_in_dim %65, dims = [0, 1, 2] : (tensor<1x3x100xf32>) -> tensor<1x3x100x96xf32>
    %67 = stablehlo.add %63, %66 : tensor<1x3x100x96xf32>
    %68 = stablehlo.multiply %67, %45 : tensor<1x3x100x96xf32>
    %69 = call @_where_1(%38#1, %68) : (tensor<1x3x100x96xi1>, tensor<1x3x100x96xf32>) -> tensor<1x3x100x96xf32>
    %cst_14 = stablehlo.constant dense<2.500000e-01> : tensor<f32>
    %70 = stablehlo.broadcast_in_dim %cst_14, dims = [] : (tensor<f32>) -> tensor<1x3x100x96xf32>
    %71 = stablehlo.multiply %69, %70 : tensor<1x3x100x96xf32>
    %72 = stablehlo.dot_general %71, %27#0, batching_dims = [0, 1] x [0, 1], contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<1x3x100x96xf32>, tensor<1x3x100x16xf32>) -> tensor<1x3x96x16xf32>
    %73 = stablehlo.dot_general %71, %27#1, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2], precision = [DEFAULT, DEFAULT] : (tensor<1x3x100x96xf32>, tensor<1x3x96x16xf32>) -> tensor<1x3x100x16xf32>
    return %73, %72, %54 : tensor<1x3x100x16xf32>, tensor<1x3x96x16xf32>, tensor<1x3x96x16xf32>
  }
  func.func private @_where(%arg0: tensor<100x96xi1>, %arg1: tensor<1x3x100x96xf32>, %arg2: tensor<f32>) -> tensor<1x3x100x96xf32> {
    %0 = stablehlo.convert %arg2 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [2, 3] : (tensor<100x96xi1>) -> tensor<1x3x100x96xi1>
    %2 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<1x3x100x96xf32>
    %3 = stablehlo.select %1, %arg1, %2 : tensor<1x3x100x96xi1>, tensor<1x3x100x96xf32>
    return %3 : tensor<1x3x100x96xf32>
  }
  func.func private @_where_0(%arg0: tensor<100x96xi1>, %arg1: tensor<1x3x100x96xf32>, %arg2: tensor<f32>) -> (tensor<1x3x100x96xf32>, tensor<1x3x100x96xi1>) {
    %0 = stablehlo.convert %arg2 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [2, 3] : (tensor<100x96xi1>) -> tensor<1x3x100x96xi1>
    %2 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<1x3x100x96xf32>
    %3 = stablehlo.select %1, %arg1, %2 : tensor<1x3x100x96xi1>, tensor<1x3x100x96xf32>
    return %3, %1 : tensor<1x3x100x96xf32>, tensor<1x3x100x96xi1>
  }
  func.func private @_where_1(%arg0: tensor<1x3x100x96xi1>, %arg1: tensor<1x3x100x96xf32>) -> tensor<1x3x100x96xf32> {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<1x3x100x96xf32>
    %1 = stablehlo.select %arg0, %arg1, %0 : tensor<1x3x100x96xi1>, tensor<1x3x100x96xf32>
    return %1 : tensor<1x3x100x96xf32>
  }
}
