// Checks that layers and functions make of what they are given, so that errors name them and not
// what they are made of.
#pragma once

#include <tessera/array.h>
#include <tessera/message.h>

namespace tessera::inline v0::nn {

/// TraceError where the argument `name` of `function` is an empty array.
void need_array(const char* function, const char* name, const Array& x, const SourceLoc& loc);
/// TraceError where the parameter `name` of a layer is empty; `maker` makes such layers:
/// "linear(key, in, out)".
void need_parameter(const char* layer, const char* name, const Array& x, const char* maker,
                    const SourceLoc& loc);
/// ShapeError unless the parameter has one axis of `n` entries, one for each `unit` ("channel").
void need_entries(const char* layer, const char* name, const Array& x, std::int64_t n,
                  const char* unit, const SourceLoc& loc);
/// What a parameter is told that has the axes of another: a model with a row a device.
extern const char* const kStackedAdvice;

/// ShapeError unless the key is one.
void need_key(const char* function, const Array& key, const SourceLoc& loc);
/// Error unless a hyperparameter is finite, at least `least`, and less than `below` (or equal to it
/// where `closed`).
void need_number(const char* function, const char* name, double value, double least, double below,
                 const char* advice, const SourceLoc& loc, bool closed = false);
/// ShapeError unless each is positive.
void need_sizes(const char* maker, const Shape& sizes, const SourceLoc& loc);

}  // namespace tessera::inline v0::nn
