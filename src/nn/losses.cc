#include "nn/checks.h"
#include "nn/floats.h"
#include "nn/pairs.h"

#include <tessera/creation.h>
#include <tessera/elementwise.h>
#include <tessera/manipulation.h>
#include <tessera/message.h>
#include <tessera/nn/activations.h>
#include <tessera/nn/losses.h>
#include <tessera/reductions.h>

#include <cmath>

namespace tessera::inline v0::nn {

namespace {

// Checks that the logits have a last axis with at least one class.
void check(const char* function, const Operand& logits, const Operand& labels) {
  need_array(function, "logits", logits.array, logits.loc);
  need_array(function, "labels", labels.array, logits.loc);
  if (logits.array.ndim() >= 1 && logits.array.shape(-1) >= 1) return;
  Message(function)
      .problem("the logits are " + describe(logits.array))
      .rule("their last axis has one entry for each class, at least one")
      .from(logits.loc)
      .advice("pass what the model's last layer gives, of shape (batch, classes)")
      .raise<ShapeError>();
}

// weights * x, but 0 where the weight is 0 even if x is infinite, as masked values may be.
Array weighted(const Operand& weights, const Array& x) {
  return where(Operand(equal(weights, 0), weights.loc), Operand(0, weights.loc),
               Operand(multiply(weights, x), weights.loc));
}

}  // namespace

Array softmax_cross_entropy(Operand logits, Operand labels) {
  const InFunction called("softmax_cross_entropy", logits.loc);
  check("softmax_cross_entropy", logits, labels);
  if (logits.array.shape() != labels.array.shape())
    Message("softmax_cross_entropy")
        .problem("logits of shape " + to_string(logits.array.shape()) + " and labels of shape " +
                 to_string(labels.array.shape()))
        .rule("labels are probabilities, one for each logit")
        .from(logits.loc)
        .advice("one_hot(labels, " + std::to_string(logits.array.shape(-1)) +
                "), or softmax_cross_entropy_with_integer_labels")
        .raise<ShapeError>();
  return negative(sum(weighted(labels, log_softmax(logits)), -1));
}

void need_pairs(const char* function, const char* first, const Operand& x, const char* second,
                const Operand& y) {
  need_array(function, first, x.array, x.loc);
  need_array(function, second, y.array, x.loc);
  if (x.array.shape() == y.array.shape()) return;
  Message(function)
      .problem(std::string(first) + " of shape " + to_string(x.array.shape()) + " and " + second +
               " of shape " + to_string(y.array.shape()))
      .rule("each element has one of the other, so the shapes are equal")
      .from(x.loc)
      .advice("reshape or broadcast_to one of them")
      .raise<ShapeError>();
}

Array sigmoid_binary_cross_entropy(Operand logits, Operand labels) {
  const InFunction called("sigmoid_binary_cross_entropy", logits.loc);
  need_pairs("sigmoid_binary_cross_entropy", "logits", logits, "labels", labels);
  const Array yes = log_sigmoid(logits),
              no = log_sigmoid(Operand(negative(as_real(logits)), logits.loc));
  const Operand against(subtract(1, labels), labels.loc);
  return negative(add(weighted(labels, yes), weighted(against, no)));
}

Array huber_loss(Operand predictions, Operand targets, double delta) {
  const InFunction called("huber_loss", predictions.loc);
  need_pairs("huber_loss", "predictions", predictions, "targets", targets);
  if (!(delta > 0))
    Message("huber_loss")
        .problem("delta is " + std::to_string(delta))
        .rule("it is the error from which on the loss is linear, more than 0")
        .from(predictions.loc)
        .advice("1.0 is usual")
        .raise<ShapeError>();
  const bool integers =
      !is_floating(predictions.array.dtype()) && !is_floating(targets.array.dtype());
  const Array error = abs(integers ? subtract(as_real(predictions), as_real(targets))
                                   : subtract(predictions, targets)),
              near = minimum(error, delta);
  return add(multiply(square(near), 0.5), multiply(subtract(error, near), delta));
}

Array softmax_cross_entropy_with_integer_labels(Operand logits, Operand labels) {
  const InFunction called("softmax_cross_entropy_with_integer_labels", logits.loc);
  check("softmax_cross_entropy_with_integer_labels", logits, labels);
  const Shape& shape = logits.array.shape();
  bool fits = labels.array.shape() == Shape(shape.begin(), shape.end() - 1);
  if (!fits || !is_integer(labels.array.dtype()))
    Message("softmax_cross_entropy_with_integer_labels")
        .problem("logits of shape " + to_string(shape) + " and " +
                 std::string(name_of(labels.array.dtype())) + " labels of shape " +
                 to_string(labels.array.shape()))
        .rule("labels are integers with the shape of the logits but for the last axis")
        .from(logits.loc)
        .advice(shape == labels.array.shape() ? "argmax over the last axis of one-hot labels"
                : fits                        ? "convert the labels with astype(ts::i32)"
                                              : "pass one label for each row of logits")
        .raise<ShapeError>();
  // Selects the label's logit by a comparison, which fuses, rather than by a gather.
  const Array hot = one_hot(labels, shape[static_cast<std::size_t>(shape.rank() - 1)], bool_);
  const Array picked = where(Operand(hot, logits.loc), Operand(log_softmax(logits), logits.loc),
                             Operand(0, logits.loc));
  return negative(sum(picked, -1));
}

Array masked_mean(Operand values, Operand mask) {
  const InFunction called("masked_mean", values.loc);
  need_array("masked_mean", "values", values.array, values.loc);
  need_array("masked_mean", "mask", mask.array, values.loc);
  const Shape &from = mask.array.shape(), &to = values.array.shape();
  bool fits = from.rank() <= to.rank();
  for (int i = 1; fits && i <= from.rank(); ++i)
    fits = mask.array.shape(-i) == 1 || mask.array.shape(-i) == values.array.shape(-i);
  if (!fits)
    Message("masked_mean")
        .problem("values of shape " + to_string(to) + " and a mask of shape " + to_string(from))
        .rule("the mask has one entry, 0 or 1, for each value")
        .from(values.loc)
        .advice("build the mask with the shape of the values, here " + to_string(to))
        .raise<ShapeError>();
  Array m = astype(mask, is_floating(values.array.dtype()) ? values.array.dtype() : DType::float32);
  return divide(sum(weighted(Operand(m, mask.loc), values.array)), maximum(sum(m), 1.0));
}

Array accuracy(Operand logits, Operand labels) {
  const InFunction called("accuracy", logits.loc);
  check("accuracy", logits, labels);
  const Shape& shape = logits.array.shape();
  if (labels.array.shape() != Shape(shape.begin(), shape.end() - 1))
    Message("accuracy")
        .problem("logits of shape " + to_string(shape) + " and labels of shape " +
                 to_string(labels.array.shape()))
        .rule("labels have the shape of the logits but for the last axis")
        .from(logits.loc)
        .advice(shape == labels.array.shape() ? "argmax over the last axis of one-hot labels"
                                              : "pass one label for each row of logits")
        .raise<ShapeError>();
  return mean(equal(argmax(logits, -1), labels));
}

namespace {

Array difference(const char* function, const Operand& predictions, const Operand& targets) {
  need_pairs(function, "predictions", predictions, "targets", targets);
  return subtract(as_real(predictions), as_real(targets));
}

// Checks that x has a last axis, along which vectors are summed.
void need_vectors(const char* function, const Operand& x) {
  if (x.array.ndim() >= 1) return;
  Message(function)
      .problem("the predictions are " + describe(x.array))
      .rule("vectors are the last axis")
      .from(x.loc)
      .advice("pass arrays of shape (batch, features)")
      .raise<ShapeError>();
}

// x divided by its length along the last axis. The square root is taken only of positive numbers,
// so that its derivative is finite; a zero vector is returned unchanged.
Array unit(const Array& x, double epsilon) {
  const Array squares = sum(square(x), -1, true);
  const Array length = where(squares > 0, sqrt(where(squares > 0, squares, 1.0)), 0.0);
  const Array least = maximum(length, epsilon);
  return x / where(least > 0, least, 1.0);
}

}  // namespace

Array squared_error(Operand predictions, Operand targets) {
  const InFunction called("squared_error", predictions.loc);
  return square(difference("squared_error", predictions, targets));
}
Array l2_loss(Operand predictions, Operand targets) {
  const InFunction called("l2_loss", predictions.loc);
  return square(difference("l2_loss", predictions, targets)) * 0.5;
}
Array absolute_error(Operand predictions, Operand targets) {
  const InFunction called("absolute_error", predictions.loc);
  return abs(difference("absolute_error", predictions, targets));
}
Array log_cosh(Operand predictions, Operand targets) {
  const InFunction called("log_cosh", predictions.loc);
  const Array e = difference("log_cosh", predictions, targets);
  return logaddexp(e, -e) - std::log(2.0);
}
Array hinge_loss(Operand predictions, Operand targets) {
  const InFunction called("hinge_loss", predictions.loc);
  need_pairs("hinge_loss", "predictions", predictions, "targets", targets);
  return maximum(1 - as_real(predictions).array * as_real(targets).array, 0);
}

Array cosine_similarity(Operand predictions, Operand targets, double epsilon) {
  const InFunction called("cosine_similarity", predictions.loc);
  need_pairs("cosine_similarity", "predictions", predictions, "targets", targets);
  need_vectors("cosine_similarity", predictions);
  need_number("cosine_similarity", "epsilon", epsilon, 0, HUGE_VAL, "leave it out for 0",
              predictions.loc);
  const Array x = in_floats(predictions).array, y = in_floats(targets).array;
  return sum(unit(x, epsilon) * unit(y, epsilon), -1);
}
Array cosine_distance(Operand predictions, Operand targets, double epsilon) {
  const InFunction called("cosine_distance", predictions.loc);
  return 1 - cosine_similarity(std::move(predictions), std::move(targets), epsilon);
}

Array kl_divergence(Operand log_predictions, Operand targets) {
  const InFunction called("kl_divergence", log_predictions.loc);
  need_pairs("kl_divergence", "log_predictions", log_predictions, "targets", targets);
  need_vectors("kl_divergence", log_predictions);
  const Array t = in_floats(targets).array;
  const Array entropy = log(where(t == 0, 1.0, t));
  return sum(where(t == 0, 0.0, t * (entropy - in_floats(log_predictions).array)), -1);
}

Array sigmoid_focal_loss(Operand logits, Operand labels, double alpha, double gamma) {
  const InFunction called("sigmoid_focal_loss", logits.loc);
  need_pairs("sigmoid_focal_loss", "logits", logits, "labels", labels);
  need_number("sigmoid_focal_loss", "alpha", alpha, -HUGE_VAL, 1, "0.25 is usual", logits.loc,
              true);
  need_number("sigmoid_focal_loss", "gamma", gamma, 0, HUGE_VAL, "2.0 is usual", logits.loc);
  const Array x = in_floats(logits).array, t = in_floats(labels).array;
  const Array p = sigmoid(x), missed = p * (1 - t) + (1 - p) * t;
  const Array loss = sigmoid_binary_cross_entropy(x, t) * power(missed, gamma);
  return alpha < 0 ? loss : loss * (t * alpha + (1 - t) * (1 - alpha));
}

Array smooth_labels(Operand labels, double alpha) {
  const InFunction called("smooth_labels", labels.loc);
  need_array("smooth_labels", "labels", labels.array, labels.loc);
  need_vectors("smooth_labels", labels);
  need_number("smooth_labels", "alpha", alpha, 0, 1, "0.1 is usual", labels.loc, true);
  const double classes = static_cast<double>(labels.array.shape(-1));
  return in_floats(labels).array * (1 - alpha) + alpha / classes;
}

}  // namespace tessera::inline v0::nn
