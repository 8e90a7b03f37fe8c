// The subcommands of `tessera`.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace command {

using Words = std::vector<std::string>;

/// Exit codes: 0: success; 1: a check found a problem; 2: the command line or a file is unusable,
/// or the output cannot be written.
inline constexpr int kWell = 0, kWrong = 1, kUnusable = 2;

/// The request cannot be carried out; `main` prints the reason and exits with kUnusable.
struct Unusable {
  std::string problem;
};

/// The value of an option that must be at least 1; throws Unusable if the text is not such a
/// number.
std::int64_t positive(const std::string& option, const std::string& text);

/// An option of a subcommand.
struct Option {
  std::string_view name;
  std::function<void(const std::string& value)> take;  // null: no value follows the option
  bool* given = nullptr;                               // set if the option is there
};
/// Reads the options of the subcommand `name` and returns its other arguments. Throws Unusable for
/// an option that is not among these, or that lacks its value.
Words read_options(const std::string& name, const Words& arguments,
                   const std::vector<Option>& options);
/// The only argument besides the options. Throws Unusable if there are none or several.
std::string only_file(const std::string& name, const Words& others);

int check(const Words& arguments);
int run(const Words& arguments);
int print(const Words& arguments);
int bench(const Words& arguments);
int explain(const Words& arguments);
int checkpoint(const Words& arguments);
/// `tessera new` and `tessera --cmake-dir`.
int make_project(const Words& arguments);
int print_package_folder();

}  // namespace command
