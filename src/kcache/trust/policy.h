// A policy: which images have to be signed, and by whom, before a cache of them is mounted.
//
// It lies in the ConfigMap `gkm-trust-policy` of the operator's namespace, under the key `policy.yaml`;
// trusted roots of Sigstores (trusted_root.h) are other keys of the same ConfigMap, and rules name them.
// Whoever reads the ConfigMap reads the YAML.
//
//   rules:                          # the first that names the image and the place of the cache decides
//   - images: ["quay.io/gkm/**"]    # registry/repository; * is part of a name, ** crosses '/'; a registry
//                                   # counts in each of its spellings (kcache/image/reference.h)
//     scope: {namespaces: [team-a, "ml-*"], cluster: true}
//     require:                      # one of them is enough
//     - publicKeys: ["-----BEGIN PUBLIC KEY-----..."]
//     - trustedRoot: trusted_root.json
//       identities: [{issuer: https://accounts.example, subjectRegExp: ".*@example[.]com"}]
//   - images: ["registry.test/**"]
//     scope: {namespaces: [playground]}
//     allowUnsigned: true
//
// What no rule names: a ClusterGKMCache is refused, a GKMCache is let through, as without a policy.
// Identities: both the issuer and the subject have to be said, since "anybody whom that CA knows" is no
// identity. Regular expressions match the whole text.
// Members that are not known are refused: one that is misspelt must not turn a check off.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "json/value.h"
#include "kcache/image/reference.h"
#include "pattern/pattern.h"

namespace gs::kcache::trust {

inline constexpr const char* kPolicyConfigMap = "gkm-trust-policy";
inline constexpr const char* kPolicyKey = "policy.yaml";

/// A text, or a regular expression for the whole of one.
class TextMatch {
 public:
  [[nodiscard]] static TextMatch exactly(std::string text);
  /// nullopt: it is no regular expression.
  [[nodiscard]] static std::optional<TextMatch> whole(std::string_view pattern);
  [[nodiscard]] bool matches(std::string_view text) const;
  /// As it was written.
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::optional<Pattern> pattern_;
};

struct Identity {
  TextMatch issuer;   // who says so: "https://token.actions.githubusercontent.com"
  TextMatch subject;  // who it is: a mail address, or the URI of a workflow or a service account
};

struct Keyed {
  std::vector<std::string> public_keys;  // PEM; not looked into here
};
struct Keyless {
  std::vector<Identity> identities;
  std::string trusted_root;  // a key of the ConfigMap
};
using Authority = std::variant<Keyed, Keyless>;

struct Rule {
  std::string name;                     // "rules[0]"
  std::vector<std::string> images;      // globs
  std::vector<std::string> namespaces;  // globs
  bool cluster = false;
  bool allow_unsigned = false;
  std::vector<Authority> authorities;  // one is enough; none when allow_unsigned
};

struct Policy {
  std::vector<Rule> rules;
};

/// Error Invalid: names the field, the value and the fix. Without a list of
/// rules it is none: one that was emptied by a slip must not turn checks off.
[[nodiscard]] Result<Policy> parsePolicy(const json::Value& document);

/// Where a cache is: a GKMCache's namespace; "" a ClusterGKMCache.
struct Scope {
  std::string ns;
};

struct Decision {
  enum class Kind : std::uint8_t { Unsigned, Refused, Verify };
  Kind kind{};
  const Rule* rule = nullptr;  // of the policy; nullptr: no rule names it
  std::string why;             // for people
};

/// Pure; the first rule wins. The decision points into `policy`.
[[nodiscard]] Decision ruleFor(const Policy& policy, const Scope& scope, const Reference& image);

/// '*' is any run of characters but '/', "**" any run; nothing else is special. Linear in each of them.
[[nodiscard]] bool matchesGlob(std::string_view glob, std::string_view text);

}  // namespace gs::kcache::trust
