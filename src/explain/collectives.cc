// Matches the collectives of the device's program with their causes.
#include "explain/listing.h"

#include <tessera/detail/input_file.h>

#include "ir/op.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <tuple>

namespace tessera::inline v0::explain {

namespace {

// Causes and emitted collectives are in the same order and agree in this key.
using Key = std::tuple<const char*, int, std::vector<std::string>>;
Key key_of(const SourceLoc& loc, std::vector<std::string> axes) {
  std::sort(axes.begin(), axes.end());
  return {loc.file, loc.line, std::move(axes)};
}

// For example "first", or "first and 2 more" if the values differ.
std::string shared(const std::vector<PlannedValue>& values, std::string PlannedValue::*member) {
  std::set<std::string> distinct;
  for (const PlannedValue& v : values) distinct.insert(v.*member);
  const std::string& first = values[0].*member;
  return distinct.size() == 1 ? first
                              : first + " and " + std::to_string(distinct.size() - 1) + " more";
}
std::string agreed(const std::vector<PlannedValue>& values, std::string PlannedValue::*member) {
  const bool agree = std::all_of(values.begin(), values.end(), [&](const PlannedValue& v) {
    return v.*member == values[0].*member;
  });
  return agree ? values[0].*member : "";
}

// Fills in the fields of a collective that summarise its values.
void sum_up(PlannedCollective& c) {
  const std::vector<PlannedValue>& values = c.values;
  c.op = shared(values, &PlannedValue::op);
  c.line = shared(values, &PlannedValue::line);
  c.code = agreed(values, &PlannedValue::code);
  c.from = agreed(values, &PlannedValue::from);
  c.to = agreed(values, &PlannedValue::to);
  if (c.from.empty() || c.to.empty()) c.from = c.to = "";
  const std::string& type = values[0].type;
  c.type = values.size() == 1
               ? type
               : std::to_string(values.size()) + " values, " + type.substr(0, type.find('['));
  c.equation = values[0].equation;
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

std::vector<PlannedCollective> collectives_of(const ProgramOnMesh& d, const Work& work,
                                              const Listing& listing) {
  std::map<Key, std::deque<const spmd::CollectiveCause*>> waiting;
  if (d.made)
    for (const spmd::CollectiveCause& c : d.made->collectives)
      waiting[key_of(c.loc, c.axes)].push_back(&c);
  SourceText source;
  const auto planned = [&](const Emitted& e, const Moved& moved) {
    const Equation& eqn = *moved.equation;
    PlannedValue v{eqn.op->shown(),
                   to_string(eqn.loc),
                   source.line(eqn.loc),
                   to_string(Type(moved.operand.dtype, moved.operand.shape)),
                   "",
                   "",
                   moved.bytes,
                   listing.index_of(&eqn)};
    std::deque<const spmd::CollectiveCause*>& causes = waiting[key_of(eqn.loc, e.axes)];
    auto cause = std::find_if(causes.begin(), causes.end(), [&](const spmd::CollectiveCause* one) {
      return one->kind == e.kind;
    });
    if (cause == causes.end()) cause = causes.begin();
    if (cause == causes.end()) return v;
    v.op = (*cause)->op;
    v.type = to_string((*cause)->whole);
    v.from = d.spec((*cause)->from);
    v.to = d.spec((*cause)->to);
    v.equation = listing.index_of((*cause)->equation);
    causes.erase(cause);
    return v;
  };
  // Causes are in program order, while a message is emitted at the position of its last value.
  struct Place {
    std::size_t collective, value;
  };
  std::vector<Place> places;
  for (std::size_t i = 0; i < work.collectives.size(); ++i)
    for (std::size_t j = 0; j < work.collectives[i].values.size(); ++j) places.push_back({i, j});
  const auto place_of = [&](const Place& at) -> const std::vector<std::uint32_t>& {
    return work.collectives[at.collective].values[at.value].place;
  };
  std::stable_sort(places.begin(), places.end(),
                   [&](const Place& a, const Place& b) { return place_of(a) < place_of(b); });
  std::vector<PlannedCollective> all(work.collectives.size());
  for (std::size_t i = 0; i < all.size(); ++i)
    all[i].values.resize(work.collectives[i].values.size());
  for (const Place& at : places) {
    const Emitted& e = work.collectives[at.collective];
    all[at.collective].values[at.value] = planned(e, e.values[at.value]);
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Emitted& e = work.collectives[i];
    PlannedCollective& c = all[i];
    c.kind = spmd::name_of(e.kind);
    c.axes = e.axes;
    c.bytes = e.bytes;
    c.times = e.times;
    c.in_while = e.in_while;
    c.in_branch = e.in_branch;
    c.seconds = e.seconds;
    sum_up(c);
  }
  return all;
}

}  // namespace tessera::inline v0::explain
