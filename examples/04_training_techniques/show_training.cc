#include "show.h"

namespace training_techniques {

void show_guide() {
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

void show_loop() {
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

void show_synchronisation() {
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
          ts::item<double>(held[time](0, 0)), ts::item<double>(held[time](1, 0)),
          ts::item<double>(held[time](2, 0)), ts::item<double>(held[time](3, 0)));
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

}  // namespace training_techniques
