#include "kcache/content/triton_files.h"

#include <gtest/gtest.h>

#include "kcache/content/samples_test.h"

namespace gs::kcache {
namespace {

const std::string kGroupOfAdd = kRocmKey + "/__grp__add_kernel.json";

std::vector<std::string> notesWith(const std::string& group, const std::string& without = "") {
  Tree tree = rocmSample();
  tree[kGroupOfAdd] = group;
  tree.erase(kRocmKey + "/" + without);
  return detect(tree)->notes;
}

// triton-lang/triton#8923: a start of each pod ends with these.
TEST(GroupFiles, ThatTritonWouldStumbleOverAreNoted) {
  struct Row {
    std::string group;
    std::string without;
    std::string said;
  };
  const std::string whole = groupOf("/x", kRocmKey);
  const Row table[] = {
      {"", "", "it is empty: Triton ends with an error"},
      {whole.substr(0, whole.size() / 2), "", "it is cut off, or no JSON: Triton ends with an error"},
      {"[]", "", "it has no child_paths"},
      {R"({"child_paths":{}})", "", "it has no child_paths"},
      {R"({"child_paths":["add_kernel.json"]})", "", "it has no child_paths"},
      {whole, "add_kernel.hsaco", "it names add_kernel.hsaco, which the folder does not have"},
      {R"({"child_paths":{"a":"/x/a","b":1,"add_kernel.json":"/y/add_kernel.json"}})", "",
       "it names a and 1 more, which the folder does not have"},
  };
  for (const Row& row : table) {
    const auto notes = notesWith(row.group, row.without);
    ASSERT_EQ(notes.size(), 1U) << row.said;
    EXPECT_TRUE(notes[0].starts_with(kGroupOfAdd + ": " + row.said)) << notes[0];
  }
  EXPECT_TRUE(notesWith(whole).empty()) << "whatever root it names: it is written anew for where it will be";
}

TEST(Findings, OfManyOddFilesSomeAreNamedAndTheOthersCounted) {
  Tree tree = rocmSample();
  for (int i = 0; i < 100; ++i) { tree["K" + std::to_string(1000 + i) + "/__grp__k.json"] = ""; }
  const auto notes = detect(tree)->notes;
  ASSERT_EQ(notes.size(), Findings::kMostNotes + 1);
  EXPECT_EQ(notes.back(), "and 36 more such notes");
}

}  // namespace
}  // namespace gs::kcache
