------------------------------ MODULE Idleset ------------------------------
(***************************************************************************)
(* The bitmap of idle members: a hint where to look for a sleeper, which   *)
(* must be set whenever a member is stably parked.                         *)
(* Code       kernel/queue/idle_set.h; [I1]..[I3] name sites in that file.        *)
(* Abstracts  a member's carrier word to `parked`, which alone decides who *)
(*            sleeps (see Carrier, Search), and its re-check to a choice.  *)
(* Memory     sequential consistency, which the caller's fences earn.      *)
(* Promises   BitSetWhileParked, NoLostBit, ScanFindsParked.               *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets

CONSTANTS
  Count,      \* members 0 .. Count - 1: each parks, is woken, leaves, for ever
  PerWord,    \* members that share a word, 64 in the code
  Searchers,  \* each reads the words in order and wakes the first parked member it finds
  Twin        \* "none", or the one defect of this model

ASSUME SomeShareAWord == PerWord > 1 /\ Count > PerWord

VARIABLES
  bits,      \* set->words: the members whose bit is set
  member,    \* member -> what it does next
  parked,    \* members whose carrier word says PARKED
  loaded,    \* twins: what a member read of its word before it stores
  searcher,  \* searcher -> the word it reads next; Idle: none
  found,     \* searcher -> members of the word just read, still to be tried
  through    \* ghost: searcher -> members stably parked ever since its scan began
vars == <<bits, member, parked, loaded, searcher, found, through>>

Members == 0 .. Count - 1
Words   == 0 .. (Count - 1) \div PerWord
Word(w) == {m \in Members : m \div PerWord = w}
Nobody  == Cardinality(Words)       \* past the last word: the answer
Idle    == Nobody + 1
Clearing == Nobody + 2              \* twin waker_clears
HasBit  == {"recheck", "sleep", "remove", "remove2"}   \* its last operation on its bit was an add
Stable  == {"sleep", "late"}        \* past the re-check: only another thread ends this

TypeOK ==
  /\ bits \subseteq Members
  /\ member \in [Members -> HasBit \cup Stable \cup {"run", "add", "add2", "early", "exit"}]
  /\ parked \subseteq Members
  /\ loaded \in [Members -> SUBSET Members]
  /\ searcher \in [Searchers -> 0 .. Clearing]
  /\ found \in [Searchers -> SUBSET Members]
  /\ through \in [Searchers -> SUBSET Members]

Init ==
  /\ bits = {} /\ parked = {}
  /\ member = [m \in Members |-> "run"]
  /\ loaded = [m \in Members |-> {}]
  /\ searcher = [s \in Searchers |-> Idle]
  /\ found = [s \in Searchers |-> {}]
  /\ through = [s \in Searchers |-> {}]

Goto(m, where) == member' = [member EXCEPT ![m] = where]
Keep(m, value) == loaded' = [loaded EXCEPT ![m] = value]
InWord(m)      == bits \cap Word(m \div PerWord)
Put(m, value)  == bits' = (bits \ Word(m \div PerWord)) \cup value

(* A member. *)
Advertise(m) ==          \* the carrier's word becomes PARKED
  /\ member[m] = "run"
  /\ parked' = parked \cup {m}
  /\ Goto(m, IF Twin = "bit_late" THEN "early" ELSE "add")
  /\ UNCHANGED <<bits, loaded, searcher, found, through>>
Add(m) ==                \* [I1] wp_idleset_add; the twin loads here and stores later
  /\ member[m] \in {"add", "late"}
  /\ IF Twin = "plain_set"
     THEN Keep(m, InWord(m)) /\ Goto(m, "add2") /\ UNCHANGED bits
     ELSE /\ bits' = bits \cup {m}
          /\ Goto(m, IF member[m] = "late" THEN "sleep" ELSE "recheck")
          /\ UNCHANGED loaded
  /\ UNCHANGED <<parked, searcher, found, through>>
AddLate(m) ==            \* twin plain_set
  /\ member[m] = "add2"
  /\ Put(m, loaded[m] \cup {m})
  /\ Keep(m, {}) /\ Goto(m, "recheck")
  /\ UNCHANGED <<parked, searcher, found, through>>
Recheck(m) ==            \* the caller's look for work: some, or none
  /\ member[m] \in {"recheck", "early"}
  /\ \/ Goto(m, IF member[m] = "early" THEN "late" ELSE "sleep")
     \/ Goto(m, IF member[m] = "early" THEN "exit" ELSE "remove")
  /\ UNCHANGED <<bits, parked, loaded, searcher, found, through>>
Woken(m) ==              \* the futex returns
  /\ member[m] = "sleep" /\ m \notin parked
  /\ Goto(m, "remove")
  /\ UNCHANGED <<bits, parked, loaded, searcher, found, through>>
Remove(m) ==             \* [I2] wp_idleset_remove; the twin loads here and stores later
  /\ member[m] = "remove"
  /\ IF Twin = "plain_clear"
     THEN Keep(m, InWord(m)) /\ Goto(m, "remove2") /\ UNCHANGED bits
     ELSE bits' = bits \ {m} /\ Goto(m, "exit") /\ UNCHANGED loaded
  /\ UNCHANGED <<parked, searcher, found, through>>
RemoveLate(m) ==         \* twin plain_clear
  /\ member[m] = "remove2"
  /\ Put(m, loaded[m] \ {m})
  /\ Keep(m, {}) /\ Goto(m, "exit")
  /\ UNCHANGED <<parked, searcher, found, through>>
Exit(m) ==               \* the carrier's word is exchanged to RUNNING
  /\ member[m] = "exit"
  /\ Goto(m, "run")
  /\ parked' = parked \ {m}
  /\ UNCHANGED <<bits, loaded, searcher, found, through>>

(* A searcher. *)
Begin(s) ==
  /\ searcher[s] = Idle
  /\ searcher' = [searcher EXCEPT ![s] = 0]
  /\ through' = [through EXCEPT ![s] = {m \in parked : member[m] \in Stable}]
  /\ UNCHANGED <<bits, member, parked, loaded, found>>
Read(s) ==               \* [I3] wp_idleset_word, and through it _is_empty and _has
  /\ searcher[s] \in Words
  /\ found[s] = {}
  /\ found' = [found EXCEPT ![s] = bits \cap Word(searcher[s])]
  /\ searcher' = [searcher EXCEPT ![s] = IF Twin = "one_word" THEN Nobody ELSE @ + 1]
  /\ UNCHANGED <<bits, member, parked, loaded, through>>
Try(s) ==                \* one compare-and-swap on a member's word: parked, woken, done
  \E m \in found[s] :
    /\ searcher[s] # Clearing
    /\ parked' = parked \ {m}
    /\ IF m \in parked /\ Twin = "waker_clears"
       THEN searcher' = [searcher EXCEPT ![s] = Clearing] /\ found' = [found EXCEPT ![s] = {m}]
       ELSE IF m \in parked
       THEN searcher' = [searcher EXCEPT ![s] = Idle] /\ found' = [found EXCEPT ![s] = {}]
       ELSE found' = [found EXCEPT ![s] = @ \ {m}] /\ UNCHANGED searcher
    /\ through' = [t \in Searchers |-> IF t = s /\ m \in parked THEN {} ELSE through[t] \ {m}]
    /\ UNCHANGED <<bits, member, loaded>>
Clear(s) ==              \* twin waker_clears: the waker tidies up after the member, and too late
  /\ searcher[s] = Clearing
  /\ bits' = bits \ found[s]
  /\ searcher' = [searcher EXCEPT ![s] = Idle]
  /\ found' = [found EXCEPT ![s] = {}]
  /\ UNCHANGED <<member, parked, loaded, through>>
End(s) ==                \* the answer is "nobody": the search ends
  /\ searcher[s] = Nobody /\ found[s] = {}
  /\ searcher' = [searcher EXCEPT ![s] = Idle]
  /\ through' = [through EXCEPT ![s] = {}]
  /\ UNCHANGED <<bits, member, parked, loaded, found>>

(* What must hold. *)
\* Whoever has made up its mind to sleep can be found.
BitSetWhileParked == \A m \in Members : member[m] \in Stable => m \in bits
\* A bit is what its member made it last: nobody else's operation on the word changes it.
NoLostBit == \A m \in Members : m \in bits <=> member[m] \in HasBit
\* "Nobody" is the answer only if nobody was stably parked all through the scan.
ScanFindsParked == \A s \in Searchers : searcher[s] = Nobody /\ found[s] = {} => through[s] = {}

Member(m) ==
  \/ Advertise(m) \/ Add(m) \/ AddLate(m) \/ Recheck(m)
  \/ Woken(m) \/ Remove(m) \/ RemoveLate(m) \/ Exit(m)
Searcher(s) == Begin(s) \/ Read(s) \/ Try(s) \/ Clear(s) \/ End(s)
Next == (\E m \in Members : Member(m)) \/ (\E s \in Searchers : Searcher(s))
Spec == Init /\ [][Next]_vars     \* runs for ever: no state is an intended end
=============================================================================
Results (TLC 2.15, two shared cores): distinct states, depth, seconds.
  MCIdleset                     11,529    32     1.7
  MCIdlesetFull              2,211,643    45   142.4
