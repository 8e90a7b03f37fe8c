// The exceptions of the library.
//
// A message states, in this order: the function; the problem with the values found; the rule with
// its arithmetic; the location in the arguments (a key path) and in the user's source; one thing to
// try.
#pragma once

#include <tessera/config.h>

#include <source_location>
#include <stdexcept>
#include <string>

namespace tessera::inline v0 {

/// The base of all errors that user input can cause.
class TESSERA_API Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message) : std::runtime_error(message) {}
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

/// Values that debug::check rejects.
class TESSERA_API CheckError : public Error {
 public:
  using Error::Error;
};

/// A bug in Tessera itself, never the user's fault. The message asks for a report.
class TESSERA_API InternalError : public std::logic_error {
 public:
  explicit InternalError(const std::string& what,
                         std::source_location where = std::source_location::current());
};

}  // namespace tessera::inline v0
