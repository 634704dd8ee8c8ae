#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A lifecycle driver in Python, without the kit. README.md shows how to run it."""

import argparse
import os
import signal
import threading
from concurrent import futures

import grpc

import api_pb2
import api_pb2_grpc
import driver_pb2
import driver_pb2_grpc


def work(request, canceled):
    """Does the work of one event. It returns when the end state is reached, or when canceled is set.

    It checks the current state first: it runs again if the driver restarts before the event ends.
    An exception fails the event.
    """
    canceled.wait(1)  # the work


class Run:
    """The work of one event, in a thread."""

    def __init__(self, request):
        self.canceled = threading.Event()
        self.error = ""
        self.thread = threading.Thread(target=self.run, args=(request,), daemon=True)
        self.thread.start()

    def run(self, request):
        try:
            work(request, self.canceled)
        except Exception as e:
            self.error = str(e) or type(e).__name__


class Driver(driver_pb2_grpc.SLMPluginServicer):
    """Answers the calls of the agent. A call may arrive twice, and End may be the first call after a restart."""

    def __init__(self):
        self.lock = threading.Lock()
        self.runs = {}  # by node; an agent works on one event of a node at a time

    def run_of(self, request):
        """Returns the run of the event, and begins it if there is none. Its UID distinguishes events of the same name."""
        with self.lock:
            uid, run = self.runs.get(request.node_name, (None, None))
            if uid != request.event_uid:
                if run:
                    run.canceled.set()
                run = Run(request)
                self.runs[request.node_name] = (request.event_uid, run)
            return run

    def StartLifecycleTransition(self, request, context):
        self.run_of(request)
        return answer(request, request.start, "working")

    def EndLifecycleTransition(self, request, context):
        run = self.run_of(request)
        if request.sla_expired:  # the last call: stop before the answer
            run.canceled.set()
            run.thread.join()
            return answer(request, request.start, "stopped")
        run.thread.join(request.wait.seconds)
        if run.thread.is_alive():
            return answer(request, request.start, "working")
        return answer(request, request.end, "done", run.error)


def answer(request, state, message, error=""):
    return driver_pb2.LifecycleTransitionResponse(
        lifecycle_condition=state, node_name=request.node_name, message=message, error=error, waits=True)


class Registration(api_pb2_grpc.RegistrationServicer):
    """Introduces the driver to the agent, as a plugin of a kubelet."""

    def __init__(self, name, endpoint):
        self.info = api_pb2.PluginInfo(
            type="SLMPlugin", name=name, endpoint=endpoint, supported_versions=["v1alpha1.SLMPlugin"])

    def GetInfo(self, request, context):
        return self.info

    def NotifyRegistrationStatus(self, request, context):
        print("registered" if request.plugin_registered else "refused: " + request.error, flush=True)
        return api_pb2.RegistrationStatusResponse()


def serve(path, add, servicer):
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=8))
    add(servicer, server)
    server.add_insecure_port("unix:" + path)
    server.start()
    return server


def main():
    flags = argparse.ArgumentParser(description=__doc__)
    flags.add_argument("--driver-name", default="python.example.com")
    flags.add_argument("--datadir", default="/var/lib/slipway/plugins")
    flags.add_argument("--plugin-registration-path", default="/var/lib/slipway/plugins_registry")
    options = flags.parse_args()

    os.umask(0o077)
    directory = os.path.join(options.datadir, options.driver_name)
    os.makedirs(directory, exist_ok=True)
    os.makedirs(options.plugin_registration_path, exist_ok=True)
    endpoint = os.path.join(directory, "slm.sock")

    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    # The registration socket comes last and goes first: an agent that finds it can call.
    driver = serve(endpoint, driver_pb2_grpc.add_SLMPluginServicer_to_server, Driver())
    registration = serve(
        os.path.join(options.plugin_registration_path, options.driver_name + "-reg.sock"),
        api_pb2_grpc.add_RegistrationServicer_to_server, Registration(options.driver_name, endpoint))
    stop.wait()
    registration.stop(grace=None).wait()
    driver.stop(grace=10).wait()


if __name__ == "__main__":
    main()
