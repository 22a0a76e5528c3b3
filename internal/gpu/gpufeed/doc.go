// Package gpufeed sends a node's GPUs over a unix socket from numalet-nvml to the agent
// and the device plugin. These two must not load the library of NVIDIA's driver
// themselves, because it can crash or hang.
//
// On the socket, each line is the whole inventory in JSON, so a client needs no earlier
// lines. The server sends a line after every poll of the GPUs. A client that receives
// no lines for some time knows that the GPUs are not monitored.
//
//	server.Publish(inventory)    // numalet-nvml
//	inventory := client.Latest() // the agent and the device plugin
package gpufeed
