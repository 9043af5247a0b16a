# Builds the examples in C into build/examples, or with SAN=address, SAN=thread into
# build/examples-SAN: each kernel source, llhttp's and the example's own become objects there.

EXAMPLES     := backend echo_server
EXAMPLES_OUT := build/examples$(if $(SAN),-$(SAN))
LLHTTP       := build/llhttp
SAN_address  := -fsanitize=address,undefined -fno-sanitize-recover=all
SAN_thread   := -fsanitize=thread
# Virtual threads run this code: a frame must not skip the guard of its stack.
EXAMPLES_FLAGS = -std=c11 -O2 -g -pthread -fstack-clash-protection $(SAN_$(SAN))
EXAMPLES_WARN  = -Wall -Wextra -Wpedantic -Wshadow -Wconversion
EXAMPLES_INC   = -Ikernel -Iexamples -isystem $(LLHTTP)/include

EXAMPLES_KERNEL := $(patsubst kernel/%,$(EXAMPLES_OUT)/kernel/%.o,$(shell find kernel -name "*.[cS]"))
EXAMPLES_LLHTTP := $(addprefix $(EXAMPLES_OUT)/llhttp/,api.o http.o llhttp.o)
EXAMPLES_SHARED := $(addprefix $(EXAMPLES_OUT)/,http.o options.o serve.o connection.o)

EXAMPLES_ECHO   := $(addprefix $(EXAMPLES_OUT)/,upstream.o echo_handlers.o echo_modes.o \
		echo_accept.o echo_reactive.o reactive_client.o reactive_line.o \
		echo_strategy_server.o strategy_server_selector.o strategy_server_client.o \
		strategy_server_line.o)

examples: $(addprefix $(EXAMPLES_OUT)/,$(EXAMPLES)) ## Build the HTTP examples in C  [SAN=address|thread]

$(LLHTTP)/pin.txt: requirements.txt | venv
	$(Q)$(BIN)/python tools/llhttp.py
	@touch $@

$(LLHTTP)/src/%.c: $(LLHTTP)/pin.txt ;

$(EXAMPLES_OUT)/llhttp/%.o: $(LLHTTP)/src/%.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(EXAMPLES_FLAGS) -I$(LLHTTP)/include -c $< -o $@

$(EXAMPLES_OUT)/kernel/%.o: kernel/%
	@mkdir -p $(@D)
	$(Q)$(CC) $(EXAMPLES_FLAGS) $(CFLAGS) -Ikernel -MMD -MP -c $< -o $@

$(EXAMPLES_OUT)/%.o: examples/%.c $(LLHTTP)/pin.txt
	@mkdir -p $(@D)
	$(Q)$(CC) $(EXAMPLES_FLAGS) $(EXAMPLES_WARN) $(CFLAGS) $(EXAMPLES_INC) -MMD -MP -c $< -o $@

$(EXAMPLES_OUT)/echo_server: $(EXAMPLES_ECHO)

$(addprefix $(EXAMPLES_OUT)/,$(EXAMPLES)): %: %.o $(EXAMPLES_SHARED) $(EXAMPLES_LLHTTP) $(EXAMPLES_KERNEL)
	$(Q)$(CC) $(EXAMPLES_FLAGS) $^ -o $@

FUZZ_WRAPS := wp_io_new wp_io_free wp_io_read wp_io_write http_write

fuzz-http: $(LLHTTP)/pin.txt ## Fuzz the HTTP examples for a minute, by libFuzzer (clang)  [S=SECONDS]
	@mkdir -p build/fuzz-http/corpus
	$(Q)clang -std=gnu11 -g -O1 -w -DLIBFUZZER -fsanitize=fuzzer,address,undefined \
	  -fno-sanitize-recover=all -pthread -Ikernel -Iexamples -I$(LLHTTP)/include \
	  $(FUZZ_WRAPS:%=-Wl,--wrap=%) tests/programs/examples/http_fuzz.c examples/http.c examples/connection.c \
	  $(LLHTTP)/src/*.c $$(find kernel -name "*.[cS]") -o build/fuzz-http/fuzz
	$(Q)build/fuzz-http/fuzz -max_total_time=$(or $(S),60) -max_len=16384 -print_final_stats=1 \
	  -artifact_prefix=build/fuzz-http/ build/fuzz-http/corpus tests/corpus/http

soak-http: venv ## Open 10,000 connections to each HTTP example, in each of its builds
	$(Q)WAKEPROOF_CONNECTIONS=10000 $(BIN)/python -m pytest -q -rP tests/examples/test_http_faults.py -k many

-include $(wildcard $(EXAMPLES_OUT)/*.d $(EXAMPLES_OUT)/kernel/*/*.d $(EXAMPLES_OUT)/kernel/*/*/*.d)
