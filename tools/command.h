// The subcommands of `tessera`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace command {

using Words = std::vector<std::string>;

/// Exit codes: 0 all is well; 1 something that was checked is wrong; 2 the command line or a file
/// cannot be used, or the output cannot be written.
inline constexpr int kWell = 0, kWrong = 1, kUnusable = 2;

/// What was asked for cannot be done; `main` prints it and ends with kUnusable.
struct Unusable {
  std::string problem;
};

/// The number of 1 or more that an option takes; Unusable where the text is none.
std::int64_t positive(const std::string& option, const std::string& text);

int check(const Words& arguments);
int run(const Words& arguments);
int print(const Words& arguments);
int bench(const Words& arguments);
int explain(const Words& arguments);
int checkpoint(const Words& arguments);

}  // namespace command
