// Package lab contains the simulations. They run the controller's scheduling engine on
// traces and on a virtual clock, without a cluster. Only the tool numalet uses them, for the
// commands in lab/commands.
//
//	fragmentation   measures how much free GPU capacity the pods of a workload cannot use
//	replay          schedules the pods of a trace, one after the other
//	virtual         schedules pods that arrive, run and end, on a virtual clock
//	fairness        measures how users share a cluster over weeks, and whether large pods starve
//	forecast        measures how well the controller predicts when pods start
//	openb           reads Alibaba's GPU trace, and writes the placements of a simulation
//	openbcheck      is a separate program that checks the placements of a simulation
package lab
