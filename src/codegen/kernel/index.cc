#include "codegen/kernel/index.h"

#include "base/thread_kept.h"

#include <algorithm>
#include <deque>
#include <map>
#include <numeric>
#include <tuple>
#include <unordered_map>

namespace tessera::inline v0::codegen {

struct IndexArena::Tables {
  std::deque<Atom> atoms;
  std::deque<Index::Node> nodes;
  std::unordered_multimap<std::uint64_t, const Index::Node*> interned;
  std::map<std::tuple<Atom::Kind, const Index::Node*, std::int64_t>, const Atom*> divided;
};

namespace {

thread_local IndexArena::Tables* current_tables = nullptr;

std::int64_t div_floor(std::int64_t a, std::int64_t b) {
  return a / b - ((a % b != 0 && a < 0) ? 1 : 0);
}
std::int64_t mod_floor(std::int64_t a, std::int64_t b) { return a - b * div_floor(a, b); }

Index as_index(const Index::Node* node) {
  // The arena owns the node, so a pointer without a reference count is cheap to copy.
  return Index(std::shared_ptr<const Index::Node>(std::shared_ptr<const Index::Node>(), node));
}

const Index::Node* intern(std::int64_t constant, std::vector<Term>&& terms) {
  IndexArena::Tables& t = IndexArena::current();
  std::uint64_t h = static_cast<std::uint64_t>(constant) * 0x9e3779b97f4a7c15u;
  for (const auto& [atom, c] : terms) {
    h = (h ^ static_cast<std::uint64_t>(atom->id)) * 0xff51afd7ed558ccdu;
    h = (h ^ (h >> 32) ^ static_cast<std::uint64_t>(c)) * 0xc4ceb9fe1a85ec53u;
  }
  auto [first, last] = t.interned.equal_range(h);
  for (auto it = first; it != last; ++it)
    if (it->second->constant == constant && it->second->terms == terms) return it->second;
  Index::Node& n = t.nodes.emplace_back();
  n.constant = n.lo = n.hi = constant;
  n.terms = std::move(terms);
  for (const auto& [atom, c] : n.terms) {
    n.lo += c * (c > 0 ? atom->lo : atom->hi);
    n.hi += c * (c > 0 ? atom->hi : atom->lo);
  }
  t.interned.emplace(h, &n);
  return &n;
}

Index of_atom(const Atom* atom) { return as_index(intern(0, {{atom, 1}})); }

const Atom* divided_atom(Atom::Kind kind, const Index::Node* inner, std::int64_t divisor) {
  IndexArena::Tables& t = IndexArena::current();
  auto [it, fresh] = t.divided.try_emplace({kind, inner, divisor}, nullptr);
  if (!fresh) return it->second;
  Atom& a = t.atoms.emplace_back();
  it->second = &a;
  a.kind = kind;
  a.id = static_cast<int>(t.atoms.size());
  a.inner = inner;
  a.divisor = divisor;
  if (kind == Atom::Kind::quotient) {
    a.lo = div_floor(inner->lo, divisor);
    a.hi = div_floor(inner->hi, divisor);
  } else {
    a.lo = 0;
    a.hi = std::min(divisor - 1, inner->hi);
    a.partner = single_atom(floor_div(as_index(inner), divisor));
  }
  return &a;
}

// a = divisor * whole + rest, where the constant of `rest` lies in [0, divisor).
struct Parts {
  Index whole, rest;
};
Parts split(const Index& a, std::int64_t divisor) {
  const Index::Node* n = node_of(a);
  std::vector<Term> whole, rest;
  for (const Term& t : n->terms) {
    if (t.second % divisor == 0)
      whole.emplace_back(t.first, t.second / divisor);
    else
      rest.push_back(t);
  }
  return {make_sum(div_floor(n->constant, divisor), std::move(whole)),
          make_sum(mod_floor(n->constant, divisor), std::move(rest))};
}

// The largest divisor g of `divisor` such that rest = g * A + B with 0 <= B < g; at least 1.
std::int64_t common_step(const Index& rest, std::int64_t divisor) {
  std::int64_t best = 1;
  for (const auto& [atom, c] : node_of(rest)->terms) {
    std::int64_t g = std::gcd(divisor, c);
    if (g <= best) continue;
    const Index::Node* b = node_of(split(rest, g).rest);
    if (b->lo >= 0 && b->hi < g) best = g;
  }
  return best;
}

// Adds a multiple of the divisor to make the value non-negative; returns the multiple.
std::int64_t lift(Index& rest, std::int64_t divisor) {
  std::int64_t lo = node_of(rest)->lo;
  std::int64_t m = lo < 0 ? -div_floor(lo, divisor) : 0;
  if (m) rest = rest + Index(m * divisor);
  return m;
}

}  // namespace

IndexArena::IndexArena() : tables_(new Tables), outer_(current_tables) { current_tables = tables_; }
IndexArena::~IndexArena() {
  current_tables = outer_;
  delete tables_;
}
IndexArena::Tables& IndexArena::current() {
  if (!current_tables) {
    static thread_local const ThreadKept<Tables> fallback;
    return *fallback;
  }
  return *current_tables;
}

const Index::Node* node_of(const Index& index) {
  return index.node() ? index.node() : intern(0, {});
}

Index make_variable(std::int64_t extent, const void* where) {
  if (extent == 1) return Index(0);
  IndexArena::Tables& t = IndexArena::current();
  Atom& a = t.atoms.emplace_back();
  a.id = static_cast<int>(t.atoms.size());
  a.hi = extent - 1;
  a.where = where;
  return of_atom(&a);
}

Index make_datum(const Lane& lane, std::int64_t lo, std::int64_t hi, const void* where) {
  IndexArena::Tables& t = IndexArena::current();
  Atom& a = t.atoms.emplace_back();
  a.kind = Atom::Kind::data;
  a.id = static_cast<int>(t.atoms.size());
  a.lo = lo;
  a.hi = hi;
  a.where = where;
  a.lane = lane;
  return of_atom(&a);
}

Index make_sum(std::int64_t constant, std::vector<Term> terms) {
  std::sort(terms.begin(), terms.end(),
            [](const Term& a, const Term& b) { return a.first->id < b.first->id; });
  std::size_t out = 0;
  for (std::size_t i = 0; i < terms.size();) {
    Term t = terms[i++];
    while (i < terms.size() && terms[i].first == t.first) t.second += terms[i++].second;
    if (t.second && t.first->lo == t.first->hi)
      constant += t.second * t.first->lo;
    else if (t.second)
      terms[out++] = t;
  }
  terms.resize(out);
  // b * k * (x div k) + b * (x mod k) = b * x
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const Atom* r = terms[i].first;
    if (r->kind != Atom::Kind::remainder || !r->partner) continue;
    for (std::size_t j = 0; j < terms.size(); ++j) {
      if (terms[j].first != r->partner || terms[j].second != terms[i].second * r->divisor) continue;
      std::int64_t b = terms[i].second;
      std::vector<Term> joined;
      for (std::size_t k = 0; k < terms.size(); ++k)
        if (k != i && k != j) joined.push_back(terms[k]);
      for (const auto& [atom, c] : r->inner->terms) joined.emplace_back(atom, b * c);
      return make_sum(constant + b * r->inner->constant, std::move(joined));
    }
  }
  return as_index(intern(constant, std::move(terms)));
}

const Atom* single_atom(const Index& i) {
  const Index::Node* n = node_of(i);
  return n->constant == 0 && n->terms.size() == 1 && n->terms[0].second == 1 ? n->terms[0].first
                                                                             : nullptr;
}

std::int64_t coefficient(const Index::Node* node, const Atom* atom) {
  for (const auto& [a, c] : node->terms)
    if (a == atom) return c;
  return 0;
}

bool depends_on(const Index::Node* node, const Atom* atom) {
  for (const auto& [a, c] : node->terms)
    if (a == atom || (a->inner && depends_on(a->inner, atom))) return true;
  return false;
}

bool depends_nonlinearly(const Index::Node* node, const Atom* atom) {
  for (const auto& [a, c] : node->terms)
    if (a->inner && depends_on(a->inner, atom)) return true;
  return false;
}

Index substitute(const Index& index, const Atom* atom, const Index& by) {
  const Index::Node* n = node_of(index);
  if (!depends_on(n, atom)) return index;
  Index sum(n->constant);
  for (const auto& [a, c] : n->terms) {
    Index term = of_atom(a);
    if (a == atom) {
      term = by;
    } else if (a->inner && depends_on(a->inner, atom)) {
      Index inner = substitute(as_index(a->inner), atom, by);
      term = a->kind == Atom::Kind::quotient ? floor_div(inner, a->divisor)
                                             : floor_mod(inner, a->divisor);
    }
    sum = sum + term * c;
  }
  return sum;
}

Index flatten(std::span<const Index> at, std::span<const std::int64_t> shape) {
  Index flat;
  for (std::size_t d = 0; d < shape.size(); ++d) flat = flat * shape[d] + at[d];
  return flat;
}

std::vector<Index> unflatten(const Index& flat, std::span<const std::int64_t> shape) {
  std::vector<Index> at(shape.size());
  std::int64_t stride = 1;
  for (std::size_t d = shape.size(); d-- > 0; stride *= shape[d])
    at[d] = shape[d] == 1 ? Index(0) : floor_mod(floor_div(flat, stride), shape[d]);
  return at;
}

}  // namespace tessera::inline v0::codegen

namespace tessera::inline v0 {

using codegen::node_of;
using codegen::Term;

Index::Index(std::int64_t constant) : Index(codegen::make_sum(constant, {})) {}

Index operator+(const Index& a, const Index& b) {
  std::vector<Term> terms = node_of(a)->terms;
  terms.insert(terms.end(), node_of(b)->terms.begin(), node_of(b)->terms.end());
  return codegen::make_sum(node_of(a)->constant + node_of(b)->constant, std::move(terms));
}
Index operator-(const Index& a, const Index& b) { return a + b * -1; }
Index operator*(const Index& a, std::int64_t b) {
  if (b == 0) return Index(0);
  std::vector<Term> terms = node_of(a)->terms;
  for (Term& t : terms) t.second *= b;
  return codegen::make_sum(node_of(a)->constant * b, std::move(terms));
}

// A quotient or remainder by 0 belongs to an array without elements and is never evaluated.
Index floor_div(const Index& a, std::int64_t b) {
  using namespace codegen;
  if (b == 1) return a;
  if (b == 0) return Index(0);
  auto [whole, rest] = split(a, b);
  const Index::Node* r = node_of(rest);
  if (div_floor(r->lo, b) == div_floor(r->hi, b)) return whole + Index(div_floor(r->lo, b));
  if (std::int64_t g = common_step(rest, b); g > 1)
    return whole + floor_div(split(rest, g).whole, b / g);
  std::int64_t m = lift(rest, b);
  if (const Atom* q = single_atom(rest); q && q->kind == Atom::Kind::quotient)
    return whole + floor_div(as_index(q->inner), q->divisor * b);
  return whole + of_atom(divided_atom(Atom::Kind::quotient, node_of(rest), b)) - Index(m);
}

Index floor_mod(const Index& a, std::int64_t b) {
  using namespace codegen;
  if (b == 1 || b == 0) return Index(0);
  Index rest = split(a, b).rest;
  const Index::Node* r = node_of(rest);
  if (std::int64_t q = div_floor(r->lo, b); q == div_floor(r->hi, b)) return rest - Index(q * b);
  if (std::int64_t g = common_step(rest, b); g > 1) {
    auto [steps, low] = split(rest, g);
    return floor_mod(steps, b / g) * g + low;
  }
  lift(rest, b);
  if (const Atom* q = single_atom(rest);
      q && q->kind == Atom::Kind::remainder && q->divisor % b == 0)
    return floor_mod(as_index(q->inner), b);
  return of_atom(divided_atom(Atom::Kind::remainder, node_of(rest), b));
}

}  // namespace tessera::inline v0
