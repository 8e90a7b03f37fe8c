// Plug-ins of earlier versions: one with the same version of the interface works, although it was
// compiled from other sources, and one with another version is refused.
#include "processes/plugin.h"
#include "processes/transport_abi.h"

#include "message.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <string>

namespace ts = tessera;

namespace {

class Plugins : public testing::Test {
 protected:
  void SetUp() override {
    if (const char* v = std::getenv("TESSERA_TRANSPORT")) old_ = v;
  }
  void TearDown() override {
    if (old_)
      ::setenv("TESSERA_TRANSPORT", old_->c_str(), 1);
    else
      ::unsetenv("TESSERA_TRANSPORT");
  }
  static TesseraTransport open(const char* path) {
    ::setenv("TESSERA_TRANSPORT", path, 1);
    TesseraTransport t{};
    ts::processes::open_plugin(t, {});
    return t;
  }

 private:
  std::optional<std::string> old_;
};

}  // namespace

// If this fails because the interface has changed: earlier_plugin.cc takes a copy of the new one.
TEST_F(Plugins, OfTheSameVersionWork) {
  TesseraTransport t = open(EARLIER_PLUGIN);
  EXPECT_EQ(t.version, 3);
  EXPECT_EQ(TESSERA_TRANSPORT_VERSION, 3);
  EXPECT_STREQ(t.name, "earlier");
  EXPECT_EQ(t.rank, 5);
  EXPECT_EQ(t.size, 7);
  ASSERT_EQ(t.node_size, 2);
  EXPECT_EQ(t.node[0], 4);
  EXPECT_EQ(t.node[1], 6);

  const std::string text = "abcd";
  std::string all(4, ' ');
  auto* request = reinterpret_cast<TesseraRequest*>(&t);
  EXPECT_EQ(t.all_gather(&t, text.data(), 3, all.data(), &request), 0);
  EXPECT_EQ(request, nullptr);
  EXPECT_EQ(all, "abc ");
  EXPECT_STREQ(t.error, "all_gather 3");
  EXPECT_EQ(t.send(&t, 2, 9, text.data(), 4, &request), 0);
  EXPECT_STREQ(t.error, "send 2 9 a 4");
  EXPECT_EQ(t.receive(&t, 3, 8, all.data(), 2, &request), 0);
  EXPECT_STREQ(t.error, "receive 3 8 2");
  EXPECT_EQ(all, "rbc ");
  int number = 0;
  EXPECT_EQ(t.test(&t, &request, &number), 0);
  EXPECT_EQ(number, 1);
  EXPECT_STREQ(t.error, "test");
  EXPECT_EQ(t.probe(&t, 12, &number), 0);
  EXPECT_EQ(number, -1);
  EXPECT_STREQ(t.error, "probe 12");
  void* segments[2] = {&t, &t};
  auto* window = reinterpret_cast<TesseraWindow*>(&t);
  EXPECT_EQ(t.share(&t, 4096, segments, &window), 0);
  EXPECT_EQ(segments[1], nullptr);
  EXPECT_EQ(window, nullptr);
  EXPECT_STREQ(t.error, "share 4096");
  EXPECT_EQ(t.unshare(&t, window), 0);
  EXPECT_STREQ(t.error, "unshare");
  EXPECT_EQ(t.close(&t), 0);
  EXPECT_STREQ(t.error, "close");
  t.abort(&t, 13);
  EXPECT_STREQ(t.error, "abort 13");
}

TEST_F(Plugins, OfAnotherVersionAreRefused) {
  EXPECT_EQ(test::message([] { open(OLDER_PLUGIN); }),
            "initialize: the plug-in is of version 2\n"
            "  rule: this library takes version 3\n"
            "  try: build library and plug-in from one source");
}
