#include "serve/admission/maker.h"

#include <utility>

#include "net/certificate.h"

namespace gs::serve {

Result<admission::Pair> OpensslMaker::make(const std::vector<std::string>& names, Life life) {
  auto made = net::makeCertificate(names, life.from, life.until);
  if (!made) { return tl::unexpected(std::move(made).error()); }
  return admission::Pair{std::move(made->ca_pem), std::move(made->server.cert_pem),
                         std::move(made->server.key_pem)};
}

Result<admission::Maker::Life> OpensslMaker::check(const admission::Pair& pair, const std::string& name) {
  const auto life = net::checkCertificate({pair.certificate, pair.key}, pair.ca, name);
  if (!life) { return tl::unexpected(life.error()); }
  return Life{life->from, life->until};
}

}  // namespace gs::serve
