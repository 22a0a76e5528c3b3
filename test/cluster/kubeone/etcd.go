package main

import (
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/embed"
)

// newEtcdCommand returns the command that runs etcd with a single member. The command never calls
// fsync. The state can then be lost if the host crashes, but nobody needs the state of a test
// cluster after a crash.
func newEtcdCommand() *cobra.Command {
	var dir, client, peer string
	c := &cobra.Command{
		Use:  "etcd",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return serveEtcd(dir, client, peer) },
	}
	c.Flags().StringVar(&dir, "data-dir", "", "directory of the store")
	c.Flags().StringVar(&client, "client-url", "http://127.0.0.1:2379", "where clients connect")
	c.Flags().StringVar(&peer, "peer-url", "http://127.0.0.1:2380", "where peers would connect")
	return c
}

func serveEtcd(dir, client, peer string) error {
	clientURL, err := url.Parse(client)
	if err != nil {
		return fmt.Errorf("parse --client-url: %w", err)
	}
	peerURL, err := url.Parse(peer)
	if err != nil {
		return fmt.Errorf("parse --peer-url: %w", err)
	}
	cfg := embed.NewConfig()
	cfg.Dir, cfg.LogLevel, cfg.UnsafeNoFsync = dir, "warn", true
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{*clientURL}, []url.URL{*clientURL}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{*peerURL}, []url.URL{*peerURL}
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	e, err := embed.StartEtcd(cfg)
	if err != nil {
		return fmt.Errorf("start etcd in %s: %w", dir, err)
	}
	defer e.Close()
	return untilSignal(e.Err())
}

func untilSignal(failed <-chan error) error {
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, os.Interrupt)
	select {
	case <-stop:
		return nil
	case err := <-failed:
		return fmt.Errorf("serve etcd: %w", err)
	}
}
