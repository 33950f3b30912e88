// SPDX-License-Identifier: Apache-2.0
// Errors as values: what an errno becomes, and that layers only add in front.
#include "common/base/result.hh"

#include <cerrno>

#include "tests/cmocka.hh"

#undef fail  // cmocka's macro; nvab::fail is meant here

using nvab::Error;

static void an_errno_becomes_a_code_and_a_sentence(void**) {
  const Error missing = nvab::from_errno(ENOENT, "opening /x");
  assert_true(missing.code == Error::Code::not_found);
  assert_string_equal(missing.message.c_str(), "opening /x: No such file or directory");
  assert_true(nvab::from_errno(EACCES, "").code == Error::Code::permission);
  assert_true(nvab::from_errno(ETIMEDOUT, "").code == Error::Code::timeout);
  assert_true(nvab::from_errno(ENOSPC, "").code == Error::Code::unavailable);
  assert_true(nvab::from_errno(EISDIR, "").code == Error::Code::unsupported);
  assert_true(nvab::from_errno(EEXIST, "").code == Error::Code::conflict);
  assert_true(nvab::from_errno(EINVAL, "").code == Error::Code::internal);
}

static void an_unknown_errno_is_named_by_its_number(void**) {
  assert_string_equal(nvab::from_errno(99999, "trying").message.c_str(),
                      "trying: error number 99999");
}

static void each_layer_adds_in_front_and_keeps_the_code(void**) {
  const nvab::Result<int> result =
      nvab::fail("reading the kernel log", Error{Error::Code::permission, "permission denied"});
  assert_false(result.has_value());
  assert_true(result.error().code == Error::Code::permission);
  assert_string_equal(result.error().message.c_str(), "reading the kernel log: permission denied");
}

static void every_code_has_its_own_word(void**) {
  assert_string_equal(std::string(nvab::to_string(Error::Code::not_found)).c_str(), "not_found");
  assert_string_equal(std::string(nvab::to_string(Error::Code::permission)).c_str(), "permission");
  assert_string_equal(std::string(nvab::to_string(Error::Code::malformed)).c_str(), "malformed");
  assert_string_equal(std::string(nvab::to_string(Error::Code::timeout)).c_str(), "timeout");
  assert_string_equal(std::string(nvab::to_string(Error::Code::unavailable)).c_str(),
                      "unavailable");
  assert_string_equal(std::string(nvab::to_string(Error::Code::unsupported)).c_str(),
                      "unsupported");
  assert_string_equal(std::string(nvab::to_string(Error::Code::conflict)).c_str(), "conflict");
  assert_string_equal(std::string(nvab::to_string(Error::Code::internal)).c_str(), "internal");
}

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(an_errno_becomes_a_code_and_a_sentence),
      cmocka_unit_test(an_unknown_errno_is_named_by_its_number),
      cmocka_unit_test(each_layer_adds_in_front_and_keeps_the_code),
      cmocka_unit_test(every_code_has_its_own_word),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
