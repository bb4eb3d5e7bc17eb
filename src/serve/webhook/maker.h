// Keys and certificates for the webhook's machine, by net/certificate.h.
#pragma once

#include "webhook/certificates.h"

namespace gs::serve {

class OpensslMaker final : public webhook::Maker {
 public:
  Result<webhook::Pair> make(const std::vector<std::string>& names, Life life) override;
  Result<Life> check(const webhook::Pair& pair, const std::string& name) override;
};

}  // namespace gs::serve
