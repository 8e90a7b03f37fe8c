module @main attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3xf32> loc("args[0]"), %arg1: tensor<3xi32> loc("args[1]")) -> (tensor<2x3xf32> {jax.result_info = "result[0]"}, tensor<3x3xf32> {jax.result_info = "result[1]"}) {
    %0 = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.convert %0 : (tensor<i32>) -> tensor<f32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<f32>) -> tensor<3x3xf32>
    %3 = stablehlo.constant dense<1> : tensor<i32>
    %4 = stablehlo.convert %3 : (tensor<i32>) -> tensor<f32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [] : (tensor<f32>) -> tensor<3x3xf32>
    %6 = stablehlo.constant dense<0> : tensor<i32>
    %7 = stablehlo.broadcast_in_dim %6, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %8 = stablehlo.compare LT, %arg1, %7, SIGNED : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
    %9 = stablehlo.constant dense<3> : tensor<i32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %11 = stablehlo.add %arg1, %10 : tensor<3xi32>
    %12 = stablehlo.select %8, %11, %arg1 : tensor<3xi1>, tensor<3xi32>
    %13 = stablehlo.reshape %12 : (tensor<3xi32>) -> tensor<3x1xi32>
    %14 = "stablehlo.scatter"(%2, %13, %5) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%15: tensor<f32>, %16: tensor<f32>):
      %17 = stablehlo.add %15, %16 : tensor<f32>
      stablehlo.return %17 : tensor<f32>
    }) : (tensor<3x3xf32>, tensor<3x1xi32>, tensor<3x3xf32>) -> tensor<3x3xf32>
    %18 = stablehlo.constant dense<0> : tensor<i32>
    %19 = stablehlo.broadcast_in_dim %18, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %20 = stablehlo.compare LT, %arg1, %19, SIGNED : (tensor<3xi32>, tensor<3xi32>) -> tensor<3xi1>
    %21 = stablehlo.constant dense<3> : tensor<i32>
    %22 = stablehlo.broadcast_in_dim %21, dims = [] : (tensor<i32>) -> tensor<3xi32>
    %23 = stablehlo.add %arg1, %22 : tensor<3xi32>
    %24 = stablehlo.select %20, %23, %arg1 : tensor<3xi1>, tensor<3xi32>
    %25 = stablehlo.reshape %24 : (tensor<3xi32>) -> tensor<3x1xi32>
    %26 = "stablehlo.gather"(%arg0, %25) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [1], start_index_map = [1], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 2, 1>}> : (tensor<2x3xf32>, tensor<3x1xi32>) -> tensor<2x3xf32>
    return %26, %14 : tensor<2x3xf32>, tensor<3x3xf32>
  }
}
