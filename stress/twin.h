/* SPDX-License-Identifier: Apache-2.0
 * twin.h - a twin is the same source with one named defect: it shows that a check can fail.
 *
 * wp_twin(guard_no_fence) is 1 where the file is compiled with -DWP_TWIN_guard_no_fence=1, else the
 * constant 0. The product is built without any such flag, so no twin leaves a trace in it.
 *
 * Why it works  A flag with the value 1 expands to a comma, which shifts the 1 into second place;
 *               without the flag, 0 is in that place.
 * Spec          each twin with a spec form is MC<Concept>_<defect> in a table of specs/.
 * Evidence      tests/judge/test_twins.py: every twin named in kernel/ is declared in stress/, and
 *               no twin is set in the product. */
#ifndef WP_TWIN_H
#define WP_TWIN_H

#define wp_twin(name) WP__TWIN_IS(WP_TWIN_##name)
#define WP__TWIN_IS(value) WP__TWIN_MARK(value)
#define WP__TWIN_MARK(value) WP__TWIN_COMMA(WP__TWIN_MARK_##value)
#define WP__TWIN_COMMA(mark) WP__TWIN_SECOND(mark 1, 0, 0)
#define WP__TWIN_SECOND(ignored, value, ...) value
#define WP__TWIN_MARK_1 0,

#endif
