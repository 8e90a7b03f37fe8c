// The names of what a save makes.
//
//   run/40/                              a step: a folder whose name is a number
//   run/.saving-50-0123456789abcdef/     one that is being written
//   run/.removing-30-0123456789abcdef/   one that is being removed
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::inline v0::checkpoints {

std::string step_path(const std::string& dir, std::int64_t step);
/// "40"; "007" is no step.
std::optional<std::int64_t> step_of(std::string_view name);
/// For messages: "10, 20, 30 and 4 more".
std::string steps_text(const std::vector<std::int64_t>& steps);

std::string saving_path(const std::string& dir, std::int64_t step, std::uint64_t nonce);
std::string removing_path(const std::string& dir, std::int64_t step, std::uint64_t nonce);
/// The step of a folder that is being written, or removed.
std::optional<std::int64_t> saving_step_of(std::string_view name);
std::optional<std::int64_t> removing_step_of(std::string_view name);

std::string shard_name(int process, int processes, std::size_t part);
bool is_shard(std::string_view name);

/// What a process tells the others that save the same step.
std::string part_name(int process);
std::string alive_name(int process);
/// Such a file is written under this name first.
std::string unfinished(const std::string& name);

/// Whether saves make files of this name in the folder of a step. Other files there are somebody
/// else's.
bool is_file_of_step(std::string_view name);

}  // namespace tessera::inline v0::checkpoints
