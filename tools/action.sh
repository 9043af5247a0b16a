#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What action.yml runs in its container.  The words of `files` are split and expanded as a shell does,
# so that tests/*_race.c works; none of them is run.
set -eu
# shellcheck disable=SC2086
exec wakeproof "$INPUT_COMMAND" ${INPUT_SARIF:+"--sarif=$INPUT_SARIF"} $INPUT_FILES
