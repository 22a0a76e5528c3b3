package ui

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/numalet/numalet/api/v1alpha1"
	"github.com/numalet/numalet/internal/cli/nodemap"
	"github.com/numalet/numalet/pkg/topology/picture"
)

// Source is where the page's data comes from, with the rights of the user.
type Source struct {
	Topologies func(context.Context) ([]v1alpha1.NodeTopology, error)
	Topology   func(ctx context.Context, node string) (*v1alpha1.NodeTopology, error)
	Tenants    func(context.Context) ([]v1alpha1.Tenant, error)
	Groups     func(context.Context) ([]v1alpha1.GPUGroup, error)
	Queue      func(context.Context) ([]Pending, error)
}

// Pending is a pending pod.
type Pending struct {
	Namespace string  `json:"namespace"`
	Name      string  `json:"name"`
	Type      string  `json:"type"` // of resource
	Tenant    string  `json:"tenant"`
	Score     float64 `json:"score"`
	Position  int     `json:"position"` // from 1; 0 if it has none
	Waited    string  `json:"waited"`
	WaitsFor  string  `json:"waitsFor"`
}

// Tenant is a tenant's share of one type of resource.
type Tenant struct {
	Name   string  `json:"name"`
	Weight float64 `json:"weight"`
	Type   string  `json:"type"`
	Usage  float64 `json:"usage"` // cores or GPUs
	Score  float64 `json:"score"`
	Quota  string  `json:"quota"` // "" if there is none
}

// Group is a GPU group.
type Group struct {
	Name     string   `json:"name"`
	Tenants  []string `json:"tenants"`
	Type     string   `json:"type"`
	GPUs     int32    `json:"gpus"`
	Used     float64  `json:"used"`
	Accepted string   `json:"accepted"` // True, False or Unknown
	Message  string   `json:"message"`  // why it is not accepted
}

// handle adds the paths of the data.
func (s Source) handle(mux *http.ServeMux) {
	mux.Handle("GET /data/nodes", list(s.nodes))
	mux.Handle("GET /data/tenants", list(s.tenants))
	mux.Handle("GET /data/groups", list(s.groups))
	mux.Handle("GET /data/queue", list(s.Queue))
	mux.HandleFunc("GET /nodes/{node}", s.picture)
}

func (s Source) nodes(ctx context.Context) ([]nodemap.Summary, error) {
	topologies, err := s.Topologies(ctx)
	if err != nil {
		return nil, err
	}
	nodes := make([]nodemap.Summary, len(topologies))
	for i := range topologies {
		nodes[i] = nodemap.Summarize(&topologies[i])
	}
	return nodes, nil
}

// tenants returns one row for each account of each tenant, ordered by type and score per
// weight: the order of the queue.
func (s Source) tenants(ctx context.Context) ([]Tenant, error) {
	tenants, err := s.Tenants(ctx)
	if err != nil {
		return nil, err
	}
	var rows []Tenant
	for _, t := range tenants {
		for _, a := range t.Status.Accounts {
			row, err := rowOf(&t, a)
			if err != nil {
				return nil, err
			}
			rows = append(rows, row)
		}
	}
	slices.SortStableFunc(rows, compareTenants)
	return rows, nil
}

func rowOf(t *v1alpha1.Tenant, a v1alpha1.Account) (Tenant, error) {
	score, err := strconv.ParseFloat(a.Score, 64)
	if err != nil {
		return Tenant{}, fmt.Errorf("tenant %q: read score of %s: %w", t.Name, a.Type, err)
	}
	row := Tenant{Name: t.Name, Weight: 1, Type: a.Type, Usage: a.Usage.AsApproximateFloat64(), Score: score}
	if t.Spec.Weight != nil {
		row.Weight = t.Spec.Weight.AsApproximateFloat64()
	}
	if quota, limited := t.Spec.Quotas[a.Type]; limited {
		row.Quota = quota.String()
	}
	return row, nil
}

func compareTenants(a, b Tenant) int {
	switch {
	case a.Type != b.Type:
		return cmp.Compare(a.Type, b.Type)
	case a.Score*b.Weight != b.Score*a.Weight:
		return cmp.Compare(a.Score*b.Weight, b.Score*a.Weight)
	}
	return cmp.Compare(a.Name, b.Name)
}

func (s Source) groups(ctx context.Context) ([]Group, error) {
	groups, err := s.Groups(ctx)
	if err != nil {
		return nil, err
	}
	rows := make([]Group, len(groups))
	for i, g := range groups {
		rows[i] = Group{Name: g.Name, Tenants: g.Spec.Tenants, Type: g.Spec.Type, GPUs: int32(g.Status.GPUs), Accepted: "Unknown"}
		if g.Status.Used != nil {
			rows[i].Used = g.Status.Used.AsApproximateFloat64()
		}
		if c := meta.FindStatusCondition(g.Status.Conditions, v1alpha1.ConditionAccepted); c != nil {
			rows[i].Accepted, rows[i].Message = string(c.Status), c.Message
		}
	}
	return rows, nil
}

// picture writes the map of a node as SVG.
func (s Source) picture(w http.ResponseWriter, r *http.Request) {
	t, err := s.Topology(r.Context(), r.PathValue("node"))
	if err != nil {
		fail(w, err)
		return
	}
	node, err := nodemap.Read(t)
	if err != nil {
		fail(w, err)
		return
	}
	var svg bytes.Buffer
	if err := picture.SVG(&svg, node.Machine, node.Cards, node.Use); err != nil {
		fail(w, err)
		return
	}
	w.Header().Set("Content-Type", "image/svg+xml")
	// The picture has styles of its own, and nothing else.
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
	w.Write(svg.Bytes())
}

// list answers with a list as JSON.
func list[T any](load func(context.Context) ([]T, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		items, err := load(r.Context())
		if err != nil {
			fail(w, err)
			return
		}
		if items == nil {
			items = []T{}
		}
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(items)
	}
}

// fail answers with the text of an error, which the page shows.
func fail(w http.ResponseWriter, err error) { http.Error(w, err.Error(), http.StatusBadGateway) }
