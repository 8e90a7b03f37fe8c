// The locations of a text.
#pragma once

#include "stablehlo/text/lexer.h"
#include "stablehlo/text/locations.h"

#include <string_view>
#include <unordered_map>

namespace tessera::inline v0::stablehlo {

/// The number of a location is the position of its text, without "loc(".
class WrittenLocations final : public Locations {
 public:
  explicit WrittenLocations(SourcePtr source) : source_(std::move(source)) {}

  /// Defines what #name stands for.
  void define(std::string_view name, std::size_t location) { aliases_[name] = location; }
  LocationSyntax at(std::size_t location, Memory& memory) const override;
  std::size_t resolved(std::size_t location) const override;

 private:
  SourcePtr source_;
  std::unordered_map<std::string_view, std::size_t> aliases_;
};

}  // namespace tessera::inline v0::stablehlo
