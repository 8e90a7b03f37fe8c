// Custom calls of functions of Python, as the package jax-tessera writes them.
#include "ir/callback.h"
#include "ir/host_array.h"
#include "spmd/partition/partition.h"
#include "spmd/region/reference.h"
#include "stablehlo/import/import.h"

#include <tessera/error.h>

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace tessera;

namespace {

using Numbers = std::vector<double>;
using Texts = std::vector<std::string>;

std::string listed(const std::vector<std::string_view>& elements) {
  std::string text;
  for (const std::string_view e : elements) text += (text.empty() ? "" : " ") + std::string(e);
  return text;
}

// Keeps what is called: "7 of device 0: 1 2", for function 7 and the operands 1 and 2. All results
// are filled with the function's number.
struct Calls {
  Texts made, log;

  std::shared_ptr<const HostFunction> operator()(const stablehlo::HostCall& call) {
    made.push_back(std::to_string(call.index) + ": (" + listed(call.operands) + ") -> (" +
                   listed(call.results) + ")");
    struct Logging final : HostFunction {
      Logging(Calls& calls, std::int64_t index) : calls(calls), index(index) {}
      std::string name() const override { return "logging"; }
      void call(std::int64_t device, std::span<const HostArray> in,
                std::span<HostArray> out) const override {
        std::string text = std::to_string(index) + " of device " + std::to_string(device) + ":";
        for (const HostArray& x : in)
          for (std::int64_t i = 0; i < x.count(); ++i)
            text += " " + std::to_string(static_cast<int>(x.number(i)));
        calls.log.push_back(text);
        for (HostArray& y : out)
          dispatch(y.dtype, [&](auto tag) {
            using T = decltype(tag);
            for (std::int64_t i = 0; i < y.count(); ++i)
              y.data<T>()[i] = static_cast<T>(static_cast<float>(index));
          });
      }
      Calls& calls;
      const std::int64_t index;
    };
    return std::make_shared<const Logging>(*this, call.index);
  }
};

stablehlo::Imported import(const std::string& text, Calls* calls, std::int64_t devices = 0) {
  auto source = std::make_shared<stablehlo::Source>();
  source->text = text;
  stablehlo::ImportOptions options;
  options.devices = devices;
  if (calls) options.host_function = std::ref(*calls);
  return stablehlo::import_function(stablehlo::parse(source, {0, text.size()}).at(0), "main",
                                    options);
}

std::string main_of(const std::string& arguments, const std::string& results,
                    const std::string& body) {
  return "module @m {\n  func.func public @main(" + arguments + ") -> (" + results + ") {\n" +
         body + "  }\n}";
}

std::string call_of(int index, bool effect, const std::string& operands, const std::string& types) {
  return "stablehlo.custom_call @tessera_python_callback(" + operands +
         ") {api_version = 4 : i32, backend_config = {}, has_side_effect = " +
         (effect ? "true" : "false") + ", mhlo.backend_config = {index = " + std::to_string(index) +
         " : i64}} : " + types + "\n";
}

HostArray floats(const Shape& shape, const std::vector<float>& values) {
  HostArray a(DType::float32, shape);
  std::copy(values.begin(), values.end(), a.data<float>());
  return a;
}
Numbers numbers(const HostArray& a) {
  Numbers n;
  for (std::int64_t i = 0; i < a.count(); ++i) n.push_back(a.number(i));
  return n;
}

TEST(ImportedHostCalls, CallTheFunctionOfTheirNumber) {
  Calls calls;
  const auto p = import(
      main_of("%a: tensor<2xf32>", "tensor<2xf32>, tensor<i32>",
              "    %0:2 = " +
                  call_of(7, false, "%a", "(tensor<2xf32>) -> (tensor<2xf32>, tensor<i32>)") +
                  "    " + call_of(9, true, "%0#1, %a", "(tensor<i32>, tensor<2xf32>) -> ()") +
                  "    %1 = " + call_of(3, false, "", "() -> tensor<f32>") +
                  "    return %0#0, %0#1 : tensor<2xf32>, tensor<i32>\n"),
      &calls);
  EXPECT_EQ(calls.made, (Texts{"7: (f32) -> (f32 i32)", "9: (i32 f32) -> ()", "3: () -> (f32)"}));
  const auto out = evaluate(*p.program, std::vector{floats({2}, {1, 2})});
  EXPECT_EQ(numbers(out.at(0)), (Numbers{7, 7}));
  EXPECT_EQ(numbers(out.at(1)), Numbers{7});
  EXPECT_EQ(calls.log, (Texts{"7 of device 0: 1 2", "9 of device 0: 7 1 2"}));
}

// Tokens carry nothing; in a loop they are carried like arrays.
TEST(ImportedHostCalls, TakeAndGiveTokens) {
  Calls calls;
  const std::string token = "!stablehlo.token";
  const auto p = import(
      main_of(
          "%t: " + token + ", %a: tensor<f32>", token + ", tensor<f32>",
          "    %zero = stablehlo.constant dense<0.0> : tensor<f32>\n"
          "    %one = stablehlo.constant dense<1.0> : tensor<f32>\n"
          "    %0:3 = stablehlo.while(%x = %a, %u = %t, %n = %zero) : tensor<f32>, " +
              token +
              ", tensor<f32>\n"
              "     cond {\n"
              "      %c = stablehlo.compare  LT, %n, %x,  FLOAT : (tensor<f32>, tensor<f32>) -> "
              "tensor<i1>\n"
              "      stablehlo.return %c : tensor<i1>\n"
              "    } do {\n"
              "      %1:2 = " +
              call_of(4, true, "%u, %n",
                      "(" + token + ", tensor<f32>) -> (" + token + ", tensor<f32>)") +
              "      %2 = stablehlo.add %n, %one : tensor<f32>\n"
              "      stablehlo.return %x, %1#0, %2 : tensor<f32>, " +
              token +
              ", tensor<f32>\n"
              "    }\n"
              "    %3 = " +
              call_of(5, true, "%0#1, %0#2", "(" + token + ", tensor<f32>) -> " + token) +
              "    return %3, %0#2 : " + token + ", tensor<f32>\n"),
      &calls);
  EXPECT_EQ(calls.made, (Texts{"4: (f32) -> (f32)", "5: (f32) -> ()"}));
  ASSERT_EQ(p.program->outputs.size(), 1u);
  EXPECT_EQ(numbers(evaluate(*p.program, std::vector{floats({}, {2})}).at(0)), Numbers{2});
  EXPECT_EQ(calls.log, (Texts{"4 of device 0: 0", "4 of device 0: 1", "5 of device 0: 2"}));
}

TEST(ImportedHostCalls, NameElementTypesAsTheModuleDoes) {
  Calls calls;
  const auto p =
      import(main_of("%a: tensor<2xi4>, %b: tensor<f8E4M3FN>", "tensor<3xf4E2M1FN>",
                     "    %0 = " +
                         call_of(6, false, "%a, %b",
                                 "(tensor<2xi4>, tensor<f8E4M3FN>) -> tensor<3xf4E2M1FN>") +
                         "    return %0 : tensor<3xf4E2M1FN>\n"),
             &calls);
  EXPECT_EQ(calls.made, Texts{"6: (i4 f8E4M3FN) -> (f4E2M1FN)"});
  EXPECT_EQ(p.program->output_types().at(0), Type(DType::float32, {3}));
}

std::string refusal(const std::string& target, Calls* calls) {
  const std::string text =
      main_of("", "tensor<f32>",
              "    %0 = stablehlo.custom_call @" + target +
                  "() {mhlo.backend_config = {index = 2 : ui64}} : () -> tensor<f32>\n"
                  "    return %0 : tensor<f32>\n");
  try {
    import(text, calls);
  } catch (const IoError& e) {
    const std::string what = e.what();
    const std::size_t from = what.find("\n  from: ");
    const std::string all = what.substr(what.find("stablehlo.custom_call"));
    return from == what.npos ? all : all.substr(0, all.find("\n  from: "));
  }
  return "accepted";
}

TEST(ImportedHostCalls, OfOtherClientsAreRefused) {
  Calls calls;
  EXPECT_EQ(refusal("xla_ffi_python_cpu_callback", &calls),
            "stablehlo.custom_call: it calls Python function 2 in the way of another client of JAX "
            "(xla_ffi_python_cpu_callback)\n"
            "          %0 = stablehlo.custom_call @xla_ffi_python_cp...\n"
            "               ^\n"
            "  rule: the package jax-tessera registers how callbacks are written for this client\n"
            "  try: install and load jax-tessera before the function is compiled");
  EXPECT_EQ(refusal("tessera_python_callback", nullptr),
            "stablehlo.custom_call: it calls Python function 2 of the process that exported the "
            "module (tessera_python_callback)\n"
            "          %0 = stablehlo.custom_call @tessera_python_ca...\n"
            "               ^\n"
            "  rule: the module holds that function's number and not its code\n"
            "  try: export without jax.debug.print, jax.debug.callback, pure_callback and "
            "io_callback, or compute the callback's results before and pass them as arguments");
}

}  // namespace
