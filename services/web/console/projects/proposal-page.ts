import { html } from 'hono/html'
import type { Version } from '../../../platform/projects/project-versions.ts'
import { definitionText } from '../../../platform/projects/proposal-answer.ts'
import type { Proposal } from '../../../platform/projects/proposals.ts'
import type { RunRecord } from '../../../platform/runs/run-history.ts'
import { runPath } from '../frame/addresses.ts'
import { page as frame } from '../frame/layout.ts'
import { csrfField, noticeBox, runPill, warningBox } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'
import { finalForm } from '../frame/undo.ts'
import { assistantSection } from './assistant-section.ts'
import type { AssistantForm } from './assistant-section.ts'
import { diffCounts, diffView } from '../frame/text/diff-view.ts'
import { diffLines } from '../frame/text/line-diff.ts'
import { projectPath, versionPath } from './own-project.ts'
import { proposalPill } from './page.ts'
import { problemList } from './editor/editor.ts'

/** A proposal of the Assistant. */
export interface ProposalPage extends AssistantForm {
  readonly proposal: Proposal
  /** The version that it changes, if it is still there. */
  readonly baseVersion: Version | undefined
  /** The last run of the Assistant. */
  readonly run: RunRecord | undefined
  readonly notice?: string | undefined
}

/** The page of a proposal. */
export const proposalPage = (view: ProposalPage): Html =>
  frame(
    { title: 'Proposal', session: view.session, current: '/projects' },
    html`<nav class="crumbs" aria-label="Breadcrumb">
        <a href="/projects">Projects</a
        ><a href="${projectPath(view.project)}">${view.project.name}</a>
      </nav>
      ${noticeBox(view.notice)} ${proposalParts(view)}`,
  )

const SAID = {
  asked: 'The Assistant works',
  proposed: 'The Assistant proposes a version',
  failed: 'The Assistant has failed',
  accepted: 'The proposal is accepted',
  discarded: 'The proposal is discarded',
} as const satisfies Record<Proposal['state'], string>

/** All that changes while the Assistant works; the script of the console swaps the parts. */
export function proposalParts(view: ProposalPage): Html {
  const { proposal, project } = view
  const path = `${projectPath(project)}/proposals/${proposal.id}`
  return html`<div
    data-live="${proposal.state === 'asked' ? `${path}/live` : ''}"
    data-say="${SAID[proposal.state]}"
  >
    <div class="page-head" data-part="head">
      <h1>Proposal</h1>
      ${proposalPill(proposal)}
      <div class="buttons push">${actions(view, path)}</div>
    </div>
    <div class="columns">
      <div>
        <section class="card" aria-labelledby="request">
          <div class="card-head"><h2 id="request">Request</h2></div>
          <p class="prose break">${proposal.request}</p>
        </section>
        <div data-part="answer">${answer(view)}</div>
      </div>
      <div>
        <div data-part="run">${runSection(view)}</div>
        <div data-part="again">${askAgain(view)}</div>
      </div>
    </div>
  </div>`
}

function actions({ session, proposal }: ProposalPage, path: string): Html | string {
  const button = (verb: string, text: string, kind: string): Html =>
    html`<form method="post" action="${path}/${verb}">
      ${csrfField(session.csrfToken)}<button class="button ${kind}">${text}</button>
    </form>`
  const discard = (what: string): Html =>
    finalForm(session, { action: `${path}/discard`, what, verb: 'Discard for good' })
  switch (proposal.state) {
    case 'asked':
      return html`<a class="button" href="${path}" data-without-script>Refresh</a>
        ${discard('Stop and discard')}`
    case 'proposed':
      return html`${discard('Discard')} ${button('accept', 'Accept as a draft', 'primary')}`
    case 'failed':
    case 'accepted':
    case 'discarded':
      return ''
  }
}

function answer(view: ProposalPage): Html | string {
  const { proposal, project } = view
  const { state, problems, acceptedNumber, secondRunId } = proposal
  if (state === 'asked') {
    return secondRunId === null ? '' : problemList(problems, 'Asked once more, because of this:')
  }
  if (state === 'failed') return html`${problemList(problems, FAILED)} ${connectionHint(view)}`
  if (state === 'discarded') return html`<p class="hint">It was discarded: no draft was added.</p>`
  return html`${
    acceptedNumber === null
      ? ''
      : html`<p class="notice good" role="status">
          <span
            >It is <a href="${versionPath(project, acceptedNumber)}">version ${acceptedNumber}</a>.
            Nothing runs it until you publish it.</span
          >
        </p>`
  }
  ${changes(view)}`
}

const FAILED = 'The Assistant gave no definition that can be used:'

/** Models fail for want of credentials more than for any other reason. */
const connectionHint = ({ run }: ProposalPage): Html | string =>
  run?.error?.code.startsWith('llm_')
    ? html`<p>
        Its model could not be called.
        <a href="/llm-connections">Look at your LLM connections</a>: one is needed for the model
        that the Assistant calls.
      </p>`
    : ''

function changes({ proposal, project, baseVersion }: ProposalPage): Html | string {
  if (!proposal.definition) return ''
  const before = baseVersion ? definitionText(baseVersion.definition) : ''
  const lines = diffLines(before, definitionText(proposal.definition))
  const isStale =
    proposal.state === 'proposed' && project.lastVersion !== (proposal.baseNumber ?? 0)
  return html`<section class="card" aria-labelledby="changes">
    <div class="card-head">
      <h2 id="changes">
        ${baseVersion ? `Changes to version ${baseVersion.number}` : 'The first version'}
      </h2>
    </div>
    ${
      isStale
        ? warningBox(
            `Version ${project.lastVersion} was added since. Accepting adds a version behind it, ` +
              'without what that one changed.',
          )
        : ''
    }
    <p class="hint">${diffCounts(lines)}</p>
    ${diffView(lines)}
    <p>
      <a href="${projectPath(project)}/proposals/${proposal.id}/definition">Download it whole</a>
    </p>
  </section>`
}

function runSection({ run, proposal }: ProposalPage): Html | string {
  if (!run) return ''
  return html`<section class="card" aria-labelledby="run">
    <div class="card-head">
      <h2 id="run">Run</h2>
      ${runPill(run.status)}
    </div>
    <p>
      <a href="${runPath(run, run)}"
        >${proposal.secondRunId === null ? 'The run of the Assistant' : 'Its second run'}</a
      >
    </p>
    ${
      proposal.secondRunId === null
        ? ''
        : html`<p><a href="${runPath(run, { id: proposal.runId })}">Its first run</a></p>`
    }
  </section>`
}

const askAgain = (view: ProposalPage): Html | string =>
  view.proposal.state === 'asked' || view.proposal.state === 'proposed'
    ? ''
    : assistantSection({ ...view, typed: view.typed ?? view.proposal.request })
