// `--set path=value`: changes one field of a JSON input before it is checked.
#pragma once

#include <string>
#include <vector>

#include "sim/core/json.h"

namespace sgdsim {

// Each setting is "a.b.0.c=value"; the value is JSON if it reads as JSON and a string otherwise, so
// that nodes=64 is a number and nic.bandwidth=25Gbps a string. Missing objects on the way are made;
// the reader of the input then says whether the field exists.
void apply_settings(Json& json, const std::vector<std::string>& settings);

// The steps of a path with dots; an InputError if one is empty.
std::vector<std::string> steps_of(const std::string& path, const std::string& where);
// Sets one field, and makes missing objects on the way.
void set_field(Json& json, const std::vector<std::string>& steps, Json value,
               const std::string& where);

}  // namespace sgdsim
