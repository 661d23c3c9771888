// Reading and evaluating conditions.
#include "study/sweep/where.h"

#include <algorithm>
#include <array>
#include <utility>

#include "sim/core/error.h"
#include "study/step/override.h"

namespace sgdsim {
namespace {

std::string trimmed(const std::string& text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

// What stands in quotes is not split.
std::vector<std::string> parts_of(const std::string& text, const std::string& separator) {
  std::vector<std::string> parts;
  std::size_t from = 0;
  for (std::size_t at = 0; at < text.size();) {
    if (text.compare(at, separator.size(), separator) == 0) {
      parts.push_back(trimmed(text.substr(from, at - from)));
      at = from = at + separator.size();
    } else {
      at = text[at] == '"' ? end_of_quote(text, at) : at + 1;
    }
  }
  parts.push_back(trimmed(text.substr(from)));
  return parts;
}

const Json* below(const Json& json, const std::vector<std::string>& steps) {
  const Json* value = &json;
  for (const std::string& step : steps) {
    if (!value->is_object() || !value->contains(step)) return nullptr;
    value = &(*value)[step];
  }
  return value;
}

std::vector<std::string> fields_of(const std::vector<Axis>& axes) {
  std::vector<std::string> fields;
  for (const Axis& axis : axes) fields.push_back(axis.field());
  return fields;
}

}  // namespace

std::size_t end_of_quote(const std::string& text, std::size_t begin) {
  for (std::size_t at = begin + 1; at < text.size(); ++at)
    if (text[at] == '\\')
      ++at;
    else if (text[at] == '"')
      return at + 1;
  return text.size();
}

Json name_of_value(const Json& value) {
  for (const char* name : {"name", "algorithm"})
    if (value.is_object() && value.contains(name)) return value[name];
  return value;
}

Where::Where(const Value& conditions, const std::vector<Axis>& axes, const Json& base) {
  for (const Value& condition : conditions.items()) {
    std::vector<std::vector<Comparison>> any;
    for (const std::string& alternative : parts_of(condition.text(), " or ")) {
      any.emplace_back();
      for (const std::string& text : parts_of(alternative, " and "))
        any.back().push_back(read_comparison(text, condition.where(), axes, base));
    }
    conditions_.push_back(std::move(any));
  }
}

Where::Comparison Where::read_comparison(const std::string& text, const std::string& where,
                                         const std::vector<Axis>& axes, const Json& base) {
  // Longer signs first: "<=" holds "<".
  constexpr std::array<std::pair<const char*, Relation>, 6> signs = {
      {{"==", Relation::equal},
       {"!=", Relation::unequal},
       {"<=", Relation::less_equal},
       {">=", Relation::greater_equal},
       {"<", Relation::less},
       {">", Relation::greater}}};
  for (const auto& [sign, relation] : signs) {
    const std::vector<std::string> sides = parts_of(text, sign);
    if (sides.size() == 1) continue;
    if (sides.size() > 2) break;
    Comparison comparison{read_side(sides[0], where, axes, base, true),
                          read_side(sides[1], where, axes, base, false), relation, where};
    bool any = false;
    for (const Side* side : {&comparison.left, &comparison.right})
      for (const Term& term : *side) any = any || term.axis.has_value();
    if (!any) throw InputError(where, "\"" + text + "\" names no axis of this sweep");
    return comparison;
  }
  throw InputError(where,
                   "expected a comparison with ==, !=, <=, >=, < or >, got \"" + text + "\"");
}

Where::Side Where::read_side(const std::string& text, const std::string& where,
                             const std::vector<Axis>& axes, const Json& base, bool is_left) {
  Side side;
  for (const std::string& part : parts_of(text, "*")) {
    if (part.empty()) throw InputError(where, "there is nothing on one side of a sign");
    Term term;
    for (std::size_t a = 0; a < axes.size(); ++a) {
      const std::string& field = axes[a].field();
      if (part != field && !part.starts_with(field + ".")) continue;
      if (term.axis && axes[*term.axis].field().size() > field.size()) continue;
      term.axis = a;
      term.rest.clear();
      if (part != field) term.rest = steps_of(part.substr(field.size() + 1), where);
    }
    if (term.axis) {
      used_.insert(*term.axis);
      side.push_back(std::move(term));
      continue;
    }
    const Json literal = Json::parse(part, nullptr, false);
    const bool is_word = !is_left && part.find_first_of(". ") == std::string::npos;
    if (!literal.is_discarded())
      term.constant = literal;
    else if (is_word || amount_of(Json(part)))
      term.constant = part;
    else if (const Json* field = below(base, steps_of(part, where)))
      term.constant = name_of_value(*field);
    else
      throw InputError(where, unknown_name("field", part, fields_of(axes)) +
                                  (base.empty() ? "" : ", and every field that the base has"));
    side.push_back(std::move(term));
  }
  return side;
}

Json Where::value_of(const Term& term, const std::vector<Axis>& axes, const Choice& choice) {
  if (!term.axis) return term.constant;
  const Json value = axes[*term.axis].value(choice[*term.axis]);
  const Json* found = below(value, term.rest);
  return found == nullptr ? Json() : name_of_value(*found);
}

Json Where::value_of(const Side& side, const std::vector<Axis>& axes, const Choice& choice,
                     const std::string& where) {
  Json product = value_of(side.front(), axes, choice);
  for (std::size_t i = 1; i < side.size(); ++i) {
    const Json next = value_of(side[i], axes, choice);
    auto left = amount_of(product);
    auto right = amount_of(next);
    if (!left || !right || (!left->is_plain() && !right->is_plain()))
      throw InputError(where, "cannot multiply " + product.dump() + " and " + next.dump());
    if (left->is_plain()) std::swap(left, right);
    if (left->kind == Amount::Kind::whole) left->kind = right->kind;
    product = left->json(left->value * right->value, 12);
  }
  return product;
}

bool Where::holds(const Comparison& comparison, const std::vector<Axis>& axes,
                  const Choice& choice) {
  const Json left = value_of(comparison.left, axes, choice, comparison.where);
  const Json right = value_of(comparison.right, axes, choice, comparison.where);
  const auto asks_for_null = [](const Side& side) {
    return side.size() == 1 && !side.front().axis && side.front().constant.is_null();
  };
  if (asks_for_null(comparison.left) || asks_for_null(comparison.right)) {
    const bool both = left.is_null() && right.is_null();
    return (comparison.relation == Relation::equal && both) ||
           (comparison.relation == Relation::unequal && !both);
  }
  if (left.is_null() || right.is_null()) return comparison.relation == Relation::unequal;
  const auto a = amount_of(left);
  const auto b = amount_of(right);
  const bool amounts = a && b && a->comparable(*b);
  const bool equal = amounts ? a->value == b->value : left == right;
  if (comparison.relation == Relation::equal) return equal;
  if (comparison.relation == Relation::unequal) return !equal;
  if (!amounts)
    throw InputError(comparison.where,
                     left.dump() + " and " + right.dump() + " cannot be larger or smaller");
  switch (comparison.relation) {
    case Relation::less:
      return a->value < b->value;
    case Relation::less_equal:
      return a->value <= b->value;
    case Relation::greater:
      return a->value > b->value;
    case Relation::greater_equal:
    case Relation::equal:
    case Relation::unequal:
      break;
  }
  return a->value >= b->value;
}

bool Where::holds(const std::vector<Axis>& axes, const Choice& choice) const {
  const auto all_hold = [&](const std::vector<Comparison>& all) {
    return std::all_of(all.begin(), all.end(),
                       [&](const Comparison& one) { return holds(one, axes, choice); });
  };
  return std::all_of(conditions_.begin(), conditions_.end(), [&](const auto& any) {
    return std::any_of(any.begin(), any.end(), all_hold);
  });
}

}  // namespace sgdsim
