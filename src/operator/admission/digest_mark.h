// The mark by which a digest in an annotation is known to be the webhook's own: gkm.io/mutationSig, base64 of
// HMAC-SHA256 over "<scope>|<image>|<digest>". Stateless: whoever has the key can tell.
//
// Of a ClusterGKMCache the scope is "", which is what the ancestor writes ("uid|image|digest", and its uid is
// always ""); of a GKMCache "namespace:<namespace>". So a mark that one namespace was given is worth nothing
// in another one, nor cluster-wide. It does not say which cache of the scope: two caches of one image and
// digest have the same, and a name that the API server makes up is not known yet when the mark is made.
// No part has a '|' in it: images and digests are parsed before. Pure.
#pragma once

#include <string>
#include <string_view>

namespace gs::gkm {

/// `ns`: "" of a ClusterGKMCache.
[[nodiscard]] std::string digestMark(std::string_view key, std::string_view ns, std::string_view image,
                                     std::string_view digest);
/// False without a key.
[[nodiscard]] bool isDigestMark(std::string_view mark, std::string_view key, std::string_view ns,
                                std::string_view image, std::string_view digest);

}  // namespace gs::gkm
