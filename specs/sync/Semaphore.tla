------------------------------ MODULE Semaphore -----------------------------
(***************************************************************************)
(* A semaphore: threads acquire permits, some of them several at a time,   *)
(* in the order of the line. A thread takes permits without the lock only  *)
(* if no thread waits. So small requests do not starve a large one that    *)
(* waits in front of them.                                                 *)
(*                                                                         *)
(* Code       kernel/sync/semaphore.h, semaphore.c;                        *)
(*            [semaphore.1]..[semaphore.8] name sites.                     *)
(* Abstracts  waiters to OS threads (WaitQueue has virtual threads, too);  *)
(*            the lock of the list, which is the line of waiters in the    *)
(*            code, to the thread that holds it.                           *)
(* Memory     sequential consistency.                                      *)
(* Promises   PermitBalance, NoIdlePermit (safety); InOrder, Served        *)
(*            (temporal).                                                  *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS
  Threads,  \* threads; each acquires and releases for ever
  Leavers,  \* the threads that may give up while they wait
  Large,    \* the threads that acquire two permits at a time; the others acquire one
  Permits   \* the number of permits at the start

ASSUME EnoughForOne == Leavers \cup Large \subseteq Threads /\ Permits >= 2

VARIABLES
  permits, \* the number of free permits, in the semaphore's word
  queued,  \* TRUE if there is a line, in the same word
  lock,    \* the thread that holds the lock of the list, or NoOne
  line,    \* the waiters in line, in order
  pc,      \* thread -> its next step
  hand,    \* thread -> the waiters that it has taken off the line and not granted yet
  target,  \* thread -> the waiter that it has granted and is about to wake
  granted, \* the waiters whose grants are stored, until they begin to acquire again
  upto     \* ghost: thread -> the number of permits that it and those in front of it in the line
           \* want together; 0 if it is not in line
vars == <<permits, queued, lock, line, pc, hand, target, granted, upto>>

NoOne == "no one"

\* The number of permits that thread t acquires at a time.
Wants(t) == IF t \in Large THEN 2 ELSE 1
Range(s) == {s[i] : i \in 1 .. Len(s)}
Waiting == {"wait", "asleep", "back", "late", "cancel", "await"}

TypeOK ==
  /\ permits \in Nat
  /\ queued \in BOOLEAN
  /\ lock \in Threads \cup {NoOne}
  /\ line \in Seq(Threads)
  /\ pc \in [Threads -> Waiting \cup
       {"idle", "begin", "lock", "decide", "taken", "hold", "slow", "serve", "unlock", "grant",
        "wake"}]
  /\ hand \in [Threads -> Seq(Threads)]
  /\ target \in [Threads -> Threads \cup {NoOne}]
  /\ granted \subseteq Threads
  /\ upto \in [Threads -> Nat]

Init ==
  /\ permits = Permits
  /\ queued = FALSE
  /\ lock = NoOne
  /\ line = <<>>
  /\ pc = [t \in Threads |-> "idle"]
  /\ hand = [t \in Threads |-> <<>>]
  /\ target = [t \in Threads |-> NoOne]
  /\ granted = {}
  /\ upto = [t \in Threads |-> 0]

Goto(t, where) == pc' = [pc EXCEPT ![t] = where]
InLine(t) == \E i \in 1 .. Len(line) : line[i] = t
\* The line without its waiter number i.
Without(i) == [j \in 1 .. Len(line) - 1 |-> IF j < i THEN line[j] ELSE line[j + 1]]
Wakes == <<hand, target, granted>>

\* The permits that the first n waiters of a line want together, if `until` says this of each.
Together(waiting, until, n) == IF n = 0 THEN 0 ELSE until[waiting[n]]

\* The ghost, once thread t has left the line.
Left(t) ==
  [u \in Threads |-> CASE u = t -> 0
                       [] upto[u] > upto[t] -> upto[u] - Wants(t)
                       [] OTHER -> upto[u]]

\* Under the lock, the thread takes off the line the waiters that the free permits suffice for: the
\* first n. The others stay in line.
Serve(t, waiting, until, free) ==    \* [semaphore.4] [semaphore.5]
  \E n \in 0 .. Len(waiting) :
    LET taken == Together(waiting, until, n)
        rest == SubSeq(waiting, n + 1, Len(waiting))
    IN /\ taken <= free
       /\ n < Len(waiting) => until[waiting[n + 1]] > free
       /\ permits' = free - taken
       /\ queued' = (n < Len(waiting))
       /\ line' = rest
       /\ upto' = [u \in Threads |-> IF until[u] > taken THEN until[u] - taken ELSE 0]
       /\ hand' = [hand EXCEPT ![t] = SubSeq(waiting, 1, n)]
       /\ Goto(t, "unlock")
       /\ UNCHANGED <<lock, target, granted>>

(* Acquire. *)

\* A thread begins to acquire. The grant of its last wait is gone.
Begin(t) ==
  /\ pc[t] = "idle"
  /\ Goto(t, "begin")
  /\ granted' = granted \ {t}
  /\ UNCHANGED <<permits, queued, lock, line, hand, target, upto>>

\* TRUE if there are enough free permits for t, and no thread waits.
MayTake(t) ==
  /\ permits >= Wants(t)
  /\ ~queued

\* The thread takes its permits, if there are enough and no thread waits. It does so with or without
\* the lock.
Take(t) ==                    \* [semaphore.1]
  /\ pc[t] \in {"begin", "decide"}
  /\ MayTake(t)
  /\ permits' = permits - Wants(t)
  /\ Goto(t, IF pc[t] = "begin" THEN "hold" ELSE "taken")
  /\ UNCHANGED <<queued, lock, line, upto, Wakes>>

\* There are not enough free permits, or there is a line.
Miss(t) ==                    \* [semaphore.7]
  /\ pc[t] = "begin"
  /\ ~MayTake(t)
  /\ Goto(t, "lock")
  /\ UNCHANGED <<permits, queued, lock, line, upto, Wakes>>

\* The thread locks the list.
Lock(t) ==
  /\ pc[t] \in {"lock", "late", "slow"}
  /\ lock = NoOne
  /\ lock' = t
  /\ Goto(t, CASE pc[t] = "lock" -> "decide"
               [] pc[t] = "late" -> "cancel"
               [] pc[t] = "slow" -> "serve")
  /\ UNCHANGED <<permits, queued, line, upto, Wakes>>

\* The thread sets the mark that the semaphore has a line.
Mark(t) ==                    \* [semaphore.2]
  /\ pc[t] = "decide"
  /\ ~MayTake(t)
  /\ ~queued
  /\ queued' = TRUE
  /\ UNCHANGED <<permits, lock, line, upto, pc, Wakes>>

\* The thread unlocks the list. If it has to wait, it has joined the line.
Unlock(t) ==
  /\ lock' = NoOne
  /\ \/ /\ pc[t] = "decide"
        /\ queued
        /\ ~MayTake(t)
        /\ line' = Append(line, t)
        /\ upto' = [upto EXCEPT ![t] = Together(line, upto, Len(line)) + Wants(t)]
        /\ Goto(t, "wait")
     \/ /\ pc[t] = "taken"
        /\ Goto(t, "hold")
        /\ UNCHANGED <<line, upto>>
     \/ /\ pc[t] = "cancel"
        /\ ~InLine(t)
        /\ Goto(t, "await")
        /\ UNCHANGED <<line, upto>>
     \/ /\ pc[t] = "serve"
        /\ line = <<>>
        /\ Goto(t, "hold")
        /\ UNCHANGED <<line, upto>>
     \/ /\ pc[t] = "unlock"
        /\ Goto(t, IF hand[t] = <<>> THEN "idle" ELSE "grant")
        /\ UNCHANGED <<line, upto>>
  /\ UNCHANGED <<permits, queued, Wakes>>

\* The thread goes to sleep with a system call, unless its grant is already stored.
Sleep(t) ==
  /\ pc[t] = "wait"
  /\ Goto(t, IF t \in granted THEN "back" ELSE "asleep")
  /\ UNCHANGED <<permits, queued, lock, line, upto, Wakes>>

\* The sleep ends spuriously.
Stray(t) ==
  /\ pc[t] = "asleep"
  /\ Goto(t, "back")
  /\ UNCHANGED <<permits, queued, lock, line, upto, Wakes>>

\* The thread checks whether it has its grant, and sleeps again if not.
Look(t) ==                    \* [wait_queue.1]
  /\ pc[t] = "back"
  /\ Goto(t, IF t \in granted THEN "hold" ELSE "wait")
  /\ UNCHANGED <<permits, queued, lock, line, upto, Wakes>>

\* The thread's deadline passes.
TimeOut(t) ==
  /\ t \in Leavers
  /\ pc[t] = "asleep"
  /\ Goto(t, "late")
  /\ UNCHANGED <<permits, queued, lock, line, upto, Wakes>>

\* A thread that gives up leaves the line under the lock. It serves the waiters behind it, which may
\* now get their permits.
Cancel(t) ==                  \* wp__semaphore_cancel
  /\ pc[t] = "cancel"
  /\ \E i \in 1 .. Len(line) : line[i] = t /\ Serve(t, Without(i), Left(t), permits)

\* A thread that was taken off the line waits for its grant.
Await(t) ==                   \* [wait_queue.3]
  /\ pc[t] = "await"
  /\ t \in granted
  /\ Goto(t, "hold")
  /\ UNCHANGED <<permits, queued, lock, line, upto, Wakes>>

(* Release. *)

\* The fast release: no thread waits.
Release(t) ==                 \* [semaphore.3] [semaphore.8]
  /\ pc[t] = "hold"
  /\ ~queued
  /\ permits' = permits + Wants(t)
  /\ Goto(t, "idle")
  /\ UNCHANGED <<queued, lock, line, upto, Wakes>>

\* The slow release, under the lock.
Slow(t) ==                    \* [semaphore.8]
  /\ pc[t] = "hold"
  /\ queued
  /\ Goto(t, "slow")
  /\ UNCHANGED <<permits, queued, lock, line, upto, Wakes>>

\* The slow release serves the line with the permits that it gives back.
ServeLine(t) ==
  /\ pc[t] = "serve"
  /\ line # <<>>
  /\ Serve(t, line, upto, permits + Wants(t))

\* The thread stores the grant of the first waiter that it has taken off the line.
Grant(t) ==                   \* [wait_queue.2]
  /\ pc[t] = "grant"
  /\ granted' = granted \cup {Head(hand[t])}
  /\ target' = [target EXCEPT ![t] = Head(hand[t])]
  /\ hand' = [hand EXCEPT ![t] = Tail(@)]
  /\ Goto(t, "wake")
  /\ UNCHANGED <<permits, queued, lock, line, upto>>

\* The thread wakes this waiter with a system call.
Wake(t) ==
  /\ pc[t] = "wake"
  /\ target' = [target EXCEPT ![t] = NoOne]
  /\ pc' = [pc EXCEPT ![t] = IF hand[t] = <<>> THEN "idle" ELSE "grant",
                      ![target[t]] = IF @ = "asleep" THEN "back" ELSE @]
  /\ UNCHANGED <<permits, queued, lock, line, hand, granted, upto>>

Steps(t) ==
  \/ Take(t) \/ Miss(t) \/ Lock(t) \/ Mark(t) \/ Unlock(t) \/ Sleep(t) \/ Look(t) \/ Cancel(t)
  \/ Await(t) \/ Release(t) \/ Slow(t) \/ ServeLine(t) \/ Grant(t) \/ Wake(t)

Next == \E t \in Threads : Steps(t) \/ Begin(t) \/ Stray(t) \/ TimeOut(t)

\* A thread that begins to acquire, waits, or has permits goes on. A thread eventually gets the
\* lock, if the lock is free again and again.
Fairness == \A t \in Threads : WF_vars(Steps(t)) /\ SF_vars(Lock(t))
Spec == Init /\ [][Next]_vars /\ Fairness

(* What must hold. *)

\* The threads that have permits, stored or taken.
Has ==
  {t \in Threads : \/ pc[t] \in {"taken", "hold", "slow", "serve"}
                   \/ t \in granted /\ pc[t] \in Waiting}
  \cup UNION {Range(hand[t]) : t \in Threads}

\* The number of permits that the threads of a set acquire.
RECURSIVE Total(_)
Total(ts) ==
  IF ts = {}
  THEN 0
  ELSE LET t == CHOOSE x \in ts : TRUE
       IN Wants(t) + Total(ts \ {t})

\* No permit is lost or invented.
PermitBalance == permits + Total(Has) = Permits   \* [semaphore.6]

\* The ghost is what it says: for each waiter, the sum of what those up to it want.
UptoIsSum ==
  /\ \A i \in 1 .. Len(line) : upto[line[i]] = Total({line[j] : j \in 1 .. i})
  /\ \A t \in Threads : ~InLine(t) => upto[t] = 0

\* While no thread holds the lock, the free permits do not suffice for the first thread in line; and
\* if the line is empty, no thread is kept from taking free permits.
NoIdlePermit ==
  lock = NoOne =>
    IF line = <<>>
    THEN ~queued
    ELSE /\ queued
         /\ permits < Wants(Head(line))

\* Waiters get their permits in the order of the line, and no other thread takes permits while there
\* is a line.
InOrder == [][\A t \in Threads :
  /\ InLine(t) /\ t \notin Range(line') /\ pc[t] # "cancel" =>
       \A i \in 1 .. Len(line) : line[i] = t => \A j \in 1 .. i : line[j] \notin Range(line')
  /\ permits' < permits /\ pc[t] \in {"begin", "decide"} /\ pc'[t] # pc[t] => line = <<>>]_vars

\* A thread that waits and does not give up eventually gets its permits. This assumes that threads
\* release the permits that they have, and that each thread that waits for the lock gets the lock
\* eventually.
Served == \A t \in Threads \ Leavers : InLine(t) ~> pc[t] = "hold"

(* The inductive invariant. NoIdlePermit and InOrder follow from it for any number of threads.     *)
(* PermitBalance does not: it is about a sum over a set of threads, which is outside the logic     *)
(* that the solvers decide.                                                                        *)

\* What the variables hold.
IndTypes == lock \in Threads \cup {NoOne}

Locked == {"decide", "taken", "cancel", "serve", "unlock"}
\* A thread between its lock and its unlock holds the lock.
LockHasOwner == \A t \in Threads : pc[t] \in Locked <=> lock = t

\* Each waiter is in line once.
LineIsOnce == \A i, j \in 1 .. Len(line) : line[i] = line[j] => i = j

\* The line is of threads that wait.
LineWaits == \A i \in 1 .. Len(line) : line[i] \in Threads /\ pc[line[i]] \in Waiting

\* The ghost grows along the line, by what each waiter wants.
UptoGrows ==
  /\ Len(line) > 0 => upto[line[1]] = Wants(line[1])
  /\ \A i \in 1 .. Len(line) : i > 1 => upto[line[i]] = upto[line[i - 1]] + Wants(line[i])
  /\ \A i, j \in 1 .. Len(line) : i < j => upto[line[i]] < upto[line[j]]

\* A thread that is in line, or in a hand, has no grant yet. It is in one place, and there once.
HandHasOthers ==
  /\ \A i \in 1 .. Len(line) : line[i] \notin granted
  /\ \A t \in Threads : \A i \in 1 .. Len(hand[t]) :
       /\ hand[t][i] \in Threads
       /\ pc[hand[t][i]] \in Waiting
       /\ hand[t][i] \notin granted
       /\ ~InLine(hand[t][i])
HandIsOnce ==
  \A t, u \in Threads : \A i \in 1 .. Len(hand[t]), j \in 1 .. Len(hand[u]) :
    hand[t][i] = hand[u][j] => t = u /\ i = j

\* The grant of a thread is gone before it joins the line again.
GrantIsGone ==
  \A t \in Threads : pc[t] \in {"begin", "lock", "decide", "taken"} => t \notin granted

\* A thread that is about to grant has a waiter in its hand, and one that wakes has granted.
GrantsSomebody ==
  \A t \in Threads :
    /\ pc[t] = "grant" => hand[t] # <<>>
    /\ pc[t] = "wake" => target[t] \in Threads

\* The mark is set if a thread is in line, and else only by a thread that is about to join.
MarkHasLine ==
  /\ line # <<>> => queued
  /\ queued => line # <<>> \/ \E t \in Threads : pc[t] = "decide"

\* A thread that has set the mark and is about to join finds too few free permits.
MarkedMustWait ==
  queued /\ line = <<>> => \A t \in Threads : pc[t] = "decide" => permits < Wants(t)

\* While there is a line, the free permits do not suffice for the first thread in it.
FirstMustWait == line # <<>> => permits < Wants(line[1])

IndInv ==
  /\ IndTypes
  /\ LockHasOwner
  /\ LineIsOnce
  /\ LineWaits
  /\ UptoGrows
  /\ HandHasOthers
  /\ HandIsOnce
  /\ GrantIsGone
  /\ GrantsSomebody
  /\ MarkHasLine
  /\ MarkedMustWait
  /\ FirstMustWait
=============================================================================
