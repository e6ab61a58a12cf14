"""A crew without a dependency: CREW_TOKEN=secret python3 crew.py 8000"""
import hashlib, hmac, json, os, sys, threading
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ABOUT = {"contract": 2, "name": "Shouter", "capabilities": ["journal", "replay"]}

def perform(run):
    """What this crew does: replace it by what yours does."""
    topic = run.inputs["topic"]
    loud = run.step("shout", {"topic": topic}, lambda: str(topic).upper())
    return run.step("greet", {"loud": loud}, lambda: f"Hello, {loud}!")

class Run:
    def __init__(self, lines, write):
        self.lines, self.write, self.seq, self.acked = lines, write, 0, 0
        kickoff = next(lines)
        self.version, self.inputs = kickoff["version"], kickoff["inputs"]
        self.journal = {step["step"]: step["result"] for step in kickoff["journal"]}
        self.replay, self.taken = kickoff.get("replay"), set()

    def report(self, type, **fields):
        self.seq += 1
        self.write({"type": type, "at": now(), "seq": self.seq, **fields})

    def step(self, name, arguments, act):
        """Calls a tool: `act` with these arguments. What was done before is not done again."""
        asked = {"kind": "tool", "name": name, "path": [name]}
        asked["request"] = {"tool": name, "arguments": arguments}
        if self.replay:
            return self.recall(asked, self.replay["answers"])
        base = json.dumps([self.version, self.inputs, name], sort_keys=True)
        key = hashlib.sha256(base.encode()).hexdigest()[:32]
        if isinstance(self.journal.get(key), str):  # a former attempt did it and paid for it
            return self.journal[key]
        self.report("step_started", step=key, **asked)
        if self.wait_for_ack():  # nothing is done before the worker has noted that it begins
            raise InterruptedError
        result = act()
        self.report("step_finished", step=key, result=result)
        return result

    def recall(self, asked, answers):
        """Answers from the record: by the same path, else what was not taken yet, else the last."""
        digest = hashlib.sha256(canonical(asked["request"]).encode()).hexdigest()
        found = [place for place, each in enumerate(answers)
                 if each["kind"] == asked["kind"] and each["request_sha256"] == digest]
        if not found:
            self.report("replay_diverged", **asked)
            raise LookupError("The record has no answer to this request.")
        fresh = [place for place in found if place not in self.taken]
        at_path = [place for place in fresh if answers[place]["path"] == asked["path"]]
        place = (at_path or fresh or found[-1:])[0]
        self.taken.add(place)
        self.report("replay_answered", answer=place)
        if answers[place].get("error"):
            raise RuntimeError(answers[place]["error"]["message"])
        return answers[place]["result"]

    def wait_for_ack(self):
        """Returns true when the worker asks for an end; StopIteration tells that it is gone."""
        stops = False
        while self.acked < self.seq:
            line = next(self.lines)
            self.acked = max(self.acked, line.get("ack", 0))
            stops = stops or line.get("stop", False)
        return stops

class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        pages = {"/health": {"status": "ok"}, "/describe": ABOUT, "/inputs": {"inputs": ["topic"]}}
        self.answer(200 if self.path in pages else 404, pages.get(self.path))

    def do_POST(self):
        given = self.headers.get("authorization", "").encode()
        if not hmac.compare_digest(given, f"Bearer {os.environ['CREW_TOKEN']}".encode()):
            return self.answer(401, {"message": "This is not the token of this crew."})
        try:
            run = Run((json.loads(line) for line in self.body() if line.strip()), self.write)
        except (KeyError, StopIteration, ValueError):
            return self.answer(400, {"message": "The first line is no kickoff."})
        self.start(200, "application/x-ndjson")
        done = threading.Event()
        threading.Thread(target=self.beat, args=(done,), daemon=True).start()
        try:
            self.report_all(run)
            run.wait_for_ack()  # who hangs up with acks unread cuts off what is on its way
        except (OSError, StopIteration):
            pass  # nobody listens any more
        finally:
            done.set()

    def report_all(self, run):
        try:
            run.report("crew_started", crew=ABOUT["name"])
            usage = {"input_tokens": 0, "output_tokens": 0}
            run.report("crew_completed", output=perform(run), usage=usage)
        except InterruptedError:
            run.report("handed_over")
        except (OSError, StopIteration):
            raise
        except Exception as error:
            run.report("failed", error={"code": "crew_failed", "message": str(error)})

    def body(self):
        """The lines of a body that stays open: it comes in pieces, each behind its length."""
        rest = b""
        while size := int(self.rfile.readline() or b"0", 16):
            *lines, rest = (rest + self.rfile.read(size)).split(b"\n")
            self.rfile.readline()
            yield from lines

    def beat(self, done):
        while not done.wait(5):
            self.write({"type": "heartbeat", "at": now()})

    def write(self, event):
        self.wfile.write(json.dumps(event).encode() + b"\n")

    def start(self, status, type):
        self.send_response(status)
        self.send_header("content-type", type)
        self.end_headers()

    def answer(self, status, value):
        self.start(status, "application/json" if status < 400 else "application/problem+json")
        self.write(value)

def canonical(value):
    """RFC 8785 for what this crew asks, which has no numbers."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)

def now():
    return datetime.now(timezone.utc).isoformat().replace("+00:00", "Z")

if __name__ == "__main__":
    ThreadingHTTPServer(("", int(sys.argv[1])), Handler).serve_forever()
