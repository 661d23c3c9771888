// Layouts that differ from a given one in one word, and in what follows from it: replicas and
// micro-batches always, and what has no meaning without the word (sp without tp, vp without pp).
#pragma once

#include <functional>
#include <string>

#include "models/training/layout_search.h"

namespace sgdsim {

// The given one first; each once, in a fixed order, and only those that divide.
void for_each_near(const Transformer& model, const LayoutSpace& space, const Layout& given,
                   const std::function<void(const Layout&)>& f);

// "pp8", "no sp", "tp1 no sp": words of the other layout that the given one has not, without
// replicas and micro-batches. Empty for the given one.
std::string changed_words(const Layout& given, const Layout& other);

}  // namespace sgdsim
