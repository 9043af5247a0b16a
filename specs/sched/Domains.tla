------------------------------- MODULE Domains ------------------------------
(***************************************************************************)
(* Two steal domains of one group: Search, twice.  They share no variable, *)
(* for word, queues, idle set and token belong to a carrier or its domain. *)
(* What joins them is a task that runs in one and submits to the other:    *)
(* it searches for a helper in the domain of the carrier that it submits   *)
(* to, as any submitter of that domain does.                               *)
(* Code       wp_domain in kernel/sched/search.h; kernel/sched/carrier.c goes through  *)
(*            the domain of the carrier that is submitted to.              *)
(* Abstracts  what Search does; a domain to a carrier in a long task and   *)
(*            an idle one.                                                 *)
(* Memory     sequential consistency.                                      *)
(* Checked    in MCDomains: WorkConservation of each as well.              *)
(* Promises   StealsInsideDomain (safety).                                 *)
(* TLC alone  StealsInsideDomain: a carrier reaches its own domain alone,  *)
(*            so code that breaks it would need a pointer that is not      *)
(*            there; tests/sched/test_search_distance.py and the soak run two on  *)
(*            real threads.                                                *)
(***************************************************************************)
EXTENDS Naturals

CONSTANTS
  Near, NearBusy,  \* a domain, and who of it is inside a task; one more task waits behind that
  Far, FarBusy     \* the other; the task of NearBusy submits one to a carrier of it

ASSUME Apart == Near \cap Far = {} /\ NearBusy \in Near /\ FarBusy \in Far

VARIABLES
  nearWord, nearIdle, nearToken, nearQueue, nearInbox, nearHeld, nearAt, nearBudget,
  farWord, farIdle, farToken, farQueue, farInbox, farHeld, farAt, farBudget
near == <<nearWord, nearIdle, nearToken, nearQueue, nearInbox, nearHeld, nearAt, nearBudget>>
far == <<farWord, farIdle, farToken, farQueue, farInbox, farHeld, farAt, farBudget>>
vars == <<near, far>>

InNear == INSTANCE Search WITH
  Carriers <- Near, Submitters <- {}, Endless <- {NearBusy}, Backlog <- 1, Pinners <- {},
  Spawns <- 0, Yields <- 0, word <- nearWord, idle <- nearIdle,
  token <- nearToken, queue <- nearQueue, inbox <- nearInbox, held <- nearHeld, at <- nearAt,
  budget <- nearBudget
InFar == INSTANCE Search WITH
  Carriers <- Far, Submitters <- {NearBusy}, Endless <- {FarBusy}, Backlog <- 0, Pinners <- {},
  Spawns <- 0, Yields <- 0, word <- farWord, idle <- farIdle,
  token <- farToken, queue <- farQueue, inbox <- farInbox, held <- farHeld, at <- farAt,
  budget <- farBudget

Init == InNear!Init /\ InFar!Init

(* The task of NearBusy submits to Far, and searches there: wp_carrier.domain of its target. *)
Next ==
  \/ InNear!Next /\ UNCHANGED far
  \/ InFar!Next /\ UNCHANGED near
Spec == Init /\ [][Next]_vars

(* What must hold. *)
TypeOK == nearToken \in {0, 1} /\ farToken \in {0, 1}
\* Nobody is sent to a carrier of another domain.
Own(domain) == {"RUNNING", "PARKED", "WAKING"} \cup domain
\* Nobody is sent to a carrier of another steal domain.
StealsInsideDomain ==
  (\A c \in Near : nearWord[c] \in Own(Near)) /\ \A c \in Far : farWord[c] \in Own(Far)
WorkConservation == InNear!WorkConservation /\ InFar!WorkConservation
=============================================================================
The states are those of Near times those of Far.
