// Helpers of the tests in this folder.
#pragma once

#include "message.h"

#include <tessera/array.h>

#include <string>
#include <vector>

namespace api_test {

using tessera::Array;

inline std::vector<float> f32s(const Array& x) { return x.to_vector<float>(); }
inline Array vec(std::vector<float> v) { return Array(v); }
inline Array mat(std::vector<float> v, tessera::Shape shape) { return Array(v, shape); }

using test::message;

}  // namespace api_test
