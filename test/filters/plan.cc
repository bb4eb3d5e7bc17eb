#include "test/filters/plan.h"

#include <cstdlib>

namespace gs::filters {

Result<Plan> planOf(const std::vector<std::string>& words) {
  Plan plan;
  std::string fields = "all";
  for (std::size_t n = 0; n < words.size(); ++n) {
    const std::string& option = words[n];
    if (!option.starts_with("--")) {
      plan.others.push_back(option);
    } else if (option == "--newest") {
      plan.release = Release::Newest;
    } else if (option == "--together") {
      plan.together = true;
    } else if (option == "--all") {
      plan.all = true;
    } else if (n + 1 == words.size()) {
      return fail(Code::Invalid, "option " + option + " is none, or has no value");
    } else {
      const std::string& value = words[++n];
      const std::uint64_t number = std::strtoull(value.c_str(), nullptr, 10);
      if (option == "--cases") {
        plan.cases = number;
      } else if (option == "--seed") {
        plan.seed = number;
      } else if (option == "--show") {
        plan.most_shown = number;
      } else if (option == "--fields") {
        fields = value;
      } else if (option == "--json") {
        plan.figures = value;
      } else {
        return fail(Code::Invalid, "option " + option + " is none");
      }
    }
  }
  const auto chosen = fieldsOf(fields, plan.release);
  if (!chosen) { return tl::unexpected(chosen.error()); }
  plan.fields = *chosen;
  return plan;
}

}  // namespace gs::filters
