// Package kubelet talks to the kubelet: it reads its configuration files, serves
// its device plugin API, and queries its pod resources API.
//
// It does not know which container has which CPUs: to the kubelet, exclusive CPUs
// are anonymous tokens, counted per NUMA node. GPUs have their UUIDs.
//
//	p := kubelet.NewPublisher(kubelet.Options{Root: "/var/lib/kubelet", Sources: sources, …})
//	err := p.Run(ctx) // registers, and again after each restart of the kubelet
//
// publisher.go is the loop, session.go one run of the kubelet, server.go one
// socket, plugin.go the answers for one resource. cpus.go and gpus.go are the
// Sources of devices; gpudecide.go finds the GPUs that the controller decided on.
package kubelet
