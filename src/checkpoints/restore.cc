#include "checkpoints/restore.h"

#include "checkpoints/shard_reader.h"

#include <tessera/checkpoint.h>
#include <tessera/detail/input_file.h>
#include <tessera/distributed.h>

#include <fmt/format.h>

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <set>

namespace tessera::inline v0::checkpoints {
namespace {

constexpr const char* kRestore = "checkpoint::restore";

// Allocates memory for a block. Large blocks use huge pages, because the first touch of small pages
// takes as long as reading.
std::shared_ptr<std::byte> allocate(std::uint64_t bytes, const std::string& path,
                                    const SourceLoc& loc) {
  constexpr std::uint64_t kPage = std::uint64_t{2} << 20;
  const std::uint64_t align = bytes >= 2 * kPage ? kPage : 64,
                      size = (std::max<std::uint64_t>(bytes, 1) + align - 1) / align * align;
  void* memory = bytes > detail::machine_memory() ? nullptr : std::aligned_alloc(align, size);
  if (!memory)
    Message(kRestore)
        .problem(fmt::format("there is no memory for the {} bytes of '{}'", bytes, path))
        .rule("a process has memory for the blocks of its devices")
        .from(loc)
        .advice("restore it on more devices, or a part of the tree: {.only = {\"model/**\"}}")
        .raise<DeviceError>();
  if (align == kPage) (void)::madvise(memory, size, MADV_HUGEPAGE);
  return {static_cast<std::byte*>(memory), [](std::byte* p) { std::free(p); }};
}

Shape start_of(const std::vector<Range>& index) {
  Shape start;
  for (const Range& r : index) start.push_back(r.start.value_or(0));
  return start;
}

// The blocks of an array that this process needs, by their start indices.
struct Needed {
  Shape shape;  // of each block
  std::map<std::vector<std::int64_t>, std::shared_ptr<std::byte>> blocks;
};

Needed needed(const Entry& e, const std::optional<Sharding>& where, const SourceLoc& loc) {
  Needed out;
  std::vector<Shape> starts;
  if (!where) {
    out.shape = e.shape;
    starts.push_back(Shape(std::vector<std::int64_t>(e.shape.size(), 0)));
  } else {
    out.shape = where->shard_shape(e.shape);
    const std::vector<std::vector<Range>> indices = where->indices(e.shape);
    for (std::size_t d = 0; d < indices.size(); ++d)
      if (process_of(where->devices()[d]) == process_index())
        starts.push_back(start_of(indices[d]));
  }
  const std::uint64_t bytes = static_cast<std::uint64_t>(out.shape.count()) *
                              static_cast<std::uint64_t>(size_of(e.stored()));
  for (const Shape& start : starts) {
    auto& block = out.blocks[start.to_vector()];
    if (!block) block = allocate(bytes, e.path, loc);
  }
  return out;
}

Array scalar(const Entry& e, const std::byte* bytes) {
  const auto read = [&](auto v) {
    std::memcpy(&v, bytes, sizeof v);
    return Array(v);
  };
  if (is_floating(e.dtype)) return read(double{});
  return is_signed_integer(e.dtype) ? read(std::int64_t{}) : read(std::uint64_t{});
}

Array assemble(const Entry& e, const std::optional<Sharding>& where, const Needed& from) {
  const auto block = [&](const Shape& start) {
    const std::shared_ptr<std::byte>& memory = from.blocks.at(start.to_vector());
    return Array::adopt(e.dtype, from.shape, memory.get(), memory);
  };
  if (e.weak) {
    const Array x = scalar(e, from.blocks.begin()->second.get());
    return where ? device_put(x, *where) : x;
  }
  if (!where) return block(Shape(std::vector<std::int64_t>(e.shape.size(), 0)));
  return make_array_from_callback(
      e.shape, *where, [&](const std::vector<Range>& index) { return block(start_of(index)); });
}

// Whether all bytes of a bool array are 0 or 1.
bool is_sound(const Entry& e, const Needed& n) {
  if (e.dtype != DType::boolean) return true;
  return std::ranges::all_of(n.blocks, [&](const auto& block) {
    const std::byte* p = block.second.get();
    return std::all_of(p, p + n.shape.count(), [](std::byte b) { return b <= std::byte{1}; });
  });
}

std::string numbers(const std::vector<std::int64_t>& steps) {
  constexpr std::size_t kShown = 10;
  std::string text;
  for (std::size_t i = steps.size() - std::min(steps.size(), kShown); i < steps.size(); ++i)
    text += (text.empty() ? "" : ", ") + std::to_string(steps[i]);
  return (steps.size() > kShown ? "the last steps that are there are "
                                : "the steps that are there "
                                  "are ") +
         text;
}

}  // namespace

RestoredArrays read_arrays(const StepFolder& folder, const std::vector<RequestedLeaf>& wanted,
                           bool verify, const SourceLoc& loc) {
  const Manifest& manifest = folder.manifest();
  std::vector<Needed> memory;
  std::vector<Target> targets;
  for (const RequestedLeaf& w : wanted) {
    memory.push_back(needed(manifest.entries[w.entry], w.where, loc));
    for (const auto& [start, block] : memory.back().blocks)
      targets.push_back({w.entry, Shape(start), memory.back().shape, block.get()});
  }
  RestoredArrays out;
  out.problems = read_targets(folder, targets, verify);
  for (std::size_t i = 0; i < wanted.size() && out.problems.empty(); ++i)
    if (const Entry& e = manifest.entries[wanted[i].entry]; !is_sound(e, memory[i]))
      out.problems.push_back({Problem::Kind::damaged,
                              e.path + " is of bools, but holds a byte that is neither 0 nor 1"});
  if (!out.problems.empty()) return out;
  for (std::size_t i = 0; i < wanted.size(); ++i)
    out.arrays.push_back(assemble(manifest.entries[wanted[i].entry], wanted[i].where, memory[i]));
  return out;
}

std::int64_t choose_step(const char* function, const std::string& dir,
                         std::optional<std::int64_t> step, const SourceLoc& loc) {
  std::string problem;
  const Standing standing = step ? standing_of(dir, *step) : Standing::none;
  if (is_listed(standing)) return *step;
  if (!step)
    if (const auto newest = newest_in(dir, &problem)) return *newest;
  const std::vector<std::int64_t> steps = steps_in(dir, &problem);
  Message m(function);
  m.from(loc);
  if (!problem.empty())
    m.problem(detail::shown_path(dir) + " cannot be read: " + problem)
        .rule("checkpoints lie in a folder, each step in one of its own")
        .advice("check the path, and the permissions of the folder")
        .raise<IoError>();
  if (step && standing == Standing::foreign)
    m.problem(fmt::format("{}/{} is no step: it has no manifest of a save that was finished",
                          detail::shown_path(dir), *step))
        .rule(steps.empty() ? "there is no other step" : numbers(steps))
        .advice("take one of these, or the folder from where it was copied to")
        .raise<IoError>();
  if (steps.empty())
    m.problem("there is no checkpoint in " + detail::shown_path(dir))
        .rule("checkpoints lie in a folder, each step in one of its own")
        .advice("check the path; latest_step(dir) says whether there is one")
        .raise<IoError>();
  if (!step) return steps.back();  // it was created meanwhile
  m.problem(fmt::format("there is no step {} in {}", *step, detail::shown_path(dir)))
      .rule(numbers(steps))
      .advice("take one of these, or leave the step out for the newest")
      .raise<IoError>();
}

StepFolder open_step(const char* function, const std::string& dir, std::optional<std::int64_t> step,
                     const SourceLoc& loc) {
  for (int tries = 1;; ++tries) {
    const std::int64_t chosen = choose_step(function, dir, step, loc);
    StepFolder folder(dir, chosen);
    if (!folder.problem()) return folder;
    if (tries == kTries || folder.is_current())
      refuse_step(function, dir, chosen, {*folder.problem()}, loc);
  }
}

void refuse_step(const char* function, const std::string& dir, std::int64_t step,
                 const std::vector<Problem>& problems, const SourceLoc& loc) {
  constexpr std::size_t kShown = 16;
  const bool damaged = is_damaged(problems);
  Message m(function);
  m.problem(fmt::format("step {} of {} {}", step, detail::shown_path(dir),
                        damaged ? "is damaged" : "cannot be read"));
  for (std::size_t i = 0; i < std::min(problems.size(), kShown); ++i) m.offender(problems[i].text);
  if (problems.size() > kShown) m.offender(fmt::format("and {} more", problems.size() - kShown));
  m.from(loc);
  if (!damaged)
    m.rule("the manifest of a step is read, and the shards that hold what is asked for")
        .advice("check who may read the step's folder and its files, and what this process may use")
        .raise<IoError>();
  std::optional<std::int64_t> intact;
  const std::vector<std::int64_t> steps = steps_in(dir);
  for (auto s = steps.rbegin(); s != steps.rend() && !intact; ++s)
    if (*s != step)
      if (const auto found = verify_step(dir, *s); found && found->empty()) intact = *s;
  m.rule("what is read has the checksums that were written")
      .advice(intact ? fmt::format("step {} is intact: {{.step = {}}}", *intact, *intact)
                     : "no other step is intact: take the folder from where it was copied to")
      .raise<IoError>();
}

}  // namespace tessera::inline v0::checkpoints
