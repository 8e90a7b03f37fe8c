// Where operations come from: lines of the program that a module was made from, and its named
// scopes.
#pragma once

#include "ir/builder.h"
#include "stablehlo/text/locations.h"
#include "stablehlo/text/source.h"

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace tessera::inline v0::stablehlo {

/// Finds the origins of locations, each once, when something asks. The line is the innermost one
/// outside of installed packages or, if there is none, the innermost one. Never fails: a location
/// that says nothing has an empty origin.
class Origins {
 public:
  /// `locations` may be null.
  explicit Origins(const Locations* locations) : locations_(locations) {}
  const Origin& of(std::size_t location);

 private:
  struct Line {
    std::string_view file, function;
    std::int64_t line = 0;
  };
  // What is known of a location that may be a part of others.
  struct Found {
    Line innermost, users;
    std::string_view name;
    bool names_function = false;  // whether `name` may be the function of the line
  };
  const Found& find(std::size_t location, int depth);
  Found look(std::size_t location, int depth);
  const std::string& scopes_of(std::string_view name);

  const Locations* locations_;
  Memory memory_;
  std::unordered_map<std::size_t, Found> found_;
  std::unordered_map<std::size_t, Origin> origins_;
  std::unordered_map<std::string_view, std::string> scopes_;  // by the names around an operation
  const Origin none_;
};

/// Gives what a block's operations write, while it lives, the lines and scopes of their origins.
/// Blocks nest: what an operation does not say of its origin is that of the operation with the
/// block. JAX's functions have scopes of their own or, in older versions, those of the first call,
/// too (`scopes_within`). In a program of its own scopes are relative to that operation's, because
/// whoever copies its equations into another program joins the scopes.
class BlockOrigins {
 public:
  BlockOrigins(Builder& builder, Origins& origins, const BlockOrigins*& innermost);
  ~BlockOrigins();
  BlockOrigins(const BlockOrigins&) = delete;
  BlockOrigins& operator=(const BlockOrigins&) = delete;

  /// The location of the operation that follows.
  void at(std::size_t location) {
    if (location_ != location) change(location);
  }

 private:
  void change(std::size_t location);

  Builder& builder_;
  Origins& origins_;
  const BlockOrigins*& innermost_;
  const BlockOrigins* const outer_;
  const Origin* const at_hand_outside_;
  SourceLoc line_outside_;
  const std::string scope_outside_;
  std::size_t relative_to_ = 0;  // the length of the scopes that are left out
  Origin now_;                   // with all scopes
  std::optional<std::size_t> location_;
};

}  // namespace tessera::inline v0::stablehlo
