// Parses programs from text; docs/ir.md has the grammar. Attributes are read by the kinds that
// their op declares, and result types are checked against the op's infer rule.
#include "ir/op.h"
#include "ir/text_lexer.h"
#include "ir/text_number.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>

namespace tessera::inline v0 {

namespace {

constexpr int kMaxDepth = 64;  // of nested programs
constexpr std::size_t kMaxRank = 32;

class Parser {
 public:
  explicit Parser(std::string_view text) : lexer_(text) {
    token_ = lexer_.next();
    ahead_ = lexer_.next();
  }

  ProgramPtr whole() {
    ProgramPtr p = program(0);
    if (token_.kind != Token::end)
      fail("expected the end of the text after the program, found " + token_.describe());
    return p;
  }

 private:
  using Names = std::map<std::string, Var, std::less<>>;

  [[noreturn]] void fail(const std::string& problem, const std::string& advice = "") const {
    raise_parse_error(token_, problem, advice);
  }

  Token take() {
    Token t = std::move(token_);
    token_ = std::move(ahead_);
    ahead_ = lexer_.next();
    return t;
  }
  Token expect(std::string_view punct) {
    if (!token_.is(punct))
      fail("expected '" + std::string(punct) + "', found " + token_.describe());
    return take();
  }
  bool accept(std::string_view punct) {
    if (!token_.is(punct)) return false;
    take();
    return true;
  }
  Token identifier(const char* what) {
    if (token_.kind != Token::identifier)
      fail(std::string("expected ") + what + ", found " + token_.describe());
    return take();
  }
  /// open element, element, ... close
  template <class F>
  void list(std::string_view open, std::string_view close, F element) {
    expect(open);
    if (accept(close)) return;
    do element();
    while (accept(","));
    expect(close);
  }

  std::int64_t integer() {
    std::int64_t v = 0;
    if (token_.kind != Token::number ||
        !parse_element(token_.text, DType::int64, reinterpret_cast<std::byte*>(&v)))
      fail("expected an integer, found " + token_.describe());
    take();
    return v;
  }

  DType dtype() {
    for (int i = 0; i < kDTypeCount; ++i)
      if (token_.kind == Token::identifier && short_name_of(static_cast<DType>(i)) == token_.text) {
        take();
        return static_cast<DType>(i);
      }
    fail("expected a dtype, found " + token_.describe(),
         "dtypes are bool, i8 to i64, u8 to u64, f16, bf16, f32, f64");
  }

  Type type() {
    Type t;
    t.dtype = dtype();
    Token at = token_;
    std::int64_t bytes = size_of(t.dtype);
    list("[", "]", [&] {
      std::int64_t d = integer();
      if (d < 0) raise_parse_error(at, "an extent is negative");
      if (d && bytes > (std::numeric_limits<std::int64_t>::max() >> 1) / d)
        raise_parse_error(at, "a type has more bytes than memory can hold");
      bytes *= std::max<std::int64_t>(d, 1);
      t.shape.push_back(d);
      if (t.shape.size() > kMaxRank)
        raise_parse_error(at, "a type has more than " + std::to_string(kMaxRank) + " dimensions");
    });
    t.weak = accept("*");
    if (token_.is("{")) axes(t);
    return t;
  }
  void axes(Type& t) {
    expect("{");
    Token which = identifier("'varying'");
    if (which.text != "varying")
      raise_parse_error(which, "expected 'varying', found " + which.describe());
    expect(":");
    do t.varying.insert(name("the name of a mesh axis"));
    while (accept(","));
    expect("}");
  }
  std::string name(const char* what) {
    return token_.kind == Token::string ? take().text : identifier(what).text;
  }

  ProgramPtr program(int depth) {
    if (depth > kMaxDepth)
      fail("programs are nested more than " + std::to_string(kMaxDepth) + " deep");
    auto p = std::make_shared<Program>();
    if (!token_.is("{")) p->name = name("'{' or the name of a program");
    expect("{");
    Names names;
    list("(", ")", [&] { p->inputs.push_back(define(*p, names)); });
    expect("->");
    std::vector<Token> outputs;
    list("(", ")", [&] { outputs.push_back(identifier("the name of a variable")); });
    while (!token_.is("}")) {
      if (token_.kind == Token::end) fail("the text ends inside a program", "close it with }");
      equation(*p, names, depth);
    }
    take();
    for (const Token& t : outputs) p->outputs.push_back(lookup(names, t));
    return p;
  }

  Var define(Program& p, Names& names) {
    Token t = identifier("the name of a variable");
    expect(":");
    Var v = static_cast<Var>(p.types.size());
    if (!names.emplace(t.text, v).second)
      raise_parse_error(t, "variable '" + t.text + "' is defined twice");
    p.types.push_back(type());
    return v;
  }
  static Var lookup(const Names& names, const Token& t) {
    auto it = names.find(t.text);
    if (it == names.end()) raise_parse_error(t, "variable '" + t.text + "' is not defined");
    return it->second;
  }

  void equation(Program& p, Names& names, int depth) {
    Equation e;
    Token start = token_;
    Names results;
    if (accept("("))
      expect(")");
    else
      do e.outputs.push_back(define(p, results));
      while (accept(","));
    expect("=");
    Token op = identifier("the name of an op");
    e.op = Registry::get().find(op.text);
    if (!e.op) raise_parse_error(op, "there is no op '" + op.text + "'");
    while (token_.kind == Token::identifier && !ahead_.is(":"))
      e.inputs.push_back(lookup(names, take()));
    if (token_.is("[")) attributes(e, depth);
    check(p, e, start, op);
    for (auto& [name, v] : results)
      if (!names.emplace(name, v).second)
        raise_parse_error(start, "variable '" + name + "' is defined twice");
    p.equations.push_back(std::move(e));
  }

  // The varying axes of the results are taken from the text, because they may come from passes that
  // ran before the program was printed.
  static void check(const Program& p, const Equation& e, const Token& start, const Token& op) {
    if (e.op->inputs >= 0 && e.inputs.size() != static_cast<std::size_t>(e.op->inputs))
      raise_parse_error(op, "'" + op.text + "' takes " + std::to_string(e.op->inputs) +
                                (e.op->inputs == 1 ? " operand, found " : " operands, found ") +
                                std::to_string(e.inputs.size()));
    std::vector<Type> in, given;
    for (Var v : e.inputs) in.push_back(p.types[v]);
    try {
      given = e.op->infer({*e.op, in, e.attrs, e.loc});
    } catch (const InternalError&) {
      raise_parse_error(op, "'" + op.text + "' lacks an attribute or an operand");
    } catch (const std::exception& error) {
      raise_parse_error(op, error.what());
    }
    if (given.size() != e.outputs.size())
      raise_parse_error(start, "'" + op.text + "' gives " + std::to_string(given.size()) +
                                   " results, found " + std::to_string(e.outputs.size()) +
                                   " names");
    for (std::size_t i = 0; i < given.size(); ++i) {
      const Type& t = p.types[e.outputs[i]];
      if (t.dtype == given[i].dtype && t.shape == given[i].shape && t.weak == given[i].weak)
        continue;
      given[i].varying = t.varying;
      raise_parse_error(start, "the result is declared " + to_string(t) + " but '" + op.text +
                                   "' gives " + to_string(given[i]));
    }
  }

  void attributes(Equation& e, int depth) {
    list("[", "]", [&] {
      Token t = identifier("the name of an attribute");
      auto spec = std::find_if(e.op->attrs.begin(), e.op->attrs.end(),
                               [&](const AttrSpec& s) { return s.name == t.text; });
      if (spec == e.op->attrs.end()) {
        std::string known;
        for (const AttrSpec& s : e.op->attrs)
          known.append(known.empty() ? "" : ", ").append(s.name);
        raise_parse_error(t, "'" + e.op->name + "' has no attribute '" + t.text + "'",
                          known.empty() ? "it has none" : "it has " + known);
      }
      if (e.attrs.has(t.text)) raise_parse_error(t, "attribute '" + t.text + "' comes twice");
      expect("=");
      e.attrs.set(t.text, value(spec->kind, depth));
    });
  }

  AttrValue value(AttrKind kind, int depth) {
    switch (kind) {
      case AttrKind::boolean: return element<bool>(DType::boolean, "true or false");
      case AttrKind::integer: return integer();
      case AttrKind::real: return element<double>(DType::float64, "a number");
      case AttrKind::string: return string();
      case AttrKind::dtype: return dtype();
      case AttrKind::ints: return ints();
      case AttrKind::int_lists: {
        IntLists v;
        list("(", ")", [&] { v.push_back(ints()); });
        return v;
      }
      case AttrKind::strings: {
        Strings v;
        list("(", ")", [&] { v.push_back(string()); });
        return v;
      }
      case AttrKind::literal: return literal();
      case AttrKind::program: return program(depth + 1);
      case AttrKind::programs: {
        Programs v;
        list("(", ")", [&] { v.push_back(program(depth + 1)); });
        return v;
      }
      case AttrKind::hook: return hook();
      case AttrKind::spec: return spec();
      case AttrKind::specs: {
        Specs v;
        list("(", ")", [&] { v.push_back(spec()); });
        return v;
      }
      case AttrKind::mesh: return mesh();
    }
    return false;
  }
  template <class T>
  T element(DType d, const char* what) {
    T v{};
    if ((token_.kind != Token::number && token_.kind != Token::identifier) ||
        !parse_element(token_.text, d, reinterpret_cast<std::byte*>(&v)))
      fail(std::string("expected ") + what + ", found " + token_.describe());
    take();
    return v;
  }
  std::string string() {
    if (token_.kind != Token::string) fail("expected a string, found " + token_.describe());
    return take().text;
  }
  Ints ints() {
    Ints v;
    list("(", ")", [&] { v.push_back(integer()); });
    return v;
  }
  void word(const char* expected) {
    if (token_.kind != Token::identifier || token_.text != expected)
      fail(std::string("expected '") + expected + "', found " + token_.describe());
    take();
  }
  Spec spec() {
    Spec::Dims dims;
    word("P");
    list("(", ")", [&] {
      Spec::Axes& axes = dims.emplace_back();
      if (token_.is("("))
        list("(", ")", [&] { axes.push_back(string()); });
      else if (token_.kind == Token::identifier)
        word("none");
      else
        axes.push_back(string());
    });
    return Spec(std::move(dims));
  }
  MeshRef mesh() {
    DeviceMesh m;
    std::int64_t devices = 1;
    word("mesh");
    list("(", ")", [&] {
      if (token_.is("(")) {
        for (std::int64_t id : ints()) m.devices.push_back(static_cast<int>(id));
        return;
      }
      std::string text = string();
      if (!token_.is("=")) {
        m.platform = std::move(text);
        return;
      }
      m.axes.push_back(std::move(text));
      expect("=");
      const Token at = token_;
      const std::int64_t size = integer();
      // Device numbers and everything computed from a mesh's size are ints.
      if (size < 1 || devices > std::numeric_limits<int>::max() / size)
        raise_parse_error(at, "a mesh has an axis of " + std::to_string(size) + " devices",
                          "an axis has one at least, and a mesh 2147483647 at most");
      devices *= size;
      m.sizes.push_back(size);
    });
    return MeshRef(std::move(m));
  }
  HookPtr hook() {
    if (token_.kind == Token::identifier && token_.text == "none") {
      take();
      return nullptr;
    }
    if (token_.is("<"))
      fail("a rule given by user code stands here by name only",
           "text cannot carry C++ code: build this program by calling the function");
    fail("expected 'none', found " + token_.describe());
  }

  Literal literal() {
    Token at = token_;
    Type t = type();
    if (t.weak || !t.varying.empty())
      raise_parse_error(at, "the type of a literal is a dtype and a shape");
    auto bytes = std::make_shared<std::vector<std::byte>>();
    if (t.shape.count() == 0) {
      expect("[");
      expect("]");
    } else {
      elements(t, 0, *bytes);
    }
    return {t.dtype, t.shape, std::move(bytes)};
  }
  void elements(const Type& t, std::size_t dim, std::vector<std::byte>& bytes) {
    if (dim == t.shape.size() && is_complex(t.dtype)) {
      const Type part(real_dtype(t.dtype), {});
      expect("(");
      elements(part, 0, bytes);
      expect(",");
      elements(part, 0, bytes);
      expect(")");
      return;
    }
    if (dim == t.shape.size()) {
      auto n = static_cast<std::size_t>(size_of(t.dtype));
      bytes.resize(bytes.size() + n);
      bool number = token_.kind == Token::number || token_.kind == Token::identifier;
      if (!number || !parse_element(token_.text, t.dtype, bytes.data() + bytes.size() - n))
        fail("expected an element of dtype " + std::string(name_of(t.dtype)) + ", found " +
             token_.describe());
      take();
      return;
    }
    std::int64_t n = 0;
    list("[", "]", [&] {
      elements(t, dim + 1, bytes);
      ++n;
    });
    if (n != t.shape[dim])
      fail("a literal of type " + to_string(t) + " has " + std::to_string(n) +
           " entries along dimension " + std::to_string(dim));
  }

  Lexer lexer_;
  Token token_, ahead_;
};

}  // namespace

ProgramPtr parse_program(std::string_view text) { return Parser(text).whole(); }

}  // namespace tessera::inline v0
