// Package doctor checks a node and a cluster for what Numalet needs, before and after it
// is installed. Each finding says what is there, why it matters, and what to do.
//
//	report := doctor.Node(os.DirFS("/"), doctor.NodeOptions{})
//	report = append(report, doctor.Cluster(ctx, clients)...)
//
// It only reads. If it cannot read something, it does not guess, but reports that as a finding.
package doctor
