"""Designs a crew, publishes it, starts a run and follows it, with a client made from /openapi.json."""

import json
import os
import time

from client import AuthenticatedClient
from client.api.automations import inputs, kickoff, status, steps
from client.api.designer import (
    create_project,
    create_version,
    get_project,
    publish_version,
)
from client.models import (
    CrewDefinition,
    KickoffRequest,
    KickoffRequestInputs,
    Problem,
    ProjectRequest,
    VersionRequest,
)

DEFINITION = {
    "name": "Weather",
    "llm": {"model": "gpt-4o-mini", "temperature": 0},
    "inputs": [{"name": "place", "type": "string", "label": "Place"}],
    "tools": {
        "sums": {"type": "calculator"},
        "docs": {"type": "fetch", "allow": ["docs.example.com"]},
    },
    "agents": [
        {"key": "reporter", "role": "Reporter", "goal": "Tell of {place}", "tools": ["sums"]}
    ],
    "tasks": [
        {"key": "tell", "agent": "reporter", "description": "Tell.", "expected_output": "Text"}
    ],
}

client = AuthenticatedClient(
    base_url=os.environ["PLATFORM_URL"], token=os.environ["TOKEN"], timeout=60
)


def get(answer):
    """The answer, or its problem as an error."""
    if answer is None or isinstance(answer, Problem):
        raise RuntimeError(answer)
    return answer


name = f"Generated {time.time_ns()}"
project = get(create_project.sync(client=client, body=ProjectRequest(name=name)))
body = VersionRequest(definition=CrewDefinition.from_dict(DEFINITION))
version = get(create_version.sync(project.id, client=client, body=body))
assert version.definition.to_dict() == DEFINITION, version.definition.to_dict()
get(publish_version.sync(project.id, version.number, client=client))
project = get(get_project.sync(project.id, client=client))
automation = project.automation_id
asked = get(inputs.sync(automation, client=client)).inputs
given = KickoffRequest(inputs=KickoffRequestInputs.from_dict({"place": "Oslo"}))
run = get(kickoff.sync(automation, client=client, body=given)).kickoff_id
told = get(status.sync(automation, run, client=client, wait=30))
done = get(steps.sync(automation, run, client=client)).steps
refused = get_project.sync(2_147_483_647, client=client)
said = {
    "inputs": asked,
    "status": told.status.value,
    "output": told.output,
    "tasks": [f"{each.task} {each.status.value}" for each in told.tasks],
    "steps": [f"{each.kind.value} {each.state.value}" for each in done],
    "refused": refused.error.value,
}
print(json.dumps(said))
