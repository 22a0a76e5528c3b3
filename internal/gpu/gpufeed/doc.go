// Package gpufeed hands a node's GPUs from the one process that asks the driver to
// those that pin containers and answer the kubelet, over a unix socket: these
// must not load the driver's library, which may crash or hang.
//
// A line is the whole inventory in JSON, and there is one after every look at
// the GPUs, so a reader needs no memory of earlier lines, and silence says that
// nobody looks any more. Both sides are of one release: they are in one pod.
//
//	server.Publish(inventory)  // numalet-nvml
//	inventory := client.Latest() // the others
package gpufeed
