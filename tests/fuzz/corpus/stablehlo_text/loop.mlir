module @jit_loop attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<6x3xf32> loc("x")) -> (tensor<3xf32> {jax.result_info = "result[0]"}, tensor<6x3xf32> {jax.result_info = "result[1]"}) {
    %c = stablehlo.constant dense<1> : tensor<i32> loc(#loc)
    %c_0 = stablehlo.constant dense<6> : tensor<i32> loc(#loc)
    %c_1 = stablehlo.constant dense<0> : tensor<i32> loc(#loc24)
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32> loc(#loc31)
    %0 = stablehlo.slice %arg0 [0:1, 0:3] : (tensor<6x3xf32>) -> tensor<1x3xf32> loc(#loc26)
    %1 = stablehlo.reshape %0 : (tensor<1x3xf32>) -> tensor<3xf32> loc(#loc27)
    %2 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<6x3xf32> loc(#loc32)
    %3:4 = stablehlo.while(%iterArg = %arg0, %iterArg_2 = %c_1, %iterArg_3 = %1, %iterArg_4 = %2) : tensor<6x3xf32>, tensor<i32>, tensor<3xf32>, tensor<6x3xf32>
    cond {
      %4 = stablehlo.compare LT, %iterArg_2, %c_0, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1> loc(#loc34)
      stablehlo.return %4 : tensor<i1> loc(#loc33)
    } do {
      %4 = func.call @dynamic_index_in_dim(%iterArg, %iterArg_2) : (tensor<6x3xf32>, tensor<i32>) -> tensor<3xf32> loc(#loc35)
      %5:2 = func.call @closed_call(%iterArg_3, %4) : (tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) loc(#loc36)
      %6 = func.call @dynamic_update_index_in_dim(%iterArg_4, %5#1, %iterArg_2) : (tensor<6x3xf32>, tensor<3xf32>, tensor<i32>) -> tensor<6x3xf32> loc(#loc37)
      %7 = stablehlo.add %iterArg_2, %c : tensor<i32> loc(#loc38)
      stablehlo.return %iterArg, %7, %5#0, %6 : tensor<6x3xf32>, tensor<i32>, tensor<3xf32>, tensor<6x3xf32> loc(#loc33)
    } loc(#loc33)
    return %3#2, %3#3 : tensor<3xf32>, tensor<6x3xf32> loc(#loc15)
  } loc(#loc)
  func.func private @dynamic_index_in_dim(%arg0: tensor<6x3xf32> loc(unknown), %arg1: tensor<i32> loc(unknown)) -> tensor<3xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32> loc(#loc)
    %0 = stablehlo.dynamic_slice %arg0, %arg1, %c, sizes = [1, 3] : (tensor<6x3xf32>, tensor<i32>, tensor<i32>) -> tensor<1x3xf32> loc(#loc17)
    %1 = stablehlo.reshape %0 : (tensor<1x3xf32>) -> tensor<3xf32> loc(#loc18)
    return %1 : tensor<3xf32> loc(#loc)
  } loc(#loc29)
  func.func private @closed_call(%arg0: tensor<3xf32> loc(unknown), %arg1: tensor<3xf32> loc(unknown)) -> (tensor<3xf32>, tensor<3xf32>) {
    %cst = stablehlo.constant dense<5.000000e-01> : tensor<f32> loc(#loc)
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<3xf32> loc(#loc20)
    %1 = stablehlo.multiply %arg0, %0 : tensor<3xf32> loc(#loc20)
    %2 = stablehlo.add %1, %arg1 : tensor<3xf32> loc(#loc21)
    return %2, %arg0 : tensor<3xf32>, tensor<3xf32> loc(#loc)
  } loc(#loc30)
  func.func private @dynamic_update_index_in_dim(%arg0: tensor<6x3xf32> loc(unknown), %arg1: tensor<3xf32> loc(unknown), %arg2: tensor<i32> loc(unknown)) -> tensor<6x3xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32> loc(#loc)
    %0 = stablehlo.broadcast_in_dim %arg1, dims = [1] : (tensor<3xf32>) -> tensor<1x3xf32> loc(#loc22)
    %1 = stablehlo.dynamic_update_slice %arg0, %0, %arg2, %c : (tensor<6x3xf32>, tensor<1x3xf32>, tensor<i32>, tensor<i32>) -> tensor<6x3xf32> loc(#loc23)
    return %1 : tensor<6x3xf32> loc(#loc)
  } loc(#loc29)
} loc(#loc)
