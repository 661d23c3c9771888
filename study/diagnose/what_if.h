// "sends=0.5,computing=0.9,dp=16": parts of a recorded step that take other times, and other
// numbers of replicas.
#pragma once

#include <string>
#include <vector>

#include "models/diagnose/diagnosis.h"

namespace sgdsim {

inline constexpr char what_if_says[] =
    "the step if parts of it took longer or shorter, by factors, as sends=0.5,computing=0.9; "
    "parts: "
    "forward, backward, optimizer, collection, sends, replicas, embedding, clipping; computing and "
    "exchanges are several of them; dp=16: with 16 replicas";

// InputError naming --what-if.
std::vector<diagnose::WhatIf> what_ifs_of(const std::vector<std::string>& words);
// InputError if this work bears no such questions.
void check_what_ifs(const std::vector<diagnose::WhatIf>& what_ifs, const diagnose::StepWork& work);

}  // namespace sgdsim
