// Package kubelet talks to the kubelet: it reads the configuration files of the
// kubelet, serves the device plugin API, and queries the pod resources API.
//
// The package does not know which container has which CPUs. To the kubelet, exclusive CPUs are
// anonymous devices of a NUMA node, called tokens. The kubelet allocates one token to a container
// for each CPU that the container requests. The device ID of a GPU is the GPU's UUID, and the
// device ID of a share of a GPU is UUID::NUMBER.
//
//	p := kubelet.NewPublisher(kubelet.Options{Root: "/var/lib/kubelet", Sources: sources, …})
//	err := p.Run(ctx) // registers, and registers again after each restart of the kubelet
//
// publisher.go has the loop that runs one session after another. session.go runs one session, which
// lasts until all resources must be registered again. server.go serves one socket, and plugin.go
// answers the kubelet's calls for one resource. cpus.go and gpus.go are the Sources of devices.
// gpudecide.go finds the GPUs that the controller chose for a container.
package kubelet
