// Command rig builds and starts a test cluster. Its control plane is real, and its nodes are QEMU
// virtual machines with several NUMA nodes. Command rig also runs commands in these machines. See
// README.md in the module's directory.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"github.com/numalet/numalet/test/cluster/internal/build"
	"github.com/numalet/numalet/test/cluster/internal/machine"
	"github.com/numalet/numalet/test/cluster/internal/rig"
)

var usage = `usage: rig COMMAND [--flavour ` + machine.Names("|") + `] [--kubernetes 1.NN] [--containerd 2.N] [ARGS...]

  build             build what is missing, for the named flavour or else for all
  up                start the control plane and a node, and wait until it is Ready
  down              stop everything; one machine if a flavour is named
  status            what runs
  env               shell lines that set KUBECONFIG and PATH
  shell [CMD...]    run a command in the machine; a shell if none is given
  cp FILE PATH      copy a file into the machine
  load IMAGE.tar    import an image archive into the machine's container runtime
  logs [WHAT]       console, containerd, crio, kubelet, guestd or journal; the console by default
  reboot [--hard]   restart the machine and wait until the node is Ready
  plane up NAME     start only etcd and kube-apiserver, without nodes; also: plane env, plane down

Without --kubernetes and --containerd, the environment variables KUBERNETES and CONTAINERD name
the versions. Without these variables, they are the default versions (internal/build/versions.go).
`

// call holds the flags and arguments of one run of a rig command.
type call struct {
	rig     *rig.Rig
	flavour machine.Flavour
	named   bool // whether the user named a flavour, that is, a kind of virtual machine
	hard    bool
	args    []string
}

// exitStatus is an error that rig does not print. rig exits with the error's value: the exit status
// of a command that failed in the machine, or 2 for wrong usage.
type exitStatus int

func (s exitStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := run(ctx, os.Args[1:])
	var status exitStatus
	switch {
	case err == nil:
	case errors.As(err, &status):
		os.Exit(int(status))
	default:
		fmt.Fprintln(os.Stderr, "rig:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	commands := map[string]func(context.Context, call) error{
		"build": buildAll, "up": up, "down": down, "status": status, "env": env,
		"shell": shell, "cp": cp, "load": load, "logs": logs, "reboot": reboot, "plane": plane,
	}
	if len(args) == 0 || commands[args[0]] == nil {
		fmt.Fprint(os.Stderr, usage)
		return exitStatus(2)
	}
	c, err := parse(args[0], args[1:])
	if err != nil {
		return err
	}
	return commands[args[0]](ctx, c)
}

func parse(name string, args []string) (call, error) {
	flags := flag.NewFlagSet("rig "+name, flag.ExitOnError)
	flags.Usage = func() { fmt.Fprint(os.Stderr, usage) }
	flavour := flags.String("flavour", "", machine.Names(", "))
	kubernetes := flags.String("kubernetes", os.Getenv("KUBERNETES"), "minor version of Kubernetes; the default is $KUBERNETES")
	containerd := flags.String("containerd", os.Getenv("CONTAINERD"), "minor version of containerd; the default is $CONTAINERD")
	hard := flags.Bool("hard", false, "reset the machine without a shutdown")
	if err := flags.Parse(args); err != nil {
		return call{}, err
	}
	c := call{named: *flavour != "", hard: *hard, args: flags.Args()}
	if !c.named {
		*flavour = machine.Flavours()[0].Name
	}
	var err error
	if c.flavour, err = machine.Parse(*flavour); err != nil {
		return call{}, err
	}
	versions, err := build.Versions{Kubernetes: *kubernetes, Containerd: *containerd}.Check()
	if err != nil {
		return call{}, err
	}
	c.rig, err = rig.Open(os.Stderr, versions)
	return c, err
}
