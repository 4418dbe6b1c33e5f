"""Run a cluster until standard input ends: commands come in as lines of JSON, and each is answered by one."""

import argparse
import json
import sys

from tests.dax_server.cluster import ITEM_SECONDS, QUERY_SECONDS, Options
from tests.dax_server.server import DaxServer


def main() -> None:
    server = DaxServer(_options())
    server.start()
    _say({"port": server.found_at.port, "nodes": [node.port for node in server.nodes]})
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            _say({"answer": server.do(asked.pop("command"), asked)})
        except (LookupError, ValueError, OSError) as error:
            _say({"error": f"{type(error).__name__}: {error}"})


def _options() -> Options:
    parser = argparse.ArgumentParser(prog="python -m tests.dax_server", description=__doc__)
    parser.add_argument("--endpoint", required=True, help="the DynamoDB behind it, such as http://127.0.0.1:8000")
    parser.add_argument("--region", default="eu-central-1")
    parser.add_argument("--nodes", type=int, default=1)
    parser.add_argument("--item-seconds", type=float, default=ITEM_SECONDS)
    parser.add_argument("--query-seconds", type=float, default=QUERY_SECONDS)
    parser.add_argument("--lag", type=float, default=0.0, help="seconds until the other nodes know of a write")
    parser.add_argument("--access-key", default="testing")
    parser.add_argument("--secret-key", default="testing")
    parser.add_argument("--certificate", help="a file with a key and a certificate; then it speaks TLS")
    return Options(**vars(parser.parse_args()))


def _say(answer: object) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
