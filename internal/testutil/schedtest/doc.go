// Package schedtest makes random nodes and pods for the tests of the scheduler.
package schedtest
