// SPDX-License-Identifier: Apache-2.0

package explain

// tellers say of a blocker what the facts add, and what helps. A code that is missing here
// has what the catalogue says.
var tellers = map[string]func(telling){
	"NodeNotCordoned":      tellNotCordoned,
	"NodeTaintMissing":     tellTaintMissing,
	"NodeGone":             tellNodeGone,
	"APIServerUnavailable": tellServer,
	"APIServerOverloaded":  tellServer,
	"RuleInvalid":          tellRuleInvalid,
	"ReadRefused":          tellReadRefused,

	"BudgetExhausted":       tellBudget,
	"BudgetImpossible":      tellBudget,
	"BudgetNotObserved":     tellBudgetController,
	"BudgetSyncFailed":      tellBudget,
	"MultipleBudgets":       tellBudgets,
	"EvictionRefused":       tellRefused,
	"EvictionTimedOut":      tellRefused,
	"EvictionWithoutEffect": tellWithoutEffect,
	"DeletionRefused":       tellRefused,
	"NamespaceTerminating":  tellNamespace,

	"Terminating":          tellTerminating,
	"NodeNotReady":         tellNodeNotReady,
	"PodTimedOut":          tellGrace,
	"WaitingForCompletion": tellWaiting,
	"UnmanagedPod":         tellAllowed("unmanagedPods"),
	"LocalStorage":         tellAllowed("localStorage"),
	"AwaitingResponder":    tellResponder,
	"ResponderMissing":     tellUnanswered,
	"RespondersFailed":     tellUnanswered,
	"EvictionAPIMissing":   tellEvictionAPI,
	"VolumeAttached":       tellVolume,
	"PodRecurring":         tellRecurring,
	"PodSkipped":           tellSkipped,
	"StaticPodStays":       tellStatic,
	"StaticPodLeft":        tellStatic,
}
