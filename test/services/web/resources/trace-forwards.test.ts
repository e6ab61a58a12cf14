import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openPlatform, readObject } from '../support/platform.ts'
import type { Platform } from '../support/platform.ts'

let platform: Platform
let authorization: string
beforeAll(async () => {
  platform = await openPlatform()
  authorization = `Bearer ${await platform.issueToken(platform.acme)}`
})
afterAll(() => platform.close())

const create = async (name: string, services: unknown) => {
  const answer = await platform.app.request('/designer/v2/trace-forwards', {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify({ name, endpoint: 'https://otlp.example.com', services }),
  })
  return { status: answer.status, body: await readObject(answer) }
}

describe('the services of a trace forward', () => {
  it('are names, or beginnings of names, and none by default', async () => {
    const services = ['billing', 'crew-*', 'Grüße 50%_\\', "it's"]
    expect(await create('some', services)).toMatchObject({ status: 201, body: { services } })
    expect(await create('all', undefined)).toMatchObject({ status: 201, body: { services: [] } })
  })

  it.each([
    ['a comma', ['a,b']],
    ['an asterisk alone', ['*']],
    ['an asterisk in the middle', ['a*b']],
    ['spaces around', [' a']],
    ['an empty name', ['']],
    ['a long name', ['x'.repeat(101)]],
    ['more than ten', Array.from({ length: 11 }, (_, at) => `s${at}`)],
    ['a text', 'billing'],
    ['a number', [7]],
  ])('have no %s', async (_, services) => {
    const { status, body } = await create('wrong', services)
    expect([400, 422]).toContain(status)
    expect(JSON.stringify(body)).toContain('services')
  })
})
