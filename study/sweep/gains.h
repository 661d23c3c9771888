// Which figures are better when they are large: the one table of everything that names winners.
#pragma once

#include <string>

namespace sgdsim {

// The last name of a path that is none of a distribution: iteration_us of
// metrics.iteration_us.p95.
std::string field_of_column(const std::string& column);

// By the words of that name. Of what no word of the table says, less is taken to be better.
bool is_gain(const std::string& column);

// The same of which less is better: a gain, negated. It leads back, too.
double as_cost(const std::string& column, double figure);

// "largest" or "least": what is said wherever winners are named.
const char* best_word(const std::string& column);

}  // namespace sgdsim
