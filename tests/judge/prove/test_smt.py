# SPDX-License-Identifier: Apache-2.0
"""Terms fold, share and print alike."""

from __future__ import annotations

from wakeproof.judge.prove import smt, values
from wakeproof.judge.prove.smt import BOOL, INT, TEXT, THREAD, Printer

P = smt.symbol("p", BOOL)
Q = smt.symbol("q", BOOL)
N = smt.symbol("n", INT)


def text(*formulas: smt.Term) -> str:
    printer = Printer()
    printer.add(formulas)
    return printer.text()


def test_terms_with_the_same_content_are_one_object() -> None:
    assert smt.conjunction((P, Q)) is smt.conjunction((P, smt.conjunction((Q, P))))


def test_connectives_fold_what_is_constant() -> None:
    assert smt.conjunction((P, smt.FALSE)) is smt.FALSE
    assert smt.disjunction((P, smt.FALSE)) is P
    assert smt.implication(smt.FALSE, P) is smt.TRUE
    assert smt.negation(smt.negation(P)) is P
    assert smt.choice(P, smt.TRUE, Q) is smt.disjunction((P, Q))
    assert smt.arithmetic("+", smt.integer(2), smt.integer(3)) is smt.integer(5)


def test_sums_with_numbers_are_one_sum() -> None:
    one = smt.integer(1)
    assert smt.arithmetic("+", smt.arithmetic("-", N, one), one) is N


def test_a_variable_moves_so_that_the_least_place_is_the_variable_itself() -> None:
    at = smt.bound("at", INT)

    def formula(first: int, second: int) -> smt.Term:
        one, other = (
            smt.symbol("f", INT, (smt.arithmetic("+", at, smt.integer(number)),))
            for number in (first, second)
        )
        return smt.quantified("forall", at, smt.equal(one, other), None)

    assert formula(1, 2) is formula(0, 1)
    assert formula(1, 1) is formula(0, 0)
    assert formula(1, 3) is not formula(0, 1)


def test_a_string_takes_the_sort_of_the_other_side() -> None:
    where = smt.symbol("where", TEXT)
    who = smt.symbol("who", THREAD)
    assert smt.equal(where, smt.string("idle")).arguments[1].sort == TEXT
    assert smt.equal(smt.string("poller"), who).arguments[0].sort == THREAD
    assert smt.equal(smt.string("a"), smt.string("b")) is smt.FALSE
    assert smt.equal(who, N) is smt.FALSE  # no thread is a number


def test_a_text_does_not_depend_on_what_was_translated_before() -> None:
    def made() -> str:
        some = values.skolem(THREAD, "t")
        variable = values.fresh(THREAD)
        body = smt.equal(variable, some)
        return text(smt.quantified("exists", variable, body, None))

    first = made()
    values.fresh(INT)
    assert made() == first


def test_a_copied_printer_goes_on_where_the_first_has_got_to() -> None:
    start = Printer()
    start.add([P])
    for formula in (Q, smt.negation(P)):
        printer = start.copy()
        printer.add([formula])
        assert printer.text() == text(P, formula)


def test_strings_of_one_sort_are_distinct() -> None:
    where = smt.symbol("where", TEXT)
    found = text(smt.disjunction(smt.equal(where, smt.string(one)) for one in ("a", "b")))
    assert "(distinct |Text a| |Text b|)" in found


def test_equal_sets_are_seen_without_a_quantifier() -> None:
    is_in = lambda one: smt.symbol("Threads", BOOL, (one,))  # noqa: E731
    assert values.same_set(values.whole(THREAD, is_in), values.whole(THREAD, is_in)) is smt.TRUE


def test_a_cardinality_is_exact_for_at_most_one_and_unknown_for_more() -> None:
    found = values.whole(THREAD, lambda one: smt.symbol("Threads", BOOL, (one,)))
    count = values.Count((found,), smt.integer(0))
    none = values.compare("=", count, smt.integer(0))
    assert none is smt.negation(none.arguments[0])
    two = values.compare("<=", count, N)
    assert any(one.op == "made" and one.name.startswith("count") for one in smt.subterms([two]))
