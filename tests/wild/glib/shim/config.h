/* SPDX-License-Identifier: Apache-2.0 */
#define HAVE_EVENTFD 1
