import { html } from 'hono/html'
import type { Automation } from '../../../platform/automations/automations.ts'
import type { CrewDefinition } from '../../../platform/definitions/crew-definition.ts'
import type { InputField } from '../../../platform/definitions/crew-inputs.ts'
import { isOwnCrew } from '../../../platform/definitions/own-crew-definition.ts'
import type { RunVersion } from '../../../platform/projects/project-versions.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import { automationHead } from '../frame/automation-tabs.ts'
import { page } from '../frame/layout.ts'
import { emptyState, factList } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'

/** What an automation does, as its route reads it. */
interface DesignPage {
  readonly session: Session
  readonly automation: Automation
  readonly definition: CrewDefinition
  readonly fields: readonly InputField[]
  readonly version: RunVersion
}

/** The inputs, agents and tasks of the version that an automation runs. */
export function designPage(view: DesignPage): Html {
  const { session, automation, definition } = view
  const isOwn = isOwnCrew(definition)
  return page(
    { title: `${automation.name}: design`, session, current: '/automations' },
    html`${automationHead({ automation, tab: 'design', aside: isOwn ? '' : waysOn(view) })}
      <div class="columns">
        <div>
          ${
            isOwn
              ? ownSection(automation)
              : html`${tasksSection(definition)} ${proofSection(automation)}`
          }
        </div>
        <div>
          ${isOwn ? crewSection(automation) : agentsSection(definition)} ${inputsSection(view)}
          ${isOwn ? proofSection(automation, OWN_PROOFS) : ''}
        </div>
      </div>`,
  )
}

function waysOn({ version: { projectId, number } }: DesignPage): Html {
  const path = `/projects/${projectId}`
  return html`<div class="buttons push">
    <a class="button" href="${path}/versions/${number}">Version ${number}</a>
    <a class="button primary" href="${path}/new-version?from=${number}">Edit</a>
  </div>`
}

/** What shows before and after a version is published that it is good. */
const PROOFS = [
  ['case-sets', 'Cases', 'Inputs, with what an answer to them has to be'],
  ['evaluations', 'Evaluations', 'One version or two over a set of cases: scores, costs, changes'],
  ['replays', 'Replays', 'Runs performed again from their record: the first step that differs'],
  ['gates', 'Gates', 'The score that a version needs before it is published'],
  ['replay-gates', 'Replay gate', 'How many of the newest runs have to replay before'],
  ['score-rules', 'Scores', 'The share of the runs that checks score, and that people review'],
  ['reviews', 'Reviews', 'Answers that wait for a person'],
] as const

const OWN_PROOFS = PROOFS.filter(([path]) => path === 'replays')

const proofSection = ({ automationId }: Automation, proofs = PROOFS.slice()): Html =>
  html`<section class="card" aria-labelledby="proofs">
    <div class="card-head"><h2 id="proofs">Proof</h2></div>
    <ul class="plan">
      ${proofs.map(
        ([path, name, about]) =>
          html`<li>
            <a href="/automations/${automationId}/${path}"><strong>${name}</strong></a>
            <p>${about}</p>
          </li>`,
      )}
    </ul>
  </section>`

const ownSection = ({ automationId }: Automation): Html =>
  html`<section class="card flush" aria-label="Source">
    ${emptyState(
      'package',
      'It is designed in its source',
      html`This automation runs a program of yours. Change its source, and
        <a href="/automations/${automationId}/deployments">deploy it anew</a>.`,
    )}
  </section>`

const tasksSection = ({ agents, tasks }: CrewDefinition): Html =>
  html`<section class="card" aria-labelledby="tasks">
    <div class="card-head"><h2 id="tasks">Tasks</h2></div>
    <ol class="plan numbered">
      ${tasks.map(
        (task) =>
          html`<li>
            <strong class="mono">${task.key}</strong>
            <span class="sub">${roleOf(agents, task.agent)}</span>
            <p>${task.description}</p>
          </li>`,
      )}
    </ol>
  </section>`

const agentsSection = ({ agents, llm }: CrewDefinition): Html =>
  html`<section class="card" aria-labelledby="agents">
    <div class="card-head"><h2 id="agents">Agents</h2></div>
    <ul class="plan">
      ${agents.map(
        ({ role, goal }) =>
          html`<li>
            <strong>${role}</strong>
            <p>${goal}</p>
          </li>`,
      )}
    </ul>
    ${factList('facts', [['Model', html`<span class="mono">${llm.model}</span>`]])}
  </section>`

const inputsSection = ({ fields }: DesignPage): Html =>
  html`<section class="card" aria-labelledby="inputs">
    <div class="card-head"><h2 id="inputs">Inputs</h2></div>
    ${
      fields.length === 0
        ? html`<p class="hint">It needs no inputs.</p>`
        : html`<ul class="plan">
            ${fields.map(
              ({ name, description }) =>
                html`<li>
                  <strong class="mono">${name}</strong>
                  ${description ? html`<p>${description}</p>` : ''}
                </li>`,
            )}
          </ul>`
    }
  </section>`

function roleOf(agents: CrewDefinition['agents'], key: string | undefined): string {
  if (key === undefined) return 'The manager gives it to agents'
  return agents.find((agent) => agent.key === key)?.role ?? key
}

/** The way from the page of an automation to the crew that it is made of. */
const crewSection = ({ automationId }: Pick<Automation, 'automationId'>): Html =>
  html`<section class="card" aria-labelledby="crew">
    <div class="card-head"><h2 id="crew">Crew</h2></div>
    <p class="hint">It runs a program of yours, made from a source.</p>
    <p>
      <a class="button" href="/automations/${automationId}/deployments">Deployments</a>
      <a class="button" href="/automations/${automationId}/environment">Environment</a>
    </p>
  </section>`
