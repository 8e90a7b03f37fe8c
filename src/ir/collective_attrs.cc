#include "ir/collective_attrs.h"

#include <tessera/error.h>

namespace tessera::inline v0 {

namespace {

const IntLists& groups_in(const Attrs& attrs) {
  static const IntLists none;
  return attrs.has(CollectiveAttrs::kGroups) ? attrs.get<IntLists>(CollectiveAttrs::kGroups) : none;
}

}  // namespace

CollectiveAttrs::CollectiveAttrs(const Attrs& attrs)
    : axes(attrs.get<Strings>(kAxes)), groups(groups_in(attrs)) {
  if (attrs.has(kSize)) size_ = attrs.i(kSize);
}

// Reductions have axes too: numbers of dimensions.
std::optional<CollectiveAttrs> CollectiveAttrs::find(const Attrs& attrs) {
  const AttrValue* axes = attrs.find(kAxes);
  if (!axes || !std::holds_alternative<Strings>(*axes)) return std::nullopt;
  return CollectiveAttrs(attrs);
}

Attrs CollectiveAttrs::with_axes(Attrs attrs, Strings axes, std::int64_t size) {
  attrs.set(kAxes, std::move(axes));
  if (attrs.has(kSize)) attrs.set(kSize, size);
  return attrs;
}

std::int64_t CollectiveAttrs::size() const {
  if (!size_) throw InternalError("a collective without the number of its devices");
  return *size_;
}

GatherAttrs::GatherAttrs(const Attrs& attrs)
    : axis(static_cast<int>(attrs.i(kAxis))), tiled(attrs.flag(kTiled)) {}

void GatherAttrs::set_in(Attrs& attrs) const {
  attrs.set(kAxis, static_cast<std::int64_t>(axis));
  attrs.set(kTiled, tiled);
}

AllToAllAttrs::AllToAllAttrs(const Attrs& attrs)
    : split(static_cast<int>(attrs.i(kSplit))),
      concat(static_cast<int>(attrs.i(kConcat))),
      tiled(attrs.flag(kTiled)) {}

void AllToAllAttrs::set_in(Attrs& attrs) const {
  attrs.set(kSplit, static_cast<std::int64_t>(split));
  attrs.set(kConcat, static_cast<std::int64_t>(concat));
  attrs.set(kTiled, tiled);
}

}  // namespace tessera::inline v0
