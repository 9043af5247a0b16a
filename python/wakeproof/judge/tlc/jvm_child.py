# SPDX-License-Identifier: Apache-2.0
"""A process that runs TLC on one configuration after another in one Java virtual machine.

Started by `wakeproof.judge.tlc.jvm` as a program, so it imports nothing of wakeproof:

    python tlc/jvm_child.py LIBJVM JAR OPTION...

It prints ``<tlc ready>``, then reads a request per line, a JSON object, and answers each with
``<tlc CODE>``, CODE being the exit code that TLC's own process would have had.  A request has:

    arguments   those of TLC
    folder      where TLC looks for the files that they name, and for modules
    output      the file for all that TLC prints, which is whole even if the process is killed
    private     a folder for what TLC writes
    fresh       whether TLC's classes are loaded anew for this request alone; others find the
                standard modules where the first of them has unpacked these, in java.io.tmpdir

TLC was written to run once in a process.  With `fresh` nothing is left of earlier requests, because
all of TLC's static fields belong to its class loader.  Without `fresh` the classes are reused, and
the static fields that are known to matter are reset.  Measurements showed that this is enough for
invariants and deadlock, and wrong for temporal formulas, which always need `fresh`.  In both cases
the caller compares each answer with the expected one.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from typing import Any

import jpype  # type: ignore[import-untyped]

STACK_BYTES = 16 * 2**20
"""Of the thread that evaluates: SHORT_JVM's -Xss counts only for threads that Java makes."""
UNSET = -1


class Tlc:
    """TLC's classes in one class loader of their own, reached by reflection only."""

    def __init__(self, jar: str) -> None:
        url = _java("java.io.File")(jar).toURI().toURL()
        platform = _java("java.lang.ClassLoader").getPlatformClassLoader()
        self._loader = _java("java.net.URLClassLoader")([url], platform)

    def reset(self) -> None:
        """Reset the static fields that the last run has changed."""
        self._field("tlc2.TLCGlobals", "mainChecker").set(None, None)
        worker = self._field("tlc2.tool.liveness.LiveWorker", "errFoundByThread")
        worker.set(None, _java("java.lang.Integer")(UNSET))
        names = self._field("util.UniqueString", "internTbl").get(None)
        field = names.getClass().getDeclaredField("table")
        field.setAccessible(True)
        set_place = self._method("util.UniqueString", "setLoc")
        for name in field.get(names):
            if name is not None:  # its place among the variables and definitions of that spec
                _invoke(set_place, name, _java("java.lang.Integer")(UNSET))

    def run(self, arguments: list[str], folder: str, printer: Any) -> int:
        """Do what `tlc2.TLC.main` does, but return the exit code instead of leaving with it."""
        thread = _java("java.lang.Thread").currentThread()
        thread.setContextClassLoader(self._loader)
        for field in ("out", "err"):
            self._field("util.ToolIO", field).set(None, printer)
        self._field("util.ToolIO", "userDir").set(None, _java("java.lang.String")(folder))
        tlc = self._new("tlc2.TLC")
        texts = jpype.JArray(jpype.JString)(arguments)
        if not _invoke(self._method("tlc2.TLC", "handleParameters"), tlc, texts):
            return 1
        resolver = self._new("util.SimpleFilenameToStream")
        _invoke(self._method("tlc2.TLC", "setResolver"), tlc, resolver)
        found = _invoke(self._method("tlc2.TLC", "process"), tlc)
        exit_code = self._method("tlc2.output.EC$ExitStatus", "errorConstantToExitStatus")
        return int(_invoke(exit_code, None, found))

    def close(self) -> None:
        """Let go of the jar."""
        self._loader.close()

    def _new(self, name: str) -> Any:
        return self._loader.loadClass(name).getConstructor().newInstance()

    def _field(self, name: str, field: str) -> Any:
        found = self._loader.loadClass(name).getDeclaredField(field)
        found.setAccessible(True)
        return found

    def _method(self, name: str, method: str) -> Any:
        """Return the method of the class `name`; none of those that are used is overloaded."""
        for found in self._loader.loadClass(name).getDeclaredMethods():
            if str(found.getName()) == method:
                found.setAccessible(True)
                return found
        raise LookupError(f"{name} has no {method}")


def _java(name: str) -> Any:
    return jpype.JClass(name)


def _invoke(method: Any, target: Any, *values: Any) -> Any:
    return method.invoke(target, jpype.JArray(jpype.JObject)(list(values)))


def answer(request: dict[str, Any], jar: str, reused: list[Tlc]) -> int:
    """Run TLC as `request` says and return its exit code."""
    system = _java("java.lang.System")
    properties = system.getProperties().clone()
    printer = _java("java.io.PrintStream")(
        _java("java.io.FileOutputStream")(request["output"]), True, "UTF-8"
    )
    system.setOut(printer)
    system.setErr(printer)
    if request["fresh"]:
        system.setProperty("java.io.tmpdir", request["private"])
        tlc = Tlc(jar)
    elif reused:
        tlc = reused[0]
        tlc.reset()
    else:
        tlc = Tlc(jar)
        reused.append(tlc)
    try:
        return tlc.run(request["arguments"], request["folder"], printer)
    finally:
        printer.close()
        system.setProperties(properties)
        _unregister()
        if request["fresh"]:
            tlc.close()


def _unregister() -> None:
    """Remove TLC's beans from the registry of the process, because the next run adds its own."""
    server = _java("java.lang.management.ManagementFactory").getPlatformMBeanServer()
    for name in server.queryNames(None, None):
        if str(name.getDomain()).startswith("tlc2"):
            server.unregisterMBean(name)


def main(library: str, jar: str, *options: str) -> None:
    """Answer requests until there are no more."""
    jpype.startJVM(library, *options, classpath=[], convertStrings=False)
    reused: list[Tlc] = []
    _say("ready")
    for line in sys.stdin:
        _say(str(answer(json.loads(line), jar, reused)))


def _say(text: str) -> None:
    os.write(1, f"<tlc {text}>\n".encode())


def _run() -> None:
    code = 1
    try:
        main(*sys.argv[1:])
        code = 0
    except BaseException as error:
        os.write(1, f"{type(error).__name__}: {error}\n".encode())
    finally:
        os._exit(code)  # not through Java's own end, which waits for its threads


if __name__ == "__main__":
    threading.stack_size(STACK_BYTES)
    thread = threading.Thread(target=_run)
    thread.start()
    thread.join()
