// Data-parallel training: the model is replicated over virtual devices and each batch is sharded
// over them. Every device computes its gradients, pmean averages them, and all devices apply the
// same update.
#include "common/command_line.h"
#include "common/interrupt.h"
#include "common/outputs.h"
#include "data.h"
#include "model.h"
#include "options.h"
#include "report.h"

#include <iostream>

namespace {

constexpr const char* kAxis = "devices";

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
          // A scan adds up the gradients of the microbatches, so it needs the memory of one
          // microbatch only.
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

/// Counts the correct predictions of a batch over all devices. Examples with a mask of 0 do not
/// count.
auto make_counter() {
  return ts::pmap(
      [](Cnn model, Array images, Array labels, Array mask) {
        Array hits = (ts::argmax(model(to_floats(images)), -1) == labels).astype(ts::f32);
        return ts::psum(ts::sum(hits * mask), kAxis);
      },
      {.axis_name = kAxis, .in_axes = {ts::replicated, 0, 0, 0}, .out_axes = ts::replicated});
}

/// The accuracy on the first `most` batches of the test set; the last batch is padded and masked.
/// Returns nothing if the user interrupts it.
std::optional<double> evaluate(auto& count, const Cnn& model, const Sets& sets,
                               std::int64_t devices, std::size_t most = SIZE_MAX) {
  std::int64_t n = static_cast<std::int64_t>(sets.test_rows.size());
  std::int64_t batch = (std::min<std::int64_t>(n, 256) + devices - 1) / devices * devices;
  double hits = 0;
  for (const auto& b : ts::data::batches(n, batch, {}, ts::data::LastBatch::pad)) {
    if (most-- == 0) break;
    if (any_interrupted()) return std::nullopt;
    std::vector<std::int32_t> rows;
    for (std::int32_t i : b.indices) rows.push_back(sets.test_rows[static_cast<std::size_t>(i)]);
    Batch test = gather(sets.test, rows, devices);
    const Array mask = ts::data::shard_batch(Array(b.mask), devices);
    hits += ts::item<double>(count(model, test.images, test.labels, mask));
  }
  return hits / static_cast<double>(n);
}

void show_accuracy(double accuracy, const Sets& sets) {
  std::cout << "test accuracy " << 100 * accuracy << " % on " << sets.test_rows.size()
            << " examples" << std::endl;
}

/// The trained state, and the loss after each step that was done.
struct Trained {
  TrainState state;
  std::vector<Point> points;
  double seconds = 0;
};

std::int64_t done_of(const Trained& all) { return static_cast<std::int64_t>(all.points.size()); }

/// Trains until all steps are done or the user interrupts it.
Trained train(const Options& o, const Sets& sets, const optim::Optimizer& opt, TrainState state,
              const Array& run_key, Trace& trace) {
  std::int64_t steps = static_cast<std::int64_t>(sets.train_rows.size()) / o.batch;
  auto step = make_step(o, opt);
  Trained all{std::move(state), {}};
  Progress progress(o.epochs, steps, o.batch);
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
    std::int64_t ran = 0;
    while (ran < steps && !(stop = any_interrupted() || (o.steps && done_of(all) == o.steps))) {
      trace.before_step(done_of(all));
      Batch batch = *batches.next();
      Array key = o.augment ? ts::random::fold_in(epoch_key, ran + 1) : epoch_key;
      auto [new_state, metrics] = step(std::move(all.state), batch.images, batch.labels, key);
      all.state = std::move(new_state);
      double loss = ts::item<double>(metrics.loss), accuracy = ts::item<double>(metrics.accuracy);
      loss_sum += loss;
      accuracy_sum += accuracy;
      progress.step(epoch, ++ran, loss, accuracy);
      all.points.push_back({epoch, done_of(all) + 1, loss, accuracy, progress.images_per_second()});
    }
    if (ran)
      progress.end_epoch(epoch, ran, loss_sum / static_cast<double>(ran),
                         accuracy_sum / static_cast<double>(ran));
  }
  all.seconds = progress.seconds();
  return all;
}

int run(const Options& o) {
  use_devices(static_cast<int>(o.devices));
  leave_reports_to_the_first();
  Sets sets = load(o.data);
  std::int64_t h = sets.train.images.shape(1), w = sets.train.images.shape(2);
  auto dtype = o.precision == "bf16" ? std::optional(ts::bf16) : std::nullopt;
  auto [init_key, run_key] = ts::random::split<2>(ts::random::key(o.seed));
  Cnn model = make_cnn(init_key, h, w, sets.classes, dtype);
  auto count = make_counter();

  if (!o.evaluate.empty()) {
    model = ts::load(o.evaluate, model);
    show_accuracy(*evaluate(count, model, sets, o.devices), sets);
    return 0;
  }
  if (static_cast<std::int64_t>(sets.train_rows.size()) < o.batch)
    throw ts::ShapeError("the batch of " + std::to_string(o.batch) +
                         " is larger than the training set of " +
                         std::to_string(sets.train_rows.size()) + "; use a smaller --batch");

  // Problems that would stop the program after the training are found before it: files that cannot
  // be written, and an evaluation that fails.
  Outputs outputs(o.out, {"model.safetensors", "trace.json", "metrics.csv", "loss.svg"});
  watch_for_interrupts();
  evaluate(count, model, sets, o.devices, 1);
  std::cout << "training on " << sets.train_rows.size() << " digits of " << h << " x " << w
            << ", testing on " << sets.test_rows.size() << ", " << o.devices << " devices, batch "
            << o.batch << std::endl;

  auto opt = o.optimizer == "sgd" ? optim::sgd(o.lr) : optim::adam(o.lr);
  Trace trace(outputs.path("trace.json"));
  Trained trained = train(o, sets, opt, {model, opt.init(model)}, run_key, trace);
  trace.end();
  const std::int64_t done = done_of(trained);
  const std::string ran = std::to_string(done) + " steps";
  if (!done) {
    std::cerr << "interrupted before the first step; nothing is written\n";
    return kInterrupted;
  }
  std::printf("trained %s in %.1f s\n", ran.c_str(), trained.seconds);
  // The model is saved first, because everything after it may fail or take time.
  const auto save = [&](std::map<std::string, std::string> about) {
    about["steps"] = std::to_string(done);
    ts::save(outputs.path("model.safetensors"), trained.state.model, about);
  };
  outputs.write("model.safetensors", [&] { save({}); });
  if (trace.recorded()) outputs.write("trace.json", [&] { trace.finish(); });
  outputs.write("metrics.csv", [&] { write_csv(outputs.path("metrics.csv"), trained.points); });
  outputs.write("loss.svg", [&] {
    write_loss_svg(outputs.path("loss.svg"), trained.points,
                   "CNN on digits, " + std::to_string(o.devices) + " devices");
  });
  if (const auto accuracy = evaluate(count, trained.state.model, sets, o.devices)) {
    show_accuracy(*accuracy, sets);
    outputs.write("model.safetensors", [&] { save({{"accuracy", std::to_string(*accuracy)}}); });
  }
  std::cout << outputs.report() << std::endl;
  if (interrupted()) {
    std::cerr << "interrupted after " << ran << "\n";
    return kInterrupted;
  }
  return outputs.failed() ? 2 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (auto code = parse(argc, argv, options)) return *code;
  return report_errors([&] { return run(options); });
}
