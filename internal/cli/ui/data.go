package ui

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/numalet/numalet/api/v1alpha1"
)

// Source has the functions that read the data of the web page from the cluster, with the rights
// of the user.
type Source struct {
	Nodes   func(context.Context) (any, error) // list of the free CPUs and GPUs of each node
	Queue   func(context.Context) (any, error) // the pending pods, and the namespace if they are only those of one
	Tenants func(context.Context) ([]v1alpha1.Tenant, error)
	Groups  func(context.Context) ([]v1alpha1.GPUGroup, error)
	Map     func(ctx context.Context, node string, svg io.Writer) error
}

// Tenant is a row of the page's table of tenants: what a tenant uses of one type of resource.
type Tenant struct {
	Name   string  `json:"name"`
	Weight float64 `json:"weight"`
	Type   string  `json:"type"`
	Usage  float64 `json:"usage"` // in cores or GPUs
	Score  float64 `json:"score"`
	Quota  string  `json:"quota"` // "" if there is none
}

// Group is a row of the page's table of GPU groups.
type Group struct {
	Name     string   `json:"name"`
	Tenants  []string `json:"tenants"`
	Type     string   `json:"type"`
	GPUs     int32    `json:"gpus"`
	Used     float64  `json:"used"`
	Accepted string   `json:"accepted"` // True, False or Unknown
	Message  string   `json:"message"`  // the message of the condition Accepted
}

// handle adds the handlers for the paths that serve data.
func (s Source) handle(mux *http.ServeMux) {
	mux.Handle("GET /data/nodes", list(s.Nodes))
	mux.Handle("GET /data/queue", list(s.Queue))
	mux.Handle("GET /data/tenants", list(s.tenants))
	mux.Handle("GET /data/groups", list(s.groups))
	mux.HandleFunc("GET /nodes/{node}", s.picture)
}

// tenants returns one row for each tenant and type of resource that the tenant uses. The rows are
// ordered by type, and then by the tenant's score (the decayed average of its usage) divided by its
// weight (how much it may use, compared with other tenants). The scheduling queue orders tenants in
// the same way.
func (s Source) tenants(ctx context.Context) (any, error) {
	tenants, err := s.Tenants(ctx)
	if err != nil {
		return nil, err
	}
	rows := []Tenant{}
	for _, tenant := range tenants {
		for _, a := range tenant.Status.Accounts {
			row, err := rowOf(&tenant, a)
			if err != nil {
				return nil, err
			}
			rows = append(rows, row)
		}
	}
	slices.SortStableFunc(rows, compareTenants)
	return rows, nil
}

func rowOf(tenant *v1alpha1.Tenant, a v1alpha1.Account) (Tenant, error) {
	score, err := strconv.ParseFloat(a.Score, 64)
	if err != nil {
		return Tenant{}, fmt.Errorf("tenant %q: read score of %s: %w", tenant.Name, a.Type, err)
	}
	row := Tenant{Name: tenant.Name, Weight: 1, Type: a.Type, Usage: a.Usage.AsApproximateFloat64(), Score: score}
	if tenant.Spec.Weight != nil {
		row.Weight = tenant.Spec.Weight.AsApproximateFloat64()
	}
	if quota, limited := tenant.Spec.Quotas[a.Type]; limited {
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

func (s Source) groups(ctx context.Context) (any, error) {
	groups, err := s.Groups(ctx)
	if err != nil {
		return nil, err
	}
	rows := make([]Group, len(groups))
	for i, group := range groups {
		rows[i] = Group{Name: group.Name, Tenants: group.Spec.Tenants, Type: group.Spec.Type, GPUs: int32(group.Status.GPUs), Accepted: "Unknown"}
		if group.Status.Used != nil {
			rows[i].Used = group.Status.Used.AsApproximateFloat64()
		}
		if condition := meta.FindStatusCondition(group.Status.Conditions, v1alpha1.ConditionAccepted); condition != nil {
			rows[i].Accepted, rows[i].Message = string(condition.Status), condition.Message
		}
	}
	return rows, nil
}

// picture answers a request with an SVG picture of a node, which shows the pods that hold its
// CPUs and GPUs.
func (s Source) picture(w http.ResponseWriter, r *http.Request) {
	var svg bytes.Buffer
	if err := s.Map(r.Context(), r.PathValue("node"), &svg); err != nil {
		fail(w, err)
		return
	}
	w.Header().Set("Content-Type", "image/svg+xml")
	// The picture loads nothing. Its styles are inside the picture, so the policy permits only these.
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
	w.Write(svg.Bytes())
}

// list returns a handler that calls the function given as `load` for each request, and answers with
// its result as JSON.
func list(load func(context.Context) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		items, err := load(r.Context())
		if err != nil {
			fail(w, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(items)
	}
}

// fail answers with the text of an error, which the page shows.
func fail(w http.ResponseWriter, err error) { http.Error(w, err.Error(), http.StatusBadGateway) }
