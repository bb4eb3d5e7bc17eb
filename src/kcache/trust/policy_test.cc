#include "kcache/trust/policy.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace gs::kcache::trust {
namespace {

const std::string kPem = "-----BEGIN PUBLIC KEY-----\\nAA==\\n-----END PUBLIC KEY-----\\n";
const std::string kKeyed = R"({"publicKeys":[")" + kPem + R"("]})";
const std::string kKeyless = R"({"trustedRoot":"trusted_root.json","identities":[{"issuer":"https://i",)"
                             R"("subjectRegExp":".*@example[.]com"}]})";

std::string ruleText(const std::string& images, const std::string& scope, const std::string& rest) {
  return R"({"images":)" + images + R"(,"scope":)" + scope + "," + rest + "}";
}
std::string policyText(const std::string& rule) { return R"({"rules":[)" + rule + "]}"; }

Policy read(const std::string& text) {
  auto policy = parsePolicy(*json::parse(text));
  EXPECT_TRUE(policy) << (policy ? "" : policy.error().message);
  return policy ? *policy : Policy{};
}
std::string said(const std::string& text) {
  const auto policy = parsePolicy(*json::parse(text));
  return policy ? "" : policy.error().message;
}
Decision decide(const Policy& policy, const std::string& ns, const std::string& image) {
  return ruleFor(policy, {ns}, *parseReference(image));
}

TEST(TrustPolicy, WithoutOneNothingUnsignedIsMountedClusterWide) {
  const Policy none;
  const Decision cluster = decide(none, "", "quay.io/gkm/a:v1");
  EXPECT_EQ(cluster.kind, Decision::Kind::Refused);
  EXPECT_EQ(cluster.why,
            "nothing unsigned is mounted cluster-wide, and no rule of the ConfigMap gkm-trust-policy is for "
            "ClusterGKMCaches of quay.io/gkm/a; add one");
  EXPECT_EQ(decide(none, "team-a", "quay.io/gkm/a:v1").kind, Decision::Kind::Unsigned);
}

TEST(TrustPolicy, TheFirstRuleThatNamesImageAndPlaceDecides) {
  const Policy policy = read(
      R"({"rules":[)" +
      ruleText(R"(["quay.io/gkm/open"])", R"({"namespaces":["team-*"]})", R"("allowUnsigned":true)") + "," +
      ruleText(R"(["quay.io/gkm/**"])", R"({"namespaces":["team-a"],"cluster":true})",
               R"("require":[)" + kKeyed + "," + kKeyless + "]") +
      "]}");
  ASSERT_EQ(policy.rules.size(), 2U);
  struct Row {
    const char* ns;
    const char* image;
    Decision::Kind kind;
    int rule;  // -1: none
  };
  const Row table[] = {
      {"team-a", "quay.io/gkm/open:v1", Decision::Kind::Unsigned, 0},
      {"team-a", "quay.io/gkm/other", Decision::Kind::Verify, 1},
      {"team-b", "quay.io/gkm/open", Decision::Kind::Unsigned, 0},
      {"team-b", "quay.io/gkm/other", Decision::Kind::Unsigned, -1},
      {"", "quay.io/gkm/open", Decision::Kind::Verify, 1},
      {"", "quay.io/gkm/deep/er", Decision::Kind::Verify, 1},
      {"", "quay.io/other/a", Decision::Kind::Refused, -1},
      {"", "evil.example/quay.io/gkm/a", Decision::Kind::Refused, -1},
  };
  for (const Row& row : table) {
    const Decision got = decide(policy, row.ns, row.image);
    EXPECT_EQ(got.kind, row.kind) << row.ns << ' ' << row.image;
    EXPECT_EQ(got.rule, row.rule < 0 ? nullptr : &policy.rules[static_cast<std::size_t>(row.rule)])
        << row.ns << ' ' << row.image;
  }
  EXPECT_EQ(std::get<Keyed>(policy.rules[1].authorities[0]).public_keys.size(), 1U);
  const auto& keyless = std::get<Keyless>(policy.rules[1].authorities[1]);
  EXPECT_EQ(keyless.trusted_root, "trusted_root.json");
  EXPECT_TRUE(keyless.identities[0].issuer.matches("https://i"));
  EXPECT_FALSE(keyless.identities[0].issuer.matches("https://ij"));
  EXPECT_TRUE(keyless.identities[0].subject.matches("me@example.com"));
  EXPECT_FALSE(keyless.identities[0].subject.matches("me@example.com.evil"));
}

TEST(TrustPolicy, ARegistryIsTheSameInEachSpelling) {
  for (const char* glob : {"quay.io/gkm/**", "QUAY.IO/gkm/**", "quay.io:443/gkm/**"}) {
    const Policy policy = read(policyText(
        ruleText("[\"" + std::string{glob} + "\"]", R"({"cluster":true})", R"("require":[)" + kKeyed + "]")));
    for (const char* image : {"quay.io/gkm/a", "QUAY.IO/gkm/a", "quay.io:443/gkm/a", "quay.io:0443/gkm/a"}) {
      EXPECT_EQ(decide(policy, "", image).kind, Decision::Kind::Verify) << glob << ' ' << image;
    }
    EXPECT_EQ(decide(policy, "", "quay.io:444/gkm/a").kind, Decision::Kind::Refused) << glob;
  }
  for (const char* glob : {"docker.io/me/*", "index.docker.io/me/*", "registry-1.docker.io/me/*"}) {
    const Policy policy = read(policyText(
        ruleText("[\"" + std::string{glob} + "\"]", R"({"cluster":true})", R"("require":[)" + kKeyed + "]")));
    for (const char* image :
         {"me/a", "docker.io/me/a", "index.docker.io/me/a", "Registry-1.Docker.io/me/a"}) {
      EXPECT_EQ(decide(policy, "", image).kind, Decision::Kind::Verify) << glob << ' ' << image;
    }
  }
}

TEST(TrustPolicy, WithoutAListOfRulesItIsNone) {
  for (const char* text : {"null", "{}", R"({"rules":null})"}) {
    EXPECT_EQ(said(text),
              "gkm-trust-policy, key policy.yaml: rules: there is no list of rules; write rules: [] for none")
        << text;
  }
  EXPECT_EQ(said(R"({"rules":[]})"), "");
}

TEST(TrustPolicy, WhatIsWrongIsSaidWithItsFieldAndItsFix) {
  const std::string start = "gkm-trust-policy, key policy.yaml: ";
  const std::string all = R"({"namespaces":["**"],"cluster":true})";
  const auto rule = [&](const std::string& rest) {
    return said(policyText(ruleText(R"(["**"])", all, rest)));
  };
  const auto keyless = [&](const std::string& identity) {
    return rule(R"("require":[{"trustedRoot":"r","identities":[)" + identity + "]}]");
  };
  EXPECT_EQ(said("[]"), start + "(document): is no object; it has rules");
  EXPECT_EQ(said(R"({"rule":[]})"), start + "(document): 'rule' is not known; known are rules");
  EXPECT_EQ(said(R"({"rules":{}})"), start + "rules: write a list of at most 100 rules");
  EXPECT_EQ(said(policyText("{}")),
            start + "rules[0].images: write a list of 1 to 100 images such as quay.io/gkm/**");
  EXPECT_EQ(said(policyText(R"({"images":["a/b:v1"]})")),
            start + "rules[0].images: 'a/b:v1' has a tag or digest; write registry/repository only");
  EXPECT_EQ(said(policyText(R"({"images":["**"]})")),
            start + "rules[0].scope: is no object; it has namespaces, cluster");
  EXPECT_EQ(said(policyText(R"({"images":["**"],"scope":{}})")),
            start + "rules[0].scope: is of nothing; write namespaces, cluster: true, or both");
  EXPECT_EQ(said(policyText(R"({"images":["**"],"scope":{"cluster":"yes"}})")),
            start + "rules[0].scope.cluster: write true or false");
  EXPECT_EQ(rule(R"("allowUnsigned":false)"),
            start + "rules[0]: write require, or allowUnsigned: true, and not both");
  EXPECT_EQ(rule(R"("allowUnsigned":true,"require":[])"),
            start + "rules[0]: write require, or allowUnsigned: true, and not both");
  EXPECT_EQ(rule(R"("require":[])"), start + "rules[0].require: write a list of 1 to 100 authorities");
  EXPECT_EQ(rule(R"("require":[{}])"),
            start + "rules[0].require[0]: write publicKeys, or identities and trustedRoot, and not both");
  EXPECT_EQ(rule(R"("require":[{"publicKeys":["AA=="]}])"),
            start +
                "rules[0].require[0].publicKeys: an entry is no PEM; write what cosign.pub has, from "
                "-----BEGIN PUBLIC KEY-----");
  EXPECT_EQ(rule(R"("require":[{"identities":[]}])"),
            start +
                "rules[0].require[0].trustedRoot: name the key of this ConfigMap that has the Sigstore's "
                "trusted_root.json");
  EXPECT_EQ(keyless(""),
            start + "rules[0].require[0].identities: write a list of 1 to 100 of {issuer, subject}");
  EXPECT_EQ(keyless(R"({"subject":"me"})"),
            start +
                "rules[0].require[0].identities[0]: write one of issuer and issuerRegExp, and not both; "
                "without it anybody could sign");
  EXPECT_EQ(keyless(R"({"issuer":"i","subject":""})"),
            start +
                "rules[0].require[0].identities[0]: write one of subject and subjectRegExp, and not both; "
                "without it anybody could sign");
  EXPECT_EQ(keyless(R"({"issuer":"i","subjectRegExp":"("})"),
            start + "rules[0].require[0].identities[0].subjectRegExp: '(' is no regular expression (RE2)");
  EXPECT_EQ(keyless(R"({"issuer":"i","subjectRegexp":"x"})"),
            start +
                "rules[0].require[0].identities[0]: 'subjectRegexp' is not known; known are issuer, "
                "issuerRegExp, subject, subjectRegExp");
}

TEST(TrustPolicy, GlobsMatchWholeNames) {
  struct Row {
    const char* glob;
    const char* text;
    bool matches;
  };
  const Row table[] = {
      {"quay.io/gkm/*", "quay.io/gkm/a", true},
      {"quay.io/gkm/*", "quay.io/gkm/a/b", false},
      {"quay.io/gkm/**", "quay.io/gkm/a/b", true},
      {"quay.io/gkm/*", "quay.io/gkm/", true},
      {"quay.io/gkm", "quay.io/gkm/a", false},
      {"quay.io/gkm/a", "quay.io/gkm/a", true},
      {"quay.io/*/cache", "quay.io/x/cache", true},
      {"quay.io/*/cache", "quay.io/x/y/cache", false},
      {"**/cache", "q/x/y/cache", true},
      {"**", "", true},
      {"", "", true},
      {"*", "a/b", false},
      {"q.io/a", "qxio/a", false},
      {"**a*b", "xa/ab", true},
      {"*a*b*", "aabb", true},
      {"**/a*/b", "x/ab/c/ay/b", true},
  };
  for (const Row& row : table) {
    EXPECT_EQ(matchesGlob(row.glob, row.text), row.matches) << row.glob << ' ' << row.text;
  }
}

/// What it says in its own words, in exponential time.
bool slowGlob(std::string_view glob, std::string_view text) {
  if (glob.empty()) { return text.empty(); }
  if (glob.starts_with("**")) {
    return slowGlob(glob.substr(2), text) || (!text.empty() && slowGlob(glob, text.substr(1)));
  }
  if (glob[0] == '*') {
    return slowGlob(glob.substr(1), text) ||
           (!text.empty() && text[0] != '/' && slowGlob(glob, text.substr(1)));
  }
  return !text.empty() && glob[0] == text[0] && slowGlob(glob.substr(1), text.substr(1));
}

TEST(TrustPolicyProperty, GlobsAreAsTheSlowOnes) {
  EXPECT_TRUE(rc::check([] {
    const auto glob =
        *rc::gen::resize(8, rc::gen::container<std::string>(rc::gen::elementOf(std::string{"ab/*"})));
    const auto text =
        *rc::gen::resize(8, rc::gen::container<std::string>(rc::gen::elementOf(std::string{"ab/"})));
    RC_ASSERT(matchesGlob(glob, text) == slowGlob(glob, text));
  }));
}

}  // namespace
}  // namespace gs::kcache::trust
