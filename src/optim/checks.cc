#include "optim/checks.h"

#include <tessera/array.h>

#include <cmath>

namespace tessera::inline v0::optim {

namespace {

[[noreturn]] void refuse(const char* function, const char* name, double value, const char* rule,
                         const char* advice, const SourceLoc& loc) {
  Message(function)
      .problem(std::string(name) + " is " + to_string(Array(value)))
      .rule(rule)
      .from(loc)
      .advice(advice)
      .raise<Error>();
}

}  // namespace

void need_rate(const char* function, const char* name, double value, const SourceLoc& loc) {
  if (std::isfinite(value) && value >= 0) return;
  refuse(function, name, value, "a rate is a finite number, 0 or more: updates go downhill",
         std::isfinite(value) ? "to go uphill, differentiate the negative of the function"
                              : "check the arithmetic that gave it",
         loc);
}

void need_decay(const char* function, const char* name, double value, const SourceLoc& loc) {
  if (value >= 0 && value < 1) return;
  refuse(function, name, value,
         "a moving average keeps a share of what it was: at least 0 and less than 1",
         "0.9, or 0.999 for squares", loc);
}

void need_amount(const char* function, const char* name, double value, const SourceLoc& loc) {
  if (std::isfinite(value) && value >= 0) return;
  refuse(
      function, name, value, "it is a finite number, 0 or more",
      std::isfinite(value) ? "leave it out for the default" : "check the arithmetic that gave it",
      loc);
}

void need_bound(const char* function, const char* name, double value, const SourceLoc& loc) {
  if (value >= 0) return;
  refuse(function, name, value, "a bound is 0 or more: a negative one would turn updates around",
         "1.0 is usual", loc);
}

void need_finite(const char* function, const char* name, double value, const SourceLoc& loc) {
  if (std::isfinite(value)) return;
  refuse(function, name, value, "it is a finite number", "check the arithmetic that gave it", loc);
}

void need_steps(const char* function, const char* name, std::int64_t value, std::int64_t least,
                const SourceLoc& loc) {
  if (value >= least) return;
  Message(function)
      .problem(std::string(name) + " is " + std::to_string(value))
      .rule("it is a number of steps, at least " + std::to_string(least))
      .from(loc)
      .advice("count updates of the parameters: epochs times batches")
      .raise<Error>();
}

}  // namespace tessera::inline v0::optim
