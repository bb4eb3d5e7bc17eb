// Names of claims, drawn: one that no object can have is called that, and never missing.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
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

/// As the expression of k8s.io/apimachinery for DNS-1123 subdomains takes it: whatever stands beside a '.' or
/// at an end is a letter or a digit.
bool canBe(const std::string& name) {
  const auto at = [&](std::size_t i) { return i < name.size() ? name[i] : '.'; };
  const auto is_alnum = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool is_edge = i == 0 || at(i - 1) == '.' || at(i + 1) == '.';
    if (name[i] == '.' ? is_edge : !is_alnum(name[i]) && (name[i] != '-' || is_edge)) { return false; }
  }
  return !name.empty();
}

TEST(ClaimNameProperty, OneThatNoObjectCanHaveIsNeverCalledMissing) {
  Rng rng{7};
  std::array<int, 3> seen{};
  for (int i = 0; i < 5'000; ++i) {
    const std::string name = drawnName(rng);
    const auto result = readPod(testing::PodBuilder("p").claim(name.c_str()).value(), {});
    const auto* blocked = std::get_if<Blocked>(&result);
    ASSERT_NE(blocked, nullptr) << name;
    const bool is_one = name.size() <= 253 && canBe(name);
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
