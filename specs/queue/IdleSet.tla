------------------------------ MODULE IdleSet ------------------------------
(***************************************************************************)
(* The bitmap of the idle members of a group, which are carriers. The      *)
(* bitmap is a hint that tells a searcher where to look for a parked       *)
(* carrier to wake. The hint may name a member that is no longer parked.   *)
(* But the bit of a member that is stably parked must be set, or no        *)
(* searcher would find this member. Stably parked means that the member    *)
(* has looked for work a second time after it parked, found none, and now  *)
(* sleeps until another thread wakes it.                                   *)
(*                                                                         *)
(* Code       kernel/queue/idle_set.h; [idle_set.1]..[idle_set.3] name     *)
(*            sites in that file.                                          *)
(* Abstracts  a member's carrier word to `parked`, which alone decides     *)
(*            whether a member sleeps (see Carrier, Search); the outcome   *)
(*            of the member's second look for work to a choice.            *)
(* Memory     sequential consistency, which the caller's fences earn.      *)
(* Promises   BitSetWhileParked, NoLostBit, ScanFindsParked.               *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets

CONSTANTS
  Count,      \* the members are 0 .. Count - 1; each of them parks, is woken and leaves, for ever
  PerWord,    \* the number of members that share a word; 64 in the code
  Searchers   \* each reads the words in order and wakes the first parked member that it finds

ASSUME SomeShareAWord == PerWord > 1 /\ Count > PerWord

VARIABLES
  bits,      \* set->words: the members whose bits are set
  member,    \* member -> its next step
  parked,    \* the members whose carrier words are PARKED
  searcher,  \* searcher -> the word that it reads next; Idle: it is not searching
  found,     \* searcher -> the members of the word just read that it has not tried yet
  through    \* ghost: searcher -> the members that have been stably parked ever since its scan
             \* began
ofMembers == <<bits, member>>
ofSearchers == <<searcher, found, through>>
vars == <<ofMembers, parked, ofSearchers>>

Members == 0 .. Count - 1
Words   == 0 .. (Count - 1) \div PerWord
Word(w) == {m \in Members : m \div PerWord = w}

\* The number past the last word: the search has found no member.
Nobody  == Cardinality(Words)
Idle    == Nobody + 1

\* The states of a member in which its last operation on its bit was an add.
HasBit  == {"recheck", "sleep", "remove"}

\* The state after the second look for work. Only another thread ends it.
Stable  == {"sleep"}

TypeOK ==
  /\ bits \subseteq Members
  /\ member \in [Members -> HasBit \cup Stable \cup {"run", "add", "exit"}]
  /\ parked \subseteq Members
  /\ searcher \in [Searchers -> 0 .. Idle]
  /\ found \in [Searchers -> SUBSET Members]
  /\ through \in [Searchers -> SUBSET Members]

Init ==
  /\ bits = {}
  /\ member = [m \in Members |-> "run"]
  /\ parked = {}
  /\ searcher = [s \in Searchers |-> Idle]
  /\ found = [s \in Searchers |-> {}]
  /\ through = [s \in Searchers |-> {}]

Goto(m, where) == member' = [member EXCEPT ![m] = where]

(* A member. *)

\* The member's carrier word becomes PARKED.
Advertise(m) ==
  /\ member[m] = "run"
  /\ parked' = parked \cup {m}
  /\ Goto(m, "add")
  /\ UNCHANGED <<bits, ofSearchers>>

\* The member sets its bit.
Add(m) ==                \* [idle_set.1] wp_idle_set_add
  /\ member[m] = "add"
  /\ bits' = bits \cup {m}
  /\ Goto(m, "recheck")
  /\ UNCHANGED <<parked, ofSearchers>>

\* The member looks for work once more, and finds none, or some.
Recheck(m) ==
  /\ member[m] = "recheck"
  /\ \/ Goto(m, "sleep")
     \/ Goto(m, "remove")
  /\ UNCHANGED <<bits, parked, ofSearchers>>

\* The member's sleep ends.
Woken(m) ==
  /\ member[m] = "sleep"
  /\ m \notin parked
  /\ Goto(m, "remove")
  /\ UNCHANGED <<bits, parked, ofSearchers>>

\* The member clears its bit.
Remove(m) ==             \* [idle_set.2] wp_idle_set_remove
  /\ member[m] = "remove"
  /\ bits' = bits \ {m}
  /\ Goto(m, "exit")
  /\ UNCHANGED <<parked, ofSearchers>>

\* The member's carrier word is exchanged to RUNNING.
Exit(m) ==
  /\ member[m] = "exit"
  /\ Goto(m, "run")
  /\ parked' = parked \ {m}
  /\ UNCHANGED <<bits, ofSearchers>>

(* A searcher. *)

\* A searcher starts a scan at the first word.
Begin(s) ==
  /\ searcher[s] = Idle
  /\ searcher' = [searcher EXCEPT ![s] = 0]
  /\ through' = [through EXCEPT ![s] = {m \in parked : member[m] \in Stable}]
  /\ UNCHANGED <<ofMembers, parked, found>>

\* The searcher reads one word, as part of a scan or in wp_idle_set_is_empty or wp_idle_set_has.
Read(s) ==               \* [idle_set.3] wp_idle_set_word
  /\ searcher[s] \in Words
  /\ found[s] = {}
  /\ found' = [found EXCEPT ![s] = bits \cap Word(searcher[s])]
  /\ searcher' = [searcher EXCEPT ![s] = @ + 1]
  /\ UNCHANGED <<ofMembers, parked, through>>

\* The searcher tries a member with one compare-and-swap on its carrier word. If the member was
\* parked, it is woken, and the search is over.
Try(s) ==
  \E m \in found[s] :
    /\ parked' = parked \ {m}
    /\ IF m \in parked
       THEN /\ searcher' = [searcher EXCEPT ![s] = Idle]
            /\ found' = [found EXCEPT ![s] = {}]
       ELSE /\ found' = [found EXCEPT ![s] = @ \ {m}]
            /\ UNCHANGED searcher
    /\ through' = [t \in Searchers |-> IF t = s /\ m \in parked THEN {} ELSE through[t] \ {m}]
    /\ UNCHANGED ofMembers

\* The scan has found no parked member, and the search ends.
End(s) ==
  /\ searcher[s] = Nobody
  /\ found[s] = {}
  /\ searcher' = [searcher EXCEPT ![s] = Idle]
  /\ through' = [through EXCEPT ![s] = {}]
  /\ UNCHANGED <<ofMembers, parked, found>>

(* What must hold. *)

\* The bit of a stably parked member is set, so a carrier that has decided to sleep can be found.
BitSetWhileParked == \A m \in Members : member[m] \in Stable => m \in bits

\* A bit has the value that its own member gave it last. Operations of other members on the same
\* word do not change it.
NoLostBit == \A m \in Members : m \in bits <=> member[m] \in HasBit

\* A scan that finds no parked member is right: no member was stably parked during the whole scan.
ScanFindsParked == \A s \in Searchers : searcher[s] = Nobody /\ found[s] = {} => through[s] = {}

Member(m) == Advertise(m) \/ Add(m) \/ Recheck(m) \/ Woken(m) \/ Remove(m) \/ Exit(m)
Searcher(s) == Begin(s) \/ Read(s) \/ Try(s) \/ End(s)
Next == (\E m \in Members : Member(m)) \/ (\E s \in Searchers : Searcher(s))
Spec == Init /\ [][Next]_vars     \* the system runs for ever: no state is an intended end
=============================================================================
