#include <tessera/nn/losses.h>

#include "nn/checks.h"
#include "nn/floats.h"
#include "nn/pairs.h"

#include <tessera/creation.h>
#include <tessera/elementwise.h>
#include <tessera/nn.h>
#include <tessera/reductions.h>

#include <cmath>

namespace tessera::inline v0::nn {

namespace {

Array difference(const char* function, const Operand& predictions, const Operand& targets) {
  need_pairs(function, "predictions", predictions, "targets", targets);
  return subtract(as_real(predictions), as_real(targets));
}

// Vectors along the last axis, there to be summed.
void need_vectors(const char* function, const Operand& x) {
  if (x.array.ndim() >= 1) return;
  Message(function)
      .problem("the predictions are " + describe(x.array))
      .rule("vectors are the last axis")
      .from(x.loc)
      .advice("pass arrays of shape (batch, features)")
      .raise<ShapeError>();
}

// x over its length along the last axis. The root is taken of what is more than 0, so that its
// derivative is finite; a vector without length stays what it is.
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
