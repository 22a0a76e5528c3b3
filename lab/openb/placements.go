package openb

import (
	"encoding/csv"
	"fmt"
	"io"
	"strings"

	"github.com/numalet/numalet/pkg/sched"
)

// WritePlacements writes the decisions as CSV with the columns pod, node and gpus. The column gpus
// is "index:milli;index:milli", with the allocated thousandths of each GPU.
func WritePlacements(w io.Writer, decisions []sched.Decision) error {
	rows := csv.NewWriter(w)
	rows.Write([]string{"pod", "node", "gpus"}) // rows.Error returns the error, if any
	for _, decision := range decisions {
		rows.Write([]string{decision.Pod.Name, decision.At.Node, gpus(decision.At.GPUs)})
	}
	rows.Flush()
	if err := rows.Error(); err != nil {
		return fmt.Errorf("write placements: %w", err)
	}
	return nil
}

func gpus(shares []sched.GPUShare) string {
	parts := make([]string, len(shares))
	for i, s := range shares {
		parts[i] = fmt.Sprintf("%s:%d", s.ID, s.Milli)
	}
	return strings.Join(parts, ";")
}
