// File and folder names used by saves.
//
//   run/40/                              a step: a folder whose name is a number
//   run/.saving-50-0123456789abcdef/     a step that is being written
//   run/.removing-30-0123456789abcdef/   a step that is being removed
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::inline v0::checkpoints {

std::string step_path(const std::string& dir, std::int64_t step);
/// The step number in a name such as "40"; "007" is not a step.
std::optional<std::int64_t> step_of(std::string_view name);
/// Text for messages: "10, 20, 30 and 4 more".
std::string steps_text(const std::vector<std::int64_t>& steps);

std::string saving_path(const std::string& dir, std::int64_t step, std::uint64_t nonce);
std::string removing_path(const std::string& dir, std::int64_t step, std::uint64_t nonce);
/// The step of a folder that is being written, or that is being removed.
std::optional<std::int64_t> saving_step_of(std::string_view name);
std::optional<std::int64_t> removing_step_of(std::string_view name);

std::string shard_name(int process, int processes, std::size_t part);
bool is_shard(std::string_view name);

/// The file in which a process reports to the others that save the same step, and its lock file.
std::string part_name(int process);
std::string alive_name(int process);
/// The name under which a report is written before it is renamed.
std::string unfinished(const std::string& name);

/// Whether saves create files of this name in a step's folder. Other files there belong to someone
/// else.
bool is_file_of_step(std::string_view name);

}  // namespace tessera::inline v0::checkpoints
