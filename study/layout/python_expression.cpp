// By descent; what is not of this grammar makes the whole expression unknown.
#include "study/layout/python_expression.h"

#include <algorithm>
#include <cctype>

namespace sgdsim {
namespace {

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

std::size_t length_of_sign(const std::string& text, std::size_t at) {
  for (const char* sign :
       {"**=", "//=", "**", "//", "==", "!=", "<=", ">=", "+=", "-=", "*=", "/=", "%=", "->", ":="})
    if (text.compare(at, std::char_traits<char>::length(sign), sign) == 0)
      return std::char_traits<char>::length(sign);
  return 1;
}

std::size_t length_of_number(const std::string& text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && (is_word_letter(text[end]) || text[end] == '.' ||
                               ((text[end] == '-' || text[end] == '+') &&
                                (text[end - 1] == 'e' || text[end - 1] == 'E'))))
    ++end;
  return end - at;
}

// A name or a number ends where its letters do; a text behind its quote.
PythonToken token_at(const std::string& text, std::size_t at) {
  const char c = text[at];
  if (c == '"' || c == '\'') {
    const std::size_t end = std::min(text.find(c, at + 1), text.size());
    return {PythonToken::Kind::text, text.substr(at + 1, end - at - 1), at,
            std::min(end + 1, text.size())};
  }
  std::size_t length = length_of_sign(text, at);
  PythonToken::Kind kind = PythonToken::Kind::sign;
  if (is_digit(c) || (c == '.' && at + 1 < text.size() && is_digit(text[at + 1]))) {
    kind = PythonToken::Kind::number;
    length = length_of_number(text, at);
  } else if (is_word_letter(c)) {
    kind = PythonToken::Kind::name;
    for (length = 1; at + length < text.size() && is_word_letter(text[at + length]);) ++length;
  }
  return {kind, text.substr(at, length), at, at + length};
}

class Expression {
 public:
  Expression(PythonTokens tokens, const std::string& statement, PythonScope& scope)
      : tokens_(tokens), statement_(statement), scope_(scope) {}

  PythonValue value() {
    const PythonValue all = list_of_tests();
    return written(failed_ || at_ < tokens_.size() ? PythonValue{} : all, tokens_);
  }

 private:
  static constexpr int deepest = 30;

  bool is(const char* sign) const { return at_ < tokens_.size() && tokens_[at_].is(sign); }
  bool accept(const char* sign) {
    if (!is(sign)) return false;
    ++at_;
    return true;
  }
  PythonValue fail() {
    failed_ = true;
    at_ = tokens_.size();
    return {};
  }
  void expect(const char* sign) {
    if (!accept(sign)) fail();
  }
  // "8, 4" is a tuple.
  PythonValue list_of_tests() {
    PythonValue first = test();
    if (!is(",")) return first;
    PythonValue all{.kind = PythonValue::Kind::list, .text = ""};
    all.add(first);
    while (accept(",") && at_ < tokens_.size() && !is(")")) all.add(test());
    return all;
  }
  PythonValue test() {
    if (++depth_ > deepest) return fail();
    PythonValue all = any();
    if (accept("if")) {
      const auto condition = truth_of(any());
      expect("else");
      const PythonValue other = test();
      all = !condition ? PythonValue{} : *condition ? all : other;
    }
    --depth_;
    return all;
  }
  PythonValue any() {
    PythonValue left = all();
    while (accept("or")) left = chosen(left, all(), true);
    return left;
  }
  PythonValue all() {
    PythonValue left = negated();
    while (accept("and")) left = chosen(left, negated(), false);
    return left;
  }
  // The left side where that decides.
  static PythonValue chosen(const PythonValue& left, const PythonValue& right, bool decides) {
    const auto known = truth_of(left);
    return !known ? PythonValue{} : *known == decides ? left : right;
  }
  PythonValue negated() {
    if (!accept("not")) return comparison();
    if (++depth_ > deepest) return fail();
    PythonValue value = truth_value(opposite_of(truth_of(negated())));
    --depth_;
    return value;
  }
  PythonValue comparison() {
    PythonValue left = sum();
    for (const char* sign : {"==", "!=", "<=", ">=", "<", ">", "in"})
      if (accept(sign)) return truth_value(compared(sign, left, sum()));
    if (accept("is")) {
      const bool is_not = accept("not");
      return truth_value(compared(is_not ? "!=" : "is", left, sum()));
    }
    if (is("not") && at_ + 1 < tokens_.size() && tokens_[at_ + 1].is("in")) {
      at_ += 2;
      return truth_value(opposite_of(compared("in", left, sum())));
    }
    return left;
  }
  PythonValue sum() {
    PythonValue left = product();
    while (is("+") || is("-")) {
      const std::string sign = tokens_[at_++].text;
      left = computed(sign, left, product());
    }
    return left;
  }
  PythonValue product() {
    PythonValue left = signed_unit();
    while (is("*") || is("/") || is("//") || is("%")) {
      const std::string sign = tokens_[at_++].text;
      left = computed(sign, left, signed_unit());
    }
    return left;
  }
  PythonValue signed_unit() {
    if (++depth_ > deepest) return fail();
    PythonValue value;
    if (accept("-"))
      value = computed("-", plain_value("0"), signed_unit());
    else if (accept("+"))
      value = signed_unit();
    else if (value = unit(); accept("**"))
      value = computed("**", value, signed_unit());
    --depth_;
    return value;
  }
  // "cfg.model.f(1)[2]": the path of names is what calls go by.
  PythonValue unit() {
    std::string path = at_ < tokens_.size() && tokens_[at_].kind == PythonToken::Kind::name
                           ? tokens_[at_].text
                           : "";
    PythonValue self;
    PythonValue value = atom();
    while (!failed_) {
      if (accept(".")) {
        if (at_ == tokens_.size()) return fail();
        const std::string name = tokens_[at_++].text;
        if (path == "torch") {  // types of numbers
          value = plain_value(name);
          continue;
        }
        path += "." + name;
        self = value;
        if (name != "__dict__") value = is("(") ? PythonValue{} : member_of(value, name);
      } else if (accept("(")) {
        const PythonArguments given = arguments();
        if (!failed_) value = scope_.call(path, self, given);
        path += "()";
      } else if (accept("[")) {
        const PythonValue key = list_of_tests();
        expect("]");
        value = item_of(value, key);
        path += "[]";
      } else {
        break;
      }
    }
    return value;
  }
  PythonValue atom() {
    if (at_ == tokens_.size()) return fail();
    const PythonToken& token = tokens_[at_++];
    if (token.kind == PythonToken::Kind::number) {
      std::string digits = token.text;
      std::erase(digits, '_');
      return computed("+", plain_value(digits), plain_value("0"));
    }
    if (token.kind == PythonToken::Kind::text) return text(token);
    if (token.kind == PythonToken::Kind::name) return named(token);
    if (token.text == "(") return in_brackets(")");
    if (token.text == "[") return in_brackets("]");
    if (token.text == "{") return dictionary();
    return fail();
  }
  // Texts side by side are one.
  PythonValue text(const PythonToken& token) {
    PythonValue all = plain_value(token.text, true);
    while (at_ < tokens_.size() && tokens_[at_].kind == PythonToken::Kind::text)
      all.text += tokens_[at_++].text;
    return all;
  }
  PythonValue named(const PythonToken& token) {
    for (const char* word : {"True", "False", "None"})
      if (token.text == word) return plain_value(word);
    for (const char* word : {"lambda", "for", "await", "yield"})
      if (token.text == word) return fail();
    if (at_ < tokens_.size() && tokens_[at_].kind == PythonToken::Kind::text) {  // f"{x}"
      ++at_;
      return {};
    }
    return scope_.variable(token.text);
  }
  PythonValue in_brackets(const char* end) {
    if (std::string(end) == ")" && !is(end)) {
      PythonValue all = list_of_tests();
      expect(end);
      return all;
    }
    PythonValue all{.kind = PythonValue::Kind::list, .text = ""};
    while (!failed_ && !is(end)) {
      all.add(test());
      if (!accept(",")) break;
    }
    expect(end);
    return all;
  }
  PythonValue dictionary() {
    PythonValue all = scope_.objects().make("dict", true);
    while (!failed_ && !is("}")) {
      if (accept("**")) {
        const PythonValue other = test();
        if (other.object != nullptr)
          for (const auto& [name, value] : other.object->fields) all.object->fields[name] = value;
      } else {
        const PythonValue key = test();
        expect(":");
        all.object->fields[key.text] = assigned();
      }
      if (!accept(",")) break;
    }
    expect("}");
    return all;
  }
  PythonArguments arguments() {
    PythonArguments all;
    while (!failed_ && !is(")")) {
      const bool is_named = at_ + 1 < tokens_.size() &&
                            tokens_[at_].kind == PythonToken::Kind::name &&
                            tokens_[at_ + 1].is("=");
      if (accept("**")) {
        const PythonValue more = test();
        if (more.object != nullptr)
          for (const auto& [name, value] : more.object->fields) all.named.emplace_back(name, value);
      } else if (is_named) {
        const std::string name = tokens_[at_].text;
        at_ += 2;
        all.named.emplace_back(name, assigned());
      } else {
        accept("*");
        all.in_order.push_back(test());
      }
      if (!accept(",")) break;
    }
    expect(")");
    return all;
  }
  // What a name stands for from here on.
  PythonValue assigned() {
    const std::size_t from = at_;
    const PythonValue value = test();
    return written(value, tokens_.subspan(from, at_ - from));
  }
  PythonValue written(PythonValue value, PythonTokens tokens) const {
    value.line = scope_.line();
    if (!value.is_plain()) value.text = source_of(tokens, statement_);
    return value;
  }

  PythonTokens tokens_;
  const std::string& statement_;
  PythonScope& scope_;
  std::size_t at_ = 0;
  int depth_ = 0;
  bool failed_ = false;
};

}  // namespace

std::vector<PythonToken> python_tokens(const std::string& statement) {
  std::vector<PythonToken> tokens;
  for (std::size_t at = 0; at < statement.size();) {
    if (statement[at] == ' ' || statement[at] == '\t' || statement[at] == '\r') {
      ++at;
      continue;
    }
    tokens.push_back(token_at(statement, at));
    at = tokens.back().end;
  }
  return tokens;
}

std::size_t find_outside(PythonTokens tokens, std::initializer_list<const char*> signs,
                         std::size_t from) {
  int depth = 0;
  for (std::size_t i = from; i < tokens.size(); ++i) {
    const PythonToken& token = tokens[i];
    if (token.kind == PythonToken::Kind::text) continue;
    if (depth == 0 && std::any_of(signs.begin(), signs.end(),
                                  [&](const char* sign) { return token.text == sign; }))
      return i;
    if (token.text == "(" || token.text == "[" || token.text == "{") ++depth;
    if (token.text == ")" || token.text == "]" || token.text == "}") --depth;
  }
  return tokens.size();
}

bool is_call_of(PythonTokens tokens, const char* name) {
  const std::size_t size = tokens.size();
  return size > 4 && tokens[size - 4].is(".") && tokens[size - 3].is(name) &&
         tokens[size - 2].is("(") && tokens[size - 1].is(")");
}

bool has_word(PythonBody body, std::initializer_list<const char*> words) {
  for (const std::vector<PythonToken>& statement : body)
    if (find_outside(statement, words) < statement.size()) return true;
  return false;
}

bool begin_with(PythonBody body, const char* word) {
  return std::all_of(body.begin(), body.end(), [&](const std::vector<PythonToken>& statement) {
    return !statement.empty() && statement[0].is(word);
  });
}

std::string source_of(PythonTokens tokens, const std::string& statement) {
  constexpr std::size_t longest = 60;
  if (tokens.empty()) return "";
  return statement.substr(tokens.front().from,
                          std::min(longest, tokens.back().end - tokens.front().from));
}

std::vector<PythonParameter> python_parameters(PythonTokens definition) {
  std::vector<PythonParameter> all;
  if (definition.size() < 3 || !definition[2].is("(")) return all;
  for (PythonTokens rest = definition.subspan(3); !rest.empty();) {
    const std::size_t stop = find_outside(rest, {",", ")"});
    PythonTokens one = rest.first(stop);
    PythonParameter parameter;
    for (; !one.empty() && (one[0].is("*") || one[0].is("**")); one = one.subspan(1))
      parameter.stars = one[0].is("**") ? 2 : 1;
    const std::size_t equals = find_outside(one, {"="});
    if (equals < one.size()) parameter.usual = one.subspan(equals + 1);
    if (!one.empty()) parameter.name = one[0].text;
    if (!one.empty()) all.push_back(parameter);
    if (stop == rest.size() || rest[stop].is(")")) break;
    rest = rest.subspan(stop + 1);
  }
  return all;
}

PythonValue python_value(PythonTokens tokens, const std::string& statement, PythonScope& scope) {
  return Expression(tokens, statement, scope).value();
}

}  // namespace sgdsim
