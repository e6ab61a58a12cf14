"""Answers a kickoff with as many events as its inputs ask for, and does nothing else."""

import json
import sys
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, HTTPServer


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        size = int(self.rfile.readline(), 16)
        count = json.loads(self.rfile.read(size))["inputs"]["events"]
        self.send_response(200)
        self.send_header("content-type", "application/x-ndjson")
        self.end_headers()
        self.write("crew_started", 1, crew="bare")
        for number in range(count):
            self.write("tick", number + 2, text="x" * 200)
        usage = {"input_tokens": 0, "output_tokens": 0}
        self.write("crew_completed", count + 2, output="", usage=usage)
        # Who hangs up with lines unread cuts off what is on its way.
        while self.rfile.readline():
            pass

    def write(self, kind, seq, **fields):
        at = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
        event = {"type": kind, "at": at.replace("+00:00", "Z"), "seq": seq, **fields}
        self.wfile.write(json.dumps(event).encode() + b"\n")

    def log_message(self, format, *args):
        pass


print("listens on", file=sys.stderr, flush=True)
HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
