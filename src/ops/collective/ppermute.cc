// Sends blocks along (source, destination) pairs of devices.
#include "ops/collective/collective.h"

#include <cstring>

namespace tessera::inline v0::ops {

using namespace collective;

namespace {

Attrs permute_attrs(const Strings& axes, std::int64_t size, const IntLists& perm) {
  Attrs a = attrs(axes, size);
  a.set("perm", perm);
  return a;
}

bool full(const Attrs& attrs) {
  return static_cast<std::int64_t>(attrs.get<IntLists>("perm").size()) == attrs.i("size");
}

std::vector<Type> infer(const InferArgs& a) {
  check_size(a);
  std::int64_t n = a.attrs.i("size");
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

// Over the mapped axis: the rows of the stack, picked by source; rows that nobody sends to are
// zero.
BatchResult over_mapped(const BatchArgs& a, const Mapped& m) {
  if (!m.rest.empty())
    Message("ppermute")
        .problem("axis '" + a.axis_name + "', which vmap maps, is one of the axes " +
                 axes_text(a.attrs))
        .rule("pairs over several axes are sent between devices")
        .from(a.b.loc)
        .advice("permute one axis after the other")
        .raise<CollectiveError>();
  Value x = a.inputs[0];
  if (a.dims[0] == kUnbatched) {
    if (full(a.attrs)) return {{x}, {kUnbatched}};
    x = stacked_at(x, kUnbatched, 0, a.size);
  } else {
    x = move_dim(x, a.dims[0], 0);
  }
  std::vector<std::int32_t> source(static_cast<std::size_t>(a.size)),
      sent(static_cast<std::size_t>(a.size));
  for (const Ints& pair : a.attrs.get<IntLists>("perm")) {
    source[static_cast<std::size_t>(pair[1])] = static_cast<std::int32_t>(pair[0]);
    sent[static_cast<std::size_t>(pair[1])] = 1;
  }
  GatherDims dims;
  for (int i = 1; i < x.rank(); ++i) dims.offset_dims.push_back(i);
  dims.collapsed_slice_dims = {0};
  dims.start_index_map = {0};
  dims.index_vector_dim = 1;
  Ints sizes = x.shape().to_vector();
  sizes[0] = 1;
  Value index = reshape(constant(a.b, vector_literal(DType::int32, source)), Shape{a.size, 1});
  Value y = gather(x, index, dims, sizes);
  if (!full(a.attrs)) {
    Value mask =
        broadcast_in_dim(constant(a.b, vector_literal(DType::boolean, sent)), y.shape(), {0});
    y = select(mask, y, zeros_like(y));
  }
  return {{y}, {0}};
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
    std::vector<std::int64_t> source(static_cast<std::size_t>(attrs.i("size")), -1);
    for (const Ints& pair : attrs.get<IntLists>("perm"))
      source[static_cast<std::size_t>(pair[1])] = pair[0];
    return source;
  };
  op.infer = infer;
  op.transpose = [](const TransposeArgs& a) -> MaybeValues {
    if (!a.cotangents[0]) return {std::nullopt};
    IntLists inverse = a.attrs.get<IntLists>("perm");
    for (Ints& pair : inverse) std::swap(pair[0], pair[1]);
    return {ppermute(*a.cotangents[0], a.attrs.get<Strings>("axes"), a.attrs.i("size"), inverse)};
  };
  op.batch = [](const BatchArgs& a) -> BatchResult {
    Mapped m = mapped(a, false);
    return m.is ? over_mapped(a, m) : pass_through(a);
  };
  op.uniform = [](const VaryArgs& a) {
    AxisSet s = a.inputs[0];
    const auto& axes = a.attrs.get<Strings>("axes");
    bool differs = !full(a.attrs);
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
