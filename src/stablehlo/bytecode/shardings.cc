// Shardy's attributes, as their text would be read (text/parse_shardings.cc).
#include "stablehlo/bytecode/attribute_reader.h"

namespace tessera::inline v0::stablehlo {

namespace {

using A = AttributeSyntax;

// The codes of Shardy's attributes, which are never used again for something else. Rules of
// operations and parameters of collectives have others.
enum Code {
  kManualAxes,
  kMeshAxis,
  kMesh,
  kPartOfAxis,
  kAxis,
  kDimension,
  kSharding,
  kPerValue,
  kShardingUnreduced = 15,
  kPerValueUnreduced = 16,
  kShardingReduced = 17,  // by something else than a sum
};

A made(A::Kind kind, std::size_t at) {
  A a;
  a.kind = kind;
  a.at = at;
  return a;
}

}  // namespace

AttributeSyntax AttributeReader::sdy_attribute(Bytes in) {
  const std::size_t at = in.at();
  const auto all = [&](A& into) {
    for (std::size_t n = in.count("attributes"); n-- > 0;) into.items.add(memory(), attribute(in));
  };
  switch (in.number()) {
    case kManualAxes:
    case kPerValue:
    case kPerValueUnreduced: {
      A a = made(A::list, at);
      all(a);
      return a;
    }
    case kMeshAxis: {
      A a = made(A::string, at);
      a.text = string(in);
      a.integer_value = in.signed_number();
      return a;
    }
    case kMesh: {
      A a = made(A::fields, at);
      a.text = "sdy.mesh";
      all(a);
      for (std::size_t n = in.count("devices"); n-- > 0;)
        a.values.add(memory(), in.signed_number());
      return a;
    }
    case kAxis: {
      A a = made(A::string, at);
      a.text = string(in);
      if (in.number() & 1)
        in.fail("a part of the axis " + shown(a.text), "dimensions are cut by whole axes",
                "give the part a name of its own in the mesh");
      return a;
    }
    case kDimension: {
      A a = made(A::list, at);
      all(a);
      if (in.byte() == 0) a.items.add(memory(), made(A::unit, at));
      return a;
    }
    case kSharding: {
      A a = made(A::sharding, at);
      const A mesh = attribute(in);
      if (mesh.kind != A::symbol)
        in.fail("a sharding with a mesh of its own", "meshes have names in the module");
      a.text = mesh.text;
      all(a);
      return a;  // behind it the axes along which it is whole
    }
    case kShardingUnreduced:
    case kShardingReduced:
      in.fail("a sharding with unreduced axes", "a sharding says which axes cut each dimension");
    default: return made(A::other, at);
  }
}

}  // namespace tessera::inline v0::stablehlo
