# The C library: `make lib` builds build/lib/libwakeproof.{a,so} and the headers <wakeproof/...> in
# build/lib/include; `make install` copies them, with wakeproof.pc and what CMake's find_package reads.
# Nothing but a compiler, binutils and Python 3.11 is needed: no environment is made.

PREFIX ?= /usr/local
DESTDIR ?=
LIB_OUT   := build/lib
LIB_VERSION = $(shell sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
# While the major version is 0, the minor version is a part of the name: docs/guide/versions.md.
LIB_SONAME = libwakeproof.so.$(shell echo $(LIB_VERSION) | sed 's/^\(0\.[0-9]*\|[1-9][0-9]*\)\..*/\1/')
# Virtual threads run this code: a frame must not skip the guard of its stack.
LIB_FLAGS  = -std=c11 -O2 -g -Wall -Wextra -pthread -fPIC -fvisibility=hidden -fstack-clash-protection
# GCC optimizes the library as a whole, together with a program that links libwakeproof.a. A file that
# has a variable of the OS thread stays apart: a virtual thread may go on in another OS thread, so the
# functions that read such a variable must stay calls.
LIB_LTO = $(eval LIB_LTO := $$(LIB_LTO_OF_GCC))$(LIB_LTO)
LIB_LTO_OF_GCC = $(if $(shell $(CC) -dM -E -x c /dev/null | grep __clang__),,-flto=auto -ffat-lto-objects)
LIB_APART := $(shell grep -rlw _Thread_local kernel --include=*.c)
# Files go through the kernel's io_uring if there is a liburing new enough.
LIB_URING = $(eval LIB_URING := $$(LIB_HAS_URING))$(LIB_URING)
LIB_HAS_URING = $(if $(WAKEPROOF_NO_URING),,$(shell printf '\043include <liburing.h>\nint main(void) \
	{ io_uring_prep_cancel64(0, 0, 0); return 0; }' | $(CC) -x c - -luring -o /dev/null 2>/dev/null && echo 1))
LIB_LIBS   = -pthread$(if $(LIB_URING), -luring)
LIB_FILES := $(shell find kernel -name "*.[cS]")
LIB_HEADERS := $(shell find kernel -name "*.h")
LIB_OBJECTS := $(patsubst kernel/%,$(LIB_OUT)/o/%.o,$(LIB_FILES)) $(LIB_OUT)/o/inlines.o
LIB_FILLED = sed -e 's|@PREFIX@|$(PREFIX)|g' -e 's|@VERSION@|$(LIB_VERSION)|g' -e 's|@LIBS@|$(LIB_LIBS)|g' \
	-e 's|@SONAME@|$(LIB_SONAME)|g'

.PHONY: lib install interface abidiff

lib: $(LIB_OUT)/libwakeproof.a $(LIB_OUT)/$(LIB_SONAME) $(LIB_OUT)/include/wakeproof/wakeproof.h ## Build the C library, static and shared, and its headers, into build/lib

install: lib ## Install the C library  [PREFIX=/usr/local] [DESTDIR=]
	$(Q)install -d $(DESTDIR)$(PREFIX)/include/wakeproof $(DESTDIR)$(PREFIX)/lib/pkgconfig \
	  $(DESTDIR)$(PREFIX)/lib/cmake/wakeproof
	$(Q)install -m 644 $(LIB_OUT)/include/wakeproof/*.h $(DESTDIR)$(PREFIX)/include/wakeproof
	$(Q)install -m 644 $(LIB_OUT)/libwakeproof.a $(DESTDIR)$(PREFIX)/lib
	$(Q)install -m 755 $(LIB_OUT)/$(LIB_SONAME) $(DESTDIR)$(PREFIX)/lib
	$(Q)ln -sf $(LIB_SONAME) $(DESTDIR)$(PREFIX)/lib/libwakeproof.so
	$(Q)$(LIB_FILLED) tools/library/wakeproof.pc.in >$(DESTDIR)$(PREFIX)/lib/pkgconfig/wakeproof.pc
	$(Q)for name in wakeproofConfig wakeproofConfigVersion; do $(LIB_FILLED) tools/library/$$name.cmake.in \
	  >$(DESTDIR)$(PREFIX)/lib/cmake/wakeproof/$$name.cmake; done

interface: ## Write the list of public C declarations anew: review its diff
	$(Q)$(PYTHON) tools/public_headers.py --list >tools/library/interface.txt

# Debian: apt install abigail-tools. Types that no public header has may change.
abidiff: lib ## Compare the C library with that of an older revision, binary for binary  [OLD=REVISION]
	$(Q)rm -rf build/abi && mkdir -p build/abi
	$(Q)git archive $(or $(OLD),HEAD) | tar -x -C build/abi
	$(Q)$(MAKE) -s -C build/abi lib
	$(Q)abidiff --headers-dir1 build/abi/$(LIB_OUT)/include --headers-dir2 $(LIB_OUT)/include \
	  build/abi/$(LIB_OUT)/libwakeproof.so.?* $(LIB_OUT)/$(LIB_SONAME)

$(LIB_OUT)/o/%.o: kernel/%
	@mkdir -p $(@D)
	$(Q)$(CC) $(LIB_FLAGS) $(if $(filter $<,$(LIB_APART)),,$(LIB_LTO)) $(if $(LIB_URING),-DWP_URING) $(CFLAGS) \
	  -Ikernel -MMD -MP -c $< -o $@

# An empty WP_INLINE gives the inline functions symbols; those that are public are exported.
$(LIB_OUT)/o/inlines.o: $(LIB_HEADERS) tools/library/rules.mk
	@mkdir -p $(@D)
	$(Q)grep -l WP_API_INLINE $(filter-out kernel/base/api.h,$(LIB_HEADERS)) | sed 's|^kernel/\(.*\)|#include "\1"|' | \
	  $(CC) $(LIB_FLAGS) $(CFLAGS) -DWP_INLINE= -Ikernel -x c -c - -o $@

$(LIB_OUT)/libwakeproof.a: $(LIB_OBJECTS)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(LIB_OUT)/$(LIB_SONAME): $(LIB_OBJECTS)
	$(Q)$(CC) -shared -Wl,-soname,$(LIB_SONAME) -Wl,-z,defs $(CFLAGS) $(LDFLAGS) $^ $(LIB_LIBS) -o $@

$(LIB_OUT)/include/wakeproof/wakeproof.h: $(LIB_HEADERS) tools/public_headers.py pyproject.toml
	$(Q)$(PYTHON) tools/public_headers.py $(@D)

-include $(shell find $(LIB_OUT)/o -name "*.d" 2>/dev/null)
