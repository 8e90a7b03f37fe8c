// Every cell of a notebook includes this header, which is precompiled. It has Tessera, functions that
// show pictures (namespace nb), and the parts that cells are made of (namespace tessera_notebook).
#pragma once

#include <tessera/tessera.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <iomanip>
#include <iostream>
#include <map>
#include <new>
#include <numeric>
#include <optional>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

namespace nb {

/// Contents to show, by MIME type. A front end shows the richest one that it knows.
struct Picture {
  std::vector<std::pair<std::string, std::string>> contents;
};

Picture svg(const std::string& text);
/// A page is shown in a frame of its own, other HTML as a part of the notebook.
Picture html(const std::string& text);
Picture markdown(const std::string& text);

/// A line of a plot, or its points if `dots` is set.
struct Curve {
  std::string name;
  std::vector<double> x, y;
  bool dots = false;
};
/// The texts of a plot; empty ones are left out. A logarithmic axis shows positive values only.
struct PlotTexts {
  std::string title = {}, x = {}, y = {};
  bool log_y = false;
};
/// Draws curves into one chart, whose axes cover all of their values.
Picture plot(const std::vector<Curve>& curves, const PlotTexts& texts = {});
/// Draws one curve over 0, 1, 2, ...: the losses of a training, for example.
template <class T>
Picture plot(const std::vector<T>& values, const PlotTexts& texts = {}) {
  Curve c;
  for (std::size_t i = 0; i < values.size(); ++i) {
    c.x.push_back(static_cast<double>(i));
    c.y.push_back(static_cast<double>(values[i]));
  }
  return plot(std::vector<Curve>{c}, texts);
}
Picture plot(const tessera::Array& y, const PlotTexts& texts = {});
Picture plot(const tessera::Array& x, const tessera::Array& y, const PlotTexts& texts = {});

/// An image of shape (height, width), whose values are drawn from black to white, or
/// (height, width, 3) with red, green and blue from 0 to 1 (uint8: to 255). Each pixel is drawn as
/// a square of `zoom` pixels; 0 chooses the size.
Picture image(const tessera::Array& pixels, int zoom = 0);
/// Draws which devices hold which part of an array.
Picture sharding(const tessera::Array& x);

/// Shows a picture at once. Of a cell's last expression this is not needed.
void display(const Picture& picture);

}  // namespace nb

namespace tessera_notebook {

/// The exception with which an interrupted cell ends.
struct Interrupted {};
/// Throws Interrupted if the user asked to stop the cell. Each loop of a cell calls it.
void check();

/// The memory of a variable, which lives until the end of the process or the next definition.
template <class T>
union Slot {
  T value;
  Slot() {}
  ~Slot() {}
};
template <class T>
union Slot<T&> {
  T* pointer;
  Slot() {}
};
template <class T>
union Slot<T&&> {
  T* pointer;
  Slot() {}
};

/// The name of a type, demangled.
std::string type_name(const std::type_info& type);
/// The name as users write it.
std::string shown_name(const std::type_info& type);
/// The name for a variable's declaration in later cells.
template <class T>
std::string declared_type() {
  using Value = std::remove_reference_t<T>;
  return type_name(typeid(Value)) + (std::is_const_v<Value> ? " const" : "") +
         (std::is_lvalue_reference_v<T>   ? "&"
          : std::is_rvalue_reference_v<T> ? "&&"
                                          : "");
}
void defined(const char* variable, const std::string& type);

template <class T, class F>
void construct(const char* name, Slot<T>& slot, F value) {
  if constexpr (std::is_reference_v<T>) {
    T&& reference = value();
    slot.pointer = std::addressof(reference);
  } else {
    ::new (static_cast<void*>(std::addressof(slot.value))) T(value());
  }
  defined(name, declared_type<T>());
}
template <class T>
void construct_members(const char* name, Slot<T>& slot) {
  ::new (static_cast<void*>(std::addressof(slot.value))) T;
  defined(name, "");
}

/// How the last expression of a cell is shown.
nb::Picture shown(const nb::Picture& x);
nb::Picture shown(const std::string& x);
nb::Picture shown(const char* x);
nb::Picture shown(bool x);
nb::Picture shown(const tessera::Plan& x);
nb::Picture shown(const tessera::PipelineSchedule& x);
void result(const nb::Picture& x);

std::string leaf_text(const tessera::Array& x);

template <class T>
concept Streamable = requires(std::ostream& out, const T& x) {
  out << x;
};
template <class T>
concept Range = requires(const T& x) {
  x.begin() != x.end();
};

template <class T>
std::string text_of(const T& x) {
  if constexpr (std::is_same_v<T, bool>) {
    return x ? "true" : "false";
  } else if constexpr (std::is_same_v<T, std::string>) {
    return '"' + x + '"';
  } else if constexpr (requires { x.has_value(); }) {
    return x.has_value() ? text_of(*x) : "nullopt";
  } else if constexpr (Streamable<T>) {
    std::ostringstream s;
    s << x;
    return s.str();
  } else if constexpr (requires {
                         x.first;
                         x.second;
                       }) {
    return "(" + text_of(x.first) + ", " + text_of(x.second) + ")";
  } else if constexpr (Range<T>) {
    std::string s;
    for (const auto& element : x) s += (s.empty() ? "" : ", ") + text_of(element);
    return "{" + s + "}";
  } else if constexpr (requires { std::tuple_size<T>::value; }) {
    std::string s;
    std::apply([&](const auto&... e) { ((s += (s.empty() ? "" : ", ") + text_of(e)), ...); }, x);
    return "(" + s + ")";
  } else if constexpr (std::is_aggregate_v<T>) {
    std::string s = shown_name(typeid(T));
    tessera::tree::for_each(
        [&](const std::string& path, const tessera::Array& leaf) {
          s += "\n  " + path + "  " + leaf_text(leaf);
        },
        x);
    return s;
  } else {
    return shown_name(typeid(T));
  }
}
template <class T>
nb::Picture shown(const T& x) {
  return {{{"text/plain", text_of(x)}}};
}

/// An expression behind which `, Last{}` stands is shown. One without a value is only evaluated.
struct Last {};
template <class T>
void operator,(T&& x, Last) {
  if constexpr (!std::is_base_of_v<std::ios_base, std::remove_cvref_t<T>>) result(shown(x));
}

}  // namespace tessera_notebook

namespace notebook {
namespace ts = tessera;
using ts::Array;
}  // namespace notebook
