// Statement by statement; both sides of an if that is not known are followed.
#include "study/layout/python_settings.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "sim/core/error.h"
#include "study/layout/python_expression.h"
#include "study/layout/python_frames.h"
#include "study/layout/python_statements.h"

namespace sgdsim {
namespace {

class Interpreter : public PythonScope {
 public:
  Interpreter(const std::string& text, const std::string& file) : file_(file) {
    statements_ = python_statements(text);
    for (const PythonStatement& statement : statements_)
      tokens_.push_back(python_tokens(statement.text));
    run(0, statements_.size());
  }
  std::map<std::string, PythonRecipe> recipes() {
    std::map<std::string, PythonRecipe> all;
    for (const auto& [name, definition] : definitions_)
      if (!definition.is_class) {
        // What a function changes, it changes where it is called.
        const auto before = globals_.variables;
        globals_.variables = objects_.copied(before, counted_);
        add(name, result_of(definition), all[name]);
        globals_.variables = before;
      }
    for (const auto& [name, value] : globals_.variables)
      if (value.object != nullptr) add(name, value, all[name]);
    return all;
  }

  int line() const override { return line_; }
  PythonObjects& objects() override { return objects_; }
  PythonValue variable(const std::string& name) override {
    if (name == "__name__") return plain_value("__main__", true);
    if (const PythonValue* known = frame_->variable(name)) return *known;
    if (const auto found = globals_.variables.find(name); found != globals_.variables.end())
      return found->second;
    return frame_->variables[name] = objects_.make(name);
  }
  PythonValue call(const std::string& path, const PythonValue& self,
                   const PythonArguments& given) override {
    count(1);
    if (const auto done = field_function(path, self, given)) return *done;
    if (const auto known = python_function(path, self, given.in_order)) return *known;
    for (PythonFrame* frame = frame_; frame != nullptr && depth_ < deepest; frame = frame->outer)
      if (const auto inner = frame->functions.find(path); inner != frame->functions.end())
        return call_of(PythonDefinition(inner->second), given, frame);
    const auto found = definitions_.find(path);
    if (found != definitions_.end() && depth_ < deepest)
      return found->second.is_class ? object_of(found->second, given)
                                    : call_of(found->second, given);
    // "replace(OTHER, a=1)" has the fields of the other, whatever its name is.
    const std::vector<PythonValue>& all = given.in_order;
    const bool names_it = path == "default_peft_config" && !all.empty() && all.front().is_plain();
    const bool is_class =
        path == "dict" || (is_class_name(path) && path != "run.Config");  // which copies one
    PythonValue made =
        names_it ? objects_.make(all.front().text, true) : objects_.make(path, is_class);
    if (!all.empty() && all.front().object != nullptr)
      objects_.add_copy(*all.front().object, *made.object, counted_);
    if (is_call_alone_ && path != "print")
      for (const PythonValue& one : all)
        if (one.object != nullptr) one.object->touched.insert(path);
    for (const auto& [name, value] : given.named) replace(made.object->fields[name], value);
    return made;
  }

 private:
  static constexpr int deepest = 15;
  static constexpr int deepest_suite = 100;
  static constexpr int most_steps = 1'000'000;

  [[noreturn]] void fail() const {
    throw InputError(file_, "it is too long or too deep to be followed; say the layout in words");
  }
  void count(std::size_t steps) {
    steps_ += static_cast<int>(steps);
    if (steps_ > most_steps) fail();
  }
  // Functions that set or take a field by its name.
  std::optional<PythonValue> field_function(const std::string& path, const PythonValue& self,
                                            const PythonArguments& given) {
    const std::vector<PythonValue>& all = given.in_order;
    if (path == "vars" && all.size() == 1 && all[0].object != nullptr) return all[0];
    const bool has_field = all.size() >= 2 && all[0].object != nullptr && all[1].is_plain();
    if (path == "getattr" && has_field) return all[0].object->field(all[1].text);
    if (path == "setattr" && has_field && all.size() == 3) {
      put(all[0].object->fields[all[1].text], all[2]);
      return plain_value("None");
    }
    if (!path.ends_with(".update") || self.object == nullptr) return {};
    if (all.size() > 1 || (all.size() == 1 && all[0].object == nullptr)) return {};
    if (all.size() == 1)
      for (const auto& [name, value] : all[0].object->fields) put(self.object->fields[name], value);
    for (const auto& [name, value] : given.named) put(self.object->fields[name], value);
    return plain_value("None");
  }

  PythonValue call_of(const PythonDefinition& function, const PythonArguments& given,
                      PythonFrame* outer = nullptr) {
    PythonFrame frame = bound(function, given);
    frame.outer = outer;
    enter(frame, function);
    if (frame.returned) return *frame.returned;
    return frame.may_return.value_or(plain_value("None"));
  }
  void enter(PythonFrame& frame, const PythonDefinition& definition) {
    PythonFrame* const caller = std::exchange(frame_, &frame);
    const int line = line_;
    ++depth_;
    run(definition.from, definition.to);
    --depth_;
    line_ = line;
    frame_ = caller;
  }
  PythonFrame bound(const PythonDefinition& function, const PythonArguments& given) {
    PythonFrame frame;
    std::size_t next = 0;
    std::map<std::string, PythonValue> named;
    for (const auto& [name, value] : given.named) named[name] = value;
    for (const PythonParameter& parameter : function.parameters) {
      PythonValue& value = frame.variables[parameter.name];
      if (parameter.stars > 0) {
        value = objects_.make("", true);
        if (parameter.stars == 2) value.object->fields = named;
      } else if (const auto found = named.find(parameter.name); found != named.end()) {
        value = found->second;
        named.erase(found);
      } else if (next < given.in_order.size()) {
        value = given.in_order[next++];
      } else if (!parameter.usual.empty()) {
        value = value_of(parameter.usual, statements_[function.from - 1].text);
      } else {
        value = objects_.make();
      }
    }
    return frame;
  }
  // What it begins with, what its body sets, and what is given.
  PythonValue object_of(const PythonDefinition& type, const PythonArguments& given) {
    PythonValue made = objects_.make("", true);
    for (const PythonParameter& parent : type.parameters) {
      made.object->maker = parent.name;
      const auto found = definitions_.find(parent.name);
      if (found != definitions_.end() && found->second.is_class && depth_ < deepest)
        made = object_of(found->second, {});
    }
    PythonFrame frame;
    enter(frame, type);
    std::map<int, std::string> places;  // by their lines
    for (const auto& [name, value] : frame.variables) {
      if (value.line == 0) continue;
      made.object->fields[name] = value;
      places[value.line] = name;
    }
    if (const auto init = init_of(type)) {
      PythonArguments all = given;
      all.in_order.insert(all.in_order.begin(), made);
      call_of(*init, all);
      return made;
    }
    // What is given by places is not known where others come first.
    const bool are_known = type.parameters.empty() && given.in_order.size() <= places.size();
    for (auto place = places.begin(); const PythonValue& value : given.in_order)
      if (are_known) made.object->fields[place++->second] = value;
    if (!are_known && !given.in_order.empty())
      for (auto& [name, value] : made.object->fields)
        value = {.text = statements_[type.from - 1].text, .line = line_};
    for (const auto& [name, value] : given.named) made.object->fields[name] = value;
    return made;
  }

  std::optional<PythonDefinition> init_of(const PythonDefinition& type) const {
    for (std::size_t at = type.from; at < type.to; ++at)
      if (tokens_[at].size() > 2 && tokens_[at][0].is("def") && tokens_[at][1].is("__init__"))
        return PythonDefinition{python_parameters(tokens_[at]), at + 1, end_of(at, type.to)};
    return {};
  }

  void run(std::size_t from, std::size_t to) {
    while (from < to && !frame_->returned) from = step(from, to);
  }
  // Behind the statement and all that is indented below it.
  std::size_t end_of(std::size_t at, std::size_t to) const {
    std::size_t end = at + 1;
    while (end < to && statements_[end].indent > statements_[at].indent) ++end;
    return end;
  }
  std::size_t step(std::size_t at, std::size_t to) {
    count(1);
    line_ = statements_[at].line;
    const std::vector<PythonToken>& tokens = tokens_[at];
    const auto begins = [&](std::initializer_list<const char*> words) {
      return !tokens.empty() && std::any_of(words.begin(), words.end(),
                                            [&](const char* word) { return tokens[0].is(word); });
    };
    const std::size_t end = end_of(at, to);
    if (begins({"if"})) return branches(at, to);
    if (begins({"for"}) && follow_turns(at, end)) return end;
    if (begins({"def", "class"}))
      define(at, end);
    else if (begins({"for", "while", "except", "match", "case"}))
      run_suite(at, end, true);
    else if (begins({"with", "try", "else", "finally"}))
      run_suite(at, end, false);
    else if (!begins({"@", "import", "from", "pass", "raise", "assert", "del", "global"}))
      simple(tokens, statements_[at].text);
    return end;
  }
  void define(std::size_t at, std::size_t end) {
    if (tokens_[at].size() < 2) return;
    auto& all = frame_ != &globals_ ? frame_->functions : definitions_;
    if (&all == &definitions_ || tokens_[at][0].is("def"))
      all[tokens_[at][1].text] = {python_parameters(tokens_[at]), at + 1, end,
                                  tokens_[at][0].is("class")};
  }
  // What stands below a line with a colon, or behind it.
  void run_suite(std::size_t at, std::size_t end, bool may_not_happen) {
    if (++nesting_ > deepest_suite) fail();
    const bool may_differ = std::exchange(may_differ_, may_differ_ || may_not_happen);
    const PythonTokens tokens(tokens_[at]);
    const std::size_t colon = find_outside(tokens, {":"});
    if (colon + 1 < tokens.size()) simple(tokens.subspan(colon + 1), statements_[at].text);
    run(at + 1, end);
    may_differ_ = may_differ;
    --nesting_;
  }
  // Of a loop over what is in the file, one turn after another; pairs of a dictionary in any order.
  bool follow_turns(std::size_t at, std::size_t end) {
    const PythonTokens tokens(tokens_[at]);
    const PythonBody body = PythonBody(tokens_).subspan(at + 1, end - at - 1);
    const std::size_t in = find_outside(tokens, {"in"});
    const std::size_t colon = find_outside(tokens, {":"});
    if (in + 1 >= colon || colon + 1 != tokens.size() || has_word(body, {"break", "continue"}))
      return false;
    const PythonTokens all = tokens.first(colon).subspan(in + 1);
    const bool are_pairs = is_call_of(all, "items");
    const auto items =
        items_of(value_of(are_pairs ? all.first(all.size() - 4) : all, statements_[at].text),
                 are_pairs && begin_with(body, "setattr"));
    if (!items || nesting_ >= deepest_suite) return false;
    for (const PythonValue& item : *items) {
      assign(tokens.subspan(1, in - 1), item, statements_[at].text);
      run_suite(at, end, false);
    }
    return true;
  }
  // The whole of if, elif and else. What is known not to happen is passed over.
  std::size_t branches(std::size_t at, std::size_t to) {
    const std::size_t indent = statements_[at].indent;
    bool is_decided = false;
    bool is_sure = true;
    do {
      const PythonTokens tokens(tokens_[at]);
      const bool is_else = tokens[0].is("else");
      const PythonTokens condition = tokens.first(find_outside(tokens, {":"})).subspan(1);
      line_ = statements_[at].line;
      const auto holds = is_decided ? false
                         : is_else  ? true
                                    : truth_of(value_of(condition, statements_[at].text));
      const std::size_t end = end_of(at, to);
      is_sure = is_sure && holds;
      if (holds != false) run_suite(at, end, !is_sure);
      is_decided = is_decided || holds == true;
      at = end;
    } while (at < to && statements_[at].indent == indent && !tokens_[at].empty() &&
             (tokens_[at][0].is("elif") || tokens_[at][0].is("else")));
    return at;
  }

  PythonValue value_of(PythonTokens tokens, const std::string& statement) {
    return python_value(tokens, statement, *this);
  }
  void simple(PythonTokens tokens, const std::string& statement) {
    if (tokens.empty()) return;
    if (tokens[0].is("return")) return return_value(value_of(tokens.subspan(1), statement));
    for (const char* sign : {"+=", "-=", "*=", "/=", "//=", "%=", "**="})
      if (const std::size_t at = find_outside(tokens, {sign}); at < tokens.size()) {
        const std::string operation = std::string(sign).substr(0, std::string(sign).size() - 1);
        const PythonValue right = value_of(tokens.subspan(at + 1), statement);
        PythonValue value = computed(operation, value_of(tokens.first(at), statement), right);
        value.text =
            value.kind == PythonValue::Kind::unknown ? source_of(tokens, statement) : value.text;
        value.line = line_;
        return assign(tokens.first(at), value, statement);
      }
    const std::size_t first = find_outside(tokens, {"="});
    std::size_t last = first;
    for (std::size_t at = first; at < tokens.size(); at = find_outside(tokens, {"="}, at + 1))
      last = at;
    if (last == tokens.size()) {
      is_call_alone_ = true;
      value_of(tokens, statement);
      is_call_alone_ = false;
      return;
    }
    source_ = source_of(tokens.subspan(last + 1), statement);
    const PythonValue value = value_of(tokens.subspan(last + 1), statement);
    for (std::size_t from = 0; from < last;) {
      const std::size_t end = find_outside(tokens, {"="}, from);
      assign(tokens.subspan(from, end - from), value, statement);
      from = end + 1;
    }
  }
  void return_value(PythonValue value) {
    value.may_differ = value.may_differ || may_differ_;
    (may_differ_ ? frame_->may_return : frame_->returned) = value;
  }
  // "a = ", "a.b = ", "a["b"] = ", "a, b = ", each with or without the type.
  void assign(PythonTokens target, const PythonValue& value, const std::string& statement) {
    target = target.first(find_outside(target, {":"}));
    if (const std::size_t comma = find_outside(target, {","}); comma < target.size())
      return assign_each(target, value, statement);
    if (target.size() == 1) return put(frame_->variables[target[0].text], value);
    if (target.size() < 3) return;
    const std::size_t last = target.size() - 1;
    if (target[last - 1].is("."))
      return put(object_at(target.first(last - 1), statement).fields[target[last].text], value);
    if (!target[last].is("]") || !target[last - 2].is("[")) return;
    const PythonValue key = value_of(target.subspan(last - 1, 1), statement);
    if (key.is_quoted) put(object_at(target.first(last - 2), statement).fields[key.text], value);
  }
  void assign_each(PythonTokens targets, const PythonValue& value, const std::string& statement) {
    for (std::size_t i = 0; !targets.empty(); ++i) {
      const std::size_t comma = find_outside(targets, {","});
      PythonValue one;
      if (value.kind == PythonValue::Kind::list && i < value.items.size()) one = value.items[i];
      one.line = line_;
      if (one.kind == PythonValue::Kind::unknown) one.text = value.text;
      assign(targets.first(comma), one, statement);
      targets = targets.subspan(std::min(comma + 1, targets.size()));
    }
  }
  // What has no fields yet becomes what has.
  PythonObject& object_at(PythonTokens place, const std::string& statement) {
    PythonValue value = value_of(place, statement);
    if (value.object == nullptr) {
      value = objects_.make();
      assign(place, value, statement);
    }
    return *value.object;
  }
  // Fields of what stood there are not known where the file does not say what takes its place.
  void replace(PythonValue& place, const PythonValue& value) {
    const PythonValue before = std::exchange(place, value);
    if (before.object == value.object || !before.object || !value.object) return;
    if (!value.object->is_made) forget_fields(*before.object, *value.object, 0);
  }
  void forget_fields(const PythonObject& before, PythonObject& now, int depth) {
    count(1 + before.fields.size());
    for (const auto& [name, old] : before.fields) {
      if (now.fields.contains(name)) continue;
      PythonValue& field = now.fields[name];
      field = old.object ? objects_.make() : PythonValue{.text = source_, .line = line_};
      if (old.object && depth < deepest) forget_fields(*old.object, *field.object, depth + 1);
    }
  }
  void put(PythonValue& place, const PythonValue& value) {
    const bool is_same =
        place.line > 0 && place.is_plain() && place.text == value.text && !place.may_differ;
    replace(place, value);
    place.line = line_;
    place.may_differ = place.may_differ || (may_differ_ && !is_same);
  }

  // What a function returns where it is called without arguments, or what it names as recipes do.
  PythonValue result_of(const PythonDefinition& function) {
    PythonFrame frame = bound(function, {});
    may_differ_ = false;
    enter(frame, function);
    for (const auto& result : {frame.returned, frame.may_return}) {
      if (!result) continue;
      if (result->kind == PythonValue::Kind::object) return *result;
      for (const PythonValue& item : result->items)
        if (item.kind == PythonValue::Kind::object) return item;
    }
    for (const char* name : {"cfg", "config", "recipe"})
      if (const auto found = frame.variables.find(name); found != frame.variables.end())
        return found->second;
    return {};
  }
  void add(const std::string& name, const PythonValue& value, PythonRecipe& recipe) {
    if (value.kind != PythonValue::Kind::object) return;
    const std::string& maker = value.object->maker;
    if (!maker.empty() && maker != name && !value.object->is_made) recipe.missing.insert(maker);
    add_fields(*value.object, "", value.may_differ, recipe, 0);
  }
  void add_fields(const PythonObject& object, const std::string& path, bool may_differ,
                  PythonRecipe& recipe, int depth) {
    count(1 + object.fields.size());
    recipe.missing.insert(object.touched.begin(), object.touched.end());
    for (const auto& [name, value] : object.fields) {
      std::string whole = path;
      if (!path.empty()) whole += '.';
      whole += name;
      const bool differs = may_differ || value.may_differ;
      if (const auto text = text_of_value(value))
        recipe.settings[whole] = {*text, value.line, differs};
      else if (value.line > 0)
        recipe.settings[whole] = {value.text, value.line, differs, false};
      if (value.object && depth < deepest)
        add_fields(*value.object, whole, differs, recipe, depth + 1);
    }
  }

  const std::string& file_;
  std::vector<PythonStatement> statements_;
  std::vector<std::vector<PythonToken>> tokens_;  // of each
  std::map<std::string, PythonDefinition> definitions_;
  PythonFrame globals_;
  PythonFrame* frame_ = &globals_;
  PythonObjects objects_;
  bool may_differ_ = false;
  const std::function<void(std::size_t)> counted_ = [this](std::size_t steps) { count(steps); };
  std::string source_;          // of what is assigned
  bool is_call_alone_ = false;  // whose result nobody takes
  int nesting_ = 0;
  int line_ = 0;
  int depth_ = 0;
  int steps_ = 0;
};

}  // namespace

std::map<std::string, PythonRecipe> python_recipes(const std::string& text,
                                                   const std::string& file) {
  return Interpreter(text, file).recipes();
}

}  // namespace sgdsim
