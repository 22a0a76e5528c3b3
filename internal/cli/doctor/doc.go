// Package doctor checks whether a node and a cluster have what Numalet needs, before or after
// the installation of Numalet. Each finding says what the check found, why it matters, and what
// to do.
//
//	report := doctor.Node(os.DirFS("/"), doctor.NodeOptions{})
//	report = append(report, doctor.Cluster(ctx, clients)...)
//
// Package doctor changes nothing. If it cannot read something, it reports that as a finding.
package doctor
