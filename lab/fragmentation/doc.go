// Package fragmentation measures how much free GPU capacity is useless to a workload, and
// scores nodes by how little of it a placement adds.
//
// It uses FGD's measure (Weng et al., "Beware of Fragmentation: Scheduling
// GPU-Sharing Workloads with Fragmentation Gradient Descent", USENIX ATC 2023):
//
//	F(n) = Σ p(m) · f(n, m)  over the kinds m of pods, p(m) their share
//	f(n, m) = all that is free on n's cards           where m does not fit n, or asks for no GPU
//	          what is free on cards of no use to m    else
package fragmentation
