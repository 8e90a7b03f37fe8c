module @booleans {
  func.func public @main(%x: tensor<1x4x4x1xf32>, %k: tensor<2x2x1x1xf32>) -> (tensor<1x3x3x1xf32>, tensor<2xi1>, tensor<3xi1>, tensor<4xi1>, tensor<7xi1>, tensor<8xi1>, tensor<9xi1>, tensor<20xi1>, tensor<2xi1>, tensor<3xi1>, tensor<8xi1>, tensor<9xi1>) {
    %y = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {reverse = [true, false]}
      {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x4x4x1xf32>, tensor<2x2x1x1xf32>) -> tensor<1x3x3x1xf32>
    %b0 = stablehlo.constant dense<[true, false]> : tensor<2xi1>
    %b1 = stablehlo.constant dense<[true, false, true]> : tensor<3xi1>
    %b2 = stablehlo.constant dense<[true, false, true, true]> : tensor<4xi1>
    %b3 = stablehlo.constant dense<[true, false, true, true, false, true, true]> : tensor<7xi1>
    %b4 = stablehlo.constant dense<[true, false, true, true, false, true, true, false]> : tensor<8xi1>
    %b5 = stablehlo.constant dense<[true, false, true, true, false, true, true, false, true]> : tensor<9xi1>
    %b6 = stablehlo.constant dense<[true, false, true, true, false, true, true, false, true, true, false, true, true, false, true, true, false, true, true, false]> : tensor<20xi1>
    %b7 = stablehlo.constant dense<true> : tensor<2xi1>
    %b8 = stablehlo.constant dense<false> : tensor<3xi1>
    %b9 = stablehlo.constant dense<true> : tensor<8xi1>
    %b10 = stablehlo.constant dense<true> : tensor<9xi1>
    return %y, %b0, %b1, %b2, %b3, %b4, %b5, %b6, %b7, %b8, %b9, %b10 : tensor<1x3x3x1xf32>, tensor<2xi1>, tensor<3xi1>, tensor<4xi1>, tensor<7xi1>, tensor<8xi1>, tensor<9xi1>, tensor<20xi1>, tensor<2xi1>, tensor<3xi1>, tensor<8xi1>, tensor<9xi1>
  }
}
