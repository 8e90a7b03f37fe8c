// Data-parallel training: the model is replicated over virtual devices, each batch is cut over
// them, every device computes its gradients, pmean averages them, and all apply the same update.
#include "model.h"
#include "options.h"
#include "report.h"

#include <filesystem>
#include <iostream>

namespace {

constexpr const char* kAxis = "devices";

struct Batch {
  Array images;  // uint8 (devices, examples, height, width, 1)
  Array labels;  // int32 (devices, examples)
};

/// The rows of a set that `indices` names, cut for the devices.
Batch gather(const ts::data::Images& set, const std::vector<std::int32_t>& indices,
             std::int64_t devices) {
  std::int64_t h = set.images.shape(1), w = set.images.shape(2);
  auto pixels = set.images.host<std::uint8_t>();
  auto labels = set.labels.host<std::uint8_t>();
  std::vector<std::uint8_t> x;
  std::vector<std::int32_t> y;
  x.reserve(indices.size() * static_cast<std::size_t>(h * w));
  for (std::int32_t i : indices) {
    auto row = pixels.subspan(static_cast<std::size_t>(i * h * w), static_cast<std::size_t>(h * w));
    x.insert(x.end(), row.begin(), row.end());
    y.push_back(labels[static_cast<std::size_t>(i)]);
  }
  std::int64_t each = static_cast<std::int64_t>(indices.size()) / devices;
  return {Array(x, {devices, each, h, w, std::int64_t{1}}), Array(y, {devices, each})};
}

Array to_floats(Array images) { return images.astype(ts::f32) / 255.0; }

/// Shifts each of this device's images by up to one pixel. The shifts of the whole batch are drawn
/// from one key, so they do not depend on the number of devices.
Array shift(Array images, Array key, std::int64_t devices) {
  std::int64_t n = images.shape(0), h = images.shape(1), w = images.shape(2);
  Array all = ts::random::randint(key, {n * devices, 2}, 0, 3);
  Array mine = ts::dynamic_slice(all, {ts::axis_index(kAxis) * n, 0}, {n, std::int64_t{2}});
  Array wide = ts::pad(images, {{0, 0}, {1, 1}, {1, 1}, {0, 0}});
  return ts::vmap([h, w](Array image, Array by) {
    return ts::dynamic_slice(image, {by[0], by[1], 0}, {h, w, std::int64_t{1}});
  })(wide, mine);
}

std::pair<Array, Array> loss_and_accuracy(const Cnn& model, Array images, Array labels) {
  Array logits = model(images);
  Array loss = ts::mean(nn::softmax_cross_entropy_with_integer_labels(logits, labels));
  return {loss, nn::accuracy(logits, labels)};
}

/// One training step on all devices: (state, images, labels, key) -> (state, metrics).
auto make_step(const Options& o, const optim::Optimizer& opt) {
  std::int64_t parts = o.accumulate, devices = o.devices;
  bool augment = o.augment;
  return ts::pmap(
      [=](TrainState state, Array images, Array labels, Array key) {
        Array x = to_floats(images);
        if (augment) x = shift(x, key, devices);
        auto gradient = ts::value_and_grad(loss_and_accuracy);
        auto [value, grads] = [&] {
          if (parts == 1) return gradient(state.model, x, labels);
          // Gradients of the microbatches are added up by a scan, whose memory is that of one
          // microbatch.
          std::int64_t each = x.shape(0) / parts;
          Array xs = x.reshape(parts, each, x.shape(1), x.shape(2), x.shape(3)),
                ys = labels.reshape(parts, each);
          auto first = gradient(state.model, xs[0], ys[0]);
          auto [sum, none] = ts::scan(
              [&](decltype(first) carry, std::pair<Array, Array> part) {
                auto next = gradient(state.model, part.first, part.second);
                return std::pair(ts::tree::map([](Array a, Array b) { return a + b; }, carry, next),
                                 std::tuple<>());
              },
              first, std::pair(xs(ts::from(1)), ys(ts::from(1))));
          return ts::tree::map([&](Array a) { return a / double(parts); }, sum);
        }();
        grads = ts::pmean(grads, kAxis);
        auto [updates, optimizer] = opt.update(grads, state.optimizer, state.model);
        TrainState next{optim::apply_updates(state.model, updates), optimizer};
        Metrics metrics{ts::pmean(value.first, kAxis), ts::pmean(value.second, kAxis)};
        return std::pair(next, metrics);
      },
      {.axis_name = kAxis,
       .in_axes = {ts::replicated, 0, 0, ts::replicated},
       .out_axes = {ts::replicated, ts::replicated}});
}

/// Test accuracy over all devices; the last batch is padded and masked.
double evaluate(const Cnn& model, const ts::data::Images& set,
                const std::vector<std::int32_t>& indices, std::int64_t devices) {
  auto count = ts::pmap(
      [](Cnn model, Array images, Array labels, Array mask) {
        Array hits = (ts::argmax(model(to_floats(images)), -1) == labels).astype(ts::f32);
        return ts::psum(ts::sum(hits * mask), kAxis);
      },
      {.axis_name = kAxis, .in_axes = {ts::replicated, 0, 0, 0}, .out_axes = ts::replicated});
  std::int64_t n = static_cast<std::int64_t>(indices.size());
  std::int64_t batch = (std::min<std::int64_t>(n, 256) + devices - 1) / devices * devices;
  double hits = 0;
  for (const auto& b : ts::data::batches(n, batch, {}, ts::data::LastBatch::pad)) {
    std::vector<std::int32_t> rows;
    for (std::int32_t i : b.indices) rows.push_back(indices[static_cast<std::size_t>(i)]);
    Batch test = gather(set, rows, devices);
    hits += count(model, test.images, test.labels, ts::data::shard_batch(Array(b.mask), devices))
                .item<double>();
  }
  return hits / static_cast<double>(n);
}

struct Sets {
  ts::data::Images train, test;
  std::vector<std::int32_t> train_rows, test_rows;
  std::int64_t classes = 0;
};

/// MNIST's own split where the folder has one (train-*, t10k-*); else four fifths of each class to
/// train on, by a fixed key.
Sets load(const std::string& folder) {
  Sets s;
  bool split = false;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    split = split || entry.path().filename().string().rfind("t10k-", 0) == 0;
  if (split) {
    s.train = ts::data::load_images(folder, "train");
    s.test = ts::data::load_images(folder, "t10k");
    s.train_rows = ts::arange(s.train.labels.shape(0)).to_vector<std::int32_t>();
    s.test_rows = ts::arange(s.test.labels.shape(0)).to_vector<std::int32_t>();
  } else {
    s.train = s.test = ts::data::load_images(folder);
    auto parts = ts::data::split_per_class(ts::random::key(20240601), s.train.labels, 0.8);
    s.train_rows = parts.first.to_vector<std::int32_t>();
    s.test_rows = parts.second.to_vector<std::int32_t>();
  }
  s.classes = ts::max(s.train.labels).item<std::int64_t>() + 1;
  return s;
}

int run(const Options& o) {
  ts::set_device_count(static_cast<int>(o.devices));
  if (!std::filesystem::is_directory(o.data))
    throw ts::IoError("there is no data folder " + o.data + "; pass one with --data");
  Sets sets = load(o.data);
  std::int64_t h = sets.train.images.shape(1), w = sets.train.images.shape(2);
  if (h < 4 || w < 4)
    throw ts::ShapeError("the images are " + std::to_string(h) + " x " + std::to_string(w) +
                         "; two poolings need 4 x 4");
  auto dtype = o.precision == "bf16" ? std::optional(ts::bf16) : std::nullopt;
  auto [init_key, run_key] = ts::random::split<2>(ts::random::key(o.seed));
  Cnn model = make_cnn(init_key, h, w, sets.classes, dtype);

  if (!o.evaluate.empty()) {
    model = ts::load(o.evaluate, model);
    double accuracy = evaluate(model, sets.test, sets.test_rows, o.devices);
    std::cout << "test accuracy " << 100 * accuracy << " % on " << sets.test_rows.size()
              << " examples\n";
    return 0;
  }
  std::int64_t steps = static_cast<std::int64_t>(sets.train_rows.size()) / o.batch;
  if (steps == 0)
    throw ts::ShapeError("the batch of " + std::to_string(o.batch) +
                         " is larger than the training set of " +
                         std::to_string(sets.train_rows.size()) + "; use a smaller --batch");

  auto opt = o.optimizer == "sgd" ? optim::sgd(o.lr) : optim::adam(o.lr);
  TrainState state{model, opt.init(model)};
  auto step = make_step(o, opt);
  std::filesystem::create_directories(o.out);
  std::cout << "training on " << sets.train_rows.size() << " digits of " << h << " x " << w
            << ", testing on " << sets.test_rows.size() << ", " << o.devices << " devices, batch "
            << o.batch << std::endl;

  std::vector<Point> points;
  Progress progress(o.epochs, steps, o.batch);
  constexpr std::int64_t kUntraced = 2, kTraced = 20;  // steps that compile, those in trace.json
  std::optional<ts::Profile> profile;
  std::int64_t done = 0;
  bool stop = false;
  for (std::int64_t epoch = 1; epoch <= o.epochs && !stop; ++epoch) {
    Array epoch_key = ts::random::fold_in(run_key, epoch);
    auto order = ts::data::batches(static_cast<std::int64_t>(sets.train_rows.size()), o.batch,
                                   ts::random::fold_in(epoch_key, 0));
    std::size_t next = 0;
    ts::data::Prefetch<Batch> batches([&]() -> std::optional<Batch> {
      if (next == order.size()) return std::nullopt;
      std::vector<std::int32_t> rows;
      for (std::int32_t i : order[next].indices)
        rows.push_back(sets.train_rows[static_cast<std::size_t>(i)]);
      ++next;
      return gather(sets.train, rows, o.devices);
    });
    double loss_sum = 0, accuracy_sum = 0;
    for (std::int64_t i = 1; i <= steps && !stop; ++i) {
      if (done == kUntraced) profile.emplace(o.out + "/trace.json");
      Batch batch = *batches.next();
      Array key = o.augment ? ts::random::fold_in(epoch_key, i) : epoch_key;
      auto [new_state, metrics] = step(std::move(state), batch.images, batch.labels, key);
      state = std::move(new_state);
      double loss = metrics.loss.item<double>(), accuracy = metrics.accuracy.item<double>();
      loss_sum += loss;
      accuracy_sum += accuracy;
      progress.step(epoch, i, loss, accuracy);
      points.push_back({epoch, ++done, loss, accuracy, progress.images_per_second()});
      if (done == kUntraced + kTraced) profile.reset();
      stop = o.steps && done == o.steps;
    }
    std::int64_t ran = stop ? (done - 1) % steps + 1 : steps;
    progress.end_epoch(epoch, ran, loss_sum / static_cast<double>(ran),
                       accuracy_sum / static_cast<double>(ran));
  }
  profile.reset();
  double seconds = progress.seconds();
  double accuracy = evaluate(state.model, sets.test, sets.test_rows, o.devices);
  std::printf("trained %lld steps in %.1f s\n", static_cast<long long>(done), seconds);
  std::cout << "test accuracy " << 100 * accuracy << " % on " << sets.test_rows.size()
            << " examples\n";

  write_csv(o.out + "/metrics.csv", points);
  write_loss_svg(o.out + "/loss.svg", points,
                 "CNN on digits, " + std::to_string(o.devices) + " devices");
  ts::save(o.out + "/model.safetensors", state.model, {{"accuracy", std::to_string(accuracy)}});
  std::cout << "wrote " << (done > kUntraced ? "trace.json, " : "")
            << "loss.svg, metrics.csv and model.safetensors to " << o.out << "\n";
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (auto code = parse(argc, argv, options)) return *code;
  try {
    return run(options);
  } catch (const ts::Error& e) {
    std::cerr << "error: " << e.what() << "\n";
  } catch (const std::filesystem::filesystem_error& e) {
    std::cerr << "error: " << e.what() << "\n";
  }
  return 2;
}
