// One function for each alternative of a variant: std::visit(Cases{[](A) {...}, [](B) {...}},
// value).
#pragma once

namespace sgdsim {

template <class... Ts>
struct Cases : Ts... {
  using Ts::operator()...;
};
template <class... Ts>
Cases(Ts...) -> Cases<Ts...>;

}  // namespace sgdsim
