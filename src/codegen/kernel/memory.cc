// Loads and stores of the kernel emitter, and the addresses of its buffers.
#include "codegen/kernel/scopes.h"

#include <algorithm>
#include <cstring>

namespace tessera::inline v0::codegen {

// Loads elements at a small stride by loading whole vectors that cover exactly the range from the
// first element to the last, and shuffling out the elements.
llvm::Value* KernelEmitter::every_nth(llvm::Value* base, DType d, const Index& flat,
                                      std::int64_t stride) {
  int width = current_->width;
  llvm::Type *element = ops_.memory_type(d), *type = ops_.memory_type(d, width);
  llvm::Value* origin = b_->CreateInBoundsGEP(element, base, scalar(flat));
  llvm::Value* picked = nullptr;
  for (std::int64_t k = 0; k < stride; ++k) {
    std::int64_t start = k + 1 < stride ? k * width : (width - 1) * (stride - 1);
    llvm::Value* p =
        b_->CreateConstInBoundsGEP1_64(element, origin, static_cast<std::uint64_t>(start));
    llvm::Value* v =
        b_->CreateAlignedLoad(type, p, llvm::Align(static_cast<std::uint64_t>(size_of(d))));
    std::vector<int> from;
    for (int l = 0; l < width; ++l) {
      std::int64_t at = l * stride - start;
      bool here = at >= 0 && at < width && (l * stride >= k * width);
      from.push_back(here ? width + static_cast<int>(at) : l);
    }
    picked = b_->CreateShuffleVector(picked ? picked : llvm::PoisonValue::get(type), v, from);
  }
  return picked;
}

// Complex elements are two real numbers. If elements are not adjacent, each part is loaded
// separately.
Lane KernelEmitter::load_complex(llvm::Value* base, DType d, const Index& flat) {
  const DType real = real_dtype(d);
  if (!varying(flat) || lane_stride(flat) != 1) {
    const Index first = flat * 2;
    Lane re = load(base, real, first);
    return ops_.binary(Arith::complex, re, load(base, real, first + Index(1)));
  }
  const int width = current_->width;
  llvm::Type *element = ops_.memory_type(d), *type = ops_.memory_type(real, 2 * width);
  llvm::Value* p = b_->CreateInBoundsGEP(element, base, scalar(flat));
  llvm::Align align(static_cast<std::uint64_t>(size_of(real)));
  llvm::Value* v =
      current_->mask
          ? static_cast<llvm::Value*>(b_->CreateMaskedLoad(type, p, align, twice(current_->mask),
                                                           llvm::Constant::getNullValue(type)))
          : b_->CreateAlignedLoad(type, p, align);
  std::vector<int> even, odd;
  for (int l = 0; l < width; ++l) even.push_back(2 * l), odd.push_back(2 * l + 1);
  return ops_.lane(ops_.joined(b_->CreateShuffleVector(v, even), b_->CreateShuffleVector(v, odd)),
                   d);
}

// Repeats each lane of a vector twice.
llvm::Value* KernelEmitter::twice(llvm::Value* v) {
  std::vector<int> lanes;
  for (int l = 0; l < width_of(v); ++l) lanes.insert(lanes.end(), {l, l});
  return b_->CreateShuffleVector(v, lanes);
}

void KernelEmitter::store_complex(llvm::Value* base, const Index& flat, const Lane& x) {
  const DType real = real_dtype(x.dtype);
  if (!current_->vec || lane_stride(flat) != 1) {
    const Index first = flat * 2;
    store(base, first, ops_.unary(Arith::real, x));
    store(base, first + Index(1), ops_.unary(Arith::imag, x));
    return;
  }
  const int width = current_->width;
  llvm::Value* v = ops_.vector(x, width);
  std::vector<int> lanes;
  for (int l = 0; l < width; ++l) lanes.insert(lanes.end(), {l, width + l});
  v = b_->CreateShuffleVector(ops_.part(v, 0), ops_.part(v, 1), lanes);
  llvm::Value* p = b_->CreateInBoundsGEP(ops_.memory_type(x.dtype), base, scalar(flat));
  llvm::Align align(static_cast<std::uint64_t>(size_of(real)));
  if (current_->mask)
    b_->CreateMaskedStore(v, p, align, twice(current_->mask));
  else
    b_->CreateAlignedStore(v, p, align);
}

Lane KernelEmitter::load(llvm::Value* base, DType d, const Index& flat) {
  if (is_complex(d)) return load_complex(base, d, flat);
  llvm::Type* element = ops_.memory_type(d);
  llvm::Align align(static_cast<std::uint64_t>(size_of(d)));
  if (!varying(flat)) {
    llvm::Value* p = b_->CreateInBoundsGEP(element, base, scalar(flat));
    return ops_.from_memory(b_->CreateAlignedLoad(element, p, align), d, 0);
  }
  int width = current_->width;
  llvm::Value* mask = current_->mask;
  llvm::Type* type = ops_.memory_type(d, width);
  llvm::Value* none = llvm::Constant::getNullValue(type);
  std::optional<std::int64_t> steady = lane_stride(flat);
  std::int64_t stride = steady.value_or(0);
  bool strided = steady.has_value();
  if (strided && (stride == 1 || stride == -1)) {
    std::vector<int> backwards;
    for (int i = width; i-- > 0;) backwards.push_back(i);
    bool reversed = stride == -1;
    llvm::Value* p =
        b_->CreateInBoundsGEP(element, base, scalar(reversed ? flat - Index(width - 1) : flat));
    if (mask && reversed) mask = b_->CreateShuffleVector(mask, backwards);
    llvm::Value* v =
        mask ? static_cast<llvm::Value*>(b_->CreateMaskedLoad(type, p, align, mask, none))
             : b_->CreateAlignedLoad(type, p, align);
    if (reversed) v = b_->CreateShuffleVector(v, backwards);
    return ops_.from_memory(v, d, width);
  }
  if (strided) {
    if (llvm::Value* v = from_tile(base, d, flat, stride)) return ops_.from_memory(v, d, width);
    if (stride >= 2 && stride <= 4 && !mask)
      return ops_.from_memory(every_nth(base, d, flat, stride), d, width);
  }
  llvm::Value* origin = strided ? b_->CreateInBoundsGEP(element, base, scalar(flat)) : base;
  llvm::Value* offsets = strided ? nullptr : lanes(flat, fits_narrow(node_of(flat)));
  if (!mask) {
    // One load per lane is at least as fast as the gather instructions, and much faster on some
    // processors.
    llvm::Value* v = llvm::PoisonValue::get(type);
    for (int l = 0; l < width; ++l) {
      llvm::Value* p = strided ? b_->CreateConstInBoundsGEP1_64(
                                     element, origin, static_cast<std::uint64_t>(l * stride))
                               : b_->CreateInBoundsGEP(element, origin,
                                                       b_->CreateExtractElement(
                                                           offsets, static_cast<std::uint64_t>(l)));
      v = b_->CreateInsertElement(v, b_->CreateAlignedLoad(element, p, align),
                                  static_cast<std::uint64_t>(l));
    }
    return ops_.from_memory(v, d, width);
  }
  if (strided) {
    bool narrow = std::abs(stride) * width <= kNarrowMax;
    std::vector<llvm::Constant*> steps;
    for (int i = 0; i < width; ++i)
      steps.push_back(llvm::ConstantInt::get(narrow ? b_->getInt32Ty() : b_->getInt64Ty(),
                                             static_cast<std::uint64_t>(i * stride), true));
    offsets = llvm::ConstantVector::get(steps);
  }
  llvm::Value* pointers = b_->CreateInBoundsGEP(element, origin, offsets);
  return ops_.from_memory(b_->CreateMaskedGather(type, pointers, align, mask, none), d, width);
}

// Marks whole-vector stores of a stage's results as non-temporal. They are aligned to their size,
// up to a cache line.
void KernelEmitter::mark_past_caches(llvm::StoreInst* store) {
  const std::uint64_t bytes =
      module_.getDataLayout().getTypeStoreSize(store->getValueOperand()->getType());
  if (!past_caches_ || bytes < 16) return;
  store->setAlignment(llvm::Align(std::min<std::uint64_t>(64, bytes)));
  llvm::LLVMContext& c = module_.getContext();
  store->setMetadata(llvm::LLVMContext::MD_nontemporal,
                     llvm::MDNode::get(c, llvm::ConstantAsMetadata::get(b_->getInt32(1))));
}

void KernelEmitter::store(llvm::Value* base, const Index& flat, const Lane& x) {
  if (is_complex(x.dtype)) return store_complex(base, flat, x);
  llvm::Type* element = ops_.memory_type(x.dtype);
  llvm::Align align(static_cast<std::uint64_t>(size_of(x.dtype)));
  int width = current_->width;
  llvm::Value* p = b_->CreateInBoundsGEP(element, base, scalar(flat));
  if (!current_->vec) {
    b_->CreateAlignedStore(ops_.to_memory(x), p, align);
    return;
  }
  llvm::Value* v =
      ops_.to_memory(LaneOps::value(x).width ? x : ops_.lane(ops_.vector(x, width), x.dtype));
  if (lane_stride(flat) == 1) {
    if (current_->mask)
      b_->CreateMaskedStore(v, p, align, current_->mask);
    else
      mark_past_caches(b_->CreateAlignedStore(v, p, align));
    return;
  }
  llvm::Value* pointers =
      b_->CreateInBoundsGEP(element, base, lanes(flat, fits_narrow(node_of(flat))));
  b_->CreateMaskedScatter(v, pointers, align, current_->mask);
}

llvm::Value* KernelEmitter::root_value(int kind, std::size_t i,
                                       const std::function<llvm::Value*()>& make) {
  llvm::Value*& v = root_values_[{kind, i}];
  if (!v) v = in_scope(root_, make);
  return v;
}
llvm::Value* KernelEmitter::input_pointer(std::size_t i) {
  return root_value(0, i, [&]() -> llvm::Value* {
    return b_->CreateLoad(b_->getPtrTy(),
                          b_->CreateConstInBoundsGEP1_64(b_->getPtrTy(), function_->getArg(0), i));
  });
}
llvm::Value* KernelEmitter::output_pointer(std::size_t i) {
  return root_value(1, i, [&]() -> llvm::Value* {
    return b_->CreateLoad(b_->getPtrTy(),
                          b_->CreateConstInBoundsGEP1_64(b_->getPtrTy(), function_->getArg(1), i));
  });
}
llvm::Value* KernelEmitter::scratch_pointer(std::size_t offset) {
  return root_value(2, offset, [&] {
    return b_->CreateConstInBoundsGEP1_64(b_->getInt8Ty(), function_->getArg(2), offset);
  });
}

std::optional<Lane> KernelEmitter::from_buffer(Var v, std::span<const Index> at) {
  const Type& t = program_.type(v);
  auto flat = [&] { return flatten(at, t.shape); };
  if (!producer(v)) {
    auto i = std::find(program_.inputs.begin(), program_.inputs.end(), v) - program_.inputs.begin();
    return load(input_pointer(static_cast<std::size_t>(i)), t.dtype, flat());
  }
  if (stage_->stored.contains(v)) {
    auto o =
        std::find(program_.outputs.begin(), program_.outputs.end(), v) - program_.outputs.begin();
    return load(output_pointer(static_cast<std::size_t>(o)), t.dtype, flat());
  }
  if (!stage_->reduced.contains(v)) return std::nullopt;
  const SplitReduction* s = split_of(producer(v));
  if (!s->combined || stage_->kind == StageSchedule::Kind::totals) return std::nullopt;
  return load(scratch_pointer(s->total), t.dtype, flat());
}

Lane KernelEmitter::literal(const Literal& literal, std::span<const Index> at) {
  auto size = static_cast<std::size_t>(size_of(literal.dtype));
  const std::byte* bytes = literal.bytes->data();
  auto n = static_cast<std::size_t>(literal.shape.count());
  bool uniform = true;
  for (std::size_t i = 1; i < n && uniform; ++i)
    uniform = std::memcmp(bytes, bytes + i * size, size) == 0;
  if (uniform) {
    return dispatch(literal.dtype, [&](auto tag) {
      using T = decltype(tag);
      T x;
      std::memcpy(&x, bytes, sizeof x);
      if constexpr (std::is_same_v<T, float16_t> || std::is_same_v<T, bfloat16_t>)
        return constant(literal.dtype, static_cast<double>(static_cast<float>(x)));
      else if constexpr (std::is_floating_point_v<T>)
        return constant(literal.dtype, static_cast<double>(x));
      else if constexpr (is_complex_v<T>)
        return binary(Arith::complex,
                      constant(real_dtype(literal.dtype), static_cast<double>(x.real())),
                      constant(real_dtype(literal.dtype), static_cast<double>(x.imag())));
      else
        return constant(literal.dtype, static_cast<std::int64_t>(x));
    });
  }
  llvm::StringRef raw(reinterpret_cast<const char*>(bytes), n * size);
  llvm::Constant* data = llvm::ConstantDataArray::getString(module_.getContext(), raw, false);
  auto* global = new llvm::GlobalVariable(
      module_, data->getType(), true, llvm::GlobalValue::InternalLinkage, data,
      function_->getName() + "_literal" + std::to_string(globals_++));
  global->setAlignment(llvm::Align(64));
  return load(global, literal.dtype, flatten(at, literal.shape));
}

}  // namespace tessera::inline v0::codegen
