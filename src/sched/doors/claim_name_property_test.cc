// Names of claims, drawn: one that no object can have is called that, and never missing.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <regex>
#include <string>
#include <variant>

#include "base/random.h"
#include "base/utf8.h"
#include "sched/doors/door.h"
#include "testing/builders.h"

namespace gs::sched {
namespace {

std::string drawnName(Rng& rng) {
  constexpr std::array kParts = {"a",  "one",  "7", "-",   ".",    "..",
                                 "A",  " ",    "/", "\n",  "\t",   "\"",
                                 "{{", "\xC3", "é", "ns/", "\x7F", "nnnnnnnnnnnnnnnnnnnnnnnnnn"};
  // Most parts are of names that can be.
  const std::size_t of = rng.chance(50) ? 4 : kParts.size();
  std::string out;
  for (auto many = rng.below(rng.chance(20) ? 90 : 5); many > 0; --many) {
    out += rng.chance(10) ? kParts.back() : kParts.at(rng.below(of));
  }
  return out;
}

TEST(ClaimNameProperty, OneThatNoObjectCanHaveIsNeverCalledMissing) {
  // As k8s.io/apimachinery has it (DNS-1123 subdomain).
  const std::regex can_be{R"([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)"};
  Rng rng{7};
  std::array<int, 3> seen{};
  for (int i = 0; i < 5'000; ++i) {
    const std::string name = drawnName(rng);
    const auto result = readPod(testing::PodBuilder("p").claim(name.c_str()).value(), nullptr);
    const auto* blocked = std::get_if<Blocked>(&result);
    ASSERT_NE(blocked, nullptr) << name;
    const bool is_one = name.size() <= 253 && std::regex_match(name, can_be);
    const char* kind = name.empty() ? "ClaimNameEmpty" : is_one ? "ClaimMissing" : "ClaimNameInvalid";
    ASSERT_EQ(blocked->kind, kind) << name;
    ++seen.at(name.empty() ? 0 : is_one ? 1 : 2);
    ASSERT_LE(blocked->text.size(), 1'000U);
    ASSERT_TRUE(isUtf8(blocked->text)) << blocked->text;
    const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7F; };
    ASSERT_EQ(std::find_if(blocked->text.begin(), blocked->text.end(), is_control), blocked->text.end())
        << blocked->text;
  }
  for (const int many : seen) { EXPECT_GT(many, 100); }
}

}  // namespace
}  // namespace gs::sched
