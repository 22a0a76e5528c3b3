// Package fragmentation measures how much free GPU capacity is useless to a workload, and
// scores nodes by how little useless capacity a placement adds.
//
// The measure is that of FGD (Weng et al., "Beware of Fragmentation: Scheduling
// GPU-Sharing Workloads with Fragmentation Gradient Descent", USENIX ATC 2023):
//
//	F(n) = Σ p(m) · f(n, m)  over the kinds m of pods, p(m) their share
//	f(n, m) = the free capacity of all GPUs of n                 if m does not fit n, or requests no GPU
//	          the free capacity of the GPUs that m cannot use    otherwise
package fragmentation
