// Files in a folder of checkpoints that are not steps are not listed, counted, replaced or removed,
// whatever their names are.
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
using checkpoint_test::read;
using checkpoint_test::same;
using checkpoint_test::write;
using test::message;

namespace {

using Names = std::vector<std::string>;
using Steps = std::vector<std::int64_t>;

class Foreign : public checkpoint_test::InFolder {
 protected:
  void put(const std::string& name, const std::string& text = "somebody's") const {
    fs::create_directories(fs::path(dir + "/" + name).parent_path());
    write(dir + "/" + name, text);
  }
};

constexpr const char* kShard = "shards-0-of-1.safetensors";

}  // namespace

TEST_F(Foreign, FoldersWithNumbersForNamesAreKeptAndNotCounted) {
  const Names others{"1/thesis.txt", "1999/a/b.txt", "20241126/manifest.json",
                     "3000/shards-0-of-1.safetensors"};
  for (const std::string& name : others) put(name);
  fs::create_directory(dir + "/4000");
  write(dir + "/5000", "a file");
  ts::CheckpointManager m(dir, {.max_to_keep = 2, .async = false});
  for (int i = 2000; i < 2004; ++i) {
    EXPECT_TRUE(m.save(i, ts::full({3}, i)));
    EXPECT_EQ(m.latest_step(), i);
    EXPECT_TRUE(same(m.restore(ts::zeros({3}, ts::i32)), ts::full({3}, i)));
  }
  EXPECT_EQ(m.all_steps(), (Steps{2002, 2003}));
  EXPECT_EQ(names_in(dir),
            (Names{"1", "1999", "2002", "2003", "20241126", "3000", "4000", "5000"}));
  for (const std::string& name : others) EXPECT_EQ(read(dir + "/" + name), "somebody's") << name;
  EXPECT_EQ(ts::checkpoint::latest_intact_step(dir), 2003);
  EXPECT_EQ(
      plain(message<ts::IoError>([&] { m.restore(ts::ones({3}), {.step = 1}); })),
      "checkpoint::restore: DIR/1 is no step: it has no manifest of a save that was finished\n"
      "  rule: the steps that are there are 2002, 2003\n"
      "  try: take one of these, or the folder from where it was copied to");
}

TEST_F(Foreign, NothingIsReplacedButSteps) {
  put("7/thesis.txt");
  fs::create_directory(dir + "/8");
  fs::create_directory_symlink("9x", dir + "/9");
  ts::checkpoint::save(dir, 10, ts::ones({3}));
  fs::create_directory_symlink("10", dir + "/11");
  for (const bool overwrite : {false, true}) {
    const auto said = [&](int step) {
      return plain(message<ts::IoError>(
          [&] { ts::checkpoint::save(dir, step, ts::ones({3}), {.overwrite = overwrite}); }));
    };
    const std::string rest =
        "\n  rule: a save replaces and removes steps that were saved there, and nothing else\n"
        "  try: move it away, or save into another folder";
    for (const char* name : {"7", "8", "9"})
      EXPECT_EQ(said(std::stoi(name)),
                "checkpoint::save: DIR/" + std::string(name) +
                    " is there, and no save made it: it has no manifest of one" + rest);
    EXPECT_EQ(said(11), "checkpoint::save: step 11 of DIR is a symbolic link" + rest);
  }
  EXPECT_EQ(read(dir + "/7/thesis.txt"), "somebody's");
  EXPECT_EQ(names_in(dir), (Names{"10", "11", "7", "8", "9"}));
  EXPECT_EQ(ts::checkpoint::all_steps(dir), (Steps{10, 11}));
}

// A link to a step, perhaps of another run, is read and not removed.
TEST_F(Foreign, LinkedStepsAreReadOnly) {
  ts::checkpoint::save(dir + "/other", 5, ts::full({3}, 5));
  fs::create_directory(dir + "/run");
  fs::create_directory_symlink("../other/5", dir + "/run/5");
  ts::CheckpointManager m(dir + "/run", {.max_to_keep = 1, .async = false});
  EXPECT_TRUE(same(m.restore(ts::zeros({3}, ts::i32)), ts::full({3}, 5)));
  for (const int i : {6, 7}) m.save(i, ts::full({3}, i));
  EXPECT_EQ(names_in(dir + "/run"), (Names{"5", "7"}));
  EXPECT_EQ(ts::checkpoint::verify(dir + "/other", 5), Names{});
}

// Notes that a user put beside the shards remain, whether the step is removed or replaced.
TEST_F(Foreign, FilesInTheFolderOfAStepStay) {
  ts::CheckpointManager m(dir, {.max_to_keep = 1, .async = false});
  m.save(1, ts::full({3}, 1));
  put("1/eval/result.txt");
  m.save(2, ts::full({3}, 2));
  EXPECT_EQ(m.all_steps(), Steps{2});
  EXPECT_EQ(names_in(dir), (Names{"1", "2"}));
  EXPECT_EQ(names_in(dir + "/1"), Names{"eval"});
  EXPECT_EQ(read(dir + "/1/eval/result.txt"), "somebody's");
  put("2/notes.txt");
  ts::checkpoint::save(dir, 2, ts::full({3}, 3), {.overwrite = true});
  EXPECT_EQ(names_in(dir), (Names{"1", "2"}));
  EXPECT_EQ(names_in(dir + "/2"), (Names{"manifest.json", "notes.txt", kShard}));
  EXPECT_TRUE(same(m.restore(ts::zeros({3}, ts::i32)), ts::full({3}, 3)));
  // A run was killed while it removed a step.
  fs::rename(dir + "/2", dir + "/.removing-2-0123456789abcdef");
  m.save(3, ts::full({3}, 4));
  EXPECT_EQ(names_in(dir), (Names{"1", "2", "3"}));
  EXPECT_EQ(names_in(dir + "/2"), Names{"notes.txt"});
}

TEST_F(Foreign, AStepWithoutItsManifestIsNone) {
  for (const int i : {1, 2}) ts::checkpoint::save(dir, i, ts::full({3}, i));
  fs::remove(dir + "/2/manifest.json");
  EXPECT_EQ(ts::checkpoint::all_steps(dir), Steps{1});
  EXPECT_TRUE(same(ts::checkpoint::restore(dir, ts::zeros({3}, ts::i32)), ts::full({3}, 1)));
  const auto error = [](const std::string& function) {
    return function +
           ": DIR/2 is no step: it has no manifest of a save that was finished\n"
           "  rule: the steps that are there are 1\n"
           "  try: take one of these, or the folder from where it was copied to";
  };
  EXPECT_EQ(plain(message<ts::IoError>([&] { ts::checkpoint::info(dir, 2); })),
            error("checkpoint::info"));
  EXPECT_EQ(plain(message<ts::IoError>([&] { (void)ts::checkpoint::verify(dir, 2); })),
            error("checkpoint::verify"));
}
