#include "ir/program.h"

#include "ir/op.h"

#include <xxhash.h>

namespace tessera::inline v0 {

Equation::Equation() = default;
Equation::Equation(const Equation& other) = default;
Equation::Equation(Equation&& other) noexcept = default;
Equation& Equation::operator=(const Equation& other) = default;
Equation& Equation::operator=(Equation&& other) noexcept = default;
Equation::~Equation() = default;

std::vector<Type> Program::input_types() const {
  std::vector<Type> t;
  for (Var v : inputs) t.push_back(types[v]);
  return t;
}
std::vector<Type> Program::output_types() const {
  std::vector<Type> t;
  for (Var v : outputs) t.push_back(types[v]);
  return t;
}

namespace {

class Hasher {
 public:
  Hasher() : state_(XXH3_createState()) { XXH3_64bits_reset(state_); }
  ~Hasher() { XXH3_freeState(state_); }
  Hasher(const Hasher&) = delete;
  void bytes(const void* p, std::size_t n) { XXH3_64bits_update(state_, p, n); }
  template <class T>
  requires std::is_arithmetic_v<T>
  void add(T v) { bytes(&v, sizeof v); }
  void add(const std::string& s) {
    add(s.size());
    bytes(s.data(), s.size());
  }
  void add(DType d) { add(static_cast<int>(d)); }
  void add(const AxisSet& a) {
    add(a.size());
    for (const auto& n : a) add(n);
  }
  void add(const Type& t) {
    add(t.dtype);
    add(t.weak);
    add(t.shape.size());
    for (auto d : t.shape) add(d);
    add(t.varying);
  }
  void add(const Ints& v) {
    add(v.size());
    bytes(v.data(), v.size() * sizeof v[0]);
  }
  void add(const IntLists& v) {
    add(v.size());
    for (const auto& l : v) add(l);
  }
  void add(const Strings& v) {
    add(v.size());
    for (const auto& s : v) add(s);
  }
  void add(const Literal& l) {
    add(Type(l.dtype, l.shape));
    bytes(l.bytes->data(), l.bytes->size());
  }
  void add(const ProgramPtr& p) { add(p ? hash_of(*p) : 0); }
  void add(const Programs& ps) {
    add(ps.size());
    for (const auto& p : ps) add(p);
  }
  void add(const Spec& s) { add(s.hash()); }
  void add(const Specs& v) {
    add(v.size());
    for (const Spec& s : v) add(s);
  }
  void add(const MeshRef& m) { add(m.hash()); }
  // Hashes the name of the hook, which is the same in all processes; equality compares the
  // identity.
  void add(const HookPtr& h) { add(h ? h->name() : std::string()); }
  std::uint64_t digest() const { return XXH3_64bits_digest(state_); }

 private:
  XXH3_state_t* state_;
};

// Numbers variables in order of definition, so that gaps left by pruning do not matter.
std::vector<Var> canonical_numbers(const Program& p) {
  std::vector<Var> n(p.types.size());
  Var next = 0;
  for (Var v : p.inputs) n[v] = next++;
  for (const Equation& e : p.equations)
    for (Var v : e.outputs) n[v] = next++;
  return n;
}

}  // namespace

std::uint64_t hash_of(const Program& p) {
  Hasher h;
  std::vector<Var> number = canonical_numbers(p);
  h.add(p.inputs.size());
  for (Var v : p.inputs) h.add(p.types[v]);
  h.add(p.equations.size());
  for (const Equation& e : p.equations) {
    h.add(e.op->name);
    h.add(e.inputs.size());
    for (Var v : e.inputs) h.add(number[v]);
    for (Var v : e.outputs) h.add(p.types[v]);
    for (const auto& [name, value] : e.attrs) {
      h.add(name);
      h.add(value.index());
      std::visit([&](const auto& v) { h.add(v); }, value);
    }
  }
  h.add(p.outputs.size());
  for (Var v : p.outputs) h.add(number[v]);
  return h.digest();
}

bool same_structure(const Program& a, const Program& b) {
  if (a.inputs.size() != b.inputs.size() || a.equations.size() != b.equations.size() ||
      a.outputs.size() != b.outputs.size())
    return false;
  std::vector<Var> na = canonical_numbers(a), nb = canonical_numbers(b);
  for (std::size_t i = 0; i < a.inputs.size(); ++i)
    if (!(a.types[a.inputs[i]] == b.types[b.inputs[i]])) return false;
  for (std::size_t k = 0; k < a.equations.size(); ++k) {
    const Equation &x = a.equations[k], &y = b.equations[k];
    if (x.op != y.op || x.inputs.size() != y.inputs.size() || x.outputs.size() != y.outputs.size())
      return false;
    for (std::size_t i = 0; i < x.inputs.size(); ++i)
      if (na[x.inputs[i]] != nb[y.inputs[i]]) return false;
    for (std::size_t i = 0; i < x.outputs.size(); ++i)
      if (!(a.types[x.outputs[i]] == b.types[y.outputs[i]])) return false;
    if (!(x.attrs == y.attrs)) return false;
  }
  for (std::size_t i = 0; i < a.outputs.size(); ++i)
    if (na[a.outputs[i]] != nb[b.outputs[i]]) return false;
  return true;
}

}  // namespace tessera::inline v0
