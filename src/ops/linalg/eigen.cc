#include "ops/linalg/eigen.h"

#include "ops/linalg/matrices.h"

namespace tessera::inline v0::ops {

Op eigen_op(std::string name, std::string doc, CallRule call) {
  Op op = factorisation_op(std::move(name), std::move(doc), std::move(call));
  op.attrs = {{"vectors", AttrKind::boolean, "whether V is a result"}};
  op.outputs = -1;
  op.sharding = [](const ShardArgs& a) {
    return a.attrs.flag("vectors") ? cut_before({2}, {1, 2})(a) : cut_before({2}, {1})(a);
  };
  return op;
}

OpExample eigen_example(DType dtype, Shape shape, bool vectors) {
  return {{Type(dtype, std::move(shape))}, {{"vectors", vectors}}};
}

}  // namespace tessera::inline v0::ops
