// What stands in for libraries in a browser must give the same as they do, to the last bit.
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <doctest/doctest.h>
#include <limits>
#include <string>
#include <vector>

#include "sim/core/decimal.h"
#include "sim/core/random.h"
#include "study/step/digest.h"

using namespace sgdsim;

namespace {

// The C++ library's own, as sim/core/decimal.cpp has it.
std::string library_text(double value) {
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  return {buffer.data(), end};
}

double library_digits(double value, int digits) {
  std::array<char, 40> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value,
                                 std::chars_format::scientific, digits - 1);
  double rounded = 0;
  std::from_chars(text.data(), end.ptr, rounded);
  return rounded;
}

bool same_bits(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return std::memcmp(&a, &b, sizeof a) == 0;
}

void check_reading(const std::string& text) {
  CAPTURE(text);
  constexpr double untouched = -7.25;
  double expected = untouched, found = untouched;
  const char* const end = text.data() + text.size();
  const auto library = std::from_chars(text.data(), end, expected);
  const auto own = read_decimal(text.data(), end, found);
  CHECK(own.ec == library.ec);
  CHECK(own.ptr - text.data() == library.ptr - text.data());
  CHECK(same_bits(found, expected));
}

void check_writing(double value) {
  CAPTURE(value);
  CHECK(number_text(value) == library_text(value));
}

// Any double but infinities and what is no number.
double drawn(Random& random) {
  while (true) {
    const uint64_t bits = random.bits();
    double value = 0;
    std::memcpy(&value, &bits, sizeof value);
    if (std::isfinite(value)) return value;
  }
}

}  // namespace

TEST_CASE("browser parts: numbers are read as the library reads them") {
  const std::vector<std::string> texts = {
      "",
      "-",
      "+1",
      " 1",
      "1 ",
      ".",
      "-.",
      ".5",
      "5.",
      "-.5",
      "1.e3",
      "1e",
      "1e+",
      "1e-",
      "1e5x",
      "1E5",
      "1e+05",
      "0x10",
      "0",
      "-0",
      "-0.0e9",
      "00012",
      "1..2",
      "1.2.3",
      "1,5",
      "--1",
      "e5",
      ".e5",
      "1e400",
      "-1e400",
      "1e-400",
      "4.9e-324",
      "2e-324",
      "2.4703282292062328e-324",
      "2.2250738585072011e-308",
      "1.7976931348623157e308",
      "1.7976931348623159e308",
      "1e99999999999",
      "1e-99999999999",
      "0e99999999",
      "inf",
      "INF",
      "-inf",
      "infinity",
      "Infinityx",
      "infinit",
      "in",
      "nan",
      "NAN",
      "-nan",
      "nan(",
      "nan()",
      "nan(a_1)",
      "nan(a b)",
      "na",
      "i",
      "10 Gbps",
      "0.1us",
      "9007199254740993",
      "123456789012345678901234567890",
      "0.1000000000000000055511151231257827021181583404541015625",
      "5e-324",
      "1e23",
      "8.5e22",
      "9.5367431640625e-7"};
  for (const std::string& text : texts) check_reading(text);
  check_reading(std::string(5000, '9'));
  check_reading("0." + std::string(5000, '0') + "1");
  check_reading("1" + std::string(400, '0') + "e-400");
}

TEST_CASE("browser parts: numbers are written as the library writes them") {
  using Limits = std::numeric_limits<double>;
  for (const double value : {0.0,
                             -0.0,
                             1.0,
                             -1.5,
                             0.1,
                             0.3,
                             1e5,
                             1e6,
                             123456.0,
                             1234567.0,
                             1e-4,
                             1e-5,
                             0.00012345,
                             1e21,
                             1e22,
                             1e23,
                             123456789012345680000.0,
                             9007199254740992.0,
                             5e-324,
                             3.5e-310,
                             Limits::min(),
                             Limits::max(),
                             Limits::epsilon(),
                             Limits::infinity(),
                             -Limits::infinity()})
    check_writing(value);
  // Below a power of two numbers lie twice as close as above it: 2^-44 needs 16 digits, and the
  // nearest text of 16 digits reads as its neighbour.
  for (int power = -1074; power < 1024; ++power) check_writing(std::ldexp(1.0, power));
}

TEST_CASE("browser parts: any number there and back") {
  Random random(18);
  for (int i = 0; i < 20'000; ++i) {
    const double value = drawn(random);
    check_writing(value);
    check_reading(library_text(value) + " us");
    const int digits = 1 + static_cast<int>(random.below(17));
    CAPTURE(value);
    CAPTURE(digits);
    CHECK(same_bits(with_digits(value, digits), library_digits(value, digits)));
  }
}

// The examples of FIPS 180-4, from NIST's pages of test vectors.
TEST_CASE("browser parts: SHA-256") {
  CHECK(sha256_of("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256_of("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(sha256_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(sha256_of(std::string(1'000'000, 'a')) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}
