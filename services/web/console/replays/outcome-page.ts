import { html } from 'hono/html'
import type { Automation } from '../../../platform/automations/automations.ts'
import { shownPath } from '../../../platform/crew-contract/step-key.ts'
import type { Session } from '../../../platform/people/sessions.ts'
import type { ReplayedOutcome } from '../../../platform/replays/replay-results.ts'
import type { Replay } from '../../../platform/replays/replays.ts'
import { runPath } from '../frame/addresses.ts'
import { count, plural, shortId } from '../frame/format.ts'
import { page } from '../frame/layout.ts'
import { copyable, factList } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { visibleText } from '../frame/text/visible-text.ts'
import { diffCounts, diffView } from '../frame/text/diff-view.ts'
import { diffLines } from '../frame/text/line-diff.ts'
import { beside, costsOf, replayedPill, timesOf, tokensOf } from './replay-section.ts'
import { outputText, requestText } from './request-text.ts'

/** A run of a replay. */
interface OutcomePage {
  readonly session: Session
  readonly automation: Automation
  readonly replay: Replay
  readonly outcome: ReplayedOutcome
}

/** The page of a run of a replay: the first step that differs, and both outputs. */
export function outcomePage({ session, automation, replay, outcome }: OutcomePage): Html {
  const { runId, state } = outcome
  const path = `/automations/${automation.automationId}`
  const name = `${plural(replay.runs, 'run')} by version ${replay.version}`
  return page(
    { title: 'Replayed run', session, current: '/automations' },
    html`<nav class="crumbs" aria-label="Breadcrumb">
        <a href="/automations">Automations</a><a href="${path}">${automation.name}</a
        ><a href="${path}/replays">Replays</a><a href="${path}/replays/${replay.id}">${name}</a>
      </nav>
      <div class="page-head">
        <h1>Run <span class="mono">${shortId(runId)}</span></h1>
        ${replayedPill(state)}
        <a class="button push" href="${runPath(automation, { id: runId })}">The recorded run</a>
      </div>
      ${factsSection(replay, outcome)} ${requestSection(outcome)} ${outputSection(outcome)}`,
  )
}

const factsSection = (replay: Replay, outcome: ReplayedOutcome): Html =>
  html`<section class="card" aria-labelledby="found">
    <div class="card-head"><h2 id="found">What was found</h2></div>
    <p class="break">${visibleText(outcome.reason ?? WORDS[outcome.state])}</p>
    ${factList('facts in-row', [
      ['Versions', beside(String(replay.version), String(outcome.version ?? 'a draft'))],
      ['Tokens', tokensOf(outcome)],
      ['Time', timesOf(outcome)],
      ['Cost', html`${costsOf(outcome)} <span class="sub">${askedText(outcome)}</span>`],
    ])}
  </section>`

const askedText = ({ askedTokens }: ReplayedOutcome): string =>
  askedTokens === null
    ? 'no model was asked'
    : `for ${count(askedTokens)} tokens of models that were asked`

const WORDS = {
  waiting: 'It is not done yet.',
  equal: 'Each step asks what it asked in the record, and the run ends as it did.',
  different: 'It differs.',
  impossible: 'It cannot be replayed.',
} as const

function requestSection({ step, request, recordedRequest }: ReplayedOutcome): Html | string {
  if (!step) return ''
  const lines = diffLines(requestText(recordedRequest), requestText(request))
  return html`<section class="card" aria-labelledby="request">
    <div class="card-head">
      <h2 id="request">First step that differs</h2>
      <span class="hint">${diffCounts(lines)}</span>
    </div>
    <p>
      ${visibleText(step.name)}
      <span class="sub mono break">${visibleText(shownPath(step.path))}</span>
    </p>
    ${diffView(lines, 'What the step asks')}
    <p class="hint">
      ${
        recordedRequest === undefined
          ? 'The record has no request to compare it with.'
          : 'Lines with − were asked in the record, lines with + are asked now.'
      }
    </p>
  </section>`
}

function outputSection({ state, output, recorded }: ReplayedOutcome): Html {
  const then = recorded.output ?? (recorded.error ? `Failed: ${recorded.error.message}` : '')
  if (output === null || output === recorded.output) {
    return html`<section class="card" aria-labelledby="output">
      <div class="card-head">
        <h2 id="output">${state === 'equal' ? 'Output of both' : 'Recorded output'}</h2>
      </div>
      ${copyable('Output', then)}
    </section>`
  }
  const read = diffLines(outputText(then), outputText(output))
  // JSON that differs in the digits of a number may read the same.
  const lines = read.some(({ kind }) => kind !== 'same') ? read : diffLines(then, output)
  return html`<section class="card" aria-labelledby="output">
    <div class="card-head">
      <h2 id="output">Outputs</h2>
      <span class="hint">${diffCounts(lines)}</span>
    </div>
    ${diffView(lines, 'The outputs')}
  </section>`
}
