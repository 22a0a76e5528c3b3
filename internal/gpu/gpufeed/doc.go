// Package gpufeed sends a node's GPUs over a unix socket, from numalet-nvml to the
// agent and the device plugin, which must not load the driver's library themselves:
// it can crash or hang.
//
// Each line is the whole inventory in JSON, so a client needs no earlier lines. The
// server sends one after every poll of the GPUs, so a client that receives nothing
// knows that they are not monitored. Both sides are of one release, in one pod.
//
//	server.Publish(inventory)    // numalet-nvml
//	inventory := client.Latest() // the others
package gpufeed
