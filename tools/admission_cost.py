"""How long the admission controller takes to answer, at a steady rate of reviews over TLS.

`python -m tools.admission_cost` starts a fake API server and a controller. It sends reviews of pods
at 200 a second on kept connections, and prints percentiles of the time from the moment at which a
review was due to its whole answer. A review that waits for another one counts with its wait. Run it
on a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import ssl
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

import httpx2

from remuda_kubernetes.testing.server import ApiServer

_CONFIGURATION: Final = (
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/remuda-admission"
)
_START_SECONDS: Final = 60.0
_LIMIT: Final = 1 << 20


def review(number: int) -> bytes:
    """Return a review of a pod with two containers, some labels and a volume, of 2 kB."""
    container = {
        "image": "registry.example/team/worker:1.27",
        "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}},
        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
        "env": [{"name": f"SETTING_{each}", "value": "x" * 40} for each in range(12)],
    }
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "generateName": "worker-",
            "namespace": "team",
            "labels": {"app": "worker", "pod-template-hash": "7c5ddbdf54"},
            "annotations": {"example.com/note": "a text of some length for one annotation"},
        },
        "spec": {
            "schedulerName": "default-scheduler",
            "containers": [{"name": name, **container} for name in ("main", "side")],
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
            "tolerations": [{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}],
        },
    }
    request: dict[str, Any] = {
        "uid": f"705ab4f5-6393-11e8-b7cc-{number:012d}",
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "namespace": "team",
        "operation": "CREATE",
        "userInfo": {"username": "alice", "groups": ["dev", "system:authenticated"]},
        "object": pod,
    }
    body = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}
    return json.dumps(body).encode()


class Line:
    """One kept connection; of the reviews on it one is under way."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def ask(self, body: bytes) -> bytes:
        """Return the answer to a review. Raises: AssertionError if it is none."""
        head = (
            "POST /mutate HTTP/1.1\r\nHost: hook\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n"
        )
        self._writer.write(head.encode() + body)
        head_of_answer = await self._reader.readuntil(b"\r\n\r\n")
        lines = head_of_answer.decode().lower().splitlines()
        assert lines[0].split()[1] == "200", head_of_answer
        (length,) = [each.split(":")[1] for each in lines if each.startswith("content-length:")]
        return await self._reader.readexactly(int(length))

    def close(self) -> None:
        """End the connection."""
        self._writer.close()


async def measure(
    port: int, trust: ssl.SSLContext, *, rate: float, seconds: float, lines: int
) -> list[float]:
    """Return the seconds from each moment at which a review was due to its answer, sorted."""
    free: asyncio.Queue[Line] = asyncio.Queue()
    opened = []
    for _ in range(lines):
        pair = await asyncio.open_connection("127.0.0.1", port, ssl=trust, limit=_LIMIT)
        opened.append(Line(*pair))
        free.put_nowait(opened[-1])
    clock = asyncio.get_running_loop().time

    async def one(number: int, due: float) -> float:
        await asyncio.sleep(max(0.0, due - clock()))
        line = await free.get()
        answer = await line.ask(review(number))
        taken = clock() - due
        free.put_nowait(line)
        response = json.loads(answer)["response"]
        assert response["allowed"]
        assert response["patch"]
        return taken

    begin = clock() + 0.5
    count = int(rate * seconds)
    taken = await asyncio.gather(*(one(each, begin + each / rate) for each in range(count)))
    for line in opened:
        line.close()
    return sorted(taken)


def registered(address: str) -> bytes:
    """Return the authorities that the controller has registered, as soon as it has."""
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        answer = httpx2.get(address + _CONFIGURATION)
        if answer.is_success:
            hook = answer.json()["webhooks"][0]
            return base64.b64decode(hook["clientConfig"]["caBundle"])
        time.sleep(0.05)
    raise SystemExit("admission_cost: the controller did not register")


def main() -> int:
    """Measure and print. Returns the exit code: 1 if the 99th percentile is above the limit."""
    parser = argparse.ArgumentParser(prog="python -m tools.admission_cost", description=__doc__)
    parser.add_argument("--rate", type=float, default=200.0, help="reviews a second")
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--limit", type=float, default=20.0, help="of the 99th percentile, in ms")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, ApiServer() as server:
        kubeconfig = server.write_kubeconfig(Path(folder) / "kubeconfig")
        names = ("yunikorn", "team")
        server.load([{"kind": "Namespace", "metadata": {"name": name}} for name in names])
        command = [sys.executable, "-m", "remuda", "kubernetes", "admission"]
        command += [f"--kubeconfig={kubeconfig}", "--namespace=yunikorn"]
        command += ["--webhook-address=127.0.0.1:0", "--reports-address=127.0.0.1:0"]
        command += ["--url=https://127.0.0.1"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as controller:
            assert controller.stdout is not None
            told = controller.stdout.readline()
            port = int(told.split("webhook=")[1].split()[0].rpartition(":")[2])
            trust = ssl.create_default_context(cadata=registered(server.address).decode())
            how = {"rate": chosen.rate, "lines": chosen.connections}
            asyncio.run(measure(port, trust, seconds=2.0, **how))
            taken = asyncio.run(measure(port, trust, seconds=chosen.seconds, **how))
            controller.terminate()
    at = {name: taken[int(len(taken) * part)] * 1e3 for name, part in (("p50", 0.5), ("p99", 0.99))}
    print(
        f"{len(taken)} reviews at {chosen.rate:g}/s on {chosen.connections} connections:"
        f" p50 {at['p50']:.1f} ms, p99 {at['p99']:.1f} ms, most {taken[-1] * 1e3:.1f} ms"
    )
    return 1 if at["p99"] > chosen.limit else 0


if __name__ == "__main__":
    sys.exit(main())
