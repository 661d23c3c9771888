// A fit as JSON (sgdsim/fit/1), as a table and as a picture.
#pragma once

#include <ostream>
#include <string>

#include "sim/core/fields.h"
#include "study/fit/fit_question.h"

namespace sgdsim {

Fields fields_of(const FitPiece& piece);
Fields fields_of(const Fitted& one);
Fields fields_of(const FitAnswer& answer);
Json schema_of_fits();
void print_fits(std::ostream& out, const FitAnswer& answer);

double in_percent(double part);
int64_t whole_B(double size_B);

// "allreduce ring, 8 ranks".
std::string label_of(const FitInput& input);

// An HTML page: time against size with the pieces, and the relative errors below.
std::string picture_of(const FitAnswer& answer);
std::string page_beginning();  // of every such page

}  // namespace sgdsim
