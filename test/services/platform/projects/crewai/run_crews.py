"""Runs CrewAI projects, and prints what comes out of each as a line of JSON.

Reads lines of JSON from standard input: project, directory, base_url, inputs.
"""

import asyncio
import importlib.util
import inspect
import json
import os
import pathlib
import sys

os.environ.update(
    OPENAI_API_KEY="none",
    CREWAI_DISABLE_TELEMETRY="true",
    CREWAI_DISABLE_TRACKING="true",
    CREWAI_TRACING_ENABLED="false",
    OTEL_SDK_DISABLED="true",
)
ANSWERS = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)  # what CrewAI prints itself


def call_plainly():
    """Lets tools of MCP servers be called outside of an `except` clause.

    Within the one of CrewAI 1.15.30 the error of there being no event loop yet is in the context
    of all others, and is told to the model instead of the result.
    """
    from crewai.tools.mcp_native_tool import MCPNativeTool

    MCPNativeTool._run = lambda self, **kwargs: asyncio.run(self._run_async(**kwargs))


def of_class(directory):
    [program] = [
        path for path in directory.rglob("*.py") if "@CrewBase" in path.read_text("utf-8")
    ]
    spec = importlib.util.spec_from_file_location(directory.name.replace("-", "_"), program)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    [crew] = [
        each
        for _, each in inspect.getmembers(module, inspect.isclass)
        if getattr(each, "is_crew_class", False)
    ]
    return crew().crew(), {}


def run(directory, inputs):
    os.chdir(directory)
    if (directory / "crew.jsonc").exists():
        from crewai.project.crew_loader import load_crew

        crew, defaults = load_crew(directory / "crew.jsonc")
    else:
        crew, defaults = of_class(directory)
    output = crew.kickoff(inputs={**defaults, **inputs}).raw
    files = [pathlib.Path(task.output_file) for task in crew.tasks if task.output_file]
    return {"output": output, "files": {file.name: file.read_text("utf-8") for file in files}}


call_plainly()
for line in sys.stdin:
    asked = json.loads(line)
    os.environ["OPENAI_BASE_URL"] = os.environ["OPENAI_API_BASE"] = asked["base_url"]
    answer = {"project": asked["project"]}
    try:
        answer |= run(pathlib.Path(asked["directory"]), asked["inputs"])
    except Exception as error:
        answer["error"] = f"{type(error).__name__}: {error}"
    print(json.dumps(answer), file=ANSWERS, flush=True)
