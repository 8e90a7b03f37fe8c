#include <tessera/dlpack.h>
#include <tessera/message.h>

#include <dlpack/dlpack.h>

#include <complex>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

namespace tessera::inline v0 {

namespace {

constexpr std::uint8_t kBool = 6;  // not in the packaged header

struct Row {
  DType dtype;
  std::uint8_t code, bits;
};
constexpr Row kRows[] = {
    {DType::boolean, kBool, 8},           {DType::int8, kDLInt, 8},
    {DType::int16, kDLInt, 16},           {DType::int32, kDLInt, 32},
    {DType::int64, kDLInt, 64},           {DType::uint8, kDLUInt, 8},
    {DType::uint16, kDLUInt, 16},         {DType::uint32, kDLUInt, 32},
    {DType::uint64, kDLUInt, 64},         {DType::float16, kDLFloat, 16},
    {DType::bfloat16, kDLBfloat, 16},     {DType::float32, kDLFloat, 32},
    {DType::float64, kDLFloat, 64},       {DType::complex64, kDLComplex, 64},
    {DType::complex128, kDLComplex, 128},
};
static_assert(std::size(kRows) == kDTypeCount);

struct View {
  DLManagedTensor tensor;
  Array array;
  std::vector<std::int64_t> shape, strides;
};

// A tensor that was handed over; it is released with the last array that reads it.
using Held = std::shared_ptr<DLManagedTensor>;
void give_back(DLManagedTensor* tensor) {
  if (tensor->deleter) tensor->deleter(tensor);
}

std::string described(const DLDataType& d) {
  return "code " + std::to_string(d.code) + ", " + std::to_string(d.bits) + " bits, " +
         std::to_string(d.lanes) + (d.lanes == 1 ? " lane" : " lanes");
}

template <class E>
[[noreturn]] void refuse_tensor(const SourceLoc& loc, const std::string& problem,
                                const std::string& rule, const std::string& advice) {
  Message("from_dlpack").problem(problem).rule(rule).from(loc).advice(advice).raise<E>();
}

DType dtype_of(const DLDataType& d, const SourceLoc& loc) {
  for (const Row& row : kRows)
    if (d.code == row.code && d.bits == row.bits && d.lanes == 1) return row.dtype;
  refuse_tensor<DTypeError>(
      loc, "the tensor's elements are of " + described(d),
      "elements are booleans, integers of 8 to 64 bits, float16, bfloat16, float32, "
      "float64, complex64 or complex128, of one lane",
      "convert the tensor before it is handed over");
}

Shape shape_of(const DLTensor& t, DType dtype, const SourceLoc& loc) {
  const bool ranked = t.ndim >= 0 && (t.ndim == 0 || t.shape);
  Shape shape;
  for (int d = 0; ranked && d < t.ndim; ++d) shape.push_back(t.shape[d]);
  std::int64_t bytes = size_of(dtype);
  bool fits = ranked, empty = false;
  for (std::int64_t n : shape) {
    fits = fits && n >= 0;
    empty = empty || n == 0;
  }
  for (std::int64_t n : shape) fits = fits && (empty || !__builtin_mul_overflow(bytes, n, &bytes));
  if (!fits)
    refuse_tensor<ShapeError>(
        loc,
        ranked ? "the tensor is of shape " + to_string(shape)
               : "the tensor is of rank " + std::to_string(t.ndim) + " without a shape",
        "extents are 0 or more, and their bytes less than 2^63", "check how the tensor is made");
  return shape;
}

bool is_row_major(const DLTensor& t) {
  if (!t.strides) return true;
  std::int64_t expected = 1;
  for (int d = t.ndim - 1; d >= 0; --d) {
    if (t.shape[d] != 1 && t.strides[d] != expected) return false;
    expected *= t.shape[d];
  }
  return true;
}

// Copies elements into row-major order from strides, which may be negative.
std::vector<char> dense(const DLTensor& t, const char* from, std::int64_t size,
                        std::int64_t count) {
  std::vector<char> to(static_cast<std::size_t>(count * size));
  std::vector<std::int64_t> at(static_cast<std::size_t>(t.ndim), 0);
  std::int64_t offset = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    std::memcpy(to.data() + i * size, from + offset * size, static_cast<std::size_t>(size));
    for (int d = t.ndim - 1; d >= 0; --d) {
      auto& k = at[static_cast<std::size_t>(d)];
      offset += t.strides[d];
      if (++k < t.shape[d]) break;
      offset -= t.strides[d] * k;
      k = 0;
    }
  }
  return to;
}

}  // namespace

DLManagedTensor* to_dlpack(const Array& x, std::source_location loc) {
  const InFunction called("to_dlpack", loc);
  auto view = std::make_unique<View>();
  view->array = x;
  view->shape = x.shape().to_vector();
  view->strides = x.shape().strides().to_vector();
  DLTensor& t = view->tensor.dl_tensor;
  t = {};
  t.device = {kDLCPU, 0};
  t.ndim = static_cast<std::int32_t>(view->shape.size());
  t.shape = view->shape.data();
  t.strides = view->strides.data();
  for (const Row& row : kRows)
    if (row.dtype == x.dtype(loc)) t.dtype = {row.code, row.bits, 1};
  dispatch(x.dtype(), [&](auto tag) {
    // DLPack has no read-only pointers.
    t.data = const_cast<void*>(static_cast<const void*>(x.host<decltype(tag)>(loc).data()));
  });
  view->tensor.manager_ctx = view.get();
  view->tensor.deleter = [](DLManagedTensor* self) {
    delete static_cast<View*>(self->manager_ctx);
  };
  return &view.release()->tensor;
}

Array from_dlpack(DLManagedTensor* tensor, std::source_location loc) {
  const InFunction called("from_dlpack", loc);
  if (!tensor)
    refuse_tensor<Error>(loc, "there is no tensor",
                         "from_dlpack takes a tensor that someone handed over",
                         "check that it was not taken over before");
  const Held held(tensor, give_back);
  const DLTensor& t = tensor->dl_tensor;
  if (t.device.device_type != kDLCPU && t.device.device_type != kDLCUDAHost &&
      t.device.device_type != kDLROCMHost)
    refuse_tensor<Error>(loc,
                         "the tensor is in memory of kind " +
                             std::to_string(static_cast<int>(t.device.device_type)) + " of DLPack",
                         "memory that the CPU reads is of kind " + std::to_string(int{kDLCPU}) +
                             ", " + std::to_string(int{kDLCUDAHost}) + " or " +
                             std::to_string(int{kDLROCMHost}),
                         "move the tensor to the CPU first");
  const DType dtype = dtype_of(t.dtype, loc);
  const Shape shape = shape_of(t, dtype, loc);
  const std::int64_t count = shape.count();
  if (count == 0) return Array::from_bytes(dtype, shape, nullptr);
  if (!t.data)
    refuse_tensor<Error>(loc, "the tensor of shape " + to_string(shape) + " has no memory",
                         "a tensor with elements has memory", "check how the tensor is made");
  char* data = static_cast<char*>(t.data) + t.byte_offset;
  if (is_row_major(t)) return Array::adopt(dtype, shape, data, held);
  return Array::from_bytes(dtype, shape, dense(t, data, size_of(dtype), count).data());
}

}  // namespace tessera::inline v0
