// Argument checks of layers and functions, so that errors name them rather than the functions they
// are composed of.
#pragma once

#include <tessera/array.h>
#include <tessera/message.h>

namespace tessera::inline v0::nn {

/// Throws TraceError if the argument `name` of `function` is an empty array.
void need_array(const char* function, const char* name, const Array& x, const SourceLoc& loc);
/// Throws TraceError if the parameter `name` of a layer is empty; `maker` is a call that makes such
/// a layer: "linear(key, in, out)".
void need_parameter(const char* layer, const char* name, const Array& x, const char* maker,
                    const SourceLoc& loc);
/// Throws ShapeError unless the parameter has one axis of `n` entries, one per `unit` ("channel").
void need_entries(const char* layer, const char* name, const Array& x, std::int64_t n,
                  const char* unit, const SourceLoc& loc);
/// Advice for a parameter with an axis too many: the model may have one row per device.
extern const char* const kStackedAdvice;

/// Throws ShapeError unless the array is a single key.
void need_key(const char* function, const Array& key, const SourceLoc& loc);
/// Throws Error unless a hyperparameter is finite, at least `least`, and less than `below` (or
/// equal to it if `closed`).
void need_number(const char* function, const char* name, double value, double least, double below,
                 const char* advice, const SourceLoc& loc, bool closed = false);
/// Throws ShapeError unless all sizes are positive.
void need_sizes(const char* maker, const Shape& sizes, const SourceLoc& loc);

}  // namespace tessera::inline v0::nn
