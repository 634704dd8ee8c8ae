#!/usr/bin/env bash
# Draws docs/recording.svg: commands and their output on a local cluster of its own. A drain is blocked, explained and
# unblocked, and the node is uncordoned. BIN is the directory of Slipway's programs and of kubectl.
set -euo pipefail
cd "$(dirname "$0")"
bin=$(realpath "${BIN:-../../bin}") dir=$(mktemp -d)
export PATH=$bin:$PATH KUBECONFIG=$dir/kubeconfig
trap 'dev down --dir "$dir"; rm -rf "$dir"' EXIT

dev up --dir "$dir" --nodes 3
kubectl apply -f workload.yaml
kubectl rollout status -n shop deployment/web deployment/ledger

# type prints a command as in a shell, and runs it on a terminal without input.
type() {
	printf '\e[1m$ %s\e[0m\n' "$1"
	script -qec "stty cols 100; $1" /dev/null </dev/null | tr -d '\r'
	echo
}
{
	type "kubectl slipway drain worker-1 --reason 'new firmware' --wait=false"
	# The other pods leave first.
	until [ "$(kubectl get lifecycleevent drain-worker-1 -o jsonpath='{.status.blockers[*].reason}')" = BudgetImpossible ]; do sleep 1; done
	type "kubectl slipway explain worker-1"
	type "kubectl scale deployment ledger -n shop --replicas=2"
	type "kubectl slipway drain worker-1 | tail -n 4"
	type "kubectl slipway uncordon worker-1 | tail -n 2"
} >"$dir/output.ansi"

# The font is the reader's: the picture embeds none.
freeze "$dir/output.ansi" --language ansi --font.size 13 --padding 20 --border.radius 8 --output "$dir/picture.svg"
sed -e '/^@font-face/,/^}/d' -e "s/font-family: *[^;\"]*JetBrains Mono[^;\"]*/font-family: monospace/; s/font-family=\"JetBrains Mono[^\"]*\"/font-family=\"monospace\"/g" \
	"$dir/picture.svg" >../recording.svg
