// Checks of hyperparameters; their errors name the function that the user called.
#pragma once

#include <tessera/message.h>

#include <cstdint>

namespace tessera::inline v0::optim {

/// A learning rate, or a bound of a schedule: a finite number >= 0.
void need_rate(const char* function, const char* name, double value, const SourceLoc& loc);
/// The decay of a moving average: in [0, 1).
void need_decay(const char* function, const char* name, double value, const SourceLoc& loc);
/// A finite number >= 0, such as an epsilon or a weight decay.
void need_amount(const char* function, const char* name, double value, const SourceLoc& loc);
/// A bound >= 0, possibly infinite.
void need_bound(const char* function, const char* name, double value, const SourceLoc& loc);
/// Any finite number.
void need_finite(const char* function, const char* name, double value, const SourceLoc& loc);
/// A number of steps, at least `least`.
void need_steps(const char* function, const char* name, std::int64_t value, std::int64_t least,
                const SourceLoc& loc);

}  // namespace tessera::inline v0::optim
