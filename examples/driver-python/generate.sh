#!/bin/sh
# generate.sh DIRECTORY writes there the driver with the Python code of both contracts: the driver's (driver.proto) and the
# kubelet's plugin registration (api.proto). It needs Go, and Debian's packages python3-grpcio and python3-grpc-tools.
set -eu
out=$(realpath "$1")
cd "$(dirname "$0")"
registration=$(go list -m -f '{{.Dir}}' k8s.io/kubelet)/pkg/apis/pluginregistration/v1
/usr/bin/python3 -m grpc_tools.protoc -I../../api/driver/v1alpha1 -I"$registration" \
	--python_out="$out" --grpc_python_out="$out" driver.proto api.proto
cp driver.py "$out"
