// Which files this process has read: an output never takes the place of one of them, whichever file
// named it.
#pragma once

#include <functional>
#include <string>

namespace sgdsim {

// A name that leads to no file, or to a device, is none.
void note_read(const std::string& file);
// By whatever name it was.
bool was_read(const std::string& file);
// What came by standard input: read once, and had by everyone who asks for it.
std::string standard_input(const std::function<std::string()>& read);
// At the start of a command, of which a process may do several.
void forget_reads();

}  // namespace sgdsim
