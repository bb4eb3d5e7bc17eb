#include "kcache/trust/policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "base/utf8.h"

namespace gs::kcache::trust {
namespace {

constexpr std::size_t kMostRules = 100;
constexpr std::size_t kMostOfAList = 100;
constexpr std::size_t kMaxGlob = 512;
constexpr std::size_t kShown = 120;

tl::unexpected<Error> badPolicy(const std::string& field, const std::string& what) {
  return fail(Code::Invalid, fmt::format("{}, key {}: {}: {}", kPolicyConfigMap, kPolicyKey, field, what));
}

Status onlyMembers(const json::Value& object, const std::string& field,
                   std::initializer_list<std::string_view> known) {
  if (!object.isObject()) {
    return badPolicy(field, fmt::format("is no object; it has {}", fmt::join(known, ", ")));
  }
  for (const auto& [key, value] : object.members()) {
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      return badPolicy(field, fmt::format("'{}' is not known; known are {}", utf8Prefix(key, kShown),
                                          fmt::join(known, ", ")));
    }
  }
  return {};
}

/// A list of texts that are not empty. `what`: what to write.
Result<std::vector<std::string>> textsAt(const json::Value& value, const std::string& field,
                                         const char* what) {
  if (!value.isArray() || value.items().empty() || value.items().size() > kMostOfAList) {
    return badPolicy(field, fmt::format("write a list of 1 to {} {}", kMostOfAList, what));
  }
  std::vector<std::string> out;
  for (const json::Value& one : value.items()) {
    if (one.str().empty()) { return badPolicy(field, fmt::format("has an empty entry; write {}", what)); }
    out.emplace_back(one.str());
  }
  return out;
}

Result<bool> switchAt(const json::Value& value, const std::string& field) {
  if (!value.isNull() && !value.isBool()) { return badPolicy(field, "write true or false"); }
  return value.boolOr(false);
}

Result<std::vector<std::string>> globsAt(const json::Value& value, const std::string& field,
                                         const char* what) {
  auto out = textsAt(value, field, what);
  if (!out) { return out; }
  for (const std::string& glob : *out) {
    if (glob.size() > kMaxGlob) {
      return badPolicy(field,
                       fmt::format("'{}...' is longer than {} bytes", utf8Prefix(glob, kShown), kMaxGlob));
    }
    const bool has_tag =
        glob.find('@') != std::string::npos || glob.find(':', glob.rfind('/') + 1) != std::string::npos;
    if (has_tag && glob.find('/') != std::string::npos) {
      return badPolicy(field, fmt::format("'{}' has a tag or digest; write registry/repository only", glob));
    }
  }
  return out;
}

/// One of `name` (a text) and `name`RegExp.
Result<TextMatch> matchAt(const json::Value& in, const std::string& name, const std::string& field) {
  const std::string_view exact = in[name].str();
  const std::string_view pattern = in[name + "RegExp"].str();
  if (exact.empty() == pattern.empty()) {
    return badPolicy(field, fmt::format("write one of {0} and {0}RegExp, and not both; without it anybody "
                                        "could sign",
                                        name));
  }
  if (!exact.empty()) { return TextMatch::exactly(std::string{exact}); }
  auto match = TextMatch::whole(pattern);
  if (!match) {
    return badPolicy(field + '.' + name + "RegExp",
                     fmt::format("'{}' is no regular expression (RE2)", utf8Prefix(pattern, kShown)));
  }
  return std::move(*match);
}

Result<Authority> keylessOf(const json::Value& value, const std::string& field) {
  Keyless out;
  out.trusted_root = value["trustedRoot"].str();
  if (out.trusted_root.empty()) {
    return badPolicy(field + ".trustedRoot",
                     "name the key of this ConfigMap that has the Sigstore's trusted_root.json");
  }
  const json::Value& identities = value["identities"];
  if (!identities.isArray() || identities.items().empty() || identities.items().size() > kMostOfAList) {
    return badPolicy(field + ".identities",
                     fmt::format("write a list of 1 to {} of {{issuer, subject}}", kMostOfAList));
  }
  for (std::size_t i = 0; i < identities.items().size(); ++i) {
    const std::string at = fmt::format("{}.identities[{}]", field, i);
    const json::Value& one = identities.at(i);
    if (Status fine = onlyMembers(one, at, {"issuer", "issuerRegExp", "subject", "subjectRegExp"}); !fine) {
      return tl::unexpected(fine.error());
    }
    auto issuer = matchAt(one, "issuer", at);
    if (!issuer) { return tl::unexpected(issuer.error()); }
    auto subject = matchAt(one, "subject", at);
    if (!subject) { return tl::unexpected(subject.error()); }
    out.identities.push_back({std::move(*issuer), std::move(*subject)});
  }
  return out;
}

Result<Authority> authorityOf(const json::Value& value, const std::string& field) {
  if (Status fine = onlyMembers(value, field, {"publicKeys", "identities", "trustedRoot"}); !fine) {
    return tl::unexpected(fine.error());
  }
  const bool has_keys = !value["publicKeys"].isNull();
  if (has_keys != (value["identities"].isNull() && value["trustedRoot"].isNull())) {
    return badPolicy(field, "write publicKeys, or identities and trustedRoot, and not both");
  }
  if (!has_keys) { return keylessOf(value, field); }
  auto keys = textsAt(value["publicKeys"], field + ".publicKeys", "public keys in PEM");
  if (!keys) { return tl::unexpected(keys.error()); }
  for (const std::string& key : *keys) {
    if (key.find("-----BEGIN PUBLIC KEY-----") == std::string::npos) {
      return badPolicy(field + ".publicKeys",
                       "an entry is no PEM; write what cosign.pub has, from -----BEGIN PUBLIC KEY-----");
    }
  }
  return Keyed{std::move(*keys)};
}

Status readScope(const json::Value& value, const std::string& field, Rule& out) {
  if (Status fine = onlyMembers(value, field, {"namespaces", "cluster"}); !fine) { return fine; }
  auto cluster = switchAt(value["cluster"], field + ".cluster");
  if (!cluster) { return tl::unexpected(cluster.error()); }
  out.cluster = *cluster;
  if (value["namespaces"].isNull()) {
    return out.cluster ? Status{}
                       : badPolicy(field, "is of nothing; write namespaces, cluster: true, or both");
  }
  auto namespaces = globsAt(value["namespaces"], field + ".namespaces", "namespaces");
  if (!namespaces) { return tl::unexpected(namespaces.error()); }
  out.namespaces = std::move(*namespaces);
  return {};
}

Status readRequire(const json::Value& value, const std::string& field, Rule& out) {
  auto is_unsigned = switchAt(value["allowUnsigned"], field + ".allowUnsigned");
  if (!is_unsigned) { return tl::unexpected(is_unsigned.error()); }
  out.allow_unsigned = *is_unsigned;
  const json::Value& require = value["require"];
  if (out.allow_unsigned != require.isNull()) {
    return badPolicy(field, "write require, or allowUnsigned: true, and not both");
  }
  if (out.allow_unsigned) { return {}; }
  if (!require.isArray() || require.items().empty() || require.items().size() > kMostOfAList) {
    return badPolicy(field + ".require", fmt::format("write a list of 1 to {} authorities", kMostOfAList));
  }
  for (std::size_t i = 0; i < require.items().size(); ++i) {
    auto one = authorityOf(require.at(i), fmt::format("{}.require[{}]", field, i));
    if (!one) { return tl::unexpected(one.error()); }
    out.authorities.push_back(std::move(*one));
  }
  return {};
}

Result<Rule> ruleOf(const json::Value& value, const std::string& field) {
  if (Status fine = onlyMembers(value, field, {"images", "scope", "require", "allowUnsigned"}); !fine) {
    return tl::unexpected(fine.error());
  }
  Rule out;
  out.name = field;
  auto images = globsAt(value["images"], field + ".images", "images such as quay.io/gkm/**");
  if (!images) { return tl::unexpected(images.error()); }
  for (const std::string& glob : *images) {
    const std::size_t host = std::min(glob.find('/'), glob.size());
    out.images.push_back(registryName(std::string_view{glob}.substr(0, host)) + glob.substr(host));
  }
  if (Status fine = readScope(value["scope"], field + ".scope", out); !fine) {
    return tl::unexpected(fine.error());
  }
  if (Status fine = readRequire(value, field, out); !fine) { return tl::unexpected(fine.error()); }
  return out;
}

bool anyMatches(const std::vector<std::string>& globs, std::string_view text) {
  return std::any_of(globs.begin(), globs.end(),
                     [&](const std::string& glob) { return matchesGlob(glob, text); });
}

}  // namespace

TextMatch TextMatch::exactly(std::string text) {
  TextMatch out;
  out.text_ = std::move(text);
  return out;
}

std::optional<TextMatch> TextMatch::whole(std::string_view pattern) {
  auto compiled = Pattern::compileWhole(pattern);
  if (!compiled) { return std::nullopt; }
  TextMatch out;
  out.text_ = pattern;
  out.pattern_ = std::move(compiled);
  return out;
}

bool TextMatch::matches(std::string_view text) const {
  return pattern_ ? pattern_->matches(text) : text == text_;
}

// The two kinds of star are tried from the last one on, which is enough: a "**" takes all that a '*' before
// it could; a '*' that cannot go on (a '/') gives back to the last "**".
bool matchesGlob(std::string_view glob, std::string_view text) {
  struct Retry {
    std::size_t glob = std::string_view::npos;  // behind the star
    std::size_t text = 0;                       // what the star has taken up to
  };
  Retry star;
  Retry stars;
  std::size_t g = 0;
  std::size_t t = 0;
  while (true) {
    if (glob.substr(g).starts_with("**")) {
      while (g < glob.size() && glob[g] == '*') { ++g; }
      stars = {g, t};
      star = {};
    } else if (g < glob.size() && glob[g] == '*') {
      star = {++g, t};
    } else if (t < text.size() && g < glob.size() && glob[g] == text[t]) {
      ++g;
      ++t;
    } else if (t == text.size() && g == glob.size()) {
      return true;
    } else if (star.glob != std::string_view::npos && star.text < text.size() && text[star.text] != '/') {
      t = ++star.text;
      g = star.glob;
    } else if (stars.glob != std::string_view::npos && stars.text < text.size()) {
      t = ++stars.text;
      g = stars.glob;
      star = {};
    } else {
      return false;
    }
  }
}

Result<Policy> parsePolicy(const json::Value& document) {
  Policy out;
  const json::Value& rules = document["rules"];
  const Status fine = document.isNull() ? Status{} : onlyMembers(document, "(document)", {"rules"});
  if (!fine) { return tl::unexpected(fine.error()); }
  if (rules.isNull()) { return badPolicy("rules", "there is no list of rules; write rules: [] for none"); }
  if (!rules.isArray() || rules.items().size() > kMostRules) {
    return badPolicy("rules", fmt::format("write a list of at most {} rules", kMostRules));
  }
  for (std::size_t i = 0; i < rules.items().size(); ++i) {
    auto rule = ruleOf(rules.at(i), fmt::format("rules[{}]", i));
    if (!rule) { return tl::unexpected(rule.error()); }
    out.rules.push_back(std::move(*rule));
  }
  return out;
}

Decision ruleFor(const Policy& policy, const Scope& scope, const Reference& image) {
  const bool is_cluster = scope.ns.empty();
  for (const Rule& rule : policy.rules) {
    const bool here = is_cluster ? rule.cluster : anyMatches(rule.namespaces, scope.ns);
    if (!here || !anyMatches(rule.images, image.name())) { continue; }
    if (rule.allow_unsigned) {
      return {Decision::Kind::Unsigned, &rule, fmt::format("{} allows it unsigned", rule.name)};
    }
    return {Decision::Kind::Verify, &rule, fmt::format("{} requires a signature", rule.name)};
  }
  if (is_cluster) {
    return {Decision::Kind::Refused, nullptr,
            fmt::format("nothing unsigned is mounted cluster-wide, and no rule of the ConfigMap {} is for "
                        "ClusterGKMCaches of {}; add one",
                        kPolicyConfigMap, image.name())};
  }
  return {Decision::Kind::Unsigned, nullptr,
          fmt::format("no rule of the ConfigMap {} is for {} in namespace {}", kPolicyConfigMap, image.name(),
                      scope.ns)};
}

}  // namespace gs::kcache::trust
