# SPDX-License-Identifier: Apache-2.0
# One make, no recursion. configure writes config.mk; every rule is here.
#
#   make              build everything
#   make check        build and run all tests (CTESTFLAGS='-R base -V' picks some, JOBS=4)
#   make check-threads  only the tests that have threads (for the thread sanitizer)
#   make install      DESTDIR and prefix are honoured
#   make uninstall    remove what install put there
#   make lint         formatting, clang-tidy, scripts, man pages, licences, spelling
#   make lint-quick   the same without clang-tidy
#   make layering     who includes whom
#   make bench        build and run the benchmarks (BENCH=NAME picks one)
#   make fuzz         fuzz with clang: FUZZ=NAME picks a target, FUZZ_SECONDS=60 each
#   make dist         release tarball
#   make distcheck    unpack it read-only, build beside it, check, install
#   make clean        remove what make built; distclean: what configure wrote, too
#   make help         list the targets
#
#   make V=1          show the commands

-include config.mk
ifndef srcdir
$(error config.mk is missing. Run ./configure first; in a git clone, run autoconf before it)
endif

MAKEFLAGS += --no-builtin-rules
.SUFFIXES:
.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: all check check-threads tests install uninstall clean distclean dist distcheck lint lint-quick \
        tidy layering bench fuzz fuzz-run help
all:

V ?= 0
quiet = $(if $(filter 0,$(V)),@printf '  %-5s %s\n' '$(1)' '$(2)';)

# ---- flags -----------------------------------------------------------------
WARN := -Wall -Wextra -Wshadow -Wvla -Wformat=2 $(WERROR)
# g++ 12 takes every assignment of a short literal to a string for an overlap (GCC bug 105651).
WARN += $(if $(findstring clang,$(CXX)),,-Wno-restrict)
SAN  := $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer)
SAN  += $(COVERAGE)
# _FORTIFY_SOURCE wants an optimiser, and gets in the way of a sanitizer.
optimised := $(if $(filter -O0,$(CXXFLAGS)),,$(filter -O%,$(CXXFLAGS)))
FORTIFY := $(if $(SANITIZE),,$(if $(optimised),-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2))

lib_cflags := $(sort $(JSON_CFLAGS)) $(CURL_CFLAGS) $(SQLITE_CFLAGS) $(INIH_CFLAGS) $(MHD_CFLAGS) $(GNUTLS_CFLAGS) \
  $(PCRE2_CFLAGS) $(FMT_CFLAGS) $(SPDLOG_CFLAGS) $(CLI11_CFLAGS) $(RAPIDJSON_CFLAGS) \
  $(ISAL_CFLAGS) $(ZSTD_CFLAGS) $(ZLIB_CFLAGS) $(MD_CFLAGS) $(CAP_CFLAGS) $(TOML_CFLAGS) $(SYSTEMD_CFLAGS)

common_flags = $(WARN) $(HARDEN) -MMD -MP -I$(srcdir) $(CPPFLAGS)
cxx_flags = -std=c++20 $(common_flags) -Wnon-virtual-dtor -fPIE $(FORTIFY) $(SAN) $(CXXFLAGS) $(lib_cflags)
c_flags   = -std=c11 $(common_flags) -D_GNU_SOURCE -fPIE $(FORTIFY) $(SAN) $(CFLAGS)
# What runs inside slurmstepd or in an epilog is never sanitized: its host is not.
plain_fortify := $(if $(optimised),-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
plain_cxx_flags = -std=c++20 $(common_flags) -Wnon-virtual-dtor -fPIC $(plain_fortify) $(CXXFLAGS) \
  $(SLURM_CPPFLAGS)
plain_c_flags   = -std=c11 $(common_flags) -D_GNU_SOURCE -fPIC $(plain_fortify) $(CFLAGS)

# Every program names all libraries and carries only those that it uses.
libs := -Wl,--as-needed $(FMT_LIBS) $(SPDLOG_LIBS) $(JSON_LIBS) $(CURL_LIBS) $(SQLITE_LIBS) $(INIH_LIBS) \
  $(MHD_LIBS) $(GNUTLS_LIBS) $(PCRE2_LIBS) $(ISAL_LIBS) $(ZSTD_LIBS) $(ZLIB_LIBS) $(MD_LIBS) $(CAP_LIBS) $(TOML_LIBS) -pthread
link = $(CXX) $(SAN) -pie -Wl,-z,relro,-z,now $(LDFLAGS)

# ---- sources: a new file in these folders needs no line here ---------------
src = $(sort $(patsubst $(srcdir)/%,%,$(wildcard $(addprefix $(srcdir)/,$(1)))))
obj = $(patsubst %.cc,obj/%.o,$(filter %.cc,$(1))) $(patsubst %.c,obj/%.o,$(filter %.c,$(1)))
plain_obj = $(patsubst obj/%,obj/plain/%,$(call obj,$(1)))

wire_src    := $(call src,common/wire/*.c)
base_src    := $(call src,common/base/*.cc)
model_src   := $(call src,common/model/*.cc)
pack_tool_main := common/engine/compile_packs.cc
engine_src  := $(filter-out common/engine/rules/% $(pack_tool_main),$(call src,common/engine/*.cc common/engine/*/*.cc))
packs       := $(call src,common/engine/rules/*.toml)
epilog_main := $(call src,epilog/main_*.cc)
epilog_src  := $(filter-out $(epilog_main),$(call src,epilog/*.cc epilog/eca/*.cc epilog/log/*.cc \
                 epilog/metric/*.cc epilog/auth/*.cc epilog/output/*.cc epilog/queue/*.cc))
handoff_src := $(call src,epilog/handoff/*.c)
service_main := $(call src,service/main.cc)
service_src := $(filter-out $(service_main),$(call src,service/*.cc))
web_main    := $(call src,service/web/main.cc)
web_src     := $(filter-out $(web_main),$(call src,service/web/*.cc))
spank_src   := $(call src,spank/*.cc)

test_src    := $(call src,tests/test_*.cc)
test_sh     := $(call src,tests/test_*.sh tests/slurm/test_*.sh)
support_src := $(call src,tests/support/*.cc)
fuzz_src    := $(call src,tests/fuzz/fuzz_*.cc)
bench_src   := $(call src,tests/bench/bench_*.cc)
bench_sh    := $(call src,tests/bench/bench_*.sh)
man_src     := $(call src,man/*.[1578])

# epilog/main_kueue_recorder.cc becomes obj/nvab-kueue-recorder.
epilog_bin  := $(foreach m,$(epilog_main),obj/nvab-$(subst _,-,$(patsubst main_%.cc,%,$(notdir $(m)))))
service_bin := $(if $(service_main),obj/nvab-service)
web_bin     := $(if $(web_main),obj/nvab-web)
handoff_bin := $(if $(handoff_src),obj/nvab-handoff)
plugin      := $(if $(spank_src),obj/attribution.so)
tests       := $(patsubst %.cc,obj/%,$(test_src))
fuzz_tests  := $(patsubst %.cc,obj/%,$(fuzz_src))
benches     := $(patsubst %.cc,obj/%,$(bench_src))

# make cannot see that a wildcard lost a file; each list changes when its set does.
archives := wire base model engine epilog service web spank support
test_list_src := $(test_src) $(test_sh) $(fuzz_src)
pack_list_src := $(packs)
lists := $(archives) test_list pack_list
differ = $(or $(subst <$(strip $(2))>,,<$(strip $(1))>),$(if $(wildcard $(3)),,missing))
$(shell mkdir -p obj)
$(foreach l,$(lists),$(if $(call differ,$($(l)_src),$(file <obj/$(l).list),obj/$(l).list),\
  $(file >obj/$(l).list,$($(l)_src))))
obj/%.list: ;

common_libs := obj/libengine.a obj/libmodel.a obj/libbase.a obj/libwire.a

all: $(common_libs) $(epilog_bin) $(service_bin) $(web_bin) $(handoff_bin) $(plugin)

# ---- compile ---------------------------------------------------------------
obj/plain/%.o: $(srcdir)/%.cc config.mk $(srcdir)/Makefile
	@mkdir -p $(@D)
	$(call quiet,CXX,$<)$(CXX) $(plain_cxx_flags) -c -o $@ $<

obj/plain/%.o: $(srcdir)/%.c config.mk $(srcdir)/Makefile
	@mkdir -p $(@D)
	$(call quiet,CC,$<)$(CC) $(plain_c_flags) -c -o $@ $<

obj/%.o: $(srcdir)/%.cc config.mk $(srcdir)/Makefile
	@mkdir -p $(@D)
	$(call quiet,CXX,$<)$(CXX) $(cxx_flags) $(extra) -c -o $@ $<

obj/%.o: $(srcdir)/%.c config.mk $(srcdir)/Makefile
	@mkdir -p $(@D)
	$(call quiet,CC,$<)$(CC) $(c_flags) -c -o $@ $<

obj/spank/%.o: extra = $(SLURM_CPPFLAGS)
obj/tests/%.o: extra = $(CMOCKA_CFLAGS) $(SLURM_CPPFLAGS)
# Paths and the version are compiled into this one file.
obj/common/base/build_info.o: extra = -DNVAB_VERSION='"$(VERSION)"' -DNVAB_SYSCONFDIR='"$(sysconfdir)/nvab"' \
  -DNVAB_LIBEXECDIR='"$(libexecdir)/nvab"' -DNVAB_STATEDIR='"$(localstatedir)/lib/nvab"' \
  -DNVAB_DATADIR='"$(datadir)/nvab"' -DNVAB_CHARTLIBRARY='"$(chart_library)"'

# The rule packs, as data: their text, and the image that programs load.
pack_tool := obj/compile_packs
obj/libpack_tool.a: $(call obj,$(engine_src)) obj/engine.list
	$(call quiet,AR,$@)rm -f $@ && $(AR) rcs $@ $(filter %.o,$^)
$(pack_tool): $(call obj,$(pack_tool_main)) obj/libpack_tool.a obj/libmodel.a obj/libbase.a
	$(call quiet,LD,$@)$(link) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(libs)
obj/gen/rules.image: $(pack_tool) $(addprefix $(srcdir)/,$(packs)) obj/pack_list.list
	@mkdir -p $(@D)
	$(call quiet,GEN,$@)$(pack_tool) $@ $(addprefix $(srcdir)/,$(packs))
obj/gen/builtin_packs.cc: obj/gen/rules.image $(srcdir)/common/engine/embed_packs.sh
	$(call quiet,GEN,$@)sh $(srcdir)/common/engine/embed_packs.sh obj/gen/rules.image $(addprefix $(srcdir)/,$(packs)) > $@
obj/gen/%.o: obj/gen/%.cc config.mk $(srcdir)/Makefile
	$(call quiet,CXX,$<)$(CXX) $(cxx_flags) -c -o $@ $<
obj/gen/builtin_packs.o: $(addprefix $(srcdir)/,$(packs))

# ---- archives and programs ----------------------------------------------------
# Archives are rebuilt whole: `ar r` alone would keep a deleted file's object.
define archive_rule
obj/lib$(1).a: $(call obj,$($(1)_src)) $(2) obj/$(1).list
	$$(call quiet,AR,$$@)rm -f $$@ && $$(AR) rcs $$@ $$(filter %.o,$$^)
endef
$(foreach a,$(filter-out engine,$(archives)),$(eval $(call archive_rule,$(a))))
$(eval $(call archive_rule,engine,obj/gen/builtin_packs.o))

$(epilog_bin): obj/libepilog.a $(common_libs)
	$(call quiet,LD,$@)$(link) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(libs)
$(foreach m,$(epilog_main),$(eval obj/nvab-$(subst _,-,$(patsubst main_%.cc,%,$(notdir $(m)))): $(call obj,$(m))))

$(service_bin): $(call obj,$(service_main)) obj/libservice.a $(common_libs)
	$(call quiet,LD,$@)$(link) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(libs)

$(web_bin): $(call obj,$(web_main)) obj/libweb.a obj/libservice.a $(common_libs)
	$(call quiet,LD,$@)$(link) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(libs)

# Static and libc only: it must start in a millisecond on a node in any state.
$(handoff_bin): $(call plain_obj,$(handoff_src) $(wire_src)) obj/wire.list
	$(call quiet,LD,$@)$(CC) -static-pie -Wl,-z,relro,-z,now -Wl,--gc-sections $(LDFLAGS) -o $@ $(filter %.o,$^)

# The plugin is loaded into other people's processes: it carries its own C++
# runtime, exports only what spank.map names, and needs nothing but libc.
spank_map := $(call src,spank/spank.map)
$(plugin): $(call plain_obj,$(spank_src) $(wire_src)) $(addprefix $(srcdir)/,$(spank_map)) obj/spank.list obj/wire.list
	$(call quiet,SO,$@)$(CXX) -shared -static-libstdc++ -static-libgcc -Wl,-z,relro,-z,now $(LDFLAGS) \
	  $(if $(spank_map),-Wl$(,)--version-script=$(srcdir)/$(spank_map)) -o $@ $(filter %.o,$^)
, := ,

# ---- tests ---------------------------------------------------------------------
# Everything a test may look at, in link order.
test_libs := obj/libsupport.a obj/libepilog.a obj/libweb.a obj/libservice.a obj/libspank.a $(common_libs)

$(tests): obj/tests/%: obj/tests/%.o $(test_libs)
	$(call quiet,LD,$@)$(link) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(libs) $(CMOCKA_LIBS)

$(benches): obj/tests/bench/%: obj/tests/bench/%.o $(test_libs)
	$(call quiet,LD,$@)$(link) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(libs)

# A build with --enable-sanitizers=fuzzer-no-link,... (clang) gets libFuzzer;
# every other one gets a driver that replays the stored inputs.
libfuzzer := $(findstring fuzzer-no-link,$(SANITIZE))
$(fuzz_tests): obj/tests/fuzz/%: obj/tests/fuzz/%.o $(if $(libfuzzer),,obj/tests/fuzz/driver.o) $(test_libs)
	$(call quiet,LD,$@)$(link) $(if $(libfuzzer),-fsanitize=fuzzer) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(libs)

# A line "ctest: WORD..." in a test's head says more about it (see the script).
CTestTestfile.cmake: obj/test_list.list $(addprefix $(srcdir)/,$(test_list_src)) config.mk $(srcdir)/Makefile \
                     $(srcdir)/tests/ctest_list.sh
	$(call quiet,GEN,$@)sh $(srcdir)/tests/ctest_list.sh $(abspath $(srcdir)) $(CURDIR) $(test_list_src) > $@

# Stands in for slurmstepd: exports the spank_* functions, and loads the plugin.
spank_host := $(patsubst %.c,obj/%,$(call src,tests/spank_host.c))
obj/plain/tests/%.o: plain_c_flags += $(SLURM_CPPFLAGS)
$(spank_host): obj/%: obj/plain/%.o
	$(call quiet,LD,$@)mkdir -p $(@D) && $(CC) $(LDFLAGS) -rdynamic -o $@ $< -ldl

tests: $(tests) $(fuzz_tests) $(spank_host)
run_ctest = $(CTEST) --output-on-failure --no-tests=error -j $(or $(JOBS),$(shell nproc))
check: all tests CTestTestfile.cmake
	@test "$(CTEST)" != no || { echo "ctest not found (Debian: cmake)"; exit 1; }
	$(run_ctest) $(CTESTFLAGS)

threaded := $(if $(test_src)$(test_sh),$(shell cd $(srcdir) && grep -lE '^(//|\#) ctest:.* threads' $(test_src) $(test_sh)))
check-threads: all $(patsubst %.cc,obj/%,$(filter %.cc,$(threaded))) CTestTestfile.cmake
	$(if $(threaded),$(run_ctest) -L threads $(CTESTFLAGS),@echo 'no test says "ctest: threads"')

bench: all $(benches)
	@for b in $(patsubst %,$(CURDIR)/%,$(benches)) $(addprefix $(abspath $(srcdir))/,$(bench_sh)); do \
	  case $$b in *bench_$(or $(BENCH),*)*) ;; *) continue ;; esac; \
	  echo "== $$(basename $$b)"; \
	  SRCDIR=$(abspath $(srcdir)) BUILDDIR=$(CURDIR) $$b || exit 1; \
	done

# ---- install --------------------------------------------------------------------
# Units name the programs where they will be, and a completion is found by its program's name.
units       := $(addprefix obj/system/,$(notdir $(call src,$(foreach d,epilog service,$(d)/system/*.service $(d)/system/*.timer))))
programs    := $(notdir $(epilog_bin) $(service_bin) $(web_bin))
completions := $(addprefix obj/completions/,$(programs))
fill_in      = @mkdir -p $(@D) && sed 's|@bindir@|$(bindir)|; s|@sbindir@|$(sbindir)|' $< > $@
obj/system/%: $(srcdir)/epilog/system/% config.mk
	$(fill_in)
obj/system/%: $(srcdir)/service/system/% config.mk
	$(fill_in)
$(completions): $(srcdir)/epilog/completions/nvab.bash
	@mkdir -p $(@D) && cp $< $@
all: $(units) $(completions)

INSTALL ?= install
# DESTINATION:MODE:FILE, one word each; uninstall reads the same list.
install_list = \
  $(foreach f,$(epilog_bin),$(bindir):755:$(f)) \
  $(foreach f,$(service_bin) $(web_bin),$(sbindir):755:$(f)) \
  $(foreach f,$(handoff_bin) $(addprefix $(srcdir)/,$(call src,epilog/nvab-epilog epilog/nvab-epilogctld epilog/nvab-jobcomp)), \
    $(libexecdir)/nvab:755:$(f)) \
  $(foreach f,$(plugin),$(slurmlibdir):755:$(f)) \
  $(foreach f,$(addprefix $(srcdir)/,$(call src,epilog/examples/* service/examples/*)),$(sysconfdir)/nvab/examples:644:$(f)) \
  $(foreach f,$(call src,service/web/page/*),$(datadir)/nvab/web:644:$(srcdir)/$(f)) \
  $(foreach f,$(units),$(unitdir):644:$(f)) \
  $(foreach d,sysusers.d tmpfiles.d,$(foreach f,$(call src,epilog/system/$(d)/*),$(prefix)/lib/$(d):644:$(srcdir)/$(f))) \
  $(foreach f,$(call src,service/system/logrotate.d/*),$(sysconfdir)/logrotate.d:644:$(srcdir)/$(f)) \
  $(foreach f,$(completions),$(datadir)/bash-completion/completions:644:$(f)) \
  $(datadir)/zsh/site-functions:644:$(srcdir)/epilog/completions/_nvab \
  $(foreach f,$(man_src),$(mandir)/man$(subst .,,$(suffix $(f))):644:$(srcdir)/$(f))
word1 = $(word 1,$(subst :, ,$(1)))
word2 = $(word 2,$(subst :, ,$(1)))
word3 = $(word 3,$(subst :, ,$(1)))

install: all
	@set -e; $(foreach i,$(install_list),\
	  echo '  INST  $(DESTDIR)$(call word1,$(i))/$(notdir $(call word3,$(i)))'; \
	  $(INSTALL) -d '$(DESTDIR)$(call word1,$(i))'; \
	  $(INSTALL) -m $(call word2,$(i)) $(call word3,$(i)) '$(DESTDIR)$(call word1,$(i))/';)

uninstall:
	@$(foreach i,$(install_list),rm -f '$(DESTDIR)$(call word1,$(i))/$(notdir $(call word3,$(i)))';) \
	for dir in $(libexecdir)/nvab $(sysconfdir)/nvab/examples $(sysconfdir)/nvab; do \
	  rmdir "$(DESTDIR)$$dir" 2>/dev/null || true; \
	done

# ---- checks on the source ---------------------------------------------------------
layering:
	SRCDIR=$(abspath $(srcdir)) sh $(srcdir)/tests/test_layering.sh

lint: lint-quick tidy
lint-quick:
	cd $(srcdir) && sh tests/lint.sh

# clang-tidy takes seconds a file, so a file is looked at again only when its
# object was: the stamp depends on it. `make -j2 tidy` uses both cores.
tidied := $(filter-out obj/gen/%,$(patsubst obj/%.o,obj/tidy/%.ok,$(call obj,$(foreach a, \
  $(filter-out support,$(archives)),$($(a)_src)) $(epilog_main) $(service_main) $(web_main) $(handoff_src))))
tidy: $(tidied)
$(tidied): $(srcdir)/.clang-tidy
obj/tidy/%.ok: $(srcdir)/%.cc obj/%.o
	@mkdir -p $(@D)
	$(call quiet,TIDY,$<)cd $(srcdir) && clang-tidy --quiet $*.cc -- -std=c++20 -I. $(CPPFLAGS) $(lib_cflags) \
	  $(SLURM_CPPFLAGS) -DNVAB_VERSION='""' -DNVAB_SYSCONFDIR='""' -DNVAB_LIBEXECDIR='""' -DNVAB_STATEDIR='""' -DNVAB_DATADIR='""' -DNVAB_CHARTLIBRARY='""' \
	  2>$(CURDIR)/$(@:.ok=.log) || { cat $(CURDIR)/$(@:.ok=.log); exit 1; }
	@touch $@
obj/tidy/%.ok: $(srcdir)/%.c obj/%.o
	@mkdir -p $(@D)
	$(call quiet,TIDY,$<)cd $(srcdir) && clang-tidy --quiet $*.c -- -std=c11 -D_GNU_SOURCE -I. $(CPPFLAGS) \
	  2>$(CURDIR)/$(@:.ok=.log) || { cat $(CURDIR)/$(@:.ok=.log); exit 1; }
	@touch $@

# ---- fuzzing ------------------------------------------------------------------------
# Coverage has to be compiled into everything, hence a build folder of its own.
# New inputs and crashes stay there; copy the interesting ones to tests/fuzz/corpus/NAME.
FUZZ_SECONDS ?= 60
fuzz:
	@mkdir -p build-fuzz
	cd build-fuzz && { test -f config.mk || $(abspath $(srcdir))/configure CC="$(filter ccache,$(CC)) clang" \
	  CXX="$(filter ccache,$(CXX)) clang++" --enable-sanitizers=address,undefined,fuzzer-no-link; }
	$(MAKE) -C build-fuzz fuzz-run

fuzz-run: $(fuzz_tests)
	@test -n "$(libfuzzer)" || { echo "this build has no libFuzzer; 'make fuzz' makes one that has"; exit 1; }
	@set -e; for target in $(fuzz_tests); do \
	  name=$${target##*/fuzz_}; \
	  case "$(FUZZ)" in ''|"$$name") ;; *) continue ;; esac; \
	  mkdir -p corpus/$$name; stored=$(srcdir)/tests/fuzz/corpus/$$name; \
	  echo "== fuzz $$name for $(FUZZ_SECONDS) s"; \
	  $$target -max_total_time=$(FUZZ_SECONDS) -timeout=20 -rss_limit_mb=4096 -print_final_stats=1 \
	    -artifact_prefix=crash-$$name- corpus/$$name $$(test -d $$stored && echo $$stored) || \
	    { echo "the input that failed is in $(CURDIR)/crash-$$name-*"; exit 1; }; \
	done

# ---- release ----------------------------------------------------------------------
distname := $(PACKAGE)-$(VERSION)
dist: $(srcdir)/configure
	@cd $(srcdir) && git rev-parse --git-dir >/dev/null 2>&1 || { echo "make dist needs a git clone: git lists the files"; exit 1; }
	rm -rf $(distname) && mkdir $(distname)
	cd $(srcdir) && { git ls-files -z; printf 'configure\0'; } | sort -zu \
	  | tar --null -T - -cf - | tar -xf - -C $(CURDIR)/$(distname)
	tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$$(cd $(srcdir) && git log -1 --format=%ct)" \
	  -cf - $(distname) | gzip -9n > $(distname).tar.gz
	rm -rf $(distname)

# The cluster tests have run in `make check`; here they would only cost minutes.
DISTCHECK_CTESTFLAGS ?= -LE slurm
distcheck: dist
	test ! -d distcheck.d || chmod -R u+w distcheck.d
	rm -rf distcheck.d && mkdir -p distcheck.d/build
	tar -xzf $(distname).tar.gz -C distcheck.d
	chmod -R a-w distcheck.d/$(distname)
	cd distcheck.d/$(distname) && find . | sort > ../before
	cd distcheck.d/build && ../$(distname)/configure --prefix=/usr CC="$(CC)" CXX="$(CXX)" $(DISTCHECK_CONFIGURE)
	$(MAKE) -C distcheck.d/build check CTESTFLAGS="$(DISTCHECK_CTESTFLAGS)"
	$(MAKE) -C distcheck.d/build install DESTDIR=$(CURDIR)/distcheck.d/root
	$(MAKE) -C distcheck.d/build uninstall DESTDIR=$(CURDIR)/distcheck.d/root
	@left=$$(find distcheck.d/root ! -type d); test -z "$$left" || { echo "uninstall left: $$left"; exit 1; }
	$(MAKE) -C distcheck.d/build distclean
	@cd distcheck.d/$(distname) && find . | sort | diff ../before - || { echo "the build wrote into the source tree"; exit 1; }
	@left=$$(find distcheck.d/build -mindepth 1); test -z "$$left" || { echo "distclean left: $$left"; exit 1; }
	chmod -R u+w distcheck.d && rm -rf distcheck.d
	@echo "$(distname).tar.gz is ready"

clean:
	rm -rf obj Testing CTestTestfile.cmake
distclean: clean
	rm -f config.mk config.status config.log config.args
	$(if $(filter-out .,$(srcdir)),rm -f Makefile)

help:
	@sed -n 's/^#   make/  make/p' $(srcdir)/Makefile

# ---- configure keeps itself up to date -----------------------------------------------
config.mk: $(srcdir)/config.mk.in config.status
	./config.status config.mk
config.status: $(srcdir)/configure
	./config.status --recheck
$(srcdir)/configure: $(srcdir)/configure.ac
	cd $(srcdir) && autoconf

all_obj := $(call obj,$(foreach a,$(archives),$($(a)_src)) $(pack_tool_main) $(epilog_main) $(service_main) $(web_main) \
             $(test_src) $(fuzz_src) tests/fuzz/driver.cc $(bench_src)) \
           $(call plain_obj,$(spank_src) $(wire_src) $(handoff_src) tests/spank_host.c) obj/gen/builtin_packs.o
-include $(patsubst %.o,%.d,$(all_obj))
