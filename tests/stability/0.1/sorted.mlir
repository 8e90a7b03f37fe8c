module @main attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3xf32> loc("args[0]")) -> (tensor<2x3xf32> {jax.result_info = "result[0]"}, tensor<2x3xi32> {jax.result_info = "result[1]"}, tensor<2xi32> {jax.result_info = "result[2]"}, tensor<2xi32> {jax.result_info = "result[3]"}) {
    %0 = stablehlo.composite "tessera.argmin" %arg0 {composite_attributes = {axis = 1 : i64, dtype = i32}, decomposition = @tessera.argmin} : (tensor<2x3xf32>) -> tensor<2xi32>
    %1 = stablehlo.composite "tessera.argmax" %arg0 {composite_attributes = {axis = 1 : i64, dtype = i32}, decomposition = @tessera.argmax} : (tensor<2x3xf32>) -> tensor<2xi32>
    %2 = stablehlo.iota dim = 1 : tensor<2x3xi32>
    %3:2 = stablehlo.composite "tessera.sort" %arg0, %2 {composite_attributes = {dimension = 1 : i64, num_keys = 1 : i64}, decomposition = @tessera.sort} : (tensor<2x3xf32>, tensor<2x3xi32>) -> (tensor<2x3xf32>, tensor<2x3xi32>)
    %4 = stablehlo.composite "tessera.sort" %arg0 {composite_attributes = {dimension = 1 : i64, num_keys = 1 : i64}, decomposition = @tessera.sort_1} : (tensor<2x3xf32>) -> tensor<2x3xf32>
    return %4, %3#1, %1, %0 : tensor<2x3xf32>, tensor<2x3xi32>, tensor<2xi32>, tensor<2xi32>
  }
  func.func private @tessera.argmin(%arg0: tensor<2x3xf32>) -> (tensor<2xi32>) {
    %0 = stablehlo.constant dense<0x7f800000> : tensor<f32>
    %1 = stablehlo.reduce(%arg0 init: %0) applies stablehlo.minimum across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
    %2 = stablehlo.compare NE, %arg0, %arg0, FLOAT : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
    %3 = stablehlo.broadcast_in_dim %1, dims = [0] : (tensor<2xf32>) -> tensor<2x3xf32>
    %4 = stablehlo.compare EQ, %arg0, %3, FLOAT : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
    %5 = stablehlo.or %4, %2 : tensor<2x3xi1>
    %6 = stablehlo.iota dim = 1 : tensor<2x3xi32>
    %7 = stablehlo.constant dense<2> : tensor<i32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [] : (tensor<i32>) -> tensor<2x3xi32>
    %9 = stablehlo.select %5, %6, %8 : tensor<2x3xi1>, tensor<2x3xi32>
    %10 = stablehlo.constant dense<2147483647> : tensor<i32>
    %11 = stablehlo.reduce(%9 init: %10) applies stablehlo.minimum across dimensions = [1] : (tensor<2x3xi32>, tensor<i32>) -> tensor<2xi32>
    return %11 : tensor<2xi32>
  }
  func.func private @tessera.argmax(%arg0: tensor<2x3xf32>) -> (tensor<2xi32>) {
    %0 = stablehlo.constant dense<0xff800000> : tensor<f32>
    %1 = stablehlo.reduce(%arg0 init: %0) applies stablehlo.maximum across dimensions = [1] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2xf32>
    %2 = stablehlo.compare NE, %arg0, %arg0, FLOAT : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
    %3 = stablehlo.broadcast_in_dim %1, dims = [0] : (tensor<2xf32>) -> tensor<2x3xf32>
    %4 = stablehlo.compare EQ, %arg0, %3, FLOAT : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>
    %5 = stablehlo.or %4, %2 : tensor<2x3xi1>
    %6 = stablehlo.iota dim = 1 : tensor<2x3xi32>
    %7 = stablehlo.constant dense<2> : tensor<i32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [] : (tensor<i32>) -> tensor<2x3xi32>
    %9 = stablehlo.select %5, %6, %8 : tensor<2x3xi1>, tensor<2x3xi32>
    %10 = stablehlo.constant dense<2147483647> : tensor<i32>
    %11 = stablehlo.reduce(%9 init: %10) applies stablehlo.minimum across dimensions = [1] : (tensor<2x3xi32>, tensor<i32>) -> tensor<2xi32>
    return %11 : tensor<2xi32>
  }
  func.func private @tessera.sort(%arg0: tensor<2x3xf32>, %arg1: tensor<2x3xi32>) -> (tensor<2x3xf32>, tensor<2x3xi32>) {
    %0:2 = "stablehlo.sort"(%arg0, %arg1) <{dimension = 1 : i64, is_stable = true}> ({
    ^bb0(%1: tensor<f32>, %2: tensor<f32>, %3: tensor<i32>, %4: tensor<i32>):
      %5 = stablehlo.constant dense<0.0e+00> : tensor<f32>
      %6 = stablehlo.constant dense<0x7fc00000> : tensor<f32>
      %7 = stablehlo.compare EQ, %1, %5, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %8 = stablehlo.select %7, %5, %1 : tensor<i1>, tensor<f32>
      %9 = stablehlo.compare NE, %1, %1, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %10 = stablehlo.select %9, %6, %8 : tensor<i1>, tensor<f32>
      %11 = stablehlo.constant dense<0.0e+00> : tensor<f32>
      %12 = stablehlo.constant dense<0x7fc00000> : tensor<f32>
      %13 = stablehlo.compare EQ, %2, %11, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %14 = stablehlo.select %13, %11, %2 : tensor<i1>, tensor<f32>
      %15 = stablehlo.compare NE, %2, %2, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %16 = stablehlo.select %15, %12, %14 : tensor<i1>, tensor<f32>
      %17 = stablehlo.compare LT, %10, %16, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %17 : tensor<i1>
    }) : (tensor<2x3xf32>, tensor<2x3xi32>) -> (tensor<2x3xf32>, tensor<2x3xi32>)
    return %0#0, %0#1 : tensor<2x3xf32>, tensor<2x3xi32>
  }
  func.func private @tessera.sort_1(%arg0: tensor<2x3xf32>) -> (tensor<2x3xf32>) {
    %0 = "stablehlo.sort"(%arg0) <{dimension = 1 : i64, is_stable = true}> ({
    ^bb0(%1: tensor<f32>, %2: tensor<f32>):
      %3 = stablehlo.constant dense<0.0e+00> : tensor<f32>
      %4 = stablehlo.constant dense<0x7fc00000> : tensor<f32>
      %5 = stablehlo.compare EQ, %1, %3, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %6 = stablehlo.select %5, %3, %1 : tensor<i1>, tensor<f32>
      %7 = stablehlo.compare NE, %1, %1, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %8 = stablehlo.select %7, %4, %6 : tensor<i1>, tensor<f32>
      %9 = stablehlo.constant dense<0.0e+00> : tensor<f32>
      %10 = stablehlo.constant dense<0x7fc00000> : tensor<f32>
      %11 = stablehlo.compare EQ, %2, %9, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %12 = stablehlo.select %11, %9, %2 : tensor<i1>, tensor<f32>
      %13 = stablehlo.compare NE, %2, %2, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %14 = stablehlo.select %13, %10, %12 : tensor<i1>, tensor<f32>
      %15 = stablehlo.compare LT, %8, %14, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %15 : tensor<i1>
    }) : (tensor<2x3xf32>) -> tensor<2x3xf32>
    return %0 : tensor<2x3xf32>
  }
}
