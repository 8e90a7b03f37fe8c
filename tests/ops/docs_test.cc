// docs/ops.md holds the reference that the registry gives.
#include "ir/op_docs.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

TEST(Docs, ReferenceOfOpsIsThatOfTheRegistry) {
  const std::string path = std::string(TESSERA_SOURCE_DIR) + "/docs/ops.md",
                    heading = "## Reference\n";
  std::ifstream in(path);
  ASSERT_TRUE(in) << path;
  std::stringstream text;
  text << in.rdbuf();
  std::size_t at = text.str().find("### ", text.str().find(heading));
  std::string before = text.str().substr(0, at),
              reference = at == std::string::npos ? "" : text.str().substr(at);
  std::string expected = tessera::op_reference();
  if (std::getenv("TESSERA_UPDATE_DOCS")) {
    std::ofstream(path) << before << expected;
    return;
  }
  EXPECT_TRUE(reference == expected)
      << "run this test with TESSERA_UPDATE_DOCS=1 and commit docs/ops.md";
}
