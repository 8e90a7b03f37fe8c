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

/// Finds the origins of locations, on demand and once each. The line is the innermost one outside
/// installed packages or, if there is none, the innermost one. Never fails: the origin of an
/// unknown location is empty.
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

/// While it lives, equations that a block's operations emit get the lines and scopes of their
/// origins. Blocks nest: what is unknown of an operation's origin is taken from the operation that
/// has the block. Scopes inside a function of JAX are its own or, in older versions, begin with
/// those of its first call (`scopes_within`). In a separate program, scopes are relative to those
/// of the operation that has the block, because inlining the program joins the two.
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
