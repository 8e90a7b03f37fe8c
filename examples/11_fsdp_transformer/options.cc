#include "options.h"

#include "11_fsdp_transformer/forms.h"
#include "common/command_line.h"

#include <utility>

#ifndef EXAMPLE_DATA_DIR
#define EXAMPLE_DATA_DIR "data"
#endif

std::optional<int> parse(int argc, char** argv, Options& o) {
  CLI::App app{"Trains a character-level transformer on several devices, in several forms"};
  o.data = EXAMPLE_DATA_DIR "/psalms.txt";
  o.out = "runs/psalms";
  std::vector<std::string> names;
  for (const fsdp_transformer::Form& f : fsdp_transformer::forms(1)) names.push_back(f.name);
  const auto number = [&](const char* name, std::int64_t& value, const char* what,
                          std::int64_t least, std::int64_t most) {
    app.add_option(name, value, what)->capture_default_str()->check(CLI::Range(least, most));
  };
  app.add_option("--form", o.form, "the form that is trained to the end")
      ->capture_default_str()
      ->check(CLI::IsMember(names));
  app.add_option("--devices", o.devices, "virtual devices, of all processes")
      ->capture_default_str()
      ->check(CLI::IsMember({1, 2, 4, 8}));
  number("--steps", o.steps, "training steps in all", 1, 1000000);
  number("--compare", o.compare, "steps that every form takes before; 0: none", 0, 1000);
  number("--batch", o.batch, "windows of the text a step, over all devices together", 8, 65536);
  number("--layers", o.sizes.layers, "blocks of the model", 1, 1000);
  number("--width", o.sizes.width, "features of the residual stream", 8, 65536);
  number("--context", o.sizes.context, "characters that the model sees", 8, 65536);
  app.add_option("--lr", o.lr, "learning rate")->capture_default_str();
  app.add_option("--seed", o.seed, "of initial weights, batches and the text that is made")
      ->capture_default_str();
  app.add_flag("--recompute", o.recompute,
               "keep only the inputs of blocks, and compute the rest again in the backward pass");
  app.add_option("--data", o.data, "the text")->capture_default_str();
  app.add_option("--out", o.out, "folder for the trace, the curve and the checkpoints")
      ->capture_default_str();
  app.add_option("--resume", o.resume, "go on from the newest of these checkpoints, in any form");
  number("--memory", o.memory, "megabytes that a device has, for the form auto; 0: no limit", 0,
         1000000000);
  number("--characters", o.characters, "to generate at the end", 0, 1000000);
  app.add_option("--temperature", o.temperature, "of the text that is generated")
      ->capture_default_str();
  if (const auto code = parse(app, argc, argv)) return code;
  for (const auto& [name, value] :
       {std::pair("--lr", o.lr), std::pair("--temperature", o.temperature)})
    if (const auto code = need_positive(app, name, value)) return code;
  // Forms shard the batch, the positions, the heads and the features, so eight devices must divide
  // each.
  for (const auto& [name, value] :
       {std::pair("--batch", o.batch), std::pair("--width", o.sizes.width),
        std::pair("--context", o.sizes.context)})
    if (value % 8 != 0)
      return refuse(std::string(name) + " is " + std::to_string(value) +
                    "; a multiple of 8 is needed, for up to 8 devices: " +
                    std::to_string(value / 8 * 8) + " or " + std::to_string(value / 8 * 8 + 8));
  for (const auto& [name, what] : {std::pair("--data", "a file"), std::pair("--out", "a folder"),
                                   std::pair("--resume", "a folder")})
    if (const auto code = need_text(app, name, what)) return code;
  return std::nullopt;
}
