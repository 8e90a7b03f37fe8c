module @main attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3xf32> loc("args[0]")) -> (tensor<2x3xf32> {jax.result_info = "result[0]"}, tensor<2x3xf32> {jax.result_info = "result[1]"}, tensor<2x3xf32> {jax.result_info = "result[2]"}, tensor<2x3xf32> {jax.result_info = "result[3]"}) {
    %0 = stablehlo.composite "tessera.cummin" %arg0 {composite_attributes = {axis = 1 : i64, reverse = false}, decomposition = @tessera.cummin} : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %1 = stablehlo.composite "tessera.cummax" %arg0 {composite_attributes = {axis = 1 : i64, reverse = false}, decomposition = @tessera.cummax} : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %2 = stablehlo.composite "tessera.cumprod" %arg0 {composite_attributes = {axis = 1 : i64, reverse = false}, decomposition = @tessera.cumprod} : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %3 = stablehlo.composite "tessera.cumsum" %arg0 {composite_attributes = {axis = 1 : i64, reverse = false}, decomposition = @tessera.cumsum} : (tensor<2x3xf32>) -> tensor<2x3xf32>
    return %3, %2, %1, %0 : tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>, tensor<2x3xf32>
  }
  func.func private @tessera.reduce_window.body(%arg0: tensor<f32>, %arg1: tensor<f32>) -> (tensor<f32>) {
    %0 = stablehlo.minimum %arg0, %arg1 : tensor<f32>
    return %0 : tensor<f32>
  }
  func.func private @tessera.reduce_window(%arg0: tensor<2x5xf32>, %arg1: tensor<f32>) -> (tensor<2x3xf32>) {
    %0 = stablehlo.constant dense<0.0e+00> : tensor<f32>
    %1 = stablehlo.constant dense<true> : tensor<i1>
    %2 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<i1>) -> tensor<2x5xi1>
    %3 = stablehlo.constant dense<false> : tensor<i1>
    %4:2 = "stablehlo.reduce_window"(%arg0, %2, %0, %3) <{base_dilations = array<i64: 1, 1>, padding = dense<[[0, 0], [0, 0]]> : tensor<2x2xi64>, window_dilations = array<i64: 1, 1>, window_dimensions = array<i64: 1, 3>, window_strides = array<i64: 1, 1>}> ({
    ^bb0(%5: tensor<f32>, %6: tensor<i1>, %7: tensor<f32>, %8: tensor<i1>):
      %9 = stablehlo.minimum %5, %7 : tensor<f32>
      %10 = stablehlo.select %8, %9, %5 : tensor<i1>, tensor<f32>
      %11 = stablehlo.select %6, %10, %7 : tensor<i1>, tensor<f32>
      %12 = stablehlo.or %6, %8 : tensor<i1>
      stablehlo.return %11, %12 : tensor<f32>, tensor<i1>
    }) : (tensor<2x5xf32>, tensor<2x5xi1>, tensor<f32>, tensor<i1>) -> (tensor<2x3xf32>, tensor<2x3xi1>)
    %13 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
    %14 = stablehlo.reshape %13 : (tensor<2x3xf32>) -> tensor<6xf32>
    %15 = stablehlo.reshape %4#0 : (tensor<2x3xf32>) -> tensor<6xf32>
    %16 = stablehlo.minimum %14, %15 : tensor<6xf32>
    %17 = stablehlo.reshape %16 : (tensor<6xf32>) -> tensor<2x3xf32>
    %18 = stablehlo.select %4#1, %17, %13 : tensor<2x3xi1>, tensor<2x3xf32>
    return %18 : tensor<2x3xf32>
  }
  func.func private @tessera.cummin(%arg0: tensor<2x3xf32>) -> (tensor<2x3xf32>) {
    %0 = stablehlo.constant dense<0x7f800000> : tensor<f32>
    %1 = stablehlo.pad %arg0, %0, low = [0, 2], high = [0, 0], interior = [0, 0] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x5xf32>
    %2 = stablehlo.composite "tessera.reduce_window" %1, %0 {composite_attributes = {window = array<i64: 1, 3>, strides = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, base_dilation = array<i64: 1, 1>, window_dilation = array<i64: 1, 1>, body = @tessera.reduce_window.body}, decomposition = @tessera.reduce_window} : (tensor<2x5xf32>, tensor<f32>) -> tensor<2x3xf32>
    return %2 : tensor<2x3xf32>
  }
  func.func private @tessera.reduce_window.body_1(%arg0: tensor<f32>, %arg1: tensor<f32>) -> (tensor<f32>) {
    %0 = stablehlo.maximum %arg0, %arg1 : tensor<f32>
    return %0 : tensor<f32>
  }
  func.func private @tessera.reduce_window_1(%arg0: tensor<2x5xf32>, %arg1: tensor<f32>) -> (tensor<2x3xf32>) {
    %0 = stablehlo.constant dense<0.0e+00> : tensor<f32>
    %1 = stablehlo.constant dense<true> : tensor<i1>
    %2 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<i1>) -> tensor<2x5xi1>
    %3 = stablehlo.constant dense<false> : tensor<i1>
    %4:2 = "stablehlo.reduce_window"(%arg0, %2, %0, %3) <{base_dilations = array<i64: 1, 1>, padding = dense<[[0, 0], [0, 0]]> : tensor<2x2xi64>, window_dilations = array<i64: 1, 1>, window_dimensions = array<i64: 1, 3>, window_strides = array<i64: 1, 1>}> ({
    ^bb0(%5: tensor<f32>, %6: tensor<i1>, %7: tensor<f32>, %8: tensor<i1>):
      %9 = stablehlo.maximum %5, %7 : tensor<f32>
      %10 = stablehlo.select %8, %9, %5 : tensor<i1>, tensor<f32>
      %11 = stablehlo.select %6, %10, %7 : tensor<i1>, tensor<f32>
      %12 = stablehlo.or %6, %8 : tensor<i1>
      stablehlo.return %11, %12 : tensor<f32>, tensor<i1>
    }) : (tensor<2x5xf32>, tensor<2x5xi1>, tensor<f32>, tensor<i1>) -> (tensor<2x3xf32>, tensor<2x3xi1>)
    %13 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
    %14 = stablehlo.reshape %13 : (tensor<2x3xf32>) -> tensor<6xf32>
    %15 = stablehlo.reshape %4#0 : (tensor<2x3xf32>) -> tensor<6xf32>
    %16 = stablehlo.maximum %14, %15 : tensor<6xf32>
    %17 = stablehlo.reshape %16 : (tensor<6xf32>) -> tensor<2x3xf32>
    %18 = stablehlo.select %4#1, %17, %13 : tensor<2x3xi1>, tensor<2x3xf32>
    return %18 : tensor<2x3xf32>
  }
  func.func private @tessera.cummax(%arg0: tensor<2x3xf32>) -> (tensor<2x3xf32>) {
    %0 = stablehlo.constant dense<0xff800000> : tensor<f32>
    %1 = stablehlo.pad %arg0, %0, low = [0, 2], high = [0, 0], interior = [0, 0] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x5xf32>
    %2 = stablehlo.composite "tessera.reduce_window" %1, %0 {composite_attributes = {window = array<i64: 1, 3>, strides = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, base_dilation = array<i64: 1, 1>, window_dilation = array<i64: 1, 1>, body = @tessera.reduce_window.body_1}, decomposition = @tessera.reduce_window_1} : (tensor<2x5xf32>, tensor<f32>) -> tensor<2x3xf32>
    return %2 : tensor<2x3xf32>
  }
  func.func private @tessera.reduce_window.body_2(%arg0: tensor<f32>, %arg1: tensor<f32>) -> (tensor<f32>) {
    %0 = stablehlo.multiply %arg0, %arg1 : tensor<f32>
    return %0 : tensor<f32>
  }
  func.func private @tessera.reduce_window_2(%arg0: tensor<2x5xf32>, %arg1: tensor<f32>) -> (tensor<2x3xf32>) {
    %0 = stablehlo.constant dense<0.0e+00> : tensor<f32>
    %1 = stablehlo.constant dense<true> : tensor<i1>
    %2 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<i1>) -> tensor<2x5xi1>
    %3 = stablehlo.constant dense<false> : tensor<i1>
    %4:2 = "stablehlo.reduce_window"(%arg0, %2, %0, %3) <{base_dilations = array<i64: 1, 1>, padding = dense<[[0, 0], [0, 0]]> : tensor<2x2xi64>, window_dilations = array<i64: 1, 1>, window_dimensions = array<i64: 1, 3>, window_strides = array<i64: 1, 1>}> ({
    ^bb0(%5: tensor<f32>, %6: tensor<i1>, %7: tensor<f32>, %8: tensor<i1>):
      %9 = stablehlo.multiply %5, %7 : tensor<f32>
      %10 = stablehlo.select %8, %9, %5 : tensor<i1>, tensor<f32>
      %11 = stablehlo.select %6, %10, %7 : tensor<i1>, tensor<f32>
      %12 = stablehlo.or %6, %8 : tensor<i1>
      stablehlo.return %11, %12 : tensor<f32>, tensor<i1>
    }) : (tensor<2x5xf32>, tensor<2x5xi1>, tensor<f32>, tensor<i1>) -> (tensor<2x3xf32>, tensor<2x3xi1>)
    %13 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
    %14 = stablehlo.reshape %13 : (tensor<2x3xf32>) -> tensor<6xf32>
    %15 = stablehlo.reshape %4#0 : (tensor<2x3xf32>) -> tensor<6xf32>
    %16 = stablehlo.multiply %14, %15 : tensor<6xf32>
    %17 = stablehlo.reshape %16 : (tensor<6xf32>) -> tensor<2x3xf32>
    %18 = stablehlo.select %4#1, %17, %13 : tensor<2x3xi1>, tensor<2x3xf32>
    return %18 : tensor<2x3xf32>
  }
  func.func private @tessera.cumprod(%arg0: tensor<2x3xf32>) -> (tensor<2x3xf32>) {
    %0 = stablehlo.constant dense<1.0e+00> : tensor<f32>
    %1 = stablehlo.pad %arg0, %0, low = [0, 2], high = [0, 0], interior = [0, 0] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x5xf32>
    %2 = stablehlo.composite "tessera.reduce_window" %1, %0 {composite_attributes = {window = array<i64: 1, 3>, strides = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, base_dilation = array<i64: 1, 1>, window_dilation = array<i64: 1, 1>, body = @tessera.reduce_window.body_2}, decomposition = @tessera.reduce_window_2} : (tensor<2x5xf32>, tensor<f32>) -> tensor<2x3xf32>
    return %2 : tensor<2x3xf32>
  }
  func.func private @tessera.reduce_window.body_3(%arg0: tensor<f32>, %arg1: tensor<f32>) -> (tensor<f32>) {
    %0 = stablehlo.add %arg0, %arg1 : tensor<f32>
    return %0 : tensor<f32>
  }
  func.func private @tessera.reduce_window_3(%arg0: tensor<2x5xf32>, %arg1: tensor<f32>) -> (tensor<2x3xf32>) {
    %0 = stablehlo.constant dense<0.0e+00> : tensor<f32>
    %1 = stablehlo.constant dense<true> : tensor<i1>
    %2 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<i1>) -> tensor<2x5xi1>
    %3 = stablehlo.constant dense<false> : tensor<i1>
    %4:2 = "stablehlo.reduce_window"(%arg0, %2, %0, %3) <{base_dilations = array<i64: 1, 1>, padding = dense<[[0, 0], [0, 0]]> : tensor<2x2xi64>, window_dilations = array<i64: 1, 1>, window_dimensions = array<i64: 1, 3>, window_strides = array<i64: 1, 1>}> ({
    ^bb0(%5: tensor<f32>, %6: tensor<i1>, %7: tensor<f32>, %8: tensor<i1>):
      %9 = stablehlo.add %5, %7 : tensor<f32>
      %10 = stablehlo.select %8, %9, %5 : tensor<i1>, tensor<f32>
      %11 = stablehlo.select %6, %10, %7 : tensor<i1>, tensor<f32>
      %12 = stablehlo.or %6, %8 : tensor<i1>
      stablehlo.return %11, %12 : tensor<f32>, tensor<i1>
    }) : (tensor<2x5xf32>, tensor<2x5xi1>, tensor<f32>, tensor<i1>) -> (tensor<2x3xf32>, tensor<2x3xi1>)
    %13 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
    %14 = stablehlo.reshape %13 : (tensor<2x3xf32>) -> tensor<6xf32>
    %15 = stablehlo.reshape %4#0 : (tensor<2x3xf32>) -> tensor<6xf32>
    %16 = stablehlo.add %14, %15 : tensor<6xf32>
    %17 = stablehlo.reshape %16 : (tensor<6xf32>) -> tensor<2x3xf32>
    %18 = stablehlo.select %4#1, %17, %13 : tensor<2x3xi1>, tensor<2x3xf32>
    return %18 : tensor<2x3xf32>
  }
  func.func private @tessera.cumsum(%arg0: tensor<2x3xf32>) -> (tensor<2x3xf32>) {
    %0 = stablehlo.constant dense<0.0e+00> : tensor<f32>
    %1 = stablehlo.pad %arg0, %0, low = [0, 2], high = [0, 0], interior = [0, 0] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x5xf32>
    %2 = stablehlo.composite "tessera.reduce_window" %1, %0 {composite_attributes = {window = array<i64: 1, 3>, strides = array<i64: 1, 1>, pad_low = array<i64: 0, 0>, pad_high = array<i64: 0, 0>, base_dilation = array<i64: 1, 1>, window_dilation = array<i64: 1, 1>, body = @tessera.reduce_window.body_3}, decomposition = @tessera.reduce_window_3} : (tensor<2x5xf32>, tensor<f32>) -> tensor<2x3xf32>
    return %2 : tensor<2x3xf32>
  }
}
