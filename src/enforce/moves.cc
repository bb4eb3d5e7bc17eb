#include "enforce/moves.h"

#include <fmt/core.h>

#include "base/ascii.h"

namespace gs::enforce {

std::string printMoves(const std::vector<Move>& moves, const DeviceTable& table) {
  std::string out;
  for (const Move& move : moves) {
    out += fmt::format("{}{}>{}", out.empty() ? "" : ",", table.nameOf(move.from), table.nameOf(move.to));
  }
  return out;
}

std::vector<Move> readMoves(std::string_view text, const DeviceTable& table) {
  std::vector<Move> out;
  for (const std::string& word : commaList(text)) {
    const auto sign = word.find('>');
    if (sign == std::string::npos) { continue; }
    const NodeDevice* from = table.byName(std::string_view{word}.substr(0, sign));
    const NodeDevice* to = table.byName(std::string_view{word}.substr(sign + 1));
    if (from != nullptr && to != nullptr) { out.push_back({from->id, to->id}); }
  }
  return out;
}

}  // namespace gs::enforce
