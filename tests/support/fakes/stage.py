#!/usr/bin/env python3
"""Runs a command beside services that stand for a platform and its machine, in a network of their own.

    stage.py --workdir DIR [--service 'COMMAND LINE']... [--timeout SECONDS] -- COMMAND...

The command runs in a network namespace with loopback and one address (10.10.10.1) that leads nowhere.
Each service prints the line `ready` when it listens; its process id stands in DIR/service-N.pid.
The exit code is the command's; 124 when it took too long, 125 when a service did not start.
"""
import argparse
import os
import shlex
import subprocess
import sys


def main():
    arguments = sys.argv[1:]
    if "--" not in arguments:
        sys.exit(__doc__)
    split = arguments.index("--")
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workdir", required=True)
    parser.add_argument("--service", action="append", default=[])
    parser.add_argument("--timeout", type=float, default=180)
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments[:split])
    if not options.inside:
        user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
        command = ["unshare", *user, "--net", sys.executable, os.path.abspath(__file__), "--inside", *arguments]
        os.execvp(command[0], command)
    for words in ("link set lo up", "address add 10.10.10.1/24 dev lo"):
        subprocess.run(["ip", *words.split()], check=True)
    return run(options, arguments[split + 1:])


def run(options, command):
    os.makedirs(options.workdir, exist_ok=True)
    services = []
    try:
        for number, line in enumerate(options.service):
            service = subprocess.Popen(shlex.split(line), stdout=subprocess.PIPE, text=True)
            services.append(service)
            with open(os.path.join(options.workdir, f"service-{number}.pid"), "w", encoding="utf-8") as file:
                file.write(str(service.pid))
            # The line `ready` is the event: the service listens.
            if service.stdout.readline() != "ready\n":
                print(f"stage.py: `{line}` did not start", file=sys.stderr)
                return 125
        environment = {**os.environ, "CHECKPOINT_DISABLE": "1"}
        try:
            code = subprocess.run(command, env=environment, check=False, timeout=options.timeout).returncode
        except subprocess.TimeoutExpired:
            print(f"stage.py: {command[0]} took longer than {options.timeout:.0f} s", file=sys.stderr)
            return 124
        return code if code >= 0 else 128 - code
    finally:
        for service in services:
            service.terminate()
        for service in services:
            service.wait()


if __name__ == "__main__":
    sys.exit(main())
