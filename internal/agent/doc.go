// Package agent is the node agent as a whole: it puts its parts together and
// runs them.
//
// The packages below it each own one idea: node decides what every container of
// this node gets, nri talks to the container runtime, cgroup writes cpusets,
// checkpoint keeps grants across restarts, nodeapi talks to the API server, and
// metrics counts.
package agent
