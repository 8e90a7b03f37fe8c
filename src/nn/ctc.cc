// Connectionist temporal classification by the forward recursion over labels that are separated by
// blanks: state 2i is the blank before label i, state 2i + 1 is label i.
#include "nn/checks.h"

#include <tessera/control_flow.h>
#include <tessera/creation.h>
#include <tessera/elementwise.h>
#include <tessera/manipulation.h>
#include <tessera/nn/activations.h>
#include <tessera/nn/losses.h>
#include <tessera/reductions.h>

namespace tessera::inline v0::nn {

namespace {

void check(const Operand& logits, const Operand& logit_paddings, const Operand& labels,
           const Operand& label_paddings, const CtcOptions& o) {
  const std::pair<const char*, const Operand*> all[] = {{"logits", &logits},
                                                        {"logit_paddings", &logit_paddings},
                                                        {"labels", &labels},
                                                        {"label_paddings", &label_paddings}};
  for (const auto& [name, x] : all) need_array("ctc_loss", name, x->array, logits.loc);
  const Shape &x = logits.array.shape(), &y = labels.array.shape();
  Message m("ctc_loss");
  m.from(logits.loc);
  if (x.rank() != 3 || y.rank() != 2 || x[0] != y[0] ||
      logit_paddings.array.shape() != Shape{x[0], x[1]} || label_paddings.array.shape() != y)
    m.problem("logits of shape " + to_string(x) + " with paddings " +
              to_string(logit_paddings.array.shape()) + ", labels of shape " + to_string(y) +
              " with paddings " + to_string(label_paddings.array.shape()))
        .rule(
            "logits are (batch, frames, classes), labels (batch, length), and each has paddings "
            "of its first two axes")
        .advice("zeros for the paddings of sequences that are all of full length")
        .raise<ShapeError>();
  if (!is_integer(labels.array.dtype()))
    m.problem("the labels are " + describe(labels.array))
        .rule("labels are integers")
        .advice("convert with astype(ts::i32)")
        .raise<DTypeError>();
  if (o.blank_id < 0 || o.blank_id >= x[2])
    m.problem("the blank is class " + std::to_string(o.blank_id) + " of " + std::to_string(x[2]))
        .rule("the blank is one of the classes")
        .advice("blank_id = 0")
        .raise<ShapeError>();
}

}  // namespace

Array ctc_loss(Operand logits, Operand logit_paddings, Operand labels, Operand label_paddings,
               const CtcOptions& o) {
  const InFunction called("ctc_loss", logits.loc);
  check(logits, logit_paddings, labels, label_paddings, o);
  const std::int64_t batch = logits.array.shape(0), length = labels.array.shape(1);
  const std::int64_t states = 2 * length + 1;
  const Array scores = log_softmax(logits);
  const DType d = scores.dtype();
  // The class of each state: blank, label, blank, label, ..., blank.
  const Array blanks = full({batch, length}, o.blank_id, DType::int32);
  const Array pairs = stack({blanks, labels.array.astype(DType::int32)}, 2);
  const Array classes = concatenate(
      {pairs.reshape(batch, 2 * length), full({batch, 1}, o.blank_id, DType::int32)}, 1);
  // A label may directly follow the previous label if the two differ.
  const auto moved = [&](const Array& x, std::int64_t by, const Array& fill) {
    const std::int64_t kept = std::max<std::int64_t>(0, states - by);
    const Array head = broadcast_to(fill, {batch, states - kept});
    return concatenate({head.astype(x.dtype()), x(all, range(0, kept))}, 1);
  };
  const Array may_skip = (classes != o.blank_id) && (classes != moved(classes, 2, o.blank_id));
  const Array nothing = full({}, o.log_epsilon, d);

  const Array at_start = arange(states) == 0;
  const Array start = broadcast_to(where(at_start, 0.0, nothing).astype(d), {batch, states});
  struct Frame {
    Array scores, padding;
  };
  const Array frames = swapaxes(scores, 0, 1), padding = swapaxes(logit_paddings.array, 0, 1);
  const auto step = [&](Array before, const Frame& f) {
    const Array emitted = take_along_axis(f.scores, classes, 1);
    const Array by_one = moved(before, 1, nothing), by_two = moved(before, 2, nothing);
    const Array reached = logaddexp(logaddexp(before, by_one), where(may_skip, by_two, nothing));
    const Array next = where(expand_dims(f.padding, 1) > 0, before, reached + emitted);
    return std::pair<Array, Array>(next, zeros({}, d));
  };
  const Array end = scan(step, start, Frame{frames, padding}).first;
  // Paths end in the last label or in the blank after it.
  const Array count = sum(1 - label_paddings.array.astype(DType::int32), 1, true);
  const Array in_blank = take_along_axis(end, 2 * count, 1);
  const Array in_label = take_along_axis(end, maximum(2 * count - 1, 0), 1);
  const Array last = where(count > 0, logaddexp(in_blank, in_label), in_blank);
  return -squeeze(last, 1);
}

}  // namespace tessera::inline v0::nn
