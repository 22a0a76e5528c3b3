// Package forecast measures how well pkg/sched/forecast predicts when pods start. On a
// virtual clock, pods arrive, wait, run and end; a forecast is made for each when it is
// created, and compared with what happens.
//
//	outcome, err := forecast.Run(nodes, forecast.Week(4, .9, 1), forecast.Settings{Profile: profile})
package forecast
