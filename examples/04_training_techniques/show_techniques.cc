#include "show.h"

#include <filesystem>

namespace training_techniques {

namespace {

/// The largest difference between two models' parameters.
double distance(const Cnn& a, const Cnn& b) {
  double most = 0;
  ts::tree::for_each(
      [&](const std::string&, const Array& d) {
        most = std::max(most, ts::item<double>(ts::max(ts::abs(d))));
      },
      ts::tree::map([](Array x, Array y) { return x - y; }, a, b));
  return most;
}

}  // namespace

void show_techniques() {
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
    print("step %zu: loss %.4f in float32, %.2f in bfloat16\n", i, ts::item<double>(a.loss),
          ts::item<double>(b.loss));
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
  print("loss %.4f, that of the 8 examples alone %.4f\n", ts::item<double>(masked.loss),
        ts::item<double>(alone));
  std::cout << "the document's mean of the devices' own means: "
            << document_masked_loss(model, padded, mask) << "\n";
  Array uneven = uneven_mask(kDeviceCount, 8);
  std::cout << "examples on each device: " << ts::sum(uneven, 1).astype(ts::i32) << "\n";
  print("loss %.4f, by the document %.4f\n",
        ts::item<double>(masked_step(sgd, state, sharded[0], uneven).loss),
        ts::item<double>(document_masked_loss(model, sharded[0], uneven)));
}

void show_performance(const std::string& folder) {
  Cnn model = make_cnn(ts::random::key(0), {.size = 16, .width = 8});
  Batch batch = ts::data::shard_batch(make_images(ts::random::key(1), 64, 16), kDeviceCount);

  title("Batch size and learning rate");
  const std::int64_t total = 32 * kDeviceCount;
  const double scaled = optim::scale_rate(1e-3, total);
  print("total_batch_size %lld, scaled_lr %g\n", static_cast<long long>(total), scaled);
  Rates rates = try_rates(model, batch, {std::nullopt, 1e-3, scaled, 1e-2});
  print("loss after one step: default %.4f, lr 0.001 %.4f, lr %g %.4f, lr 0.01 %.4f\n",
        ts::item<double>(rates.losses[0]), ts::item<double>(rates.losses[1]), scaled,
        ts::item<double>(rates.losses[2]), ts::item<double>(rates.losses[3]));
  std::cout << "traced " << rates.traces << " times: with the default and with a rate\n";

  title("Monitoring");
  std::string file = (std::filesystem::path(folder) / "trace.json").string();
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

void show_pitfalls() {
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
  subtitle(
      "rows in, rows out: a warning where the rows begin as one, an error when they are gathered");
  std::cout << forgotten_pmean_gathered(model, sharded) << "\n";
  subtitle("pmean over a name that pmap was not given");
  std::cout << unnamed_axis(ts::zeros({8, 3})) << "\n";

  title("Pitfall 3: no device axis");
  std::cout << no_device_axis(model, batch) << "\n";
}

}  // namespace training_techniques
