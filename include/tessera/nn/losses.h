// Losses, as Optax names them: one value an example, an element or a vector along the last axis, as
// each says; take the mean yourself. Predictions and targets have one shape, ShapeError otherwise;
// integers count as floats.
#pragma once

#include <tessera/array.h>

namespace tessera::inline v0::nn {

/// -sum(labels * log_softmax(logits)); labels are probabilities of the logits' shape, as one_hot
/// makes.
TESSERA_API Array softmax_cross_entropy(Operand logits, Operand labels);
/// -log_softmax(logits)[label]; labels are integers of the logits' shape without the last axis.
/// A label outside the classes gives 0, so that padding may be -1.
TESSERA_API Array softmax_cross_entropy_with_integer_labels(Operand logits, Operand labels);
/// One value an element: -labels * log(sigmoid(logits)) - (1 - labels) * log(1 - sigmoid(logits));
/// labels are probabilities of the logits' shape.
TESSERA_API Array sigmoid_binary_cross_entropy(Operand logits, Operand labels);
/// One value an element: e^2 / 2 for errors up to delta, delta * (|e| - delta / 2) beyond (Huber
/// 1964). Predictions and targets have one shape.
TESSERA_API Array huber_loss(Operand predictions, Operand targets, double delta = 1.0);
/// The mean of `values` where mask is 1: sum(values * mask) / max(sum(mask), 1).
TESSERA_API Array masked_mean(Operand values, Operand mask);
/// Share of examples whose largest logit is at the label.
TESSERA_API Array accuracy(Operand logits, Operand labels);

/// (predictions - targets)^2
TESSERA_API Array squared_error(Operand predictions, Operand targets);
/// Half of it.
TESSERA_API Array l2_loss(Operand predictions, Operand targets);
/// |predictions - targets|
TESSERA_API Array absolute_error(Operand predictions, Operand targets);
/// log(cosh(predictions - targets)), without overflow.
TESSERA_API Array log_cosh(Operand predictions, Operand targets);
/// max(0, 1 - predictions * targets), targets -1 or 1.
TESSERA_API Array hinge_loss(Operand predictions, Operand targets);
/// The cosine of the angle between vectors along the last axis; lengths count as at least
/// `epsilon`.
TESSERA_API Array cosine_similarity(Operand predictions, Operand targets, double epsilon = 0.0);
/// One less it.
TESSERA_API Array cosine_distance(Operand predictions, Operand targets, double epsilon = 0.0);
/// sum(targets * (log(targets) - log_predictions)) along the last axis; 0 where a target is 0.
TESSERA_API Array kl_divergence(Operand log_predictions, Operand targets);
/// Binary cross-entropy that weighs what is predicted well by (1 - p)^gamma (Lin et al. 2017), and
/// the labels 1 and 0 by alpha and 1 - alpha where alpha is not negative.
TESSERA_API Array sigmoid_focal_loss(Operand logits, Operand labels, double alpha = -1.0,
                                     double gamma = 2.0);
/// (1 - alpha) * labels + alpha / classes; classes are the last axis. Error for an alpha outside
/// [0, 1].
TESSERA_API Array smooth_labels(Operand labels, double alpha);

struct CtcOptions {
  std::int64_t blank_id = 0;
  double log_epsilon = -1e5;  // stands for log(0)
};
/// Connectionist temporal classification (Graves et al. 2006): for each sequence the negative
/// log-probability of its labels. logits (batch, frames, classes), labels integers (batch, length);
/// paddings (batch, frames) and (batch, length) are 1 where an entry does not count, and padded
/// entries are last.
TESSERA_API Array ctc_loss(Operand logits, Operand logit_paddings, Operand labels,
                           Operand label_paddings, const CtcOptions& options = {});

}  // namespace tessera::inline v0::nn
