// The exceptions of the library.
//
// A message says, in this order: the function; what is wrong with the values found; the rule with
// its arithmetic; where in the arguments (a key path) and in the user's source; one thing to try.
#pragma once

#include <tessera/config.h>

#include <source_location>
#include <stdexcept>
#include <string>

namespace tessera::inline v0 {

/// Base of everything a user's input can cause.
class TESSERA_API Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message) : std::runtime_error(message) {}
};

/// Shapes, axes or sizes that do not agree.
class TESSERA_API ShapeError : public Error {
 public:
  using Error::Error;
};
/// An element type that an operation does not take.
class TESSERA_API DTypeError : public Error {
 public:
  using Error::Error;
};
/// Trees of different structure, or a specification that is no prefix of one.
class TESSERA_API TreeError : public Error {
 public:
  using Error::Error;
};
/// Placements that disagree, or a sharding that does not fit.
class TESSERA_API ShardingError : public Error {
 public:
  using Error::Error;
};
/// An axis name that is not bound, or a collective that its context forbids.
class TESSERA_API CollectiveError : public Error {
 public:
  using Error::Error;
};
/// A traced value used as a concrete one, out of its trace or on another thread; derivatives that
/// do not exist.
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

/// Values that debug::check refuses.
class TESSERA_API CheckError : public Error {
 public:
  using Error::Error;
};

/// A broken promise of Tessera itself, never of its user. The message asks for a report.
class TESSERA_API InternalError : public std::logic_error {
 public:
  explicit InternalError(const std::string& what,
                         std::source_location where = std::source_location::current());
};

}  // namespace tessera::inline v0
