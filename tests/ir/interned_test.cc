// Equal values are stored once.
#include "base/interned.h"

#include "ir/mesh.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>

namespace ts = tessera;

namespace {

struct Alike {  // all have one hash
  int number = 0;
  static inline std::map<int, std::optional<ts::Interned<Alike>>> holders;
  static inline bool let_go = false;
  // While values are compared, the only other holder releases its value.
  bool operator==(const Alike& o) const {
    if (const auto held = holders.find(number); let_go && held != holders.end())
      held->second.reset();
    return number == o.number;
  }
  friend std::size_t hash_of(const Alike&) { return 7; }
};

}  // namespace

TEST(Interned, EqualValuesAreOneObject) {
  const ts::Interned<Alike> one(Alike{1}), two(Alike{2}), again(Alike{1});
  EXPECT_EQ(&*one, &*again);
  EXPECT_TRUE(one == again);
  EXPECT_FALSE(one == two);
  EXPECT_EQ(two->number, 2);
}

TEST(Interned, TheLastHoldersMayLetGoWhileAnotherValueIsLookedUp) {
  for (int n : {1, 2, 3}) {
    std::optional<ts::Interned<Alike>> held{ts::Interned<Alike>(Alike{n})};
    Alike::holders.emplace(n, std::move(held));
  }
  Alike::let_go = true;
  const ts::Interned<Alike> other(Alike{4});
  Alike::let_go = false;
  for (const auto& [number, held] : Alike::holders) EXPECT_FALSE(held) << number;
  Alike::holders.clear();
  EXPECT_EQ(other->number, 4);
  EXPECT_EQ(ts::Interned<Alike>(Alike{1})->number, 1);
}

TEST(Interned, MeshesAndSpecsTellTheirPartsApart) {
  const auto mesh = [](std::vector<std::string> axes, std::vector<std::int64_t> sizes,
                       std::vector<int> devices, std::string platform = "") {
    return ts::MeshRef(ts::DeviceMesh{
        {std::move(axes), std::move(sizes)}, std::move(devices), std::move(platform)});
  };
  EXPECT_EQ(mesh({"x"}, {2}, {}), mesh({"x"}, {2}, {}));
  EXPECT_FALSE(mesh({"x"}, {2}, {}) == mesh({"x"}, {2}, {0, 1}));
  EXPECT_FALSE(mesh({"x"}, {2}, {0, 1}) == mesh({"x"}, {2}, {0, 1}, "cuda"));
  EXPECT_FALSE(mesh({"x", "y"}, {2, 1}, {}) == mesh({"xy"}, {2}, {}));
  EXPECT_FALSE(ts::Spec(ts::Spec::Dims{{"a", "b"}}) == ts::Spec(ts::Spec::Dims{{"a"}, {"b"}}));
  EXPECT_EQ(ts::Spec(ts::Spec::Dims(2)), ts::Spec());
}
