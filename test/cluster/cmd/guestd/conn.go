package main

import (
	"bytes"
	"errors"
	"fmt"
	"log"
	"net"
	"os"

	"golang.org/x/crypto/ssh"
)

// serverConfig returns the configuration of an SSH server that accepts only one client key.
func serverConfig(hostKeyFile, clientKeyFile string) (*ssh.ServerConfig, error) {
	private, err := os.ReadFile(hostKeyFile)
	if err != nil {
		return nil, err
	}
	signer, err := ssh.ParsePrivateKey(private)
	if err != nil {
		return nil, fmt.Errorf("parse host key %s: %w", hostKeyFile, err)
	}
	line, err := os.ReadFile(clientKeyFile)
	if err != nil {
		return nil, err
	}
	client, _, _, _, err := ssh.ParseAuthorizedKey(line)
	if err != nil {
		return nil, fmt.Errorf("parse client key %s: %w", clientKeyFile, err)
	}
	config := &ssh.ServerConfig{PublicKeyCallback: onlyKey(client)}
	config.AddHostKey(signer)
	return config, nil
}

func onlyKey(want ssh.PublicKey) func(ssh.ConnMetadata, ssh.PublicKey) (*ssh.Permissions, error) {
	return func(_ ssh.ConnMetadata, got ssh.PublicKey) (*ssh.Permissions, error) {
		if !bytes.Equal(got.Marshal(), want.Marshal()) {
			return nil, errors.New("unknown key")
		}
		return nil, nil
	}
}

func serveConn(c net.Conn, config *ssh.ServerConfig) {
	defer c.Close()
	_, channels, requests, err := ssh.NewServerConn(c, config)
	if err != nil {
		log.Printf("greet %s: %v", c.RemoteAddr(), err)
		return
	}
	go ssh.DiscardRequests(requests)
	for offer := range channels {
		if offer.ChannelType() != "session" {
			_ = offer.Reject(ssh.UnknownChannelType, "only sessions are served")
			continue
		}
		channel, requests, err := offer.Accept()
		if err != nil {
			return
		}
		go serveSession(channel, requests)
	}
}
