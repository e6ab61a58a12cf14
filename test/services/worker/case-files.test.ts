import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { parseCrewDefinition } from '../../../services/platform/definitions/crew-definition.ts'
import { readJsonLines, toJsonLine } from '../../../services/platform/evaluations/case-files.ts'
import { createCaseSet } from '../../../services/platform/evaluations/case-sets.ts'
import type { CaseSet } from '../../../services/platform/evaluations/case-sets.ts'
import {
  addCases,
  addRuns,
  deleteCase,
  listCases,
} from '../../../services/platform/evaluations/cases.ts'
import { listResults } from '../../../services/platform/evaluations/evaluation-results.ts'
import {
  createEvaluation,
  findEvaluation,
} from '../../../services/platform/evaluations/evaluations.ts'
import { deleteUnusedFiles, storeInputFile } from '../../../services/platform/runs/input-files.ts'
import { prepareInputs } from '../../../services/platform/runs/prepare-inputs.ts'
import { kickoff } from '../../../services/platform/runs/runs.ts'
import { definition } from '../../support/crew.ts'
import { seedAutomation } from '../../support/platform.ts'
import { says } from '../crew/fake-model.ts'
import { openWorker } from './harness.ts'

const [research] = definition.tasks
const crew = parseCrewDefinition({
  ...definition,
  inputs: [{ name: 'report', type: 'file', required: false }],
  tasks: [{ ...research, description: 'Sum {report} up.' }],
})
const { deploy, model, platform, publish } = await openWorker()
const { sql, automation } = platform
let set: CaseSet

beforeAll(() => publish(crew))

beforeEach(async () => {
  await sql`delete from case_sets`
  set = await createCaseSet(sql, automation, { name: 'Support', checks: [{ type: 'contains' }] })
})

const store = (text: string, of: Pick<typeof automation, 'id' | 'organizationId'> = automation) =>
  storeInputFile(sql, {
    automation: of,
    name: 'report.csv',
    declared: '',
    chunks: [Buffer.from(text)],
  })

const linesOf = (...cases: object[]) =>
  readJsonLines(Buffer.from(cases.map((each) => JSON.stringify(each)).join('\n')))

const casesOf = () => listCases(sql, set, { after: -1, limit: 100 })

/** Performs the set, and returns what was found of each case. */
async function evaluate() {
  const [{ number, projectVersionId }] = await sql<[{ number: number; projectVersionId: number }]>`
    select number, project_version_id from project_versions v
      join deployments d on d.project_version_id = v.id where d.id = ${automation.id}`
  const fields = { set: 'Support', version: number, against: null, repeat: 1, newest: null }
  const by = { ...automation, projectVersionId }
  const { id } = await createEvaluation(sql, by, { ...fields, createdBy: 'test' })
  const find = () => findEvaluation(sql, { id, deploymentId: automation.id })
  await expect.poll(async () => (await find())?.finishedAt, { timeout: 20_000 }).toBeTruthy()
  return listResults(sql, id, { after: -1, limit: 100, state: null })
}

/** Makes what is there a day old, and lets it be deleted where nothing names it. */
async function sweep(): Promise<number> {
  await sql`update input_files set created_at = now() - interval '2 days'`
  return deleteUnusedFiles(sql)
}

describe('a case with files', () => {
  it('names them as a kickoff does, keeps them, and hands them to the version', async () => {
    const { id } = await store('abc')
    const inputs = [
      { topic: 'x', report: id },
      { topic: 'y', report: { file_id: id } },
    ]
    expect(await addCases(sql, set, linesOf(...inputs.map((each) => ({ inputs: each }))))).toBe(2)
    const file = expect.objectContaining({ file_id: id, name: 'report.csv', size: 3 })
    expect((await casesOf()).map((each) => each.inputs['report'])).toEqual([file, file])
    expect(await sweep()).toBe(0)
    await deploy()
    model.play(says('Done.'))
    await platform.startWorker()
    expect(await evaluate()).toMatchObject([{ output: 'Done.' }, { output: 'Done.' }])
    const asked = JSON.stringify(model.requests[0]?.body.messages)
    expect(asked).toContain('<file name=\\"report.csv\\">\\nabc')
  })

  it('is made of a run with its files, which outlive the run', async () => {
    const { id } = await store('abc')
    const given = { topic: 'x', report: id }
    const prepared = await prepareInputs(sql, { automation, definition: crew, inputs: given })
    const runId = await kickoff(sql, { deploymentId: automation.id, ...prepared })
    await sql`
      update executions set status = 'completed', output = 'x', finished_at = now()
      where id = ${runId}`
    const choice = { kickoffIds: [], last: 9, status: 'any', rated: null } as const
    const of = { ...set, deploymentId: automation.id }
    expect(await addRuns(sql, of, { ...choice, withExpected: true })).toBe(1)
    expect(await addRuns(sql, of, { ...choice, withExpected: true })).toBe(0)
    await sql`delete from executions`
    expect(await sweep()).toBe(0)
    const [made] = await casesOf()
    await deleteCase(sql, set, made?.id ?? '')
    expect(await sweep()).toBe(1)
  })

  it('is written to a file that is read again', async () => {
    const { id } = await store('abc')
    await addCases(sql, set, linesOf({ inputs: { topic: 'x', report: id } }))
    const lines = (await casesOf()).map(toJsonLine).join('')
    expect(await addCases(sql, set, readJsonLines(Buffer.from(lines)))).toBe(1)
  })

  it('is refused for a file that the automation does not have, and names its place', async () => {
    const rival = await seedAutomation(sql, { organization: 'Rival', slug: 'rival' })
    const { id } = await store('secret', rival)
    const good = { inputs: { topic: 'x' } }
    for (const report of [id, { file_id: id }]) {
      await expect(
        addCases(sql, set, linesOf(good, { inputs: { topic: 'x', report } })),
      ).rejects.toThrow('Case 2: report names no file of this automation.')
    }
    // An input that is no file may say what it likes, and gets nothing by it.
    await addCases(sql, set, linesOf({ inputs: { topic: { file_id: id } } }))
    expect((await casesOf()).map((each) => each.inputs)).toEqual([{ topic: { file_id: id } }])
    expect(await sql`select from case_files`).toHaveLength(0)
  })

  it('is an error of no version once its file is deleted', async () => {
    const { id } = await store('abc')
    await addCases(sql, set, linesOf({ inputs: { topic: 'x', report: id } }))
    await sql`delete from input_files`
    await deploy()
    await platform.startWorker()
    expect(await evaluate()).toMatchObject([
      { state: 'error', reason: expect.stringMatching(/^Its files cannot be used: report names/) },
    ])
  })
})
