// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"github.com/spf13/pflag"

	"github.com/slipway-k8s/slipway/internal/kubectl/request"
)

// drainChoice are the flags of kubectl drain that say what a drain does: they mean the same to
// who asks for one, and to who asks what it would do.
type drainChoice struct {
	request.Drain

	// ignoreDaemonSets says something that does not arise here.
	ignoreDaemonSets bool
}

func (d *drainChoice) addFlags(f *pflag.FlagSet) {
	f.StringVar(&d.Mode, "eviction-mode", "", "who makes pods leave: Auto, EvictionRequest (their responders alone) or Eviction (the drain alone); "+
		"empty means Auto")
	f.BoolVar(&d.Force, "force", false, "evict pods that have no controller, which nobody would start again")
	f.BoolVar(&d.DeleteEmptyDirData, "delete-emptydir-data", false, "evict pods with emptyDir volumes, whose content is lost")
	f.BoolVar(&d.ignoreDaemonSets, "ignore-daemonsets", false, "accepted, and changes nothing: pods of DaemonSets always stay, and never hold up a drain")
	f.IntVar(&d.GracePeriod, "grace-period", -1, "seconds that each pod has to end, at least 1; -1: the pod's own")
	f.StringVar(&d.PodSelector, "pod-selector", "", "only the pods with these labels")
	f.BoolVar(&d.DisableEviction, "disable-eviction", false, "delete pods whose disruption budgets allow no eviction; such a drain needs the verb override-budgets on lifecycleevents")
}
