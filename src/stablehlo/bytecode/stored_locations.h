// The locations of a bytecode file.
#pragma once

#include "stablehlo/bytecode/tables.h"
#include "stablehlo/text/locations.h"

#include <memory>

namespace tessera::inline v0::stablehlo {

/// The number of a location is one more than that of its attribute.
class StoredLocations final : public Locations {
 public:
  StoredLocations(SourcePtr source, std::shared_ptr<const Tables> tables)
      : source_(std::move(source)), tables_(std::move(tables)) {}

  LocationSyntax at(std::size_t location, Memory& memory) const override;

 private:
  LocationSyntax read(const Tables::Entry& entry, Memory& memory) const;
  std::string_view string_of(std::size_t attribute) const;

  SourcePtr source_;
  std::shared_ptr<const Tables> tables_;
};

}  // namespace tessera::inline v0::stablehlo
