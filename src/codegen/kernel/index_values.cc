// Indices as machine integers: vectors if they differ between lanes, else scalars.
#include "codegen/kernel/scopes.h"

#include <algorithm>
#include <limits>

namespace tessera::inline v0::codegen {

namespace {

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

// Whether the vectorised variable passes through the period of a quotient or remainder in whole
// vectors. It always starts at a multiple of the width, so that the quotient is equal in all lanes
// and the remainder grows by one per lane.
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

// How much the index grows per lane, if that is the same for all lanes.
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

// The index as a scalar; if it varies over the lanes, its value in lane 0.
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
