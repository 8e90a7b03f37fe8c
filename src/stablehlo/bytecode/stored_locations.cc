#include "stablehlo/bytecode/stored_locations.h"

#include <tessera/error.h>

namespace tessera::inline v0::stablehlo {

namespace {

// The codes of MLIR's own attributes.
enum LocationCode {
  kStringCode = 2,
  kCallSiteCode = 10,
  kFileLineColumnCode = 11,
  kFusedCode = 12,
  kFusedWithMetadataCode = 13,
  kNamedCode = 14,
  kFileRangeCode = 22,
};

}  // namespace

LocationSyntax StoredLocations::at(std::size_t location, Memory& memory) const {
  if (location == 0 || location > tables_->attributes.size()) return {};
  try {
    return read(tables_->attributes[location - 1], memory);
  } catch (const IoError&) {
    // A location does not affect what a module computes, so one that cannot be read is ignored.
    return {};
  }
}

std::string_view StoredLocations::string_of(std::size_t attribute) const {
  const Tables::Entry& e = tables_->attributes[attribute];
  Bytes in(*source_, e.begin, e.end);
  if (!e.encoded || e.dialect != "builtin" || in.number() != kStringCode) return {};
  return tables_->strings[in.index(tables_->strings.size(), "string")];
}

LocationSyntax StoredLocations::read(const Tables::Entry& entry, Memory& memory) const {
  LocationSyntax l;
  if (!entry.encoded || entry.dialect != "builtin") return l;
  Bytes in(*source_, entry.begin, entry.end);
  const auto attribute = [&] { return in.index(tables_->attributes.size(), "attribute"); };
  switch (in.number()) {
    case kFileLineColumnCode:
      l.kind = LocationSyntax::file;
      l.text = string_of(attribute());
      l.line = static_cast<std::int64_t>(in.number());
      break;
    case kFileRangeCode:
      l.kind = LocationSyntax::file;
      l.text = string_of(attribute());
      // The numbers of a range begin with its first line; a range may have none.
      if (in.count("numbers of a range")) l.line = static_cast<std::int64_t>(in.number());
      break;
    case kNamedCode:
      l.kind = LocationSyntax::name;
      l.text = string_of(attribute());
      l.parts.add(memory, attribute() + 1);
      break;
    case kCallSiteCode:
      l.kind = LocationSyntax::call;
      for (int i = 0; i < 2; ++i) l.parts.add(memory, attribute() + 1);
      break;
    case kFusedCode:
    case kFusedWithMetadataCode:
      l.kind = LocationSyntax::fused;
      for (std::size_t n = in.count("locations"); n-- > 0;) l.parts.add(memory, attribute() + 1);
      break;
    default: break;
  }
  return l;
}

}  // namespace tessera::inline v0::stablehlo
