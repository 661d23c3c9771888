// The border: C on one side, study on the other.
#include "library/sgdsim.h"

#include <cfenv>
#include <exception>
#include <memory>
#include <new>
#include <string>

#include "library/arrow_stream.h"
#include "study/answer.h"
#include "study/version.h"

struct sgdsim_answer {
  sgdsim::AnswerText text{.code = sgdsim::exit_failure,
                          .json = "",
                          .error = "failed: there is not enough memory",
                          .warnings = "[]",
                          .place = "{}",
                          .columns = nullptr};
};

namespace {

// Of the host: other libraries flush denormals or change rounding, which would change results.
class FloatingPoint {
 public:
  FloatingPoint() {
    std::fegetenv(&before_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~FloatingPoint() { std::fesetenv(&before_); }
  FloatingPoint(const FloatingPoint&) = delete;
  FloatingPoint& operator=(const FloatingPoint&) = delete;
  const std::fenv_t& before() const { return before_; }

 private:
  std::fenv_t before_{};
};

// While a function of the host is called.
class InForce {
 public:
  explicit InForce(const FloatingPoint& own) { std::fesetenv(&own.before()); }
  ~InForce() { std::fesetenv(FE_DFL_ENV); }
  InForce(const InForce&) = delete;
  InForce& operator=(const InForce&) = delete;
};

constexpr const char* no_memory = "failed: there is not enough memory";

}  // namespace

int sgdsim_ask_watched(const char* command, const char* fields, size_t size,
                       sgdsim_progress progress, void* with, sgdsim_answer** answer) {
  const FloatingPoint own;
  *answer = new (std::nothrow) sgdsim_answer;
  if (*answer == nullptr) return sgdsim::exit_failure;
  try {
    sgdsim::Watch watch;
    int64_t reached = 0, of = 0;
    if (progress != nullptr) {
      watch.look = [&] {
        const InForce host(own);
        if (progress(with, reached, of) != 0) throw sgdsim::Interrupted();
      };
      watch.reached = [&](int64_t done, int64_t total) {
        reached = done;
        of = total;
      };
    }
    (*answer)->text =
        sgdsim::ask(command == nullptr ? "" : command,
                    fields == nullptr ? std::string() : std::string(fields, size), watch);
    return (*answer)->text.code;
  } catch (const std::exception&) {  // there is no memory for a sentence
    return sgdsim::exit_failure;
  }
}

int sgdsim_ask(const char* command, const char* fields, size_t size, sgdsim_watch watch, void* with,
               sgdsim_answer** answer) {
  struct Plain {
    sgdsim_watch watch;
    void* with;
  } plain{watch, with};
  const auto looks = [](void* it, int64_t, int64_t) {
    const auto& [its_watch, its_with] = *static_cast<Plain*>(it);
    return its_watch(its_with);
  };
  return sgdsim_ask_watched(command, fields, size, watch == nullptr ? nullptr : +looks, &plain,
                            answer);
}

const char* sgdsim_json(const sgdsim_answer* answer, size_t* size) {
  if (size != nullptr) *size = answer == nullptr ? 0 : answer->text.json.size();
  return answer == nullptr ? "" : answer->text.json.c_str();
}

const char* sgdsim_error(const sgdsim_answer* answer) {
  return answer == nullptr ? no_memory : answer->text.error.c_str();
}

const char* sgdsim_warnings(const sgdsim_answer* answer) {
  return answer == nullptr ? "[]" : answer->text.warnings.c_str();
}

const char* sgdsim_error_place(const sgdsim_answer* answer) {
  return answer == nullptr ? "{}" : answer->text.place.c_str();
}

int sgdsim_columns(const sgdsim_answer* answer, ArrowArrayStream* stream) {
  *stream = {};
  try {
    if (answer == nullptr || answer->text.json.empty()) return sgdsim::exit_failure;
    std::shared_ptr<const sgdsim::TypedColumns> columns = answer->text.columns;
    if (!columns)
      columns = std::make_shared<sgdsim::TypedColumns>(
          sgdsim::columns_of(sgdsim::Json::parse(answer->text.json)));
    sgdsim::export_columns(std::move(columns), *stream);
    return 0;
  } catch (const std::exception&) {
    return sgdsim::exit_failure;
  }
}

void sgdsim_free(sgdsim_answer* answer) { delete answer; }

// Of a literal, so that there is an end.
const char* sgdsim_version(void) { return sgdsim::version_number.data(); }
