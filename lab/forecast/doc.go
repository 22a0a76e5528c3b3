// Package forecast measures how well pkg/sched/forecast predicts when pods start. On a virtual
// clock, pods arrive, wait, run and end. The package makes a forecast for each pod when the pod is
// created, and compares it with the actual start.
//
//	outcome, err := forecast.Run(nodes, forecast.Week(4, .9, 1), forecast.Settings{Profile: profile})
package forecast
