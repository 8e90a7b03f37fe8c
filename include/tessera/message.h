// Builds error messages in the house order: function, problem, rule, location, advice. Libraries on
// top of Tessera can use it to give their errors the same form.
//
//   Message("Linear").problem("...").rule("...").from(loc).advice("...").raise<ShapeError>();
#pragma once

#include <tessera/config.h>
#include <tessera/error.h>

#include <source_location>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace tessera::inline v0 {

/// A line of the user's program. `file` and `function` point to static storage.
struct SourceLoc {
  const char* file = nullptr;
  const char* function = nullptr;
  int line = 0;
  SourceLoc() = default;
  SourceLoc(const std::source_location& l)
      : file(l.line() ? l.file_name() : nullptr),
        function(l.function_name()),
        line(static_cast<int>(l.line())) {}
  explicit operator bool() const { return file != nullptr; }
};

/// "name.cc:12" without the directory; empty if the location is unknown.
TESSERA_API std::string to_string(const SourceLoc& loc);

/// Errors and warnings raised on this thread while it is alive name the user-facing function and,
/// if they have no location of their own, the user's source line. Composite functions start with
/// one. When nested, the outermost wins.
class TESSERA_API InFunction {
 public:
  InFunction(const char* function, const SourceLoc& loc);
  ~InFunction();
  InFunction(const InFunction&) = delete;
  InFunction& operator=(const InFunction&) = delete;
  static const InFunction* outermost();
  const char* function() const { return function_; }
  const SourceLoc& loc() const { return loc_; }

 private:
  const char* function_;
  SourceLoc loc_;
};
/// Marks that the user's own code is running. Errors of the functions that it calls then name these
/// functions and not the enclosing InFunction.
class TESSERA_API InUserCode {
 public:
  InUserCode();
  ~InUserCode() { end(); }
  InUserCode(const InUserCode&) = delete;
  InUserCode& operator=(const InUserCode&) = delete;
  void end();

 private:
  const InFunction* outside_;
  bool live_ = true;
};

/// Message("dot").problem("...").rule("...").at("args[0]").from(loc).advice("...").str() gives
///   dot: <problem>
///     rule: <rule>
///     at: args[0]
///     from: main.cc:12
///     try: <advice>
/// Empty parts are omitted; `offender` adds a bullet under the problem. Errors that are raised keep
/// the parts (ErrorParts in tessera/error.h).
class TESSERA_API Message {
 public:
  explicit Message(std::string_view function) : function_(function) {}
  Message& problem(std::string text) { return problem_ = std::move(text), *this; }
  Message& offender(std::string text) { return offenders_.push_back(std::move(text)), *this; }
  Message& rule(std::string text) { return rule_ = std::move(text), *this; }
  Message& at(std::string path) { return at_ = std::move(path), *this; }
  Message& from(const SourceLoc& loc) { return from_ = loc, *this; }
  Message& advice(std::string text) { return advice_ = std::move(text), *this; }
  /// The parts that an error raised now on this thread would have: these, with the function (and
  /// the line, if this message has none) of the outermost InFunction, and with the named scopes.
  ErrorParts parts() const;
  std::string str() const { return parts().text(); }
  /// Throws E with this message: an Error with its parts, another exception with its text.
  template <class E>
  [[noreturn]] void raise() const {
    if constexpr (std::is_constructible_v<E, ErrorParts>)
      throw E(parts());
    else
      throw E(str());
  }

 private:
  std::string function_, problem_, rule_, at_, advice_;
  std::vector<std::string> offenders_;
  SourceLoc from_;
};

}  // namespace tessera::inline v0
