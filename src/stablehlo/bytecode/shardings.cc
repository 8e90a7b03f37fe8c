// Reads Shardy's attributes to the syntax that their text is parsed into (text/parse_shardings.cc).
#include "stablehlo/bytecode/attribute_reader.h"

#include <iterator>

namespace tessera::inline v0::stablehlo {

namespace {

using A = AttributeSyntax;

// The codes of Shardy's attributes, which are never reused for other attributes. Sharding rules of
// operations have further codes.
enum ShardyCode {
  kManualAxes,
  kShardyMeshAxis,
  kShardyMesh,
  kShardyPartOfAxis,
  kShardyAxis,
  kDimension,
  kSharding,
  kPerValue,
  kAxes = 11,
  kAxesOfDimensions,
  kWay,
  kWays,
  kShardingUnreduced,
  kPerValueUnreduced,
  kShardingReduced,  // by a reduction other than sum
};
constexpr std::string_view kReductions[] = {"sum", "max", "min"};

A new_attribute(A::Kind kind, std::size_t at) {
  A a;
  a.kind = kind;
  a.at = at;
  return a;
}

}  // namespace

// The dimensions are followed by the axes along which the array is replicated, then those along
// which it is unreduced (if there are any), then the kind of reduction if it is not a sum.
AttributeSyntax AttributeReader::sharding(Bytes& in, std::size_t at, bool unreduced,
                                          bool other_reduction) {
  A a = new_attribute(A::sharding, at);
  const A mesh = attribute(in);
  if (mesh.kind == A::symbol)
    a.text = mesh.text;
  else
    a.entries.add(memory(), {"mesh", mesh});
  const auto all = [&](A& into) {
    for (std::size_t n = in.count("attributes"); n-- > 0;) into.items.add(memory(), attribute(in));
  };
  all(a);
  A whole = new_attribute(A::list, at);
  all(whole);
  a.entries.add(memory(), {"replicated", whole});
  if (!unreduced) return a;
  A along = new_attribute(A::list, at);
  all(along);
  along.text = kReductions[0];
  if (other_reduction) {
    const std::int64_t reduction = in.signed_number();
    if (reduction < 0 || reduction >= static_cast<std::int64_t>(std::size(kReductions)))
      in.fail("a sharding with a reduction of number " + std::to_string(reduction));
    along.text = kReductions[static_cast<std::size_t>(reduction)];
  }
  a.entries.add(memory(), {"unreduced", along});
  return a;
}

AttributeSyntax AttributeReader::sdy_attribute(Bytes in) {
  const std::size_t at = in.at();
  const auto all = [&](A& into) {
    for (std::size_t n = in.count("attributes"); n-- > 0;) into.items.add(memory(), attribute(in));
  };
  switch (in.number()) {
    case kManualAxes:
    case kPerValue:
    case kAxes:
    case kAxesOfDimensions:
    case kWays:
    case kPerValueUnreduced: {
      A a = new_attribute(A::list, at);
      all(a);
      return a;
    }
    case kWay: {
      A a = new_attribute(A::list, at);
      all(a);
      for (int end = 0; end < 2; ++end) a.values.add(memory(), in.signed_number());
      return a;
    }
    case kShardyPartOfAxis: {
      A a = new_attribute(A::integers, at);
      for (int part = 0; part < 2; ++part) a.values.add(memory(), in.signed_number());
      return a;
    }
    case kShardyMeshAxis: {
      A a = new_attribute(A::string, at);
      a.text = string(in);
      a.integer_value = in.signed_number();
      return a;
    }
    case kShardyMesh: {
      A a = new_attribute(A::fields, at);
      a.text = "sdy.mesh";
      all(a);
      for (std::size_t n = in.count("devices"); n-- > 0;)
        a.values.add(memory(), in.signed_number());
      return a;
    }
    case kShardyAxis: {
      A a = new_attribute(A::string, at);
      a.text = string(in);
      if (const std::optional<A> part = optional_attribute(in)) a.values = part->values;
      return a;
    }
    case kDimension: {
      A a = new_attribute(A::list, at);
      all(a);
      if (in.byte() == 0) a.items.add(memory(), new_attribute(A::unit, at));
      return a;
    }
    case kSharding: return sharding(in, at, false, false);
    case kShardingUnreduced: return sharding(in, at, true, false);
    case kShardingReduced: return sharding(in, at, true, true);
    default: return new_attribute(A::other, at);
  }
}

}  // namespace tessera::inline v0::stablehlo
