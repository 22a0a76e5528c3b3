package rig

import (
	"context"
	"fmt"

	"github.com/numalet/numalet/test/cluster/internal/machine"
)

// Status returns a line for each component of the control plane and for each machine. The line says
// whether the component or the machine runs.
func (r *Rig) Status(ctx context.Context) ([]string, error) {
	p, err := r.plane()
	if err != nil {
		return nil, err
	}
	var lines []string
	for _, process := range p.Processes() {
		lines = append(lines, line(process.Name, process.PID(), ""))
	}
	c, clientErr := p.Client()
	for _, f := range machine.Flavours() {
		pid, note := r.process(f).PID(), ""
		if pid != 0 && clientErr == nil {
			note = "NotReady"
			if n, err := c.Node(ctx, f.Node); err == nil && n.Ready {
				note = "Ready"
			}
		}
		lines = append(lines, line(f.Node, pid, note))
	}
	return lines, nil
}

func line(name string, pid int, note string) string {
	if pid == 0 {
		return fmt.Sprintf("%-24s down", name)
	}
	return fmt.Sprintf("%-24s up, pid %d %s", name, pid, note)
}
