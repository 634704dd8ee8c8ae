// SPDX-License-Identifier: Apache-2.0

package identity

import "fmt"

// ActAs says as whom a service account acts on its node and the pods there.
type ActAs string

const (
	// ActAsNode is by constrained impersonation of the node, which the API server holds
	// to that node and its pods.
	ActAsNode ActAs = "node"
	// ActAsSelf is with rights of the service account's own, which hold for all nodes:
	// for API servers that know no constrained impersonation.
	ActAsSelf ActAs = "self"
)

// ActAsUsage describes a flag of that type.
const ActAsUsage = "as whom to act on the Node and its pods: node, by constrained impersonation (Kubernetes 1.36 or newer); " +
	"or self, which is weaker and needs the rights in config/rbac/reduced"

// WeakerWarning is for the log of a process that acts as itself.
const WeakerWarning = "WARNING: --act-as=self: the rights of this process hold for all nodes, so whoever steals its token " +
	"can drain the whole cluster. Use --act-as=node on Kubernetes 1.36 or newer (docs/security.md)"

// Set implements pflag.Value.
func (a *ActAs) Set(text string) error {
	switch as := ActAs(text); as {
	case ActAsNode, ActAsSelf:
		*a = as
		return nil
	default:
		return fmt.Errorf("want %s or %s", ActAsNode, ActAsSelf)
	}
}

// String implements pflag.Value.
func (a *ActAs) String() string { return string(*a) }

// Type implements pflag.Value.
func (a *ActAs) Type() string { return "string" }
