# The image of the drain driver in pods of its own (deploy/):
#   docker build -t drain-driver:latest .
# GO_IMAGE is any image with Go. The image of agents and controller needs no Docker: make image.
ARG GO_IMAGE=golang:1.26
FROM ${GO_IMAGE} AS build
WORKDIR /src
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags="-s -w" -o /drain-driver ./cmd/drain-driver

FROM scratch
COPY --from=build /drain-driver /drain-driver
USER 65532:65532
ENTRYPOINT ["/drain-driver"]
