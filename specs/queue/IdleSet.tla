------------------------------ MODULE IdleSet ------------------------------
(***************************************************************************)
(* The bitmap of idle members: a hint where to look for a sleeper, which   *)
(* must be set whenever a member is stably parked.                         *)
(* Code       kernel/queue/idle_set.h; [idle_set.1]..[idle_set.3] name     *)
(*            sites in that file.                                          *)
(* Abstracts  a member's carrier word to `parked`, which alone decides who *)
(*            sleeps (see Carrier, Search), and its re-check to a choice.  *)
(* Memory     sequential consistency, which the caller's fences earn.      *)
(* Promises   BitSetWhileParked, NoLostBit, ScanFindsParked.               *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets

CONSTANTS
  Count,      \* members 0 .. Count - 1: each parks, is woken, leaves, for ever
  PerWord,    \* members that share a word, 64 in the code
  Searchers   \* each reads the words in order and wakes the first parked member it finds

ASSUME SomeShareAWord == PerWord > 1 /\ Count > PerWord

VARIABLES
  bits,      \* set->words: the members whose bit is set
  member,    \* member -> what it does next
  parked,    \* members whose carrier word says PARKED
  searcher,  \* searcher -> the word it reads next; Idle: none
  found,     \* searcher -> members of the word just read, still to be tried
  through    \* ghost: searcher -> members stably parked ever since its scan began
ofMembers == <<bits, member>>
ofSearchers == <<searcher, found, through>>
vars == <<ofMembers, parked, ofSearchers>>

Members == 0 .. Count - 1
Words   == 0 .. (Count - 1) \div PerWord
Word(w) == {m \in Members : m \div PerWord = w}
Nobody  == Cardinality(Words)       \* past the last word: the answer
Idle    == Nobody + 1
HasBit  == {"recheck", "sleep", "remove"}   \* its last operation on its bit was an add
Stable  == {"sleep"}                \* past the re-check: only another thread ends this

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
Advertise(m) ==          \* the carrier's word becomes PARKED
  /\ member[m] = "run"
  /\ parked' = parked \cup {m}
  /\ Goto(m, "add")
  /\ UNCHANGED <<bits, ofSearchers>>
Add(m) ==                \* [idle_set.1] wp_idle_set_add
  /\ member[m] = "add"
  /\ bits' = bits \cup {m}
  /\ Goto(m, "recheck")
  /\ UNCHANGED <<parked, ofSearchers>>
Recheck(m) ==            \* the caller's look for work: none, or some
  /\ member[m] = "recheck"
  /\ \/ Goto(m, "sleep")
     \/ Goto(m, "remove")
  /\ UNCHANGED <<bits, parked, ofSearchers>>
Woken(m) ==              \* the futex returns
  /\ member[m] = "sleep"
  /\ m \notin parked
  /\ Goto(m, "remove")
  /\ UNCHANGED <<bits, parked, ofSearchers>>
Remove(m) ==             \* [idle_set.2] wp_idle_set_remove
  /\ member[m] = "remove"
  /\ bits' = bits \ {m}
  /\ Goto(m, "exit")
  /\ UNCHANGED <<parked, ofSearchers>>
Exit(m) ==               \* the carrier's word is exchanged to RUNNING
  /\ member[m] = "exit"
  /\ Goto(m, "run")
  /\ parked' = parked \ {m}
  /\ UNCHANGED <<bits, ofSearchers>>

(* A searcher. *)
Begin(s) ==
  /\ searcher[s] = Idle
  /\ searcher' = [searcher EXCEPT ![s] = 0]
  /\ through' = [through EXCEPT ![s] = {m \in parked : member[m] \in Stable}]
  /\ UNCHANGED <<ofMembers, parked, found>>
Read(s) ==               \* [idle_set.3] wp_idle_set_word, and through it _is_empty and _has
  /\ searcher[s] \in Words
  /\ found[s] = {}
  /\ found' = [found EXCEPT ![s] = bits \cap Word(searcher[s])]
  /\ searcher' = [searcher EXCEPT ![s] = @ + 1]
  /\ UNCHANGED <<ofMembers, parked, through>>
Try(s) ==                \* one compare-and-swap on a member's word: parked, woken, done
  \E m \in found[s] :
    /\ parked' = parked \ {m}
    /\ IF m \in parked
       THEN /\ searcher' = [searcher EXCEPT ![s] = Idle]
            /\ found' = [found EXCEPT ![s] = {}]
       ELSE /\ found' = [found EXCEPT ![s] = @ \ {m}]
            /\ UNCHANGED searcher
    /\ through' = [t \in Searchers |-> IF t = s /\ m \in parked THEN {} ELSE through[t] \ {m}]
    /\ UNCHANGED ofMembers
End(s) ==                \* the answer is "nobody": the search ends
  /\ searcher[s] = Nobody
  /\ found[s] = {}
  /\ searcher' = [searcher EXCEPT ![s] = Idle]
  /\ through' = [through EXCEPT ![s] = {}]
  /\ UNCHANGED <<ofMembers, parked, found>>

(* What must hold. *)
\* A stably parked carrier has its bit set: whoever has made up its mind to sleep can be found.
BitSetWhileParked == \A m \in Members : member[m] \in Stable => m \in bits
\* A bit is what its member made it last: nobody else's operation on the word changes it.
NoLostBit == \A m \in Members : m \in bits <=> member[m] \in HasBit
\* A scan finds nobody only if nobody was stably parked all through it, in any word.
ScanFindsParked == \A s \in Searchers : searcher[s] = Nobody /\ found[s] = {} => through[s] = {}

Member(m) == Advertise(m) \/ Add(m) \/ Recheck(m) \/ Woken(m) \/ Remove(m) \/ Exit(m)
Searcher(s) == Begin(s) \/ Read(s) \/ Try(s) \/ End(s)
Next == (\E m \in Members : Member(m)) \/ (\E s \in Searchers : Searcher(s))
Spec == Init /\ [][Next]_vars     \* runs for ever: no state is an intended end
=============================================================================
