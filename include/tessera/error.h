// The exceptions of the library.
//
// A message states, in this order: the function; the problem with the values found; the rule with
// its arithmetic; the location in the arguments (a key path) and in the user's source; one thing to
// try. `what()` is the whole text. An exception also provides each part separately, for programs
// that show errors in their own way:
//
//   try {
//     loss = step(model, batch);
//   } catch (const ts::Error& e) {
//     editor.mark(e.file(), e.line(), e.problem(), e.advice());
//   }
#pragma once

#include <tessera/config.h>

#include <memory>
#include <source_location>
#include <stdexcept>
#include <string>
#include <vector>

namespace tessera::inline v0 {

/// The parts of the text of an error. Parts that are empty do not appear in the text.
struct TESSERA_API ErrorParts {
  /// The function that the user called, such as "dot".
  std::string function = {};
  /// The problem, with the values that were found. It may have several lines.
  std::string problem = {};
  /// If several values are wrong: one entry for each. The text shows the first 16.
  std::vector<std::string> offenders = {};
  /// The rule that is violated, with its arithmetic.
  std::string rule = {};
  /// The place in the arguments, such as the key path "args[0]/weight", or in a text that is being
  /// parsed.
  std::string at = {};
  /// The line of the user's program. `file` is the path that was given to the compiler; the text
  /// shows only its last component. It is empty if the line is unknown.
  std::string file = {};
  int line = 0;
  /// The named scopes (tessera/debug.h) around the call, such as "model/layer_0".
  std::string scope = {};
  /// One thing to try.
  std::string advice = {};
  /// The names of the asynchronous calls that failed with this error, outermost first.
  std::vector<std::string> calls = {};

  /// The whole text: for each of `calls`, a line that names it; then the function and the problem;
  /// then one line for each other part.
  std::string text() const;
  /// The function and the first line of the problem.
  std::string headline() const;
};

/// The base of all errors that user input can cause. Copying shares the parts and does not throw.
class TESSERA_API Error : public std::runtime_error {
 public:
  /// An error with this text, which is also its problem(); the other parts are empty.
  explicit Error(const std::string& text);
  /// An error whose text is `parts.text()`. To throw an error again with one part changed, copy
  /// parts() and change the copy.
  explicit Error(ErrorParts parts);
  // Moved-from errors keep their parts, because there is no move.
  Error(const Error&) noexcept = default;
  Error& operator=(const Error&) noexcept = default;

  const ErrorParts& parts() const noexcept { return *parts_; }
  /// The parts by name, as ErrorParts describes them: function, problem, offenders, rule, at, file,
  /// line, scope, advice, calls and the headline.
  const std::string& function() const noexcept { return parts_->function; }
  const std::string& problem() const noexcept { return parts_->problem; }
  const std::vector<std::string>& offenders() const noexcept { return parts_->offenders; }
  const std::string& rule() const noexcept { return parts_->rule; }
  const std::string& at() const noexcept { return parts_->at; }
  const std::string& file() const noexcept { return parts_->file; }
  int line() const noexcept { return parts_->line; }
  const std::string& scope() const noexcept { return parts_->scope; }
  const std::string& advice() const noexcept { return parts_->advice; }
  const std::vector<std::string>& calls() const noexcept { return parts_->calls; }
  std::string headline() const { return parts_->headline(); }

 private:
  std::shared_ptr<const ErrorParts> parts_;  // never null
};

/// Shapes, axes or sizes that do not match.
class TESSERA_API ShapeError : public Error {
 public:
  using Error::Error;
};
/// An element type that an operation does not support.
class TESSERA_API DTypeError : public Error {
 public:
  using Error::Error;
};
/// Trees of different structure, or a specification that is not a prefix of one.
class TESSERA_API TreeError : public Error {
 public:
  using Error::Error;
};
/// Devices or shardings that conflict, or a sharding that does not divide a shape.
class TESSERA_API ShardingError : public Error {
 public:
  using Error::Error;
};
/// An axis name that is not bound, or a collective that its context forbids.
class TESSERA_API CollectiveError : public Error {
 public:
  using Error::Error;
};
/// A traced value that is used as a concrete one, outside its trace or on another thread; or a
/// derivative that does not exist.
class TESSERA_API TraceError : public Error {
 public:
  using Error::Error;
};
/// Devices that do not exist, or are in use.
class TESSERA_API DeviceError : public Error {
 public:
  using Error::Error;
};
/// Files that are missing, damaged or of the wrong kind.
class TESSERA_API IoError : public Error {
 public:
  using Error::Error;
};

/// A value that debug::check rejects.
class TESSERA_API CheckError : public Error {
 public:
  using Error::Error;
};

/// A bug in Tessera itself, never the user's fault. The message asks for a report.
class TESSERA_API InternalError : public std::logic_error {
 public:
  explicit InternalError(const std::string& problem,
                         std::source_location where = std::source_location::current());
  InternalError(const InternalError&) noexcept = default;
  InternalError& operator=(const InternalError&) noexcept = default;

  /// The promise that was broken, without the place in the library and the request for a report.
  const std::string& problem() const noexcept { return *problem_; }

 private:
  std::shared_ptr<const std::string> problem_;  // never null
};

}  // namespace tessera::inline v0
