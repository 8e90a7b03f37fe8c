// ppermute: sends blocks along (source, destination) pairs of devices.
#include "ops/collective/collective.h"
#include "ops/collective/rounds.h"

#include <algorithm>
#include <cstring>

namespace tessera::inline v0::ops {

using namespace collective;

namespace {

Attrs permute_attrs(const Strings& axes, std::int64_t size, const IntLists& perm) {
  Attrs a = CollectiveAttrs::make(axes, size);
  a.set("perm", perm);
  return a;
}

bool is_full(const Attrs& attrs) {
  return static_cast<std::int64_t>(attrs.get<IntLists>("perm").size()) ==
         CollectiveAttrs(attrs).size();
}

std::vector<Type> ppermute_infer(const InferArgs& a) {
  check_size(a);
  std::int64_t n = CollectiveAttrs(a.attrs).size();
  std::vector<int> sources(static_cast<std::size_t>(n)), destinations(static_cast<std::size_t>(n));
  Message m("ppermute");
  bool bad = false;
  for (const Ints& pair : a.attrs.get<IntLists>("perm")) {
    if (pair.size() != 2) throw InternalError("ppermute takes pairs");
    std::string text = "(" + std::to_string(pair[0]) + ", " + std::to_string(pair[1]) + ")";
    if (pair[0] < 0 || pair[0] >= n || pair[1] < 0 || pair[1] >= n) {
      m.offender(text + " names a device outside [0, " + std::to_string(n) + ")");
      bad = true;
      continue;
    }
    if (sources[static_cast<std::size_t>(pair[0])]++) {
      m.offender(text + " repeats the source " + std::to_string(pair[0]));
      bad = true;
    }
    if (destinations[static_cast<std::size_t>(pair[1])]++) {
      m.offender(text + " repeats the destination " + std::to_string(pair[1]));
      bad = true;
    }
  }
  if (bad)
    m.problem("the pairs are not a permutation of the " + std::to_string(n) + " devices of axis " +
              axes_text(a.attrs))
        .rule("each device is the source of at most one pair and the destination of at most one")
        .from(a.loc)
        .advice(
            "list each source and each destination once, as (i, i + 1) of a shift does; devices "
            "that no pair names receive zeros")
        .raise<CollectiveError>();
  return {a.inputs[0]};
}

Literal vector_literal(DType dtype, const std::vector<std::int32_t>& values) {
  auto bytes = std::make_shared<std::vector<std::byte>>();
  if (dtype == DType::boolean) {
    for (auto v : values) bytes->push_back(static_cast<std::byte>(v != 0));
  } else {
    bytes->resize(values.size() * sizeof(std::int32_t));
    std::memcpy(bytes->data(), values.data(), bytes->size());
  }
  return {dtype, Shape{values.size()}, std::move(bytes)};
}

// The rows of x with these numbers, a vector of int32.
Value chosen_rows(Value x, Value numbers) {
  const std::int64_t n = numbers.shape()[0];
  GatherDims dims;
  for (int i = 1; i < x.rank(); ++i) dims.offset_dims.push_back(i);
  dims.collapsed_slice_dims = {0};
  dims.start_index_map = {0};
  dims.index_vector_dim = 1;
  Ints sizes = x.shape().to_vector();
  sizes[0] = 1;
  return gather(x, reshape(numbers, Shape{n, 1}), dims, sizes);
}

// For each member of the other axes, the rows that it takes or sends.
using Table = std::vector<std::vector<std::int32_t>>;

// The table row of this member.
Value own_row(const BatchArgs& a, const Mapped& m, DType dtype, const Table& table) {
  const auto width = static_cast<std::int64_t>(table[0].size());
  if (std::all_of(table.begin(), table.end(), [&](const auto& row) { return row == table[0]; }))
    return constant(a.b, vector_literal(dtype, table[0]));
  std::vector<std::int32_t> all;
  for (const auto& row : table) all.insert(all.end(), row.begin(), row.end());
  const Value rows =
      reshape(constant(a.b, vector_literal(dtype, all)), Shape{std::ssize(table), width});
  AxisSet typed;  // the axes of a typed region
  for (const std::string& axis : m.rest)
    if (a.inputs[0].type().varying.contains(axis)) typed.insert(axis);
  const Value member = a.b.vary_over(axis_index(a.b, m.rest, m.rest_size), typed);
  const Values start{member, scalar(a.b, DType::int32, 0)};
  return reshape(dynamic_slice(rows, start, Ints{1, width}), Shape{width});
}

// Rows that members of the other axes send in one message: those of all rounds with the same
// (source, destination) pairs.
struct Parcel {
  IntLists pairs;  // (source, destination) members, as for ppermute
  Table rows;      // for each member, the rows of its stack that it sends
};

bool stays(const IntLists& pairs) {
  return std::all_of(pairs.begin(), pairs.end(), [](const Ints& p) { return p[0] == p[1]; });
}

// A member of all the axes, as a row of the stack and its index along the axes that are not mapped.
struct Place {
  std::int64_t row, member;
};
Place place_of(const BatchArgs& a, const Mapped& m, std::int64_t number) {
  return m.first ? Place{number / m.rest_size, number % m.rest_size}
                 : Place{number % a.size, number / a.size};
}

// The rows `taken` of `rows`, with zeros where nothing is sent.
Value arranged(const BatchArgs& a, const Mapped& m, Value rows, const Table& taken,
               const Table& sent) {
  const Value y = chosen_rows(rows, own_row(a, m, DType::int32, taken));
  if (is_full(a.attrs)) return y;
  const Value mask = broadcast_in_dim(own_row(a, m, DType::boolean, sent), y.shape(), {0});
  return select(mask, y, zeros_like(y));
}

// If the mapped axis is the only one, the result picks rows of the stack by source.
BatchResult among_rows(const BatchArgs& a, const Mapped& m) {
  if (a.dims[0] == kUnbatched && is_full(a.attrs)) return {{a.inputs[0]}, {kUnbatched}};
  Table source(1, std::vector<std::int32_t>(static_cast<std::size_t>(a.size))), sent = source;
  for (const Ints& pair : a.attrs.get<IntLists>("perm")) {
    source[0][static_cast<std::size_t>(pair[1])] = static_cast<std::int32_t>(pair[0]);
    sent[0][static_cast<std::size_t>(pair[1])] = 1;
  }
  return {{arranged(a, m, stacked_at(a.inputs[0], a.dims[0], 0, a.size), source, sent)}, {0}};
}

// Members of the other axes send rows to one another in the smallest possible number of rounds;
// rounds with the same pairs are combined.
BatchResult among_members(const BatchArgs& a, const Mapped& m) {
  const Value x = stacked_at(a.inputs[0], a.dims[0], 0, a.size);
  const auto place = [&](std::int64_t number) { return place_of(a, m, number); };
  IntLists perm = a.attrs.get<IntLists>("perm");
  std::sort(perm.begin(), perm.end(), [&](const Ints& p, const Ints& q) {
    return std::pair(place(p[0]).row, p[0]) < std::pair(place(q[0]).row, q[0]);
  });
  std::vector<Sent> messages;
  for (const Ints& pair : perm)
    messages.push_back(
        {static_cast<int>(place(pair[0]).member), static_cast<int>(place(pair[1]).member)});
  const std::vector<int> round = rounds_of(messages, static_cast<int>(m.rest_size));

  const auto members = static_cast<std::size_t>(m.rest_size);
  const auto rounds = static_cast<std::size_t>(
      round.empty() ? 0 : 1 + *std::max_element(round.begin(), round.end()));
  std::vector<Parcel> parcels;
  std::vector<std::pair<std::size_t, std::size_t>> parcel_of;  // for each round: parcel, position
  for (std::size_t r = 0; r < rounds; ++r) {
    IntLists pairs;
    std::vector<std::int32_t> rows(members, -1);
    for (std::size_t k = 0; k < messages.size(); ++k) {
      if (round[k] != static_cast<int>(r)) continue;
      pairs.push_back({messages[k].from, messages[k].to});
      rows[static_cast<std::size_t>(messages[k].from)] =
          static_cast<std::int32_t>(place(perm[k][0]).row);
    }
    // A member that sends nothing in this round sends the row of some other member instead; nobody
    // reads it.
    const auto some = *std::find_if(rows.begin(), rows.end(), [](auto row) { return row >= 0; });
    std::sort(pairs.begin(), pairs.end());
    auto parcel = std::find_if(parcels.begin(), parcels.end(),
                               [&](const Parcel& p) { return p.pairs == pairs; });
    if (parcel == parcels.end())
      parcel = parcels.insert(parcel, Parcel{std::move(pairs), Table(members)});
    parcel_of.emplace_back(parcel - parcels.begin(), parcel->rows[0].size());
    for (std::size_t i = 0; i < members; ++i)
      parcel->rows[i].push_back(rows[i] < 0 ? some : rows[i]);
  }
  if (parcels.empty()) return {{zeros_like(x)}, {0}};

  Values received;
  std::vector<std::size_t> first;  // for each parcel, its first row among all received rows
  std::size_t rows = 0;
  for (const Parcel& p : parcels) {
    first.push_back(rows);
    rows += p.rows[0].size();
    const Value sent = chosen_rows(x, own_row(a, m, DType::int32, p.rows));
    received.push_back(stays(p.pairs) ? sent : ppermute(sent, m.rest, m.rest_size, p.pairs));
  }
  const auto width = static_cast<std::size_t>(a.size);
  Table taken(members, std::vector<std::int32_t>(width)), sent(taken);
  for (std::size_t k = 0; k < messages.size(); ++k) {
    const Place to = place(perm[k][1]);
    const auto [parcel, at] = parcel_of[static_cast<std::size_t>(round[k])];
    const auto member = static_cast<std::size_t>(to.member), row = static_cast<std::size_t>(to.row);
    taken[member][row] = static_cast<std::int32_t>(first[parcel] + at);
    sent[member][row] = 1;
  }
  return {{arranged(a, m, concatenate(received, 0), taken, sent)}, {0}};
}

}  // namespace

Value ppermute(Value x, const Strings& axes, std::int64_t size, const IntLists& perm) {
  return x.builder->emit1("ppermute", {x}, permute_attrs(axes, size, perm));
}

void register_ppermute(Registry& r) {
  Op op = make("ppermute",
               "For each pair (source, destination) the destination gets the x of the source; "
               "devices that are no destination "
               "get zeros. Its transpose sends the other way.",
               "collective_permute", {{"perm", AttrKind::int_lists, "(source, destination) pairs"}},
               false);
  op.exchange = Exchange::permute;
  op.sources = [](const Attrs& attrs) {
    std::vector<std::int64_t> source(static_cast<std::size_t>(CollectiveAttrs(attrs).size()), -1);
    for (const Ints& pair : attrs.get<IntLists>("perm"))
      source[static_cast<std::size_t>(pair[1])] = pair[0];
    return source;
  };
  op.infer = ppermute_infer;
  op.transpose = [](const TransposeArgs& a) -> MaybeValues {
    if (!a.cotangents[0]) return {std::nullopt};
    IntLists inverse = a.attrs.get<IntLists>("perm");
    for (Ints& pair : inverse) std::swap(pair[0], pair[1]);
    const CollectiveAttrs among(a.attrs);
    return {ppermute(*a.cotangents[0], among.axes, among.size(), inverse)};
  };
  op.batch = [](const BatchArgs& a) -> BatchResult {
    Mapped m = mapped(a, true);
    if (!m.is) return pass_through(a);
    return m.rest.empty() ? among_rows(a, m) : among_members(a, m);
  };
  op.uniform = [](const VaryArgs& a) {
    AxisSet s = a.inputs[0];
    const auto& axes = CollectiveAttrs(a.attrs).axes;
    bool differs = !is_full(a.attrs);
    for (const auto& n : axes) differs = differs || s.contains(n);
    if (differs)
      for (const auto& n : axes) s.insert(n);
    return std::vector<AxisSet>{s};
  };
  op.examples = [] {
    return std::vector<OpExample>{{{Type(f32, {3})}, permute_attrs({"i"}, 4, {{0, 1}, {1, 2}})}};
  };
  r.add(std::move(op));
}

}  // namespace tessera::inline v0::ops
