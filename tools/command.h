// The subcommands of `tessera`.
#pragma once

#include <string>
#include <vector>

namespace command {

using Words = std::vector<std::string>;

/// Exit codes: 0 all is well; 1 something that was checked is wrong; 2 the command line or a file
/// cannot be used.
inline constexpr int kWell = 0, kWrong = 1, kUnusable = 2;

/// What was asked for cannot be done; `main` prints it and ends with kUnusable.
struct Unusable {
  std::string problem;
};

int check(const Words& arguments);
int run(const Words& arguments);
int print(const Words& arguments);
int bench(const Words& arguments);
int explain(const Words& arguments);
int checkpoint(const Words& arguments);

}  // namespace command
