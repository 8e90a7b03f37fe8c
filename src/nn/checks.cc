#include "nn/checks.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera::inline v0::nn {

const char* const kStackedAdvice =
    "a model with a row a device runs inside pmap; outside, take one of its rows with "
    "ts::unreplicate(model)";

void need_array(const char* function, const char* name, const Array& x, const SourceLoc& loc) {
  if (!x.is_empty()) return;
  Message(function)
      .problem(std::string(name) + " is empty: it was default-constructed and never assigned")
      .rule("it takes an array that has a dtype and a shape")
      .from(loc)
      .advice("assign it first; the result of a function that forgot to fill it is empty too")
      .raise<TraceError>();
}

void need_parameter(const char* layer, const char* name, const Array& x, const char* maker,
                    const SourceLoc& loc) {
  if (!x.is_empty()) return;
  Message(layer)
      .problem(std::string("its ") + name + " is empty")
      .rule("a layer has its parameters from the function that makes it")
      .from(loc)
      .advice(std::string("make it with nn::") + maker + ", or load all of its parameters")
      .raise<TraceError>();
}

void need_entries(const char* layer, const char* name, const Array& x, std::int64_t n,
                  const char* unit, const SourceLoc& loc) {
  if (x.shape() == Shape{n}) return;
  Message(layer)
      .problem(std::string("its ") + name + " is " + describe(x))
      .rule(std::string("it has one axis, with one entry for each of the ") + std::to_string(n) +
            " " + unit + "s")
      .from(loc)
      .advice(x.ndim() > 1 ? kStackedAdvice
                           : "parameters of one layer belong together: make or load them together")
      .raise<ShapeError>();
}

void need_key(const char* function, const Array& key, const SourceLoc& loc) {
  if (!key.is_empty() && key.dtype() == DType::uint32 && key.shape() == Shape{2}) return;
  const bool keys = !key.is_empty() && key.dtype() == DType::uint32 && key.ndim() == 2;
  Message(function)
      .problem("the key is " + describe(key))
      .rule("a key is a uint32 array of shape (2,)")
      .from(loc)
      .advice(keys ? "pick one of the keys, keys[i]"
                   : "make one with random::key(seed), and one for each layer with random::split")
      .raise<ShapeError>();
}

void need_number(const char* function, const char* name, double value, double least, double below,
                 const char* advice, const SourceLoc& loc, bool closed) {
  if (std::isfinite(value) && value >= least && (value < below || (closed && value == below)))
    return;
  const auto text = [](double v) { return to_string(Array(v)); };
  std::string rule = "it is a finite number";
  if (std::isfinite(least))
    rule = "it is at least " + text(least) +
           (std::isfinite(below) ? (closed ? " and at most " : " and less than ") + text(below)
                                 : std::string(", and finite"));
  Message(function)
      .problem(std::string(name) + " is " + text(value))
      .rule(rule)
      .from(loc)
      .advice(advice)
      .raise<Error>();
}

void need_sizes(const char* maker, const Shape& sizes, const SourceLoc& loc) {
  if (std::all_of(sizes.begin(), sizes.end(), [](std::int64_t n) { return n > 0; })) return;
  Message(maker)
      .problem("the layer's sizes are " + to_string(sizes))
      .rule("each is at least 1")
      .from(loc)
      .advice("take them from the data's shape, such as x.shape(-1)")
      .raise<ShapeError>();
}

}  // namespace tessera::inline v0::nn
