/* SPDX-License-Identifier: Apache-2.0
 * blkdev.h - a header of newer kernels, of which the program needs nothing. */
#define BLOCK_URING_CMD_DISCARD 0
