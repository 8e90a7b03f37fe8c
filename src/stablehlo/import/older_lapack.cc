// LAPACK calls in the form of JAX 0.4, whose names lack the suffix "_ffi": numbers are scalar
// operands before the arrays, and workspaces are results after the others.
#include "stablehlo/import/rules.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace tessera::inline v0::stablehlo::rules {

namespace {

using A = AttributeSyntax;

struct OlderRoutine {
  std::string_view name;     // without the letter of the dtype
  std::string_view routine;  // of the newer call, without the letter
  std::size_t numbers;       // scalar operands before the arrays
};
constexpr OlderRoutine kOlderRoutines[] = {
    {"lapack_potrf", "potrf", 3}, {"lapack_getrf", "getrf", 3}, {"lapack_geqrf", "geqrf", 4},
    {"lapack_orgqr", "orgqr", 5}, {"lapack_ungqr", "ungqr", 5}, {"lapack_syevd", "syevd", 3},
    {"lapack_heevd", "heevd", 3}, {"lapack_gesdd", "gesdd", 6}, {"blas_trsm", "trsm", 8}};

// "lapack_sgetrf" without its dtype letter.
std::string without_letter(std::string_view target) {
  const std::size_t at = target.find('_');
  if (at == target.npos || at + 1 >= target.size() ||
      std::string_view("sdcz").find(target[at + 1]) == std::string_view::npos)
    return {};
  return std::string(target.substr(0, at + 1)) + std::string(target.substr(at + 2));
}

const OlderRoutine* row_of(std::string_view target) {
  const std::string name = without_letter(target);
  const auto* row = std::find_if(std::begin(kOlderRoutines), std::end(kOlderRoutines),
                                 [&](const OlderRoutine& r) { return r.name == name; });
  return row == std::end(kOlderRoutines) ? nullptr : row;
}

std::int64_t number_of_attribute(Reading& r, std::size_t operand) {
  const Ints n = r.settled(operand);
  if (n.size() != 1) r.refuse("its operand " + std::to_string(operand) + " is no single number");
  return n[0];
}

// The options of the newer call's configuration.
std::vector<std::pair<std::string_view, char>> letters_of_routine(Reading& r,
                                                                  std::string_view routine) {
  const auto if_set = [&](std::size_t operand, char yes, char no) {
    return number_of_attribute(r, operand) ? yes : no;
  };
  if (routine == "potrf" || routine == "syevd" || routine == "heevd")
    return {{"uplo", if_set(0, 'L', 'U')}};
  if (routine == "gesdd") return {{"mode", number_of_attribute(r, 1) ? if_set(0, 'A', 'S') : 'N'}};
  if (routine != "trsm") return {};
  const std::int64_t turned = number_of_attribute(r, 2);
  if (r.known_number(r.in[7]) != 1.0) r.refuse("its factor is not known to be 1");
  return {{"side", if_set(0, 'L', 'R')},
          {"uplo", if_set(1, 'L', 'U')},
          {"trans_x", turned == 0   ? 'N'
                      : turned == 1 ? 'T'
                                    : 'C'},
          {"diag", if_set(3, 'U', 'N')}};
}

Values older_lapack(Reading& r) {
  const std::string target = r.word_or("call_target_name", "");
  const OlderRoutine& row = *row_of(target);
  if (r.in.size() != r.operands.size() || r.in.size() <= row.numbers)
    r.refuse("it has " + std::to_string(r.in.size()) + " operands, and takes " +
             std::to_string(row.numbers) + " numbers before its arrays");
  Memory memory;
  A config;
  config.kind = A::dict;
  config.at = r.op.at;
  for (const auto& [key, letter] : letters_of_routine(r, row.routine)) {
    A value;
    value.kind = A::integer;
    value.at = r.op.at;
    value.integer_value = letter;
    config.entries.add(memory, {key, value});
  }
  OperationSyntax op = r.op;
  op.attributes = {};
  op.attributes.add(memory, {"mhlo.backend_config", config});
  op.operands = List<UseSyntax>::copy(memory, r.op.operands.data() + row.numbers,
                                      r.op.operands.size() - row.numbers);
  Reading newer(r.importer, r.scope, op);
  Values out = lapack_rule("lapack_s" + std::string(row.routine) + "_ffi")(newer);
  for (std::size_t k = out.size(); k < r.op.result_types.size(); ++k)
    out.push_back(ops::zeros(r.b, r.result(k)));
  return out;
}

}  // namespace

Rule older_lapack_rule(std::string_view target) { return row_of(target) ? older_lapack : nullptr; }

}  // namespace tessera::inline v0::stablehlo::rules
