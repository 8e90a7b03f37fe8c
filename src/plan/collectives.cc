// Which cause a collective of the device's program has.
#include "plan/listing.h"

#include <tessera/detail/input_file.h>

#include "ir/op.h"

#include <algorithm>
#include <deque>
#include <map>
#include <tuple>

namespace tessera::inline v0::plans {

namespace {

// Causes and what is emitted for them come in one order, and agree in these.
using Key = std::tuple<const char*, int, std::vector<std::string>>;
Key key_of(const SourceLoc& loc, std::vector<std::string> axes) {
  std::sort(axes.begin(), axes.end());
  return {loc.file, loc.line, std::move(axes)};
}

}  // namespace

std::string SourceText::line(const SourceLoc& loc) {
  if (!loc) return "";
  const auto [it, fresh] = files_.try_emplace(loc.file);
  if (fresh) {
    detail::InputFile file(loc.file);
    std::string text(file.problem().empty() ? file.size() : 0, '\0');
    if (!text.empty() && !file.read(text.data(), text.size())) text.clear();
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      it->second.push_back(text.substr(at, end - at));
      at = end + 1;
    }
  }
  const auto number = static_cast<std::size_t>(loc.line);
  if (number == 0 || number > it->second.size()) return "";
  const std::string& text = it->second[number - 1];
  const std::size_t first = text.find_first_not_of(" \t");
  return first == std::string::npos ? "" : text.substr(first);
}

std::vector<PlannedCollective> collectives_of(const Divided& d, const Work& work,
                                              const Listing& listing) {
  std::map<Key, std::deque<const spmd::CollectiveCause*>> waiting;
  if (d.made)
    for (const spmd::CollectiveCause& c : d.made->collectives)
      waiting[key_of(c.loc, c.axes)].push_back(&c);
  SourceText source;
  std::vector<PlannedCollective> all;
  for (const Emitted& e : work.collectives) {
    PlannedCollective& c = all.emplace_back();
    c.kind = spmd::name_of(e.kind);
    c.axes = e.axes;
    c.line = to_string(e.equation->loc);
    c.code = source.line(e.equation->loc);
    c.bytes = e.bytes;
    c.times = e.times;
    c.in_while = e.in_while;
    c.in_branch = e.in_branch;
    c.seconds = e.seconds;
    c.op = e.equation->op->shown();
    c.type = to_string(Type(e.operand.dtype, e.operand.shape));
    c.equation = listing.index_of(e.equation);
    std::deque<const spmd::CollectiveCause*>& causes = waiting[key_of(e.equation->loc, e.axes)];
    auto cause = std::find_if(causes.begin(), causes.end(), [&](const spmd::CollectiveCause* one) {
      return one->kind == e.kind;
    });
    if (cause == causes.end()) cause = causes.begin();
    if (cause == causes.end()) continue;
    c.op = (*cause)->op;
    c.type = to_string((*cause)->whole);
    c.from = d.spec((*cause)->from);
    c.to = d.spec((*cause)->to);
    c.equation = listing.index_of((*cause)->equation);
    causes.erase(cause);
  }
  return all;
}

}  // namespace tessera::inline v0::plans
