// SPDX-License-Identifier: Apache-2.0
// Redaction: what gives somebody away gets another name, the same everywhere; what rules go by
// stays.
#include <cstring>

#include "epilog/output/redact.hh"
#include "tests/cmocka.hh"

using namespace nvab;

namespace {

Redactor sealed(std::initializer_list<const char*> texts) {
  Redactor redactor;
  for (const char* host : {"elk1", "elk2", "elk10", "elk2.hpc.uni.example"}) {
    redactor.learn_host(host);
  }
  redactor.learn_user("petra");
  for (const char* text : texts) redactor.learn(std::string_view(text));
  redactor.seal();
  return redactor;
}

void check(const Redactor& redactor, const char* text, const char* wanted) {
  const std::string got = redactor.apply(std::string_view(text));
  if (got != wanted) fail_msg("'%s'\n became '%s'\n and not '%s'", text, got.c_str(), wanted);
}

void hosts_are_renamed_in_their_order_wherever_they_stand(void**) {
  const Redactor redactor = sealed({});
  check(redactor, "elk1 elk2 elk10", "host1 host2 host3");
  check(redactor, "elk2:77:78 [3] from elk2-bmc, slurmd_elk10.",
        "host2:77:78 [3] from host2-bmc, slurmd_host3.");
  check(redactor, "ELK2 is elk2", "host2 is host2");
  check(redactor, "elk22 xelk2 belk1", "elk22 xelk2 belk1");  // other words
}

void other_interfaces_of_a_host_stay_recognisable(void**) {
  Redactor redactor;
  for (const char* host : {"elk1", "bmc-elk1", "elk1-ib0", "elk1-secretproject"}) {
    redactor.learn_host(host);
  }
  redactor.seal();
  check(redactor, "bmc-elk1 elk1-ib0 elk1-secretproject", "bmc-host1 host1-ib0 host2");
}

void a_domain_goes_with_its_host(void**) {
  const Redactor redactor = sealed({});
  check(redactor, "elk2.hpc.uni.example said", "host2.site1.example said");
  check(redactor, "elk1.hpc.uni.example:2222", "host1.site1.example:2222");
}

void a_hostlist_of_known_hosts_is_folded_anew(void**) {
  const Redactor redactor = sealed({});
  check(redactor, "nodes=elk[1-2,10] gone", "nodes=host[1-3] gone");
  check(redactor, "elk[1-9]", "elk[1-9]");  // not all known
}

void users_are_renamed_but_not_inside_other_words(void**) {
  const Redactor redactor = sealed({});
  check(redactor, "user=petra (petra) petras", "user=user1 (user1) petras");
}

void addresses_are_renamed_and_loopback_is_not(void**) {
  const Redactor redactor = sealed({"10.1.2.3<4000> 127.0.0.1"});
  check(redactor, "10.1.2.3<4000>", "198.18.0.1<4000>");
  check(redactor, "127.0.0.1:1 version 1.2.3", "127.0.0.1:1 version 1.2.3");
}

void paths_keep_their_shape_endings_and_public_words(void**) {
  const char* text = "File \"/home/petra/secret_proj/train_rank_3.py\", line 7";
  const Redactor redactor = sealed({text});
  check(redactor, text, "File \"/home/user1/w2_w1/train_rank_3.py\", line 7");
  check(redactor, "at /home/petra/secret_proj", "at /home/user1/w2_w1");
}

void paths_of_public_software_stay(void**) {
  const char* texts[] = {
      "/usr/lib/x86_64-linux-gnu/libcuda.so.1",
      "/proc/driver/nvidia",
      "/dev/shm/x1",
  };
  const Redactor redactor = sealed({texts[0], texts[1], texts[2]});
  for (const char* text : texts) check(redactor, text, text);
  const char* module = "/data/envs/foo/lib/python3.10/site-packages/torch/nn/module.py";
  check(sealed({module}), module, "/data/envs/w1/lib/python3.10/site-packages/torch/nn/module.py");
}

void names_that_everybody_has_are_no_secret(void**) {
  Redactor redactor;
  redactor.learn_host("localhost");
  redactor.learn_user("root");
  redactor.seal();
  check(redactor, "root@localhost", "root@localhost");
}

void documents_are_rewritten_in_their_texts_only(void**) {
  const Redactor redactor = sealed({});
  const auto json = Json::parse(
      R"({"node":"elk1","petra":7,"gpus":{"elk2":[1,2]},"list":["elk10",null,true,2.5]})");
  assert_string_equal(redactor.apply(*json).dump().c_str(),
                      R"({"node":"host1","petra":7,"gpus":{"host2":[1,2]},)"
                      R"("list":["host3",null,true,2.5]})");
}

void any_bytes_pass(void**) {
  const Redactor redactor = sealed({"/\xff\xfe//[", "elk[", "...---/a/"});
  check(redactor, "elk[ ]", "elk[ ]");
  check(redactor, "://x //y /", "://x //y /");
  check(redactor, "", "");
}

}  // namespace

int main() {
  const CMUnitTest tests[] = {
      cmocka_unit_test(hosts_are_renamed_in_their_order_wherever_they_stand),
      cmocka_unit_test(other_interfaces_of_a_host_stay_recognisable),
      cmocka_unit_test(a_domain_goes_with_its_host),
      cmocka_unit_test(a_hostlist_of_known_hosts_is_folded_anew),
      cmocka_unit_test(users_are_renamed_but_not_inside_other_words),
      cmocka_unit_test(addresses_are_renamed_and_loopback_is_not),
      cmocka_unit_test(paths_keep_their_shape_endings_and_public_words),
      cmocka_unit_test(paths_of_public_software_stay),
      cmocka_unit_test(names_that_everybody_has_are_no_secret),
      cmocka_unit_test(documents_are_rewritten_in_their_texts_only),
      cmocka_unit_test(any_bytes_pass),
  };
  return cmocka_run_group_tests(tests, nullptr, nullptr);
}
