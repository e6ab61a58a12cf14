import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { askAs, pressUndo } from '../support/forms.ts'
import { openPlatform } from '../support/platform.ts'
import type { Platform } from '../support/platform.ts'

let platform: Platform
let ada: ReturnType<typeof askAs>
let path: string

beforeAll(async () => {
  platform = await openPlatform()
  ada = askAs(platform.app, await platform.signIn(platform.acme))
  path = `/automations/${platform.acme.research.automationId}/schedules`
})

afterAll(() => platform.close())

const read = async (at: string, status = 200): Promise<string> => {
  const answer = await ada.get(at)
  expect(answer.status).toBe(status)
  return (await answer.text()).replace(/\s+/g, ' ')
}

const nightly = {
  name: 'nightly',
  cron: ' 30  2 * * * ',
  time_zone: 'Europe/Berlin',
  missed: 'run_once',
  inputs: '{"topic": "tides"}',
}

describe('the schedules of an automation', () => {
  it('are created, changed, paused, resumed and deleted', async () => {
    expect(await read(path)).toContain('No schedules yet')
    const created = await ada.post(path, nightly)
    const at = (created.headers.get('location') ?? '').replace(/\?.*/, '')
    const page = await read(at)
    expect(page).toContain('value="30 2 * * *"')
    expect(page).toContain('Next five times')
    expect(page.match(/<time /g)).toHaveLength(5)
    expect(await read(path)).toContain('>nightly</a>')
    await ada.post(at, { ...nightly, name: 'daily', cron: '0 9 * * *' })
    expect(await read(at)).toContain('<h1>daily</h1>')
    const paused = await ada.post(`${at}/pause`)
    expect(await read(at)).toContain('Paused: it would come at these times.')
    await pressUndo(ada, paused)
    expect(await read(at)).not.toContain('Paused')
    expect(await read(`${at}/delete`)).toContain('Delete the schedule daily?')
    await ada.post(`${at}/delete`)
    await read(at, 404)
  })

  it.each([
    [{ name: '' }, 'Give the schedule a name'],
    [{ cron: '* * *' }, 'has 3 fields of cron'],
    [{ cron: '99 * * * *' }, 'Invalid value for minute: 99'],
    [{ time_zone: 'Nowhere' }, 'There is no time zone “Nowhere”'],
    [{ missed: 'x' }, 'Choose what becomes of missed times.'],
    [{ inputs: '[1]' }, 'The inputs are one JSON object.'],
    [{ inputs: '{"topik": "x"}' }, 'topik'],
  ])('refuse %o in words, and keep what was typed', async (fields, problem) => {
    const answer = await ada.post(path, { ...nightly, name: '<b>typed</b>', ...fields })
    expect(answer.status).toBe(422)
    const text = (await answer.text()).replace(/\s+/g, ' ')
    expect(text).toContain(problem)
    expect(text).not.toContain('<b>typed')
    expect(text).toContain('Europe/Berlin'.slice(0, 'time_zone' in fields ? 0 : undefined))
  })

  it('belong to their automation and its organization', async () => {
    const created = await ada.post(path, nightly)
    const at = (created.headers.get('location') ?? '').replace(/\?.*/, '')
    const eve = askAs(platform.app, await platform.signIn(platform.rival))
    for (const each of [path, at, `${at}/delete`]) expect((await eve.get(each)).status).toBe(404)
    expect((await eve.post(`${at}/delete`)).status).toBe(404)
    const { research, digest } = platform.acme
    await read(at.replace(research.automationId, digest.automationId), 404)
    await read(`${path}/99999999999`, 404)
  })
})
