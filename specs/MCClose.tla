------------------------------ MODULE MCClose -------------------------------
(* Bounds for Close.  Those who cancel are interchangeable; so are those who wait, by how long. *)
EXTENDS Close, TLC

Symmetry == Permutations(Cancellers) \cup Permutations(Patient) \cup Permutations(Closers \ (Cancellers \cup Patient)) \cup Permutations(Tasks)
=============================================================================
