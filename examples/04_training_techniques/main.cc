// Training techniques of the data-parallelism document, cell by cell: the state and the loop, what
// pmean does, accumulation, mixed precision, masked batches, rates, and the pitfalls.
#include "cells.h"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <filesystem>
#include <iostream>

using namespace training_techniques;

namespace {

constexpr std::int64_t kDeviceCount = 8;

void title(const std::string& text) { std::cout << "\n== " << text << "\n"; }
void subtitle(const std::string& text) { std::cout << "\n-- " << text << "\n"; }

/// printf into the same stream.
template <class... A>
void print(const char* format, A... args) {
  char line[256];
  std::snprintf(line, sizeof line, format, args...);
  std::cout << line;
}

/// The largest difference of two models' parameters.
double distance(const Cnn& a, const Cnn& b) {
  double most = 0;
  ts::tree::for_each(
      [&](const std::string&, const Array& d) {
        most = std::max(most, ts::max(ts::abs(d)).item<double>());
      },
      ts::tree::map([](Array x, Array y) { return x - y; }, a, b));
  return most;
}

void guide() {
  title("How pmap works");
  Array x = ts::arange(16.0).reshape(8, 2);
  std::cout << "parallel_function on (8, 2): row 7 is " << parallel_function(x)[7] << "\n";

  title("Step 1: devices");
  std::cout << "Available devices: " << ts::device_count() << "\nDevices: " << ts::devices()
            << "\n";

  title("Step 2: the model");
  Cnn model = make_cnn(ts::random::key(0));
  ts::tree::for_each(
      [](const std::string& path, const Array& p) {
        std::cout << path << " " << ts::to_string(p.shape()) << "\n";
      },
      model);
  std::cout << ts::tree::size(model) << " parameters\n";
  subtitle("the train flag");
  Cnn with_dropout = make_cnn(ts::random::key(0), {.dropout = 0.5});
  Array images = ts::random::normal(ts::random::key(1), {2, 32, 32, 3});
  auto same = [&](const Array& logits) {
    return bool(ts::array_equal(logits, model(images))) ? "the same logits" : "other logits";
  };
  std::cout << "dropout, train = false: " << same(with_dropout(images)) << " as without\n";
  std::cout << "dropout, train = true:  " << same(with_dropout(images, true, ts::random::key(2)))
            << "\n";

  title("Step 3: the state, a row a device");
  Replicated r = replicated_state(model, 1e-3, kDeviceCount);
  auto row = [](const char* name, const Array& one, const Array& rows) {
    std::cout << name << ": " << ts::to_string(one.shape()) << " becomes "
              << ts::to_string(rows.shape()) << "\n";
  };
  row("model/conv2/weight", r.state.model.conv2.weight, r.rows.model.conv2.weight);
  row("Adam's counter", r.state.optimizer.stages[0].count, r.rows.optimizer.stages[0].count);
  row("step", r.state.step, r.rows.step);
  std::cout << ts::tree::leaves(r.state).size() << " leaves split, replicated and merged\n";
}

void loop() {
  title("Steps 4 to 6: train_step, shard_batch and the loop");
  Cnn model = make_cnn(ts::random::key(0), {.size = 16, .width = 8});
  Batch all = make_images(ts::random::key(1), 200, 16);
  Batch images{ts::zeros({128, 32, 32, 3}), ts::zeros({128}, ts::i32)};
  Batch sharded = ts::data::shard_batch(images, kDeviceCount);
  std::cout << "images " << ts::to_string(images.image.shape()) << " are sharded to "
            << ts::to_string(sharded.image.shape()) << ", labels to "
            << ts::to_string(sharded.label.shape()) << "\n";
  std::cout << "a quarter of the width, images of 16 x 16, the document's rate; 200 examples in "
               "batches of 64: the last, of 8, is skipped\n";
  Trained t = training_loop(model, all, kDeviceCount, 64, 10);
  for (std::size_t i = 0; i < t.epochs.size(); ++i)
    print("Epoch %2zu: Loss=%.4f, Acc=%.4f (%lld batches)\n", i + 1, t.epochs[i].loss,
          t.epochs[i].accuracy, static_cast<long long>(t.epochs[i].batches));
  std::cout << "steps taken: " << t.state.step << "\n";
}

void synchronisation() {
  title("What happens during pmean");
  Array grads = ts::array({{1.0, 2.0, 3.0}, {1.5, 2.5, 3.5}, {0.5, 1.5, 2.5}});
  Array mean = after_pmean(grads);
  for (int d = 0; d < 3; ++d)
    std::cout << "Device " << d << ": grad = " << grads[d] << " before, " << mean[d] << " after\n";

  title("Under the hood: all-reduce");
  Array x = ts::array({{1.0}, {10.0}, {100.0}, {1000.0}});
  std::vector<Array> held = ring_all_reduce(x);
  for (std::size_t time = 0; time < held.size(); ++time)
    print("Time %zu: [D0] %4g  [D1] %4g  [D2] %4g  [D3] %4g\n", time,
          held[time](0, 0).item<double>(), held[time](1, 0).item<double>(),
          held[time](2, 0).item<double>(), held[time](3, 0).item<double>());
  Array parts = ts::arange(16.0).reshape(4, 4);
  std::cout << "reduce-scatter and all-gather on four devices: "
            << scatter_gather_all_reduce(parts)[3] << " on device 3\n";

  title("Communication cost");
  std::cout << "what a step of train_step moves, from its plan:\n";
  for (std::int64_t width : {8, 32})
    for (std::int64_t batch : {64, 256}) {
      CnnOptions options{.size = 16, .width = width};
      Cost cost = communication(options, batch);
      std::int64_t parameters = ts::tree::size(make_cnn(ts::random::key(0), options));
      print("%5lld parameters, batch of %3lld: %zu collectives, %6lld bytes a device\n",
            static_cast<long long>(parameters), static_cast<long long>(batch), cost.collectives,
            static_cast<long long>(cost.bytes));
    }
}

void techniques() {
  Cnn model = make_cnn(ts::random::key(0), {.size = 16, .width = 8});
  Batch all = make_images(ts::random::key(1), 200, 16);
  auto sgd = optim::sgd(0.01);
  State state = optim::train_state(model, sgd);
  std::vector<Batch> sharded;
  for (const Batch& b : load(all, 64))
    if (b.label.length() == 64) sharded.push_back(ts::data::shard_batch(b, kDeviceCount));

  title("Technique 1: gradient accumulation");
  State accumulated = accumulate_step(sgd, state, sharded);
  Batch large = ts::data::shard_batch(ts::tree::map([](Array x) { return x[ts::until(192)]; }, all),
                                      kDeviceCount);
  Stepped whole = plain_step(sgd, state, large);
  std::cout << sharded.size()
            << " microbatches of 64 against one batch of 192: parameters differ by "
            << (distance(accumulated.model, whole.state.model) < 1e-6 ? "less than 1e-6"
                                                                      : "1e-6 or more")
            << "\n";
  std::cout << "steps counted: " << accumulated.step << "\n";

  title("Technique 2: mixed precision");
  Array x = all.image[ts::until(2)].astype(ts::bf16);
  Cnn mixed = make_cnn(ts::random::key(0), {.size = 16, .width = 8, .dtype = ts::bf16});
  std::cout << "bfloat16 images, float32 layers: logits are " << ts::name_of(model(x).dtype())
            << "\n";
  std::cout << "bfloat16 images, bfloat16 layers: logits are " << ts::name_of(mixed(x).dtype())
            << ", weights " << ts::name_of(mixed.conv1.weight.dtype()) << "\n";
  State half = optim::train_state(mixed, sgd), full = state;
  for (std::size_t i = 0; i < sharded.size(); ++i) {
    Stepped a = plain_step(sgd, full, sharded[i]), b = mixed_precision_step(sgd, half, sharded[i]);
    full = a.state;
    half = b.state;
    print("step %zu: loss %.4f in float32, %.2f in bfloat16\n", i, a.loss.item<double>(),
          b.loss.item<double>());
  }

  title("Technique 3: batches of any size, with masks");
  Masked last = load_padded(all, 64).back();
  std::cout << "the last batch has " << ts::sum(last.mask).astype(ts::i32)
            << " examples, filled up to " << last.mask.length() << "\n";
  Batch padded = ts::data::shard_batch(last.batch, kDeviceCount);
  Array mask = ts::data::shard_batch(last.mask, kDeviceCount);
  std::cout << "examples on each device: " << ts::sum(mask, 1).astype(ts::i32) << "\n";
  Stepped masked = masked_step(sgd, state, padded, mask);
  Array alone = loss_of(model, load(all, 64).back());
  print("loss %.4f, that of the 8 examples alone %.4f\n", masked.loss.item<double>(),
        alone.item<double>());
  std::cout << "the document's mean of the devices' own means: "
            << document_masked_loss(model, padded, mask) << "\n";
  Array uneven = uneven_mask(kDeviceCount, 8);
  std::cout << "examples on each device: " << ts::sum(uneven, 1).astype(ts::i32) << "\n";
  print("loss %.4f, by the document %.4f\n",
        masked_step(sgd, state, sharded[0], uneven).loss.item<double>(),
        document_masked_loss(model, sharded[0], uneven).item<double>());
}

void performance(const std::string& out) {
  Cnn model = make_cnn(ts::random::key(0), {.size = 16, .width = 8});
  Batch batch = ts::data::shard_batch(make_images(ts::random::key(1), 64, 16), kDeviceCount);

  title("Batch size and learning rate");
  const std::int64_t total = 32 * kDeviceCount;
  const double scaled = optim::scale_rate(1e-3, total);
  print("total_batch_size %lld, scaled_lr %g\n", static_cast<long long>(total), scaled);
  Rates rates = try_rates(model, batch, {std::nullopt, 1e-3, scaled, 1e-2});
  print("loss after one step: default %.4f, lr 0.001 %.4f, lr %g %.4f, lr 0.01 %.4f\n",
        rates.losses[0].item<double>(), rates.losses[1].item<double>(), scaled,
        rates.losses[2].item<double>(), rates.losses[3].item<double>());
  std::cout << "traced " << rates.traces << " times: with the default and with a rate\n";

  title("Monitoring");
  std::string file = (std::filesystem::path(out) / "trace.json").string();
  std::vector<std::pair<std::int64_t, float>> log;
  {
    ts::Profile profile(file);
    log = log_sometimes(model, batch, 21, 10);
    profile.finish();
  }
  std::cout << "wrote " << file << ", for Perfetto: a row a device\n";

  title("Reading results now and then");
  for (auto [step, loss] : log)
    print("Step %lld: Loss=%.4f\n", static_cast<long long>(step), double(loss));
}

void pitfalls() {
  Cnn model = make_cnn(ts::random::key(0), {.size = 16, .width = 8});
  Batch batch = make_images(ts::random::key(1), 128, 16);
  Batch sharded = ts::data::shard_batch(batch, kDeviceCount);

  title("Pitfall 1: the batch does not divide");
  std::cout << batch_not_divisible() << "\n";

  title("Pitfall 2: the forgotten pmean");
  std::cout << "the state goes in replicated and comes out a row a device, a warning:\n"
            << forgotten_pmean_warning(model, sharded) << "\n";
  subtitle("it is declared replicated on the way out, an error");
  std::cout << forgotten_pmean_error(model, sharded) << "\n";
  subtitle("rows in, rows out: only the values can tell, when they are gathered");
  std::cout << forgotten_pmean_gathered(model, sharded) << "\n";
  subtitle("pmean over a name that pmap was not given");
  std::cout << unnamed_axis(ts::zeros({8, 3})) << "\n";

  title("Pitfall 3: no device axis");
  std::cout << no_device_axis(model, batch) << "\n";
}

}  // namespace

int main(int argc, char** argv) {
  std::string out = "runs/techniques";
  CLI::App app{"Techniques of data-parallel training, cell by cell, on 8 virtual devices"};
  app.add_option("--out", out, "folder for the trace")->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    std::cout << app.help();
    return 0;
  } catch (const CLI::ParseError& e) {
    std::cerr << "error: " << e.what() << " (--help lists the options)\n";
    return 2;
  }
  std::error_code failed;
  std::filesystem::create_directories(out, failed);
  if (failed) {
    std::cerr << "error: cannot make the folder " << out << ": " << failed.message()
              << "; name another with --out\n";
    return 2;
  }
  try {
    ts::set_device_count(kDeviceCount);
    guide();
    loop();
    synchronisation();
    techniques();
    performance(out);
    pitfalls();
    return 0;
  } catch (const ts::Error& e) {
    std::cerr << "error: " << e.what() << "\n";
    return 2;
  }
}
