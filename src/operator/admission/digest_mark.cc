#include "operator/admission/digest_mark.h"

#include <fmt/format.h>

#include "base/base64.h"
#include "base/secret.h"

namespace gs::gkm {

std::string digestMark(std::string_view key, std::string_view ns, std::string_view image,
                       std::string_view digest) {
  const std::string scope = ns.empty() ? std::string{} : fmt::format("namespace:{}", ns);
  return encodeBase64(hmacSha256(key, fmt::format("{}|{}|{}", scope, image, digest)));
}

bool isDigestMark(std::string_view mark, std::string_view key, std::string_view ns, std::string_view image,
                  std::string_view digest) {
  return !key.empty() && areEqualSecrets(mark, digestMark(key, ns, image, digest));
}

}  // namespace gs::gkm
