#include "runtime/cpu/given.h"

#include "base/hash.h"
#include "ir/text_number.h"
#include "runtime/buffer.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <string_view>

namespace tessera::inline v0::runtime {
namespace {

// Larger values are not sent to other processes; only their names are reported.
constexpr std::int64_t kMostShown = std::int64_t{1} << 28;

// The format of an input in the published text: this header, followed by `bytes` bytes of values.
struct Shown {
  std::uint64_t index, number, bytes;
};
struct Theirs {
  std::uint64_t number = 0;
  std::string_view values;
};
std::map<std::uint64_t, Theirs> parse(std::string_view text) {
  std::map<std::uint64_t, Theirs> all;
  while (text.size() >= sizeof(Shown)) {
    Shown s;
    std::memcpy(&s, text.data(), sizeof s);
    text.remove_prefix(sizeof s);
    all[s.index] = {s.number, text.substr(0, static_cast<std::size_t>(s.bytes))};
    text.remove_prefix(std::min(text.size(), static_cast<std::size_t>(s.bytes)));
  }
  return all;
}

// For example " at [1,2]"; empty for a scalar.
std::string place(const Shape& shape, std::int64_t element) {
  if (shape.size() == 0) return {};
  std::string text;
  for (std::size_t d = shape.size(); d-- > 0;) {
    const std::int64_t extent = shape[d];
    text = std::to_string(element % extent) + (text.empty() ? "" : ",") + text;
    element /= extent;
  }
  return " at [" + text + "]";
}

}  // namespace

std::shared_ptr<CallGiven> CallGiven::of(std::uint64_t signature, bool communicates,
                                         std::span<const ArrayDataPtr> inputs,
                                         const std::vector<bool>& donated,
                                         std::span<const ArrayDataPtr> results) {
  if (compares() == Compare::off) return nullptr;
  const auto spans = [](const ArrayDataPtr& a) { return spans_processes(*a->layout); };
  const bool any = std::ranges::any_of(results, spans);
  if (!communicates && !any && std::ranges::none_of(inputs, spans)) return nullptr;
  auto given = std::make_shared<CallGiven>();
  given->signature_ = signature;
  given->names_ = InputNames::now();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ArrayData& a = *inputs[i];
    const Layout& l = *a.layout;
    const bool several = spans_processes(l),
               nowhere = !several && !l.committed && l.devices().size() == 1;
    if (!several && !nowhere) continue;
    Input in{i, a.type, nullptr, a.history, nowhere, i < donated.size() && donated[i]};
    const bool whole = nowhere || l.spec.replicated();
    if (whole && !a.shards.empty() && a.shards[0].buffer && a.shards[0].buffer->is_host())
      in.bytes = a.shards[0].buffer->host_data() + a.shards[0].offset;
    if (nowhere && !in.bytes) continue;  // on another platform
    given->inputs_.push_back(std::move(in));
  }
  if (any) given->results_ = std::make_shared<std::deque<History>>(results.size());
  for (std::size_t k = 0; any && k < results.size(); ++k)
    if (spans(results[k])) results[k]->history = {given->results_, &(*given->results_)[k]};
  return given;
}

void CallGiven::settle() {
  std::size_t of_values = 1, of_calls = signature_;
  bool known = true;
  for (Input& in : inputs_) {
    if (in.by_value) {
      in.number = number_of_values(in.type, in.bytes);
      mix(of_values, in.index);
      mix(of_values, in.number);
      continue;
    }
    in.number = in.history ? in.history->number.load(std::memory_order_acquire) : 0;
    known = known && in.number;
    mix(of_calls, in.index);
    mix(of_calls, in.number);
  }
  values = of_values;
  origin = known ? std::max<std::uint64_t>(of_calls, 1) : 0;
  if (!results_ || !known) return;
  mix(of_calls, of_values);
  for (std::size_t k = 0; k < results_->size(); ++k) {
    std::size_t h = of_calls;
    mix(h, k);
    (*results_)[k].number.store(std::max<std::uint64_t>(h, 1), std::memory_order_release);
  }
}

std::string CallGiven::shown() const {
  std::string text;
  for (const Input& in : inputs_) {
    std::string_view values;
    if (in.bytes && !in.is_overwritten && in.type.bytes() <= kMostShown)
      values = {reinterpret_cast<const char*>(in.bytes), static_cast<std::size_t>(in.type.bytes())};
    else if (in.history)
      values = in.history->values;
    const Shown head{in.index, in.number, values.size()};
    text.append(reinterpret_cast<const char*>(&head), sizeof head);
    text.append(values);
  }
  return text;
}

std::string CallGiven::name_of(std::size_t input) const {
  return names_ && input < names_->size() ? (*names_)[input] : "input " + std::to_string(input);
}

std::vector<std::string> CallGiven::differences(const std::string& theirs, int rank) const {
  constexpr std::size_t kMost = 8;
  const std::string process = "process " + std::to_string(rank);
  const std::string ours = shown();
  const std::map<std::uint64_t, Theirs> there = parse(theirs), here = parse(ours);
  std::vector<std::string> lines;
  for (const Input& in : inputs_) {
    const auto other = there.find(in.index);
    if (other == there.end() || other->second.number == in.number || !in.number ||
        !other->second.number || lines.size() == kMost)
      continue;
    const std::string_view mine = here.at(in.index).values, other_values = other->second.values;
    std::string line = name_of(in.index) + ", " + to_string(in.type) + ",";
    const auto bytes = static_cast<std::size_t>(in.type.bytes());
    if (mine.size() == bytes && other_values.size() == bytes && mine != other_values) {
      const auto differs = std::ranges::mismatch(mine, other_values).in1 - mine.begin();
      const std::int64_t element = differs / size_of(in.type.dtype);
      const auto value = [&](std::string_view of) {
        std::string text;
        append_element(
            text, in.type.dtype,
            reinterpret_cast<const std::byte*>(of.data()) + element * size_of(in.type.dtype));
        return text;
      };
      line += " is" + place(in.type.shape, element) + " " + value(mine) + " here and " +
              value(other_values) + " in " + process;
    } else {
      line += in.by_value ? " has other values here than in " + process
                          : " comes from different calls here than in " + process;
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace tessera::inline v0::runtime
