// Package lab is the laboratory: it runs the controller's engine on traces and on a
// virtual clock, without a cluster, and no product code depends on it but the tool
// numalet, which has its commands (lab/commands).
//
//	fragmentation   how much free GPU capacity is useless to a workload; a policy that minimizes it
//	replay          the pods of a trace, one after the other
//	virtual         work that arrives, runs and ends on a virtual clock
//	fairness        who gets how much over weeks, and whether large pods starve
//	openb           the format of Alibaba's GPU trace
//	openbcheck      an independent program that checks placements and full GPUs
package lab
