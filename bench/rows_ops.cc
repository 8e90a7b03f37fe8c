// Functions of two million elements, and operations at the sizes that models use, one in each row.
#include "rows.h"

namespace bench {

namespace {

constexpr std::int64_t kMany = 2 * 1024 * 1024;

using Data = std::function<Array()>;
Data normals(std::uint64_t seed, const ts::Shape& shape) {
  return [=] { return normal(seed, shape); };
}
Data integers(std::uint64_t seed, const ts::Shape& shape, std::int64_t below) {
  return [=] { return ts::random::randint(ts::random::key(seed), shape, 0, below); };
}
Data as(ts::DType dtype, const Data& data) {
  return [=] { return ts::astype(data(), dtype); };
}

template <class F, class... D>
void add(const std::string& name, F f, D... data) {
  rows().push_back({"op/" + name, [=] {
                      return [g = ts::jit(f), all = std::make_tuple(data()...)] {
                        std::apply(g, all).block_until_ready();
                      };
                    }});
}

// Operands are between 0 and 1, where every function is defined.
void add_functions() {
  auto function = [](const std::string& name, auto f) {
    add(name, f,
        [] { return ts::random::uniform(ts::random::key(0), {kMany}, ts::f32, 0.05f, 0.95f); });
  };
  function("exp", [](Array x) { return ts::exp(x); });
  function("expm1", [](Array x) { return ts::expm1(x); });
  function("log", [](Array x) { return ts::log(x); });
  function("log1p", [](Array x) { return ts::log1p(x); });
  function("sin", [](Array x) { return ts::sin(x); });
  function("cos", [](Array x) { return ts::cos(x); });
  function("tan", [](Array x) { return ts::tan(x); });
  function("arcsin", [](Array x) { return ts::arcsin(x); });
  function("arctan", [](Array x) { return ts::arctan(x); });
  function("arctan2", [](Array x) { return ts::arctan2(x, 1 - x); });
  function("sinh", [](Array x) { return ts::sinh(x); });
  function("cosh", [](Array x) { return ts::cosh(x); });
  function("tanh", [](Array x) { return ts::tanh(x); });
  function("arcsinh", [](Array x) { return ts::arcsinh(x); });
  function("arctanh", [](Array x) { return ts::arctanh(x); });
  function("erf", [](Array x) { return ts::erf(x); });
  function("erfc", [](Array x) { return ts::erfc(x); });
  function("sqrt", [](Array x) { return ts::sqrt(x); });
  function("cbrt", [](Array x) { return ts::cbrt(x); });
  function("pow", [](Array x) { return ts::pow(x, 1.7f); });
  function("silu", [](Array x) { return ts::nn::silu(x); });
  function("softplus", [](Array x) { return ts::nn::softplus(x); });
  function("gelu", [](Array x) { return ts::nn::gelu(x); });
  function("gelu_exact", [](Array x) { return ts::nn::gelu(x, false); });
}

void add_reductions() {
  Data matrix = normals(0, {2048, 1024}), vector = normals(1, {kMany});
  add(
      "sum_rows", [](Array x) { return ts::sum(x, 1); }, matrix);
  add(
      "sum_columns", [](Array x) { return ts::sum(x, 0); }, matrix);
  add(
      "max_rows", [](Array x) { return ts::max(x, 1); }, matrix);
  add(
      "max_columns", [](Array x) { return ts::max(x, 0); }, matrix);
  add(
      "argmax", [](Array x) { return ts::argmax(x); }, vector);
  add(
      "argmax_rows", [](Array x) { return ts::argmax(x, 1); }, matrix);
  add(
      "std_rows", [](Array x) { return ts::std(x, 1); }, matrix);
  add(
      "norm", [](Array x) { return ts::norm(x); }, vector);
  add(
      "logsumexp_rows", [](Array x) { return ts::logsumexp(x, 1); }, matrix);
  add(
      "cumsum_rows", [](Array x) { return ts::cumsum(x, 1); }, matrix);
  add(
      "cumsum_columns", [](Array x) { return ts::cumsum(x, 0); }, matrix);
  add(
      "sort_rows", [](Array x) { return ts::sort(x, 1); }, matrix);
  add(
      "argsort_rows", [](Array x) { return ts::argsort(x, 1); }, matrix);
}

void add_movement() {
  Data matrix = normals(0, {2048, 1024}), images = normals(1, {32, 56, 56, 64}),
       rows = integers(2, {4096}, 2048);
  add(
      "transpose", [](Array x) { return ts::transpose(x); }, matrix);
  add(
      "nhwc_to_nchw",
      [](Array x) {
        return ts::transpose(x, {0, 3, 1, 2});
      },
      images);
  add(
      "concatenate",
      [](Array x) {
        return ts::concatenate({x, x}, 1);
      },
      matrix);
  add(
      "pad",
      [](Array x) {
        return ts::pad(x, {{0, 0}, {1, 1}, {1, 1}, {0, 0}});
      },
      images);
  add(
      "flip", [](Array x) { return ts::flip(x, 1); }, matrix);
  add(
      "roll", [](Array x) { return ts::roll(x, 3, 1); }, matrix);
  add(
      "where", [](Array x, Array y) { return ts::where(x > 0, x, y); }, matrix,
      normals(3, {2048, 1024}));
  add(
      "take_rows", [](Array x, Array i) { return ts::take(x, i, 0); }, matrix, rows);
  add(
      "take_rows_gradient",
      [](Array x, Array i, Array g) {
        return ts::grad([=](Array w) { return ts::sum(ts::take(w, i, 0) * g); })(x);
      },
      matrix, rows, normals(4, {4096, 1024}));
  add(
      "add_at", [](Array x, Array i, Array v) { return x.at(i).add(v); }, normals(5, {kMany}),
      integers(6, {1 << 18}, kMany), normals(7, {1 << 18}));
  add(
      "add_rows_at", [](Array x, Array i, Array v) { return x.at(i).add(v); }, matrix, rows,
      normals(8, {4096, 1024}));
}

void add_products() {
  Data matrix = normals(0, {2048, 1024}), square = normals(1, {512, 512});
  add(
      "matrix_vector", [](Array x, Array y) { return ts::dot(x, y); }, matrix, normals(2, {1024}));
  add(
      "vector_matrix", [](Array x, Array y) { return ts::dot(y, x); }, matrix, normals(3, {2048}));
  add(
      "few_columns", [](Array x, Array y) { return ts::dot(x, y); }, matrix,
      normals(4, {1024, 16}));
  add(
      "many_small", [](Array x, Array y) { return ts::matmul(x, y); }, normals(5, {256, 64, 64}),
      normals(6, {256, 64, 64}));
  add(
      "attention_scores",
      [](Array q, Array k) {
        return ts::einsum("bqhd,bkhd->bhqk", {q, k});
      },
      normals(7, {8, 128, 4, 64}), normals(8, {8, 128, 4, 64}));
  add(
      "product_bfloat16", [](Array x) { return ts::dot(x, x); }, as(ts::bf16, square));
  add(
      "product_int32", [](Array x) { return ts::dot(x, x); }, integers(9, {256, 256}, 100));
}

void add_layers() {
  Data images = normals(0, {32, 56, 56, 64}), logits = normals(1, {2048, 1024}),
       labels = integers(2, {2048}, 1024);
  add(
      "conv_3x3", [](Array x, Array w) { return ts::conv(x, w); }, images,
      normals(3, {3, 3, 64, 64}));
  add(
      "conv_1x1", [](Array x, Array w) { return ts::conv(x, w); }, images,
      normals(4, {1, 1, 64, 128}));
  add(
      "conv_3x3_strided",
      [](Array x, Array w) {
        return ts::conv(x, w, {.strides = {2, 2}});
      },
      images, normals(5, {3, 3, 64, 64}));
  add(
      "conv_depthwise",
      [](Array x, Array w) { return ts::conv(x, w, {.feature_group_count = 64}); }, images,
      normals(6, {3, 3, 1, 64}));
  add(
      "conv_one_image", [](Array x, Array w) { return ts::conv(x, w); },
      normals(7, {1, 56, 56, 64}), normals(3, {3, 3, 64, 64}));
  add(
      "max_pool",
      [](Array x) {
        return ts::max_pool(x, {2, 2});
      },
      images);
  auto pooled = [](Array x) { return ts::sum(ts::square(ts::max_pool(x, {2, 2}))); };
  add(
      "max_pool_gradient", [=](Array x) { return ts::grad(pooled)(x); }, images);
  add(
      "batch_norm",
      [](Array x) {
        return (x - ts::mean(x, {0, 1, 2})) * ts::rsqrt(ts::var(x, {0, 1, 2}) + 1e-5f);
      },
      images);
  add(
      "layer_norm_gradient",
      [](Array x, Array g) {
        auto f = [=](Array y) {
          Array d = y - ts::mean(y, -1, true);
          return ts::sum(d * ts::rsqrt(ts::mean(d * d, -1, true) + 1e-5f) * g);
        };
        return ts::grad(f)(x);
      },
      logits, normals(8, {2048, 1024}));
  add(
      "softmax_gradient",
      [](Array x, Array g) {
        return ts::grad([=](Array y) { return ts::sum(ts::nn::softmax(y) * g); })(x);
      },
      logits, normals(8, {2048, 1024}));
  auto loss = [](Array x, Array y) {
    return ts::mean(ts::nn::softmax_cross_entropy_with_integer_labels(x, y));
  };
  add("cross_entropy", loss, logits, labels);
  add(
      "cross_entropy_gradient",
      [=](Array x, Array y) { return ts::grad([=](Array z) { return loss(z, y); })(x); }, logits,
      labels);
  add(
      "scan_elementwise",
      [](Array x) {
        auto step = [](Array h, Array r) {
          h = ts::tanh(h * 0.9f + r);
          return std::pair(h, h);
        };
        return ts::scan(step, ts::zeros({1024}), x).second;
      },
      logits);
  add(
      "gradients_of_examples",
      [](Array x, Array w) {
        return ts::vmap(ts::grad([=](Array r) { return ts::sum(ts::tanh(ts::dot(w, r))); }))(x);
      },
      normals(9, {512, 64}), normals(10, {64, 64}));
  add(
      "categorical", [](Array x) { return ts::random::categorical(ts::random::key(0), x); },
      logits);
  add(
      "uniform", [](Array k) { return ts::random::uniform(k, {kMany}); },
      [] { return ts::random::key(0); });
}

void add_linear_algebra() {
  const auto waves = [](const ts::Shape& shape) {
    return [=] { return ts::complex(normal(11, shape), normal(12, shape)); };
  };
  const Data square = normals(13, {1000, 1000});
  const Data definite = [=] {
    return ts::dot(square(), ts::transpose(square())) + 1000 * ts::eye(1000);
  };
  add(
      "fft_line", [](Array x) { return ts::fft::fft(x); }, waves({1 << 20}));
  add(
      "fft_rows", [](Array x) { return ts::fft::fft(x); }, waves({1024, 1024}));
  add(
      "solve", [](Array a, Array b) { return ts::linalg::solve(a, b); }, square,
      normals(14, {1000}));
  add(
      "cholesky", [](Array a) { return ts::linalg::cholesky(a); }, definite);
}

}  // namespace

void add_op_rows() {
  add_functions();
  add_reductions();
  add_movement();
  add_products();
  add_layers();
  add_linear_algebra();
}

}  // namespace bench
