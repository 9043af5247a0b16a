------------------------------- MODULE Domains ------------------------------
(***************************************************************************)
(* Two steal domains of one group: two instances of Search, side by side.  *)
(* A steal domain is a set of carriers that steal only from one another.   *)
(* The two instances share no variable, because the word, the queues, the  *)
(* idle set and the token belong to a carrier or to its domain. They are   *)
(* connected by a task that runs in one domain and submits to the other:   *)
(* this task searches for a helper in the domain of the carrier that it    *)
(* submits to, as any submitter of that domain does.                       *)
(*                                                                         *)
(* Code       wp_domain in kernel/sched/search.h; kernel/sched/carrier.c   *)
(*            goes through the domain of the target carrier.               *)
(* Abstracts  what Search abstracts; each domain to one carrier in a long  *)
(*            task and one idle carrier.                                   *)
(* Memory     sequential consistency.                                      *)
(* Checked    in MCDomains, with WorkConservation of each domain.          *)
(* Promises   StealsInsideDomain (safety).                                 *)
(* TLC alone  StealsInsideDomain: a carrier reaches only its own domain,   *)
(*            so code that breaks the claim would need a pointer that does *)
(*            not exist; tests/sched/test_search_distance.py and the soak  *)
(*            run two domains on real threads.                             *)
(***************************************************************************)
EXTENDS Naturals

CONSTANTS
  Near,      \* the carriers of one domain
  NearBusy,  \* the carrier of Near that is inside a task; one more task waits in its queue
  Far,       \* the carriers of the other domain
  FarBusy    \* the carrier of Far that is inside a task; the task of NearBusy submits a task to a
             \* carrier of Far

ASSUME Apart == Near \cap Far = {} /\ NearBusy \in Near /\ FarBusy \in Far

VARIABLES
  nearWord,    \* Search's `word` of Near
  nearIdle,    \* Search's `idle` of Near
  nearToken,   \* Search's `token` of Near
  nearQueue,   \* Search's `queue` of Near
  nearInbox,   \* Search's `inbox` of Near
  nearHeld,    \* Search's `held` of Near
  nearAt,      \* Search's `at` of Near
  nearBudget,  \* Search's `budget` of Near
  farWord,     \* Search's `word` of Far
  farIdle,     \* Search's `idle` of Far
  farToken,    \* Search's `token` of Far
  farQueue,    \* Search's `queue` of Far
  farInbox,    \* Search's `inbox` of Far
  farHeld,     \* Search's `held` of Far
  farAt,       \* Search's `at` of Far
  farBudget    \* Search's `budget` of Far

near == <<nearWord, nearIdle, nearToken, nearQueue, nearInbox, nearHeld, nearAt, nearBudget>>
far == <<farWord, farIdle, farToken, farQueue, farInbox, farHeld, farAt, farBudget>>
vars == <<near, far>>

InNear == INSTANCE Search WITH
  Carriers <- Near, Submitters <- {}, Endless <- {NearBusy}, Backlog <- 1, Pinners <- {},
  Delaying <- {}, Tokens <- {"k1"},
  Spawns <- 0, Yields <- 0, word <- nearWord, idle <- nearIdle,
  token <- nearToken, queue <- nearQueue, inbox <- nearInbox, held <- nearHeld, at <- nearAt,
  budget <- nearBudget

InFar == INSTANCE Search WITH
  Carriers <- Far, Submitters <- {NearBusy}, Endless <- {FarBusy}, Backlog <- 0, Pinners <- {},
  Delaying <- {}, Tokens <- {"k1"},
  Spawns <- 0, Yields <- 0, word <- farWord, idle <- farIdle,
  token <- farToken, queue <- farQueue, inbox <- farInbox, held <- farHeld, at <- farAt,
  budget <- farBudget

Init == InNear!Init /\ InFar!Init

(* The task of NearBusy submits to Far and searches there, because the code uses the domain of the
   target carrier. *)
Next ==
  \/ InNear!Next /\ UNCHANGED far
  \/ InFar!Next /\ UNCHANGED near

Spec == Init /\ [][Next]_vars

(* What must hold. *)

\* A token is held by a carrier of its domain, or by the one that submits to it.
TypeOK ==
  /\ nearToken["k1"].who \in Near \cup {InNear!None}
  /\ farToken["k1"].who \in Far \cup {NearBusy, InFar!None}

\* The values that a carrier's word may have: a state, or a victim of the same domain.
Own(domain) == {"RUNNING", "PARKED", "WAKING"} \cup domain

\* No carrier is woken to steal from a carrier of another steal domain.
StealsInsideDomain ==
  (\A c \in Near : nearWord[c] \in Own(Near)) /\ \A c \in Far : farWord[c] \in Own(Far)

\* Search!WorkConservation holds in each domain.
WorkConservation == InNear!WorkConservation /\ InFar!WorkConservation
=============================================================================
The states are those of Near times those of Far.
