// The parts of errors, each by itself.
#include <tessera/tessera.h>

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace ts = tessera;
using ts::Array;
using Texts = std::vector<std::string>;

namespace {

template <class E, class F>
E caught(F f) {
  try {
    f();
  } catch (const E& e) {
    return e;
  }
  ADD_FAILURE() << "nothing is thrown";
  return E("nothing is thrown");
}

TEST(Fields, OfWrongArguments) {
  ts::set_device_count(4);
  int line = 0;
  const auto e = caught<ts::ShapeError>([&] {
    line = __LINE__ + 1;
    ts::pmap([](Array x) { return x; }, {.axis_size = 2})(ts::ones({4}));
  });
  EXPECT_EQ(e.function(), "pmap");
  EXPECT_EQ(e.problem(), "mapped axes do not have the axis_size of 2");
  EXPECT_EQ(e.offenders(), Texts{"args[0]: f32[4], axis 0 has 4 elements"});
  EXPECT_EQ(e.rule(), "each device gets one entry of every mapped axis, so all have one size");
  EXPECT_EQ(e.at(), "");
  EXPECT_EQ(e.file(), __FILE__);
  EXPECT_EQ(e.line(), line);
  EXPECT_EQ(e.scope(), "");
  EXPECT_EQ(e.advice(),
            "cut a batch with ts::data::shard_batch(x, 2), give a state a row a device with "
            "ts::replicate(x, 2), or mark what all devices share ts::replicated in in_axes");
  EXPECT_EQ(e.calls(), Texts{});
  EXPECT_EQ(e.headline(), "pmap: mapped axes do not have the axis_size of 2");
}

struct Model {
  Array weight;
};

TEST(Fields, OfAnArgumentInATreeAndOfNamedScopes) {
  const Model described{ts::abstract(ts::f32, {2})};
  int line = 0;
  const auto e = caught<ts::TraceError>([&] {
    const auto model = ts::named_scope("model");
    const auto layer = ts::named_scope("layer_0");
    line = __LINE__ + 1;
    ts::grad([](Model m) { return ts::sum(m.weight); })(described);
  });
  EXPECT_EQ(e.at(), "args[0]/weight");
  EXPECT_EQ(e.scope(), "model/layer_0");
  EXPECT_EQ(std::string(e.what()),
            "grad: the operand f32[2] is abstract: it has a dtype and a shape but no values\n"
            "  rule: abstract arrays only describe arguments, to lower(), eval_shape() and the "
            "like\n"
            "  at: args[0]/weight\n"
            "  from: fields_test.cc:" +
                std::to_string(line) +
                "\n"
                "  in: model/layer_0\n"
                "  try: pass an array with values, or trace the computation with eval_shape");
}

// Collectives rethrow the errors of their ops under the name of the function that the user called.
TEST(Fields, StayInAnErrorThatIsRenamed) {
  ts::set_device_count(4);
  int line = 0;
  const auto e = caught<ts::CollectiveError>([&] {
    const auto mean = [&](Array x) {
      line = __LINE__ + 1;
      return ts::pmean(x, "devices", {{0, 1}, {1, 2}});
    };
    ts::pmap(mean, {.axis_name = "devices"})(ts::ones({4}));
  });
  EXPECT_EQ(e.function(), "pmean");
  EXPECT_EQ(e.problem(),
            "the axis_index_groups do not cover every index of axis 'devices' exactly once");
  EXPECT_EQ(e.offenders(), (Texts{"index 1 appears 2 times", "index 3 is missing"}));
  EXPECT_EQ(e.rule(), "the groups partition the 4 indices of the axis");
  EXPECT_EQ(e.line(), line);
  EXPECT_EQ(e.advice(),
            "put each index from 0 to 3 in one group, or pass no groups for one sum over all");
  EXPECT_EQ(e.parts().text(), e.what());
}

TEST(Fields, OfAPlainText) {
  const ts::IoError e("model.bin: it is damaged\nfrom byte 12 on");
  EXPECT_STREQ(e.what(), "model.bin: it is damaged\nfrom byte 12 on");
  EXPECT_EQ(e.problem(), "model.bin: it is damaged\nfrom byte 12 on");
  EXPECT_EQ(e.headline(), "model.bin: it is damaged");
  EXPECT_EQ(e.function() + e.rule() + e.at() + e.file() + e.scope() + e.advice(), "");
  EXPECT_EQ(e.line(), 0);
  EXPECT_EQ(e.parts().text(), e.what());
}

TEST(Fields, AreSharedByCopies) {
  static_assert(std::is_nothrow_copy_constructible_v<ts::Error> &&
                std::is_nothrow_copy_assignable_v<ts::Error> &&
                std::is_nothrow_move_constructible_v<ts::ShapeError> &&
                std::is_nothrow_copy_constructible_v<ts::ShapeError> &&
                std::is_nothrow_copy_constructible_v<ts::InternalError>);
  ts::ShapeError e = caught<ts::ShapeError>(
      [] { ts::Message("f").problem("too long").rule("at most 3").raise<ts::ShapeError>(); });
  const ts::ShapeError copy = e;
  EXPECT_EQ(&copy.rule(), &e.rule());
  const ts::ShapeError moved = std::move(e);
  EXPECT_EQ(moved.problem(), "too long");
  EXPECT_EQ(e.problem(), "too long");  // NOLINT: a moved-from error keeps its parts
  EXPECT_STREQ(e.what(), "f: too long\n  rule: at most 3");
  e = ts::ShapeError("other");
  EXPECT_EQ(e.problem(), "other");
  EXPECT_EQ(copy.problem(), "too long");
}

TEST(Fields, HaveAllOffendersOfWhichTheTextShowsSome) {
  ts::Message m("f");
  m.problem("many");
  std::string text = "f: many";
  for (int i = 0; i < 18; ++i) {
    m.offender("number " + std::to_string(i));
    if (i < 16) text += "\n  - number " + std::to_string(i);
  }
  const auto e = caught<ts::Error>([&] { m.raise<ts::Error>(); });
  EXPECT_EQ(e.offenders().size(), 18u);
  EXPECT_EQ(e.offenders().back(), "number 17");
  EXPECT_EQ(std::string(e.what()), text + "\n  - and 2 more");
}

TEST(Fields, AreSafeToPrint) {
  const auto e = caught<ts::Error>([] {
    ts::Message("f\x1b").problem("a\x1b[31m b").rule("f32[]* c").at("\xff").raise<ts::Error>();
  });
  EXPECT_EQ(e.function(), "f\\x1b");
  EXPECT_EQ(e.problem(), "a\\x1b[31m b");
  EXPECT_EQ(e.rule(), "f32[] c");
  EXPECT_EQ(e.at(), "\\xff");
  EXPECT_STREQ(e.what(), "f\\x1b: a\\x1b[31m b\n  rule: f32[] c\n  at: \\xff");
}

TEST(Fields, MayBeChangedToThrowTheErrorAgain) {
  ts::ErrorParts parts;
  parts.function = "dot";
  parts.problem = "it fails\n    ^";
  parts.offenders = {"x", "y"};
  parts.rule = "it does not";
  parts.at = "args[0]";
  parts.file = "models/net.cc";
  parts.line = 12;
  parts.scope = "model";
  parts.advice = "try again";
  parts.calls = {"outer", "inner"};
  const ts::CollectiveError first(parts);
  parts = first.parts();
  parts.function = "psum";
  const ts::CollectiveError e(parts);
  EXPECT_EQ(std::string(e.what()),
            "in the call of 'outer', which ran asynchronously:\n"
            "in the call of 'inner', which ran asynchronously:\n"
            "psum: it fails\n"
            "    ^\n"
            "  - x\n"
            "  - y\n"
            "  rule: it does not\n"
            "  at: args[0]\n"
            "  from: net.cc:12\n"
            "  in: model\n"
            "  try: try again");
  EXPECT_EQ(e.headline(), "psum: it fails");
  EXPECT_EQ(first.function(), "dot");
}

// Libraries on top of Tessera raise exceptions of their own types.
struct OwnError : ts::Error {
  using Error::Error;
};
struct TextError : ts::Error {
  explicit TextError(const std::string& text) : Error(text) {}
};

TEST(Fields, OfOtherExceptions) {
  const ts::Message m = std::move(ts::Message("f").problem("wrong").advice("mend it"));
  const std::string text = "f: wrong\n  try: mend it";
  EXPECT_EQ(caught<OwnError>([&] { m.raise<OwnError>(); }).advice(), "mend it");
  EXPECT_EQ(caught<TextError>([&] { m.raise<TextError>(); }).problem(), text);
  EXPECT_EQ(caught<std::runtime_error>([&] { m.raise<std::runtime_error>(); }).what(), text);
}

TEST(Fields, OfBrokenPromises) {
  const int line = __LINE__ + 1;
  const ts::InternalError e("two is three");
  EXPECT_EQ(e.problem(), "two is three");
  EXPECT_EQ(std::string(e.what()),
            "Tessera broke a promise of its own: two is three "
            "(fields_test.cc:" +
                std::to_string(line) + "). Please report this with the program that caused it.");
}

}  // namespace
