package group

import (
	"slices"
	"strings"
)

// Match is who serves an ask: some groups, or the GPUs that are in none.
type Match struct {
	grouping *Grouping
	ask      Ask
	groups   []int // none: the GPUs in no group
}

// Match returns who serves an ask. The group that it names serves it alone, and
// it is an error, a *Refusal, if it cannot. Of the tenant's groups that are of the
// form and type asked for, those that name the container come next; then those
// that name none. Where there is no such group it is the GPUs in no group.
func (g *Grouping) Match(a Ask) (Match, error) {
	if a.Group != "" {
		return g.named(a)
	}
	m := Match{grouping: g, ask: a}
	for _, naming := range []bool{true, false} {
		for i := range g.groups {
			if group := &g.groups[i]; (len(group.Containers) > 0) == naming && group.refuses(a) == nil {
				m.groups = append(m.groups, i)
			}
		}
		if len(m.groups) > 0 {
			break
		}
	}
	return m, nil
}

// named returns the group that an ask names.
func (g *Grouping) named(a Ask) (Match, error) {
	i := slices.IndexFunc(g.groups, func(group Group) bool { return group.Name == a.Group })
	if i < 0 {
		return Match{}, refuse(UnknownGroup, "there is no GPU group %q: name another, or none", a.Group)
	}
	if r := g.groups[i].refuses(a); r != nil {
		return Match{}, r
	}
	return Match{g, a, []int{i}}, nil
}

// refuses says why a group does not serve an ask, whatever is free.
func (g *Group) refuses(a Ask) *Refusal {
	switch {
	case !slices.Contains(g.Tenants, a.Tenant):
		return refuse(NotServed, "GPU group %q is not for tenant %q: name a group of that tenant, or none", g.Name, a.Tenant)
	case len(g.Containers) > 0 && !slices.Contains(g.Containers, a.Container):
		return refuse(NotServed, "GPU group %q is for the containers %s, not for %q: name another group, or none",
			g.Name, strings.Join(g.Containers, ", "), a.Container)
	case g.Form != a.form():
		return refuse(WrongForm, "GPU group %q has %s GPUs, but the container asks for %s: name another group, or ask for its form", g.Name, g.Form, a)
	case g.Type != "" && a.Types != nil && !slices.Contains(a.Types, g.Type):
		return refuse(WrongType, "GPU group %q has GPUs of type %s, but the container asks for %s: name another group, or ask for its type", g.Name, g.Type, a)
	}
	return nil
}

// Without returns the match less some of its groups. There has to be one left, or
// there was none: else nothing serves the ask.
func (m Match) Without(drop func(name string) bool) Match {
	m.groups = slices.DeleteFunc(slices.Clone(m.groups), func(i int) bool { return drop(m.grouping.groups[i].Name) })
	return m
}

// Groups returns the names of the groups, sorted; none are the GPUs in no group.
func (m Match) Groups() []string {
	var names []string
	for _, i := range m.groups {
		names = append(names, m.grouping.groups[i].Name)
	}
	return names
}

// Nodes returns the names of the only nodes that can have an offer, sorted: those
// on which the groups have GPUs. nil means that any may, where there is no group.
func (m Match) Nodes() []string {
	var names []string
	for _, i := range m.groups {
		for _, b := range m.grouping.groups[i].Bindings {
			names = append(names, b.Node)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// String returns who it is, for refusals.
func (m Match) String() string {
	if len(m.groups) == 0 {
		return "the GPUs in no group"
	}
	return "GPU group " + strings.Join(m.Groups(), ", ")
}
