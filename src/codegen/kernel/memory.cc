// Indices as machine integers, loads and stores of the kernel emitter.
#include "codegen/kernel/scopes.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace tessera::inline v0::codegen {

namespace {

constexpr std::int64_t kNarrowMax = std::numeric_limits<std::int32_t>::max();

Index of_node(const Index::Node* n) {
  return Index(std::shared_ptr<const Index::Node>(std::shared_ptr<const Index::Node>(), n));
}

int depth_of(const Index::Node* n) {
  int depth = 0;
  for_each_leaf(n, [&](const Atom& a) {
    if (auto* s = static_cast<const Scope*>(a.where)) depth = std::max(depth, s->depth);
  });
  return depth;
}
int depth_of(const Atom& a) {
  if (a.inner) return depth_of(a.inner);
  auto* s = static_cast<const Scope*>(a.where);
  return s ? s->depth : 0;
}

}  // namespace

// Whether the vectorised variable runs through a quotient's or remainder's period in whole vectors:
// it always starts at a multiple of the width, so that the quotient is the same for all lanes and
// the remainder grows by one.
bool KernelEmitter::aligned(const Atom& a) const {
  const Atom* vec = current_->vec;
  int width = current_->width;
  if (!vec || a.divisor % width || a.inner->constant % width) return false;
  return std::all_of(a.inner->terms.begin(), a.inner->terms.end(), [&](const Term& t) {
    if (t.first == vec) return t.second == 1;
    return t.second % width == 0 && !varying(*t.first);
  });
}

bool KernelEmitter::varying(const Atom& a) const {
  if (&a == current_->vec) return true;
  if (a.kind == Atom::Kind::data) return LaneOps::value(a.lane).width > 0;
  if (!a.inner || !varying(a.inner)) return false;
  return a.kind == Atom::Kind::remainder || !aligned(a);
}
bool KernelEmitter::varying(const Index::Node* n) const {
  return std::any_of(n->terms.begin(), n->terms.end(),
                     [&](const Term& t) { return varying(*t.first); });
}
bool KernelEmitter::varying(const Index& i) const { return varying(node_of(i)); }

// How much the index grows from lane to lane, where that is the same for all.
std::optional<std::int64_t> KernelEmitter::lane_stride(const Index& i) const {
  std::int64_t stride = 0;
  for (const auto& [atom, c] : node_of(i)->terms) {
    if (!varying(*atom)) continue;
    bool steady = atom == current_->vec || (atom->kind == Atom::Kind::remainder && aligned(*atom));
    if (!steady) return std::nullopt;
    stride += c;
  }
  return stride;
}

bool KernelEmitter::fits_narrow(const Index::Node* n) const {
  if (n->lo < -kNarrowMax || n->hi > kNarrowMax) return false;
  return std::all_of(n->terms.begin(), n->terms.end(), [&](const Term& t) {
    return std::abs(t.second) <= kNarrowMax &&
           (!t.first->inner || (t.first->divisor <= kNarrowMax && fits_narrow(t.first->inner)));
  });
}

llvm::Value* KernelEmitter::scalar_atom(const Atom& a) {
  const Index::Node* n = node_of(make_sum(0, {{&a, 1}}));
  for (Scope* s = current_; s; s = s->parent)
    if (auto it = s->scalars.find(n); it != s->scalars.end()) return it->second;
  if (a.kind == Atom::Kind::data) return LaneOps::value(a.lane).v;
  if (!a.inner) throw InternalError("emitter: a loop variable is used outside its loop");
  llvm::Value* inner = scalar(of_node(a.inner));
  llvm::Value* by = b_->getInt64(static_cast<std::uint64_t>(a.divisor));
  return a.kind == Atom::Kind::quotient ? b_->CreateUDiv(inner, by) : b_->CreateURem(inner, by);
}

// At lane 0 where the index varies over the lanes.
llvm::Value* KernelEmitter::scalar(const Index& i) {
  const Index::Node* n = node_of(i);
  if (n->terms.empty()) return b_->getInt64(static_cast<std::uint64_t>(n->constant));
  for (Scope* s = current_; s; s = s->parent)
    if (auto it = s->scalars.find(n); it != s->scalars.end()) return it->second;
  int depth = depth_of(n);
  Scope* home = current_;
  while (home->depth > depth) home = home->parent;
  std::vector<Term> here, outside;
  for (const Term& t : n->terms) (depth_of(*t.first) == depth ? here : outside).push_back(t);
  Index rest = make_sum(n->constant, outside);
  llvm::Value* v = in_scope(home, [&] {
    llvm::Value* sum = is_constant(rest) && node_of(rest)->constant == 0 ? nullptr : scalar(rest);
    for (const auto& [atom, c] : here) {
      llvm::Value* t = scalar_atom(*atom);
      if (c != 1)
        t = b_->CreateMul(t, b_->getInt64(static_cast<std::uint64_t>(c)), "", false, true);
      sum = sum ? b_->CreateAdd(sum, t, "", false, true) : t;
    }
    return sum;
  });
  home->scalars[n] = v;
  return v;
}

llvm::Value* KernelEmitter::lanes_of_atom(const Atom& a, bool narrow) {
  llvm::Type* element = narrow ? b_->getInt32Ty() : b_->getInt64Ty();
  llvm::Type* type = llvm::FixedVectorType::get(element, static_cast<unsigned>(current_->width));
  if (&a == current_->vec) {
    std::vector<llvm::Constant*> iota;
    for (int i = 0; i < current_->width; ++i)
      iota.push_back(llvm::ConstantInt::get(element, static_cast<std::uint64_t>(i)));
    llvm::Value* start = b_->CreateTrunc(scalar_atom(a), element);
    return b_->CreateAdd(ops_.splat(start, current_->width), llvm::ConstantVector::get(iota));
  }
  if (a.kind == Atom::Kind::data)
    return b_->CreateSExtOrTrunc(ops_.splat(LaneOps::value(a.lane).v, current_->width), type);
  llvm::Value* inner = lanes(of_node(a.inner), narrow);
  llvm::Value* by = llvm::ConstantInt::get(type, static_cast<std::uint64_t>(a.divisor));
  return a.kind == Atom::Kind::quotient ? b_->CreateUDiv(inner, by) : b_->CreateURem(inner, by);
}

llvm::Value* KernelEmitter::lanes(const Index& i, bool narrow) {
  const Index::Node* n = node_of(i);
  llvm::Type* element = narrow ? b_->getInt32Ty() : b_->getInt64Ty();
  llvm::Type* type = llvm::FixedVectorType::get(element, static_cast<unsigned>(current_->width));
  for (Scope* s = current_; s; s = s->parent)
    if (auto it = s->vectors.find(n); it != s->vectors.end() && it->second->getType() == type)
      return it->second;
  std::vector<Term> same, differ;
  for (const Term& t : n->terms) (varying(*t.first) ? differ : same).push_back(t);
  llvm::Value* base = b_->CreateTrunc(scalar(make_sum(n->constant, same)), element);
  llvm::Value* sum = ops_.splat(base, current_->width);
  for (const auto& [atom, c] : differ) {
    llvm::Value* t = lanes_of_atom(*atom, narrow);
    if (c != 1)
      t = b_->CreateMul(t, llvm::ConstantInt::get(type, static_cast<std::uint64_t>(c), true));
    sum = b_->CreateAdd(sum, t);
  }
  current_->vectors[n] = sum;
  return sum;
}

// Elements at a small stride: whole vectors that cover exactly the elements between the first and
// the last, picked apart.
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

Lane KernelEmitter::load(llvm::Value* base, DType d, const Index& flat) {
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
    // One load a lane is not slower than the processors' gather instructions, and on some much
    // faster.
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

void KernelEmitter::store(llvm::Value* base, const Index& flat, const Lane& x) {
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
      b_->CreateAlignedStore(v, p, align);
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
  if (!s->combined || stage_->kind == StagePlan::Kind::totals) return std::nullopt;
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

Lane KernelEmitter::number(const Index& i, DType dtype) {
  if (!varying(i)) return convert(ops_.lane(scalar(i), DType::int64), dtype);
  bool narrow = fits_narrow(node_of(i));
  return convert(ops_.lane(lanes(i, narrow), narrow ? DType::int32 : DType::int64), dtype);
}

Index KernelEmitter::index(const Lane& number, std::int64_t lo, std::int64_t hi) {
  DType d = number.dtype;
  int bits = 8 * size_of(d);
  Lane x = number;
  if (is_signed_integer(d)) {
    std::int64_t most =
        bits == 64 ? std::numeric_limits<std::int64_t>::max() : (std::int64_t{1} << (bits - 1)) - 1;
    if (lo > -most - 1) x = binary(Arith::max, x, constant(d, lo));
    if (hi < most) x = binary(Arith::min, x, constant(d, hi));
  } else {
    if (lo > 0) x = binary(Arith::max, x, constant(d, lo));
    if (bits == 64 || hi < (std::int64_t{1} << bits) - 1)
      x = binary(Arith::min, x, constant(d, hi));
  }
  bool narrow = LaneOps::value(x).width && lo >= -kNarrowMax && hi <= kNarrowMax;
  return make_datum(convert(x, narrow ? DType::int32 : DType::int64), lo, hi, current_);
}

}  // namespace tessera::inline v0::codegen
