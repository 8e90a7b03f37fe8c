module @main attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<3xf32> loc("args[0]")) -> (tensor<3xf32> {jax.result_info = "result[0]"}, tensor<3xf32> {jax.result_info = "result[1]"}, tensor<3xf32> {jax.result_info = "result[2]"}, tensor<3xf32> {jax.result_info = "result[3]"}, tensor<3xf32> {jax.result_info = "result[4]"}) {
    %0 = stablehlo.constant dense<1> : tensor<i32>
    %1 = stablehlo.convert %0 : (tensor<i32>) -> tensor<f32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %3 = stablehlo.composite "tessera.logaddexp" %arg0, %2 {decomposition = @tessera.logaddexp} : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %4 = stablehlo.constant dense<1> : tensor<i32>
    %5 = stablehlo.convert %4 : (tensor<i32>) -> tensor<f32>
    %6 = stablehlo.broadcast_in_dim %5, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %7 = stablehlo.composite "tessera.hypot" %arg0, %6 {decomposition = @tessera.hypot} : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    %8 = stablehlo.composite "tessera.cosh" %arg0 {decomposition = @tessera.cosh} : (tensor<3xf32>) -> tensor<3xf32>
    %9 = stablehlo.composite "tessera.sinh" %arg0 {decomposition = @tessera.sinh} : (tensor<3xf32>) -> tensor<3xf32>
    %10 = stablehlo.composite "tessera.exp2" %arg0 {decomposition = @tessera.exp2} : (tensor<3xf32>) -> tensor<3xf32>
    return %10, %9, %8, %7, %3 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
  }
  func.func private @tessera.logaddexp(%arg0: tensor<3xf32>, %arg1: tensor<3xf32>) -> (tensor<3xf32>) {
    %0 = stablehlo.subtract %arg0, %arg1 : tensor<3xf32>
    %1 = stablehlo.abs %0 : tensor<3xf32>
    %2 = stablehlo.negate %1 : tensor<3xf32>
    %3 = stablehlo.exponential %2 : tensor<3xf32>
    %4 = stablehlo.log_plus_one %3 : tensor<3xf32>
    %5 = stablehlo.maximum %arg0, %arg1 : tensor<3xf32>
    %6 = stablehlo.add %5, %4 : tensor<3xf32>
    %7 = stablehlo.add %arg0, %arg1 : tensor<3xf32>
    %8 = stablehlo.compare NE, %0, %0, FLOAT : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
    %9 = stablehlo.select %8, %7, %6 : tensor<3xi1>, tensor<3xf32>
    return %9 : tensor<3xf32>
  }
  func.func private @tessera.hypot(%arg0: tensor<3xf32>, %arg1: tensor<3xf32>) -> (tensor<3xf32>) {
    %0 = stablehlo.abs %arg0 : tensor<3xf32>
    %1 = stablehlo.abs %arg1 : tensor<3xf32>
    %2 = stablehlo.maximum %0, %1 : tensor<3xf32>
    %3 = stablehlo.minimum %0, %1 : tensor<3xf32>
    %4 = stablehlo.constant dense<0.0e+00> : tensor<f32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %6 = stablehlo.compare EQ, %2, %5, FLOAT : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
    %7 = stablehlo.constant dense<1.0e+00> : tensor<f32>
    %8 = stablehlo.broadcast_in_dim %7, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %9 = stablehlo.select %6, %8, %2 : tensor<3xi1>, tensor<3xf32>
    %10 = stablehlo.divide %3, %9 : tensor<3xf32>
    %11 = stablehlo.multiply %10, %10 : tensor<3xf32>
    %12 = stablehlo.constant dense<1.0e+00> : tensor<f32>
    %13 = stablehlo.broadcast_in_dim %12, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %14 = stablehlo.add %13, %11 : tensor<3xf32>
    %15 = stablehlo.sqrt %14 : tensor<3xf32>
    %16 = stablehlo.constant dense<0x7f800000> : tensor<f32>
    %17 = stablehlo.broadcast_in_dim %16, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %18 = stablehlo.compare EQ, %1, %17, FLOAT : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
    %19 = stablehlo.constant dense<0x7f800000> : tensor<f32>
    %20 = stablehlo.broadcast_in_dim %19, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %21 = stablehlo.compare EQ, %0, %20, FLOAT : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xi1>
    %22 = stablehlo.or %21, %18 : tensor<3xi1>
    %23 = stablehlo.multiply %2, %15 : tensor<3xf32>
    %24 = stablehlo.constant dense<0x7f800000> : tensor<f32>
    %25 = stablehlo.broadcast_in_dim %24, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %26 = stablehlo.select %22, %25, %23 : tensor<3xi1>, tensor<3xf32>
    return %26 : tensor<3xf32>
  }
  func.func private @tessera.cosh(%arg0: tensor<3xf32>) -> (tensor<3xf32>) {
    %0 = "chlo.cosh"(%arg0) : (tensor<3xf32>) -> tensor<3xf32>
    return %0 : tensor<3xf32>
  }
  func.func private @tessera.sinh(%arg0: tensor<3xf32>) -> (tensor<3xf32>) {
    %0 = "chlo.sinh"(%arg0) : (tensor<3xf32>) -> tensor<3xf32>
    return %0 : tensor<3xf32>
  }
  func.func private @tessera.exp2(%arg0: tensor<3xf32>) -> (tensor<3xf32>) {
    %0 = stablehlo.constant dense<6.931472e-01> : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %2 = stablehlo.multiply %arg0, %1 : tensor<3xf32>
    %3 = stablehlo.exponential %2 : tensor<3xf32>
    return %3 : tensor<3xf32>
  }
}
