import { beforeAll, describe, expect, it } from 'vitest'
import { parseCrewDefinition } from '../../../services/platform/definitions/crew-definition.ts'
import { storeInputFile } from '../../../services/platform/runs/input-files.ts'
import { prepareInputs } from '../../../services/platform/runs/prepare-inputs.ts'
import { kickoff } from '../../../services/platform/runs/runs.ts'
import { definition } from '../../support/crew.ts'
import { isSilent, says } from '../crew/fake-model.ts'
import type { Answer } from '../crew/fake-model.ts'
import { startBrokenCrew } from './broken-crew.ts'
import { openWorker } from './harness.ts'

const [research, write] = definition.tasks
const crew = parseCrewDefinition({
  ...definition,
  inputs: [
    { name: 'report', type: 'file', required: false },
    { name: 'photo', type: 'file', required: false },
  ],
  tasks: [{ ...research, description: 'Compare {report} with {photo}.' }, write],
})
const PNG = Buffer.from('89504e470d0a1a0a0102', 'hex')
const LONG = 'abcdefghij'.repeat(2000)

const { deploy, model, platform, publish } = await openWorker()

beforeAll(() => publish(crew))

/** Queues a run with a long text and an image. */
async function start(text = LONG): Promise<string> {
  const { sql, automation } = platform
  const send = (name: string, content: Buffer) =>
    storeInputFile(sql, { automation, name, declared: '', chunks: [content] })
  const report = await send('report.csv', Buffer.from(text))
  const photo = await send('photo.png', PNG)
  const given = { topic: 'tides', report: report.id, photo: photo.id }
  const prepared = await prepareInputs(sql, { automation, definition: crew, inputs: given })
  return kickoff(sql, { deploymentId: automation.id, ...prepared })
}

const reads =
  (name: string, given: object): Answer =>
  (response) => {
    const call = { name, arguments: JSON.stringify(given) }
    const message = { role: 'assistant', tool_calls: [{ id: '1', function: call }] }
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ choices: [{ message }] }))
  }

const messageOf = (request: number, index: number): unknown =>
  model.requests[request]?.body.messages[index]?.content

describe('the files of a run', () => {
  it('are what its agents see: the beginning of a text, the rest by a tool, images', async () => {
    await deploy()
    model.play(
      reads('read_file', { name: 'report.csv', offset: 19_990 }),
      says('Facts.'),
      says('A summary.'),
    )
    await platform.startWorker()
    const id = await start()
    const run = await platform.until(id, 'completed')
    expect(run.output).toBe('A summary.')
    const [text, image] = messageOf(0, 1) as unknown as { text?: string; image_url?: object }[]
    expect(text?.text).toContain('Task: Compare \n<file name="report.csv">\nabcdefghijabc')
    expect(text?.text).toContain('(3616 more characters: read on with offset 16384 of report.csv.)')
    expect(text?.text).toContain('with photo.png (an image, attached).')
    expect(image?.image_url).toEqual({ url: `data:image/png;base64,${PNG.toString('base64')}` })
    expect(messageOf(1, 3)).toBe(
      'abcdefghij\n\n(Characters 19990 to 20000 of 20000. This is the end.)',
    )
    // The second task names no file: its agent may read the text, and is shown no image.
    expect(messageOf(2, 1)).toEqual(expect.any(String))
    expect(JSON.stringify(model.requests[2]?.body['tools'])).toContain('report.csv (20000)')
  })

  it('are in no event: what followers see has their names', async () => {
    await deploy()
    model.play(says('Facts.'), says('A summary.'))
    await platform.startWorker()
    const id = await start()
    await platform.until(id, 'completed')
    const events = await platform.events(id)
    expect(events.find(({ type }) => type === 'task_started')).toMatchObject({
      description: 'Compare report.csv with photo.png.',
    })
    expect(JSON.stringify(events)).not.toContain('abcdefghij')
    expect(JSON.stringify(events)).not.toContain(PNG.toString('base64'))
  })

  it('are handed to the next crew when another worker goes on', async () => {
    await deploy()
    model.play(says('Facts.'), isSilent)
    const worker = await platform.startWorker()
    const id = await start()
    await expect.poll(() => model.requests.length).toBe(2)
    await worker.stop()
    await platform.stopServices()
    await deploy()
    model.play(reads('read_file', { name: 'report.csv' }), says('A summary.'))
    await platform.startWorker()
    expect(await platform.until(id, 'completed')).toMatchObject({ output: 'A summary.' })
    expect(model.requests).toHaveLength(4)
    expect(messageOf(3, 3)).toContain('abcdefghij')
  })

  it('may be 20 MiB', async () => {
    await deploy()
    model.play(reads('read_file', { name: 'report.csv', offset: 20_971_499 }), says('Done.'))
    await platform.startWorker()
    const id = await start('x'.repeat(20_971_500))
    await platform.until(id, 'completed')
    expect(messageOf(1, 3)).toContain('(Characters 20971499 to 20971500 of 20971500.')
  })

  it('end the run at a crew that takes none, and say what to do', async () => {
    const broken = await startBrokenCrew((response) => response.end())
    await platform.deployAt(broken.url)
    await platform.startWorker()
    const run = await platform.until(await start(), 'error')
    expect(run.error).toMatchObject({ code: 'crew_without_files' })
    expect(run.error?.message).toContain('Update it, or use inputs of another type.')
    expect(broken.kickoffs()).toBe(0)
    await broken.stop()
  })

  it('are not needed where the inputs may be left out', async () => {
    await deploy()
    model.play(says('Facts.'), says('A summary.'))
    await platform.startWorker()
    const { sql, automation } = platform
    const given = { topic: 'tides' }
    const prepared = await prepareInputs(sql, { automation, definition: crew, inputs: given })
    const id = await kickoff(sql, { deploymentId: automation.id, ...prepared })
    await platform.until(id, 'completed')
    expect(messageOf(0, 1)).toContain('Compare  with .')
    expect(model.requests[0]?.body['tools']).toBeUndefined()
  })
})
