// Losses under the names of Optax. Each returns one value per example, per element, or per vector
// along the last axis, as stated; the caller takes the mean. Predictions and targets have the same
// shape, otherwise ShapeError is thrown; integers are converted to floats.
#pragma once

#include <tessera/array.h>

namespace tessera::inline v0::nn {

/// -sum(labels * log_softmax(logits)), where labels are probabilities of the logits' shape, as made
/// by one_hot.
TESSERA_API Array softmax_cross_entropy(Operand logits, Operand labels);
/// -log_softmax(logits)[label], where labels are integers of the logits' shape without the last
/// axis. A label out of range gives 0, so -1 can be used as padding.
TESSERA_API Array softmax_cross_entropy_with_integer_labels(Operand logits, Operand labels);
/// Per element: -labels * log(sigmoid(logits)) - (1 - labels) * log(1 - sigmoid(logits)), where
/// labels are probabilities of the logits' shape.
TESSERA_API Array sigmoid_binary_cross_entropy(Operand logits, Operand labels);
/// Per element: e^2 / 2 for errors up to delta, delta * (|e| - delta / 2) beyond (Huber 1964).
TESSERA_API Array huber_loss(Operand predictions, Operand targets, double delta = 1.0);
/// The mean of `values` where mask is 1: sum(values * mask) / max(sum(mask), 1).
TESSERA_API Array masked_mean(Operand values, Operand mask);
/// The fraction of examples whose largest logit is at the label.
TESSERA_API Array accuracy(Operand logits, Operand labels);

/// (predictions - targets)^2
TESSERA_API Array squared_error(Operand predictions, Operand targets);
/// Half of squared_error.
TESSERA_API Array l2_loss(Operand predictions, Operand targets);
/// |predictions - targets|
TESSERA_API Array absolute_error(Operand predictions, Operand targets);
/// log(cosh(predictions - targets)), without overflow.
TESSERA_API Array log_cosh(Operand predictions, Operand targets);
/// max(0, 1 - predictions * targets), where targets are -1 or 1.
TESSERA_API Array hinge_loss(Operand predictions, Operand targets);
/// The cosine of the angle between vectors along the last axis; lengths are clamped to at least
/// `epsilon`.
TESSERA_API Array cosine_similarity(Operand predictions, Operand targets, double epsilon = 0.0);
/// 1 - cosine_similarity.
TESSERA_API Array cosine_distance(Operand predictions, Operand targets, double epsilon = 0.0);
/// sum(targets * (log(targets) - log_predictions)) along the last axis; 0 where a target is 0.
TESSERA_API Array kl_divergence(Operand log_predictions, Operand targets);
/// Binary cross-entropy that down-weights well-predicted examples by (1 - p)^gamma (Lin et al.
/// 2017). If alpha is not negative, labels 1 and 0 are weighted by alpha and 1 - alpha.
TESSERA_API Array sigmoid_focal_loss(Operand logits, Operand labels, double alpha = -1.0,
                                     double gamma = 2.0);
/// (1 - alpha) * labels + alpha / classes, with classes along the last axis. Throws Error if alpha
/// is outside [0, 1].
TESSERA_API Array smooth_labels(Operand labels, double alpha);

/// The options of ctc_loss: `blank_id` is the number of the blank label.
struct CtcOptions {
  std::int64_t blank_id = 0;
  double log_epsilon = -1e5;  // used for log(0)
};
/// Connectionist temporal classification (Graves et al. 2006): the negative log-probability of the
/// labels of each sequence. logits (batch, frames, classes), labels integers (batch, length). The
/// paddings (batch, frames) and (batch, length) are 1 for entries that do not count, which must
/// come last.
TESSERA_API Array ctc_loss(Operand logits, Operand logit_paddings, Operand labels,
                           Operand label_paddings, const CtcOptions& options = {});

}  // namespace tessera::inline v0::nn
