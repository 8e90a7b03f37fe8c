// The rows of rows_bench that LibTorch has a counterpart for, on one device, under the same names
// and the same protocol: "time ROW SECONDS" lines are answered by "ok WALL_US CPU_US" or "error
// TEXT";
// --first ROW and --peak ROW as there. Without an argument it prints the version.
#include <torch/torch.h>

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>

namespace {

namespace nn = torch::nn;
using torch::Tensor;
using Call = std::function<void()>;
using Clock = std::chrono::steady_clock;
constexpr std::int64_t kLarge = 16 * 1024 * 1024;

Tensor energy(const Tensor& x) { return torch::sum(x * x + torch::sin(x) * torch::cos(x)); }

// Without recording for derivatives.
Call plain(std::function<Tensor()> f) {
  return [=] {
    torch::NoGradGuard guard;
    Tensor result = f();
  };
}

struct Rnn {
  Tensor w = torch::randn({64, 64}) * 0.1, xs = torch::randn({1000, 64});
  Tensor final_state() const {
    Tensor h = torch::zeros({64});
    for (const Tensor& x : xs.unbind()) h = torch::tanh(torch::matmul(h, w) + x);
    return h;
  }
};

struct MlpImpl : nn::Module {
  nn::Linear first{784, 256}, second{256, 128}, last{128, 10};
  MlpImpl() {
    register_module("first", first);
    register_module("second", second);
    register_module("last", last);
  }
  Tensor loss(const Tensor& x, const Tensor& y) {
    return torch::mse_loss(last(torch::tanh(second(torch::tanh(first(x))))), y);
  }
};

// Channels first, as LibTorch is at its best.
struct CnnImpl : nn::Module {
  nn::Conv2d first{nn::Conv2dOptions(3, 32, 3).padding(1)},
      second{nn::Conv2dOptions(32, 64, 3).padding(1)};
  nn::Linear dense{4096, 10};
  CnnImpl() {
    register_module("first", first);
    register_module("second", second);
    register_module("dense", dense);
  }
  Tensor loss(const Tensor& x, const Tensor& labels) {
    Tensor h = torch::max_pool2d(torch::relu(first(x)), 2);
    h = torch::max_pool2d(torch::relu(second(h)), 2);
    return torch::nll_loss(torch::log_softmax(dense(h.flatten(1)), 1), labels);
  }
};

constexpr std::int64_t kWidth = 256, kHeads = 4, kSequence = 128, kVocabulary = 96;

struct BlockImpl : nn::Module {
  nn::LayerNorm norm1{nn::LayerNormOptions({kWidth})}, norm2{nn::LayerNormOptions({kWidth})};
  nn::Linear qkv{kWidth, 3 * kWidth}, project{kWidth, kWidth}, up{kWidth, 4 * kWidth},
      down{4 * kWidth, kWidth};
  BlockImpl() {
    register_module("norm1", norm1);
    register_module("norm2", norm2);
    register_module("qkv", qkv);
    register_module("project", project);
    register_module("up", up);
    register_module("down", down);
  }
  Tensor attend(const Tensor& x, const Tensor& mask) {
    std::int64_t b = x.size(0), t = x.size(1), d = kWidth / kHeads;
    auto parts = qkv(x).view({b, t, 3, kHeads, d}).permute({2, 0, 3, 1, 4}).unbind();
    Tensor scores = torch::matmul(parts[0], parts[1].transpose(-2, -1)) / std::sqrt(double(d));
    Tensor weights = torch::softmax(scores.masked_fill(mask, -1e9), -1);
    return project(torch::matmul(weights, parts[2]).transpose(1, 2).reshape({b, t, kWidth}));
  }
  Tensor forward(Tensor x, const Tensor& mask) {
    x = x + attend(norm1(x), mask);
    return x + down(torch::gelu(up(norm2(x)), "tanh"));
  }
};
TORCH_MODULE(Block);

struct GptImpl : nn::Module {
  nn::Embedding tokens{kVocabulary, kWidth}, positions{kSequence, kWidth};
  std::vector<Block> blocks{4};
  nn::LayerNorm norm{nn::LayerNormOptions({kWidth})};
  nn::Linear head{kWidth, kVocabulary};
  Tensor mask = torch::ones({kSequence, kSequence}, torch::kBool).triu(1);
  GptImpl() {
    register_module("tokens", tokens);
    register_module("positions", positions);
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      blocks[i] = Block();
      register_module("block" + std::to_string(i), blocks[i]);
    }
    register_module("norm", norm);
    register_module("head", head);
  }
  Tensor loss(const Tensor& ids, const Tensor& labels) {
    Tensor x = tokens(ids) + positions->weight;
    for (Block& b : blocks) x = b(x, mask);
    return torch::nll_loss(torch::log_softmax(head(norm(x)).view({-1, kVocabulary}), 1),
                           labels.view(-1));
  }
};

template <class Model>
Call training(Tensor x, Tensor y) {
  auto model = std::make_shared<Model>();
  auto adam =
      std::make_shared<torch::optim::Adam>(model->parameters(), torch::optim::AdamOptions(1e-3));
  return [=] {
    adam->zero_grad();
    Tensor loss = model->loss(x, y);
    loss.backward();
    adam->step();
    loss.item<float>();
  };
}

std::map<std::string, std::function<Call()>> rows() {
  std::map<std::string, std::function<Call()>> all;
  all["eager_add"] = [] {
    Tensor x = torch::zeros({4});
    return plain([=] { return x + x; });
  };
  // What four devices have, at once.
  for (std::int64_t n : {1000, 10000, 100000, 1000000})
    all["pmap_energy/" + std::to_string(n)] = [=] {
      Tensor x = torch::randn({4, n});
      return plain([=] { return energy(x); });
    };
  // The same row by row.
  for (std::int64_t n : {1000, 10000, 100000, 1000000})
    all["eager_energy/" + std::to_string(n)] = [=] {
      auto data = torch::randn({4, n}).unbind();
      return plain([=] {
        Tensor last;
        for (const Tensor& r : data) last = energy(r);
        return last;
      });
    };
  all["multiply_add"] = [] {
    Tensor v = torch::randn({kLarge}), w = torch::randn({kLarge});
    return plain([=] { return v * 3 + w; });
  };
  all["chain"] = [] {
    Tensor v = torch::randn({kLarge});
    return plain([=] { return torch::log1p(torch::exp(torch::tanh(v))); });
  };
  all["sum"] = [] {
    Tensor v = torch::randn({kLarge});
    return plain([=] { return torch::sum(v); });
  };
  all["softmax"] = [] {
    Tensor x = torch::randn({4096, 4096});
    return plain([=] { return torch::softmax(x, 1); });
  };
  all["transpose"] = [] {
    Tensor x = torch::randn({4096, 4096});
    return plain([=] { return x.t().contiguous(); });
  };
  all["normals"] = [] { return plain([] { return torch::randn({4 * 1024 * 1024}); }); };
  for (std::int64_t n : {256, 512, 1024, 2048})
    all["matmul/" + std::to_string(n)] = [=] {
      Tensor a = torch::randn({n, n}), b = torch::randn({n, n});
      return plain([=] { return torch::matmul(a, b); });
    };
  all["rnn"] = [] {
    Rnn r;
    return plain([=] { return r.final_state(); });
  };
  all["rnn_grad"] = [] {
    Rnn r;
    r.w.requires_grad_(true);
    return Call([=] {
      Tensor w = r.w;
      w.mutable_grad() = Tensor();
      r.final_state().sum().backward();
    });
  };
  all["mlp/one"] = [] {
    return training<MlpImpl>(torch::randn({512, 784}), torch::randn({512, 10}));
  };
  all["cnn/one"] = [] {
    return training<CnnImpl>(torch::randn({128, 3, 32, 32}), torch::randint(10, {128}));
  };
  all["gpt/one"] = [] {
    auto ids = [] { return torch::randint(kVocabulary, {8, kSequence}); };
    return training<GptImpl>(ids(), ids());
  };
  return all;
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}
double cpu_seconds() {
  rusage u;
  getrusage(RUSAGE_SELF, &u);
  auto s = [](timeval t) { return double(t.tv_sec) + 1e-6 * double(t.tv_usec); };
  return s(u.ru_utime) + s(u.ru_stime);
}

// Wall time, the median over batches of calls that last about `budget` seconds together; CPU time.
void time_calls(const Call& call, double budget) {
  auto start = Clock::now();
  call();
  double once = std::max(seconds_since(start), 1e-7);
  auto batch = std::max<std::int64_t>(1, static_cast<std::int64_t>(budget / 8 / once));
  std::vector<double> times;
  double cpu = cpu_seconds();
  for (auto begin = Clock::now(); times.empty() || seconds_since(begin) < budget;) {
    start = Clock::now();
    for (std::int64_t i = 0; i < batch; ++i) call();
    times.push_back(seconds_since(start) / double(batch));
  }
  cpu = (cpu_seconds() - cpu) / double(batch) / double(times.size());
  auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  std::cout << "ok " << *middle * 1e6 << " " << cpu * 1e6 << std::endl;
}

int serve() {
  auto all = rows();
  std::string current, line;
  Call call;
  while (std::getline(std::cin, line)) {
    std::istringstream words(line);
    std::string verb, name;
    double budget = 0;
    words >> verb >> name >> budget;
    try {
      if (name != current) {
        call = nullptr;
        current.clear();
        call = all.at(name)();
        current = name;
        call();
        call();
      }
      time_calls(call, budget);
    } catch (const std::exception& e) {
      std::string text = e.what();
      std::replace(text.begin(), text.end(), '\n', ' ');
      std::cout << "error " << text << std::endl;
    }
  }
  return 0;
}

int once(const std::string& name, int calls) {
  Call call = rows().at(name)();
  auto start = Clock::now();
  call();
  std::cout << "ok " << seconds_since(start) * 1e6 << std::endl;
  for (int i = 1; i < calls; ++i) call();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "--serve") return serve();
  if (mode == "--first" && argc == 3) return once(argv[2], 1);
  if (mode == "--peak" && argc == 3) return once(argv[2], 5);
  std::cout << TORCH_VERSION << std::endl;
}
