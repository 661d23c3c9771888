// `--set path=value`: changes one field of a JSON input before it is checked.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sim/core/error.h"
#include "sim/core/json.h"

namespace sgdsim {

// Each setting is "a.b.0.c=value"; the value is JSON if it reads as JSON and a string otherwise, so
// that nodes=64 is a number and nic.bandwidth=25Gbps a string; null removes the field. Missing
// objects on the way are made; the reader of the input then says whether the field exists.
// Whole objects are set before what is in them, whatever the order; what is removed is removed
// then, and what is set behind that begins anew.
void apply_settings(Json& json, const std::vector<std::string>& settings);
// Settings that come later, as those of a method come after those of --set: whole objects of theirs
// replace what was set within.
std::vector<std::string> on_top(std::vector<std::string> settings,
                                const std::vector<std::string>& later);
std::vector<std::string> outer_first(const std::vector<std::string>& settings);
std::string path_of_setting(const std::string& setting);

// A cluster, by its name or file, with settings.
Json cluster_json(const std::string& name_or_file, const std::vector<std::string>& settings);

// Throws the error again as one about a setting, if it is about the value that a setting gave or
// about a field that only a setting names. `files`: fields that have files of their own, or "";
// `root` is where the other fields stand. `options`: settings that people wrote as options.
void blame_setting(const InputError& error, const std::vector<std::string>& settings,
                   const std::vector<std::pair<std::string, std::string>>& files,
                   const std::string& root, const std::vector<std::string>& options = {});
// "collective.options.send_buffer=1 MB" is --send-buffer.
std::string option_of_setting(const std::string& setting);

// JSON if it reads as JSON, the text itself otherwise. JSON that nests too deep or repeats a key is
// an InputError.
Json value_in(const std::string& text, const std::string& where);

// The steps of a path with dots; an InputError if one is empty.
std::vector<std::string> steps_of(const std::string& path, const std::string& where);
// Sets one field, and makes missing objects on the way; null removes the field. A part that was
// given by its name alone ("compression": "gtopk") becomes an object when a field of it is set.
void set_field(Json& json, const std::vector<std::string>& steps, Json value,
               const std::string& where);

}  // namespace sgdsim
