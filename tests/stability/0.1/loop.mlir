module @main attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3xf32> loc("args[0]")) -> (tensor<3xf32> {jax.result_info = "result[0]"}, tensor<2x3xf32> {jax.result_info = "result[1]"}) {
    %0 = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.convert %0 : (tensor<i32>) -> tensor<f32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %3:2 = stablehlo.composite "tessera.scan" %2, %arg0 {composite_attributes = {body = @tessera.scan.body, consts = 0 : i64, carry = 1 : i64, length = 2 : i64, reverse = false}, decomposition = @tessera.scan} : (tensor<3xf32>, tensor<2x3xf32>) -> (tensor<3xf32>, tensor<2x3xf32>)
    return %3#0, %3#1 : tensor<3xf32>, tensor<2x3xf32>
  }
  func.func private @tessera.scan.body(%arg0: tensor<3xf32>, %arg1: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
    %0 = stablehlo.constant dense<2> : tensor<i32>
    %1 = stablehlo.convert %0 : (tensor<i32>) -> tensor<f32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<f32>) -> tensor<3xf32>
    %3 = stablehlo.multiply %2, %arg0 : tensor<3xf32>
    %4 = stablehlo.add %arg0, %arg1 : tensor<3xf32>
    return %4, %3 : tensor<3xf32>, tensor<3xf32>
  }
  func.func private @tessera.scan(%arg0: tensor<3xf32>, %arg1: tensor<2x3xf32>) -> (tensor<3xf32>, tensor<2x3xf32>) {
    %0 = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.constant dense<0.0e+00> : tensor<f32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
    %3:3 = "stablehlo.while"(%0, %arg0, %2) ({
    ^bb0(%4: tensor<i32>, %5: tensor<3xf32>, %6: tensor<2x3xf32>):
      %7 = stablehlo.constant dense<2> : tensor<i32>
      %8 = stablehlo.compare LT, %4, %7, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %8 : tensor<i1>
    }, {
    ^bb0(%9: tensor<i32>, %10: tensor<3xf32>, %11: tensor<2x3xf32>):
      %12 = stablehlo.constant dense<0> : tensor<i32>
      %13 = stablehlo.dynamic_slice %arg1, %9, %12, sizes = [1, 3] : (tensor<2x3xf32>, tensor<i32>, tensor<i32>) -> tensor<1x3xf32>
      %14 = stablehlo.reshape %13 : (tensor<1x3xf32>) -> tensor<3xf32>
      %15:2 = func.call @tessera.scan.body(%10, %14) : (tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>)
      %16 = stablehlo.constant dense<1> : tensor<i32>
      %17 = stablehlo.add %9, %16 : tensor<i32>
      %18 = stablehlo.reshape %15#1 : (tensor<3xf32>) -> tensor<1x3xf32>
      %19 = stablehlo.constant dense<0> : tensor<i32>
      %20 = stablehlo.dynamic_update_slice %11, %18, %9, %19 : (tensor<2x3xf32>, tensor<1x3xf32>, tensor<i32>, tensor<i32>) -> tensor<2x3xf32>
      stablehlo.return %17, %15#0, %20 : tensor<i32>, tensor<3xf32>, tensor<2x3xf32>
    }) : (tensor<i32>, tensor<3xf32>, tensor<2x3xf32>) -> (tensor<i32>, tensor<3xf32>, tensor<2x3xf32>)
    return %3#1, %3#2 : tensor<3xf32>, tensor<2x3xf32>
  }
}
