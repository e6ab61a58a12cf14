"""Records what crewai does with crews, as an oracle: python record.py FILE writes FILE anew.

Each line of FILE is a crew of tasks `do-<key>` whose model answers `out-<key>`, or what the line
says. Recorded are the calls of the model in their order: who was asked, for what, and with the
outputs of which tasks. The lines there are were recorded with crewai 1.15.30 on Python 3.11.
"""
import json
import os
import re
import sys
import tempfile

os.environ.update(
    OTEL_SDK_DISABLED="true",
    CREWAI_DISABLE_TELEMETRY="true",
    CREWAI_TRACING_ENABLED="false",
    CREWAI_STORAGE_DIR=tempfile.mkdtemp(),
)

from crewai import Agent, BaseLLM, Crew, Process, Task  # noqa: E402


class Script(BaseLLM):
    """Answers as a case says, or by the name of the task, and notes what it was asked."""

    def __init__(self, calls, answers):
        super().__init__(model="script")
        object.__setattr__(self, "calls", calls)
        object.__setattr__(self, "answers", answers)

    def supports_function_calling(self):
        return False

    def call(self, messages, *args, **kwargs):
        said = messages if isinstance(messages, list) else [{"role": "user", "content": messages}]
        system = next((m["content"] for m in said if m["role"] == "system"), "")
        user = next((m["content"] for m in said if m["role"] == "user"), "")
        task = re.search(r"do-(\w+)", user)
        context = user.split("This is the context you're working with:\n")
        role = re.search(r"You are (.+?)\. ", system)
        call = {
            "role": role and role[1],
            "task": task and task[1],
            "context": re.findall(r"out-(\w+)", context[1]) if len(context) > 1 else [],
        }
        self.calls.append(call)
        if self.answers:
            return self.answers.pop(0)
        return f"Thought: I now can give a great answer\nFinal Answer: out-{task[1]}"


def run(case):
    calls = []
    llm = Script(calls, list(case.get("answers", [])))
    agents = {
        key: Agent(
            role=given.get("role", key),
            goal="g",
            backstory="b.",
            llm=llm,
            allow_delegation=given.get("allow_delegation", False),
        )
        for key, given in case["agents"].items()
    }
    tasks = {}
    for given in case["tasks"]:
        more = {}
        if "context" in given:
            more["context"] = [tasks[key] for key in given["context"]]
        if "guardrails" in given:
            more["guardrails"] = given["guardrails"]
        tasks[given["key"]] = Task(
            description=f"do-{given['key']}",
            expected_output="x",
            agent=agents.get(given.get("agent")),
            async_execution=given.get("async", False),
            **more,
        )
    crew = {"process": Process.sequential}
    if case.get("process") == "hierarchical":
        crew = {"process": Process.hierarchical}
        if "manager_agent" in case:
            crew["manager_agent"] = agents.pop(case["manager_agent"])
        else:
            crew["manager_llm"] = llm
    try:
        whole = Crew(agents=list(agents.values()), tasks=list(tasks.values()), **crew)
    except Exception as refused:
        [_, *why] = str(refused).strip().split("\n")
        return {"refused": re.sub(r" \[type=.*", "", "".join(why[:1]).strip())}
    try:
        return {"calls": calls, "output": whole.kickoff().raw}
    except Exception as failed:
        return {"calls": calls, "failed": str(failed)}


if __name__ == "__main__":
    with open(sys.argv[1]) as given:
        cases = [json.loads(line) for line in given]
    with open(sys.argv[1], "w") as out:
        for case in cases:
            out.write(json.dumps({**case, "recorded": run(case)}) + "\n")
