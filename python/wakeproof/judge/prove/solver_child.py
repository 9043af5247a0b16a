# SPDX-License-Identifier: Apache-2.0
"""A solver in a process of its own: ``python -m wakeproof.judge.prove.solver_child z3``.

Reads one request a line, a JSON object with a text of SMT-LIB, and writes one answer a line.  The
process is killed when the time is over, or with the command.
"""

from __future__ import annotations

import itertools
import json
import sys
import time
from collections.abc import Iterator
from typing import Any

from wakeproof.judge.prove import cvc5_proof, ground

NUMBERS = range(-1, 9)
"""The arguments of sort Int for which a counterexample says what a function is."""

MOST_ROWS = 4000
"""For how many lists of arguments a counterexample says what a function is."""

Z3_TRIES: tuple[tuple[dict[str, bool], float], ...] = (({}, 0.5), ({"smt.ematching": False}, 0.5))
"""How z3 chooses instances of quantifiers, tried in turn, and the share of the time for each.

Where terms match quantifiers without end, it finds a model only by the second, which is tried first
where a model is wanted.
"""

CVC5_TRIES: tuple[tuple[dict[str, str], float], ...] = (
    ({}, 0.3),
    ({"mbqi": "true"}, 0.2),
    ({"enum-inst": "true"}, 0.4),
    ({"finite-model-find": "true"}, 0.1),
)
"""How cvc5 chooses instances of quantifiers, tried in turn, and the share of the time for each."""


def ask_z3(text: str, timeout_ms: int, wants: str, steps: dict[str, Any]) -> dict[str, Any]:
    """Return z3's answer, with what is wanted beside it (`Solver.ask`)."""
    import z3  # type: ignore[import-untyped]

    if wants == "ground":
        return ground.recheck(text, steps, timeout_ms)
    tries = Z3_TRIES[::-1] if wants == "model" else Z3_TRIES
    for options, share in tries:
        solver = z3.Solver()
        solver.set("timeout", max(1, int(timeout_ms * share)))
        for name, value in options.items():
            solver.set(name, value)
        if wants == "core":
            for number, one in enumerate(z3.parse_smt2_string(text)):
                solver.assert_and_track(one, str(number))
        else:
            solver.from_string(text.replace("(check-sat)", ""))
        answer = str(solver.check())
        if answer == "unknown":
            continue
        found: dict[str, Any] = {"answer": answer, "by": ", ".join(options)}
        if wants == "model" and answer == "sat":
            found |= _model(z3, solver.model())
        if wants == "core" and answer == "unsat":
            found["core"] = sorted(int(str(one)) for one in solver.unsat_core())
        return found
    return {"answer": "unknown", "why": solver.reason_unknown()}


def _model(z3: Any, model: Any) -> dict[str, Any]:
    elements = {str(sort): list(model.get_universe(sort)) for sort in model.sorts()}
    universes = {sort: list(map(str, found)) for sort, found in elements.items()}
    functions: dict[str, list[list[Any]]] = {}
    for declared in model.decls():
        sorts = (str(declared.domain(at)) for at in range(declared.arity()))
        domains = (_elements(z3, elements, sort) for sort in sorts)
        rows = functions[str(declared)] = []
        for arguments in itertools.islice(itertools.product(*domains), MOST_ROWS):
            value = model.eval(declared(*arguments), model_completion=True)
            if not z3.is_const(value):
                value = model.eval(_expanded(z3, elements, value), model_completion=True)
            rows.append([[_plain(z3, one) for one in arguments], _plain(z3, value)])
    return {"universes": universes, "functions": functions}


def _elements(z3: Any, elements: dict[str, list[Any]], sort: str) -> list[Any]:
    return elements.get(sort) or [z3.IntVal(one) for one in NUMBERS]


def _expanded(z3: Any, elements: dict[str, list[Any]], value: Any) -> Any:
    """Return a value in which z3 has left quantifiers, written out over the elements."""
    if z3.is_quantifier(value):
        sorts = [str(value.var_sort(at)) for at in range(value.num_vars())]
        domains = (_elements(z3, elements, sort) for sort in sorts)
        parts = [
            _expanded(z3, elements, z3.substitute_vars(value.body(), *chosen[::-1]))
            for chosen in itertools.product(*domains)
        ]
        return z3.And(parts) if value.is_forall() else z3.Or(parts)
    parts = [_expanded(z3, elements, one) for one in value.children()]
    return value.decl()(*parts) if parts else value


def _plain(z3: Any, value: Any) -> Any:
    if z3.is_int_value(value):
        return value.as_long()
    if z3.is_true(value) or z3.is_false(value):
        return z3.is_true(value)
    return 0 if z3.is_int(value) else str(value)


def ask_cvc5(text: str, timeout_ms: int, wants: str, _: dict[str, Any]) -> dict[str, Any]:
    """Return cvc5's answer, which way of choosing instances found it, and its proof if wanted."""
    found: dict[str, Any] = {}
    for options, share in CVC5_TRIES:
        found = _cvc5(text, max(1, int(timeout_ms * share)), options, wants)
        if found["answer"] in ("sat", "unsat"):
            return found | {"by": ", ".join(options)}
    return {"answer": "unknown", "why": found["answer"]}


def _cvc5(text: str, timeout_ms: int, options: dict[str, str], wants: str) -> dict[str, Any]:
    import cvc5  # type: ignore[import-untyped]

    terms = cvc5.TermManager()  # which must outlive the solver
    solver = cvc5.Solver(terms)
    solver.setOption("tlimit-per", str(timeout_ms))
    if wants == "proof":
        solver.setOption("produce-proofs", "true")
    for name, value in options.items():
        solver.setOption(name, value)
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "obligation")
    symbols, said = parser.getSymbolManager(), ""
    while not (command := parser.nextCommand()).isNull():
        said += str(command.invoke(solver, symbols))
    found = {"answer": said.strip()}
    if wants == "proof" and found["answer"] == "unsat":
        found |= cvc5_proof.of(solver, terms)
    return found


def _requests() -> Iterator[dict[str, Any]]:
    for line in sys.stdin:
        yield json.loads(line)


def main(name: str) -> None:
    """Answer requests until there are no more."""
    ask = {"z3": ask_z3, "cvc5": ask_cvc5}[name]
    for request in _requests():
        begin = time.monotonic()
        try:
            found = ask(request["text"], request["timeout_ms"], request["wants"], request["steps"])
        except Exception as error:
            found = {"answer": "unknown", "why": f"{type(error).__name__}: {error}"}
        found["seconds"] = time.monotonic() - begin
        sys.stdout.write(json.dumps(found) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1])
