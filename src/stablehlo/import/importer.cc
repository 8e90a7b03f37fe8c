#include "stablehlo/import/importer.h"
#include "stablehlo/import/manual_parts.h"

#include "ir/interpret.h"
#include "ir/op.h"

#include <algorithm>

namespace tessera::inline v0::stablehlo {

namespace {

// Calls are inlined, so a short text could expand to a program that exhausts memory.
constexpr std::size_t kMostOperations = 1'000'000;
constexpr int kDeepestBlocks = 100;

bool ends_block(std::string_view name) {
  return name == "return" || name == "func.return" || name == "stablehlo.return" ||
         name == "sdy.return";
}

}  // namespace

std::string text_of(const std::vector<Type>& types) {
  std::string s;
  for (const Type& t : types) s += (s.empty() ? "" : ", ") + to_string(t);
  return "(" + s + ")";
}

Importer::Importer(const ModuleSyntax& m, const ImportOptions& o)
    : module(m), options(o), origins_(m.locations.get()) {
  for (const FunctionSyntax& f : m.functions)
    if (!functions_.emplace(f.name, &f).second)
      fail(*m.source, f.at, {"@" + f.name + " is defined twice"});
}

void Importer::count(const OperationSyntax& op) {
  if (++operations_ > kMostOperations)
    fail(*module.source, op.at,
         {"with its calls inlined the program has more than " + std::to_string(kMostOperations) +
          " operations"});
}

// Sets `bound_` to the values that the operation's names stand for.
void Importer::bind(const OperationSyntax& op, const Scope& scope, const Values& results) {
  bound_.clear();
  if (op.result_types.size() == 1 && results.size() == 1 &&
      op.result_types[0]->kind == TypeData::tensor &&
      fits(declared(op.result_types[0]), results[0].type())) {
    bound_.push_back({{results[0]}, &op.result_types[0]});
    return;
  }
  std::size_t used = 0;
  std::vector<Type> declared, got;
  for (const TypeSyntax& t : op.result_types) {
    Bound b{{}, &t};
    for (Type& leaf : leaf_types(t)) {
      declared.push_back(std::move(leaf));
      if (used < results.size()) b.leaves.push_back(results[used]);
      ++used;
    }
    bound_.push_back(std::move(b));
  }
  for (const Value& v : results) got.emplace_back(v.dtype(), v.shape());
  const bool unknown = op.result_types.empty() && op.defs.empty();
  if (!unknown && !fits(declared, got))
    fail(*scope.module().source, op.at,
         {std::string(op.name) + " gives " + text_of(got) +
          " for its operands, and is declared to give " + text_of(declared)});
}

// Brings results of types narrower than any dtype back to values of their type.
void Importer::within_types(const OperationSyntax& op, Values& results) const {
  if (results.size() != op.result_types.size()) return;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (op.result_types[i]->kind != TypeData::tensor) continue;
    const Narrow* narrow = known_type(op.result_types[i]).narrow;
    if (narrow && results[i].dtype() == narrow->carrier) results[i] = narrowed(results[i], *narrow);
  }
}

void Importer::operation(Scope& scope, const OperationSyntax& op) {
  count(op);
  const Import* import = import_of(op.name);
  if (!import)
    fail(
        *module.source, op.at,
        {shown(op.name) + " is not supported", "",
         "lower it to operations of StableHLO that are, or leave it out of the exported function"});
  try {
    Reading r(*this, scope, op);
    Values results = import->rule(r);
    within_types(op, results);
    bind(op, scope, results);
  } catch (const IoError&) {
    throw;
  } catch (const Error& e) {
    // The function, the rule and the advice are for programs written with our API.
    fail(*module.source, op.at, {std::string(op.name) + ": " + e.problem()});
  } catch (const InternalError& e) {
    fail(*module.source, op.at, {std::string(op.name) + " is not well-formed: " + e.problem()});
  }
  std::size_t next = 0;
  for (const DefSyntax& d : op.defs) {
    scope.define(d.name, d.at, std::span(bound_).subspan(next, d.count));
    next += d.count;
  }
}

std::vector<Bound> Importer::block(Scope& scope, const RegionSyntax& region) {
  struct Depth {
    int& depth;
    explicit Depth(int& d) : depth(d) { ++depth; }
    ~Depth() { --depth; }
  } here(depth_);
  if (depth_ > kDeepestBlocks)
    fail(*module.source, region.at,
         {"calls and regions nest more than " + std::to_string(kDeepestBlocks) + " deep"});
  const List<OperationSyntax> operations =
      has_manual_parts(region)
          ? with_manual_computations(region, *module.source, rewritten_).operations
          : region.operations;
  scope.reserve(operations.size());
  BlockOrigins origins(scope.builder(), origins_, innermost_);
  for (const OperationSyntax& op : operations) {
    origins.at(op.location);
    if (!ends_block(op.name)) {
      operation(scope, op);
      continue;
    }
    std::vector<Bound> out;
    for (const UseSyntax& u : op.operands) out.push_back(scope.read(u));
    if (&op != &operations.back())
      fail(*module.source, op.at,
           {"operations stand behind this " + std::string(op.name), "it ends its block"});
    return out;
  }
  fail(*module.source, region.at,
       {"this block has no return", "a block ends with the values that it gives"});
}

const FunctionSyntax& Importer::need_function(const Reading& r, const std::string& name) const {
  const auto it = functions_.find(name);
  if (it == functions_.end()) r.refuse("there is no function @" + name + " in this module");
  const FunctionSyntax& f = *it->second;
  if (f.declared_only) r.refuse("@" + name + " is declared, and has no body here");
  if (std::find(calls_.begin(), calls_.end(), &f) != calls_.end())
    r.refuse("@" + name + " calls itself", "functions are inlined where they are called");
  return f;
}

ProgramPtr Importer::function(const Reading& r, const std::string& name) {
  const FunctionSyntax& f = need_function(r, name);
  // Its collectives depend on the devices around the call.
  if (const auto it = programs_.find(&f); it != programs_.end() && !devices) return it->second;
  Level level(f.name, nullptr);
  Scope inside(level, nullptr, module);
  for (const ArgumentSyntax& a : f.arguments) {
    Bound bound{{}, &a.type};
    for (const Type& t : leaf_types(a.type))
      bound.leaves.push_back(
          level.builder().input(a.type->kind == TypeData::tensor ? type(a.type) : t));
    inside.define(a.name, a.at, bound);
  }
  calls_.push_back(&f);
  Values out;
  for (const Bound& b : block(inside, f.body))
    out.insert(out.end(), b.leaves.begin(), b.leaves.end());
  calls_.pop_back();
  ProgramPtr made = level.builder().finish_pruned(out);
  if (!devices) programs_[&f] = made;
  return made;
}

std::vector<Bound> Importer::call(const Reading& r, const std::string& function,
                                  const std::vector<Bound>& arguments) {
  const FunctionSyntax& f = need_function(r, function);
  if (arguments.size() != f.arguments.size())
    r.refuse("@" + function + " takes " + std::to_string(f.arguments.size()) +
             " arguments, and gets " + std::to_string(arguments.size()));
  calls_.push_back(&f);
  Scope inside(r.scope.level(), nullptr, module);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    std::vector<Type> got;
    for (const Value& v : arguments[i].leaves) got.emplace_back(v.dtype(), v.shape());
    const std::vector<Type> want = leaf_types(f.arguments[i].type);
    if (!fits(want, got))
      r.refuse("argument " + std::to_string(i) + " of @" + function + " is " + text_of(got) +
               ", and it takes " + text_of(want));
    inside.define(f.arguments[i].name, f.arguments[i].at,
                  Bound{arguments[i].leaves, &f.arguments[i].type});
  }
  std::vector<Bound> out = block(inside, f.body);
  calls_.pop_back();
  if (out.size() != f.results.size())
    fail(*module.source, f.at,
         {"@" + function + " returns " + std::to_string(out.size()) +
          " values, and is declared to return " + std::to_string(f.results.size())});
  return out;
}

std::vector<Bound> Importer::in_place(const Reading& r, const RegionSyntax& region,
                                      const std::vector<Bound>& arguments) {
  if (arguments.size() != region.arguments.size())
    r.refuse("its region takes " + std::to_string(region.arguments.size()) +
             " arguments, and gets " + std::to_string(arguments.size()));
  Scope inside(r.scope.level(), &r.scope, module);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const ArgumentSyntax& a = region.arguments[i];
    std::vector<Type> got;
    for (const Value& v : arguments[i].leaves) got.emplace_back(v.dtype(), v.shape());
    const std::vector<Type> want = leaf_types(a.type);
    if (!fits(want, got))
      fail(*module.source, a.at,
           {"this argument of the region is " + text_of(want) + ", and gets " + text_of(got)});
    inside.define(a.name, a.at, Bound{arguments[i].leaves, &a.type});
  }
  return block(inside, region);
}

RegionProgram Importer::region(const Reading& r, const RegionSyntax& region,
                               const std::vector<Type>& arguments, const RegionEnds& ends) {
  Level level("", &r.scope.level());
  Scope scope(level, &r.scope, module);
  for (const ArgumentSyntax& a : region.arguments) {
    Bound bound{{}, &a.type};
    for (const Type& t : leaf_types(a.type)) {
      const std::size_t i = level.builder().so_far().inputs.size();
      Value x = level.builder().input(i < arguments.size() ? arguments[i] : type(a.type));
      if (ends.argument) x = ends.argument(i, x);
      if (!fits(t, x.type()))
        fail(*module.source, a.at,
             {"this argument of the region is " + text_of({t}) + ", and gets " +
              text_of({x.type()})});
      bound.leaves.push_back(x);
    }
    scope.define(a.name, a.at, bound);
  }
  const std::size_t declared = level.builder().so_far().inputs.size();
  Values out;
  for (const Bound& bound : block(scope, region))
    out.insert(out.end(), bound.leaves.begin(), bound.leaves.end());
  for (std::size_t i = 0; ends.result && i < out.size(); ++i) out[i] = ends.result(i, out[i]);
  RegionProgram p{level.builder().finish(out), level.captured()};
  if (p.program->inputs.size() != declared + p.captured.size())
    throw InternalError("a region's inputs are its arguments and what it reads");
  return p;
}

RegionProgram Importer::settled_region(const Reading& r, const RegionSyntax& region) {
  RegionProgram p = this->region(r, region);
  if (p.captured.empty()) return p;
  Level level(p.program->name, nullptr);
  Values in, captured;
  const std::size_t declared = p.program->inputs.size() - p.captured.size();
  for (std::size_t i = 0; i < p.program->inputs.size(); ++i) {
    const Known* known = i < declared ? nullptr : r.scope.level().settle(p.captured[i - declared]);
    if (known) {
      in.push_back(level.write(*known));
      continue;
    }
    in.push_back(level.builder().input(p.program->types[p.program->inputs[i]]));
    if (i >= declared) captured.push_back(p.captured[i - declared]);
  }
  return {level.builder().finish_pruned(level.builder().inline_program(*p.program, in)), captured};
}

ProgramPtr Importer::closed_region(const Reading& r, const RegionSyntax& region) {
  RegionProgram p = settled_region(r, region);
  if (!p.captured.empty())
    fail(*module.source, region.at,
         {"the region of " + std::string(r.op.name) + " reads a value from outside",
          "this is supported for constants only, and for regions of while, if and case"});
  return prune(*p.program);
}

void Importer::add_check(const Reading& r, Check check, Value got, Value want) {
  if (&r.scope.level() != top_) r.refuse("a check inside a loop or branch is not supported");
  check.place = place_of(*module.source, r.op.at);
  out_.checks.push_back(std::move(check));
  checked_.push_back(got);
  checked_.push_back(want);
}

}  // namespace tessera::inline v0::stablehlo
