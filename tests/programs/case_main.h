/* SPDX-License-Identifier: Apache-2.0
 * case_main.h - the main of a program that has nothing but cases. */
#include "case.h"

int main(int argc, char **argv)
{
	return run_case(argc, argv);
}
