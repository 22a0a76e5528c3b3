// Command guestd runs inside the virtual machines of the test cluster. It is an SSH server that
// runs commands as root. It also replaces kube-proxy: it accepts connections at the address at
// which pods reach the API server, and forwards them to the API server on the host.
package main

import (
	"flag"
	"log"
	"net"
)

func main() {
	listen := flag.String("ssh", ":22", "address of the SSH server")
	hostKey := flag.String("host-key", "/etc/rig/ssh/host.key", "private key of the server")
	clientKey := flag.String("client-key", "/etc/rig/ssh/client.pub", "public key of the only client")
	service := flag.String("service", "10.96.0.1:443", "address at which pods reach the API server; connections to it are forwarded to -target")
	target := flag.String("target", "", "address of the API server on the host")
	flag.Parse()

	go func() { log.Fatal(forward(*service, *target)) }()
	log.Fatal(serve(*listen, *hostKey, *clientKey))
}

func serve(address, hostKeyFile, clientKeyFile string) error {
	config, err := serverConfig(hostKeyFile, clientKeyFile)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		go serveConn(c, config)
	}
}
