// Numbers of workers and the like, as people write them: "0-3,7".
#pragma once

#include <string>
#include <vector>

namespace sgdsim {

// In growing order, each once; an error if one is not below `count`. `what`: "worker".
std::vector<int> parse_numbers(const std::string& text, int count, const std::string& where,
                               const std::string& what);

// As they are written.
std::vector<int> parse_numbers_in_order(const std::string& text, int count,
                                        const std::string& where, const std::string& what);

// The same text again; growing numbers that follow each other are a range.
std::string number_text(const std::vector<int>& numbers);

// The parts between commas, without blanks before them.
std::vector<std::string> split_list(const std::string& text);

}  // namespace sgdsim
