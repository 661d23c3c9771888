// Of which language a text is that a training program takes.
#pragma once

#include <string>

#include "study/layout/flat_settings.h"

namespace sgdsim {

FlatSettings::Kind kind_of_settings(const std::string& text, const std::string& file,
                                    const std::string& recipe);

// "torchrun ... pretrain_gpt.py --a 1": a command as one types it, and not the name of a file.
bool is_training_command(const std::string& text);

}  // namespace sgdsim
