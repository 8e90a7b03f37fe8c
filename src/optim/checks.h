// Checks of hyperparameters, each in the name of the function that the user called.
#pragma once

#include <tessera/message.h>

#include <cstdint>

namespace tessera::inline v0::optim {

/// A rate of learning, or a bound of a schedule: a finite number, 0 or more.
void need_rate(const char* function, const char* name, double value, const SourceLoc& loc);
/// What a moving average keeps: at least 0 and less than 1.
void need_decay(const char* function, const char* name, double value, const SourceLoc& loc);
/// A finite number, 0 or more: an epsilon, a weight decay.
void need_amount(const char* function, const char* name, double value, const SourceLoc& loc);
/// A bound, 0 or more, perhaps infinite.
void need_bound(const char* function, const char* name, double value, const SourceLoc& loc);
/// Any finite number.
void need_finite(const char* function, const char* name, double value, const SourceLoc& loc);
/// A number of steps, at least `least`.
void need_steps(const char* function, const char* name, std::int64_t value, std::int64_t least,
                const SourceLoc& loc);

}  // namespace tessera::inline v0::optim
