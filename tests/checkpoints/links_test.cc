// Folders of checkpoints that are symbolic links, for example to a scratch disk.
#include <tessera/checkpoint.h>
#include <tessera/checkpoint_manager.h>
#include <tessera/creation.h>

#include "checkpoints/folder.h"
#include "message.h"

#include <filesystem>
#include <string>
#include <vector>

namespace fs = std::filesystem;
namespace ts = tessera;
using checkpoint_test::same;
using test::message;

namespace {

using Names = std::vector<std::string>;

class Links : public checkpoint_test::InFolder {
 protected:
  void SetUp() override {
    InFolder::SetUp();
    fs::create_directories(dir + "/scratch/run");
    fs::create_directory_symlink("scratch/run", dir + "/run");
  }
};

constexpr const char* kShard = "shards-0-of-1.safetensors";

}  // namespace

TEST_F(Links, AFolderMayBeOne) {
  int step = 0;
  for (const std::string path : {"/run", "/run/", "/run/.", "//run//"}) {
    ++step;
    ts::checkpoint::save(dir + path, step, ts::full({3}, step));
    EXPECT_TRUE(
        same(ts::checkpoint::restore(dir + path, ts::zeros({3}, ts::i32)), ts::full({3}, step)))
        << path;
  }
  ts::checkpoint::save(dir + "/run", 4, ts::full({3}, 5), {.overwrite = true});
  ts::CheckpointManager m(dir + "/run", {.max_to_keep = 1, .async = false});
  m.save(5, ts::full({3}, 5));
  EXPECT_EQ(names_in(dir + "/scratch/run"), Names{"5"});
  EXPECT_TRUE(fs::is_symlink(dir + "/run"));
}

TEST_F(Links, MayLeadToAFolderThatIsStillToBeMade) {
  fs::create_directory_symlink("scratch/new/one", dir + "/first");
  fs::create_directory_symlink("first", dir + "/second");
  ts::checkpoint::save(dir + "/second", 1, ts::ones({3}));
  EXPECT_EQ(names_in(dir + "/scratch/new/one"), Names{"1"});
  fs::create_directory_symlink("b", dir + "/a");
  fs::create_directory_symlink("a", dir + "/b");
  EXPECT_EQ(
      plain(message<ts::IoError>([&] { ts::checkpoint::save(dir + "/a", 1, ts::ones({3})); })),
      "checkpoint::save: step 1 of DIR/a is not saved: Too many levels of symbolic links\n"
      "  rule: a step is there as a whole or not at all; those that were there are kept\n"
      "  try: check that the folder is writable, and the space that is left on the disk");
}

// "link/.." is the parent of the folder that the link leads to.
TEST_F(Links, AreFollowedBeforeTheirParents) {
  ts::checkpoint::save(dir + "/run/../other", 1, ts::ones({3}));
  EXPECT_EQ(names_in(dir + "/scratch"), (Names{"other", "run"}));
  EXPECT_TRUE(same(ts::checkpoint::restore(dir + "/run/../other", ts::zeros({3})), ts::ones({3})));
}

TEST_F(Links, InsideAStepAreRefused) {
  ts::checkpoint::save(dir, 1, ts::ones({3}));
  ts::checkpoint::save(dir, 2, ts::ones({3}));
  for (const std::string name : {kShard, "manifest.json"}) {
    const std::string file = dir + "/2/" + name, away = dir + "/" + name;
    fs::rename(file, away);
    fs::create_symlink(away, file);
    const std::string holds = name == kShard ? "; it holds the value" : "";
    for (const bool verify : {true, false})
      EXPECT_EQ(plain(message<ts::IoError>(
                    [&] { ts::checkpoint::restore(dir, ts::ones({3}), {.verify = verify}); })),
                "checkpoint::restore: step 2 of DIR is damaged\n  - " + name +
                    ": it is a symbolic link, and a step's files are in its own folder" + holds +
                    "\n  rule: what is read has the checksums that were written\n"
                    "  try: step 1 is intact: {.step = 1}");
    fs::remove(file);
    fs::rename(away, file);
  }
}
