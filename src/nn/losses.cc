#include <tessera/elementwise.h>
#include <tessera/manipulation.h>
#include <tessera/message.h>
#include <tessera/nn.h>
#include <tessera/reductions.h>

namespace tessera::inline v0::nn {

Array softmax_cross_entropy(Operand logits, Operand labels) {
  if (logits.array.shape() != labels.array.shape())
    Message("softmax_cross_entropy")
        .problem("logits of shape " + to_string(logits.array.shape()) + " and labels of shape " +
                 to_string(labels.array.shape()))
        .rule("labels are probabilities, one for each logit")
        .from(logits.loc)
        .advice(logits.array.ndim() == 0
                    ? "logits have a last axis of classes"
                    : "one_hot(labels, " + std::to_string(logits.array.shape(-1)) +
                          "), or softmax_cross_entropy_with_integer_labels")
        .raise<ShapeError>();
  return negative(sum(multiply(labels, log_softmax(logits)), -1));
}

Array softmax_cross_entropy_with_integer_labels(Operand logits, Operand labels) {
  const Shape& shape = logits.array.shape();
  bool fits = shape.rank() >= 1 && labels.array.shape() == Shape(shape.begin(), shape.end() - 1);
  if (!fits || !is_integer(labels.array.dtype()))
    Message("softmax_cross_entropy_with_integer_labels")
        .problem("logits of shape " + to_string(shape) + " and " +
                 std::string(name_of(labels.array.dtype())) + " labels of shape " +
                 to_string(labels.array.shape()))
        .rule("labels are integers with the shape of the logits but for the last axis")
        .from(logits.loc)
        .advice(is_integer(labels.array.dtype()) || shape == labels.array.shape()
                    ? "argmax over the last axis of one-hot labels"
                    : "convert the labels with astype(ts::i32)")
        .raise<ShapeError>();
  // The label's own logit is picked by a comparison, which fuses, rather than by a gather.
  Array hot =
      one_hot(labels, shape[static_cast<std::size_t>(shape.rank() - 1)], logits.array.dtype());
  return negative(sum(multiply(hot, log_softmax(logits)), -1));
}

Array masked_mean(Operand values, Operand mask) {
  Array m = astype(mask, is_floating(values.array.dtype()) ? values.array.dtype() : DType::float32);
  return divide(sum(multiply(values, m)), maximum(sum(m), 1.0));
}

Array accuracy(Operand logits, Operand labels) {
  const Shape& shape = logits.array.shape();
  if (shape.rank() < 1 || labels.array.shape() != Shape(shape.begin(), shape.end() - 1))
    Message("accuracy")
        .problem("logits of shape " + to_string(shape) + " and labels of shape " +
                 to_string(labels.array.shape()))
        .rule("labels have the shape of the logits but for the last axis")
        .from(logits.loc)
        .advice("argmax over the last axis of one-hot labels")
        .raise<ShapeError>();
  return mean(equal(argmax(logits, -1), labels));
}

}  // namespace tessera::inline v0::nn
