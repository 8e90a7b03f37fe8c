module @main attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x2xf32> loc("args[0]")) -> (tensor<2x2xf32> {jax.result_info = "result"}) {
    %0 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %1 = stablehlo.add %arg0, %0 : tensor<2x2xf32>
    %2 = stablehlo.constant dense<5.0e-01> : tensor<f32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [] : (tensor<f32>) -> tensor<2x2xf32>
    %4 = stablehlo.multiply %1, %3 : tensor<2x2xf32>
    %5 = stablehlo.composite "tessera.cholesky" %4 {decomposition = @tessera.cholesky} : (tensor<2x2xf32>) -> tensor<2x2xf32>
    return %5 : tensor<2x2xf32>
  }
  func.func private @tessera.cholesky(%arg0: tensor<2x2xf32>) -> (tensor<2x2xf32>) {
    %0 = stablehlo.cholesky %arg0, lower = true : tensor<2x2xf32>
    %1 = stablehlo.iota dim = 0 : tensor<2x2xi64>
    %2 = stablehlo.iota dim = 1 : tensor<2x2xi64>
    %3 = stablehlo.constant dense<0> : tensor<i64>
    %4 = stablehlo.broadcast_in_dim %3, dims = [] : (tensor<i64>) -> tensor<2x2xi64>
    %5 = stablehlo.add %1, %4 : tensor<2x2xi64>
    %6 = stablehlo.constant dense<0.0e+00> : tensor<f32>
    %7 = stablehlo.broadcast_in_dim %6, dims = [] : (tensor<f32>) -> tensor<2x2xf32>
    %8 = stablehlo.compare GE, %5, %2, SIGNED : (tensor<2x2xi64>, tensor<2x2xi64>) -> tensor<2x2xi1>
    %9 = stablehlo.select %8, %0, %7 : tensor<2x2xi1>, tensor<2x2xf32>
    return %9 : tensor<2x2xf32>
  }
}
