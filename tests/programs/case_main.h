/* SPDX-License-Identifier: Apache-2.0
 * case_main.h - the main function of a program that consists of cases. */
#include "case.h"

int main(int argc, char **argv)
{
	return run_case(argc, argv);
}
