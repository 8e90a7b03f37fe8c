#include "stablehlo/import/name_stack.h"

#include <algorithm>
#include <initializer_list>
#include <vector>

namespace tessera::inline v0::stablehlo {

namespace {

// Divides at the slashes that are in no parentheses: a transformation wraps a whole name.
std::vector<std::string_view> names_of(std::string_view stack) {
  std::vector<std::string_view> names;
  std::size_t begin = 0;
  int open = 0;
  for (std::size_t i = 0; i <= stack.size(); ++i) {
    const char c = i < stack.size() ? stack[i] : '/';
    if (c == '(') ++open;
    if (c == ')') --open;
    if (c != '/' || (open > 0 && i < stack.size())) continue;
    names.push_back(stack.substr(begin, i - begin));
    begin = i + 1;
  }
  return names;
}

bool is_among(std::string_view name, std::initializer_list<std::string_view> all) {
  return std::find(all.begin(), all.end(), name) != all.end();
}

// The name inside of transformations: "model" for "transpose(jvp(model))". Empty if it is a
// function's, as in "jit(step)".
std::string_view inside_of(std::string_view name) {
  while (name.ends_with(')')) {
    const std::size_t open = name.find('(');
    if (open == name.npos) return name;
    const std::string_view transformation = name.substr(0, open);
    if (is_among(transformation, {"jit", "pjit", "pmap", "xla_call"})) return {};
    if (!is_among(transformation, {"jvp", "transpose", "vmap", "linearize"})) return name;
    name = name.substr(open + 1, name.size() - open - 2);
  }
  return name;
}

// Whether JAX adds the name for an operation with a body.
bool is_of_control(std::string_view name, std::string_view before, std::string_view behind) {
  if (before == "while") return is_among(name, {"cond", "body", "body_pred"});
  if (before == "cond") return name.starts_with("branch_") && name.ends_with("_fun");
  if (name == "cond") return behind.starts_with("branch_");
  return is_among(
      name, {"while", "scan", "jit", "pjit", "closed_call", "core_call", "eval_jaxpr", "checkpoint",
             "remat", "remat2", "rematted_computation", "shard_map", "custom_jvp_call",
             "custom_vjp_call", "custom_vjp_call_jaxpr", "custom_lin", "xla_call", "xla_pmap"});
}

}  // namespace

std::string_view names_around(std::string_view stack) {
  std::size_t last = 0;
  int open = 0;
  for (std::size_t i = 0; i < stack.size(); ++i) {
    if (stack[i] == '(') ++open;
    if (stack[i] == ')') --open;
    if (stack[i] == '/' && open <= 0) last = i;
  }
  return stack.substr(0, last);
}

std::string scopes_in(std::string_view stack) {
  std::vector<std::string_view> names = names_of(stack);
  names.pop_back();
  for (std::string_view& name : names) name = inside_of(name);
  std::string scopes;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string_view before = i ? names[i - 1] : "",
                           behind = i + 1 < names.size() ? names[i + 1] : "";
    if (names[i].empty() || is_of_control(names[i], before, behind)) continue;
    if (!scopes.empty()) scopes += '/';
    scopes += names[i];
  }
  return scopes;
}

}  // namespace tessera::inline v0::stablehlo
