#include "apiserver/meta/label_parser.h"

#include <gtest/gtest.h>

namespace gs::apiserver {
namespace {

struct Case {
  const char* name;
  const char* text;
  std::size_t requirements;
  const char* error = "";
};

class LabelParser : public testing::TestWithParam<Case> {};

TEST_P(LabelParser, Reads) {
  const auto read = parseLabelSelector(GetParam().text);
  EXPECT_EQ(read ? "" : read.error(), GetParam().error);
  EXPECT_EQ(read ? read->size() : 0, GetParam().requirements);
}

INSTANTIATE_TEST_SUITE_P(
    Table, LabelParser,
    testing::Values(
        Case{"Nothing", "", 0}, Case{"Equal", "a=b", 1}, Case{"TwoEqual", "a==b,c!=d", 2},
        Case{"Sets", "a in (x,y),b notin (z)", 2}, Case{"Exists", "a,!b", 2}, Case{"Spaces", "  a  =  b ", 1},
        Case{"EmptyValue", "a=,b", 2}, Case{"EmptySet", "a in ()", 1}, Case{"Number", "a>3", 1},
        Case{"NoNumber", "a>x", 0,
             "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the "
             "value must be an "
             "integer"},
        Case{"NoOperator", "a b", 0,
             "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"},
        Case{"NoParenthesis", "a in b", 0, "unable to parse requirement: found 'b' expected: '('"},
        Case{"OpenSet", "a in (b", 0, "unable to parse requirement: found '', expected: ',' or ')'"},
        Case{"TwoValues", "a=b=c", 0, "found '=', expected: ',' or 'end of string'"},
        Case{"CommaLast", "a=b,", 0, "found '', expected: identifier after ','"},
        Case{"CommaFirst", ",", 0, "found ',', expected: !, identifier, or 'end of string'"}),
    [](const auto& info) { return std::string{info.param.name}; });

}  // namespace
}  // namespace gs::apiserver
