// What the commonest mistakes of a newcomer say, whole.
#include <tessera/collectives.h>
#include <tessera/creation.h>
#include <tessera/elementwise.h>
#include <tessera/grad.h>
#include <tessera/jit.h>
#include <tessera/linear.h>
#include <tessera/manipulation.h>
#include <tessera/nn.h>
#include <tessera/pmap.h>
#include <tessera/random.h>
#include <tessera/reductions.h>

#include <gtest/gtest.h>

namespace ts = tessera;
using ts::Array;

namespace {

// The text of what f throws, without the line of this file, which changes with every edit.
template <class E = ts::Error, class F>
std::string message(F f) {
  try {
    f();
  } catch (const E& e) {
    std::string text = e.what();
    for (std::size_t at; (at = text.find("misuse_test.cc:")) != std::string::npos;) {
      std::size_t end = text.find_first_not_of("0123456789", at + 15);
      text.replace(at, (end == std::string::npos ? text.size() : end) - at, "here");
    }
    return text;
  }
  return "nothing thrown";
}

const Array x = ts::ones({8, 3}), y = ts::ones({8, 2});

}  // namespace

TEST(Misuse, Shapes) {
  EXPECT_EQ(message<ts::ShapeError>([] { x + y; }),
            "add: shapes (8, 3) and (8, 2) do not broadcast: axis -1 has 3 and 2 elements\n  rule: "
            "aligned from the last axis, "
            "extents are equal or one of them is 1\n  from: here\n  try: reshape one of them so "
            "that the axes line up, or insert axes "
            "of 1 with expand_dims");
  EXPECT_EQ(message<ts::ShapeError>([] { ts::dot(x, y); }),
            "dot: shapes (8, 3) and (8, 2) do not contract: axis 1 has 3 elements, axis 0 has 8\n  "
            "rule: the summed axes have equal "
            "extents\n  from: here\n  try: transpose one operand, or check which axis holds the "
            "features");
  EXPECT_EQ(message<ts::ShapeError>([] { x.reshape(7); }),
            "reshape: an array of shape (8, 3) does not reshape to (7,)\n  rule: 24 elements do "
            "not fill 7\n  try: check the extents; "
            "-1 infers one of them");
  EXPECT_EQ(message<ts::ShapeError>([] { ts::sum(x, 2); }),
            "sum: axis 2 does not exist in an array of 2 dimensions\n  rule: an axis is at least "
            "-2 and less than 2\n  from: here\n  "
            "try: count axes from 0, or from the end with -1");
  EXPECT_EQ(message<ts::ShapeError>([] {
              ts::array({{1, 2}, {3}});
            }),
            "array: rows of 2 and 1 elements at depth 1\n  rule: all rows of an array have the "
            "same shape\n  from: here\n  try: make the "
            "rows equal, or keep a vector of arrays");
  EXPECT_EQ(message<ts::ShapeError>([] {
              Array(std::vector<float>{1, 2}, {3});
            }),
            "Array: 2 values do not fill the shape (3,)\n  rule: the shape holds 3 elements\n  "
            "try: pass as many values as the product "
            "of the extents");
  EXPECT_THROW(Array(std::vector<float>{1, 2}, {-1, -2}), ts::ShapeError);
  EXPECT_EQ(message<ts::ShapeError>([] {
              ts::ones({1LL << 40, 1LL << 40});
            }),
            "broadcast_in_dim: the result would have shape (1099511627776, 1099511627776)\n  rule: "
            "an array has at most 2^50 elements\n"
            "  try: check the arithmetic that gave its extents");
  EXPECT_THROW(ts::linspace(0, 1, -3), ts::ShapeError);
  EXPECT_THROW(ts::zeros({-1}), ts::ShapeError);
}

TEST(Misuse, Indices) {
  EXPECT_EQ(message<ts::ShapeError>([] { x[9]; }),
            "index: position 9 is outside axis 0 of shape (8, 3)\n  rule: positions are at least "
            "-8 and less than 8\n  try: ranges are "
            "cut to the axis, positions are not");
  EXPECT_EQ(message<ts::ShapeError>([] { x(0, 0, 0); }),
            "index: 3 indices for an array of shape (8, 3)\n  rule: there is at most one index for "
            "each of its 2 axes\n  try: remove "
            "indices, or add axes with newaxis");
  EXPECT_EQ(message<ts::DTypeError>([] { x[ts::ones({2})]; }),
            "index: an index array has dtype float32\n  rule: index arrays hold integers\n  try: "
            "convert with astype(i32)");
}

TEST(Misuse, Reading) {
  EXPECT_EQ(message<ts::ShapeError>([] { (void)x.item<float>(); }),
            "item: the array has shape (8, 3), which is 24 elements\n  rule: item reads the only "
            "element of an array\n  try: pick one "
            "first, for example x(0, 0).item<float>(), or read all with to_vector");
  EXPECT_EQ(message<ts::DTypeError>([] { (void)x.to_vector<double>(); }),
            "to_vector: the array holds float32, not float64\n  rule: elements are read as the "
            "type that they have\n  try: convert "
            "first: x.astype(f64)");
  EXPECT_EQ(message<ts::ShapeError>([] { (void)bool(x == x); }),
            "bool: the truth of an array of shape (8, 3) is ambiguous\n  rule: a condition reads "
            "one element\n  try: reduce it first: "
            "all(x) or any(x); array_equal(x, y) compares whole arrays");
  EXPECT_EQ(message<ts::TraceError>([] { Array() + 1; }),
            "add: an operand is empty: it was default-constructed and never assigned\n  rule: "
            "operations need an array that has a dtype "
            "and a shape\n  try: assign it first, for example with zeros(shape)");
}

TEST(Misuse, Tracing) {
  EXPECT_EQ(message<ts::TraceError>([] {
              ts::jit([](Array a) {
                if (a > 0) return a;
                return -a;
              })(Array(1.0));
            }),
            "bool: the value of a traced array bool[] is asked for; it was made at here\n  rule: "
            "while a function is traced its arrays "
            "have no values yet\n  try: choose between values with cond(pred, f, g) or where(pred, "
            "x, y), loop with scan or while_loop, "
            "or make the parameter a plain C++ type, which is static");
  Array leak;
  ts::jit([&](Array a) {
    leak = a;
    return a;
  })(ts::ones({2}));
  EXPECT_EQ(message<ts::TraceError>([&] { leak + 1; }),
            "add: an array f32[2] of a function that is no longer being traced here is used\n  "
            "rule: a traced array stands for a value "
            "only while its function is traced, and on that thread\n  try: return the value from "
            "the traced function instead of storing "
            "it in a variable outside");
}

TEST(Misuse, Devices) {
  ts::set_device_count(4);
  auto id = ts::pmap([](Array a) { return a; });
  EXPECT_EQ(message<ts::DeviceError>([&] { id(x); }),
            "pmap: 8 entries are to be mapped over 4 devices\n  - args[0]: f32[8,3], axis 0\n  "
            "rule: each device runs one entry of the "
            "mapped axis: 8 > 4\n  from: here\n  try: call set_device_count(8), or map the rest of "
            "the axis with vmap inside");
  EXPECT_EQ(message<ts::ShapeError>([&] {
              id(ts::zeros({0, 3}));
            }),
            "pmap: there is nothing to map: the mapped axis is empty\n  - args[0]: f32[0,3], axis "
            "0\n  rule: each device gets one entry "
            "of the mapped axis, and at least one device takes part\n  from: here\n  try: pass at "
            "least one entry, or leave the call out "
            "when there are none");
  EXPECT_EQ(message<ts::CollectiveError>([] {
              ts::pmap([](Array a) { return ts::psum(a, "device"); },
                       {.axis_name = "devices"})(ts::ones({4}));
            }),
            "psum: there is no axis 'device' here\n  rule: the bound axes are 'devices' (pmap, "
            "size 4)\n  from: here\n  try: use one of "
            "these names");
  EXPECT_EQ(message<ts::TreeError>([] {
              ts::pmap([](Array a, Array b) { return a + b; }, {.in_axes = {0}})(ts::ones({4}),
                                                                                 ts::ones({4}));
            }),
            "pmap: in_axes does not fit args\n  - in_axes = {0} has 1 entry, but args has 2 "
            "children\n  rule: an entry is an axis or "
            "replicated for everything below it, or a list with one entry a child\n  try: give one "
            "entry for each: {0, ts::replicated}, "
            "or a single one for all: 0");
  EXPECT_EQ(message<ts::CollectiveError>([] {
              ts::pmap(
                  [](Array a) {
                    return ts::ppermute(a, "i", {{0, 7}});
                  },
                  {.axis_name = "i"})(ts::ones({4}));
            }),
            "ppermute: the pairs are not a permutation of the 4 devices of axis 'i'\n  - (0, 7) "
            "names a device outside [0, 4)\n  rule: "
            "each device is the source of at most one pair and the destination of at most one\n  "
            "from: here\n  try: list each source and "
            "each destination once, as (i, i + 1) of a shift does; devices that no pair names "
            "receive zeros");
}

TEST(Misuse, Layers) {
  const Array key = ts::random::key(0);
  EXPECT_EQ(message<ts::ShapeError>([&] {
              ts::nn::conv(key, 3, 8, {3, 3}, {.groups = 0});
            }),
            "conv: 3 channels in and 8 out in 0 groups\n  rule: groups divide both: each maps in / "
            "groups channels to out / groups\n  "
            "try: groups = 1, or as many groups as there are channels in");
  EXPECT_EQ(message<ts::ShapeError>([&] {
              ts::nn::conv(key, 3, 8, {3, 3})(ts::ones({8, 8, 3}));
            }),
            "conv: x has shape (8, 8, 3), the kernel (3, 3, 3, 8)\n  rule: x is (batch, 1 spatial "
            "axes, channels), so the kernel is (1 "
            "spatial axes, channels in, channels out)\n  from: here\n  try: add the batch axis: "
            "for one example write x[newaxis]");
  EXPECT_EQ(message<ts::DTypeError>([&] { ts::nn::embedding(key, 3, 5)(ts::ones({2})); }),
            "Embedding: x is f32[2]\n  rule: it picks rows of the weight by integers\n  try: "
            "convert with astype(ts::i32)");
  EXPECT_EQ(message<ts::ShapeError>([&] {
              ts::nn::batch_norm(3).train(ts::ones({2, 4}));
            }),
            "BatchNorm: x is f32[2,4], the layer normalises 3 channels\n  rule: channels are the "
            "last axis of x\n  try: batch_norm with "
            "as many channels as x has, or transpose channels-first data");
  EXPECT_EQ(message<ts::ShapeError>([&] {
              ts::nn::layer_norm(3)(ts::ones({2, 4}));
            }),
            "LayerNorm: x is f32[2,4], the layer normalises 3 features\n  rule: features are the "
            "last axis of x\n  try: layer_norm with "
            "as many features as x has");
  EXPECT_EQ(message<ts::Error>([&] { ts::random::normal(ts::random::split(key, 4), {2}); }),
            "normal: the key is u32[4,2]\n  rule: a key is a uint32 array of shape (2,)\n  from: "
            "here\n  try: pick one of the keys, "
            "keys[i], or vmap over them");
}
