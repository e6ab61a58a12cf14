import { html } from 'hono/html'
import type { Erasure } from '../../../platform/erasures/erasures.ts'
import type { Database } from '../../../shared/postgres/database.ts'
import { runPath, tracePath } from '../frame/addresses.ts'
import { count, shortId } from '../frame/format.ts'
import { emptyState, listTable } from '../frame/parts.ts'
import type { Html } from '../frame/parts.ts'

const KINDS: Readonly<Record<string, string>> = {
  run: 'Runs, with inputs, outputs, events and journal',
  file: 'Files',
  webhook_message: 'Messages to webhooks',
  trigger_delivery: 'Deliveries to triggers',
  case: 'Cases',
  evaluation_run: 'Results of evaluations',
  replay_run: 'Results of replays',
  run_score: 'Scores of runs',
  batch_row: 'Rows of batches',
  proposal: 'Requests to the Assistant',
  note: 'Notes and ratings',
  trace: 'Traces, also of archived days',
}

interface ErasureView {
  readonly sql: Database
  readonly row: Erasure
  /** The address of its page. */
  readonly path: string
}

/** What was found, with links to some of it, and what became of it. */
export async function erasureSection({ sql, row, path }: ErasureView): Promise<Html> {
  const links = await linksOf(sql, row)
  const kinds = Object.keys(KINDS).flatMap((kind) => row.found.filter((each) => each.kind === kind))
  return html`<section class="card flush" aria-labelledby="found">
    <div class="card-head">
      <h2 id="found">What was found</h2>
      <a class="button" href="${path}">Refresh</a>
    </div>
    ${
      kinds.length === 0
        ? emptyState('search', 'Nothing', EMPTY[row.state])
        : listTable(
            'What was found',
            ['What', 'Found', 'Erased', 'Held', 'Some of it'],
            kinds.map(
              ({ kind, found, erased, held, examples }) =>
                html`<tr>
                  <td class="lead">${KINDS[kind]}</td>
                  <td data-label="Found">${count(found)}</td>
                  <td data-label="Erased">${count(erased)}</td>
                  <td data-label="Held">${held > 0 ? count(held) : '–'}</td>
                  <td data-label="Some of it" class="row-wide">
                    ${examples.map((item) => links.get(`${kind} ${item}`) ?? '')}
                  </td>
                </tr>`,
            ),
          )
    }
  </section>`
}

const EMPTY: Readonly<Record<Erasure['state'], string>> = {
  finding: 'Workers are still looking. It takes minutes where there is much.',
  planned: 'Nothing of this person was found.',
  erasing: 'Nothing of this person was found.',
  erased: 'Nothing of this person was found.',
}

/** Links to what is still there, by kind and id. */
async function linksOf(sql: Database, { organizationId, found }: Erasure) {
  const idsOf = (wanted: string) => found.find(({ kind }) => kind === wanted)?.examples ?? []
  const runs = await sql<{ id: string; automationId: string }[]>`
    select e.id, d.automation_id from executions e join deployments d on d.id = e.deployment_id
    where e.id = any (${idsOf('run')}::text[]::uuid[]) and e.organization_id = ${organizationId}`
  const link = (href: string, id: string): Html =>
    html`<a class="mono" href="${href}" title="${id}">${shortId(id)}</a> `
  return new Map<string, Html>([
    ...runs.map((run) => [`run ${run.id}`, link(runPath(run, run), run.id)] as const),
    ...idsOf('trace').map((id) => [`trace ${id}`, link(tracePath({ id }), id)] as const),
  ])
}

/** What an erasure does not reach, and when that is gone. */
export const horizonSection = (): Html =>
  html`<section class="card" aria-labelledby="horizon">
    <div class="card-head"><h2 id="horizon">What is not erased at once</h2></div>
    <ul class="hint">
      <li>
        Sealed backups of before have it until they are deleted: with
        <code>backup.keep: 7</code> and a backup each night, for a week. A backup that is restored
        is erased anew before it serves.
      </li>
      <li>
        The write-ahead log of PostgreSQL and its archive have it until they are recycled, and pages
        of tables until they are vacuumed: minutes to hours, or as long as your archive is kept.
      </li>
      <li>
        Files of archived days are replaced at once; versions of them that a bucket keeps are yours
        to delete.
      </li>
      <li>
        Accounts, the audit, definitions of crews, schedules and settings are not looked through.
        Receipts stay, and say nothing of a run once it is deleted.
      </li>
    </ul>
  </section>`
